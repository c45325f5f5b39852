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

use serde_json::{Map, Value};

use super::heard::{self, End, Heard, StreamReader};
use super::{
    Driver, Event, Invocation, LimitStatus, Money, Outcome, Permissions, Reader, Request,
    ScratchFile, Session, Supports, as_words, slash,
};

/// The hidden command of the ralph binary that is this backend.
pub const COMMAND: &str = "__sim";

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
        Box::new(SimReader { heard: Heard::new(request), resets_at: None })
    }
}

/// Reads the output of one run.
struct SimReader {
    heard: Heard,
    /// The reset time of a limit that was reached.
    resets_at: Option<i64>,
}

impl SimReader {
    fn finish(&mut self, finished: Finished) {
        let message = finished.message.unwrap_or_default();
        let failure = match finished.result {
            Verdict::Success => None,
            Verdict::MaxTurns => Some(Outcome::MaxTurns),
            Verdict::ContextLimit => Some(Outcome::ContextLimit),
            Verdict::Budget => Some(Outcome::Budget),
            Verdict::RateLimit => Some(Outcome::RateLimit { resets_at: self.resets_at, message }),
            Verdict::NotLoggedIn => Some(Outcome::NotLoggedIn { message }),
            Verdict::ApiError => Some(Outcome::ApiError { status: finished.status, message }),
        };
        self.heard.end = End::Done;
        self.heard.failure = failure.map(heard::Failure::Known);
        self.heard.spent.turns = Some(finished.turns);
        self.heard.structured = finished.structured;
    }
}

impl StreamReader for SimReader {
    fn heard(&self) -> &Heard {
        &self.heard
    }

    fn heard_mut(&mut self) -> &mut Heard {
        &mut self.heard
    }

    fn event(&mut self, event: Map<String, Value>, events: &mut Vec<Event>) -> Option<()> {
        let line: Line = serde_json::from_value(Value::Object(event)).ok()?;
        if let Line::Finished(finished) = &line {
            self.finish(finished.clone());
        }
        let mut event = line.into_event();
        match &mut event {
            Event::Started { session, .. } => self.heard.session.clone_from(session),
            Event::Text(text) => self.heard.answer.set(text),
            // A line is about one message, an event about the run.
            Event::Usage(usage) => {
                self.heard.spent.add(*usage);
                *usage = self.heard.spent.tokens().unwrap_or(*usage);
            }
            Event::Cost(Money(dollars)) => self.heard.spent.cost = Some(*dollars),
            Event::RateLimit(limit) if limit.status == LimitStatus::Rejected => {
                self.resets_at = limit.resets_at;
            }
            Event::Denied { tool, .. } => self.heard.deny(tool),
            _ => {}
        }
        events.push(event);
        Some(())
    }
}
