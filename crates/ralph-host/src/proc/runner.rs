//! The one way to run a program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_core::backend::{BackendExit, ProcessEnding};

use super::attend::JobAttendant;
use super::error::ProcError;
use super::find::find_program;
use super::job::{EmptyLogPolicy, FinishedJob, Job, JobWatch, WatchDecision};
use super::lines::JobOutputLine;
use super::link::SupervisorLink;
use super::mark::{JOB_VARIABLE, PLACE_VARIABLE, RUN_VARIABLE, place_of};
use super::pump::JobInput;
use super::scratch::ScratchDirectory;
use super::tee::LogTee;
use super::wire::{SpawnRequest, SweepCounts};

/// The longest grace that counts, so that adding it to a clock can never overflow.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs programs under one supervisor, which is started with the first of them. Any number of
/// threads may run jobs at once. Dropping it ends whatever still runs.
#[derive(Debug)]
pub struct JobRunner {
    run: String,
    place: Option<String>,
    /// Environment variables that no program gets, because they are secrets.
    hidden: Vec<OsString>,
    supervisor: PathBuf,
    link: Mutex<Option<Arc<SupervisorLink>>>,
    jobs: AtomicU64,
    scratches: AtomicU64,
    /// Most bytes that are kept of a log.
    max_log: AtomicU64,
}

impl JobRunner {
    /// A runner whose processes carry the mark of `run`. The supervisor is this very program, so
    /// its `main` has to begin with [`super::supervise_if_asked`].
    pub fn new(run: impl Into<String>) -> Self {
        Self::with_supervisor(run, own_program())
    }

    /// The same with another program as the supervisor; for tests, which are not ralph.
    pub fn with_supervisor(run: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        let (run, supervisor) = (run.into(), program.into());
        let (link, jobs, scratches) = (Mutex::new(None), AtomicU64::new(1), AtomicU64::new(1));
        let max_log = AtomicU64::new(super::log_file::MOST);
        Self { run, place: None, hidden: Vec::new(), supervisor, link, jobs, scratches, max_log }
    }

    /// The runner of whoever holds the lock of the run at this directory: its processes carry the mark
    /// of the place too, and the next to hold the lock ends those that are left. So nothing may run
    /// before the lock is taken, or after it was given back.
    #[must_use]
    pub fn at(mut self, directory: &Path) -> Self {
        self.place = Some(place_of(directory));
        self
    }

    /// Keep these variables of ralph's own environment from every program: they are secrets that only
    /// ralph needs.
    #[must_use]
    pub fn hiding(mut self, names: impl IntoIterator<Item = OsString>) -> Self {
        self.hidden.extend(names);
        self
    }

    /// Of every log keep the head and the tail, so many bytes of it.
    pub fn keep_of_logs(&self, most: u64) {
        self.max_log.store(most, Ordering::Relaxed);
    }

    /// The run whose mark every process carries.
    pub fn run_id(&self) -> &str {
        &self.run
    }

    /// The place whose mark every process carries, if there is one.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// Return the number of programs that were started so far.
    pub fn started(&self) -> u64 {
        self.jobs.load(Ordering::Relaxed) - 1
    }

    /// A private directory below `parent` for one job. It has a name and is not there yet.
    pub fn scratch(&self, parent: &Path) -> Result<ScratchDirectory, ProcError> {
        let number = self.scratches.fetch_add(1, Ordering::Relaxed);
        ScratchDirectory::named(parent, &format!("run-{}-{number}", self.run))
    }

    /// Start the supervisor now, so that the first job does not have to wait for it.
    pub fn warm_up(&self) -> Result<(), ProcError> {
        self.link().map(drop)
    }

    /// End the supervisor and whatever still runs. The next job starts another.
    pub fn rest(&self) {
        drop(self.link.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Run a program to its end, and to the end of every process that it started.
    pub fn run(&self, job: &Job, watch: &mut dyn JobWatch) -> Result<FinishedJob, ProcError> {
        if !job.cwd.is_dir() {
            return Err(ProcError::Directory(job.cwd.clone()));
        }
        let cwd = std::path::absolute(&job.cwd).unwrap_or_else(|_| job.cwd.clone());
        let Some(program) = find_program(&job.program, path_of(job).as_deref(), &cwd) else {
            return Ok(not_found());
        };
        let most = self.max_log.load(Ordering::Relaxed);
        let tee = match (&job.log, job.empty_log) {
            (Some(path), EmptyLogPolicy::Made) => LogTee::open(path, most)
                .map_err(|source| ProcError::Log { path: path.clone(), source })?,
            (Some(path), EmptyLogPolicy::Spared) => LogTee::later(path, most),
            (None, _) => LogTee::none(),
        };
        let number = self.jobs.fetch_add(1, Ordering::Relaxed);
        let mut env: Vec<_> = self.hidden.iter().map(|name| (name.clone(), None)).collect();
        env.extend(job.env.iter().cloned());
        env.push((RUN_VARIABLE.into(), Some(self.run.clone().into())));
        env.push((JOB_VARIABLE.into(), Some(number.to_string().into())));
        if let Some(place) = &self.place {
            env.push((PLACE_VARIABLE.into(), Some(place.into())));
        }
        let spawn = SpawnRequest {
            job: number,
            program,
            name: job.program.clone(),
            args: job.args.clone(),
            env,
            cwd,
            settle: job.bounds.settle.min(LONGEST),
            grace: job.bounds.grace.min(LONGEST),
        };
        JobAttendant::start(self.link()?, &self.run, job, watch, spawn, tee)?.until_the_end()
    }

    /// Run a program to its end and keep every byte that it wrote to standard output.
    pub fn output(&self, job: &Job) -> Result<(FinishedJob, Vec<u8>), ProcError> {
        let mut kept = StdoutCollector(Vec::new());
        let finished = self.run(job, &mut kept)?;
        Ok((finished, kept.0))
    }

    /// The supervisor, which is started when there is none or none any more.
    fn link(&self) -> Result<Arc<SupervisorLink>, ProcError> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = link.as_ref().filter(|link| link.is_up()) {
            return Ok(link.clone());
        }
        let new = SupervisorLink::start(&self.supervisor, &self.run, self.place.as_deref())
            .map_err(ProcError::Supervisor)?;
        Ok(link.insert(Arc::new(new)).clone())
    }
}

/// Watch that keeps everything that a program writes to standard output.
struct StdoutCollector(Vec<u8>);

impl JobWatch for StdoutCollector {
    fn line(&mut self, _: JobOutputLine<'_>, _: &JobInput) -> WatchDecision {
        WatchDecision::Continue
    }

    fn took(&mut self, piece: &[u8]) -> bool {
        self.0.extend_from_slice(piece);
        true
    }
}

/// Not the path it was started from: an update may have put another version there meanwhile.
#[cfg(target_os = "linux")]
fn own_program() -> PathBuf {
    Path::new("/proc/self/exe").to_owned()
}

#[cfg(not(target_os = "linux"))]
fn own_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| Path::new("ralph").to_owned())
}

/// The PATH that the program will see, for looking up the program itself.
fn path_of(job: &Job) -> Option<OsString> {
    let own = job.env.iter().rev().find(|(name, _)| name == OsStr::new("PATH"));
    match own {
        Some((_, value)) => value.clone(),
        None => std::env::var_os("PATH"),
    }
}

fn not_found() -> FinishedJob {
    FinishedJob {
        exit: BackendExit { ending: ProcessEnding::NotFound, stopped: None },
        stderr_tail: String::new(),
        stdout_bytes: 0,
        stderr_bytes: 0,
        longest_cut: 0,
        sweep: SweepCounts::default(),
        log_error: None,
        elapsed: Duration::ZERO,
    }
}
