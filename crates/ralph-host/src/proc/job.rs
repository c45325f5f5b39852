//! A program to run, and how it went.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ralph_core::backend::{BackendExit, StopCause};

use super::lines::JobOutputLine;
use super::pump::JobInput;
use super::wire::SweepCounts;

/// A variable and its value; without one the variable is taken away.
pub type EnvChange = (OsString, Option<OsString>);

/// Program to run, with its input, log and limits.
#[derive(Clone, Debug)]
pub struct Job {
    /// A name on the PATH, or a path relative to `cwd`.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Changes to ralph's own environment; `None` takes a variable away.
    pub env: Vec<EnvChange>,
    /// Working directory of the program.
    pub cwd: PathBuf,
    pub stdin: JobStdin,
    pub stderr: JobStderr,
    /// A file that its output is added to, without secrets.
    pub log: Option<PathBuf>,
    /// Whether there is one without output too.
    pub empty_log: EmptyLogPolicy,
    pub bounds: JobBounds,
    /// A way to end it from elsewhere.
    pub cancel: CancelToken,
}

/// Data that a program gets on its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobStdin {
    /// Nothing: `/dev/null`.
    Nothing,
    /// These bytes and then the end.
    Bytes(Vec<u8>),
    /// These bytes, and more through [`JobInput`] until that is closed.
    Open(Vec<u8>),
}

/// Choice between making and omitting the log of a program that writes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyLogPolicy {
    /// Make the log before the program starts, so that others can follow it.
    Made,
    /// Make the log only when there is output.
    Spared,
}

/// Destination of a program's standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStderr {
    /// A stream of its own: to the log and, its end, to [`FinishedJob::stderr_tail`].
    Apart,
    /// Into standard output, in the order of writing, as `2>&1` does.
    Joined,
}

/// Time and size limits of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobBounds {
    /// Longest time that the program may run; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Longest time without output while the program is not busy (see [`JobWatch::is_busy`]). `None` for no
    /// limit.
    pub idle: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Time that the program may still run after the watch said that it is finished.
    pub linger: Duration,
    /// Time that processes of the program may still run after the program itself has exited.
    pub settle: Duration,
    /// Most bytes of a line; the middle of a longer one is left out and counted.
    pub line: usize,
}

impl Default for JobBounds {
    fn default() -> Self {
        Self {
            timeout: None,
            idle: None,
            grace: Duration::from_secs(5),
            linger: Duration::from_secs(5),
            settle: Duration::from_millis(200),
            line: 16 << 20,
        }
    }
}

impl Job {
    /// A job without arguments, input, log or limits.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: cwd.into(),
            stdin: JobStdin::Nothing,
            stderr: JobStderr::Apart,
            empty_log: EmptyLogPolicy::Made,
            log: None,
            bounds: JobBounds::default(),
            cancel: CancelToken::default(),
        }
    }

    /// Add arguments to the command line.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Set an environment variable of the program.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }
}

/// Decision of the watch about a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchDecision {
    /// Let the program run on.
    Continue,
    /// The program has said that it is finished; end it if it lingers.
    Finished,
    /// End it now, for this reason.
    Stop(StopCause),
}

/// Looks at a job while it runs. Every call comes from the thread that called `run`.
pub trait JobWatch {
    /// The program is about to start. Called once, before everything else: time for work that need not wait
    /// for it.
    fn started(&mut self) {}

    /// A line of standard output. After the first `StopCause` lines still come, for the record.
    fn line(&mut self, line: JobOutputLine<'_>, input: &JobInput) -> WatchDecision;

    /// A piece of standard output as it came. Whoever takes it here gets no lines: for programs
    /// whose output is not made of lines.
    fn took(&mut self, piece: &[u8]) -> bool {
        let _ = piece;
        false
    }

    /// Called again and again while the program runs, whether or not it writes. `elapsed` is the
    /// time since its start.
    fn tick(&mut self, elapsed: Duration) -> WatchDecision {
        let _ = elapsed;
        WatchDecision::Continue
    }

    /// The job is about to be ended for this reason. Whoever can ask the program itself to stop does
    /// so here and says how long it may take; then SIGTERM comes as usual.
    fn stopping(&mut self, stop: StopCause, input: &JobInput) -> Duration {
        let _ = (stop, input);
        Duration::ZERO
    }

    /// Whether silence means work, such as a tool call that has not come back.
    fn is_busy(&self) -> bool {
        false
    }
}

impl<F: FnMut(JobOutputLine<'_>) -> WatchDecision> JobWatch for F {
    fn line(&mut self, line: JobOutputLine<'_>, _: &JobInput) -> WatchDecision {
        self(line)
    }
}

/// Ends a job from another thread. Both calls only set a number, so a signal handler may make them.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    own: Arc<AtomicU8>,
    /// Outer [`CancelToken`], which ends this job too.
    outer: Option<Arc<AtomicU8>>,
}

/// Urgency of ending a job, from none to at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CancelUrgency {
    None,
    Soon,
    Now,
}

impl CancelToken {
    /// A way to end one job that is ended with all others, too.
    #[must_use]
    pub fn inner(&self) -> Self {
        Self { own: Arc::default(), outer: Some(self.own.clone()) }
    }

    /// End the job: SIGTERM, grace, SIGKILL.
    pub fn cancel(&self) {
        self.own.fetch_max(1, Ordering::Relaxed);
    }

    /// Kill the job at once, without a grace period.
    pub fn kill(&self) {
        self.own.fetch_max(2, Ordering::Relaxed);
    }

    pub(super) fn urgency(&self) -> CancelUrgency {
        let outer = self.outer.as_ref().map_or(0, |outer| outer.load(Ordering::Relaxed));
        match self.own.load(Ordering::Relaxed).max(outer) {
            0 => CancelUrgency::None,
            1 => CancelUrgency::Soon,
            _ => CancelUrgency::Now,
        }
    }
}

/// Result of a job. None of its processes is running any more, unless `sweep.left` says so.
#[derive(Debug)]
pub struct FinishedJob {
    /// Exit of the program, and whether ralph caused it.
    pub exit: BackendExit,
    /// The end of what it wrote to standard error.
    pub stderr_tail: String,
    /// Bytes it wrote to standard output.
    pub stdout_bytes: u64,
    /// Bytes it wrote to standard error.
    pub stderr_bytes: u64,
    /// Length in bytes of the longest line that was cut; 0 when no line was cut.
    pub longest_cut: u64,
    /// Processes that the program left behind, by the way they ended.
    pub sweep: SweepCounts,
    /// Why the log is not complete.
    pub log_error: Option<io::Error>,
    /// From the start to the end of the last process.
    pub elapsed: Duration,
}
