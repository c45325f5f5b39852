use std::fmt::Write as _;

use serde_json::{Value, json};

use super::*;
use crate::config::Config;
use crate::cycle::{AttemptPhase, AttemptState, History, JournalEntry};
use crate::format::{self, PlanFormat};
use crate::inbox::Inbox;
use crate::needs::{NeedKind, NeedSources};
use crate::plan::{Plan, TaskStateName};

const NOW: &str = "2025-01-20T10:30:00Z";

/// A journal as text becomes entries: the tests say what a journal says.
fn journal(records: &[Value]) -> Vec<JournalEntry> {
    let stamp = |n: usize| format!("2025-01-20T10:{:02}:{:02}Z", n / 60, n % 60);
    let at = |(n, record): (usize, &Value)| {
        let mut record = record.clone();
        if record["at"].is_null() {
            record["at"] = json!(stamp(n));
        }
        serde_json::from_value(record).unwrap()
    };
    records.iter().enumerate().map(at).collect()
}

fn run() -> Value {
    json!({"record": "run_started", "run": "r1", "command": "build", "plan": "ralph/plan.jsonl",
        "mode": "handoff-only"})
}

fn started(id: &str, n: u32, task: &str) -> Value {
    json!({"record": "attempt_started", "attempt": id, "run": "r1", "iteration": n, "task_id": task,
        "name": "a name", "retry": 0, "backend": "sim", "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"}})
}

fn ended(id: &str, cost: f64) -> Value {
    json!({"record": "backend_ended", "attempt": id, "outcome": "success",
        "claim": {"kind": "done"}, "candidate": {"paths": []}, "changed_files": 2, "cost_usd": cost,
        "tokens": [100, 10], "duration_ms": 4000})
}

fn judged(id: &str, passed: bool) -> Value {
    let none = json!({"names": []});
    let (ruling, standing) = match passed {
        true => (json!("proven"), "green"),
        false => (json!({"refused": {}}), "new"),
    };
    let check = json!({"name": "test", "standing": standing, "new": none, "old": none});
    json!({"record": "judged", "attempt": id, "ruling": ruling, "checks": [check]})
}

fn lands(id: &str, n: u32, task: &str) -> Vec<Value> {
    vec![
        started(id, n, task),
        ended(id, 0.5),
        judged(id, true),
        json!({"record": "land_intent", "attempt": id, "landing": "complete", "proof": "proven",
            "summary": "did it", "task": {"state": "pending"}}),
        json!({"record": "landed", "attempt": id, "commit": "c0ffee"}),
    ]
}

fn fails(id: &str, n: u32, task: &str) -> Vec<Value> {
    vec![
        started(id, n, task),
        ended(id, 0.25),
        judged(id, false),
        json!({"record": "fail_intent", "attempt": id, "retries": 1,
            "failure": {"kind": "gates", "message": "test failed"}}),
        json!({"record": "rolled_back", "attempt": id, "salvage": "refs/ralph/r1/salvage/a"}),
    ]
}

fn plan(lines: &[Value]) -> Plan {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    format::codec(PlanFormat::Jsonl).parse(&text).unwrap()
}

fn tasks() -> Plan {
    plan(&[
        json!({"t": "spec", "spec": "calc.md"}),
        json!({"t": "task", "id": "t-aaaa", "spec": "calc.md", "name": "add", "s": "p"}),
        json!({"t": "task", "id": "t-bbbb", "spec": "calc.md", "name": "sub", "s": "p",
            "deps": ["t-aaaa"]}),
        json!({"t": "task", "id": "t-cccc", "spec": "calc.md", "name": "mul", "s": "p",
            "blocked": "no compiler"}),
        json!({"t": "accept", "id": "t-dddd", "spec": "calc.md", "name": "div",
            "done_at": "x", "at": "2025-01-20T09:00:00Z"}),
    ])
}

fn screen(
    records: &[Value],
    plan: &Plan,
    running: &LoopProcess,
    meter: BackendMeter,
) -> DashboardState {
    let history = History::of(&journal(records));
    let mut config = Config::default();
    config.gates = vec![crate::config::GateSettings {
        name: "test".into(),
        command: "make test".into(),
        kind: None,
        required: None,
        timeout: crate::config::Timeout::minutes(1),
    }];
    state(&DashboardSources {
        now: NOW,
        project: "calc",
        config: &config,
        meter,
        sources: NeedSources {
            plan_file: "ralph/plan.jsonl",
            history: &history,
            plan,
            damage: &[],
            inbox: &[],
            running,
        },
    })
}

#[test]
fn a_project_without_a_run_says_so_and_is_idle() {
    let empty = Plan::empty(PlanFormat::Jsonl);
    let state = screen(&[], &empty, &LoopProcess::Nobody, BackendMeter::default());
    assert_eq!((state.run.status, state.health.word), (LoopStatus::Never, HealthWord::Idle));
    assert!(state.needs.is_empty() && state.attempt.is_none() && state.context.is_none());
}

#[test]
fn the_first_screen_tells_what_runs_how_far_and_what_it_cost() {
    let mut records = vec![run()];
    records.extend(fails("a", 1, "t-aaaa"));
    records.push(started("b", 2, "t-aaaa"));
    let meter = BackendMeter { used: Some(150_000), window: Some(200_000), cost: Some(0.1) };
    let state = screen(&records, &tasks(), &LoopProcess::Pid(7), meter);
    assert_eq!((state.run.status, state.run.pid), (LoopStatus::Running, Some(7)));
    assert_eq!(state.run.words, "sim works on t-aaaa.");
    let attempt = state.attempt.unwrap();
    assert_eq!(
        (attempt.phase, attempt.timeout_s, attempt.summary.started.iteration),
        (AttemptPhase::Backend, 600, 2)
    );
    assert_eq!(attempt.elapsed_s, 30 * 60 - 6);
    assert_eq!((attempt.gates[0].passed, attempt.gates[0].this_attempt), (Some(false), false));
    assert!((state.cost.run.usd - 0.35).abs() < 1e-9, "{:?}", state.cost);
    assert_eq!(state.context.unwrap().used, 150_000);
    assert_eq!((state.tasks.pending, state.tasks.accepted, state.tasks_total), (2, 1, 4));
    assert_eq!(state.health.word, HealthWord::Attention);
    assert_eq!(state.health.why, ["the context is 75 % full", "1 task needs a person"]);
    assert_eq!(state.needs[0].task.as_deref(), Some("t-cccc"));
}

#[test]
fn a_budget_is_what_the_run_says_or_else_what_is_configured() {
    let told = |run: Value| {
        let state = screen(&[run], &tasks(), &LoopProcess::Pid(1), BackendMeter::default());
        (state.cost.limit_usd, state.run.iteration_limit)
    };
    let default = Config::default();
    assert_eq!(told(run()), (None, default.build.max_iterations.get()), "an older journal");
    let mut with = run();
    with["budget"] = json!({"max_cost": 2.5, "max_iterations": 3, "timeout_s": 60});
    assert_eq!(told(with), (Some(2.5), 3));
}

#[test]
fn a_gate_runs_from_its_start_to_its_end_and_no_longer_than_its_attempt() {
    let gate = |record: &str| {
        json!({"record": record, "attempt": "a", "gate": "test", "on": "result",
            "passed": false, "duration_ms": 5})
    };
    let all = [
        run(),
        started("a", 1, "t-aaaa"),
        ended("a", 0.5),
        gate("gate_started"),
        gate("gate_ended"),
    ];
    let at = |upto: usize| {
        let state = screen(&all[..upto], &tasks(), &LoopProcess::Pid(1), BackendMeter::default());
        let gate = &state.attempt.unwrap().gates[0];
        (gate.state, gate.passed, gate.elapsed_s.is_some())
    };
    assert_eq!(at(3), (GateState::Waiting, None, false));
    assert_eq!(at(4), (GateState::Running, None, true));
    assert_eq!(at(5), (GateState::Failed, Some(false), false));
    let mut killed = all[..4].to_vec();
    killed.push(json!({"record": "fail_intent", "attempt": "a", "retries": 0,
        "failure": {"kind": "interrupted", "message": "ended"}}));
    let state = screen(&killed, &tasks(), &LoopProcess::Pid(1), BackendMeter::default());
    assert_eq!(state.attempt.unwrap().gates[0].state, GateState::Waiting);
}

#[test]
fn gates_and_landing_are_phases_of_their_own() {
    let all = lands("a", 1, "t-aaaa");
    let gates = AttemptPhase::Gates;
    for (upto, phase) in
        [(1, AttemptPhase::Backend), (2, gates), (3, gates), (4, AttemptPhase::Landing)]
    {
        let records: Vec<Value> = [run()].into_iter().chain(all[..upto].iter().cloned()).collect();
        let state = screen(&records, &tasks(), &LoopProcess::Pid(1), BackendMeter::default());
        assert_eq!(state.attempt.unwrap().phase, phase);
    }
}

#[test]
fn a_run_whose_process_is_gone_has_crashed_and_needs_a_person() {
    let records = [run(), started("a", 1, "t-aaaa")];
    let state = screen(&records, &tasks(), &LoopProcess::Nobody, BackendMeter::default());
    assert_eq!((state.run.status, state.health.word), (LoopStatus::Crashed, HealthWord::Stopped));
    assert_eq!(state.needs[0].kind, NeedKind::Crashed);
    assert_eq!(state.needs[0].command, "ralph build");
    assert_eq!((state.attempt, state.run.elapsed_s), (None, None), "nothing is under way");
    assert_eq!(state.recent[0].fate, AttemptState::Interrupted);
}

#[test]
fn a_pause_and_a_question_for_a_person_are_needs() {
    let mut end = ended("a", 0.1);
    end["claim"] = json!({"kind": "needs_human", "reason": "which colour?"});
    let pause = json!({"record": "command", "id": "c1", "command": "pause", "argument": null});
    let records = [run(), started("a", 1, "t-cccc"), end, pause];
    let state = screen(&records, &tasks(), &LoopProcess::Pid(1), BackendMeter::default());
    let kinds: Vec<_> = state.needs.iter().map(|need| need.kind).collect();
    assert_eq!(
        (state.run.status, &kinds[..]),
        (LoopStatus::Paused, &[NeedKind::Paused, NeedKind::Decide][..])
    );
}

#[test]
fn a_wait_for_a_usage_limit_says_until_when() {
    let wait = json!({"record": "waiting", "attempt": "a", "until": 1_737_369_060, "backend": "x",
        "reason": "5 hours"});
    let state = screen(&[run(), wait], &tasks(), &LoopProcess::Pid(1), BackendMeter::default());
    assert_eq!((state.run.status, state.run.wait_s), (LoopStatus::Waiting, Some(60)));
    assert_eq!(state.run.wait_until.as_deref(), Some("2025-01-20T10:31:00Z"));
}

#[test]
fn the_board_has_every_task_once_with_what_is_in_its_way() {
    let history = History::of(&journal(&[run(), started("a", 1, "t-aaaa")]));
    let all = board(&tasks(), &history, &LoopProcess::Pid(1), 0, 100);
    let told: Vec<_> =
        all.tasks.iter().map(|c| (c.id.as_str(), c.state.as_str(), c.why.as_deref())).collect();
    assert_eq!(
        told,
        [
            ("t-aaaa", "running", None),
            ("t-bbbb", "pending", Some("waits for t-aaaa")),
            ("t-cccc", "blocked", Some("blocked: no compiler")),
            ("t-dddd", "accepted", None),
        ]
    );
    assert_eq!((all.tasks[0].turn, all.tasks[0].attempts), (Some(1), 1));
    let page = board(&tasks(), &history, &LoopProcess::Pid(1), 1, 2);
    assert_eq!((page.total, page.tasks.len(), page.tasks[0].id.as_str()), (4, 2, "t-bbbb"));
}

#[test]
fn a_task_page_has_its_attempts_newest_first_and_who_waits_for_it() {
    let mut records = vec![run()];
    records.extend(fails("a", 1, "t-aaaa"));
    records.extend(lands("b", 2, "t-aaaa"));
    let history = History::of(&journal(&records));
    let page = task_page(&tasks(), &history, &LoopProcess::Nobody, "t-aaaa").unwrap();
    let results: Vec<_> =
        page.attempts.iter().map(|a| (a.started.iteration, a.fate.is_landed())).collect();
    assert_eq!(results, [(2, true), (1, false)]);
    assert_eq!((page.dependents, page.card.cost_usd), (vec!["t-bbbb".to_owned()], 0.75));
    assert_eq!(page.attempts[1].fate.kept(), Some("refs/ralph/r1/salvage/a"));
    assert_eq!(
        task_page(&tasks(), &history, &LoopProcess::Nobody, "t-dddd").unwrap().card.state,
        TaskStateName::Accepted
    );
    assert!(task_page(&tasks(), &history, &LoopProcess::Nobody, "t-zzzz").is_none());
}

#[test]
fn numbers_know_the_first_try_from_the_rest() {
    let mut records = vec![run()];
    records.extend(fails("a", 1, "t-aaaa"));
    records.extend(lands("b", 2, "t-aaaa"));
    records.extend(lands("c", 3, "t-bbbb"));
    records.push(started("d", 4, "t-cccc"));
    let sum = numbers(&History::of(&journal(&records)));
    assert_eq!((sum.attempts, sum.landed, sum.failed, sum.retries), (4, 2, 1, 1));
    assert_eq!((sum.tasks_tried, sum.first_try), (2, 1));
    assert_eq!(sum.attempts_per_task, [(1, 1), (2, 1)]);
    assert_eq!((sum.tokens_in, sum.tokens_out), (300, 30));
    assert_eq!(sum.curve.last().map(|p| (p.cost_usd, p.finished)), Some((1.25, 2)));
    assert_eq!((sum.models[0].name.as_str(), sum.models[0].count), ("sim", 3));
    assert_eq!(sum.failures.len(), 1);
}

#[test]
fn a_long_history_keeps_the_ends_of_its_curve() {
    let mut records = vec![run()];
    for n in 0..1000 {
        records.extend(lands(&format!("a{n}"), n + 1, &format!("t-{n}")));
    }
    let entries = journal(
        &records
            .into_iter()
            .map(|mut r| {
                r["at"] = json!(NOW);
                r
            })
            .collect::<Vec<_>>(),
    );
    let sum = numbers(&History::of(&entries));
    assert!(sum.curve.len() <= 400, "{}", sum.curve.len());
    assert_eq!(sum.curve[0].finished, 1);
    assert_eq!(sum.curve.last().unwrap().finished, 1000);
}

#[test]
fn spans_begin_and_end_and_what_nobody_ended_is_lost() {
    let mut timeline = Timeline::default();
    let mut records = vec![run()];
    records.extend(lands("a", 1, "t-aaaa"));
    records.push(json!({"record": "stage_started", "stage": "verify", "id": "s1"}));
    records.push(run());
    journal(&records).iter().for_each(|entry| timeline.add(entry));
    let told: Vec<_> = timeline.newest(9).into_iter().map(|s| (s.kind, s.result)).collect();
    assert_eq!(
        told,
        [
            (SpanKind::Run, Some("lost")),
            (SpanKind::Attempt, Some("landed")),
            (SpanKind::Stage, Some("lost")),
            (SpanKind::Run, None),
        ]
    );
}

#[test]
fn a_spec_that_failed_in_the_inbox_is_a_need() {
    let text = r#"{"t":"inbox","id":"q-aaaa","spec":"x.md","status":"failed","added_at":"a","error":"gave up"}
"#;
    let inbox = Inbox::parse(text).unwrap();
    let plan = Plan::empty(PlanFormat::Jsonl);
    let (history, config) = (History::default(), Config::default());
    let state = state(&DashboardSources {
        now: NOW,
        project: "p",
        config: &config,
        meter: BackendMeter::default(),
        sources: NeedSources {
            damage: &[],
            plan_file: "f",
            history: &history,
            plan: &plan,
            inbox: inbox.entries(),
            running: &LoopProcess::Nobody,
        },
    });
    assert_eq!(state.needs[0].text, "x.md failed: gave up");
}
