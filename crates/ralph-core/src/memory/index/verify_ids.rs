//! The fourth check: ids are well formed, in force only once, and name something.

use std::collections::{BTreeMap, BTreeSet};

use super::records::{IdActivity, IndexRecord};
use super::verify::{IndexCheck, ViolationList};
use super::{JSON_FILE, KnowledgeCategory, MARKDOWN_FILE, MarkdownEntry, MarkdownIndex};
use crate::text::clip;

/// Characters of an id that a message shows.
const SHOWN: usize = 80;

/// Content of both files before and after the update.
pub(super) struct IndexUpdate<'a, 't> {
    pub(super) old: &'a MarkdownIndex<'t>,
    pub(super) new: &'a MarkdownIndex<'t>,
    /// Whether there was a markdown file. Without one nothing can be said about ids that are gone.
    pub(super) had_markdown: bool,
    pub(super) old_records: &'a [IndexRecord],
    pub(super) records: &'a [IndexRecord],
}

/// The JSON file; records before `new` are not judged.
pub(super) fn records(records: &[IndexRecord], new: usize, found: &mut ViolationList) {
    let all: BTreeSet<&str> =
        records.iter().flat_map(|record| &record.memory_ids).map(String::as_str).collect();
    for record in records.iter().skip(new) {
        let mut add = |message| found.add(IndexCheck::Ids, JSON_FILE, Some(record.line), message);
        for id in record.memory_ids.iter().filter(|id| KnowledgeCategory::of_id(id).is_none()) {
            add(malformed(id));
        }
        for id in record.supersedes.iter().filter(|id| !all.contains(id.as_str())) {
            add(format!(
                "`supersedes` names `{}`, which no entry of this file has as its `memory_id`; if it \
                 stands only in the markdown file, supersede it there",
                show(id)
            ));
        }
    }
    for (id, places) in IdActivity::of(records).active {
        let (Some(first), Some(last)) = (places.first(), places.last()) else { continue };
        if first == last || *last < new {
            continue;
        }
        let line = records.get(*last).map(|record| record.line);
        let message = format!(
            "`{}` is in force already (entry {} of the array); give the new entry an id of its own, \
             or let it supersede the old one",
            show(id),
            first + 1
        );
        found.add(IndexCheck::Ids, JSON_FILE, line, message);
    }
}

/// The markdown file; entries that were there before are not judged.
pub(super) fn entries(texts: &IndexUpdate<'_, '_>, found: &mut ViolationList) {
    let known: BTreeSet<(Option<&str>, &str)> = texts.old.entries.iter().map(key).collect();
    let is_new = |entry: &&MarkdownEntry| !known.contains(&key(entry));
    let ended_before = IdActivity::of(texts.old_records).ended;
    let ids = |document: &'_ MarkdownIndex<'_>| -> BTreeSet<String> {
        document.entries.iter().filter_map(|entry| entry.id.clone()).collect()
    };
    let (old_ids, new_ids) = (ids(texts.old), ids(texts.new));
    let recorded: BTreeSet<&str> =
        texts.records.iter().flat_map(|record| &record.memory_ids).map(String::as_str).collect();
    for entry in texts.new.entries.iter().filter(is_new) {
        let mut add =
            |message| found.add(IndexCheck::Ids, MARKDOWN_FILE, Some(entry.line), message);
        if let Some(id) = &entry.id {
            if KnowledgeCategory::of_id(id).is_none() {
                add(malformed(id));
            }
            if entry.supersedes.contains(id) {
                add(format!(
                    "`{}` supersedes itself; give the new entry an id of its own",
                    show(id)
                ));
            }
            if ended_before.contains_key(id.as_str()) && !old_ids.contains(id) {
                add(format!("`{}` was superseded before; choose a new id", show(id)));
            }
        }
        let exists = |id: &String| {
            old_ids.contains(id) || new_ids.contains(id) || recorded.contains(id.as_str())
        };
        for id in entry.supersedes.iter().filter(|id| texts.had_markdown && !exists(id)) {
            add(format!("`[supersedes: {}]` names nothing that there is", show(id)));
        }
    }
    twice(texts, is_new, found);
}

/// Ids that two entries of the markdown file have, when one of them is new.
fn twice(
    texts: &IndexUpdate<'_, '_>,
    is_new: impl Fn(&&MarkdownEntry) -> bool,
    found: &mut ViolationList,
) {
    let mut by_id: BTreeMap<&str, Vec<&MarkdownEntry>> = BTreeMap::new();
    for entry in &texts.new.entries {
        if let Some(id) = &entry.id {
            by_id.entry(id).or_default().push(entry);
        }
    }
    let over: BTreeSet<&str> =
        texts.new.entries.iter().flat_map(|e| &e.supersedes).map(String::as_str).collect();
    for (id, entries) in by_id {
        let [first, .., last] = entries[..] else { continue };
        if over.contains(id) || !entries.iter().any(&is_new) {
            continue;
        }
        let message = format!(
            "`{}` stands on line {} already; an id has one entry: give the new one its own",
            show(id),
            first.line
        );
        found.add(IndexCheck::Ids, MARKDOWN_FILE, Some(last.line), message);
    }
}

fn key(entry: &MarkdownEntry) -> (Option<&str>, &str) {
    (entry.id.as_deref(), &entry.text)
}

fn malformed(id: &str) -> String {
    let kinds = KnowledgeCategory::WORDS.join(", ");
    format!("`{}` must have the form `K-<kind>-<slug>`; the kinds are {kinds}", show(id))
}

fn show(id: &str) -> String {
    clip(id, SHOWN)
}
