//! A recorded run: what a loop tells, and when. Tests look at it, and `examples/play.rs` plays it.

use std::time::Duration;

use ralph_core::backend::{Context, Event, Money, ToolStatus};
use ralph_core::cycle::{End, Failure, FailureKind, Landing, Proof};
use ralph_core::needs::{Need, NeedKind};
use ralph_core::plan::{Id, Task};
use ralph_host::drive::{Notice, Tally, Then};
use serde_json::json;

/// Tells a run to `hear`, with the time since its start in seconds.
pub(crate) fn play(mut hear: impl FnMut(Duration, Notice<'_>)) {
    let mut at = |seconds: f64, notice: Notice<'_>| hear(Duration::from_secs_f64(seconds), notice);
    let gates = ["lint".to_owned(), "test".to_owned()];
    at(
        0.0,
        Notice::Started {
            run: "01JRUN",
            plan: "ralph/plan.jsonl",
            backend: "claude",
            gates: &gates,
            tally: tally(2, 0),
        },
    );
    at(0.1, Notice::Recovered("iteration 2 (t-wei0) was interrupted; its work is rolled back"));
    failed_attempt(&mut at);
    landed_attempt(&mut at);
    blocked_attempt(&mut at);
    let why = ["t-key0: blocked: no API key\u{1b}[31m here", "t-inry: waits for t-key0"];
    let end = End::Blocked { why: why.map(str::to_owned).to_vec() };
    let need = Need {
        kind: NeedKind::Blocked,
        task: Some("t-key0".to_owned()),
        spec: None,
        text: "t-key0 is blocked: no API key".to_owned(),
        command: "ralph task retry t-key0".to_owned(),
        effect: "gives it another attempt",
    };
    let (remaining, landed, attempts) = (2, 1, 3);
    at(
        42.0,
        Notice::Ended {
            command: "build",
            end: &end,
            reason: &end.reason(),
            needs: &[need],
            removed: &[],
            remaining,
            landed,
            attempts,
            cost: Some(0.12),
            took_ms: 42_000,
        },
    );
}

fn tally(done: usize, stuck: usize) -> Tally {
    Tally { done, total: 5, stuck, ..Tally::default() }
}

fn task(id: &str, name: &str) -> Task {
    Task { id: Id::new(id.to_owned()), name: name.to_owned(), ..Task::default() }
}

type At<'a> = &'a mut dyn FnMut(f64, Notice<'_>);

fn begin(at: At<'_>, seconds: f64, iteration: u32, task: &Task, retries: u32, tally: Tally) {
    let notice = Notice::Attempt {
        attempt: &format!("01JATT{iteration}"),
        iteration,
        task,
        retries,
        max_retries: 2,
        backend: "claude",
        model: Some("opus"),
        tally,
        log: &format!("build/ralph-logs/iter-{iteration}.log"),
    };
    at(seconds, notice);
}

fn tool(at: At<'_>, seconds: f64, id: &str, name: &str, input: serde_json::Value) {
    let event = Event::ToolCall { id: id.to_owned(), name: name.to_owned(), input };
    at(seconds, Notice::Backend(&event));
}

fn result(at: At<'_>, seconds: f64, id: &str, status: ToolStatus) {
    let event = Event::ToolResult { id: id.to_owned(), status, text: "output".to_owned() };
    at(seconds, Notice::Backend(&event));
}

fn usage(at: At<'_>, seconds: f64, used: u64, cost: f64) {
    at(seconds, Notice::Backend(&Event::Context(Context { used, window: Some(200_000) })));
    at(seconds, Notice::Backend(&Event::Cost(Money(cost))));
}

fn gate(at: At<'_>, seconds: f64, name: &str, baseline: bool, passed: bool, took_ms: u64) {
    at(seconds, Notice::GateStarted { name, baseline });
    let ended = seconds + took_ms as f64 / 1000.0;
    at(ended, Notice::GateEnded { name, passed, preexisting: false, took_ms });
}

fn failed_attempt(at: At<'_>) {
    let resize =
        task("t-7jla", "Resize pictures to 256 px, and keep their proportions (画像の縮小)");
    begin(at, 0.2, 3, &resize, 0, tally(2, 0));
    at(0.5, Notice::Backend(&Event::Text("I'll look at the code first.\n".to_owned())));
    tool(at, 1.0, "1", "Read", json!({ "file_path": "/p/src/resize.js" }));
    result(at, 1.5, "1", ToolStatus::Ok);
    usage(at, 2.0, 24_000, 0.01);
    tool(at, 3.0, "2", "Edit", json!({ "file_path": "/p/src/resize.js", "old_string": "x" }));
    result(at, 4.0, "2", ToolStatus::Ok);
    usage(at, 5.0, 86_000, 0.03);
    let command =
        "npm test -- upload --reporter=dot && npm run lint -- --max-warnings=0 2>&1 | tail -40";
    tool(at, 6.0, "3", "Bash", json!({ "command": command }));
    at(9.0, Notice::Warning("progress.md changed while the backend worked: 1 new task was kept"));
    result(at, 12.0, "3", ToolStatus::Failed);
    usage(at, 12.5, 90_000, 0.04);
    at(
        13.0,
        Notice::BackendEnded { outcome: "finished", changed: 4, cost: Some(0.04), took_ms: 12_800 },
    );
    gate(at, 13.1, "lint", false, true, 900);
    gate(at, 14.1, "test", false, false, 3_000);
    gate(at, 17.2, "test", true, true, 2_500);
    let failure = Failure::new(FailureKind::Gates, "test");
    let notice = Notice::Failed {
        iteration: 3,
        task: &resize,
        failure: &failure,
        then: Then::Again(2),
        salvage: Some("refs/ralph/01JRUN/salvage/01JATT3"),
        detail: "not ok 3 - keeps proportions\r\n  expected: 256\n\n  actual: \u{1b}[31m255\u{1b}[0m\n",
    };
    at(20.0, notice);
}

fn landed_attempt(at: At<'_>) {
    let resize =
        task("t-7jla", "Resize pictures to 256 px, and keep their proportions (画像の縮小)");
    begin(at, 20.1, 4, &resize, 1, tally(2, 0));
    tool(at, 21.0, "4", "Edit", json!({ "file_path": "/p/src/resize.js" }));
    result(at, 22.0, "4", ToolStatus::Ok);
    usage(at, 23.0, 31_000, 0.05);
    at(30.0, Notice::Waiting { reason: "usage limit of claude: resets at 14:00", seconds: 2_460 });
    at(31.0, Notice::Waiting { reason: "usage limit of claude: resets at 14:00", seconds: 2_459 });
    at(
        32.0,
        Notice::BackendEnded { outcome: "finished", changed: 1, cost: Some(0.05), took_ms: 11_000 },
    );
    gate(at, 32.1, "lint", false, true, 800);
    gate(at, 33.0, "test", false, true, 2_900);
    let remarks = ["test/resize.js was changed".to_owned()];
    let notice = Notice::Landed {
        task: &resize,
        commit: Some("3f2a9c1d5e6f708192a3b4c5d6e7f8091a2b3c4d"),
        landing: Landing::Complete,
        proof: Proof::Proven,
        summary: "Resize with the longer side as the measure",
        remarks: &remarks,
        tally: tally(3, 0),
    };
    at(36.5, notice);
}

fn blocked_attempt(at: At<'_>) {
    let key = task("t-key0", "Upload to the bucket");
    begin(at, 37.0, 5, &key, 0, tally(3, 0));
    at(38.0, Notice::Stopping);
    at(40.0, Notice::BackendEnded { outcome: "finished", changed: 0, cost: None, took_ms: 3_000 });
    let failure = Failure::new(FailureKind::Blocked, "no API key");
    at(
        41.0,
        Notice::Failed {
            iteration: 4,
            task: &key,
            failure: &failure,
            then: Then::Stuck,
            salvage: None,
            detail: "",
        },
    );
}
