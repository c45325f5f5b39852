//! Seed 001, "Inbox Management": each acceptance box has a test of that name.

use ralph_testkit::{NOW, TestProject, project};
use serde_json::{Value, json};

fn with_specs(names: &[&str]) -> TestProject {
    names
        .iter()
        .fold(project!().git_init(), |p, name| p.file(format!("ralph/specs/{name}"), "# A spec\n"))
}

fn records(project: &TestProject) -> Vec<Value> {
    project.read("ralph/inbox.jsonl").lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn record(id: &str, spec: &str, status: &str, extra: &str) -> String {
    format!(
        r#"{{"t": "inbox", "id": "{id}", "spec": "{spec}", "added_at": "2025-01-20T08:30:00Z", "status": "{status}"{extra}}}"#
    ) + "\n"
}

#[test]
fn add_creates_a_pending_record_in_inbox_jsonl() {
    let p = with_specs(&["feature-x.md"]);
    let run = p.run(["inbox", "add", "feature-x.md"]).ok();
    let id = run.stdout.strip_prefix("Queued: ").and_then(|s| s.split(' ').next()).unwrap();
    assert_eq!(run.stdout, format!("Queued: {id} feature-x.md\n"));
    let rest = id.strip_prefix("q-").expect("ids are q-xxxx");
    assert_eq!(rest.len(), 4);
    assert!(rest.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{id}");
    assert_eq!(
        records(&p),
        [
            json!({"t": "inbox", "id": id, "spec": "feature-x.md", "added_at": NOW, "status": "pending"})
        ]
    );
}

#[test]
fn add_appends_and_leaves_earlier_bytes_alone() {
    let p = with_specs(&["a.md", "b.md"]);
    // Other spacing, an unknown field, an unknown kind of record: none of it is ours to touch.
    let before =
        record("q-a1b2", "a.md", "done", r#", "by": "me""#) + "{\"t\": \"memo\",\"x\":1}\n";
    p.write("ralph/inbox.jsonl", &before);
    p.run(["inbox", "add", "b.md"]).ok();
    assert!(p.read("ralph/inbox.jsonl").starts_with(&before));
    assert_eq!(records(&p).len(), 3);
}

#[test]
fn add_fails_with_an_error_if_the_spec_file_does_not_exist() {
    let p = with_specs(&["feature-x.md"]);
    p.run(["inbox", "add", "feature-y.md"]).fails(1).stdout("").stderr(
        "error: spec not found: ralph/specs/feature-y.md\nhint: did you mean feature-x.md?\n",
    );
    assert!(!p.exists("ralph/inbox.jsonl"));
}

#[test]
fn add_refuses_a_name_outside_the_specs_folder() {
    let p = with_specs(&[]).file("secret.md", "# no\n");
    p.run(["inbox", "add", "../../secret.md"]).fails(2).stderr_has("not the name of a spec");
}

#[test]
fn add_refuses_a_spec_that_is_pending_or_active_and_names_its_id() {
    for status in ["pending", "active"] {
        let p =
            with_specs(&["a.md"]).file("ralph/inbox.jsonl", record("q-a1b2", "a.md", status, ""));
        p.run(["inbox", "add", "a.md"]).fails(1).stderr_has("q-a1b2").stderr_has(status);
        assert_eq!(records(&p).len(), 1);
    }
    let p = with_specs(&["a.md"]).file("ralph/inbox.jsonl", record("q-a1b2", "a.md", "done", ""));
    p.run(["inbox", "add", "a.md"]).ok();
    assert_eq!(records(&p).len(), 2);
}

#[test]
fn list_shows_all_records_with_status_spec_name_and_relative_time() {
    let text = record("q-a1b2", "feature-x.md", "pending", "")
        + &record("q-c3d4", "bugfix-y.md", "pending", "").replace("08:30", "09:30")
        + &record("q-e5f6", "refactor-z.md", "active", r#", "started_at": "2025-01-20T10:20:00Z""#);
    let p = with_specs(&[]).file("ralph/inbox.jsonl", text);
    let expected = "\
Inbox (3 specs):
  q-a1b2  pending   feature-x.md      (added 2h ago)
  q-c3d4  pending   bugfix-y.md       (added 1h ago)
  q-e5f6  active    refactor-z.md     (started 10m ago)
";
    p.run(["inbox"]).ok().stdout(expected);
    p.run(["inbox", "list"]).ok().stdout(expected);
}

#[test]
fn list_shows_when_and_why_a_spec_ended() {
    let text = record("q-a1b2", "a.md", "done", r#", "completed_at": "2025-01-20T10:25:00Z""#)
        + &record(
            "q-c3d4",
            "b.md",
            "failed",
            r#", "error": "no tasks", "completed_at": "2025-01-19T10:30:00Z""#,
        );
    let p = with_specs(&[]).file("ralph/inbox.jsonl", text);
    p.run(["inbox"]).ok().stdout(
        "Inbox (2 specs):
  q-a1b2  done      a.md              (done 5m ago)
  q-c3d4  failed    b.md              (failed 1d ago: no tasks)
",
    );
}

#[test]
fn an_empty_inbox_says_so() {
    with_specs(&[]).run(["inbox"]).ok().stdout_has("Inbox (0 specs)");
    let one = with_specs(&["a.md"]);
    one.run(["inbox", "add", "a.md"]).ok();
    one.run(["inbox"]).ok().stdout_has("Inbox (1 spec):");
}

#[test]
fn remove_by_id_removes_a_pending_record() {
    let p = with_specs(&[]).file(
        "ralph/inbox.jsonl",
        record("q-a1b2", "a.md", "pending", "") + &record("q-c3d4", "b.md", "pending", ""),
    );
    p.run(["inbox", "remove", "q-a1b2"]).ok().stdout("Removed: q-a1b2 a.md\n");
    assert_eq!(p.read("ralph/inbox.jsonl"), record("q-c3d4", "b.md", "pending", ""));
}

#[test]
fn remove_by_spec_takes_its_first_record_that_is_not_active() {
    let active = record("q-a1b2", "a.md", "active", "");
    let p = with_specs(&[])
        .file("ralph/inbox.jsonl", active.clone() + &record("q-c3d4", "a.md", "pending", ""));
    p.run(["inbox", "remove", "a.md"]).ok().stdout("Removed: q-c3d4 a.md\n");
    assert_eq!(p.read("ralph/inbox.jsonl"), active);
}

#[test]
fn remove_takes_out_an_active_spec_that_no_agent_works_on() {
    for which in ["q-a1b2", "a.md"] {
        let active = record("q-a1b2", "a.md", "active", "");
        let p = with_specs(&[]).file("ralph/inbox.jsonl", active);
        p.run(["inbox", "remove", which]).ok().stdout("Removed: q-a1b2 a.md\n");
        assert_eq!(p.read("ralph/inbox.jsonl"), "");
    }
}

#[test]
fn remove_of_something_unknown_is_an_error() {
    with_specs(&[]).run(["inbox", "remove", "q-zzzz"]).fails(1).stderr_has("q-zzzz");
}

#[test]
fn clear_removes_all_pending_specs_and_preserves_active_done_and_failed() {
    let kept = [
        record("q-0001", "a.md", "active", ""),
        record("q-0002", "b.md", "done", ""),
        record("q-0003", "c.md", "failed", ""),
    ];
    let pending =
        [record("q-1001", "d.md", "pending", ""), record("q-1002", "e.md", "pending", "")];
    let p = with_specs(&[]).file(
        "ralph/inbox.jsonl",
        [&kept[0], &pending[0], &kept[1], &pending[1], &kept[2]].map(String::as_str).concat(),
    );
    p.run(["inbox", "clear"]).ok().stdout("Cleared 2 pending specs\n");
    assert_eq!(p.read("ralph/inbox.jsonl"), kept.concat());
    p.run(["inbox", "clear"]).ok().stdout("Cleared 0 pending specs\n");
}

#[test]
fn query_inbox_returns_a_json_array_of_all_records() {
    let p = with_specs(&[]);
    assert_eq!(p.run(["query", "inbox"]).ok().json(), json!([]));
    p.write(
        "ralph/inbox.jsonl",
        record("q-a1b2", "a.md", "pending", "") + &record("q-c3d4", "b.md", "done", r#", "x": 1"#),
    );
    assert_eq!(
        p.run(["query", "inbox"]).ok().json(),
        json!([
            {"id": "q-a1b2", "spec": "a.md", "status": "pending", "added_at": "2025-01-20T08:30:00Z"},
            {"id": "q-c3d4", "spec": "b.md", "status": "done", "added_at": "2025-01-20T08:30:00Z"},
        ])
    );
}

#[test]
fn json_output_is_data_alone() {
    let p = with_specs(&["a.md"]);
    let queued = p.run(["inbox", "add", "a.md", "--json"]).ok().json();
    assert_eq!(queued["spec"], "a.md");
    assert_eq!(p.run(["inbox", "--json"]).ok().json()[0]["id"], queued["id"]);
    let id = queued["id"].as_str().unwrap();
    assert_eq!(p.run(["inbox", "remove", id, "--json"]).ok().json()["id"], id);
    assert_eq!(p.run(["inbox", "clear", "--json"]).ok().json(), json!({"cleared": 0}));
}

#[test]
fn a_damaged_inbox_stops_every_command_and_nothing_is_rewritten() {
    let damaged = record("q-a1b2", "a.md", "pending", "") + "{\"t\":\"inbox\", oops}\n";
    let p = with_specs(&["b.md"]).file("ralph/inbox.jsonl", &damaged);
    for args in
        [&["inbox"][..], &["inbox", "add", "b.md"], &["inbox", "clear"], &["query", "inbox"]]
    {
        p.run(args).fails(1).stdout("").stderr_has("ralph/inbox.jsonl:2");
    }
    assert_eq!(p.read("ralph/inbox.jsonl"), damaged);
}
