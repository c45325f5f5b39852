#![expect(clippy::disallowed_methods, reason = "tests start processes")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::*;

const NO_TIME: Duration = Duration::from_millis(20);

fn room() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn me() -> LockHolder {
    LockHolder { pid: 4711, started: "2025-01-20T10:30:00Z".into(), command: "ralph build".into() }
}

#[test]
fn the_second_loop_is_told_who_runs() {
    let dir = room();
    let _held = RunLock::acquire(dir.path(), &me()).unwrap();
    let error = RunLock::acquire(dir.path(), &me()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "already running, pid 4711 (`ralph build`, since 2025-01-20T10:30:00Z)"
    );
    assert!(error.hint().is_some_and(|h| h.contains("`ralph stop`") && !h.contains("kill")));
}

#[test]
fn a_lock_that_was_given_back_can_be_taken_again_whatever_is_written_in_it() {
    let dir = room();
    drop(RunLock::acquire(dir.path(), &me()).unwrap());
    assert!(dir.path().join("run.lock").exists());
    RunLock::acquire(dir.path(), &me()).unwrap();
}

#[test]
fn the_two_locks_do_not_know_each_other() {
    let dir = room();
    let _run = RunLock::acquire(dir.path(), &me()).unwrap();
    LedgerLock::acquire(dir.path(), &me(), NO_TIME).unwrap();
}

#[test]
fn whoever_waits_too_long_learns_who_holds_the_ledger() {
    let dir = room();
    let _held = LedgerLock::acquire(dir.path(), &me(), NO_TIME).unwrap();
    let error = LedgerLock::acquire(dir.path(), &me(), NO_TIME).unwrap_err();
    assert!(error.to_string().contains("in use by pid 4711"), "{error}");
    assert!(error.hint().is_some_and(|h| h.contains("kill 4711")));
}

#[test]
fn whoever_gave_up_waiting_does_not_get_the_lock_later() {
    let dir = room();
    let held = LedgerLock::acquire(dir.path(), &me(), NO_TIME).unwrap();
    LedgerLock::acquire(dir.path(), &me(), NO_TIME).unwrap_err();
    drop(held);
    // The abandoned thread gets the lock now, and must let go of it.
    for _ in 0..3 {
        LedgerLock::acquire(dir.path(), &me(), LEDGER_WAIT).unwrap();
    }
}

#[test]
fn those_who_wait_get_their_turn() {
    let dir = room();
    let mut inside = 0;
    let counter = std::sync::Mutex::new(&mut inside);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let _held = LedgerLock::acquire(dir.path(), &me(), LEDGER_WAIT).unwrap();
                // Nobody else may be in here, so this never has to wait.
                **counter.try_lock().unwrap() += 1;
            });
        }
    });
    assert_eq!(inside, 8);
}

#[test]
fn the_directory_is_made_but_not_the_ones_above_it() {
    let dir = room();
    RunLock::acquire(&dir.path().join("ralph"), &me()).unwrap();
    let error = RunLock::acquire(&dir.path().join("gone/ralph"), &me()).unwrap_err();
    assert!(error.to_string().contains("gone/ralph"), "{error}");
    assert!(!dir.path().join("gone").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_said_to_need_a_lock() {
    let test = "a_place_that_cannot_be_written_is_said_to_need_a_lock";
    let Some(disk) = ralph_testkit::SmallDisk::mount(test, 64) else { return };
    disk.read_only();
    let error = RunLock::acquire(&disk.path().join("ralph"), &me()).unwrap_err();
    assert!(error.to_string().ends_with("run.lock: the disk is read-only"), "{error}");
    assert!(error.hint().is_some_and(|h| h.starts_with("changes need a lock in ")), "{error}");
}

#[test]
fn a_holder_survives_being_written_and_read_back() {
    let dir = room();
    let _held = RunLock::acquire(dir.path(), &me()).unwrap();
    assert_eq!(LockHolder::read_from(&dir.path().join("run.lock")), Some(me()));
    let this = LockHolder::this_process("now");
    assert_eq!(this.pid, std::process::id());
    assert!(this.command.starts_with("ralph_host-"), "the program without its directory: {this}");
}

#[test]
fn whoever_takes_a_lock_again_is_named_and_not_the_one_before() {
    let dir = room();
    let long = LockHolder { command: "ralph build ".repeat(10), ..me() };
    for holder in [&long, &me(), &me(), &long] {
        let _held = LedgerLock::acquire(dir.path(), holder, NO_TIME).unwrap();
        let named = LockHolder::read_from(&dir.path().join("ledger.lock"));
        assert_eq!(named.as_ref(), Some(holder));
    }
}

#[test]
fn no_child_inherits_a_lock() {
    let dir = room();
    let RunLock { _held: held } = RunLock::acquire(dir.path(), &me()).unwrap();
    let flags = rustix::io::fcntl_getfd(&held.0).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
}

#[test]
fn the_death_of_a_process_sets_its_locks_free() {
    let dir = room();
    let mut child = holding_process(dir.path());
    let error = LedgerLock::acquire(dir.path(), &me(), NO_TIME).unwrap_err();
    assert!(error.to_string().contains(&format!("pid {}", child.id())), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    LedgerLock::acquire(dir.path(), &me(), NO_TIME).unwrap();
}

/// A second process that has the ledger lock of `dir`.
fn holding_process(dir: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::lock::tests::child_that_holds_the_ledger", "--ignored"])
        .arg("--nocapture")
        .env("RALPH_TEST_LOCK_DIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("the child holds it")));
    child
}

#[test]
#[ignore = "the second process of another test"]
fn child_that_holds_the_ledger() {
    let dir = std::env::var_os("RALPH_TEST_LOCK_DIR").unwrap();
    let _held = LedgerLock::acquire(Path::new(&dir), &LockHolder::this_process("now"), LEDGER_WAIT)
        .unwrap();
    println!("the child holds it");
    // Until the other test kills us or goes away.
    io::stdin().lines().for_each(drop);
}

#[test]
fn who_runs_can_be_asked_without_taking_the_lock() {
    let place = tempfile::tempdir().unwrap();
    assert_eq!(who_runs(place.path()), None, "there is none");
    let me = LockHolder::this_process("now");
    let lock = RunLock::acquire(place.path(), &me).unwrap();
    assert_eq!(who_runs(place.path()), Some(me.clone()));
    drop(lock);
    assert_eq!(who_runs(place.path()), None, "it was given back");
    let dead = LockHolder { pid: u32::MAX, ..me };
    let _lock = RunLock::acquire(place.path(), &dead).unwrap();
    assert_eq!(who_runs(place.path()), None, "whoever had it is dead");
}
