//! Knowledge index, notes, progress log and handoffs.

use ralph_core::cycle::UnindexedWork;
use ralph_core::memory::ProgressEntry;
use ralph_core::memory::index::{KnowledgeItem, MARKDOWN_FILE, knowledge};
use ralph_core::prompt::PastHandoff;
use ralph_host::handoff_files;
use ralph_host::knowledge_files::KnowledgeSnapshot;
use ralph_host::store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limit;
use crate::error::HttpRefusal;
use crate::http::HttpRequest;
use crate::site::ServerContext;

/// Entries of the progress log that are told.
const LOG: usize = 100;

/// Memory of the project: the knowledge index, notes and the progress log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemoryAnswer {
    /// The knowledge index, with what was superseded.
    knowledge: Vec<KnowledgeItem>,
    /// Why a part of the index was left out.
    damage: Option<String>,
    /// Notes of the operator that wait for the next prompt.
    notes: Vec<String>,
    /// Handoffs that are not in the index yet.
    unindexed: UnindexedWork,
    /// The newest entries of the progress log, newest first.
    progress: Vec<ProgressEntry>,
    /// Number of all entries in the progress log.
    progress_total: usize,
}

/// The progress log, as far as it is told.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ProgressLog {
    entries: Vec<ProgressEntry>,
}

/// `GET /api/memory`: the knowledge index, notes that wait, the newest of the progress log.
pub(crate) fn memory(
    site: &ServerContext,
    _: &HttpRequest,
    _: &str,
) -> Result<MemoryAnswer, HttpRefusal> {
    let snapshot = KnowledgeSnapshot::take(&site.project.ledger_root(MARKDOWN_FILE))
        .map_err(|e| HttpRefusal::broken(&site.project, e))?;
    let known = knowledge(snapshot.files());
    let path = site.project.ledger_file(".ralph/progress-log.json");
    let log = store::read(&path).ok().flatten().unwrap_or_default();
    let ProgressLog { mut entries } = serde_json::from_slice(&log).unwrap_or_default();
    let progress_total = entries.len();
    entries.reverse();
    entries.truncate(LOG);
    let inner = site.feed.fresh();
    Ok(MemoryAnswer {
        knowledge: known.items,
        damage: known.damage.map(|e| format!("line {}: {}", e.line, e.message)),
        notes: inner.history.notes.clone(),
        unindexed: inner.history.unindexed,
        progress: entries,
        progress_total,
    })
}

/// A page of handoffs, newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HandoffPage {
    /// Number of all handoffs.
    total: usize,
    handoffs: Vec<PastHandoff>,
}

/// Answer `GET /api/handoffs?before=&limit=` with a page of handoffs, newest first.
pub(crate) fn handoffs(
    site: &ServerContext,
    request: &HttpRequest,
    _: &str,
) -> Result<HandoffPage, HttpRefusal> {
    let before = request.number("before").unwrap_or(u64::MAX);
    let (handoffs, total) = handoff_files::newest(site.root(), before, limit(request, 20))
        .map_err(|e| HttpRefusal::broken(&site.project, e))?;
    Ok(HandoffPage { total, handoffs })
}
