//! The whole at a glance: the first screen, the plan, a task, the numbers.

use ralph_core::dashboard::{
    self, DashboardState, SpecNow, TaskBoard, TaskPage, TimelineSpan, WorkNumbers,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::limit;
use crate::error::HttpRefusal;
use crate::http::HttpRequest;
use crate::site::ServerContext;

/// The first screen, with what only the server knows.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StateAnswer {
    #[serde(flatten)]
    state: DashboardState,
    /// The spec that `construct` or `agent` works on.
    spec_now: Option<SpecNow>,
    /// Files that cannot be read, a sentence each.
    problems: Vec<String>,
    /// The events that can be asked for.
    events: EventRange,
    /// Version of the server.
    version: &'static str,
}

/// The numbers of the first and the last event that can be asked for.
#[derive(Serialize, JsonSchema)]
struct EventRange {
    first: u64,
    last: u64,
}

/// Answer `GET /api/state` with the first screen of the dashboard.
pub(crate) fn state(
    site: &ServerContext,
    _: &HttpRequest,
    _: &str,
) -> Result<StateAnswer, HttpRefusal> {
    let seen = site.snapshot();
    let speaker = site.feed.fresh().speaker();
    let meter = site.meter(speaker.as_ref());
    let now = site.clock.stamp();
    let inner = site.feed.known();
    let facts = seen.facts(&inner.history, &now, meter);
    let damage = seen.damage.iter().map(|damage| &damage.problem);
    Ok(StateAnswer {
        state: dashboard::state(&facts),
        spec_now: dashboard::spec_now(&facts, &inner.agents),
        problems: damage.chain(&inner.problem).cloned().collect(),
        events: EventRange { first: inner.first(), last: inner.last() },
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Page of the plan, with the name of its file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PlanBoardAnswer {
    #[serde(flatten)]
    board: TaskBoard,
    /// Why the plan cannot be read.
    problem: Option<String>,
    /// Path of the plan file.
    file: String,
}

/// Answer `GET /api/plan?offset=&limit=` with a page of the plan.
pub(crate) fn plan(
    site: &ServerContext,
    request: &HttpRequest,
    _: &str,
) -> Result<PlanBoardAnswer, HttpRefusal> {
    let seen = site.snapshot();
    let offset = request.number("offset").and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let inner = site.feed.fresh();
    let (plan, most) = (&seen.plan.plan, limit(request, 200));
    let mut board = dashboard::board(plan, &inner.history, &seen.running, offset, most);
    let problem = seen.plan_damage().map(str::to_owned);
    if problem.is_some() {
        board.stage = dashboard::UNREADABLE;
    }
    Ok(PlanBoardAnswer { board, problem, file: seen.plan.shown.clone() })
}

/// Answer `GET /api/tasks/{id}` with one task and its attempts.
pub(crate) fn task(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<TaskPage, HttpRefusal> {
    let seen = site.snapshot();
    let inner = site.feed.fresh();
    let page = dashboard::task_page(&seen.plan.plan, &inner.history, &seen.running, id);
    page.ok_or_else(|| HttpRefusal::missing("no task has that id"))
}

/// The numbers, with what ran when.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NumbersAnswer {
    #[serde(flatten)]
    numbers: WorkNumbers,
    /// Runs, stages, attempts, consultations and waits with their times, oldest first.
    timeline: Vec<TimelineSpan>,
    /// Time of this answer.
    now: String,
}

/// Answer `GET /api/numbers` with the numbers and the timeline.
pub(crate) fn numbers(
    site: &ServerContext,
    request: &HttpRequest,
    _: &str,
) -> Result<NumbersAnswer, HttpRefusal> {
    let inner = site.feed.fresh();
    Ok(NumbersAnswer {
        numbers: dashboard::numbers(&inner.history),
        timeline: inner.timeline.newest(limit(request, 120)),
        now: site.clock.stamp(),
    })
}
