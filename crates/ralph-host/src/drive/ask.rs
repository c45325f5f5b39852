//! Some agents at work at the same time, and one thread that listens to all of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use ralph_core::backend::{BackendEvent, BackendOutcome, SessionStart, cost};
use ralph_core::control::LoopActivity;
use ralph_core::limits::{BackendRunLimits, LimitMonitor, MonitorAction};
use ralph_core::windows::ContextWindows;

use super::consult::{ConsultationAnswer, ConsultationQuestion};
use super::control::{COMPACTING, CommandListener};
use super::cost_guard::CostGuard;
use super::error::DriveError;
use super::terms::{RequestTerms, window};
use super::wait::NAP;
use crate::backends::{BackendCall, BackendNotice, BackendRunReport, FullContextPolicy};
use crate::choice::ChosenBackend;
use crate::clock::Clock;
use crate::proc::{CancelToken, EnvChange, JobBounds, JobRunner, ProcError};
use crate::session::{SessionReport, SessionWork, run_session};

/// A question that is about to be asked.
pub(super) struct PendingQuestion<'q> {
    /// Index of the question in the consultation.
    pub(super) number: usize,
    pub(super) question: &'q ConsultationQuestion<'q>,
    /// Path of the log, relative to the root.
    pub(super) log: String,
    pub(super) place: &'q Path,
}

/// Result of an agent that has ended.
pub(super) struct ConsultedAgentResult {
    /// Index of the question in the consultation.
    pub(super) number: usize,
    /// Subject of the question, for people and logs.
    pub(super) item: String,
    pub(super) answer: ConsultationAnswer,
    /// Cost in dollars; `None` when it is unknown.
    pub(super) cost: Option<f64>,
    /// Tokens in and out, where known.
    pub(super) tokens: Option<(u64, u64)>,
    pub(super) took_ms: u64,
    /// Context sizes of models that this agent reported.
    pub(super) windows: ContextWindows,
}

/// Settings that all agents of a consultation share.
pub(super) struct ConsultationSettings<'t> {
    pub(super) runner: &'t JobRunner,
    pub(super) chosen: &'t ChosenBackend,
    pub(super) terms: &'t RequestTerms,
    pub(super) limits: BackendRunLimits,
    pub(super) windows: &'t ContextWindows,
    pub(super) root: &'t Path,
    pub(super) scratch: PathBuf,
    pub(super) env: [(String, String); 2],
    pub(super) surroundings: &'t [EnvChange],
    pub(super) leash: &'t CancelToken,
    pub(super) clock: &'t Clock,
    pub(super) ask_again: fn(&BackendOutcome) -> bool,
    pub(super) costs: CostGuard,
}

/// Destination of the words of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentOutputTarget {
    /// Shown as they arrive. Used when there is only one agent.
    Told,
    /// Only written to the log of the agent.
    Kept,
}

/// Message from the thread of an agent.
enum AgentThreadMessage {
    Event(Box<BackendEvent>),
    /// Remark about a run, in a sentence.
    Note(String),
    /// Remark about the size of the context or its compaction.
    Context(String),
    Ended(Box<Result<Option<ConsultedAgentResult>, ProcError>>),
}

/// Ask all of them, so many at once; those that there is no money for are left out. An error is told
/// when all have ended.
pub(super) fn ask_all(
    talk: &ConsultationSettings<'_>,
    asking: &[PendingQuestion<'_>],
    jobs: usize,
    ear: &mut CommandListener<'_>,
) -> Result<Vec<ConsultedAgentResult>, DriveError> {
    let (sender, news) = mpsc::channel();
    let next = AtomicUsize::new(0);
    // The words of one agent can be followed; those of many at once cannot.
    let stream = if asking.len() == 1 { AgentOutputTarget::Told } else { AgentOutputTarget::Kept };
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, asking.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(one) = asking.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = ask_one(talk, one, stream, &sender);
                    // Whoever listens stays until all have ended.
                    let _ = sender.send(AgentThreadMessage::Ended(Box::new(ended)));
                }
            });
        }
        drop(sender);
        let (mut ended, mut error) = (Vec::new(), None);
        loop {
            let one = match news.recv_timeout(NAP) {
                Ok(one) => Some(one),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if error.is_none() {
                error = ear.listen(LoopActivity::Asking).err();
            }
            match one {
                None => {}
                Some(AgentThreadMessage::Event(event)) => ear.stream("", &event),
                Some(AgentThreadMessage::Note(text) | AgentThreadMessage::Context(text)) => {
                    error = error.or(ear.note_context(&text).err());
                }
                Some(AgentThreadMessage::Ended(one)) => match *one {
                    Ok(one) => ended.extend(one),
                    Err(e) => error = error.or(Some(e.into())),
                },
            }
        }
        let error = error.or_else(|| ear.listen_after(LoopActivity::Asking).err());
        error.map_or(Ok(ended), Err)
    })
}

/// One agent, and once more when its answer cannot be used. `None` when it was not started for want of
/// money.
fn ask_one(
    talk: &ConsultationSettings<'_>,
    asking: &PendingQuestion<'_>,
    stream: AgentOutputTarget,
    sender: &Sender<AgentThreadMessage>,
) -> Result<Option<ConsultedAgentResult>, ProcError> {
    let question = asking.question;
    let prices = &talk.chosen.settings.prices;
    let limits = BackendRunLimits { window: window(talk.chosen), ..talk.limits };
    let mut monitor = LimitMonitor::knowing(limits, talk.windows.clone()).priced(prices.clone());
    let mut run = |prompt: &str, session: SessionStart<'_>| {
        let Some(reserved) = talk.costs.reserve() else { return Ok(None) };
        let report = run(talk, asking, prompt, session, &mut monitor, (sender, stream))?;
        reserved.settle(cost(&report.spent, prices));
        for note in &report.notes {
            let _ = sender.send(AgentThreadMessage::Note(note.clone()));
        }
        Ok::<Option<SessionReport>, ProcError>(Some(report))
    };
    let Some(first) = run(&question.prompt, SessionStart::New)? else { return Ok(None) };
    let (mut spent, mut took) = (first.spent, first.last.finished.elapsed);
    let mut answer = answer_of(asking, &first.last);
    if let Some((prompt, session)) = second_question(talk, question, &first, &answer) {
        match run(&prompt, session)? {
            Some(again) => {
                spent = spent.plus(again.spent);
                took += again.last.finished.elapsed;
                let second = answer_of(asking, &again.last);
                // Of two answers that cannot be used, the one to the whole question says more.
                if second.verdict.is_ok() || !second.finished() || !answer.finished() {
                    answer = second;
                }
            }
            None => answer.outcome = BackendOutcome::Budget,
        }
    }
    Ok(Some(ConsultedAgentResult {
        number: asking.number,
        item: question.item.clone(),
        answer,
        cost: cost(&spent, prices),
        tokens: spent.input.zip(spent.output),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        windows: monitor.windows().clone(),
    }))
}

/// Return the prompt and the session for the second try of an agent whose answer cannot be used.
/// `None` when it is not asked again.
fn second_question<'r>(
    talk: &ConsultationSettings<'_>,
    question: &ConsultationQuestion<'_>,
    first: &'r SessionReport,
    answer: &ConsultationAnswer,
) -> Option<(String, SessionStart<'r>)> {
    let anew = (talk.ask_again)(&answer.outcome);
    if !answer.finished() {
        return anew.then(|| (question.prompt.clone(), SessionStart::New));
    }
    let repair = (question.check)(&answer.said).err()?.question;
    let resumes = talk.chosen.driver.supports().resume;
    match first.last.session.as_deref().filter(|_| resumes) {
        Some(id) => Some((repair, SessionStart::Resume { id, before: first.spent })),
        None => anew.then(|| {
            let prompt = format!("{}\n\n# Your Last Answer\n\n{repair}\n", question.prompt);
            (prompt, SessionStart::New)
        }),
    }
}

/// Build the answer from one run of an agent, and check whether it can be used.
fn answer_of(asking: &PendingQuestion<'_>, report: &BackendRunReport) -> ConsultationAnswer {
    let verdict = match &report.outcome {
        BackendOutcome::Success => {
            (asking.question.check)(&report.answer).map_err(|e| e.to_string())
        }
        other => Err(other.to_string()),
    };
    let (said, outcome) = (report.answer.clone(), report.outcome.clone());
    ConsultationAnswer { said, outcome, verdict, log: asking.log.clone() }
}

fn run(
    talk: &ConsultationSettings<'_>,
    asking: &PendingQuestion<'_>,
    prompt: &str,
    session: SessionStart<'_>,
    monitor: &mut LimitMonitor,
    (sender, stream): (&Sender<AgentThreadMessage>, AgentOutputTarget),
) -> Result<SessionReport, ProcError> {
    let log = talk.root.join(&asking.log);
    let call = BackendCall {
        driver: &*talk.chosen.driver,
        program: Some(&talk.chosen.program),
        args: &talk.chosen.args,
        env: &talk.env,
        surroundings: talk.surroundings,
        request: talk.terms.request(talk.chosen, (prompt, None), session),
        cwd: asking.place,
        scratch: &talk.scratch,
        log: Some(&log),
        on_compact: FullContextPolicy::Stop,
        bounds: JobBounds::default(),
        cancel: talk.leash.clone(),
    };
    let context = |text: &str| match stream {
        AgentOutputTarget::Told => AgentThreadMessage::Context(text.to_owned()),
        AgentOutputTarget::Kept => {
            AgentThreadMessage::Context(format!("{}: {text}", asking.question.item))
        }
    };
    let mut hear = |heard: BackendNotice<'_>| {
        let news = match heard {
            BackendNotice::Event(event) if stream == AgentOutputTarget::Told => {
                AgentThreadMessage::Event(Box::new(event.clone()))
            }
            BackendNotice::Decision(MonitorAction::Warn(text)) => context(text),
            BackendNotice::Decision(MonitorAction::Compact) => context(COMPACTING),
            BackendNotice::Event(_)
            | BackendNotice::Decision(MonitorAction::Stop(_))
            | BackendNotice::Started
            | BackendNotice::Tick => {
                return;
            }
        };
        let _ = sender.send(news);
    };
    let work = SessionWork { call, task: &asking.question.item, diff: &String::new };
    let mut report = run_session(talk.runner, &work, monitor, &mut hear)?;
    report.last.find_reset(talk.clock);
    Ok(report)
}
