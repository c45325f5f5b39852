//! Payloads of the records about arrival: how landed commits reach the branch where a person works.
//!
//! Commits are object names, paths are written as the git room escapes them, and contents are the
//! object names that git gives to their raw bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival_wait::ArrivalWait;

/// The branch on which the commits of a run arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalTarget {
    /// The branch that home had checked out when the run started.
    #[default]
    HomeBranch,
    /// A branch that `--branch` or `[land] branch` names; home stays where it is.
    NamedBranch,
}

/// The start of a run's tip.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TipStart {
    /// The run whose ref `refs/ralph/<run>/tip` is the tip.
    pub run: String,
    /// The short name of the branch on which commits arrive.
    pub branch: String,
    #[serde(default)]
    pub target: ArrivalTarget,
    /// The last commit that the branch has.
    pub arrived: String,
    /// The commit of the tip. It differs from `arrived` when the commits of an earlier run wait.
    pub tip: String,
}

/// A file of home whose bytes are part of a landed commit.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct TakenOverFile {
    pub path: String,
    /// The bytes in home when they were taken over.
    pub content: String,
}

/// Entry in the index of home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedEntry {
    /// Six octal digits, as git writes them.
    pub mode: String,
    pub object: String,
}

/// A file that rides in an arrival: untracked or edited in home, and already part of the new commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RiddenFile {
    #[serde(flatten)]
    pub file: TakenOverFile,
    /// The entry of the index before the arrival, to be put back if the arrival fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<StagedEntry>,
}

/// The git operation of an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalWay {
    /// Git fast-forwards the branch that home has checked out.
    #[default]
    FastForward,
    /// Git fetches into a branch that is checked out nowhere.
    Fetch,
    /// The files are written to home and nothing is committed.
    FilesOnly,
}

/// Intent: landed commits are about to arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalIntent {
    #[serde(default)]
    pub way: ArrivalWay,
    /// The commit of the branch before; empty when the branch does not exist yet.
    pub old: String,
    pub new: String,
    /// The paths that differ between the two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rides: Vec<RiddenFile>,
}

/// The branch is at this commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivedCommits {
    /// The short name of the branch.
    pub branch: String,
    pub commit: String,
    /// The number of landings that arrived with it.
    #[serde(default)]
    pub commits: usize,
}

/// Commits that did not arrive, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnarrivedCommits {
    pub why: ArrivalWait,
    /// The sentence for a person, with the command that is the way out.
    pub sentence: String,
    /// The number of commits that wait.
    #[serde(default)]
    pub commits: usize,
}

/// A commit that was written again on top of the person's commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedCommit {
    pub old: String,
    pub new: String,
    /// The gates saw the old commit and not this one: only the last tree is gated again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated_before_replay: bool,
}

/// The waiting commits on top of the person's commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitReplay {
    /// The commit of the branch on which they are.
    pub onto: String,
    /// Tip before the replay.
    pub old_tip: String,
    /// Tip after the decision.
    pub tip: String,
    pub commits: Vec<ReplayedCommit>,
    /// Attempts whose commits the branch has lost; their tasks return to pending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl CommitReplay {
    /// Give a commit that was written again its new id.
    pub fn rename(&self, commit: &mut String) {
        if let Some(moved) = self.commits.iter().find(|moved| moved.old == *commit) {
            commit.clone_from(&moved.new);
        }
    }
}

/// Waiting commits that the branch already has, because a person merged them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenCommits {
    /// The commit of the branch, which the tip follows.
    pub commit: String,
}

/// A decision of a person about waiting commits, other than their arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettlementWay {
    /// `ralph land --no-commit`: they are uncommitted changes in home.
    Uncommitted,
    /// `ralph land --branch NAME`: they are on this new branch.
    NewBranch(String),
    /// `ralph land --discard`: this ref keeps them.
    GivenUp(String),
}

/// Waiting commits about which a person decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettledCommits {
    pub way: SettlementWay,
    /// The tip that they ended in.
    pub commit: String,
    /// Tip after the decision.
    pub tip: String,
}

/// A commit of ledger files alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerCommit {
    /// The id in its `Ralph-Attempt` trailer.
    pub attempt: String,
    pub commit: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_over: Vec<TakenOverFile>,
}
