//! Choice of the rule for a prompt, with the task and the number of the attempt.

use super::fault::hash;
use super::scenario::{Scenario, ScenarioRule, ScenarioStep};

/// The header below which a prompt names its task.
const TASK_SECTION: &str = "## Current Task";

/// A prompt that begins so asks for a compaction and is no work.
pub const COMPACT: &str = "/compact";

/// Rule chosen for a prompt, with its task and its attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenRule {
    pub rule: ScenarioRule,
    /// The name of the counter of its attempts.
    pub counter: String,
    /// Number of the attempt, counted from 1.
    pub attempt: u64,
    /// Id of the task, or `none` if the prompt names no task.
    pub task: String,
}

/// The first rule that fits. `counted` says how often a counter was used before.
pub fn choose(
    scenario: &Scenario,
    prompt: &str,
    counted: &mut dyn FnMut(&str) -> u64,
) -> ChosenRule {
    let task = task_of(prompt).unwrap_or("none").to_owned();
    let compacting = is_compaction(prompt);
    for rule in &scenario.rules {
        if compacting && !rule.when.iter().any(|text| text.contains(COMPACT)) {
            continue;
        }
        if !rule.task.is_empty() && !rule.task.contains(&task) {
            continue;
        }
        if !rule.when.iter().all(|text| prompt.contains(text.as_str()))
            || rule.unless.iter().any(|text| prompt.contains(text.as_str()))
        {
            continue;
        }
        let counter = counter(rule, &task);
        let attempt = counted(&counter).saturating_add(1);
        if rule.attempt.contains(attempt) {
            return ChosenRule { rule: rule.clone(), counter, attempt, task };
        }
    }
    let step = if compacting {
        ScenarioStep::Compact(90, 20)
    } else {
        ScenarioStep::Say("No rule of the scenario is for this prompt.".into())
    };
    let rule = ScenarioRule { steps: vec![step], ..ScenarioRule::default() };
    let counter = counter(&rule, &task);
    let attempt = counted(&counter).saturating_add(1);
    ChosenRule { rule, counter, attempt, task }
}

/// Whether a prompt asks for a compaction.
pub(super) fn is_compaction(prompt: &str) -> bool {
    prompt.trim_start().starts_with(COMPACT)
}

/// Rules with the same condition count together, for each task on its own. The name is short and
/// has only letters, digits, `-` and `_`, so that it can be a file's.
fn counter(rule: &ScenarioRule, task: &str) -> String {
    let mut parts = vec![task, "task"];
    parts.extend(rule.task.iter().map(String::as_str));
    parts.push("when");
    parts.extend(rule.when.iter().map(String::as_str));
    parts.push("unless");
    parts.extend(rule.unless.iter().map(String::as_str));
    format!("{task}-{:016x}", hash(&parts))
}

/// The id of the task that a prompt is about: the first one below its task header, where any name
/// that ends in a number may be one (`user-avatar-1`), or else the first `t-1a2b` or `T-001` anywhere.
pub fn task_of(prompt: &str) -> Option<&str> {
    let section = prompt.find(TASK_SECTION).and_then(|at| prompt.get(at + TASK_SECTION.len()..));
    let numbered = |word: &str| is_id(word) || is_numbered(word);
    section.and_then(|text| first(text, numbered)).or_else(|| first(prompt, is_id))
}

fn first(text: &str, fits: impl Fn(&str) -> bool) -> Option<&str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.split(|c: char| !inside(c)).find(|word| fits(word))
}

fn is_id(word: &str) -> bool {
    let Some((head, tail)) = word.split_once('-') else { return false };
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    match head {
        "t" | "i" => (4..=10).contains(&tail.len()) && tail.chars().all(small),
        "T" | "TASK" => !tail.is_empty() && tail.chars().all(|c| c.is_ascii_digit()),
        _ => false,
    }
}

fn is_numbered(word: &str) -> bool {
    let Some((head, tail)) = word.rsplit_once('-') else { return false };
    head.starts_with(|c: char| c.is_ascii_alphabetic())
        && !tail.is_empty()
        && tail.chars().all(|c| c.is_ascii_digit())
}
