//! The context agent: it prepares the prompt of an attempt, and puts away what came of it.

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, schema_of};
use ralph_core::config::MemoryMode;
use ralph_core::cycle::{
    AttemptState, FailureKind, JournalRecord, LoopEnd, ReviewRequest, TaskRemark,
};
use ralph_core::format::codec;
use ralph_core::memory::index::{JSON_FILE, MARKDOWN_FILE};
use ralph_core::memory::roles::directive::{PostAction, PostDirective, PrepDirective};
use ralph_core::memory::roles::{
    AttemptVerdict, EndedAttempt, PREPARED_PROMPT, PrepInput, PrepOutcome, after_prep,
    check_prepared, post_prompt, prep_prompt, required_sections,
};
use ralph_core::plan::{Task, verbs};

use super::attempt::AttemptRun;
use super::consult::{Consultation, ConsultationQuestion};
use super::error::{DriveError, LoopHalt};
use super::memory::FAILURE_CONTEXT;
use super::session::RunSession;
use super::terms::{AgentAccess, RoleTerms};
use crate::handoff_files;
use crate::knowledge_files::KnowledgeSnapshot;
use crate::store::{Durability, drop_view, put_aside};

/// Handoffs that show whether something happens again and again.
const RECENT: usize = 5;

impl RunSession<'_> {
    /// Before an attempt: whatever the memory mode asks for. Returns the prompt, where a context agent has
    /// written one.
    pub(super) fn prepare_prompt(&mut self, task: &Task) -> Result<Option<String>, LoopHalt> {
        match self.config.mode {
            MemoryMode::HandoffOnly => Ok(None),
            MemoryMode::HandoffPlusIndex => self.index_if_due(task).map(|()| None),
            MemoryMode::AgentOrchestrated => self.context_prep(task),
        }
    }

    fn context_prep(&mut self, task: &Task) -> Result<Option<String>, LoopHalt> {
        let templates = self.templates()?;
        let root = self.project.root().to_owned();
        let prepared = root.join(PREPARED_PROMPT);
        // Also one that is no file: whatever took its place must not stop the loop.
        if drop_view(&prepared).is_err() {
            put_aside(&prepared, &prepared.with_extension("old"))?;
        }
        let last = self.history.iteration;
        let latest =
            handoff_files::latest(&root, last.into(), |h| h.is_worth_telling(&task.id)).value;
        let first = handoff_files::first(&root);
        let is_there = |path: &'static str| root.join(path).exists().then_some(path);
        let validation = self.history.of_task(task.id.as_str()).next_back();
        let validation = validation.and_then(|view| view.verdict.as_ref()?.report.clone());
        let advice: Option<PostDirective> = self.history.advice.clone();
        let researched = self.history.researched(task.id.as_str());
        let input = PrepInput {
            iteration: last.saturating_add(1),
            mode: self.config.mode,
            plan_file: &self.plan.shown,
            task,
            latest: latest.as_ref(),
            first_handoff: first.as_deref(),
            index: [MARKDOWN_FILE, JSON_FILE]
                .map(|file| self.project.ledger_file(file).exists().then_some(file)),
            failure_context: is_there(FAILURE_CONTEXT).filter(|_| task.retries > 0),
            validation_log: validation.as_deref(),
            skills: is_there(".ralph/skills"),
            templates: is_there("ralph/prompts").or(is_there(".ralph/templates")),
            notes: &self.history.notes,
            researched,
            advice: advice.as_ref(),
        };
        let prompt = prep_prompt(&templates, &input)?;
        let required = required_sections(&input);
        let fits = |said: &BackendAnswer| said.check::<PrepDirective>().map(|()| "");
        let question = ConsultationQuestion { item: task.id.to_string(), prompt, check: &fits };
        let schema = schema_of::<PrepDirective>();
        let terms = RoleTerms::of(&self.config, AgentRole::Prepare, schema, AgentAccess::Writes);
        let consulted = self.consult_if_possible(&Consultation::one(terms, question))?;
        let answer = consulted.answers.first();
        let directive: Result<PrepDirective, String> = match answer {
            Some(answer) if answer.finished() => answer.said.read().map_err(|e| e.to_string()),
            Some(answer) => Err(answer.outcome.to_string()),
            None => Err("the context agent could not be asked".into()),
        };
        if let Ok(PrepDirective { stuck_detection: stuck, .. }) = &directive
            && stuck.is_stuck
        {
            self.record(JournalRecord::StuckDetected(stuck.clone()), Durability::Eventual)?;
        }
        let text = consulted.written.into_iter().next().and_then(|(_, text)| text.ok().flatten());
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let checked = check_prepared(text.as_deref(), &required);
        let after = after_prep(directive.as_ref().map_err(Clone::clone), checked, researched);
        self.go_on_after(after, task, text)
    }

    fn go_on_after(
        &mut self,
        after: PrepOutcome,
        task: &Task,
        text: Option<String>,
    ) -> Result<Option<String>, LoopHalt> {
        match after {
            PrepOutcome::Code => Ok(text),
            PrepOutcome::CodeUnprepared { why } => {
                self.warn(&format!("ralph's own prompt is used: {why}"));
                Ok(None)
            }
            PrepOutcome::Skip { reason } => {
                self.skip(task, &reason)?;
                Err(LoopHalt::LookAgain)
            }
            PrepOutcome::Pause { reason } => {
                let request = ReviewRequest {
                    task: task.id.to_string(),
                    attempt: None,
                    reason: reason.clone(),
                };
                self.record(JournalRecord::ReviewRequested(request), Durability::Eventual)?;
                let reason = format!("the context agent asks for a person: {reason}");
                Err(LoopHalt::End(LoopEnd::Paused { reason }))
            }
            PrepOutcome::Research { reason } => {
                let remark = TaskRemark { task: task.id.to_string(), text: reason };
                self.record(JournalRecord::Researched(remark), Durability::Eventual)?;
                Err(LoopHalt::LookAgain)
            }
        }
    }

    /// Leave a task out because the context agent says so.
    fn skip(&mut self, task: &Task, reason: &str) -> Result<(), DriveError> {
        let now = self.clock.stamp();
        let why = format!("skipped by the context agent: {reason}");
        self.plan.change(|plan, text| {
            match verbs::skip(plan, &task.id, Some(&why), &now) {
                Ok(edits) => codec(plan.format).edit(text, &edits),
                // Somebody else was faster.
                Err(_) => Ok(text.to_owned()),
            }
        })?;
        let remark = TaskRemark { task: task.id.to_string(), text: why };
        self.record(JournalRecord::TaskSkipped(remark), Durability::Eventual)
    }

    /// After an attempt: what was learned is put away, and others may look at it.
    pub(super) fn run_passes(&mut self, run: &AttemptRun) -> Result<(), LoopHalt> {
        let view = self.history.attempt(&run.started.attempt);
        let judged = match view.map(|view| &view.fate) {
            Some(AttemptState::Landed { .. }) => AttemptVerdict::Passed,
            Some(AttemptState::Failed { failure, .. })
                if failure.kind != FailureKind::Interrupted =>
            {
                AttemptVerdict::Failed
            }
            // It met a limit, or somebody ended it.
            _ => return Ok(()),
        };
        if self.config.mode == MemoryMode::AgentOrchestrated && self.limits_allow_consultation() {
            self.context_post(run, judged)?;
        }
        if self.limits_allow_consultation() { self.run_due_passes(run, judged) } else { Ok(()) }
    }

    /// Whether an agent may be asked that is not needed for the work.
    fn limits_allow_consultation(&self) -> bool {
        let left = self.config.limits.max_cost.is_none_or(|most| self.history.cost < most.get());
        left && self.signals.first().is_none()
    }

    fn context_post(&mut self, run: &AttemptRun, judged: AttemptVerdict) -> Result<(), LoopHalt> {
        let root = self.project.root().to_owned();
        let iteration = run.started.iteration;
        let handoff = handoff_files::name(iteration.into());
        let validation = self.report_of(run);
        let recent = handoff_files::recent(&root, iteration.into(), RECENT);
        let undone = self.history.undone.as_ref().map(|u| u.why.clone()).unwrap_or_default();
        let attempt = EndedAttempt {
            iteration,
            task: &run.task,
            judged,
            handoff: root.join(&handoff).exists().then_some(handoff.as_str()),
            validation_log: validation.as_deref(),
        };
        let templates = self.templates()?;
        let prompt = post_prompt(&templates, &attempt, &recent, &undone)?;
        let snapshot = KnowledgeSnapshot::take(&self.project.ledger_root(MARKDOWN_FILE))?;
        let fits = |said: &BackendAnswer| said.check::<PostDirective>().map(|()| "");
        let question = ConsultationQuestion { item: run.task.id.to_string(), prompt, check: &fits };
        let schema = schema_of::<PostDirective>();
        let terms = RoleTerms::of(&self.config, AgentRole::PutAway, schema, AgentAccess::Writes);
        let answer = self.ask_about_index(terms, question, &snapshot, iteration)?;
        if !answer.finished() {
            return Ok(());
        }
        match answer.said.read::<PostDirective>() {
            Ok(directive) => {
                if directive.action == PostAction::RequestHumanReview {
                    self.warn(&format!(
                        "the context agent asks for a person: {}",
                        directive.reason
                    ));
                }
                Ok(self.record(JournalRecord::Advised(directive), Durability::Eventual)?)
            }
            Err(why) => {
                self.warn(&format!("the context agent's advice cannot be read: {why}"));
                Ok(())
            }
        }
    }

    /// The report of an attempt's gates, relative to the root.
    pub(super) fn report_of(&self, run: &AttemptRun) -> Option<String> {
        run.gates.as_ref()?.verdict.report.clone()
    }
}
