//! `commit = "spec"`: attempts gather on a ref, and HEAD gets one commit.

use ralph_host::git::{Landing, OnDirty, Target, Way};

use crate::stage::{PLAN, Stage, changed, message};

#[test]
fn attempts_gather_and_the_spec_becomes_one_commit() {
    for dirty in [false, true] {
        let stage = Stage::new();
        let head = stage.head();
        if dirty {
            stage.write("mine.txt", "user\n");
            stage.write("staged.txt", "user\n");
            stage.git(["add", "staged.txt"]);
        }
        let repo = stage.repo();
        for (path, text) in
            [("one.txt", "first\n"), ("two.txt", "second\n"), ("one.txt", "third\n")]
        {
            let cp = repo.checkpoint(&stage.attempt(), OnDirty::Snapshot, Target::Spec).unwrap();
            let mut users: Vec<String> = cp.dirty.iter().map(|d| d.path.to_string()).collect();
            users.sort();
            let expected: &[&str] = if dirty { &["mine.txt", "staged.txt"] } else { &[] };
            assert_eq!(users, expected);
            stage.write(path, text);
            let changes = repo.collect(&cp).unwrap();
            assert_eq!(changed(&changes), [path]);
            assert_eq!(repo.landed(&cp).unwrap(), Landing::No);
            let landed = repo.land(&cp, &changes, &message("an attempt")).unwrap();
            assert_eq!(landed.way, Way::Spec);
            assert_eq!(repo.landed(&cp).unwrap(), Landing::At(landed.commit));
        }
        assert_eq!(stage.head(), head, "HEAD waits for the spec");
        let cp = repo.checkpoint(&stage.attempt(), OnDirty::Snapshot, Target::Spec).unwrap();
        stage.write("two.txt", "a failed attempt\n");
        let changes = repo.collect(&cp).unwrap();
        repo.roll_back(&cp, Some(&changes)).unwrap();
        assert_eq!(stage.project.read("two.txt"), "second\n", "earlier attempts stay");
        stage.write(PLAN, "{\"accepted\":1}\n");
        let landed = repo.land_spec("run1", &message("ralph: the spec")).unwrap().unwrap();
        assert_eq!(landed.commit.as_str(), stage.head());
        assert_eq!(stage.committed(), ["M one.txt", "M ralph/plan.jsonl", "M two.txt"]);
        assert_eq!(stage.git(["show", "HEAD:one.txt"]), "third");
        assert_eq!(stage.git(["rev-parse", "HEAD^"]), head);
        let left = if dirty { "A  staged.txt\n?? mine.txt" } else { "" };
        assert_eq!(stage.status(), left);
        assert!(repo.land_spec("run1", &message("again")).unwrap().is_none());
    }
}
