//! Needs that follow from the last run: how it ended, and what it landed without a proof.

use super::{Need, NeedKind, NeedSources, need};
use crate::control::DoubtedCommand;
use crate::cycle::{
    AttemptState, LoopEnd, RunCommand, RunEnd, RunState, UnverifiedItem, WaitRemedy, remaining,
};
use crate::inbox::InboxStatus;
use crate::plan::{DependencyTrust, Id, Task, next_task};
use crate::text::shell_word;

const GOES_ON: &str = "goes on";

/// Add what the last run needs, after what the plan needs.
pub(super) fn add(sources: &NeedSources<'_>, all: &mut Vec<Need>) {
    let history = sources.history;
    all.extend(unproven(sources));
    all.extend(not_verified(sources));
    // A task that is done or gone can be neither skipped nor retried.
    let matters = |doubted: &&DoubtedCommand| match &doubted.task {
        Some(id) => sources.plan.task(&Id::new(id.as_str())).is_some_and(|t| t.state.is_open()),
        None => true,
    };
    all.extend(history.doubted.iter().filter(matters).map(|doubted| Need {
        task: doubted.task.clone(),
        command: doubted.next.clone(),
        ..need(
            NeedKind::Control,
            format!("{} was not carried out: {}", doubted.what, DoubtedCommand::WHY),
            "does it",
        )
    }));
    let Some(run) = &history.run else { return };
    match (sources.is_idle(), &history.run_end) {
        (true, None) => {
            let text = match &history.open {
                Some(open) => format!(
                    "ralph {} is gone without having said how it ended, in the middle of {}",
                    run.command, open.started.task
                ),
                None => format!("ralph {} is gone without having said how it ended", run.command),
            };
            let effect = "recovers what it left, and goes on";
            all.push(Need { command: go_on(sources), ..need(NeedKind::Crashed, text, effect) });
        }
        (true, Some(end)) => {
            let stuck = all.iter().any(|need| need.kind != NeedKind::Unproven);
            all.extend(ended(sources, end, stuck));
        }
        (false, _) if history.paused => all.push(Need {
            command: "ralph resume".to_owned(),
            ..need(NeedKind::Paused, "paused by the operator".to_owned(), GOES_ON)
        }),
        (false, _) => {}
    }
}

/// Commits that landed and have not arrived on their branch.
pub(super) fn waiting(sources: &NeedSources<'_>) -> Vec<Need> {
    let left = sources.history.left_arrivals.iter().filter_map(|line| {
        let commits = line.waiting_commits();
        let reason = line.waits_for(RunState::Ended)?.reason(commits);
        let command = format!("git switch {} && ralph land", shell_word(&line.branch));
        let effect = "brings them, or says what they wait for".into();
        Some(Need { command, effect, ..need(NeedKind::Waiting, reason, "") })
    });
    waiting_of_last_run(sources).into_iter().chain(left).collect()
}

fn waiting_of_last_run(sources: &NeedSources<'_>) -> Option<Need> {
    let history = sources.history;
    let line = history.arrival.as_ref()?;
    let run = match sources.is_idle() && history.run_end.is_some() {
        true => RunState::Ended,
        false => RunState::Open,
    };
    let (wait, commits) = (line.waits_for(run)?, line.waiting_commits());
    let WaitRemedy { command, effect } = wait.way_out(commits);
    let need = need(NeedKind::Waiting, wait.reason(commits), "");
    Some(Need { command, effect: effect.into(), ..need })
}

/// Work of the last runs that landed and that no gate proves. A verifier's accept proves too, so
/// this is about `ralph build`.
fn unproven(sources: &NeedSources<'_>) -> Option<Need> {
    let history = sources.history;
    let landed = history.unproven(sources.plan);
    let last = landed.last()?;
    let mut tasks: Vec<&str> = landed.iter().map(|view| view.started.task.as_str()).collect();
    tasks.dedup();
    let why = last.verdict.as_ref().and_then(|verdict| verdict.proof_gaps().first());
    let why = why.map_or_else(|| "no gate spoke for the change".to_owned(), ToString::to_string);
    let names = match tasks.as_slice() {
        [one] => (*one).to_owned(),
        [some @ .., _] if some.len() < 5 => tasks.join(", "),
        more => format!("{} tasks", more.len()),
    };
    let (command, effect) = match tasks.as_slice() {
        [_] => (
            format!("ralph show {}", last.started.iteration),
            "shows it; `ralph build --allow-unproven` accepts it as it is",
        ),
        _ => (
            "ralph report".to_owned(),
            "shows them; `ralph build --allow-unproven` accepts them as they are",
        ),
    };
    let text = format!("{names} landed, and nothing proves the work: {why}");
    Some(Need { command, ..need(NeedKind::Unproven, text, effect) })
}

/// Return the tasks, or the spec, for which the last construct got no usable verdict.
fn not_verified(sources: &NeedSources<'_>) -> impl Iterator<Item = Need> {
    let construct = &sources.history.construct;
    // What was taken out of the plan with its spec needs no verdict.
    let is_of_spec = |task: &Task| task.spec.as_ref().is_none_or(|spec| *spec == construct.spec);
    let matters = move |item: &&UnverifiedItem| match &item.task {
        _ if !sources.is_idle() => false,
        Some(id) => sources.plan.task(id).is_some(),
        None => sources.plan.all_tasks().iter().any(is_of_spec),
    };
    construct.unverified.iter().filter(matters).map(|item| Need {
        task: item.task.as_ref().map(ToString::to_string),
        spec: Some(construct.spec.clone()),
        command: match RunCommand::last(sources.history) {
            RunCommand::Agent => "ralph agent".to_owned(),
            _ => format!("ralph construct {}", shell_word(&construct.spec)),
        },
        ..need(NeedKind::Unverified, item.to_string(), "asks the verifiers again")
    })
}

/// The last run ended before everything was done.
fn ended(sources: &NeedSources<'_>, run: &RunEnd, stuck: bool) -> Option<Need> {
    let history = sources.history;
    let of = history.run.as_ref()?.command;
    let waits = |status: &InboxStatus| matches!(status, InboxStatus::Pending | InboxStatus::Active);
    let queued = sources.inbox.iter().any(|entry| waits(&entry.status));
    let left = match of {
        RunCommand::Agent => queued,
        RunCommand::Construct | RunCommand::Plan => true,
        RunCommand::Build | RunCommand::Land => remaining(sources.plan) > 0,
    };
    let can_run = next_task(sources.plan, DependencyTrust::Claimed).is_some();
    let (command, effect) = match &run.end {
        LoopEnd::Complete
        | LoopEnd::Unproven { .. }
        | LoopEnd::Waiting { .. }
        | LoopEnd::TaskComplete(_)
        | LoopEnd::OnceLanded => {
            return None;
        }
        _ if !left => return None,
        LoopEnd::Blocked { .. } | LoopEnd::FalseDone if stuck && !can_run => return None,
        LoopEnd::NotVerified { .. } if stuck => return None,
        LoopEnd::FalseDone => {
            let file = shell_word(sources.plan_file);
            (format!("grep -n RALPH_DONE {file}"), "shows the line that has to go")
        }
        LoopEnd::Breaker(_) | LoopEnd::OnceFailed => match last_failed(sources) {
            Some(iteration) => (format!("ralph show {iteration}"), "shows what went wrong"),
            None => (go_on(sources), GOES_ON),
        },
        LoopEnd::Backend { .. } => ("ralph backends".to_owned(), "shows which can be used"),
        LoopEnd::MaxCost { .. } => {
            let limit = history.run.as_ref().and_then(|run| run.budget?.max_cost);
            let limit = limit.map(|limit| format!(" --max-cost {limit}")).unwrap_or_default();
            (format!("{}{limit}", go_on(sources)), "goes on with as much again")
        }
        LoopEnd::UsageLimit { .. } => (go_on(sources), "waits for the reset and goes on"),
        _ => (go_on(sources), GOES_ON),
    };
    let text = format!("ralph {of} stopped: {}", run.reason);
    Some(Need { command, ..need(NeedKind::Ended, text, effect) })
}

/// The number of the last attempt of the run that failed.
fn last_failed(sources: &NeedSources<'_>) -> Option<u32> {
    let failed = |fate: &AttemptState| matches!(fate, AttemptState::Failed { .. });
    let view = sources.history.of_run().rev().find(|view| failed(&view.fate))?;
    Some(view.started.iteration)
}

/// The command that goes on with the last run.
fn go_on(sources: &NeedSources<'_>) -> String {
    let history = sources.history;
    match RunCommand::last(history) {
        RunCommand::Construct => format!("ralph construct {}", shell_word(&history.construct.spec)),
        command @ (RunCommand::Agent | RunCommand::Plan) => format!("ralph {command}"),
        RunCommand::Build | RunCommand::Land => format!("ralph build{}", sources.plan_option()),
    }
}
