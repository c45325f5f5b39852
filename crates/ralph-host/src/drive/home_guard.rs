//! Ledger files in home that a backend edited by their absolute path.
//!
//! A backend works in its lane, but without a fence nothing hides home from it. Nobody can tell whether it
//! was the backend or a person who edited a file there meanwhile. So the file stays as it is until a commit
//! arrives or the run ends, and a copy of it is kept beside; what is not believed is told. Of the plan, new
//! words and a few new tasks are taken over; of knowledge index and progress log, nothing. A file that is as
//! the checked-out commit or the index has it came there by git, and is left to [`RunLedger::take_over`].

use std::collections::BTreeSet;
use std::path::Path;

use ralph_core::cycle::{ChangedWords, History};
use ralph_core::plan::Id;

use super::error::DriveError;
use super::guard::{GuardedPlanState, PlanEditor, look};
use super::ledger_guard::{RestoredCopySuffix, keep_copy};
use super::plan_file::{PlanChangeOrigin, PlanFile};
use super::working_tree::landed_tasks;
use crate::git::{LedgerPaths, Repo};
use crate::proc::JobRunner;
use crate::project::Project;
use crate::run_ledger::{HomeLedgerFile, RunLedger, without_returns};

/// Home's part of a run whose backend has ended.
pub(super) struct HomeGuard<'g, 'r> {
    pub(super) project: &'g Project,
    pub(super) repo: &'g Repo<'r>,
    pub(super) ledger: &'g RunLedger,
    pub(super) plan: &'g PlanFile,
    /// Tasks whose work the tip has.
    pub(super) landed: BTreeSet<Id>,
    pub(super) at: String,
    /// Edits that were there before the backend ran.
    pub(super) older: &'g [HomeLedgerFile],
}

/// An edit as far as it is believed.
struct Believed {
    bytes: Option<Vec<u8>>,
    /// Why the rest is not.
    why: String,
}

impl HomeGuard<'_, '_> {
    /// Take over what `by` may have written, and leave out the rest. Returns a sentence for each file of
    /// which something is left out.
    pub(super) fn settle(&self, by: &PlanEditor) -> Result<Vec<String>, DriveError> {
        let mut sentences = Vec::new();
        let edited = self.ledger.edited_in_home()?;
        for file in edited.into_iter().filter(|file| !self.older.contains(file)) {
            let seen = self.ledger.seen(&file.name)?;
            // A plan where the run has seen none is a person's.
            let is_new_plan = seen.is_none() && self.is_plan(&file);
            if is_new_plan || self.is_gits(&file)? {
                continue;
            }
            let Believed { bytes, why } = self.believed(&file, seen, by)?;
            if file.bytes == bytes {
                continue;
            }
            let copy = RestoredCopySuffix::of_iteration(by.iteration);
            keep_copy(self.project.root(), &file.name, file.bytes.as_deref(), &copy)?;
            let beside = if file.bytes.is_some() { "; .ralph/context has a copy" } else { "" };
            sentences.push(format!(
                "{} in your checkout: {why}; it stays so until a commit arrives or the run ends{beside}",
                file.name
            ));
            let (store, landed) = (self.plan.store(), &self.landed);
            let taken = self.ledger.take_over_believed(file, bytes, store, landed, &self.at)?;
            sentences.extend(taken);
        }
        Ok(sentences)
    }

    fn is_plan(&self, file: &HomeLedgerFile) -> bool {
        file.name == self.ledger.open_run().plan
    }

    fn believed(
        &self,
        file: &HomeLedgerFile,
        seen: Option<Vec<u8>>,
        by: &PlanEditor,
    ) -> Result<Believed, DriveError> {
        let believed = |bytes, why: &str| Ok(Believed { bytes, why: why.to_owned() });
        if !self.is_plan(file) {
            return believed(seen, "the backend may not write it; its changes are left out");
        }
        let before = String::from_utf8_lossy(seen.as_deref().unwrap_or_default());
        let (bytes, words) = (file.bytes.as_deref(), ChangedWords::Keep);
        match look(&file.name, &before, bytes, PlanChangeOrigin::Anybody, by.most, words) {
            GuardedPlanState::Edited(edit) => {
                self.plan.count_added(&by.id, edit.added)?;
                let why =
                    format!("edited while a backend ran, and left out: {}", edit.undone.join("; "));
                believed(Some(edit.text.into_bytes()), &why)
            }
            GuardedPlanState::Fine(text) => believed(Some(text.into_bytes()), ""),
            GuardedPlanState::Damaged => believed(seen, "damaged or removed while a backend ran"),
        }
    }

    /// Whether git put the file there, or took it away: a checkout, a reset or a stash.
    fn is_gits(&self, file: &HomeLedgerFile) -> Result<bool, DriveError> {
        let plain = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(without_returns);
        let Some(head) = self.repo.head_commit()? else { return Ok(false) };
        let found = plain(&file.bytes);
        Ok(found == plain(&self.repo.project_file_at(&head, &file.name)?)
            || found == plain(&self.repo.staged_project_file(&file.name)?))
    }
}

/// After a crash: look at what the interrupted backend wrote into home's ledger files.
pub(super) fn settle_home(
    project: &Project,
    git_dir: &Path,
    plan: &PlanFile,
    (history, at): (&History, String),
    by: &PlanEditor,
) -> Result<Vec<String>, DriveError> {
    let Some(ledger) = RunLedger::of_home(project) else { return Ok(Vec::new()) };
    if history.arrival.as_ref().is_some_and(|line| line.open_arrival.is_some()) {
        // Home has a part of what arrives, and is put back before anything else.
        return Ok(Vec::new());
    }
    let runner = JobRunner::new("").at(git_dir);
    let paths = LedgerPaths::with_plan(&ledger.open_run().plan);
    let repo = Repo::open(project.root(), git_dir, &runner, &paths)?;
    let landed = landed_tasks(history);
    HomeGuard { project, repo: &repo, ledger: &ledger, plan, landed, at, older: &[] }.settle(by)
}
