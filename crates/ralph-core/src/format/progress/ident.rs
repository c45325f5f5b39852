//! Names for tasks in a file that has none: an id is worked out from the task's text.
//!
//! A task keeps its id while its text stays, wherever it stands and whatever is added, removed or
//! ticked around it. A second task with the same text gets an id that depends on its ordinal. The
//! function must never change: ids stand in Recent Attempts, in commits and in journals.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::Id;

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const LENGTH: usize = 6;

/// The id of the task with this text; `ordinal` counts the tasks with the same text before it.
pub fn task_id(name: &str, ordinal: u32) -> Id {
    let mut hash = fnv1a(0xcbf2_9ce4_8422_2325, name.as_bytes());
    if ordinal > 0 {
        // 0xff is in no text, so no name can pretend to be another one's second.
        hash = fnv1a(fnv1a(hash, &[0xff]), &ordinal.to_le_bytes());
    }
    let mut left = hash ^ (hash >> 32);
    let mut id = String::from("t-");
    for _ in 0..LENGTH {
        id.push(char::from(DIGITS[(left % 36) as usize]));
        left /= 36;
    }
    Id::new(id)
}

/// FNV-1a with 64 bits, going on from `hash`.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The ids of tasks with these names, in file order, all different.
pub(super) fn assign<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Id> {
    let mut used = BTreeSet::new();
    let mut ordinals: BTreeMap<&str, u32> = BTreeMap::new();
    let mut ids = Vec::new();
    for name in names {
        let ordinal = ordinals.entry(name).or_default();
        let id = loop {
            let id = task_id(name, *ordinal);
            *ordinal += 1;
            if used.insert(id.clone()) {
                break id;
            }
        };
        ids.push(id);
    }
    ids
}

/// The id at the start of `text`, as a prefix of it, when one stands there as a word.
pub(super) fn leading_id(text: &str) -> Option<&str> {
    let length = "t-".len() + LENGTH;
    let id = text.get(..length)?;
    let digits = id.strip_prefix("t-")?;
    let ends = text.get(length..)?.chars().next().is_none_or(char::is_whitespace);
    (ends && digits.bytes().all(|b| DIGITS.contains(&b))).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_for_ever() {
        // Pinned: a change here orphans every id that was ever written down.
        assert_eq!(task_id("Set up the workspace", 0).as_str(), "t-szcvxv");
        assert_eq!(task_id("Set up the workspace", 1).as_str(), "t-s5vhc1");
        assert_eq!(task_id("Fix `ö` in [docs](x)", 0).as_str(), "t-gngqv7");
        assert_eq!(task_id("", 0).as_str(), "t-xkp9m4");
    }

    #[test]
    fn tasks_with_the_same_text_get_different_ids_in_file_order() {
        let ids = assign(["a", "b", "a", "a"]);
        assert_eq!(ids, [task_id("a", 0), task_id("b", 0), task_id("a", 1), task_id("a", 2)]);
    }

    #[test]
    fn an_id_at_the_start_of_a_text_counts_only_as_a_whole_word() {
        assert_eq!(leading_id("t-0a1b2c — name"), Some("t-0a1b2c"));
        assert_eq!(leading_id("t-0a1b2c"), Some("t-0a1b2c"));
        for no in ["t-0a1b2", "t-0a1b2cd — x", "t-0A1b2c — x", "the t-0a1b2c", "t-0a1bé", ""] {
            assert_eq!(leading_id(no), None, "{no}");
        }
    }
}
