//! Whole runs, from lines to outcome. The streams are under `tests/fixtures/claude`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::ClaudeDriver;
use crate::backend::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/claude/", $name, ".jsonl"))
    };
}

/// Every stream, with the exit code of the program and the word of the outcome.
const RUNS: &[(&str, &str, i32, &str)] = &[
    ("edit", fixture!("edit"), 0, "success"),
    ("subagent", fixture!("subagent"), 0, "success"),
    ("overloaded", fixture!("overloaded"), 1, "api_error"),
    ("unreachable", fixture!("unreachable"), 1, "api_error"),
    ("not-logged-in", fixture!("not-logged-in"), 1, "not_logged_in"),
    ("refused-key", fixture!("refused-key"), 1, "not_logged_in"),
    ("rate-limit", fixture!("rate-limit"), 1, "rate_limit"),
    ("usage-limit", fixture!("usage-limit"), 1, "rate_limit"),
    ("usage-warning", fixture!("usage-warning"), 0, "success"),
    ("too-long", fixture!("too-long"), 1, "context_limit"),
    ("max-turns", fixture!("max-turns"), 1, "max_turns"),
    ("budget", fixture!("budget"), 1, "budget"),
    ("denied", fixture!("denied"), 0, "permission_denied"),
    ("denied-old", fixture!("denied-old"), 0, "permission_denied"),
    ("schema", fixture!("schema"), 0, "success"),
    ("schema-as-text", fixture!("schema-as-text"), 0, "success"),
    ("schema-ignored", fixture!("schema-ignored"), 0, "success"),
    ("schema-failed", fixture!("schema-failed"), 1, "malformed"),
    ("resumed", fixture!("resumed"), 0, "success"),
    ("resumed-old", fixture!("resumed-old"), 0, "success"),
    ("compacted", fixture!("compacted"), 0, "success"),
    ("compact-command", fixture!("compact-command"), 0, "success"),
    ("interrupted", fixture!("interrupted"), 0, "crash"),
    ("no-session", fixture!("no-session"), 1, "crash"),
    ("killed", fixture!("killed"), 143, "crash"),
    ("second-turn", fixture!("second-turn"), 0, "success"),
];

fn request() -> BackendRequest<'static> {
    BackendRequest { scratch: "/scratch", ..BackendRequest::plain("do it") }
}

/// A run that was read to its end.
struct Run {
    reader: Box<dyn BackendReader>,
    events: Vec<BackendEvent>,
}

impl Run {
    fn of(request: &BackendRequest<'_>, stream: &[u8]) -> Self {
        let mut run = Self { reader: ClaudeDriver.reader(request), events: Vec::new() };
        for line in stream.split(|&byte| byte == b'\n') {
            run.reader.line(line, &mut run.events);
        }
        run
    }

    fn stream(stream: &str) -> Self {
        Self::of(&request(), stream.as_bytes())
    }

    fn outcome(&mut self, code: i32) -> BackendOutcome {
        self.reader.outcome(&BackendExit::code(code), "")
    }

    fn contexts(&self) -> Vec<(u64, Option<u64>)> {
        let context = |event: &BackendEvent| match event {
            BackendEvent::Context(context) => Some((context.used, context.window)),
            _ => None,
        };
        self.events.iter().filter_map(context).collect()
    }

    fn count(&self, is_it: impl Fn(&BackendEvent) -> bool) -> usize {
        self.events.iter().filter(|event| is_it(event)).count()
    }
}

#[test]
fn every_run_ends_in_its_outcome() {
    for (name, stream, code, expected) in RUNS {
        let mut run = Run::stream(stream);
        assert_eq!(run.outcome(*code).word(), *expected, "{name}");
        let has_result = stream.contains(r#""type":"result""#);
        assert_eq!(run.reader.is_finished(), has_result, "{name}");
        let unknown = run.count(|event| matches!(event, BackendEvent::Unknown(_)));
        assert_eq!(unknown, usize::from(*name == "second-turn"), "{name}: {:?}", run.events);
    }
}

#[test]
fn what_ralph_did_is_told_before_what_the_program_says() {
    for (name, stream, ..) in RUNS {
        let mut run = Run::stream(stream);
        let exit =
            BackendExit { ending: ProcessEnding::Code(0), stopped: Some(StopCause::Timeout) };
        assert_eq!(run.reader.outcome(&exit, ""), BackendOutcome::Timeout, "{name}");
    }
    // It had finished and did not exit: that is no fault of the work.
    let lingered =
        BackendExit { ending: ProcessEnding::Signal(9), stopped: Some(StopCause::Lingered) };
    let mut run = Run::stream(fixture!("edit"));
    assert_eq!(run.reader.outcome(&lingered, ""), BackendOutcome::Success);
}

#[test]
fn the_words_thoughts_and_tools_of_a_run_become_events_in_order() {
    let run = Run::stream(fixture!("edit"));
    let session = Some("5e550000-0000-4000-8000-000000000001".to_owned());
    let context = |used, window| BackendEvent::Context(ContextFill { used, window });
    let expected = [
        BackendEvent::Started { session, model: Some("claude-opus-5-5".into()) },
        context(1500, None),
        BackendEvent::Thinking("Which file?".into()),
        BackendEvent::Text("I write the file.\n".into()),
        BackendEvent::ToolCall {
            id: "toolu_1".into(),
            name: "Write".into(),
            input: json!({"file_path": "/work/a.txt", "content": "one\ntwo\n"}),
        },
        BackendEvent::ToolResult {
            id: "toolu_1".into(),
            status: ToolStatus::Ok,
            text: "File created: /work/a.txt".into(),
        },
        context(1800, None),
        BackendEvent::ToolCall {
            id: "toolu_2".into(),
            name: "Bash".into(),
            input: json!({"command": "cat nothing"}),
        },
        BackendEvent::ToolResult {
            id: "toolu_2".into(),
            status: ToolStatus::Failed,
            text: "cat: nothing: No such file".into(),
        },
        context(2150, None),
        BackendEvent::Text("All done.".into()),
        BackendEvent::Usage(TokenUsage { input: 5450, cached: 1800, output: 90 }),
        BackendEvent::Cost(RunCost(0.025)),
        context(2150, Some(1_000_000)),
        BackendEvent::Finished,
    ];
    assert_eq!(run.events, expected);
    assert_eq!(run.reader.answer(), "All done.");
    assert_eq!(run.reader.session(), Some("5e550000-0000-4000-8000-000000000001"));
    assert_eq!(run.reader.spent().turns, Some(3));
}

#[test]
fn a_subagent_is_heard_but_fills_no_context_and_gives_no_answer() {
    let run = Run::stream(fixture!("subagent"));
    assert_eq!(run.contexts(), [(1500, None), (1600, None), (1600, Some(1_000_000))]);
    assert!(run.events.contains(&BackendEvent::Text("I am the helper.".into())));
    assert_eq!(run.reader.answer(), "The helper found it.");
    let parts = BackendEvent::ToolResult {
        id: "toolu_2".into(),
        status: ToolStatus::Ok,
        text: "one\n[image]".into(),
    };
    assert!(run.events.contains(&parts));
    // Its model's tokens and dollars count.
    assert_eq!(run.reader.spent().input, Some(93_000));
    assert!((run.reader.spent().cost.unwrap() - 0.11).abs() < 1e-9);
}

#[test]
fn a_failed_model_is_told_with_status_and_words() {
    let mut run = Run::stream(fixture!("overloaded"));
    let message = "API Error: 529 Overloaded. Try again in a moment.".to_owned();
    assert_eq!(run.outcome(1), BackendOutcome::ApiError { status: Some(529), message });
    let retry = BackendEvent::Retry {
        attempt: 1,
        of: Some(10),
        delay_ms: Some(512),
        reason: "server_error (529)".into(),
    };
    assert!(run.events.contains(&retry));
    assert_eq!(run.reader.answer(), "", "an error is not an answer");
}

#[test]
fn a_usage_limit_carries_the_time_of_its_reset() {
    let mut run = Run::stream(fixture!("usage-limit"));
    let limit = |status| {
        let kind = Some("five_hour".to_owned());
        BackendEvent::RateLimit(RateLimit { status, resets_at: Some(1_794_778_515), kind })
    };
    assert!(run.events.contains(&limit(LimitStatus::Rejected)));
    let message = "You've hit your limit · resets 9:35pm (UTC)".to_owned();
    assert_eq!(
        run.outcome(1),
        BackendOutcome::RateLimit { resets_at: Some(1_794_778_515), message }
    );
    let warned = Run::stream(fixture!("usage-warning"));
    assert!(warned.events.contains(&limit(LimitStatus::Warning)));
    assert_eq!(warned.count(|event| matches!(event, BackendEvent::RateLimit(_))), 1);
}

#[test]
fn denials_are_told_once_and_end_in_the_tools_names() {
    let tools = vec!["Write".to_owned(), "Bash".to_owned()];
    for (stream, told) in [(fixture!("denied"), 2), (fixture!("denied-old"), 3)] {
        let mut run = Run::stream(stream);
        assert_eq!(run.outcome(0), BackendOutcome::PermissionDenied { tools: tools.clone() });
        assert_eq!(run.count(|event| matches!(event, BackendEvent::Denied { .. })), told);
    }
    // Who asked for read-only got what was asked for.
    let look = BackendRequest { permissions: BackendPermissions::ReadOnly, ..request() };
    let mut run = Run::of(&look, fixture!("denied").as_bytes());
    assert_eq!(run.outcome(0), BackendOutcome::Success);
}

#[test]
fn the_structured_answer_comes_first_and_its_text_second() {
    let schema = json!({"type": "object"});
    let asked = BackendRequest { schema: Some(&schema), ..request() };
    let structured = |stream: &str| -> Option<Value> {
        Run::of(&asked, stream.as_bytes()).reader.structured().cloned()
    };
    assert_eq!(structured(fixture!("schema")), Some(json!({"status": "done", "items": 3})));
    assert_eq!(structured(fixture!("schema-as-text")), Some(json!({"status": "done"})));
    assert_eq!(structured(fixture!("schema-ignored")), None);
    let unasked = Run::stream(fixture!("schema-as-text"));
    assert_eq!(unasked.reader.structured(), None, "nobody asked for it");
}

#[test]
fn a_resumed_run_costs_only_what_it_cost_itself() {
    let before = RunUsage { cost: Some(0.04), input: Some(6000), ..RunUsage::default() };
    let asked = BackendRequest { session: SessionStart::Resume { id: "x", before }, ..request() };
    for stream in [fixture!("resumed"), fixture!("resumed-old")] {
        let run = Run::of(&asked, stream.as_bytes());
        let spent = run.reader.spent();
        assert!((spent.cost.unwrap() - 0.01).abs() < 1e-9, "{spent:?}");
        assert_eq!((spent.input, spent.cached, spent.output), (Some(1500), Some(500), Some(30)));
        assert_eq!(run.contexts().last(), Some(&(1500, Some(1_000_000))));
    }
}

#[test]
fn compactions_are_told_and_empty_the_context() {
    let run = Run::stream(fixture!("compacted"));
    assert_eq!(
        run.contexts(),
        [(900_300, None), (950_300, None), (2620, None), (1500, None), (1500, Some(1_000_000))]
    );
    assert!(run.events.contains(&BackendEvent::CompactionFailed("too_few_groups".into())));
    let compacted = |trigger, before, after| BackendEvent::Compacted {
        trigger,
        before: Some(before),
        after: Some(after),
    };
    assert!(run.events.contains(&compacted(CompactionTrigger::Auto, 950_418, 2620)));
    assert_eq!(run.count(|event| matches!(event, BackendEvent::Started { .. })), 1);
    let command = Run::stream(fixture!("compact-command"));
    assert!(command.events.contains(&compacted(CompactionTrigger::Manual, 1570, 900)));
    // `usage` says 0; the money was spent all the same.
    assert_eq!(command.reader.spent().cost, Some(0.021));
    assert_eq!(command.reader.spent().input, Some(5300));
}

#[test]
fn a_turn_after_the_result_makes_the_run_unfinished_again() {
    let lines: Vec<&str> = fixture!("second-turn").lines().collect();
    let mut run = Run::stream(&lines[..4].join("\n"));
    assert!(run.reader.is_finished());
    run.reader.line(lines[4].as_bytes(), &mut run.events);
    assert!(!run.reader.is_finished());
    assert_eq!(run.outcome(143).word(), "crash");
    run.reader.line(lines[5].as_bytes(), &mut run.events);
    assert_eq!(run.outcome(0), BackendOutcome::Success);
    assert_eq!(run.reader.spent().cost, Some(0.02));
    assert_eq!(run.reader.spent().turns, Some(2));
    assert_eq!(run.reader.answer(), "It is ready.");
}

#[test]
fn without_a_result_the_exit_and_standard_error_decide() {
    let judge = |stream: &str, ending, stderr: &str| {
        Run::stream(stream).reader.outcome(&BackendExit { ending, stopped: None }, stderr)
    };
    let crash =
        |ending, message: &str| BackendOutcome::Crash { ending, message: message.to_owned() };
    let code = ProcessEnding::Code;
    assert_eq!(judge("", ProcessEnding::NotFound, ""), BackendOutcome::NotInstalled);
    assert_eq!(judge("\n \n", code(0), ""), BackendOutcome::NoOutput);
    assert_eq!(judge("", code(1), ""), crash(code(1), "it gave no reason"));
    assert_eq!(judge("", code(1), "Error: bad flag\n"), crash(code(1), "Error: bad flag"));
    assert_eq!(judge("", code(1), "Invalid API key").word(), "not_logged_in");
    let malformed = BackendOutcome::Malformed { message: "All done.".into() };
    assert_eq!(judge("All done.\n", code(0), ""), malformed);
    let killed = fixture!("killed");
    assert_eq!(
        judge(killed, ProcessEnding::Signal(9), ""),
        crash(ProcessEnding::Signal(9), "it died while it worked")
    );
    assert_eq!(judge(killed, code(0), ""), crash(code(0), "it did not say that it was done"));
    // The model's failure was told, and then the result was lost.
    let lines: Vec<&str> = fixture!("overloaded").lines().collect();
    assert_eq!(judge(&lines[..4].join("\n"), code(1), "").word(), "api_error");
    // Nothing is known about what it cost.
    assert_eq!(Run::stream(killed).reader.spent().cost, None);
    assert_eq!(Run::stream(killed).reader.spent().output, None);
}

#[test]
fn a_result_is_read_whatever_its_other_fields_have_become() {
    let odd = fixture!("edit")
        .replace(r#""total_cost_usd":0.025"#, r#""total_cost_usd":{"usd":"0.025"}"#)
        .replace(r#""permission_denials":[]"#, r#""permission_denials":{"count":0}"#)
        .replace(r#""num_turns":3"#, r#""num_turns":"three""#);
    let mut run = Run::stream(&odd);
    assert_eq!(run.outcome(0), BackendOutcome::Success);
    assert_eq!(run.reader.spent().turns, None);
}

#[test]
fn any_value_in_any_place_of_a_result_costs_only_that_field() {
    let any = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("a"),
        json!([1, [2]]),
        json!({"x": {}}),
    ];
    let stream = fixture!("edit");
    let (start, last) = stream.trim_end().rsplit_once('\n').unwrap();
    let result: Value = serde_json::from_str(last).unwrap();
    for field in result.as_object().unwrap().keys().filter(|field| *field != "type") {
        for value in &any {
            let mut odd = result.clone();
            odd[field] = value.clone();
            let run = Run::stream(&format!("{start}\n{odd}"));
            assert!(run.reader.is_finished(), "{odd}");
        }
    }
}

#[test]
fn half_a_surrogate_pair_and_bytes_that_are_no_text_do_not_lose_the_result() {
    let cut = fixture!("edit").replace(r#""result":"All done.""#, r#""result":"cut \ud83d""#);
    let mut run = Run::stream(&cut);
    assert_eq!(run.outcome(0), BackendOutcome::Success);
    assert_eq!(run.reader.answer(), "cut \u{fffd}");
    let mut bytes = fixture!("edit").as_bytes().to_vec();
    let at = fixture!("edit").rfind("All done.").unwrap();
    bytes[at] = 0xFF;
    let mut run = Run::of(&request(), &bytes);
    assert_eq!(run.outcome(0), BackendOutcome::Success);
    assert_eq!(run.reader.answer(), "\u{fffd}ll done.");
}

#[test]
fn what_is_huge_is_kept_in_part_and_says_so() {
    let long = "é".repeat(100_000);
    let result = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t", "content": long}]}});
    let run = Run::stream(&result.to_string());
    let BackendEvent::ToolResult { text, .. } = &run.events[0] else { panic!("{:?}", run.events) };
    assert!(text.len() < 70_000 && text.ends_with("more bytes are in the log)"));
    let run = Run::stream(&long);
    let BackendEvent::Unknown(text) = &run.events[0] else { panic!("{:?}", run.events) };
    assert!(text.len() < 70_000 && text.ends_with("more bytes are in the log)"));
    let answer = json!({"type": "assistant", "message": {"id": "m", "content": [
        {"type": "text", "text": "é".repeat(600_000) + "<TASK_DONE>"}]}});
    let run = Run::stream(&answer.to_string());
    assert!(run.reader.answer().len() <= 1 << 20);
    assert!(run.reader.answer().ends_with("<TASK_DONE>"));
}

#[test]
fn what_is_not_known_is_kept_as_it_came() {
    for line in [
        r#"{"type":"prompt_suggestion","suggestion":"x"}"#,
        r#"{"type":"system","subtype":"news"}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"hologram"}]}}"#,
        r#"{"type":"assistant","message":"words"}"#,
        r#"["result","success"]"#,
        "{\"type\":\"result\"",
        "[]",
        "7",
    ] {
        let mut run = Run::stream(line);
        assert_eq!(run.events, [BackendEvent::Unknown(line.to_owned())]);
        assert_ne!(run.outcome(0), BackendOutcome::Success);
    }
}

proptest! {
    #[test]
    fn no_bytes_panic_or_pass_for_success(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        code in 0..3,
    ) {
        let mut run = Run::of(&request(), &bytes);
        prop_assert_ne!(run.outcome(code), BackendOutcome::Success);
    }

    #[test]
    fn a_damaged_stream_never_panics(
        which in 0..RUNS.len(), at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let mut stream = RUNS[which].1.as_bytes().to_vec();
        let at = at.index(stream.len());
        let end = stream.len().min(at + bytes.len());
        stream.splice(at..end, bytes);
        let mut run = Run::of(&request(), &stream);
        let _ = run.outcome(0);
    }

    #[test]
    fn a_stream_that_is_cut_is_no_success_unless_its_result_is_whole(
        which in 0..RUNS.len(), at in any::<prop::sample::Index>(), code in 0..2,
    ) {
        let stream = RUNS[which].1;
        let at = at.index(stream.len());
        let cut = String::from_utf8_lossy(&stream.as_bytes()[..at]);
        let whole = cut.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_result = whole.is_some_and(|line| line["type"] == "result");
        let mut run = Run::of(&request(), &stream.as_bytes()[..at]);
        prop_assert!(run.outcome(code) != BackendOutcome::Success || is_result);
    }
}
