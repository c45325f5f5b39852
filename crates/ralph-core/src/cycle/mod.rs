//! The loops as pure decisions: what is written down, what follows from it, what comes next.
//!
//! # Theory of operation
//!
//! ```text
//! records --History--> where we are --step--> what to do --(host does it)--> records
//! ```
//!
//! The journal is a list of [`JournalRecord`]s: intents before something changes, facts after it has. It is
//! the only memory of a loop. [`History`] is what they add up to; after a crash the same records give
//! the same history, and [`recover()`] says how an attempt that was under way is brought to its end.
//! [`judge()`] decides about an attempt, [`next_step`] about the loop. None of them looks at the world:
//! what the world is like comes in as values.

mod arrival;
mod arrival_line;
mod arrival_record;
#[cfg(test)]
mod arrival_sample_tests;
mod arrival_wait;
mod attempts;
mod breaker;
mod build;
mod candidate;
mod done_elsewhere;
mod event;
mod event_words;
mod history;
mod judge;
pub mod ledger;
#[cfg(test)]
pub(crate) mod model_tests;
mod payload;
mod recall;
mod reconcile;
mod record;
mod recover;
mod run_record;
#[cfg(test)]
pub(crate) mod sample_tests;
mod staged;
mod state;
mod take_over;

pub use arrival::{
    ArrivalFacts, ArrivalRecovery, ArrivalStep, BranchAncestry, HomeHead, KilledArrivalBranch,
    MissingWorkAnswer, PathContent, PathFact, decide_arrival, find_missing, longest_prefix,
    recover_arrival,
};
pub use arrival_line::{ArrivalLine, LandedCommit, RunState};
pub use arrival_record::{
    ArrivalIntent, ArrivalTarget, ArrivalWay, ArrivedCommits, CommitReplay, LedgerCommit,
    ReplayedCommit, RiddenFile, SettledCommits, SettlementWay, StagedEntry, TakenCommits,
    TakenOverFile, TipStart, UnarrivedCommits,
};
pub use arrival_wait::{ArrivalWait, WaitRemedy, WaitingCommits};
pub use attempts::{
    AttemptPhase, AttemptState, AttemptSummary, AttemptView, GateProgress, LandedBranch,
    OpenAttempt, error_lines, failing_lines,
};
pub use breaker::{BreakerTrip, CircuitBreaker};
pub use build::{
    BuildLimits, BuildProgress, BuildStep, LoopEnd, LoopSignal, OnceResult, exit_code, next_step,
    remaining,
};
pub use candidate::{AttemptBase, Candidate, ChangedPath, PathChange};
pub use done_elsewhere::DoneElsewhere;
pub use event::{AttemptEnd, EventKind, LoopEvent, NoDetails, StreamedEvent, WaitTick, events_of};
pub use history::{BackendSpending, History, UndoneUpdates, UnindexedWork};
pub use judge::{
    AttemptDecision, AttemptEvidence, AttemptFailure, FailureKind, Proof, forbidden, judge,
};
pub use payload::{
    PassAnswer, PassFailure, Remark, RestoredTree, ReviewRequest, SpecFailure, SpecLanding,
    TaskRemark,
};
pub use recall::AmendmentRow;
pub use reconcile::{ChangedWords, ReconciledPlan, is_ticked, reconcile};
pub use record::{
    AmendmentRecord, AttemptStart, BackendEnd, ConsultationStart, ConsultedAgentEnd,
    ConsultedAgentStart, DiscardedAttempt, FailIntent, GateEnd, GateStart, GateTree, JOURNAL_FORM,
    JournalEntry, JournalRecord, LandIntent, LandedAttempt, LandingExtent, RetryDecision,
    UsageWait,
};
pub use recover::{AttemptFacts, AttemptRecovery, CandidateState, recover};
pub use run_record::{RunBudget, RunCommand, RunEnd, RunStart};
pub use staged::{
    ConstructIteration, ConstructStart, ConstructState, IterationStart, ScopeRuling, StageEnd,
    StageKind, StageResult, StageStart, UnverifiedItem,
};
pub use state::{StateFile, state_of};
pub use take_over::{
    HomeEdit, TakenOverText, merged_ledger, take_over_plan, take_over_text, with_new_tasks,
    without_open_work,
};
