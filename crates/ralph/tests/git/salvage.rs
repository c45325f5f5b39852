//! What was kept can be seen, brought back and forgotten.

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
    let gone = repo.salvage_prune(1).unwrap();
    assert_eq!(gone.len(), 2);
    let left = repo.salvages().unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].of.attempt, "01ATTEMPT0003");
    assert!(repo.salvage_prune(5).unwrap().is_empty());
    assert_eq!(stage.project.read("one.txt"), lines("one"));
}
