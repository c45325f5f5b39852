//! What was learned and handed over.

use ralph_core::memory::index::knowledge;
use ralph_host::handoff_files;
use ralph_host::knowledge_files::Snapshot;
use ralph_host::store;
use serde_json::{Value, json};

use super::{limit, value};
use crate::error::Refusal;
use crate::http::Request;
use crate::site::Site;

/// Entries of the progress log that are told.
const LOG: usize = 100;

/// `GET /api/memory`: the knowledge index, notes that wait, the newest of the progress log.
pub(crate) fn memory(site: &Site, _: &Request, _: &str) -> Result<Value, Refusal> {
    let snapshot = Snapshot::take(site.root()).map_err(|e| Refusal::broken(&site.project, e))?;
    let known = knowledge(snapshot.files());
    let path = site.root().join(".ralph/progress-log.json");
    let log = store::read(&path).ok().flatten().unwrap_or_default();
    let log: Value = serde_json::from_slice(&log).unwrap_or_default();
    let entries = log["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let newest: Vec<&Value> = entries.iter().rev().take(LOG).collect();
    let inner = site.feed.fresh();
    let unindexed = &inner.history.unindexed;
    Ok(json!({
        "knowledge": value(&known.items)?,
        "damage": known.damage.map(|e| format!("line {}: {}", e.line, e.message)),
        "notes": inner.history.notes,
        "unindexed": { "iterations": unindexed.iterations, "bytes": unindexed.bytes,
            "since": unindexed.since },
        "progress": newest,
        "progress_total": entries.len(),
    }))
}

/// `GET /api/handoffs?before=&limit=`: newest first.
pub(crate) fn handoffs(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let before = request.number("before").unwrap_or(u64::MAX);
    let (found, total) = handoff_files::newest(site.root(), before, limit(request, 20))
        .map_err(|e| Refusal::broken(&site.project, e))?;
    let told: Result<Vec<Value>, Refusal> = found
        .iter()
        .map(|past| {
            Ok(json!({ "number": past.number, "file": past.file, "handoff": value(&past.handoff)? }))
        })
        .collect();
    Ok(json!({ "total": total, "handoffs": told? }))
}
