//! Both files as one list: what is known, and what is no longer true.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::records::{Activity, Record};
use super::{Category, Document, Entry, Files, records};
use crate::format::ParseError;
use crate::memory::flat;

/// Something that is known, or was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "KnowledgeItem")]
pub struct Item {
    /// `K-constraint-no-force-push`; an entry may have none.
    pub id: Option<String>,
    /// Category of the entry, if its heading or its id names one.
    pub category: Option<Category>,
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
    pub status: Status,
    /// Line of the entry in the markdown file, from 1. Absent if only the JSON file has it.
    pub line: Option<usize>,
}

/// Whether an entry is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "status", rename_all = "lowercase")]
#[schemars(rename = "KnowledgeStatus")]
pub enum Status {
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
    pub items: Vec<Item>,
    /// Why the JSON file was left out.
    pub damage: Option<ParseError>,
}

impl Knowledge {
    /// Return the entries that are in force.
    pub fn active(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.status == Status::Active)
    }
}

/// Build one list of entries from the two files of the index.
pub fn knowledge(files: Files<'_>) -> Knowledge {
    let document = Document::read(files.markdown.unwrap_or_default());
    let (records, damage) = match records(files.json.unwrap_or_default()) {
        Ok(records) => (records, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let sight = Sight::of(&document, &records);
    let written = document.entries.iter().filter(|entry| !entry.is_tombstone());
    let mut items: Vec<Item> = written.map(|entry| sight.entry(entry)).collect();
    let known: BTreeSet<&str> =
        document.entries.iter().filter_map(|entry| entry.id.as_deref()).collect();
    let others = sight.records_of.iter().filter(|(id, _)| !known.contains(**id));
    items.extend(others.filter_map(|(id, records)| sight.record(id, records)));
    Knowledge { items, damage }
}

/// Facts about every id, collected from both files.
struct Sight<'a> {
    records: &'a [Record],
    activity: Activity<'a>,
    /// The records that name an id as theirs.
    records_of: BTreeMap<&'a str, Vec<&'a Record>>,
    /// The entry of the markdown file that supersedes an id.
    superseded: BTreeMap<&'a str, &'a Entry>,
}

impl<'a> Sight<'a> {
    fn of(document: &'a Document<'_>, records: &'a [Record]) -> Self {
        let mut records_of: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
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
        Self { records, activity: Activity::of(records), records_of, superseded }
    }

    fn entry(&self, entry: &Entry) -> Item {
        let id = entry.id.as_deref();
        let records = id.and_then(|id| self.records_of.get(id)).map_or(&[][..], Vec::as_slice);
        let mut sources = entry.sources.clone();
        sources.extend(records.iter().filter_map(|record| record.iteration));
        sources.sort_unstable();
        sources.dedup();
        Item {
            id: entry.id.clone(),
            category: entry.category.or_else(|| Category::of_id(id?)),
            heading: entry.heading.clone(),
            text: entry.text.clone(),
            sources,
            tasks: unique(records.iter().filter_map(|record| record.task.as_ref())),
            tags: unique(records.iter().flat_map(|record| &record.tags)),
            supersedes: entry.supersedes.clone(),
            status: id.map_or(Status::Active, |id| self.status(id)),
            line: Some(entry.line),
        }
    }

    /// An id that only the JSON file has. Its newest record tells what it is.
    fn record(&self, id: &str, records: &[&Record]) -> Option<Item> {
        let newest = records.last()?;
        Some(Item {
            id: Some(id.to_owned()),
            category: Category::of_id(id),
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

    fn status(&self, id: &str) -> Status {
        if let Some(entry) = self.superseded.get(id) {
            return match &entry.id {
                Some(by) if !entry.is_tombstone() => Status::Superseded { by: by.clone() },
                _ => Status::Retired,
            };
        }
        let Some(record) = self.activity.ended.get(id).and_then(|at| self.records.get(*at)) else {
            return Status::Active;
        };
        match record.memory_ids.iter().find(|by| *by != id) {
            Some(by) => Status::Superseded { by: by.clone() },
            None => Status::Retired,
        }
    }
}

fn unique<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    all.filter(|one| seen.insert(one.as_str())).cloned().collect()
}
