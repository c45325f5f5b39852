//! The marks that every process of a run carries in its environment.
//!
//! Children inherit them, so they are found on processes that have left their parent, their group and
//! their session. They are how recovery finds what a run left behind when its supervisor died with it:
//! by the run, and by the place where loops work, of which only one can be at work at a time. A run
//! that ended before it wrote its name down is found by the place alone.
//!
//! The supervisor has a mark of its own, which nobody inherits: for a moment after ralph was killed it
//! may still start what it was asked for, and until that is another program it looks like the
//! supervisor itself. Recovery must not look away before both are gone.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use super::family::{FamilyProcess, KillTargets, KnownProcesses, freeze_and_kill};
use super::os;

/// The variable with the run's id.
pub const RUN_VARIABLE: &str = "RALPH_RUN";

/// The variable with the number of the job within the run.
pub const JOB_VARIABLE: &str = "RALPH_JOB";

/// The variable with the place where a loop works.
pub const PLACE_VARIABLE: &str = "RALPH_PLACE";

/// The variable of a supervisor: the place and the run whose processes it starts.
pub(super) const WATCH_VARIABLE: &str = "RALPH_WATCHES";

/// Longest wait until killed processes are gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Marks in the environment of a process: its run, job and place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessMark {
    pub(super) run: String,
    pub(super) job: Option<u64>,
    pub(super) place: Option<String>,
    /// The place and the run that it supervises.
    pub(super) watches: Option<(String, String)>,
}

impl ProcessMark {
    /// The mark among these `NAME=value` variables.
    pub(super) fn of_variables<'a>(variables: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let (mut run, mut job, mut place, mut watches) = (None, None, None, None);
        for variable in variables {
            let Ok(text) = str::from_utf8(variable) else { continue };
            match text.split_once('=') {
                Some((RUN_VARIABLE, value)) => run = Some(value.to_owned()),
                Some((JOB_VARIABLE, value)) => job = value.parse().ok(),
                Some((PLACE_VARIABLE, value)) => place = Some(value.to_owned()),
                Some((WATCH_VARIABLE, value)) => watches = value.split_once(' '),
                _ => {}
            }
        }
        let watches = watches.map(|(place, run)| (place.to_owned(), run.to_owned()));
        let run = run.or_else(|| watches.is_some().then(String::new));
        run.map(|run| Self { run, job, place, watches })
    }
}

#[derive(Clone, Copy, Debug)]
enum ProcessMarkFilter<'a> {
    /// Processes of this run.
    Run(&'a str),
    /// Those of one job of a run.
    Job(&'a str, u64),
    /// Those of any other run than this one at this place.
    Others { place: &'a str, run: &'a str },
}

impl ProcessMarkFilter<'_> {
    fn is(self, mark: &ProcessMark) -> bool {
        match self {
            // A supervisor has no run of its own: without a name, those of everybody would be meant.
            Self::Run(run) => !run.is_empty() && mark.run == run,
            Self::Job(run, job) => mark.run == run && mark.job == Some(job),
            Self::Others { place, run } => {
                let supervises = mark.watches.as_ref().is_some_and(|(p, r)| p == place && r != run);
                supervises || mark.place.as_deref() == Some(place) && mark.run != run
            }
        }
    }
}

/// The mark of a place: the same for the same directory, whatever it is called.
pub fn place_of(directory: &Path) -> String {
    let real = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let bytes = real.as_os_str().as_encoded_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// A process that still carries a run's mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurvivingProcess {
    pub pid: i32,
    /// Name of the program.
    pub name: String,
}

/// The processes that carry the mark of this run, this one excepted.
pub fn survivors(run: &str) -> Vec<SurvivingProcess> {
    of_run(run)
        .into_iter()
        .map(|p| SurvivingProcess { pid: p.pid, name: os::name(p.pid) })
        .collect()
}

/// The processes that carry the mark of this place and of another run than `run`, this one excepted.
pub fn others_at(place: &str, run: &str) -> Vec<SurvivingProcess> {
    let all = marked(ProcessMarkFilter::Others { place, run });
    all.into_iter().map(|p| SurvivingProcess { pid: p.pid, name: os::name(p.pid) }).collect()
}

/// Kill every process that carries the mark of this run. Gives how many there were, and how many
/// are still there because they could not be killed.
pub fn kill_survivors(run: &str) -> (usize, usize) {
    kill(ProcessMarkFilter::Run(run))
}

/// Kill every process that carries the mark of this place and of another run than `run`. For
/// whoever holds the lock of the place: then none of them has a loop any more.
pub fn kill_others_at(place: &str, run: &str) -> (usize, usize) {
    kill(ProcessMarkFilter::Others { place, run })
}

/// Kill every process of one job of a run.
pub(super) fn kill_job(run: &str, job: u64) -> (usize, usize) {
    kill(ProcessMarkFilter::Job(run, job))
}

fn kill(wanted: ProcessMarkFilter<'_>) -> (usize, usize) {
    let mut killed = KnownProcesses::new();
    if marked(wanted).is_empty() {
        return (0, 0);
    }
    let until = Instant::now() + PATIENCE;
    loop {
        // Their groups may hold others: nobody knows here who started them.
        let mut find = || KillTargets { processes: marked(wanted), ..KillTargets::default() };
        freeze_and_kill(&mut find, &mut killed);
        let left = marked(wanted).len();
        if left == 0 || Instant::now() >= until {
            return (killed.len(), left);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Find the processes that carry the mark of a run.
pub(super) fn of_run(run: &str) -> Vec<FamilyProcess> {
    marked(ProcessMarkFilter::Run(run))
}

/// Dead processes have no environment, so they are not in this list; neither are this process, its own
/// supervisor, and those that it descends from, which are somebody's own.
fn marked(wanted: ProcessMarkFilter<'_>) -> Vec<FamilyProcess> {
    let mut all = os::processes();
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let ours = lineage(&all, me);
    all.retain(|p| !ours.contains(&p.pid));
    let marks = os::marks(&all.iter().map(|p| p.pid).collect::<Vec<_>>());
    let own_supervisor =
        |p: &FamilyProcess, mark: &ProcessMark| p.parent == me && mark.watches.is_some();
    let is = |p: &FamilyProcess| {
        marks.get(&p.pid).is_some_and(|mark| wanted.is(mark) && !own_supervisor(p, mark))
    };
    all.retain(is);
    all
}

/// Whether this process descends from that one. An orphan comes to the supervisor of its run, which is
/// a child of the loop; where the system has no such thing (macOS), it is not known any more.
pub fn descends_from(pid: u32) -> bool {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let ancestor = i32::try_from(pid).unwrap_or_default();
    me != ancestor && lineage(&os::processes(), me).contains(&ancestor)
}

/// A process, its parent, and so on.
pub(super) fn lineage(all: &[FamilyProcess], pid: i32) -> BTreeSet<i32> {
    let (mut ours, mut next) = (BTreeSet::new(), Some(pid));
    while let Some(pid) = next.filter(|pid| ours.insert(*pid)) {
        next = all.iter().find(|p| p.pid == pid).map(|p| p.parent);
    }
    ours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(variables: &[&str]) -> Option<ProcessMark> {
        ProcessMark::of_variables(variables.iter().map(|v| v.as_bytes()))
    }

    #[test]
    fn the_mark_is_the_run_and_the_job() {
        assert_eq!(
            mark(&["PATH=/bin", "RALPH_RUN=r-1", "RALPH_JOB=3", "RALPH_RUNNER=x"]),
            Some(ProcessMark { run: "r-1".into(), job: Some(3), place: None, watches: None })
        );
        let place = Some("p".to_owned());
        assert_eq!(
            mark(&["RALPH_PLACE=p", "RALPH_RUN=r-1"]),
            Some(ProcessMark { run: "r-1".into(), job: None, place, watches: None })
        );
    }

    #[test]
    fn of_a_place_only_the_processes_of_other_runs_are_meant() {
        let others = ProcessMarkFilter::Others { place: "here", run: "ours" };
        let is = |variables: &[&str]| others.is(&mark(variables).unwrap());
        assert!(is(&["RALPH_PLACE=here", "RALPH_RUN=another"]));
        assert!(!is(&["RALPH_PLACE=here", "RALPH_RUN=ours"]));
        assert!(!is(&["RALPH_PLACE=elsewhere", "RALPH_RUN=another"]));
        assert!(!is(&["RALPH_RUN=another"]));
        assert!(is(&["RALPH_WATCHES=here another"]), "who starts them");
        assert!(is(&["RALPH_WATCHES=here another", "RALPH_PLACE=outside", "RALPH_RUN=outer"]));
        assert!(!is(&["RALPH_WATCHES=here ours"]), "our own supervisor");
        assert!(!is(&["RALPH_WATCHES=elsewhere another"]));
        let nobody = ProcessMarkFilter::Run("");
        assert!(!nobody.is(&mark(&["RALPH_WATCHES=here another"]).unwrap()), "everybody's");
        let outer = ProcessMarkFilter::Run("outer");
        assert!(outer.is(&mark(&["RALPH_WATCHES=here ours", "RALPH_RUN=outer"]).unwrap()));
    }

    #[test]
    fn whoever_asks_and_its_ancestors_are_never_meant() {
        let process =
            |pid, parent| FamilyProcess { pid, parent, group: 1, started: 0, dead: false };
        let all = [process(1, 0), process(5, 1), process(7, 5), process(8, 5)];
        assert_eq!(lineage(&all, 7), BTreeSet::from([0, 1, 5, 7]));
        let strange = [process(2, 3), process(3, 2)];
        assert_eq!(lineage(&strange, 2), BTreeSet::from([2, 3]), "and a circle ends");
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
