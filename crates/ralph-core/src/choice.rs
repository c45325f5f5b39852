//! Which backend and which model run a stage, and who goes on while one is limited.
//!
//! # Theory of operation
//!
//! Three places name a backend, the first one wins: the command line, `[stages.X]`, the top level.
//! When none does, the host takes the first one that is installed. A model goes with the backend that
//! is named beside it: `model = "opus"` next to `backend = "claude"` says nothing about codex. So a
//! fallback backend is asked for its own model (`[backends.NAME] model`) or for none.
//!
//! A backend that met the limit of its account is left alone until the limit is lifted. [`next`]
//! gives the first backend that may run, or the moment to wait for.

use std::collections::BTreeMap;

use crate::config::{Config, StageName};

/// How long a limit is waited for when nobody said when it is lifted, in seconds.
pub const UNKNOWN_WAIT: i64 = 15 * 60;

/// Least time between two tries at a limit, whatever the program said about its reset, in seconds.
pub const LEAST_WAIT: i64 = 60;

/// What was asked for on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The backend.
    pub backend: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
}

/// The backend that is named for a stage; `None`: nobody named one. Without a stage, as for a try by
/// hand, only the top level counts.
pub fn backend<'a>(
    config: &'a Config,
    stage: Option<StageName>,
    asked: Asked<'a>,
) -> Option<&'a str> {
    let of_stage = stage.and_then(|stage| config.stages.get(&stage)?.backend.as_deref());
    asked.backend.or(of_stage).or(config.backend.as_deref())
}

/// Whether a backend was chosen, or stands in for the chosen one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that was chosen.
    Chosen,
    /// One of `fallback_backends`.
    Fallback,
}

/// The model to ask the backend `used` for; `None`: its own choice.
pub fn model<'a>(
    config: &'a Config,
    stage: Option<StageName>,
    asked: Asked<'a>,
    used: &str,
    role: Role,
) -> Option<&'a str> {
    let beside = |backend: Option<&str>, model: Option<&'a str>| match (backend, role) {
        (Some(named), _) if named != used => None,
        (None, Role::Fallback) => None,
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
pub struct Limited {
    /// When it was met.
    pub since: i64,
    /// When it is lifted, if the program said so.
    pub resets_at: Option<i64>,
    /// What the backend said about it.
    pub reason: String,
}

impl Limited {
    /// When the backend may be tried again.
    pub fn until(&self) -> i64 {
        let reset = self.resets_at.unwrap_or(self.since.saturating_add(UNKNOWN_WAIT));
        // A reset that is past already would make a loop of tries that all meet the limit.
        if reset > self.since { reset } else { self.since.saturating_add(LEAST_WAIT) }
    }
}

/// What comes next when backends are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<B> {
    /// This one may run.
    Run(B),
    /// All are limited; this one is free first.
    Wait {
        /// Which.
        backend: B,
        /// When, in seconds since 1970.
        until: i64,
    },
}

/// The first of `chosen` and then `fallbacks` that is not limited at `now`, else the one to wait for.
pub fn next<'a>(
    chosen: &'a str,
    fallbacks: impl IntoIterator<Item = &'a str>,
    limited: &BTreeMap<String, Limited>,
    now: i64,
) -> Next<&'a str> {
    let free_at = |name: &str| limited.get(name).map_or(i64::MIN, Limited::until);
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
        (backend, until) if until > now => Next::Wait { backend, until },
        (backend, _) => Next::Run(backend),
    }
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
