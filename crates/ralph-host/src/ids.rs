//! The only place that rolls dice.
//!
//! # Theory of operation
//!
//! [`IdSource`] is made once in `main`. The environment variable `RALPH_SEED` (a whole number) makes
//! every word predictable; it exists for tests. Whoever makes an id asks whether it is taken, so
//! that equal seeds in many processes still give different ids.

use std::ffi::OsStr;

/// The environment variable that makes chance predictable.
pub const SEED_VARIABLE: &str = "RALPH_SEED";

const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The digits of a ULID: no letter that looks like another one.
const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Number of characters in a [`secret`].
pub const SECRET_LENGTH: usize = 64;

/// A word that nobody can guess, from the system's own source; no seed makes it predictable.
pub fn secret() -> std::io::Result<String> {
    use std::fmt::Write as _;
    use std::io::Read as _;
    let mut bytes = [0; SECRET_LENGTH / 2];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::with_capacity(SECRET_LENGTH), |mut word, byte| {
        let _infallible = write!(word, "{byte:02x}");
        word
    }))
}

/// Source of random words for ids. A seed makes them predictable.
#[derive(Clone, Debug)]
pub struct IdSource {
    dice: fastrand::Rng,
}

/// Error for a value of `RALPH_SEED` that is not a whole number.
#[derive(Debug, thiserror::Error)]
#[error("{SEED_VARIABLE} is not a whole number: {value}")]
pub struct SeedError {
    value: String,
}

impl SeedError {
    /// Return a hint on how to fix the error.
    pub fn hint(&self) -> Option<String> {
        Some("unset it, or give a number such as 1".to_owned())
    }
}

impl IdSource {
    /// Real chance, unless `RALPH_SEED` is set.
    pub fn from_env() -> Result<Self, SeedError> {
        Self::from_value(std::env::var_os(SEED_VARIABLE).as_deref())
    }

    /// Create a source that gives the same words for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self { dice: fastrand::Rng::with_seed(seed) }
    }

    fn from_value(value: Option<&OsStr>) -> Result<Self, SeedError> {
        let Some(value) = value.filter(|v| !v.is_empty()) else {
            return Ok(Self { dice: fastrand::Rng::new() });
        };
        let text = value.to_string_lossy();
        match text.parse() {
            Ok(seed) => Ok(Self::seeded(seed)),
            Err(_) => Err(SeedError { value: text.into_owned() }),
        }
    }

    /// A new id that sorts by time: a ULID, 26 characters.
    pub fn ulid(&mut self, now: jiff::Timestamp) -> String {
        let millis = u128::try_from(now.as_millisecond()).unwrap_or(0) & ((1 << 48) - 1);
        let number = (millis << 80) | (self.dice.u128(..) >> 48);
        let digit = |n: u32| char::from(CROCKFORD[((number >> (5 * n)) & 31) as usize]);
        (0..26).rev().map(digit).collect()
    }

    /// A new word of `length` characters out of `0-9a-z`.
    pub fn word(&mut self, length: usize) -> String {
        (0..length).map(|_| char::from(LETTERS[self.dice.usize(..LETTERS.len())])).collect()
    }
}

/// When a ULID was made, in seconds since 1970.
pub fn ulid_time(id: &str) -> Option<i64> {
    let time = id.get(..10).filter(|_| id.len() == 26)?;
    let digit = |b: u8| CROCKFORD.iter().position(|c| *c == b.to_ascii_uppercase());
    let millis = time.bytes().try_fold(0_i64, |sum, b| {
        sum.checked_mul(32)?.checked_add(i64::try_from(digit(b)?).ok()?)
    })?;
    Some(millis / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_words() {
        let words = |seed| -> Vec<String> {
            let mut ids = IdSource::seeded(seed);
            (0..20).map(|_| ids.word(4)).collect()
        };
        assert_eq!(words(7), words(7));
        assert_ne!(words(7), words(8));
    }

    #[test]
    fn ulids_sort_by_time_and_differ_at_the_same_time() {
        let mut ids = IdSource::seeded(1);
        let at = |s: i64| jiff::Timestamp::from_second(s).unwrap();
        let (old, new, twin) = (ids.ulid(at(1)), ids.ulid(at(2)), ids.ulid(at(2)));
        assert!(old < new && old < twin && new != twin, "{old} {new} {twin}");
        assert_eq!(old.len(), 26);
        assert!(old.starts_with("00000000Z8"), "{old}");
    }

    #[test]
    fn a_ulid_says_when_it_was_made() {
        let at = jiff::Timestamp::from_second(1_737_369_000).unwrap();
        assert_eq!(ulid_time(&IdSource::seeded(1).ulid(at)), Some(1_737_369_000));
        assert_eq!(ulid_time("spec-all"), None);
        assert_eq!(ulid_time("01ATTEMPTUUUUUUUUUUUUUUUU!"), None);
    }

    #[test]
    fn words_are_base_36_and_as_long_as_asked() {
        let word = IdSource::from_value(None).unwrap().word(500);
        assert_eq!(word.len(), 500);
        assert!(word.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase()), "{word}");
    }

    #[test]
    fn a_seed_that_is_no_number_is_refused_by_name() {
        let error = IdSource::from_value(Some(OsStr::new("lucky"))).unwrap_err();
        assert_eq!(error.to_string(), "RALPH_SEED is not a whole number: lucky");
    }
}
