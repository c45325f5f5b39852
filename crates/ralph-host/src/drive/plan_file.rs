//! The plan file in use: read it, change it under the lock.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ralph_core::format::{self, EditError, Format};
use ralph_core::plan::Plan;

use super::error::DriveError;
use crate::file_error::{Action, FileError};
use crate::store::{Kind, Said, Store, Syncing, Torn};

/// The plan file in use.
#[derive(Clone, Debug)]
pub(super) struct PlanFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// As people call it, and relative to the root where it is below it.
    pub(super) shown: String,
    store: Store,
    missing: Missing,
    /// The last text that was read or written, and what it says: a long plan takes long to parse.
    seen: RefCell<Option<(Rc<str>, Rc<Plan>)>>,
}

/// What a plan file that is not there means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Nobody has planned anything: an error.
    Error,
    /// A plan that is about to be made.
    Empty,
}

/// Who made a plan what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Commands of ralph, and nothing else.
    Ralph,
    /// Somebody edited it by hand.
    Anybody,
}

/// A plan as it is on disk.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    /// What it says.
    pub(super) plan: Rc<Plan>,
    /// An unfinished last line that was moved away.
    pub(super) torn: Option<Torn>,
}

impl PlanFile {
    /// The file at `path`, of the project at `root`.
    pub(super) fn new(root: &Path, path: PathBuf, store: Store, missing: Missing) -> Self {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        Self { path, shown, store, missing, seen: RefCell::default() }
    }

    /// The ledger that it belongs to.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Read it.
    pub(super) fn read(&self) -> Result<Loaded, DriveError> {
        let read = self
            .store
            .read(&self.path, Kind::of(&self.path), |bytes| self.load(self.or_empty(bytes)?))?;
        let (_, plan) = read.value;
        Ok(Loaded { plan, torn: read.torn })
    }

    /// Change it under the lock; `change` gets the plan and the text. Returns the text before
    /// and after.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&Plan, &str) -> Result<String, EditError>,
    ) -> Result<(String, String), DriveError> {
        let (changed, syncing) = self.change_when(|| Ok(()), change)?;
        self.wait(syncing)?;
        Ok(changed)
    }

    /// The same while `ready` waits for what must be on the disk first. The change itself is there
    /// when [`PlanFile::wait`] has come back.
    pub(super) fn change_when(
        &self,
        ready: impl FnOnce() -> Result<(), FileError>,
        change: impl FnOnce(&Plan, &str) -> Result<String, EditError>,
    ) -> Result<((String, String), Syncing), DriveError> {
        let (updated, syncing) =
            self.store.update_when(&self.path, Kind::of(&self.path), ready, |bytes| {
                let (text, plan) = self.load(self.or_empty(bytes)?)?;
                let new = change(&plan, &text).map_err(|e| self.edit(&e))?;
                self.parse(plan.format, &new)?;
                Ok::<_, DriveError>((new.clone(), (text.to_string(), new)))
            })?;
        Ok((updated.value, syncing))
    }

    /// Wait until a change is on the disk.
    pub(super) fn wait(&self, mut syncing: Syncing) -> Result<(), DriveError> {
        Ok(syncing.wait().map_err(FileError::io(Action::Write, &self.path))?)
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
        decide: impl FnOnce(Option<&[u8]>, Origin) -> (String, T),
    ) -> Result<T, DriveError> {
        let updated = self.store.update(&self.path, Kind::Document, |bytes| {
            let origin = match bytes {
                Some(bytes) if self.store.is_unbroken(&self.path, bytes) => Origin::Ralph,
                _ => Origin::Anybody,
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

    /// What the backend of an attempt said through ralph's own commands.
    pub(super) fn said(&self, attempt: &str) -> Result<Said, DriveError> {
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
        let text = std::str::from_utf8(bytes).map_err(|_| {
            DriveError::plan(&self.shown, "this is not UTF-8 text", "restore it from git")
        })?;
        let format =
            format::detect(&self.path.to_string_lossy(), text).map_err(|e| self.damaged(&e))?;
        self.parse(format, text)
    }

    fn parse(&self, format: Format, text: &str) -> Result<(Rc<str>, Rc<Plan>), DriveError> {
        if let Some((seen, plan)) = &*self.seen.borrow()
            && (**seen == *text && plan.format == format)
        {
            return Ok((seen.clone(), plan.clone()));
        }
        let plan = format::codec(format).parse(text).map_err(|e| self.damaged(&e))?;
        let seen = (Rc::from(text), Rc::new(plan));
        *self.seen.borrow_mut() = Some(seen.clone());
        Ok(seen)
    }

    fn damaged(&self, error: &format::ParseError) -> DriveError {
        let place = format!("{}:{}", self.shown, error.line);
        DriveError::plan(
            &place,
            &error.message,
            "nothing was changed; mend that line and try again",
        )
    }

    fn edit(&self, error: &EditError) -> DriveError {
        DriveError::plan(&self.shown, &error.to_string(), "`ralph validate` says more")
    }

    fn or_empty<'b>(&self, bytes: Option<&'b [u8]>) -> Result<&'b [u8], DriveError> {
        match (bytes, self.missing) {
            (Some(bytes), _) => Ok(bytes),
            (None, Missing::Empty) => Ok(&[]),
            (None, Missing::Error) => Err(self.missing()),
        }
    }

    fn missing(&self) -> DriveError {
        let hint =
            "`ralph plan` makes one of your specs; `ralph task add \"what to do\"` begins one";
        DriveError::plan(&self.shown, "there is no plan yet", hint)
    }
}
