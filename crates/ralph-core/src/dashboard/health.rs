//! Health of the loop: one word, with the reasons for it.

use super::state::{DashboardSources, HealthWord, LoopHealth, LoopNow, LoopStatus, budget};
use crate::cycle::{AttemptState, AttemptView, LoopEnd};
use crate::needs::{Need, NeedKind};
use crate::plan::{self, Stage, StageItem};

/// Failures in a row, over all tasks, that are worth a look.
const IN_A_ROW: usize = 3;

/// Also while an attempt goes on to its end.
const PAUSED: &str = "paused by the operator";

/// Return the health of the loop with the reasons for it.
pub(super) fn health(facts: &DashboardSources<'_>, run: &LoopNow, needs: &[Need]) -> LoopHealth {
    let history = facts.sources.history;
    let mut why = Vec::new();
    let mut word = match run.status {
        LoopStatus::Running => HealthWord::Healthy,
        LoopStatus::Never => HealthWord::Idle,
        LoopStatus::Ended
            if history.run_end.as_ref().is_some_and(|run| run.end == LoopEnd::Complete) =>
        {
            HealthWord::Idle
        }
        LoopStatus::Paused => {
            why.push(PAUSED.to_owned());
            HealthWord::Attention
        }
        LoopStatus::Waiting => {
            why.push(run.words.clone());
            HealthWord::Attention
        }
        LoopStatus::Ended | LoopStatus::Crashed => {
            why.push(run.words.clone());
            HealthWord::Stopped
        }
    };
    let failed = |view: &&AttemptView| view.fate.failure().is_some();
    let ended = history.attempts.iter().rev().filter(|view| view.fate != AttemptState::Open);
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
    let stuck = needs.iter().filter(|need| need.kind.is_stuck_work()).count();
    if stuck > 0 {
        let (noun, verb) = if stuck == 1 { ("task", "needs") } else { ("tasks", "need") };
        attention(format!("{stuck} {noun} {verb} a person"));
    }
    let (stage, items) = plan::next(facts.sources.plan);
    if stage == Stage::Blocked && items.iter().any(|item| matches!(item, StageItem::Stuck { .. })) {
        attention("work is left, but none of it can go on".to_owned());
    }
    let damaged = needs.iter().filter(|need| need.kind == NeedKind::Damaged);
    for need in damaged {
        word = HealthWord::Stopped;
        why.push(need.text.clone());
    }
    LoopHealth { word, why }
}
