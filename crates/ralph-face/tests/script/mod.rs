//! A recorded run: the records of a loop, and when. Tests look at it, and `examples/play.rs` plays it.

use std::time::Duration;

use ralph_core::backend::{BackendEvent, BackendOutcome, ContextFill, RunCost, ToolStatus};
use ralph_core::control::OperatorCommand;
use ralph_core::cost_sum::CostSum;
use ralph_core::cycle::{
    AttemptBase, AttemptFailure, AttemptStart, BackendEnd, Candidate, DiscardedAttempt, EventKind,
    FailIntent, FailureKind, GateEnd, GateStart, GateTree, History, JournalEntry, JournalRecord,
    LandIntent, LandedAttempt, LandingExtent, LoopEnd, LoopEvent, Proof, Remark, RetryDecision,
    RunEnd, RunStart, StreamedEvent, WaitTick, events_of,
};
use ralph_core::gate::{
    FailingNames, GateCheck, GateEnding, GateRuling, GateStanding, GateVerdict,
};
use ralph_core::git_names::Oid;
use ralph_core::needs::{Need, NeedKind};
use ralph_core::plan::{Id, Task};
use ralph_core::view::TaskTally;
use serde_json::json;

const STAMP: &str = "2025-01-20T10:30:00Z";
const RESIZE: (&str, &str) =
    ("t-7jla", "Resize pictures to 256 px, and keep their proportions (画像の縮小)");

/// Tells a run to `hear`, with the time since its start.
pub(crate) fn play(hear: impl FnMut(Duration, &LoopEvent<'_>)) {
    let mut stage = Stage { hear, history: History::default() };
    stage.record(
        0.0,
        JournalRecord::RunStarted(RunStart {
            run: "01JRUN".into(),
            command: ralph_core::cycle::RunCommand::Build,
            plan: "ralph/plan.jsonl".into(),
            backend: "claude".into(),
            gates: vec!["lint".into(), "test".into()],
            tasks: tally(2, 0),
            ..RunStart::default()
        }),
    );
    let text = "iteration 2 (t-wei0) was interrupted; its work is rolled back";
    stage.record(0.1, JournalRecord::Recovered(Remark::new(text)));
    failed_attempt(&mut stage);
    landed_attempt(&mut stage);
    blocked_attempt(&mut stage);
    let why = ["t-key0: blocked: no API key\u{1b}[31m here", "t-inry: waits for t-key0"];
    let end = LoopEnd::Blocked { why: why.map(str::to_owned).to_vec() };
    let need = Need {
        kind: NeedKind::Blocked,
        task: Some("t-key0".to_owned()),
        spec: None,
        text: "t-key0 is blocked: no API key".to_owned(),
        command: "ralph task retry t-key0".to_owned(),
        effect: "gives it another attempt".into(),
    };
    stage.record(
        42.0,
        JournalRecord::RunEnded(RunEnd {
            reason: end.reason(),
            end,
            exit_code: 3,
            command: ralph_core::cycle::RunCommand::Build,
            remaining: 2,
            landed: 1,
            attempts: 3,
            cost: CostSum { usd: 0.12, unknown_runs: 1 },
            took_ms: 42_000,
            needs: vec![need],
            removed: Vec::new(),
        }),
    );
}

struct Stage<F> {
    hear: F,
    history: History,
}

impl<F: FnMut(Duration, &LoopEvent<'_>)> Stage<F> {
    fn record(&mut self, seconds: f64, record: JournalRecord) {
        let entry = JournalEntry { at: STAMP.to_owned(), record };
        self.history.add(&entry);
        for event in events_of(&entry, &self.history) {
            (self.hear)(Duration::from_secs_f64(seconds), &event);
        }
    }

    fn live(&mut self, seconds: f64, kind: EventKind<'_>) {
        (self.hear)(Duration::from_secs_f64(seconds), &LoopEvent { timestamp: STAMP, kind });
    }

    fn says(&mut self, seconds: f64, event: &BackendEvent) {
        self.live(seconds, EventKind::Backend(StreamedEvent { attempt: "01JATT", event }));
    }

    fn tool(&mut self, seconds: f64, id: &str, name: &str, input: serde_json::Value) {
        self.says(
            seconds,
            &BackendEvent::ToolCall { id: id.to_owned(), name: name.to_owned(), input },
        );
    }

    fn result(&mut self, seconds: f64, id: &str, status: ToolStatus) {
        let (id, text) = (id.to_owned(), "output".to_owned());
        self.says(seconds, &BackendEvent::ToolResult { id, status, text });
    }

    fn usage(&mut self, seconds: f64, used: u64, cost: f64) {
        self.says(seconds, &BackendEvent::Context(ContextFill { used, window: Some(200_000) }));
        self.says(seconds, &BackendEvent::Cost(RunCost(cost)));
    }

    fn begin(
        &mut self,
        seconds: f64,
        iteration: u32,
        task: (&str, &str),
        retries: u32,
        done: usize,
    ) {
        let started = AttemptStart {
            attempt: format!("01JATT{iteration}"),
            run: "01JRUN".into(),
            iteration,
            task: task.0.into(),
            name: task.1.into(),
            retries,
            max_retries: 2,
            backend: "claude".into(),
            model: Some("opus".into()),
            log: Some(format!("build/ralph-logs/iter-{iteration}.log")),
            tasks: tally(done, 0),
        };
        let Some(commit) = Oid::parse(&[b'0'; 40]) else { return };
        let (keeper, attempt) = (started.run.clone(), started.attempt.clone());
        let base = AttemptBase { keeper, attempt, commit };
        self.record(seconds, JournalRecord::AttemptStarted { started, base });
    }

    fn ends(
        &mut self,
        seconds: f64,
        iteration: u32,
        changed: usize,
        cost: Option<f64>,
        took_ms: u64,
    ) {
        let end = BackendEnd {
            attempt: format!("01JATT{iteration}"),
            outcome: BackendOutcome::Success,
            changed,
            cost,
            took_ms,
            summary: "Resize with the longer side as the measure".into(),
            ..BackendEnd::default()
        };
        self.record(seconds, JournalRecord::BackendEnded { end, candidate: Candidate::default() });
    }

    fn gate(&mut self, seconds: f64, name: &str, on: GateTree, passed: bool, took_ms: u64) {
        let start = GateStart { attempt: "01JATT".into(), gate: name.into(), on };
        self.record(seconds, JournalRecord::GateStarted(start.clone()));
        let ended = seconds + took_ms as f64 / 1000.0;
        self.record(ended, JournalRecord::GateEnded(GateEnd { start, passed, took_ms }));
    }

    fn fails(
        &mut self,
        seconds: f64,
        iteration: u32,
        failure: AttemptFailure,
        end: DiscardedAttempt,
    ) {
        let attempt = format!("01JATT{iteration}");
        let intent = FailIntent { attempt: attempt.clone(), failure, retries: 1 };
        self.record(seconds, JournalRecord::FailIntent(intent));
        self.record(seconds, JournalRecord::RolledBack(DiscardedAttempt { attempt, ..end }));
    }
}

fn tally(accepted: usize, blocked: usize) -> TaskTally {
    TaskTally { accepted, blocked, pending: 5 - accepted - blocked, ..TaskTally::default() }
}

fn verdict(iteration: u32, checks: Vec<GateCheck>) -> JournalRecord {
    let ruling = match checks.iter().any(GateCheck::blocks) {
        true => GateRuling::Refused { forbidden: Vec::new(), fingerprint: String::new() },
        false => GateRuling::Proven,
    };
    let attempt = format!("01JATT{iteration}");
    JournalRecord::Judged(GateVerdict { attempt, ruling, checks, ..GateVerdict::default() })
}

fn green(name: &str) -> GateCheck {
    GateCheck { name: name.into(), ..GateCheck::default() }
}

fn failed_attempt<F: FnMut(Duration, &LoopEvent<'_>)>(stage: &mut Stage<F>) {
    stage.begin(0.2, 3, RESIZE, 0, 2);
    stage.says(0.5, &BackendEvent::Text("I'll look at the code first.\n".to_owned()));
    stage.tool(1.0, "1", "Read", json!({ "file_path": "/p/src/resize.js" }));
    stage.result(1.5, "1", ToolStatus::Ok);
    stage.usage(2.0, 24_000, 0.01);
    stage.tool(3.0, "2", "Edit", json!({ "file_path": "/p/src/resize.js", "old_string": "x" }));
    stage.result(4.0, "2", ToolStatus::Ok);
    stage.usage(5.0, 86_000, 0.03);
    let command =
        "npm test -- upload --reporter=dot && npm run lint -- --max-warnings=0 2>&1 | tail -40";
    stage.tool(6.0, "3", "Bash", json!({ "command": command }));
    let text = "progress.md changed while the backend worked: 1 new task was kept";
    stage.record(9.0, JournalRecord::Warned(Remark::new(text)));
    stage.result(12.0, "3", ToolStatus::Failed);
    stage.usage(12.5, 90_000, 0.04);
    stage.ends(13.0, 3, 4, Some(0.04), 12_800);
    stage.gate(13.1, "lint", GateTree::Result, true, 900);
    stage.gate(14.1, "test", GateTree::Result, false, 3_000);
    stage.gate(17.2, "test", GateTree::Base, true, 2_500);
    let red = GateCheck {
        name: "test".into(),
        command: "npm test".into(),
        ending: GateEnding::Code(1),
        standing: GateStanding::New { new: FailingNames::default(), old: FailingNames::default() },
        excerpt:
            "not ok 3 - keeps proportions\r\n  expected: 256\n\n  actual: \u{1b}[31m255\u{1b}[0m\n"
                .into(),
        ..GateCheck::default()
    };
    stage.record(19.9, verdict(3, vec![green("lint"), red]));
    let end = DiscardedAttempt {
        salvage: Some("refs/ralph/01JRUN/salvage/01JATT3".into()),
        then: RetryDecision::Retry(2),
        tasks: tally(2, 0),
        ..DiscardedAttempt::default()
    };
    stage.fails(20.0, 3, AttemptFailure::new(FailureKind::Gates, "test"), end);
}

fn landed_attempt<F: FnMut(Duration, &LoopEvent<'_>)>(stage: &mut Stage<F>) {
    stage.begin(20.1, 4, RESIZE, 1, 2);
    stage.tool(21.0, "4", "Edit", json!({ "file_path": "/p/src/resize.js" }));
    stage.result(22.0, "4", ToolStatus::Ok);
    stage.usage(23.0, 31_000, 0.05);
    let reason = "usage limit of claude: resets at 14:00";
    stage.live(30.0, EventKind::Tick(WaitTick { reason, seconds: 2_460 }));
    stage.live(31.0, EventKind::Tick(WaitTick { reason, seconds: 2_459 }));
    stage.ends(32.0, 4, 1, Some(0.05), 11_000);
    stage.gate(32.1, "lint", GateTree::Result, true, 800);
    stage.gate(33.0, "test", GateTree::Result, true, 2_900);
    stage.record(36.0, verdict(4, vec![green("lint"), green("test")]));
    stage.record(
        36.4,
        JournalRecord::LandIntent(LandIntent {
            attempt: "01JATT4".into(),
            landing: LandingExtent::Complete,
            proof: Proof::Proven,
            summary: String::new(),
            story: String::new(),
            task: Task { id: Id::new(RESIZE.0), ..Task::default() },
        }),
    );
    stage.record(
        36.5,
        JournalRecord::Landed(LandedAttempt {
            attempt: "01JATT4".into(),
            commit: Some("3f2a9c1d5e6f708192a3b4c5d6e7f8091a2b3c4d".into()),
            remarks: vec!["test/resize.js was changed".into()],
            tasks: tally(3, 0),
            ..LandedAttempt::default()
        }),
    );
}

fn blocked_attempt<F: FnMut(Duration, &LoopEvent<'_>)>(stage: &mut Stage<F>) {
    stage.begin(37.0, 5, ("t-key0", "Upload to the bucket"), 0, 3);
    stage.record(38.0, JournalRecord::Command(OperatorCommand::of_signal("1")));
    stage.ends(40.0, 5, 0, None, 3_000);
    let end = DiscardedAttempt {
        then: RetryDecision::GiveUp,
        tasks: tally(3, 1),
        ..DiscardedAttempt::default()
    };
    stage.fails(41.0, 5, AttemptFailure::new(FailureKind::Blocked, "no API key"), end);
}
