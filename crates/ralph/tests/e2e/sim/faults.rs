//! Every fault by name, through the process and its driver.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;

use ralph_core::backend::sim::Fault;
use ralph_core::backend::{BackendEvent, BackendOutcome, ProcessEnding, StopCause};

use ralph_testkit::until;

use super::strays::strays;
use super::{Seen, Stage};

/// A fault, then honest work.
fn scenario(fault: Fault) -> String {
    format!(
        "[[rule]]\nsteps = [{{ fault = '{}' }}, {{ write = 'work.txt', text = 'abcd' }}, {{ claim = 'done' }}]",
        fault.as_str()
    )
}

fn run(stage: &Stage, fault: Fault) -> Seen {
    stage.run(&scenario(fault))
}

#[test]
fn every_fault_ends_in_its_outcome() {
    for fault in Fault::ALL {
        let stage = Stage::new();
        stage.project.write(".gitignore", "ignored\n");
        stage.project.shell("git add -A && git commit -qm base").ok();
        let (seen, stopped) = match fault {
            Fault::Hang | Fault::Stubborn => (stage.run_until(&scenario(fault), &[]), true),
            Fault::Flood => {
                let line = "{\"event\":\"text\",\"text\":\"line 9 of a flood\"}";
                (stage.run_until(&scenario(fault), &[line]), true)
            }
            // Its output ends only when the stray does, so it is read in a test of its own.
            Fault::HoldStdout => continue,
            _ => (run(&stage, fault), false),
        };
        if cfg!(target_os = "linux") && fault == Fault::Orphans {
            // The environment of a process is empty for a moment while it becomes another program.
            // One that was killed may be seen once more.
            let left = RefCell::new(BTreeSet::new());
            until(|| {
                left.borrow_mut().extend(strays(&stage.mark));
                left.borrow().len() >= 3
            });
            assert_eq!(left.borrow().len(), 3, "{}", fault.as_str());
        } else {
            assert!(strays(&stage.mark).is_empty(), "{}", fault.as_str());
        }
        let expected = match fault {
            Fault::Crash | Fault::Abort | Fault::EarlyExit => "crash",
            Fault::Hang | Fault::Stubborn | Fault::Flood => "timeout",
            Fault::Cut => "malformed",
            Fault::UsageLimit => "rate_limit",
            Fault::NotLoggedIn => "not_logged_in",
            Fault::ApiError => "api_error",
            Fault::PermissionDenied => "permission_denied",
            Fault::ContextFull => "context_limit",
            Fault::MaxTurns => "max_turns",
            _ => "success",
        };
        let (outcome, _, _) = seen.judged(stopped.then_some(StopCause::Timeout));
        assert_eq!(outcome.word(), expected, "{}: {}", fault.as_str(), seen.stderr);
    }
}

#[test]
fn a_crash_leaves_half_of_a_file() {
    for (fault, signal) in [(Fault::Crash, 9), (Fault::Abort, 6)] {
        let stage = Stage::new();
        let seen = run(&stage, fault);
        assert_eq!(seen.status.signal(), Some(signal));
        assert_eq!(stage.project.read("work.txt"), "ab");
        let crash = matches!(seen.outcome(), BackendOutcome::Crash { ending: ProcessEnding::Signal(s), .. } if s == signal);
        assert!(crash, "{:?}", seen.outcome());
    }
}

#[test]
fn a_stubborn_one_does_not_end_on_sigterm() {
    let stage = Stage::new();
    let line = "{\"event\":\"text\",\"text\":\"still here\"}";
    let rule = "[[rule]]\nsteps = [{ run = 'kill -TERM $PPID' }, { say = 'still here' }, \
                { fault = 'stubborn' }]";
    assert_eq!(stage.run_until(rule, &[line]).status.signal(), Some(9));
}

#[test]
fn a_lie_changes_nothing_and_claims_all() {
    let stage = Stage::new();
    let seen = run(&stage, Fault::Lie);
    assert!(!stage.project.exists("work.txt"));
    assert!(seen.judged(None).2.answer().contains("<TASK_DONE>"));
    let seen = run(&stage, Fault::Nothing);
    assert!(!stage.project.exists("work.txt"));
    assert!(!seen.judged(None).2.answer().contains("TASK_"));
}

#[test]
fn garbage_is_bytes_and_every_line_of_it_is_kept() {
    let stage = Stage::new();
    let seen = run(&stage, Fault::Garbage);
    let at = |part: &[u8]| seen.stdout.windows(part.len()).any(|bytes| bytes == part);
    assert!(at(b"\xff\xfe not text") && at(b"\x00\x01\x1b["), "{:?}", seen.lines());
    let (_, events, _) = seen.judged(None);
    let unknown = events.iter().filter(|event| matches!(event, BackendEvent::Unknown(_))).count();
    assert_eq!(unknown, 4, "{events:?}");
    assert_eq!(stage.project.read("work.txt"), "abcd", "the work went on");
}

#[test]
fn a_giant_line_is_one_line() {
    let stage = Stage::new();
    let seen = run(&stage, Fault::GiantLine);
    let longest = seen.stdout.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
    assert!(longest > Some(64 << 20), "{longest:?}");
}

#[test]
fn a_flood_ends_when_nobody_listens() {
    let stage = Stage::new();
    let mut child = stage.start("[[rule]]\nsteps = [{ flood = 'endless' }]", &[], super::PROMPT);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn tests_are_emptied_or_deleted() {
    for (fault, left) in [(Fault::EditTests, Some("")), (Fault::DeleteTests, None)] {
        let stage = Stage::new();
        for path in ["test_a.py", "tests/b c.sh", "src/lib.rs"] {
            stage.project.write(path, "something\n");
        }
        run(&stage, fault);
        for path in ["test_a.py", "tests/b c.sh"] {
            let text = stage.project.exists(path).then(|| stage.project.read(path));
            assert_eq!(text.as_deref(), left, "{path}");
        }
        assert_eq!(stage.project.read("src/lib.rs"), "something\n");
    }
}

#[test]
fn the_ledger_is_written_and_deleted() {
    let stage = Stage::new();
    stage.project.write(
        "ralph/plan.jsonl",
        "{\"t\":\"task\",\"id\":\"t-demo\",\"name\":\"x\",\"s\":\"p\"}\n",
    );
    stage.project.write(".ralph/state.json", "{}");
    run(&stage, Fault::WriteLedger);
    assert!(stage.project.read("ralph/plan.jsonl").contains("{\"t\":\"delete\",\"id\":\"t-demo\""));
    run(&stage, Fault::DeleteLedger);
    assert!(!stage.project.exists(".ralph"));
}

#[test]
fn git_is_used_behind_ralphs_back() {
    let stage = Stage::new();
    let git = |args: &[&str]| stage.project.git(args).ok().stdout.trim().to_owned();
    stage.project.write("a.txt", "a");
    run(&stage, Fault::GitCommit);
    assert_eq!(git(&["log", "--format=%s"]), "sim");
    stage.project.write("b.txt", "b");
    run(&stage, Fault::GitStash);
    assert!(git(&["stash", "list"]).starts_with("stash@{0}"));
    assert!(!stage.project.exists("b.txt"));
    run(&stage, Fault::GitBranch);
    assert_eq!(git(&["branch", "--show-current"]), "sim-branch");
    run(&stage, Fault::GitCheckout);
    assert_eq!(git(&["branch", "--show-current"]), "");
}

#[test]
fn a_file_name_need_not_be_text() {
    let stage = Stage::new();
    run(&stage, Fault::OddNames);
    let names = fs::read_dir(stage.project.root()).unwrap();
    let odd = |name: std::ffi::OsString| name.as_bytes() == b"odd-\xff\xfe.txt";
    assert!(names.map(|entry| entry.unwrap().file_name()).any(odd));
}

#[test]
fn a_usage_limit_says_when_it_is_lifted() {
    let stage = Stage::new();
    let seen = run(&stage, Fault::UsageLimit);
    let resets_at = match seen.outcome() {
        BackendOutcome::RateLimit { resets_at, .. } => resets_at,
        other => panic!("{other}"),
    };
    // The stopped clock of the test, and an hour.
    assert_eq!(resets_at, Some(1_737_369_000 + 3600));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let all = |seed: &str| {
        let stage = Stage::new();
        stage.project.write("a.txt", "a");
        stage.project.shell("git add -A && git commit -qm base").ok();
        let mut bytes = Vec::new();
        for task in 0..12 {
            let prompt = format!("## Current Task\nt-{task:04}\n");
            for _attempt in 0..2 {
                let seen = super::seen(super::feed(&mut stage.command(&["--seed", seed]), &prompt));
                bytes.extend(seen.stdout);
                bytes.extend(format!("{}\n", seen.status).bytes());
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let first = all("42");
    assert_eq!(first, all("42"));
    assert_ne!(first, all("43"));
}
