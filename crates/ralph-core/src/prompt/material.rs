//! Everything that a prompt may say, as values. Nothing here is read from anywhere.

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::Mode;
use crate::cycle::Failure;
use crate::format::Format;
use crate::format::progress::Attempt;
use crate::gate::{Gate, GateCheck};
use crate::handoff::Handoff;
use crate::plan::Task;

/// What a prompt is made of.
#[derive(Clone, Debug)]
pub struct Material {
    /// The format of the plan, which decides about the shape of the task and of the answer.
    pub format: Format,
    /// The plan file, relative to the project; the agent is told to leave it alone.
    pub plan_file: String,
    /// What a prompt remembers.
    pub mode: Mode,
    /// The task. Without criteria of its own it gets those of the spec.
    pub task: Task,
    /// The spec it belongs to.
    pub spec: Spec,
    /// Names of tasks of the same spec that are complete, oldest first.
    pub completed: Vec<String>,
    /// The gates that ralph will run.
    pub gates: Vec<Gate>,
    /// Gates that kept an attempt from landing, until an answer to them was read.
    pub gate_failures: Vec<GateCheck>,
    /// What else went wrong since then, oldest first.
    pub setbacks: Vec<Setback>,
    /// Approaches that failed before, oldest first.
    pub rejections: Vec<Rejection>,
    /// The latest handoff, of whatever task.
    pub handoff: Option<PastHandoff>,
    /// The handoff of an attempt at this task that landed and did not complete it.
    pub partial: Option<Handoff>,
    /// The text of the knowledge index; used in mode `handoff-plus-index` only.
    pub index: Option<String>,
    /// Where the knowledge index is.
    pub index_file: String,
    /// The skills that the task asks for and that were found.
    pub skills: Vec<Skill>,
    /// What the operator wants the agent to know, each told once.
    pub operator_notes: Vec<String>,
    /// Recent attempts of progress.md, oldest first.
    pub recent_attempts: Vec<Attempt>,
    /// Where the whole prompt will be written when something is left out.
    pub whole_file: String,
}

impl Material {
    /// A prompt for this task and nothing else.
    pub fn new(format: Format, plan_file: impl Into<String>, task: Task) -> Self {
        Self {
            format,
            plan_file: plan_file.into(),
            mode: Mode::HandoffOnly,
            task,
            spec: Spec::default(),
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

    /// What must be true when the task is done.
    pub(super) fn criteria(&self) -> &[String] {
        if self.task.accept.is_empty() { &self.spec.accept } else { &self.task.accept }
    }
}

/// The spec that a task belongs to. Empty texts are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// Its name for people.
    pub name: String,
    /// Its file.
    pub file: String,
    /// What there is to know about it. progress.md: the analysis and the testing strategy.
    pub context: String,
    /// Its own criteria.
    pub accept: Vec<String>,
}

/// An attempt that failed, where the gates do not say all about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// Why it failed.
    pub failure: Failure,
    /// The log of its run.
    pub log: Option<String>,
}

/// An approach that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// What was tried, in a line or two.
    pub tried: String,
    /// Why that was not good enough.
    pub why: String,
}

/// A handoff of an earlier attempt.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PastHandoff {
    /// Its number.
    pub number: u64,
    /// Where it is, relative to the project.
    pub file: String,
    /// What it says.
    pub handoff: Handoff,
}

/// A file of conventions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// How the task calls it.
    pub name: String,
    /// Where it is, relative to the project.
    pub file: String,
    /// What it says.
    pub content: String,
}
