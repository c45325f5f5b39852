//! What no agent may write: it is left out or put back, and told. And the notes of the operator, which
//! every agent gets once.

use std::fs;

use serde_json::{Value, json};

use crate::memory::{
    JSON, MARKDOWN, NEW_JSON, NEW_MD, OLD_JSON, OLD_MD, has, prepares, puts_nothing_away, write,
};
use crate::plans::{Format, task, value};
use crate::repo::{BROKEN, GOOD, Repo, repo, rule, says, touch};

const LOG_MD: &str = ".ralph/progress-log.md";
const LOG_JSON: &str = ".ralph/progress-log.json";

/// One task is done, and an index is there.
fn one_done() -> Repo {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
    repo.knows(OLD_MD, OLD_JSON);
    repo.build(["--once"]).ok();
    repo
}

const LAST: &str = ".ralph/handoffs/handoff-001.json";

/// Steps that write over these files.
fn writes_over<'f>(files: impl IntoIterator<Item = &'f str>) -> String {
    files.into_iter().map(|file| write(file, "MINE\n") + ", ").collect()
}

#[test]
fn what_a_backend_writes_into_the_ledger_of_its_lane_is_left_out_and_told() {
    let repo = one_done();
    let files = [MARKDOWN, JSON, LOG_JSON, LOG_MD, LAST];
    let before: Vec<Vec<u8>> = files.iter().map(|file| repo.read_bytes(file)).collect();
    for outcome in [BROKEN, GOOD] {
        repo.script(&rule("", &format!("{}{outcome}", writes_over(files))));
        let run = repo.build(["--once"]);
        says(&run, "the backend may not write it; its changes are left out");
        for (file, before) in files.iter().zip(&before).take(3 - usize::from(outcome == GOOD)) {
            assert!(repo.read_bytes(file) == *before, "{file} is not as it was");
        }
        for file in files {
            assert!(!repo.read(file).contains("MINE"), "{file}");
        }
    }
    assert_eq!(repo.events("ledger_restored").len(), 2);
    let message = repo.events("ledger_restored")[0]["message"].as_str().unwrap().to_owned();
    has(&message, &files);
    assert_eq!(repo.status(), "");
}

#[test]
fn what_is_written_into_the_users_ledger_while_a_backend_runs_is_put_back_told_and_kept_beside() {
    let repo = one_done();
    let files = [MARKDOWN, JSON, LOG_JSON, LOG_MD, LAST];
    let before: Vec<Vec<u8>> = files.iter().map(|file| repo.read_bytes(file)).collect();
    let places: Vec<String> =
        files.iter().map(|file| repo.path(file).display().to_string()).collect();
    let edits = writes_over(places.iter().map(String::as_str));
    repo.script(&rule("", &format!("{edits}{BROKEN}")));
    let run = repo.build(["--once"]).fails(3);
    says(&run, "the backend may not write it; its changes are left out");
    for (file, before) in files.iter().zip(&before) {
        assert!(repo.read_bytes(file) == *before, "{file} is not as it was");
    }
    let told: Vec<String> = repo.events("ledger_restored").iter().map(Value::to_string).collect();
    has(&told.join("\n"), &files);
    for kept in ["knowledge-index.md", "progress-log.json", "handoff-001.json"] {
        assert_eq!(repo.read(format!(".ralph/context/{kept}.of-iteration-2")), "MINE\n");
    }
    assert_eq!(repo.status(), "");
}

#[test]
fn what_was_written_into_the_users_ledger_before_ralph_was_killed_is_put_back_too() {
    let repo = one_done();
    let files = [MARKDOWN, JSON, LOG_JSON, LOG_MD];
    let before: Vec<Vec<u8>> = files.iter().map(|file| repo.read_bytes(file)).collect();
    let places: Vec<String> =
        files.iter().map(|file| repo.path(file).display().to_string()).collect();
    let edits = writes_over(places.iter().map(String::as_str));
    repo.script(&rule("", &format!("{edits}{}, {{ hang = true }}", touch("running"))));
    let run = repo.spawn(["build"]);
    repo.until_home_has("running");
    run.kill();
    assert_eq!(repo.read(MARKDOWN), "MINE\n", "nobody has looked after it yet");

    repo.script(&rule("", r#"{ run = "cp -r .ralph \"$HOME/found\"" }"#));
    let run = repo.build(["--once"]);
    says(&run, "the backend may not write it; its changes are left out");
    for (file, before) in files.iter().zip(&before) {
        let found = repo.home().join("found").join(file.trim_start_matches(".ralph/"));
        assert!(fs::read(found).unwrap() == *before, "{file} is not as it was");
        assert!(repo.read_bytes(file) == *before, "{file} is not as it was");
    }
    for kept in ["knowledge-index.md", "progress-log.json"] {
        assert_eq!(repo.read(format!(".ralph/context/{kept}.of-iteration-2")), "MINE\n");
    }
}

#[test]
fn nothing_stays_of_what_a_backend_wrote_into_its_lane_before_ralph_was_killed() {
    let repo = one_done();
    let files = [MARKDOWN, JSON, LOG_JSON, LAST];
    let made_up = ".ralph/handoffs/handoff-002.json";
    let edits = writes_over(files.into_iter().chain([made_up]));
    repo.script(&rule("", &format!("{edits}{}, {{ hang = true }}", touch("running"))));
    let run = repo.spawn(["build"]);
    repo.until_home_has("running");
    run.kill();
    repo.script(&rule("", &format!(r#"{{ run = "cp -r .ralph \"$HOME/found\"" }}, {GOOD}"#)));
    repo.build(["--once"]).ok();
    for file in files {
        let found = repo.home().join("found").join(file.trim_start_matches(".ralph/"));
        assert!(!fs::read_to_string(found).unwrap().contains("MINE"), "{file}");
        assert!(!repo.read(file).contains("MINE"), "{file}");
    }
    assert!(!repo.home().join("found/handoffs/handoff-002.json").exists());
}

#[test]
fn a_handoff_or_an_index_that_a_backend_makes_up_is_taken_away() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    let edits =
        [write(".ralph/handoffs/handoff-001.json", "{}"), write(MARKDOWN, "MINE\n")].join(", ");
    repo.script(&(rule("task = \"t-aaa1\"", &format!("{edits}, {GOOD}")) + &rule("", GOOD)));
    repo.build([]).ok();
    assert!(!repo.exists(MARKDOWN), "there was none");
    assert_eq!(
        repo.handoff(1)["task_completed"]["task_id"],
        "t-aaa1",
        "the one that it handed over"
    );
    assert_eq!(repo.handoffs(), ["handoff-001.json", "handoff-002.json"]);
}

#[test]
fn a_ledger_that_was_deleted_or_became_folders_is_put_back() {
    for steps in [
        r#"{ run = "rm -rf .ralph" }"#.to_owned(),
        format!(
            r#"{{ run = "for f in {MARKDOWN} {JSON} {LOG_JSON}; do rm -f $f; mkdir -p $f/theirs; done" }}"#
        ),
        format!(r#"{{ run = "ln -sf /etc/hostname {MARKDOWN}; rm {LOG_JSON}" }}"#),
    ] {
        let repo = one_done();
        repo.script(&rule("", &format!("{steps}, {GOOD}")));
        repo.build(["--once"]).ok();
        repo.index_is(OLD_MD, OLD_JSON);
        let meta = fs::symlink_metadata(repo.path(MARKDOWN)).unwrap();
        assert!(meta.is_file(), "{steps}");
        let log = value(&repo.read(LOG_JSON));
        assert_eq!(log["entries"].as_array().map(Vec::len), Some(2), "{steps}: {log:#}");
        assert!(repo.exists(".ralph/handoffs/handoff-001.json"), "{steps}");
        assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"], "{steps}");
        assert_eq!(repo.status(), "", "{steps}");
    }
}

#[test]
fn what_a_person_changes_between_two_attempts_stays() {
    let repo = one_done();
    repo.write(MARKDOWN, NEW_MD);
    repo.write(JSON, NEW_JSON);
    repo.build([]).ok();
    repo.index_is(NEW_MD, NEW_JSON);
    assert!(repo.events("ledger_restored").is_empty());
    assert_eq!(repo.status(), "", "and rides in the next commit");
}

/// Write a note into the journal, as a command of the operator does.
fn note(repo: &Repo, id: &str, text: &str) {
    let journal = repo.git_dir().join("ralph/journal.jsonl");
    let record = json!({
        "at": "2025-01-20T10:30:00Z", "record": "command", "id": id, "command": "inject-note",
        "argument": text,
    });
    fs::create_dir_all(journal.parent().unwrap()).unwrap();
    let before = fs::read_to_string(&journal).unwrap_or_default();
    fs::write(&journal, format!("{before}{record}\n")).unwrap();
}

#[test]
fn a_note_of_the_operator_reaches_the_next_prompt_once_in_every_mode() {
    for mode in ["handoff-only", "handoff-plus-index", "agent-orchestrated"] {
        let repo =
            crate::memory::in_mode(mode, Format::Jsonl, &[task("t-aaa1"), task("t-aaa2")], "");
        repo.script(&(prepares() + &puts_nothing_away() + &rule("", GOOD)));
        note(&repo, "c-1", "USE THE CACHE");
        repo.build([]).ok();
        has(&repo.prompt(1), &["### Notes From The Operator", "USE THE CACHE"]);
        assert!(!repo.prompt(2).contains("USE THE CACHE"), "{mode}: {}", repo.prompt(2));
        if mode == "agent-orchestrated" {
            let manifests = repo.asked("prepare");
            has(&manifests[0], &["- note from the operator: USE THE CACHE"]);
            assert!(!manifests[1].contains("USE THE CACHE"));
        }
    }
}

#[test]
fn a_note_whose_attempt_was_cut_short_is_given_again() {
    let repo = repo(&[task("t-aaa1")]);
    note(&repo, "c-1", "USE THE CACHE");
    repo.script(&rule("", r#"{ run = "touch \"$HOME/running\"" }, { hang = true }"#));
    let run = repo.spawn(["build"]);
    crate::repo::until(|| repo.home().join("running").exists());
    run.kill();
    repo.script(&rule("", GOOD));
    repo.build([]).ok();
    has(&repo.prompt(2), &["USE THE CACHE"]);
}
