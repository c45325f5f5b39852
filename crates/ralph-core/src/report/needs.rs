//! What does not go on without a person, and the command for it.

use super::gather::Sources;
use super::undo::quoted;
use super::{FailedSpec, Need};
use crate::control::DoubtedCommand;
use crate::inbox::{Inbox, Status};
use crate::plan::State;
use crate::words::count;

/// Everything that waits, the gravest first.
pub(super) fn needs(sources: &Sources<'_>, failed: &[FailedSpec]) -> Vec<Need> {
    let mut all = Vec::new();
    all.extend(interrupted(sources));
    let queued = |spec: &str| sources.inbox.is_some_and(|inbox| inbox.queued(spec).is_some());
    all.extend(failed.iter().filter(|spec| !queued(&spec.spec)).map(|spec| Need {
        what: format!("{} failed", spec.spec),
        why: spec.why.clone(),
        next: Some(format!("ralph inbox add {}", quoted(&spec.spec))),
    }));
    for task in &sources.plan.tasks {
        let (word, why, next) = match &task.state {
            State::Blocked(why) => ("is blocked", why.clone(), "retry"),
            State::Failed(why) => ("was given up", why.clone().unwrap_or_default(), "retry"),
            State::Killed(kill) => ("was killed", kill.reason.as_str().replace('_', " "), "show"),
            _ => continue,
        };
        let what = format!("{} {word}: {}", task.id, task.name);
        let next = Some(format!("ralph task {next} {}", quoted(task.id.as_str())));
        all.push(Need { what, why, next });
    }
    all.extend(issues(sources));
    all.extend(sources.past.history.doubted.iter().map(|doubted| Need {
        what: format!("{} was not carried out", doubted.what),
        why: DoubtedCommand::WHY.to_owned(),
        next: Some(doubted.next.clone()),
    }));
    if all.is_empty() {
        all.extend(stopped(sources));
    }
    all
}

/// The last run ended before everything was done, for a reason that is not a task's.
fn stopped(sources: &Sources<'_>) -> Option<Need> {
    let past = sources.past;
    let run = past.runs.last()?;
    let more = match past.history.run_end.as_deref()? {
        "max_cost_reached" => " --max-cost N",
        "no_plan" | "backend_unusable" | "max_iterations_reached" | "usage_limit" | "blocked" => "",
        _ => return None,
    };
    let spec = past.spec.as_deref().filter(|_| run.command == "construct");
    let spec = spec.map(|spec| format!(" {}", quoted(spec))).unwrap_or_default();
    Some(Need {
        what: format!("ralph {} stopped", run.command),
        why: run.end.clone()?,
        next: Some(format!("ralph {}{spec}{more}", run.command)),
    })
}

/// A loop that ended in the middle of an attempt. While one runs, an open attempt is its own affair.
fn interrupted(sources: &Sources<'_>) -> Option<Need> {
    let history = &sources.past.history;
    let open = history.open.as_ref()?;
    let ended = sources.past.runs.last()?.end.is_some();
    ended.then(|| Need {
        what: format!("an attempt on {} was interrupted", open.started.task),
        why: "the next run brings it to its end by itself".to_owned(),
        next: Some("ralph recover".to_owned()),
    })
}

/// Issues that no construct will look at by itself.
fn issues(sources: &Sources<'_>) -> Option<Need> {
    let open = sources.plan.scoped_issues().count();
    let waiting = sources
        .inbox
        .map_or(0, |inbox: &Inbox<'_>| inbox.count(Status::Pending) + inbox.count(Status::Active));
    (open > 0 && waiting == 0).then(|| Need {
        what: format!("{} open", count(open, "issue")),
        why: "questions and bugs that must become tasks".to_owned(),
        next: Some("ralph issue list".to_owned()),
    })
}
