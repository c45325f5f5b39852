//! The command that takes landed work out again.
//!
//! A revert alone would turn the ledger back too, and a record that says "done" would say "active"
//! again, or not merge with what its neighbours say by now. So whatever of the ledger is in git is put
//! back to how it is, and only the work goes.

use crate::text::{one_line, shell_word};
use crate::words::short;

/// Ends the command, and names the files, where something is not committed: a revert would stop at it,
/// and what follows the revert would throw it away or commit it.
const CLEAN: &str = "git diff --exit-code --stat HEAD";

/// The command for these commits, newest first; nothing without any.
pub(super) fn undo(name: &str, commits: &[&str], ledger: &[String]) -> Option<String> {
    let hashes: Vec<&str> = commits.iter().map(|commit| short(commit)).collect();
    let first = hashes.first()?;
    if ledger.is_empty() {
        return Some(format!("git revert --no-edit {}", hashes.join(" ")));
    }
    let ledger: Vec<String> = ledger.iter().map(|path| shell_word(path)).collect();
    let (ledger, message) = (ledger.join(" "), shell_word(&format!("Undo {}", one_line(name))));
    Some(match hashes.len() {
        1 => format!(
            "{CLEAN} && (git revert --no-commit {first}; git checkout HEAD -- {ledger} && \
             git commit -m {message})"
        ),
        _ => format!(
            "{CLEAN} && (for c in {}; do git revert --no-commit $c; git checkout HEAD -- {ledger}; \
             done && git commit -m {message})",
            hashes.join(" ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_commit_or_several_are_undone_without_the_ledger() {
        let ledger = vec!["ralph/plan.jsonl".to_owned()];
        assert_eq!(undo("x", &[], &ledger), None);
        assert_eq!(
            undo("x", &["aaaaaaaaaabb", "cc"], &[]).unwrap(),
            "git revert --no-edit aaaaaaaaaa cc"
        );
        assert_eq!(
            undo("it's", &["aa"], &ledger).unwrap(),
            "git diff --exit-code --stat HEAD && (git revert --no-commit aa; \
             git checkout HEAD -- ralph/plan.jsonl && git commit -m 'Undo it'\\''s')"
        );
        assert_eq!(
            undo("feature-x.md", &["bb", "aa"], &ledger).unwrap(),
            "git diff --exit-code --stat HEAD && (for c in bb aa; do git revert --no-commit $c; \
             git checkout HEAD -- ralph/plan.jsonl; done && git commit -m 'Undo feature-x.md')"
        );
    }
}
