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

pub use gather::ReportSources;
pub use past::ReportHistory;
pub use since::ReportStart;

use serde::Serialize;

use crate::cost_sum::CostSum;
use crate::cycle::{AmendmentRow, AttemptSummary, RunCommand};
use crate::dashboard::NumbersGroup;
use crate::needs::Need;

/// Report of the work in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub project: String,
    /// From when on, seconds since 1970.
    pub since: i64,
    /// End of the period, seconds since 1970.
    pub until: i64,
    /// Offset of the reader's time zone from UTC, in seconds.
    pub utc_offset: i32,
    pub totals: ReportTotals,
    /// Things that a person has to do.
    pub needs: Vec<Need>,
    /// Landed work, by spec.
    pub specs: Vec<SpecPart>,
    /// Cost of work that is in none of `specs`.
    pub other_cost: CostSum,
    pub failed_specs: Vec<FailedSpec>,
    /// Tasks that failed and have not landed since.
    pub failed_tasks: Vec<FailedTask>,
    /// Changes of the plan by agents, in order.
    pub amendments: Vec<AmendmentRow>,
    /// Runs of loops that were active in the period.
    pub runs: Vec<RunLine>,
    /// Time and cost by stage, the longest first.
    pub stages: Vec<NumbersGroup>,
    /// Cost over time, oldest first.
    pub spending: Vec<CostPoint>,
    /// Every attempt that ended, in order.
    pub attempts: Vec<AttemptSummary>,
}

/// Totals of the work in a period.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportTotals {
    pub specs_done: usize,
    /// Number of specs that were given up.
    pub specs_failed: usize,
    /// Number of tasks that landed completely.
    pub tasks_landed: usize,
    /// Tasks that failed and have not landed since.
    pub tasks_failed: usize,
    /// Number of attempts that ended.
    pub attempts: usize,
    /// Tasks whose first attempt ended in the period.
    pub first_tries: usize,
    /// Number of these tasks that landed with their first attempt.
    pub first_try_landed: usize,
    /// Cost of all backend calls for the spec.
    #[serde(flatten)]
    pub cost: CostSum,
    /// Time in which backends worked, in milliseconds.
    pub agent_ms: u64,
    /// Time in which a loop ran, in seconds.
    pub run_seconds: u64,
    /// Time of that spent waiting for usage limits, in seconds.
    pub waited_seconds: u64,
}

/// Work of one spec that landed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpecPart {
    /// The spec; `None` for tasks without one.
    pub spec: Option<String>,
    /// Whether the spec is finished.
    pub done: bool,
    /// The commits that hold it as a whole, oldest first, as far as they are on the branch.
    pub commits: Vec<String>,
    /// Tasks of the spec that landed, oldest first.
    pub tasks: Vec<LandedTask>,
    /// Attempts on the way that failed.
    pub failed_attempts: usize,
    /// Cost of all backend calls for the spec.
    #[serde(flatten)]
    pub cost: CostSum,
    /// Time in which backends worked on it, in milliseconds.
    pub agent_ms: u64,
    /// The command that takes all of it out again.
    pub undo: Option<String>,
}

/// Place of work that has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkPlace {
    /// In a commit of its own on the branch.
    Branch,
    /// In the commit of the whole spec.
    Spec,
    /// In the tree or under a ref, not committed yet.
    Uncommitted,
    /// Not on this branch: another one is checked out, or history was rewritten.
    Elsewhere,
}

/// Task that landed, completely or in part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LandedTask {
    pub attempt: AttemptSummary,
    /// Number of attempts until it landed.
    pub tries: usize,
    /// Cost of its attempts since an earlier part of the task landed.
    pub cost: CostSum,
    pub place: WorkPlace,
    /// The branch that has it, where that is another one.
    pub branch: Option<String>,
    /// The command that takes it out again.
    pub undo: Option<String>,
}

/// A spec that was given up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedSpec {
    pub spec: String,
    /// Time of the cost, seconds since 1970.
    pub at: i64,
    pub why: String,
    /// Ref or stash entry that keeps the work.
    pub kept: Option<String>,
    /// The command that brings its work back.
    pub restore: Option<String>,
}

/// A task that failed and has not landed since.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedTask {
    /// Last attempt that counts: no usage limit and no interruption.
    pub attempt: AttemptSummary,
    pub spec: Option<String>,
    /// Number of attempts in the period.
    pub tries: usize,
    /// The command that brings its work back.
    pub restore: Option<String>,
}

/// Run of a loop, for the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// The command that was typed.
    pub command: RunCommand,
    /// When it began, seconds since 1970.
    pub began: i64,
    /// Time of its last journal record, seconds since 1970.
    pub last: i64,
    /// Result of the run in words. `None` while it runs.
    ///
    /// The journal has no result for a run that was killed, so it is `None` there as well.
    pub end: Option<String>,
}

/// Total cost at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostPoint {
    /// Time of the cost, seconds since 1970.
    pub at: i64,
    /// Dollars since the beginning of the period.
    pub total_usd: f64,
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
