//! History: the state that follows from the records of the journal.

mod of_attempts;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::arrival_line::ArrivalLine;
use super::arrival_record::{SettledCommits, SettlementWay};
use super::attempts::{AttemptState, AttemptView, GateProgress, LandedBranch, OpenAttempt};
use super::build::LoopEnd;
use super::candidate::{AttemptBase, Candidate};
use super::judge::{AttemptFailure, FailureKind, Proof};
use super::payload::TaskRemark;
use super::record::{
    AmendmentRecord, AttemptStart, BackendEnd, ConsultationStart, DiscardedAttempt, JournalEntry,
    JournalRecord, LandedAttempt, LandingExtent, UsageWait,
};
use super::run_record::{RunEnd, RunStart};
use super::staged::ConstructState;
use crate::agent_role::AgentRole;
use crate::backend::BackendOutcome;
use crate::control::{CommandKind, DoubtedCommand, OperatorCommand};
use crate::gate::GateVerdict;
use crate::memory::roles::directive::PostDirective;
use crate::plan::Id;

/// Work that is not in the knowledge index yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnindexedWork {
    /// Size of the handoffs in bytes.
    pub bytes: u64,
    /// Number of backend runs.
    pub iterations: u32,
    /// The last iteration that is in the index; 0 when none is.
    pub since: u32,
}

/// Updates of the knowledge index that were undone since the last one that was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoneUpdates {
    /// Problems of the last undone update, one line each.
    pub why: Vec<String>,
    /// Number of undone updates in a row.
    pub times: u32,
    /// Number of backend runs that were not in the index at that time.
    pub unindexed: u32,
}

/// One run of a backend in the ledger of costs: an attempt's, or an agent's that was asked something.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendSpending {
    /// End of the run, RFC 3339.
    pub at: String,
    /// The backend's name in the configuration.
    pub backend: String,
    /// Model that was requested.
    pub model: Option<String>,
    /// `build` for an attempt, else what the agent was asked for.
    pub role: AgentRole,
    /// Cost in dollars, if known.
    pub cost: Option<f64>,
    /// Tokens in and out, where known.
    pub tokens: Option<(u64, u64)>,
    /// Duration of the run in milliseconds.
    pub took_ms: u64,
}

/// State that follows from the records of the journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Record of the start of the last run.
    pub run: Option<RunStart>,
    /// Start of the last run, RFC 3339.
    pub run_at: Option<String>,
    /// End of the last run. `None` while it goes on and after a crash.
    pub run_end: Option<RunEnd>,
    /// When the last record was written, RFC 3339.
    pub last_at: Option<String>,
    /// The highest iteration number ever used.
    pub iteration: u32,
    /// Iterations of the last run that count towards its limit, earlier ones that it continued included.
    /// An attempt that met a usage limit does not count.
    pub counted: u32,
    /// The last task that was worked on.
    pub last_task: Option<String>,
    /// Dollars spent by the last run, as far as known.
    pub cost: f64,
    /// Whether some of its cost is unknown.
    pub cost_unknown: bool,
    /// Everything that was ever spent here, the sum of `spending`.
    pub total_cost: f64,
    /// Every run of a backend, oldest first: what any view shows of costs is added up from these.
    pub spending: Vec<BackendSpending>,
    /// An attempt of the last run was ended because the money was used up.
    pub out_of_money: bool,
    /// The operator paused the last run.
    pub paused: bool,
    /// The operator wants the last run to end.
    pub stopping: bool,
    /// Work that is not in the knowledge index yet.
    pub unindexed: UnindexedWork,
    /// State of the last construct.
    pub construct: ConstructState,
    /// Updates of the knowledge index that were undone.
    pub undone: Option<UndoneUpdates>,
    /// Advice of the context agent after the last attempt.
    pub advice: Option<PostDirective>,
    /// Attempt in progress.
    pub open: Option<OpenAttempt>,
    /// The landed commits of the last run and how far they have arrived.
    pub arrival: Option<ArrivalLine>,
    /// Landed commits of earlier runs that wait for another branch.
    pub left_arrivals: Vec<ArrivalLine>,
    /// Gates of the last attempt that have begun, in that order.
    pub gates: Vec<GateProgress>,
    /// Consultation in progress.
    pub consulting: Option<ConsultationStart>,
    /// Wait for a usage limit in progress.
    pub wait: Option<UsageWait>,
    /// Every attempt, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Ids of the commands that were carried out.
    pub commands: BTreeSet<String>,
    /// Commands that were found while a backend of the last run worked, and left to a person.
    pub doubted: Vec<DoubtedCommand>,
    /// Notes of the operator that no prompt has had yet.
    pub notes: Vec<String>,
    /// Notes that the last prompt had; they come back if nothing came of it.
    pub(super) given: Vec<String>,
    /// Changes of the plan by agents, with their times, oldest first.
    pub(super) amended: Vec<(String, AmendmentRecord)>,
    /// Index in `amended` of the first change after the last run that ended complete.
    pub(super) amended_from: usize,
    /// Index in `attempts` of the first attempt of the last run, or of its last construct.
    pub(super) loop_from: usize,
    /// Index in `attempts` of the first attempt after the last run that ended complete,
    /// or that ended and allowed unproven work.
    pub(super) work_from: usize,
    /// The task that was only researched last, and how often in a row.
    pub(super) researched: Option<(String, u32)>,
    /// The attempt that the operator ended.
    ended: Option<String>,
    /// The newest attempt with a red verdict, as a place in `attempts`, by task.
    red: BTreeMap<String, usize>,
    /// Interruptions since a task last landed, by task.
    pub(super) crashes: BTreeMap<String, u32>,
}

impl History {
    /// Build the history from records, oldest first.
    pub fn of<'e>(entries: impl IntoIterator<Item = &'e JournalEntry>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.add(entry);
        }
        history
    }

    /// Add one more record to the history.
    pub fn add(&mut self, entry: &JournalEntry) {
        self.last_at = Some(entry.at.clone());
        self.follow_arrival(&entry.record);
        match &entry.record {
            JournalRecord::RunStarted(run) => {
                let complete =
                    self.run_end.as_ref().is_some_and(|run| run.end == LoopEnd::Complete);
                if complete {
                    self.amended_from = self.amended.len();
                }
                let allowed = self.run.as_ref().is_some_and(|run| run.allow_unproven);
                if complete || (allowed && self.run_end.is_some()) {
                    self.work_from = self.attempts.len();
                }
                self.counted = run.counted;
                self.run = Some(run.clone());
                self.run_at = Some(entry.at.clone());
                self.run_end = None;
                self.doubted.clear();
                self.cost = run.spent;
                self.loop_from = self.attempts.len();
                self.cost_unknown = false;
                self.out_of_money = false;
                self.paused = false;
                self.stopping = false;
            }
            JournalRecord::RunEnded(end) => self.end_run(end.clone()),
            JournalRecord::AttemptStarted { started, base } => self.begin(started, base, &entry.at),
            JournalRecord::BackendEnded { end, candidate } => {
                self.backend_ended(end, candidate, &entry.at)
            }
            JournalRecord::GateStarted(start) => {
                let (start, at) = (start.clone(), entry.at.clone());
                self.gates.push(GateProgress { start, at, passed: None });
            }
            JournalRecord::GateEnded(end) => {
                if let Some(seen) = self.gates.iter_mut().rfind(|seen| seen.start == end.start) {
                    seen.passed = Some(end.passed);
                }
            }
            JournalRecord::Judged(verdict) => self.judged(verdict),
            JournalRecord::LandIntent(intent) => {
                if let Some(open) = self.opened(&intent.attempt) {
                    open.intent = Some(Box::new(intent.clone()));
                }
            }
            JournalRecord::Landed(landed) => self.landed(landed, &entry.at),
            JournalRecord::FailIntent(intent) => {
                if let Some(open) = self.opened(&intent.attempt) {
                    open.failure = Some(Box::new(intent.clone()));
                }
            }
            JournalRecord::RolledBack(discarded) => self.rolled_back(discarded, &entry.at),
            JournalRecord::Waiting(wait) => self.wait = Some(wait.clone()),
            JournalRecord::Waited => self.wait = None,
            JournalRecord::Command(command) => self.commanded(command),
            JournalRecord::Consulting(consulting) => self.consulting = Some(consulting.clone()),
            JournalRecord::Answered(answered) => self.spend(BackendSpending {
                at: entry.at.clone(),
                backend: answered.backend.clone(),
                model: answered.model.clone(),
                role: answered.role,
                cost: answered.cost,
                tokens: answered.tokens,
                took_ms: answered.took_ms,
            }),
            JournalRecord::Consulted { id } => {
                self.consulting.take_if(|open| open.id == *id);
            }
            JournalRecord::Researched(TaskRemark { task, .. }) => {
                let times = self.researched(task).saturating_add(1);
                self.researched = Some((task.clone(), times));
            }
            JournalRecord::Advised(advice) => self.advice = Some(advice.clone()),
            JournalRecord::IndexUndone { why } => {
                let times = self.undone.as_ref().map_or(0, |undone| undone.times) + 1;
                let unindexed = self.unindexed.iterations;
                self.undone = Some(UndoneUpdates { why: why.clone(), times, unindexed });
            }
            JournalRecord::Indexed { iteration } => {
                self.unindexed = UnindexedWork { since: *iteration, ..UnindexedWork::default() };
                self.undone = None;
            }
            JournalRecord::ConstructStarted(start) => {
                self.loop_from = self.attempts.len();
                self.construct.started(start);
            }
            JournalRecord::IterationStarted(start) => {
                self.construct.iteration_started(start.iteration)
            }
            JournalRecord::StageStarted(start) => self.construct.stage_started(start),
            JournalRecord::StageEnded(end) => {
                self.reviewed(&end.came.accepted);
                self.construct.stage_ended(end);
            }
            JournalRecord::NotVerified(item) => self.construct.unverified.push(item.clone()),
            JournalRecord::Amended(amended) => {
                self.amended.push((entry.at.clone(), amended.clone()))
            }
            JournalRecord::Replayed(replay) => {
                for view in &mut self.attempts {
                    if let AttemptState::Landed { commit: Some(commit), .. } = &mut view.fate {
                        replay.rename(commit);
                    }
                }
            }
            JournalRecord::TipStarted(_)
            | JournalRecord::LedgerCommitted(_)
            | JournalRecord::ArrivalIntent(_)
            | JournalRecord::Arrived(_)
            | JournalRecord::NotArrived(_)
            | JournalRecord::ReplayIntent(_)
            | JournalRecord::Taken(_)
            | JournalRecord::Settled(_)
            | JournalRecord::Asked(_)
            | JournalRecord::CommandRefused(_)
            | JournalRecord::TaskSkipped(_)
            | JournalRecord::ReviewRequested(_)
            | JournalRecord::StuckDetected(_)
            | JournalRecord::IndexDue(_)
            | JournalRecord::ConstructEnded(_)
            | JournalRecord::SpecLanded(_)
            | JournalRecord::SpecFailed(_)
            | JournalRecord::AgentStep(_)
            | JournalRecord::LaneSetup(_)
            | JournalRecord::PromptTruncated(_)
            | JournalRecord::ContextNoted(_)
            | JournalRecord::PassEnded(_)
            | JournalRecord::PassFailed(_)
            | JournalRecord::LedgerRestored(_)
            | JournalRecord::TreeRestored(_)
            | JournalRecord::Recovered(_)
            | JournalRecord::Warned(_) => {}
        }
    }

    fn follow_arrival(&mut self, record: &JournalRecord) {
        if let JournalRecord::TipStarted(start) = record {
            let mut last = self.arrival.take();
            if let Some(other) = last.take_if(|line| line.branch != start.branch) {
                last = self.left_arrivals.extract_if(.., |line| line.branch == start.branch).next();
                self.left_arrivals.extend((!other.is_settled()).then_some(other));
            }
            self.arrival = Some(ArrivalLine::start(start, last));
            return;
        }
        if let JournalRecord::Settled(settled) = record {
            self.settle_branches(settled);
        }
        if let Some(line) = &mut self.arrival {
            let attempts = &self.attempts;
            line.add(record, |attempt| {
                let view = attempts.iter().rev().find(|view| view.started.attempt == attempt)?;
                Some(view.started.task.clone())
            });
        }
    }

    /// A person decided about the commits that wait.
    fn settle_branches(&mut self, settled: &SettledCommits) {
        let branch = match &settled.way {
            SettlementWay::Uncommitted => return,
            SettlementWay::NewBranch(name) => LandedBranch::Named(name.clone()),
            SettlementWay::GivenUp(_) => LandedBranch::GivenUp,
        };
        let waiting = self.arrival.iter().flat_map(ArrivalLine::waiting);
        let tasks: BTreeSet<&str> =
            waiting.flat_map(|one| &one.tasks).map(String::as_str).collect();
        let is_settled = |view: &&mut AttemptView| tasks.contains(view.started.task.as_str());
        for view in self.attempts.iter_mut().filter(|view| view.fate.is_landed()).filter(is_settled)
        {
            view.branch = branch.clone();
        }
    }

    /// Record the end of the last run.
    pub fn end_run(&mut self, end: RunEnd) {
        self.run_end = Some(end);
        self.stopping = false;
    }

    fn commanded(&mut self, command: &OperatorCommand) {
        self.commands.insert(command.id.clone());
        let (kind, what) = (command.command, command.what());
        self.doubted.retain(|doubted| doubted.what != what);
        let is_of_task = matches!(kind, CommandKind::SkipTask | CommandKind::RetryTask);
        let task = command.argument.clone().filter(|_| is_of_task);
        // An attempt that nobody ended has ended by itself.
        let next = command.next.clone().filter(|_| kind != CommandKind::KillAttempt);
        self.doubted.extend(next.map(|next| DoubtedCommand { what, task, next }));
        if command.ignored.is_some() {
            return;
        }
        match kind {
            CommandKind::Stop => self.stopping = true,
            CommandKind::InjectNote => self.notes.extend(command.argument.clone()),
            CommandKind::Pause => self.paused = true,
            CommandKind::Resume => self.paused = false,
            // Of the task at hand, or of another one: then the attempt goes on to its end.
            CommandKind::KillAttempt | CommandKind::SkipTask => {
                self.ended_by_hand(command.argument.as_deref());
            }
            CommandKind::RetryTask | CommandKind::SetSetting => {}
        }
    }

    /// The operator ends the attempt under way, unless another task is meant.
    fn ended_by_hand(&mut self, task: Option<&str>) {
        let open = self.open.as_ref().map(|open| &open.started);
        let open = open.filter(|open| task.is_none_or(|task| task == open.task));
        self.ended = open.map(|open| open.attempt.clone()).or(self.ended.take());
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
