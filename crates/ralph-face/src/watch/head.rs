//! The five answers: what runs, how far it is, whether it is healthy, what it cost, what needs somebody.

use ralph_core::cycle::GateTree;
use ralph_core::cycle::{AttemptPhase, AttemptState};
use ralph_core::dashboard::{AttemptNow, DashboardState, GateState, HealthWord, LoopStatus, Need};

use crate::line::{ScreenLine, ScreenStyle};
use crate::words::{elapsed, tokens};

/// From this height on each answer has a line of its own.
const ROOMY: u16 = 14;
/// From this height on more than one need is shown.
const TALL: u16 = 28;
/// Most needs that are shown on a tall screen.
const NEEDS: usize = 3;

/// The answers, in as many lines as a screen of this size can spare.
pub(super) fn head(state: &DashboardState, width: u16, height: u16) -> Vec<ScreenLine> {
    if height < ROOMY {
        return vec![now(state), brief(state), need(state)];
    }
    let mut lines = vec![now(state), far(state, width), health(state), cost(state)];
    match height < TALL {
        true => lines.push(need(state)),
        false => lines.extend(needs(state)),
    }
    lines
}

fn label(word: &str) -> ScreenLine {
    ScreenLine::of(ScreenStyle::Faint, format!("{word:<7} "))
}

/// Return the line about the current work. A long name comes last, where it may be cut off.
pub(super) fn now(state: &DashboardState) -> ScreenLine {
    let run = &state.run;
    let then = match (run.stopping, run.status) {
        (true, _) => ", then the loop ends",
        (false, LoopStatus::Paused) => ", then it pauses",
        _ => "",
    };
    match state.attempt.as_ref().filter(|_| run.pid.is_some()) {
        Some(attempt) => {
            let (doing, time) = doing(attempt);
            label("now")
                .add(ScreenStyle::Strong, doing)
                .add(ScreenStyle::Plain, then)
                .add(ScreenStyle::Faint, format!("  {time}  "))
                .add(ScreenStyle::Plain, &attempt.summary.started.name)
        }
        None => {
            let left = run.wait_s.filter(|_| run.status == LoopStatus::Waiting);
            let left = left.map(|s| format!("  {} left", elapsed(s))).unwrap_or_default();
            let words = run.words.trim_end_matches('.');
            let then = if run.stopping { then } else { "" };
            label("now")
                .add(ScreenStyle::Strong, format!("{words}{then}"))
                .add(ScreenStyle::Faint, left)
        }
    }
}

/// Return the current step of an attempt, and its duration so far.
fn doing(attempt: &AttemptNow) -> (String, String) {
    let (task, whole) = (&attempt.summary.started.task, elapsed(attempt.elapsed_s));
    let gates = attempt.gates.iter().enumerate();
    if let Some((at, gate)) = gates.rev().find(|(_, gate)| gate.state == GateState::Running) {
        let tree = match gate.on {
            Some(GateTree::Base) => "the tree before ",
            Some(GateTree::Alone) => "the commit of ",
            _ => "",
        };
        let (n, all, name) = (at + 1, attempt.gates.len(), &gate.name);
        let words = format!("gate {n} of {all}, {name}, checks {tree}{task}");
        return (words, gate.elapsed_s.map_or(whole, elapsed));
    }
    match attempt.phase {
        AttemptPhase::Gates => (format!("gates decide about {task}"), whole),
        AttemptPhase::Landing => (format!("the work of {task} lands"), whole),
        AttemptPhase::RollingBack => (format!("the work of {task} is kept aside"), whole),
        AttemptPhase::Backend => {
            let retry = match attempt.summary.started.retries {
                0 => String::new(),
                n => format!(", retry {n} of {}", attempt.summary.started.max_retries),
            };
            let time = format!("{whole} of {}", limit(attempt.timeout_s));
            (format!("{} works on {task}{retry}", attempt.summary.started.backend), time)
        }
    }
}

/// A limit in time: whole minutes and hours need no rest.
fn limit(seconds: u64) -> String {
    let words = elapsed(seconds);
    let rest = [" 0s", " 0m", " 0h"].into_iter().find_map(|zero| words.strip_suffix(zero));
    rest.map_or(words.clone(), str::to_owned)
}

fn far(state: &DashboardState, width: u16) -> ScreenLine {
    let (tally, total) = (state.tasks, state.tasks_total);
    let (done, stuck) = (tally.finished(), tally.stuck());
    let some = |n: usize, word: &str| match n {
        0 => String::new(),
        n => format!(", {n} {word}"),
    };
    let run = &state.run;
    let iteration = match run.iteration {
        0 => String::new(),
        n => format!("  iteration {n} of {}", run.iteration_limit),
    };
    let spec = run.spec.as_deref().map(|spec| format!(" of {spec}")).unwrap_or_default();
    label("done")
        .add_bar(&tally, width.into())
        .add(
            ScreenStyle::Plain,
            format!("{done} of {total} tasks{}", some(tally.skipped, "skipped")),
        )
        .add(ScreenStyle::Bad, some(stuck, "stuck"))
        .add(ScreenStyle::Faint, format!("{iteration}  {}{spec}", run.stage))
}

fn verdict(state: &DashboardState) -> (ScreenStyle, &'static str) {
    match state.health.word {
        HealthWord::Healthy => (ScreenStyle::Good, "healthy"),
        HealthWord::Idle => (ScreenStyle::Plain, "idle"),
        HealthWord::Attention => (ScreenStyle::Caution, "look"),
        HealthWord::Stopped => (ScreenStyle::Bad, "stopped"),
    }
}

fn health(state: &DashboardState) -> ScreenLine {
    let (style, word) = verdict(state);
    let over = || state.recent.iter().filter(|row| row.fate != AttemptState::Open);
    let landed = over().filter(|row| row.fate.is_landed()).count();
    let why = match (state.health.why.join("; "), over().count()) {
        (why, _) if !why.is_empty() => why.trim_end_matches('.').to_owned(),
        (_, 0) => "no attempt has ended yet".to_owned(),
        (_, 1) if landed == 1 => "the last attempt landed".to_owned(),
        (_, 1) => "the last attempt failed".to_owned(),
        (_, all) => format!("{landed} of the last {all} attempts landed"),
    };
    label("health").add(style, word).add(ScreenStyle::Plain, format!(": {why}"))
}

/// Return the line about the cost and the size of the context.
fn cost(state: &DashboardState) -> ScreenLine {
    let spent = state.cost.run.with_limit(state.cost.limit_usd);
    let no_limit = if state.cost.limit_usd.is_none() { ", no limit" } else { "" };
    let context = state.context.as_ref().map(|context| match context.window {
        Some(window) if window > 0 => {
            let share = context.used.saturating_mul(100) / window;
            format!("  context {share} % of {} tokens", tokens(window))
        }
        _ => format!("  context {} tokens", tokens(context.used)),
    });
    label("cost")
        .add(ScreenStyle::Plain, format!("{spent}{no_limit}{}", context.unwrap_or_default()))
        .add(ScreenStyle::Faint, format!("  {} here so far", state.cost.total))
}

/// Three answers in one line, for a low screen.
fn brief(state: &DashboardState) -> ScreenLine {
    let (style, word) = verdict(state);
    let stuck = match state.tasks.stuck() {
        0 => String::new(),
        n => format!(", {n} stuck"),
    };
    let cost = match state.cost.run {
        run if run.is_unknown() => run.in_list(),
        run => run.with_limit(state.cost.limit_usd),
    };
    ScreenLine::of(style, word)
        .add(ScreenStyle::Plain, format!("  {}/{} done", state.tasks.finished(), state.tasks_total))
        .add(ScreenStyle::Bad, stuck)
        .add(ScreenStyle::Plain, format!("  {cost}"))
}

pub(super) fn need(state: &DashboardState) -> ScreenLine {
    match state.needs.as_slice() {
        [] => label("needs").add(ScreenStyle::Plain, "nothing from you"),
        [one] => of_need(label("needs"), one),
        [first, ..] => {
            let count = format!("1 of {}: ", state.needs.len());
            of_need(label("needs").add(ScreenStyle::Plain, count), first)
        }
    }
}

fn of_need(line: ScreenLine, need: &Need) -> ScreenLine {
    line.add(ScreenStyle::Caution, need.text.as_str())
        .add(ScreenStyle::Plain, format!(" ({})", need.hint()))
}

/// The same in a few lines.
fn needs(state: &DashboardState) -> Vec<ScreenLine> {
    if state.needs.len() < 2 {
        return vec![need(state)];
    }
    let shown = state.needs.iter().take(NEEDS).enumerate();
    let mut lines: Vec<ScreenLine> =
        shown.map(|(n, one)| of_need(label(if n == 0 { "needs" } else { "" }), one)).collect();
    let more = state.needs.len().saturating_sub(NEEDS);
    if more > 0 {
        lines.push(label("").add(ScreenStyle::Plain, format!("and {more} more")));
    }
    lines
}
