//! Everything that a prompt may say, as values. Nothing here is read from anywhere.

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::MemoryMode;
use crate::cycle::AttemptFailure;
use crate::format::PlanFormat;
use crate::format::progress::RecentAttempt;
use crate::gate::{Gate, GateCheck};
use crate::handoff::Handoff;
use crate::plan::Task;

/// Material that a prompt is made of.
#[derive(Clone, Debug)]
pub struct PromptMaterial {
    /// The format of the plan, which decides about the shape of the task and of the answer.
    pub format: PlanFormat,
    /// The plan file, relative to the project; the agent is told to leave it alone.
    pub plan_file: String,
    /// Memory mode: the memory of earlier attempts that the prompt contains.
    pub mode: MemoryMode,
    /// The task. Without criteria of its own it gets those of the spec.
    pub task: Task,
    /// Spec that the task belongs to.
    pub spec: PromptSpec,
    /// Names of tasks of the same spec that are complete, oldest first.
    pub completed: Vec<String>,
    /// The gates that ralph will run.
    pub gates: Vec<Gate>,
    /// Gates that kept an attempt from landing, until an answer to them was read.
    pub gate_failures: Vec<GateCheck>,
    /// Other failures since then, oldest first.
    pub setbacks: Vec<FailureDetail>,
    /// Approaches that failed before, oldest first.
    pub rejections: Vec<RejectedApproach>,
    /// The latest handoff, of whatever task.
    pub handoff: Option<PastHandoff>,
    /// The handoff of an attempt at this task that landed and did not complete it.
    pub partial: Option<Handoff>,
    /// The text of the knowledge index; used in mode `handoff-plus-index` only.
    pub index: Option<String>,
    /// Path of the knowledge index.
    pub index_file: String,
    /// The skills that the task asks for and that were found.
    pub skills: Vec<Skill>,
    /// Notes of the operator for the agent. Each note goes into one prompt only.
    pub operator_notes: Vec<String>,
    /// Recent attempts of progress.md, oldest first.
    pub recent_attempts: Vec<RecentAttempt>,
    /// Path at which the whole prompt is written if something was left out.
    pub whole_file: String,
}

impl PromptMaterial {
    /// A prompt for this task and nothing else.
    pub fn new(format: PlanFormat, plan_file: impl Into<String>, task: Task) -> Self {
        Self {
            format,
            plan_file: plan_file.into(),
            mode: MemoryMode::HandoffOnly,
            task,
            spec: PromptSpec::default(),
            completed: Vec::new(),
            gates: Vec::new(),
            gate_failures: Vec::new(),
            setbacks: Vec::new(),
            rejections: Vec::new(),
            handoff: None,
            partial: None,
            index: None,
            index_file: ".ralph/knowledge-index.md".to_owned(),
            skills: Vec::new(),
            operator_notes: Vec::new(),
            recent_attempts: Vec::new(),
            whole_file: ".ralph/context/whole-prompt.md".to_owned(),
        }
    }

    /// Whether an earlier attempt at this task failed.
    pub fn is_retry(&self) -> bool {
        !(self.gate_failures.is_empty() && self.setbacks.is_empty() && self.rejections.is_empty())
    }

    /// Return the criteria of the task. A task without its own has those of the spec.
    pub(super) fn criteria(&self) -> &[String] {
        if self.task.accept.is_empty() { &self.spec.accept } else { &self.task.accept }
    }
}

/// The spec that a task belongs to. Empty texts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptSpec {
    /// Name of the spec for people.
    pub name: String,
    /// Path of the spec's file.
    pub file: String,
    /// Background of the spec. progress.md: the analysis and the testing strategy.
    pub context: String,
    /// Criteria of the spec as a whole.
    pub accept: Vec<String>,
}

/// An attempt that failed, where the gates do not say all about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureDetail {
    /// Reason and kind of the failure.
    pub failure: AttemptFailure,
    /// Log file of the attempt's backend, if it is known.
    pub log: Option<String>,
}

/// Approach that failed in an earlier attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectedApproach {
    /// Description of the approach, in a line or two.
    pub tried: String,
    /// Why that was not good enough.
    pub why: String,
}

/// A handoff of an earlier attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PastHandoff {
    /// Number of the handoff.
    pub number: u64,
    /// Path of the skill's file, relative to the project.
    pub file: String,
    /// Content of the handoff.
    pub handoff: Handoff,
}

/// Skill: a file of conventions that a task may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Name by which the task asks for the skill.
    pub name: String,
    /// Path of the skill's file, relative to the project.
    pub file: String,
    /// Text of the skill's file.
    pub content: String,
}
