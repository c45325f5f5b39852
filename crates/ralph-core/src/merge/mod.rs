//! Three-way merges of ledger files: the run's copy and a person's file, given what both came from.
//!
//! # Theory of operation
//!
//! Names as in git: `base` is the common ancestor, `ours` is what ralph wrote since, `theirs` is what a
//! person wrote since. Text is merged line by line ([`merge_text`]): where both changed the same lines,
//! theirs stay and ours that are new follow. JSON that this would break is merged by value. A plan is
//! merged twice ([`merge_plan`]): its text by lines, which keeps everything that ralph does not model,
//! and its tasks and issues by id, which says what the text has to mean. Where the two differ, the codec
//! edits the text until they agree.

mod json_values;
mod lines;
mod plan;
mod standing;

pub use lines::{ConflictRule, merge_lines};
pub use plan::{MergedPlan, PlanChange, PlanMergeError, PlanSides, StatusRule, merge_plan};

/// Merge a file that is not a plan; `name` says whether it is JSON. `None`: it is JSON, and one side
/// cannot be read.
pub fn merge_text(name: &str, base: &str, ours: &str, theirs: &str) -> Option<String> {
    let merged = merge_lines(base, ours, theirs, ConflictRule::KeepBoth);
    if !name.ends_with(".json") {
        return Some(merged);
    }
    let is_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    match ours == base || theirs == base || ours == theirs {
        true => is_json(&merged).then_some(merged),
        false => json_values::merge_json(base, ours, theirs),
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
