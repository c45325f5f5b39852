//! Limits, and being told to end.

use std::time::Duration;

use ralph_core::backend::{BackendExit, ProcessEnding, StopCause};
use ralph_host::proc::{CancelToken, JobInput, JobOutputLine, JobWatch, WatchDecision};

use crate::stage::{AGES, Stage, until_there};

const SHORT: Duration = Duration::from_millis(200);

fn ended_by(stop: StopCause) -> BackendExit {
    BackendExit { ending: ProcessEnding::Signal(15), stopped: Some(stop) }
}

#[test]
fn a_job_that_runs_too_long_is_ended() {
    let stage = Stage::new();
    let mut job = stage.sh("while :; do echo busy; sleep 0.01; done");
    job.bounds.timeout = Some(SHORT);
    assert_eq!(stage.run(&job).0.exit, ended_by(StopCause::Timeout));
}

#[test]
fn a_job_that_floods_its_output_is_ended_in_time_as_well() {
    let stage = Stage::new();
    let mut job = stage.sh("exec yes");
    job.bounds.timeout = Some(SHORT);
    job.log = None;
    let (finished, _) = stage.run(&job);
    assert_eq!(finished.exit, ended_by(StopCause::Timeout));
}

#[test]
fn a_silent_job_is_ended() {
    let stage = Stage::new();
    let mut job = stage.sh("exec sleep 300");
    job.bounds.idle = Some(SHORT);
    assert_eq!(stage.run(&job).0.exit, ended_by(StopCause::Idle));
}

#[test]
fn output_of_either_kind_is_not_silence() {
    let stage = Stage::new();
    // Each silence is far below the limit, all of them together far above.
    let mut job =
        stage.sh("for i in 1 2 3 4 5 6; do sleep 0.5; echo $i; sleep 0.5; echo $i >&2; done");
    job.bounds.idle = Some(Duration::from_secs(5));
    let (finished, lines) = stage.run(&job);
    assert_eq!(finished.exit, BackendExit::code(0));
    assert_eq!(lines.len(), 6);
}

/// Busy until it has seen a number of ticks, as with a tool call that takes its time.
struct Busy {
    ticks: u32,
}

impl JobWatch for Busy {
    fn line(&mut self, _: JobOutputLine<'_>, _: &JobInput) -> WatchDecision {
        WatchDecision::Continue
    }

    fn tick(&mut self, _: Duration) -> WatchDecision {
        self.ticks += 1;
        WatchDecision::Continue
    }

    fn is_busy(&self) -> bool {
        self.ticks < 20
    }
}

#[test]
fn silence_at_work_is_not_idleness() {
    let stage = Stage::new();
    let mut job = stage.sh("exec sleep 300");
    job.bounds.idle = Some(Duration::from_millis(1));
    let mut watch = Busy { ticks: 0 };
    let finished = stage.watch(&job, &mut watch);
    assert_eq!(finished.exit, ended_by(StopCause::Idle));
    assert!(watch.ticks >= 20, "{}", watch.ticks);
}

#[test]
fn a_tick_can_stop_a_silent_job() {
    struct Impatient;
    impl JobWatch for Impatient {
        fn line(&mut self, _: JobOutputLine<'_>, _: &JobInput) -> WatchDecision {
            WatchDecision::Continue
        }
        fn tick(&mut self, elapsed: Duration) -> WatchDecision {
            if elapsed > SHORT {
                WatchDecision::Stop(StopCause::Budget)
            } else {
                WatchDecision::Continue
            }
        }
    }
    let stage = Stage::new();
    let finished = stage.watch(&stage.sh("exec sleep 300"), &mut Impatient);
    assert_eq!(finished.exit, ended_by(StopCause::Budget));
}

#[test]
fn a_line_can_stop_a_job_and_the_first_reason_counts() {
    let stage = Stage::new();
    let mut stops = [StopCause::ContextFull, StopCause::Budget].into_iter();
    let mut watch =
        |_: JobOutputLine<'_>| stops.next().map_or(WatchDecision::Continue, WatchDecision::Stop);
    let finished = stage.watch(&stage.sh("echo a; echo b; echo c; exec sleep 300"), &mut watch);
    assert_eq!(finished.exit, ended_by(StopCause::ContextFull));
}

#[test]
fn lines_after_the_stop_still_reach_the_watch() {
    let stage = Stage::new();
    let mut job =
        stage.sh("trap 'echo total cost; exit 0' TERM; echo up; while :; do sleep 0.01; done");
    job.bounds.grace = AGES;
    let mut lines = Vec::new();
    let finished = stage.watch(&job, &mut |line: JobOutputLine<'_>| {
        lines.push(String::from_utf8_lossy(line.bytes).into_owned());
        WatchDecision::Stop(StopCause::Timeout)
    });
    assert_eq!(
        finished.exit,
        BackendExit { ending: ProcessEnding::Code(0), stopped: Some(StopCause::Timeout) }
    );
    assert_eq!(lines, ["up", "total cost"]);
}

/// Run a job and cancel it from another thread once it is up.
fn cancelled(script: &str, grace: Duration, how: fn(&CancelToken)) -> BackendExit {
    let stage = Stage::new();
    let mut job = stage.sh(script);
    job.bounds.grace = grace;
    let cancel = job.cancel.clone();
    let up = stage.place.path().join("up");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            until_there(&up);
            how(&cancel);
        });
        stage.run(&job).0.exit
    })
}

#[test]
fn a_job_can_be_cancelled_from_another_thread() {
    let exit = cancelled("echo up > up; exec sleep 300", AGES, CancelToken::cancel);
    assert_eq!(exit, ended_by(StopCause::Cancelled));
}

#[test]
fn a_second_call_does_not_wait_for_the_grace() {
    let stubborn = "trap '' TERM; echo up > up; while :; do sleep 300; done";
    let exit = cancelled(stubborn, AGES, |cancel| {
        cancel.cancel();
        std::thread::sleep(SHORT);
        cancel.kill();
    });
    assert_eq!(
        exit,
        BackendExit { ending: ProcessEnding::Signal(9), stopped: Some(StopCause::Cancelled) }
    );
}
