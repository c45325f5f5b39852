//! Some agents at work at the same time, and one thread that listens to all of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;

use ralph_core::backend::{Event, Outcome, Session, cost};
use ralph_core::control::Doing;
use ralph_core::limits::{Decision, Limits, Monitor};
use ralph_core::windows::Windows;

use super::consult::{Answer, Question};
use super::control::{COMPACTING, Ear};
use super::cost_guard::CostGuard;
use super::error::DriveError;
use super::terms::{Terms, window};
use super::wait::NAP;
use crate::backends::{Call, Heard, OnCompact, RunReport};
use crate::choice::Chosen;
use crate::clock::Clock;
use crate::proc::{Bounds, Cancel, EnvChange, ProcError, Runner};
use crate::session::{SessionReport, Work, run_session};

/// A question that is about to be asked.
pub(super) struct Asking<'q> {
    /// Index of the question in the consultation.
    pub(super) number: usize,
    pub(super) question: &'q Question<'q>,
    /// Path of the log, relative to the root.
    pub(super) log: String,
    pub(super) place: &'q Path,
}

/// Result of an agent that has ended.
pub(super) struct Ended {
    /// Index of the question in the consultation.
    pub(super) number: usize,
    /// Subject of the question, for people and logs.
    pub(super) item: String,
    pub(super) answer: Answer,
    /// Cost in dollars; `None` when it is unknown.
    pub(super) cost: Option<f64>,
    /// Tokens in and out, where known.
    pub(super) tokens: Option<(u64, u64)>,
    pub(super) took_ms: u64,
    /// Context sizes of models that this agent reported.
    pub(super) windows: Windows,
}

/// Settings that all agents of a consultation share.
pub(super) struct Talk<'t> {
    pub(super) runner: &'t Runner,
    pub(super) chosen: &'t Chosen,
    pub(super) terms: &'t Terms,
    pub(super) limits: Limits,
    pub(super) windows: &'t Windows,
    pub(super) root: &'t Path,
    pub(super) scratch: PathBuf,
    pub(super) env: [(String, String); 2],
    pub(super) surroundings: &'t [EnvChange],
    pub(super) leash: &'t Cancel,
    pub(super) clock: &'t Clock,
    pub(super) ask_again: fn(&Outcome) -> bool,
    pub(super) costs: CostGuard,
}

/// Destination of the words of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// Shown as they arrive. Used when there is only one agent.
    Told,
    /// Only written to the log of the agent.
    Kept,
}

/// Message from the thread of an agent.
enum News {
    Event(Box<Event>),
    /// Remark about a run, in a sentence.
    Note(String),
    /// Remark about the size of the context or its compaction.
    Context(String),
    Ended(Box<Result<Option<Ended>, ProcError>>),
}

/// Ask all of them, so many at once; those that there is no money for are left out. An error is told
/// when all have ended.
pub(super) fn ask_all(
    talk: &Talk<'_>,
    asking: &[Asking<'_>],
    jobs: usize,
    ear: &mut Ear<'_>,
) -> Result<Vec<Ended>, DriveError> {
    let (sender, news) = mpsc::channel();
    let next = AtomicUsize::new(0);
    // The words of one agent can be followed; those of many at once cannot.
    let stream = if asking.len() == 1 { Words::Told } else { Words::Kept };
    thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, asking.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(one) = asking.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = ask_one(talk, one, stream, &sender);
                    // Whoever listens stays until all have ended.
                    let _ = sender.send(News::Ended(Box::new(ended)));
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
                error = ear.listen(Doing::Asking).err();
            }
            match one {
                None => {}
                Some(News::Event(event)) => ear.stream("", &event),
                Some(News::Note(text) | News::Context(text)) => {
                    error = error.or(ear.note_context(&text).err());
                }
                Some(News::Ended(one)) => match *one {
                    Ok(one) => ended.extend(one),
                    Err(e) => error = error.or(Some(e.into())),
                },
            }
        }
        let error = error.or_else(|| ear.listen_after(Doing::Asking).err());
        error.map_or(Ok(ended), Err)
    })
}

/// One agent, and once more when its answer cannot be used. `None` when it was not started for want of
/// money.
fn ask_one(
    talk: &Talk<'_>,
    asking: &Asking<'_>,
    stream: Words,
    sender: &Sender<News>,
) -> Result<Option<Ended>, ProcError> {
    let question = asking.question;
    let prices = &talk.chosen.settings.prices;
    let limits = Limits { window: window(talk.chosen), ..talk.limits };
    let mut monitor = Monitor::knowing(limits, talk.windows.clone()).priced(prices.clone());
    let mut run = |prompt: &str, session: Session<'_>| {
        let Some(reserved) = talk.costs.reserve() else { return Ok(None) };
        let report = run(talk, asking, prompt, session, &mut monitor, (sender, stream))?;
        reserved.settle(cost(&report.spent, prices));
        for note in &report.notes {
            let _ = sender.send(News::Note(note.clone()));
        }
        Ok::<Option<SessionReport>, ProcError>(Some(report))
    };
    let Some(first) = run(&question.prompt, Session::New)? else { return Ok(None) };
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
            None => answer.outcome = Outcome::Budget,
        }
    }
    Ok(Some(Ended {
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
    talk: &Talk<'_>,
    question: &Question<'_>,
    first: &'r SessionReport,
    answer: &Answer,
) -> Option<(String, Session<'r>)> {
    let anew = (talk.ask_again)(&answer.outcome);
    if !answer.finished() {
        return anew.then(|| (question.prompt.clone(), Session::New));
    }
    let repair = (question.check)(&answer.said).err()?.question;
    let resumes = talk.chosen.driver.supports().resume;
    match first.last.session.as_deref().filter(|_| resumes) {
        Some(id) => Some((repair, Session::Resume { id, before: first.spent })),
        None => anew.then(|| {
            let prompt = format!("{}\n\n# Your Last Answer\n\n{repair}\n", question.prompt);
            (prompt, Session::New)
        }),
    }
}

/// Build the answer from one run of an agent, and check whether it can be used.
fn answer_of(asking: &Asking<'_>, report: &RunReport) -> Answer {
    let verdict = match &report.outcome {
        Outcome::Success => (asking.question.check)(&report.answer).map_err(|e| e.to_string()),
        other => Err(other.to_string()),
    };
    let (said, outcome) = (report.answer.clone(), report.outcome.clone());
    Answer { said, outcome, verdict, log: asking.log.clone() }
}

fn run(
    talk: &Talk<'_>,
    asking: &Asking<'_>,
    prompt: &str,
    session: Session<'_>,
    monitor: &mut Monitor,
    (sender, stream): (&Sender<News>, Words),
) -> Result<SessionReport, ProcError> {
    let log = talk.root.join(&asking.log);
    let call = Call {
        driver: &*talk.chosen.driver,
        program: Some(&talk.chosen.program),
        args: &talk.chosen.args,
        env: &talk.env,
        surroundings: talk.surroundings,
        request: talk.terms.request(talk.chosen, (prompt, None), session),
        cwd: asking.place,
        scratch: &talk.scratch,
        log: Some(&log),
        on_compact: OnCompact::Stop,
        bounds: Bounds::default(),
        cancel: talk.leash.clone(),
    };
    let context = |text: &str| match stream {
        Words::Told => News::Context(text.to_owned()),
        Words::Kept => News::Context(format!("{}: {text}", asking.question.item)),
    };
    let mut hear = |heard: Heard<'_>| {
        let news = match heard {
            Heard::Event(event) if stream == Words::Told => News::Event(Box::new(event.clone())),
            Heard::Decision(Decision::Warn(text)) => context(text),
            Heard::Decision(Decision::Compact) => context(COMPACTING),
            Heard::Event(_) | Heard::Decision(Decision::Stop(_)) | Heard::Started | Heard::Tick => {
                return;
            }
        };
        let _ = sender.send(news);
    };
    let work = Work { call, task: &asking.question.item, diff: &String::new };
    let mut report = run_session(talk.runner, &work, monitor, &mut hear)?;
    report.last.find_reset(talk.clock);
    Ok(report)
}
