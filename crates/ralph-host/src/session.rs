//! One piece of work on a backend, however often its context has to be compacted on the way.
//!
//! # Theory of operation
//!
//! ```text
//! run ── ended otherwise ──────────────────────────────────────────> report
//!  ^ \── its context should be compacted ──> compact ── can ──> go on with the session ──┐
//!  |                                            \── cannot ──> new session with a digest ┤
//!  └─────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A backend that can compacts by itself, in a run of its own on the same session. For the others,
//! and where that does not work, a new session begins with the digest of all that was heard so far.
//! All runs share one monitor, one log and the time of one run, and what they used is added up. When
//! the context is full again after [`MOST_COMPACTIONS`], the work does not fit: that is the outcome.

use ralph_core::backend::{
    BackendEvent, BackendOutcome, BackendRequest, RunUsage, SessionStart, StopCause,
};
use ralph_core::digest::RunDigest;
use ralph_core::limits::{LimitMonitor, MonitorAction};

use crate::backends::{
    BackendCall, BackendNotice, BackendRunReport, FullContextPolicy, run_backend,
};
use crate::proc::{JobRunner, ProcError};

/// Most compactions of one piece of work.
pub const MOST_COMPACTIONS: usize = 3;

/// Text that tells a backend which information to keep when it compacts its context.
const FOCUS: &str = "keep the task, the files that were changed and why, the results of the tests, \
                     errors that are open, decisions, and the next step";

/// Stands before the request when a compacted session goes on.
const GO_ON: &str = "Your context was compacted. Your changes are still in the files. Go on from \
                     where you stopped. This was the request:";

/// Stands between the digest and the request when a new session takes over.
const TAKE_OVER: &str = "An earlier session worked on the request below until its context was \
                         full. Its changes are still in the files. Go on from there.";

/// A piece of work for a backend.
pub struct SessionWork<'a> {
    /// The first run. Its `on_compact` is not looked at: a full context is what this is for.
    pub call: BackendCall<'a>,
    /// The task in one line, for a digest.
    pub task: &'a str,
    /// A summary of what has changed in the working tree so far, for a digest.
    pub diff: &'a dyn Fn() -> String,
}

/// Method by which a context was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionCompaction {
    /// The backend compacted the session itself.
    Native,
    /// By a new session that was told what had happened.
    Digest,
}

/// Result of a piece of work, over all its runs.
#[derive(Debug)]
pub struct SessionReport {
    /// The last run. Its outcome, answer and session are those of the work.
    pub last: BackendRunReport,
    /// Sum over all runs, as far as the backends reported it.
    pub spent: RunUsage,
    /// Number of runs that did not report their cost although their backend can. Some programs do not
    /// report it when a run ends early. Then `spent.cost` is too low.
    pub unsaid: u32,
    pub compactions: Vec<SessionCompaction>,
    /// Remarks for the user, for example that a native compaction failed.
    pub notes: Vec<String>,
}

/// Run a backend until it has finished, compacting its context when that is needed.
pub fn run_session(
    runner: &JobRunner,
    work: &SessionWork<'_>,
    monitor: &mut LimitMonitor,
    listener: &mut dyn FnMut(BackendNotice<'_>),
) -> Result<SessionReport, ProcError> {
    let mut going = SessionProgress::new(runner, work, monitor, listener);
    let mut last = going.run(&work.call.request, FullContextPolicy::Stop)?;
    while last.ended_by == Some(MonitorAction::Compact)
        && going.compactions.len() < MOST_COMPACTIONS
    {
        last = match going.compact(&last)? {
            NativeCompactionResult::Native(session) => going.resume(&session)?,
            NativeCompactionResult::No(why) => going.start_over(why.as_deref())?,
            NativeCompactionResult::Ended(report) => return Ok(going.report(*report)),
        };
    }
    Ok(going.report(last))
}

/// Result of an attempt to compact natively.
enum NativeCompactionResult {
    /// Id of the compacted session, with which the work goes on.
    Native(String),
    /// Reason why it failed; `None` when the backend cannot compact.
    No(Option<String>),
    /// Something happened that ends the work.
    Ended(Box<BackendRunReport>),
}

struct SessionProgress<'a> {
    runner: &'a JobRunner,
    work: &'a SessionWork<'a>,
    monitor: &'a mut LimitMonitor,
    listener: &'a mut dyn FnMut(BackendNotice<'_>),
    digest: RunDigest,
    spent: RunUsage,
    /// Usage of the current session.
    of_session: RunUsage,
    unsaid: u32,
    compactions: Vec<SessionCompaction>,
    /// The run at hand has said that it compacted its context.
    has_compacted: bool,
    /// Why the last compaction failed, in the backend's words.
    refusal: Option<String>,
}

impl<'a> SessionProgress<'a> {
    fn new(
        runner: &'a JobRunner,
        work: &'a SessionWork<'a>,
        monitor: &'a mut LimitMonitor,
        listener: &'a mut dyn FnMut(BackendNotice<'_>),
    ) -> Self {
        Self {
            runner,
            work,
            monitor,
            listener,
            digest: RunDigest::default(),
            spent: RunUsage::default(),
            of_session: work.call.request.session.before(),
            unsaid: 0,
            compactions: Vec::new(),
            has_compacted: false,
            refusal: None,
        }
    }

    /// One run, with its share of the time and its part of the sum.
    fn run(
        &mut self,
        request: &BackendRequest<'_>,
        on_compact: FullContextPolicy,
    ) -> Result<BackendRunReport, ProcError> {
        let call = BackendCall { request: request.clone(), on_compact, ..self.work.call.clone() };
        self.has_compacted = false;
        let mut both = |what: BackendNotice<'_>| {
            if let BackendNotice::Event(event) = what {
                // What a compaction says is not about the work.
                if on_compact == FullContextPolicy::Stop {
                    self.digest.event(event);
                }
                self.has_compacted |= matches!(event, BackendEvent::Compacted { .. });
                if let BackendEvent::CompactionFailed(why) = event {
                    self.refusal = Some(why.clone());
                }
            }
            (self.listener)(what);
        };
        let report = run_backend(self.runner, &call, self.monitor, &mut both)?;
        self.monitor.took(report.finished.elapsed);
        self.spent = self.spent.plus(report.spent);
        self.of_session = self.of_session.plus(report.spent);
        let says_cost =
            call.driver.supports().cost && report.outcome != BackendOutcome::NotInstalled;
        self.unsaid += u32::from(says_cost && report.spent.cost.is_none());
        Ok(report)
    }

    /// Lets the backend compact the session of its last run, if it can.
    fn compact(&mut self, last: &BackendRunReport) -> Result<NativeCompactionResult, ProcError> {
        let call = &self.work.call;
        let Some(id) = last.session.as_deref().filter(|_| call.driver.supports().compaction) else {
            return Ok(NativeCompactionResult::No(None));
        };
        let request = BackendRequest {
            prompt: FOCUS,
            schema: None,
            max_turns: None,
            session: SessionStart::Compact { id, before: self.of_session },
            ..call.request.clone()
        };
        let report = self.run(&request, FullContextPolicy::GoOn)?;
        Ok(match &report.outcome {
            BackendOutcome::Success if self.has_compacted => {
                NativeCompactionResult::Native(id.to_owned())
            }
            // A new session would end for the same reason.
            BackendOutcome::RateLimit { .. }
            | BackendOutcome::NotLoggedIn { .. }
            | BackendOutcome::NotInstalled
            | BackendOutcome::Budget
            | BackendOutcome::Timeout
            | BackendOutcome::Cancelled => NativeCompactionResult::Ended(Box::new(report)),
            // It was compacted, and is still too full: then it is the work that is too big.
            BackendOutcome::ContextLimit
                if self.has_compacted
                    && report.ended_by == Some(MonitorAction::Stop(StopCause::ContextFull)) =>
            {
                NativeCompactionResult::Ended(Box::new(report))
            }
            other => {
                let said = || match other {
                    BackendOutcome::Success => {
                        "it did not say that it compacted anything".to_owned()
                    }
                    other => other.to_string(),
                };
                NativeCompactionResult::No(Some(self.refusal.take().unwrap_or_else(said)))
            }
        })
    }

    /// Goes on with the session that was compacted.
    fn resume(&mut self, id: &str) -> Result<BackendRunReport, ProcError> {
        self.compactions.push(SessionCompaction::Native);
        let asked = &self.work.call.request;
        let prompt = format!("{GO_ON}\n\n{}", asked.prompt);
        let session = SessionStart::Resume { id, before: self.of_session };
        self.run(
            &BackendRequest { prompt: &prompt, session, ..asked.clone() },
            FullContextPolicy::Stop,
        )
    }

    /// Begins a new session that is told what happened so far. `refusal` says why the old one could
    /// not be compacted, where that was tried.
    fn start_over(&mut self, refusal: Option<&str>) -> Result<BackendRunReport, ProcError> {
        self.compactions.push(SessionCompaction::Digest);
        if let Some(why) = refusal {
            let told = "a new session goes on from a digest";
            let told = format!("[RALPH] Context not compacted: {why}; {told}");
            (self.listener)(BackendNotice::Decision(&MonitorAction::Warn(told)));
            self.monitor.begin_empty();
        }
        self.of_session = RunUsage::default();
        let asked = &self.work.call.request;
        let digest = self.digest.render(self.work.task, &(self.work.diff)());
        let prompt = format!("{digest}\n{TAKE_OVER}\n\n{}", asked.prompt);
        let request =
            BackendRequest { prompt: &prompt, session: SessionStart::New, ..asked.clone() };
        self.run(&request, FullContextPolicy::Stop)
    }

    fn report(self, last: BackendRunReport) -> SessionReport {
        let notes = last.outcome.note(&last.finished.exit).into_iter().collect();
        SessionReport {
            last,
            spent: self.spent,
            unsaid: self.unsaid,
            compactions: self.compactions,
            notes,
        }
    }
}
