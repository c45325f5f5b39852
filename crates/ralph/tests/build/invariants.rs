//! The invariants of Ralph Deluxe that concern the build loop, by their numbers there.

use serde_json::json;

use crate::plans::{Format, after, task, value};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule, says};

/// A claim whose handoff has these fields.
fn handoff(fields: &str) -> String {
    format!(
        r#"{{ write = "work/{{task}}.txt", text = "{{task}}\n" }}, {{ claim = "done", form = "json", handoff = {{ {fields} }} }}"#
    )
}

#[test]
fn invariant_1_after_every_iteration_the_tree_is_committed_or_as_it_was() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
    repo.script(
        &(rule("attempt = 1", BROKEN)
            + &rule("attempt = 2", r#"{ fault = "crash" }"#)
            + &rule("", GOOD)),
    );
    let tree = |repo: &Repo| repo.ask_git(["ls-tree", "-r", "HEAD", "--", "src", "work", "user"]);
    for iteration in 1..=9 {
        let (head, before) = (repo.head(), tree(&repo));
        let run = repo.build(["--once"]);
        let status = repo.ask_git(["status", "--porcelain", "-uall", "--", "src", "work", "user"]);
        assert_eq!(status, "", "iteration {iteration} left something behind");
        match run.code {
            0 => {
                assert_ne!(repo.head(), head);
                assert_ne!(tree(&repo), before);
            }
            3 => assert_eq!(tree(&repo), before, "a failed iteration changed the tree"),
            code => panic!("exit code {code}"),
        }
    }
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2", "t-aaa3"]);
}

#[test]
fn invariant_2_what_is_below_dot_ralph_is_never_cleaned_by_a_rollback() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write(".ralph/notes.txt", "mine, untracked\n");
    repo.write(".ralph/context/mine.md", "mine, ignored\n");
    let more = r#"{ write = ".ralph/logs/of-the-backend.txt", text = "x\n" }, "#;
    repo.script(&rule("", &format!("{more}{BROKEN}")));
    repo.build(["--once"]).fails(3);
    assert_eq!(repo.read(".ralph/notes.txt"), "mine, untracked\n");
    assert_eq!(repo.read(".ralph/context/mine.md"), "mine, ignored\n");
    for path in
        [".ralph/state.json", ".ralph/logs/events.jsonl", ".ralph/logs/validation/iter-1.json"]
    {
        assert!(repo.exists(path), "{path} is gone");
    }
    assert!(!repo.exists("work/t-aaa1.txt"));
}

fn amended(amendments: serde_json::Value) -> Repo {
    let repo = repo_with(Format::Deluxe, &[task("T-001"), task("T-002"), task("T-003")]);
    repo.build(["--once"]).ok();
    let toml: Vec<String> = amendments.as_array().unwrap().iter().map(inline).collect();
    repo.script(&rule("", &handoff(&format!("plan_amendments = [{}]", toml.join(", ")))));
    repo.build(["--once"]).ok();
    repo
}

/// A JSON value as an inline table of TOML.
fn inline(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| format!("{key} = {}", inline(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn add(id: &str) -> serde_json::Value {
    let task = json!({ "id": id, "title": "More", "description": "More of it" });
    json!({ "action": "add", "task": task, "reason": "it is needed" })
}

#[test]
fn invariant_8_up_to_three_amendments_are_taken_with_a_backup_and_a_record() {
    let repo = amended(
        json!([add("T-010"), add("T-011"), { "action": "remove", "task_id": "T-003", "reason": "not needed" }]),
    );
    let plan = repo.plan_json();
    let ids: Vec<_> = plan["tasks"].as_array().unwrap().iter().map(|t| t["id"].clone()).collect();
    assert!(ids.contains(&json!("T-010")) && ids.contains(&json!("T-011")), "{ids:?}");
    assert!(!ids.contains(&json!("T-003")), "{ids:?}");
    assert!(repo.exists("plan.json.bak"));
    assert!(repo.read(".ralph/logs/amendments.log").contains("T-010"));
}

#[test]
fn invariant_8_more_than_three_amendments_are_refused_as_a_whole() {
    let repo = amended(json!([add("T-010"), add("T-011"), add("T-012"), add("T-013")]));
    assert_eq!(repo.plan_json()["tasks"].as_array().unwrap().len(), 3);
    assert!(repo.is_done("T-002"), "the work itself counts");
}

#[test]
fn invariant_8_no_amendment_changes_the_state_of_the_current_task_or_removes_done_work() {
    let repo = amended(json!([
        { "action": "remove", "task_id": "T-001", "reason": "done" },
        { "action": "modify", "task_id": "T-002", "changes": { "status": "skipped" }, "reason": "no" },
    ]));
    assert!(repo.is_done("T-001") && repo.is_done("T-002"));
}

#[test]
fn invariant_9_a_task_runs_only_after_everything_it_depends_on() {
    let tasks = [after("t-aaa1", &["t-aaa3"]), after("t-aaa2", &["t-aaa1"]), task("t-aaa3")];
    let repo = repo(&tasks);
    repo.build([]).ok();
    assert_eq!(repo.runs(), ["t-aaa3", "t-aaa1", "t-aaa2"]);
}

#[test]
fn invariant_9_a_task_whose_dependency_failed_is_named_and_not_waited_for() {
    for format in [Format::Jsonl, Format::Deluxe, Format::Implementation] {
        let (one, two, three) = ("work-1", "work-2", "work-3");
        let ids = if format == Format::Jsonl {
            ["t-aaa1", "t-aaa2", "t-aaa3"]
        } else {
            [one, two, three]
        };
        let deps: &'static [&'static str] =
            if format == Format::Jsonl { &["t-aaa1"] } else { &["work-1"] };
        let repo = repo_with(format, &[task(ids[0]), after(ids[1], deps), task(ids[2])]);
        repo.set("max_retries = 0");
        repo.script(&(rule(&format!("task = \"{}\"", ids[0]), BROKEN) + &rule("", GOOD)));
        let run = repo.build([]).fails(3);
        assert_eq!(repo.runs(), [ids[0], ids[2]], "{format:?}");
        says(&run, ids[1]);
        says(&run, ids[0]);
        // What the plan says about a part of a spec is in the ledger of the open run alone.
        let done = |id| format.says_done(&repo.plan_of_run(), id);
        assert!(!done(ids[1]) && done(ids[2]), "{format:?}");
        assert_eq!(repo.state()["status"], "blocked");
    }
}

#[test]
fn invariant_10_a_handoff_with_too_few_words_is_not_kept_as_it_is() {
    let repo = repo_with(Format::Deluxe, &[task("T-001")]);
    repo.script(&rule("", &handoff("freeform = \"short\"")));
    repo.build(["--once"]);
    for name in repo.handoffs() {
        let handoff = value(&repo.read(format!(".ralph/handoffs/{name}")));
        let words = handoff["freeform"].as_str().unwrap().chars().count();
        assert!(words >= 50, "{name} has {words} characters");
    }
}

#[test]
fn invariant_11_the_failure_context_stays_until_an_answer_can_be_read() {
    let repo = repo_with(Format::Deluxe, &[task("T-001"), task("T-002")]);
    let file = ".ralph/context/failure-context.md";
    repo.set("max_retries = 5");
    let crash = r#"{ fault = "crash" }"#;
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("attempt = 2", crash) + &rule("", GOOD)));
    repo.build(["--once"]).fails(3);
    assert!(repo.read(file).contains("BROKEN"));
    repo.build(["--once"]).fails(3);
    assert!(repo.exists(file), "a crash does not use it up");
    repo.build(["--once"]).ok();
    assert!(repo.prompt(3).contains("## Failure Context"));
    assert!(!repo.exists(file), "a good answer does");
    repo.build(["--once"]);
    assert!(!repo.prompt(4).contains("## Failure Context"));
}

#[test]
fn invariant_14_whoever_reads_beside_a_loop_sees_whole_files() {
    let tasks = ["T-001", "T-002", "T-003", "T-004", "T-005", "T-006"].map(task);
    let repo = repo_with(Format::Deluxe, &tasks);
    let run = repo.spawn(["build"]);
    let mut reads = 0;
    while reads < 100_000 {
        // Git writes home's file while commits arrive; a reader beside the loop asks ralph.
        let status = repo.run(["status", "--json"]).ok().json();
        if repo.exists(".ralph/state.json") {
            repo.state();
        }
        reads += 1;
        if status["tally"]["accepted"] == tasks.len() {
            break;
        }
    }
    run.wait().ok();
    assert!(reads > 5);
}
