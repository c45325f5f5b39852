//! How a program ended, and why one did not start.

use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use ralph_core::backend::{BackendExit, ProcessEnding, StopCause};
use ralph_host::proc::{JobOutputLine, ProcError, WatchDecision, mark};

use crate::stage::Stage;

#[test]
fn a_code_is_told_as_it_is() {
    let stage = Stage::new();
    for code in [0, 1, 3, 143, 255] {
        let (finished, _) = stage.run(&stage.sh(&format!("exit {code}")));
        assert_eq!(finished.exit, BackendExit::code(code));
    }
}

#[test]
fn a_signal_is_told_as_it_is() {
    let stage = Stage::new();
    for signal in [6, 9, 11, 15] {
        let (finished, _) = stage.run(&stage.sh(&format!("kill -{signal} $$; sleep 300")));
        assert_eq!(
            finished.exit,
            BackendExit { ending: ProcessEnding::Signal(signal), stopped: None }
        );
    }
}

#[test]
fn a_program_that_is_not_there_is_an_ending_and_not_an_error() {
    let stage = Stage::new();
    for program in ["no-such-program-anywhere", "./no-such-file", "/no/such/file"] {
        let mut job = stage.sh("");
        job.program = program.into();
        let (finished, lines) = stage.run(&job);
        assert_eq!(finished.exit, BackendExit { ending: ProcessEnding::NotFound, stopped: None });
        assert!(lines.is_empty());
    }
}

#[test]
fn the_path_that_the_program_will_see_is_the_one_it_is_looked_up_on() {
    let stage = Stage::new();
    let (finished, _) = stage.run(&stage.sh("exit 0").env("PATH", "/nowhere"));
    assert_eq!(finished.exit.ending, ProcessEnding::NotFound);
}

#[test]
fn a_file_that_cannot_be_started_is_an_error_with_its_reason() {
    let stage = Stage::new();
    let plain = stage.place.path().join("plain");
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&plain).unwrap();
    let mut job = stage.sh("");
    job.program = plain.clone().into();
    match stage.runner.run(&job, &mut |_: JobOutputLine<'_>| WatchDecision::Continue) {
        Err(ProcError::Start { program, source }) => {
            assert_eq!(program, plain);
            assert_eq!(source.kind(), ErrorKind::PermissionDenied, "{source}");
        }
        other => panic!("{other:?}"),
    }
    // The supervisor is none the worse for it.
    assert_eq!(stage.run(&stage.sh("exit 4")).0.exit, BackendExit::code(4));
}

#[test]
fn a_directory_that_is_not_there_is_an_error_that_names_it() {
    let stage = Stage::new();
    let mut job = stage.sh("");
    job.cwd = stage.place.path().join("gone");
    let error =
        stage.runner.run(&job, &mut |_: JobOutputLine<'_>| WatchDecision::Continue).unwrap_err();
    assert!(matches!(&error, ProcError::Directory(path) if *path == job.cwd), "{error}");
}

#[test]
fn a_job_sees_its_directory_its_environment_and_its_mark() {
    let stage = Stage::new();
    let mut job = stage.sh("pwd; echo \"$ADDED-$HOME-$RALPH_RUN-$RALPH_JOB\"").env("ADDED", "yes");
    job.env.push(("HOME".into(), None));
    let (_, lines) = stage.run(&job);
    let place = stage.place.path().canonicalize().unwrap();
    let mark = format!("yes--{}-1", stage.runner.run_id());
    assert_eq!(lines, [place.display().to_string(), mark]);
}

#[test]
fn a_job_has_no_terminal_and_a_group_of_its_own() {
    let stage = Stage::new();
    let script = "import os\n\
        print(os.getpgrp() == os.getpid(), os.getsid(0) == os.getppid())\n\
        try: open('/dev/tty')\n\
        except OSError: print('no terminal')";
    let (_, lines) = stage.run(&stage.python(script));
    assert_eq!(lines, ["True True", "no terminal"]);
}

#[test]
fn a_program_that_has_finished_and_does_not_exit_is_ended() {
    let stage = Stage::new();
    let mut job = stage.sh("echo result; exec sleep 300");
    job.bounds.linger = Duration::from_millis(100);
    let finished = stage.watch(&job, &mut |line: JobOutputLine<'_>| match line.bytes {
        b"result" => WatchDecision::Finished,
        _ => WatchDecision::Continue,
    });
    let exit =
        BackendExit { ending: ProcessEnding::Signal(15), stopped: Some(StopCause::Lingered) };
    assert_eq!(finished.exit, exit);
}

#[test]
fn a_program_that_has_finished_and_exits_was_not_stopped() {
    let stage = Stage::new();
    let finished =
        stage.watch(&stage.sh("echo result"), &mut |_: JobOutputLine<'_>| WatchDecision::Finished);
    assert_eq!(finished.exit, BackendExit::code(0));
}

#[test]
fn jobs_at_the_same_time_do_not_disturb_each_other() {
    let stage = Stage::new();
    std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..8)
            .map(|code| {
                let job = stage.sh(&format!(
                    "(sleep 300 &) ; setsid sleep 300 & sleep 0.{code}; echo {code}; exit {code}"
                ));
                let runner = &stage.runner;
                scope.spawn(move || {
                    let mut lines = Vec::new();
                    let mut watch = |line: JobOutputLine<'_>| {
                        lines.push(line.bytes.to_vec());
                        WatchDecision::Continue
                    };
                    let finished = runner.run(&job, &mut watch).unwrap();
                    assert_eq!(finished.exit, BackendExit::code(code));
                    assert_eq!(lines, [code.to_string().into_bytes()]);
                    assert_eq!((finished.sweep.told, finished.sweep.left), (2, 0));
                })
            })
            .collect();
        for job in jobs {
            job.join().unwrap();
        }
    });
    assert_eq!(mark::survivors(stage.runner.run_id()), []);
}
