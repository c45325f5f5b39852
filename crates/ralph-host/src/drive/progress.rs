//! The progress log: what each landed attempt did, for people (`.md`) and for programs (`.json`).
//!
//! It is a view of the journal and of the handoffs, so a crash loses nothing of it: the next start
//! writes what is missing. It grows with the plan, so it is not written for each of many short tasks:
//! every few seconds, with the last task, and at the end of a
//! run. An attempt is logged in time for its commit; when it does not land after all, the log says so.

use std::path::Path;

use jiff::Timestamp;
use ralph_core::cycle::{AttemptState, AttemptView, History, remaining};
use ralph_core::memory::{ProgressEntry, progress_json, progress_md};

use super::attempt::AttemptRun;
use super::error::DriveError;
use super::session::RunSession;
use crate::handoff_files;
use crate::store::{self, put_view};

const MARKDOWN: &str = ".ralph/progress-log.md";
const JSON: &str = ".ralph/progress-log.json";

/// Seconds between two writes while a run goes on.
const PAUSE: i64 = 5;

/// Position of the progress log in the history.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProgressLogPosition {
    /// Number of attempts that the log has covered.
    upto: usize,
    /// Time of the last write by this process.
    at: Option<Timestamp>,
}

impl ProgressLogPosition {
    /// Return the position of the log that an earlier run left. A run that did not end counts as not
    /// logged.
    pub(super) fn of(history: &History) -> Self {
        let upto = match history.run_end {
            Some(_) => history.attempts.len(),
            None => history.attempts.len() - history.of_run().count(),
        };
        Self { upto, at: None }
    }
}

impl RunSession<'_> {
    /// An attempt is about to land: log it in time for its commit, unless the log was written just now
    /// and more is to come.
    pub(super) fn log_landing(&mut self, run: &AttemptRun) -> Result<(), DriveError> {
        let now = self.clock.now();
        let lately = self.logged.at.is_some_and(|at| now.duration_since(at).as_secs() < PAUSE);
        if lately && remaining(&*self.known_plan()?) > 0 {
            return Ok(());
        }
        let at = self.clock.stamp();
        let landing = self.history.attempt(&run.started.attempt);
        let landing = landing.map(|view| AttemptView { ended_at: Some(at), ..view.clone() });
        self.write_progress(landing.as_ref())
    }

    /// The landing was undone: the log says so.
    pub(super) fn log_undone(&mut self, run: &AttemptRun, why: &str) -> Result<(), DriveError> {
        let entry = ProgressEntry {
            task_id: run.started.task.clone(),
            iteration: run.started.iteration,
            timestamp: self.clock.stamp(),
            summary: format!("rolled back: {why}"),
            ..ProgressEntry::default()
        };
        let known = store::read(&self.project.ledger_file(JSON))?.unwrap_or_default();
        let iteration = format!("\"iteration\":{},", entry.iteration);
        match String::from_utf8_lossy(&known).contains(&iteration) {
            true => self.write_progress_entries(&[entry]),
            false => Ok(()),
        }
    }

    /// Log every landed attempt that is not in the log.
    pub(super) fn log_progress(&mut self) -> Result<(), DriveError> {
        self.write_progress(None)
    }

    fn write_progress(&mut self, landing: Option<&AttemptView>) -> Result<(), DriveError> {
        let root = self.project.root();
        let open = self.history.attempts.iter().skip(self.logged.upto);
        let landed = open.filter(|view| matches!(view.fate, AttemptState::Landed { .. }));
        let entries: Vec<_> = landed.chain(landing).map(|view| entry(root, view)).collect();
        let upto = self.history.attempts.len();
        self.logged = ProgressLogPosition { upto, at: Some(self.clock.now()) };
        if entries.is_empty() { Ok(()) } else { self.write_progress_entries(&entries) }
    }

    fn write_progress_entries(&mut self, entries: &[ProgressEntry]) -> Result<(), DriveError> {
        let [markdown, json] = [MARKDOWN, JSON].map(|file| self.project.ledger_file(file));
        let plan = self.read_plan()?.plan;
        let text = |file: &Path| {
            let bytes = store::read(file)?.unwrap_or_default();
            Ok::<_, DriveError>(String::from_utf8_lossy(&bytes).into_owned())
        };
        match progress_json(&text(&json)?, &plan, entries, &self.clock.stamp()) {
            Ok(new) => put_view(&json, new.as_bytes())?,
            Err(why) => self.warn(&format!("{JSON} is left alone: {why}")),
        }
        let new = progress_md(&text(&markdown)?, &plan, entries);
        Ok(put_view(&markdown, new.as_bytes())?)
    }
}

/// Build the log entry of an attempt from its handoff. Without one, use the few facts in the journal.
fn entry(root: &Path, view: &AttemptView) -> ProgressEntry {
    let (task, iteration) = (view.started.task.as_str(), view.started.iteration);
    let at = view.ended_at.as_deref().unwrap_or(&view.at);
    let number = u64::from(iteration);
    match handoff_files::between(root, number.saturating_sub(1), number, 1).first() {
        Some(past) => ProgressEntry::of(&past.handoff, task, iteration, at),
        None => ProgressEntry {
            task_id: task.to_owned(),
            iteration,
            timestamp: at.to_owned(),
            summary: view.backend.as_ref().map(|end| end.summary.clone()).unwrap_or_default(),
            ..ProgressEntry::default()
        },
    }
}
