//! Choice of the backend and the model of a stage, and of a fallback while a backend is limited.
//!
//! # Theory of operation
//!
//! Three places can name a backend: the command line, `[stages.X]` and the top level. The first
//! one wins. When none of them does, the host takes the first installed backend. A model belongs
//! to the backend named beside it: `model = "opus"` next to `backend = "claude"` says nothing
//! about codex. Therefore a fallback backend gets its own model (`[backends.NAME] model`) or none.
//!
//! When a backend reaches the limit of its account, ralph does not start it until the limit is
//! lifted. [`next`] returns the first backend that may run, or the moment to wait for.

use std::collections::BTreeMap;

use crate::config::{Config, StageName};

/// Seconds to wait for a limit when the program gave no time of its reset.
pub const UNKNOWN_WAIT: i64 = 15 * 60;

/// Least time between two tries at a limit, whatever the program said about its reset, in seconds.
pub const LEAST_WAIT: i64 = 60;

/// Backend and model given on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedBackend<'a> {
    pub backend: Option<&'a str>,
    pub model: Option<&'a str>,
}

/// The backend that is named for a stage; `None`: nobody named one. Without a stage, as for a try by
/// hand, only the top level counts.
pub fn backend<'a>(
    config: &'a Config,
    stage: Option<StageName>,
    asked: RequestedBackend<'a>,
) -> Option<&'a str> {
    let of_stage = stage.and_then(|stage| config.stages.get(&stage)?.backend.as_deref());
    asked.backend.or(of_stage).or(config.backend.as_deref())
}

/// Whether a backend was chosen, or stands in for the chosen one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendRole {
    Chosen,
    /// A backend from `fallback_backends`.
    Fallback,
}

/// The model to ask the backend `used` for; `None`: its own choice.
pub fn model<'a>(
    config: &'a Config,
    stage: Option<StageName>,
    asked: RequestedBackend<'a>,
    used: &str,
    role: BackendRole,
) -> Option<&'a str> {
    let beside = |backend: Option<&str>, model: Option<&'a str>| match (backend, role) {
        (Some(named), _) if named != used => None,
        (None, BackendRole::Fallback) => None,
        _ => model,
    };
    let stage = stage.and_then(|stage| config.stages.get(&stage));
    let of_stage = || stage.and_then(|s| beside(s.backend.as_deref(), s.model.as_deref()));
    let own = || config.backends.get(used)?.model.as_deref();
    beside(asked.backend, asked.model)
        .or_else(of_stage)
        .or_else(own)
        .or_else(|| beside(config.backend.as_deref(), config.model.as_deref()))
}

/// A limit that a backend met. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendUsageLimit {
    /// Moment at which the backend reported the limit.
    pub since: i64,
    /// When it is lifted, if the program said so.
    pub resets_at: Option<i64>,
    /// Message of the backend about the limit.
    pub reason: String,
}

impl BackendUsageLimit {
    /// When the backend may be tried again.
    pub fn until(&self) -> i64 {
        let reset = self.resets_at.unwrap_or(self.since.saturating_add(UNKNOWN_WAIT));
        // A reset that is past already would make a loop of tries that all meet the limit.
        if reset > self.since { reset } else { self.since.saturating_add(LEAST_WAIT) }
    }
}

/// Next step for a stage when some backends are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendSelection<B> {
    /// This backend may run now.
    Run(B),
    /// All are limited; this one is free first.
    Wait {
        backend: B,
        /// End of the wait, in seconds since 1970.
        until: i64,
    },
}

/// The first of `chosen` and then `fallbacks` that is not limited at `now`, else the one to wait for.
pub fn next<'a>(
    chosen: &'a str,
    fallbacks: impl IntoIterator<Item = &'a str>,
    limited: &BTreeMap<String, BackendUsageLimit>,
    now: i64,
) -> BackendSelection<&'a str> {
    let free_at = |name: &str| limited.get(name).map_or(i64::MIN, BackendUsageLimit::until);
    let mut first = (chosen, free_at(chosen));
    for name in fallbacks {
        // The order of preference decides between those that are free, and among equal waits.
        if first.1 <= now {
            break;
        }
        let until = free_at(name);
        if until < first.1 {
            first = (name, until);
        }
    }
    match first {
        (backend, until) if until > now => BackendSelection::Wait { backend, until },
        (backend, _) => BackendSelection::Run(backend),
    }
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
