//! Work whose context fills up: compacted by the backend, or carried over into a new session.

use std::cell::Cell;
use std::time::Duration;

use ralph_core::backend::sim::SimDriver;
use ralph_core::backend::{
    BackendDriver, BackendFeatures, BackendOutcome, BackendReader, BackendRequest, Invocation,
    SessionStart,
};
use ralph_core::limits::{BackendRunLimits, LimitMonitor};
use ralph_host::backends::{BackendCall, BackendNotice, FullContextPolicy};
use ralph_host::proc::mark::survivors;
use ralph_host::proc::{CancelToken, JobBounds};
use ralph_host::session::{SessionCompaction, SessionReport, SessionWork, run_session};

use crate::stage::{AGES, Stage};

const PROMPT: &str = "## Current Task\n\nt-demo\n";

/// Fills its context, and then waits for somebody to do something about it.
const FILLS: &str = "{ write = 'made.txt', text = 'x' }, { usage = { input = 100, cached = 0, output = 10 } }, \
                     { cost = 0.25 }, \
                     { context = [30, 86] }, { hang = true }";

/// The simulated backend, as if it could not compact.
struct Plain;

impl BackendDriver for Plain {
    fn name(&self) -> &str {
        "plain"
    }
    fn program(&self) -> &str {
        SimDriver.program()
    }
    fn supports(&self) -> BackendFeatures {
        BackendFeatures { compaction: false, ..SimDriver.supports() }
    }
    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        assert!(!matches!(request.session, SessionStart::Compact { .. }), "it cannot compact");
        SimDriver.invocation(request)
    }
    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        SimDriver.reader(request)
    }
}

struct Done {
    stage: Stage,
    report: SessionReport,
    /// What the monitor decided.
    decisions: Vec<String>,
    /// How often the working tree was looked at.
    looks: u32,
}

fn work(driver: &dyn BackendDriver, scenario: &str) -> Done {
    let stage = Stage::new();
    let place = stage.place.path();
    let file = place.join("scenario.toml");
    std::fs::write(&file, scenario).unwrap();
    let state = place.join("state");
    let env = [("RALPH_SIM", &file), ("RALPH_SIM_STATE", &state)]
        .map(|(name, path)| (name.to_owned(), path.to_str().unwrap().to_owned()));
    let looks = Cell::new(0);
    let work = SessionWork {
        call: BackendCall {
            driver,
            program: Some(env!("CARGO_BIN_EXE_ralph")),
            args: &[],
            env: &env,
            surroundings: &[],
            request: BackendRequest::plain(PROMPT),
            cwd: place,
            scratch: &place.join("scratch"),
            log: Some(&stage.log_path()),
            on_compact: FullContextPolicy::GoOn,
            bounds: JobBounds { grace: Duration::from_millis(300), ..JobBounds::default() },
            cancel: CancelToken::default(),
        },
        task: "t-demo make it",
        diff: &|| {
            looks.set(looks.get() + 1);
            " made.txt | 1 +".to_owned()
        },
    };
    let mut monitor = LimitMonitor::new(BackendRunLimits {
        timeout: Some(AGES),
        idle: Some(AGES),
        max_cost: None,
        context_warn: 0.7,
        context_compact: 0.85,
        context_kill: 0.95,
        window: None,
    });
    let mut decisions = Vec::new();
    let mut listener = |heard: BackendNotice<'_>| {
        if let BackendNotice::Decision(decision) = heard {
            decisions.push(format!("{decision:?}"));
        }
    };
    let report = run_session(&stage.runner, &work, &mut monitor, &mut listener).unwrap();
    assert_eq!(survivors(stage.runner.run_id()), []);
    let looks = looks.get();
    Done { stage, report, decisions, looks }
}

#[test]
fn a_backend_that_can_compacts_its_own_session_and_goes_on() {
    let scenario = format!(
        "[[rule]]\nwhen = 'Your context was compacted'\n\
         steps = [{{ usage = {{ input = 50, cached = 0, output = 5 }} }}, {{ cost = 0.5 }}, {{ claim = 'done' }}]\n\
         [[rule]]\nwhen = '/compact'\n\
         steps = [{{ usage = {{ input = 30, cached = 0, output = 3 }} }}, \
                  {{ cost = 0.125 }}, {{ compact = [86, 20] }}]\n\
         [[rule]]\nsteps = [{FILLS}]\n"
    );
    let done = work(&SimDriver, &scenario);
    assert_eq!(done.report.last.outcome, BackendOutcome::Success);
    assert_eq!(done.report.compactions, [SessionCompaction::Native]);
    assert!(done.report.last.answer.text.contains("<TASK_DONE>"));
    assert_eq!(done.looks, 0, "nobody needs a digest");
    assert_eq!(done.decisions, ["Compact", "Warn(\"[RALPH] Context compacted: 86% -> 20%\")"]);
    let spent = done.report.spent;
    assert_eq!((spent.input, spent.output), (Some(180), Some(18)));
    assert!(spent.cost.is_some_and(|cost| (cost - 0.875).abs() < 1e-9), "{spent:?}");
    assert_eq!((done.report.unsaid, done.report.notes.len()), (0, 0));
    // One session, and one log of it all.
    let log = String::from_utf8(done.stage.log()).unwrap();
    let sessions: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("\"started\""))
        .map(|line| line.split("\"session\":\"").nth(1).unwrap().split('"').next().unwrap())
        .collect();
    assert_eq!(sessions.len(), 3, "{log}");
    assert!(sessions.iter().all(|session| *session == sessions[0]), "{sessions:?}");
}

/// A new session that finds the digest in its prompt, with what was done before.
const TAKES_OVER: &str = "[[rule]]\n\
    when = ['=== COMPACTED CONTEXT ===', 'Task: t-demo make it', 'Key files:', '- made.txt', \
            'made.txt | 1 +', '## Current Task']\n\
    steps = [{ context = 5 }, { claim = 'done' }]\n";

#[test]
fn a_backend_that_cannot_compact_begins_again_with_a_digest() {
    let done = work(&Plain, &format!("{TAKES_OVER}[[rule]]\nsteps = [{FILLS}]\n"));
    assert_eq!(done.report.last.outcome, BackendOutcome::Success);
    assert_eq!(done.report.compactions, [SessionCompaction::Digest]);
    assert_eq!(done.looks, 1);
    assert!(done.report.last.answer.text.contains("<TASK_DONE>"), "{:?}", done.report.last.answer);
    assert_eq!(done.decisions, ["Compact", "Warn(\"[RALPH] Context compacted: 86% -> 5%\")"]);
}

#[test]
fn where_a_compaction_does_not_work_a_digest_does() {
    for failing in ["compaction_fails = 'too little'", "signal = 'kill'"] {
        let scenario = format!(
            "{TAKES_OVER}[[rule]]\nwhen = '/compact'\nsteps = [{{ {failing} }}]\n\
             [[rule]]\nsteps = [{FILLS}]\n"
        );
        let done = work(&SimDriver, &scenario);
        assert_eq!(done.report.last.outcome, BackendOutcome::Success, "{failing}");
        assert_eq!(done.report.compactions, [SessionCompaction::Digest], "{failing}");
        let told = done.decisions.last().unwrap();
        assert!(told.contains("[RALPH] Context not compacted: "), "{:?}", done.decisions);
        assert!(!format!("{:?}", done.decisions).contains("Context compacted"), "{failing}");
    }
}

#[test]
fn a_context_that_stays_full_after_a_compaction_is_a_limit() {
    let scenario = format!(
        "{TAKES_OVER}[[rule]]\nwhen = '/compact'\nsteps = [{{ compact = [86, 84] }}]\n\
         [[rule]]\nsteps = [{FILLS}]\n"
    );
    let done = work(&SimDriver, &scenario);
    assert_eq!(done.report.last.outcome, BackendOutcome::ContextLimit);
    assert_eq!(done.report.compactions, []);
}

#[test]
fn a_context_that_is_full_again_and_again_is_a_limit() {
    let done = work(&SimDriver, &format!("[[rule]]\nsteps = [{FILLS}]\n"));
    assert_eq!(done.report.last.outcome, BackendOutcome::ContextLimit);
    assert_eq!(done.report.compactions, [SessionCompaction::Native; 3]);
    assert_eq!(done.report.spent.cost, Some(1.0));
    let done = work(&Plain, &format!("[[rule]]\nsteps = [{FILLS}]\n"));
    assert_eq!(done.report.last.outcome, BackendOutcome::ContextLimit);
    assert_eq!(done.report.compactions, [SessionCompaction::Digest; 3]);
}

#[test]
fn what_would_end_every_session_ends_the_work() {
    let scenario = format!(
        "[[rule]]\nwhen = '/compact'\nsteps = [{{ fail = 'rate_limit' }}]\n\
         [[rule]]\nsteps = [{FILLS}]\n"
    );
    let done = work(&SimDriver, &scenario);
    assert_eq!(done.report.last.outcome.word(), "rate_limit");
    assert_eq!((done.report.compactions, done.looks), (vec![], 0));
}

#[test]
fn a_bad_end_after_the_last_word_is_a_note() {
    let done = work(&SimDriver, "[[rule]]\nsteps = [{ claim = 'done' }, { exit = 3 }]\n");
    assert_eq!(done.report.last.outcome, BackendOutcome::Success);
    assert_eq!(done.report.notes, ["it ended with code 3 after it had finished"]);
}
