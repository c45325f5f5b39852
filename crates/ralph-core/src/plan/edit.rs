//! The vocabulary of change: what ralph may do to a plan file.

use super::model::{Id, Issue, Task};

/// How a task leaves the live plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retirement {
    /// Verified.
    Accepted,
    /// Given up.
    Failed,
    /// Left out on purpose; formats that can keep it visible do.
    Skipped,
    /// Taken out altogether.
    Deleted,
}

/// One change of a plan. The edits of one batch concern different items, so that a codec may work
/// out all of them against the same old text.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// A new task, in whatever state it is, at the end or right after another one.
    AddTask {
        /// The task; its id is already chosen (progress.md derives its own and ignores it).
        task: Task,
        /// Where it goes; `None` is the end (of its spec or phase, where the format has those).
        after: Option<Id>,
    },
    /// New values for the live task with this id. Fields that are equal are not touched. The states
    /// `Accepted`, `Failed` and `Skipped` are reached through `Retire`, except that a format which
    /// keeps retired tasks in place also goes *from* them to an open state here.
    UpdateTask(Task),
    /// The task leaves the live plan.
    Retire {
        /// Which task.
        id: Id,
        /// In which way.
        how: Retirement,
        /// Why, for the history.
        reason: Option<String>,
        /// When, RFC 3339.
        at: String,
    },
    /// The task was claimed or accepted, was found wanting, and is pending again with one more
    /// retry counted.
    Reject {
        /// Which task.
        id: Id,
        /// What is wrong.
        reason: String,
        /// When, RFC 3339.
        at: String,
    },
    /// A new issue.
    AddIssue(Issue),
    /// New values for an issue.
    UpdateIssue(Issue),
    /// The issue was dealt with.
    RemoveIssue(Id),
    /// Work on this spec from now on.
    UseSpec(String),
    /// The spec as a whole is satisfied.
    AcceptSpec {
        /// Which spec.
        spec: String,
        /// When, RFC 3339.
        at: String,
    },
}
