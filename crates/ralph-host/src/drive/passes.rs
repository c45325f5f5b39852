//! Passes: further agents that look at what came of an attempt. Whatever they do, the loop goes on.

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{AnswerSchema, BackendAnswer, UnusableAnswer, schema_of};
use ralph_core::config::PassSettings;
use ralph_core::cycle::{AttemptState, JournalRecord, PassAnswer, PassFailure};
use ralph_core::memory::roles::directive::{PassReview, ReviewVerdict};
use ralph_core::memory::roles::{
    AttemptVerdict, EndedAttempt, PassInput, PassPrompt, pass_prompt, passes_due,
};
use serde_json::Value;

use super::attempt::AttemptRun;
use super::consult::{Consultation, ConsultationAnswer, ConsultationQuestion};
use super::error::{DriveError, LoopHalt};
use super::session::RunSession;
use super::terms::{AgentAccess, RoleTerms};
use crate::handoff_files;
use crate::prompt_files;
use crate::redaction::put_log;
use crate::store::Durability;

/// Name of the prompt for ralph's own review, if the project does not override it.
const REVIEW: &str = "review-agent-prompt.md";

impl RunSession<'_> {
    /// The passes that are due after an attempt.
    pub(super) fn run_due_passes(
        &mut self,
        run: &AttemptRun,
        judged: AttemptVerdict,
    ) -> Result<(), LoopHalt> {
        let due: Vec<PassSettings> =
            passes_due(&self.config, judged, run.started.iteration).cloned().collect();
        for pass in due {
            match self.run_pass(&pass, run, judged) {
                Ok(()) => {}
                Err(LoopPassError::Pass(why)) => {
                    let failure = PassFailure { pass: pass.name.clone(), why };
                    self.record(JournalRecord::PassFailed(failure), Durability::Eventual)?;
                }
                Err(LoopPassError::Loop(halt)) => return Err(halt),
            }
        }
        Ok(())
    }

    fn run_pass(
        &mut self,
        pass: &PassSettings,
        run: &AttemptRun,
        judged: AttemptVerdict,
    ) -> Result<(), LoopPassError> {
        let prompt = self.pass_text(pass, run, judged)?;
        let schema = self.pass_schema(pass)?;
        // Any object will do for a schema of the project's own: the backend was given it.
        let check = |said: &BackendAnswer| match pass.schema {
            Some(_) => said.read::<Value>().map(drop),
            None => said.read::<PassReview>().map(drop),
        };
        let check = |said: &BackendAnswer| {
            check(said).map(|()| "").map_err(|e| UnusableAnswer::new(e, &schema))
        };
        let access = if pass.read_only { AgentAccess::Looks } else { AgentAccess::Writes };
        let of_stage = RoleTerms::of(&self.config, AgentRole::Pass, schema.clone(), access);
        let terms = RoleTerms {
            max_turns: pass.max_turns.map(u32::from),
            model: pass.model.clone(),
            mcp: pass.mcp_config.clone().or(of_stage.mcp),
            ..of_stage
        };
        let question = ConsultationQuestion { item: pass.name.clone(), prompt, check: &check };
        let consulted = self.consult_if_possible(&Consultation::one(terms, question))?;
        let Some(answer) = consulted.answers.into_iter().next() else { return Ok(()) };
        if !answer.finished() {
            return Err(LoopPassError::Pass(answer.outcome.to_string()));
        }
        self.report_pass(pass, run, &answer)
    }

    fn report_pass(
        &mut self,
        pass: &PassSettings,
        run: &AttemptRun,
        answer: &ConsultationAnswer,
    ) -> Result<(), LoopPassError> {
        let found: Value = answer.said.read().map_err(|e| LoopPassError::Pass(e.to_string()))?;
        let iteration = run.started.iteration;
        let file = format!(".ralph/logs/passes/iter-{iteration}-{}.json", safe(&pass.name));
        let text = serde_json::to_string_pretty(&found).unwrap_or_default() + "\n";
        put_log(&self.project.root().join(&file), &text).map_err(DriveError::from)?;
        let summary = match serde_json::from_value::<PassReview>(found) {
            Ok(review) => {
                let verdict = match review.verdict {
                    ReviewVerdict::Approve => "approves",
                    ReviewVerdict::Concerns => "has concerns",
                };
                let n = review.findings.len();
                let findings = if n == 0 { String::new() } else { format!(" ({n} in {file})") };
                format!("{verdict}: {}{findings}", review.summary)
            }
            Err(_) => format!("answered: {file}"),
        };
        let answer = PassAnswer { pass: pass.name.clone(), iteration, file, summary };
        Ok(self.record(JournalRecord::PassEnded(answer), Durability::Eventual)?)
    }

    fn pass_text(
        &mut self,
        pass: &PassSettings,
        run: &AttemptRun,
        judged: AttemptVerdict,
    ) -> Result<String, LoopPassError> {
        let templates = self.templates()?;
        let root = self.project.root();
        let view = self.history.attempt(&run.started.attempt);
        let revision = view.and_then(|view| match &view.fate {
            AttemptState::Landed { commit, .. } => commit.clone(),
            AttemptState::Failed { salvage, .. } => salvage.clone(),
            _ => None,
        });
        let handoff = handoff_files::name(run.started.iteration.into());
        let report = self.report_of(run);
        let files = run.changed_files();
        let attempt = EndedAttempt {
            iteration: run.started.iteration,
            task: &run.task,
            judged,
            handoff: root.join(&handoff).exists().then_some(handoff.as_str()),
            validation_log: report.as_deref(),
        };
        let input =
            PassInput { name: &pass.name, attempt, revision: revision.as_deref(), files: &files };
        let file = pass.prompt_template.as_str();
        let own = prompt_files::own(root, file).map_err(LoopPassError::Pass)?;
        let prompt = match &own {
            Some((file, text)) => PassPrompt::Own { file, text },
            None if file == REVIEW => PassPrompt::Review,
            None => {
                return Err(LoopPassError::Pass(format!(
                    "there is no {file} (looked in ralph/prompts and .ralph/templates)"
                )));
            }
        };
        pass_prompt(&templates, prompt, &input).map_err(|e| LoopPassError::Pass(e.to_string()))
    }

    fn pass_schema(&self, pass: &PassSettings) -> Result<AnswerSchema, LoopPassError> {
        let Some(file) = &pass.schema else { return Ok(schema_of::<PassReview>()) };
        let found = prompt_files::own(self.project.root(), file).map_err(LoopPassError::Pass)?;
        let (file, text) =
            found.ok_or_else(|| LoopPassError::Pass(format!("there is no schema {file}")))?;
        serde_json::from_str(&text).map_err(|e| LoopPassError::Pass(format!("{file}: {e}")))
    }
}

/// Why a pass did not work.
enum LoopPassError {
    /// Failure of the pass alone: the loop goes on.
    Pass(String),
    /// Failure that stops the loop.
    Loop(LoopHalt),
}

impl From<DriveError> for LoopPassError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::PromptFile(e) => Self::Pass(e.to_string()),
            DriveError::Ask { message, .. } => Self::Pass(message),
            other => Self::Loop(other.into()),
        }
    }
}

impl From<LoopHalt> for LoopPassError {
    fn from(halt: LoopHalt) -> Self {
        match halt {
            LoopHalt::Error(error) => error.into(),
            halt => Self::Loop(halt),
        }
    }
}

/// A name that can be a part of a file's.
fn safe(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
