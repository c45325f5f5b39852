//! The vocabulary of change: what ralph may do to a plan file.

use super::model::{Id, Issue, Task};

/// Way in which a task leaves the live plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retirement {
    Accepted,
    /// The task was given up.
    Failed,
    /// Left out on purpose; formats that can keep it visible do.
    Skipped,
    /// The task was removed from the plan.
    Deleted,
}

/// One change of a plan. The edits of one batch concern different items, so that a codec may work
/// out all of them against the same old text.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanEdit {
    /// A new task, in whatever state it is, at the end or right after another one.
    AddTask {
        /// The task; its id is already chosen (progress.md derives its own and ignores it).
        task: Task,
        /// Task that the new one follows. `None` is the end of the plan, or of its spec or phase.
        after: Option<Id>,
    },
    /// New values for the live task with this id. Fields that are equal are not touched. The states
    /// `Accepted`, `Failed` and `Skipped` are reached through `Retire`, except that a format which
    /// keeps retired tasks in place also goes *from* them to an open state here.
    UpdateTask(Task),
    /// The task leaves the live plan.
    Retire {
        id: Id,
        how: Retirement,
        /// Reason for the history.
        reason: Option<String>,
        /// Time for the history, RFC 3339.
        at: String,
    },
    /// The task was claimed or accepted, was found wanting, and is pending again with one more
    /// retry counted.
    Reject {
        id: Id,
        /// Reason for the rejection.
        reason: String,
        /// Time for the history, RFC 3339.
        at: String,
    },
    AddIssue(Issue),
    /// Change the issue with this id to these values.
    UpdateIssue(Issue),
    /// Remove an issue that was dealt with.
    RemoveIssue(Id),
    /// Work on this spec from now on.
    UseSpec(String),
    /// The spec as a whole is satisfied.
    AcceptSpec {
        spec: String,
        /// Time for the history, RFC 3339.
        at: String,
    },
}
