//! Needs: everything that waits for a person.
//! One list serves status, watch, report, web, notifications, the end of a run and its exit code.
//!
//! [`needs`] is a pure function of plan, journal and queue. Each [`Need`] carries a command that
//! works as printed, from the root of the project.

mod of_plan;
mod of_run;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cycle::History;
use crate::inbox::{InboxEntry, InboxStatus};
use crate::plan::Plan;
use crate::text::shell_word;

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    /// Kind of the need. Needs are sorted by it.
    pub kind: NeedKind,
    /// The task, or the issue, that it is about.
    pub task: Option<String>,
    /// The spec that it is about.
    pub spec: Option<String>,
    /// One sentence without its full stop.
    pub text: String,
    /// For a shell in the root of the project.
    pub command: String,
    /// The rest of a sentence that begins with the command: "gives it another attempt".
    pub effect: Cow<'static, str>,
}

/// The kinds of needs, the most urgent first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A plan or a queue that cannot be read.
    Damaged,
    /// The loop is gone without having said how it ended.
    Crashed,
    /// The operator paused the loop.
    Paused,
    /// A command in the control file that may be a backend's.
    Control,
    /// A backend asked for a decision by a person.
    Decide,
    /// ralph gave up on a task.
    Failed,
    /// A task is blocked and cannot continue by itself.
    Blocked,
    /// A run of the task was killed, and only a construct breaks it down.
    Killed,
    /// Claimed to be done, and no verifier said a usable word about it.
    Unverified,
    /// Issues are open, and the loop does not investigate them.
    Issues,
    /// A spec of the queue failed.
    Spec,
    /// Commits that landed wait to arrive on the branch.
    Waiting,
    /// Work landed that no gate proves.
    Unproven,
    /// The last run ended before everything was done.
    Ended,
}

impl NeedKind {
    /// Whether a task cannot go on.
    pub fn is_stuck_work(self) -> bool {
        matches!(self, Self::Decide | Self::Failed | Self::Blocked | Self::Killed)
    }
}

impl Need {
    /// Return the command and its effect as one line of text.
    pub fn hint(&self) -> String {
        format!("`{}` {}", self.command, self.effect)
    }
}

/// Whether a loop is at work now; the journal alone cannot tell a crash from work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopProcess {
    /// A loop is at work. The process with this id holds the lock.
    Pid(u32),
    /// No process holds the lock.
    Nobody,
}

/// A file of the ledger that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerDamage {
    /// The part of the ledger that is damaged.
    pub part: LedgerPart,
    /// The file, the line and what is wrong with it.
    pub problem: String,
    /// Command that shows the damage.
    pub command: String,
}

/// The files of the ledger that a damage can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerPart {
    /// The plan file.
    Plan,
    /// The queue of specs.
    Inbox,
}

/// Sources from which the needs are computed.
#[derive(Clone, Copy, Debug)]
pub struct NeedSources<'a> {
    /// The plan; empty where it cannot be read.
    pub plan: &'a Plan,
    /// The plan file, relative to the root of the project.
    pub plan_file: &'a str,
    /// State derived from the journal.
    pub history: &'a History,
    /// Entries of the queue, in queue order.
    pub inbox: &'a [InboxEntry],
    /// Whether a loop is at work.
    pub running: &'a LoopProcess,
    /// Files of the ledger that cannot be read.
    pub damage: &'a [LedgerDamage],
}

/// Everything that waits for a person, the most urgent first.
pub fn needs(sources: &NeedSources<'_>) -> Vec<Need> {
    let damaged = sources.damage.iter().map(|damage| Need {
        command: damage.command.clone(),
        ..need(NeedKind::Damaged, damage.problem.clone(), "shows what is wrong")
    });
    let mut all: Vec<Need> = damaged.collect();
    of_plan::add(sources, &mut all);
    of_run::add(sources, &mut all);
    all.extend(of_run::waiting(sources));
    all.extend(failed_specs(sources.inbox));
    all.sort_by_key(|need| need.kind);
    all
}

/// Specs whose last entry in the queue failed.
fn failed_specs(inbox: &[InboxEntry]) -> impl Iterator<Item = Need> {
    let last = |n: usize, entry: &InboxEntry| !inbox[n + 1..].iter().any(|e| e.spec == entry.spec);
    let failed = inbox
        .iter()
        .enumerate()
        .filter(move |(n, entry)| entry.status == InboxStatus::Failed && last(*n, entry));
    failed.map(|(_, entry)| {
        let why = entry.error.as_deref().unwrap_or("it gave no reason");
        Need {
            spec: Some(entry.spec.clone()),
            command: format!("ralph inbox add {}", shell_word(&entry.spec)),
            ..need(NeedKind::Spec, format!("{} failed: {why}", entry.spec), "queues it again")
        }
    })
}

fn need(kind: NeedKind, text: String, effect: &'static str) -> Need {
    let text = text.trim_end().trim_end_matches('.').to_owned();
    Need { kind, task: None, spec: None, text, command: String::new(), effect: effect.into() }
}

impl NeedSources<'_> {
    fn is_idle(&self) -> bool {
        *self.running == LoopProcess::Nobody
    }

    /// ` --plan FILE`, unless it is the plan that every command takes by itself.
    fn plan_option(&self) -> String {
        match self.plan_file {
            "ralph/plan.jsonl" | "" => String::new(),
            file => format!(" --plan {}", shell_word(file)),
        }
    }
}

#[cfg(test)]
#[path = "needs/needs_tests.rs"]
mod tests;
