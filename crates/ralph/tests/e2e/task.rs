//! `ralph task`: the life of a task in plan.jsonl, and the same verbs on the other formats.

use ralph_testkit::{NOW, TestProject, project};
use serde_json::{Value, json};

pub(crate) fn records(p: &TestProject) -> Vec<Value> {
    p.read("ralph/plan.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn add(p: &TestProject, task: &str) -> String {
    let added = p.run(["task", "add", task, "--json"]).ok().json();
    added[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_plain_name_becomes_a_pending_task_with_an_id() {
    let p = project!().git_init();
    let run = p.run(["task", "add", "Parse the header"]).ok();
    let id = run.stdout.split(' ').nth(1).unwrap().to_owned();
    assert_eq!(run.stdout, format!("Added: {id} Parse the header\n"));
    assert!(id.starts_with("t-") && id.len() == 6, "{id}");
    assert_eq!(records(&p), [json!({"t": "task", "id": id, "name": "Parse the header", "s": "p"})]);
}

#[test]
fn all_fields_of_a_json_task_are_kept() {
    let p = project!().git_init();
    let id =
        add(&p, r#"{"name": "A", "notes": "n", "accept": "`make` passes", "priority": "high"}"#);
    assert_eq!(
        records(&p),
        [json!({"t": "task", "id": id, "name": "A", "s": "p", "notes": "n",
                "accept": "`make` passes", "priority": "high"})]
    );
}

#[test]
fn tasks_of_one_array_may_depend_on_each_other_before_they_have_ids() {
    let p = project!().git_init();
    let batch = json!([
        {"name": "Print", "deps": ["parse", "Check"]},
        {"id": "parse", "name": "Parse"},
        {"name": "Check"},
    ]);
    p.run(["task", "add", &batch.to_string()]).ok();
    let tasks = records(&p);
    assert_eq!(tasks[0]["deps"], json!([tasks[1]["id"], tasks[2]["id"]]));
    assert!(tasks[1]["id"].as_str().unwrap().starts_with("t-"), "a label is not an id");
}

#[test]
fn a_given_id_of_the_right_shape_is_kept_and_never_taken_twice() {
    let p = project!().git_init();
    assert_eq!(add(&p, r#"{"id": "t-abcd", "name": "A"}"#), "t-abcd");
    p.run(["task", "add", r#"{"id": "t-abcd", "name": "B"}"#]).fails(1).stderr_has("t-abcd");
    p.run(["task", "done", "t-abcd"]).ok();
    p.run(["task", "accept"]).ok();
    p.run(["task", "add", r#"{"id": "t-abcd", "name": "B"}"#])
        .fails(1)
        .stderr_has("already in use");
}

#[test]
fn tasks_can_come_from_standard_input() {
    let p = project!().git_init();
    p.command(["task", "add", "-"]).stdin(r#"[{"name": "A"}, {"name": "B"}]"#).run().ok();
    assert_eq!(records(&p).len(), 2);
}

#[test]
fn nonsense_is_refused_with_the_reason_and_writes_nothing() {
    let p = project!().git_init();
    for (task, why) in [
        (r#"{"nmae": "x"}"#, "did you mean `name`?"),
        (r#"{"notes": "x"}"#, "needs a name"),
        (r#"{"name": "x", "deps": ["t-none"]}"#, "t-none, which does not exist"),
        (r#"{"name": "x", "priority": "urgent"}"#, "high, medium or low"),
        (r#"{"name": "x", "name": "y"}"#, "name"),
        (r#"{"name": "a\nb"}"#, "one line"),
        (r#"[{"id":"a","name":"A","deps":["b"]},{"id":"b","name":"B","deps":["a"]}]"#, "cycle"),
        ("[]", "no tasks"),
        ("{", "not valid JSON"),
        ("  ", "needs a name"),
    ] {
        let run = p.run(["task", "add", task]);
        assert!(run.code == 1 || run.code == 2, "{task}: {run:?}");
        run.stderr_has(why);
    }
    assert!(!p.exists("ralph/plan.jsonl"));
}

#[test]
fn adding_to_an_existing_plan_appends_and_does_not_rewrite() {
    use std::os::unix::fs::MetadataExt;
    let p = project!().git_init();
    add(&p, "A");
    let inode = || std::fs::metadata(p.path("ralph/plan.jsonl")).unwrap().ino();
    let (before, text) = (inode(), p.read("ralph/plan.jsonl"));
    add(&p, "B");
    assert_eq!(inode(), before, "the same file, one record longer");
    assert!(p.read("ralph/plan.jsonl").starts_with(&text));
}

#[test]
fn done_then_accept_leaves_a_tombstone_and_takes_the_task_out() {
    let p = project!().git_init();
    let id = add(&p, "A");
    p.run(["task", "done", &id]).ok().stdout(&format!("Done: {id} A\n"));
    assert_eq!(records(&p)[0]["s"], "d");
    assert_eq!(records(&p)[0]["done_at"], NOW);
    p.run(["task", "accept", &id]).ok().stdout(&format!("Accepted: {id} A\n"));
    assert_eq!(
        records(&p),
        [json!({"t": "accept", "id": id, "name": "A", "done_at": NOW, "at": NOW})]
    );
}

#[test]
fn accept_without_an_id_takes_all_done_tasks_and_no_pending_one() {
    let p = project!().git_init();
    let ids: Vec<String> = ["A", "B", "C"].iter().map(|n| add(&p, n)).collect();
    p.run(["task", "done", &ids[0]]).ok();
    p.run(["task", "done", &ids[2]]).ok();
    p.run(["task", "accept"])
        .ok()
        .stdout(&format!("Accepted: {} A\nAccepted: {} C\n", ids[0], ids[2]));
    p.run(["task", "accept"]).ok().stdout("Nothing to accept: no task is done.\n");
    p.run(["task", "accept", &ids[1]]).fails(1).stderr_has("is pending");
}

#[test]
fn reject_puts_the_task_back_with_the_reason_and_a_tombstone() {
    let p = project!().git_init();
    let id = add(&p, "A");
    p.run(["task", "done", &id]).ok();
    p.run(["task", "reject", &id, "no test"]).ok();
    assert_eq!(
        records(&p),
        [
            json!({"t": "task", "id": id, "name": "A", "s": "p", "reject": "no test", "retry_count": 1}),
            json!({"t": "reject", "id": id, "name": "A", "reason": "no test", "at": NOW}),
        ]
    );
    // The second rejection counts on; done again clears the reason, not the history.
    p.run(["task", "done", &id]).ok();
    p.run(["task", "reject", "still no test"]).ok();
    assert_eq!(records(&p)[0]["retry_count"], 2);
    assert_eq!(records(&p).len(), 3);
}

#[test]
fn reject_without_an_id_needs_exactly_one_done_task() {
    let p = project!().git_init();
    let (a, b) = (add(&p, "A"), add(&p, "B"));
    p.run(["task", "reject", "why"]).fails(1).stderr_has("no task is done");
    p.run(["task", "done", &a]).ok();
    p.run(["task", "done", &b]).ok();
    p.run(["task", "reject", "why"]).fails(1).stderr_has(&a).stderr_has(&b);
    p.run(["task", "reject", &a]).fails(2).stderr_has("reason is missing");
}

#[test]
fn done_without_an_id_takes_the_running_task_or_the_only_open_one_or_lists_them() {
    let p = project!().git_init();
    let (a, b) = (add(&p, "A"), add(&p, "B"));
    let several = p.run(["task", "done"]).fails(1);
    several.stderr_has("several tasks are open").stderr_has(&a).stderr_has(&b);
    p.command(["task", "done"]).env("RALPH_TASK", &b).run().ok().stdout(&format!("Done: {b} B\n"));
    p.run(["task", "done"]).ok().stdout(&format!("Done: {a} A\n"));
    p.run(["task", "done"]).fails(1).stderr_has("no task is open");

    let plan =
        r#"[{"id": "t-aaaa", "name": "A"}, {"id": "t-bbbb", "name": "B", "deps": ["t-aaaa"]}]"#;
    let p = project!().git_init();
    p.run(["task", "add", plan]).ok();
    p.run(["task", "done"]).ok().stdout("Done: t-aaaa A\n");

    let deluxe = r#"{"tasks": [{"id": "T-1", "title": "A", "status": "in_progress"}]}"#;
    let p = project!().git_init().file("plan.json", deluxe);
    p.run(["task", "done"]).ok().stdout("Done: T-1 A\n");
}

#[test]
fn skip_block_retry_and_delete_are_told_in_the_file() {
    let p = project!().git_init();
    let (a, b) = (add(&p, r#"{"name":"A","notes":"keep me"}"#), add(&p, "B"));
    p.run(["task", "skip", &a, "not now"]).ok().stdout(&format!("Skipped: {a} A\n"));
    let stone = &records(&p)[1];
    assert_eq!((&stone["t"], &stone["reason"]), (&json!("delete"), &json!("not now")));
    p.run(["task", "retry", &a]).ok();
    assert_eq!(p.run(["task", "show", &a, "--json"]).ok().json()["notes"], "keep me");

    p.run(["task", "block", &b, "needs a key"]).ok();
    assert_eq!(records(&p)[0]["blocked"], "needs a key");
    p.run(["query", "next"]).ok().stdout_lacks(&b);
    p.run(["task", "retry", &b]).ok();
    assert_eq!(records(&p)[0].get("blocked"), None);

    p.run(["task", "delete", &b]).ok();
    p.run(["task", "show", &b]).fails(1).stderr_has("no task").stderr_has("ralph log");
}

#[test]
fn edit_changes_only_what_is_said() {
    let p = project!().git_init();
    let id = add(&p, r#"{"name": "A", "notes": "n"}"#);
    p.run(["task", "edit", &id, "--priority", "high"]).ok().stdout(&format!("Changed: {id} A\n"));
    p.run(["task", "edit", &id, r#"{"accept": ["x", "y"]}"#]).ok();
    assert_eq!(
        records(&p),
        [json!({"t": "task", "id": id, "name": "A", "s": "p", "notes": "n", "priority": "high",
                "accept": ["x", "y"]})]
    );
    p.run(["task", "edit", &id, "--priority", "high"]).ok().stdout(&format!("Unchanged: {id} A\n"));
    p.run(["task", "edit", &id, "--notes", "", "--priority", "none"]).ok();
    assert_eq!(records(&p)[0].get("notes"), None);
    p.run(["task", "edit", &id]).fails(2);
    p.run(["task", "edit", &id, "--dep", &id]).fails(1).stderr_has("cycle");
    p.run(["task", "edit", "t-zzzz", "--name", "x"]).fails(1).stderr_has("no task t-zzzz");
}

#[test]
fn an_unknown_id_names_the_nearest_one() {
    let p = project!().git_init();
    add(&p, r#"{"id": "t-abcd", "name": "A"}"#);
    p.run(["task", "done", "t-abdc"])
        .fails(1)
        .stderr("error: no task t-abdc\nhint: did you mean t-abcd?\n");
}

#[test]
fn the_verbs_work_on_plan_json() {
    let plan = r#"{
  "project": "demo",
  "tasks": [
    {"id": "T-001", "title": "A", "description": "d", "status": "pending", "custom": [1]}
  ]
}
"#;
    let p = project!().git_init().file("plan.json", plan);
    p.run(["task", "done", "T-001"]).ok();
    let value: Value = serde_json::from_str(&p.read("plan.json")).unwrap();
    assert_eq!(value["tasks"][0]["status"], "done");
    assert_eq!(value["tasks"][0]["custom"], json!([1]));
    p.run(["task", "reject", "T-001", "no"]).ok();
    let value: Value = serde_json::from_str(&p.read("plan.json")).unwrap();
    assert_eq!(value["tasks"][0]["status"], "pending");
    assert_eq!(value["tasks"][0]["retry_count"], 1);
    p.run(["task", "add", "B"]).ok().stdout("Added: T-002 B\n");
    p.run(["issue", "add", "why?"]).fails(1).stderr_has("plan.json cannot hold");
}

#[test]
fn the_verbs_work_on_implementation_json() {
    let plan = r#"{
  "version": 1,
  "specs": [
    {"id": "up", "file": "specs/up.md", "name": "Up", "priority": 1, "status": "pending",
     "tasks": [{"id": "up-1", "description": "A", "status": "pending"}]}
  ]
}
"#;
    let p = project!().git_init().file("implementation.json", plan);
    p.run(["task", "add", r#"{"description": "B", "spec": "up"}"#]).ok().stdout("Added: up-2 B\n");
    p.run(["task", "done", "up-1"]).ok();
    p.run(["task", "block", "up-2", "no key"]).ok();
    let value: Value = serde_json::from_str(&p.read("implementation.json")).unwrap();
    let tasks = &value["specs"][0]["tasks"];
    assert_eq!(tasks[0]["status"], "completed");
    assert_eq!(
        (&tasks[1]["status"], &tasks[1]["blockedReason"]),
        (&json!("blocked"), &json!("no key"))
    );
    assert_eq!(p.run(["query", "stage"]).ok().stdout, "BLOCKED\n");
}

#[test]
fn the_verbs_work_on_progress_md_and_leave_every_other_line_alone() {
    let plan = "# Progress: demo\n\n## Status\n\nIn Progress\n\n## Tasks\n\n### Phase 1\n\n- [ ] Read `a.txt`\n- [ ] Print [it](x)\n\n## Notes\n\nmine\n";
    let p = project!().git_init().file("progress.md", plan);
    let tasks = p.run(["task", "list", "--json"]).ok().json();
    assert_eq!(tasks[0]["name"], "Read `a.txt`");
    p.run(["task", "done", tasks[0]["id"].as_str().unwrap()]).ok();
    assert_eq!(p.read("progress.md"), plan.replace("- [ ] Read", "- [x] Read"));
    p.run(["task", "add", "Third"]).ok();
    assert!(p.read("progress.md").contains("- [ ] Print [it](x)\n- [ ] Third\n"));
}

#[test]
fn control_characters_of_a_file_never_reach_the_terminal() {
    let line = "{\"t\":\"task\",\"id\":\"t-abcd\",\"name\":\"a\\u001b[31mb\",\"s\":\"p\"}\n";
    let p = project!().git_init().file("ralph/plan.jsonl", line);
    for args in [&["task", "list"][..], &["task", "show", "t-abcd"], &["status"]] {
        p.run(args).ok().stdout_lacks("\u{1b}");
    }
}
