//! The whole at a glance: the first screen, the plan, a task, the numbers.

use ralph_core::dashboard;
use serde_json::{Value, json};

use super::{limit, value};
use crate::error::Refusal;
use crate::http::Request;
use crate::site::Site;

/// `GET /api/state`
pub(crate) fn state(site: &Site, _: &Request, _: &str) -> Result<Value, Refusal> {
    let seen = site.snapshot();
    let speaker = site.feed.fresh().speaker();
    let meter = site.meter(speaker.as_ref());
    let now = site.clock.stamp();
    let inner = site.feed.known();
    let facts = seen.facts(&inner.history, &now, meter);
    let mut told = value(&dashboard::state(&facts))?;
    told["spec_now"] = value(&dashboard::spec_now(&facts, &inner.agents))?;
    let damage = seen.damage.iter().map(|damage| &damage.problem);
    told["problems"] = json!(damage.chain(&inner.problem).collect::<Vec<_>>());
    told["events"] = json!({ "first": inner.first(), "last": inner.last() });
    told["version"] = json!(env!("CARGO_PKG_VERSION"));
    Ok(told)
}

/// `GET /api/plan?offset=&limit=`
pub(crate) fn plan(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let seen = site.snapshot();
    let offset = request.number("offset").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let inner = site.feed.fresh();
    let (plan, most) = (&seen.plan.plan, limit(request, 200));
    let board = dashboard::board(plan, &inner.history, &seen.running, offset, most);
    let mut told = value(&board)?;
    let problem = seen.plan_damage();
    if problem.is_some() {
        told["stage"] = json!(dashboard::UNREADABLE);
    }
    told["problem"] = json!(problem);
    told["file"] = json!(seen.plan.shown);
    Ok(told)
}

/// `GET /api/tasks/{id}`
pub(crate) fn task(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let seen = site.snapshot();
    let inner = site.feed.fresh();
    let page = dashboard::task_page(&seen.plan.plan, &inner.history, &seen.running, id);
    value(&page.ok_or_else(|| Refusal::missing("no task has that id"))?)
}

/// `GET /api/numbers`
pub(crate) fn numbers(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let inner = site.feed.fresh();
    let mut told = value(&dashboard::numbers(&inner.history))?;
    told["timeline"] = value(&inner.timeline.newest(limit(request, 120)))?;
    told["now"] = json!(site.clock.stamp());
    Ok(told)
}
