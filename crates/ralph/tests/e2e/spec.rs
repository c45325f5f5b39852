//! `ralph spec` and `ralph issue`.

use ralph_testkit::project;
use serde_json::json;

#[test]
fn use_makes_a_spec_current_and_new_work_belongs_to_it() {
    let p =
        project!().git_init().file("ralph/specs/a.md", "# Avatars\n").file("ralph/specs/b.md", "b");
    p.run(["spec", "use", "a"]).ok().stdout("Current spec: a.md\n");
    p.run(["task", "add", "A"]).ok();
    p.run(["issue", "add", "why?"]).ok();
    let records = super::task::records(&p);
    assert_eq!(records[0], json!({"t": "spec", "spec": "a.md"}));
    assert_eq!(records[1]["spec"], "a.md");
    assert_eq!(records[2]["spec"], "a.md");
    p.run(["spec", "list"])
        .ok()
        .stdout("* a.md  1 open, 0 done  Avatars\n  b.md  no tasks        (no heading)\n");
    p.run(["spec", "use", "a.md"]).ok();
    assert_eq!(super::task::records(&p).len(), 3, "the same spec again is no new record");
    p.run(["spec", "use", "c"]).fails(1).stderr_has("spec not found: ralph/specs/c.md");
}

#[test]
fn an_issue_is_added_listed_and_done() {
    let p = project!().git_init();
    let issue = p.run(["issue", "add", "flaky test", "--priority", "high", "--json"]).ok().json();
    let id = issue["id"].as_str().unwrap();
    assert!(id.starts_with("i-"));
    p.run(["issue", "list"]).ok().stdout(&format!("{id}  high  flaky test\n"));
    p.run(["query", "stage"]).ok().stdout("INVESTIGATE\n");
    p.run(["issue", "done", id]).ok().stdout(&format!("Done: {id} flaky test\n"));
    p.run(["issue", "list"]).ok().stdout("No open issues.\n");
    p.run(["issue", "done", id]).fails(1).stderr_has("no issue");
    p.run(["issue", "add", "  "]).fails(2);
}
