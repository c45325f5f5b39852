//! View model of the dashboards, computed from everything that is known about a project.
//!
//! # Theory of operation
//!
//! ```text
//! History, Plan, inbox, Config, the backend's meter --state--> State    what runs now, and how well
//!                                                   --board--> Board    tasks, what they wait for
//! History, Timeline                               --numbers--> Numbers  what it cost, what it took
//! ```
//!
//! Every dashboard renders these types, and none of them reads a ledger file itself. As JSON the
//! types are the API of `ralph serve`, and its OpenAPI file has their schemas. [`command`] checks
//! the requests that a dashboard may send: it accepts the listed commands and nothing else.
//! [`redact`] hides secrets in all text that leaves the program.

mod agents;
mod board;
pub mod command;
mod gates;
mod health;
mod numbers;
pub mod redact;
mod state;
mod timeline;

pub use crate::needs::{LoopProcess, Need};
pub use agents::{AgentRow, AgentRows, SpecNow, StageRow, spec_now};
pub use board::{TaskBoard, TaskCard, TaskEvent, TaskPage, board, task_page};
pub use gates::{GateNow, GateState};
pub use numbers::{NumbersGroup, NumbersPoint, WorkNumbers, numbers};
pub use state::{
    AttemptNow, BackendMeter, ContextNow, CostNow, DashboardSources, DashboardState, HealthWord,
    LoopHealth, LoopNow, LoopStatus, UNREADABLE, state,
};
pub use timeline::{SpanKind, Timeline, TimelineSpan};

/// A moment in seconds since 1970.
fn seconds(at: &str) -> Option<i64> {
    at.trim().parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

/// Seconds from one moment to another; a clock that was set back gives none.
fn between(from: &str, to: &str) -> Option<u64> {
    u64::try_from(seconds(to)?.checked_sub(seconds(from)?)?).ok()
}

#[cfg(test)]
#[path = "dashboard_tests.rs"]
mod tests;
