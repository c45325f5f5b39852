//! How it goes, and what a person has to do about it.

use super::state::{Facts, Health, HealthWord, LoopNow, Need, budget};
use crate::control::DoubtedCommand;
use crate::cycle::{AttemptView, Claimed, Fate};
use crate::inbox;
use crate::plan::{self, Item, Obstacle, Stage, Trust};

/// Failures in a row, over all tasks, that are worth a look.
const IN_A_ROW: usize = 3;

/// Also while an attempt goes on to its end.
const PAUSED: &str = "paused by the operator";

/// What a person has to do, most urgent first.
pub(super) fn needs(facts: &Facts<'_>, run: &LoopNow) -> Vec<Need> {
    let mut found = Vec::new();
    let mut need = |kind, text: String, hint: &str, task: Option<String>| {
        found.push(Need { kind, text, hint: hint.to_owned(), task });
    };
    if run.status == "crashed" {
        let hint = "start it again: every start recovers what an earlier one left";
        need("crashed", run.words.clone(), hint, None);
    }
    if run.status == "paused" {
        need("paused", PAUSED.to_owned(), "`ralph resume` goes on", None);
    }
    if let Some(view) = facts.history.attempts.last()
        && let Some(Claimed::NeedsHuman { reason }) = view.backend.as_ref().map(|end| &end.claimed)
    {
        let text = format!("{} asks a person: {reason}", view.started.task);
        need("decide", text, "answer with a note, then resume", Some(view.started.task.clone()));
    }
    for (task, why) in plan::obstacles(facts.plan, Trust::Claimed) {
        let id = Some(task.id.to_string());
        match why {
            Obstacle::Blocked(reason) => need(
                "blocked",
                format!("{} is blocked: {reason}", task.id),
                "remove what is in its way, then retry it",
                id,
            ),
            Obstacle::Failed(reason) => need(
                "failed",
                format!("{} failed: {}", task.id, reason.unwrap_or("no retries are left".into())),
                "look at its attempts, then retry or skip it",
                id,
            ),
            Obstacle::DependencyMissing(_) | Obstacle::DependencySkipped(_) => need(
                "blocked",
                format!("{} {why}", task.id),
                "change its dependencies in the plan",
                id,
            ),
            _ => {}
        }
    }
    for entry in facts.inbox.iter().filter(|e| e.status == inbox::Status::Failed) {
        let why = entry.error.as_deref().unwrap_or("it gave no reason");
        let hint = "look at its history, mend the spec and queue it again";
        need("spec", format!("{} failed: {why}", entry.spec), hint, None);
    }
    for doubted in &facts.history.doubted {
        let text = format!("{} was not carried out: {}", doubted.what, DoubtedCommand::WHY);
        need("control", text, &format!("`{}` does it", doubted.next), None);
    }
    if facts.history.out_of_money {
        let hint = "raise limits.max_cost in ralph.toml and start again";
        need("limit", "the money of this run is used up".to_owned(), hint, None);
    }
    found
}

/// How it goes, with the reasons.
pub(super) fn health(facts: &Facts<'_>, run: &LoopNow, needs: &[Need]) -> Health {
    let history = facts.history;
    let mut why = Vec::new();
    let mut word = match run.status {
        "running" => HealthWord::Healthy,
        "never" => HealthWord::Idle,
        "ended" if history.run_end.as_deref() == Some("complete") => HealthWord::Idle,
        "paused" => {
            why.push(PAUSED.to_owned());
            HealthWord::Attention
        }
        "waiting" => {
            why.push(run.words.clone());
            HealthWord::Attention
        }
        _ => {
            why.push(run.words.clone());
            HealthWord::Stopped
        }
    };
    let failed = |view: &&AttemptView| matches!(view.fate, Fate::Failed { .. });
    let ended = history.attempts.iter().rev().filter(|view| view.fate != Fate::Open);
    let row = ended.take_while(failed).count();
    let mut attention = |text: String| {
        word = word.max(HealthWord::Attention);
        why.push(text);
    };
    if row >= IN_A_ROW {
        attention(format!("the last {row} attempts failed"));
    }
    if let (Some(used), Some(window)) = (facts.meter.used, facts.meter.window)
        && history.open.is_some()
        && window > 0
    {
        let share = used as f64 / window as f64;
        if share >= facts.config.limits.context_warn.get() {
            attention(format!("the context is {:.0} % full", share * 100.0));
        }
    }
    if let Some(limit) = budget(facts).max_cost {
        let share = history.cost / limit;
        if limit > 0.0 && share >= 0.8 {
            attention(format!("{:.0} % of the budget is spent", share * 100.0));
        }
    }
    let stuck = needs.iter().filter(|n| matches!(n.kind, "blocked" | "failed" | "decide")).count();
    if stuck > 0 {
        let (noun, verb) = if stuck == 1 { ("task", "needs") } else { ("tasks", "need") };
        attention(format!("{stuck} {noun} {verb} a person"));
    }
    let (stage, items) = plan::next(facts.plan);
    if stage == Stage::Blocked && items.iter().any(|item| matches!(item, Item::Stuck(..))) {
        attention("work is left, but none of it can go on".to_owned());
    }
    Health { word, why }
}
