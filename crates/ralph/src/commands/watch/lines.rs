//! Events and attempts as lines of the screen.

use ralph_core::cycle::{AttemptSummary, Event, History, check_words, claim_words, failing_lines};
use ralph_core::plan::{Id, Lookup, Plan, TombstoneKind, Trust, obstacle};
use ralph_face::{Line, Style, words};

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
    let (word, message) = in_words(event);
    Line::of(Style::Faint, format!("{time} "))
        .add(style, word)
        .hang_here()
        .add(Style::Plain, format!(": {message}"))
}

/// Who or what an event is about, and what it says.
fn in_words(event: &Event) -> (String, String) {
    let text = |key: &str| event.metadata[key].as_str().unwrap_or_default();
    let message = event.message.as_str();
    let word = match event.event.as_str() {
        "orchestrator_start" | "waiting" | "wait_end" => "loop",
        "orchestrator_end" => return ("loop".to_owned(), format!("ended: {message}")),
        "command_ignored" => "ignored",
        "iteration_start" => {
            let number = &event.metadata["iteration"];
            let message = format!("{} begins with {}", text("task_id"), text("backend"));
            return (format!("[{number}]"), message);
        }
        "iteration_end" => {
            let said = message.split_once(": ").map_or(message, |(_, said)| said);
            let result = text("result");
            let why = if said == result { String::new() } else { format!(": {said}") };
            let message = format!("{} {result}{why}", text("task_id"));
            return (format!("[{}]", event.metadata["iteration"]), message);
        }
        "backend_end" => "backend",
        "gate_start" | "gate_end" => "gate",
        "validation_pass" | "validation_fail" => {
            let said = message.strip_prefix("gates ").unwrap_or(message);
            return ("gates".to_owned(), said.to_owned());
        }
        "pause" | "resume" | "stop" | "kill-attempt" => "operator",
        other => return (other.replace('_', " "), message.to_owned()),
    };
    (word.to_owned(), message.to_owned())
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
    } else if let Some(stone) = lookup.tombstone(&Id::new(id)) {
        lines.extend(stone.name.iter().map(|name| Line::of(Style::Strong, name)));
        lines.extend(stone.reason.iter().map(|reason| field(fate(stone.kind), reason)));
    }
    let running = context.running();
    let attempts: Vec<AttemptSummary> =
        history.of_task(id).map(|view| view.summary(&running)).collect();
    if attempts.is_empty() {
        lines.push(Line::of(Style::Faint, "it was not tried yet"));
    }
    lines.extend(attempts.iter().flat_map(of_attempt));
    if let Some(last) = attempts.iter().rev().find(|attempt| attempt.fate.kept().is_some()) {
        lines.push(Line::new());
        lines.push(Line::of(Style::Strong, format!("patch of iteration {}", last.iteration)));
        match details::patch(context, last) {
            Ok(patch) => lines.extend(of_patch(&String::from_utf8_lossy(&patch))),
            Err(e) => lines.push(Line::of(Style::Caution, e.told())),
        }
    }
    lines
}

/// What became of a task that left the plan.
fn fate(kind: TombstoneKind) -> &'static str {
    match kind {
        TombstoneKind::Accept => "accepted",
        TombstoneKind::Reject => "rejected",
        TombstoneKind::Delete => "skipped",
    }
}

fn field(name: &str, text: &str) -> Line {
    Line::of(Style::Faint, format!("{name:<9}")).hang_here().add(Style::Plain, text)
}

fn of_attempt(attempt: &AttemptSummary) -> Vec<Line> {
    let style = match &attempt.fate {
        fate if fate.is_landed() => Style::Good,
        fate if fate.failure().is_some() => Style::Bad,
        _ => Style::Caution,
    };
    let took = attempt.duration_ms.map(words::took);
    let cost = took.map(|took| format!(", {}, {took}", words::cost(attempt.cost_usd)));
    let mut lines = vec![
        Line::new(),
        Line::of(Style::Strong, format!("[{}] ", attempt.iteration))
            .add(style, &attempt.words)
            .add(Style::Plain, format!("  {}{}", attempt.backend, cost.unwrap_or_default())),
    ];
    lines.extend(attempt.fate.failure().map(|failure| field("why", &failure.told())));
    lines.extend(attempt.claim.as_ref().map(|claim| field("claim", &claim_words(claim))));
    if !attempt.summary.is_empty() {
        lines.push(field("summary", &attempt.summary));
    }
    for check in attempt.checks() {
        lines.push(field("gate", &format!("{}: {}", check.name, check_words(check))));
        lines.extend(failing_lines(check).into_iter().map(|line| field("", line)));
    }
    lines
}

/// A patch without what ralph itself wrote, which has names of its own.
fn of_patch(patch: &str) -> Vec<Line> {
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
            lines.push(Line::of(Style::Caution, "… `ralph show --diff` has the rest"));
            break;
        }
        let style = match line.as_bytes().first() {
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            Some(b'@') => Style::Caution,
            Some(b' ') => Style::Plain,
            _ => Style::Strong,
        };
        lines.push(Line::of(style, line.replace('\t', "    ")));
    }
    if own > 0 {
        let files = words::count(own, "file");
        lines.push(Line::of(Style::Faint, format!("and {files} of ralph's own")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_told_in_the_words_of_people() {
        let told = |word: &str, message: &str, metadata| {
            let event = Event {
                timestamp: "2025-01-20T10:30:00Z".into(),
                event: word.into(),
                message: message.into(),
                metadata,
            };
            of_event(&event).text()
        };
        let start = json!({"iteration": 3, "task_id": "t-1", "backend": "sim"});
        assert_eq!(told("iteration_start", "x", start), "10:30:00 [3]: t-1 begins with sim");
        let end = json!({"iteration": 3, "task_id": "t-1", "result": "landed"});
        assert_eq!(told("iteration_end", "Iteration 3: landed", end), "10:30:00 [3]: t-1 landed");
        let end = json!({"iteration": 3, "task_id": "t-1", "result": "failed"});
        let failed = told("iteration_end", "Iteration 3: test failed", end);
        assert_eq!(failed, "10:30:00 [3]: t-1 failed: test failed");
        assert_eq!(
            told("gate_end", "test passed in 2s", json!({})),
            "10:30:00 gate: test passed in 2s"
        );
        assert_eq!(told("pause", "pause", json!({})), "10:30:00 operator: pause");
        assert_eq!(told("note", "be brief", json!({})), "10:30:00 note: be brief");
    }

    #[test]
    fn a_patch_shows_the_work_and_only_counts_what_ralph_wrote() {
        let patch = "diff --git a/.ralph/log.md b/.ralph/log.md\nindex 1..2\n+mine\n\
            diff --git a/src/a.c b/src/a.c\nindex 1..2\n@@ -1 +1 @@\n-old\n+new\n";
        let told: Vec<String> = of_patch(patch).iter().map(Line::text).collect();
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
