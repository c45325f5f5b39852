//! The loops as pure decisions: what is written down, what follows from it, what comes next.
//!
//! # Theory of operation
//!
//! ```text
//! records --History--> where we are --step--> what to do --(host does it)--> records
//! ```
//!
//! The journal is a list of [`Record`]s: intents before something changes, facts after it has. It is
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
    OnMissing, PathFact, PathIs, decide_arrival, find_missing, longest_prefix, recover_arrival,
};
pub use arrival_line::{ArrivalLine, LandedCommit, RunState};
pub use arrival_record::{
    ArrivalIntent, ArrivalTarget, ArrivalWay, ArrivedCommits, CommitReplay, LedgerCommit,
    NotArrived, ReplayedCommit, RiddenFile, SettledCommits, SettlementWay, StagedEntry,
    TakenCommits, TakenOverFile, TipStart,
};
pub use arrival_wait::{ArrivalWait, WaitingCommits, WayOut};
pub use attempts::{
    AttemptSummary, AttemptView, Fate, GateSeen, LandedBranch, OpenAttempt, Phase, error_lines,
    failing_lines,
};
pub use breaker::{Breaker, Tripped};
pub use build::{End, Limits, OnceEnd, Progress, Signal, Step, exit_code, next_step, remaining};
pub use candidate::{AttemptBase, Candidate, ChangedPath, PathChange};
pub use done_elsewhere::DoneElsewhere;
pub use event::{AttemptEnd, Event, EventKind, NoDetails, StreamedEvent, WaitTick, events_of};
pub use history::{History, Spending, Undone, Unindexed};
pub use judge::{Decision, Evidence, Failure, FailureKind, Proof, forbidden, judge};
pub use payload::{
    PassAnswer, PassFailure, Remark, ReviewRequest, SpecFailed, SpecLanded, TaskRemark,
    TreeRestored,
};
pub use recall::AmendmentRow;
pub use reconcile::{ChangedWords, Kept, is_ticked, reconcile};
pub use record::{
    AfterFailure, Answered, Asked, BackendEnd, Consulting, DiscardedAttempt, Entry, FailIntent,
    GateEnd, GateStart, JOURNAL_FORM, LandIntent, LandedAttempt, Landing, On, PlanAmended, Record,
    Started, UsageWait,
};
pub use recover::{CandidateIs, Facts, Recovery, recover};
pub use run_record::{Budget, RunCommand, RunEnd, RunStart};
pub use staged::{
    Came, ConstructStart, IterationStart, Lap, NotVerified, Ruling, StageEnd, StageKind,
    StageStart, Staged,
};
pub use state::{StateFile, state_of};
pub use take_over::{
    HomeEdit, TakenOver, merged_ledger, take_over_plan, take_over_text, with_new_tasks,
    without_open_work,
};
