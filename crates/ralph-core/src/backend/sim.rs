//! `sim`: a coding agent inside ralph that follows a scenario. It needs no network and no key.
//!
//! # Theory of operation
//!
//! It is a backend like every other: a process of its own (`ralph __sim`), so that time limits,
//! kills and process accounting are real. What it will do is decided here, by values alone:
//!
//! ```text
//! scenario text --parse--> Scenario ─┐
//! prompt, counters ──────────────────┴─ choose ─> Choice ── expand ─> [Op]   (the host performs them)
//! printed line --Line::parse--> Line --into_event--> Event
//! ```
//!
//! The same scenario, prompt, counters and seed give the same bytes. `docs/sim.md` describes the
//! format, and every example there is run by a test.

mod answer;
mod choose;
pub mod demo;
mod expand;
mod fault;
mod line;
mod op;
mod parse;
mod scenario;
mod steps;

#[cfg(test)]
mod demo_tests;
#[cfg(test)]
mod reader_tests;
#[cfg(test)]
mod scenario_tests;

pub use choose::{COMPACT, Choice, choose, task_of};
pub use expand::expand;
pub use fault::Fault;
pub use line::{Finished, Line, Verdict};
pub use op::{Access, Ask, Op, Performance, Shape, path_bytes};
pub use parse::ScenarioError;
pub use scenario::{
    Act, Answer, Attempts, Chance, Chaos, Claim, ClaimStep, Escape, Failure, Form, Garbage, Rule,
    Scenario, Signal, Sigterm, Spawn, Stdout, Step,
};

use serde_json::Value;

use super::{
    Driver, Ending, Event, Exit, Invocation, LimitStatus, Outcome, Permissions, Reader, Request,
    ScratchFile, Session, Spent, Supports, as_words, slash,
};

/// The hidden command of the ralph binary that is this backend.
pub const COMMAND: &str = "__sim";

/// The longest part of an unknown line that a message shows.
const SHOWN: usize = 80;

/// The driver of the embedded backend.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

impl Driver for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    /// The ralph binary itself: the host starts the one that is running, wherever it is.
    fn program(&self) -> &'static str {
        "ralph"
    }

    fn supports(&self) -> Supports {
        Supports {
            schema: true,
            resume: true,
            cost: true,
            context: true,
            system: true,
            max_turns: true,
            budget: true,
            compaction: true,
            ..Supports::default()
        }
    }

    fn invocation(&self, request: &Request<'_>) -> Invocation {
        let mut args = vec![COMMAND.to_owned(), "--scratch".to_owned(), request.scratch.to_owned()];
        let mut files = Vec::new();
        let mut option = |name: &str, value: String| args.extend([name.to_owned(), value]);
        if let Some(model) = request.model {
            option("--model", model.to_owned());
        }
        if let Some(turns) = request.max_turns {
            option("--max-turns", turns.to_string());
        }
        if let Some(budget) = request.budget {
            option("--budget", budget.to_string());
        }
        if let Some(id) = request.session.id() {
            option("--resume", id.to_owned());
        }
        if let Some(system) = request.system {
            let path = format!("{}/sim-system.txt", request.scratch);
            option("--system", path.clone());
            files.push(ScratchFile { path, text: system.to_owned() });
        }
        if request.schema.is_some() {
            args.push("--structured".to_owned());
        }
        if request.permissions == Permissions::ReadOnly {
            args.push("--read-only".to_owned());
        }
        let stdin = match request.session {
            Session::Compact { .. } => slash(COMPACT, request.prompt),
            Session::New | Session::Resume { .. } => as_words(request.prompt.to_owned()),
        };
        Invocation { args, env: Vec::new(), stdin, files }
    }

    fn reader(&self, request: &Request<'_>) -> Box<dyn Reader> {
        Box::new(SimReader { permissions: Some(request.permissions), ..SimReader::default() })
    }
}

/// Reads the output of one run.
#[derive(Debug, Default)]
struct SimReader {
    permissions: Option<Permissions>,
    session: Option<String>,
    answer: String,
    spent: Spent,
    denied: Vec<String>,
    /// The reset time of a limit that was reached.
    limited: Option<Option<i64>>,
    finished: Option<Finished>,
    /// The first line that made no sense.
    garbage: Option<String>,
    /// Whether anything was said at all.
    spoke: Spoke,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Spoke {
    #[default]
    No,
    Yes,
}

impl SimReader {
    fn note(&mut self, line: &Line) {
        match line {
            Line::Started { session, .. } => self.session = Some(session.clone()),
            Line::Text { text } => self.answer.clone_from(text),
            Line::Usage(usage) => self.spent.add(*usage),
            Line::Cost { usd } => self.spent.cost = Some(*usd),
            Line::RateLimit(limit) if limit.status == LimitStatus::Rejected => {
                self.limited = Some(limit.resets_at);
            }
            Line::Denied { tool, .. } => self.denied.push(tool.clone()),
            Line::Finished(finished) => {
                self.spent.turns = Some(finished.turns);
                self.finished = Some(finished.clone());
            }
            _ => {}
        }
    }

    /// A run that did not get to its last line.
    fn cut_short(&self, ending: Ending, stderr: &str) -> Outcome {
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        match (ending, &self.garbage, last) {
            (Ending::Signal(_) | Ending::Code(1..), _, _) => Outcome::Crash {
                ending,
                message: last.unwrap_or("it died while it worked").to_owned(),
            },
            _ if self.spoke == Spoke::No => Outcome::NoOutput,
            (_, Some(garbage), _) => Outcome::Malformed { message: garbage.clone() },
            _ => Outcome::Crash { ending, message: "it ended before it had finished".to_owned() },
        }
    }
}

impl Reader for SimReader {
    fn line(&mut self, line: &[u8], events: &mut Vec<Event>) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.spoke = Spoke::Yes;
        match Line::parse(line) {
            Some(line) => {
                self.note(&line);
                events.push(match line.into_event() {
                    // A line is about one message, an event about the run.
                    Event::Usage(usage) => Event::Usage(self.spent.tokens().unwrap_or(usage)),
                    event => event,
                });
            }
            None => {
                let text = String::from_utf8_lossy(line);
                if self.garbage.is_none() {
                    self.garbage = Some(text.chars().take(SHOWN).collect());
                }
                events.push(Event::Unknown(text.into_owned()));
            }
        }
    }

    fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    fn outcome(&mut self, exit: &Exit, stderr: &str) -> Outcome {
        if let Some(outcome) = exit.stopped.and_then(Outcome::of_stop) {
            return outcome;
        }
        if exit.ending == Ending::NotFound {
            return Outcome::NotInstalled;
        }
        let Some(finished) = &self.finished else {
            return self.cut_short(exit.ending, stderr);
        };
        let message = finished.message.clone().unwrap_or_default();
        match finished.result {
            // Who asked for looking only has asked for being denied the rest.
            Verdict::Success
                if !self.denied.is_empty() && self.permissions != Some(Permissions::ReadOnly) =>
            {
                Outcome::PermissionDenied { tools: self.denied.clone() }
            }
            Verdict::Success => Outcome::Success,
            Verdict::MaxTurns => Outcome::MaxTurns,
            Verdict::ContextLimit => Outcome::ContextLimit,
            Verdict::Budget => Outcome::Budget,
            Verdict::RateLimit => Outcome::RateLimit { resets_at: self.limited.flatten(), message },
            Verdict::NotLoggedIn => Outcome::NotLoggedIn { message },
            Verdict::ApiError => Outcome::ApiError { status: finished.status, message },
        }
    }

    fn answer(&self) -> &str {
        &self.answer
    }

    fn structured(&self) -> Option<&Value> {
        self.finished.as_ref()?.structured.as_ref()
    }

    fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn spent(&self) -> Spent {
        self.spent
    }
}
