//! Repositories inside the repository.

use ralph_host::git::LandError;

use crate::stage::{Stage, changed, names};

fn nested(stage: &Stage, path: &str) {
    stage.write(format!("{path}/inside.txt"), "inside\n");
    let script = format!(
        "cd {path} && git init -q && git add -A && git -c user.name=n -c user.email=n@n commit -q -m n"
    );
    assert_eq!(stage.project.shell(&script).code, 0);
}

fn submodule(stage: &Stage) {
    nested(stage, "../library");
    let args = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", "../library", "sub"];
    stage.git(args);
    stage.git(["commit", "-q", "-m", "a submodule"]);
}

#[test]
fn a_change_inside_a_submodule_is_detected_and_left_alone() {
    for commit in [false, true] {
        let stage = Stage::new();
        submodule(&stage);
        let cp = stage.checkpoint();
        assert!(cp.is_clean());
        stage.write("one.txt", "backend\n");
        stage.write("sub/inside.txt", "backend\n");
        if commit {
            let line = "cd sub && git -c user.name=n -c user.email=n@n commit -q -a -m moved";
            assert_eq!(stage.project.shell(line).code, 0);
        }
        let changes = stage.collect(&cp);
        assert_eq!(names(&changes.nested), ["sub"]);
        assert_eq!(changed(&changes), ["one.txt"]);
        assert!(matches!(stage.try_land(&cp, &changes), Err(LandError::Nested(_))));
        stage.roll_back(&cp, &changes);
        assert_eq!(stage.project.read("one.txt"), crate::stage::lines("one"));
        assert_eq!(stage.project.read("sub/inside.txt"), "backend\n");
    }
}

#[test]
fn an_untouched_submodule_is_in_nobodys_way() {
    let stage = Stage::new();
    submodule(&stage);
    stage.write("sub/inside.txt", "the user's\n");
    let cp = stage.checkpoint();
    assert!(!cp.is_clean());
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    assert!(changes.nested.is_empty());
    stage.land(&cp, &changes);
    assert_eq!(stage.committed(), ["M one.txt"]);
    assert_eq!(stage.project.read("sub/inside.txt"), "the user's\n");
}

#[test]
fn an_untracked_repository_is_never_committed_and_its_changes_are_seen() {
    let stage = Stage::new();
    nested(&stage, "clone");
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    assert!(changes.nested.is_empty());
    stage.land(&cp, &changes);
    assert_eq!(stage.committed(), ["M one.txt"]);
    let cp = stage.checkpoint();
    stage.write("clone/inside.txt", "backend\n");
    let changes = stage.collect(&cp);
    assert_eq!(names(&changes.nested), ["clone"]);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.project.read("clone/inside.txt"), "backend\n");
}

#[test]
fn a_repository_that_the_backend_makes_is_detected_and_kept() {
    for dirty in [false, true] {
        for empty in [false, true] {
            let stage = Stage::new();
            if dirty {
                stage.write("mine.txt", "user\n");
            }
            let cp = stage.checkpoint();
            stage.write("one.txt", "backend\n");
            if empty {
                assert_eq!(stage.project.shell("git init -q made").code, 0);
                stage.write("made/inside.txt", "inside\n");
            } else {
                nested(&stage, "made");
            }
            let changes = stage.collect(&cp);
            assert_eq!(names(&changes.nested), ["made"], "dirty {dirty} empty {empty}");
            assert_eq!(changed(&changes), ["one.txt"]);
            let rolled = stage.roll_back(&cp, &changes);
            assert_eq!(names(&rolled.kept), ["made"]);
            assert_eq!(stage.project.read("made/inside.txt"), "inside\n");
            assert_eq!(stage.project.read("one.txt"), crate::stage::lines("one"));
        }
    }
}
