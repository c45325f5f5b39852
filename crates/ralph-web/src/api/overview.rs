//! The whole at a glance: the first screen, the plan, a task, the numbers.

use ralph_core::dashboard::{self, Facts};
use ralph_core::needs::Damage;
use ralph_core::text::shell_word;
use serde_json::{Value, json};

use super::{limit, value};
use crate::error::Refusal;
use crate::http::Request;
use crate::site::Site;

/// `GET /api/state`
pub(crate) fn state(site: &Site, _: &Request, _: &str) -> Result<Value, Refusal> {
    let plan = site.plan();
    let inbox = site.inbox();
    let (config, running) = (site.config(), site.running());
    let speaker = site.feed.fresh().speaker();
    let meter = site.meter(speaker.as_ref());
    let (now, name) = (site.clock.stamp(), site.name());
    let damaged = |problem: &String, command: String| Damage { problem: problem.clone(), command };
    let plan_command = || format!("ralph validate --plan {}", shell_word(&plan.file));
    let damage: Vec<Damage> = [
        plan.problem.as_ref().map(|problem| damaged(problem, plan_command())),
        inbox.as_ref().err().map(|problem| damaged(problem, "ralph inbox list".to_owned())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let inner = site.feed.known();
    let facts = Facts {
        now: &now,
        project: &name,
        plan_file: &plan.file,
        history: &inner.history,
        plan: &plan.plan,
        damage: &damage,
        inbox: inbox.as_deref().unwrap_or_default(),
        config: &config,
        running: &running,
        meter,
    };
    let mut told = value(&dashboard::state(&facts))?;
    told["spec_now"] = value(&dashboard::spec_now(&facts, &inner.agents))?;
    let problems = [plan.problem.clone(), inbox.err(), inner.problem.clone()];
    told["problems"] = json!(problems.into_iter().flatten().collect::<Vec<_>>());
    told["events"] = json!({ "first": inner.first(), "last": inner.last() });
    told["version"] = json!(env!("CARGO_PKG_VERSION"));
    Ok(told)
}

/// `GET /api/plan?offset=&limit=`
pub(crate) fn plan(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let plan = site.plan();
    let offset = request.number("offset").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let inner = site.feed.fresh();
    let board =
        dashboard::board(&plan.plan, &inner.history, &site.running(), offset, limit(request, 200));
    let mut told = value(&board)?;
    if plan.problem.is_some() {
        told["stage"] = json!(dashboard::UNREADABLE);
    }
    told["problem"] = json!(plan.problem);
    told["file"] = json!(plan.file);
    Ok(told)
}

/// `GET /api/tasks/{id}`
pub(crate) fn task(site: &Site, _: &Request, id: &str) -> Result<Value, Refusal> {
    let plan = site.plan();
    let inner = site.feed.fresh();
    let page = dashboard::task_page(&plan.plan, &inner.history, &site.running(), id);
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
