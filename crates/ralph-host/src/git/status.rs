//! Output of `git status`, parsed into paths and their changes.

use serde::{Deserialize, Serialize};

use super::Repo;
use super::call::nul_fields;
use super::error::GitError;
use super::name::{Oid, RepoPath};

/// Change of a path on one side: from HEAD to the index, or from the index to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitSideChange {
    Same,
    /// Content or permissions changed.
    Modified,
    /// File became a link, or the like.
    TypeChanged,
    Added,
    Deleted,
    Unmerged,
    Untracked,
}

/// One path that is not as in HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitStatusEntry {
    pub(super) path: RepoPath,
    pub(super) index: GitSideChange,
    pub(super) file: GitSideChange,
    /// A submodule, or an untracked repository inside this one.
    pub(super) nested: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GitStatus {
    pub(super) head: Option<Oid>,
    pub(super) entries: Vec<GitStatusEntry>,
}

impl GitStatus {
    pub(super) fn unmerged(&self) -> Vec<RepoPath> {
        let unmerged = self.entries.iter().filter(|e| e.index == GitSideChange::Unmerged);
        unmerged.map(|e| e.path.clone()).collect()
    }
}

impl Repo<'_> {
    /// Everything that is not as in HEAD, the ledger included.
    pub(super) fn status(&self) -> Result<GitStatus, GitError> {
        parse(&self.status_call().ok()?).ok_or_else(|| GitError::Unreadable("status".into()))
    }

    fn status_call(&self) -> super::call::GitCall<'_, '_> {
        self.look([
            "status",
            "--porcelain=v2",
            "-z",
            "--branch",
            "--no-ahead-behind",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=none",
        ])
    }
}

fn parse(bytes: &[u8]) -> Option<GitStatus> {
    let mut status = GitStatus::default();
    let mut fields = nul_fields(bytes);
    while let Some(field) = fields.next() {
        let (kind, rest) = field.split_at_checked(2)?;
        match kind {
            b"# " => {
                if let Some(oid) = rest.strip_prefix(b"branch.oid ") {
                    status.head = Oid::parse(oid);
                }
            }
            b"1 " => status.entries.push(entry(rest, 7)?),
            b"2 " => {
                status.entries.push(entry(rest, 8)?);
                fields.next()?;
            }
            b"u " => {
                let mut entry = entry(rest, 9)?;
                (entry.index, entry.file) = (GitSideChange::Unmerged, GitSideChange::Unmerged);
                status.entries.push(entry);
            }
            b"? " => status.entries.push(GitStatusEntry {
                path: RepoPath::new(rest),
                index: GitSideChange::Untracked,
                file: GitSideChange::Untracked,
                nested: rest.ends_with(b"/"),
            }),
            b"! " => {}
            _ => return None,
        }
    }
    Some(status)
}

/// `XY sub …` with so many fields before the path.
fn entry(rest: &[u8], before: usize) -> Option<GitStatusEntry> {
    let mut fields = rest.splitn(before + 1, |b| *b == b' ');
    let [index, file] = fields.next()?.try_into().ok()?;
    let sub = fields.next()?;
    let path = fields.nth(before - 2)?;
    let nested = sub.first() == Some(&b'S');
    Some(GitStatusEntry {
        path: RepoPath::new(path),
        index: side(index)?,
        file: side(file)?,
        nested,
    })
}

fn side(letter: u8) -> Option<GitSideChange> {
    Some(match letter {
        b'.' => GitSideChange::Same,
        b'M' => GitSideChange::Modified,
        b'T' => GitSideChange::TypeChanged,
        b'A' | b'C' | b'R' => GitSideChange::Added,
        b'D' => GitSideChange::Deleted,
        b'U' => GitSideChange::Unmerged,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line_is_read_with_names_as_they_are() {
        let oid = "a".repeat(40);
        let text = format!(
            "# branch.oid {oid}\0# branch.head main\0\
             1 .M N... 100644 100644 100644 {oid} {oid} with space\nand line\0\
             1 A. S.M. 000000 160000 160000 {oid} {oid} sub\0\
             2 R. N... 100644 100644 100644 {oid} {oid} R100 new\0old\0\
             u UU N... 100644 100644 100644 100644 {oid} {oid} {oid} torn\0\
             ? -dash\0? nested/\0"
        );
        let status = parse(text.as_bytes()).unwrap();
        assert_eq!(status.head.as_ref().map(Oid::as_str), Some(&oid[..]));
        let short: Vec<_> = status
            .entries
            .iter()
            .map(|e| (e.path.to_string(), e.index, e.file, e.nested))
            .collect();
        assert_eq!(
            short,
            [
                (
                    "with space\\x0aand line".to_owned(),
                    GitSideChange::Same,
                    GitSideChange::Modified,
                    false
                ),
                ("sub".to_owned(), GitSideChange::Added, GitSideChange::Same, true),
                ("new".to_owned(), GitSideChange::Added, GitSideChange::Same, false),
                ("torn".to_owned(), GitSideChange::Unmerged, GitSideChange::Unmerged, false),
                ("-dash".to_owned(), GitSideChange::Untracked, GitSideChange::Untracked, false),
                ("nested".to_owned(), GitSideChange::Untracked, GitSideChange::Untracked, true),
            ]
        );
        assert_eq!(status.unmerged(), [RepoPath::from("torn")]);
        assert!(parse(b"").unwrap().entries.is_empty());
        assert!(parse(b"x unknown\0").is_none());
    }
}
