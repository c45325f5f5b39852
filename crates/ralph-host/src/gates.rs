//! Running gates: a shell command each, its output to a log and, line by line, to the core.
//!
//! # Theory of operation
//!
//! ```text
//! Gate --sh -c, under the runner--> lines --> log file (all of it)
//!                                         \-> OutputReader (bounded) --> GateRunResult
//!                                         \-> whoever listens
//! ```
//!
//! A gate is somebody's test suite: it may hang, leave servers behind, or write for ever. The runner
//! ends all of that ([`crate::proc`]); here a gate gets an empty input, its own timeout, and
//! `RALPH_GATE=1` in its environment. Whether it ended well is the core's to judge: a gate that cannot
//! be started is a red check and not an error. An error means that ralph itself could not work.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ralph_core::backend::{ProcessEnding, StopCause};
use ralph_core::config::GateStrategy;
use ralph_core::dashboard::redact::{OpenPemKey, Redactor};
use ralph_core::gate::{
    self, Gate, GateCheck, GateEnding, GateRunResult, GateVerdict, OutputReader,
};

use crate::FileError;
use crate::clock::Clock;
use crate::proc::{
    CancelToken, EmptyLogPolicy, EnvChange, Job, JobBounds, JobInput, JobOutputLine, JobRunner,
    JobStderr, JobStdin, JobWatch, ProcError, WatchDecision,
};
use crate::redaction::{put_log, redactor};

/// The variable by which a command can see that it is run as a gate.
pub const GATE_VARIABLE: &str = "RALPH_GATE";

/// Longest part of a line that is handed on; the log has all of it.
const LONGEST_LINE: usize = 64 * 1024;

/// Variables that would send a gate's git to another repository than the one it runs in.
const GIT_VARIABLES: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"];

/// Settings that all gates of one pass share.
#[derive(Clone, Debug)]
pub struct GatePassSettings<'a> {
    pub cwd: &'a Path,
    /// Changes to the environment that come with the place.
    pub surroundings: &'a [EnvChange],
    /// Prefix of the paths of the logs. The directory is made when it does not exist.
    pub logs: &'a Path,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// A way to end them from elsewhere.
    pub cancel: CancelToken,
}

/// Notice that a listener gets while gates run.
#[derive(Clone, Copy, Debug)]
pub enum GateNotice<'a> {
    Begins(&'a Gate),
    /// Line of output of the gate.
    Line(&'a Gate, &'a str),
    /// Time since the start of the gate, reported again and again while it runs.
    Runs(&'a Gate, Duration),
    Over(&'a GateCheck),
}

/// Why there are not results for all gates.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// Somebody asked for the end. A gate that was cut off has no result.
    #[error("the gates were stopped before all had run")]
    Cancelled,
    #[error("cannot run the gate {name}: {source}")]
    Proc { name: String, source: ProcError },
}

impl GateError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Cancelled => None,
            Self::Proc { source, .. } => source.hint(),
        }
    }
}

/// Run one gate to its end and return its result.
pub fn run_gate(
    runner: &JobRunner,
    gate: &Gate,
    run: &GatePassSettings<'_>,
    listener: &mut dyn FnMut(GateNotice<'_>),
) -> Result<GateRunResult, GateError> {
    listener(GateNotice::Begins(gate));
    let log = free_log(run.logs, &gate.name);
    let job = job(gate, run, &log);
    // Logical and physical path may differ; what a gate prints is what its own `pwd` says.
    let root = run.cwd.canonicalize().unwrap_or_else(|_| run.cwd.to_owned());
    let mut reader = OutputReader::new(&root.to_string_lossy());
    let mut listening = GateJobWatch {
        gate,
        reader: &mut reader,
        listener,
        redactor: redactor(),
        key: OpenPemKey::default(),
    };
    let (ending, took) = match runner.run(&job, &mut listening) {
        Ok(finished) if finished.exit.stopped == Some(StopCause::Cancelled) => {
            return Err(GateError::Cancelled);
        }
        Ok(finished) => (ending(finished.exit.ending, finished.exit.stopped), finished.elapsed),
        Err(ProcError::Start { source, .. }) => {
            (GateEnding::NotStarted(source.to_string()), Duration::ZERO)
        }
        Err(source) => return Err(GateError::Proc { name: gate.name.clone(), source }),
    };
    let reading = reader.finish(&ending);
    let log = log.exists().then(|| log.display().to_string());
    let result = GateRunResult::new(gate, ending, reading, log, took);
    listener(GateNotice::Over(&result.check));
    Ok(result)
}

/// Write what was decided as `<directory>/iter-<iteration>.json`.
pub fn write_report(
    directory: &Path,
    iteration: u64,
    verdict: &GateVerdict,
    runs: &[GateRunResult],
    strategy: GateStrategy,
    clock: &Clock,
) -> Result<PathBuf, FileError> {
    let path = directory.join(format!("iter-{iteration}.json"));
    let text = gate::report(verdict, runs, iteration, &clock.stamp(), strategy);
    put_log(&path, &text)?;
    Ok(path)
}

fn job(gate: &Gate, run: &GatePassSettings<'_>, log: &Path) -> Job {
    let mut job = Job::new("sh", run.cwd).args(["-c", &gate.command]).env(GATE_VARIABLE, "1");
    job.env.extend(run.surroundings.iter().cloned());
    job.env.extend(GIT_VARIABLES.map(|name| (name.into(), None)));
    job.stdin = JobStdin::Nothing;
    job.stderr = JobStderr::Joined;
    job.log = Some(log.to_owned());
    job.empty_log = EmptyLogPolicy::Spared;
    job.bounds = JobBounds {
        timeout: Some(gate.timeout),
        grace: run.grace,
        line: LONGEST_LINE,
        ..JobBounds::default()
    };
    job.cancel = run.cancel.clone();
    job
}

/// The time that ran out decides, whatever the command made of its end.
fn ending(ending: ProcessEnding, stopped: Option<StopCause>) -> GateEnding {
    match (stopped, ending) {
        (Some(_), _) => GateEnding::TimedOut,
        (None, ProcessEnding::Code(code)) => GateEnding::Code(code),
        (None, ProcessEnding::Signal(signal)) => GateEnding::Signal(signal),
        (None, ProcessEnding::NotFound) => {
            GateEnding::NotStarted("there is no `sh` on the PATH".to_owned())
        }
    }
}

/// A log for a gate that is not there yet: a gate may run again for the same attempt.
fn free_log(logs: &Path, name: &str) -> PathBuf {
    let sign = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let short: String = name.chars().map(sign).take(60).collect();
    let stem = match short.trim_matches(['-', '.']) {
        "" => "gate",
        stem => stem,
    };
    let named = |end: String| {
        let mut path = logs.as_os_str().to_owned();
        path.push(format!("-{end}.log"));
        PathBuf::from(path)
    };
    let first = named(stem.to_owned());
    let others = (2..1000).map(|n| named(format!("{stem}-{n}")));
    std::iter::once(first.clone()).chain(others).find(|path| !path.exists()).unwrap_or(first)
}

struct GateJobWatch<'a> {
    gate: &'a Gate,
    reader: &'a mut OutputReader,
    listener: &'a mut dyn FnMut(GateNotice<'_>),
    redactor: Arc<Redactor>,
    key: OpenPemKey,
}

impl JobWatch for GateJobWatch<'_> {
    fn line(&mut self, line: JobOutputLine<'_>, _: &JobInput) -> WatchDecision {
        let bytes = self.redactor.hide_line(line.bytes, &mut self.key);
        self.reader.line(&bytes);
        let text: Cow<'_, str> = String::from_utf8_lossy(&bytes);
        (self.listener)(GateNotice::Line(self.gate, &text));
        WatchDecision::Continue
    }

    fn tick(&mut self, elapsed: Duration) -> WatchDecision {
        (self.listener)(GateNotice::Runs(self.gate, elapsed));
        WatchDecision::Continue
    }
}
