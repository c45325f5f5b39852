//! Arrival as pure decisions: how landed commits reach the branch where a person works.
//!
//! # Theory of operation
//!
//! ```text
//! ArrivalLine, ArrivalFacts --decide_arrival--> ArrivalStep --(git does it)--> records
//! blocked paths             --longest_prefix--> the last commit that can arrive
//! ArrivalIntent, PathFact   --recover_arrival--> which paths are put back
//! ```
//!
//! Nothing of a person's is ever merged, moved or overwritten: a step that would need it is a wait with
//! a reason, and work goes on from the tip.

use std::collections::BTreeSet;

use super::arrival_line::{ArrivalLine, LandedCommit};
use super::arrival_record::{ArrivalIntent, ArrivalTarget, ArrivalWay};
use super::arrival_wait::ArrivalWait;

/// Position of home's HEAD relative to the branch of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeHead {
    OnBranch,
    OnOtherBranch,
    Detached,
}

/// Relation between the branch and the commits of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchAncestry {
    /// The branch is where the last arrival left it.
    Unmoved,
    /// The branch has everything up to the tip.
    HasTip,
    /// The branch has what arrived, and commits of the person.
    HasArrived,
    /// The branch lacks commits that had arrived.
    Rewritten,
}

/// The state of home and of the branch, as git reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalFacts {
    /// The commit of the branch; `None` when the branch does not exist.
    pub branch_at: Option<String>,
    pub ancestry: BranchAncestry,
    pub head: HomeHead,
    /// An unfinished operation or a process that writes in home.
    pub busy: Option<ArrivalWait>,
    /// Another worktree that has the branch checked out.
    pub elsewhere: Option<String>,
    /// Attempts whose commits, or whose `Ralph-Attempt` trailers, the branch has.
    pub attempts: BTreeSet<String>,
    /// Tasks that the plan on the branch says are accepted.
    pub accepted: BTreeSet<String>,
}

/// The answer to landed work that a rewritten branch lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingWorkAnswer {
    /// Wait, and inform the person.
    Wait,
    /// `ralph land --rest`: bring the rest, and return the missing tasks to pending.
    BringRest,
}

/// The next step of an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalStep {
    /// Everything has arrived.
    Nothing,
    /// Fast-forward the checked-out branch.
    FastForward {
        to: String,
    },
    /// Fetch into the branch, which is checked out nowhere.
    Fetch {
        to: String,
    },
    /// Write the waiting commits again on top of the branch.
    Replay {
        onto: String,
        missing: Vec<LandedCommit>,
    },
    /// The branch contains the tip already; the tip follows the branch.
    Taken {
        at: String,
    },
    Wait(ArrivalWait),
}

/// Decide what happens to the commits that wait.
pub fn decide_arrival(
    line: &ArrivalLine,
    facts: &ArrivalFacts,
    on_missing: MissingWorkAnswer,
) -> ArrivalStep {
    let Some(branch_at) = &facts.branch_at else { return without_branch(line) };
    if *branch_at == line.tip && line.arrived == line.tip {
        return ArrivalStep::Nothing;
    }
    match facts.ancestry {
        BranchAncestry::Unmoved if line.arrived == line.tip => ArrivalStep::Nothing,
        BranchAncestry::HasTip => ArrivalStep::Taken { at: branch_at.clone() },
        _ => match home_in_the_way(line, facts) {
            Some(wait) => ArrivalStep::Wait(wait),
            None => move_branch(line, facts, branch_at, on_missing),
        },
    }
}

/// A branch that `--branch` names is made by the first arrival.
fn without_branch(line: &ArrivalLine) -> ArrivalStep {
    let is_new = line.target == ArrivalTarget::NamedBranch && line.arrived == line.base;
    if is_new && line.arrived == line.tip {
        return ArrivalStep::Nothing;
    }
    match is_new {
        true => ArrivalStep::Fetch { to: line.tip.clone() },
        false => ArrivalStep::Wait(ArrivalWait::BranchGone),
    }
}

fn move_branch(
    line: &ArrivalLine,
    facts: &ArrivalFacts,
    branch_at: &str,
    on_missing: MissingWorkAnswer,
) -> ArrivalStep {
    let to = line.tip.clone();
    let missing = match facts.ancestry {
        BranchAncestry::Rewritten => find_missing(line, &facts.attempts, &facts.accepted),
        BranchAncestry::Unmoved if facts.head == HomeHead::OnBranch => {
            return ArrivalStep::FastForward { to };
        }
        BranchAncestry::Unmoved => return ArrivalStep::Fetch { to },
        BranchAncestry::HasArrived | BranchAncestry::HasTip => Vec::new(),
    };
    if !missing.is_empty() && on_missing == MissingWorkAnswer::Wait {
        let missing = missing.into_iter().map(name_of).collect();
        return ArrivalStep::Wait(ArrivalWait::Rewritten { missing });
    }
    ArrivalStep::Replay { onto: branch_at.to_owned(), missing }
}

/// Home's state matters when the branch is, or just was, checked out there.
fn home_in_the_way(line: &ArrivalLine, facts: &ArrivalFacts) -> Option<ArrivalWait> {
    match (facts.head, line.target) {
        (HomeHead::OnBranch, _) => facts.busy.clone(),
        (HomeHead::Detached, ArrivalTarget::HomeBranch) => {
            Some(facts.busy.clone().unwrap_or(ArrivalWait::Detached))
        }
        (HomeHead::OnOtherBranch, _) | (HomeHead::Detached, ArrivalTarget::NamedBranch) => {
            let place = facts.elsewhere.clone();
            place.map(|place| ArrivalWait::CheckedOutElsewhere { place })
        }
    }
}

fn name_of(landed: LandedCommit) -> String {
    match landed.tasks.is_empty() {
        true => landed.attempt,
        false => landed.tasks.join(", "),
    }
}

/// Landed work that had arrived and that a rewritten branch lacks: neither a trailer nor the plan on the
/// branch knows it. Commits of the ledger alone are never missed.
pub fn find_missing(
    line: &ArrivalLine,
    attempts: &BTreeSet<String>,
    accepted: &BTreeSet<String>,
) -> Vec<LandedCommit> {
    let is_missing = |landed: &&LandedCommit| {
        !attempts.contains(&landed.attempt)
            && landed.tasks.iter().any(|task| !accepted.contains(task))
    };
    line.arrived_commits().iter().filter(is_missing).cloned().collect()
}

/// The last of the commits that can arrive: those before the first that touches a blocked path. `None`
/// when that is none of them, or when a commit on the way does not say what it touches.
pub fn longest_prefix<'c>(
    waiting: &'c [LandedCommit],
    blocked: &[String],
) -> Option<&'c LandedCommit> {
    let is_free = |landed: &&LandedCommit| {
        let touches = |path: &String| blocked.iter().any(|blocked| overlaps(path, blocked));
        !landed.paths.is_empty() && !landed.paths.iter().any(touches)
    };
    waiting.iter().take_while(is_free).last()
}

/// Whether two paths are the same, or one is a folder above the other.
fn overlaps(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim_end_matches('/'), other.trim_end_matches('/'));
    let is_below = |below: &str, above: &str| {
        below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_below(one, other) || is_below(other, one)
}

/// The content of a path in home, compared with both commits of a killed arrival. Bytes, mode and type
/// have to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathContent {
    Old,
    New,
    Missing,
    /// The beginning of the new content, or nothing: git was writing it.
    PartOfNew,
    Other,
}

/// A path that an arrival touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFact {
    pub path: String,
    /// Whether the old commit has it.
    pub in_old: bool,
    /// Whether the new commit has it.
    pub in_new: bool,
    pub now: PathContent,
}

/// Position of the branch after an arrival was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KilledArrivalBranch {
    AtOld,
    /// At the new commit, or a person has committed on top of it.
    HasNew,
    Elsewhere,
}

/// Action on an arrival that was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalRecovery {
    /// Write the ridden files that are still as they were taken over, and journal the arrival.
    Finish,
    /// Put these paths and the ridden index entries back to the old commit.
    PutBack { paths: Vec<String> },
    /// Put the ridden index entries back, as far as they are still the arrival's. HEAD is on another
    /// branch now, or the branch was moved, so no file is touched.
    PutBackEntries,
    /// Touch nothing: there is nothing left of the arrival.
    Leave,
}

/// Decide about an arrival that was killed. The rest of what changed in home is the person's.
pub fn recover_arrival(
    intent: &ArrivalIntent,
    branch: KilledArrivalBranch,
    head: HomeHead,
    paths: &[PathFact],
) -> ArrivalRecovery {
    match (branch, intent.way, head) {
        (KilledArrivalBranch::HasNew, ArrivalWay::FastForward | ArrivalWay::Fetch, _) => {
            ArrivalRecovery::Finish
        }
        (KilledArrivalBranch::HasNew, _, _) | (_, ArrivalWay::Fetch, _) => ArrivalRecovery::Leave,
        (KilledArrivalBranch::AtOld, _, HomeHead::OnBranch) => {
            let ridden = |path: &str| intent.rides.iter().any(|ride| ride.file.path == path);
            let own = paths.iter().filter(|fact| is_own(fact) && !ridden(&fact.path));
            ArrivalRecovery::PutBack { paths: own.map(|fact| fact.path.clone()).collect() }
        }
        (KilledArrivalBranch::AtOld | KilledArrivalBranch::Elsewhere, _, _) => {
            ArrivalRecovery::PutBackEntries
        }
    }
}

/// Whether the killed arrival, and nobody else, left a path as it is now.
fn is_own(fact: &PathFact) -> bool {
    match fact.now {
        PathContent::New | PathContent::PartOfNew => fact.in_new,
        PathContent::Missing => fact.in_old,
        PathContent::Old | PathContent::Other => false,
    }
}

#[cfg(test)]
#[path = "arrival_tests.rs"]
mod tests;
