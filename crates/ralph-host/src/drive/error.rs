//! Why a loop could not go on at all. What goes wrong with a task is not an error but a result.

use ralph_core::cycle::LoopEnd;
use ralph_core::prompt::TemplateError;

use crate::FileError;
use crate::choice::BackendChoiceError;
use crate::git::GitError;
use crate::handoff_files::HandoffError;
use crate::lanes::LaneError;
use crate::plan_store::PlanError;
use crate::proc::ProcError;
use crate::prompt_files::PromptFileError;
use crate::run_ledger::RunLedgerError;
use crate::store::{JournalError, LedgerStoreError, LockError};

/// A loop that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error("{0} is not in a git repository")]
    NoRepository(String),
    /// Start of a loop by a backend that ralph itself started.
    #[error("a loop cannot be started from inside an attempt ({0})")]
    Nested(String),
    /// Commits have no branch to arrive on.
    #[error("HEAD is detached, so there is no branch on which commits could arrive")]
    DetachedHead,
    /// Commits cannot arrive on a branch of this name.
    #[error("git does not take {0:?} as the name of a branch")]
    BranchName(String),
    /// While ralph owns the checkout, commits are made on the branch that is checked out.
    #[error("commits cannot arrive on another branch while ralph works in your checkout")]
    BranchInCheckout,
    /// There is nothing that a lane could be a checkout of.
    #[error("the branch has no commit yet, and lanes start from one")]
    NoCommit,
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The run's own copy of the ledger cannot be used.
    #[error(transparent)]
    RunLedger(#[from] RunLedgerError),
    /// Something was found that ralph will not decide alone.
    #[error("{message}")]
    Ask { message: String, hint: String },
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Recovery has changed the settings that the loop began with: it has to begin anew.
    #[error("ralph.toml is not what it was before the interrupted attempt was brought to its end")]
    SettingsMoved,
    #[error(transparent)]
    Prompt(#[from] TemplateError),
    /// A file of the prompt cannot be used.
    #[error(transparent)]
    PromptFile(#[from] PromptFileError),
    #[error(transparent)]
    Handoff(#[from] HandoffError),
    #[error(transparent)]
    Choice(#[from] BackendChoiceError),
    #[error(transparent)]
    Git(#[from] GitError),
    /// A process could not be run.
    #[error(transparent)]
    Proc(#[from] ProcError),
    #[error(transparent)]
    Store(#[from] LedgerStoreError),
    /// Another loop holds the lock of this worktree.
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why a step of a run did not come to its end. It goes up with `?` to the loop that began the step.
#[derive(Debug)]
pub(super) enum LoopHalt {
    /// Something changed meanwhile, such as a signal: the loop is to decide anew.
    LookAgain,
    End(LoopEnd),
    /// A loop that cannot go on.
    Error(DriveError),
}

impl<E: Into<DriveError>> From<E> for LoopHalt {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl LoopHalt {
    /// Return the end of the run, if the result of this step ends it.
    pub(super) fn end_of(step: Result<(), Self>) -> Result<Option<LoopEnd>, DriveError> {
        match step {
            Ok(()) | Err(Self::LookAgain) => Ok(None),
            Err(Self::End(end)) => Ok(Some(end)),
            Err(Self::Error(error)) => Err(error),
        }
    }

    /// Nothing, or the end of the run.
    pub(super) fn at(end: Option<LoopEnd>) -> Result<(), Self> {
        end.map_or(Ok(()), |end| Err(Self::End(end)))
    }
}

impl DriveError {
    /// Something is wrong with the plan.
    pub(super) fn plan(place: &str, message: &str, hint: &str) -> Self {
        let (place, message, hint) = (place.to_owned(), message.to_owned(), Some(hint.to_owned()));
        Self::Plan(PlanError { place, message, hint })
    }

    /// The words for a lane that is damaged; `None` for all else.
    pub(super) fn lane_damage(&self) -> Option<String> {
        match self {
            Self::Lane(e) => e.damage(),
            Self::Git(e @ GitError::LaneDamaged { .. }) => Some(e.to_string()),
            _ => None,
        }
    }

    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoRepository(_) => Some("`git init` makes one: ralph keeps work in git".into()),
            Self::Nested(_) => Some("a backend may use `ralph task` and `ralph query`".into()),
            Self::DetachedHead => {
                Some("name a branch for them: `--branch NAME`; or set workspace = \"checkout\" and commits are made on this HEAD".into())
            }
            Self::BranchName(_) => Some("`git check-ref-format --branch NAME` tries one".into()),
            Self::BranchInCheckout => {
                Some("set workspace = \"lane\", or `git switch` to that branch".into())
            }
            Self::NoCommit => Some("`git commit --allow-empty -m start` makes one".into()),
            Self::Lane(e) => e.hint(),
            Self::RunLedger(e) => e.hint(),
            Self::Ask { hint, .. } => Some(hint.clone()),
            Self::Plan(e) => e.hint.clone(),
            Self::SettingsMoved => Some("start again".into()),
            Self::Prompt(_) => None,
            Self::PromptFile(e) => e.hint(),
            Self::Handoff(e) => e.hint(),
            Self::Choice(e) => e.hint(),
            Self::Git(e) => e.hint(),
            Self::Proc(e) => e.hint(),
            Self::Store(e) => e.hint(),
            Self::Lock(e) => e.hint(),
            Self::Journal(e) => e.hint(),
            Self::File(e) => e.hint(),
        }
    }
}
