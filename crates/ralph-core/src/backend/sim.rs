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

pub use choose::{COMPACT, ChosenRule, choose, task_of};
pub use expand::expand;
pub use fault::Fault;
pub use line::{SimFinish, SimLine, SimVerdict};
pub use op::{AnswerShape, SimAccess, SimInvocation, SimOperation, SimPerformance, path_bytes};
pub use parse::ScenarioError;
pub use scenario::{
    AttemptRange, ChanceFaults, ChaosSettings, ClaimForm, ClaimStep, EscapeMethod, GarbageOutput,
    Scenario, ScenarioRule, ScenarioStep, SigtermReaction, SimAnswer, SimClaim, SimFailure,
    SimSignal, SimSpawn, SpawnStdout, ToolAction,
};

use serde_json::{Map, Value};

use super::heard::{self, ReportedEnd, StreamReader, StreamState};
use super::{
    BackendDriver, BackendEvent, BackendFeatures, BackendOutcome, BackendPermissions,
    BackendReader, BackendRequest, Invocation, LimitStatus, RunCost, ScratchFile, SessionStart,
    as_words, slash,
};

/// The hidden command of the ralph binary that is this backend.
pub const COMMAND: &str = "__sim";

/// The driver of the embedded backend.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimDriver;

impl BackendDriver for SimDriver {
    fn name(&self) -> &'static str {
        "sim"
    }

    /// The ralph binary itself: the host starts the one that is running, wherever it is.
    fn program(&self) -> &'static str {
        "ralph"
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures {
            schema: true,
            resume: true,
            cost: true,
            context: true,
            system: true,
            max_turns: true,
            budget: true,
            compaction: true,
            ..BackendFeatures::default()
        }
    }

    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
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
        if request.permissions == BackendPermissions::ReadOnly {
            args.push("--read-only".to_owned());
        }
        let stdin = match request.session {
            SessionStart::Compact { .. } => slash(COMPACT, request.prompt),
            SessionStart::New | SessionStart::Resume { .. } => as_words(request.prompt.to_owned()),
        };
        Invocation { args, env: Vec::new(), stdin, files }
    }

    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        Box::new(SimReader { heard: StreamState::new(request), resets_at: None })
    }
}

/// Reads the output of one run.
struct SimReader {
    heard: StreamState,
    /// The reset time of a limit that was reached.
    resets_at: Option<i64>,
}

impl SimReader {
    fn finish(&mut self, finished: SimFinish) {
        let message = finished.message.unwrap_or_default();
        let failure = match finished.result {
            SimVerdict::Success => None,
            SimVerdict::MaxTurns => Some(BackendOutcome::MaxTurns),
            SimVerdict::ContextLimit => Some(BackendOutcome::ContextLimit),
            SimVerdict::Budget => Some(BackendOutcome::Budget),
            SimVerdict::RateLimit => {
                Some(BackendOutcome::RateLimit { resets_at: self.resets_at, message })
            }
            SimVerdict::NotLoggedIn => Some(BackendOutcome::NotLoggedIn { message }),
            SimVerdict::ApiError => {
                Some(BackendOutcome::ApiError { status: finished.status, message })
            }
        };
        self.heard.end = ReportedEnd::Done;
        self.heard.failure = failure.map(heard::ReportedFailure::Known);
        self.heard.spent.turns = Some(finished.turns);
        self.heard.structured = finished.structured;
    }
}

impl StreamReader for SimReader {
    fn heard(&self) -> &StreamState {
        &self.heard
    }

    fn heard_mut(&mut self) -> &mut StreamState {
        &mut self.heard
    }

    fn event(&mut self, event: Map<String, Value>, events: &mut Vec<BackendEvent>) -> Option<()> {
        let line: SimLine = serde_json::from_value(Value::Object(event)).ok()?;
        if let SimLine::Finished(finished) = &line {
            self.finish(finished.clone());
        }
        let mut event = line.into_event();
        match &mut event {
            BackendEvent::Started { session, .. } => self.heard.session.clone_from(session),
            BackendEvent::Text(text) => self.heard.answer.set(text),
            // A line is about one message, an event about the run.
            BackendEvent::Usage(usage) => {
                self.heard.spent.add(*usage);
                *usage = self.heard.spent.tokens().unwrap_or(*usage);
            }
            BackendEvent::Cost(RunCost(dollars)) => self.heard.spent.cost = Some(*dollars),
            BackendEvent::RateLimit(limit) if limit.status == LimitStatus::Rejected => {
                self.resets_at = limit.resets_at;
            }
            BackendEvent::Denied { tool, .. } => self.heard.deny(tool),
            _ => {}
        }
        events.push(event);
        Some(())
    }
}
