//! Where a repository can be, and what it can be in the middle of.

use ralph_host::git::{GitError, LedgerPaths, OnDirty, Operation, Repo, Target};

use crate::stage::{PLAN, Stage, changed, message};

#[test]
fn a_repository_without_a_commit_gets_its_first_one_or_stays_empty() {
    let stage = Stage::unborn();
    stage.write(PLAN, "{}\n");
    let cp = stage.checkpoint();
    assert!(cp.is_clean() && cp.head.is_none());
    assert_eq!(cp.branch.as_deref(), Some("refs/heads/main"));
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    let rolled = stage.roll_back(&cp, &changes);
    assert!(!stage.project.exists("one.txt") && stage.project.exists(PLAN));
    assert!(rolled.salvage.is_some());
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.land(&cp, &changes);
    assert_eq!(stage.git(["ls-tree", "-r", "--name-only", "HEAD"]), "one.txt\nralph/plan.jsonl");
}

#[test]
fn a_first_commit_leaves_the_users_files_out() {
    let stage = Stage::unborn();
    stage.write("mine.txt", "user\n");
    stage.write("staged.txt", "user\n");
    stage.git(["add", "staged.txt"]);
    let cp = stage.checkpoint();
    assert!(!cp.is_clean());
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    assert_eq!(changed(&changes), ["one.txt"]);
    stage.land(&cp, &changes);
    assert_eq!(stage.git(["ls-tree", "-r", "--name-only", "HEAD"]), "one.txt");
    assert_eq!(stage.status(), "A  staged.txt\n?? mine.txt");
}

#[test]
fn a_detached_head_is_landed_on() {
    let stage = Stage::new();
    stage.git(["checkout", "-q", "--detach"]);
    let main = stage.git(["rev-parse", "main"]);
    let cp = stage.checkpoint();
    assert_eq!(cp.branch, None);
    stage.write("one.txt", "backend\n");
    stage.git(["commit", "-q", "-a", "-m", "theirs"]);
    let changes = stage.collect(&cp);
    stage.land(&cp, &changes);
    assert_eq!(stage.git(["rev-parse", "HEAD^"]), main);
    assert_eq!(stage.git(["rev-parse", "main"]), main);
    assert_ne!(stage.project.git(["symbolic-ref", "-q", "HEAD"]).code, 0);
}

#[test]
fn a_linked_worktree_has_its_own_head_and_index() {
    let stage = Stage::new();
    stage.git(["worktree", "add", "-q", "-b", "side", "../side"]);
    let root = stage.project.root().parent().unwrap().join("side");
    let repo = stage.repo_at(&root, &stage.project.path(".git/worktrees/side"));
    std::fs::write(root.join("mine.txt"), "user\n").unwrap();
    for round in 0..2 {
        let cp = repo.checkpoint(&stage.attempt(), OnDirty::Snapshot, Target::Head).unwrap();
        assert_eq!(cp.branch.as_deref(), Some("refs/heads/side"));
        std::fs::write(root.join("one.txt"), format!("{round}\n")).unwrap();
        let changes = repo.collect(&cp).unwrap();
        assert_eq!(changed(&changes), ["one.txt"]);
        if round == 0 {
            repo.roll_back(&cp, Some(&changes)).unwrap();
        } else {
            repo.land(&cp, &changes, &message("side")).unwrap();
        }
    }
    assert_eq!(stage.git(["log", "--format=%s", "side"]), "side\nfirst");
    assert_eq!(stage.git(["log", "--format=%s", "main"]), "first");
    assert_eq!(stage.status(), "");
}

#[test]
fn a_project_in_a_folder_of_the_repository_has_its_ledger_there() {
    let stage = Stage::new();
    stage.write("part/ralph/plan.jsonl", "{}\n");
    stage.write("part/a.txt", "a\n");
    stage.commit("a part");
    let root = stage.project.path("part");
    let repo = stage.repo_at(&root, &stage.project.path(".git"));
    let cp = repo.checkpoint(&stage.attempt(), OnDirty::Snapshot, Target::Head).unwrap();
    stage.write("part/ralph/plan.jsonl", "{\"x\":1}\n");
    stage.write("part/a.txt", "b\n");
    stage.write("one.txt", "outside of the part\n");
    let changes = repo.collect(&cp).unwrap();
    assert_eq!(changed(&changes), ["one.txt", "part/a.txt"]);
    repo.roll_back(&cp, Some(&changes)).unwrap();
    assert_eq!(stage.project.read("part/ralph/plan.jsonl"), "{\"x\":1}\n");
    assert_eq!(stage.project.read("part/a.txt"), "a\n");
}

#[test]
fn packed_refs_and_other_ref_stores_are_read() {
    let stage = Stage::new();
    stage.git(["pack-refs", "--all"]);
    let cp = stage.checkpoint();
    assert_eq!(cp.head.unwrap().as_str(), stage.head());
    if stage.project.git(["init", "-q", "-b", "main", "--ref-format=reftable", "../tables"]).code
        != 0
    {
        return;
    }
    let root = stage.project.root().parent().unwrap().join("tables");
    let repo = stage.repo_at(&root, &root.join(".git"));
    for (name, value) in [("user.name", "n"), ("user.email", "n@n")] {
        stage.git(["-C", "../tables", "config", name, value]);
    }
    for round in 0..2 {
        let cp = repo.checkpoint(&stage.attempt(), OnDirty::Snapshot, Target::Head).unwrap();
        assert_eq!(cp.branch.as_deref(), Some("refs/heads/main"));
        assert_eq!(cp.head.is_some(), round == 1);
        std::fs::write(root.join("one.txt"), format!("{round}\n")).unwrap();
        let changes = repo.collect(&cp).unwrap();
        repo.land(&cp, &changes, &message("tables")).unwrap();
    }
}

#[test]
fn a_place_without_a_working_tree_is_refused() {
    let stage = Stage::new();
    let outside = stage.project.root().parent().unwrap();
    let ledger = LedgerPaths::with_plan(PLAN);
    let error = Repo::open(outside, &stage.project.path(".git"), &stage.runner, &ledger);
    assert!(matches!(error, Err(GitError::NoWorkingTree(_))));
}

#[test]
fn something_unfinished_is_refused_with_what_to_do() {
    let stage = Stage::new();
    stage.repo().readiness().unwrap();
    stage.git(["switch", "-q", "-c", "other"]);
    stage.write("one.txt", "other\n");
    stage.git(["commit", "-q", "-a", "-m", "other"]);
    stage.git(["switch", "-q", "main"]);
    stage.write("one.txt", "main\n");
    stage.git(["commit", "-q", "-a", "-m", "main"]);
    for (start, end, operation) in [
        ("merge -q other", "merge --abort", Operation::Merge),
        ("rebase -q other", "rebase --abort", Operation::Rebase),
        ("cherry-pick other", "cherry-pick --abort", Operation::CherryPick),
        ("bisect start", "bisect reset", Operation::Bisect),
    ] {
        stage.project.shell(&format!("git {start}"));
        for error in [
            stage.repo().readiness().unwrap_err(),
            stage.try_checkpoint(OnDirty::Snapshot).unwrap_err(),
        ] {
            assert!(matches!(error, GitError::InProgress(found) if found == operation), "{error}");
            assert!(error.hint().unwrap().contains(end), "{:?}", error.hint());
        }
        assert_eq!(stage.project.shell(&format!("git {end}")).code, 0);
    }
    stage.project.shell("git merge -q other; rm .git/MERGE_HEAD");
    assert!(matches!(stage.repo().readiness(), Err(GitError::Unmerged(_))));
}
