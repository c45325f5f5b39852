//! Committing what `ralph init` wrote, and the first commit of a repository.
//!
//! Only files that init made, or changed while they were as committed, are committed; whatever the user
//! has staged or edited stays as it is. The user's own files become a first commit only at a yes to that
//! very question.

use std::path::Path;

use ralph_core::text::shell_word;
use ralph_core::words::count;
use ralph_host::git::{Repo, RepoPath};
use serde::Serialize;

use super::IGNORE;
use super::interview::DefaultAnswer;
use crate::commands::first_commit::{COMMAND, MESSAGE, question};

/// Files that were not as committed before init began.
pub(super) struct FilesBefore {
    dirty: Vec<RepoPath>,
}

/// Commit that `ralph init` offers to make.
pub(super) struct CommitOffer {
    kind: CommitOfferKind,
    /// The message of a commit of what init wrote.
    message: String,
    /// Prefix of repository paths in a command that the user types.
    path_start: &'static str,
    /// Files that init changed and that had changes of the user before.
    left: Vec<RepoPath>,
}

enum CommitOfferKind {
    Nothing,
    /// Files of ralph's setup: settings, specs and ignore rules.
    SetUp(Vec<RepoPath>),
    /// A first commit with these files of the user.
    Everything(Vec<RepoPath>),
}

/// Answer to the question about the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitAnswer {
    Nothing,
    /// Commit the files that init wrote.
    Usual,
    /// The files of the user too.
    Everything,
}

/// Result of the commit that init offered.
#[derive(Debug, Default, Serialize)]
pub(super) struct CommitReport {
    /// Sentence about the commit that was made.
    pub(super) made: Option<String>,
    /// Command that the user can run instead.
    pub(super) next: Option<String>,
    /// Why it could not be made.
    pub(super) trouble: Option<String>,
}

impl CommitOffer {
    /// Look at what init may change, before it does.
    pub(super) fn before(repo: &Repo<'_>) -> FilesBefore {
        // What git cannot tell is left alone afterwards.
        let unknown = || vec![in_repository(repo, IGNORE)];
        FilesBefore { dirty: repo.dirty().unwrap_or_else(|_| unknown()) }
    }

    /// The words of the question, and what Enter means; `None` when there is nothing to ask.
    pub(super) fn question(&self) -> Option<(String, DefaultAnswer)> {
        match &self.kind {
            CommitOfferKind::Nothing => None,
            CommitOfferKind::SetUp(files) => {
                Some((format!("Commit {}?", count(files.len(), "file")), DefaultAnswer::Yes))
            }
            // The question has its own choice at the end.
            CommitOfferKind::Everything(files) => {
                Some((question(files).trim_end_matches(" [y/N]").to_owned(), DefaultAnswer::No))
            }
        }
    }

    pub(super) fn carry_out(&self, repo: &Repo<'_>, answer: CommitAnswer) -> CommitReport {
        let mut report = CommitReport::default();
        match (&self.kind, answer) {
            (CommitOfferKind::Nothing, _) => {}
            (CommitOfferKind::SetUp(files), CommitAnswer::Nothing) => {
                report.next = Some(self.by_hand(files))
            }
            (CommitOfferKind::Everything(_), CommitAnswer::Nothing | CommitAnswer::Usual) => {
                report.next = Some(format!("`{COMMAND}`: agents see only what is committed"));
            }
            (CommitOfferKind::SetUp(files), _) => match repo.commit_files(files, &self.message) {
                Ok(true) => {
                    report.made =
                        Some(format!("{} ({})", self.message, count(files.len(), "file")));
                }
                Ok(false) => {}
                Err(e) => {
                    let hint = e.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                    report.trouble = Some(format!("nothing was committed: {e}{hint}"));
                    report.next = Some(self.by_hand(files));
                }
            },
            (CommitOfferKind::Everything(_), CommitAnswer::Everything) => {
                match repo.commit_all(MESSAGE) {
                    Ok(()) => report.made = Some(MESSAGE.to_owned()),
                    Err(e) => {
                        report.trouble = Some(format!("nothing was committed: {e}"));
                        report.next = Some(format!("`{COMMAND}`"));
                    }
                }
            }
        }
        if !self.left.is_empty() && report.trouble.is_none() {
            let names: Vec<String> = self.left.iter().map(ToString::to_string).collect();
            report.trouble =
                Some(format!("{} is not committed: it has changes of yours", names.join(", ")));
        }
        report
    }
}

impl CommitOffer {
    /// Return the command that commits these files.
    fn by_hand(&self, files: &[RepoPath]) -> String {
        let name = |file: &RepoPath| shell_word(&format!("{}{file}", self.path_start));
        let names = files.iter().map(name).collect::<Vec<_>>().join(" ");
        format!("`git add {names} && git commit -m \"{}\" -- {names}`", self.message)
    }
}

impl FilesBefore {
    /// Work out the commit to offer after init has written these files of the project.
    pub(super) fn after(
        self,
        repo: &Repo<'_>,
        directory: &Path,
        written: &[String],
        message: String,
    ) -> CommitOffer {
        let written = written.iter().map(|path| in_repository(repo, path));
        let (left, files): (Vec<_>, Vec<_>) = written.partition(|path| self.dirty.contains(path));
        let (kind, left) = match repo.unborn_files() {
            Ok(Some(unborn)) if unborn.others.is_empty() => {
                (CommitOfferKind::SetUp(unborn.sources), Vec::new())
            }
            Ok(Some(unborn)) => (CommitOfferKind::Everything(unborn.others), Vec::new()),
            Ok(None) if !files.is_empty() => (CommitOfferKind::SetUp(files), left),
            Ok(None) | Err(_) => (CommitOfferKind::Nothing, left),
        };
        let path_start = if directory == repo.top() { "" } else { ":/" };
        CommitOffer { kind, message, path_start, left }
    }
}

fn in_repository(repo: &Repo<'_>, path: &str) -> RepoPath {
    repo.prefix().join(&RepoPath::new(path))
}
