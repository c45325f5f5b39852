//! Arrival: the landed commits of a run reach home, the checkout where a person works.
//!
//! # Theory of operation
//!
//! ```text
//! facts ──decide_arrival──▶ fast-forward   home has the branch checked out
//!                           fetch          the branch is checked out nowhere
//!                           replay         the person committed: in objects, gated, then one of the two
//!                           taken          the branch has the commits already
//!                           wait           with a reason; nothing is touched
//! ```
//!
//! Decisions are [`ralph_core::cycle`]'s. Here are the facts they are made from, and git's own commands
//! that act on them. Every step that changes home is journalled before as an intent, through
//! [`ArrivalHost::record`], and its end after it. So a killed arrival is known, and
//! [`Repo::recover_arrival`] puts home back as it was.
//!
//! Home's branch moves only by `git merge --ff-only` and `git fetch`, with flags that keep git from
//! stashing, overwriting ignored files, running hooks or choosing another strategy. Files of a person are
//! never merged, moved or removed. The processes carry `RALPH_ARRIVAL=1`, so that the supervisor lets
//! them end.

mod busy;
mod facts;
mod fast_forward;
mod fetch;
mod put_back;
mod recovery;
mod replay;
mod rides;
mod settlement;

use std::collections::BTreeSet;
use std::error::Error;

use ralph_core::cycle::{
    ArrivalFacts, ArrivalLine, ArrivalStep, ArrivalWait, ArrivedCommits, JournalRecord,
    MissingWorkAnswer, TakenCommits, UnarrivedCommits, decide_arrival,
};

pub(super) use busy::HomeQuietState;
pub use recovery::RecoveredArrival;
pub use replay::{LedgerMerge, ReplayGateResult};

use super::Repo;
use super::call::GitCall;
use super::error::GitError;
use super::name::{Oid, RepoPath};
use crate::crash;

/// The variable of processes that the supervisor lets end.
pub const ARRIVAL_VARIABLE: &str = "RALPH_ARRIVAL";

/// A replay changes the branch's relation to the tip, and so does a person meanwhile.
const MOST_ROUNDS: u32 = 4;

/// An arrival that could not be tried, or whose end could not be journalled.
#[derive(Debug, thiserror::Error)]
pub enum ArrivalError {
    /// Git failed in a way that is no reason to wait.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The journal, the gates or the ledger failed.
    #[error(transparent)]
    Host(#[from] Box<dyn Error + Send + Sync>),
}

/// The parts of a run that an arrival needs.
pub trait ArrivalHost {
    /// Journal a record, durably, before what it announces is done.
    fn record(&mut self, record: JournalRecord) -> Result<(), ArrivalError>;

    /// The bytes of a ledger file in a replayed commit.
    fn merge_ledger(&mut self, merge: &LedgerMerge<'_>) -> Result<Vec<u8>, ArrivalError>;

    /// Run the gates on the last commit of a replay.
    fn gate_replay(&mut self, commit: &Oid) -> Result<ReplayGateResult, ArrivalError>;

    /// The tasks that the plan in this commit of the branch says are accepted.
    fn accepted_tasks(&mut self, commit: &Oid) -> Result<BTreeSet<String>, ArrivalError>;
}

/// The end of an attempt to arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalOutcome {
    /// Everything that landed is on the branch.
    Complete,
    Waits(UnarrivedCommits),
}

/// State of an arrival in progress.
struct Arrival<'r, 'a, 'h> {
    repo: &'r Repo<'a>,
    /// Commits that wait, kept up to date with the journal.
    line: ArrivalLine,
    host: &'h mut dyn ArrivalHost,
}

impl Repo<'_> {
    /// Bring the commits that wait to their branch, as far as that is possible now.
    pub fn arrive(
        &self,
        line: &ArrivalLine,
        on_missing: MissingWorkAnswer,
        host: &mut dyn ArrivalHost,
    ) -> Result<ArrivalOutcome, ArrivalError> {
        let mut arrival = Arrival { repo: self, line: line.clone(), host };
        for _ in 0..MOST_ROUNDS {
            if let Some(outcome) = arrival.step(on_missing)? {
                return Ok(outcome);
            }
        }
        arrival.wait(ArrivalWait::Unsettled)
    }

    /// The same while an attempt works: the tip stays where it is. `None` when it would have to move, because
    /// the branch has.
    pub fn arrive_beside(
        &self,
        line: &ArrivalLine,
        host: &mut dyn ArrivalHost,
    ) -> Result<Option<ArrivalOutcome>, ArrivalError> {
        let mut arrival = Arrival { repo: self, line: line.clone(), host };
        for _ in 0..MOST_ROUNDS {
            if !self.is_branch_unmoved(&arrival.line)? {
                return Ok(None);
            }
            let facts = arrival.facts()?;
            let outcome = match decide_arrival(&arrival.line, &facts, MissingWorkAnswer::Wait) {
                ArrivalStep::Replay { .. } | ArrivalStep::Taken { .. } => return Ok(None),
                step => arrival.take_step(step, &facts)?,
            };
            if outcome.is_some() {
                return Ok(outcome);
            }
        }
        arrival.wait(ArrivalWait::Unsettled).map(Some)
    }

    /// Whether the branch is where the last arrival left it, so that nothing has to be replayed.
    pub fn is_branch_unmoved(&self, line: &ArrivalLine) -> Result<bool, GitError> {
        let at = self.find_ref(&format!("refs/heads/{}", line.branch))?;
        Ok(at.is_none_or(|at| at.as_str() == line.arrived))
    }

    /// The object name of raw bytes, by which the journal knows the content of a file.
    pub fn content_id(&self, bytes: &[u8]) -> Result<Oid, GitError> {
        self.look(["hash-object", "--no-filters", "--stdin"]).stdin(bytes.to_vec()).oid()
    }

    /// The ref of a run's tip.
    fn tip_ref(run: &str) -> String {
        format!("refs/ralph/{run}/tip")
    }

    /// A call that belongs to an arrival: without hooks, and not killed by the supervisor.
    fn arrival_call<'s>(&self, args: impl IntoIterator<Item = &'s str>) -> GitCall<'_, '_> {
        let settings = ["-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false"];
        self.git(settings.into_iter().chain(args)).env(ARRIVAL_VARIABLE, "1")
    }

    /// Move a ref if nobody else did.
    fn move_ref(&self, name: &str, new: &str, old: &str) -> Result<(), GitError> {
        self.arrival_call(["update-ref", "-m", "ralph: arrival", name, new, old]).ok().map(drop)
    }
}

impl Arrival<'_, '_, '_> {
    /// One decision and what follows from it. `None` when the next one has to be made.
    fn step(
        &mut self,
        on_missing: MissingWorkAnswer,
    ) -> Result<Option<ArrivalOutcome>, ArrivalError> {
        // Git outranks the journal.
        if let Some(tip) = self.repo.find_ref(&Repo::tip_ref(&self.line.run))? {
            self.line.tip = tip.to_string();
        }
        let facts = self.facts()?;
        self.take_step(decide_arrival(&self.line, &facts, on_missing), &facts)
    }

    fn take_step(
        &mut self,
        step: ArrivalStep,
        facts: &ArrivalFacts,
    ) -> Result<Option<ArrivalOutcome>, ArrivalError> {
        let outcome = match step {
            ArrivalStep::Nothing => ArrivalOutcome::Complete,
            ArrivalStep::FastForward { to } => self.fast_forward(to)?,
            ArrivalStep::Fetch { to } => return self.fetch(&to),
            ArrivalStep::Replay { onto, missing } => {
                return self.replay(&onto, &missing, &facts.attempts);
            }
            ArrivalStep::Taken { at } => {
                let tip = self.line.tip.clone();
                if tip != at {
                    self.repo.move_ref(&Repo::tip_ref(&self.line.run), &at, &tip)?;
                    crash::point();
                }
                self.record(JournalRecord::Taken(TakenCommits { commit: at }))?;
                ArrivalOutcome::Complete
            }
            ArrivalStep::Wait(wait) => self.wait(wait)?,
        };
        Ok(Some(outcome))
    }

    fn record(&mut self, record: JournalRecord) -> Result<(), ArrivalError> {
        self.host.record(record.clone())?;
        self.line.add(&record, |_| None);
        Ok(())
    }

    fn arrived(&mut self, at: &str) -> Result<(), ArrivalError> {
        let before = self.line.waiting().len();
        let mut after = self.line.clone();
        let mut record =
            ArrivedCommits { branch: self.line.branch.clone(), commit: at.to_owned(), commits: 0 };
        after.add(&JournalRecord::Arrived(record.clone()), |_| None);
        record.commits = before.saturating_sub(after.waiting().len());
        self.record(JournalRecord::Arrived(record))
    }

    /// Journal a reason, unless it is the one that the journal has.
    fn wait(&mut self, why: ArrivalWait) -> Result<ArrivalOutcome, ArrivalError> {
        let waiting = self.line.waiting_commits();
        let (sentence, commits) = (why.to_sentence(waiting), waiting.count);
        let not = UnarrivedCommits { why, sentence, commits };
        let is_open = self.line.open_arrival.is_some() || self.line.open_replay.is_some();
        if is_open || self.line.wait.as_ref() != Some(&not.why) {
            self.record(JournalRecord::NotArrived(not.clone()))?;
        }
        Ok(ArrivalOutcome::Waits(not))
    }

    fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.line.branch)
    }

    fn branch_at(&self) -> Result<Option<Oid>, GitError> {
        self.repo.find_ref(&self.branch_ref())
    }
}

/// A path as the journal has it.
fn path_text(path: &RepoPath) -> String {
    path.to_string()
}

/// Read a path as the journal wrote it.
fn path_of(text: &str) -> RepoPath {
    let json = serde_json::Value::String(text.to_owned());
    serde_json::from_value(json).unwrap_or_else(|_| RepoPath::new(text))
}
