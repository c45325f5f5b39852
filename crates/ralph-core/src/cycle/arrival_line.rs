//! The line of landed commits of a run, and how far it has arrived: a fold of the journal.

use super::arrival_record::{
    ArrivalIntent, ArrivalTarget, CommitReplay, LedgerCommit, TakenOverFile, TipStart,
};
use super::arrival_wait::{ArrivalWait, WaitingCommits};
use super::payload::SpecLanding;
use super::record::{JournalRecord, LandedAttempt};

/// A commit that landed on the tip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandedCommit {
    /// Id in the `Ralph-Attempt` trailer of the commit.
    pub attempt: String,
    /// The tasks whose work it has; none for a commit of the ledger alone.
    pub tasks: Vec<String>,
    pub commit: String,
    /// The paths that it touches; empty when the journal does not say.
    pub paths: Vec<String>,
    pub taken_over: Vec<TakenOverFile>,
}

/// The commits of a run from what has arrived to the tip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrivalLine {
    pub run: String,
    /// The short name of the branch on which commits arrive.
    pub branch: String,
    pub target: ArrivalTarget,
    /// The commit at which the tip started.
    pub base: String,
    /// The last commit that is known to be on the branch.
    pub arrived: String,
    /// The tip, as far as the journal knows it.
    pub tip: String,
    /// Landed commits, oldest first; the first `arrived_count` of them have arrived.
    pub landed: Vec<LandedCommit>,
    arrived_count: usize,
    /// An arrival that has begun and not ended.
    pub open_arrival: Option<ArrivalIntent>,
    /// A replay whose tip may not have been moved.
    pub open_replay: Option<CommitReplay>,
    /// Reason why the last arrival waits.
    pub wait: Option<ArrivalWait>,
    /// The commit that a person's decision took away from the tip. The ref may not have been moved.
    pub let_go: Option<String>,
}

/// Whether the run whose commits wait may still try to bring them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// A loop is at work, or was killed and its next start goes on.
    Open,
    Ended,
}

impl ArrivalLine {
    /// The line of a run that starts. It keeps the waiting commits of `last` when it goes on with them.
    pub fn start(start: &TipStart, last: Option<Self>) -> Self {
        let adopts = |last: &Self| {
            last.branch == start.branch
                && last.arrived == start.arrived
                && start.tip != start.arrived
        };
        let of_run = last.as_ref().filter(|last| last.run == start.run);
        let let_go = of_run.and_then(|last| last.let_go.clone());
        let kept = last.filter(adopts).unwrap_or_default();
        Self {
            let_go,
            run: start.run.clone(),
            branch: start.branch.clone(),
            target: start.target,
            base: start.arrived.clone(),
            arrived: start.arrived.clone(),
            tip: start.tip.clone(),
            ..kept
        }
    }

    /// One more record. `task_of` names the task of an attempt.
    pub fn add(&mut self, record: &JournalRecord, task_of: impl FnOnce(&str) -> Option<String>) {
        match record {
            JournalRecord::Landed(landed) => self.landed(landed, task_of),
            JournalRecord::SpecLanded(spec) => self.spec_landed(spec),
            JournalRecord::LedgerCommitted(ledger) => self.ledger_committed(ledger),
            JournalRecord::ArrivalIntent(intent) => self.open_arrival = Some(intent.clone()),
            JournalRecord::Arrived(arrived) => self.arrived_at(&arrived.commit),
            JournalRecord::NotArrived(not) => {
                self.open_arrival = None;
                self.open_replay = None;
                self.wait = Some(not.why.clone());
            }
            JournalRecord::ReplayIntent(replay) => self.open_replay = Some(replay.clone()),
            JournalRecord::Replayed(replay) => self.replayed(replay),
            JournalRecord::Taken(taken) => {
                self.tip = taken.commit.clone();
                self.arrived = taken.commit.clone();
                self.arrived_count = self.landed.len();
                self.close();
            }
            JournalRecord::Settled(settled) => {
                self.tip = settled.tip.clone();
                self.arrived = settled.tip.clone();
                self.landed.truncate(self.arrived_count);
                self.let_go = Some(settled.commit.clone());
                self.close();
            }
            _ => {}
        }
    }

    /// Commits that landed and have not arrived, oldest first.
    pub fn waiting(&self) -> &[LandedCommit] {
        self.landed.get(self.arrived_count..).unwrap_or_default()
    }

    /// Commits that landed and have arrived, oldest first.
    pub fn arrived_commits(&self) -> &[LandedCommit] {
        self.landed.get(..self.arrived_count).unwrap_or_default()
    }

    /// The subject of a sentence about what waits.
    pub fn waiting_commits(&self) -> WaitingCommits<'_> {
        WaitingCommits { run: &self.run, branch: &self.branch, count: self.waiting().len() }
    }

    /// Whether everything that landed has arrived and nothing is under way.
    pub fn is_settled(&self) -> bool {
        self.arrived == self.tip && self.open_arrival.is_none() && self.open_replay.is_none()
    }

    /// The reason why commits wait; `None` when all have arrived, or none was tried yet in a run that goes on.
    pub fn waits_for(&self, run: RunState) -> Option<ArrivalWait> {
        match (&self.wait, run) {
            _ if self.is_settled() => None,
            (Some(wait), _) => Some(wait.clone()),
            (None, RunState::Ended) => Some(ArrivalWait::Interrupted { put_back: Vec::new() }),
            (None, RunState::Open) => None,
        }
    }

    fn landed(&mut self, landed: &LandedAttempt, task_of: impl FnOnce(&str) -> Option<String>) {
        let Some(commit) = landed.commit.as_ref().filter(|_| !landed.on_spec) else { return };
        self.push(LandedCommit {
            attempt: landed.attempt.clone(),
            tasks: task_of(&landed.attempt).into_iter().collect(),
            commit: commit.clone(),
            paths: landed.paths.clone(),
            taken_over: landed.taken_over.clone(),
        });
    }

    fn spec_landed(&mut self, spec: &SpecLanding) {
        let Some(commit) = &spec.commit else { return };
        self.push(LandedCommit {
            attempt: spec.attempt.clone(),
            tasks: spec.tasks.clone(),
            commit: commit.clone(),
            paths: spec.paths.clone(),
            taken_over: spec.taken_over.clone(),
        });
    }

    fn ledger_committed(&mut self, ledger: &LedgerCommit) {
        if let Some(known) = self.landed.iter_mut().find(|one| one.commit == ledger.commit) {
            ledger.taken_over.clone_into(&mut known.taken_over);
        }
        self.push(LandedCommit {
            attempt: ledger.attempt.clone(),
            tasks: Vec::new(),
            commit: ledger.commit.clone(),
            paths: ledger.paths.clone(),
            taken_over: ledger.taken_over.clone(),
        });
    }

    /// Recovery may journal a landing twice.
    fn push(&mut self, landed: LandedCommit) {
        if self.landed.iter().all(|one| one.commit != landed.commit) {
            self.tip = landed.commit.clone();
            self.landed.push(landed);
            if self.arrived == self.tip {
                // A crash kept it out of the journal until it had arrived.
                self.arrived_count = self.landed.len();
            }
        }
    }

    fn arrived_at(&mut self, at: &str) {
        // A replay may have put two landings into one commit.
        let reached = match self.landed.iter().rposition(|landed| landed.commit == at) {
            Some(place) => place.saturating_add(1),
            None if at == self.tip => self.landed.len(),
            None => self.arrived_count,
        };
        self.arrived_count = self.arrived_count.max(reached);
        self.arrived = at.to_owned();
        self.close();
    }

    fn replayed(&mut self, replay: &CommitReplay) {
        let mut waiting = self.landed.split_off(self.arrived_count.min(self.landed.len()));
        self.landed.retain(|landed| !replay.missing.contains(&landed.attempt));
        self.arrived_count = self.landed.len();
        // A waiting commit without a new one is on the branch already, or changed nothing there.
        waiting.retain_mut(|landed| {
            let moved = replay.commits.iter().find(|moved| moved.old == landed.commit);
            if let Some(moved) = moved {
                landed.commit = moved.new.clone();
            }
            moved.is_some()
        });
        self.landed.extend(waiting);
        self.arrived = replay.onto.clone();
        self.tip = replay.tip.clone();
        self.close();
    }

    fn close(&mut self) {
        self.open_arrival = None;
        self.open_replay = None;
        self.wait = None;
    }
}
