//! Needs that follow from the plan: work that cannot go on by itself.

use super::{Need, NeedKind, NeedSources, need};
use crate::claim::Claim;
use crate::cycle::RunCommand;
use crate::plan::{
    DependencyTrust, Id, Issue, LookedUpTask, Obstacle, PlanLookup, Task, TaskState, cycles,
    obstacles,
};
use crate::text::{one_line, shell_word};
use crate::words::count;

const ANOTHER: &str = "gives it another attempt";

/// Add what the plan needs. The reasons are backends' and people's words: each is one line here.
pub(super) fn add(sources: &NeedSources<'_>, all: &mut Vec<Need>) {
    let first = all.len();
    let plan = sources.plan;
    let lookup = PlanLookup::new(plan);
    for (task, why) in obstacles(plan, DependencyTrust::Claimed) {
        all.extend(hindered(sources, &lookup, task, &why));
    }
    let of_build = || RunCommand::last(sources.history) == RunCommand::Build;
    for task in plan.scoped_tasks().filter(|_| sources.is_idle()) {
        match &task.state {
            TaskState::Killed(kill) => {
                let reason = kill.reason.as_str().replace('_', " ");
                let text = format!("{} was killed: {reason}", task.id);
                all.push(about(sources, &task.id, NeedKind::Killed, text, "retry", ANOTHER));
            }
            // A construct verifies what it builds when it goes on.
            TaskState::Done if of_build() => {
                let text = format!("{} is claimed to be done, and nobody has verified it", task.id);
                let effect = "takes it as verified";
                all.push(about(sources, &task.id, NeedKind::Unverified, text, "accept", effect));
            }
            _ => {}
        }
    }
    all.extend(circles(sources));
    let issues: Vec<&Issue> = plan.scoped_issues().collect();
    let mut open = 0;
    for issue in issues {
        match &issue.created_from {
            Some(id)
                if all[first..].iter().any(|need| need.task.as_deref() == Some(id.as_str())) => {}
            Some(id)
                if matches!(lookup.fate(id), LookedUpTask::Failed) && can_return(&lookup, id) =>
            {
                let stone = lookup.tombstone(id);
                let why = stone.and_then(|stone| stone.reason.as_deref()).unwrap_or(&issue.desc);
                let text = format!("{id} failed: {}", one_line(why));
                all.push(about(sources, id, NeedKind::Failed, text, "retry", ANOTHER));
            }
            _ => open += 1,
        }
    }
    if open > 0 && (sources.is_idle() || of_build()) {
        all.push(Need {
            command: format!("ralph issue list{}", sources.plan_option()),
            ..need(NeedKind::Issues, format!("{} open", count(open, "issue")), "shows them")
        });
    }
}

/// Whether the record of a buried task says enough to bring it back.
fn can_return(lookup: &PlanLookup<'_>, id: &Id) -> bool {
    lookup.tombstone(id).is_some_and(|stone| stone.task.is_some())
}

/// Return what a person can do about a task that cannot run.
fn hindered(
    sources: &NeedSources<'_>,
    lookup: &PlanLookup<'_>,
    task: &Task,
    why: &Obstacle,
) -> Option<Need> {
    let id = &task.id;
    Some(match why {
        Obstacle::Blocked(reason) => match asked(sources, id) {
            Some(question) => {
                let text = format!("{id} asks a person: {}", one_line(question));
                about(sources, id, NeedKind::Decide, text, "retry", "lets it go on")
            }
            None => {
                let text = format!("{id} is blocked: {}", one_line(reason));
                about(sources, id, NeedKind::Blocked, text, "retry", ANOTHER)
            }
        },
        Obstacle::Failed(reason) => {
            let reason = reason.as_deref().unwrap_or("no retries are left");
            let text = format!("{id} failed: {}", one_line(reason));
            about(sources, id, NeedKind::Failed, text, "retry", ANOTHER)
        }
        Obstacle::DependencySkipped(other)
            if lookup.task(other).is_some() || can_return(lookup, other) =>
        {
            let need = about(
                sources,
                other,
                NeedKind::Blocked,
                format!("{id} {why}"),
                "retry",
                "brings it back",
            );
            Need { task: Some(id.to_string()), ..need }
        }
        Obstacle::DependencyMissing(other) | Obstacle::DependencySkipped(other) => {
            let gone = std::slice::from_ref(other);
            without(sources, task, gone, format!("{id} {why}"), "takes that dependency out")
        }
        Obstacle::Waits(_) | Obstacle::Unverified(_) | Obstacle::DependencyFailed(_) => {
            return None;
        }
    })
}

fn circles(sources: &NeedSources<'_>) -> Vec<Need> {
    let tasks: Vec<&Task> = sources.plan.scoped_tasks().filter(|t| t.state.is_open()).collect();
    let circles = cycles(&tasks);
    let found = circles.iter().filter_map(|circle| {
        let task = tasks.iter().find(|task| circle.first() == Some(&task.id))?;
        let names: Vec<&str> = circle.iter().map(Id::as_str).collect();
        let text = format!("{} wait for each other", names.join(" and "));
        Some(without(sources, task, circle, text, "breaks the circle"))
    });
    found.collect()
}

/// The question of a task's last attempt to a person.
fn asked<'s>(sources: &NeedSources<'s>, id: &Id) -> Option<&'s str> {
    let history = sources.history;
    let view = history.attempts.iter().rev().find(|view| view.started.task == id.as_str())?;
    let end = view.backend.as_ref()?;
    match &end.claim {
        Claim::NeedsHuman { reason } => Some(reason),
        _ => end.review.as_deref(),
    }
}

fn about(
    sources: &NeedSources<'_>,
    id: &Id,
    kind: NeedKind,
    text: String,
    verb: &str,
    effect: &'static str,
) -> Need {
    let command = format!("ralph task {verb} {}{}", shell_word(id.as_str()), sources.plan_option());
    Need { task: Some(id.to_string()), command, ..need(kind, text, effect) }
}

/// A task that goes on without some of its dependencies.
fn without(
    sources: &NeedSources<'_>,
    task: &Task,
    gone: &[Id],
    text: String,
    effect: &'static str,
) -> Need {
    let deps: Vec<&str> =
        task.deps.iter().filter(|id| !gone.contains(id)).map(Id::as_str).collect();
    let fields = serde_json::json!({ "deps": deps }).to_string();
    let (id, option) = (shell_word(task.id.as_str()), sources.plan_option());
    Need {
        task: Some(task.id.to_string()),
        command: format!("ralph task edit {id} {}{option}", shell_word(&fields)),
        ..need(NeedKind::Blocked, text, effect)
    }
}
