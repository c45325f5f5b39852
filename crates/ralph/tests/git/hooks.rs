//! Hooks and signing: the repository's own rules for commits.

use ralph_host::git::LandError;

use crate::stage::Stage;

fn hook(stage: &Stage, name: &str, script: &str) {
    let path = format!(".git/hooks/{name}");
    stage.write(&path, format!("#!/bin/sh\n{script}\n"));
    stage.project.mode(&path, 0o755);
}

#[track_caller]
fn refused_by(stage: &Stage, words: &str) {
    let picture = stage.picture();
    let head = stage.head();
    for dirty in [false, true] {
        if dirty {
            stage.write("mine.txt", "the user's\n");
        }
        let cp = stage.checkpoint();
        assert_eq!(cp.is_clean(), !dirty);
        stage.write("one.txt", "backend\n");
        stage.write("new.txt", "backend\n");
        let changes = stage.collect(&cp);
        match stage.try_land(&cp, &changes) {
            Err(LandError::Hook { output }) => assert!(output.contains(words), "{output}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(stage.project.read("one.txt"), "backend\n", "the attempt is still there");
        assert_eq!(stage.head(), head);
        stage.roll_back(&cp, &changes);
        if dirty {
            assert_eq!(stage.status(), "?? mine.txt");
            stage.remove("mine.txt");
        }
        assert_eq!(stage.picture(), picture);
        assert_eq!(stage.status(), "");
    }
}

#[test]
fn a_failing_pre_commit_hook_refuses_with_its_output() {
    let stage = Stage::new();
    hook(&stage, "pre-commit", "echo 'line too long' >&2; exit 1");
    refused_by(&stage, "line too long");
}

#[test]
fn a_failing_commit_msg_hook_refuses_with_its_output() {
    let stage = Stage::new();
    hook(&stage, "commit-msg", "grep -q JIRA \"$1\" || { echo 'no ticket'; exit 1; }");
    refused_by(&stage, "no ticket");
}

#[test]
fn a_hook_elsewhere_counts_too() {
    let stage = Stage::new();
    stage.git(["config", "core.hooksPath", ".git/myhooks"]);
    stage.write(".git/myhooks/pre-commit", "#!/bin/sh\necho elsewhere >&2\nexit 3\n");
    stage.project.mode(".git/myhooks/pre-commit", 0o755);
    refused_by(&stage, "elsewhere");
}

#[test]
fn a_signature_that_cannot_be_made_refuses_with_what_was_said() {
    let stage = Stage::new();
    stage.git(["config", "commit.gpgsign", "true"]);
    stage.git(["config", "gpg.program", "false"]);
    refused_by(&stage, "gpg");
}

#[test]
fn a_hook_that_passes_is_heard_and_may_leave_processes_behind() {
    let stage = Stage::new();
    hook(&stage, "pre-commit", "echo 'all fine' >&2; sleep 300 >/dev/null 2>&1 &");
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    let landed = stage.land(&cp, &changes);
    assert!(landed.hook_output.contains("all fine"), "{}", landed.hook_output);
    let left = ralph_host::proc::mark::survivors(stage.runner.run_id());
    assert_eq!(left, [], "nobody outlives the call");
}

#[test]
fn what_a_hook_rewrote_before_it_failed_is_undone_and_kept() {
    let stage = Stage::new();
    hook(&stage, "pre-commit", "echo formatted > one.txt; echo junk > junk.txt; exit 1");
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    assert!(stage.try_land(&cp, &changes).is_err());
    let rolled = stage.roll_back(&cp, &changes);
    assert_eq!(stage.status(), "");
    let salvage = rolled.salvage.unwrap().name;
    assert_eq!(stage.git(["show", &format!("{salvage}:junk.txt")]), "junk");
}

#[test]
fn a_new_file_of_the_ledger_stays_when_its_commit_is_refused() {
    let stage = Stage::new();
    hook(&stage, "pre-commit", "exit 1");
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.write(".ralph/knowledge-index.md", "# Knowledge Index\n");
    assert!(stage.try_land(&cp, &changes).is_err());
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.project.read(".ralph/knowledge-index.md"), "# Knowledge Index\n");
    assert_eq!(stage.status(), "?? .ralph/knowledge-index.md");
}

#[test]
fn a_commit_without_a_name_says_how_to_set_one() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.git(["config", "--unset", "user.email"]);
    stage.git(["config", "user.useConfigOnly", "true"]);
    stage.git(["config", "user.name", ""]);
    // A machine with a name in its own configuration commits all the same.
    if let Err(error) = stage.try_land(&cp, &changes) {
        assert!(error.hint().unwrap().contains("git config user.name"), "{error}");
    }
}
