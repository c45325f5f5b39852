//! Events and attempts as lines of the screen.

use ralph_core::cycle::{
    AttemptState, AttemptSummary, EventKind, History, LoopEvent, failing_lines,
};
use ralph_core::plan::{DependencyTrust, Id, Plan, PlanLookup, TombstoneKind, obstacle};
use ralph_face::{ScreenLine, ScreenStyle, words};

use super::details;
use crate::context::CommandContext;

/// Most lines of a patch that are shown.
const PATCH: usize = 5000;

pub(super) fn of_event(event: &LoopEvent<'_>) -> ScreenLine {
    let kind = &event.kind;
    let style = match kind {
        EventKind::ValidationFail(_)
        | EventKind::HumanReviewRequested(_)
        | EventKind::CommandIgnored(_)
        | EventKind::CommandRefused(_)
        | EventKind::Warning(_) => ScreenStyle::Caution,
        EventKind::GateEnd(end) if !end.passed => ScreenStyle::Caution,
        EventKind::Pause(_)
        | EventKind::Resume(_)
        | EventKind::Note(_)
        | EventKind::SkipTask(_)
        | EventKind::Stop(_)
        | EventKind::KillAttempt(_) => ScreenStyle::Strong,
        _ => ScreenStyle::Faint,
    };
    let time = event.timestamp.get(11..19).unwrap_or_default();
    let (word, message) = in_words(kind);
    ScreenLine::of(ScreenStyle::Faint, format!("{time} "))
        .add(style, word)
        .hang_here()
        .add(ScreenStyle::Plain, format!(": {message}"))
}

/// Return the subject and the text of an event.
fn in_words(kind: &EventKind<'_>) -> (String, String) {
    let word = match kind {
        EventKind::OrchestratorStart(_) | EventKind::Waiting(_) | EventKind::WaitEnd(_) => "loop",
        EventKind::OrchestratorEnd(end) => {
            return ("loop".to_owned(), format!("ended: {}", end.reason));
        }
        EventKind::CommandIgnored(_) | EventKind::CommandRefused(_) => "ignored",
        EventKind::IterationStart(started) => {
            let message = format!("{} begins with {}", started.task, started.backend);
            return (format!("[{}]", started.iteration), message);
        }
        EventKind::IterationEnd(end) => {
            let result = match end.fate {
                AttemptState::Landed { .. } | AttemptState::Open | AttemptState::Interrupted => {
                    "landed".to_owned()
                }
                AttemptState::Limited => "limited: usage limit".to_owned(),
                AttemptState::Failed { failure, .. } => format!("failed: {}", failure.message),
            };
            return (format!("[{}]", end.iteration), format!("{} {result}", end.task_id));
        }
        EventKind::BackendEnd(_) => "backend",
        EventKind::GateStart(_) | EventKind::GateEnd(_) => "gate",
        EventKind::ValidationPass(_) | EventKind::ValidationFail(_) => "gates",
        EventKind::Pause(_)
        | EventKind::Resume(_)
        | EventKind::Stop(_)
        | EventKind::KillAttempt(_) => "operator",
        other => return (other.name().replace('_', " "), other.to_string()),
    };
    (word.to_owned(), kind.to_string())
}

pub(super) fn of_task(
    context: &CommandContext,
    plan: &Plan,
    history: &History,
    id: &str,
) -> Vec<ScreenLine> {
    let mut lines = Vec::new();
    let lookup = PlanLookup::new(plan);
    if let Some(task) = lookup.task(&Id::new(id)) {
        lines.push(ScreenLine::of(ScreenStyle::Strong, &task.name));
        if let Some(why) = obstacle(task, &lookup, DependencyTrust::Verified) {
            lines.push(ScreenLine::of(ScreenStyle::Caution, format!("in the way: {why}")));
        }
        lines.extend(task.accept.iter().map(|text| field("accept", text)));
        lines.extend(
            task.notes.iter().flat_map(|text| text.lines()).map(|text| field("notes", text)),
        );
    } else if let Some(stone) = lookup.tombstone(&Id::new(id)) {
        lines.extend(stone.name.iter().map(|name| ScreenLine::of(ScreenStyle::Strong, name)));
        lines.extend(stone.reason.iter().map(|reason| field(fate(stone.kind), reason)));
    }
    let running = context.running();
    let attempts: Vec<AttemptSummary> =
        history.of_task(id).map(|view| view.summary(&running)).collect();
    if attempts.is_empty() {
        lines.push(ScreenLine::of(ScreenStyle::Faint, "it was not tried yet"));
    }
    lines.extend(attempts.iter().flat_map(of_attempt));
    if let Some(last) = attempts.iter().rev().find(|attempt| attempt.fate.kept().is_some()) {
        lines.push(ScreenLine::new());
        lines.push(ScreenLine::of(
            ScreenStyle::Strong,
            format!("patch of iteration {}", last.started.iteration),
        ));
        match details::patch(context, last) {
            Ok(patch) => lines.extend(of_patch(&String::from_utf8_lossy(&patch))),
            Err(e) => lines.push(ScreenLine::of(ScreenStyle::Caution, e.told())),
        }
    }
    lines
}

/// Return the word for the way in which a task left the plan.
fn fate(kind: TombstoneKind) -> &'static str {
    match kind {
        TombstoneKind::Accept => "accepted",
        TombstoneKind::Reject => "rejected",
        TombstoneKind::Delete => "skipped",
    }
}

fn field(name: &str, text: &str) -> ScreenLine {
    ScreenLine::of(ScreenStyle::Faint, format!("{name:<9}"))
        .hang_here()
        .add(ScreenStyle::Plain, text)
}

fn of_attempt(attempt: &AttemptSummary) -> Vec<ScreenLine> {
    let style = match &attempt.fate {
        fate if fate.is_landed() => ScreenStyle::Good,
        fate if fate.failure().is_some() => ScreenStyle::Bad,
        _ => ScreenStyle::Caution,
    };
    let took = attempt.duration_ms.map(words::took);
    let cost = took.map(|took| format!(", {}, {took}", words::cost(attempt.cost_usd)));
    let mut lines = vec![
        ScreenLine::new(),
        ScreenLine::of(ScreenStyle::Strong, format!("[{}] ", attempt.started.iteration))
            .add(style, &attempt.words)
            .add(
                ScreenStyle::Plain,
                format!("  {}{}", attempt.started.backend, cost.unwrap_or_default()),
            ),
    ];
    lines.extend(attempt.fate.failure().map(|failure| field("why", &failure.told())));
    lines.extend(attempt.claim.as_ref().map(|claim| field("claim", &claim.to_string())));
    if !attempt.summary.is_empty() {
        lines.push(field("summary", &attempt.summary));
    }
    for check in attempt.checks() {
        lines.push(field("gate", &format!("{}: {}", check.name, check.standing)));
        lines.extend(failing_lines(check).into_iter().map(|line| field("", &line)));
    }
    lines
}

/// A patch without what ralph itself wrote, which has names of its own.
fn of_patch(patch: &str) -> Vec<ScreenLine> {
    let (mut lines, mut own, mut is_own) = (Vec::new(), 0, false);
    for line in patch.lines() {
        if line.starts_with("diff --git ") {
            let name = line.rsplit(" b/").next().unwrap_or_default();
            is_own = name.starts_with(".ralph/") || name.starts_with("ralph/");
            own += usize::from(is_own);
        }
        if is_own || line.starts_with("index ") {
            continue;
        }
        if lines.len() == PATCH {
            lines.push(ScreenLine::of(ScreenStyle::Caution, "… `ralph show --diff` has the rest"));
            break;
        }
        let style = match line.as_bytes().first() {
            Some(b'+') => ScreenStyle::Good,
            Some(b'-') => ScreenStyle::Bad,
            Some(b'@') => ScreenStyle::Caution,
            Some(b' ') => ScreenStyle::Plain,
            _ => ScreenStyle::Strong,
        };
        lines.push(ScreenLine::of(style, line.replace('\t', "    ")));
    }
    if own > 0 {
        let files = words::count(own, "file");
        lines.push(ScreenLine::of(ScreenStyle::Faint, format!("and {files} of ralph's own")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use ralph_core::control::{LoopCommand, OperatorCommand};
    use ralph_core::cycle::{AttemptStart, GateEnd, GateStart, GateTree};

    use super::*;

    #[test]
    fn events_are_told_in_the_words_of_people() {
        let told = |kind| of_event(&LoopEvent { timestamp: "2025-01-20T10:30:00Z", kind }).text();
        let started = AttemptStart {
            iteration: 3,
            task: "t-1".into(),
            backend: "sim".into(),
            ..AttemptStart::default()
        };
        let begins = told(EventKind::IterationStart(&started));
        assert_eq!(begins, "10:30:00 [3]: t-1 begins with sim");
        let start = GateStart { attempt: "a".into(), gate: "test".into(), on: GateTree::Result };
        let end = GateEnd { start, passed: true, took_ms: 2000 };
        assert_eq!(told(EventKind::GateEnd(&end)), "10:30:00 gate: test passed in 2.0s");
        let pause = OperatorCommand::new("1", &LoopCommand::Pause);
        assert_eq!(told(EventKind::Pause(&pause)), "10:30:00 operator: pause");
        let note = OperatorCommand::new("1", &LoopCommand::Note("be brief".into()));
        assert_eq!(told(EventKind::Note(&note)), "10:30:00 note: be brief");
    }

    #[test]
    fn a_patch_shows_the_work_and_only_counts_what_ralph_wrote() {
        let patch = "diff --git a/.ralph/log.md b/.ralph/log.md\nindex 1..2\n+mine\n\
            diff --git a/src/a.c b/src/a.c\nindex 1..2\n@@ -1 +1 @@\n-old\n+new\n";
        let told: Vec<String> = of_patch(patch).iter().map(ScreenLine::text).collect();
        assert_eq!(
            told,
            [
                "diff --git a/src/a.c b/src/a.c",
                "@@ -1 +1 @@",
                "-old",
                "+new",
                "and 1 file of ralph's own"
            ]
        );
    }
}
