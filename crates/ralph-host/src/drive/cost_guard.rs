//! Money of agents that work side by side: nobody starts when what is spent, and what the running ones
//! are expected to cost, has used up the limit.
//!
//! A call is expected to cost as much as the dearest one so far. Before the first one has ended nobody
//! knows, so with a limit it runs alone. Hence the limit is exceeded by one call at most, as long as
//! calls cost what is expected.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The limit of a run, and what its agents have spent of it.
pub(super) struct CostGuard {
    limit: Option<f64>,
    costs: Mutex<Costs>,
    ended: Condvar,
}

struct Costs {
    spent: f64,
    running: u32,
    expected: Option<f64>,
}

/// Leave to start one agent. Dropped without a cost, it counts as one that cost nothing.
pub(super) struct Reservation<'g> {
    guard: &'g CostGuard,
    cost: f64,
}

impl CostGuard {
    /// A run with this limit that has spent so much.
    pub(super) fn new(limit: Option<f64>, spent: f64) -> Self {
        let costs = Mutex::new(Costs { spent, running: 0, expected: None });
        Self { limit, costs, ended: Condvar::new() }
    }

    /// Wait until one more agent may start; `None` when the money is used up.
    pub(super) fn reserve(&self) -> Option<Reservation<'_>> {
        let mut costs = self.costs();
        while let Some(limit) = self.limit {
            if costs.spent >= limit {
                return None;
            }
            let open = costs.expected.map(|each| costs.spent + each * f64::from(costs.running));
            if costs.running == 0 || open.is_some_and(|sum| sum < limit) {
                break;
            }
            costs = self.ended.wait(costs).unwrap_or_else(PoisonError::into_inner);
        }
        costs.running += 1;
        Some(Reservation { guard: self, cost: 0.0 })
    }

    fn costs(&self) -> MutexGuard<'_, Costs> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation<'_> {
    /// The agent has ended and cost this, as far as known.
    pub(super) fn settle(mut self, cost: Option<f64>) {
        self.cost = cost.unwrap_or(0.0);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut costs = self.guard.costs();
        costs.running = costs.running.saturating_sub(1);
        costs.spent += self.cost;
        costs.expected = Some(costs.expected.map_or(self.cost, |most| most.max(self.cost)));
        drop(costs);
        self.guard.ended.notify_all();
    }
}
