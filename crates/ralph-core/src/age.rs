//! Age of a moment in words for people, such as `2h ago`.

use jiff::Timestamp;

/// "2h ago", from two RFC 3339 timestamps. A time that lies ahead (clocks get set back) is "just
/// now"; a text that is no timestamp gives nothing.
pub fn ago(then: &str, now: &str) -> Option<String> {
    let then: Timestamp = then.trim().parse().ok()?;
    let now: Timestamp = now.trim().parse().ok()?;
    let seconds = now.as_second().saturating_sub(then.as_second());
    let (number, unit) = match seconds {
        ..=0 => return Some("just now".to_owned()),
        1..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "m"),
        3_600..86_400 => (seconds / 3_600, "h"),
        86_400.. => (seconds / 86_400, "d"),
    };
    Some(format!("{number}{unit} ago"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_whole_unit_is_named() {
        let now = "2025-01-20T12:30:00Z";
        for (then, words) in [
            ("2025-01-20T12:30:00Z", "just now"),
            ("2025-01-20T12:29:55Z", "5s ago"),
            ("2025-01-20T12:29:00Z", "1m ago"),
            ("2025-01-20T12:19:31Z", "10m ago"),
            ("2025-01-20T10:30:00Z", "2h ago"),
            ("2025-01-20T11:30:00+01:00", "2h ago"),
            ("2025-01-17T12:29:59.5Z", "3d ago"),
            ("2020-01-17T12:30:00Z", "1830d ago"),
        ] {
            assert_eq!(ago(then, now).as_deref(), Some(words), "{then}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_means_just_now() {
        assert_eq!(ago("2025-01-20T12:30:00Z", "2024-01-20T12:30:00Z").unwrap(), "just now");
    }

    #[test]
    fn nonsense_has_no_age() {
        for nonsense in
            ["", "yesterday", "2025-01-20", "2025-13-40T99:00:00Z", "99999-01-01T00:00:00Z"]
        {
            assert_eq!(ago(nonsense, "2025-01-20T12:30:00Z"), None, "{nonsense}");
            assert_eq!(ago("2025-01-20T12:30:00Z", nonsense), None, "{nonsense}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(then in "[0-9TZ:.+-]{0,30}", now in any::<String>()) {
            prop_assert_eq!(ago(&then, &now).is_some(), false);
        }

        #[test]
        fn every_pair_of_times_has_an_age(a in -377705023201i64..253402207200, b in -377705023201i64..253402207200) {
            let at = |second| Timestamp::from_second(second).unwrap().to_string();
            let words = ago(&at(a), &at(b)).unwrap();
            prop_assert_eq!(words == "just now", b <= a);
        }
    }
}
