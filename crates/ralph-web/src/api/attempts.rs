//! One attempt, from its prompt to its end.

use std::path::Path;

use ralph_core::cycle::AttemptView;
use ralph_core::dashboard::attempt_row;
use ralph_core::gate::GateStanding;
use ralph_face::attempt;
use ralph_host::git::{LedgerPaths, Repo};
use ralph_host::proc::Runner;
use ralph_host::store;
use serde_json::{Value, json};

use super::{limit, text, value};
use crate::error::Refusal;
use crate::http::Request;
use crate::site::Site;
use crate::stream::LogOwner;

/// `GET /api/attempts?before=&limit=&task=`: newest first.
pub(crate) fn list(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let inner = site.feed.fresh();
    let all = &inner.history.attempts;
    let end = request.number("before").and_then(|n| usize::try_from(n).ok());
    let end = end.unwrap_or(all.len()).min(all.len());
    let task = request.asked("task");
    let running = site.running();
    let mut rows = Vec::new();
    let mut next = 0;
    for (at, view) in all.iter().enumerate().take(end).rev() {
        if task.is_some_and(|task| task != view.started.task) {
            continue;
        }
        if rows.len() == limit(request, 100) {
            next = at + 1;
            break;
        }
        rows.push(attempt_row(view, &running));
    }
    Ok(json!({ "total": all.len(), "attempts": rows, "before": next }))
}

/// The attempt that an id names; `last` is the newest.
fn find(site: &Site, id: &str) -> Result<AttemptView, Refusal> {
    let inner = site.feed.fresh();
    let attempts = &inner.history.attempts;
    let found = match id {
        "last" => attempts.last(),
        id => attempts.iter().rev().find(|view| view.started.attempt == id),
    };
    found.cloned().ok_or_else(|| Refusal::missing("no attempt has that id"))
}

/// `GET /api/attempts/{id}`
pub(crate) fn one(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let view = find(site, id)?;
    let running = site.running();
    let mut told = attempt::as_json(&view, &running);
    told["row"] = value(&attempt_row(&view, &running))?;
    told["claim_words"] = json!(view.backend.as_ref().map(|end| end.claim.to_string()));
    told["retry_context"] = json!(view.context);
    told["kept_as"] = json!(attempt::kept(&view));
    Ok(told)
}

/// `GET /api/attempts/{id}/prompt`
pub(crate) fn prompt(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let view = find(site, id)?;
    let log = view.started.log.ok_or_else(|| Refusal::missing("it has no log"))?;
    let path = Path::new(&log).with_extension("prompt.md");
    Ok(json!({ "text": file(site, &path.to_string_lossy())? }))
}

fn file(site: &Site, relative: &str) -> Result<String, Refusal> {
    let gone = || Refusal::missing("logs are kept for a while only, and this one is gone");
    let path = site.inside(relative).ok_or_else(gone)?;
    let bytes = store::read(&path).map_err(|e| Refusal::broken(&site.project, e))?;
    Ok(text(&bytes.ok_or_else(gone)?))
}

/// `GET /api/attempts/{id}/stream?after=&limit=`: items from a number on.
pub(crate) fn stream(site: &Site, request: &Request, id: &str) -> Result<Value, Refusal> {
    stream_of(site, request, &LogOwner::from(&find(site, id)?))
}

/// `GET /api/agents/{id}/stream?after=&limit=`: the same for an agent of a stage.
pub(crate) fn agent_stream(site: &Site, request: &Request, id: &str) -> Result<Value, Refusal> {
    let of = site.feed.fresh().agents.find(id).map(LogOwner::from);
    stream_of(site, request, &of.ok_or_else(|| Refusal::missing("no agent has that id"))?)
}

fn stream_of(site: &Site, request: &Request, of: &LogOwner) -> Result<Value, Refusal> {
    let most = limit(request, 200);
    let asked = request.number("after").and_then(|n| usize::try_from(n).ok());
    let told = site.with_log(of, |log| {
        let all = log.items.len();
        // Without a number: the end, which is what a person looks at first.
        let from = asked.unwrap_or(all.saturating_sub(most)).min(all);
        let items: Vec<_> = log.items.iter().skip(from).take(most).collect();
        json!({
            "attempt": of.id, "from": from, "next": from + items.len(),
            "total": all, "left_out": log.left_out, "items": items,
        })
    });
    told.ok_or_else(|| Refusal::missing("logs are kept for a while only, and this one is gone"))
}

/// `GET /api/attempts/{id}/gates`
pub(crate) fn gates(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let view = find(site, id)?;
    let Some(verdict) = &view.verdict else {
        return Ok(json!({ "passed": null, "checks": [] }));
    };
    let checks: Vec<Value> = verdict
        .checks
        .iter()
        .map(|check| {
            let whole = check.log.as_deref().and_then(|log| file(site, log).ok());
            json!({
                "name": check.name, "passed": check.is_green(), "words": format!("{:#}", check.standing),
                "preexisting": matches!(check.standing, GateStanding::Old { .. }),
                "command": check.command, "output": whole.as_ref().unwrap_or(&check.excerpt),
            })
        })
        .collect();
    Ok(json!({
        "passed": verdict.passed(), "checks": checks,
        "unproven": verdict.proof_gaps().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "judges": verdict.judges.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }))
}

/// `GET /api/attempts/{id}/diff`
pub(crate) fn diff(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let view = find(site, id)?;
    let (Some(kept), Some(git_dir)) = (attempt::kept(&view), site.project.git_dir()) else {
        return Ok(json!({ "kept_as": null, "patch": "" }));
    };
    let runner = Runner::new(format!("web-{}", site.ulid()));
    let plan = site.plan();
    let ledger = LedgerPaths::with_plan(&plan.file);
    let patch = Repo::open(site.root(), git_dir, &runner, &ledger)
        .and_then(|repo| repo.patch_of(kept))
        .map_err(|e| Refusal::broken(&site.project, e))?;
    Ok(json!({ "kept_as": kept, "patch": text(&patch) }))
}

/// `GET /api/attempts/{id}/handoff`
pub(crate) fn handoff(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let view = find(site, id)?;
    let path = view.backend.and_then(|end| end.handoff);
    let path = path.ok_or_else(|| Refusal::missing("it left no handoff"))?;
    let text = file(site, &path)?;
    let handoff: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(json!({ "file": path, "handoff": handoff }))
}
