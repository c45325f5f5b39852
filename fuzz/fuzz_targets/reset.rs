//! Error texts: nothing panics, a reset is a time that makes sense, and a time of day is within a day.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::backend::failure::{judge_text, resets_at, status_in};
use ralph_core::backend::reset_on_the_clock;

/// 2026-03-01 12:00 UTC.
const NOON: i64 = 1_772_366_400;
const DAY: i64 = 24 * 3600;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Some(outcome) = judge_text(&text, None) {
        assert!(!outcome.to_string().is_empty());
    }
    assert!(status_in(&text).is_none_or(|status| (400..600).contains(&status)));
    let _time = resets_at(&text);
    let offset = i32::from(*data.first().unwrap_or(&0)) * 300 - 12 * 3600;
    if let Some(time) = reset_on_the_clock(&text, NOON, offset)
        && !text.to_ascii_lowercase().contains("20")
    {
        // Without a year it is the next time on the clock.
        assert!(time > NOON - DAY, "{time}");
    }
    let _extreme = reset_on_the_clock(&text, i64::MAX, i32::MIN);
});
