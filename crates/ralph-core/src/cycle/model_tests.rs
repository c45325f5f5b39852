//! Records as the host writes them, for the tests of everything that reads them.

use super::*;
use crate::backend::BackendOutcome;
use crate::claim::Claim;
use crate::control::{LoopCommand, OperatorCommand};
use crate::cost_sum::CostSum;
use crate::gate::{FailingNames, GateCheck, GateRuling, GateStanding, GateVerdict};
use crate::git_names::Oid;
use crate::plan::Task;

/// A record at some time; the time is the record's place.
pub(super) fn entry(at: usize, record: JournalRecord) -> JournalEntry {
    JournalEntry { at: format!("t{at}"), record }
}

/// Records, one after the other.
pub(super) fn entries(records: impl IntoIterator<Item = JournalRecord>) -> Vec<JournalEntry> {
    records.into_iter().enumerate().map(|(at, record)| entry(at, record)).collect()
}

/// What records add up to.
pub(super) fn history(records: impl IntoIterator<Item = JournalRecord>) -> History {
    History::of(&entries(records))
}

pub(crate) fn run(id: &str, counted: u32) -> JournalRecord {
    JournalRecord::RunStarted(RunStart {
        run: id.into(),
        command: RunCommand::Build,
        plan: "plan.json".into(),
        mode: "handoff-only".into(),
        counted,
        ..RunStart::default()
    })
}

/// The end of a run of `ralph build`.
pub(crate) fn run_end(end: LoopEnd, remaining: usize) -> RunEnd {
    RunEnd {
        exit_code: exit_code(&end),
        reason: end.reason(),
        command: RunCommand::Build,
        remaining,
        landed: 0,
        attempts: 0,
        cost: CostSum::default(),
        took_ms: 0,
        needs: Vec::new(),
        removed: Vec::new(),
        end,
    }
}

pub(crate) fn run_ended(end: LoopEnd, remaining: usize) -> JournalRecord {
    JournalRecord::RunEnded(run_end(end, remaining))
}

/// A command that the loop carried out.
pub(super) fn command(id: &str, command: &LoopCommand) -> JournalRecord {
    JournalRecord::Command(OperatorCommand::new(id, command))
}

pub(super) fn started(attempt: &str, iteration: u32, task: &str) -> AttemptStart {
    AttemptStart {
        attempt: attempt.into(),
        run: "r1".into(),
        iteration,
        task: task.into(),
        ..AttemptStart::default()
    }
}

pub(super) fn start(attempt: &str, iteration: u32, task: &str) -> JournalRecord {
    attempt_started(started(attempt, iteration, task))
}

pub(super) fn base_of(attempt: &str) -> AttemptBase {
    let commit = Oid::parse(&[b'0'; 40]).expect("forty digits");
    AttemptBase { keeper: "r1".into(), attempt: attempt.into(), commit }
}

pub(super) fn attempt_started(started: AttemptStart) -> JournalRecord {
    JournalRecord::AttemptStarted { started, base: base_of("a") }
}

pub(super) fn end(attempt: &str, outcome: &BackendOutcome) -> BackendEnd {
    BackendEnd {
        attempt: attempt.into(),
        outcome: outcome.clone(),
        cost: Some(0.5),
        claim: Claim::DONE,
        changed: 1,
        ..BackendEnd::default()
    }
}

pub(super) fn ended(attempt: &str, outcome: &BackendOutcome) -> JournalRecord {
    backend_ended(end(attempt, outcome))
}

pub(super) fn backend_ended(end: BackendEnd) -> JournalRecord {
    JournalRecord::BackendEnded { end, candidate: Candidate::default() }
}

pub(super) fn verdict(attempt: &str, passed: bool) -> JournalRecord {
    let (ruling, standing) = match passed {
        true => (GateRuling::Proven, GateStanding::Green),
        false => (
            GateRuling::Refused { forbidden: Vec::new(), fingerprint: "f".into() },
            GateStanding::New { new: FailingNames::default(), old: FailingNames::default() },
        ),
    };
    let checks = vec![GateCheck { name: "test".into(), standing, ..GateCheck::default() }];
    let attempt = attempt.into();
    JournalRecord::Judged(GateVerdict { attempt, ruling, checks, ..GateVerdict::default() })
}

pub(super) fn land_intent(attempt: &str, landing: LandingExtent) -> JournalRecord {
    JournalRecord::LandIntent(LandIntent {
        attempt: attempt.into(),
        landing,
        proof: Proof::Proven,
        summary: "wrote it".into(),
        story: String::new(),
        task: Task::default(),
    })
}

pub(super) fn landed(attempt: &str) -> JournalRecord {
    JournalRecord::Landed(LandedAttempt {
        attempt: attempt.into(),
        commit: Some("c0ffee".into()),
        ..LandedAttempt::default()
    })
}

pub(super) fn fail_intent(attempt: &str, failure: AttemptFailure) -> JournalRecord {
    JournalRecord::FailIntent(FailIntent {
        attempt: attempt.into(),
        retries: u32::from(failure.kind.counts()),
        failure,
    })
}

pub(super) fn rolled_back(attempt: &str) -> JournalRecord {
    discarded(attempt, Some("refs/ralph/r1/salvage"))
}

/// An attempt that is rolled back, with the ref that keeps its work.
pub(super) fn discarded(attempt: &str, salvage: Option<&str>) -> JournalRecord {
    JournalRecord::RolledBack(DiscardedAttempt {
        attempt: attempt.into(),
        salvage: salvage.map(str::to_owned),
        ..DiscardedAttempt::default()
    })
}

/// A whole attempt that landed.
pub(super) fn lands(
    attempt: &str,
    iteration: u32,
    task: &str,
    landing: LandingExtent,
) -> Vec<JournalRecord> {
    vec![
        start(attempt, iteration, task),
        ended(attempt, &BackendOutcome::Success),
        verdict(attempt, true),
        land_intent(attempt, landing),
        landed(attempt),
    ]
}

/// A whole attempt that failed.
pub(super) fn fails(
    attempt: &str,
    iteration: u32,
    task: &str,
    failure: AttemptFailure,
) -> Vec<JournalRecord> {
    vec![
        start(attempt, iteration, task),
        ended(attempt, &BackendOutcome::Success),
        fail_intent(attempt, failure),
        rolled_back(attempt),
    ]
}

/// A whole attempt that met a usage limit.
pub(super) fn meets_limit(attempt: &str, iteration: u32, task: &str) -> Vec<JournalRecord> {
    let outcome = BackendOutcome::RateLimit { resets_at: Some(1_000), message: "5 hours".into() };
    vec![
        start(attempt, iteration, task),
        ended(attempt, &outcome),
        JournalRecord::Waiting(UsageWait {
            attempt: attempt.into(),
            until: 1_000,
            backend: "claude".into(),
            reason: "5 hours".into(),
        }),
        rolled_back(attempt),
    ]
}

/// An attempt that a crash interrupted while the backend ran, and its recovery.
pub(super) fn crashes(attempt: &str, iteration: u32, task: &str) -> Vec<JournalRecord> {
    let failure =
        AttemptFailure::new(FailureKind::Interrupted, "ralph was ended in the middle of it");
    vec![start(attempt, iteration, task), fail_intent(attempt, failure), rolled_back(attempt)]
}
