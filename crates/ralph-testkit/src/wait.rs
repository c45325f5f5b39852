//! Waiting for what another process does.

use std::time::{Duration, Instant};

/// Wait until something is so, but not for ever.
#[track_caller]
pub fn until(mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "it did not come to that");
        std::thread::sleep(Duration::from_millis(10));
    }
}
