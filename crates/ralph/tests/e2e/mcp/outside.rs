//! An agent that no loop started: it looks, and may add tasks and issues.

use serde_json::json;

use super::{call, call_with, handoff};
use crate::stage::{stage, steps};

#[test]
fn whoever_is_in_no_attempt_may_look() {
    let p = stage("");
    p.write(
        ".ralph/knowledge-index.md",
        "# Knowledge Index\n\n## Constraints\n- [K-constraint-push] Must never force push [source: iter 7]\n",
    );
    let all = call(
        &p,
        &[
            ("task_list", json!({})),
            ("task_list", json!({ "limit": 1 })),
            ("task_show", json!({ "id": "t-bbbb" })),
            ("knowledge_search", json!({ "query": "push" })),
        ],
    );
    let list = all[0].as_ref().unwrap();
    assert_eq!((&list["total"], &list["current"]), (&json!(2), &json!(null)));
    let second =
        json!({ "id": "t-bbbb", "state": "pending", "name": "Second", "why": "waits for t-aaaa" });
    assert_eq!(list["tasks"][1], second);
    let short = all[1].as_ref().unwrap();
    assert_eq!((short["tasks"].as_array().unwrap().len(), &short["total"]), (1, &json!(2)));
    assert_eq!(all[2].as_ref().unwrap()["deps"], json!(["t-aaaa"]));
    assert_eq!(all[3].as_ref().unwrap()["entries"][0]["id"], "K-constraint-push");
}

#[test]
fn whoever_is_in_no_attempt_may_add_and_claim_nothing() {
    let p = stage("");
    let add = json!({ "name": "Third", "notes": "n", "accept": ["a", "b"], "deps": ["t-bbbb"], "priority": "low" });
    let all = call(
        &p,
        &[
            ("task_add", add),
            ("issue_add", json!({ "description": "is it slow?", "priority": "high" })),
            ("task_done", json!({ "id": "t-aaaa" })),
            ("task_done", json!({})),
            ("task_block", json!({ "reason": "no key" })),
            ("handoff_write", handoff("t-aaaa", "did it")),
        ],
    );
    let added = &all[0].as_ref().unwrap()["added"][0];
    assert_eq!((&added["name"], &added["accept"]), (&json!("Third"), &json!(["a", "b"])));
    assert_eq!(all[1].as_ref().unwrap()["added"]["desc"], "is it slow?");
    for refused in &all[2..] {
        let why = refused.as_ref().unwrap_err();
        assert!(why.contains("inside an attempt"), "{why}");
        assert!(why.contains("ralph task done ID"), "{why}");
    }
    p.run(["task", "list"]).ok().stdout_has("Third").stdout_has("t-aaaa  pending");
    p.run(["issue", "list"]).ok().stdout_has("is it slow?");
}

#[test]
fn an_attempt_that_is_over_has_no_say() {
    let p = stage(&steps("{ write = \"a.txt\", text = \"x\" }, { claim = \"done\" },"));
    p.run(["build", "--once"]).ok();
    let journal = p.read(".git/ralph/journal.jsonl");
    let attempt = journal.split("\"attempt\":\"").nth(1).unwrap().split('"').next().unwrap();
    let command = p.command(["mcp"]).env("RALPH_ATTEMPT", attempt);
    let all = call_with(
        command,
        &[
            ("task_list", json!({})),
            ("task_done", json!({})),
            ("handoff_write", handoff("t-aaaa", "did it")),
            ("task_add", json!({ "name": "late" })),
        ],
    );
    assert_eq!(all[0].as_ref().unwrap()["current"], json!(null));
    for refused in &all[1..] {
        let why = refused.as_ref().unwrap_err();
        assert!(why.contains("RALPH_MAILBOX does not say how to ask its loop"), "{why}");
    }
}

#[test]
fn servers_beside_a_running_loop_lose_nothing() {
    const SERVERS: usize = 4;
    const EACH: usize = 5;
    let p = &stage(&steps("{ write = \"{task}.txt\", text = \"x\" }, { claim = \"done\" },"));
    std::thread::scope(|scope| {
        let work = scope.spawn(move || p.run(["build"]));
        for server in 0..SERVERS {
            scope.spawn(move || {
                let wanted: Vec<_> = (0..EACH)
                    .map(|n| ("task_add", json!({ "name": format!("extra {server}.{n}") })))
                    .collect();
                for added in call(p, &wanted) {
                    added.unwrap();
                }
            });
        }
        work.join().unwrap().ok();
    });
    p.run(["build"]).ok();
    p.run(["query", "stage"]).ok().stdout_has("COMPLETE");
    let plan = p.read("ralph/plan.jsonl");
    for extra in (0..SERVERS).flat_map(|s| (0..EACH).map(move |n| format!("\"extra {s}.{n}\""))) {
        assert_eq!(plan.matches(&extra).count(), 1, "{extra} in\n{plan}");
    }
}
