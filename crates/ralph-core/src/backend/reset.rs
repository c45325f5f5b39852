//! When a limit is lifted, from a text that gives a time of day on the user's own clock.
//!
//! Codex says `try again at 3:33 PM.`, or with the day `try again at May 18th, 2033 3:33 AM.`; others
//! say `resets 3pm`. Which moment that is depends on the time zone and on the day, so a reader
//! leaves it open and whoever has a clock asks here.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Words after which a time is that of a reset.
const BEFORE: [&str; 4] = ["again at ", "resets at ", "resets ", "reset at "];

/// Most words that a time is made of.
const WORDS: usize = 6;

/// The reset that `message` names, in seconds since 1970. `now` is in seconds too, `offset` is how
/// many seconds the user's clock is ahead of UTC. A time without a day is the next one.
pub fn reset_on_the_clock(message: &str, now: i64, offset: i32) -> Option<i64> {
    let offset = Offset::from_seconds(offset).ok()?;
    let today = offset.to_datetime(Timestamp::from_second(now).ok()?);
    let lower = message.to_ascii_lowercase();
    let start = BEFORE.iter().find_map(|word| Some(lower.find(word)? + word.len()))?;
    let words = lower.get(start..)?.split([' ', ',', '\u{202f}']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(WORDS).map(|word| word.trim_end_matches('.')).collect();
    let (date, rest) = date(&words);
    let time = time(rest)?;
    let when = match date {
        Some(date) => DateTime::from_parts(date, time),
        None if DateTime::from_parts(today.date(), time) > today => {
            DateTime::from_parts(today.date(), time)
        }
        None => DateTime::from_parts(today.date().tomorrow().ok()?, time),
    };
    offset.to_timestamp(when).ok().map(Timestamp::as_second)
}

/// A day such as `may 18th 2033` at the start, and what follows it.
fn date<'a, 'w>(words: &'a [&'w str]) -> (Option<Date>, &'a [&'w str]) {
    let parsed = || {
        let [month, day, year, rest @ ..] = words else { return None };
        let month = MONTHS.iter().position(|name| month.starts_with(name))? + 1;
        let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        // A year in two digits, or one that cannot be meant, is no year.
        let year = year.parse().ok().filter(|year| (2020..2100).contains(year))?;
        let date = Date::new(year, i8::try_from(month).ok()?, day.parse().ok()?);
        Some((date.ok()?, rest))
    };
    match parsed() {
        Some((date, rest)) => (Some(date), rest),
        None => (None, words),
    }
}

/// A time such as `3:33 pm`, `3pm` or `15:04`.
fn time(words: &[&str]) -> Option<Time> {
    let first = words.first()?;
    let digits = first.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let half = match first[digits.len()..].trim() {
        "" => words.get(1).copied().unwrap_or_default(),
        half => half,
    };
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) => (hour.parse::<i8>().ok()?, minute.parse().ok()?),
        None => (digits.parse().ok()?, 0),
    };
    let hour = match half.get(..2) {
        Some("pm") if (1..=12).contains(&hour) => hour % 12 + 12,
        Some("am") if (1..=12).contains(&hour) => hour % 12,
        // A bare number is no time of day.
        _ if digits.contains(':') => hour,
        _ => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-03-01 12:00 UTC, in seconds since 1970.
    const NOON: i64 = 1_772_366_400;
    const HOUR: i64 = 3600;

    #[test]
    fn a_time_is_the_next_one_on_the_users_clock() {
        for (text, offset, hours) in [
            ("You’ve hit your usage limit. Try again at 3:30 PM.", 0, 3.5),
            ("try again at 3:30 PM.", 2, 1.5),
            ("try again at 11:00 AM.", 0, 23.0),
            ("limit reached · resets 1am", 0, 13.0),
            ("resets at 12am (UTC)", 0, 12.0),
            ("resets 12:15pm", -1, 1.25),
            ("reset at 13:00", 0, 1.0),
        ] {
            let reset = reset_on_the_clock(text, NOON, offset * 3600);
            let expected = NOON + (hours * HOUR as f64) as i64;
            assert_eq!(reset, Some(expected), "{text}");
        }
    }

    #[test]
    fn a_day_is_taken_at_its_word() {
        let text = "visit https://x.example or try again at May 18th, 2033 3:33 AM.";
        assert_eq!(reset_on_the_clock(text, NOON, 0), Some(1_999_999_980));
        assert_eq!(reset_on_the_clock(text, NOON, 3600), Some(1_999_999_980 - HOUR));
    }

    #[test]
    fn what_names_no_time_is_left_open() {
        for text in [
            "try again later",
            "try again at noon",
            "resets 3",
            "try again at 25:00",
            "try again at May 18th, 23 3:33 AM.",
            "",
        ] {
            assert_eq!(reset_on_the_clock(text, NOON, 0), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(tail in "\\PC{0,40}", now in any::<i64>(), offset in any::<i32>()) {
            let _ = reset_on_the_clock(&format!("try again at {tail}"), now, offset);
            let _ = reset_on_the_clock(&tail, now, offset);
        }
    }
}
