//! The mark that every process of a run carries in its environment.
//!
//! Children inherit it, so it is found on processes that have left their parent, their group and
//! their session. It is how recovery finds what a run left behind when its supervisor died with it.

use std::time::{Duration, Instant};

use super::family::{Known, Prey, Process, freeze_and_kill};
use super::os;

/// The variable with the run's id.
pub const RUN_VARIABLE: &str = "RALPH_RUN";

/// The variable with the number of the job within the run.
pub const JOB_VARIABLE: &str = "RALPH_JOB";

/// How long killed processes may take to go.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a process's environment says about where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) run: String,
    pub(super) job: Option<u64>,
}

impl Mark {
    /// The mark among these `NAME=value` variables.
    pub(super) fn of_variables<'a>(variables: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let (mut run, mut job) = (None, None);
        for variable in variables {
            let Ok(text) = str::from_utf8(variable) else { continue };
            match text.split_once('=') {
                Some((RUN_VARIABLE, value)) => run = Some(value.to_owned()),
                Some((JOB_VARIABLE, value)) => job = value.parse().ok(),
                _ => {}
            }
        }
        run.map(|run| Self { run, job })
    }
}

/// A process that still carries a run's mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Its number.
    pub pid: i32,
    /// Its program.
    pub name: String,
}

/// The processes that carry the mark of this run, this one excepted.
pub fn survivors(run: &str) -> Vec<Survivor> {
    let marked = marked(run, None);
    marked.into_iter().map(|p| Survivor { pid: p.pid, name: os::name(p.pid) }).collect()
}

/// Kill every process that carries the mark of this run. Gives how many there were, and how many
/// are still there because they could not be killed.
pub fn kill_survivors(run: &str) -> (usize, usize) {
    kill_marked(run, None)
}

/// The same for one job of a run.
pub(super) fn kill_marked(run: &str, job: Option<u64>) -> (usize, usize) {
    let mut killed = Known::new();
    let until = Instant::now() + PATIENCE;
    loop {
        // Their groups may hold others: nobody knows here who started them.
        let mut find = || Prey { processes: marked(run, job), ..Prey::default() };
        freeze_and_kill(&mut find, &mut killed);
        let left = marked(run, job).len();
        if left == 0 || Instant::now() >= until {
            return (killed.len(), left);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Dead processes have no environment, so they are not in this list.
pub(super) fn marked(run: &str, job: Option<u64>) -> Vec<Process> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let mut all = os::processes();
    all.retain(|p| p.pid != me);
    let marks = os::marks(&all.iter().map(|p| p.pid).collect::<Vec<_>>());
    all.retain(|p| {
        marks.get(&p.pid).is_some_and(|m| m.run == run && (job.is_none() || m.job == job))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(variables: &[&str]) -> Option<Mark> {
        Mark::of_variables(variables.iter().map(|v| v.as_bytes()))
    }

    #[test]
    fn the_mark_is_the_run_and_the_job() {
        assert_eq!(
            mark(&["PATH=/bin", "RALPH_RUN=r-1", "RALPH_JOB=3", "RALPH_RUNNER=x"]),
            Some(Mark { run: "r-1".into(), job: Some(3) })
        );
        assert_eq!(mark(&["RALPH_RUN=r-1"]), Some(Mark { run: "r-1".into(), job: None }));
    }

    #[test]
    fn a_job_without_a_run_is_no_mark() {
        assert_eq!(mark(&["RALPH_JOB=3", "X=RALPH_RUN=r-1", ""]), None);
    }

    #[test]
    fn a_run_that_never_was_has_no_survivors() {
        assert_eq!(survivors("a run that never was"), []);
    }
}
