//! Memory between attempts: write it after an attempt, and give it to the next one.

use ralph_core::backend::BackendOutcome;
use ralph_core::claim::{AgentReply, Claim};
use ralph_core::config::MemoryMode;
use ralph_core::cycle::{
    AmendmentRecord, AttemptStart, Candidate, ChangedPath, JournalRecord, PathChange,
};
use ralph_core::format::codec;
use ralph_core::handoff::{self, Handoff, TouchedFile};
use ralph_core::memory::amendment_lines;
use ralph_core::plan::{self, AmendmentOutcome, Plan, Task};
use ralph_core::prompt::PromptMaterial;

use super::attempt::AttemptRun;
use super::error::DriveError;
use super::material::PromptSource;
use super::session::RunSession;
use crate::redaction::put_log;
use crate::store::{Durability, add_to_view, drop_view, put_view};
use crate::{handoff_files, prompt_files};

/// File with the reason of the last failure, for people and tools.
pub(super) const FAILURE_CONTEXT: &str = ".ralph/context/failure-context.md";

/// Log of proposed plan changes, with the decision about each.
const AMENDMENTS: &str = ".ralph/logs/amendments.log";

impl PromptSource<'_> {
    /// Handoffs, skills and the knowledge index. Returns what a person should know.
    pub(super) fn add_memory(&self, task: &Task, material: &mut PromptMaterial) -> Vec<String> {
        let last = self.history.iteration.saturating_sub(self.history.open.is_some().into());
        let find = |is_wanted: &dyn Fn(&Handoff) -> bool| {
            handoff_files::latest(self.root, last.into(), is_wanted)
        };
        let latest = find(&|handoff| handoff.is_worth_telling(&task.id));
        let skills = prompt_files::skills(self.root, &task.skills);
        let mut warnings = latest.warnings;
        warnings.extend(skills.warnings);
        if self.config.mode != MemoryMode::HandoffOnly {
            let index = prompt_files::knowledge_index(&self.index);
            warnings.extend(index.warnings);
            material.index = index.value;
        }
        if self.history.partly_done(task.id.as_str()) {
            let own = |h: &Handoff| h.task_completed.task_id == task.id.as_str();
            let landed = find(&|h| own(h) && h.discarded.is_none());
            material.partial = landed.value.map(|past| past.handoff);
        }
        material.handoff = latest.value;
        material.skills = skills.value;
        warnings
    }
}

impl RunSession<'_> {
    /// Keep the attempt's handoff under its number; one is made up when there is none. Returns the file
    /// and its length, where the agent itself wrote it.
    pub(super) fn keep_handoff(
        &mut self,
        run: &AttemptRun,
        reply: &AgentReply,
        candidate: &Candidate,
        outcome: &BackendOutcome,
    ) -> Result<(Option<String>, u64), DriveError> {
        if matches!(outcome, BackendOutcome::RateLimit { .. } | BackendOutcome::Cancelled) {
            return Ok((None, 0));
        }
        let (task, files) = (&run.task.id, candidate.paths.iter().map(touched).collect());
        let kept: Handoff = match &reply.handoff {
            Some(handoff) => handoff::with_enough_words(handoff.clone(), task, files),
            None if reply.claim != Claim::None => handoff::told_in_prose(task, files, &reply.prose),
            None => handoff::synthetic(task, files, &outcome.to_string()),
        };
        let text = handoff_files::to_text(&kept);
        let iteration = run.started.iteration;
        let file = handoff_files::name(iteration.into());
        put_log(&self.project.root().join(&file), &text)?;
        if reply.handoff.is_some() || reply.claim != Claim::None {
            // The failure was read and answered; before that it must not get lost.
            drop_view(&self.project.root().join(FAILURE_CONTEXT))?;
        }
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok((reply.handoff.is_some().then_some(file), bytes))
    }

    /// Make the changes of the plan that a landed handoff proposes, behind guard rails. Returns the
    /// plan's new text.
    pub(super) fn amend(&mut self, run: &AttemptRun) -> Result<Option<String>, DriveError> {
        let Some(file) = run.end.as_ref().and_then(|end| end.handoff.as_ref()) else {
            return Ok(None);
        };
        let bytes = crate::store::read(&self.project.root().join(file))?.unwrap_or_default();
        let Ok(handoff) = serde_json::from_slice::<Handoff>(&bytes) else { return Ok(None) };
        if handoff.plan_amendments.is_empty() {
            return Ok(None);
        }
        let (now, current) = (self.clock.stamp(), run.task.id.clone());
        let used = self.plan.said(&run.started.attempt)?.added;
        let mut outcomes = Vec::new();
        let ids = &mut self.ids;
        let (before, after) = self.plan.change(|plan, text| {
            let mut word = || ids.word(4);
            let codec = codec(plan.format);
            let by = plan::AmendmentAuthor { current: Some(&current), used, at: &now };
            let (new, made) = plan::amend(codec, text, &handoff.plan_amendments, by, &mut word)?;
            outcomes = made;
            Ok(new)
        })?;
        if before != after {
            let mut backup = self.project.shown_path(&self.plan.path).into_os_string();
            backup.push(".bak");
            put_view(backup.as_ref(), before.as_bytes())?;
        }
        self.record_amendments(run, outcomes)?;
        Ok(Some(after))
    }

    /// Tasks that the agent added with ralph's commands or by hand. `before` is the plan's text as the
    /// backend found it.
    pub(super) fn note_added_tasks(
        &mut self,
        run: &AttemptRun,
        before: &Plan,
    ) -> Result<(), DriveError> {
        if self.plan.said(&run.started.attempt)?.added == 0 {
            return Ok(());
        }
        let now = self.read_plan()?.plan;
        let known = plan::PlanLookup::new(before);
        let new = now.tasks.iter().filter(|task| known.task(&task.id).is_none());
        self.record_amendments(run, new.map(AmendmentOutcome::added).collect())
    }

    /// Changes of the plan by an agent: in the journal, in their own log, and told.
    fn record_amendments(
        &mut self,
        run: &AttemptRun,
        outcomes: Vec<AmendmentOutcome>,
    ) -> Result<(), DriveError> {
        if outcomes.is_empty() {
            return Ok(());
        }
        let AttemptStart { attempt, iteration, task, .. } = run.started.clone();
        let log = amendment_lines(&self.clock.stamp(), iteration, &task, &outcomes);
        add_to_view(&self.project.root().join(AMENDMENTS), log.as_bytes())?;
        let amended = AmendmentRecord { attempt, iteration, task, outcomes };
        self.record(JournalRecord::Amended(amended), Durability::Eventual)
    }
}

fn touched(changed: &ChangedPath) -> TouchedFile {
    let action = match changed.change {
        PathChange::Deleted => "deleted",
        PathChange::Written => "modified",
    };
    TouchedFile { path: changed.path.to_string(), action: action.into() }
}
