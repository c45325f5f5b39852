//! The inbox while a backend runs: what commands of ralph make of it counts, and nothing else.
//!
//! # Theory of operation
//!
//! `inbox.held` in the state directory has the text of the inbox as commands have left it. Whoever
//! changes the inbox through [`LedgerStore::update`] first puts that text back, should somebody have written
//! the file by hand, and then writes the new text here before it writes the file. So a person's
//! `ralph inbox add` is kept whatever a backend does to the file, also when ralph is killed in between.
//! [`LedgerStore::release`] puts the text back a last time and tells what stood there instead.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::view::{drop_view, put_view};
use super::{LedgerStore, LedgerStoreError, atomic, target};
use crate::FileError;

/// Content of `inbox.held`, which protects the inbox while a backend runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct InboxHold {
    /// As commands have left it; `None` when it is empty or not there.
    text: Option<String>,
    /// The last version that was written by hand.
    by_hand: Option<String>,
}

/// Whether a file is as commands have left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldFileState {
    Yes,
    /// File that was changed by something else than a command of ralph.
    No,
}

impl LedgerStore {
    fn held_file(&self) -> PathBuf {
        self.state_dir.join("inbox.held")
    }

    /// From now on only commands of ralph change the inbox at `path`.
    pub fn hold(&self, path: &Path) -> Result<(), LedgerStoreError> {
        let _lock = self.lock()?;
        self.put_held_back(path)?;
        let by_hand = self.held(path).and_then(|held| held.by_hand);
        self.put_held(&InboxHold { text: text_of(path)?, by_hand })?;
        Ok(())
    }

    /// Anybody may change it again. It is as commands have left it; what somebody else wrote is told.
    pub fn release(&self, path: &Path) -> Result<Option<String>, LedgerStoreError> {
        if !self.held_file().exists() {
            return Ok(None);
        }
        let _lock = self.lock()?;
        self.put_held_back(path)?;
        let by_hand = self.held(path).and_then(|held| held.by_hand);
        drop_view(&self.held_file())?;
        Ok(by_hand)
    }

    /// Whether a backend was at work when ralph was killed, so that the inbox at `path` is still held,
    /// and whether it is as commands have left it. Changes nothing.
    pub fn is_held(&self, path: &Path) -> Option<HeldFileState> {
        let held = self.held(path)?;
        let same = text_of(path).is_ok_and(|now| now == held.text) && held.by_hand.is_none();
        Some(if same { HeldFileState::Yes } else { HeldFileState::No })
    }

    /// Return what is held for this file. `None` when no text is held for it.
    fn held(&self, path: &Path) -> Option<InboxHold> {
        if path.file_name()? != "inbox.jsonl" {
            return None;
        }
        serde_json::from_slice(&target::read(&self.held_file()).ok()??).ok()
    }

    fn put_held(&self, held: &InboxHold) -> Result<(), FileError> {
        put_view(&self.held_file(), &serde_json::to_vec(held).unwrap_or_default())
    }

    /// With the lock held: make the file what commands have made of it.
    pub(super) fn put_held_back(&self, path: &Path) -> Result<(), FileError> {
        let Some(held) = self.held(path) else { return Ok(()) };
        let now = text_of(path)?;
        if now == held.text {
            return Ok(());
        }
        self.put_held(&InboxHold { by_hand: Some(now.unwrap_or_default()), ..held.clone() })?;
        match &held.text {
            Some(text) => atomic::replace(path, text.as_bytes()),
            None => drop_view(path),
        }
    }

    /// With the lock held: a command is about to write this.
    pub(super) fn hold_new(&self, path: &Path, text: &str) -> Result<(), FileError> {
        match self.held(path) {
            Some(held) => {
                let text = Some(text.to_owned()).filter(|text| !text.is_empty());
                self.put_held(&InboxHold { text, ..held })
            }
            None => Ok(()),
        }
    }
}

fn text_of(path: &Path) -> Result<Option<String>, FileError> {
    let bytes = target::read(path)?;
    Ok(bytes.map(|b| String::from_utf8_lossy(&b).into_owned()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use std::fs::read_to_string;

    use super::super::{LedgerFileKind, LockHolder, replace};
    use super::*;

    struct Stage {
        _dir: tempfile::TempDir,
        store: LedgerStore,
        inbox: PathBuf,
    }

    impl Stage {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let store = LedgerStore::new(dir.path().join("state"), LockHolder::this_process("now"));
            let inbox = dir.path().join("inbox.jsonl");
            replace(&inbox, b"one\n").unwrap();
            Self { _dir: dir, store, inbox }
        }

        fn add(&self, line: &str) {
            let change = |old: Option<&[u8]>| {
                let old = String::from_utf8_lossy(old.unwrap_or_default()).into_owned();
                Ok::<_, LedgerStoreError>((old + line, ()))
            };
            self.store.update(&self.inbox, LedgerFileKind::Document, change).unwrap();
        }

        fn text(&self) -> String {
            read_to_string(&self.inbox).unwrap_or_default()
        }
    }

    #[test]
    fn what_is_written_by_hand_is_put_back_and_told() {
        let stage = Stage::new();
        assert_eq!(stage.store.is_held(&stage.inbox), None);
        stage.store.hold(&stage.inbox).unwrap();
        assert_eq!(stage.store.is_held(&stage.inbox), Some(HeldFileState::Yes));
        replace(&stage.inbox, b"mine\n").unwrap();
        assert_eq!(stage.store.is_held(&stage.inbox), Some(HeldFileState::No));
        assert_eq!(stage.store.release(&stage.inbox).unwrap().as_deref(), Some("mine\n"));
        assert_eq!(stage.text(), "one\n");
        assert_eq!(stage.store.release(&stage.inbox).unwrap(), None, "told once");
    }

    #[test]
    fn what_a_command_writes_stays_before_and_after_an_edit_by_hand() {
        let stage = Stage::new();
        stage.store.hold(&stage.inbox).unwrap();
        stage.add("two\n");
        replace(&stage.inbox, b"mine\n").unwrap();
        stage.add("three\n");
        assert_eq!(stage.text(), "one\ntwo\nthree\n");
        assert_eq!(stage.store.release(&stage.inbox).unwrap().as_deref(), Some("mine\n"));
        assert_eq!(stage.text(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_file_that_was_removed_comes_back_and_one_that_was_made_goes() {
        let stage = Stage::new();
        stage.store.hold(&stage.inbox).unwrap();
        std::fs::remove_file(&stage.inbox).unwrap();
        assert_eq!(stage.store.release(&stage.inbox).unwrap().as_deref(), Some(""));
        assert_eq!(stage.text(), "one\n");
        std::fs::remove_file(&stage.inbox).unwrap();
        stage.store.hold(&stage.inbox).unwrap();
        replace(&stage.inbox, b"made\n").unwrap();
        stage.store.release(&stage.inbox).unwrap();
        assert!(!stage.inbox.exists());
    }

    #[test]
    fn an_inbox_that_is_not_held_is_anybodys() {
        let stage = Stage::new();
        stage.store.hold(&stage.inbox).unwrap();
        stage.store.release(&stage.inbox).unwrap();
        replace(&stage.inbox, b"mine\n").unwrap();
        stage.add("two\n");
        assert_eq!(stage.text(), "mine\ntwo\n");
    }
}
