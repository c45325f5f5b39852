//! Whether all that is in a plan came through ralph.
//!
//! # Theory of operation
//!
//! While a backend runs, `plan.chain` in the state directory holds the fingerprint of the plan's last
//! text in a line, and below it the text as it was when the backend began. A change through
//! [`LedgerStore::update`] moves it on, under the ledger's lock, but only from a text with that very
//! fingerprint: one edit by hand breaks the chain, and nothing mends it. So a plan whose fingerprint is
//! still the one in the file was changed by commands alone, a person's or a backend's, each of which had
//! its own guard rails. What a backend did by hand is taken back when it has ended; if ralph is killed
//! before, the next start finds here what to take it back to. It tells honest work apart from slips;
//! whoever wants to deceive ralph can write the file too.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::LedgerStore;
use super::view::{blank, put_view, write_over};
use crate::FileError;

/// The fingerprint of a file at its last change through ralph.
pub(super) struct PlanChain {
    file: PathBuf,
    of: Vec<u8>,
    kept: PlanChainContent,
}

/// Content of `plan.chain`: the fingerprint and the watched plan.
#[derive(Clone, Debug)]
struct PlanChainContent {
    link: String,
    watched: WatchedPlan,
}

#[derive(Serialize, Deserialize)]
struct PlanChainHeader<'h> {
    link: Cow<'h, str>,
    path: Cow<'h, Path>,
    /// Number of bytes that follow. A file with more or fewer bytes was not written to its end.
    length: usize,
}

/// A plan that a backend may be changing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedPlan {
    pub path: PathBuf,
    /// Text of the plan when the backend began.
    pub before: String,
}

impl LedgerStore {
    fn chain_file(&self) -> PathBuf {
        self.state_dir.join("plan.chain")
    }

    /// From now on it is known whether all changes of `path`, which has this text, come through
    /// ralph. Call it with the ledger's lock held.
    pub fn begin_chain(&self, path: &Path, text: &str) -> Result<(), FileError> {
        let link = fingerprint(&identity(path), text.as_bytes());
        let watched = WatchedPlan { path: path.to_owned(), before: text.to_owned() };
        // The file says nothing, and no backend runs yet: half of it means the same as none.
        write_over(&self.chain_file(), &PlanChainContent { link, watched }.to_bytes())
    }

    /// The plan whose chain has begun and not ended, and what it said then.
    pub fn watched(&self) -> Option<WatchedPlan> {
        PlanChainContent::read(&self.chain_file()).map(|kept| kept.watched)
    }

    /// Whether all changes of `path` since the chain began came through ralph.
    pub fn is_unbroken(&self, path: &Path, text: &[u8]) -> bool {
        self.chain(path).is_some_and(|chain| chain.is_at(text))
    }

    /// End the chain of the plan, when the backend has ended.
    pub fn end_chain(&self) -> Result<(), FileError> {
        blank(&self.chain_file())
    }

    /// The chain of a file, if there is one.
    pub(super) fn chain(&self, path: &Path) -> Option<PlanChain> {
        let file = self.chain_file();
        let kept = PlanChainContent::read(&file)?;
        Some(PlanChain { file, of: identity(path), kept })
    }
}

impl PlanChainContent {
    fn read(file: &Path) -> Option<Self> {
        let all = fs::read_to_string(file).ok()?;
        let (head, before) = all.split_once('\n')?;
        let head: PlanChainHeader<'_> = serde_json::from_str(head).ok()?;
        (before.len() == head.length).then(|| Self {
            link: head.link.into_owned(),
            watched: WatchedPlan { path: head.path.into_owned(), before: before.to_owned() },
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let WatchedPlan { path, before } = &self.watched;
        let (link, path) = (Cow::from(&self.link), Cow::from(path));
        let head = PlanChainHeader { link, path, length: before.len() };
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(before.as_bytes());
        bytes
    }
}

impl PlanChain {
    fn is_at(&self, text: &[u8]) -> bool {
        self.kept.link == fingerprint(&self.of, text)
    }

    /// The chain after a change; `None` when it was broken before, or is about another file.
    pub(super) fn next(self, old: Option<&[u8]>, new: &[u8]) -> Option<Self> {
        let link = fingerprint(&self.of, new);
        self.is_at(old?).then_some(Self { kept: PlanChainContent { link, ..self.kept }, ..self })
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

/// FNV-1a over the file's name and its text, one after the other, eight bytes at a time.
fn fingerprint(name: &[u8], text: &[u8]) -> String {
    let add = |hash: u64, piece: u64| {
        let mixed = (hash ^ piece).wrapping_mul(0x0100_0000_01b3);
        mixed ^ (mixed >> 29)
    };
    let whole = |hash: u64, bytes: &[u8]| {
        let (eights, rest) = bytes.as_chunks::<8>();
        let hash = eights.iter().fold(hash, |hash, eight| add(hash, u64::from_le_bytes(*eight)));
        let hash = rest.iter().fold(hash, |hash, byte| add(hash, u64::from(*byte)));
        add(hash, bytes.len() as u64)
    };
    format!("{:016x}", whole(whole(0xcbf2_9ce4_8422_2325, name), text))
}

#[cfg(test)]
mod tests {
    use super::super::{LedgerFileKind, LedgerStoreError, LockHolder, replace};
    use super::*;

    struct Stage {
        dir: tempfile::TempDir,
        store: LedgerStore,
    }

    impl Stage {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let store = LedgerStore::new(dir.path().join("state"), LockHolder::this_process("now"));
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
                Ok::<_, LedgerStoreError>((old + word, ()))
            };
            self.store.update(&self.plan(), LedgerFileKind::Document, change).unwrap();
        }

        fn is_unbroken(&self) -> bool {
            self.store.is_unbroken(&self.plan(), &fs::read(self.plan()).unwrap())
        }
    }

    #[test]
    fn a_file_that_was_not_written_to_its_end_watches_nothing() {
        let stage = Stage::new();
        let file = stage.store.chain_file();
        let whole = fs::read(&file).unwrap();
        assert_eq!(stage.store.watched().unwrap().before, "one");
        for end in 0..whole.len() {
            replace(&file, &whole[..end]).unwrap();
            assert_eq!(stage.store.watched(), None, "{end}");
        }
        replace(&file, &[&whole[..], b"x"].concat()).unwrap();
        assert_eq!(stage.store.watched(), None, "the end of an older text is behind it");
        stage.store.begin_chain(&stage.plan(), "two").unwrap();
        assert_eq!(stage.store.watched().unwrap().before, "two");
        stage.store.end_chain().unwrap();
        assert_eq!(stage.store.watched(), None);
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
        let first = WatchedPlan { path: stage.plan(), before: "one".into() };
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
        let change = |_: Option<&[u8]>| Ok::<_, LedgerStoreError>(("two".to_owned(), ()));
        stage.store.update(&other, LedgerFileKind::Document, change).unwrap();
        assert!(stage.is_unbroken());
        assert!(!stage.store.is_unbroken(&other, b"two"));
    }

    #[test]
    fn without_a_chain_nothing_is_known_and_nothing_is_written() {
        let stage = Stage::new();
        stage.store.end_chain().unwrap();
        stage.add(" two");
        assert!(!stage.is_unbroken());
        assert_eq!(fs::read(stage.store.chain_file()).unwrap(), b"\n");
    }
}
