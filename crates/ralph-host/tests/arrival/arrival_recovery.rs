//! Arrivals that were killed, at several stages.

use std::fs;

use ralph_core::cycle::{
    ArrivalIntent, ArrivalWait, CommitReplay, JournalRecord, RiddenFile, StagedEntry, TakenOverFile,
};
use ralph_host::git::{ArrivalError, GitError, RecoveredArrival};

use crate::stage::{PLAN, Stage, lines};

/// A commit that changes, deletes and adds files, with its intent in the journal.
fn begun() -> (Stage, ArrivalIntent) {
    let mut stage = Stage::new();
    let old = stage.at("main");
    let new = stage.land(&[
        ("a.txt", Some("one\n")),
        ("b.txt", Some("a longer text\nof two lines\n")),
        ("c.txt", None),
        ("new/run.sh", Some("#!/bin/sh\n")),
    ]);
    let paths = ["a.txt", "b.txt", "c.txt", "new/run.sh"].map(str::to_owned).to_vec();
    let intent = ArrivalIntent { old, new, paths, ..ArrivalIntent::default() };
    stage.line.add(&JournalRecord::ArrivalIntent(intent.clone()), |_| None);
    (stage, intent)
}

fn recover(stage: &mut Stage) -> Result<Vec<String>, ArrivalError> {
    match stage.act(|repo, line, host| repo.recover_arrival(line, host))? {
        RecoveredArrival::PutBack(paths) => Ok(paths.iter().map(ToString::to_string).collect()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_arrival_that_had_not_begun_begins_again() {
    let (mut stage, _) = begun();
    let before = stage.picture();
    assert_eq!(recover(&mut stage).unwrap(), [] as [&str; 0]);
    assert_eq!(stage.picture(), before);
    stage.arrives();
    assert_eq!(stage.status(), [] as [&str; 0]);
}

#[test]
fn half_written_files_are_kept_and_put_back() {
    let (mut stage, intent) = begun();
    let before = stage.picture();
    stage.write("a.txt", "one\n");
    stage.write("b.txt", "a longer t");
    fs::remove_file(stage.project.path("c.txt")).unwrap();
    stage.write("new/run.sh", "#!/bin/sh\n");
    stage.project.mode("new/run.sh", 0o755);
    // A dead merge of a run that nobody is left of.
    stage.write(".git/ralph/writes-index", "dead-run");
    stage.write(".git/index.lock", "half an index");
    let mut put_back = recover(&mut stage).unwrap();
    put_back.sort_unstable();
    assert_eq!(put_back, ["a.txt", "b.txt", "c.txt", "new/run.sh"]);
    assert_eq!(stage.picture(), before);
    assert!(!stage.project.exists(".git/index.lock") && !stage.project.exists("new"));
    assert!(matches!(stage.line.wait, Some(ArrivalWait::Interrupted { .. })));
    let salvage = format!("refs/ralph/r1/salvage/arrival-{}", &intent.new[..12]);
    assert_eq!(stage.git(["show", &format!("{salvage}:b.txt")]), "a longer t");
    stage.arrives();
    assert_eq!(stage.status(), [] as [&str; 0]);
}

#[test]
fn an_index_that_was_written_before_the_branch_moved_is_put_back() {
    let (mut stage, intent) = begun();
    let before = stage.picture().files;
    let staged = stage.git(["ls-files", "-s"]);
    // Git writes files, then the index, then the branch.
    stage.git(["merge", "-q", "--ff-only", &intent.new]);
    stage.git(["update-ref", "refs/heads/main", &intent.old]);
    assert_eq!(recover(&mut stage).unwrap().len(), 4);
    assert_eq!(stage.picture().files, before);
    assert_eq!(stage.git(["ls-files", "-s"]), staged);
    assert_eq!(stage.status(), [] as [&str; 0]);
    stage.arrives();
}

#[test]
fn edits_of_the_person_stay_and_wait() {
    let (mut stage, _) = begun();
    stage.write("a.txt", "mine\n");
    stage.write("b.txt", "a longer text\nof two lines\nand mine\n");
    stage.write("c.txt", "mine too\n");
    stage.write("new/run.sh", "#!/bin/sh\n");
    let before = stage.picture().files;
    assert_eq!(recover(&mut stage).unwrap(), [] as [&str; 0], "the mode is not the new one");
    assert_eq!(stage.picture().files, before);
    assert!(matches!(stage.waits(), ArrivalWait::Edited { .. }));
}

#[test]
fn an_arrival_that_had_happened_is_journalled() {
    let (mut stage, intent) = begun();
    stage.git(["merge", "-q", "--ff-only", &intent.new]);
    let done = stage.act(|repo, line, host| repo.recover_arrival(line, host)).unwrap();
    assert_eq!(done, RecoveredArrival::Finished);
    assert!(stage.line.is_settled() && stage.line.waiting().is_empty());
    stage.arrives();
}

#[test]
fn a_switched_home_is_left_alone() {
    let (mut stage, _) = begun();
    stage.git(["switch", "-q", "-c", "topic"]);
    stage.write("a.txt", "one\n");
    let before = stage.picture().files;
    assert_eq!(recover(&mut stage).unwrap(), [] as [&str; 0]);
    assert_eq!(stage.picture().files, before);
}

#[test]
fn a_lock_of_somebody_else_is_named() {
    let (mut stage, _) = begun();
    stage.write(".git/index.lock", "theirs");
    let error = recover(&mut stage).unwrap_err();
    assert!(matches!(error, ArrivalError::Git(GitError::Locked(_))), "{error}");
    assert!(stage.project.exists(".git/index.lock") && stage.line.open_arrival.is_some());
}

#[test]
fn ridden_entries_come_back_or_are_finished() {
    for arrived in [false, true] {
        let mut stage = Stage::new();
        let (old, taken, landed) = (stage.at("main"), "plan\nmine\n", "plan\nmine\ndone\n");
        stage.write(PLAN, taken);
        let new = stage.land_taking(&[("a.txt", Some("one\n")), (PLAN, Some(landed))], &[PLAN]);
        let entry = stage.git(["ls-files", "-s", PLAN]);
        let object = entry.split(' ').nth(1).unwrap().to_owned();
        let content = stage.repo().content_id(taken.as_bytes()).unwrap().to_string();
        let file = TakenOverFile { path: PLAN.into(), content };
        let entry_before = Some(StagedEntry { mode: "100644".into(), object });
        let rides = vec![RiddenFile { file, entry: entry_before }];
        let paths = vec!["a.txt".to_owned(), PLAN.to_owned()];
        let intent =
            ArrivalIntent { old, new: new.clone(), paths, rides, ..ArrivalIntent::default() };
        stage.line.add(&JournalRecord::ArrivalIntent(intent), |_| None);
        let blob = stage.at(&format!("{new}:{PLAN}"));
        stage.git(["update-index", "--cacheinfo", &format!("100644,{blob},{PLAN}")]);
        if arrived {
            stage.git(["merge", "-q", "--ff-only", &new]);
            let done = stage.act(|repo, line, host| repo.recover_arrival(line, host)).unwrap();
            assert_eq!(done, RecoveredArrival::Finished);
        } else {
            recover(&mut stage).unwrap();
            assert_eq!(stage.git(["ls-files", "-s", PLAN]), entry);
            assert_eq!(stage.project.read(PLAN), taken);
            stage.arrives();
        }
        assert_eq!(stage.project.read(PLAN), landed);
        assert_eq!(stage.status(), [] as [&str; 0]);
    }
}

#[test]
fn a_killed_replay_is_journalled_or_dropped() {
    for moved in [true, false] {
        let mut stage = Stage::new();
        let old_tip = stage.land(&[("a.txt", Some("one\n"))]);
        let onto = stage.at("main");
        let tip = stage.plumb(
            &["commit-tree", &format!("{old_tip}^{{tree}}"), "-p", &onto],
            b"again\n\nRalph-Attempt: 01ATTEMPT0001\n",
        );
        let (old, new) = (old_tip.clone(), tip.clone());
        let commits =
            vec![ralph_core::cycle::ReplayedCommit { old, new, gated_before_replay: false }];
        let missing = Vec::new();
        let replay = CommitReplay { onto, old_tip, tip: tip.clone(), commits, missing };
        stage.line.add(&JournalRecord::ReplayIntent(replay), |_| None);
        if moved {
            stage.git(["update-ref", "refs/ralph/r1/tip", &tip]);
        }
        stage.act(|repo, line, host| repo.recover_arrival(line, host)).unwrap();
        assert!(stage.line.open_replay.is_none());
        stage.arrives();
        assert_eq!(stage.project.read("a.txt"), "one\n");
        assert_eq!(stage.at("main") == tip, moved);
    }
}

#[test]
fn put_back_files_are_as_before_to_the_byte() {
    let (mut stage, _) = begun();
    stage.write("a.txt", "");
    recover(&mut stage).unwrap();
    assert_eq!(stage.project.read("a.txt"), lines("a.txt"));
}
