//! From when on: what `--since` takes.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};

use super::past::{ReportHistory, seconds};
use crate::config::parse_duration;

const DAY: i64 = 24 * 60 * 60;

/// From when on a report tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReportStart {
    /// The last 24 hours, or the last run if nothing happened in them.
    #[default]
    LastNight,
    /// Start of the last run.
    LastRun,
    /// So many seconds before now.
    Ago(i64),
    /// The beginning of a day where the user is.
    Day(Date),
    /// This point in time.
    At(Timestamp),
}

impl std::str::FromStr for ReportStart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "last" {
            return Ok(Self::LastRun);
        }
        if let Some(duration) = parse_duration(text) {
            return Ok(Self::Ago(i64::try_from(duration.as_secs()).unwrap_or(DAY)));
        }
        if let Ok(moment) = text.parse::<Timestamp>() {
            return Ok(Self::At(moment));
        }
        text.parse::<Date>().map(Self::Day).map_err(|_| {
            "write `12h`, `3d`, a date such as 2025-01-20, a time such as 2025-01-20T10:30:00Z, or \
             `last` for the last run"
                .to_owned()
        })
    }
}

impl ReportStart {
    /// The moment, in seconds since 1970. `offset` is how far the user's clock is ahead of UTC.
    pub fn moment(&self, past: &ReportHistory, now: i64, offset: i32) -> i64 {
        let last_run = past.runs.last().map(|run| run.began);
        let day_ago = now.saturating_sub(DAY);
        match self {
            Self::LastNight => {
                let newest = past.runs.last().map_or(i64::MIN, |run| run.last);
                let newest = past
                    .history
                    .attempts
                    .last()
                    .map_or(newest, |view| newest.max(seconds(&view.at)));
                match last_run {
                    Some(began) if newest < day_ago => began,
                    _ => day_ago,
                }
            }
            Self::LastRun => last_run.unwrap_or(day_ago),
            Self::Ago(seconds) => now.saturating_sub(*seconds),
            Self::Day(date) => {
                let zone = TimeZone::fixed(Offset::from_seconds(offset).unwrap_or(Offset::UTC));
                date.to_zoned(zone).map_or(day_ago, |zoned| zoned.timestamp().as_second())
            }
            Self::At(moment) => moment.as_second(),
        }
    }
}
