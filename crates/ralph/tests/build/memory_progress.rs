//! The progress log: what landed, for people and for programs.

use serde_json::json;

use crate::memory::{hands_over, has};
use crate::plans::{Format, task, value};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule};

const MARKDOWN: &str = ".ralph/progress-log.md";
const JSON: &str = ".ralph/progress-log.json";

fn entries(repo: &Repo) -> Vec<serde_json::Value> {
    value(&repo.read(JSON))["entries"].as_array().unwrap().clone()
}

#[test]
fn what_landed_is_in_both_logs_and_in_the_commit_in_every_format() {
    for format in Format::ALL {
        let repo = repo_with(format, &[task("t-aaa1"), task("t-aaa2")]);
        let fields = "summary = \"Did it\", architectural_notes = [\"One cache\"], \
            deviations = [{ planned = \"two\", actual = \"one\", reason = \"enough\" }]";
        repo.script(&rule("", &hands_over(fields)));
        repo.build([]).ok();
        let log = value(&repo.read(JSON));
        let summary = &log["plan_summary"];
        assert_eq!(
            *summary,
            json!({ "total_tasks": 2, "completed": 2, "pending": 0, "failed": 0, "skipped": 0 }),
            "{format:?}"
        );
        assert_eq!(log["generated_at"], "2025-01-20T10:30:00Z");
        let entries = entries(&repo);
        assert_eq!(entries.len(), 2, "{format:?}");
        for (entry, iteration) in entries.iter().zip(1..) {
            assert_eq!(entry["iteration"], iteration);
            assert_eq!(entry["summary"], "Did it");
            assert_eq!(entry["design_decisions"], json!(["One cache"]));
            assert_eq!(entry["fully_complete"], true);
        }
        let text = repo.read(MARKDOWN);
        has(&text, &["| Task | Status | Summary |", "One cache", "Did it", "planned", "work/"]);
        assert_eq!(text.matches("\n### ").count(), 2, "{format:?}: {text}");
        assert_eq!(repo.status(), "", "{format:?}");
    }
}

#[test]
fn sections_without_anything_in_them_are_left_out() {
    let repo = repo(&[task("t-aaa1")]);
    repo.build([]).ok();
    let text = repo.read(MARKDOWN).to_lowercase();
    for empty in ["deviations", "bugs", "constraints", "tests added", "design decisions"] {
        assert!(!text.contains(empty), "{empty} in\n{text}");
    }
}

#[test]
fn an_iteration_is_logged_once_however_often_ralph_starts() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
    for _ in 0..3 {
        repo.build(["--once"]).ok();
    }
    repo.build([]).ok();
    let keys: Vec<_> = entries(&repo).iter().map(|e| e["iteration"].clone()).collect();
    assert_eq!(keys, [1, 2, 3]);
    assert_eq!(repo.read(MARKDOWN).matches("\n### ").count(), 3);
}

#[test]
fn a_log_that_is_gone_is_begun_again_and_one_that_is_no_json_is_left_alone() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.build(["--once"]).ok();
    repo.write(JSON, "{ mine");
    let run = repo.build([]).ok();
    crate::repo::says(&run, ".ralph/progress-log.json is left alone");
    assert_eq!(repo.read(JSON), "{ mine");
    has(&repo.read(MARKDOWN), &["t-aaa1", "t-aaa2"]);
}

#[test]
fn what_did_not_land_is_not_logged_and_the_table_says_how_the_tasks_stand() {
    let repo = repo_with(Format::Deluxe, &[task("T-001"), task("T-002")]);
    repo.set("max_retries = 0");
    repo.script(&(rule("task = \"T-001\"", BROKEN) + &rule("", GOOD)));
    repo.build([]).fails(3);
    let tasks: Vec<_> = entries(&repo).iter().map(|e| e["task_id"].clone()).collect();
    assert_eq!(tasks, ["T-002"]);
    let log = value(&repo.read(JSON));
    assert_eq!(log["plan_summary"]["failed"], 1, "{log:#}");
    let text = repo.read(MARKDOWN);
    assert!(text.lines().any(|l| l.contains("T-001") && l.contains("failed")), "{text}");
}

#[test]
fn a_landing_that_a_hook_refused_is_not_logged() {
    let repo = repo(&[task("t-aaa1")]);
    let hook = repo.git_dir().join("hooks/pre-commit");
    repo.shell(&format!(
        "mkdir -p {d} && printf '#!/bin/sh\\nif [ ! -e \"$HOME/fine\" ]; then echo not like this; exit 1; fi\\n' > {h} && chmod +x {h}",
        d = hook.parent().unwrap().display(),
        h = hook.display()
    ))
    .ok();
    repo.build(["--once"]).fails(3);
    assert!(!repo.exists(JSON) && !repo.exists(MARKDOWN));
    repo.shell("touch \"$HOME/fine\"").ok();
    repo.build([]).ok();
    let all = entries(&repo);
    assert_eq!((all.len(), &all[0]["fully_complete"]), (1, &json!(true)), "{all:?}");
    assert_eq!(value(&repo.read(JSON))["plan_summary"]["completed"], 1);
}

#[test]
fn a_commit_that_cannot_be_signed_ends_the_run_and_the_next_one_lands_it_unpaid() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let signer = repo.home().join("signer");
    repo.write(
        &signer,
        "#!/bin/sh\ncat >/dev/null\nif [ ! -e \"$HOME/fine\" ]; then touch \"$HOME/fine\"; echo no key >&2; exit 1; fi\n\
         echo '[GNUPG:] SIG_CREATED ' >&2\necho signature\n",
    );
    repo.mode(&signer, 0o755);
    repo.git(["config", "commit.gpgsign", "true"]).ok();
    repo.git(["config", "gpg.program", signer.to_str().unwrap()]).ok();
    let run = repo.build([]).fails(1);
    run.stderr_has("git could not sign a commit: error: gpg failed to sign").stderr_has("no key");
    repo.build([]).ok();
    assert_eq!(repo.runs(), ["t-aaa1", "t-aaa2"], "nothing is paid for twice");
    let all = entries(&repo);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!(all[0]["fully_complete"], true, "{all:?}");
}

#[test]
fn a_finished_spec_of_implementation_json_is_in_progress_md() {
    let repo = repo_with(Format::Implementation, &[task("work-1"), task("work-2")]);
    repo.build([]).ok();
    has(&repo.read("PROGRESS.md"), &["## 2025-01-20 The Work", "work-1", "work-2", "test"]);
    assert_eq!(entries(&repo).len(), 2, "and in ralph's own log");
}

#[test]
fn killed_before_the_log_was_written_the_next_start_writes_it() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
    let slow = r#"{ run = "touch \"$HOME/running\"" }, { hang = true }"#;
    repo.script(&(rule("task = \"t-aaa3\"", slow) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    crate::repo::until(|| repo.home().join("running").exists());
    run.kill();
    repo.script(&rule("", GOOD));
    repo.build([]).ok();
    let tasks: Vec<_> = entries(&repo).iter().map(|e| e["task_id"].clone()).collect();
    assert_eq!(tasks, ["t-aaa1", "t-aaa2", "t-aaa3"]);
}
