//! Durations, costs, counts and sizes in words for people.

/// Format a duration in milliseconds: `0.4s`, `58s`, `3m 20s`, `1h 5m`.
pub fn took(millis: u64) -> String {
    if millis < 9_950 {
        let tenths = (millis + 50) / 100;
        return format!("{}.{}s", tenths / 10, tenths % 10);
    }
    elapsed((millis + 500) / 1000)
}

/// A time that goes on, in whole seconds: `0s`, `58s`, `3m 20s`, `1h 5m`, `2d 3h`.
pub fn elapsed(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {}m", seconds / 3_600, seconds % 3_600 / 60),
        86_400.. => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Dollars: `$0.12`; something that is less than a cent is not nothing.
pub fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.005 { "<$0.01".to_owned() } else { format!("${amount:.2}") }
}

/// Format an amount in dollars, or `cost unknown` for `None`.
pub fn cost(amount: Option<f64>) -> String {
    amount.map_or_else(|| "cost unknown".to_owned(), dollars)
}

/// Format a number with its noun: `1 file`, `2 files`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Format a number of tokens: `950`, `43k`, `1.2M`.
pub fn tokens(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..999_500 => format!("{}k", (n + 500) / 1_000),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// A commit as people write it.
pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Room on a disk: `512 KiB`, `30 MiB`, `2 GiB`.
pub fn disk_size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        1_073_741_824.. => format!("{} GiB", bytes >> 30),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_name_their_two_largest_units() {
        for (millis, words) in [
            (0, "0.0s"),
            (449, "0.4s"),
            (9_949, "9.9s"),
            (9_950, "10s"),
            (59_499, "59s"),
            (59_500, "1m 0s"),
            (200_000, "3m 20s"),
            (3_900_000, "1h 5m"),
            (183_600_000, "2d 3h"),
        ] {
            assert_eq!(took(millis), words, "{millis}");
        }
    }

    #[test]
    fn less_than_a_cent_is_not_nothing_and_unknown_is_not_zero() {
        assert_eq!(dollars(0.001), "<$0.01");
        assert_eq!(dollars(0.0), "$0.00");
        assert_eq!(cost(None), "cost unknown");
    }
}
