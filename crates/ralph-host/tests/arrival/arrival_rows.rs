//! The rows of a branch that nobody moved.

use std::os::unix::fs::PermissionsExt;

use ralph_core::cycle::{ArrivalTarget, ArrivalWait, JournalRecord};

use crate::stage::{Stage, edited, lines};

/// Staged, unstaged, untracked and ignored work on other files.
const BESIDE: [&str; 4] = ["b.txt", "c.txt", "new.txt", "x.ignored"];

fn work_beside(stage: &Stage) {
    stage.write("b.txt", "staged\n");
    stage.git(["add", "b.txt"]);
    stage.write("b.txt", "staged and edited\n");
    stage.write("c.txt", "edited\n");
    stage.write("new.txt", "untracked\n");
    stage.write("x.ignored", "ignored\n");
}

#[test]
fn commits_arrive_beside_all_kinds_of_work() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n")), ("sub/run.sh", Some("#!/bin/sh\n"))]);
    stage.land(&[("a.txt", Some("two\n"))]);
    work_beside(&stage);
    let before = stage.beside(&BESIDE);
    stage.arrives();
    assert_eq!(stage.beside(&BESIDE), before);
    assert_eq!(stage.project.read("a.txt"), "two\n");
    let mode = std::fs::metadata(stage.project.path("sub/run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
    assert_eq!(stage.status(), ["MM b.txt", " M c.txt", "?? new.txt", "!! x.ignored"]);
    let [JournalRecord::ArrivalIntent(intent), JournalRecord::Arrived(arrived)] =
        &stage.host.records[..]
    else {
        panic!("{:?}", stage.host.records);
    };
    assert_eq!(
        (intent.paths.as_slice(), arrived.commits),
        (&["a.txt".into(), "sub/run.sh".into()][..], 2)
    );
}

#[test]
fn nothing_is_touched_when_a_file_is_edited() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n")), ("d.txt", Some("d\n"))]);
    work_beside(&stage);
    stage.write("a.txt", "mine\n");
    let before = stage.picture();
    assert_eq!(stage.waits(), edited(&["a.txt"]));
    let after = stage.picture();
    assert_eq!(after.files, before.files);
    assert_eq!(stage.line.waiting().len(), 1);
    assert_eq!(stage.host.records.len(), 2, "an intent and its end: {:?}", stage.host.records);
    stage.write("a.txt", lines("a.txt"));
    stage.arrives();
}

#[test]
fn an_untracked_and_an_ignored_file_in_the_way_stay() {
    for path in ["d.txt", "d.ignored"] {
        let mut stage = Stage::new();
        stage.land(&[(path, Some("ralph's\n"))]);
        stage.write(path, "mine\n");
        let before = stage.picture();
        assert_eq!(stage.waits(), edited(&[path]));
        assert_eq!(stage.picture().files, before.files);
    }
}

#[test]
fn the_longest_prefix_arrives() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    let second = stage.land(&[("b.txt", Some("two\n"))]);
    stage.land(&[("sub/c.txt", Some("three\n"))]);
    stage.land(&[("a.txt", Some("four\n"))]);
    stage.write("sub/c.txt", "mine\n");
    assert_eq!(stage.waits(), edited(&["sub/c.txt"]));
    assert_eq!(stage.at("main"), second);
    assert_eq!(stage.line.waiting().len(), 2);
    assert_eq!(stage.project.read("a.txt"), "one\n");
    assert_eq!(stage.status(), ["?? sub/c.txt"]);
    std::fs::remove_file(stage.project.path("sub/c.txt")).unwrap();
    stage.arrives();
    assert_eq!(stage.status(), [] as [&str; 0]);
}

#[test]
fn settings_of_the_person_do_not_change_how_commits_arrive() {
    let mut stage = Stage::new();
    for (key, value) in [
        ("merge.autoStash", "true"),
        ("branch.main.mergeOptions", "-s ours --no-ff"),
        ("merge.ff", "false"),
        ("merge.verifySignatures", "true"),
        ("submodule.recurse", "true"),
    ] {
        stage.git(["config", key, value]);
    }
    for hook in [
        "pre-merge-commit",
        "post-merge",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        let path = format!(".git/hooks/{hook}");
        stage.write(&path, "#!/bin/sh\ntouch \"$(git rev-parse --git-dir)/hook-ran\"\n");
        stage.project.mode(&path, 0o755);
    }
    stage.land(&[("a.txt", Some("one\n"))]);
    let _ran = std::fs::remove_file(stage.project.path(".git/hook-ran"));
    stage.write("a.txt", "mine\n");
    assert_eq!(stage.waits(), edited(&["a.txt"]));
    assert_eq!(stage.project.read("a.txt"), "mine\n");
    stage.write("a.txt", lines("a.txt"));
    stage.write("c.txt", "mine\n");
    let outcome = stage.arrive();
    assert!(!stage.project.exists(".git/hook-ran"), "a hook ran");
    assert_eq!(outcome, ralph_host::git::ArrivalOutcome::Complete);
    assert_eq!((stage.at("main"), stage.project.read("a.txt")), (stage.tip(), "one\n".into()));
    assert_eq!(stage.find("refs/stash"), None);
}

#[test]
fn a_branch_that_home_left_moves_without_home() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.git(["switch", "-q", "-c", "topic"]);
    work_beside(&stage);
    let before = stage.picture();
    stage.arrives();
    let after = stage.picture();
    assert_eq!((after.files, after.index), (before.files, before.index));
    assert_eq!(stage.git(["symbolic-ref", "HEAD"]), "refs/heads/topic");
    assert!(!stage.project.exists(".git/FETCH_HEAD"));
}

#[test]
fn a_branch_of_another_worktree_waits() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.git(["switch", "-q", "-c", "topic"]);
    stage.git(["worktree", "add", "-q", ".git/other", "main"]);
    let wait = stage.waits();
    assert!(
        matches!(&wait, ArrivalWait::CheckedOutElsewhere { place } if place.ends_with("other"))
    );
    // A bisect uses the branch, although HEAD there is detached.
    let other = stage.project.path(".git/other");
    stage.git(["-C", other.to_str().unwrap(), "bisect", "start"]);
    stage.git(["-C", other.to_str().unwrap(), "checkout", "-q", "--detach"]);
    let wait = stage.waits();
    assert!(matches!(&wait, ArrivalWait::CheckedOutElsewhere { .. }), "{wait:?}");
}

#[test]
fn a_named_branch_is_made_and_moved_while_home_stays() {
    let mut stage = Stage::new();
    stage.start("later", ArrivalTarget::NamedBranch);
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.git(["checkout", "-q", "--detach"]);
    let before = stage.picture().files;
    stage.arrives();
    stage.land(&[("a.txt", Some("two\n"))]);
    stage.arrives();
    assert_eq!(stage.picture().files, before);
    stage.git(["branch", "-D", "later"]);
    stage.land(&[("a.txt", Some("three\n"))]);
    assert_eq!(stage.waits(), ArrivalWait::BranchGone);
}

#[test]
fn a_file_that_becomes_a_folder_arrives() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", None), ("a.txt/deep", Some("deep\n"))]);
    stage.arrives();
    assert_eq!(stage.project.read("a.txt/deep"), "deep\n");
}
