//! Every fault of the simulated backend under the real runner: it ends in its outcome, nobody is
//! left, and the log is there.

use std::time::Duration;

use ralph_core::backend::sim::{COMMAND, Fault, SimDriver};
use ralph_core::backend::{BackendDriver, BackendOutcome, BackendReader, BackendRequest};
use ralph_host::proc::{FinishedJob, Job, JobOutputLine, JobStdin, WatchDecision};

use crate::stage::{AGES, Stage};

const PROMPT: &str = "## Current Task\n\nt-demo\n";

fn request() -> BackendRequest<'static> {
    BackendRequest { scratch: "/nowhere", ..BackendRequest::plain(PROMPT) }
}

fn job(stage: &Stage, scenario: &str) -> Job {
    let file = stage.place.path().join("scenario.toml");
    std::fs::write(&file, scenario).unwrap();
    let mut job = Job::new(env!("CARGO_BIN_EXE_ralph"), stage.place.path())
        .args([COMMAND])
        .env("RALPH_SIM", file)
        .env("RALPH_SIM_STATE", stage.place.path().join("state"));
    job.stdin = JobStdin::Bytes(PROMPT.into());
    job.log = Some(stage.log_path());
    job.bounds.grace = Duration::from_millis(300);
    job.bounds.timeout = Some(AGES);
    job
}

/// Run it as ralph will: the reader follows the lines and says when it is finished.
fn run(stage: &Stage, job: &Job) -> (BackendOutcome, FinishedJob, Box<dyn BackendReader>) {
    let mut reader = SimDriver.reader(&request());
    let mut events = Vec::new();
    let finished = stage.watch(job, &mut |line: JobOutputLine<'_>| {
        reader.line(line.bytes, &mut events);
        if reader.is_finished() { WatchDecision::Finished } else { WatchDecision::Continue }
    });
    let outcome = reader.outcome(&finished.exit, &finished.stderr_tail);
    (outcome, finished, reader)
}

#[test]
fn every_fault_ends_in_its_outcome_and_leaves_nobody() {
    for fault in Fault::ALL {
        let stage = Stage::new();
        let word = fault.as_str();
        let mut job = job(
            &stage,
            &format!(
                "[[rule]]\nsteps = [{{ say = 'hello' }}, {{ fault = '{word}' }}, {{ claim = 'done' }}]"
            ),
        );
        if matches!(fault, Fault::Hang | Fault::Stubborn | Fault::Flood) {
            job.bounds.timeout = Some(Duration::from_millis(500));
        }
        let (outcome, finished, _) = run(&stage, &job);
        let expected = match fault {
            Fault::Crash | Fault::Abort | Fault::EarlyExit => "crash",
            Fault::Hang | Fault::Stubborn | Fault::Flood => "timeout",
            Fault::Cut => "malformed",
            Fault::UsageLimit => "rate_limit",
            Fault::NotLoggedIn => "not_logged_in",
            Fault::ApiError => "api_error",
            Fault::PermissionDenied => "permission_denied",
            Fault::ContextFull => "context_limit",
            Fault::MaxTurns => "max_turns",
            _ => "success",
        };
        assert_eq!(outcome.word(), expected, "{word}: {finished:?}");
        assert!(finished.log_error.is_none(), "{word}: {finished:?}");
        let (log, all) = (stage.log(), finished.stdout_bytes + finished.stderr_bytes);
        let whole = log.len() as u64 == all;
        let cut = String::from_utf8_lossy(&log).contains("limits.max_log");
        assert!(if all > 64 << 20 { cut } else { whole }, "{word}: {} of {all}", log.len());
    }
}

#[test]
fn silence_is_idleness_and_what_stays_after_its_last_word_has_succeeded() {
    let stage = Stage::new();
    let mut silent =
        job(&stage, "[[rule]]\nsilent_after = 2\nsteps = [{ say = 'a' }, { say = 'b' }]");
    silent.bounds.idle = Some(Duration::from_millis(300));
    assert_eq!(run(&stage, &silent).0, BackendOutcome::Idle);
    let stage = Stage::new();
    let mut lingers = job(&stage, "[[rule]]\nsteps = [{ claim = 'done' }, { hang = true }]");
    lingers.bounds.linger = Duration::from_millis(100);
    let (outcome, _, reader) = run(&stage, &lingers);
    assert_eq!(outcome, BackendOutcome::Success);
    assert!(reader.answer().contains("<TASK_DONE>"));
}
