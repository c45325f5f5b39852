//! Journal of all runs: runs, questions to agents, specs and waits.
//!
//! [`History`] has only what a loop needs to continue: the last run alone, without the times of past
//! events. A report needs the other runs and the times too. So this module reads the same records and
//! keeps more of them.

use jiff::Timestamp;

use super::RunLine;
use crate::agent_role::AgentRole;
use crate::cycle::{
    AttemptView, BackendSpending, History, JournalEntry, JournalRecord, LoopEnd, RunCommand,
};

/// Everything a report needs to know of the journal.
#[derive(Clone, Debug, Default)]
pub struct ReportHistory {
    /// History as the loops use it.
    pub history: History,
    /// All runs, oldest first.
    pub(super) runs: Vec<RunLine>,
    /// The spec of each spending of the history, where construct worked on one.
    of_spending: Vec<Option<String>>,
    /// Specs that were committed or given up as a whole, oldest first.
    pub(super) specs: Vec<SpecNote>,
    /// Waits for a usage limit: when, and how many seconds.
    pub(super) waits: Vec<(i64, u64)>,
    /// The spec of each attempt of the history, where construct worked on one.
    of_attempt: Vec<Option<String>>,
    pub(super) spec: Option<String>,
    waiting: Option<i64>,
}

/// Something became of a whole spec.
#[derive(Clone, Debug)]
pub(super) struct SpecNote {
    pub(super) at: i64,
    pub(super) spec: Option<String>,
    pub(super) fate: SpecResult,
}

#[derive(Clone, Debug)]
pub(super) enum SpecResult {
    Committed { commit: String },
    Failed { why: String, kept: Option<String> },
}

/// Seconds since 1970 of a time in the journal. What is no time is at the very beginning.
pub(super) fn seconds(at: &str) -> i64 {
    at.parse::<Timestamp>().map_or(i64::MIN, Timestamp::as_second)
}

impl ReportHistory {
    /// Take in one more record of the journal.
    pub fn add(&mut self, entry: &JournalEntry) {
        let at = seconds(&entry.at);
        // What comes after the end of a run belongs to no run.
        let is_next = matches!(entry.record, JournalRecord::RunStarted(_));
        if let Some(run) = self.runs.last_mut().filter(|run| run.end.is_none() && !is_next) {
            run.last = run.last.max(at);
        }
        match &entry.record {
            JournalRecord::RunStarted(run) => {
                self.stop_waiting(at);
                self.spec = None;
                let command = run.command;
                self.runs.push(RunLine { command, began: at, last: at, end: None });
            }
            JournalRecord::RunEnded(ended) => {
                self.stop_waiting(at);
                if let Some(run) = self.runs.last_mut() {
                    // A planner that did its work completed no task.
                    let planned = run.command == RunCommand::Plan && ended.end == LoopEnd::Complete;
                    let reason = || ended.reason.clone();
                    run.end = Some(if planned { "planned".to_owned() } else { reason() });
                }
            }
            JournalRecord::ConstructStarted(start) => self.spec = Some(start.spec.clone()),
            JournalRecord::AttemptStarted { .. } => {
                self.stop_waiting(at);
                self.of_attempt.push(self.spec.clone());
            }
            JournalRecord::Answered(answered) => {
                // `ralph plan` names the spec as what it asks about.
                let planned = (answered.role == AgentRole::Plan && !answered.item.is_empty())
                    .then(|| answered.item.clone());
                self.of_spending.push(self.spec.clone().or(planned));
            }
            JournalRecord::Waiting { .. } => self.waiting = Some(self.waiting.unwrap_or(at)),
            JournalRecord::Waited => self.stop_waiting(at),
            JournalRecord::SpecLanded(landed) => {
                let spec = landed.spec.clone().or_else(|| self.spec.clone());
                if let Some(commit) = landed.commit.clone() {
                    self.specs.push(SpecNote { at, spec, fate: SpecResult::Committed { commit } });
                }
            }
            JournalRecord::Replayed(replay) => {
                for note in &mut self.specs {
                    if let SpecResult::Committed { commit } = &mut note.fate {
                        replay.rename(commit);
                    }
                }
            }
            JournalRecord::SpecFailed(failed) => {
                let (why, kept) = (failed.why.clone(), failed.kept.clone());
                let spec = Some(failed.spec.clone());
                self.specs.push(SpecNote { at, spec, fate: SpecResult::Failed { why, kept } });
            }
            _ => {}
        }
        self.history.add(entry);
        self.of_spending.resize(self.history.spending.len(), self.spec.clone());
    }

    fn stop_waiting(&mut self, at: i64) {
        if let Some(since) = self.waiting.take() {
            let waited = u64::try_from(at.saturating_sub(since)).unwrap_or(0);
            self.waits.push((at, waited));
        }
    }

    /// Attempts with the spec that construct worked on, oldest first.
    pub(super) fn attempts(&self) -> impl Iterator<Item = (&AttemptView, Option<&str>)> {
        let specs = self.of_attempt.iter().map(Option::as_deref);
        self.history.attempts.iter().zip(specs)
    }

    /// Return the cost of questions to agents outside of attempts, oldest first.
    ///
    /// Each comes with the spec that construct worked on, if there was one.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&BackendSpending, Option<&str>)> {
        let specs = self.of_spending.iter().map(Option::as_deref);
        self.history.spending.iter().zip(specs).filter(|(spent, _)| spent.role != AgentRole::Build)
    }

    /// Every commit that something landed as.
    pub fn commits(&self) -> Vec<&str> {
        use crate::cycle::AttemptState;
        let of_tasks = self.history.attempts.iter().filter_map(|view| match &view.fate {
            AttemptState::Landed { commit, .. } => commit.as_deref(),
            _ => None,
        });
        let of_specs = self.specs.iter().filter_map(|note| match &note.fate {
            SpecResult::Committed { commit } => Some(commit.as_str()),
            SpecResult::Failed { .. } => None,
        });
        of_tasks.chain(of_specs).collect()
    }
}
