//! What was kept for long enough goes, at the end of a run and when somebody asks for it.

use jiff::Timestamp;
use ralph_core::config::Config;
use ralph_core::cycle::History;

use super::session::Session;
use crate::git::{Retire, Underway};

/// What the configuration keeps no longer, at this moment.
pub fn retirement(config: &Config, now: Timestamp) -> Retire {
    let age = i64::try_from(config.retention.salvage.get().as_secs()).unwrap_or(i64::MAX);
    Retire::Before(now.as_second().saturating_sub(age))
}

/// Whether an attempt is open.
pub fn underway(history: &History) -> Underway {
    if history.open.is_some() { Underway::Attempt } else { Underway::Nothing }
}

impl Session<'_> {
    /// Let go of old salvage. What cannot be removed is no reason to fail.
    pub(super) fn tidy(&mut self) {
        let rule = retirement(&self.config, self.clock.now());
        let done = self
            .repo
            .retired(rule, underway(&self.history))
            .and_then(|retired| self.repo.retire(&retired));
        if let Err(e) = done {
            self.warn(&format!("old salvage is still there: {e}"));
        }
    }
}
