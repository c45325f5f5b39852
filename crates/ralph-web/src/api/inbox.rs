//! Specs and the queue of them.

use ralph_core::inbox::{Inbox, InboxError};
use ralph_core::spec::{self, Spec};
use ralph_host::specs as files;
use ralph_host::store::{self, Created, Kind};
use serde_json::{Value, json};

use super::text;
use crate::drafts;
use crate::error::Refusal;
use crate::http::Request;
use crate::routes::body;
use crate::site::Site;

/// Longest name of a new spec, in bytes.
const LONGEST_NAME: usize = 100;

/// What becomes of a spec that is written while a loop is at work.
const WAITS: &str =
    "it waits until the loop pauses or ends: a new file would be taken for its work";

/// `GET /api/inbox`
pub(crate) fn list(site: &Site, _: &Request, _: &str) -> Result<Value, Refusal> {
    Ok(json!({ "entries": site.inbox()? }))
}

fn parse(text: &str) -> Result<Inbox<'_>, Refusal> {
    Inbox::parse(text)
        .map_err(|e| Refusal::new(500, format!("ralph/inbox.jsonl:{}: {}", e.line, e.message)))
}

fn change<T>(
    site: &Site,
    decide: impl FnOnce(&Inbox<'_>) -> Result<(String, T), Refusal>,
) -> Result<T, Refusal> {
    let path = site.project.inbox();
    let updated = site.store.update(&path, Kind::of(&path), |bytes| {
        let text = std::str::from_utf8(bytes.unwrap_or_default())
            .map_err(|_| Refusal::new(500, "ralph/inbox.jsonl is not UTF-8 text"))?;
        decide(&parse(text)?)
    })?;
    site.feed.touch();
    Ok(updated.value)
}

fn refused(error: InboxError) -> Refusal {
    match error {
        InboxError::Unknown(_) => Refusal::missing(error.to_string()),
        InboxError::Active { .. } => Refusal::new(409, error.to_string()),
        other => Refusal::new(500, other.to_string()),
    }
}

/// `POST /api/inbox` with `{"spec"}`
pub(crate) fn add(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let body = body(request)?;
    let typed = body["spec"].as_str().unwrap_or_default();
    if drafts::queue(site, typed)? {
        return Ok(json!({ "id": null, "spec": typed, "status": "pending", "effect": WAITS }));
    }
    let spec = known(site, body["spec"].as_str().unwrap_or_default())?;
    let at = site.clock.stamp();
    let id = change(site, |inbox| {
        if let Some(entry) = inbox.queued(&spec) {
            let words = format!("{spec} is in the queue already: {}", entry.id);
            return Err(Refusal::new(409, words));
        }
        let id = inbox.fresh_id(&mut || site.word());
        let id = id.ok_or_else(|| Refusal::new(409, "the queue has no free ids left"))?;
        Ok((inbox.add(&id, &spec, &at), id))
    })?;
    Ok(json!({ "id": id, "spec": spec, "status": "pending", "added_at": at }))
}

/// `POST /api/inbox/{id}/move` with `{"before": id | null}`
pub(crate) fn reorder(site: &Site, request: &Request, id: &str) -> Result<Value, Refusal> {
    let body = body(request)?;
    let before = match &body["before"] {
        Value::Null => None,
        Value::String(before) => Some(before.as_str()),
        _ => return Err(Refusal::bad("`before` is an id, or null for the end of the queue")),
    };
    change(site, |inbox| Ok((inbox.move_before(id, before).map_err(refused)?, ())))?;
    Ok(json!({ "id": id, "before": before }))
}

/// `DELETE /api/inbox/{id}`
pub(crate) fn remove(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    change(site, |inbox| Ok((inbox.remove(id).map_err(refused)?, ())))?;
    Ok(json!({ "id": id }))
}

fn names(site: &Site) -> Result<Vec<String>, Refusal> {
    files::list(&site.project.specs_dir()).map_err(|e| Refusal::broken(&site.project, e))
}

/// The spec that a name means, if there is one.
fn known(site: &Site, typed: &str) -> Result<String, Refusal> {
    let name = spec::name(typed).map_err(Refusal::bad)?;
    match names(site)?.contains(&name) {
        true => Ok(name),
        false => Err(Refusal::missing("ralph/specs/ has no such spec")),
    }
}

/// `GET /api/specs`
pub(crate) fn specs(site: &Site, _: &Request, _: &str) -> Result<Value, Refusal> {
    let plan = &site.snapshot().plan.plan;
    let accepted: Vec<&str> = plan.accepted_specs.iter().map(|s| s.spec.as_str()).collect();
    let waiting = drafts::waiting(site).into_iter().map(|draft| draft.name);
    let mut files = names(site)?;
    let waiting: Vec<String> = waiting.filter(|name| !files.contains(name)).collect();
    files.extend(waiting.iter().cloned());
    let specs: Vec<Value> = files
        .into_iter()
        .map(|name| {
            let current = plan.current_spec.as_deref() == Some(&name);
            let waits = waiting.contains(&name);
            let accepted = accepted.contains(&name.as_str());
            json!({ "accepted": accepted, "current": current, "waits": waits, "name": name })
        })
        .collect();
    Ok(json!({ "specs": specs }))
}

/// `GET /api/specs/{id}`
pub(crate) fn spec(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let name = known(site, id)?;
    let bytes = store::read(&site.project.specs_dir().join(&name));
    let bytes = bytes.map_err(|e| Refusal::broken(&site.project, e))?.unwrap_or_default();
    let text = text(&bytes);
    let spec = Spec::parse(&name, &text);
    let boxes: Vec<Value> =
        spec.boxes.iter().map(|b| json!({ "ticked": b.ticked, "text": b.text })).collect();
    Ok(json!({ "name": name, "title": spec.title, "boxes": boxes, "text": text }))
}

/// `POST /api/specs` with `{"name", "text"}`: a new spec, never over another one.
pub(crate) fn write_spec(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let body = body(request)?;
    let name = body["name"].as_str().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let tame = name.ends_with(".md") && !name.starts_with('.') && name.chars().all(plain);
    if !tame || name.len() > LONGEST_NAME {
        let words = "a name has at most 100 letters, digits, - and _, and ends in .md";
        return Err(Refusal::bad(words));
    }
    let text = body["text"].as_str().unwrap_or_default();
    if text.trim().is_empty() {
        return Err(Refusal::bad("`text` is empty: say what is wanted"));
    }
    let taken = || Refusal::new(409, "there is a spec of that name already");
    let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    if drafts::busy(site) {
        let known = names(site)?.iter().any(|known| known == name);
        if known || drafts::waiting(site).iter().any(|draft| draft.name == name) {
            return Err(taken());
        }
        drafts::hold(site, name, &text)?;
        return Ok(json!({ "name": name, "waits": true, "effect": WAITS }));
    }
    let made = store::create(&site.project.specs_dir().join(name), text.as_bytes());
    match made.map_err(|e| Refusal::broken(&site.project, e))? {
        Created::AlreadyThere => Err(taken()),
        Created::New => {
            site.feed.touch();
            Ok(json!({ "name": name, "waits": false }))
        }
    }
}
