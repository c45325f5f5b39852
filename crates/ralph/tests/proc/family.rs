//! What a program leaves behind does not stay.

use ralph_core::backend::{BackendExit, StopCause};
use ralph_host::proc::mark::{kill_survivors, survivors};
use ralph_host::proc::{JobOutputLine, WatchDecision};

use crate::stage::{AGES, Stage, until, until_there};

#[test]
fn a_normal_exit_leaves_nobody_behind() {
    let stage = Stage::new();
    let script = "sleep 300 & nohup sleep 300 >nohup.log 2>&1 & setsid sleep 300 & (sleep 300 &) ; \
                  setsid sh -c 'sleep 300 & echo > up; exec setsid sleep 300' & \
                  while ! [ -e up ]; do sleep 0.01; done; exit 0";
    let mut job = stage.sh(script);
    job.bounds.grace = AGES;
    let (finished, _) = stage.run(&job);
    assert_eq!(finished.exit, BackendExit::code(0));
    assert!(finished.sweep.told >= 6, "{:?}", finished.sweep);
    assert_eq!(finished.sweep.killed, 0, "SIGTERM was enough for all of them");
}

#[test]
fn a_program_without_leftovers_needs_no_sweeping() {
    let stage = Stage::new();
    let (finished, _) = stage.run(&stage.sh("sh -c true; echo done"));
    assert_eq!((finished.sweep.told, finished.sweep.killed), (0, 0));
}

#[test]
fn whoever_ignores_sigterm_is_killed() {
    let stage = Stage::new();
    // Both the program and what it starts, in a session of its own.
    let stubborn = "trap '' TERM INT HUP; setsid sh -c 'while :; do sleep 300; done' & \
                    echo up; while :; do sleep 300; done";
    let finished = stage.watch(&stage.sh(stubborn), &mut |_: JobOutputLine<'_>| {
        WatchDecision::Stop(StopCause::Cancelled)
    });
    assert_eq!(finished.exit.stopped, Some(StopCause::Cancelled));
    assert_eq!(finished.exit.ending, ralph_core::backend::ProcessEnding::Signal(9));
    assert!(finished.sweep.killed >= 1, "{:?}", finished.sweep);
}

#[test]
fn a_daemon_that_sheds_parent_session_group_and_environment_does_not_get_away() {
    let stage = Stage::new();
    let daemon = "import os, sys, time\n\
        if os.fork() == 0:\n\
        \x20   os.setsid()\n\
        \x20   if os.fork() == 0:\n\
        \x20       print(os.getpid(), file=open('pid.new', 'w'))\n\
        \x20       os.rename('pid.new', 'pid')\n\
        \x20       os.execve('/bin/sleep', ['sleep', '300'], {})\n\
        \x20   os._exit(0)\n\
        os.wait()\n\
        while not os.path.exists('pid'): time.sleep(0.01)\n\
        print('daemon is up', flush=True)";
    let (finished, lines) = stage.run(&stage.python(daemon));
    assert_eq!(lines, ["daemon is up"]);
    assert_eq!(finished.sweep.told, 1);
    // It has no mark any more, so only its number can tell that it is gone.
    let pid = std::fs::read_to_string(stage.place.path().join("pid")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn a_grandchild_that_keeps_the_pipe_open_does_not_keep_ralph() {
    let stage = Stage::new();
    let (finished, lines) = stage.run(&stage.sh("setsid sleep 300 & echo said; exit 5"));
    assert_eq!(finished.exit, BackendExit::code(5));
    assert_eq!(lines, ["said"]);
}

#[test]
fn a_grandchild_may_finish_its_last_words() {
    let stage = Stage::new();
    let mut job = stage.sh("(sleep 0.05; echo last words) & exit 0");
    job.bounds.settle = AGES;
    let (finished, lines) = stage.run(&job);
    assert_eq!(lines, ["last words"]);
    assert_eq!(finished.sweep.told, 0);
}

/// It forks all the time and is dead all the time: each process lives for a moment after it has made
/// the next one. The relay ends by itself after a number of rounds, in case nobody ends it.
#[test]
fn a_family_that_keeps_forking_is_ended() {
    let stage = Stage::new();
    let relay = "import os, signal, time\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
        for _ in range(3):\n\
        \x20   if os.fork() == 0:\n\
        \x20       os.setsid()\n\
        \x20       for _ in range(5000):\n\
        \x20           if os.fork(): time.sleep(0.002); os._exit(0)\n\
        \x20       open('got away', 'w')\n\
        \x20       os._exit(0)\n\
        print('forking', flush=True)\n\
        time.sleep(300)";
    let finished = stage.watch(&stage.python(relay), &mut |_: JobOutputLine<'_>| {
        WatchDecision::Stop(StopCause::Cancelled)
    });
    assert_eq!(finished.exit.stopped, Some(StopCause::Cancelled));
    assert!(finished.sweep.killed >= 3, "{:?}", finished.sweep);
    assert!(!stage.place.path().join("got away").exists(), "the relay was not ended, it was over");
}

#[test]
fn a_stopped_process_is_ended_too() {
    let stage = Stage::new();
    let finished = stage.watch(
        &stage.sh("sh -c 'kill -STOP $$' & echo up; sleep 300"),
        &mut |_: JobOutputLine<'_>| WatchDecision::Stop(StopCause::Cancelled),
    );
    assert_eq!(finished.exit.stopped, Some(StopCause::Cancelled));
}

#[test]
fn survivors_are_found_by_their_mark_and_killed() {
    let stage = Stage::new();
    let run = stage.runner.run_id().to_owned();
    let started = stage.place.path().join("pid");
    // Nobody of ours: as if ralph and its supervisor had both been killed.
    let mut stray = std::process::Command::new("sh");
    stray.args(["-c", "setsid sleep 300 & echo $! > pid; exec sleep 300"]);
    let mut stray = stray.current_dir(stage.place.path()).env("RALPH_RUN", &run).spawn().unwrap();
    until_there(&started);
    until("both sleepers", || {
        (survivors(&run).iter().filter(|s| s.name == "sleep").count() == 2).then_some(())
    });
    assert_eq!(kill_survivors(&run), (2, 0));
    assert_eq!(survivors(&run), []);
    stray.wait().unwrap();
}
