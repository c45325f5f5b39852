//! Backends that run git themselves.

use ralph_host::git::Operation;

use crate::stage::{Stage, changed};

#[test]
fn commits_of_the_backend_are_kept_and_judged_from_the_tree() {
    for dirty in [false, true] {
        let stage = Stage::new();
        if dirty {
            stage.write("mine.txt", "staged\n");
            stage.git(["add", "mine.txt"]);
        }
        let (head, staged) = (stage.head(), stage.staged());
        let cp = stage.checkpoint();
        stage.write("one.txt", "backend\n");
        stage.git(["commit", "-q", "-a", "-m", "theirs"]);
        let theirs = stage.head();
        stage.write("two.txt", "more\n");
        let changes = stage.collect(&cp);
        let moved = &changes.moved;
        assert_eq!(moved.commits.len(), 1);
        assert_eq!(moved.commits[0].as_str(), theirs);
        assert_eq!(stage.git(["rev-parse", &moved.kept[0]]), theirs);
        assert_eq!(stage.head(), head);
        assert_eq!(changed(&changes), ["one.txt", "two.txt"]);
        stage.land(&cp, &changes);
        assert_eq!(stage.committed(), ["M one.txt", "M two.txt"]);
        assert_eq!(stage.git(["rev-parse", "HEAD^"]), head);
        if dirty {
            let new = stage.staged();
            let line =
                |text: &str| text.lines().find(|l| l.ends_with("mine.txt")).map(str::to_owned);
            assert_eq!(line(&new), line(&staged));
            assert_eq!(stage.status(), "A  mine.txt");
        }
    }
}

#[test]
fn a_commit_that_was_reset_away_is_kept_too() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    stage.git(["commit", "-q", "-a", "-m", "theirs"]);
    let theirs = stage.head();
    stage.git(["reset", "-q", "--hard", "HEAD^"]);
    let changes = stage.collect(&cp);
    assert!(changes.is_empty());
    assert_eq!(changes.moved.head, None);
    assert_eq!(stage.git(["rev-parse", &changes.moved.kept[0]]), theirs);
}

#[test]
fn what_the_backend_staged_is_seen_all_the_same() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    stage.write("new.txt", "backend\n");
    stage.git(["add", "-A"]);
    stage.git(["rm", "-q", "two.txt"]);
    let changes = stage.collect(&cp);
    assert_eq!(changed(&changes), ["new.txt", "one.txt", "two.txt"]);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.status(), "");
}

#[test]
fn another_branch_and_a_stash_are_reported_and_left_alone() {
    let stage = Stage::new();
    let head = stage.head();
    let cp = stage.checkpoint();
    stage.write("two.txt", "stashed\n");
    stage.git(["stash", "-q"]);
    stage.git(["switch", "-q", "-c", "feature"]);
    stage.write("one.txt", "backend\n");
    stage.git(["commit", "-q", "-a", "-m", "theirs"]);
    let theirs = stage.head();
    let changes = stage.collect(&cp);
    assert_eq!(changes.moved.head.as_deref(), Some("refs/heads/feature"));
    assert!(changes.moved.stashed);
    assert_eq!(stage.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!((stage.head(), stage.git(["rev-parse", "feature"])), (head, theirs));
    assert_eq!(changed(&changes), ["one.txt"]);
    assert!(stage.git(["stash", "list"]).contains("stash@{0}"));
    stage.land(&cp, &changes);
    assert_eq!(stage.committed(), ["M one.txt"]);
}

#[test]
fn an_unfinished_merge_is_forgotten_and_its_files_are_judged() {
    let stage = Stage::new();
    stage.git(["switch", "-q", "-c", "other"]);
    stage.write("one.txt", "other\n");
    stage.git(["commit", "-q", "-a", "-m", "other"]);
    stage.git(["switch", "-q", "main"]);
    stage.write("one.txt", "main\n");
    stage.git(["commit", "-q", "-a", "-m", "main"]);
    let cp = stage.checkpoint();
    assert_ne!(stage.project.git(["merge", "-q", "other"]).code, 0);
    let changes = stage.collect(&cp);
    assert_eq!(changes.moved.unfinished, Some(Operation::Merge));
    assert_eq!(changed(&changes), ["one.txt"]);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.status(), "");
    assert_eq!(stage.project.read("one.txt"), "main\n");
    stage.repo().readiness().unwrap();
}

#[test]
fn a_first_commit_by_the_backend_is_taken_back() {
    let stage = Stage::unborn();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    stage.commit("theirs");
    let changes = stage.collect(&cp);
    assert_eq!(changes.moved.commits.len(), 1);
    assert_eq!(changed(&changes), ["one.txt"]);
    assert_ne!(stage.project.git(["rev-parse", "-q", "--verify", "HEAD"]).code, 0);
    stage.land(&cp, &changes);
    assert_eq!(stage.git(["log", "--format=%s"]), "ralph[1]: t-1 — done");
}

#[test]
fn a_stash_of_the_users_that_the_backend_takes_is_kept() {
    let stage = Stage::new();
    stage.write("one.txt", "stashed by the user\n");
    stage.git(["stash", "-q"]);
    let stash = stage.git(["rev-parse", "stash"]);
    let cp = stage.checkpoint();
    stage.git(["stash", "pop", "-q"]);
    let changes = stage.collect(&cp);
    assert!(changes.moved.stashed);
    stage.roll_back(&cp, &changes);
    let name = format!("refs/ralph/run1/stash/{}", cp.of.attempt);
    assert_eq!(stage.git(["rev-parse", &name]), stash);
}
