//! `knowledge-index.json`: an array with one object for each iteration, which only grows.
//!
//! ```json
//! {"iteration": 7, "task": "t-1a2b", "summary": "…", "tags": ["git"],
//!  "memory_id": ["K-constraint-no-force-push"], "supersedes": ["K-constraint-old"]}
//! ```
//!
//! `memory_id` and `supersedes` are one id or a list of them. Nothing that stands in the array is
//! ever changed, so whether an id is in force is *derived*: it is, unless a later entry supersedes
//! it. An entry may supersede without putting anything in the place; `"retired": true` retires its
//! own ids as well.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::format::ParseError;
use crate::json::{self, JsonError, JsonFields, JsonNode};
use crate::text::LineCounter;

/// Object of the JSON array: the record of one iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexRecord {
    pub iteration: Option<u64>,
    /// Id of the task in that iteration.
    pub task: Option<String>,
    /// Knowledge from that iteration, on one line.
    pub summary: Option<String>,
    /// Tags for the search.
    pub tags: Vec<String>,
    /// Ids of the knowledge that this record adds, or ends if it is [`RecordStanding::Retired`].
    pub memory_ids: Vec<String>,
    /// Ids that are no longer in force.
    pub supersedes: Vec<String>,
    /// Whether it puts its ids in force or ends them.
    pub standing: RecordStanding,
    /// Line of the record, from 1.
    pub line: usize,
    pub(super) span: Range<usize>,
    /// Errors in the record's fields.
    pub(super) faults: Vec<String>,
}

/// Effect of a record on its own ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordStanding {
    /// The ids are in force from this record on.
    #[default]
    InForce,
    /// The ids are not in force from this record on.
    Retired,
}

/// The records of a text. One that is empty has none.
pub fn records(text: &str) -> Result<Vec<IndexRecord>, ParseError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let root = json::parse_file(text).map_err(|e| e.in_text(text))?;
    let Some(items) = root.items() else {
        let message = format!("expected an array of entries, not {}", root.kind_name());
        return Err(ParseError::at(text, root.span.start, message));
    };
    let mut lines = LineCounter::new(text);
    Ok(items.iter().map(|item| read(text, item, &mut lines)).collect())
}

fn read(text: &str, node: &JsonNode, lines: &mut LineCounter<'_>) -> IndexRecord {
    let line = lines.line(node.span.start);
    let mut record = IndexRecord { line, span: node.span.clone(), ..IndexRecord::default() };
    let fields = match JsonFields::new(text, node) {
        Ok(fields) => fields,
        Err(error) => {
            record.faults.push(error.message);
            return record;
        }
    };
    let faults = &mut record.faults;
    record.iteration = required(fields.u64("iteration"), "iteration", "a whole number", faults);
    record.task = required(fields.string("task"), "task", "a string", faults);
    record.summary = required(fields.string("summary"), "summary", "a string", faults);
    // An absent list reads as an empty one.
    let has_tags = fields.get("tags").is_some();
    let tags = fields.strings("tags").map(|tags| has_tags.then_some(tags));
    record.tags = required(tags, "tags", "an array of strings", faults).unwrap_or_default();
    record.memory_ids = ids(fields.one_or_more("memory_id"), faults);
    record.supersedes = ids(fields.one_or_more("supersedes"), faults);
    record.standing = standing(&fields, faults);
    record
}

fn required<T>(
    field: Result<Option<T>, JsonError>,
    key: &str,
    expected: &str,
    faults: &mut Vec<String>,
) -> Option<T> {
    match field {
        Ok(Some(value)) => return Some(value),
        Ok(None) => faults.push(format!("`{key}` is missing; it must be {expected}")),
        Err(error) => faults.push(error.message),
    }
    None
}

fn ids(field: Result<Vec<String>, JsonError>, faults: &mut Vec<String>) -> Vec<String> {
    let mut ids = field.unwrap_or_else(|error| {
        faults.push(error.message);
        Vec::new()
    });
    let mut seen = std::collections::BTreeSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}

fn standing(fields: &JsonFields<'_, '_>, faults: &mut Vec<String>) -> RecordStanding {
    let mut flag = |key: &str| {
        fields.bool(key).unwrap_or_else(|error| {
            faults.push(error.message);
            None
        })
    };
    let (retired, active) = (flag("retired"), flag("active"));
    let status = fields.str("status").ok().flatten().unwrap_or_default().to_lowercase();
    let over = ["superseded", "retired", "inactive", "archived", "obsolete", "deleted"];
    if retired == Some(true) || active == Some(false) || over.contains(&status.as_str()) {
        RecordStanding::Retired
    } else {
        RecordStanding::InForce
    }
}

/// Ids that are in force after all records, and ids that are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct IdActivity<'r> {
    /// The records that put an id in force, by their place. More than one is a mistake.
    pub(super) active: BTreeMap<&'r str, Vec<usize>>,
    /// The record that ended an id which nothing has put in force again.
    pub(super) ended: BTreeMap<&'r str, usize>,
}

impl<'r> IdActivity<'r> {
    /// Follow the records from the first to the last.
    pub(super) fn of(records: &'r [IndexRecord]) -> Self {
        let mut all = Self::default();
        for (at, record) in records.iter().enumerate() {
            let own = record.memory_ids.iter().map(String::as_str);
            // First what it ends, so that an entry can take the place of an older one of its own id.
            for id in record.supersedes.iter().map(String::as_str) {
                all.end(id, at);
            }
            for id in own {
                match record.standing {
                    RecordStanding::InForce => {
                        all.ended.remove(id);
                        all.active.entry(id).or_default().push(at);
                    }
                    RecordStanding::Retired => all.end(id, at),
                }
            }
        }
        all
    }

    fn end(&mut self, id: &'r str, at: usize) {
        self.active.remove(id);
        self.ended.insert(id, at);
    }
}
