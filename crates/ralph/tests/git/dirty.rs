//! The user's uncommitted work, through success and failure.

use ralph_host::git::{LandError, Side, Way};

use crate::stage::{PLAN, Stage, changed, lines, names};

/// Staged, unstaged, untracked and deleted work of the user's, away from what the backend does.
fn with_dirt() -> Stage {
    let stage = Stage::new();
    for name in ["staged", "unstaged", "both", "deleted", "removed"] {
        stage.write(format!("{name}.txt"), lines(name));
    }
    stage.commit("second");
    stage.write("staged.txt", "staged\n");
    stage.write("both.txt", "staged\n");
    stage.write("added.txt", "staged\n");
    stage.git(["add", "staged.txt", "both.txt", "added.txt"]);
    stage.git(["rm", "-q", "removed.txt"]);
    stage.write("both.txt", "and more\n");
    stage.write("unstaged.txt", "unstaged\n");
    stage.remove("deleted.txt");
    stage.write("untracked.txt", "untracked\n");
    stage.write("build.ignored", "ignored\n");
    stage.write("intended.txt", "intended\n");
    stage.git(["add", "-N", "intended.txt"]);
    stage
}

#[test]
fn disjoint_work_lands_alone_and_the_users_stays_as_it_was() {
    let stage = with_dirt();
    let status = stage.status();
    let mut picture = stage.picture();
    let before = stage.runner.started();
    let cp = stage.checkpoint();
    assert_eq!(cp.dirty.len(), 8, "{:?}", cp.dirty);
    let untracked = cp.dirty.iter().find(|d| d.path.to_string() == "untracked.txt").unwrap();
    assert_eq!(untracked.index, Side::Untracked);
    stage.write("one.txt", "backend\n");
    stage.remove("two.txt");
    stage.write("src/new.rs", "backend\n");
    let changes = stage.collect(&cp);
    assert_eq!(changed(&changes), ["one.txt", "src/new.rs", "two.txt"]);
    stage.write(PLAN, "{\"done\":1}\n");
    let landed = stage.land(&cp, &changes);
    assert!(stage.runner.started() - before <= 11, "{}", stage.runner.started() - before);
    assert_eq!(landed.way, Way::Disjoint);
    assert_eq!(landed.gated_tree, changes.tree);
    assert_eq!(stage.committed(), ["M one.txt", "M ralph/plan.jsonl", "A src/new.rs", "D two.txt"]);
    assert_eq!(stage.status(), status);
    let text = stage.git(["log", "-1", "--format=%B"]);
    assert!(text.contains(&format!("Ralph-Gated-Tree: {}", changes.tree.unwrap())), "{text}");
    let now = stage.picture();
    picture.retain(|path, _| !["one.txt", "two.txt", PLAN].contains(&path.to_str().unwrap()));
    for (path, content) in picture {
        assert_eq!(now.get(&path), Some(&content), "{}", path.display());
    }
}

#[test]
fn a_second_landing_on_a_dirty_tree_takes_ten_calls_of_git() {
    let stage = with_dirt();
    let repo = stage.repo();
    for round in 0..2 {
        let before = stage.runner.started();
        let attempt = stage.attempt();
        let (on, target) = (ralph_host::git::OnDirty::Snapshot, ralph_host::git::Target::Head);
        let cp = repo.checkpoint(&attempt, on, target).unwrap();
        stage.write("one.txt", format!("{round}\n"));
        stage.write(PLAN, format!("{{\"round\":{round}}}\n"));
        let changes = repo.collect(&cp).unwrap();
        repo.land(&cp, &changes, &crate::stage::message("x")).unwrap();
        if round == 1 {
            assert!(stage.runner.started() - before <= 10, "{}", stage.runner.started() - before);
        }
    }
}

#[test]
fn a_failed_attempt_leaves_the_users_work_byte_for_byte() {
    let stage = with_dirt();
    let (picture, staged, status) = (stage.picture(), stage.staged(), stage.status());
    let cp = stage.checkpoint();
    // Everything of the user's is trampled on.
    for name in ["staged", "unstaged", "both", "added", "untracked", "intended", "one"] {
        stage.write(format!("{name}.txt"), "trampled\n");
    }
    stage.write("deleted.txt", "back\n");
    stage.write("removed.txt", "back\n");
    stage.remove("added.txt");
    stage.git(["add", "-A"]);
    let changes = stage.collect(&cp);
    let rolled = stage.roll_back(&cp, &changes);
    assert_eq!(stage.picture(), picture);
    assert_eq!(stage.staged(), staged);
    assert_eq!(stage.status(), status);
    let kept = rolled.salvage.unwrap().name;
    assert_eq!(stage.git(["show", &format!("{kept}:both.txt")]), "trampled");
    assert_eq!(stage.git(["show", &format!("{kept}^:both.txt")]), "and more");
}

#[test]
fn lines_of_both_in_one_file_are_told_apart() {
    let stage = Stage::new();
    stage.write("one.txt", lines("one").replace("one 1\n", "staged 1\n"));
    stage.git(["add", "one.txt"]);
    let both = lines("one").replace("one 1\n", "staged 1\n").replace("one 5\n", "unstaged 5\n");
    stage.write("one.txt", &both);
    let before = stage.runner.started();
    let cp = stage.checkpoint();
    let all = both.replace("one 10\n", "backend 10\n");
    stage.write("one.txt", &all);
    stage.write("new.txt", "backend\n");
    let changes = stage.collect(&cp);
    let landed = stage.land(&cp, &changes);
    assert!(stage.runner.started() - before <= 14, "{}", stage.runner.started() - before);
    assert_eq!(landed.way, Way::Merged);
    let show = |what: &str| stage.project.git(["show", what]).ok().stdout;
    assert_eq!(show("HEAD:one.txt"), lines("one").replace("one 10\n", "backend 10\n"));
    assert_eq!(
        show(":one.txt"),
        lines("one").replace("one 1\n", "staged 1\n").replace("one 10\n", "backend 10\n")
    );
    assert_eq!(stage.project.read("one.txt"), all);
    assert_eq!(stage.status(), "MM one.txt");
    assert_eq!(stage.committed(), ["A new.txt", "M one.txt"]);
}

#[test]
fn a_file_that_the_user_renamed_gets_the_backends_lines_under_its_old_name() {
    let stage = Stage::new();
    stage.git(["mv", "one.txt", "renamed.txt"]);
    let cp = stage.checkpoint();
    stage.write("renamed.txt", lines("one").replace("one 10\n", "backend 10\n"));
    let changes = stage.collect(&cp);
    stage.land(&cp, &changes);
    assert_eq!(stage.committed(), ["M one.txt"]);
    assert_eq!(
        stage.git(["diff", "--cached", "--name-status", "-M"]),
        "R100\tone.txt\trenamed.txt"
    );
    assert_eq!(stage.git(["diff", "--name-only"]), "");
}

#[test]
fn a_conflict_with_the_users_lines_commits_nothing_and_can_be_applied_later() {
    let stage = Stage::new();
    stage.write("one.txt", lines("one").replace("one 5\n", "user 5\n"));
    let (picture, head) = (stage.picture(), stage.head());
    let cp = stage.checkpoint();
    stage.write("one.txt", lines("one").replace("one 5\n", "backend 5\n"));
    stage.write("new.txt", "backend\n");
    let changes = stage.collect(&cp);
    let Err(LandError::Conflict { paths, kept, apply }) = stage.try_land(&cp, &changes) else {
        panic!("it landed");
    };
    assert_eq!(names(&paths), ["one.txt"]);
    assert_eq!(stage.head(), head);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.picture(), picture);
    stage.git(["commit", "-q", "-a", "-m", "the user's own"]);
    assert_eq!(stage.project.shell(&apply).code, 0, "{apply}");
    assert_eq!(stage.project.read("new.txt"), "backend\n");
    assert!(stage.project.read("one.txt").contains("backend 5\n"), "{}", kept.name);
}

#[test]
fn an_untracked_file_that_the_backend_changes_is_a_conflict() {
    let stage = Stage::new();
    stage.write("mine.txt", lines("mine"));
    let cp = stage.checkpoint();
    stage.write("mine.txt", lines("theirs"));
    let changes = stage.collect(&cp);
    let Err(LandError::Conflict { paths, .. }) = stage.try_land(&cp, &changes) else {
        panic!("it landed");
    };
    assert_eq!(names(&paths), ["mine.txt"]);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.project.read("mine.txt"), lines("mine"));
}

#[test]
fn a_folder_in_the_place_of_a_file_lands_and_rolls_back() {
    for land in [true, false] {
        let stage = Stage::new();
        stage.write("mine.txt", "user\n");
        let cp = stage.checkpoint();
        stage.remove("one.txt");
        stage.write("one.txt/inside", "backend\n");
        let changes = stage.collect(&cp);
        if land {
            stage.land(&cp, &changes);
            assert_eq!(stage.committed(), ["D one.txt", "A one.txt/inside"]);
        } else {
            stage.roll_back(&cp, &changes);
            assert_eq!(stage.project.read("one.txt"), lines("one"));
        }
        assert_eq!(stage.status(), "?? mine.txt");
    }
}

#[test]
fn what_the_user_does_meanwhile_is_in_the_salvage() {
    let stage = Stage::new();
    stage.write("mine.txt", "before\n");
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    stage.write("mine.txt", "edited while the backend ran\n");
    stage.write("fresh.txt", "created while the backend ran\n");
    let changes = stage.collect(&cp);
    stage.write("fresh.txt", "and again after it\n");
    let rolled = stage.roll_back(&cp, &changes);
    assert_eq!(names(&rolled.changed_later), ["fresh.txt"]);
    assert_eq!(stage.project.read("mine.txt"), "before\n");
    let kept = rolled.salvage.unwrap();
    let show = |path: &str| stage.git(["show", &format!("{}:{path}", kept.name)]);
    assert_eq!(show("mine.txt"), "edited while the backend ran");
    assert_eq!(show("fresh.txt"), "and again after it");
}

#[test]
fn what_the_user_stages_meanwhile_is_kept() {
    let stage = Stage::new();
    stage.write("mine.txt", "before\n");
    let cp = stage.checkpoint();
    stage.write("mine.txt", "staged meanwhile\n");
    stage.git(["add", "mine.txt"]);
    stage.write("mine.txt", "before\n");
    let changes = stage.collect(&cp);
    assert!(changes.is_empty());
    let tree = changes.moved.index.unwrap();
    assert_eq!(stage.git(["show", &format!("{tree}:mine.txt")]), "staged meanwhile");
    assert_eq!(stage.status(), "?? mine.txt");
}

#[test]
fn rules_that_hide_or_show_files_do_not_make_them_the_backends() {
    for dirty in [false, true] {
        for land in [true, false] {
            let stage = Stage::new();
            stage.write("secret.ignored", "the user's\n");
            stage.write("cache/a.ignored", "the user's\n");
            if dirty {
                stage.write("mine.txt", "user\n");
            }
            // The clock of files has steps of some milliseconds.
            std::thread::sleep(std::time::Duration::from_millis(30));
            let cp = stage.checkpoint();
            std::thread::sleep(std::time::Duration::from_millis(30));
            stage.write(".gitignore", "mine.txt\n");
            stage.write("new.txt", "backend\n");
            let changes = stage.collect(&cp);
            assert_eq!(names(&changes.older), ["cache/a.ignored", "secret.ignored"]);
            assert_eq!(changed(&changes), [".gitignore", "new.txt"]);
            if land {
                stage.land(&cp, &changes);
                assert_eq!(stage.committed(), ["M .gitignore", "A new.txt"]);
            } else {
                let rolled = stage.roll_back(&cp, &changes);
                assert_eq!(names(&rolled.kept), ["cache/a.ignored", "secret.ignored"]);
                assert!(!stage.project.exists("new.txt"));
            }
            assert_eq!(stage.project.read("secret.ignored"), "the user's\n");
            assert_eq!(stage.project.read("cache/a.ignored"), "the user's\n");
            assert_eq!(stage.project.exists("mine.txt"), dirty);
        }
    }
}
