//! Money of agents that work side by side: `max_cost` is exceeded by at most one call.
//!
//! Until three calls of a role have ended in the project, nobody knows what one costs, so each runs alone.
//! After that every open call reserves the highest cost of an ended one, and a call starts beside others
//! only when what is spent and reserved stays within the limit.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Ended calls of a role that tell what one costs.
const ENOUGH_CALLS: u32 = 3;

/// Sums of decimal fractions are slightly off, and that must not decide.
const TOLERANCE: f64 = 1e-9;

/// The limit of a run, and what its agents have spent of it.
pub(super) struct CostGuard {
    limit: Option<f64>,
    costs: Mutex<CostGuardTotals>,
    ended: Condvar,
}

/// Calls of one role that have ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EndedCalls {
    pub(super) count: u32,
    pub(super) highest_cost: f64,
}

struct CostGuardTotals {
    spent: f64,
    running: u32,
    calls: EndedCalls,
}

/// Leave to start one agent. Dropped without a cost, the agent counts as never started.
pub(super) struct CostReservation<'g> {
    guard: &'g CostGuard,
    cost: Option<f64>,
}

impl EndedCalls {
    pub(super) fn add(&mut self, cost: f64) {
        self.count += 1;
        self.highest_cost = self.highest_cost.max(cost);
    }
}

impl CostGuard {
    /// A guard for a run that has spent so much, in a project where these calls have ended.
    pub(super) fn new(limit: Option<f64>, spent: f64, calls: EndedCalls) -> Self {
        let costs = Mutex::new(CostGuardTotals { spent, running: 0, calls });
        Self { limit, costs, ended: Condvar::new() }
    }

    /// Wait until one more agent may start; `None` when the money is used up.
    pub(super) fn reserve(&self) -> Option<CostReservation<'_>> {
        let mut costs = self.costs();
        while let Some(limit) = self.limit {
            if costs.spent >= limit {
                return None;
            }
            if costs.running == 0 || costs.allow_another(limit) {
                break;
            }
            costs = self.ended.wait(costs).unwrap_or_else(PoisonError::into_inner);
        }
        costs.running += 1;
        Some(CostReservation { guard: self, cost: None })
    }

    fn costs(&self) -> MutexGuard<'_, CostGuardTotals> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CostGuardTotals {
    fn allow_another(&self, limit: f64) -> bool {
        let reserved = self.calls.highest_cost * f64::from(self.running + 1);
        self.calls.count >= ENOUGH_CALLS && self.spent + reserved <= limit + TOLERANCE
    }
}

impl CostReservation<'_> {
    /// The agent has ended and cost this, as far as known.
    pub(super) fn settle(mut self, cost: Option<f64>) {
        self.cost = Some(cost.unwrap_or(0.0));
    }
}

impl Drop for CostReservation<'_> {
    fn drop(&mut self) {
        let mut costs = self.guard.costs();
        costs.running = costs.running.saturating_sub(1);
        if let Some(cost) = self.cost {
            costs.spent += cost;
            costs.calls.add(cost);
        }
        drop(costs);
        self.guard.ended.notify_all();
    }
}
