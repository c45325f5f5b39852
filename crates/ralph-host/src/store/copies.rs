//! Copies of files that no agent may write, for the case that ralph is killed while one runs.
//!
//! # Theory of operation
//!
//! `ledger.copies/` in the state directory has a file for each slot, written over when what belongs
//! there has changed, and `now`, which says which slot is a copy of which file. While `now` is blank
//! nothing is guarded: it is written last before an agent starts and blanked when the files have been
//! looked at. So a `now` that can be read belongs to an agent that was never looked after, and half of
//! one to an agent that never ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::view::{blank, write_over};
use crate::FileError;

/// Where the copies of one project are.
#[derive(Clone, Debug)]
pub struct Copies(PathBuf);

impl Copies {
    /// Below this state directory.
    pub fn of(state_dir: &Path) -> Self {
        Self(state_dir.join("ledger.copies"))
    }

    fn now(&self) -> PathBuf {
        self.0.join("now")
    }

    /// Put what a file holds into a slot.
    pub fn fill(&self, slot: &str, bytes: &[u8]) -> Result<(), FileError> {
        write_over(&self.0.join(slot), bytes)
    }

    /// An agent is about to run: these files have copies in these slots, or are not there.
    pub fn begin(&self, files: &BTreeMap<&str, Option<&str>>) -> Result<(), FileError> {
        write_over(&self.now(), &serde_json::to_vec(files).unwrap_or_default())
    }

    /// It has been looked after.
    pub fn end(&self) -> Result<(), FileError> {
        blank(&self.now())
    }

    /// Whether an agent began that nobody has looked after.
    pub fn are_needed(&self) -> bool {
        self.read().is_some()
    }

    /// The files as they were when that agent began, those whose copies can still be read.
    pub fn files(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let slots = self.read().unwrap_or_default().into_iter();
        let file = |(name, slot): (String, Option<String>)| match slot {
            None => Some((name, None)),
            Some(slot) => Some((name, Some(fs::read(self.0.join(slot)).ok()?))),
        };
        slots.filter_map(file).collect()
    }

    fn read(&self) -> Option<BTreeMap<String, Option<String>>> {
        serde_json::from_slice(&fs::read(self.now()).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_from_the_begin_of_an_agent_to_its_end() {
        let place = tempfile::tempdir().unwrap();
        let copies = Copies::of(&place.path().join("state"));
        assert!(!copies.are_needed());
        copies.end().unwrap();
        copies.fill("a", b"a long first text").unwrap();
        copies.fill("a", b"text").unwrap();
        assert!(!copies.are_needed(), "nobody runs");
        copies.begin(&[("x/a.md", Some("a")), ("b.md", None)].into()).unwrap();
        let files = [("x/a.md".to_owned(), Some(b"text".to_vec())), ("b.md".to_owned(), None)];
        assert_eq!(copies.files(), files.into());
        copies.end().unwrap();
        assert!(!copies.are_needed() && copies.files().is_empty());
    }

    #[test]
    fn half_a_note_means_that_nobody_ran() {
        let place = tempfile::tempdir().unwrap();
        let copies = Copies::of(place.path());
        write_over(&copies.now(), br#"{"a.md":"a","b.m"#).unwrap();
        assert!(!copies.are_needed() && copies.files().is_empty());
    }
}
