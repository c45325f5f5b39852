//! What the next start finds after a crash.

use std::fs::OpenOptions;

use ralph_host::git::{GitError, Landing, StaleLock};

use crate::stage::{PLAN, Stage, lines, message};

#[test]
fn a_landing_is_found_by_its_trailer() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    let repo = stage.repo();
    assert_eq!(repo.landed(&cp).unwrap(), Landing::No);
    stage.write("one.txt", "backend\n");
    let changes = stage.collect(&cp);
    let landed = stage.land(&cp, &changes);
    stage.git(["commit", "-q", "--allow-empty", "-m", "the user's, on top"]);
    assert_eq!(repo.landed(&cp).unwrap(), Landing::At(landed.commit.clone()));
    let facts = repo.facts(&cp).unwrap();
    assert_eq!(facts.landing, Landing::At(landed.commit));
    assert_eq!((facts.locked, facts.operation, facts.salvage), (false, None, None));
    let other = stage.checkpoint();
    stage.git(["commit", "-q", "--allow-empty", "-m", "no trailer"]);
    assert_eq!(repo.landed(&other).unwrap(), Landing::No);
}

#[test]
fn a_rewritten_history_is_said_to_be_one() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.git(["commit", "-q", "--amend", "-m", "rewritten"]);
    assert_eq!(stage.repo().landed(&cp).unwrap(), Landing::Rewritten);
}

#[test]
fn a_crash_before_collecting_is_rolled_back_from_the_checkpoint_alone() {
    for dirty in [false, true] {
        let stage = Stage::new();
        if dirty {
            stage.write("mine.txt", "user\n");
            stage.write("two.txt", "user\n");
            stage.git(["add", "two.txt"]);
        }
        let (picture, status, staged) = (stage.picture(), stage.status(), stage.staged());
        let cp = stage.checkpoint();
        stage.write("one.txt", "half an edi");
        stage.write("mine.txt", "trampled\n");
        stage.git(["add", "-A"]);
        for _ in 0..2 {
            let rolled = stage.repo().roll_back(&cp, None).unwrap();
            assert_eq!(rolled.differences, []);
            assert_eq!(stage.picture(), picture);
            assert_eq!((stage.status(), stage.staged()), (status.clone(), staged.clone()));
        }
        assert_eq!(stage.repo().salvages().unwrap().len(), 1);
    }
}

#[test]
fn a_roll_back_may_be_repeated() {
    let stage = Stage::new();
    stage.write("mine.txt", "user\n");
    let picture = stage.picture();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    stage.write("mine.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.roll_back(&cp, &changes);
    let again = stage.roll_back(&cp, &changes);
    assert_eq!(again.salvage, None);
    assert_eq!(stage.picture(), picture);
}

#[test]
fn an_index_that_a_crash_left_unrepaired_is_repaired() {
    let stage = Stage::new();
    stage.write("one.txt", lines("one").replace("one 1\n", "user 1\n"));
    let cp = stage.checkpoint();
    stage.write("one.txt", lines("one").replace("one 1\n", "user 1\n").replace("one 10\n", "x\n"));
    let changes = stage.collect(&cp);
    stage.land(&cp, &changes);
    assert_eq!(stage.status(), " M one.txt");
    // As if ralph had died between the commit and the repair.
    let saved = stage.project.path(format!(".git/ralph/attempts/{}.index", cp.of.attempt));
    std::fs::copy(saved, stage.project.path(".git/index")).unwrap();
    assert_eq!(stage.status(), "MM one.txt");
    stage.repo().finish_landing(&cp).unwrap();
    assert_eq!(stage.status(), " M one.txt");
    stage.repo().finish_landing(&cp).unwrap();
    stage.repo().forget(&cp);
    assert_eq!(stage.status(), " M one.txt");
}

fn lock(stage: &Stage) {
    let lock = stage.project.path(".git/index.lock");
    OpenOptions::new().write(true).create_new(true).open(lock).unwrap();
}

#[test]
fn a_lock_of_somebody_else_is_waited_for_and_then_named() {
    let stage = Stage::new();
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    lock(&stage);
    let error = stage.repo().collect(&cp).unwrap_err();
    assert!(matches!(error, GitError::Locked(_)), "{error}");
    assert!(error.hint().unwrap().contains("index.lock"));
    assert_eq!(stage.repo().remove_stale_lock().unwrap(), StaleLock::Foreign);
    assert!(stage.project.exists(".git/index.lock"));
    let later = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            stage.remove(".git/index.lock");
        });
        stage.repo().collect(&cp)
    });
    assert_eq!(later.unwrap().paths.len(), 1);
}

#[test]
fn our_own_lock_is_removed_when_a_note_says_so_and_everybody_is_dead() {
    let stage = Stage::new();
    assert_eq!(stage.repo().remove_stale_lock().unwrap(), StaleLock::None);
    stage.write(".git/ralph/writes-index", "a-run-long-gone");
    lock(&stage);
    assert_eq!(stage.repo().remove_stale_lock().unwrap(), StaleLock::Removed);
    assert!(!stage.project.exists(".git/index.lock"));
    // An older lock than the note is not ours.
    lock(&stage);
    std::thread::sleep(std::time::Duration::from_millis(30));
    stage.write(".git/ralph/writes-index", "a-run-long-gone");
    assert_eq!(stage.repo().remove_stale_lock().unwrap(), StaleLock::Foreign);
}

#[test]
fn locks_on_what_is_ralphs_alone_do_not_stop_a_recovery() {
    let stage = Stage::new();
    stage.write("one.txt", "the user's\n");
    let cp = stage.checkpoint();
    stage.write("one.txt", "backend\n");
    let desk = format!(".git/ralph/attempts/{}", cp.of.attempt);
    let refs = format!(".git/refs/ralph/{}", cp.of.run);
    let locks = [
        format!("{desk}/spare.lock"),
        format!("{refs}/before.lock"),
        format!("{refs}/salvage/{}.lock", cp.of.attempt),
    ];
    locks.iter().for_each(|lock| stage.write(lock, ""));
    assert!(stage.repo().roll_back(&cp, None).is_err(), "the locks do nothing");
    stage.repo().remove_own_locks(&cp.of.run);
    stage.repo().roll_back(&cp, None).unwrap();
    assert_eq!(stage.project.read("one.txt"), "the user's\n");
}

#[test]
fn a_ledger_that_no_landing_took_is_committed_alone() {
    let stage = Stage::new();
    assert_eq!(stage.repo().commit_ledger(&message("ralph: ledger")).unwrap(), None);
    stage.write(PLAN, "{\"more\":1}\n");
    stage.write(".ralph/progress-log.md", "# log\n");
    stage.write(".ralph/state.json", "{}");
    stage.write("one.txt", "user\n");
    stage.git(["add", "one.txt"]);
    stage.repo().commit_ledger(&message("ralph: ledger")).unwrap().unwrap();
    assert_eq!(stage.committed(), ["A .ralph/progress-log.md", "M ralph/plan.jsonl"]);
    assert_eq!(stage.status(), "M  one.txt");
}

#[test]
fn maintenance_leaves_nothing_private_and_no_process() {
    let stage = Stage::new();
    let _cp = stage.checkpoint();
    stage.repo().maintenance().unwrap();
    assert!(!stage.project.exists(".git/ralph/attempts"));
    assert_eq!(ralph_host::proc::mark::survivors(stage.runner.run_id()), []);
}

#[test]
fn without_its_private_files_an_attempt_is_rolled_back_all_the_same() {
    for dirty in [false, true] {
        let stage = Stage::new();
        if dirty {
            stage.write("mine.txt", "user\n");
            stage.write("two.txt", "user\n");
            stage.git(["add", "two.txt"]);
        }
        let (picture, status) = (stage.picture(), stage.status());
        let cp = stage.checkpoint();
        stage.write("one.txt", "backend\n");
        stage.write("mine.txt", "trampled\n");
        stage.repo().forget(&cp);
        stage.repo().roll_back(&cp, None).unwrap();
        assert_eq!((stage.picture(), stage.status()), (picture, status));
    }
}
