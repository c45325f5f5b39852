//! When the knowledge index is brought up to date before an iteration: the first of four reasons.
//!
//! 1. the task asks for documentation,
//! 2. the task is about something that recent handoffs do not speak of,
//! 3. too many bytes of handoffs are not in the index,
//! 4. it has been too long.
//!
//! The last three need something that is not in the index yet: there is nothing to learn from
//! handoffs that it knows.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::terms::{task_terms, terms, texts};
use crate::config::MemorySettings;
use crate::cycle::UnindexedWork;
use crate::handoff::Handoff;
use crate::plan::Task;

/// Why the index is brought up to date, with the numbers that decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "trigger", rename_all = "snake_case")]
pub enum IndexTrigger {
    /// The task needs documentation, or names libraries.
    Metadata {
        /// Number of libraries that the task names.
        libraries: usize,
    },
    /// The task is new ground: too few of its terms are known from recent handoffs.
    Novelty {
        /// Share of the task's terms that recent handoffs use.
        #[serde(flatten)]
        overlap: TermOverlap,
        /// The ratio that this is below.
        threshold: f64,
    },
    /// Too much was handed over since the last time.
    Bytes {
        /// Size of the handoffs since the last update, in bytes.
        bytes: u64,
        /// The number that they are above.
        threshold: u32,
    },
    /// Enough iterations have passed since the last update.
    Periodic {
        /// Number of iterations since the last update.
        iterations: u32,
        /// The number that they have reached.
        interval: u32,
    },
}

/// Share of a task's terms that recent handoffs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TermOverlap {
    /// Terms of the task that occur in a handoff.
    #[serde(rename = "shared_terms")]
    pub shared: usize,
    /// Number of different terms in the task.
    #[serde(rename = "task_terms")]
    pub terms: usize,
}

impl TermOverlap {
    /// Return `shared / terms`.
    #[expect(clippy::cast_precision_loss, reason = "no task has 2^52 terms")]
    pub fn ratio(self) -> f64 {
        self.shared as f64 / self.terms as f64
    }
}

/// Whether the index is brought up to date before this task, and why. `recent` are the newest
/// handoffs, as many as `memory.novelty_recent_handoffs` says; more do not count.
pub fn trigger(
    task: &Task,
    recent: &[Handoff],
    unindexed: UnindexedWork,
    memory: &MemorySettings,
) -> Option<IndexTrigger> {
    if task.needs_docs || !task.libraries.is_empty() {
        return Some(IndexTrigger::Metadata { libraries: task.libraries.len() });
    }
    if unindexed.iterations == 0 {
        return None;
    }
    let count = usize::try_from(memory.novelty_recent_handoffs).unwrap_or(usize::MAX);
    let recent = recent.get(recent.len().saturating_sub(count)..).unwrap_or_default();
    let threshold = memory.novelty_overlap_threshold.get();
    if let Some(overlap) = overlap(task, recent)
        && overlap.ratio() < threshold
    {
        return Some(IndexTrigger::Novelty { overlap, threshold });
    }
    let (bytes, threshold) = (unindexed.bytes, memory.compaction_threshold_bytes);
    if bytes > threshold.into() {
        return Some(IndexTrigger::Bytes { bytes, threshold });
    }
    let (iterations, interval) = (unindexed.iterations, memory.compaction_interval);
    (iterations >= interval).then_some(IndexTrigger::Periodic { iterations, interval })
}

/// Compare a task with recent handoffs. Return `None` if there is nothing to compare.
pub fn overlap(task: &Task, recent: &[Handoff]) -> Option<TermOverlap> {
    let wanted = task_terms(task);
    if wanted.is_empty() || recent.is_empty() {
        return None;
    }
    // Only the task's terms are kept: a handoff may be of any size.
    let mut found = BTreeSet::new();
    for term in recent.iter().flat_map(texts).flat_map(terms) {
        if let Some(known) = wanted.get(&term) {
            found.insert(known.as_str());
        }
    }
    Some(TermOverlap { shared: found.len(), terms: wanted.len() })
}

impl fmt::Display for IndexTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Metadata { libraries: 0 } => write!(f, "the task needs documentation"),
            Self::Metadata { libraries: 1 } => write!(f, "the task names 1 library"),
            Self::Metadata { libraries } => write!(f, "the task names {libraries} libraries"),
            Self::Novelty { overlap, threshold } => write!(
                f,
                "the task is new ground: {} of its {} terms are known from recent handoffs \
                 ({:.2} < {threshold:.2})",
                overlap.shared,
                overlap.terms,
                overlap.ratio()
            ),
            Self::Bytes { bytes, threshold } => {
                write!(f, "{bytes} bytes of handoffs are not in the index (> {threshold})")
            }
            Self::Periodic { iterations, interval } => {
                write!(f, "{iterations} iterations are not in the index (>= {interval})")
            }
        }
    }
}

#[cfg(test)]
#[path = "trigger_tests.rs"]
mod tests;
