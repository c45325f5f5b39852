//! Judges: files that decide what gates find, and what an attempt did to them.
//!
//! # Theory of operation
//!
//! [`JudgeNames`] knows tests, manifests, settings of runners and linters, and CI by the names that are
//! in use everywhere, and the scripts that gates run. Rust keeps tests inside of its sources, so every `.rs` file may be one. For a
//! changed file, the tests in its old and in its new text are found by name and compared:
//! a test that is gone and that no other changed file has is *deleted*; one that is skipped now,
//! asserts less or cannot fail any more is *weakened*. A file to which tests were only added is
//! *grown*: it is named, but even `judges = "block"` does not hold it against anybody. The reading of
//! sources is an approximation, made so that a name that is told is right.

mod cases;
mod code;
mod paths;
mod weaken;

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use paths::{JudgeKind, JudgeNames};

use crate::word_enum::word_enum;
use cases::{TestItem, cases, test_code};
use code::SourceLanguage;

/// Longest text that is looked into; a longer one (nobody wrote it by hand) counts as changed, no more.
const LONGEST: usize = 512 * 1024;

/// A file that an attempt changed: its text before and after, `None` where there was no file.
#[derive(Clone, Copy, Debug)]
pub struct FileChange<'a> {
    /// The path from the root, with `/`.
    pub path: &'a str,
    /// Text at the start of the attempt. `None` if the file did not exist.
    pub before: Option<&'a str>,
    /// The text that the attempt left.
    pub after: Option<&'a str>,
}

word_enum! {
    /// Extent of a change to a judge.
    ChangeExtent {
        /// The judge is new.
        Added = "added",
        /// Something was added to it, and all that was there is as it was.
        Grown = "grown",
        /// Existing content of the judge was changed.
        Changed = "changed",
        /// The judge was deleted.
        Deleted = "deleted",
    }
}

/// A judge that does not judge as strictly as it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeWeakening {
    /// The test, where it is one.
    pub test: Option<String>,
    /// Description of the weakening.
    pub how: String,
}

impl fmt::Display for JudgeWeakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.test {
            Some(test) => write!(f, "{test}: {}", self.how),
            None => f.write_str(&self.how),
        }
    }
}

/// Change of one judge by an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgeChange {
    /// Path of the file, from the root.
    pub path: String,
    /// Kind of the judge.
    pub kind: JudgeKind,
    /// Extent of the change.
    pub extent: ChangeExtent,
    /// Tests that are not there any more, here or in another changed file.
    pub deleted: Vec<String>,
    /// Tests and settings that are weaker than they were.
    pub weakened: Vec<JudgeWeakening>,
}

impl JudgeChange {
    /// Whether `judges = "block"` fails an attempt for it. New tests judge no less than before, and a
    /// lock file follows its manifest.
    pub fn is_blockable(&self) -> bool {
        let only_more = self.kind == JudgeKind::Tests
            && matches!(self.extent, ChangeExtent::Added | ChangeExtent::Grown)
            && self.weakened.is_empty();
        !only_more && self.kind != JudgeKind::Lock
    }
}

impl std::fmt::Display for JudgeChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.kind.as_str(), self.extent.as_str(), self.path)?;
        if !self.deleted.is_empty() {
            write!(f, "; deleted: {}", self.deleted.join(", "))?;
        }
        let weakened: Vec<String> = self.weakened.iter().map(ToString::to_string).collect();
        match weakened.as_slice() {
            [] => Ok(()),
            weakened => write!(f, "; weakened: {}", weakened.join(", ")),
        }
    }
}

/// Return the changes that an attempt made to judges.
///
/// `files` are the changed files for which [`JudgeNames::may_judge`] returns true.
pub fn judge_changes(files: &[FileChange<'_>], names: &JudgeNames) -> Vec<JudgeChange> {
    let read: Vec<ComparedFile<'_>> =
        files.iter().map(|file| ComparedFile::new(file, names)).collect();
    // A test that is gone here and new there has moved.
    let moved: BTreeSet<&str> = read.iter().flat_map(ComparedFile::new_names).collect();
    read.iter().filter_map(|file| file.judge(&moved)).collect()
}

/// A changed file with the tests of both its texts.
struct ComparedFile<'a> {
    file: &'a FileChange<'a>,
    kind: Option<JudgeKind>,
    old: Vec<TestItem>,
    new: Vec<TestItem>,
}

impl<'a> ComparedFile<'a> {
    fn new(file: &'a FileChange<'a>, names: &JudgeNames) -> Self {
        let read = |text: Option<&str>| match (text, SourceLanguage::of(file.path)) {
            (Some(text), Some(language)) if text.len() <= LONGEST => cases(text, language),
            _ => Vec::new(),
        };
        let kind = names.kind_of(file.path);
        Self { file, kind, old: read(file.before), new: read(file.after) }
    }

    fn new_names(&self) -> impl Iterator<Item = &str> {
        let is_new = |case: &&TestItem| self.old.iter().all(|old| old.name != case.name);
        self.new.iter().filter(is_new).map(|case| case.leaf.as_str())
    }

    fn judge(&self, moved: &BTreeSet<&str>) -> Option<JudgeChange> {
        let path = self.file.path;
        let inline = self.kind.is_none();
        if inline
            && (SourceLanguage::of(path) != Some(SourceLanguage::Rust)
                || !self.touches_inline_tests())
        {
            return None;
        }
        let kind = self.kind.unwrap_or(JudgeKind::Tests);
        let gone = |case: &&TestItem| {
            case.is_test()
                && self.new.iter().all(|new| new.name != case.name)
                && !moved.contains(case.leaf.as_str())
        };
        let deleted = self.old.iter().filter(gone).map(|case| case.name.clone()).collect();
        let mut weakened = weaken::tests(&self.old, &self.new, SourceLanguage::of(path));
        weakened.extend(weaken::settings(kind, self.file.before, self.file.after));
        Some(JudgeChange {
            path: path.to_owned(),
            kind,
            extent: self.extent(inline),
            deleted,
            weakened,
        })
    }

    fn extent(&self, inline: bool) -> ChangeExtent {
        let (before, after) = match (self.file.before, self.file.after) {
            (None, Some(_)) => return ChangeExtent::Added,
            (_, None) => return ChangeExtent::Deleted,
            (Some(before), Some(after)) => (before, after),
        };
        let kept = |old: &TestItem| self.new.iter().any(|new| new == old);
        let grown = match inline {
            true => is_within(&test_code(before), &test_code(after)),
            false => is_within(before, after),
        };
        if grown && self.old.iter().all(kept) { ChangeExtent::Grown } else { ChangeExtent::Changed }
    }

    fn touches_inline_tests(&self) -> bool {
        let code = |text: Option<&str>| text.map(test_code).unwrap_or_default();
        self.old != self.new || code(self.file.before) != code(self.file.after)
    }
}

/// Whether `after` has all lines of `before`, in their order.
fn is_within(before: &str, after: &str) -> bool {
    let mut lines = after.lines();
    before.lines().all(|line| lines.any(|other| other == line))
}

#[cfg(test)]
#[path = "judges_tests.rs"]
mod tests;
