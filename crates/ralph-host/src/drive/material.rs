//! Material of prompts, gathered from the plan, the history and a few files.

use std::path::{Path, PathBuf};

use ralph_core::backend::BackendFeatures;
use ralph_core::config::{Config, MemoryMode};
use ralph_core::cycle::{BackendEnd, History, JournalRecord};
use ralph_core::format::{PlanFormat, progress};
use ralph_core::gate::Gate;
use ralph_core::memory::index::MARKDOWN_FILE;
use ralph_core::plan::{Plan, Task, TaskState};
use ralph_core::prompt::{
    BudgetedPrompt, FailureDetail, PromptMaterial, PromptSpec, PromptTemplates, RejectedApproach,
    assemble, skills_beside,
};

use super::attempt::AttemptRun;
use super::error::DriveError;
use super::session::RunSession;
use crate::prompt_files;
use crate::redaction::put_log;
use crate::store::Durability;

/// Most attempts without an answer that a prompt tells about.
const MOST_SETBACKS: usize = 3;

/// Inputs for the parts of a prompt. A loop has them, and so has a preview.
pub(super) struct PromptSource<'a> {
    pub(super) root: &'a Path,
    /// The directory below which the knowledge index is.
    pub(super) index: PathBuf,
    pub(super) config: &'a Config,
    pub(super) gates: &'a [Gate],
    /// The plan file, as people call it.
    pub(super) plan: &'a str,
    pub(super) history: &'a History,
}

/// Texts that a backend gets in an attempt.
#[derive(Default)]
pub(super) struct PromptText {
    pub(super) text: String,
    /// Text for the system prompt; `None` when the backend takes no such text.
    pub(super) system: Option<String>,
}

/// A prompt, and what else came of making it.
pub(super) struct RenderedPrompt {
    pub(super) prompt: BudgetedPrompt,
    pub(super) system: Option<String>,
    /// Path to which the complete prompt is written when the prompt was shortened.
    pub(super) whole_file: String,
    pub(super) warnings: Vec<String>,
}

impl RunSession<'_> {
    /// Build the prompt of an attempt. `text` is the text of the plan; `prepared` is the prompt that a
    /// context agent wrote.
    pub(super) fn prompt(
        &mut self,
        run: &AttemptRun,
        plan: &Plan,
        text: &str,
        prepared: Option<&str>,
        backend: usize,
    ) -> Result<PromptText, DriveError> {
        let source = PromptSource {
            root: self.project.root(),
            index: self.project.ledger_root(MARKDOWN_FILE),
            config: &self.config,
            gates: &self.gates,
            plan: &self.plan.shown,
            history: &self.history,
        };
        if let Some(prepared) = prepared {
            let text = source.complete(&run.task, plan, text, prepared)?;
            return Ok(PromptText { text, system: None });
        }
        let can = self.choice.at(backend).driver.supports();
        let made = source.make(&run.task, plan, text, can)?;
        for warning in &made.warnings {
            self.warn(warning);
        }
        if let Some(whole) = &made.prompt.whole {
            put_log(&self.project.root().join(&made.whole_file), whole)?;
        }
        if !made.prompt.left_out.is_empty() {
            self.record(JournalRecord::PromptTruncated(made.prompt.size()), Durability::Eventual)?;
        }
        Ok(PromptText { text: made.prompt.text, system: made.system })
    }

    /// The templates of the project; what does not work of them is told.
    pub(super) fn templates(&mut self) -> Result<PromptTemplates, DriveError> {
        let loaded = prompt_files::templates(self.project.root())?;
        for warning in &loaded.warnings {
            self.warn(warning);
        }
        Ok(loaded.value)
    }
}

impl PromptSource<'_> {
    /// The prompt for a task, for a backend that can do this. `text` is the plan's.
    pub(super) fn make(
        &self,
        task: &Task,
        plan: &Plan,
        text: &str,
        can: BackendFeatures,
    ) -> Result<RenderedPrompt, DriveError> {
        let mut material = self.material(task, plan, text);
        let mut warnings = self.add_memory(task, &mut material);
        let memory = &self.config.memory;
        let budget = match self.config.mode {
            MemoryMode::HandoffOnly => memory.context_budget_tokens,
            MemoryMode::HandoffPlusIndex | MemoryMode::AgentOrchestrated => {
                memory.context_budget_tokens_hpi
            }
        };
        let budget = usize::try_from(budget.get()).unwrap_or(usize::MAX);
        let system = can.system.then(|| skills_beside(&mut material, budget)).flatten();
        let templates = prompt_files::templates(self.root)?;
        warnings.extend(templates.warnings);
        let prompt = assemble(&material, &templates.value, budget)?;
        Ok(RenderedPrompt { prompt, system, whole_file: material.whole_file, warnings })
    }

    /// The prompt that a context agent wrote, with what every prompt says.
    fn complete(
        &self,
        task: &Task,
        plan: &Plan,
        text: &str,
        prepared: &str,
    ) -> Result<String, DriveError> {
        let material = self.material(task, plan, text);
        let templates = prompt_files::templates(self.root)?.value;
        Ok(ralph_core::prompt::prepared(&material, &templates, prepared)?)
    }

    fn material(&self, task: &Task, plan: &Plan, text: &str) -> PromptMaterial {
        let mut material = PromptMaterial::new(plan.format, self.plan.to_owned(), task.clone());
        material.mode = self.config.mode;
        material.spec = spec_of(plan, task, text);
        material.completed = completed(plan, task);
        material.gates = self.gates.to_vec();
        material.operator_notes = self.history.notes_for_prompt().to_vec();
        if plan.format == PlanFormat::Progress {
            material.recent_attempts =
                progress::read(text).map(|file| file.attempts).unwrap_or_default();
        }
        self.add_failures(task, &mut material);
        material
    }

    /// Add the failures of earlier attempts at this task.
    fn add_failures(&self, task: &Task, material: &mut PromptMaterial) {
        let failures = self.history.failures(task.id.as_str());
        material.rejections = failures
            .iter()
            .map(|(view, failure)| RejectedApproach {
                tried: view.backend.as_ref().map(|b| b.account().to_owned()).unwrap_or_default(),
                why: failure.message.clone(),
            })
            .collect();
        if failures.is_empty() {
            // A fresh clone has no history, but the plan remembers.
            material.rejections.extend(task.reject.iter().map(|why| RejectedApproach {
                tried: "an earlier attempt".into(),
                why: why.clone(),
            }));
        }
        // A crash answers nothing: what the gates said before it has not been read yet.
        for (view, failure) in failures.iter().rev() {
            let verdict = view.verdict.iter();
            material.gate_failures = verdict.flat_map(|v| v.blocking()).cloned().collect();
            let forbidden = view.verdict.as_ref().is_some_and(|v| !v.forbidden().is_empty());
            let is_told = !material.gate_failures.is_empty() && !forbidden;
            if !is_told && material.setbacks.len() < MOST_SETBACKS {
                let log = view.started.log.clone();
                material.setbacks.insert(0, FailureDetail { failure: (*failure).clone(), log });
            }
            if !material.gate_failures.is_empty() {
                break;
            }
            if view.backend.as_ref().is_some_and(BackendEnd::has_answer) {
                break;
            }
        }
    }
}

/// The spec a task belongs to, as far as the plan describes it.
fn spec_of(plan: &Plan, task: &Task, text: &str) -> PromptSpec {
    if plan.format == PlanFormat::Progress {
        let file = progress::read(text).unwrap_or_default();
        let context = [file.analysis, file.testing_strategy];
        let context = context.iter().filter(|t| !t.is_empty()).cloned().collect::<Vec<_>>();
        let name = plan.title.clone().unwrap_or_default();
        return PromptSpec { name, context: context.join("\n\n"), ..PromptSpec::default() };
    }
    let Some(id) = task.spec.as_deref().or(plan.current_spec.as_deref()) else {
        return PromptSpec::default();
    };
    match plan.specs.iter().find(|spec| spec.id == id) {
        Some(spec) => PromptSpec {
            name: spec.name.clone().unwrap_or_else(|| id.to_owned()),
            file: spec.file.clone().unwrap_or_default(),
            context: spec.context.clone().unwrap_or_default(),
            accept: spec.accept.clone(),
        },
        None => PromptSpec { name: id.to_owned(), ..PromptSpec::default() },
    }
}

/// Complete tasks of the same spec, where the format keeps them together.
fn completed(plan: &Plan, task: &Task) -> Vec<String> {
    if plan.format != PlanFormat::Implementation {
        return Vec::new();
    }
    let done = plan.tasks.iter().filter(|t| t.spec == task.spec && t.state == TaskState::Accepted);
    done.map(|t| t.name.clone()).collect()
}
