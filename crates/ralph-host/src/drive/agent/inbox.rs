//! The queue while an agent works on it: others add, list and remove.

use std::path::PathBuf;
use std::time::Duration;

use ralph_core::agent_session::seconds_between;
use ralph_core::control::LoopActivity;
use ralph_core::inbox::{Inbox, InboxChange, InboxEntry, InboxStatus};
use ralph_core::init::is_starter;

use super::AgentLoop;
use crate::drive::error::DriveError;
use crate::drive::session::RunSession;
use crate::project::Project;
use crate::store::{LedgerFileKind, drop_view, put_view, read};
use crate::watch::FileWatch;

/// Name of the copy of the spec that is worked on.
const COPY: &str = "spec-copy.md";

/// Prefix of the names of copies of the plan.
const PLAN_COPY: &str = "plan-before-";

/// Time between two looks of a waiting agent for a request to stop.
const NAP: Duration = Duration::from_millis(200);

impl RunSession<'_> {
    /// The next spec, which is active from now on: the one that was interrupted, else the first that
    /// waits.
    pub(super) fn fetch(
        &mut self,
        agent: &mut AgentLoop,
    ) -> Result<Option<InboxEntry>, DriveError> {
        let last = agent.state.current_spec_id.clone();
        let at = self.clock.stamp();
        let fetched = self.with_inbox(|inbox| {
            let waits = |entry: &&InboxEntry| {
                matches!(entry.status, InboxStatus::Pending | InboxStatus::Active)
            };
            let last = last.as_deref().and_then(|id| inbox.find(id)).filter(waits);
            // An active one without a session is what a killed agent left.
            let left = || inbox.entries().iter().find(|entry| entry.status == InboxStatus::Active);
            let Some(entry) = last.or_else(left).or_else(|| inbox.first_pending()) else {
                return Ok((None, None));
            };
            let text = match entry.status {
                InboxStatus::Active => None,
                _ => Some(inbox.set_status(&entry.id, &InboxChange::Active { at: at.clone() })?),
            };
            let started_at = entry.started_at.clone().filter(|_| text.is_none());
            let started_at = started_at.or_else(|| Some(at.clone()));
            Ok((text, Some(InboxEntry { started_at, ..entry.clone() })))
        })?;
        if let Some(entry) = &fetched {
            let since = std::mem::replace(&mut agent.state.spec_since, at);
            if agent.state.current_spec_id.as_ref() == Some(&entry.id) {
                agent.state.spec_seconds += seconds_between(&since, &agent.last_run_ended);
            } else {
                agent.state.spec_seconds = 0;
                agent.state.current_spec_id = Some(entry.id.clone());
                agent.state.cost_at_spec = self.history.cost;
                self.forget_copies(None);
            }
            self.save(agent)?;
        }
        Ok(fetched)
    }

    /// Another status for an entry. One that somebody removed stays removed.
    pub(super) fn change_inbox(
        &mut self,
        id: &str,
        change: &InboxChange,
    ) -> Result<(), DriveError> {
        self.with_inbox(|inbox| match inbox.find(id) {
            Some(_) => Ok((Some(inbox.set_status(id, change)?), ())),
            None => Ok((None, ())),
        })
    }

    pub(super) fn inbox_entry(&mut self, id: &str) -> Result<Option<InboxEntry>, DriveError> {
        self.with_inbox(|inbox| Ok((None, inbox.find(id).cloned())))
    }

    /// Specs that wait or were being worked on.
    pub(super) fn waiting_specs(&mut self) -> Result<usize, DriveError> {
        self.with_inbox(|inbox| {
            let (pending, active) =
                (inbox.count(InboxStatus::Pending), inbox.count(InboxStatus::Active));
            Ok((None, pending + active))
        })
    }

    pub(super) fn pending_specs(&mut self) -> Result<usize, DriveError> {
        self.with_inbox(|inbox| Ok((None, inbox.count(InboxStatus::Pending))))
    }

    /// Read the inbox under its lock, and write it when there is something new.
    fn with_inbox<T>(
        &mut self,
        decide: impl FnOnce(&Inbox<'_>) -> Result<(Option<String>, T), ralph_core::inbox::InboxError>,
    ) -> Result<T, DriveError> {
        let path = self.project.inbox();
        let shown = self.relative(&path);
        let broken = |message: &str, line: Option<usize>| {
            let place = line.map_or_else(|| shown.clone(), |line| format!("{shown}:{line}"));
            let hint = "nothing was changed; mend that line and start the agent again";
            DriveError::plan(&place, message, hint)
        };
        let updated = self.plan.store().update(&path, LedgerFileKind::of(&path), |bytes| {
            let text = std::str::from_utf8(bytes.unwrap_or_default())
                .map_err(|_| broken("this is not UTF-8 text", None))?;
            let inbox = Inbox::parse(text).map_err(|e| broken(&e.message, Some(e.line)))?;
            let (new, value) = decide(&inbox).map_err(|e| broken(&e.to_string(), None))?;
            Ok::<_, DriveError>((new.unwrap_or_else(|| text.to_owned()), value))
        })?;
        if let Some(torn) = &updated.torn {
            self.warn(&torn.to_string());
        }
        Ok(updated.value)
    }

    /// The text of a spec as it was when it was fetched: people edit specs while agents work. What
    /// the plan said then is kept beside it. The inner error is why there is no spec, in words.
    pub(super) fn spec_copy(
        &mut self,
        entry: &InboxEntry,
    ) -> Result<Result<(String, String), String>, DriveError> {
        let root = self.project.root().to_owned();
        let native = self.project.specs_dir().join(&entry.spec);
        let path = if native.is_file() { native } else { root.join(&entry.spec) };
        let file = self.relative(&path);
        let now = if path.is_file() { read(&path)? } else { None };
        let copy = self.project.state_dir().join(COPY);
        let bytes = match (read(&copy)?, now) {
            (Some(kept), now) => {
                if now.as_ref() != Some(&kept) {
                    self.warn(&format!(
                        "{file} was changed since {} was fetched; what it said then counts",
                        entry.id
                    ));
                }
                kept
            }
            (None, Some(now)) => {
                self.copy_plan(entry)?;
                put_view(&copy, &now)?;
                now
            }
            (None, None) => return Ok(Err(format!("spec not found: {file}"))),
        };
        Ok(match String::from_utf8(bytes) {
            Ok(text) if text.trim().is_empty() => Err(format!("{file} is empty")),
            Ok(text) if is_starter(&text) => Err(format!("nobody has written {file} yet")),
            Ok(text) => Ok((file, text)),
            Err(_) => Err(format!("{file} is not a text file")),
        })
    }

    fn copy_plan(&mut self, entry: &InboxEntry) -> Result<(), DriveError> {
        let copy = plan_copy_file(&self.project, &entry.id);
        if !copy.exists() {
            let plan = read(&self.plan.path)?.unwrap_or_default();
            put_view(&copy, &plan)?;
        }
        Ok(())
    }

    /// Return the text of the plan as it was before the spec of this entry, if a copy exists.
    pub(super) fn plan_copy(&self, entry: &InboxEntry) -> Result<Option<String>, DriveError> {
        let bytes = read(&plan_copy_file(&self.project, &entry.id))?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Another spec begins, or the one of this entry is over.
    pub(super) fn forget_copies(&mut self, over: Option<&str>) {
        // What cannot be removed is written over by the next one.
        let _stays = drop_view(&self.project.state_dir().join(COPY));
        if let Some(id) = over {
            let _stays = drop_view(&plan_copy_file(&self.project, id));
        }
    }

    /// Wait until the inbox changes, or a signal comes.
    pub(super) fn wait_for_specs(&mut self) -> Result<(), DriveError> {
        let mut watch = FileWatch::on(vec![self.project.inbox()]);
        // Somebody may have been faster than the watch.
        let mut changed = true;
        while self.signals.first().is_none() {
            if changed && self.waiting_specs()? > 0 {
                break;
            }
            changed = watch.changed(NAP);
            self.take_commands(LoopActivity::Nothing)?;
            if self.mailbox.stop_asked() || self.history.paused {
                break;
            }
        }
        Ok(())
    }
}

/// Return the path of the copy of the plan from before the spec of this entry. It outlives a session,
/// because a limit may interrupt a spec that the next session finishes.
pub(super) fn plan_copy_file(project: &Project, id: &str) -> PathBuf {
    project.state_dir().join(format!("{PLAN_COPY}{id}.jsonl"))
}

/// Whether a file of the state directory is such a plan.
pub(super) fn is_plan_copy(name: &str) -> bool {
    name.starts_with(PLAN_COPY)
}
