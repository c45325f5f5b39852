//! What the API promises to whoever scripts it.

use crate::site::{Site, await_hello, ids, noted, run};
use ralph_core::cycle::{AmendmentRecord, JournalRecord};
use ralph_core::plan::AmendmentOutcome;
use serde_json::json;

const PLAN: &str = r#"{"t":"task","id":"t-aaaa","name":"add","s":"p"}
{"t":"task","id":"t-bbbb","name":"sub","s":"p","deps":["t-aaaa"]}
"#;

#[test]
fn an_empty_project_has_an_answer_for_everything() {
    let site = Site::new(&[]);
    for path in [
        "/api/state",
        "/api/plan",
        "/api/numbers",
        "/api/attempts",
        "/api/events",
        "/api/inbox",
        "/api/specs",
        "/api/memory",
        "/api/handoffs",
        "/api/settings",
        "/openapi.json",
        "/",
    ] {
        assert_eq!(site.get(path).status, 200, "{path}");
    }
    for path in
        ["/api/tasks/x", "/api/attempts/x", "/api/attempts/last", "/api/specs/x", "/nothing"]
    {
        assert_eq!(site.get(path).status, 404, "{path}");
    }
    assert_eq!(site.post("/api/state", "{}").status, 405);
    let brewed = site.ask("BREW", "/api/settings", &site.bearer(), "");
    assert_eq!(brewed.status, 405);
    assert!(brewed.head.contains("Allow: GET, HEAD, POST"), "{}", brewed.head);
    assert_eq!(site.get("/api/state").json()["loop"]["status"], "never");
}

#[test]
fn the_plan_comes_by_the_page() {
    let site = Site::new(&[("ralph/plan.jsonl", PLAN)]);
    let page = site.get("/api/plan?offset=1&limit=1").json();
    assert_eq!(
        (page["total"].clone(), page["tasks"][0]["id"].clone()),
        (json!(2), json!("t-bbbb"))
    );
    assert_eq!(page["tasks"][0]["why"], "waits for t-aaaa");
    assert_eq!(site.get("/api/tasks/t-aaaa").json()["dependents"], json!(["t-bbbb"]));
}

#[test]
fn a_damaged_plan_is_told_and_everything_else_still_answers() {
    let site = Site::new(&[("ralph/plan.jsonl", "{\"t\":\"task\"\n")]);
    let state = site.get("/api/state").json();
    assert!(state["problems"][0].as_str().is_some_and(|p| p.contains("plan.jsonl:1")), "{state}");
}

#[test]
fn events_have_numbers_and_come_by_the_page_in_both_directions() {
    let site = Site::new(&[]);
    site.journal((1..=250).map(|n| noted(&format!("event {n}"))).collect());
    let of = |path: &str| -> Vec<u64> {
        let page = site.get(path).json();
        assert_eq!(page["last"], 250);
        page["events"].as_array().into_iter().flatten().filter_map(|e| e["id"].as_u64()).collect()
    };
    assert_eq!(of("/api/events?limit=3"), [248, 249, 250]);
    assert_eq!(of("/api/events?before=248&limit=2"), [246, 247]);
    assert_eq!(of("/api/events?after=0&limit=2"), [1, 2]);
    assert!(of("/api/events?before=1").is_empty());
    assert!(of("/api/events?after=250").is_empty());
}

#[test]
fn a_stream_goes_on_after_the_last_event_that_was_seen_none_lost_none_doubled() {
    let site = Site::new(&[]);
    site.journal((1..=20).map(|n| noted(&n.to_string())).collect());
    let mut stream = site.events("/api/events", "Last-Event-ID: 12\r\n");
    assert_eq!(ids(&mut stream, 8), (13..=20).collect::<Vec<u64>>());
    site.journal((21..=600).map(|n| noted(&n.to_string())).collect());
    assert_eq!(ids(&mut stream, 580), (21..=600).collect::<Vec<u64>>());
    let mut other = site.events("/api/events?after=598", "");
    assert_eq!(ids(&mut other, 2), [599, 600]);
    let mut fresh = site.events("/api/events", "");
    await_hello(&mut fresh);
    site.journal(vec![noted("new")]);
    assert_eq!(ids(&mut fresh, 1), [601], "without a number: only what is new");
}

#[test]
fn a_command_waits_in_the_file_with_an_id_and_what_is_no_command_does_not() {
    let site = Site::new(&[]);
    let first = site.post("/api/command", r#"{"command":"inject-note","note":"use the cache"}"#);
    assert_eq!(first.status, 202);
    assert_eq!(
        site.post("/api/command", r#"{"command":"skip-task","task_id":"t-aaaa"}"#).status,
        202
    );
    for bad in ["{}", "[]", "{", r#"{"command":"rm -rf"}"#, r#"{"command":"skip-task"}"#] {
        assert_eq!(site.post("/api/command", bad).status, 400, "{bad}");
    }
    let file: serde_json::Value =
        serde_json::from_str(&site.file(".ralph/control/commands.json")).unwrap_or_default();
    let pending = file["pending"].as_array().cloned().unwrap_or_default();
    assert_eq!(pending.len(), 2);
    assert_eq!(
        (&pending[0]["command"], &pending[0]["note"]),
        (&json!("inject-note"), &json!("use the cache"))
    );
    assert_eq!(pending[0]["id"], first.json()["id"]);
    assert_ne!(pending[0]["id"], pending[1]["id"]);
}

#[test]
fn settings_are_written_with_their_comments_and_all_or_none_of_them() {
    let site = Site::new(&[]);
    let set = site.post("/api/settings", r#"{"RALPH_MODE":"handoff-plus-index","min_delay":30}"#);
    assert_eq!(set.status, 202, "{}", set.body);
    let toml = site.file("ralph.toml");
    assert!(
        toml.starts_with("# mine\n") && toml.contains("mode = \"handoff-plus-index\" # memory"),
        "{toml}"
    );
    assert!(toml.contains("min_delay = \"30s\""), "{toml}");
    for bad in [
        r#"{"mode":"handoff-only","backend":"evil"}"#,
        r#"{"mode":"nonsense"}"#,
        r#"{"mode":"a b"}"#,
        r#"{"gates":"x"}"#,
        r#"{"max_turns":"-1"}"#,
        "{}",
    ] {
        assert_eq!(site.post("/api/settings", bad).status, 400, "{bad}");
    }
    assert_eq!(site.file("ralph.toml"), toml, "nothing else was changed");
}

#[test]
fn specs_are_written_queued_moved_and_removed() {
    let site = Site::new(&[]);
    for name in ["a.md", "b.md", "c.md"] {
        let body = json!({ "name": name, "text": "# A spec\n\n- [ ] it works" }).to_string();
        assert_eq!(site.post("/api/specs", &body).status, 202);
        assert_eq!(site.post("/api/inbox", &json!({ "spec": name }).to_string()).status, 202);
    }
    let again = json!({ "name": "a.md", "text": "other" }).to_string();
    assert_eq!(site.post("/api/specs", &again).status, 409);
    assert_eq!(site.post("/api/inbox", r#"{"spec":"a.md"}"#).status, 409);
    assert_eq!(site.post("/api/inbox", r#"{"spec":"none.md"}"#).status, 404);
    let order = || -> Vec<(String, String)> {
        let entries =
            site.get("/api/inbox").json()["entries"].as_array().cloned().unwrap_or_default();
        let text = |v: &serde_json::Value| v.as_str().unwrap_or_default().to_owned();
        entries.iter().map(|e| (text(&e["spec"]), text(&e["id"]))).collect()
    };
    let (first, last) = (order()[0].1.clone(), order()[2].1.clone());
    let body = json!({ "before": first }).to_string();
    assert_eq!(site.post(&format!("/api/inbox/{last}/move"), &body).status, 202);
    let names: Vec<String> = order().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["c.md", "a.md", "b.md"]);
    assert_eq!(site.ask("DELETE", &format!("/api/inbox/{first}"), &site.bearer(), "").status, 200);
    assert_eq!(site.ask("DELETE", "/api/inbox/q-none", &site.bearer(), "").status, 404);
    assert_eq!(order().len(), 2);
}

#[test]
fn a_long_history_costs_the_first_screen_little() {
    let site = Site::new(&[]);
    site.journal(
        std::iter::once(run()).chain((1..=20_000).map(|n| noted(&n.to_string()))).collect(),
    );
    let state = site.get("/api/state");
    assert!(state.body.len() < 20_000, "{} bytes", state.body.len());
    assert_eq!(state.json()["events"]["last"], 20_001);
    let page = site.get("/api/events?limit=20000");
    assert_eq!(page.json()["events"].as_array().map(Vec::len), Some(500));
}

#[test]
fn a_spec_that_is_written_during_an_attempt_is_there_at_once() {
    let site = Site::new(&[]);
    let started = serde_json::from_value(json!({
        "record": "attempt_started", "attempt": "a1", "run": "r1", "iteration": 1, "task_id": "t",
        "name": "n", "retry": 0, "backend": "sim", "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"}, "log": null,
    }));
    site.journal(vec![run(), started.unwrap()]);
    let body = json!({ "name": "late.md", "text": "# Late\n\n- [ ] it works" }).to_string();
    assert_eq!(site.post("/api/specs", &body).status, 202);
    assert!(site.path("ralph/specs/late.md").exists(), "an attempt works in its own lane");
    assert_eq!(site.post("/api/specs", &body).status, 409, "its name is taken");
    assert_eq!(site.post("/api/inbox", r#"{"spec":"late.md"}"#).status, 202);
    assert_eq!(site.get("/api/inbox").json()["entries"].as_array().map(Vec::len), Some(1));
}

#[test]
fn changes_of_the_plan_by_an_agent_are_on_the_first_screen() {
    let site = Site::new(&[("ralph/plan.jsonl", PLAN)]);
    let removed = AmendmentOutcome {
        action: "remove".into(),
        id: Some("t-cccc".into()),
        name: "multiply".into(),
        reason: Some("not needed".into()),
        ..AmendmentOutcome::default()
    };
    let (attempt, task) = ("01J".to_owned(), "t-aaaa".to_owned());
    let amended = AmendmentRecord { attempt, iteration: 1, task, outcomes: vec![removed] };
    site.journal(vec![run(), JournalRecord::Amended(amended)]);
    let state = site.get("/api/state").json();
    assert_eq!(state["amendments"][0]["words"], "removed t-cccc multiply (not needed)");
    assert_eq!(state["amendments"][0]["by_task"], "t-aaaa");
    let ended = json!({
        "record": "run_ended", "status": "complete", "exit_code": 0, "reason": "all tasks complete",
        "command": "build", "remaining": 0, "landed": 0, "attempts": 0, "cost_usd": 0.0,
        "cost_unknown": 0, "duration_ms": 0, "needs": [],
    });
    site.journal(vec![serde_json::from_value(ended).unwrap(), run()]);
    assert_eq!(site.get("/api/state").json()["amendments"], json!([]));
}
