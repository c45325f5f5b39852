//! The jobs in the supervisor's hands, each on its way from running to gone.
//!
//! ```text
//! Running --its program exits--> Settling --somebody is left--> Terminating --grace over--> Killing
//!    \------------------------------- End is asked ------------------^
//! ```
//!
//! Whatever the phase, a job is gone when its program has exited and nobody of its family is left.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use ralph_core::backend::ProcessEnding;
use rustix::io::Errno;
use rustix::process::{WaitOptions, WaitStatus};

use super::family::{
    FamilyProcess, JobRoots, KillTargets, KnownProcesses, ProcessFamilies, freeze_and_kill,
    terminate,
};
use super::mark::WATCH_VARIABLE;
use super::supervise::PATIENCE;
use super::wire::{SpawnRequest, SupervisorNotice, SupervisorRequest, SweepCounts};
use super::{channel, os};

/// Time between two looks at a job that is ending, when no signal reports a change.
const ENDING_TICK: Duration = Duration::from_millis(50);

/// Time between two looks at the families of several jobs, which tell their orphans apart later.
const NOTING_TICK: Duration = Duration::from_secs(1);

pub(super) struct SupervisorState {
    control: UnixStream,
    /// Messages that are sent to ralph together. Each separate message would wake it up.
    told: Vec<u8>,
    families: ProcessFamilies,
    jobs: BTreeMap<u64, SupervisedJob>,
    noted: Instant,
    /// There is no child at all. Where orphans come home, this proves that there is no descendant.
    childless: bool,
}

struct SupervisedJob {
    root: i32,
    settle: Duration,
    grace: Duration,
    exited: bool,
    phase: SupervisedJobPhase,
    told: KnownProcesses,
    killed: KnownProcesses,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SupervisedJobPhase {
    Running,
    Settling { until: Instant },
    Terminating { until: Instant },
    Killing { until: Instant },
}

/// Ralph is gone, or talks nonsense.
#[derive(Debug)]
pub(super) struct RalphLost;

impl From<io::Error> for RalphLost {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl SupervisorState {
    pub(super) fn new(run: &str, control: UnixStream) -> Self {
        let families = ProcessFamilies::new(run);
        let (told, jobs, noted) = (Vec::new(), BTreeMap::new(), Instant::now());
        Self { control, told, families, jobs, noted, childless: true }
    }

    /// When to look again even if nothing happens.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let now = Instant::now();
        if self.jobs.values().any(|job| job.phase != SupervisedJobPhase::Running) {
            return Some(now + ENDING_TICK);
        }
        (self.jobs.len() > 1).then(|| self.noted + NOTING_TICK)
    }

    /// Take notice of the dead and move every job on.
    pub(super) fn turn(&mut self, now: Instant) -> Result<(), RalphLost> {
        self.reap(now)?;
        self.step(now);
        let told = std::mem::take(&mut self.told);
        Ok((&mut &self.control).write_all(&told)?)
    }

    /// Carry out the next request from ralph.
    pub(super) fn serve(&mut self, now: Instant) -> Result<(), RalphLost> {
        let frame = channel::receive(&self.control)?.ok_or(RalphLost)?;
        match SupervisorRequest::decode(&frame.body).ok_or(RalphLost)? {
            SupervisorRequest::Spawn(spawn) => self.spawn(spawn, frame.files),
            SupervisorRequest::End { job, grace } => {
                self.end(job, grace, now);
                Ok(())
            }
        }
    }

    fn spawn(&mut self, spawn: SpawnRequest, files: Vec<OwnedFd>) -> Result<(), RalphLost> {
        let streams = <[OwnedFd; 3]>::try_from(files).map_err(|_| RalphLost)?;
        let job = spawn.job;
        match start(&spawn, streams) {
            Ok(pid) => {
                self.childless = false;
                let root = i32::try_from(pid).map_err(|_| RalphLost)?;
                let SpawnRequest { settle, grace, .. } = spawn;
                let (told, killed) = (KnownProcesses::new(), KnownProcesses::new());
                let phase = SupervisedJobPhase::Running;
                let kept =
                    SupervisedJob { root, settle, grace, exited: false, phase, told, killed };
                self.jobs.insert(job, kept);
            }
            Err(e) => self
                .tell(SupervisorNotice::NotStarted { job, errno: e.raw_os_error().unwrap_or(0) }),
        }
        Ok(())
    }

    fn end(&mut self, job: u64, grace: Duration, now: Instant) {
        let roots = self.roots();
        let Some(kept) = self.jobs.get_mut(&job) else { return };
        let until = now + grace;
        match kept.phase {
            SupervisedJobPhase::Killing { .. } => {}
            SupervisedJobPhase::Terminating { until: old } => {
                kept.phase = SupervisedJobPhase::Terminating { until: old.min(until) };
            }
            SupervisedJobPhase::Running | SupervisedJobPhase::Settling { .. } => {
                let family = self.families.sort(&roots).remove(&job).unwrap_or_default();
                terminate(&family, &mut kept.told);
                kept.phase = SupervisedJobPhase::Terminating { until };
            }
        }
    }

    /// Take notice of every child that has ended, ours and adopted ones.
    fn reap(&mut self, now: Instant) -> Result<(), RalphLost> {
        loop {
            let (pid, status) = match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(dead)) => dead,
                Ok(None) => return Ok(()),
                Err(Errno::CHILD) => {
                    self.childless = true;
                    return Ok(());
                }
                Err(Errno::INTR) => continue,
                Err(e) => return Err(io::Error::from(e).into()),
            };
            let pid = pid.as_raw_nonzero().get();
            let of = self.jobs.iter_mut().find(|(_, kept)| kept.root == pid && !kept.exited);
            if let Some((job, kept)) = of {
                kept.exited = true;
                if kept.phase == SupervisedJobPhase::Running {
                    kept.phase = SupervisedJobPhase::Settling { until: now + kept.settle };
                }
                let told = SupervisorNotice::Exited { job: *job, ending: ending(status) };
                self.tell(told);
            }
        }
    }

    /// Move every job that is ending on.
    fn step(&mut self, now: Instant) {
        let ending = self.jobs.values().any(|kept| kept.phase != SupervisedJobPhase::Running);
        let noting = self.jobs.len() > 1 && now >= self.noted + NOTING_TICK;
        if !ending && !noting {
            return;
        }
        self.noted = now;
        let roots = self.roots();
        let nobody = self.childless && os::ORPHANS_COME_HOME;
        let mut families = if nobody { BTreeMap::new() } else { self.families.sort(&roots) };
        let mut gone = Vec::new();
        for (job, kept) in
            self.jobs.iter_mut().filter(|(_, kept)| kept.phase != SupervisedJobPhase::Running)
        {
            let left = families.remove(job).unwrap_or_default();
            let mut find = || self.families.prey(*job, &roots);
            if kept.is_over(&left, now, &mut find) {
                gone.push(SupervisorNotice::Gone { job: *job, sweep: kept.sweep(left.len()) });
            }
        }
        for told in gone {
            self.jobs.remove(&told.job());
            self.tell(told);
        }
    }

    /// One round of killing all there is. Says whether nobody is left.
    pub(super) fn kill_all(&mut self) -> bool {
        let _nobody_listens = self.reap(Instant::now());
        let roots = self.roots();
        let mut find = || self.families.all(&roots);
        if self.childless && find().processes.is_empty() {
            return true;
        }
        freeze_and_kill(&mut find, &mut KnownProcesses::new());
        false
    }

    fn roots(&self) -> JobRoots {
        self.jobs.iter().map(|(job, kept)| (kept.root, *job)).collect()
    }

    fn tell(&mut self, told: SupervisorNotice) {
        self.told.extend(channel::frame(&told.encode()));
    }
}

impl SupervisedJob {
    /// Do what the hour asks for with those that are `left`. Says whether the job is over.
    fn is_over(
        &mut self,
        left: &[FamilyProcess],
        now: Instant,
        find: &mut dyn FnMut() -> KillTargets,
    ) -> bool {
        if self.exited && left.is_empty() {
            return true;
        }
        match self.phase {
            SupervisedJobPhase::Settling { until } if now >= until => {
                terminate(left, &mut self.told);
                self.phase = SupervisedJobPhase::Terminating { until: now + self.grace };
            }
            SupervisedJobPhase::Terminating { until } if now >= until => {
                freeze_and_kill(find, &mut self.killed);
                self.phase = SupervisedJobPhase::Killing { until: now + PATIENCE };
            }
            SupervisedJobPhase::Killing { until } if now >= until => return true,
            SupervisedJobPhase::Killing { .. } => freeze_and_kill(find, &mut self.killed),
            SupervisedJobPhase::Running
            | SupervisedJobPhase::Settling { .. }
            | SupervisedJobPhase::Terminating { .. } => {}
        }
        false
    }

    /// The program itself does not count: how it ended is told apart.
    fn sweep(&self, left: usize) -> SweepCounts {
        let count =
            |known: &KnownProcesses| known.iter().filter(|(pid, _)| *pid != self.root).count();
        SweepCounts {
            told: count(&self.told) as u64,
            killed: count(&self.killed) as u64,
            left: left as u64,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this room is the one that spawns")]
fn start(spawn: &SpawnRequest, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<u32> {
    let mut command = Command::new(&spawn.program);
    command.arg0(&spawn.name).args(&spawn.args).current_dir(&spawn.cwd).process_group(0);
    for (name, value) in &spawn.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env_remove(WATCH_VARIABLE);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    Ok(command.spawn()?.id())
}

fn ending(status: WaitStatus) -> ProcessEnding {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProcessEnding::Code(code),
        (None, Some(signal)) => ProcessEnding::Signal(signal),
        (None, None) => ProcessEnding::Code(-1),
    }
}
