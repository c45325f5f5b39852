//! New ids: short random words that are not taken yet.

use std::ops::RangeInclusive;

/// Random words tried at each length before a longer one is taken.
const TRIES: usize = 16;

const BASE_36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// `prefix` and a base-36 word of the shortest of `lengths` at which one is easily found free.
/// `random` gives four new characters at each call. `None` only when every id is taken.
pub fn fresh(
    prefix: &str,
    lengths: RangeInclusive<usize>,
    taken: &dyn Fn(&str) -> bool,
    random: &mut dyn FnMut() -> String,
) -> Option<String> {
    for length in lengths.clone() {
        for _ in 0..TRIES {
            let id = format!("{prefix}{}", word(length, random));
            if !taken(&id) {
                return Some(id);
            }
        }
    }
    // Chance did not help, so count: this ends as soon as one is free.
    let length = *lengths.end();
    let all = 36u64.checked_pow(u32::try_from(length).ok()?).unwrap_or(u64::MAX);
    (0..all).map(|n| format!("{prefix}{}", count(n, length))).find(|id| !taken(id))
}

fn word(length: usize, random: &mut dyn FnMut() -> String) -> String {
    let words: String = (0..length.div_ceil(4)).map(|_| random()).collect();
    words.chars().take(length).collect()
}

/// `n` in base 36, with zeros in front.
fn count(mut n: u64, length: usize) -> String {
    let mut digits = vec![b'0'; length];
    for digit in digits.iter_mut().rev() {
        *digit = BASE_36[(n % 36) as usize];
        n /= 36;
    }
    digits.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_word_of_the_shortest_length_is_taken() {
        let id = fresh("t-", 4..=10, &|_| false, &mut || "ab12".into());
        assert_eq!(id.as_deref(), Some("t-ab12"));
    }

    #[test]
    fn ids_grow_when_the_short_ones_collide() {
        let mut n = 0;
        let mut random = || {
            n += 1;
            count(n, 4)
        };
        let id = fresh("t-", 4..=10, &|id| id.len() < 8, &mut random).unwrap();
        assert_eq!(id.len(), "t-".len() + 6);
    }

    #[test]
    fn a_stuck_die_still_gives_a_free_id_or_none() {
        let taken = |id: &str| id != "q-0003";
        let stuck = &mut || "zzzz".to_owned();
        assert_eq!(fresh("q-", 4..=4, &taken, stuck).as_deref(), Some("q-0003"));
        assert_eq!(fresh("q-", 1..=1, &|_| true, stuck), None);
    }
}
