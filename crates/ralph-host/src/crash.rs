//! Dying on purpose, for the tests that prove that dying does no harm.
//!
//! With `RALPH_CRASH_POINT=N` in its environment, ralph kills itself with SIGKILL at the N-th point
//! it comes to, and with `RALPH_CRASH_POINT=panic:N` it panics there. Points stand before and after everything that changes the world. Without the
//! variable a point costs one comparison.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// The variable that says at which point to die.
pub const CRASH_VARIABLE: &str = "RALPH_CRASH_POINT";

/// Ways in which a test lets ralph die.
#[derive(Clone, Copy)]
enum CrashKind {
    Kill,
    Panic,
}

static WANTED: OnceLock<Option<(CrashKind, u64)>> = OnceLock::new();
static PASSED: AtomicU64 = AtomicU64::new(0);

/// A point at which ralph may be made to die.
#[expect(clippy::panic, reason = "a test asks for it")]
pub fn point() {
    let wanted = WANTED.get_or_init(|| {
        let value = std::env::var(CRASH_VARIABLE).ok()?;
        Some(match value.strip_prefix("panic:") {
            Some(n) => (CrashKind::Panic, n.parse().ok()?),
            None => (CrashKind::Kill, value.parse().ok()?),
        })
    });
    let Some((death, wanted)) = wanted else { return };
    if PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *wanted {
        match death {
            // Nothing can be told any more, also not that this failed.
            CrashKind::Kill => _ = kill_process(getpid(), Signal::KILL),
            CrashKind::Panic => std::panic::panic_any("a test wants it"),
        }
    }
}
