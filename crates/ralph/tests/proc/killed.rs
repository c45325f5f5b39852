//! Ralph or its supervisor is killed in the middle.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ralph_core::backend::BackendExit;
use ralph_host::proc::mark::survivors;
use ralph_host::proc::{JobOutputLine, ProcError, WatchDecision};

use crate::stage::{Stage, runner, unique_run, until, until_nobody_is_left, until_there};

const RUN: &str = "PROC_TEST_RUN";
const PLACE: &str = "PROC_TEST_PLACE";

/// Every kind of process that has been seen to outlive a killed agent.
const FAMILY: &str = "trap '' TERM INT HUP; sleep 300 & nohup sleep 300 >/dev/null 2>&1 & \
    setsid sleep 300 & (setsid sh -c 'sleep 300 & exec sleep 300' &) ; \
    echo up > up; while :; do sleep 300; done";

/// This test program again, as another process that runs only `test`. Gives what it `measured`.
pub(crate) fn as_another_process(test: &str, env: &[(&str, &str)]) -> String {
    let output = another_process(test, env).stderr(Stdio::piped()).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} failed:\n{out}\n{err}");
    let measured = out.lines().find_map(|l| l.split_once("measured: "));
    measured.unwrap_or_else(|| panic!("{test} measured nothing:\n{out}\n{err}")).1.to_owned()
}

fn another_process(test: &str, env: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.envs(env.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// A ralph of its own with a whole family below it.
fn ralph_at_work(run: &str, place: &Path) -> Child {
    let place = place.to_str().unwrap();
    let mut ralph =
        another_process("killed::a_ralph_that_is_killed", &[(RUN, run), (PLACE, place)]);
    ralph.process_group(0);
    let ralph = ralph.spawn().unwrap();
    until_there(&Path::new(place).join("up"));
    until("the whole family", || (survivors(run).len() >= 7).then_some(()));
    ralph
}

#[test]
#[ignore = "started by the tests that kill it"]
fn a_ralph_that_is_killed() {
    let (run, place) = (std::env::var(RUN).unwrap(), std::env::var(PLACE).unwrap());
    let mut stage = Stage::new();
    stage.runner = runner(&run);
    let mut job = stage.sh(FAMILY);
    job.cwd = place.into();
    stage.run(&job);
    panic!("it should have been killed");
}

#[test]
fn nobody_survives_a_ralph_that_is_killed() {
    for signal in ["KILL", "TERM", "ABRT"] {
        let (run, place) = (unique_run(), tempfile::tempdir().unwrap());
        let mut ralph = ralph_at_work(&run, place.path());
        kill(signal, i32::try_from(ralph.id()).unwrap());
        assert!(ralph.wait().unwrap().signal().is_some());
        until_nobody_is_left(&run);
    }
}

#[test]
fn a_ctrl_c_at_the_terminal_reaches_ralph_alone() {
    let (run, place) = (unique_run(), tempfile::tempdir().unwrap());
    let mut ralph = ralph_at_work(&run, place.path());
    let group = i32::try_from(ralph.id()).unwrap();
    let pids = processes(|stat| stat.group == group);
    assert_eq!(pids, [group], "somebody else is in ralph's process group");
    // As Ctrl-C does, to the whole group. What a shell starts in the background ignores INT itself.
    kill("TERM", -group);
    assert!(ralph.wait().unwrap().signal().is_some());
    until_nobody_is_left(&run);
}

#[test]
fn a_supervisor_that_is_told_to_end_takes_its_children_along() {
    for signal in ["TERM", "INT"] {
        let (run, place) = (unique_run(), tempfile::tempdir().unwrap());
        let mut ralph = ralph_at_work(&run, place.path());
        kill(signal, supervisor_of(i32::try_from(ralph.id()).unwrap()));
        until_nobody_is_left(&run);
        // This ralph has nothing better to do than to fail.
        assert!(!ralph.wait().unwrap().success());
    }
}

#[test]
fn a_supervisor_that_is_killed_is_reported_and_replaced() {
    let stage = Stage::new();
    let mut job = stage.sh(FAMILY);
    job.log = None;
    let me = i32::try_from(std::process::id()).unwrap();
    std::thread::scope(|scope| {
        let running = scope
            .spawn(|| stage.runner.run(&job, &mut |_: JobOutputLine<'_>| WatchDecision::Continue));
        until_there(&stage.place.path().join("up"));
        let ours = |pid: &i32| commandline(*pid).contains(stage.runner.run_id());
        let supervisor =
            until("the supervisor", || processes(|stat| stat.parent == me).into_iter().find(ours));
        kill("KILL", supervisor);
        assert!(matches!(running.join().unwrap(), Err(ProcError::Lost)));
    });
    assert_eq!(survivors(stage.runner.run_id()), []);
    assert_eq!(stage.run(&stage.sh("exit 3")).0.exit, BackendExit::code(3));
}

#[test]
fn a_runner_that_is_dropped_leaves_no_supervisor_and_no_zombie() {
    let stage = Stage::new();
    stage.run(&stage.sh("true"));
    let run = stage.runner.run_id().to_owned();
    let me = i32::try_from(std::process::id()).unwrap();
    let ours = || processes(|stat| stat.parent == me);
    let supervisors = || ours().into_iter().filter(|pid| commandline(*pid).contains(&run)).count();
    assert_eq!(supervisors(), 1);
    drop(stage);
    assert_eq!(supervisors(), 0);
}

struct Stat {
    parent: i32,
    group: i32,
}

fn processes(wanted: impl Fn(&Stat) -> bool) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let stat = |pid: i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(1);
        let mut next = || fields.next()?.parse().ok();
        Some(Stat { parent: next()?, group: next()? })
    };
    pids.filter(|pid| stat(*pid).is_some_and(|stat| wanted(&stat))).collect()
}

fn commandline(pid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

fn supervisor_of(ralph: i32) -> i32 {
    let children = processes(|stat| stat.parent == ralph);
    assert_eq!(children.len(), 1, "ralph starts nothing but its supervisor: {children:?}");
    children[0]
}

fn kill(signal: &str, pid: i32) {
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -s \"$0\" -- \"$1\"", signal, &pid.to_string()]);
    assert!(kill.status().unwrap().success(), "kill -{signal} {pid}");
}

#[test]
fn the_hidden_command_typed_by_hand_ends_nobody() {
    let run = unique_run();
    let mut marked = Command::new("sleep");
    let mut marked = marked.arg("300").env("RALPH_RUN", &run).spawn().unwrap();
    let mut ralph = Command::new(env!("CARGO_BIN_EXE_ralph"));
    let typed = ralph.args(["__supervise", &run]).stdin(Stdio::null()).output().unwrap();
    assert!(!typed.status.success());
    assert_eq!(survivors(&run).len(), 1);
    marked.kill().unwrap();
    marked.wait().unwrap();
    let help = Command::new(env!("CARGO_BIN_EXE_ralph")).arg("--help").output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("__supervise"));
}
