//! The same cases over every driver of the registry.
//!
//! [`TABLE`] has one row per driver and case: the stream (`tests/fixtures/<driver>/<file>.jsonl`),
//! how the process ended, and the word of the outcome. A new driver is a file of its own, a line in
//! [`driver`], and its rows here; the tests name the rows that are missing. What needs no stream of
//! its own (killed, cut short, garbage, nothing) is made from the `edit` stream of each driver.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// What every driver is asked.
const CASES: &[&str] = &[
    "edit",
    "refused key",
    "rate limit",
    "server error",
    "usage limit",
    "too long",
    "max turns",
    "denied",
];

struct Row {
    kind: BackendKind,
    case: &'static str,
    stream: &'static str,
    exit: i32,
    outcome: &'static str,
}

macro_rules! table {
    ($( $kind:ident $dir:literal { $( $case:literal $file:literal exit $exit:literal => $outcome:literal, )+ } )+) => {
        &[$( $( Row {
            kind: BackendKind::$kind,
            case: $case,
            stream: include_str!(concat!("../../tests/fixtures/", $dir, "/", $file, ".jsonl")),
            exit: $exit,
            outcome: $outcome,
        }, )+ )+]
    };
}

const TABLE: &[Row] = table! {
    Claude "claude" {
        "edit" "edit" exit 0 => "success",
        "refused key" "refused-key" exit 1 => "not_logged_in",
        "rate limit" "rate-limit" exit 1 => "rate_limit",
        "server error" "overloaded" exit 1 => "api_error",
        "usage limit" "usage-limit" exit 1 => "rate_limit",
        "too long" "too-long" exit 1 => "context_limit",
        "max turns" "max-turns" exit 1 => "max_turns",
        "denied" "denied" exit 0 => "permission_denied",
    }
    Codex "codex" {
        "edit" "edit" exit 0 => "success",
        "refused key" "refused-key" exit 1 => "not_logged_in",
        "rate limit" "rate-limit" exit 1 => "rate_limit",
        "server error" "server-error" exit 1 => "api_error",
        "usage limit" "usage-limit" exit 1 => "rate_limit",
        "too long" "too-long" exit 1 => "context_limit",
        "denied" "denied" exit 0 => "permission_denied",
        "no key" "not-logged-in" exit 1 => "not_logged_in",
        "recovered" "recovered" exit 0 => "success",
    }
    Gemini "gemini" {
        "edit" "edit" exit 0 => "success",
        "refused key" "refused-key" exit 145 => "not_logged_in",
        "rate limit" "rate-limit" exit 173 => "rate_limit",
        "server error" "server-error" exit 244 => "api_error",
        "usage limit" "usage-limit" exit 173 => "rate_limit",
        "too long" "too-long" exit 144 => "context_limit",
        "max turns" "max-turns" exit 53 => "max_turns",
        "denied" "denied" exit 0 => "permission_denied",
        "unreachable" "unreachable" exit 1 => "api_error",
    }
    Opencode "opencode" {
        "edit" "edit" exit 0 => "success",
        "refused key" "refused-key" exit 1 => "not_logged_in",
        "rate limit" "rate-limit" exit 1 => "rate_limit",
        "server error" "server-error" exit 1 => "api_error",
        "usage limit" "usage-limit" exit 1 => "rate_limit",
        "too long" "too-long" exit 1 => "context_limit",
        "denied" "denied" exit 0 => "permission_denied",
        "no key" "not-logged-in" exit 1 => "not_logged_in",
        "no end" "broken-steps" exit 0 => "crash",
    }
    Sim "sim" {
        "edit" "edit" exit 0 => "success",
        "refused key" "refused-key" exit 1 => "not_logged_in",
        "rate limit" "rate-limit" exit 1 => "rate_limit",
        "server error" "server-error" exit 1 => "api_error",
        "usage limit" "usage-limit" exit 1 => "rate_limit",
        "too long" "too-long" exit 1 => "context_limit",
        "max turns" "max-turns" exit 1 => "max_turns",
        "denied" "denied" exit 0 => "permission_denied",
    }
};

/// A plain request.
pub(super) fn request() -> Request<'static> {
    Request {
        prompt: "write a greeting",
        system: None,
        model: None,
        max_turns: None,
        permissions: Permissions::Bypass,
        mcp: None,
        schema: None,
        session: Session::New,
        budget: None,
        scratch: "/run/scratch",
        as_root: false,
    }
}

/// Reads a whole stream.
pub(super) fn read(
    driver: &dyn Driver,
    request: &Request<'_>,
    stream: &[u8],
) -> (Box<dyn Reader>, Vec<Event>) {
    let mut reader = driver.reader(request);
    let mut events = Vec::new();
    for line in stream.split(|&byte| byte == b'\n') {
        reader.line(line, &mut events);
    }
    (reader, events)
}

/// The outcome of a stream.
fn outcome(driver: &dyn Driver, stream: &[u8], exit: Exit) -> Outcome {
    read(driver, &request(), stream).0.outcome(&exit, "")
}

fn drivers() -> impl Iterator<Item = (BackendKind, &'static dyn Driver)> {
    BackendKind::ALL.iter().filter_map(|kind| Some((*kind, driver(*kind)?)))
}

fn edit(kind: BackendKind) -> &'static str {
    let row = TABLE.iter().find(|row| row.kind == kind && row.case == "edit");
    row.expect("every driver has an edit").stream
}

#[test]
fn every_driver_has_every_case() {
    for (kind, driver) in drivers() {
        for case in CASES {
            let has = TABLE.iter().any(|row| row.kind == kind && row.case == *case);
            let may_lack = *case == "max turns" && !driver.supports().max_turns;
            assert!(has || may_lack, "{} lacks a row for {case:?}", driver.name());
        }
    }
}

#[test]
fn every_case_ends_in_its_outcome() {
    for row in TABLE {
        let driver = driver(row.kind).expect("rows are of drivers");
        let outcome = outcome(driver, row.stream.as_bytes(), Exit::code(row.exit));
        assert_eq!(outcome.word(), row.outcome, "{} {}: {outcome:?}", driver.name(), row.case);
    }
}

#[test]
fn a_driver_is_found_under_its_own_name() {
    for (kind, driver) in drivers() {
        assert_eq!(driver.name(), kind.as_str());
    }
}

#[test]
fn an_edit_is_told_from_its_start_to_its_answer() {
    for (kind, driver) in drivers() {
        let (reader, events) = read(driver, &request(), edit(kind).as_bytes());
        let name = driver.name();
        assert!(matches!(&events[0], Event::Started { session: Some(_), .. }), "{name}");
        assert!(reader.session().is_some(), "{name}");
        let calls: Vec<&String> = events.iter().filter_map(call).collect();
        let results: Vec<&String> = events.iter().filter_map(result).collect();
        assert!(!calls.is_empty() && calls == results, "{name}: {calls:?} {results:?}");
        assert!(!reader.answer().trim().is_empty(), "{name}");
        assert!(!events.iter().any(|event| matches!(event, Event::Unknown(_))), "{name}");
    }
}

fn call(event: &Event) -> Option<&String> {
    match event {
        Event::ToolCall { id, .. } => Some(id),
        _ => None,
    }
}

fn result(event: &Event) -> Option<&String> {
    match event {
        Event::ToolResult { id, .. } => Some(id),
        _ => None,
    }
}

#[test]
fn tokens_are_counted_and_a_cost_is_known_only_where_it_is_reported() {
    for (kind, driver) in drivers() {
        let (reader, events) = read(driver, &request(), edit(kind).as_bytes());
        let spent = reader.spent();
        assert!(spent.input.is_some_and(|n| n > 0), "{}", driver.name());
        assert!(spent.output.is_some_and(|n| n > 0), "{}", driver.name());
        assert_eq!(spent.cost.is_some(), driver.supports().cost, "{}", driver.name());
        let context = events.iter().any(|event| matches!(event, Event::Context(_)));
        assert_eq!(context, driver.supports().context, "{}", driver.name());
        let told = events.iter().rev().find_map(|event| match event {
            Event::Usage(usage) => Some((Some(usage.input), Some(usage.output))),
            _ => None,
        });
        assert_eq!(told, Some((spent.input, spent.output)), "{}", driver.name());
        let (reader, _) = read(driver, &request(), b"");
        assert_eq!(reader.spent(), Spent::default(), "{}", driver.name());
    }
}

#[test]
fn no_part_of_a_good_stream_is_a_success() {
    for (kind, driver) in drivers() {
        let stream = edit(kind).trim_end().as_bytes();
        for end in 0..stream.len() {
            let outcome = outcome(driver, &stream[..end], Exit::code(0));
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
        let cut = outcome(driver, &stream[..stream.len() - 5], Exit::code(0));
        assert_eq!(cut.word(), "malformed", "{}", driver.name());
    }
}

#[test]
fn garbage_and_silence_have_words_of_their_own() {
    for (_, driver) in drivers() {
        let name = driver.name();
        let garbage = b"\xff\xfe{\"a\": \n\x00\x00\n[1,2]\nno json\n";
        let (mut reader, events) = read(driver, &request(), garbage);
        let kept = events.iter().filter(|event| matches!(event, Event::Unknown(_))).count();
        assert_eq!((kept, events.len()), (4, 4), "{name}");
        assert_eq!(reader.outcome(&Exit::code(0), "").word(), "malformed", "{name}");
        assert_eq!(outcome(driver, garbage, Exit::code(1)).word(), "crash", "{name}");
        assert_eq!(outcome(driver, b"", Exit::code(0)), Outcome::NoOutput, "{name}");
        assert_eq!(outcome(driver, b"\n \n", Exit::code(0)), Outcome::NoOutput, "{name}");
        assert_eq!(outcome(driver, b"", Exit::code(1)).word(), "crash", "{name}");
    }
}

#[test]
fn a_program_that_was_killed_has_crashed() {
    for (kind, driver) in drivers() {
        let stream = edit(kind).as_bytes();
        for stream in [b"".as_slice(), &stream[..stream.len() / 2]] {
            let ending = Ending::Signal(9);
            let exit = Exit { ending, stopped: None };
            assert!(
                matches!(
                    outcome(driver, stream, exit),
                    Outcome::Crash { ending: Ending::Signal(9), .. }
                ),
                "{}",
                driver.name()
            );
        }
    }
}

#[test]
fn a_good_stream_with_a_bad_exit_code_is_no_success() {
    // The last event of claude decides whatever its process does afterwards.
    for (kind, driver) in drivers().filter(|(kind, _)| *kind != BackendKind::Claude) {
        let outcome = outcome(driver, edit(kind).as_bytes(), Exit::code(1));
        assert_eq!(outcome.word(), "crash", "{}", driver.name());
    }
}

#[test]
fn what_ralph_did_comes_before_what_the_program_said() {
    let stops = [
        (Stop::Timeout, "timeout"),
        (Stop::Idle, "idle"),
        (Stop::Cancelled, "cancelled"),
        (Stop::ContextFull, "context_limit"),
        (Stop::Budget, "budget"),
    ];
    for (kind, driver) in drivers() {
        let streams = TABLE.iter().filter(|row| row.kind == kind).map(|row| row.stream);
        for stream in streams {
            for (stop, word) in stops {
                for ending in [Ending::Code(0), Ending::Signal(15)] {
                    let exit = Exit { ending, stopped: Some(stop) };
                    assert_eq!(outcome(driver, stream.as_bytes(), exit).word(), word);
                }
            }
        }
        let exit = Exit { ending: Ending::NotFound, stopped: None };
        assert_eq!(outcome(driver, b"", exit), Outcome::NotInstalled);
    }
}

#[test]
fn a_program_that_lingers_after_its_end_has_succeeded() {
    for (kind, driver) in drivers() {
        let (mut reader, _) = read(driver, &request(), edit(kind).as_bytes());
        if reader.is_finished() {
            let exit = Exit { ending: Ending::Signal(15), stopped: Some(Stop::Lingered) };
            assert_eq!(reader.outcome(&exit, ""), Outcome::Success, "{}", driver.name());
        }
    }
}

#[test]
fn a_denial_is_no_failure_of_a_run_that_may_only_look() {
    for row in TABLE.iter().filter(|row| row.case == "denied") {
        let driver = driver(row.kind).expect("rows are of drivers");
        let request = Request { permissions: Permissions::ReadOnly, ..request() };
        let (mut reader, events) = read(driver, &request, row.stream.as_bytes());
        assert!(events.iter().any(|event| matches!(event, Event::Denied { .. })));
        let outcome = reader.outcome(&Exit::code(row.exit), "");
        assert_ne!(outcome.word(), "permission_denied", "{}", driver.name());
    }
}

#[test]
fn no_prompt_and_no_secret_is_an_argument() {
    let mcp = json!({ "mcpServers": {
        "a": { "command": "a", "env": { "KEY": "s3cret" } },
        "b": { "url": "https://b.example", "headers": { "Authorization": "Bearer s3cret" } },
    } });
    let prompt = "p".repeat(300_000);
    let system = "q".repeat(300_000);
    for (_, driver) in drivers() {
        let request =
            Request { prompt: &prompt, system: Some(&system), mcp: Some(&mcp), ..request() };
        let run = driver.invocation(&request);
        assert!(run.stdin.ends_with(&prompt), "{}", driver.name());
        for arg in run.args.iter().chain(run.env.iter().map(|(_, value)| value)) {
            assert!(arg.len() < 128 * 1024, "{}", driver.name());
        }
        assert!(!run.args.join(" ").contains("s3cret"), "{}", driver.name());
        let files: BTreeSet<&str> = run.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files.len(), run.files.len(), "{}: two files of one name", driver.name());
        assert!(files.iter().all(|path| path.starts_with("/run/scratch/")), "{}", driver.name());
    }
}

#[test]
fn what_is_supported_is_asked_for() {
    for (_, driver) in drivers() {
        let schema = json!({ "type": "object", "properties": {} });
        let plain = driver.invocation(&request());
        let supports = driver.supports();
        let before = Spent::default();
        let asked = [
            (
                supports.resume,
                Request { session: Session::Resume { id: "s-1", before }, ..request() },
            ),
            (supports.schema, Request { schema: Some(&schema), ..request() }),
            (supports.max_turns, Request { max_turns: Some(3), ..request() }),
            (supports.budget, Request { budget: Some(1.5), ..request() }),
            (true, Request { model: Some("some/model"), ..request() }),
            (true, Request { system: Some("be brief"), ..request() }),
            (true, Request { permissions: Permissions::ReadOnly, ..request() }),
        ];
        for (supported, request) in asked {
            assert_eq!(
                driver.invocation(&request) != plain,
                supported,
                "{}: {request:?}",
                driver.name()
            );
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_stop_a_reader(
        lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
        code in -1..260i32,
    ) {
        for (_, driver) in drivers() {
            let stream = lines.join(&b'\n');
            prop_assert_ne!(outcome(driver, &stream, Exit::code(code)), Outcome::Success);
        }
    }

    #[test]
    fn no_damage_to_a_stream_stops_a_reader(
        row in 0..TABLE.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        keep in proptest::collection::vec(any::<bool>(), 12),
    ) {
        let row = &TABLE[row];
        let driver = driver(row.kind).expect("rows are of drivers");
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
        let outcome = reader.outcome(&Exit::code(row.exit), "");
        prop_assert!(!outcome.to_string().is_empty());
        prop_assert!(row.exit == 0 || outcome != Outcome::Success);
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
                let _ = reader.outcome(&Exit::code(1), "").to_string();
            }
        }
    }
}
