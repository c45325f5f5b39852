//! Whether all that is in a plan came through ralph.
//!
//! # Theory of operation
//!
//! While a backend runs, `plan.hash` in the state directory holds the fingerprint of the plan's last
//! text, and otherwise as many dashes, which is nobody's fingerprint. A change through [`Store::update`] moves it on, under the ledger's lock, but only from a text
//! with that very fingerprint: one edit by hand breaks the chain, and nothing mends it. So a plan whose
//! fingerprint is still the one in the file was changed by commands alone, a person's or a backend's,
//! each of which had its own guard rails. It tells honest work apart from slips; whoever wants to
//! deceive ralph can write the file too.

use std::fs;
use std::path::{Path, PathBuf};

use super::Store;
use super::view::write_over;
use crate::FileError;

/// What stands in the place of a fingerprint when nobody asks for one.
const NOBODY_ASKS: &str = "----------------";

/// The fingerprint of a file at its last change through ralph.
pub(super) struct Chain {
    file: PathBuf,
    of: Vec<u8>,
    link: String,
}

impl Store {
    fn chain_file(&self) -> PathBuf {
        self.state_dir.join("plan.hash")
    }

    /// From now on it is known whether all changes of `path`, which has this text, come through
    /// ralph. Call it with the ledger's lock held.
    pub fn begin_chain(&self, path: &Path, text: &[u8]) -> Result<(), FileError> {
        write_over(&self.chain_file(), fingerprint(&identity(path), text).as_bytes())
    }

    /// Whether all changes of `path` since the chain began came through ralph.
    pub fn is_unbroken(&self, path: &Path, text: &[u8]) -> bool {
        self.chain(path).is_some_and(|chain| chain.is_at(text))
    }

    /// Nobody asks any more.
    pub fn end_chain(&self) -> Result<(), FileError> {
        let file = self.chain_file();
        if file.exists() { write_over(&file, NOBODY_ASKS.as_bytes()) } else { Ok(()) }
    }

    /// The chain of a file, if there is one.
    pub(super) fn chain(&self, path: &Path) -> Option<Chain> {
        let file = self.chain_file();
        let link = fs::read_to_string(&file).ok().filter(|link| link != NOBODY_ASKS)?;
        Some(Chain { file, of: identity(path), link })
    }
}

impl Chain {
    fn is_at(&self, text: &[u8]) -> bool {
        self.link == fingerprint(&self.of, text)
    }

    /// The chain after a change; `None` when it was broken before, or is about another file.
    pub(super) fn next(self, old: Option<&[u8]>, new: &[u8]) -> Option<Self> {
        let link = fingerprint(&self.of, new);
        self.is_at(old?).then_some(Self { link, ..self })
    }

    /// Write it down. If that fails, the chain is broken, which is the careful answer.
    pub(super) fn keep(&self) {
        let _broken = write_over(&self.file, self.link.as_bytes());
    }
}

/// The same file, whatever it is called.
fn identity(path: &Path) -> Vec<u8> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real.into_os_string().into_encoded_bytes()
}

/// FNV-1a over the file's name and its text.
fn fingerprint(name: &[u8], text: &[u8]) -> String {
    let bytes = name.iter().chain(&[0]).chain(text);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::super::{Holder, Kind, StoreError, replace};
    use super::*;

    struct Stage {
        dir: tempfile::TempDir,
        store: Store,
    }

    impl Stage {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::new(dir.path().join("state"), Holder::this_process("now"));
            let stage = Self { dir, store };
            replace(&stage.plan(), b"one").unwrap();
            stage.store.begin_chain(&stage.plan(), b"one").unwrap();
            stage
        }

        fn plan(&self) -> PathBuf {
            self.dir.path().join("plan.json")
        }

        fn add(&self, word: &str) {
            let change = |old: Option<&[u8]>| {
                let old = String::from_utf8_lossy(old.unwrap_or_default()).into_owned();
                Ok::<_, StoreError>((old + word, ()))
            };
            self.store.update(&self.plan(), Kind::Document, change).unwrap();
        }

        fn is_unbroken(&self) -> bool {
            self.store.is_unbroken(&self.plan(), &fs::read(self.plan()).unwrap())
        }
    }

    #[test]
    fn changes_through_ralph_keep_the_chain_whole() {
        let stage = Stage::new();
        stage.add(" two");
        stage.add(" three");
        assert!(stage.is_unbroken());
    }

    #[test]
    fn an_edit_by_hand_breaks_the_chain_for_good() {
        let stage = Stage::new();
        replace(&stage.plan(), b"mine").unwrap();
        stage.add(" and ralph's");
        assert!(!stage.is_unbroken());
    }

    #[test]
    fn another_file_with_the_same_text_has_nothing_to_do_with_it() {
        let stage = Stage::new();
        let other = stage.dir.path().join("other.json");
        replace(&other, b"one").unwrap();
        let change = |_: Option<&[u8]>| Ok::<_, StoreError>(("two".to_owned(), ()));
        stage.store.update(&other, Kind::Document, change).unwrap();
        assert!(stage.is_unbroken());
        assert!(!stage.store.is_unbroken(&other, b"two"));
    }

    #[test]
    fn without_a_chain_nothing_is_known_and_nothing_is_written() {
        let stage = Stage::new();
        stage.store.end_chain().unwrap();
        stage.add(" two");
        assert!(!stage.is_unbroken());
        assert_eq!(fs::read_to_string(stage.store.chain_file()).unwrap(), NOBODY_ASKS);
    }
}
