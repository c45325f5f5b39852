//! Whether what an agent made of the index may stay: four checks, and words for the agent.
//!
//! 1. the markdown file has its header,
//! 2. no hard constraint was dropped: its line is still there, or something supersedes its id,
//! 3. the JSON file only grew: each earlier entry is there, byte for byte,
//! 4. ids are used once and name something.
//!
//! Earlier mistakes in the files are not held against the one who adds to them: what cannot be
//! mended without changing an earlier entry is asked of new entries only.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::markdown::{MarkdownIndex, TITLE, UPDATED, header};
use super::records::{IdActivity, IndexRecord};
use super::{IndexFiles, JSON_FILE, MARKDOWN_FILE, records, verify_ids};
use crate::text::clip;

/// Violations of one kind that are told; an agent mends the first ones first.
const MOST: usize = 20;

/// Characters of a line or an entry that a message quotes. Enough to put it back.
const QUOTED: usize = 1000;

/// Rules that are checked, in words for the agent that writes the index.
pub const RULES: [&str; 8] = [
    "`knowledge-index.md` begins with the line `# Knowledge Index`, and its second line is `Last updated: iteration N (…)`.",
    "A line under `## Constraints` that says \"must\" or \"never\" stays there exactly as it is, unless an entry with another id says `[supersedes: <its id>]`.",
    "Entries of `knowledge-index.json` are never changed, moved, reformatted or removed: new ones are added at the end of the array, and the text before them stays byte for byte.",
    "Each entry of `knowledge-index.json` has `iteration` (a number that no other entry has), `task` (a string), `summary` (a string) and `tags` (an array of strings).",
    "Ids have the form `K-<kind>-<slug>`; the kinds are constraint, decision, pattern, gotcha and unresolved.",
    "An id is in force only once: whatever replaces an entry gets an id of its own and supersedes the old one.",
    "Every id in `supersedes` of `knowledge-index.json` is the `memory_id` of some entry there.",
    "To retire something without replacing it, put its id into `supersedes` of a new JSON entry, or add a line with `[supersedes: <id>]` and no text.",
];

/// One of the four checks of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexCheck {
    /// The header of the markdown file.
    Header,
    /// No hard constraint was dropped.
    HardConstraints,
    /// Earlier entries of the JSON file are unchanged.
    AppendOnly,
    /// Ids are unique and lead somewhere.
    Ids,
}

/// Something that an agent may not do to the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexViolation {
    /// Check that found the violation.
    pub check: IndexCheck,
    /// In which file, relative to the project.
    pub file: &'static str,
    /// On which line of the new text, where it is on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Description of the violation, and advice on how to fix it.
    pub message: String,
}

impl fmt::Display for IndexViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// Whether the index may stay as it is now. Files that did not change may.
///
/// With nothing `before`, everything in the files is new, and all of it is checked.
pub fn verify(before: IndexFiles<'_>, after: IndexFiles<'_>) -> Result<(), Vec<IndexViolation>> {
    if before == after {
        return Ok(());
    }
    let mut found = ViolationList::default();
    let (old, new) = (read(before.json), read(after.json));
    let old = old.unwrap_or_else(|why| {
        let message = format!("it was damaged before ({why}); a person has to mend it");
        found.add(IndexCheck::AppendOnly, JSON_FILE, None, message);
        Vec::new()
    });
    let new = new.unwrap_or_else(|why| {
        found.add(IndexCheck::AppendOnly, JSON_FILE, None, format!("it cannot be read: {why}"));
        Vec::new()
    });
    let old_document = MarkdownIndex::read(before.markdown.unwrap_or_default());
    let new_document = MarkdownIndex::read(after.markdown.unwrap_or_default());
    match after.markdown {
        None => found.add(IndexCheck::Header, MARKDOWN_FILE, None, "the file is missing".into()),
        Some(text) => {
            if let Err(why) = header(text) {
                let why = format!("{why}: `{TITLE}`, then `{UPDATED}N (date)`");
                found.add(IndexCheck::Header, MARKDOWN_FILE, Some(1), why);
            }
        }
    }
    hard_constraints(&old_document, &new_document, &IdActivity::of(&new), &mut found);
    if after.json.is_none() {
        let message = "the file is missing; without entries it is `[]`".into();
        found.add(IndexCheck::AppendOnly, JSON_FILE, None, message);
    } else if !found.has(IndexCheck::AppendOnly) {
        append_only((before.json.unwrap_or_default(), &old), (after, &new), &mut found);
        verify_ids::records(&new, old.len(), &mut found);
        let state = verify_ids::IndexUpdate {
            old: &old_document,
            new: &new_document,
            had_markdown: before.markdown.is_some(),
            old_records: &old,
            records: &new,
        };
        verify_ids::entries(&state, &mut found);
    }
    found.finish()
}

/// The records, or why they cannot be read.
fn read(json: Option<&str>) -> Result<Vec<IndexRecord>, String> {
    records(json.unwrap_or_default()).map_err(|e| format!("line {}: {}", e.line, e.message))
}

fn hard_constraints(
    old: &MarkdownIndex<'_>,
    new: &MarkdownIndex<'_>,
    activity: &IdActivity<'_>,
    found: &mut ViolationList,
) {
    let kept: BTreeSet<&str> = new.hard.iter().map(|hard| hard.text).collect();
    let superseded: BTreeSet<&str> = new
        .entries
        .iter()
        .flat_map(|entry| entry.supersedes.iter().filter(|id| entry.id.as_ref() != Some(id)))
        .map(String::as_str)
        .collect();
    for hard in old.hard.iter().filter(|hard| !kept.contains(hard.text)) {
        let id = old.id_of(hard);
        if id.is_some_and(|id| superseded.contains(id) || activity.ended.contains_key(id)) {
            continue;
        }
        let way_out = match id {
            Some(id) => format!(", or add an entry of another id with `[supersedes: {id}]`"),
            None => String::new(),
        };
        let message = format!(
            "a hard constraint was dropped or changed (line {} before); put it back under \
             `## Constraints` exactly as it was{way_out}: {}",
            hard.line,
            clip(hard.text, QUOTED)
        );
        found.add(IndexCheck::HardConstraints, MARKDOWN_FILE, None, message);
    }
}

fn append_only(
    (old_text, old): (&str, &[IndexRecord]),
    (after, new): (IndexFiles<'_>, &[IndexRecord]),
    found: &mut ViolationList,
) {
    let new_text = after.json.unwrap_or_default();
    let name = |record: &IndexRecord| match record.iteration {
        Some(iteration) => format!("the entry of iteration {iteration}"),
        None => "an entry".to_owned(),
    };
    if new.len() < old.len() {
        let message = format!(
            "it had {} entries and has {}: entries are never removed, only superseded by new ones",
            old.len(),
            new.len()
        );
        found.add(IndexCheck::AppendOnly, JSON_FILE, None, message);
    }
    let mut changed = old.iter().zip(new).filter(|(o, n)| raw(old_text, o) != raw(new_text, n));
    if let Some((old, new)) = changed.next() {
        let more = match changed.count() {
            0 => String::new(),
            more => format!(" (and {more} after it)"),
        };
        let message = format!(
            "{} was changed, moved or reformatted{more}; earlier entries stay byte for byte, new \
             ones go to the end. It was: {}",
            name(old),
            clip(raw(old_text, old), QUOTED)
        );
        found.add(IndexCheck::AppendOnly, JSON_FILE, Some(new.line), message);
    }
    let mut used: BTreeSet<u64> = BTreeSet::new();
    for (at, record) in new.iter().enumerate() {
        let fresh = record.iteration.is_none_or(|iteration| used.insert(iteration));
        if at < old.len() {
            continue;
        }
        if !fresh {
            let message = format!(
                "{} is there already: an iteration has one entry; put several ids into its \
                 `memory_id` as an array",
                name(record)
            );
            found.add(IndexCheck::AppendOnly, JSON_FILE, Some(record.line), message);
        }
        for fault in &record.faults {
            let message = format!("{}: {fault}", name(record));
            found.add(IndexCheck::AppendOnly, JSON_FILE, Some(record.line), message);
        }
    }
}

/// Return the text of a record as it is in the file.
fn raw<'t>(text: &'t str, record: &IndexRecord) -> &'t str {
    text.get(record.span.clone()).unwrap_or_default()
}

/// Collector of violations, with a limit for each kind.
#[derive(Default)]
pub(super) struct ViolationList {
    all: Vec<IndexViolation>,
    more: usize,
}

impl ViolationList {
    pub(super) fn add(
        &mut self,
        check: IndexCheck,
        file: &'static str,
        line: Option<usize>,
        message: String,
    ) {
        if self.all.iter().filter(|one| one.check == check).count() < MOST {
            self.all.push(IndexViolation { check, file, line, message });
        } else {
            self.more += 1;
        }
    }

    fn has(&self, check: IndexCheck) -> bool {
        self.all.iter().any(|one| one.check == check)
    }

    fn finish(mut self) -> Result<(), Vec<IndexViolation>> {
        if self.more > 0
            && let Some(last) = self.all.last_mut()
        {
            last.message.push_str(&format!(" (and {} more violations)", self.more));
        }
        if self.all.is_empty() { Ok(()) } else { Err(self.all) }
    }
}
