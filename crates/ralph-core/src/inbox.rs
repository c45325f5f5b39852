//! The inbox: a queue of specs, first in, first out, in a file of one record a line.
//!
//! # Theory of operation
//!
//! [`Inbox::parse`] reads the file strictly and keeps the text; every change is a method that gives
//! the new text, with only its own lines changed, and leaves writing to the host. So nothing can be
//! edited that was not read without an error before. Records of another kind and unknown fields are
//! kept.

mod order;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::format::ParseError;
use crate::ids;
use crate::json::{JsonEditor, JsonError, JsonFields, MemberChange};
use crate::lines::{self, JsonlRecord};
use crate::text;
use crate::word_enum::word_enum;

word_enum! {
    /// Status of a spec in the queue.
    InboxStatus {
        /// The spec waits for an agent.
        Pending = "pending",
        /// An agent works on the spec.
        Active = "active",
        /// The spec is finished.
        Done = "done",
        /// The agent gave up on the spec.
        Failed = "failed",
    }
}

/// A new status with what belongs to it. Times are RFC 3339.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxChange {
    /// Back into the queue, as if it had never been started.
    Pending,
    /// An agent begins to work on the spec.
    Active {
        /// Time of the end.
        at: String,
    },
    /// An agent finished the spec.
    Done {
        /// Time of the end.
        at: String,
    },
    /// An agent gave up on the spec.
    Failed {
        /// Time of the end.
        at: String,
        /// Reason for the failure.
        error: String,
    },
}

/// One spec in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "InboxEntry")]
pub struct InboxEntry {
    /// `q-` and four of a-z, 0-9.
    pub id: String,
    /// File name of the spec, relative to `ralph/specs/`.
    pub spec: String,
    /// Status of the spec in the queue.
    pub status: InboxStatus,
    /// Time at which the spec was queued, RFC 3339.
    pub added_at: String,
    /// Time at which an agent began, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When an agent finished or gave up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    /// Reason for the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Line in the file, from 1.
    #[serde(skip)]
    pub line: usize,
}

/// A change of the queue that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InboxError {
    /// Nothing has this id or spec.
    #[error("the inbox has no {0}")]
    Unknown(String),
    /// An agent works on the entry.
    #[error("{spec} ({id}) is active: stop the agent first")]
    Active {
        /// Id of the entry.
        id: String,
        /// Name of the spec.
        spec: String,
    },
    /// The line of the entry cannot be changed. This is a bug in ralph; the file is correct.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// Two changes want the same bytes: a mistake in ralph, not in the file.
    #[error(transparent)]
    Overlap(#[from] text::SpliceOverlap),
}

impl InboxError {
    fn active(entry: &InboxEntry) -> Self {
        Self::Active { id: entry.id.clone(), spec: entry.spec.clone() }
    }
}

/// Queue of specs, parsed from the text of its file.
#[derive(Clone, Debug)]
pub struct Inbox<'t> {
    text: &'t str,
    entries: Vec<InboxEntry>,
    /// Records of the file, in the same order as `entries`.
    records: Vec<JsonlRecord<'t>>,
}

impl<'t> Inbox<'t> {
    /// Parse the text of a queue file.
    /// Return an error for any line that is not valid and for ids that occur twice.
    pub fn parse(text: &'t str) -> Result<Self, ParseError> {
        let mut inbox = Self { text, entries: Vec::new(), records: Vec::new() };
        for record in lines::records(text) {
            let record = record?;
            if record.kind == "inbox" {
                let fields = JsonFields::new(text, &record.node).map_err(|e| e.in_text(text))?;
                let entry = entry(&fields, record.line.number).map_err(|e| e.in_text(text))?;
                inbox.entries.push(entry);
                inbox.records.push(record);
            }
        }
        inbox.check_ids()?;
        Ok(inbox)
    }

    fn check_ids(&self) -> Result<(), ParseError> {
        let mut sorted: Vec<&InboxEntry> = self.entries.iter().collect();
        sorted.sort_by(|a, b| (&a.id, a.line).cmp(&(&b.id, b.line)));
        match sorted.windows(2).find(|pair| pair[0].id == pair[1].id) {
            None => Ok(()),
            Some(pair) => {
                let message = format!("the id {} stands on line {} too", pair[1].id, pair[0].line);
                Err(ParseError::new(pair[1].line, message))
            }
        }
    }

    /// Return all entries in queue order.
    pub fn entries(&self) -> &[InboxEntry] {
        &self.entries
    }

    /// All entries in queue order, without the text.
    pub fn into_entries(self) -> Vec<InboxEntry> {
        self.entries
    }

    /// The entry that is worked on next.
    pub fn first_pending(&self) -> Option<&InboxEntry> {
        self.entries.iter().find(|e| e.status == InboxStatus::Pending)
    }

    /// Find the entry with this id.
    pub fn find(&self, id: &str) -> Option<&InboxEntry> {
        self.entries.iter().find(|e| e.id == id)
    }

    /// The entry that makes queueing this spec again pointless: it waits or is worked on.
    pub fn queued(&self, spec: &str) -> Option<&InboxEntry> {
        let waits =
            |e: &&InboxEntry| matches!(e.status, InboxStatus::Pending | InboxStatus::Active);
        self.entries.iter().filter(waits).find(|e| e.spec == spec)
    }

    /// Count the entries with this status.
    pub fn count(&self, status: InboxStatus) -> usize {
        self.entries.iter().filter(|e| e.status == status).count()
    }

    /// The entry that `remove` takes for an id or a spec's name: of a spec, the first that is not
    /// active.
    pub fn removable(&self, id_or_spec: &str) -> Result<&InboxEntry, InboxError> {
        let meant = |e: &&InboxEntry| e.id == id_or_spec || e.spec == id_or_spec;
        let mut same = self.entries.iter().filter(meant).peekable();
        let first = same.peek().copied();
        match (same.find(|e| e.status != InboxStatus::Active), first) {
            (Some(entry), _) => Ok(entry),
            (None, Some(active)) => Err(InboxError::active(active)),
            (None, None) => Err(InboxError::Unknown(id_or_spec.to_owned())),
        }
    }

    /// An id that no entry has; `None` when all are taken. `random` gives four new base-36
    /// characters at each call.
    pub fn fresh_id(&self, random: &mut dyn FnMut() -> String) -> Option<String> {
        ids::fresh("q-", 4..=4, &|id| self.find(id).is_some(), random)
    }

    /// The text with a new pending entry at its end; it begins with the old text.
    pub fn add(&self, id: &str, spec: &str, at: &str) -> String {
        let record =
            json!({"t": "inbox", "id": id, "spec": spec, "added_at": at, "status": "pending"});
        let (old, end) = (self.text, lines::missing_end(self.text));
        format!("{old}{end}{record}{}", text::newline(old))
    }

    /// Return the text without this entry. An active entry cannot be removed.
    pub fn remove(&self, id: &str) -> Result<String, InboxError> {
        match self.find(id) {
            None => Err(InboxError::Unknown(id.to_owned())),
            Some(entry) if entry.status == InboxStatus::Active => Err(InboxError::active(entry)),
            Some(_) => Ok(self.without(|e| e.id == id)),
        }
    }

    /// The text without pending entries, and how many there were.
    pub fn clear(&self) -> (String, usize) {
        (self.without(|e| e.status == InboxStatus::Pending), self.count(InboxStatus::Pending))
    }

    /// The text with another status for this entry.
    pub fn set_status(&self, id: &str, change: &InboxChange) -> Result<String, InboxError> {
        let entry = self.entries.iter().position(|e| e.id == id);
        let entry = entry.ok_or_else(|| InboxError::Unknown(id.to_owned()))?;
        let node = &self.records[entry].node;
        let splices = JsonEditor::new(self.text, node)
            .object(node, &members(change))
            .map_err(|e| e.in_text(self.text))?;
        Ok(text::splice(self.text, splices)?)
    }

    fn without(&self, gone: impl Fn(&InboxEntry) -> bool) -> String {
        let both = self.entries.iter().zip(&self.records);
        let ranges = both.filter(|(entry, _)| gone(entry)).map(|(_, r)| r.line.with_end());
        let mut out = String::with_capacity(self.text.len());
        let mut done = 0;
        for range in ranges {
            out.push_str(&self.text[done..range.start]);
            done = range.end;
        }
        out + &self.text[done..]
    }
}

fn entry(fields: &JsonFields<'_, '_>, line: usize) -> Result<InboxEntry, JsonError> {
    let status =
        fields.word("status", "pending, active, done or failed", InboxStatus::from_word)?;
    Ok(InboxEntry {
        id: id(fields)?,
        spec: fields.required("spec")?.into_owned(),
        status: match status {
            Some(status) => status,
            None => fields.missing("status")?,
        },
        added_at: fields.required("added_at")?.into_owned(),
        started_at: fields.string("started_at")?,
        completed_at: fields.string("completed_at")?,
        error: fields.string("error")?,
        line,
    })
}

fn id(fields: &JsonFields<'_, '_>) -> Result<String, JsonError> {
    let id = fields.word("id", "`q-` and four of a-z and 0-9", |id| {
        let word = id.strip_prefix("q-")?;
        let fits =
            word.len() == 4 && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        fits.then(|| id.to_owned())
    })?;
    match id {
        Some(id) => Ok(id),
        None => fields.missing("id"),
    }
}

/// The members that a new status sets and clears.
fn members(change: &InboxChange) -> Vec<MemberChange> {
    let set = |key: &str, value: &str| MemberChange::Set(key.to_owned(), value.into());
    let remove = |key: &str| MemberChange::Remove(key.to_owned());
    match change {
        InboxChange::Pending => vec![
            set("status", InboxStatus::Pending.as_str()),
            remove("started_at"),
            remove("completed_at"),
            remove("error"),
        ],
        InboxChange::Active { at } => vec![
            set("status", InboxStatus::Active.as_str()),
            set("started_at", at),
            remove("completed_at"),
            remove("error"),
        ],
        InboxChange::Done { at } => {
            vec![
                set("status", InboxStatus::Done.as_str()),
                set("completed_at", at),
                remove("error"),
            ]
        }
        InboxChange::Failed { at, error } => vec![
            set("status", InboxStatus::Failed.as_str()),
            set("completed_at", at),
            set("error", error),
        ],
    }
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
