//! What an attempt leaves for the next one, and what the next one is given of it.

use ralph_core::backend::Outcome;
use ralph_core::claim::Reply;
use ralph_core::config::Mode;
use ralph_core::cycle::Record;
use ralph_core::format::codec;
use ralph_core::handoff::{self, FileTouched, Handoff};
use ralph_core::memory::amendment_lines;
use ralph_core::plan::{self, Task};
use ralph_core::prompt::Material;
use serde_json::json;

use super::attempt::{Begun, Ended, to_value};
use super::error::DriveError;
use super::material::PromptSource;
use super::session::Session;
use crate::git::{Change, ChangeKind, Changes};
use crate::redaction::put_log;
use crate::store::{Durability, add_to_view, drop_view, put_view};
use crate::{handoff_files, prompt_files};

/// Where the reason of the last failure is for people and tools.
pub(super) const FAILURE_CONTEXT: &str = ".ralph/context/failure-context.md";

/// Where it is written what became of proposed changes of the plan.
const AMENDMENTS: &str = ".ralph/logs/amendments.log";

impl PromptSource<'_> {
    /// Handoffs, skills and the knowledge index. Returns what a person should know.
    pub(super) fn add_memory(&self, task: &Task, material: &mut Material) -> Vec<String> {
        let last = self.history.iteration.saturating_sub(self.history.open.is_some().into());
        let latest = handoff_files::latest(self.root, last.into());
        let skills = prompt_files::skills(self.root, &task.skills);
        let mut warnings = latest.warnings;
        warnings.extend(skills.warnings);
        if self.config.mode != Mode::HandoffOnly {
            let index = prompt_files::knowledge_index(self.root);
            warnings.extend(index.warnings);
            material.index = index.value;
        }
        if self.history.partly_done(task.id.as_str()) {
            let last = latest.value.as_ref().map(|past| past.handoff.clone());
            material.partial = last.filter(|h| h.task_completed.task_id == task.id.as_str());
        }
        material.handoff = latest.value;
        material.skills = skills.value;
        warnings
    }
}

impl Session<'_> {
    /// Keep the attempt's handoff under its number; one is made up when there is none. Returns the file
    /// and its length, where the agent itself wrote it.
    pub(super) fn keep_handoff(
        &mut self,
        begun: &Begun,
        reply: &Reply,
        changes: &Changes,
        outcome: &Outcome,
    ) -> Result<(Option<String>, u64), DriveError> {
        if matches!(outcome, Outcome::RateLimit { .. } | Outcome::Cancelled) {
            return Ok((None, 0));
        }
        let (task, files) = (&begun.task.id, changes.paths.iter().map(touched).collect());
        let kept: Handoff = match &reply.handoff {
            Some(handoff) => handoff::with_enough_words(handoff.clone(), task, files),
            None => handoff::synthetic(task, files, &outcome.to_string()),
        };
        let text = serde_json::to_string_pretty(&kept).unwrap_or_default() + "\n";
        let iteration = begun.started.iteration;
        let file = handoff_files::name(iteration.into());
        put_log(&self.project.root().join(&file), &text)?;
        if reply.handoff.is_some() || !matches!(reply.claim, ralph_core::claim::Claim::None) {
            // The failure was read and answered; before that it must not get lost.
            drop_view(&self.project.root().join(FAILURE_CONTEXT))?;
        }
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Ok((reply.handoff.is_some().then_some(file), bytes))
    }

    /// Make the changes of the plan that a landed handoff proposes, behind guard rails. Returns the
    /// plan's new text.
    pub(super) fn amend(
        &mut self,
        begun: &Begun,
        ended: &Ended,
    ) -> Result<Option<String>, DriveError> {
        let Some(file) = &ended.end.handoff else { return Ok(None) };
        let bytes = crate::store::read(&self.project.root().join(file))?.unwrap_or_default();
        let Ok(handoff) = serde_json::from_slice::<Handoff>(&bytes) else { return Ok(None) };
        if handoff.plan_amendments.is_empty() {
            return Ok(None);
        }
        let wanted: Vec<_> = handoff.plan_amendments.iter().map(to_value).collect();
        let (now, current) = (self.clock.stamp(), begun.task.id.clone());
        let used = self.plan.said(&begun.started.attempt)?.added;
        let mut outcomes = Vec::new();
        let ids = &mut self.ids;
        let (before, after) = self.plan.change(|plan, text| {
            let mut word = || ids.word(4);
            let codec = codec(plan.format);
            let by = plan::Amender { current: Some(&current), used, at: &now };
            let (new, made) = plan::amend(codec, text, &wanted, by, &mut word)?;
            outcomes = made;
            Ok(new)
        })?;
        if before != after {
            let mut backup = self.plan.path.clone().into_os_string();
            backup.push(".bak");
            put_view(backup.as_ref(), before.as_bytes())?;
        }
        let task = begun.started.task.as_str();
        let log = amendment_lines(&now, begun.started.iteration, task, &outcomes);
        add_to_view(&self.project.root().join(AMENDMENTS), log.as_bytes())?;
        let refused = outcomes.iter().filter(|o| o.refused.is_some()).count();
        let made = outcomes.len() - refused;
        let record = Record::Noted {
            event: "amendments".into(),
            message: format!("plan amendments: {made} made, {refused} refused"),
            details: json!({ "made": made, "refused": refused }),
        };
        self.record(record, Durability::Eventual)?;
        Ok(Some(after))
    }
}

fn touched(change: &Change) -> FileTouched {
    let action = match change.kind {
        ChangeKind::Added => "created",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Modified | ChangeKind::TypeChanged | ChangeKind::Written => "modified",
    };
    FileTouched { path: change.path.to_string(), action: action.into() }
}
