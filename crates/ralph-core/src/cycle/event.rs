//! The event stream: one line a record that people care about, the same in `events.jsonl`, on
//! `--json`, on the terminal and on the page.
//!
//! The payload of an event is a value of the journal, or a small struct of such values where a record
//! says something only together with those before it. [`EventKind`] is the schema: the reference page
//! is made from it. Kinds after [`EventKind::Backend`] are live: they are told while a loop runs, and no
//! file keeps them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::arrival_record::{
    ArrivedCommits, CommitReplay, SettledCommits, TakenCommits, UnarrivedCommits,
};
use super::attempts::AttemptState;
use super::history::History;
use super::judge::Proof;
use super::payload::{
    PassAnswer, PassFailure, Remark, RestoredTree, ReviewRequest, SpecFailure, SpecLanding,
    TaskRemark,
};
use super::record::{
    AmendmentRecord, AttemptStart, BackendEnd, ConsultedAgentEnd, ConsultedAgentStart, GateEnd,
    GateStart, JournalEntry, JournalRecord, RetryDecision, UsageWait,
};
use super::run_record::{RunEnd, RunStart};
use super::staged::{ConstructStart, IterationStart, StageEnd, StageStart, UnverifiedItem};
use crate::backend::BackendEvent;
use crate::claim::Claim;
use crate::construct::ConstructSummary;
use crate::control::{CommandKind, OperatorCommand};
use crate::gate::GateVerdict;
use crate::memory::IndexTrigger;
use crate::memory::roles::directive::{FailurePattern, PostDirective, StuckDetection};
use crate::prompt::PromptSize;
use crate::view::TaskTally;

/// One line of the event stream.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopEvent<'a> {
    /// Time of the event, RFC 3339.
    pub timestamp: &'a str,
    /// Kind of the event, with its details.
    pub kind: EventKind<'a>,
}

impl Serialize for LoopEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Event", 4)?;
        fields.serialize_field("timestamp", self.timestamp)?;
        fields.serialize_field("event", self.kind.name())?;
        fields.serialize_field("message", &self.kind.to_string())?;
        fields.serialize_field("metadata", &self.kind)?;
        fields.end()
    }
}

/// Defines the kinds of events with their names and what the reference page says about them.
macro_rules! event_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident($payload:ty) = $name:literal,)+) => {
        /// Kind of an event, with its numbers and ids.
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(untagged)]
        pub enum EventKind<'a> {
            $($(#[doc = $doc])+ $kind($payload),)+
        }

        impl<'a> EventKind<'a> {
            /// Every kind: its name, and what it tells.
            pub const ALL: &'static [(&'static str, &'static str)] =
                &[$(($name, concat!($($doc),+)),)+];

            /// The schema of every kind's metadata, by name.
            pub fn schemas() -> Vec<(&'static str, Schema)> {
                let generator = || SchemaSettings::default().with(|s| s.inline_subschemas = true);
                vec![$(($name, generator().into_generator().into_root_schema_for::<$payload>()),)+]
            }

            /// The name of the kind in the event stream.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)+
                }
            }
        }
    };
}

event_kinds! {
    /// A loop began.
    OrchestratorStart(&'a RunStart) = "orchestrator_start",
    /// A loop ended.
    OrchestratorEnd(&'a RunEnd) = "orchestrator_end",
    /// An attempt began.
    IterationStart(&'a AttemptStart) = "iteration_start",
    /// The backend of an attempt ended.
    BackendEnd(&'a BackendEnd) = "backend_end",
    /// An agent asks a person for a decision.
    HumanReviewRequested(ReviewRequest) = "human_review_requested",
    /// A gate began.
    GateStart(&'a GateStart) = "gate_start",
    /// A gate ended.
    GateEnd(&'a GateEnd) = "gate_end",
    /// The gates let the attempt land.
    ValidationPass(&'a GateVerdict) = "validation_pass",
    /// The gates keep the attempt from landing.
    ValidationFail(&'a GateVerdict) = "validation_fail",
    /// An attempt landed or was rolled back.
    IterationEnd(AttemptEnd<'a>) = "iteration_end",
    /// Landed commits are on the branch.
    Arrived(&'a ArrivedCommits) = "arrived",
    /// Landed commits wait to arrive.
    NotArrived(&'a UnarrivedCommits) = "not_arrived",
    /// Waiting commits were written again on top of the person's commits.
    Replayed(&'a CommitReplay) = "replayed",
    /// The branch had the waiting commits already.
    Taken(&'a TakenCommits) = "taken",
    /// A person decided about waiting commits.
    Settled(&'a SettledCommits) = "settled",
    /// An agent changed the plan, or wanted to.
    Amendments(&'a AmendmentRecord) = "amendments",
    /// A usage limit was met, and ralph waits.
    Waiting(&'a UsageWait) = "waiting",
    /// The wait for a usage limit is over.
    WaitEnd(NoDetails) = "wait_end",
    /// The operator paused the loop.
    Pause(&'a OperatorCommand) = "pause",
    /// The operator lets the loop go on.
    Resume(&'a OperatorCommand) = "resume",
    /// The operator left a note for the next prompt.
    Note(&'a OperatorCommand) = "note",
    /// The operator left a task out.
    SkipTask(&'a OperatorCommand) = "skip_task",
    /// The operator, or a signal, ends the loop after what runs.
    Stop(&'a OperatorCommand) = "stop",
    /// The operator ended an attempt.
    KillAttempt(&'a OperatorCommand) = "kill_attempt",
    /// The operator gave a task another chance.
    RetryTask(&'a OperatorCommand) = "retry_task",
    /// The operator changed a setting.
    SetSetting(&'a OperatorCommand) = "set_setting",
    /// A command was left to a person, because a backend may have written it.
    CommandIgnored(&'a OperatorCommand) = "command_ignored",
    /// A command could not be read or carried out.
    CommandRefused(&'a Remark) = "command_refused",
    /// Construct began to work on a spec.
    ConstructStart(&'a ConstructStart) = "construct_start",
    /// An iteration of construct began.
    ConstructIteration(&'a IterationStart) = "construct_iteration",
    /// A stage of construct began.
    StageStart(&'a StageStart) = "stage_start",
    /// A stage of construct ended.
    StageEnd(&'a StageEnd) = "stage_end",
    /// A verifier accepted work that no gate proves.
    WorkReviewed(ReviewedAttempt<'a>) = "work_reviewed",
    /// No verifier gave a usable verdict about a task, or, without `task_id`, about the spec.
    NotVerified(&'a UnverifiedItem) = "not_verified",
    /// Construct ended.
    ConstructSummary(&'a ConstructSummary) = "construct_summary",
    /// The work of a spec became one commit.
    SpecComplete(&'a SpecLanding) = "spec_complete",
    /// ralph gave up on a spec.
    SpecFailed(&'a SpecFailure) = "spec_failed",
    /// `ralph agent` reports a step.
    AgentStep(&'a Remark) = "agent_step",
    /// The command of `[lane] setup` is about to run.
    LaneSetup(&'a Remark) = "lane_setup",
    /// An agent beside the one that writes code is asked something.
    AgentStart(&'a ConsultedAgentStart) = "agent_start",
    /// An agent beside the one that writes code has answered.
    AgentEnd(&'a ConsultedAgentEnd) = "agent_end",
    /// A pass has looked at an attempt.
    AgentPass(&'a PassAnswer) = "agent_pass",
    /// A pass crashed, took too long or gave no usable answer.
    AgentPassFailed(&'a PassFailure) = "agent_pass_failed",
    /// The knowledge index is about to be brought up to date.
    CompactionStart(&'a IndexTrigger) = "compaction_start",
    /// The knowledge index is up to date.
    KnowledgeIndexed(IndexState) = "knowledge_indexed",
    /// An update of the knowledge index broke its rules and was undone.
    KnowledgeIndexUndone(UndoneIndexUpdate<'a>) = "knowledge_index_undone",
    /// A task waits until more is known.
    ResearchRequested(&'a TaskRemark) = "research_requested",
    /// The context agent left a task out.
    TaskSkipped(&'a TaskRemark) = "task_skipped",
    /// The context agent says that the work goes round in circles.
    StuckDetected(&'a StuckDetection) = "stuck_detected",
    /// The context agent advises something after an attempt.
    ContextDirective(&'a PostDirective) = "context_directive",
    /// A failure happens again and again.
    FailurePattern(&'a FailurePattern) = "failure_pattern",
    /// Sections of a prompt were left out to fit its budget.
    PromptTruncated(&'a PromptSize) = "prompt_truncated",
    /// A context is filling up, or something was done about it.
    Context(&'a Remark) = "context",
    /// An agent changed a file of ralph's own, and it is as before.
    LedgerRestored(&'a Remark) = "ledger_restored",
    /// An agent that may only look changed files, and they are as before.
    TreeRestored(&'a RestoredTree) = "tree_restored",
    /// Work that an interrupted run had left was brought to its end.
    Recovered(&'a Remark) = "recovered",
    /// Something that stops nothing, and that a person should know.
    Warning(&'a Remark) = "warning",
    /// A backend reports an event. Live.
    Backend(StreamedEvent<'a>) = "backend",
    /// A second of a wait passed. Live, and not on `--json`.
    Tick(WaitTick<'a>) = "tick",
    /// The loop waits for `ralph resume`. Live.
    Paused(NoDetails) = "paused",
}

/// Payload of an event without details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
pub struct NoDetails {}

/// State of the knowledge index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
pub struct IndexState {
    /// The last iteration that is in it.
    pub iteration: u32,
}

/// An update of the knowledge index that was undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
pub struct UndoneIndexUpdate<'a> {
    /// The rules that it broke, a line each.
    pub why: &'a [String],
}

/// The end of an attempt, from its first record to its last.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct AttemptEnd<'a> {
    /// Number of the attempt.
    pub iteration: u32,
    /// Id of the task.
    pub task_id: &'a str,
    /// Id of the attempt.
    pub attempt: &'a str,
    /// State in which the attempt ended.
    #[serde(flatten)]
    pub fate: &'a AttemptState,
    /// One line about what was done, in the words of the agent.
    pub summary: &'a str,
    /// Remarks for people about a landing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Next state of the task after an attempt that did not land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<RetryDecision>,
    /// Verdict of the gates.
    #[serde(skip)]
    pub verdict: Option<&'a GateVerdict>,
    /// Number of tasks by state, after the attempt.
    pub tasks: TaskTally,
}

/// A landed attempt whose proof is the word of a verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
pub struct ReviewedAttempt<'a> {
    /// Number of the attempt.
    pub iteration: u32,
    /// Id of the task.
    pub task_id: &'a str,
    /// Id of the attempt.
    pub attempt: &'a str,
    /// Degree to which the work is proven now.
    pub proof: &'a Proof,
}

/// Event of a backend, passed on while it runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct StreamedEvent<'a> {
    /// The attempt; empty for an agent beside it.
    pub attempt: &'a str,
    /// Event that the backend reports.
    #[serde(flatten)]
    pub event: &'a BackendEvent,
}

/// One second of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
pub struct WaitTick<'a> {
    /// Reason for the wait.
    pub reason: &'a str,
    /// Seconds until the wait ends.
    pub seconds: u64,
}

/// The events of one record. `history` holds everything up to and with it.
pub fn events_of<'a>(entry: &'a JournalEntry, history: &'a History) -> Vec<LoopEvent<'a>> {
    let mut kinds: Vec<EventKind<'a>> = Vec::new();
    match &entry.record {
        JournalRecord::BackendEnded { end, .. } => {
            kinds.push(EventKind::BackendEnd(end));
            kinds.extend(review_of(end, history).map(EventKind::HumanReviewRequested));
        }
        JournalRecord::Advised(advice) => {
            kinds.push(EventKind::ContextDirective(advice));
            kinds.extend(advice.failure_pattern.as_ref().map(EventKind::FailurePattern));
        }
        JournalRecord::StageEnded(end) => {
            kinds.push(EventKind::StageEnd(end));
            kinds.extend(reviewed_attempts(end, history).map(EventKind::WorkReviewed));
        }
        record => kinds.extend(kind_of(record, history)),
    }
    kinds.into_iter().map(|kind| LoopEvent { timestamp: &entry.at, kind }).collect()
}

/// The attempts whose work a stage accepted and that nothing else proves.
fn reviewed_attempts<'a>(
    end: &'a StageEnd,
    history: &'a History,
) -> impl Iterator<Item = ReviewedAttempt<'a>> {
    history.of_loop().filter_map(|view| match &view.fate {
        AttemptState::Landed { proof: proof @ Proof::Reviewed, .. }
            if end.came.accepted.iter().any(|id| id.as_str() == view.started.task) =>
        {
            let AttemptStart { iteration, task, attempt, .. } = &view.started;
            Some(ReviewedAttempt { iteration: *iteration, task_id: task, attempt, proof })
        }
        _ => None,
    })
}

/// The kind of a record that tells one thing. Intents tell nothing.
fn kind_of<'a>(record: &'a JournalRecord, history: &'a History) -> Option<EventKind<'a>> {
    Some(match record {
        JournalRecord::RunStarted(run) => EventKind::OrchestratorStart(run),
        JournalRecord::RunEnded(end) => EventKind::OrchestratorEnd(end),
        JournalRecord::AttemptStarted { started, .. } => EventKind::IterationStart(started),
        JournalRecord::GateStarted(start) => EventKind::GateStart(start),
        JournalRecord::GateEnded(end) => EventKind::GateEnd(end),
        JournalRecord::Judged(verdict) if verdict.passed() => EventKind::ValidationPass(verdict),
        JournalRecord::Judged(verdict) => EventKind::ValidationFail(verdict),
        JournalRecord::Landed(landed) => {
            let end = attempt_end(history, &landed.attempt)?;
            let remarks = end.remarks.into_iter().chain(landed.remarks.iter().cloned()).collect();
            EventKind::IterationEnd(AttemptEnd { remarks, tasks: landed.tasks, ..end })
        }
        JournalRecord::RolledBack(discarded) => {
            let end = attempt_end(history, &discarded.attempt)?;
            let (then, tasks) = (Some(discarded.then), discarded.tasks);
            EventKind::IterationEnd(AttemptEnd { then, tasks, ..end })
        }
        JournalRecord::Arrived(arrived) => EventKind::Arrived(arrived),
        JournalRecord::NotArrived(not) => EventKind::NotArrived(not),
        JournalRecord::Replayed(replay) => EventKind::Replayed(replay),
        JournalRecord::Taken(taken) => EventKind::Taken(taken),
        JournalRecord::Settled(settled) => EventKind::Settled(settled),
        JournalRecord::Waiting(wait) => EventKind::Waiting(wait),
        JournalRecord::Waited => EventKind::WaitEnd(NoDetails {}),
        JournalRecord::Command(command) => kind_of_command(command),
        JournalRecord::CommandRefused(why) => EventKind::CommandRefused(why),
        JournalRecord::Indexed { iteration } => {
            EventKind::KnowledgeIndexed(IndexState { iteration: *iteration })
        }
        JournalRecord::IndexUndone { why } => {
            EventKind::KnowledgeIndexUndone(UndoneIndexUpdate { why })
        }
        JournalRecord::IndexDue(trigger) => EventKind::CompactionStart(trigger),
        JournalRecord::Amended(amended) => EventKind::Amendments(amended),
        JournalRecord::ConstructStarted(start) => EventKind::ConstructStart(start),
        JournalRecord::IterationStarted(start) => EventKind::ConstructIteration(start),
        JournalRecord::StageStarted(start) => EventKind::StageStart(start),
        JournalRecord::NotVerified(item) => EventKind::NotVerified(item),
        JournalRecord::ConstructEnded(summary) => EventKind::ConstructSummary(summary),
        JournalRecord::SpecLanded(spec) => EventKind::SpecComplete(spec),
        JournalRecord::SpecFailed(spec) => EventKind::SpecFailed(spec),
        JournalRecord::AgentStep(step) => EventKind::AgentStep(step),
        JournalRecord::LaneSetup(command) => EventKind::LaneSetup(command),
        JournalRecord::Asked(asked) => EventKind::AgentStart(asked),
        JournalRecord::Answered(answered) => EventKind::AgentEnd(answered),
        JournalRecord::PassEnded(answer) => EventKind::AgentPass(answer),
        JournalRecord::PassFailed(failure) => EventKind::AgentPassFailed(failure),
        JournalRecord::Researched(task) => EventKind::ResearchRequested(task),
        JournalRecord::TaskSkipped(task) => EventKind::TaskSkipped(task),
        JournalRecord::ReviewRequested(request) => EventKind::HumanReviewRequested(request.clone()),
        JournalRecord::StuckDetected(stuck) => EventKind::StuckDetected(stuck),
        JournalRecord::PromptTruncated(size) => EventKind::PromptTruncated(size),
        JournalRecord::ContextNoted(remark) => EventKind::Context(remark),
        JournalRecord::LedgerRestored(remark) => EventKind::LedgerRestored(remark),
        JournalRecord::TreeRestored(restored) => EventKind::TreeRestored(restored),
        JournalRecord::Recovered(remark) => EventKind::Recovered(remark),
        JournalRecord::Warned(remark) => EventKind::Warning(remark),
        JournalRecord::BackendEnded { .. }
        | JournalRecord::StageEnded(_)
        | JournalRecord::Advised(_)
        | JournalRecord::LandIntent(_)
        | JournalRecord::TipStarted(_)
        | JournalRecord::LedgerCommitted(_)
        | JournalRecord::ArrivalIntent(_)
        | JournalRecord::ReplayIntent(_)
        | JournalRecord::FailIntent(_)
        | JournalRecord::Consulting(_)
        | JournalRecord::Consulted { .. } => return None,
    })
}

fn kind_of_command(command: &OperatorCommand) -> EventKind<'_> {
    match command.command {
        _ if command.next.is_some() => EventKind::CommandIgnored(command),
        CommandKind::Pause => EventKind::Pause(command),
        CommandKind::Resume => EventKind::Resume(command),
        CommandKind::InjectNote => EventKind::Note(command),
        CommandKind::SkipTask => EventKind::SkipTask(command),
        CommandKind::Stop => EventKind::Stop(command),
        CommandKind::KillAttempt => EventKind::KillAttempt(command),
        CommandKind::RetryTask => EventKind::RetryTask(command),
        CommandKind::SetSetting => EventKind::SetSetting(command),
    }
}

/// Return the question that a backend asks a person, if there is one.
fn review_of(end: &BackendEnd, history: &History) -> Option<ReviewRequest> {
    let reason = match &end.claim {
        Claim::NeedsHuman { reason } => Some(reason),
        _ => end.review.as_ref(),
    };
    let view = history.attempt(&end.attempt);
    reason.map(|reason| ReviewRequest {
        task: view.map(|view| view.started.task.clone()).unwrap_or_default(),
        attempt: Some(end.attempt.clone()),
        reason: reason.clone(),
    })
}

fn attempt_end<'a>(history: &'a History, attempt: &str) -> Option<AttemptEnd<'a>> {
    let view = history.attempt(attempt)?;
    if view.fate == AttemptState::Open {
        return None;
    }
    let verdict = view.verdict.as_ref();
    let landed = matches!(view.fate, AttemptState::Landed { .. });
    Some(AttemptEnd {
        iteration: view.started.iteration,
        task_id: &view.started.task,
        attempt: &view.started.attempt,
        fate: &view.fate,
        summary: view.backend.as_ref().map_or("", |end| &end.summary),
        remarks: verdict.filter(|_| landed).map(GateVerdict::remarks).unwrap_or_default(),
        then: None,
        verdict,
        tasks: TaskTally::default(),
    })
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
