//! Streams that are cut, damaged or no streams at all.

use proptest::prelude::*;

use super::*;

#[test]
fn no_part_of_a_good_stream_is_a_success() {
    for (kind, driver) in talkative() {
        let stream = edit(kind).trim_end().as_bytes();
        for end in 0..stream.len() {
            let outcome = outcome(driver, &stream[..end], BackendExit::code(0));
            let word = outcome.word();
            assert!(
                matches!(word, "crash" | "malformed" | "no_output"),
                "{} at {end}: {word}",
                driver.name()
            );
        }
    }
}

#[test]
fn a_line_that_is_not_whole_is_malformed() {
    for (kind, driver) in drivers() {
        let stream = edit(kind).trim_end().as_bytes();
        let cut = outcome(driver, &stream[..stream.len() - 5], BackendExit::code(0));
        assert_eq!(cut.word(), "malformed", "{}", driver.name());
    }
}

#[test]
fn garbage_and_silence_have_words_of_their_own() {
    for (_, driver) in talkative() {
        let name = driver.name();
        let garbage = b"\xff\xfe{\"a\": \n\x00\x00\n[1,2]\nno json\n";
        let (mut reader, events) = read(driver, &request(), garbage);
        let kept = events.iter().filter(|event| matches!(event, BackendEvent::Unknown(_))).count();
        assert!(kept >= 4 && kept == events.len(), "{name}: {events:?}");
        assert_eq!(reader.outcome(&BackendExit::code(0), "").word(), "malformed", "{name}");
        assert_eq!(outcome(driver, garbage, BackendExit::code(1)).word(), "crash", "{name}");
        assert_eq!(outcome(driver, b"", BackendExit::code(0)), BackendOutcome::NoOutput, "{name}");
        assert_eq!(
            outcome(driver, b"\n \n", BackendExit::code(0)),
            BackendOutcome::NoOutput,
            "{name}"
        );
        assert_eq!(outcome(driver, b"", BackendExit::code(1)).word(), "crash", "{name}");
    }
}

proptest! {
    #[test]
    fn no_bytes_stop_a_reader(
        lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
        code in -1..260i32,
    ) {
        for (_, driver) in talkative() {
            let stream = lines.join(&b'\n');
            prop_assert_ne!(outcome(driver, &stream, BackendExit::code(code)), BackendOutcome::Success);
        }
    }

    #[test]
    fn no_damage_to_a_stream_stops_a_reader(
        row in 0..TABLE.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        keep in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let row = &TABLE[row];
        let driver = driver(row.kind);
        let mut bytes = row.stream.as_bytes().to_vec();
        for (at, byte) in cuts {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let lines: Vec<&[u8]> = bytes
            .split(|&byte| byte == b'\n')
            .zip(keep.iter().cycle())
            .filter_map(|(line, keep)| keep.then_some(line))
            .collect();
        let (mut reader, _) = read(driver, &request(), &lines.join(&b'\n'));
        let outcome = reader.outcome(&BackendExit::code(row.exit), "");
        prop_assert!(!outcome.to_string().is_empty());
        let is_good = row.exit == 0 || row.kind == BackendKind::Command;
        prop_assert!(is_good || outcome != BackendOutcome::Success);
    }

    #[test]
    fn json_of_any_shape_stops_no_reader(
        kind in "[a-z_.]{1,16}",
        fields in proptest::collection::vec((
            "(type|item|part|error|data|state|text|usage|tokens|stats|status|id|tool|message|role|content)",
            "(null|true|-1|1e300|18446744073709551615|\"x\"|\\[\\]|\\{\\}|\\{\"type\":1\\}|\\{\"message\":\\{\\}\\})",
        ), 0..6),
    ) {
        let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        for (row_kind, driver) in drivers() {
            let known: Vec<String> = edit(row_kind)
                .lines()
                .filter_map(|line| {
                    let value: serde_json::Value = serde_json::from_str(line).ok()?;
                    Some(value["type"].as_str()?.to_owned())
                })
                .collect();
            for kind in known.iter().chain([&kind]) {
                let line = format!("{{\"type\":\"{kind}\",{}}}", fields.join(","));
                let (mut reader, _) = read(driver, &request(), line.as_bytes());
                let _ = reader.outcome(&BackendExit::code(1), "").to_string();
            }
        }
    }
}
