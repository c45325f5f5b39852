//! Whether all that is in a plan came through ralph.
//!
//! # Theory of operation
//!
//! While a backend runs, `plan.chain` in the state directory holds the plan's text as it was, and the
//! fingerprint of its last one. A change through [`Store::update`] moves it on, under the ledger's lock, but only from a text
//! with that very fingerprint: one edit by hand breaks the chain, and nothing mends it. So a plan whose
//! fingerprint is still the one in the file was changed by commands alone, a person's or a backend's,
//! each of which had its own guard rails. What a backend did by hand is taken back when it has ended;
//! if ralph is killed before, the next start finds here what to take it back to. It tells honest work apart from slips; whoever wants to
//! deceive ralph can write the file too.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Store;
use super::view::{put_view, write_over};
use crate::FileError;

/// The fingerprint of a file at its last change through ralph.
pub(super) struct Chain {
    file: PathBuf,
    of: Vec<u8>,
    kept: Kept,
}

/// What the file holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    link: String,
    #[serde(flatten)]
    watched: Watched,
}

/// A plan that a backend may be changing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// Where it is.
    pub path: PathBuf,
    /// What it said when the backend began.
    pub before: String,
}

impl Store {
    fn chain_file(&self) -> PathBuf {
        self.state_dir.join("plan.chain")
    }

    /// From now on it is known whether all changes of `path`, which has this text, come through
    /// ralph. Call it with the ledger's lock held.
    pub fn begin_chain(&self, path: &Path, text: &str) -> Result<(), FileError> {
        let link = fingerprint(&identity(path), text.as_bytes());
        let watched = Watched { path: path.to_owned(), before: text.to_owned() };
        // The file is empty, and no backend runs yet: half of it means the same as none.
        write_over(&self.chain_file(), &Kept { link, watched }.to_bytes())
    }

    /// The plan whose chain has begun and not ended, and what it said then.
    pub fn watched(&self) -> Option<Watched> {
        Kept::read(&self.chain_file()).map(|kept| kept.watched)
    }

    /// Whether all changes of `path` since the chain began came through ralph.
    pub fn is_unbroken(&self, path: &Path, text: &[u8]) -> bool {
        self.chain(path).is_some_and(|chain| chain.is_at(text))
    }

    /// Nobody asks any more. The file stays, empty: to make and remove one for each attempt costs more
    /// than it holds.
    pub fn end_chain(&self) -> Result<(), FileError> {
        let file = self.chain_file();
        match fs::metadata(&file) {
            Ok(found) if found.len() > 0 => write_over(&file, b""),
            _ => Ok(()),
        }
    }

    /// The chain of a file, if there is one.
    pub(super) fn chain(&self, path: &Path) -> Option<Chain> {
        let file = self.chain_file();
        let kept = Kept::read(&file)?;
        Some(Chain { file, of: identity(path), kept })
    }
}

impl Kept {
    fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Chain {
    fn is_at(&self, text: &[u8]) -> bool {
        self.kept.link == fingerprint(&self.of, text)
    }

    /// The chain after a change; `None` when it was broken before, or is about another file.
    pub(super) fn next(self, old: Option<&[u8]>, new: &[u8]) -> Option<Self> {
        let link = fingerprint(&self.of, new);
        self.is_at(old?).then_some(Self { kept: Kept { link, ..self.kept }, ..self })
    }

    /// Write it down. If that fails, the chain is broken, which is the careful answer.
    pub(super) fn keep(&self) {
        let _broken = put_view(&self.file, &self.kept.to_bytes());
    }
}

/// The same file, whatever it is called.
fn identity(path: &Path) -> Vec<u8> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real.into_os_string().into_encoded_bytes()
}

/// FNV-1a over the file's name and its text, one after the other.
fn fingerprint(name: &[u8], text: &[u8]) -> String {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let named = name.iter().chain(&[0]).fold(0xcbf2_9ce4_8422_2325_u64, add);
    format!("{:016x}", text.iter().fold(named, add))
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
            stage.store.begin_chain(&stage.plan(), "one").unwrap();
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
    fn what_the_plan_said_at_first_is_known_until_the_chain_ends() {
        let stage = Stage::new();
        let first = Watched { path: stage.plan(), before: "one".into() };
        stage.add(" two");
        replace(&stage.plan(), b"mine").unwrap();
        assert_eq!(stage.store.watched(), Some(first));
        stage.store.end_chain().unwrap();
        assert_eq!(stage.store.watched(), None);
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
        assert_eq!(fs::read(stage.store.chain_file()).unwrap(), b"");
    }
}
