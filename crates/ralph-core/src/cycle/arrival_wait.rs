//! Reasons why landed commits wait, each with a sentence that names the way out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::shell_word;

/// Most paths or tasks that a sentence names.
const MOST_NAMED: usize = 3;

/// Length of an abbreviated commit in a sentence.
const SHORT_COMMIT: usize = 10;

/// A reason why landed commits have not arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum ArrivalWait {
    /// The commits touch files that are changed, untracked or ignored in home.
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

/// The command that ends a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitRemedy {
    /// For a shell in the root of the project.
    pub command: String,
    /// The rest of a sentence that begins with the command.
    pub effect: String,
}

impl WaitingCommits<'_> {
    fn them(self) -> &'static str {
        if self.count > 1 { "them" } else { "it" }
    }
}

impl ArrivalWait {
    /// The sentence for a person: what waits, why, and the command to use.
    pub fn to_sentence(&self, waiting: WaitingCommits<'_>) -> String {
        let WaitRemedy { command, effect } = self.way_out(waiting);
        format!("{}; `{command}` {effect}", self.reason(waiting))
    }

    /// Describe the waiting commits and the reason, without the way out.
    pub fn reason(&self, waiting: WaitingCommits<'_>) -> String {
        let branch = waiting.branch;
        let (subject, they) = match waiting.count {
            0 | 1 => ("1 commit waits".to_owned(), "it touches"),
            n => (format!("{n} commits wait"), "they touch"),
        };
        let why = match self {
            Self::Edited { paths } => format!("{they} {}, which you are editing", list(paths)),
            Self::NotTakenOver { path } => format!("{path} has an edit that is not taken over yet"),
            Self::StagedApart { path } => {
                format!("{path} is staged with other content than in the file")
            }
            Self::Conflict { paths } => {
                format!("conflict with your commits on {branch} in {}", list(paths))
            }
            Self::RedGates { failed } => {
                format!("gates fail together with your commits on {branch}: {}", list(failed))
            }
            Self::Rewritten { missing } => {
                format!("{branch} was rewritten and lacks {}", list(missing))
            }
            Self::BranchGone => format!("branch {branch} is gone"),
            Self::Detached => "HEAD is detached".to_owned(),
            Self::Operation { name, .. } => format!("a {name} is under way"),
            Self::Process { command, pid } => {
                format!("`git {command}` (pid {pid}) is running here")
            }
            Self::Locked { lock } => format!("another program holds {lock}"),
            Self::Unsettled => "HEAD or the index keep changing".to_owned(),
            Self::CheckedOutElsewhere { place } => format!("{branch} is checked out in {place}"),
            Self::WrongBranchMoved { branch: moved, .. } => {
                format!(
                    "you switched to {moved} while git merged, and it moved instead of {branch}"
                )
            }
            Self::HomeMoved => format!("{branch} has other commits now"),
            Self::AutoCommitOff => "auto_commit is off".to_owned(),
            Self::Interrupted { .. } => "an arrival was interrupted".to_owned(),
            Self::Refused { message } => format!("git refused: {message}"),
        };
        format!("{subject}: {why}")
    }

    /// The way out: a command that works as printed once the person is ready for it.
    pub fn way_out(&self, waiting: WaitingCommits<'_>) -> WaitRemedy {
        let (them, branch) = (waiting.them(), shell_word(waiting.branch));
        let land = |effect: String| WaitRemedy { command: "ralph land".to_owned(), effect };
        let brings = |when: &str| land(format!("brings {them}{when}"));
        let way = |command: String, effect: String| WaitRemedy { command, effect };
        match self {
            Self::Edited { .. } | Self::Unsettled | Self::Interrupted { .. } => {
                brings(" when you are ready")
            }
            Self::NotTakenOver { .. } => land(format!("takes it over and brings {them}")),
            Self::StagedApart { path } => way(
                format!("git add {} && ralph land", shell_word(&format!(":/{path}"))),
                format!("stages the file as it is and brings {them}"),
            ),
            Self::Conflict { .. } => way(
                format!("git merge refs/ralph/{}/tip", waiting.run),
                "lets you resolve it; after your commit, `ralph land` finishes".to_owned(),
            ),
            Self::RedGates { .. } => way(
                format!("git merge refs/ralph/{}/tip && ralph land", waiting.run),
                format!("takes {them} as {}", if waiting.count > 1 { "they are" } else { "it is" }),
            ),
            Self::Rewritten { .. } => way(
                "ralph land --rest".to_owned(),
                "brings the rest and returns the missing tasks to pending".to_owned(),
            ),
            Self::BranchGone => way(
                format!("ralph land --branch {branch}"),
                format!("makes the branch again with {them}"),
            ),
            Self::Detached => way(
                format!("git switch {branch} && ralph land"),
                format!("goes back to the branch and brings {them}"),
            ),
            Self::Operation { finish, give_up, .. } => way(
                format!("{finish} && ralph land"),
                match finish == give_up {
                    true => format!("ends it and brings {them}"),
                    false => format!("finishes it and brings {them} (`{give_up}` gives it up)"),
                },
            ),
            Self::Process { .. } => brings(" when it has ended"),
            Self::Locked { .. } => brings(" when the lock is gone"),
            Self::CheckedOutElsewhere { place } => way(
                format!("git -C {} switch --detach && ralph land", shell_word(place)),
                format!("leaves the branch there and brings {them}"),
            ),
            Self::WrongBranchMoved { branch: moved, old } => {
                let switch = match moved.as_str() {
                    "HEAD" => String::new(),
                    moved => format!("git switch {} && ", shell_word(moved)),
                };
                let command = format!("{switch}git reset --keep {} && ralph land", short(old));
                way(command, format!("undoes that and brings {them}"))
            }
            Self::HomeMoved => land(format!("without --no-commit brings {them}")),
            Self::AutoCommitOff => land(format!(
                "brings {them}, and `ralph land --no-commit` brings {them} as uncommitted changes"
            )),
            Self::Refused { .. } => land(format!(
                "tries again, and `ralph land --branch NAME` puts {them} on a new branch"
            )),
        }
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
