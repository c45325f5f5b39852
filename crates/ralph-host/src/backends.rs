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
    Context, Driver, Event, Invocation, MOST_ANSWER, Outcome, Reader, Request, Spent, Stop,
    reset_on_the_clock,
};
use ralph_core::limits::{Decision, Monitor};

use crate::clock::Clock;
use crate::proc::{
    Bounds, Cancel, EnvChange, Finished, Input, Job, Line, ProcError, Runner, Stdin, Step, Watch,
};
use crate::redaction::{hide_in, hide_value, redactor};

/// One run of a backend, with the settings that the configuration adds to it.
#[derive(Clone)]
pub struct Call<'a> {
    pub driver: &'a dyn Driver,
    /// Another program than the driver's own: a name on the PATH or a path.
    pub program: Option<&'a str>,
    /// Arguments that are added after those of the driver.
    pub args: &'a [String],
    /// Environment variables that are set after those of the driver.
    pub env: &'a [(String, String)],
    /// Changes to the environment that come with the place.
    pub surroundings: &'a [EnvChange],
    /// Request to the backend. [`run_backend`] fills in its `scratch`.
    pub request: Request<'a>,
    /// Working directory of the program.
    pub cwd: &'a Path,
    /// Directory in which the private directory of the run is made.
    pub scratch: &'a Path,
    /// Log that receives the output of the run; `None` for no log.
    pub log: Option<&'a Path>,
    pub on_compact: OnCompact,
    /// Grace periods for the end of the program. Time limits in here are ignored: the monitor has its own.
    pub bounds: Bounds,
    /// A way to end it from elsewhere.
    pub cancel: Cancel,
}

/// Reaction of a run to a context that should be compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCompact {
    /// End the run. The caller compacts the session or starts a new one.
    Stop,
    /// Ignore it and let the run go on.
    GoOn,
}

/// Notice that a listener gets while a backend runs.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// The program is about to start.
    Started,
    Event(&'a Event),
    Decision(&'a Decision),
    /// Time goes by; told many times a second, whether or not the program says anything.
    Tick,
}

/// Result of one run of a backend.
#[derive(Debug)]
pub struct RunReport {
    pub outcome: Outcome,
    /// The program that was looked for.
    pub program: String,
    /// Last answer that the backend gave.
    pub answer: BackendAnswer,
    /// Id of the session, if the backend reported one.
    pub session: Option<String>,
    /// Cost, tokens and turns of the run, as far as the backend reported them.
    pub spent: Spent,
    /// Last size of the context that the backend reported.
    pub context: Option<Context>,
    /// Number of events that were read from the output.
    pub events: u64,
    /// The decision that ended the run. With [`Decision::Compact`] the work can go on after a
    /// compaction, although the outcome is a full context.
    pub ended_by: Option<Decision>,
    pub log: Option<PathBuf>,
    pub finished: Finished,
}

impl RunReport {
    /// The judgement in words, with what a person needs to know about it.
    pub fn told(&self) -> String {
        match self.outcome {
            Outcome::NotInstalled => format!("not installed: there is no {}", self.program),
            _ => self.outcome.to_string(),
        }
    }

    /// Why an answer without a claim may have had one: it was longer than what is kept of it.
    pub fn too_long(&self) -> Option<String> {
        let (line, most) = (self.finished.longest_cut, Bounds::default().line);
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
        if let Outcome::RateLimit { resets_at: resets_at @ None, message } = &mut self.outcome {
            let now = clock.now().as_second();
            *resets_at = reset_on_the_clock(message, now, clock.utc_offset());
        }
    }
}

/// Run a backend to its end.
pub fn run_backend(
    runner: &Runner,
    call: &Call<'_>,
    monitor: &mut Monitor,
    listener: &mut dyn FnMut(Heard<'_>),
) -> Result<RunReport, ProcError> {
    let mut scratch = runner.scratch(call.scratch)?;
    let directory = scratch.path().to_string_lossy().into_owned();
    let request = Request { scratch: &directory, ..call.request.clone() };
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
        (true, _) => Stdin::Open(first),
        (false, true) => Stdin::Nothing,
        (false, false) => Stdin::Bytes(first),
    };
    job.log = call.log.map(Path::to_owned);
    job.bounds = Bounds { timeout: None, idle: None, ..call.bounds };
    job.cancel = call.cancel.clone();
    monitor.begin(0);
    let mut listening = Listening {
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

struct Listening<'a> {
    reader: Box<dyn Reader>,
    monitor: &'a mut Monitor,
    listener: &'a mut dyn FnMut(Heard<'_>),
    on_compact: OnCompact,
    grace: Duration,
    started: Instant,
    /// Those of the line at hand; kept for its room.
    events: Vec<Event>,
    count: u64,
    context: Option<Context>,
    ended_by: Option<Decision>,
}

impl Watch for Listening<'_> {
    fn started(&mut self) {
        (self.listener)(Heard::Started);
    }

    fn line(&mut self, line: Line<'_>, input: &Input) -> Step {
        let now = millis(self.started.elapsed());
        let mut events = std::mem::take(&mut self.events);
        self.reader.line(line.bytes, &mut events);
        self.answer_on(input);
        if events.is_empty() {
            self.monitor.on_sign_of_life(now);
        }
        let mut step = Step::Continue;
        let mut ended_by = None;
        for event in events.drain(..) {
            self.count += 1;
            if let Event::Context(context) = event {
                let window = context.window.or(self.context.and_then(|c| c.window));
                self.context = Some(Context { window, ..context });
            }
            (self.listener)(Heard::Event(&event));
            for decision in self.monitor.on_event(now, &event) {
                if step == Step::Continue {
                    step = self.take(&decision);
                    ended_by = (step != Step::Continue).then_some(decision);
                }
            }
        }
        self.events = events;
        // A run that has just finished is not stopped for what its last words say it took.
        if self.reader.is_finished() {
            return Step::Finished;
        }
        self.ended_by = self.ended_by.take().or(ended_by);
        step
    }

    fn tick(&mut self, elapsed: Duration) -> Step {
        (self.listener)(Heard::Tick);
        let Some(decision) = self.monitor.on_tick(millis(elapsed)) else { return Step::Continue };
        let step = self.take(&decision);
        if self.ended_by.is_none() && step != Step::Continue {
            self.ended_by = Some(decision);
        }
        step
    }

    /// Only a program that is talked with can be asked.
    fn stopping(&mut self, stop: Stop, input: &Input) -> Duration {
        if stop == Stop::Lingered || !self.reader.wants_input() {
            return Duration::ZERO;
        }
        self.reader.cancel();
        self.answer_on(input);
        self.grace
    }
}

impl Listening<'_> {
    /// Write what the reader has to say, and hang up when it has nothing more to say.
    fn answer_on(&mut self, input: &Input) {
        let words = self.reader.outgoing();
        if !words.is_empty() {
            // A program that does not listen any more is about to end, or will be idle.
            let _unheard = input.send(words);
        }
        if !self.reader.wants_input() {
            input.close();
        }
    }

    fn take(&mut self, decision: &Decision) -> Step {
        (self.listener)(Heard::Decision(decision));
        match decision {
            Decision::Stop(stop) => Step::Stop(*stop),
            Decision::Compact if self.on_compact == OnCompact::Stop => {
                Step::Stop(Stop::ContextFull)
            }
            Decision::Compact | Decision::Warn(_) => Step::Continue,
        }
    }

    fn report(mut self, finished: Finished, program: &str, log: Option<PathBuf>) -> RunReport {
        let outcome = self.reader.outcome(&finished.exit, &finished.stderr_tail);
        RunReport {
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
