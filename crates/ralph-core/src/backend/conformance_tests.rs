//! The same cases over every driver.
//!
//! [`TABLE`] has one row per driver and case: the stream (`tests/fixtures/<driver>/<file>.jsonl`),
//! how the process ended, and the word of the outcome. A new driver is a file of its own, a line in
//! [`driver`], and its rows here; the tests name the rows that are missing. What needs no stream of
//! its own (killed, cut short, garbage, nothing) is made from the `edit` stream of each driver.
//!
//! The command driver knows no more of its program than a text and an exit code, so it has no rows
//! for what cannot be told so, and [`talkative`] leaves it out.

mod asking;
mod damage;

use std::sync::LazyLock;

use super::acp::{AcpDriver, AcpOptions};
use super::*;
use crate::config::CommandClaim;

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
    Acp "acp" {
        "edit" "edit" exit 0 => "success",
        "refused key" "refused-key" exit 0 => "not_logged_in",
        "rate limit" "rate-limit" exit 0 => "rate_limit",
        "server error" "server-error" exit 0 => "api_error",
        "usage limit" "usage-limit" exit 0 => "rate_limit",
        "too long" "too-long" exit 0 => "context_limit",
        "max turns" "max-turns" exit 0 => "max_turns",
        "denied" "denied" exit 0 => "permission_denied",
        "rate limit as a code" "status-as-code" exit 0 => "rate_limit",
        "refused key as a code" "refused-key-as-code" exit 0 => "not_logged_in",
        "too long, ended like a good turn" "silent-failure" exit 0 => "context_limit",
        "refused key as words" "error-as-text" exit 0 => "not_logged_in",
        "refusal" "refused" exit 0 => "api_error",
        "cut off" "cut-off" exit 0 => "context_limit",
        "cancelled" "cancelled" exit 0 => "cancelled",
        "no key" "no-session" exit 0 => "not_logged_in",
        "another version" "other-version" exit 0 => "malformed",
    }
    Command "command" {
        "edit" "edit" exit 0 => "success",
        "refused key" "refused-key" exit 1 => "not_logged_in",
        "rate limit" "rate-limit" exit 0 => "rate_limit",
        "server error" "server-error" exit 0 => "api_error",
        "usage limit" "usage-limit" exit 1 => "rate_limit",
        "too long" "too-long" exit 1 => "context_limit",
        "words alone" "words" exit 0 => "success",
        "words and a bad end" "words" exit 3 => "crash",
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

pub(super) fn request() -> BackendRequest<'static> {
    BackendRequest { scratch: "/run/scratch", ..BackendRequest::plain("write a greeting") }
}

pub(super) fn read(
    driver: &dyn BackendDriver,
    request: &BackendRequest<'_>,
    stream: &[u8],
) -> (Box<dyn BackendReader>, Vec<BackendEvent>) {
    let mut reader = driver.reader(request);
    let mut events = Vec::new();
    for line in stream.split(|&byte| byte == b'\n') {
        reader.line(line, &mut events);
    }
    (reader, events)
}

/// The outcome of a stream.
fn outcome(driver: &dyn BackendDriver, stream: &[u8], exit: BackendExit) -> BackendOutcome {
    read(driver, &request(), stream).0.outcome(&exit, "")
}

/// One driver of each kind; those that need a configuration get one.
fn driver(kind: BackendKind) -> &'static dyn BackendDriver {
    static ACP: LazyLock<AcpDriver> = LazyLock::new(|| {
        AcpDriver::new(AcpOptions {
            name: "acp".into(),
            program: "claude-agent-acp".into(),
            cwd: "/work".into(),
            ..AcpOptions::default()
        })
    });
    static COMMAND: LazyLock<CommandDriver> = LazyLock::new(|| {
        let template = ["bot", "--model", "{model}", "--session", "{session}"].map(str::to_owned);
        CommandDriver::new("command", &template, CommandClaim::Marker).expect("a good template")
    });
    match kind {
        BackendKind::Acp => &*ACP,
        BackendKind::Command => &*COMMAND,
        _ => super::driver(kind).expect("the others need no configuration"),
    }
}

fn drivers() -> impl Iterator<Item = (BackendKind, &'static dyn BackendDriver)> {
    BackendKind::ALL.iter().map(|kind| (*kind, driver(*kind)))
}

/// Those whose programs tell what they do, and that they are done.
fn talkative() -> impl Iterator<Item = (BackendKind, &'static dyn BackendDriver)> {
    drivers().filter(|(kind, _)| *kind != BackendKind::Command)
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
            let may_lack = match *case {
                "max turns" => !driver.supports().max_turns,
                "denied" => kind == BackendKind::Command,
                _ => false,
            };
            assert!(has || may_lack, "{} lacks a row for {case:?}", driver.name());
        }
    }
}

#[test]
fn every_case_ends_in_its_outcome() {
    for row in TABLE {
        let driver = driver(row.kind);
        let outcome = outcome(driver, row.stream.as_bytes(), BackendExit::code(row.exit));
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
    for (kind, driver) in talkative() {
        let (reader, events) = read(driver, &request(), edit(kind).as_bytes());
        let name = driver.name();
        assert!(matches!(&events[0], BackendEvent::Started { session: Some(_), .. }), "{name}");
        assert!(reader.session().is_some(), "{name}");
        let calls: Vec<&String> = events.iter().filter_map(call).collect();
        let results: Vec<&String> = events.iter().filter_map(result).collect();
        assert!(!calls.is_empty() && calls == results, "{name}: {calls:?} {results:?}");
        assert!(!reader.answer().trim().is_empty(), "{name}");
        assert!(!events.iter().any(|event| matches!(event, BackendEvent::Unknown(_))), "{name}");
    }
}

fn call(event: &BackendEvent) -> Option<&String> {
    match event {
        BackendEvent::ToolCall { id, .. } => Some(id),
        _ => None,
    }
}

fn result(event: &BackendEvent) -> Option<&String> {
    match event {
        BackendEvent::ToolResult { id, .. } => Some(id),
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
        let context = events.iter().any(|event| matches!(event, BackendEvent::Context(_)));
        assert_eq!(context, driver.supports().context, "{}", driver.name());
        let told = events.iter().rev().find_map(|event| match event {
            BackendEvent::Usage(usage) => Some((Some(usage.input), Some(usage.output))),
            _ => None,
        });
        assert_eq!(told, Some((spent.input, spent.output)), "{}", driver.name());
        let (reader, _) = read(driver, &request(), b"");
        assert_eq!(reader.spent(), RunUsage::default(), "{}", driver.name());
    }
}

#[test]
fn a_program_that_was_killed_has_crashed() {
    for (kind, driver) in drivers() {
        let stream = edit(kind).as_bytes();
        for stream in [b"".as_slice(), &stream[..stream.len() / 2]] {
            let ending = ProcessEnding::Signal(9);
            let exit = BackendExit { ending, stopped: None };
            assert!(
                matches!(
                    outcome(driver, stream, exit),
                    BackendOutcome::Crash { ending: ProcessEnding::Signal(9), .. }
                ),
                "{}",
                driver.name()
            );
        }
    }
}

#[test]
fn a_bad_exit_after_a_good_result_is_a_success_with_a_note() {
    for (kind, driver) in drivers() {
        for (ending, note) in [
            (ProcessEnding::Code(0), None),
            (ProcessEnding::Code(1), Some("it ended with code 1 after it had finished")),
            (ProcessEnding::Code(173), Some("it ended with code 173 after it had finished")),
            (ProcessEnding::Signal(9), Some("it was killed by signal 9 after it had finished")),
        ] {
            let exit = BackendExit { ending, stopped: None };
            let (mut reader, _) = read(driver, &request(), edit(kind).as_bytes());
            // Where there is no last word, the exit code is the program's word.
            let is_good = reader.is_finished() || note.is_none();
            let outcome = reader.outcome(&exit, "");
            let expected = if is_good { "success" } else { "crash" };
            let name = driver.name();
            assert!(reader.is_finished() || kind == BackendKind::Opencode, "{name}");
            assert_eq!(outcome.word(), expected, "{name} {ending:?}");
            assert_eq!(outcome.note(&exit).as_deref(), note.filter(|_| is_good), "{name}");
        }
    }
    // What went wrong has no need of a note, and what ralph did itself is known.
    assert_eq!(BackendOutcome::NoOutput.note(&BackendExit::code(1)), None);
    let ended =
        BackendExit { ending: ProcessEnding::Signal(15), stopped: Some(StopCause::Lingered) };
    assert_eq!(BackendOutcome::Success.note(&ended), None);
}

#[test]
fn what_ralph_did_comes_before_what_the_program_said() {
    let stops = [
        (StopCause::Timeout, "timeout"),
        (StopCause::Idle, "idle"),
        (StopCause::Cancelled, "cancelled"),
        (StopCause::ContextFull, "context_limit"),
        (StopCause::Budget, "budget"),
    ];
    for (kind, driver) in drivers() {
        let streams = TABLE.iter().filter(|row| row.kind == kind).map(|row| row.stream);
        for stream in streams {
            for (stop, word) in stops {
                for ending in [ProcessEnding::Code(0), ProcessEnding::Signal(15)] {
                    let exit = BackendExit { ending, stopped: Some(stop) };
                    assert_eq!(outcome(driver, stream.as_bytes(), exit).word(), word);
                }
            }
        }
        let exit = BackendExit { ending: ProcessEnding::NotFound, stopped: None };
        assert_eq!(outcome(driver, b"", exit), BackendOutcome::NotInstalled);
    }
}

#[test]
fn a_program_that_lingers_after_its_end_has_succeeded() {
    for (kind, driver) in drivers() {
        let (mut reader, _) = read(driver, &request(), edit(kind).as_bytes());
        if reader.is_finished() {
            let exit = BackendExit {
                ending: ProcessEnding::Signal(15),
                stopped: Some(StopCause::Lingered),
            };
            assert_eq!(reader.outcome(&exit, ""), BackendOutcome::Success, "{}", driver.name());
        }
    }
}

#[test]
fn a_denial_is_no_failure_of_a_run_that_may_only_look() {
    for row in TABLE.iter().filter(|row| row.case == "denied") {
        let driver = driver(row.kind);
        let request = BackendRequest { permissions: BackendPermissions::ReadOnly, ..request() };
        let (mut reader, events) = read(driver, &request, row.stream.as_bytes());
        assert!(events.iter().any(|event| matches!(event, BackendEvent::Denied { .. })));
        let outcome = reader.outcome(&BackendExit::code(row.exit), "");
        assert_ne!(outcome.word(), "permission_denied", "{}", driver.name());
    }
}
