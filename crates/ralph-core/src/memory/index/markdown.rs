//! `knowledge-index.md`: a header, headings, and a list of entries under each.
//!
//! ```text
//! # Knowledge Index
//! Last updated: iteration 7 (2026-01-17)
//!
//! ## Constraints
//! - [K-constraint-no-force-push] Must never force push [source: iter 3,7] [supersedes: K-constraint-old]
//! ```
//!
//! Reading is forgiving: a text of any shape has entries, perhaps none, and nothing is ever written
//! from what was read, so whatever else stands in the file stays there. What is wrong with it is for
//! [`super::verify`](fn@super::verify) to say.

use super::KnowledgeCategory;
use crate::fence::{FencePosition, FenceTracker};
use crate::memory::flat;

pub(super) const TITLE: &str = "# Knowledge Index";

/// Start of the second line of the markdown file.
pub(super) const UPDATED: &str = "Last updated: iteration ";

/// List item of the markdown file that is an entry of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownEntry {
    /// Id as written in the file, such as `K-constraint-no-force-push`.
    pub id: Option<String>,
    /// The `##` heading that it stands under.
    pub heading: String,
    /// The category of that heading, when it is one of the five.
    pub category: Option<KnowledgeCategory>,
    /// Text on one line, without id and tags. Empty if the entry only retires other entries.
    pub text: String,
    /// The iterations it was learned in.
    pub sources: Vec<u64>,
    /// Ids of the entries whose place it takes.
    pub supersedes: Vec<String>,
    /// Line of the entry, from 1.
    pub line: usize,
}

impl MarkdownEntry {
    /// Whether all it does is to retire others.
    pub fn is_tombstone(&self) -> bool {
        self.text.is_empty() && !self.supersedes.is_empty()
    }
}

/// A line that may not get lost: it stands under `## Constraints` and says "must" or "never".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HardConstraintLine<'t> {
    /// The line without what follows its last word.
    pub(super) text: &'t str,
    pub(super) line: usize,
    /// The entry it belongs to, by its place in [`MarkdownIndex::entries`].
    pub(super) entry: Option<usize>,
}

/// Content of the markdown file: entries and hard constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkdownIndex<'t> {
    /// Entries in file order.
    pub entries: Vec<MarkdownEntry>,
    pub(super) hard: Vec<HardConstraintLine<'t>>,
}

impl<'t> MarkdownIndex<'t> {
    /// Read the text of the markdown file. Reading never fails.
    pub fn read(text: &'t str) -> Self {
        let mut reader = MarkdownReader::default();
        let mut fences = FenceTracker::default();
        for (number, line) in text.lines().enumerate() {
            match fences.next(line) {
                FencePosition::Outside => reader.line(line.trim_end(), number + 1),
                FencePosition::Mark | FencePosition::Inside => {}
            }
        }
        reader.document
    }

    /// The id of the entry that a line belongs to.
    pub(super) fn id_of(&self, hard: &HardConstraintLine<'_>) -> Option<&str> {
        self.entries.get(hard.entry?)?.id.as_deref()
    }
}

#[derive(Default)]
struct MarkdownReader<'t> {
    document: MarkdownIndex<'t>,
    heading: String,
    category: Option<KnowledgeCategory>,
    /// The entry that indented lines belong to.
    current: Option<usize>,
}

impl<'t> MarkdownReader<'t> {
    fn line(&mut self, line: &'t str, number: usize) {
        if line.is_empty() {
            return;
        }
        if let Some((level, title)) = heading(line) {
            self.current = None;
            if level <= 2 {
                title.clone_into(&mut self.heading);
                self.category = KnowledgeCategory::of_heading(title).filter(|_| level == 2);
            }
        } else {
            self.content(line, number);
        }
        if self.category == Some(KnowledgeCategory::Constraints) && is_hard(line) {
            let entry = self.current;
            self.document.hard.push(HardConstraintLine { text: line, line: number, entry });
        }
    }

    fn content(&mut self, line: &'t str, number: usize) {
        let indented = line.starts_with([' ', '\t']);
        let item = item(line);
        let begins = item.filter(|item| !indented || self.current.is_none() || id(item).is_some());
        if let Some(item) = begins {
            let (id, rest) = id(item).map_or((None, item), |(id, rest)| (Some(id), rest));
            let mut entry = MarkdownEntry {
                id: id.map(str::to_owned),
                heading: self.heading.clone(),
                category: self.category,
                text: String::new(),
                sources: Vec::new(),
                supersedes: Vec::new(),
                line: number,
            };
            add(&mut entry, rest);
            self.current = Some(self.document.entries.len());
            self.document.entries.push(entry);
        } else if !indented {
            self.current = None;
        } else if let Some(entry) = self.current.and_then(|at| self.document.entries.get_mut(at)) {
            add(entry, line);
        }
    }
}

/// The iteration in the header of a text; what is wrong with the header otherwise.
pub(super) fn header(text: &str) -> Result<(), String> {
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some(TITLE) {
        return Err(format!("the first line must be `{TITLE}`"));
    }
    let wrong = || format!("the second line must be `{UPDATED}N (…)`, with the iteration's number");
    let rest = lines.next().and_then(|line| line.strip_prefix(UPDATED)).ok_or_else(wrong)?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_note = after.trim_start().starts_with('(') && after.ends_with(')');
    if after.len() < rest.len() && is_note { Ok(()) } else { Err(wrong()) }
}

/// Whether a line is a hard constraint. A word too many (`whenever`) is the careful mistake.
fn is_hard(line: &str) -> bool {
    let line = line.to_lowercase();
    line.contains("must") || line.contains("never")
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let title = rest.strip_prefix([' ', '\t'])?;
    (1..=6).contains(&level).then(|| (level, title.trim_end_matches('#').trim()))
}

/// Return the text after the mark of a list item.
fn item(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix(['-', '*', '+'])?;
    rest.strip_prefix([' ', '\t']).map(str::trim_start)
}

/// The id that an item begins with, and the rest.
fn id(item: &str) -> Option<(&str, &str)> {
    let (id, rest) =
        item.strip_prefix("[K-").and_then(|_| item.strip_prefix('['))?.split_once(']')?;
    Some((id.trim(), rest))
}

/// Put one more line of words and tags into an entry.
fn add(entry: &mut MarkdownEntry, line: &str) {
    let mut words = String::new();
    let mut rest = line;
    while let Some((before, from)) = rest.split_once('[') {
        words.push_str(before);
        let Some(tag) = EntryTag::of(from) else {
            words.push('[');
            rest = from;
            continue;
        };
        // Without an end it is no tag, and there is no tag behind it either.
        let Some((inside, after)) = from.split_once(']') else {
            words.push('[');
            rest = from;
            break;
        };
        let inside = inside.split_once(':').map_or("", |(_, values)| values);
        match tag {
            EntryTag::Source => {
                let digits = inside.split(|c: char| !c.is_ascii_digit());
                entry.sources.extend(digits.filter_map(|n| n.parse::<u64>().ok()));
            }
            EntryTag::Supersedes => {
                let ids = inside.split(|c: char| c == ',' || c.is_whitespace());
                entry.supersedes.extend(ids.filter(|id| !id.is_empty()).map(str::to_owned));
            }
        }
        rest = after;
    }
    words.push_str(rest);
    let words = flat(&words);
    if !words.is_empty() {
        if !entry.text.is_empty() {
            entry.text.push(' ');
        }
        entry.text.push_str(&words);
    }
}

enum EntryTag {
    Source,
    Supersedes,
}

impl EntryTag {
    fn of(inside: &str) -> Option<Self> {
        let begins = |word: &str| {
            inside.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        match () {
            () if begins("source:") => Some(Self::Source),
            () if begins("supersedes:") => Some(Self::Supersedes),
            () => None,
        }
    }
}
