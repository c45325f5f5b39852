//! One record of every kind that tells something, and of every shape that its parts have.

use super::arrival_sample_tests::of_arrival;
use super::model_tests::*;
use super::*;
use crate::agent_role::AgentRole;
use crate::backend::{BackendOutcome, ProcessEnding};
use crate::claim::Claim;
use crate::construct::ConstructSummary;
use crate::control::{CheckedSetting, LoopCommand, OperatorCommand};
use crate::cost_sum::CostSum;
use crate::gate::judges::{ChangeExtent, JudgeChange, JudgeKind};
use crate::gate::{self, FailingNames, GateCheck, GateRuling, GateStanding, GateVerdict};
use crate::memory::roles::directive::{FailurePattern, PostAction, PostDirective, StuckDetection};
use crate::memory::{IndexTrigger, TermOverlap};
use crate::needs::{Need, NeedKind};
use crate::plan::AmendmentOutcome;
use crate::prompt::{LeftOutSection, PromptSection, PromptSize};
use crate::view::TaskTally;

const TASKS: TaskTally =
    TaskTally { pending: 1, done: 2, accepted: 3, blocked: 4, failed: 5, skipped: 6 };

/// A journal with every record that tells something, each with all of its fields.
pub(crate) fn samples() -> Vec<JournalRecord> {
    let mut records = vec![run_started()];
    records.extend(attempts());
    records.extend(ends().into_iter().map(|end| run_ended(end, 1)));
    records.push(JournalRecord::RunEnded(full_run_end()));
    records.extend(commands());
    records.extend(of_construct());
    records.extend(of_agents());
    records.extend(of_memory());
    records.extend(remarks());
    records.extend(of_arrival());
    records
}

/// Every way in which a loop ends.
fn ends() -> Vec<LoopEnd> {
    let text = || String::from("why");
    vec![
        LoopEnd::Complete,
        LoopEnd::Unproven { tasks: vec!["t-1".into()] },
        LoopEnd::TaskComplete("t-1".into()),
        LoopEnd::Blocked { why: vec![text()] },
        LoopEnd::NotVerified { why: vec![text()] },
        LoopEnd::MaxIterations(3),
        LoopEnd::MaxCost { limit: 1.5, spent: 1.75 },
        LoopEnd::OnceLanded,
        LoopEnd::OnceFailed,
        LoopEnd::Interrupted(LoopSignal::Interrupt),
        LoopEnd::Interrupted(LoopSignal::Terminate),
        LoopEnd::Stopped,
        LoopEnd::Breaker(BreakerTrip { reason: text(), evidence: vec![text()] }),
        LoopEnd::UsageLimit { reason: text() },
        LoopEnd::Backend { reason: text(), advice: Some(text()) },
        LoopEnd::Backend { reason: text(), advice: None },
        LoopEnd::Gate { reason: text(), advice: text() },
        LoopEnd::FalseDone,
        LoopEnd::NoPlan { why: text(), log: Some(text()) },
        LoopEnd::NoPlan { why: text(), log: None },
        LoopEnd::Paused { reason: text() },
    ]
}

/// Every way in which a run of a backend ends.
fn outcomes() -> Vec<BackendOutcome> {
    let message = || String::from("what it said");
    let crash = |ending| BackendOutcome::Crash { ending, message: message() };
    vec![
        BackendOutcome::Success,
        BackendOutcome::MaxTurns,
        BackendOutcome::ContextLimit,
        BackendOutcome::Budget,
        BackendOutcome::RateLimit { resets_at: Some(1_000), message: message() },
        BackendOutcome::RateLimit { resets_at: None, message: message() },
        BackendOutcome::NotLoggedIn { message: message() },
        BackendOutcome::NotInstalled,
        BackendOutcome::PermissionDenied { tools: vec!["Bash".into()] },
        BackendOutcome::ApiError { status: Some(529), message: message() },
        BackendOutcome::ApiError { status: None, message: message() },
        crash(ProcessEnding::Code(1)),
        crash(ProcessEnding::Signal(9)),
        crash(ProcessEnding::NotFound),
        BackendOutcome::NoOutput,
        BackendOutcome::Malformed { message: message() },
        BackendOutcome::Timeout,
        BackendOutcome::Idle,
        BackendOutcome::Cancelled,
    ]
}

fn run_started() -> JournalRecord {
    JournalRecord::RunStarted(RunStart {
        run: "r1".into(),
        command: RunCommand::Build,
        plan: "plan.json".into(),
        mode: "handoff-only".into(),
        counted: 1,
        spent: 0.5,
        form: JOURNAL_FORM,
        backend: "claude".into(),
        gates: vec!["test".into()],
        tasks: TASKS,
        budget: Some(RunBudget { max_cost: Some(2.5), max_iterations: 5, timeout_s: 60 }),
        allow_unproven: true,
    })
}

fn full_run_end() -> RunEnd {
    let need = Need {
        kind: NeedKind::Blocked,
        task: Some("t-1".into()),
        spec: Some("s.md".into()),
        text: "t-1 is blocked: which key?".into(),
        command: "ralph task retry t-1".into(),
        effect: "gives it another attempt".into(),
    };
    let removed = AmendmentRow {
        at: "t1".into(),
        iteration: 2,
        by_task: "t-1".into(),
        outcome: AmendmentOutcome { action: "remove".into(), ..amendment() },
        words: "removed t-2 Two".into(),
    };
    RunEnd {
        landed: 1,
        attempts: 2,
        cost: CostSum { usd: 1.25, unknown_runs: 1 },
        took_ms: 7,
        needs: vec![need],
        removed: vec![removed],
        ..run_end(LoopEnd::FalseDone, 1)
    }
}

/// Attempts with every outcome, one with every claim that a person has to hear about, gates, and
/// everything that can become of a task.
fn attempts() -> Vec<JournalRecord> {
    let full = AttemptStart {
        name: "One".into(),
        retries: 1,
        max_retries: 2,
        backend: "claude".into(),
        model: Some("opus".into()),
        log: Some("logs/a.jsonl".into()),
        tasks: TASKS,
        ..started("a", 1, "t-1")
    };
    let ended_well = BackendEnd {
        tokens: Some((100, 10)),
        session: Some("s-1".into()),
        review: Some("which licence?".into()),
        summary: "wrote it".into(),
        story: "tried twice".into(),
        handoff: Some("handoff-001.json".into()),
        handoff_bytes: 5_000,
        took_ms: 7,
        ..end("a", &BackendOutcome::Success)
    };
    let gate = |on| GateStart { attempt: "a".into(), gate: "test".into(), on };
    let mut records = vec![attempt_started(full), backend_ended(ended_well)];
    for (on, passed) in [(GateTree::Result, false), (GateTree::Base, true), (GateTree::Alone, true)]
    {
        records.push(JournalRecord::GateStarted(gate(on)));
        records.push(JournalRecord::GateEnded(GateEnd { start: gate(on), passed, took_ms: 7 }));
    }
    records.extend([
        JournalRecord::Judged(full_verdict(false)),
        JournalRecord::Judged(full_verdict(true)),
    ]);
    records.extend([land_intent("a", LandingExtent::Partial), full_landing()]);
    for (n, outcome) in (2..).zip(outcomes()) {
        let attempt = n.to_string();
        records.extend([start(&attempt, n, "t-1"), ended(&attempt, &outcome)]);
        records.push(JournalRecord::RolledBack(DiscardedAttempt {
            attempt,
            salvage: (n % 2 == 0).then(|| "refs/ralph/r1/salvage".into()),
            then: match n % 4 {
                0 => RetryDecision::Retry(2),
                1 => RetryDecision::Decompose,
                2 => RetryDecision::GiveUp,
                _ => RetryDecision::Unchanged,
            },
            tasks: TASKS,
        }));
    }
    let reason = String::from("which key?");
    for (attempt, claim) in [
        ("x", Claim::NeedsHuman { reason: reason.clone() }),
        ("y", Claim::Blocked { reason }),
        ("z", Claim::Done { no_change_needed: Some("it was there".into()) }),
    ] {
        let ended = BackendEnd { claim, cost: None, ..end(attempt, &BackendOutcome::Success) };
        let failure = AttemptFailure::new(FailureKind::Blocked, "a person has to decide");
        records.extend([start(attempt, 40, "t-1"), backend_ended(ended)]);
        records.extend([fail_intent(attempt, failure), rolled_back(attempt)]);
    }
    records.extend(meets_limit("l", 41, "t-1"));
    records.push(JournalRecord::Waited);
    records
}

fn full_verdict(passed: bool) -> GateVerdict {
    let names = |name: &str| [name].into_iter().collect::<FailingNames>();
    let standing = match passed {
        true => GateStanding::Old { old: names("old_test") },
        false => GateStanding::New { new: names("a_test"), old: names("old_test") },
    };
    let check = GateCheck {
        name: "test".into(),
        command: "make test".into(),
        ending: gate::GateEnding::Code(1),
        standing,
        excerpt: "a_test: red".into(),
        log: Some("logs/test.txt".into()),
        took_ms: 1200,
        ..GateCheck::default()
    };
    let judge = JudgeChange {
        path: "tests/a.rs".into(),
        kind: JudgeKind::Tests,
        extent: ChangeExtent::Changed,
        deleted: vec!["a_test".into()],
        weakened: Vec::new(),
    };
    let ruling = match passed {
        true => GateRuling::ProvenExceptOld(names("old_test")),
        false => {
            GateRuling::Refused { forbidden: vec!["tests/a.rs".into()], fingerprint: "0f".into() }
        }
    };
    GateVerdict {
        attempt: "a".into(),
        ruling,
        checks: vec![check],
        judges: vec![judge],
        report: Some("gates/a.json".into()),
    }
}

fn full_landing() -> JournalRecord {
    JournalRecord::Landed(LandedAttempt {
        attempt: "a".into(),
        commit: Some("c0ffee".into()),
        remarks: vec!["the agent committed by itself".into()],
        tasks: TASKS,
        paths: vec!["a.rs".into()],
        on_spec: true,
        taken_over: Vec::new(),
    })
}

/// Every command of the operator, one of a signal, one that came to nothing, and one that is left to
/// a person.
fn commands() -> Vec<JournalRecord> {
    let setting = CheckedSetting::new("mode", "handoff-only").unwrap();
    let all = [
        LoopCommand::Pause,
        LoopCommand::Resume,
        LoopCommand::Skip("t-1".into()),
        LoopCommand::Note("use the cache".into()),
        LoopCommand::Stop,
        LoopCommand::KillAttempt,
        LoopCommand::Retry("t-1".into()),
        LoopCommand::Set(setting),
    ];
    let mut records: Vec<JournalRecord> =
        (1..).zip(&all).map(|(n, asked)| command(&format!("c{n}"), asked)).collect();
    let stop = OperatorCommand::new("c9", &LoopCommand::Stop);
    records.extend([
        JournalRecord::Command(OperatorCommand::of_signal("1")),
        JournalRecord::Command(OperatorCommand {
            promise: "after the attempt".into(),
            ignored: Some("there is none".into()),
            ..stop.clone()
        }),
        JournalRecord::Command(OperatorCommand { next: Some("ralph stop".into()), ..stop }),
        JournalRecord::CommandRefused(Remark::new("`dance` is no command")),
    ]);
    records
}

fn of_construct() -> Vec<JournalRecord> {
    let came = StageResult {
        built: vec!["t-1".into()],
        accepted: vec!["t-2".into()],
        spec_accepted: true,
        ruled_out: vec![ScopeRuling { issue: "odd".into(), reason: "not asked for".into() }],
        notes: vec!["a verdict about t-9 is ignored".into()],
        ..StageResult::default()
    };
    let (stage, iteration, spec) = (StageKind::Verify, 1, String::from("s.md"));
    let stage_end =
        StageEnd { stage, iteration, came: came.clone(), left: 1, cost: Some(0.5), took_ms: 7 };
    let start = |stage, item| StageStart { stage, iteration, id: "s1".into(), item };
    let mut records =
        vec![JournalRecord::ConstructStarted(ConstructStart { spec: spec.clone(), counted: 1 })];
    let mut unproven = lands("w", 90, "t-2", LandingExtent::Complete);
    for record in &mut unproven {
        if let JournalRecord::LandIntent(intent) = record {
            intent.proof = Proof::Unproven;
        }
    }
    records.extend(unproven);
    records.extend([
        JournalRecord::IterationStarted(IterationStart { iteration, spec: spec.clone() }),
        JournalRecord::StageStarted(start(StageKind::Decompose, Some("t-3".into()))),
        JournalRecord::StageStarted(start(stage, None)),
        JournalRecord::StageEnded(stage_end.clone()),
    ]);
    for task in [Some("t-1".into()), None] {
        let (why, log) = ("no JSON".into(), "logs/v.jsonl".into());
        records.push(JournalRecord::NotVerified(UnverifiedItem { task, why, log }));
    }
    for end in ends() {
        records.push(JournalRecord::ConstructEnded(ConstructSummary {
            spec: spec.clone(),
            reason: end.reason(),
            end,
            stages: vec![stage_end.clone()],
            total: came.clone(),
            took_ms: 7,
            cost: Some(0.5),
            left: vec!["t-3 C: to be done".into()],
        }));
    }
    for commit in [Some("c0ffee".into()), None] {
        let (spec, subject) = (Some(spec.clone()), "ralph: s.md".into());
        records.push(JournalRecord::SpecLanded(SpecLanding {
            spec,
            commit,
            subject,
            ..SpecLanding::default()
        }));
    }
    let kept = Some("refs/ralph/r1/salvage".into());
    records.push(JournalRecord::SpecFailed(SpecFailure { spec, why: "no progress".into(), kept }));
    records
}

fn of_agents() -> Vec<JournalRecord> {
    let asked = ConsultedAgentStart {
        id: "k1".into(),
        role: AgentRole::Verify,
        item: "t-1".into(),
        backend: "claude".into(),
        log: "logs/v.jsonl".into(),
    };
    let mut records = vec![JournalRecord::Asked(asked)];
    for (n, outcome) in (0..).zip(outcomes()) {
        records.push(JournalRecord::Answered(ConsultedAgentEnd {
            id: "k1".into(),
            role: AgentRole::Verify,
            item: "t-1".into(),
            backend: "claude".into(),
            model: Some("opus".into()),
            answer: outcome.to_string(),
            usable: outcome == BackendOutcome::Success,
            outcome,
            cost: (n % 2 == 0).then_some(0.5),
            tokens: Some((100, 10)),
            log: "logs/v.jsonl".into(),
            took_ms: 7,
        }));
    }
    let task_remark = || TaskRemark { task: "t-1".into(), text: "left out: not needed".into() };
    let stuck = StuckDetection {
        is_stuck: true,
        evidence: "iterations 2 and 3".into(),
        suggested_action: "another way".into(),
    };
    let pattern = FailurePattern { pattern: "lint is red".into(), evidence: "2 and 3".into() };
    let advice = |failure_pattern| PostDirective {
        action: PostAction::ModifyPlan,
        reason: "it is too large".into(),
        failure_pattern,
        plan_suggestions: vec!["split t-1".into()],
    };
    records.extend([
        JournalRecord::Researched(task_remark()),
        JournalRecord::TaskSkipped(task_remark()),
        JournalRecord::ReviewRequested(ReviewRequest {
            task: "t-1".into(),
            attempt: None,
            reason: "which key?".into(),
        }),
        JournalRecord::StuckDetected(stuck),
        JournalRecord::Advised(advice(None)),
        JournalRecord::Advised(advice(Some(pattern))),
        JournalRecord::PassEnded(PassAnswer {
            pass: "review".into(),
            iteration: 1,
            file: "passes/1.json".into(),
            summary: "approve".into(),
        }),
        JournalRecord::PassFailed(PassFailure {
            pass: "review".into(),
            why: "took too long".into(),
        }),
        JournalRecord::AgentStep(Remark::new("s.md is next")),
        JournalRecord::LaneSetup(Remark::new("npm ci")),
        JournalRecord::Amended(AmendmentRecord {
            attempt: "a".into(),
            iteration: 1,
            task: "t-1".into(),
            outcomes: vec![
                amendment(),
                AmendmentOutcome { refused: Some("it is done".into()), ..amendment() },
            ],
        }),
    ]);
    records
}

fn amendment() -> AmendmentOutcome {
    AmendmentOutcome {
        action: "modify".into(),
        id: Some("t-2".into()),
        name: "Two".into(),
        fields: vec!["deps".into()],
        reason: Some("it comes first".into()),
        refused: None,
    }
}

fn of_memory() -> Vec<JournalRecord> {
    let (overlap, threshold) = (TermOverlap { shared: 1, terms: 8 }, 0.25);
    let triggers = [
        IndexTrigger::Metadata { libraries: 2 },
        IndexTrigger::Novelty { overlap, threshold },
        IndexTrigger::Bytes { bytes: 32_001, threshold: 32_000 },
        IndexTrigger::Periodic { iterations: 5, interval: 5 },
    ];
    let mut records: Vec<JournalRecord> = triggers.map(JournalRecord::IndexDue).into();
    let where_to_read = vec!["skills/a.md".into()];
    let left_out = PromptSection::ALL.map(|section| LeftOutSection {
        section,
        tokens: 7,
        where_to_read: where_to_read.clone(),
    });
    records.extend([
        JournalRecord::IndexUndone { why: vec!["k-1 is gone".into()] },
        JournalRecord::Indexed { iteration: 4 },
        JournalRecord::PromptTruncated(PromptSize {
            budget_tokens: 800,
            tokens: 790,
            whole_tokens: 2_000,
            left_out: left_out.into(),
        }),
    ]);
    records
}

fn remarks() -> Vec<JournalRecord> {
    let remark = || Remark::new("so it is");
    vec![
        JournalRecord::ContextNoted(remark()),
        JournalRecord::LedgerRestored(remark()),
        JournalRecord::TreeRestored(RestoredTree {
            role: AgentRole::Verify,
            paths: vec!["a.rs".into()],
        }),
        JournalRecord::Recovered(remark()),
        JournalRecord::Warned(remark()),
    ]
}
