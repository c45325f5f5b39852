//! Taking over a person's edits of ledger files in home.

use std::collections::BTreeSet;
use std::fs;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime};

use ralph_core::cycle::{HomeEdit, TakenOverText, take_over_plan, take_over_text};
use ralph_core::plan::Id;

use super::{HeadBranch, RunLedger, RunLedgerError, RunWorkspace};
use crate::file_error::FileError;
use crate::store::{self, LedgerFileKind, LedgerStore, LedgerStoreError};

/// Time in which home must not change before its files are believed: git switches a branch file by
/// file, and writes `HEAD` last.
const SETTLE: Duration = Duration::from_millis(200);

/// A ledger file in home that differs from what the run has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeLedgerFile {
    /// Path relative to the project.
    pub name: String,
    /// Content in home; `None` when the file does not exist.
    pub bytes: Option<Vec<u8>>,
}

/// State of home that changes when git works in it.
#[derive(Debug, PartialEq, Eq)]
struct HomeLedgerState {
    head: HeadBranch,
    index: Option<SystemTime>,
    is_locked: bool,
    changed: Vec<HomeLedgerFile>,
}

impl RunLedger {
    /// Take over a person's edits of home's ledger files, while home is on the run's branch. `landed`
    /// are the tasks whose complete landing is in the tip and was not reopened since. Returns remarks
    /// for the person; edits that cannot be taken over yet wait for the next call.
    pub fn take_over(
        &self,
        store: &LedgerStore,
        landed: &BTreeSet<Id>,
        at: &str,
    ) -> Result<Vec<String>, RunLedgerError> {
        let mut remarks = Vec::new();
        for file in self.edited_in_home()? {
            remarks.extend(self.take_over_file(file, store, landed, at)?);
        }
        Ok(remarks)
    }

    /// List the ledger files in home that somebody edited. None while home is on another branch, or while
    /// git works there.
    pub fn edited_in_home(&self) -> Result<Vec<HomeLedgerFile>, RunLedgerError> {
        if self.open_run.workspace == RunWorkspace::Checkout || !self.is_home_on_branch() {
            return Ok(Vec::new());
        }
        let state = self.home_state()?;
        if state.changed.is_empty() {
            return Ok(Vec::new());
        }
        std::thread::sleep(SETTLE);
        let is_settled =
            !state.is_locked && self.home_state()? == state && self.is_home_on_branch();
        Ok(if is_settled { state.changed } else { Vec::new() })
    }

    fn home_state(&self) -> Result<HomeLedgerState, FileError> {
        let mut changed = Vec::new();
        let left_alone = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        for name in self.open_run.files() {
            // A folder in its place is no file.
            let home = store::read(&self.home.join(&name)).unwrap_or_default();
            if home != self.seen(&name)? && left_alone.get(&name) != Some(&home) {
                changed.push(HomeLedgerFile { name, bytes: home });
            }
        }
        let index = fs::metadata(self.git_dir.join("index")).and_then(|meta| meta.modified());
        Ok(HomeLedgerState {
            head: HeadBranch::read(&self.git_dir),
            index: index.ok(),
            is_locked: self.git_dir.join("index.lock").exists(),
            changed,
        })
    }

    /// Take over `believed` instead of an edit that nobody vouches for. Home's file stays as it is until
    /// a commit arrives or the run ends.
    pub(crate) fn take_over_believed(
        &self,
        edit: HomeLedgerFile,
        believed: Option<Vec<u8>>,
        store: &LedgerStore,
        landed: &BTreeSet<Id>,
        at: &str,
    ) -> Result<Vec<String>, RunLedgerError> {
        let name = edit.name.clone();
        let remarks = match believed == self.seen(&name)? {
            true => Vec::new(),
            false => {
                let file = HomeLedgerFile { name: name.clone(), bytes: believed };
                self.take_over_file(file, store, landed, at)?
            }
        };
        store::put_view(&self.doubted_path(&name), edit.bytes.as_deref().unwrap_or_default())?;
        match &edit.bytes {
            Some(bytes) => self.mark_seen(&name, Some(bytes))?,
            None => self.leave_alone(&name, None),
        }
        Ok(remarks)
    }

    /// The end of the run: doubted edits that are still in home go, as the next arrival would have done it.
    pub(crate) fn put_doubted_back(&self) -> Result<(), FileError> {
        for file in self.open_run.files() {
            let Some(doubted) = store::read(&self.doubted_path(&file))? else { continue };
            let path = self.home.join(&file);
            // A folder in its place goes if it is empty.
            let _stays = fs::remove_dir(&path);
            let is_doubted = match store::read(&path) {
                Ok(Some(home)) => home == doubted,
                Ok(None) => true,
                Err(_) => false,
            };
            if is_doubted && self.is_home_on_branch() {
                self.write_home_file(&file)?;
            }
        }
        Ok(())
    }

    /// Move a file of home to `.ralph/context` when the run has taken over all of it. Returns the copy.
    pub(crate) fn put_aside(&self, file: &str) -> Result<Option<String>, FileError> {
        let (path, seen) = (self.home.join(file), self.seen(file)?);
        if seen.is_none() || store::read(&path)? != seen {
            return Ok(None);
        }
        let name = file.rsplit('/').next().unwrap_or(file);
        let copy = self.home.join(format!(".ralph/context/{name}.of-{}", self.open_run.run));
        let copy = store::put_aside(&path, &copy)?;
        // Looked at again where nobody changes it any more.
        if store::read(&copy)? != seen && fs::symlink_metadata(&path).is_err() {
            store::put_aside(&copy, &path)?;
            return Ok(None);
        }
        let shown = copy.strip_prefix(&self.home).unwrap_or(&copy);
        Ok(Some(shown.to_string_lossy().into_owned()))
    }

    fn take_over_file(
        &self,
        file: HomeLedgerFile,
        store: &LedgerStore,
        landed: &BTreeSet<Id>,
        at: &str,
    ) -> Result<Vec<String>, RunLedgerError> {
        let HomeLedgerFile { name, bytes: home } = file;
        let Some(bytes) = &home else {
            self.leave_alone(&name, home);
            return Ok(vec![format!("{name} is missing; it comes back with the next commit")]);
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.leave_alone(&name, home);
            return Ok(vec![format!("{name} is left alone: it is not UTF-8 text")]);
        };
        let seen = self.seen(&name)?;
        let seen = seen.and_then(|seen| String::from_utf8(seen).ok());
        let path = self.copy_path(&name);
        let updated = store.update(&path, LedgerFileKind::of(&path), |copy| {
            let copy = String::from_utf8_lossy(copy.unwrap_or_default()).into_owned();
            let (seen, home) = with_line_ends_of(&copy, seen.as_deref(), text);
            let edit = HomeEdit { shown: &name, copy: &copy, seen: seen.as_deref(), home: &home };
            let taken = match name == self.open_run.plan {
                true => take_over_plan(&edit, landed, at),
                false => take_over_text(&edit),
            };
            Ok::<_, LedgerStoreError>((taken.text.clone().unwrap_or(copy), taken))
        })?;
        let TakenOverText { text, remarks } = updated.value;
        match text {
            Some(_) => self.mark_seen(&name, home.as_deref())?,
            None => self.leave_alone(&name, home),
        }
        Ok(remarks)
    }

    /// Do not tell again that this edit waits.
    fn leave_alone(&self, name: &str, home: Option<Vec<u8>>) {
        let mut left_alone = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        left_alone.insert(name.to_owned(), home);
    }
}

/// Home's texts with the line ends of the run's copy: git may write others into home.
fn with_line_ends_of(copy: &str, seen: Option<&str>, home: &str) -> (Option<String>, String) {
    let unify = |text: &str| match !copy.is_empty() && !copy.contains("\r\n") {
        true => text.replace("\r\n", "\n"),
        false => text.to_owned(),
    };
    (seen.map(unify), unify(home))
}
