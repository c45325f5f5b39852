//! A program to run, and how it went.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use ralph_core::backend::{Exit, Stop};

use super::lines::Line;
use super::pump::Input;
use super::wire::Sweep;

/// A variable and its value; without one the variable is taken away.
pub type EnvChange = (OsString, Option<OsString>);

/// A program to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// A name on the PATH, or a path relative to `cwd`.
    pub program: OsString,
    /// Arguments after the program's name.
    pub args: Vec<OsString>,
    /// Changes to ralph's own environment; `None` takes a variable away.
    pub env: Vec<EnvChange>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What it reads.
    pub stdin: Stdin,
    /// Where its standard error goes.
    pub stderr: Stderr,
    /// A file that its output is added to, without secrets.
    pub log: Option<PathBuf>,
    /// Whether there is one without output too.
    pub empty_log: EmptyLog,
    /// What it may use.
    pub bounds: Bounds,
    /// A way to end it from elsewhere.
    pub cancel: Cancel,
}

/// What a program reads from its standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    Nothing,
    /// These bytes and then the end.
    Bytes(Vec<u8>),
    /// These bytes, and more through [`Input`] until that is closed.
    Open(Vec<u8>),
}

/// What becomes of the log of a program that says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyLog {
    /// It is there, and before the program starts: others may read along.
    Made,
    /// It is not there.
    Spared,
}

/// Where a program's standard error goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stderr {
    /// A stream of its own: to the log and, its end, to [`Finished::stderr_tail`].
    Apart,
    /// Into standard output, in the order of writing, as `2>&1` does.
    Joined,
}

/// What a job may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How long it may be silent while it is not busy (see [`Watch::is_busy`]).
    pub idle: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub grace: Duration,
    /// How long the program may stay after the watch said that it is finished.
    pub linger: Duration,
    /// How long the processes it started may go on after its own exit.
    pub settle: Duration,
    /// Most bytes of a line; the middle of a longer one is left out and counted.
    pub line: usize,
}

impl Default for Bounds {
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
            stdin: Stdin::Nothing,
            stderr: Stderr::Apart,
            empty_log: EmptyLog::Made,
            log: None,
            bounds: Bounds::default(),
            cancel: Cancel::default(),
        }
    }

    /// With these arguments added.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// With this variable set.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), Some(value.into())));
        self
    }
}

/// What the watch over a job wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Go on.
    Continue,
    /// The program has said that it is finished; end it if it lingers.
    Finished,
    /// End it now, for this reason.
    Stop(Stop),
}

/// Looks at a job while it runs. Every call comes from the thread that called `run`.
pub trait Watch {
    /// The program is about to start. Called once, before everything else: time for work that need not wait
    /// for it.
    fn started(&mut self) {}

    /// A line of standard output. After the first `Stop` lines still come, for the record.
    fn line(&mut self, line: Line<'_>, input: &Input) -> Step;

    /// A piece of standard output as it came. Whoever takes it here gets no lines: for programs
    /// whose output is not made of lines.
    fn took(&mut self, piece: &[u8]) -> bool {
        let _ = piece;
        false
    }

    /// Called again and again while the program runs, whether or not it writes. `elapsed` is the
    /// time since its start.
    fn tick(&mut self, elapsed: Duration) -> Step {
        let _ = elapsed;
        Step::Continue
    }

    /// The job is about to be ended for this reason. Whoever can ask the program itself to stop does
    /// so here and says how long it may take; then SIGTERM comes as usual.
    fn stopping(&mut self, stop: Stop, input: &Input) -> Duration {
        let _ = (stop, input);
        Duration::ZERO
    }

    /// Whether silence means work, such as a tool call that has not come back.
    fn is_busy(&self) -> bool {
        false
    }
}

impl<F: FnMut(Line<'_>) -> Step> Watch for F {
    fn line(&mut self, line: Line<'_>, _: &Input) -> Step {
        self(line)
    }
}

/// Ends a job from another thread. Both calls only set a number, so a signal handler may make them.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    own: Arc<AtomicU8>,
    /// Whoever ends this ends it too.
    outer: Option<Arc<AtomicU8>>,
}

/// How urgent the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    None,
    Soon,
    Now,
}

impl Cancel {
    /// A way to end one job that is ended with all others, too.
    #[must_use]
    pub fn inner(&self) -> Self {
        Self { own: Arc::default(), outer: Some(self.own.clone()) }
    }

    /// End the job: SIGTERM, grace, SIGKILL.
    pub fn cancel(&self) {
        self.own.fetch_max(1, Ordering::Relaxed);
    }

    /// Kill the job without grace.
    pub fn kill(&self) {
        self.own.fetch_max(2, Ordering::Relaxed);
    }

    pub(super) fn urgency(&self) -> Urgency {
        let outer = self.outer.as_ref().map_or(0, |outer| outer.load(Ordering::Relaxed));
        match self.own.load(Ordering::Relaxed).max(outer) {
            0 => Urgency::None,
            1 => Urgency::Soon,
            _ => Urgency::Now,
        }
    }
}

/// How a job went. Nothing of it is running any more, unless `sweep.left` says so.
#[derive(Debug)]
pub struct Finished {
    /// How the program ended, and whether that was ralph's doing.
    pub exit: Exit,
    /// The end of what it wrote to standard error.
    pub stderr_tail: String,
    /// Bytes it wrote to standard output.
    pub stdout_bytes: u64,
    /// Bytes it wrote to standard error.
    pub stderr_bytes: u64,
    /// How long the longest line was of those over the bound; 0 when there was none.
    pub longest_cut: u64,
    /// What it left behind, and what became of that.
    pub sweep: Sweep,
    /// Why the log is not complete.
    pub log_error: Option<io::Error>,
    /// From the start to the end of the last process.
    pub elapsed: Duration,
}
