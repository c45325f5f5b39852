//! Durations as people write them: `90s`, `10m`, `1h30m`.
//!
//! A number without a unit is refused (except `0`): the formats ralph replaces counted in seconds
//! here and in milliseconds there, and a guess between the two is a factor of a thousand.

use std::time::Duration;

/// The longest duration that is accepted, so that adding one to a clock can never overflow.
pub(super) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The units, longest first, in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// The duration that `text` stands for: one or more numbers, each with a unit.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut millis: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let part = number.parse::<u64>().ok()?.checked_mul(scale)?;
        millis = millis.checked_add(part)?;
        rest = after.trim_start_matches(' ');
    }
    let duration = Duration::from_millis(millis);
    (!text.is_empty() && duration <= LONGEST).then_some(duration)
}

/// The shortest way to write a duration; parts below a millisecond are dropped.
pub fn render_duration(duration: Duration) -> String {
    let mut millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    for (unit, scale) in UNITS {
        if millis >= scale {
            out.push_str(&format!("{}{unit}", millis / scale));
            millis %= scale;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        let read = |text| parse_duration(text).map(|d| d.as_millis());
        assert_eq!(read("5m"), Some(300_000));
        assert_eq!(read("300s"), Some(300_000));
        assert_eq!(read("1h30m"), Some(5_400_000));
        assert_eq!(read("1h 30m"), Some(5_400_000));
        assert_eq!(read(" 250ms "), Some(250));
        assert_eq!(read("30d"), Some(2_592_000_000));
        assert_eq!(read("0"), Some(0));
        assert_eq!(read("0s"), Some(0));
    }

    #[test]
    fn what_is_not_a_duration_is_refused() {
        for bad in
            ["", " ", "5", "m", "5 m", "5M", "-5m", "1.5h", "5m30", "5x", "999999999999999999d"]
        {
            assert_eq!(parse_duration(bad), None, "{bad:?}");
        }
        assert_eq!(parse_duration("366d"), None, "longer than a year");
        assert_eq!(parse_duration("365d"), Some(LONGEST));
    }

    proptest! {
        #[test]
        fn rendering_and_reading_give_the_same_duration(millis in 0..=31_536_000_000u64) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&render_duration(duration)), Some(duration));
        }

        #[test]
        fn reading_never_panics(text in ".{0,40}") {
            let _ = parse_duration(&text);
        }
    }
}
