//! Dying on purpose, for the tests that prove that dying does no harm.
//!
//! With `RALPH_CRASH_POINT=N` in its environment, ralph kills itself with SIGKILL at the N-th point
//! it comes to. Points stand before and after everything that changes the world. Without the
//! variable a point costs one comparison.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// The variable that says at which point to die.
pub const CRASH_VARIABLE: &str = "RALPH_CRASH_POINT";

static WANTED: OnceLock<Option<u64>> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// A point at which ralph may be made to die.
pub fn point() {
    let wanted = WANTED.get_or_init(|| std::env::var(CRASH_VARIABLE).ok()?.parse().ok());
    let Some(wanted) = wanted else { return };
    if PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *wanted {
        // Nothing can be told any more, also not that this failed.
        let _dead = kill_process(getpid(), Signal::KILL);
    }
}
