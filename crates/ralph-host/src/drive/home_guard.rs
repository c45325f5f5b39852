//! Ledger files in home that a backend edited by their absolute path.
//!
//! A backend works in its lane, but without a fence nothing hides home from it. Nobody can tell whether it
//! was the backend or a person who edited a file there meanwhile, so what is undone is kept beside and told:
//! of the plan, new words and a few new tasks stay; knowledge index and progress log go back to what the run
//! has seen. A file that is as the checked-out commit or the index has it came there by git, and is left to
//! [`RunLedger::take_over`].

use std::path::Path;

use super::error::DriveError;
use super::guard::{Editor, Found, look};
use super::ledger_guard::{CopyName, put_back};
use super::plan_file::{Origin, PlanFile};
use crate::git::{LedgerPaths, Repo};
use crate::proc::Runner;
use crate::project::Project;
use crate::run_ledger::{HomeFile, RunLedger, without_returns};

/// Home's part of a run whose backend has ended.
pub(super) struct HomeGuard<'g, 'r> {
    pub(super) project: &'g Project,
    pub(super) repo: &'g Repo<'r>,
    pub(super) ledger: &'g RunLedger,
    pub(super) plan: &'g PlanFile,
    /// Edits that were there before the backend ran.
    pub(super) older: &'g [HomeFile],
}

impl HomeGuard<'_, '_> {
    /// Undo what `by` may not have written. Returns a sentence for each file that was put back.
    pub(super) fn undo(&self, by: &Editor) -> Result<Vec<String>, DriveError> {
        let mut sentences = Vec::new();
        let edited = self.ledger.edited_in_home()?;
        for file in edited.into_iter().filter(|file| !self.older.contains(file)) {
            let seen = self.ledger.seen(&file.name)?;
            // A plan where the run has seen none is a person's.
            let is_new_plan = seen.is_none() && self.is_plan(&file);
            if is_new_plan || self.is_gits(&file)? {
                continue;
            }
            let (wanted, why) = self.wanted(&file, seen, by)?;
            if file.bytes == wanted {
                continue;
            }
            let copy = CopyName::of_iteration(by.iteration);
            put_back(self.project.root(), &file.name, wanted.as_deref(), &copy)?;
            sentences.push(format!("{} in your checkout: {why}", file.name));
        }
        Ok(sentences)
    }

    fn is_plan(&self, file: &HomeFile) -> bool {
        file.name == self.ledger.open_run().plan
    }

    /// The bytes that a file is to have, and why it may not have others.
    fn wanted(
        &self,
        file: &HomeFile,
        seen: Option<Vec<u8>>,
        by: &Editor,
    ) -> Result<(Option<Vec<u8>>, String), DriveError> {
        let kept = "the other version is in .ralph/context";
        if !self.is_plan(file) {
            let why = format!("the backend may not write it; it was put back, and {kept}");
            return Ok((seen, why));
        }
        let before = String::from_utf8_lossy(seen.as_deref().unwrap_or_default());
        Ok(match look(&file.name, &before, file.bytes.as_deref(), Origin::Anybody, by.most) {
            Found::Edited(edit) => {
                self.plan.count_added(&by.id, edit.added)?;
                let undone = edit.undone.join("; ");
                let why = format!("edited while a backend ran, and undone: {undone}; {kept}");
                (Some(edit.text.into_bytes()), why)
            }
            Found::Fine(text) => (Some(text.into_bytes()), String::new()),
            Found::Damaged => {
                (seen, format!("damaged while a backend ran; it was put back, and {kept}"))
            }
        })
    }

    /// Whether git put the file there, or took it away: a checkout, a reset or a stash.
    fn is_gits(&self, file: &HomeFile) -> Result<bool, DriveError> {
        let plain = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(without_returns);
        let Some(head) = self.repo.head_commit()? else { return Ok(false) };
        let found = plain(&file.bytes);
        Ok(found == plain(&self.repo.project_file_at(&head, &file.name)?)
            || found == plain(&self.repo.staged_project_file(&file.name)?))
    }
}

/// After a crash: undo what the interrupted backend wrote into home's ledger files.
pub(super) fn undo_in_home(
    project: &Project,
    git_dir: &Path,
    plan: &PlanFile,
    by: &Editor,
) -> Result<Vec<String>, DriveError> {
    let Some(ledger) = RunLedger::of_home(project) else { return Ok(Vec::new()) };
    let runner = Runner::new("").at(git_dir);
    let paths = LedgerPaths::with_plan(&ledger.open_run().plan);
    let repo = Repo::open(project.root(), git_dir, &runner, &paths)?;
    HomeGuard { project, repo: &repo, ledger: &ledger, plan, older: &[] }.undo(by)
}
