//! One run of a backend: a driver's translation, the runner's processes, the monitor's decisions.
//!
//! # Theory of operation
//!
//! ```text
//! Request --driver--> Invocation --runner--> lines --reader--> events --> monitor --> stop?
//!                               ^                      |             \--> whoever listens
//!                               \----- what to say ----/
//! ```
//!
//! Everything is decided elsewhere. The driver knows the program, the monitor the limits, the runner
//! the processes; this is the wire between them. Time and silence are the monitor's here, so the
//! runner is given no limits of its own.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::answer::BackendAnswer;
use ralph_core::backend::{
    BackendDriver, BackendEvent, BackendOutcome, BackendReader, BackendRequest, ContextFill,
    Invocation, MOST_ANSWER, RunUsage, StopCause, reset_on_the_clock,
};
use ralph_core::limits::{LimitMonitor, MonitorAction};

use crate::clock::Clock;
use crate::proc::{
    CancelToken, EnvChange, FinishedJob, Job, JobBounds, JobInput, JobOutputLine, JobRunner,
    JobStdin, JobWatch, ProcError, WatchDecision,
};
use crate::redaction::{hide_in, hide_value, redactor};

/// One run of a backend, with the settings that the configuration adds to it.
#[derive(Clone)]
pub struct BackendCall<'a> {
    pub driver: &'a dyn BackendDriver,
    /// Another program than the driver's own: a name on the PATH or a path.
    pub program: Option<&'a str>,
    /// Arguments that are added after those of the driver.
    pub args: &'a [String],
    /// Environment variables that are set after those of the driver.
    pub env: &'a [(String, String)],
    /// Changes to the environment that come with the place.
    pub surroundings: &'a [EnvChange],
    /// Request to the backend. [`run_backend`] fills in its `scratch`.
    pub request: BackendRequest<'a>,
    /// Working directory of the program.
    pub cwd: &'a Path,
    /// Directory in which the private directory of the run is made.
    pub scratch: &'a Path,
    /// Log that receives the output of the run; `None` for no log.
    pub log: Option<&'a Path>,
    pub on_compact: FullContextPolicy,
    /// Grace periods for the end of the program. Time limits in here are ignored: the monitor has its own.
    pub bounds: JobBounds,
    /// A way to end it from elsewhere.
    pub cancel: CancelToken,
}

/// Reaction of a run to a context that should be compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullContextPolicy {
    /// End the run. The caller compacts the session or starts a new one.
    Stop,
    /// Ignore it and let the run go on.
    GoOn,
}

/// Notice that a listener gets while a backend runs.
#[derive(Clone, Copy, Debug)]
pub enum BackendNotice<'a> {
    /// The program is about to start.
    Started,
    Event(&'a BackendEvent),
    Decision(&'a MonitorAction),
    /// Time goes by; told many times a second, whether or not the program says anything.
    Tick,
}

/// Result of one run of a backend.
#[derive(Debug)]
pub struct BackendRunReport {
    pub outcome: BackendOutcome,
    /// The program that was looked for.
    pub program: String,
    /// Last answer that the backend gave.
    pub answer: BackendAnswer,
    /// Id of the session, if the backend reported one.
    pub session: Option<String>,
    /// Cost, tokens and turns of the run, as far as the backend reported them.
    pub spent: RunUsage,
    /// Last size of the context that the backend reported.
    pub context: Option<ContextFill>,
    /// Number of events that were read from the output.
    pub events: u64,
    /// The decision that ended the run. With [`MonitorAction::Compact`] the work can go on after a
    /// compaction, although the outcome is a full context.
    pub ended_by: Option<MonitorAction>,
    pub log: Option<PathBuf>,
    pub finished: FinishedJob,
}

impl BackendRunReport {
    /// The judgement in words, with what a person needs to know about it.
    pub fn told(&self) -> String {
        match self.outcome {
            BackendOutcome::NotInstalled => format!("not installed: there is no {}", self.program),
            _ => self.outcome.to_string(),
        }
    }

    /// Why an answer without a claim may have had one: it was longer than what is kept of it.
    pub fn too_long(&self) -> Option<String> {
        let (line, most) = (self.finished.longest_cut, JobBounds::default().line);
        if line > 0 {
            return Some(format!(
                "a line of its output has {line} bytes, and ralph reads {most} bytes of a line, its \
                 head and its tail; say the claim again, in a short answer"
            ));
        }
        (self.answer.text.len() >= MOST_ANSWER).then(|| {
            format!(
                "its output has {} bytes, and ralph reads the last {MOST_ANSWER} bytes of an answer, \
                 where no claim is; say the claim at the end, in a short answer",
                self.finished.stdout_bytes
            )
        })
    }

    /// Find out when the limit that ended the run is lifted. Some programs tell it as a time on the user's
    /// clock, which is read from `clock`.
    pub fn find_reset(&mut self, clock: &Clock) {
        if let BackendOutcome::RateLimit { resets_at: resets_at @ None, message } =
            &mut self.outcome
        {
            let now = clock.now().as_second();
            *resets_at = reset_on_the_clock(message, now, clock.utc_offset());
        }
    }
}

/// Run a backend to its end.
pub fn run_backend(
    runner: &JobRunner,
    call: &BackendCall<'_>,
    monitor: &mut LimitMonitor,
    listener: &mut dyn FnMut(BackendNotice<'_>),
) -> Result<BackendRunReport, ProcError> {
    let mut scratch = runner.scratch(call.scratch)?;
    let directory = scratch.path().to_string_lossy().into_owned();
    let request = BackendRequest { scratch: &directory, ..call.request.clone() };
    let invocation = call.driver.invocation(&request);
    if names(&invocation, &directory) {
        scratch.make()?;
    }
    for file in &invocation.files {
        scratch.put(file)?;
    }
    let program = call.program.unwrap_or_else(|| call.driver.program());
    let mut job = Job::new(program, call.cwd).args(&invocation.args).args(call.args);
    job.env.extend(call.surroundings.iter().cloned());
    for (name, value) in invocation.env.iter().chain(call.env) {
        job = job.env(name, value);
    }
    let mut reader = call.driver.reader(&request);
    let mut first = invocation.stdin.into_bytes();
    first.extend(reader.outgoing());
    job.stdin = match (reader.wants_input(), first.is_empty()) {
        (true, _) => JobStdin::Open(first),
        (false, true) => JobStdin::Nothing,
        (false, false) => JobStdin::Bytes(first),
    };
    job.log = call.log.map(Path::to_owned);
    job.bounds = JobBounds { timeout: None, idle: None, ..call.bounds };
    job.cancel = call.cancel.clone();
    monitor.begin(0);
    let mut listening = BackendJobWatch {
        reader,
        monitor,
        grace: call.bounds.grace,
        listener,
        on_compact: call.on_compact,
        started: Instant::now(),
        events: Vec::new(),
        count: 0,
        context: None,
        ended_by: None,
    };
    let finished = runner.run(&job, &mut listening)?;
    Ok(listening.report(finished, program, job.log))
}

/// Whether the program is told of this directory.
fn names(invocation: &Invocation, directory: &str) -> bool {
    let Invocation { args, env, stdin, .. } = invocation;
    let mut words = args.iter().chain(env.iter().map(|(_, value)| value)).chain([stdin]);
    words.any(|word| word.contains(directory))
}

struct BackendJobWatch<'a> {
    reader: Box<dyn BackendReader>,
    monitor: &'a mut LimitMonitor,
    listener: &'a mut dyn FnMut(BackendNotice<'_>),
    on_compact: FullContextPolicy,
    grace: Duration,
    started: Instant,
    /// Those of the line at hand; kept for its room.
    events: Vec<BackendEvent>,
    count: u64,
    context: Option<ContextFill>,
    ended_by: Option<MonitorAction>,
}

impl JobWatch for BackendJobWatch<'_> {
    fn started(&mut self) {
        (self.listener)(BackendNotice::Started);
    }

    fn line(&mut self, line: JobOutputLine<'_>, input: &JobInput) -> WatchDecision {
        let now = millis(self.started.elapsed());
        let mut events = std::mem::take(&mut self.events);
        self.reader.line(line.bytes, &mut events);
        self.answer_on(input);
        if events.is_empty() {
            self.monitor.on_sign_of_life(now);
        }
        let mut step = WatchDecision::Continue;
        let mut ended_by = None;
        for event in events.drain(..) {
            self.count += 1;
            if let BackendEvent::Context(context) = event {
                let window = context.window.or(self.context.and_then(|c| c.window));
                self.context = Some(ContextFill { window, ..context });
            }
            (self.listener)(BackendNotice::Event(&event));
            for decision in self.monitor.on_event(now, &event) {
                if step == WatchDecision::Continue {
                    step = self.take(&decision);
                    ended_by = (step != WatchDecision::Continue).then_some(decision);
                }
            }
        }
        self.events = events;
        // A run that has just finished is not stopped for what its last words say it took.
        if self.reader.is_finished() {
            return WatchDecision::Finished;
        }
        self.ended_by = self.ended_by.take().or(ended_by);
        step
    }

    fn tick(&mut self, elapsed: Duration) -> WatchDecision {
        (self.listener)(BackendNotice::Tick);
        let Some(decision) = self.monitor.on_tick(millis(elapsed)) else {
            return WatchDecision::Continue;
        };
        let step = self.take(&decision);
        if self.ended_by.is_none() && step != WatchDecision::Continue {
            self.ended_by = Some(decision);
        }
        step
    }

    /// Only a program that is talked with can be asked.
    fn stopping(&mut self, stop: StopCause, input: &JobInput) -> Duration {
        if stop == StopCause::Lingered || !self.reader.wants_input() {
            return Duration::ZERO;
        }
        self.reader.cancel();
        self.answer_on(input);
        self.grace
    }
}

impl BackendJobWatch<'_> {
    /// Write what the reader has to say, and hang up when it has nothing more to say.
    fn answer_on(&mut self, input: &JobInput) {
        let words = self.reader.outgoing();
        if !words.is_empty() {
            // A program that does not listen any more is about to end, or will be idle.
            let _unheard = input.send(words);
        }
        if !self.reader.wants_input() {
            input.close();
        }
    }

    fn take(&mut self, decision: &MonitorAction) -> WatchDecision {
        (self.listener)(BackendNotice::Decision(decision));
        match decision {
            MonitorAction::Stop(stop) => WatchDecision::Stop(*stop),
            MonitorAction::Compact if self.on_compact == FullContextPolicy::Stop => {
                WatchDecision::Stop(StopCause::ContextFull)
            }
            MonitorAction::Compact | MonitorAction::Warn(_) => WatchDecision::Continue,
        }
    }

    fn report(
        mut self,
        finished: FinishedJob,
        program: &str,
        log: Option<PathBuf>,
    ) -> BackendRunReport {
        let outcome = self.reader.outcome(&finished.exit, &finished.stderr_tail);
        BackendRunReport {
            outcome: hide_in(outcome),
            program: program.to_owned(),
            // What follows from an answer is written down and committed.
            answer: BackendAnswer {
                text: redactor().hide(self.reader.answer()),
                structured: self.reader.structured().cloned().map(hide_value),
            },
            session: self.reader.session().map(str::to_owned),
            spent: self.reader.spent(),
            context: self.context,
            events: self.count,
            ended_by: self.ended_by,
            log,
            finished,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
