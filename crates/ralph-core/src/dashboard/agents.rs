//! The agents of the stages: which spec a run is at, which stage of it, and who is asked what.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;

use super::state::DashboardSources;
use crate::agent_role::AgentRole;
use crate::construct::stage_words;
use crate::cycle::{JournalEntry, JournalRecord, RunCommand};
use crate::inbox;

/// Agents that are kept; older ones are forgotten.
const MOST: usize = 500;
/// Agents that the first screen lists.
const LISTED: usize = 8;

/// An agent that plans, verifies, investigates or breaks down.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgentRow {
    /// The consultation's id and the agent's number in the journal.
    pub id: String,
    /// What it is asked for: plan, verify, investigate …
    pub role: AgentRole,
    /// Spec, task or issue that the question is about.
    pub item: String,
    /// Name of the backend.
    pub backend: String,
    /// Log file of the agent, relative to the root.
    #[serde(skip)]
    pub log: String,
    /// Time at which the agent started, RFC 3339.
    pub started_at: String,
    /// Result of the agent's work. Absent while the agent works.
    pub result: Option<String>,
    /// Duration in milliseconds. Absent while the agent works.
    pub duration_ms: Option<u64>,
    /// Cost in dollars, if known.
    pub cost_usd: Option<f64>,
}

/// The newest agents of a journal, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentRows {
    rows: VecDeque<AgentRow>,
    asked: u64,
}

impl AgentRows {
    /// One more record of the journal.
    pub fn add(&mut self, entry: &JournalEntry) {
        match &entry.record {
            JournalRecord::Asked(asked) => {
                self.asked += 1;
                if self.rows.len() == MOST {
                    self.rows.pop_front();
                }
                self.rows.push_back(AgentRow {
                    id: format!("{}-{}", asked.id, self.asked),
                    role: asked.role,
                    item: asked.item.clone(),
                    backend: asked.backend.clone(),
                    log: asked.log.clone(),
                    started_at: entry.at.clone(),
                    result: None,
                    duration_ms: None,
                    cost_usd: None,
                });
            }
            JournalRecord::Answered(end) => {
                let meant = |row: &&mut AgentRow| row.log == end.log && row.result.is_none();
                if let Some(row) = self.rows.iter_mut().rev().find(meant) {
                    row.result = Some(end.answer.clone());
                    row.duration_ms = Some(end.took_ms);
                    row.cost_usd = end.cost;
                }
            }
            // Whoever is left was ended with the run.
            JournalRecord::Consulted { id } => self.end(|row| row.id.starts_with(id.as_str())),
            JournalRecord::RunStarted(_) | JournalRecord::RunEnded { .. } => self.end(|_| true),
            _ => {}
        }
    }

    fn end(&mut self, meant: impl Fn(&AgentRow) -> bool) {
        for row in self.rows.iter_mut().filter(|row| row.result.is_none() && meant(row)) {
            row.result = Some("interrupted".to_owned());
        }
    }

    /// The agent that an id names.
    pub fn find(&self, id: &str) -> Option<&AgentRow> {
        self.rows.iter().rev().find(|row| row.id == id)
    }

    /// The agents that have not ended, oldest first.
    pub fn working(&self) -> impl Iterator<Item = &AgentRow> {
        self.rows.iter().filter(|row| row.result.is_none())
    }
}

/// Stage of construct that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StageRow {
    /// Name of the stage.
    pub stage: &'static str,
    /// Result of the stage, as a sentence for people.
    pub words: String,
    /// Duration of the stage, in milliseconds.
    pub duration_ms: u64,
}

/// Progress of `construct` or `agent` on the current spec.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SpecNow {
    /// Name of the spec.
    pub spec: String,
    /// Position of the spec among the specs of this run of `agent`, from 1. Absent in construct.
    pub number: Option<usize>,
    /// Number of specs that this run of `agent` has worked on or still has in its queue.
    pub total: Option<usize>,
    /// The iteration; 0 while the spec is planned.
    pub iteration: u32,
    /// Stage that runs now.
    pub stage: Option<&'static str>,
    /// Stages that have ended in the current iteration, and the planning before the first.
    pub past: Vec<StageRow>,
    /// The agents of this run, newest first.
    pub agents: Vec<AgentRow>,
}

/// The spec that the last run is about; `None` for a `build` or before the first spec.
pub fn spec_now(facts: &DashboardSources<'_>, agents: &AgentRows) -> Option<SpecNow> {
    let (run, construct) = (facts.sources.history.run.as_ref()?, &facts.sources.history.construct);
    if run.command == RunCommand::Build || construct.spec.is_empty() {
        return None;
    }
    let began = facts.sources.history.run_at.as_deref().unwrap_or_default();
    let had =
        |entry: &&inbox::InboxEntry| entry.completed_at.as_deref().is_some_and(|at| at >= began);
    let count = |status| facts.sources.inbox.iter().filter(|entry| entry.status == status).count();
    let (had, active) =
        (facts.sources.inbox.iter().filter(had).count(), count(inbox::InboxStatus::Active));
    let queued = (run.command == RunCommand::Agent).then_some(had + active);
    // The plan was made before the first iteration.
    let laps =
        construct.laps.iter().filter(|lap| lap.number == 0 || lap.number == construct.iteration);
    Some(SpecNow {
        spec: construct.spec.clone(),
        number: queued,
        total: queued.map(|number| number + count(inbox::InboxStatus::Pending)),
        iteration: construct.iteration,
        stage: construct.open.as_ref().map(|open| open.stage.as_str()),
        past: laps
            .flat_map(|lap| &lap.stages)
            .map(|end| StageRow {
                stage: end.stage.as_str(),
                words: stage_words(end),
                duration_ms: end.took_ms,
            })
            .collect(),
        agents: agents
            .rows
            .iter()
            .rev()
            .take_while(|row| row.started_at.as_str() >= began)
            .take(LISTED)
            .cloned()
            .collect(),
    })
}
