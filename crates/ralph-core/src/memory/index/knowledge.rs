//! Both files as one list: what is known, and what is no longer true.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::records::{IdActivity, IndexRecord};
use super::{IndexFiles, KnowledgeCategory, MarkdownEntry, MarkdownIndex, records};
use crate::format::ParseError;
use crate::memory::flat;

/// Something that is known, or was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "KnowledgeItem")]
pub struct KnowledgeItem {
    /// `K-constraint-no-force-push`; an entry may have none.
    pub id: Option<String>,
    /// Category of the entry, if its heading or its id names one.
    pub category: Option<KnowledgeCategory>,
    /// The heading it stands under; empty for what is only in the JSON file.
    pub heading: String,
    /// Text of the entry, on one line.
    pub text: String,
    /// The iterations it was learned in.
    pub sources: Vec<u64>,
    /// The tasks of those iterations, as far as the JSON file has them.
    pub tasks: Vec<String>,
    /// Tags for the search.
    pub tags: Vec<String>,
    /// Ids of the entries whose place it took.
    pub supersedes: Vec<String>,
    /// Whether the entry is in force.
    #[serde(flatten)]
    pub status: KnowledgeStatus,
    /// Line of the entry in the markdown file, from 1. Absent if only the JSON file has it.
    pub line: Option<usize>,
}

/// Whether an entry is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
#[schemars(rename = "KnowledgeStatus")]
pub enum KnowledgeStatus {
    /// The entry is in force.
    Active,
    /// Another entry replaced this one.
    Superseded {
        /// Id of the entry that replaced this one.
        by: String,
    },
    /// The entry is no longer in force, and nothing replaced it.
    Retired,
}

/// Content of the knowledge index, from both of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Everything, in the order of the markdown file; what is only in the JSON file comes last.
    pub items: Vec<KnowledgeItem>,
    /// Why the JSON file was left out.
    pub damage: Option<ParseError>,
}

impl Knowledge {
    /// Return the entries that are in force.
    pub fn active(&self) -> impl Iterator<Item = &KnowledgeItem> {
        self.items.iter().filter(|item| item.status == KnowledgeStatus::Active)
    }
}

/// Build one list of entries from the two files of the index.
pub fn knowledge(files: IndexFiles<'_>) -> Knowledge {
    let document = MarkdownIndex::read(files.markdown.unwrap_or_default());
    let (records, damage) = match records(files.json.unwrap_or_default()) {
        Ok(records) => (records, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let sight = IdFacts::of(&document, &records);
    let written = document.entries.iter().filter(|entry| !entry.is_tombstone());
    let mut items: Vec<KnowledgeItem> = written.map(|entry| sight.entry(entry)).collect();
    let known: BTreeSet<&str> =
        document.entries.iter().filter_map(|entry| entry.id.as_deref()).collect();
    let others = sight.records_of.iter().filter(|(id, _)| !known.contains(**id));
    items.extend(others.filter_map(|(id, records)| sight.record(id, records)));
    Knowledge { items, damage }
}

/// Facts about every id, collected from both files.
struct IdFacts<'a> {
    records: &'a [IndexRecord],
    activity: IdActivity<'a>,
    /// The records that name an id as theirs.
    records_of: BTreeMap<&'a str, Vec<&'a IndexRecord>>,
    /// The entry of the markdown file that supersedes an id.
    superseded: BTreeMap<&'a str, &'a MarkdownEntry>,
}

impl<'a> IdFacts<'a> {
    fn of(document: &'a MarkdownIndex<'_>, records: &'a [IndexRecord]) -> Self {
        let mut records_of: BTreeMap<&str, Vec<&IndexRecord>> = BTreeMap::new();
        for record in records {
            for id in &record.memory_ids {
                records_of.entry(id).or_default().push(record);
            }
        }
        let mut superseded = BTreeMap::new();
        for entry in &document.entries {
            let others = entry.supersedes.iter().filter(|id| entry.id.as_ref() != Some(id));
            superseded.extend(others.map(|id| (id.as_str(), entry)));
        }
        Self { records, activity: IdActivity::of(records), records_of, superseded }
    }

    fn entry(&self, entry: &MarkdownEntry) -> KnowledgeItem {
        let id = entry.id.as_deref();
        let records = id.and_then(|id| self.records_of.get(id)).map_or(&[][..], Vec::as_slice);
        let mut sources = entry.sources.clone();
        sources.extend(records.iter().filter_map(|record| record.iteration));
        sources.sort_unstable();
        sources.dedup();
        KnowledgeItem {
            id: entry.id.clone(),
            category: entry.category.or_else(|| KnowledgeCategory::of_id(id?)),
            heading: entry.heading.clone(),
            text: entry.text.clone(),
            sources,
            tasks: unique(records.iter().filter_map(|record| record.task.as_ref())),
            tags: unique(records.iter().flat_map(|record| &record.tags)),
            supersedes: entry.supersedes.clone(),
            status: id.map_or(KnowledgeStatus::Active, |id| self.status(id)),
            line: Some(entry.line),
        }
    }

    /// An id that only the JSON file has. Its newest record tells what it is.
    fn record(&self, id: &str, records: &[&IndexRecord]) -> Option<KnowledgeItem> {
        let newest = records.last()?;
        Some(KnowledgeItem {
            id: Some(id.to_owned()),
            category: KnowledgeCategory::of_id(id),
            heading: String::new(),
            text: flat(newest.summary.as_deref().unwrap_or_default()),
            sources: records.iter().filter_map(|record| record.iteration).collect(),
            tasks: unique(records.iter().filter_map(|record| record.task.as_ref())),
            tags: unique(records.iter().flat_map(|record| &record.tags)),
            supersedes: newest.supersedes.clone(),
            status: self.status(id),
            line: None,
        })
    }

    fn status(&self, id: &str) -> KnowledgeStatus {
        if let Some(entry) = self.superseded.get(id) {
            return match &entry.id {
                Some(by) if !entry.is_tombstone() => KnowledgeStatus::Superseded { by: by.clone() },
                _ => KnowledgeStatus::Retired,
            };
        }
        let Some(record) = self.activity.ended.get(id).and_then(|at| self.records.get(*at)) else {
            return KnowledgeStatus::Active;
        };
        match record.memory_ids.iter().find(|by| *by != id) {
            Some(by) => KnowledgeStatus::Superseded { by: by.clone() },
            None => KnowledgeStatus::Retired,
        }
    }
}

fn unique<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    all.filter(|one| seen.insert(one.as_str())).cloned().collect()
}
