//! What was kept can be seen, brought back and forgotten.

use ralph_host::git::{Retire, Underway};

use crate::stage::{Stage, lines};

fn fail(stage: &Stage, text: &str) {
    let cp = stage.checkpoint();
    stage.write("one.txt", text);
    stage.write("new.bin", b"\0\x01\xff");
    let changes = stage.collect(&cp);
    stage.roll_back(&cp, &changes);
}

#[test]
fn salvage_is_listed_shown_and_restored() {
    let stage = Stage::new();
    stage.git(["config", "diff.noprefix", "true"]);
    fail(&stage, "first\n");
    fail(&stage, "second\n");
    let repo = stage.repo();
    let all = repo.salvages().unwrap();
    assert_eq!(all.len(), 2);
    let names: Vec<_> = all.iter().map(|s| s.of.attempt.as_str()).collect();
    assert_eq!(names, ["01ATTEMPT0002", "01ATTEMPT0001"], "the newest first");
    assert!(all[0].at > 0 && all[0].of.run == "run1");
    let patch = String::from_utf8_lossy(&repo.salvage_diff(&all[1]).unwrap()).into_owned();
    assert!(patch.contains("+first") && !patch.contains("second"), "{patch}");
    repo.salvage_restore(&all[1]).unwrap();
    assert_eq!(stage.project.read("one.txt"), "first\n");
    assert_eq!(stage.project.read_bytes("new.bin"), b"\0\x01\xff");
    assert_eq!(stage.status(), " M one.txt\n?? new.bin");
}

#[test]
fn salvage_does_not_overwrite_what_the_user_did_since() {
    let stage = Stage::new();
    fail(&stage, "first\n");
    stage.write("one.txt", "the user's new work\n");
    let all = stage.repo().salvages().unwrap();
    assert!(stage.repo().salvage_restore(&all[0]).is_err());
    assert_eq!(stage.project.read("one.txt"), "the user's new work\n");
    assert!(!stage.project.exists("new.bin"), "all of it or nothing");
}

#[test]
fn pruning_keeps_the_newest() {
    let stage = Stage::new();
    for text in ["1\n", "2\n", "3\n"] {
        fail(&stage, text);
    }
    let repo = stage.repo();
    let gone = repo.retired(Retire::Beyond(1), Underway::Nothing).unwrap();
    assert_eq!(gone.salvages.len(), 2);
    assert_eq!(repo.salvages().unwrap().len(), 3, "a look changes nothing");
    repo.retire(&gone).unwrap();
    let left = repo.salvages().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].of.attempt, "01ATTEMPT0003");
    assert!(repo.retired(Retire::Beyond(5), Underway::Nothing).unwrap().is_empty());
    assert_eq!(stage.project.read("one.txt"), lines("one"));
}

#[test]
fn what_is_older_than_a_moment_goes_with_everything_that_its_attempt_left() {
    let stage = Stage::new();
    fail(&stage, "1\n");
    let repo = stage.repo();
    let kept = repo.salvages().unwrap();
    let commit = kept[0].commit.to_string();
    stage.git(["update-ref", "refs/ralph/run1/commits/01ATTEMPT0001/1", &commit]);
    stage.git(["update-ref", "refs/ralph/spec-all/spec", &commit]);
    let before = repo.retired(Retire::Before(kept[0].at), Underway::Nothing).unwrap();
    assert!(before.salvages.is_empty());
    let after = repo.retired(Retire::Before(i64::MAX), Underway::Nothing).unwrap();
    repo.retire(&after).unwrap();
    assert_eq!(
        stage.git(["for-each-ref", "--format=%(refname)", "refs/ralph"]),
        "refs/ralph/spec-all/spec"
    );
}

#[test]
fn the_files_of_each_salvage_are_known() {
    let stage = Stage::new();
    fail(&stage, "1\n");
    fail(&stage, "2\n");
    let repo = stage.repo();
    let all = repo.salvages().unwrap();
    let files = repo.salvage_files(&all).unwrap();
    let names = |n: usize| files[n].iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((names(0), names(1)), (vec!["new.bin".into(), "one.txt".into()], names(0)));
}

#[test]
fn a_tree_is_kept_as_it_is_without_touching_it() {
    let stage = Stage::new();
    let repo = stage.repo();
    assert!(repo.keep_as_is(&stage.attempt()).unwrap().is_none(), "nothing to keep");
    stage.write("one.txt", "mine\n");
    stage.write("new.bin", b"\0\xff");
    stage.git(["add", "one.txt"]);
    let status = stage.status();
    let kept = repo.keep_as_is(&stage.attempt()).unwrap().unwrap();
    assert_eq!(stage.status(), status);
    let files = repo.salvage_files(&[kept]).unwrap();
    assert_eq!(files[0].len(), 2);
}
