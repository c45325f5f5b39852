//! What the journal says about more than one run: runs, questions to agents, specs, waits.
//!
//! [`History`] is what a loop needs to go on: the last run alone, and no times of what is over. A
//! report needs those too, so this is the same reading with a longer memory.

use jiff::Timestamp;
use serde_json::Value;

use crate::cycle::{AttemptView, Entry, History, Record, Spending};

/// Everything a report needs to know of the journal.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// What the loops have.
    pub history: History,
    /// Every run, oldest first.
    pub(super) runs: Vec<Run>,
    /// The spec of each spending of the history, where construct worked on one.
    of_spending: Vec<Option<String>>,
    /// Specs that were committed or given up as a whole, oldest first.
    pub(super) specs: Vec<SpecNote>,
    /// Waits for a usage limit: when, and how many seconds.
    pub(super) waits: Vec<(i64, u64)>,
    /// The spec of each attempt of the history, where construct worked on one.
    of_attempt: Vec<Option<String>>,
    /// The spec at work.
    pub(super) spec: Option<String>,
    /// Since when ralph waits.
    waiting: Option<i64>,
}

/// One run of a loop.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) command: String,
    pub(super) began: i64,
    /// The last record of it.
    pub(super) last: i64,
    /// How it ended, in words; `None` while it goes on, and after a crash.
    pub(super) end: Option<String>,
}

/// Something became of a whole spec.
#[derive(Clone, Debug)]
pub(super) struct SpecNote {
    pub(super) at: i64,
    pub(super) spec: Option<String>,
    pub(super) fate: SpecFate,
}

/// What became of it.
#[derive(Clone, Debug)]
pub(super) enum SpecFate {
    /// One commit holds it.
    Committed { commit: String },
    /// It was given up.
    Failed { why: String, kept: Option<String> },
}

/// Seconds since 1970 of a time in the journal. What is no time is at the very beginning.
pub(super) fn seconds(at: &str) -> i64 {
    at.parse::<Timestamp>().map_or(i64::MIN, Timestamp::as_second)
}

/// The spec that the subject of its commit names: `ralph: <spec> (<commit>)`.
fn named_in(message: &str) -> Option<String> {
    let (subject, _) = message.rsplit_once(" (")?;
    let (_, name) = subject.split_once(": ")?;
    (name != "all tasks").then(|| name.to_owned())
}

impl Past {
    /// One more record.
    pub fn add(&mut self, entry: &Entry) {
        let at = seconds(&entry.at);
        if let Some(run) = self.runs.last_mut() {
            run.last = run.last.max(at);
        }
        match &entry.record {
            Record::RunStarted(run) => {
                self.stop_waiting(at);
                self.spec = None;
                let command = run.command.clone();
                self.runs.push(Run { command, began: at, last: at, end: None });
            }
            Record::RunEnded { end, message, .. } => {
                self.stop_waiting(at);
                if let Some(run) = self.runs.last_mut() {
                    // A planner that did its work completed no task.
                    let planned = run.command == "plan" && end == "complete";
                    run.end = Some(if planned { "planned".to_owned() } else { message.clone() });
                }
            }
            Record::ConstructStarted(start) => self.spec = Some(start.spec.clone()),
            Record::AttemptStarted(_) => {
                self.stop_waiting(at);
                self.of_attempt.push(self.spec.clone());
            }
            Record::Answered(answered) => {
                // `ralph plan` names the spec as what it asks about.
                let planned = (answered.role == "plan" && !answered.item.is_empty())
                    .then(|| answered.item.clone());
                self.of_spending.push(self.spec.clone().or(planned));
            }
            Record::Waiting { .. } => self.waiting = Some(self.waiting.unwrap_or(at)),
            Record::Waited => self.stop_waiting(at),
            Record::Noted { event, message, details } => self.note(at, event, message, details),
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

    fn note(&mut self, at: i64, event: &str, message: &str, details: &Value) {
        let text = |key: &str| details[key].as_str().map(str::to_owned);
        let fate = match event {
            "spec_complete" => match text("commit") {
                Some(commit) => SpecFate::Committed { commit },
                None => return,
            },
            "spec_failed" => SpecFate::Failed {
                why: text("why").unwrap_or_else(|| message.to_owned()),
                kept: text("stash").or_else(|| text("salvage")),
            },
            _ => return,
        };
        let spec = text("spec").or_else(|| self.spec.clone()).or_else(|| named_in(message));
        self.specs.push(SpecNote { at, spec, fate });
    }

    /// Attempts with the spec that construct worked on, oldest first.
    pub(super) fn attempts(&self) -> impl Iterator<Item = (&AttemptView, Option<&str>)> {
        let specs = self.of_attempt.iter().map(Option::as_deref);
        self.history.attempts.iter().zip(specs)
    }

    /// What agents cost that were asked something beside attempts, with the spec that construct
    /// worked on, oldest first.
    pub(super) fn asked(&self) -> impl Iterator<Item = (&Spending, Option<&str>)> {
        let specs = self.of_spending.iter().map(Option::as_deref);
        self.history.spending.iter().zip(specs).filter(|(spent, _)| spent.role != "build")
    }

    /// Every commit that something landed as.
    pub fn commits(&self) -> Vec<&str> {
        use crate::cycle::Fate;
        let of_tasks = self.history.attempts.iter().filter_map(|view| match &view.fate {
            Fate::Landed { commit, .. } => commit.as_deref(),
            _ => None,
        });
        let of_specs = self.specs.iter().filter_map(|note| match &note.fate {
            SpecFate::Committed { commit } => Some(commit.as_str()),
            SpecFate::Failed { .. } => None,
        });
        of_tasks.chain(of_specs).collect()
    }
}
