//! The private directory of an attempt: its indexes, where neither `git clean` nor a backend looks.
//!
//! An index remembers when each file was last seen unchanged, relative to its own time stamp. A copy
//! must keep that stamp, or a file changed in the same instant would look unchanged.
//!
//! Most attempts start from a clean tree and land, and need none of this: for them the index is kept
//! by a second name, and the directory is made by whoever first puts a file into it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use super::Repo;
use super::call::LOCK_WAIT;
use super::checkpoint::Checkpoint;
use super::error::GitError;
use super::state::{Moment, Stamp};
use crate::store;

/// The files of one attempt.
pub(super) struct Desk(PathBuf);

/// How the index of the checkpoint is named: beside the directory of the attempt.
const SAVED: &str = ".index";

impl Desk {
    /// The user's index as it was at the checkpoint.
    pub(super) fn saved(&self) -> PathBuf {
        let mut name = self.0.clone().into_os_string();
        name.push(SAVED);
        name.into()
    }

    /// The index behind S0.
    pub(super) fn before(&self) -> PathBuf {
        self.0.join("before")
    }

    /// The index behind S1.
    pub(super) fn after(&self) -> PathBuf {
        self.0.join("after")
    }

    /// An index for one step.
    pub(super) fn spare(&self) -> PathBuf {
        self.0.join("spare")
    }

    /// The user's index as it is to be after landing.
    pub(super) fn repaired(&self) -> PathBuf {
        self.0.join("repaired")
    }

    /// The message of a commit.
    pub(super) fn message(&self) -> PathBuf {
        self.0.join("message")
    }

    /// Keep an index as it is by giving it a second name. Git never writes into an index, it puts a
    /// new one in its place. Says what time it is for the file system; `None` when it was not
    /// possible, and a copy has to do.
    pub(super) fn link(&self, index: &Path) -> Option<Moment> {
        let saved = self.saved();
        let link = || fs::hard_link(index, &saved);
        let linked = link().or_else(|e| match (e.kind(), self.0.parent()) {
            (ErrorKind::NotFound, Some(desks)) => fs::create_dir_all(desks).and_then(|()| link()),
            _ => Err(e),
        });
        let meta = linked.and_then(|()| fs::metadata(&saved)).ok()?;
        Some(Moment::changed(&meta))
    }

    /// Whether the index of the checkpoint is kept, and still what it was: a program that is not git
    /// may have written into the user's, and so into the second name of it.
    fn has_kept(&self, index: Option<&Stamp>) -> bool {
        match (index, Stamp::of(&self.saved())) {
            (Some(then), Some(now)) => now.has_content_of(then),
            (None, None) => true,
            _ => false,
        }
    }

    /// Make it empty. Says what time it is for the file system.
    pub(super) fn clear(&self) -> Result<Moment, GitError> {
        match fs::remove_dir_all(&self.0) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(GitError::io("remove", &self.0)(e));
            }
            _ => {}
        }
        let _none = fs::remove_file(self.saved());
        fs::create_dir_all(&self.0).map_err(GitError::io("make", &self.0))?;
        let meta = fs::metadata(&self.0).map_err(GitError::io("look at", &self.0))?;
        Ok(Moment::changed(&meta))
    }

    pub(super) fn remove(&self) {
        // What is left is removed with the next checkpoint of that name, or at the end of the run.
        let _left = fs::remove_file(self.saved());
        let _left = fs::remove_dir_all(&self.0);
    }
}

impl Repo<'_> {
    pub(super) fn desk(&self, attempt: &str) -> Desk {
        Desk(self.desks().join(attempt))
    }

    pub(super) fn desks(&self) -> PathBuf {
        self.state_dir().join("attempts")
    }

    fn state_dir(&self) -> PathBuf {
        self.git_dir.join("ralph")
    }

    pub(super) fn user_index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    pub(super) fn index_lock(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    /// The private files of an attempt, made anew as far as possible when somebody removed them.
    pub(super) fn ensure_desk(&self, cp: &Checkpoint) -> Result<(), GitError> {
        let desk = self.desk(&cp.of.attempt);
        let kept = desk.has_kept(cp.index.as_ref());
        if cp.is_clean() && cp.index.is_some() && kept {
            return Ok(());
        }
        fs::create_dir_all(&desk.0).map_err(GitError::io("make", &desk.0))?;
        let remake =
            |index: &Path, tree: &str| self.git(["read-tree", tree]).index(index).ok().map(drop);
        match (&cp.tree, &cp.head) {
            (Some(tree), _) if !desk.before().exists() => remake(&desk.before(), tree.as_str()),
            (None, Some(head)) if !kept => {
                // Not through the second name: that would change the user's index again.
                let _none = fs::remove_file(desk.saved());
                remake(&desk.saved(), head.as_str())
            }
            _ => Ok(()),
        }
    }

    /// Put the index of the checkpoint back. If its copy is lost, the user's stays as it is.
    pub(super) fn install_saved(&self, cp: &Checkpoint) -> Result<(), GitError> {
        let saved = self.desk(&cp.of.attempt).saved();
        if cp.index.is_some() && !saved.exists() {
            return Ok(());
        }
        self.install(&saved)
    }

    /// A note that says which run writes the user's index, and blanks while none does. If ralph is
    /// killed meanwhile, the note says that a lock left behind is ours.
    pub(super) fn note(&self) -> PathBuf {
        self.state_dir().join("writes-index")
    }

    /// The run that the note names, if it names one.
    pub(super) fn noted_run(&self) -> Option<String> {
        let note = fs::read_to_string(self.note()).ok()?;
        let run = note.trim_end();
        let plain = run.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        (plain && !run.is_empty()).then(|| run.to_owned())
    }

    /// Do something that writes the user's index.
    pub(super) fn writing_index<T>(
        &self,
        work: impl FnOnce() -> Result<T, GitError>,
    ) -> Result<T, GitError> {
        let (note, run) = (self.note(), self.runner.run_id());
        store::write_over(&note, run.as_bytes())?;
        let done = work();
        if matches!(done, Err(GitError::Killed { .. })) {
            // A lock that the dead git left is ours, and the note says so.
            return done;
        }
        // Blanked and not removed: some file systems are slow to make and remove files in turn.
        let _left = store::write_over(&note, " ".repeat(run.len()).as_bytes());
        done
    }

    /// Put a private index in the place of the user's; without one, the user has none.
    pub(super) fn install(&self, index: &Path) -> Result<(), GitError> {
        self.writing_index(|| {
            let lock = self.index_lock();
            let mut file = take(&lock)?;
            let put = self.fill(&mut file, index);
            if !matches!(put, Ok(Filled::Whole)) {
                let _left = fs::remove_file(&lock);
            }
            put.map(drop)
        })
    }

    #[expect(clippy::disallowed_methods, reason = "git's own way to replace its index")]
    fn fill(&self, lock: &mut File, index: &Path) -> Result<Filled, GitError> {
        let user = self.user_index();
        let failed = |e| GitError::io("replace", &user)(e);
        match fs::read(index) {
            Ok(bytes) => {
                let meta = fs::metadata(index).map_err(GitError::io("look at", index))?;
                lock.write_all(&bytes).map_err(failed)?;
                lock.set_modified(meta.modified().map_err(failed)?).map_err(failed)?;
                fs::rename(self.index_lock(), &user).map_err(failed)?;
                Ok(Filled::Whole)
            }
            Err(e) if e.kind() == ErrorKind::NotFound => match fs::remove_file(&user) {
                Err(e) if e.kind() != ErrorKind::NotFound => Err(failed(e)),
                _ => Ok(Filled::Nothing),
            },
            Err(e) => Err(GitError::io("read", index)(e)),
        }
    }
}

enum Filled {
    Whole,
    Nothing,
}

/// Copy an index with its time; when there is none, there is no copy either.
pub(crate) fn copy_index(from: &Path, to: &Path) -> Result<(), GitError> {
    let failed = |e| GitError::io("copy", from)(e);
    match fs::read(from) {
        Ok(bytes) => {
            let modified = fs::metadata(from).and_then(|m| m.modified()).map_err(failed)?;
            put_whole(to, &bytes, modified)
        }
        Err(e) if e.kind() == ErrorKind::NotFound => match fs::remove_file(to) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(failed(e)),
            _ => Ok(()),
        },
        Err(e) => Err(failed(e)),
    }
}

/// Write an index so that there is never a part of one: neither after a crash nor on a full disk.
#[expect(clippy::disallowed_methods, reason = "a private file of the attempt")]
fn put_whole(path: &Path, bytes: &[u8], modified: SystemTime) -> Result<(), GitError> {
    let new = path.with_extension("new");
    put(&new, bytes)?.set_modified(modified).map_err(GitError::io("write", &new))?;
    fs::rename(&new, path).map_err(GitError::io("write", path))
}

/// Write a private file.
pub(super) fn put(path: &Path, bytes: &[u8]) -> Result<File, GitError> {
    let open = || OpenOptions::new().write(true).create(true).truncate(true).open(path);
    let file = open().or_else(|e| match (e.kind(), path.parent()) {
        (ErrorKind::NotFound, Some(desk)) => fs::create_dir_all(desk).and_then(|()| open()),
        _ => Err(e),
    });
    let written = file.and_then(|mut file| file.write_all(bytes).map(|()| file));
    written.map_err(GitError::io("write", path))
}

/// Take git's lock on the index, waiting a while if somebody has it.
fn take(lock: &Path) -> Result<File, GitError> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match OpenOptions::new().write(true).create_new(true).open(lock) {
            Ok(file) => return Ok(file),
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                return Err(GitError::io("write", lock)(e));
            }
            Err(_) if Instant::now() >= until => return Err(GitError::Locked(lock.to_owned())),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
    }
}
