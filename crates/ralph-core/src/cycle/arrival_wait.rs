//! Reasons why landed commits wait, each with a sentence that names the way out.
#![expect(missing_docs, reason = "fields and variants whose names say it all have no docs")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most paths or tasks that a sentence names.
const MOST_NAMED: usize = 3;

/// Length of an abbreviated commit in a sentence.
const SHORT_COMMIT: usize = 10;

/// A reason why landed commits have not arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum ArrivalWait {
    /// They touch files that are changed, untracked or ignored in home.
    Edited { paths: Vec<String> },
    /// A ledger file or spec in home has an edit that no landed commit contains yet.
    NotTakenOver { path: String },
    /// A file that rides has other content in the index than in the file.
    StagedApart { path: String },
    /// The replay onto the person's commits has conflicts.
    Conflict { paths: Vec<String> },
    /// The gates are red together with the person's commits.
    RedGates { failed: Vec<String> },
    /// The branch was rewritten and lacks landed work.
    Rewritten { missing: Vec<String> },
    /// The branch was deleted.
    BranchGone,
    /// HEAD of home is on no branch.
    Detached,
    /// A merge, rebase or similar is unfinished in home.
    Operation { name: String, finish: String, give_up: String },
    /// Another git process that writes works in home.
    Process { command: String, pid: i32 },
    /// Something holds the lock of the index.
    Locked { lock: String },
    /// HEAD or the index of home keep changing.
    Unsettled,
    /// The branch is checked out in another worktree, or a rebase or bisect there uses it.
    CheckedOutElsewhere { place: String },
    /// HEAD was switched while git merged: another branch moved instead.
    WrongBranchMoved { branch: String, old: String },
    /// Home is not at the commit that last arrived, which `--no-commit` needs.
    HomeMoved,
    /// `auto_commit` is off.
    AutoCommitOff,
    /// An arrival was killed; its files are as before.
    Interrupted { put_back: Vec<String> },
    /// Git refused for another reason.
    Refused { message: String },
}

/// The commits that a sentence is about.
#[derive(Clone, Copy, Debug)]
pub struct WaitingCommits<'a> {
    pub run: &'a str,
    pub branch: &'a str,
    pub count: usize,
}

impl ArrivalWait {
    /// The sentence for a person: what waits, why, and the command to use.
    pub fn to_sentence(&self, waiting: WaitingCommits<'_>) -> String {
        let WaitingCommits { run, branch, count } = waiting;
        let (subject, they) = match count {
            1 => ("1 commit waits".to_owned(), "it touches"),
            n => (format!("{n} commits wait"), "they touch"),
        };
        let them = if count == 1 { "it" } else { "them" };
        let land = format!("`ralph land` brings {them} when you are ready");
        let merge = format!("`git merge refs/ralph/{run}/tip`");
        let why = match self {
            Self::Edited { paths } => {
                format!("{they} {}, which you are editing; {land}", list(paths))
            }
            Self::NotTakenOver { path } => {
                format!("{path} has an edit that is not taken over yet; {land}")
            }
            Self::StagedApart { path } => {
                format!("{path} is staged with other content than in the file; {land}")
            }
            Self::Conflict { paths } => {
                format!(
                    "conflict with your commits on {branch} in {}; merge with {merge}",
                    list(paths)
                )
            }
            Self::RedGates { failed } => format!(
                "gates fail together with your commits on {branch}: {}; merge with {merge}",
                list(failed)
            ),
            Self::Rewritten { missing } => format!(
                "{branch} was rewritten and lacks {}; `ralph land --rest` brings the rest and returns \
                 the missing tasks to pending",
                list(missing)
            ),
            Self::BranchGone => format!(
                "branch {branch} is gone; `ralph land --branch NAME` puts {them} on a new branch"
            ),
            Self::Detached => {
                format!("HEAD is detached; switch to {branch}, then `ralph land`")
            }
            Self::Operation { name, finish, give_up } => format!(
                "a {name} is under way; finish it (`{finish}`) or give it up (`{give_up}`), then \
                 `ralph land`"
            ),
            Self::Process { command, pid } => {
                format!("`git {command}` (pid {pid}) is running here; {land}")
            }
            Self::Locked { lock } => {
                format!("another program holds {lock}; {land}")
            }
            Self::Unsettled => format!("HEAD or the index keep changing; {land}"),
            Self::CheckedOutElsewhere { place } => {
                format!(
                    "{branch} is checked out in {place}; switch it away there, then `ralph land`"
                )
            }
            Self::WrongBranchMoved { branch: moved, old } => format!(
                "you switched to {moved} while git merged, and it moved instead of {branch}; `git reset \
                 --keep {}` on {moved} undoes it, then `ralph land`",
                short(old)
            ),
            Self::HomeMoved => {
                format!(
                    "{branch} has other commits now; `ralph land` without --no-commit brings {them}"
                )
            }
            Self::AutoCommitOff => format!(
                "auto_commit is off; `ralph land` or `ralph land --no-commit` brings {them}"
            ),
            Self::Interrupted { .. } => format!("an arrival was interrupted; {land}"),
            Self::Refused { message } => format!("git refused: {message}; {land}"),
        };
        format!("{subject}: {why}")
    }
}

fn list(names: &[String]) -> String {
    let named = names.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..SHORT_COMMIT).unwrap_or(commit)
}
