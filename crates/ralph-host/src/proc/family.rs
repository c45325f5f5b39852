//! Assignment of processes to jobs.
//!
//! # Theory of operation
//!
//! A process belongs to a job when the job's program is among its ancestors. A process that lost its
//! parent has become a child of the supervisor. It belongs to the job in which it was seen before,
//! or whose process group it is in, or whose mark is in its environment. While only one job runs,
//! every process below the supervisor belongs to it, so a single job needs no evidence. While
//! several jobs run, a process may leave its parent, group and environment before anybody looked.
//! Such a process belongs to no job. It is ended with the last of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::os;

/// A process, as far as belonging goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FamilyProcess {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// When it was started, on a clock of the system's own; with the pid it names one process for
    /// good. 0 where the system does not say.
    pub(super) started: u64,
    /// Process that has ended and that its parent has not reaped yet.
    pub(super) dead: bool,
}

impl FamilyProcess {
    fn key(&self) -> (i32, u64) {
        (self.pid, self.started)
    }
}

/// Set of processes, by pid and start time.
pub(super) type KnownProcesses = BTreeSet<(i32, u64)>;

/// The jobs by the pid of their program, which stays here after the program's exit.
pub(super) type JobRoots = BTreeMap<i32, u64>;

/// Longest time that is spent on stopping a family that keeps growing. After it, the family is killed
/// as it is and looked at again.
const FREEZING: Duration = Duration::from_secs(1);

/// Processes below one supervisor, sorted by job.
#[derive(Debug)]
pub(super) struct ProcessFamilies {
    me: i32,
    group: i32,
    run: String,
    seen: BTreeMap<(i32, u64), u64>,
}

impl ProcessFamilies {
    pub(super) fn new(run: &str) -> Self {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        Self { me, group, run: run.to_owned(), seen: BTreeMap::new() }
    }

    /// Look at all processes and sort them by job.
    pub(super) fn sort(&mut self, roots: &JobRoots) -> BTreeMap<u64, Vec<FamilyProcess>> {
        let all = os::processes();
        let marks = |pids: &[i32]| {
            let ours = os::marks(pids).into_iter().filter(|(_, mark)| mark.run == self.run);
            ours.filter_map(|(pid, mark)| Some((pid, mark.job?))).collect()
        };
        let sorted = sort(&all, self.me, roots, &self.seen, marks);
        self.seen = sorted
            .iter()
            .flat_map(|(job, family)| family.iter().map(|p| (p.key(), *job)))
            .collect();
        sorted
    }

    /// Return the processes and process groups of one job, to end them.
    pub(super) fn prey(&mut self, job: u64, roots: &JobRoots) -> KillTargets {
        let processes = self.sort(roots).remove(&job).unwrap_or_default();
        let groups = self.groups(&processes);
        KillTargets { processes, groups }
    }

    /// Everything below the supervisor and everything that carries the run's mark.
    pub(super) fn all(&self, roots: &JobRoots) -> KillTargets {
        let all = os::processes();
        let by_pid: BTreeMap<i32, &FamilyProcess> = all.iter().map(|p| (p.pid, p)).collect();
        let is_below = |p: &&FamilyProcess| {
            let below = top(p, self.me, &by_pid).is_some_and(|top| top.parent == self.me);
            below || roots.contains_key(&p.group)
        };
        let mut processes: Vec<FamilyProcess> = all.iter().filter(is_below).copied().collect();
        let groups = self.groups(&processes);
        processes.extend(super::mark::of_run(&self.run));
        processes.sort_unstable();
        processes.dedup_by_key(|p| p.key());
        KillTargets { processes, groups }
    }

    /// The groups of these. The supervisor has a session of its own, so there is nobody else in them
    /// but descendants of it.
    fn groups(&self, processes: &[FamilyProcess]) -> BTreeSet<i32> {
        let groups = processes.iter().map(|p| p.group);
        groups.filter(|group| *group > 1 && *group != self.group).collect()
    }
}

/// The highest ancestor of a process below the supervisor, or below the system's first process
/// where orphans go there.
fn top<'a>(
    process: &'a FamilyProcess,
    me: i32,
    all: &BTreeMap<i32, &'a FamilyProcess>,
) -> Option<&'a FamilyProcess> {
    let mut here = process;
    // The list was not made in one moment, so it may hold a circle.
    for _ in 0..=all.len() {
        if here.parent == me || (!os::ORPHANS_COME_HOME && here.parent == 1) {
            return Some(here);
        }
        here = all.get(&here.parent)?;
    }
    None
}

fn sort(
    all: &[FamilyProcess],
    me: i32,
    roots: &JobRoots,
    seen: &BTreeMap<(i32, u64), u64>,
    marks: impl FnOnce(&[i32]) -> BTreeMap<i32, u64>,
) -> BTreeMap<u64, Vec<FamilyProcess>> {
    let by_pid: BTreeMap<i32, &FamilyProcess> = all.iter().map(|p| (p.pid, p)).collect();
    let below: Vec<(&FamilyProcess, &FamilyProcess)> =
        all.iter().filter_map(|p| Some((p, top(p, me, &by_pid)?))).collect();
    let mut owners: BTreeMap<i32, u64> = BTreeMap::new();
    let mut strangers = Vec::new();
    let sole = (roots.len() == 1).then(|| roots.values().next().copied()).flatten();
    for (_, top) in &below {
        let known = (top.started != 0).then(|| seen.get(&top.key())).flatten();
        let root = roots.get(&top.pid).filter(|_| top.parent == me);
        let owner = root.or(known).or_else(|| roots.get(&top.group)).copied();
        match owner.or(sole.filter(|_| top.parent == me)) {
            Some(job) => _ = owners.insert(top.pid, job),
            None => strangers.push(top.pid),
        }
    }
    if !strangers.is_empty() {
        strangers.sort_unstable();
        strangers.dedup();
        owners.extend(marks(&strangers));
    }
    let mut sorted: BTreeMap<u64, Vec<FamilyProcess>> = BTreeMap::new();
    for (process, top) in below {
        if let Some(job) = owners.get(&top.pid) {
            sorted.entry(*job).or_default().push(*process);
        }
    }
    sorted
}

/// Ask all of them to end; those that are stopped have to run to hear it. `told` collects who was
/// alive to be asked.
pub(super) fn terminate(family: &[FamilyProcess], told: &mut KnownProcesses) {
    for process in family {
        if os::signal(process, Signal::TERM) && !process.dead {
            told.insert(process.key());
        }
        os::signal(process, Signal::CONT);
    }
}

/// Processes and process groups that will be ended.
#[derive(Debug, Default)]
pub(super) struct KillTargets {
    pub(super) processes: Vec<FamilyProcess>,
    /// Process groups that nobody else is in. The kernel signals a group in one moment, so that a
    /// process cannot get away by forking between our looking and our killing.
    pub(super) groups: BTreeSet<i32>,
}

/// Kill all that `find` gives. They are stopped first, because a family that forks faster than it
/// is killed would never end. `killed` collects who was alive to be killed.
pub(super) fn freeze_and_kill(find: &mut dyn FnMut() -> KillTargets, killed: &mut KnownProcesses) {
    let mut stopped: BTreeMap<(i32, u64), FamilyProcess> = BTreeMap::new();
    let mut groups = BTreeSet::new();
    let until = Instant::now() + FREEZING;
    loop {
        let mut prey = find();
        prey.processes.retain(|process| stopped.insert(process.key(), *process).is_none());
        signal_groups(&prey.groups, Signal::STOP);
        groups.extend(prey.groups);
        for process in &prey.processes {
            os::signal(process, Signal::STOP);
        }
        if prey.processes.is_empty() || Instant::now() >= until {
            break;
        }
    }
    signal_groups(&groups, Signal::KILL);
    for process in stopped.values() {
        // One that the group's signal has reached already is a zombie at most, and still there.
        if os::signal(process, Signal::KILL) && !process.dead {
            killed.insert(process.key());
        }
    }
}

fn signal_groups(groups: &BTreeSet<i32>, signal: Signal) {
    for group in groups.iter().filter_map(|group| Pid::from_raw(*group)) {
        // A group that is empty by now is no error.
        let _empty = rustix::process::kill_process_group(group, signal);
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "family_tests.rs"]
mod tests;
