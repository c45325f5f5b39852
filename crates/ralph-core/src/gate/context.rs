//! What the next attempt is told about the gates that this one failed.

use super::model::Check;
use super::verdict::{Blocker, Judged, Standing, Verdict};
use crate::text::clip;

/// How much of a gate's output is in the prompt, in characters.
pub const CONTEXT_CHARACTERS: usize = 500;

/// Most failures of a gate that are named.
const MOST_NAMES: usize = 20;
/// Longest name or message of a failure, in characters.
const LONGEST_NAME: usize = 200;

/// The failures that stand in the way, as markdown under `### Validation Failures`; empty when nothing
/// does.
pub fn failure_context(verdict: &Verdict) -> String {
    if verdict.passed() {
        return String::new();
    }
    let mut text = "### Validation Failures\n".to_owned();
    for blocker in &verdict.blockers {
        match blocker {
            Blocker::Gate(name) => {
                let judged = verdict.checks.iter().find(|judged| judged.check.name == *name);
                judged.into_iter().for_each(|judged| gate(judged, &mut text));
            }
            Blocker::Judges(paths) => {
                text.push_str(
                    "\nThese files decide what the gates find and must stay as they are:\n",
                );
                list(paths, &mut text);
            }
        }
    }
    let excused: Vec<&str> = verdict
        .with(|s| matches!(s, Standing::Old | Standing::Unclear(_) | Standing::Tolerated))
        .map(|check| check.name.as_str())
        .collect();
    if !excused.is_empty() {
        text.push_str(&format!(
            "\nAlso red, but not held against this task: {}\n",
            excused.join(", ")
        ));
    }
    text
}

fn gate(judged: &Judged, text: &mut String) {
    let Check { name, command, ending, log, .. } = &judged.check;
    text.push_str(&format!("\n**{name}**: `{}` ({})\n", command.trim(), ending.describe()));
    if let Standing::New(new) = &judged.standing
        && !new.is_empty()
    {
        text.push_str("\nFailing:\n");
        list(new, text);
    }
    let excerpt = clip(judged.check.excerpt.trim(), CONTEXT_CHARACTERS);
    if !excerpt.is_empty() {
        let fence = fence(&excerpt);
        text.push_str(&format!("\n{fence}text\n{excerpt}\n{fence}\n"));
    }
    if let Some(log) = log {
        text.push_str(&format!("\nThe whole output is in `{log}`.\n"));
    }
}

fn list(items: &[String], text: &mut String) {
    for item in items.iter().take(MOST_NAMES) {
        text.push_str(&format!("- {}\n", clip(item.trim(), LONGEST_NAME)));
    }
    if items.len() > MOST_NAMES {
        text.push_str(&format!("- … and {} more\n", items.len() - MOST_NAMES));
    }
}

/// A fence that the text itself cannot close.
fn fence(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}
