use serde_json::json;

use super::*;
use crate::cycle::model_tests::run_end;
use crate::cycle::{JournalRecord, LoopEnd, LoopSignal, RunEnd};
use crate::format::{PlanFormat, codec};
use crate::inbox::Inbox;

fn of(plan: &str, records: &[serde_json::Value], inbox: &str) -> Vec<Need> {
    let plan = codec(PlanFormat::Jsonl).parse(plan).unwrap();
    let mut history = History::default();
    for record in records {
        let mut entry = record.clone();
        entry["at"] = json!("2025-01-20T10:30:00Z");
        history.add(&serde_json::from_value(entry).unwrap());
    }
    needs(&NeedSources {
        plan: &plan,
        plan_file: "ralph/plan.jsonl",
        history: &history,
        inbox: Inbox::parse(inbox).unwrap().entries(),
        running: &LoopProcess::Nobody,
        damage: &[],
    })
}

fn told(needs: &[Need]) -> Vec<(NeedKind, &str)> {
    needs.iter().map(|need| (need.kind, need.command.as_str())).collect()
}

fn run(end: LoopEnd) -> Vec<serde_json::Value> {
    let start = json!({"record": "run_started", "run": "r", "command": "build",
        "plan": "ralph/plan.jsonl", "mode": "handoff-only", "budget": {"max_cost": 2.5,
        "max_iterations": 5, "timeout_s": 60}});
    let ended = JournalRecord::RunEnded(RunEnd { reason: "so".into(), ..run_end(end, 1) });
    vec![start, serde_json::to_value(ended).unwrap()]
}

fn blocked() -> LoopEnd {
    LoopEnd::Blocked { why: Vec::new() }
}

const FAILED: &str = r#"{"t":"task","id":"t-aaaa","name":"A","s":"p"}
{"t":"reject","id":"t-bbbb","name":"B","reason":"gates failed: test","at":"2025-01-20T10:00:00Z","task":{"t":"task","id":"t-bbbb","name":"B","s":"p"}}
{"t":"issue","id":"i-cccc","desc":"task t-bbbb failed: B","created_from":"t-bbbb"}
{"t":"issue","id":"i-dddd","desc":"why?"}
"#;

#[test]
fn a_failed_task_that_became_an_issue_is_one_need_with_its_own_id() {
    let found = of(FAILED, &run(blocked()), "");
    assert_eq!(
        told(&found),
        [
            (NeedKind::Failed, "ralph task retry t-bbbb"),
            (NeedKind::Issues, "ralph issue list"),
            (NeedKind::Ended, "ralph build"),
        ]
    );
    assert_eq!(found[1].text, "1 issue open", "the other one stands for the task");
}

#[test]
fn circles_and_missing_dependencies_have_a_command_that_ends_them() {
    let plan = r#"{"t":"task","id":"t-aaaa","name":"A","s":"p","deps":["t-bbbb"]}
{"t":"task","id":"t-bbbb","name":"B","s":"p","deps":["t-aaaa"]}
{"t":"task","id":"t-cccc","name":"C","s":"p","deps":["t-gone","t-aaaa"]}
"#;
    let found = of(plan, &run(blocked()), "");
    assert_eq!(
        told(&found),
        [
            (NeedKind::Blocked, r#"ralph task edit t-cccc '{"deps":["t-aaaa"]}'"#),
            (NeedKind::Blocked, r#"ralph task edit t-aaaa '{"deps":[]}'"#),
        ]
    );
}

#[test]
fn the_end_of_the_last_run_says_how_to_go_on_while_work_is_left() {
    let plan = r#"{"t":"task","id":"t-aaaa","name":"A","s":"p"}"#.to_owned() + "\n";
    let go_on = |end: LoopEnd| {
        let found = of(&plan, &run(end), "");
        found.first().map(|need| need.command.clone())
    };
    let poor = LoopEnd::MaxCost { limit: 2.5, spent: 2.5 };
    assert_eq!(go_on(poor).as_deref(), Some("ralph build --max-cost 2.5"));
    let interrupted = || LoopEnd::Interrupted(LoopSignal::Interrupt);
    let limited = LoopEnd::UsageLimit { reason: "5 hours".into() };
    for end in [interrupted(), LoopEnd::Stopped, LoopEnd::MaxIterations(5), limited, blocked()] {
        assert_eq!(go_on(end.clone()).as_deref(), Some("ralph build"), "{end:?}");
    }
    let unproven = LoopEnd::Unproven { tasks: vec!["t-bbbb".into()] };
    let task_complete = LoopEnd::TaskComplete("t-bbbb".into());
    for end in [LoopEnd::Complete, unproven, LoopEnd::OnceLanded, task_complete] {
        assert_eq!(go_on(end.clone()), None, "{end:?}");
    }
    assert!(of("", &run(interrupted()), "").is_empty(), "nothing is left");
}

#[test]
fn commits_that_wait_are_a_need_while_the_run_is_open_and_after_it() {
    let not = |why: serde_json::Value| json!({"record": "not_arrived", "why": why, "sentence": "so", "commits": 1});
    let edited = not(json!({"reason": "edited", "paths": ["src/a.rs"]}));
    let tip = json!({"record": "tip_started", "run": "r", "branch": "main", "arrived": "one", "tip": "one"});
    let landed =
        json!({"record": "landed", "attempt": "a", "commit": "two", "paths": ["src/a.rs"]});
    let mut records = run(LoopEnd::Waiting { why: "so".into() });
    records.splice(1..1, [tip, landed, edited]);
    for records in [&records[..4], &records[..]] {
        let found = of("", records, "");
        let need = found.iter().find(|need| need.kind == NeedKind::Waiting).unwrap();
        assert_eq!(need.text, "1 commit waits: it touches src/a.rs, which you are editing");
        assert_eq!(need.hint(), "`ralph land` brings it when you are ready");
    }
    assert_eq!(told(&of("", &records, "")), [(NeedKind::Waiting, "ralph land")]);
    records.push(json!({"record": "arrived", "branch": "main", "commit": "two"}));
    assert!(of("", &records, "").is_empty(), "it has arrived");
}
