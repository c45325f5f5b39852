//! What the reader makes of a run.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::backend::{
    BackendExit, CompactionTrigger, ContextFill, ProcessEnding, RateLimit, RunUsage, StopCause,
    TokenUsage, ToolStatus,
};

fn request(prompt: &str) -> BackendRequest<'_> {
    BackendRequest { scratch: "/scratch", ..BackendRequest::plain(prompt) }
}

fn read(stream: &[u8]) -> (Box<dyn BackendReader>, Vec<BackendEvent>) {
    let mut reader = SimDriver.reader(&request(""));
    let mut events = Vec::new();
    for line in stream.split(|byte| *byte == b'\n') {
        reader.line(line, &mut events);
    }
    (reader, events)
}

fn outcome(stream: &str, exit: BackendExit) -> BackendOutcome {
    read(stream.as_bytes()).0.outcome(&exit, "\nthe last words\n")
}

const STARTED: &str = "{\"event\":\"started\",\"session\":\"s\",\"model\":\"m\"}\n";

fn finished(rest: &str) -> String {
    format!("{STARTED}{{\"event\":\"finished\",\"turns\":2,{rest}}}\n")
}

#[test]
fn the_command_line_says_all_that_was_asked() {
    let schema = json!({ "type": "object" });
    let all = BackendRequest {
        system: Some("be brief"),
        model: Some("big"),
        max_turns: Some(3),
        permissions: BackendPermissions::ReadOnly,
        schema: Some(&schema),
        session: SessionStart::Resume { id: "s-1", before: RunUsage::default() },
        budget: Some(1.5),
        ..request("do it")
    };
    let invocation = SimDriver.invocation(&all);
    assert_eq!(
        invocation.args.join(" "),
        "__sim --scratch /scratch --model big --max-turns 3 --budget 1.5 --resume s-1 \
         --system /scratch/sim-system.txt --structured --read-only"
    );
    assert_eq!(invocation.stdin, "do it");
    assert_eq!(invocation.files[0].text, "be brief");
    assert_eq!(SimDriver.invocation(&request("x")).args, ["__sim", "--scratch", "/scratch"]);
}

#[test]
fn every_line_is_one_event() {
    let id = || "1".to_owned();
    let cases = [
        (
            SimLine::Started { session: "s".into(), model: "m".into() },
            BackendEvent::Started { session: Some("s".into()), model: Some("m".into()) },
        ),
        (SimLine::Text { text: "t".into() }, BackendEvent::Text("t".into())),
        (SimLine::Thinking { text: "t".into() }, BackendEvent::Thinking("t".into())),
        (
            SimLine::ToolCall { id: id(), name: "write".into(), input: json!({ "path": "a" }) },
            BackendEvent::ToolCall {
                id: id(),
                name: "write".into(),
                input: json!({ "path": "a" }),
            },
        ),
        (
            SimLine::ToolResult { id: id(), status: ToolStatus::Failed, text: "no".into() },
            BackendEvent::ToolResult { id: id(), status: ToolStatus::Failed, text: "no".into() },
        ),
        (
            SimLine::Usage(TokenUsage { input: 3, cached: 2, output: 1 }),
            BackendEvent::Usage(TokenUsage { input: 3, cached: 2, output: 1 }),
        ),
        (SimLine::Cost { usd: 0.25 }, BackendEvent::Cost(RunCost(0.25))),
        (
            SimLine::Context(ContextFill { used: 5, window: Some(10) }),
            BackendEvent::Context(ContextFill { used: 5, window: Some(10) }),
        ),
        (
            SimLine::RateLimit(RateLimit {
                status: LimitStatus::Warning,
                resets_at: Some(9),
                kind: None,
            }),
            BackendEvent::RateLimit(RateLimit {
                status: LimitStatus::Warning,
                resets_at: Some(9),
                kind: None,
            }),
        ),
        (
            SimLine::Retry { attempt: 1, of: None, delay_ms: Some(2), reason: "r".into() },
            BackendEvent::Retry { attempt: 1, of: None, delay_ms: Some(2), reason: "r".into() },
        ),
        (
            SimLine::Compacted { trigger: CompactionTrigger::Manual, before: 9, after: 2 },
            BackendEvent::Compacted {
                trigger: CompactionTrigger::Manual,
                before: Some(9),
                after: Some(2),
            },
        ),
        (
            SimLine::CompactionFailed { reason: "r".into() },
            BackendEvent::CompactionFailed("r".into()),
        ),
        (
            SimLine::Denied { tool: "write".into(), reason: None },
            BackendEvent::Denied { tool: "write".into(), reason: None },
        ),
    ];
    for (line, event) in cases {
        let printed = line.render();
        assert_eq!(SimLine::parse(printed.as_bytes()), Some(line), "{printed}");
        assert_eq!(read(printed.as_bytes()).1, [event], "{printed}");
    }
}

#[test]
fn every_ending_has_its_outcome() {
    let good = || finished("\"result\":\"success\"");
    let cases = [
        (good(), BackendExit::code(0), "success"),
        (good(), BackendExit::code(3), "success"),
        (
            format!("{STARTED}{{\"event\":\"denied\",\"tool\":\"write\"}}\n{}", good()),
            BackendExit::code(0),
            "permission_denied",
        ),
        (finished("\"result\":\"max_turns\""), BackendExit::code(1), "max_turns"),
        (finished("\"result\":\"context_limit\""), BackendExit::code(1), "context_limit"),
        (finished("\"result\":\"budget\""), BackendExit::code(1), "budget"),
        (finished("\"result\":\"rate_limit\""), BackendExit::code(1), "rate_limit"),
        (finished("\"result\":\"not_logged_in\""), BackendExit::code(1), "not_logged_in"),
        (finished("\"result\":\"api_error\",\"status\":529"), BackendExit::code(1), "api_error"),
        (STARTED.to_owned(), BackendExit::code(0), "crash"),
        (
            STARTED.to_owned(),
            BackendExit { ending: ProcessEnding::Signal(9), stopped: None },
            "crash",
        ),
        (String::new(), BackendExit::code(0), "no_output"),
        (String::new(), BackendExit::code(2), "crash"),
        (format!("{STARTED}what?\n"), BackendExit::code(0), "malformed"),
        (
            String::new(),
            BackendExit { ending: ProcessEnding::NotFound, stopped: None },
            "not_installed",
        ),
        (
            good(),
            BackendExit { ending: ProcessEnding::Signal(15), stopped: Some(StopCause::Lingered) },
            "success",
        ),
        (
            good(),
            BackendExit { ending: ProcessEnding::Signal(15), stopped: Some(StopCause::Timeout) },
            "timeout",
        ),
        (
            good(),
            BackendExit { ending: ProcessEnding::Signal(15), stopped: Some(StopCause::Cancelled) },
            "cancelled",
        ),
        (
            String::new(),
            BackendExit { ending: ProcessEnding::Signal(9), stopped: Some(StopCause::Idle) },
            "idle",
        ),
        (format!("what?\n{}", good()), BackendExit::code(0), "success"),
    ];
    for (stream, exit, word) in cases {
        assert_eq!(outcome(&stream, exit).word(), word, "{exit:?} {stream}");
    }
}

#[test]
fn a_limit_keeps_the_time_of_its_reset() {
    let limit =
        "{\"event\":\"rate_limit\",\"status\":\"rejected\",\"resets_at\":77,\"kind\":null}\n";
    let stream = format!("{limit}{}", finished("\"result\":\"rate_limit\",\"message\":\"full\""));
    assert_eq!(
        outcome(&stream, BackendExit::code(1)),
        BackendOutcome::RateLimit { resets_at: Some(77), message: "full".into() }
    );
}

#[test]
fn a_crash_shows_the_last_words_of_standard_error() {
    assert_eq!(
        outcome(STARTED, BackendExit::code(7)),
        BackendOutcome::Crash { ending: ProcessEnding::Code(7), message: "the last words".into() }
    );
}

#[test]
fn what_nobody_said_is_unknown_and_the_rest_is_added_up() {
    let (reader, _) = read(STARTED.as_bytes());
    assert_eq!(reader.spent(), RunUsage::default());
    assert_eq!(reader.session(), Some("s"));
    let usage = "{\"event\":\"usage\",\"input\":10,\"cached\":4,\"output\":1}\n";
    let cost = "{\"event\":\"cost\",\"usd\":0.1}\n{\"event\":\"cost\",\"usd\":0.3}\n";
    let end = finished("\"result\":\"success\",\"structured\":{\"a\":1}");
    let (reader, _) = read(format!("{usage}{usage}{cost}{end}").as_bytes());
    assert_eq!(
        reader.spent(),
        RunUsage {
            cost: Some(0.3),
            input: Some(20),
            cached: Some(8),
            output: Some(2),
            turns: Some(2)
        }
    );
    assert_eq!(reader.structured(), Some(&json!({ "a": 1 })));
    assert!(reader.is_finished());
}

#[test]
fn a_line_that_makes_no_sense_is_kept() {
    let (_, events) = read(b"\xff\xfe\n{\"event\":\"new thing\"}\n[]\n");
    assert_eq!(
        events,
        ["\u{fffd}\u{fffd}", "{\"event\":\"new thing\"}", "[]"]
            .map(|s| BackendEvent::Unknown(s.into()))
    );
}

/// A whole run that succeeds, as it is printed.
fn good_stream() -> Vec<u8> {
    let scenario = Scenario::parse(demo::SCENARIO).unwrap_or_else(|e| panic!("{e}"));
    let prompt = "## Current Task\nt-add1";
    let choice = choose(&scenario, prompt, &mut |_| 0);
    let performance = expand(&scenario, &choice, prompt, &scenario_tests::ask());
    let printed = performance.ops.iter().filter_map(|op| match op {
        SimOperation::Line(line) => Some(line.render()),
        _ => None,
    });
    printed.collect::<String>().into_bytes()
}

proptest! {
    #[test]
    fn a_stream_that_is_cut_is_never_a_success(at in 0..good_stream().len() - 1, code in 0..2i32) {
        let stream = good_stream();
        let (mut reader, _) = read(&stream[..at]);
        prop_assert_ne!(reader.outcome(&BackendExit::code(code), ""), BackendOutcome::Success);
    }

    #[test]
    fn no_bytes_panic(stream in proptest::collection::vec(any::<u8>(), 0..200), code in any::<i32>()) {
        let (mut reader, _) = read(&stream);
        prop_assert_ne!(reader.outcome(&BackendExit::code(code), ""), BackendOutcome::Success);
    }

    #[test]
    fn no_damaged_line_panics(at in 0..good_stream().len(), byte in any::<u8>()) {
        let mut stream = good_stream();
        stream[at] = byte;
        let (mut reader, _) = read(&stream);
        let _ = reader.outcome(&BackendExit::code(0), "");
    }
}
