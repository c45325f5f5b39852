//! Events and attempts as lines of the screen.

use ralph_core::cycle::{AttemptView, Event, Fate, History};
use ralph_core::plan::{Id, Lookup, Plan, Trust, obstacle};
use ralph_face::{Line, Style, attempt, words};

use super::details;
use crate::context::Context;

/// Most lines of a patch.
const PATCH: usize = 5000;

/// One event of the journal.
pub(super) fn of_event(event: &Event) -> Line {
    let style = match event.event.as_str() {
        "validation_fail" | "human_review_requested" | "command_ignored" => Style::Caution,
        "gate_end" if event.metadata["passed"] == false => Style::Caution,
        "pause" | "resume" | "note" | "skip_task" | "stop" | "kill-attempt" => Style::Strong,
        _ => Style::Faint,
    };
    let time = event.timestamp.get(11..19).unwrap_or_default();
    Line::of(Style::Faint, format!("{time} "))
        .add(style, event.event.replace('_', " "))
        .hang_here()
        .add(Style::Plain, format!(": {}", event.message))
}

/// Everything about a task.
pub(super) fn of_task(context: &Context, plan: &Plan, history: &History, id: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let lookup = Lookup::new(plan);
    if let Some(task) = lookup.task(&Id::new(id)) {
        lines.push(Line::of(Style::Strong, &task.name));
        if let Some(why) = obstacle(task, &lookup, Trust::Verified) {
            lines.push(Line::of(Style::Caution, format!("in the way: {why}")));
        }
        lines.extend(task.accept.iter().map(|text| field("accept", text)));
        lines.extend(
            task.notes.iter().flat_map(|text| text.lines()).map(|text| field("notes", text)),
        );
    }
    let attempts: Vec<&AttemptView> = history.of_task(id).collect();
    if attempts.is_empty() {
        lines.push(Line::of(Style::Faint, "it was not tried yet"));
    }
    for view in &attempts {
        lines.extend(of_attempt(view));
    }
    if let Some(last) = attempts.iter().rev().find(|view| attempt::kept(view).is_some()) {
        lines.push(Line::new());
        lines.push(Line::of(
            Style::Strong,
            format!("patch of iteration {}", last.started.iteration),
        ));
        match details::patch(context, last) {
            Ok(patch) => lines.extend(of_patch(&String::from_utf8_lossy(&patch))),
            Err(e) => lines.push(Line::of(Style::Caution, e.told())),
        }
    }
    lines
}

fn field(name: &str, text: &str) -> Line {
    Line::of(Style::Faint, format!("{name:<9}")).hang_here().add(Style::Plain, text)
}

fn of_attempt(view: &AttemptView) -> Vec<Line> {
    let started = &view.started;
    let style = match view.fate {
        Fate::Landed { .. } => Style::Good,
        Fate::Failed { .. } => Style::Bad,
        Fate::Open | Fate::Limited => Style::Caution,
    };
    let cost = view
        .backend
        .as_ref()
        .map(|end| format!(", {}, {}", words::cost(end.cost), words::took(end.took_ms)));
    let mut lines = vec![
        Line::new(),
        Line::of(Style::Strong, format!("[{}] ", started.iteration))
            .add(style, attempt::result(view))
            .add(Style::Plain, format!("  {}{}", started.backend, cost.unwrap_or_default())),
    ];
    if let Fate::Failed { failure, .. } = &view.fate {
        lines.push(field("why", &failure.told()));
    }
    if let Some(end) = &view.backend {
        lines.push(field("claim", &attempt::claim(&end.claimed)));
        if !end.summary.is_empty() {
            lines.push(field("summary", &end.summary));
        }
    }
    for check in view.verdict.iter().flat_map(|verdict| &verdict.checks) {
        lines.push(field("gate", &format!("{}: {}", check.name, attempt::check(check))));
    }
    lines
}

fn of_patch(patch: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = patch
        .lines()
        .take(PATCH)
        .map(|line| {
            let style = match line.as_bytes().first() {
                Some(b'+') => Style::Good,
                Some(b'-') => Style::Bad,
                Some(b'@') => Style::Caution,
                Some(b' ') => Style::Plain,
                _ => Style::Strong,
            };
            Line::of(style, line.replace('\t', "    "))
        })
        .collect();
    if patch.lines().nth(PATCH).is_some() {
        lines.push(Line::of(Style::Caution, "… `ralph show --diff` has the rest"));
    }
    lines
}
