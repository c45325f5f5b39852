//! What a person can tell the loop, and the settings that may be changed from here.

use ralph_core::config;
use ralph_core::dashboard::{command as commands, settings as writable};
use ralph_host::config_load::ProjectText;
use ralph_host::store::Kind;
use serde_json::{Map, Value, json};

use crate::control_file;
use crate::error::Refusal;
use crate::http::Request;
use crate::routes::body;
use crate::site::Site;

/// `POST /api/command`
pub(crate) fn command(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let record = commands::check(&body(request)?).map_err(Refusal::bad)?;
    let (id, at) = (site.ulid(), site.clock.stamp());
    let word = record.get("command").cloned();
    control_file::append(site.root(), &site.store, record, &id, &at)?;
    Ok(json!({ "id": id, "command": word, "at": at }))
}

/// `GET /api/settings`
pub(crate) fn settings(site: &Site, _: &Request, _: &str) -> Result<Value, Refusal> {
    let resolved = site.sources(ProjectText::OnDisk)?.without_plan();
    let resolved = resolved.map_err(|e| Refusal::broken(&site.project, e))?;
    let mut rows = Vec::new();
    for key in writable::keys() {
        let shown = resolved.get(key).map_err(|e| Refusal::new(500, e.to_string()))?;
        let about = config::find_key(key).map(|key| key.key.doc).unwrap_or_default();
        rows.push(json!({
            "key": key, "value": shown.value.as_ref().map(ToString::to_string),
            "origin": shown.origin.to_string(), "about": about.trim(),
        }));
    }
    Ok(json!({ "settings": rows }))
}

/// `POST /api/settings` with `{"KEY": value, …}`: all of them or none.
pub(crate) fn set(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let body = body(request)?;
    let wanted = body.as_object().filter(|fields| !fields.is_empty());
    let wanted =
        wanted.ok_or_else(|| Refusal::bad("send an object: {\"mode\": \"handoff-only\"}"))?;
    let checked: Result<Vec<_>, String> =
        wanted.iter().map(|(name, value)| writable::check(name, value)).collect();
    let checked = checked.map_err(Refusal::bad)?;
    let path = site.project.ralph_toml();
    site.store.update(&path, Kind::Document, |bytes| {
        let text = std::str::from_utf8(bytes.unwrap_or_default())
            .map_err(|_| Refusal::new(500, "ralph.toml is not UTF-8 text"))?;
        let mut new = text.to_owned();
        for (key, value) in &checked {
            new = config::set("ralph.toml", &new, key, value)
                .map_err(|e| Refusal::bad(format!("`{key}`: {e}")))?;
        }
        // A value may be right alone and wrong beside the others.
        let sources = site.sources(ProjectText::Instead(&new))?;
        sources.without_plan().map_err(|e| Refusal::bad(e.to_string()))?;
        Ok::<_, Refusal>((new, ()))
    })?;
    site.feed.touch();
    let set: Map<String, Value> =
        checked.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    Ok(json!({ "set": set }))
}
