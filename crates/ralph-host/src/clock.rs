//! The only place that knows what time it is.
//!
//! # Theory of operation
//!
//! A [`Clock`] is made once in `main` and handed to whoever needs the time. The environment
//! variable `RALPH_NOW` (an RFC 3339 time such as `2025-01-20T10:30:00Z`) stops it at that
//! moment; it exists for tests, which would otherwise never see the same output twice.

use std::ffi::OsStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The environment variable that stops the clock.
pub const NOW_VARIABLE: &str = "RALPH_NOW";

/// Tells the time: the real one, or always the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    stopped_at: Option<Timestamp>,
}

/// Error for a value of `RALPH_NOW` that is not a time.
#[derive(Debug, thiserror::Error)]
#[error("{NOW_VARIABLE} is not a time: {value}")]
pub struct ClockError {
    value: String,
}

impl ClockError {
    /// Return a hint on how to fix the error.
    pub fn hint(&self) -> Option<String> {
        Some("unset it, or write it like 2025-01-20T10:30:00Z".to_owned())
    }
}

/// A moment in seconds since 1970, RFC 3339.
pub fn stamp_of(seconds: i64) -> Option<String> {
    Timestamp::from_second(seconds).ok().map(|moment| moment.to_string())
}

impl Clock {
    /// The real clock, unless `RALPH_NOW` stops it.
    pub fn from_env() -> Result<Self, ClockError> {
        Self::from_value(std::env::var_os(NOW_VARIABLE).as_deref())
    }

    /// A clock that always shows the same time.
    pub fn stopped_at(moment: Timestamp) -> Self {
        Self { stopped_at: Some(moment) }
    }

    fn from_value(value: Option<&OsStr>) -> Result<Self, ClockError> {
        let Some(value) = value.filter(|v| !v.is_empty()) else { return Ok(Self::default()) };
        let text = value.to_string_lossy();
        match text.parse() {
            Ok(moment) => Ok(Self::stopped_at(moment)),
            Err(_) => Err(ClockError { value: text.into_owned() }),
        }
    }

    /// Return the current time, or the fixed time of a stopped clock.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the system")]
    pub fn now(&self) -> Timestamp {
        self.stopped_at.unwrap_or_else(Timestamp::now)
    }

    /// Return how many seconds the user's clock is ahead of UTC at this moment.
    pub fn utc_offset(&self) -> i32 {
        TimeZone::system().to_offset(self.now()).seconds()
    }

    /// A moment in seconds since 1970 as the user's clock shows it: `2025-01-20 11:30`.
    pub fn on_the_wall(&self, seconds: i64) -> Option<String> {
        let moment = Timestamp::from_second(seconds).ok()?;
        let local = TimeZone::system().to_datetime(moment);
        Some(local.strftime("%Y-%m-%d %H:%M").to_string())
    }

    /// This moment as plan files write it: RFC 3339, UTC, whole seconds.
    pub fn stamp(&self) -> String {
        let now = self.now();
        Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_clock_shows_whole_seconds_in_utc() {
        let clock = Clock::from_value(Some(OsStr::new("2025-01-20T11:30:00.75+01:00"))).unwrap();
        assert_eq!(clock.stamp(), "2025-01-20T10:30:00Z");
    }

    #[test]
    fn a_running_clock_stamps_whole_seconds() {
        let stamp = Clock::from_value(None).unwrap().stamp();
        assert_eq!(stamp.len(), "2025-01-20T10:30:00Z".len(), "{stamp}");
        assert!(stamp.ends_with('Z'), "{stamp}");
    }

    #[test]
    fn a_time_that_is_none_is_refused_by_name() {
        let error = Clock::from_value(Some(OsStr::new("teatime"))).unwrap_err();
        assert_eq!(error.to_string(), "RALPH_NOW is not a time: teatime");
    }
}
