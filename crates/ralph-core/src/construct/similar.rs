//! Whether two short texts say the same.
//!
//! Each text is the set of its words: lower case, letters and digits, without the few that say
//! nothing. Two texts say the same when the words with a digit in them are equal in both, so that
//! `version 1` is not `version 2`, and when |A ∩ B| / |A ∪ B| is at least 0.8.

use std::collections::BTreeSet;

const EMPTY: [&str; 12] =
    ["a", "an", "and", "for", "in", "is", "of", "on", "that", "the", "to", "with"];

/// Of ten words that occur in one of the texts, as many must occur in both.
const SHARED_OF_TEN: usize = 8;

/// Whether two texts say the same.
pub fn similar(a: &str, b: &str) -> bool {
    WordSet::new(a).similar(&WordSet::new(b))
}

/// A text as the set of its words, for many comparisons.
#[derive(Debug)]
pub(super) struct WordSet {
    words: BTreeSet<String>,
    numbers: BTreeSet<String>,
}

impl WordSet {
    /// Split a text into the set of its words.
    pub(super) fn new(text: &str) -> Self {
        let words: BTreeSet<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .filter(|word| !EMPTY.contains(&word.as_str()))
            .collect();
        let numbers = words.iter().filter(|w| w.chars().any(|c| c.is_numeric())).cloned().collect();
        Self { words, numbers }
    }

    /// Whether another text says the same. A text without words says nothing.
    pub(super) fn similar(&self, other: &Self) -> bool {
        if self.numbers != other.numbers || self.words.is_empty() {
            return false;
        }
        let shared = self.words.intersection(&other.words).count();
        let all = self.words.len() + other.words.len() - shared;
        shared * 10 >= all * SHARED_OF_TEN
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_same_thing_in_slightly_other_words_is_the_same() {
        assert!(similar("Handle empty input in the parser.", "handle empty input in parser"));
        assert!(similar("The `login` test is flaky on CI", "login test flaky on the CI"));
    }

    #[test]
    fn another_number_or_another_thing_is_not_the_same() {
        assert!(!similar(
            "parse the header of version 1 files",
            "parse the header of version 2 files"
        ));
        assert!(!similar("write the parser", "write the printer"));
        assert!(!similar("", "") && !similar("…", "the"));
    }

    proptest! {
        #[test]
        fn similarity_goes_both_ways_and_every_text_with_words_is_like_itself(
            a in "[a-c1 ]{0,12}", b in "[a-c1 ]{0,12}",
        ) {
            prop_assert_eq!(similar(&a, &b), similar(&b, &a));
            let has_words = a.split_whitespace().any(|word| !EMPTY.contains(&word));
            prop_assert_eq!(similar(&a, &a), has_words);
        }
    }
}
