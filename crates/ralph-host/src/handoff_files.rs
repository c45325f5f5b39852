//! `.ralph/handoffs/handoff-NNN.json`: one for each attempt, numbered for ever.
//!
//! # Theory of operation
//!
//! A number is never used twice: a new file takes the next one after the highest there is, and not
//! one below what the caller remembers, so that a directory that was emptied changes nothing. The
//! file is made so that it can replace no other. Reading looks at names only and opens one file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ralph_core::handoff::Handoff;
use ralph_core::prompt::PastHandoff;

use crate::file_error::{FileAction, FileError};
use crate::prompt_files::{PromptFileContent, limited};
use crate::redaction::{put_log, redactor};
use crate::store::{self, FileCreation};

const DIRECTORY: &str = ".ralph/handoffs";

/// Damaged files that are passed over before the search for the latest one is given up.
const MOST_DAMAGED: usize = 5;

/// Handoffs that are read before the search for the latest wanted one is given up.
const MOST_READ: usize = 50;

/// Largest handoff that is read, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A handoff could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// The directory or a file refused.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("no number is left for a handoff in {}", .0.display())]
    Numbers(PathBuf),
}

impl HandoffError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Numbers(path) => {
                Some(format!("look for a file with an absurd number in {}", path.display()))
            }
        }
    }
}

/// The latest handoff that can be read and `is_wanted`. `guess` is the number it should have: when
/// there is one with that number, nobody looks through the directory.
pub fn latest(
    root: &Path,
    guess: u64,
    is_wanted: impl Fn(&Handoff) -> bool,
) -> PromptFileContent<Option<PastHandoff>> {
    let mut loaded = PromptFileContent { value: None, warnings: Vec::new() };
    let file = name(guess);
    if let Ok(handoff) = read(root, &file)
        && is_wanted(&handoff)
    {
        loaded.value = Some(PastHandoff { number: guess, file, handoff });
        return loaded;
    }
    let numbers = match numbers(root) {
        Ok(numbers) => numbers,
        Err(error) => {
            loaded.warnings.push(format!("the prompt has no handoff: {error}"));
            return loaded;
        }
    };
    for &number in numbers.iter().rev().take(MOST_READ) {
        let file = name(number);
        match read(root, &file) {
            Ok(handoff) if !is_wanted(&handoff) => {}
            Err(_) if loaded.warnings.len() == MOST_DAMAGED => break,
            Ok(handoff) => {
                loaded.value = Some(PastHandoff { number, file, handoff });
                break;
            }
            Err(why) => loaded.warnings.push(format!("{file} is passed over: {why}")),
        }
    }
    loaded
}

/// The file of the first handoff that there is. Only when the very first is gone does anybody look
/// through the directory.
pub fn first(root: &Path) -> Option<String> {
    if !is_free(root, 1) {
        return Some(name(1));
    }
    numbers(root).ok()?.first().copied().map(name)
}

/// The newest handoffs that can be read, at most `most`, oldest first. `last` is the highest number
/// there can be; only as many files are opened as are asked for.
pub fn recent(root: &Path, last: u64, most: usize) -> Vec<PastHandoff> {
    between(root, 0, last, most)
}

/// The newest handoffs below the number `before`, at most `most` that can be read, newest first, and
/// how many there are in all.
pub fn newest(
    root: &Path,
    before: u64,
    most: usize,
) -> Result<(Vec<PastHandoff>, usize), FileError> {
    let numbers = numbers(root)?;
    let older = numbers.iter().rev().filter(|number| **number < before);
    let found = older.filter_map(|&number| {
        let file = name(number);
        let handoff = read(root, &file).ok()?;
        Some(PastHandoff { number, file, handoff })
    });
    Ok((found.take(most).collect(), numbers.len()))
}

/// Handoffs after the number `since`, up to `last`: the newest `most` of them, oldest first.
pub fn between(root: &Path, since: u64, last: u64, most: usize) -> Vec<PastHandoff> {
    let mut found = Vec::new();
    let mut misses = 0;
    for number in (since.saturating_add(1)..=last).rev() {
        if found.len() >= most || misses > most.saturating_add(MOST_DAMAGED) {
            break;
        }
        let file = name(number);
        match read(root, &file) {
            Ok(handoff) => found.push(PastHandoff { number, file, handoff }),
            // One without a handoff, or a damaged one.
            Err(_) => misses += 1,
        }
    }
    found.reverse();
    found
}

fn read(root: &Path, file: &str) -> Result<Handoff, String> {
    let text = limited(&root.join(file), LARGEST)?.ok_or("it has just been removed")?;
    serde_json::from_str(&text).map_err(|e| e.to_string())
}

/// Say in the handoff with this number, where there is one, that its work did not land.
pub fn mark_discarded(root: &Path, number: u64, why: &str) -> Result<(), FileError> {
    let file = name(number);
    let Ok(handoff) = read(root, &file) else { return Ok(()) };
    let marked = Handoff { discarded: Some(why.to_owned()), ..handoff };
    put_log(&root.join(file), &to_text(&marked))
}

/// A handoff as its file has it.
pub fn to_text(handoff: &Handoff) -> String {
    let text = serde_json::to_string_pretty(handoff).unwrap_or_default() + "\n";
    redactor().hide_file(&text)
}

/// Whether no handoff has this number.
pub fn is_free(root: &Path, number: u64) -> bool {
    fs::symlink_metadata(root.join(name(number))).is_err()
}

/// The number that the next handoff gets. `at_least` is what the caller's own records say.
pub fn next_number(root: &Path, at_least: u64) -> Result<u64, HandoffError> {
    let highest = numbers(root)?.last().copied().unwrap_or(0);
    let next = highest.checked_add(1).ok_or_else(|| HandoffError::Numbers(root.join(DIRECTORY)))?;
    Ok(next.max(at_least).max(1))
}

/// Keep a handoff under the next number.
pub fn save(root: &Path, handoff: Handoff, at_least: u64) -> Result<PastHandoff, HandoffError> {
    let text = to_text(&handoff);
    let mut number = next_number(root, at_least)?;
    loop {
        let file = name(number);
        match store::create(&root.join(&file), text.as_bytes())? {
            FileCreation::New => return Ok(PastHandoff { number, file, handoff }),
            FileCreation::AlreadyThere => {
                let full = || HandoffError::Numbers(root.join(DIRECTORY));
                number = number.checked_add(1).ok_or_else(full)?;
            }
        }
    }
}

/// The file of a handoff, relative to the root.
pub fn name(number: u64) -> String {
    format!("{DIRECTORY}/handoff-{number:03}.json")
}

/// The numbers that are used, in order. A directory that does not exist has none.
fn numbers(root: &Path) -> Result<Vec<u64>, FileError> {
    let directory = root.join(DIRECTORY);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(FileError::io(FileAction::Read, &directory)(e)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(FileError::io(FileAction::Read, &directory))?;
        found.extend(entry.file_name().to_str().and_then(number_of));
    }
    found.sort_unstable();
    Ok(found)
}

/// The number in `handoff-012.json`, written as ralph writes it.
fn number_of(file: &str) -> Option<u64> {
    let digits = file.strip_prefix("handoff-")?.strip_suffix(".json")?;
    let number = digits.parse().ok()?;
    (format!("{number:03}") == digits).then_some(number)
}

#[cfg(test)]
#[path = "handoff_files_tests.rs"]
mod tests;
