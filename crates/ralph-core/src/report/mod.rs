//! The morning report: what landed, what failed, what needs a person, and how to undo it.
//!
//! # Theory of operation
//!
//! ```text
//! journal --Past--\
//! plan, inbox -----> Report::of --> Report --> markdown() | html() | JSON
//! git facts ------/
//! ```
//!
//! A [`Report`] is a value with everything decided: which spec a task belongs to, whether its commit is
//! still on the branch, which failure still matters. Markdown and HTML only write it down, in the
//! same order: the sentence for somebody who is tired, what waits for that person, what landed, what
//! failed, the numbers.

mod chart;
mod failed;
mod gather;
mod html;
mod landed;
mod markdown;
mod past;
mod since;
pub(crate) mod undo;
mod words;

pub use gather::Sources;
pub use past::Past;
pub use since::Since;

use serde::Serialize;

use crate::cost_sum::CostSum;
use crate::cycle::{AmendmentRow, AttemptSummary, RunCommand};
use crate::dashboard::Group;
use crate::needs::Need;

/// What happened in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The project's name.
    pub project: String,
    /// From when on, seconds since 1970.
    pub since: i64,
    /// Until when.
    pub until: i64,
    /// How far the reader's clock is ahead of UTC, in seconds.
    pub utc_offset: i32,
    /// The numbers.
    pub totals: Totals,
    /// What needs a person.
    pub needs: Vec<Need>,
    /// What landed, by spec.
    pub specs: Vec<SpecPart>,
    /// What was spent on work that is in none of `specs`.
    pub other_cost: CostSum,
    /// Specs that were given up.
    pub failed_specs: Vec<FailedSpec>,
    /// Tasks that failed and have not landed since.
    pub failed_tasks: Vec<FailedTask>,
    /// Changes of the plan by agents, in order.
    pub amendments: Vec<AmendmentRow>,
    /// The loops that ran.
    pub runs: Vec<RunLine>,
    /// Time and money by stage.
    pub stages: Vec<Group>,
    /// What was spent, in order.
    pub spending: Vec<Spent>,
    /// Every attempt that ended, in order.
    pub attempts: Vec<AttemptSummary>,
}

/// The numbers of a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Specs that were finished.
    pub specs_done: usize,
    /// Specs that were given up.
    pub specs_failed: usize,
    /// Tasks that landed, whole.
    pub tasks_landed: usize,
    /// Tasks that failed and have not landed since.
    pub tasks_failed: usize,
    /// Attempts that ended.
    pub attempts: usize,
    /// Tasks whose first attempt ended in the period.
    pub first_tries: usize,
    /// Those that landed with it.
    pub first_try_landed: usize,
    /// What its backend runs cost.
    #[serde(flatten)]
    pub cost: CostSum,
    /// Time in which backends worked, in milliseconds.
    pub agent_ms: u64,
    /// Time in which a loop ran, in seconds.
    pub run_seconds: u64,
    /// Time of that spent waiting for usage limits, in seconds.
    pub waited_seconds: u64,
}

/// What landed of a spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpecPart {
    /// The spec; `None` for tasks without one.
    pub spec: Option<String>,
    /// Whether it is finished.
    pub done: bool,
    /// The commits that hold it as a whole, oldest first, as far as they are on the branch.
    pub commits: Vec<String>,
    /// Its tasks that landed, oldest first.
    pub tasks: Vec<LandedTask>,
    /// Attempts on the way that failed.
    pub failed_attempts: usize,
    /// What its backend runs cost.
    #[serde(flatten)]
    pub cost: CostSum,
    /// Time in which backends worked on it, in milliseconds.
    pub agent_ms: u64,
    /// The command that takes all of it out again.
    pub undo: Option<String>,
}

/// Where landed work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In a commit of its own on the branch.
    Branch,
    /// In the spec's commit.
    Spec,
    /// In the tree or under a ref, not committed yet.
    Uncommitted,
    /// Not on this branch: another one is checked out, or history was rewritten.
    Elsewhere,
}

/// A task that landed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LandedTask {
    /// The attempt that landed.
    pub attempt: AttemptSummary,
    /// Attempts it took.
    pub tries: usize,
    /// What its attempts cost since it last landed.
    pub cost: CostSum,
    /// Where the work is.
    pub place: Place,
    /// The branch that has it, where that is another one.
    pub branch: Option<String>,
    /// The command that takes it out again.
    pub undo: Option<String>,
}

/// A spec that was given up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedSpec {
    /// The spec.
    pub spec: String,
    /// When, seconds since 1970.
    pub at: i64,
    /// Why.
    pub why: String,
    /// Where its work is.
    pub kept: Option<String>,
    /// The command that brings its work back.
    pub restore: Option<String>,
}

/// A task that failed and has not landed since.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedTask {
    /// The last attempt that counts.
    pub attempt: AttemptSummary,
    /// The task's spec.
    pub spec: Option<String>,
    /// Attempts in the period.
    pub tries: usize,
    /// The command that brings its work back.
    pub restore: Option<String>,
}

/// One loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// The command that was typed.
    pub command: RunCommand,
    /// When it began, seconds since 1970.
    pub began: i64,
    /// The last thing it did.
    pub last: i64,
    /// How it ended, in words; `None` while it runs, and in the journal of one that was killed.
    pub end: Option<String>,
}

/// Money was spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spent {
    /// When, seconds since 1970.
    pub at: i64,
    /// Dollars since the beginning of the period.
    pub total_usd: f64,
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
