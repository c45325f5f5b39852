//! The plan file in use: read it, change it under the lock.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ralph_core::format::{self, EditError, PlanFormat};
use ralph_core::plan::Plan;

use super::error::DriveError;
use crate::file_error::{FileAction, FileError};
use crate::plan_store::{self, PlanError};
use crate::project::Project;
use crate::store::{BackgroundSync, LedgerFileKind, LedgerStore, StoredAgentClaims, TornLine};

/// Plan file in use, with the text and the plan that were last read or written.
#[derive(Debug)]
pub(super) struct PlanFile {
    pub(super) path: PathBuf,
    /// As people call it, and relative to the root where it is below it.
    pub(super) shown: String,
    store: LedgerStore,
    missing: MissingPlanPolicy,
    /// The last text that was read or written, and what it says: a long plan takes long to parse.
    seen: RefCell<Option<(Rc<str>, Rc<Plan>)>>,
    /// The last change may still be on its way to the disk.
    syncing: RefCell<BackgroundSync>,
}

/// Meaning of a plan file that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingPlanPolicy {
    /// Nobody has planned anything: an error.
    Error,
    /// A plan that is about to be made.
    Empty,
}

/// Source of the changes to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanChangeOrigin {
    /// Commands of ralph, and nothing else.
    Ralph,
    /// Plan that was edited by hand.
    Anybody,
}

/// A plan as it is on disk.
#[derive(Clone, Debug)]
pub(super) struct PlanOnDisk {
    pub(super) plan: Rc<Plan>,
    /// An unfinished last line that was moved away.
    pub(super) torn: Option<TornLine>,
}

impl PlanFile {
    /// The plan at `path`, or the copy of it that the open run has.
    pub(super) fn new(
        project: &Project,
        path: &Path,
        store: LedgerStore,
        missing: MissingPlanPolicy,
    ) -> Self {
        let path = project.ledger_path(path);
        let shown = project.relative_path(&path);
        let (seen, syncing) = (RefCell::default(), RefCell::default());
        Self { path, shown, store, missing, seen, syncing }
    }

    /// The same plan, where a run that was opened meanwhile keeps it.
    pub(super) fn of_run(self, project: &Project) -> Self {
        Self { path: project.ledger_file(&self.shown), seen: RefCell::default(), ..self }
    }

    /// The ledger that it belongs to.
    pub(super) fn store(&self) -> &LedgerStore {
        &self.store
    }

    pub(super) fn read(&self) -> Result<PlanOnDisk, DriveError> {
        let read = self.store.read(&self.path, LedgerFileKind::of(&self.path), |bytes| {
            self.load(self.or_empty(bytes)?)
        })?;
        let (_, plan) = read.value;
        Ok(PlanOnDisk { plan, torn: read.torn })
    }

    /// Return the plan as it was last read or written by this process.
    pub(super) fn known(&self) -> Option<Rc<Plan>> {
        self.seen.borrow().as_ref().map(|(_, plan)| plan.clone())
    }

    /// Change it under the lock; `change` gets the plan and the text. Returns the text before
    /// and after.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&Plan, &str) -> Result<String, EditError>,
    ) -> Result<(String, String), DriveError> {
        let changed = self.change_when(|| Ok(()), change)?;
        self.wait()?;
        Ok(changed)
    }

    /// The same while `ready` waits for what must be on the disk first. The change itself is there
    /// when [`PlanFile::wait`] has come back.
    pub(super) fn change_when(
        &self,
        ready: impl FnOnce() -> Result<(), FileError>,
        change: impl FnOnce(&Plan, &str) -> Result<String, EditError>,
    ) -> Result<(String, String), DriveError> {
        self.wait()?;
        let (made, nonsense) = (RefCell::new(None), RefCell::new(None));
        // Nobody has seen the new text yet, and the disk is busy with it: time to see what it says.
        let ready = || {
            let said =
                made.take().map(|(format, new): (PlanFormat, Rc<str>)| self.parse(format, &new));
            match said.transpose() {
                Ok(_) => ready(),
                Err(e) => {
                    *nonsense.borrow_mut() = Some(e);
                    Err(FileError::io(FileAction::Write, &self.path)(ErrorKind::InvalidData.into()))
                }
            }
        };
        let updated =
            self.store.update_when(&self.path, LedgerFileKind::of(&self.path), ready, |bytes| {
                let (text, plan) = self.load(self.or_empty(bytes)?)?;
                let new = change(&plan, &text).map_err(|e| self.edit(&e))?;
                *made.borrow_mut() = Some((plan.format, Rc::from(new.as_str())));
                Ok::<_, DriveError>((new.clone(), (text.to_string(), new)))
            });
        let (updated, syncing) = updated.map_err(|e| nonsense.take().unwrap_or(e))?;
        *self.syncing.borrow_mut() = syncing;
        Ok(updated.value)
    }

    /// Wait until the last change is on the disk.
    pub(super) fn wait(&self) -> Result<(), DriveError> {
        Ok(self
            .syncing
            .borrow_mut()
            .wait()
            .map_err(FileError::io(FileAction::Write, &self.path))?)
    }

    /// A backend is about to run: from now on it is known who changes the plan. Returns its text.
    pub(super) fn watch(&self) -> Result<String, DriveError> {
        self.store.forget_said();
        let _lock = self.store.lock()?;
        let bytes = crate::store::read(&self.path)?;
        let (text, _) = self.load(self.or_empty(bytes.as_deref())?)?;
        self.store.begin_chain(&self.path, &text)?;
        Ok(text.to_string())
    }

    /// The backend has ended: let `decide` say what the plan is to be, given what it is and who made
    /// it so. Whatever bytes it has, `decide` sees them all.
    pub(super) fn settle<T>(
        &self,
        decide: impl FnOnce(Option<&[u8]>, PlanChangeOrigin) -> (String, T),
    ) -> Result<T, DriveError> {
        let updated = self.store.update(&self.path, LedgerFileKind::Document, |bytes| {
            let origin = match bytes {
                Some(bytes) if self.store.is_unbroken(&self.path, bytes) => PlanChangeOrigin::Ralph,
                _ => PlanChangeOrigin::Anybody,
            };
            Ok::<_, DriveError>(decide(bytes, origin))
        })?;
        self.store.end_chain()?;
        Ok(updated.value)
    }

    /// Whether the plan still has this text; then nothing is to be settled.
    pub(super) fn is_still(&self, text: &str) -> Result<bool, DriveError> {
        let now = crate::store::read(&self.path)?;
        let same = now.as_deref().unwrap_or_default() == text.as_bytes();
        if same {
            self.store.end_chain()?;
        }
        Ok(same)
    }

    /// Return the claim, handoff and additions that the backend sent with ralph's own commands.
    pub(super) fn said(&self, attempt: &str) -> Result<StoredAgentClaims, DriveError> {
        Ok(self.store.said(attempt)?)
    }

    /// So many tasks and issues came in by hand; they count like those that came through commands.
    pub(super) fn count_added(&self, attempt: &str, added: usize) -> Result<(), DriveError> {
        if added == 0 {
            return Ok(());
        }
        // Those of commands are among them: nobody can tell them apart any more.
        self.store.say(attempt, |said| {
            said.added = said.added.max(added);
            Ok::<_, DriveError>(())
        })
    }

    /// Put `before` back if the file still says `after`; otherwise let `mend` change what it says now.
    pub(super) fn put_back(
        &self,
        before: &str,
        after: &str,
        mend: impl FnOnce(&Plan, &str) -> Result<String, EditError>,
    ) -> Result<(), DriveError> {
        self.change(
            |plan, text| {
                if text == after { Ok(before.to_owned()) } else { mend(plan, text) }
            },
        )
        .map(drop)
    }

    fn load(&self, bytes: &[u8]) -> Result<(Rc<str>, Rc<Plan>), DriveError> {
        let text = plan_store::decode(&self.shown, bytes)?;
        let format = plan_store::detect(&self.path, &self.shown, text)?;
        self.parse(format, text)
    }

    fn parse(&self, format: PlanFormat, text: &str) -> Result<(Rc<str>, Rc<Plan>), DriveError> {
        let codec = format::codec(format);
        let known = self.seen.borrow().clone().filter(|(_, plan)| plan.format == format);
        let plan = match &known {
            Some((seen, plan)) if **seen == *text => return Ok((seen.clone(), plan.clone())),
            Some((seen, plan)) => codec.parse_after(plan, seen, text),
            None => codec.parse(text),
        };
        let plan = plan.map_err(|e| PlanError::damaged(&self.shown, &e))?;
        let seen = (Rc::from(text), Rc::new(plan));
        *self.seen.borrow_mut() = Some(seen.clone());
        Ok(seen)
    }

    fn edit(&self, error: &EditError) -> DriveError {
        DriveError::plan(&self.shown, &error.to_string(), "`ralph validate` says more")
    }

    fn or_empty<'b>(&self, bytes: Option<&'b [u8]>) -> Result<&'b [u8], DriveError> {
        match (bytes, self.missing) {
            (Some(bytes), _) => Ok(bytes),
            (None, MissingPlanPolicy::Empty) => Ok(&[]),
            (None, MissingPlanPolicy::Error) => Err(self.missing()),
        }
    }

    fn missing(&self) -> DriveError {
        let hint =
            "`ralph plan` makes one of your specs; `ralph task add \"what to do\"` begins one";
        DriveError::plan(&self.shown, "there is no plan yet", hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LockHolder;

    #[test]
    fn a_change_that_makes_nonsense_of_a_plan_is_refused_and_the_file_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("plan.jsonl");
        let before = "{\"t\":\"task\",\"id\":\"t-1\",\"name\":\"one\",\"s\":\"p\"}\n";
        crate::store::replace(&path, before.as_bytes()).unwrap();
        let project = Project::discover(place.path()).unwrap();
        let store = LedgerStore::new(place.path().join("state"), LockHolder::this_process("now"));
        let plan = PlanFile::new(&project, &path, store, MissingPlanPolicy::Error);
        // A record that is added at the end, and a text that takes the place of another.
        for new in [format!("{before}nonsense\n"), "nonsense\n".to_owned()] {
            let error = plan.change(|_, _| Ok(new)).unwrap_err().to_string();
            assert!(error.starts_with("plan.jsonl:"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        }
        plan.change(|_, text| Ok(text.replace("one", "two"))).unwrap();
        assert_eq!(plan.read().unwrap().plan.tasks[0].name, "two");
    }
}
