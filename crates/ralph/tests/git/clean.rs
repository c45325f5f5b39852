//! The way of the clean tree.

use ralph_host::git::{AttemptRef, ChangeKind, GitError, LandError, OnDirty, Way};

use crate::stage::{PLAN, Stage, changed, lines, names};

#[test]
fn a_clean_tree_lands_with_three_calls_of_git() {
    let stage = Stage::new();
    stage.write(PLAN, "{\"changed\":\"by ralph\"}\n");
    let before = stage.runner.started();
    let cp = stage.checkpoint();
    assert!(cp.is_clean());
    stage.write("one.txt", "other\n");
    stage.write("src/new.rs", "fn main() {}\n");
    stage.remove("two.txt");
    stage.write(".ralph/state.json", "{}");
    let changes = stage.collect(&cp);
    assert_eq!(changed(&changes), ["one.txt", "src/new.rs", "two.txt"]);
    assert_eq!(changes.paths[0].kind, ChangeKind::Written);
    assert_eq!(changes.paths[2].kind, ChangeKind::Deleted);
    assert_eq!(changes.tree, None);
    stage.write(PLAN, "{\"done\":true}\n");
    let landed = stage.land(&cp, &changes);
    assert_eq!(stage.runner.started() - before, 3, "git processes for a landed task");
    assert_eq!(landed.commit.as_str(), stage.head());
    assert_eq!((landed.way, landed.gated_tree), (Way::Clean, None));
    assert_eq!(stage.committed(), ["M one.txt", "M ralph/plan.jsonl", "A src/new.rs", "D two.txt"]);
    assert_eq!(stage.status(), "");
    let text = stage.git(["log", "-1", "--format=%B"]);
    assert!(text.starts_with("ralph[1]: t-1 — done\n\nRalph-Task: t-1\n"), "{text}");
    assert!(text.ends_with(&format!("Ralph-Attempt: {}", cp.of.attempt)), "{text}");
}

#[test]
fn details_and_patch_say_more_when_asked() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "other\n");
    stage.write("new.sh", "#!/bin/sh\n");
    stage.project.mode("new.sh", 0o755);
    let changes = stage.collect(&cp);
    let details = stage.repo().details(&cp, &changes).unwrap();
    let short: Vec<_> =
        details.iter().map(|c| (c.path.to_string(), c.kind, c.new_mode.unwrap())).collect();
    assert_eq!(
        short,
        [
            ("new.sh".to_owned(), ChangeKind::Added, 0o100_755),
            ("one.txt".to_owned(), ChangeKind::Modified, 0o100_644),
        ]
    );
    let patch = String::from_utf8(stage.repo().patch(&cp, &changes).unwrap()).unwrap();
    assert!(patch.contains("+#!/bin/sh") && patch.contains("-one 1\n"), "{patch}");
}

#[test]
fn an_attempt_without_a_change_is_seen_and_leaves_nothing() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write(PLAN, "{\"only\":\"the ledger\"}\n");
    let changes = stage.collect(&cp);
    assert!(changes.is_empty());
    assert_eq!(names(&changes.ledger_touched), [PLAN]);
    let rolled = stage.roll_back(&cp, &changes);
    assert_eq!(rolled.salvage, None);
    assert_eq!(stage.project.read(PLAN), "{\"only\":\"the ledger\"}\n");
}

#[test]
fn a_failed_attempt_is_undone_and_kept_and_the_ledger_stays() {
    let stage = Stage::new();
    let (picture, staged) = (stage.picture(), stage.staged());
    let cp = stage.checkpoint();
    stage.write("one.txt", "other\n");
    stage.write("deep/er/new.txt", "new\n");
    stage.remove("two.txt");
    let changes = stage.collect(&cp);
    stage.write(PLAN, "{\"retry\":1}\n");
    let rolled = stage.roll_back(&cp, &changes);
    assert_eq!(names(&rolled.restored), ["deep/er/new.txt", "one.txt", "two.txt"]);
    assert_eq!(stage.project.read(PLAN), "{\"retry\":1}\n");
    stage.write(PLAN, "{}\n");
    assert_eq!(stage.picture(), picture);
    assert_eq!(stage.staged(), staged);
    assert_eq!(stage.status(), "");
    let kept = rolled.salvage.unwrap().name;
    assert_eq!(kept, format!("refs/ralph/run1/salvage/{}", cp.of.attempt));
    assert_eq!(stage.git(["show", &format!("{kept}:deep/er/new.txt")]), "new");
}

#[test]
fn what_comes_after_the_backend_is_kept_and_named_too() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.write("note.txt", "the user wrote this during the gates\n");
    stage.write("two.txt", "and changed this\n");
    let rolled = stage.roll_back(&cp, &changes);
    assert_eq!(names(&rolled.changed_later), ["note.txt", "two.txt"]);
    assert!(!stage.project.exists("note.txt"));
    let salvage = rolled.salvage.unwrap();
    stage.repo().salvage_restore(&salvage).unwrap();
    assert_eq!(stage.project.read("note.txt"), "the user wrote this during the gates\n");
    assert_eq!(stage.project.read("one.txt"), "backend\n");
}

#[test]
fn new_ledger_files_ride_unless_git_ignores_them() {
    let stage = Stage::new();
    stage.write(".ralph/knowledge-index.md", "# known\n");
    let cp = stage.checkpoint();
    assert!(cp.is_clean(), "the ledger does not make a tree dirty");
    stage.write("one.txt", "other\n");
    stage.write(".ralph/handoffs/1.json", "{}");
    let changes = stage.collect(&cp);
    assert_eq!(changed(&changes), ["one.txt"]);
    stage.write(".ralph/progress-log.md", "# log\n");
    stage.land(&cp, &changes);
    assert_eq!(
        stage.committed(),
        ["A .ralph/knowledge-index.md", "A .ralph/progress-log.md", "M one.txt"]
    );
    assert_eq!(stage.status(), "?? .ralph/handoffs/1.json");
}

#[test]
fn an_ignored_plan_stays_out_of_commits_and_in_place() {
    let stage = Stage::unborn();
    stage.write(".gitignore", "/ralph/\n");
    stage.write("one.txt", "1\n");
    stage.commit("first");
    stage.write(PLAN, "{}\n");
    let cp = stage.checkpoint();
    stage.write("one.txt", "2\n");
    let changes = stage.collect(&cp);
    stage.land(&cp, &changes);
    assert_eq!(stage.committed(), ["M one.txt"]);
    let cp = stage.checkpoint();
    stage.write("one.txt", "3\n");
    let changes = stage.collect(&cp);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.project.read(PLAN), "{}\n");
    assert_eq!(stage.project.read("one.txt"), "2\n");
}

#[test]
fn sources_are_named_and_rolled_back() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("ralph/specs/a.md", "# easier\n");
    stage.write("one.txt", lines("x"));
    let changes = stage.collect(&cp);
    assert_eq!(names(&changes.sources_touched), ["ralph/specs/a.md"]);
    stage.roll_back(&cp, &changes);
    assert!(!stage.project.exists("ralph/specs/a.md"));
}

#[test]
fn a_staged_ledger_file_is_kept_through_a_roll_back() {
    let stage = Stage::new();
    stage.write(PLAN, "{\"staged\":1}\n");
    stage.git(["add", PLAN]);
    let staged = stage.staged();
    let cp = stage.checkpoint();
    stage.write(PLAN, "{\"later\":1}\n");
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    assert_eq!(changed(&changes), ["one.txt"]);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.project.read(PLAN), "{\"later\":1}\n");
    assert_eq!(stage.staged(), staged);
}

#[test]
fn a_head_that_moved_after_the_backend_is_not_landed_on() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.git(["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
    assert!(matches!(stage.try_land(&cp, &changes), Err(LandError::HeadMoved)));
}

#[test]
fn nothing_to_commit_is_said() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    let changes = stage.collect(&cp);
    assert!(matches!(stage.try_land(&cp, &changes), Err(LandError::Nothing)));
}

#[test]
fn a_tree_with_changes_is_refused_or_committed_if_the_user_wants_that() {
    let stage = Stage::new();
    stage.write("one.txt", "user\n");
    stage.write("extra.txt", "user\n");
    let error = stage.try_checkpoint(OnDirty::Refuse).unwrap_err();
    assert!(matches!(&error, GitError::Dirty(paths) if paths.len() == 2), "{error}");
    assert!(error.hint().unwrap().contains("on_dirty"));
    let cp = stage.try_checkpoint(OnDirty::Commit).unwrap();
    assert!(cp.is_clean());
    assert_eq!(stage.committed(), ["A extra.txt", "M one.txt"]);
    assert_eq!(cp.head.unwrap().as_str(), stage.head());
}

#[test]
fn odd_names_are_names() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    let odd =
        ["-dash", "with space", "new\nline", "quo'te", "star*[x]", ":(top)magic", "\"q\"", "\\b"];
    for name in odd {
        stage.write(name, "odd\n");
    }
    let changes = stage.collect(&cp);
    assert_eq!(changes.paths.len(), odd.len(), "{:?}", changes.paths);
    let rolled = stage.roll_back(&cp, &changes);
    assert_eq!(rolled.restored.len(), odd.len());
    assert_eq!(stage.status(), "");
    for name in odd {
        stage.write(name, "odd\n");
    }
    let cp = stage.checkpoint();
    assert_eq!(cp.dirty.len(), odd.len());
    for name in odd {
        stage.write(name, "changed\n");
    }
    stage.write("plain", "by the backend\n");
    let changes = stage.collect(&cp);
    stage.roll_back(&cp, &changes);
    for name in odd {
        assert_eq!(stage.project.read(name), "odd\n", "{name}");
    }
}

#[test]
fn an_index_that_was_written_in_place_is_put_back_although_it_was_kept_by_a_second_name() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "first\n");
    let changes = stage.collect(&cp);
    let landed = stage.land(&cp, &changes);
    let of = AttemptRef { run: cp.of.run.clone(), attempt: "next".into() };
    let next = stage.repo().checkpoint_after(&cp, landed.commit.as_str(), &of).unwrap().unwrap();
    stage.write("two.txt", "second\n");
    // Git would put a new file in its place.
    std::fs::write(stage.project.path(".git/index"), "no index").unwrap();
    let changes = stage.collect(&next);
    assert_eq!(changed(&changes), ["two.txt"]);
    stage.land(&next, &changes);
    stage.repo().forget(&next);
    assert_eq!(stage.status(), "");
}
