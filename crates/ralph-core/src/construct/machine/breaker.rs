//! The breaker of construct: when more iterations would only burn money.
//!
//! Three things trip it, each over iterations in a row: nothing moved at all, everything that was
//! verified was rejected, or more work was left each time than the time before. A single task that is
//! rejected again and again has its own limit, so the second one is patient.

use crate::cycle::{BreakerTrip, ConstructIteration};

/// Iterations in a row in which nothing moved.
const STILL: usize = 3;
/// Iterations in a row in which something was rejected and nothing accepted.
const REJECTED: usize = 4;
/// Iterations in a row that left more work than the one before.
const GROWING: usize = 4;

/// Whether the construct should end, given the iterations that are over, oldest first.
pub(super) fn look(laps: &[ConstructIteration]) -> Option<BreakerTrip> {
    let laps: Vec<&ConstructIteration> = laps.iter().filter(|lap| lap.number > 0).collect();
    let in_a_row = |is: &dyn Fn(&ConstructIteration) -> bool| {
        laps.iter().rev().take_while(|lap| is(lap)).count()
    };
    let still = in_a_row(&|lap| !lap.came().is_progress());
    let rejected = in_a_row(&|lap| {
        let came = lap.came();
        came.accepted.is_empty() && !(came.rejected.is_empty() && came.failed.is_empty())
    });
    let pairs = laps.windows(2).rev();
    let growing = pairs.take_while(|pair| pair[1].left() > pair[0].left()).count();
    let (reason, count) = if still >= STILL {
        (format!("nothing moved in {still} iterations"), still)
    } else if rejected >= REJECTED {
        (format!("everything was rejected in {rejected} iterations"), rejected)
    } else if growing >= GROWING {
        (format!("more work was left after each of {growing} iterations"), growing)
    } else {
        return None;
    };
    let from = laps.len().saturating_sub(count);
    Some(BreakerTrip { reason, evidence: laps[from..].iter().map(|lap| line(lap)).collect() })
}

fn line(lap: &ConstructIteration) -> String {
    let came = lap.came();
    format!(
        "iteration {}: {} built, {} accepted, {} rejected, {} new, {} left",
        lap.number,
        came.built.len(),
        came.accepted.len(),
        came.rejected.len() + came.failed.len(),
        came.created.len() + came.raised.len(),
        lap.left()
    )
}
