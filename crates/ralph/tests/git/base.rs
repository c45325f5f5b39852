//! Looking at the base with the gates, and what gates write.

use crate::stage::{Stage, changed, names};

#[test]
fn the_base_stands_for_a_moment_and_the_attempt_comes_back() {
    for dirty in [false, true] {
        let stage = Stage::new();
        if dirty {
            stage.write("mine.txt", "user\n");
            stage.write("two.txt", "user\n");
            stage.git(["add", "two.txt"]);
        }
        let at_base = (stage.picture(), stage.status());
        let cp = stage.checkpoint();
        stage.write("one.txt", "backend\n");
        stage.write("new.txt", "backend\n");
        let changes = stage.collect(&cp);
        let attempt = stage.picture();
        let base = stage.repo().restore_base(&cp, &changes).unwrap();
        assert_eq!((stage.picture(), stage.status()), at_base, "gates see the base, git included");
        assert!(base.kept.is_some(), "a crash now loses nothing");
        stage.write("junk.txt", "written by a gate on the base\n");
        let kept = stage.repo().reapply(&cp, &base).unwrap().unwrap();
        assert_eq!(stage.picture(), attempt);
        assert_eq!(
            stage.git(["show", &format!("{}:junk.txt", kept.name)]),
            "written by a gate on the base"
        );
        stage.land(&cp, &changes);
        assert_eq!(stage.committed(), ["A new.txt", "M one.txt"]);
        let left = if dirty { "M  two.txt\n?? mine.txt" } else { "" };
        assert_eq!(stage.status(), left);
    }
}

#[test]
fn an_attempt_can_be_rolled_back_from_the_base() {
    let stage = Stage::new();
    let picture = stage.picture();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.repo().restore_base(&cp, &changes).unwrap();
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.picture(), picture);
    assert_eq!(stage.status(), "");
    let kept = stage.repo().salvages().unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(stage.git(["show", &format!("{}:one.txt", kept[0].name)]), "backend");
}

#[test]
fn what_gates_change_lands_and_what_they_make_is_removed() {
    for dirty in [false, true] {
        let stage = Stage::new();
        if dirty {
            stage.write("mine.txt", "user\n");
        }
        let cp = stage.checkpoint();
        stage.write("one.txt", "backend\n");
        let mut changes = stage.collect(&cp);
        let before = stage.runner.started();
        let effects = stage.repo().after_gates(&cp, &mut changes).unwrap();
        assert_eq!(effects, ralph_host::git::GateEffects::default());
        assert_eq!(stage.runner.started() - before, 1);
        stage.write("two.txt", "formatted by a gate\n");
        stage.write("coverage/report.txt", "made by a gate\n");
        let effects = stage.repo().after_gates(&cp, &mut changes).unwrap();
        assert_eq!(names(&effects.changed), ["two.txt"]);
        assert_eq!(names(&effects.removed), ["coverage/report.txt"]);
        assert_eq!(changed(&changes), ["one.txt", "two.txt"]);
        assert!(!stage.project.exists("coverage"));
        stage.land(&cp, &changes);
        assert_eq!(stage.committed(), ["M one.txt", "M two.txt"]);
        assert_eq!(stage.project.exists("mine.txt"), dirty);
        let kept = effects.kept.unwrap().name;
        assert_eq!(stage.git(["show", &format!("{kept}:coverage/report.txt")]), "made by a gate");
        assert_eq!(stage.project.read("one.txt"), "backend\n");
    }
}
