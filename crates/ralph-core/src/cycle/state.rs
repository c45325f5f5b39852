//! `.ralph/state.json`: where the loop stands, for programs that know seed tools' eight fields.
//!
//! It is a view of the journal and never read back. Its status has six words; ralph's loops end in
//! more ways, and those that leave work for later are all told as `paused`. Which one it was is in the
//! last `orchestrator_end` of the event stream.

use serde::Serialize;

use super::build::LoopEnd;
use super::history::History;

/// The fields of the file, in its order.
#[derive(Clone, Debug, Serialize)]
pub struct StateFile<'h> {
    current_iteration: u32,
    /// The last task that was worked on.
    last_task_id: Option<&'h str>,
    status: StateFileStatus,
    mode: &'h str,
    /// When the last run began, RFC 3339.
    started_at: Option<&'h str>,
    /// Bytes of handoffs that the knowledge index does not know.
    total_handoff_bytes_since_compaction: u64,
    /// Backend runs that the knowledge index does not know.
    coding_iterations_since_compaction: u32,
    /// The last iteration that the knowledge index knows.
    last_compaction_iteration: u32,
}

/// Status of the loop as `state.json` says it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum StateFileStatus {
    /// The loop runs, or it crashed before it could record its end.
    Running,
    /// All tasks are done or skipped, proven, and have arrived.
    Complete,
    /// Tasks are left, but none of them can run.
    Blocked,
    MaxIterationsReached,
    Interrupted,
    /// The loop ended with work left. It waits for a person or for a new start.
    Paused,
}

/// Return the content of `state.json`, or `None` before the first run.
pub fn state_of(history: &History) -> Option<StateFile<'_>> {
    history.run.as_ref().map(|run| StateFile {
        current_iteration: history.iteration,
        last_task_id: history.last_task.as_deref(),
        status: status(history),
        mode: &run.mode,
        started_at: history.run_at.as_deref(),
        total_handoff_bytes_since_compaction: history.unindexed.bytes,
        coding_iterations_since_compaction: history.unindexed.iterations,
        last_compaction_iteration: history.unindexed.since,
    })
}

fn status(history: &History) -> StateFileStatus {
    match history.run_end.as_ref().map(|run| &run.end) {
        None if history.paused => StateFileStatus::Paused,
        None => StateFileStatus::Running,
        Some(LoopEnd::Complete) => StateFileStatus::Complete,
        Some(LoopEnd::Blocked { .. } | LoopEnd::Breaker(_) | LoopEnd::FalseDone) => {
            StateFileStatus::Blocked
        }
        Some(LoopEnd::MaxIterations(_)) => StateFileStatus::MaxIterationsReached,
        Some(LoopEnd::Interrupted(_)) => StateFileStatus::Interrupted,
        Some(_) => StateFileStatus::Paused,
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
