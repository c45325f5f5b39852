//! Looking something up in the index by words.
//!
//! An entry matches when one of the words occurs in it, in any case. What matters most comes first:
//! the order of [`KnowledgeCategory::rank`], then the number of words that match, then the place in the file.

use super::index::{KnowledgeCategory, KnowledgeItem};
use super::terms::{task_terms, terms};
use crate::plan::Task;

/// Entries that a prompt or a person wants to see at once.
pub const MOST: usize = 12;

/// The words to look up for a task: those of its id, title, description and libraries.
pub fn words_of(task: &Task) -> Vec<String> {
    let mut all = task_terms(task);
    all.extend(terms(task.id.as_str()));
    all.into_iter().collect()
}

/// The entries that have one of these words, at most `most`.
pub fn search<'i>(
    items: &'i [KnowledgeItem],
    words: &[String],
    most: usize,
) -> Vec<&'i KnowledgeItem> {
    let words: Vec<String> =
        words.iter().flat_map(|words| words.split_whitespace()).map(str::to_lowercase).collect();
    let mut found: Vec<(u8, usize, &KnowledgeItem)> = items
        .iter()
        .filter_map(|item| {
            let text = haystack(item);
            let matching = words.iter().filter(|word| text.contains(word.as_str())).count();
            let rank = item.category.map_or(u8::MAX, KnowledgeCategory::rank);
            (matching > 0).then_some((rank, words.len() - matching, item))
        })
        .collect();
    found.sort_by_key(|(rank, missing, _)| (*rank, *missing));
    found.into_iter().take(most).map(|(_, _, item)| item).collect()
}

/// Everything about an entry that somebody may look for.
fn haystack(item: &KnowledgeItem) -> String {
    let mut text = item.text.to_lowercase();
    let id = item.id.iter().map(String::as_str);
    for more in id.chain(item.tags.iter().map(String::as_str)) {
        text.push('\n');
        text.push_str(&more.to_lowercase());
    }
    text
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
