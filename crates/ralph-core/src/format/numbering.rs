//! Ids that end in a number: the next one, in the style of those that are there.

use crate::plan::Id;

/// Split an id into the text before its final number and the digits of that number.
pub(super) fn split(id: &str) -> Option<(&str, &str)> {
    let prefix = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = id.strip_prefix(prefix)?;
    // Longer ones are dates or hashes, which nobody counts on from.
    digits.parse::<u32>().is_ok().then_some((prefix, digits))
}

/// The id after the highest of `ids` that begin with `prefix`, with as many digits as that one has,
/// or with `width` digits when there is none.
pub(super) fn next<'p>(
    prefix: &str,
    width: usize,
    ids: impl Iterator<Item = &'p Id>,
    taken: &dyn Fn(&Id) -> bool,
) -> Id {
    let numbers = ids.filter_map(|id| {
        let (before, digits) = split(id.as_str())?;
        let number = digits.parse::<u64>().ok()?;
        (before == prefix).then_some((number, digits.len()))
    });
    let (highest, width) = numbers.max().unwrap_or((0, width));
    let id = |n: u64| Id::new(format!("{prefix}{n:0width$}"));
    id(free(highest + 1, |n| taken(&id(n))))
}

/// A number from `start` on that is not taken. It need not be the lowest: steps that double keep a
/// caller that asks for thousands of ids in a row from looking at each taken one again.
fn free(start: u64, taken: impl Fn(u64) -> bool) -> u64 {
    if !taken(start) {
        return start;
    }
    let (mut low, mut step) = (start, 1);
    while taken(low + step) {
        low += step;
        step *= 2;
    }
    let mut high = low + step;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if taken(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_of(prefix: &str, width: usize, ids: &[&str]) -> String {
        let ids: Vec<Id> = ids.iter().map(|&id| id.into()).collect();
        next(prefix, width, ids.iter(), &|id| ids.contains(id)).as_str().to_owned()
    }

    #[test]
    fn the_width_of_the_highest_number_is_kept_until_it_is_too_narrow() {
        assert_eq!(next_of("T-", 3, &[]), "T-001");
        assert_eq!(next_of("T-", 3, &["T-09", "T-02"]), "T-10");
        assert_eq!(next_of("T-", 3, &["T-9"]), "T-10");
        assert_eq!(next_of("x-", 1, &["x-1", "y-7", "x-12", "x-y-99"]), "x-13");
    }

    #[test]
    fn ids_without_a_countable_number_do_not_count() {
        assert_eq!(split("setup"), None);
        assert_eq!(split("T-20260117103000"), None);
        assert_eq!(split("7"), Some(("", "7")));
    }

    #[test]
    fn taken_ids_are_stepped_over() {
        for taken_to in 1..40_u64 {
            let taken = |id: &Id| {
                split(id.as_str())
                    .is_some_and(|(_, n)| n.parse::<u64>().is_ok_and(|n| n <= taken_to))
            };
            let id = next("T-", 3, std::iter::empty(), &taken);
            assert_eq!(id.as_str(), format!("T-{:03}", taken_to + 1));
        }
    }
}
