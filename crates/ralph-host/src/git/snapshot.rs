//! Trees of the whole working directory, made with an index of ralph's own.

use std::path::Path;

use super::Repo;
use super::call::nul_fields;
use super::changes::{GitChange, GitChangeKind};
use super::error::GitError;
use super::ledger::without;
use super::name::{Oid, RepoPath};

/// Number of times that a tree is read again when files vanish meanwhile.
const TRIES: u32 = 3;

/// Most repositories without a commit that are stepped around.
const MOST_UNBORN: usize = 64;

/// Result of one `git add`: its output and the paths that it left out.
#[derive(Debug, Default)]
pub(super) struct GitAddResult {
    /// Output of git, which names the paths that differed from the index.
    pub(super) said: Vec<u8>,
    /// Files that it could not read.
    pub(super) unread: Vec<String>,
    /// Repositories without a commit, which it cannot take.
    pub(super) unborn: Vec<RepoPath>,
}

impl Repo<'_> {
    /// Take everything but the ledger and nested repositories into an index: a private one or,
    /// without a path, the user's.
    pub(super) fn add_all(
        &self,
        index: Option<&Path>,
        nested: &[RepoPath],
    ) -> Result<GitAddResult, GitError> {
        let mut added = GitAddResult::default();
        let mut specs = self.ledger.everything_else();
        specs.extend(nested.iter().flat_map(without));
        let mut tries = 0;
        loop {
            let mut args = vec!["-c", "advice.addEmbeddedRepo=false", "add", "-A", "-v"];
            let last = tries >= TRIES;
            if last {
                args.push("--ignore-errors");
            }
            args.push("--");
            let args = args.into_iter().map(Into::into).chain(specs.iter().cloned());
            let call = self.git::<std::ffi::OsString>(args);
            let answer = match index {
                Some(index) => call.index(index).run()?,
                None => self.writing_index(|| call.run())?,
            };
            added.said.extend_from_slice(&answer.stdout);
            if answer.code == 0 || only_ignored(&answer.stderr) {
                return Ok(added);
            }
            if let Some(path) = unborn_in(&answer.stderr)
                && added.unborn.len() < MOST_UNBORN
                && !added.unborn.contains(&path)
            {
                specs.extend(without(&path));
                added.unborn.push(path);
            } else if last {
                added.unread = errors_in(&answer.stderr);
                // With nothing read at all, something else is wrong.
                let none = added.unread.is_empty() || answer.stderr.contains("Unable to write");
                return if none { Err(answer.into_error()) } else { Ok(added) };
            } else {
                tries += 1;
            }
        }
    }

    /// The tree that an index holds.
    pub(super) fn write_tree(&self, index: &Path) -> Result<Oid, GitError> {
        self.git(["write-tree"]).index(index).oid()
    }

    /// Take paths out of an index, not off the disk.
    pub(crate) fn leave_out(
        &self,
        index: Option<&Path>,
        paths: &[&RepoPath],
    ) -> Result<(), GitError> {
        let call = self.git(["update-index", "--force-remove", "-z", "--stdin"]);
        let call = call.stdin(super::call::nul_list(paths.iter().copied()));
        match index {
            Some(index) => call.index(index).ok().map(drop),
            None => self.writing_index(|| call.ok().map(drop)),
        }
    }

    /// List the changes between two trees, without the ledger.
    pub(super) fn diff(&self, from: &str, to: &Oid) -> Result<Vec<GitChange>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", from];
        let out = self.look(args.into_iter().chain([to.as_str(), "--"])).ok()?;
        let mut changes =
            parse_raw(&out).ok_or_else(|| GitError::Unreadable("diff-tree".into()))?;
        changes.retain(|change| !self.ledger.contains(&change.path));
        Ok(changes)
    }
}

/// `:100644 100644 old new M` NUL path NUL …
pub(super) fn parse_raw(bytes: &[u8]) -> Option<Vec<GitChange>> {
    let mut fields = nul_fields(bytes);
    let mut changes = Vec::new();
    while let Some(head) = fields.next() {
        let head = std::str::from_utf8(head.strip_prefix(b":")?).ok()?;
        let [old_mode, new_mode, old, new, letter] =
            <[&str; 5]>::try_from(head.split(' ').collect::<Vec<_>>()).ok()?;
        let mode = |text| u32::from_str_radix(text, 8).ok();
        let kind = match letter.as_bytes().first()? {
            b'A' => GitChangeKind::Added,
            b'D' => GitChangeKind::Deleted,
            b'T' => GitChangeKind::TypeChanged,
            _ => GitChangeKind::Modified,
        };
        let oid = |text: &str| Oid::parse(text.as_bytes()).filter(|oid| !oid.is_null());
        changes.push(GitChange {
            path: RepoPath::new(fields.next()?),
            kind,
            old_mode: mode(old_mode).filter(|m| *m != 0),
            new_mode: mode(new_mode).filter(|m| *m != 0),
            old: oid(old),
            new: oid(new),
        });
    }
    Some(changes)
}

/// `error: 'x/' does not have a commit checked out`
fn unborn_in(stderr: &str) -> Option<RepoPath> {
    let line = stderr.lines().find(|l| l.ends_with("does not have a commit checked out"))?;
    let name = line.strip_prefix("error: '")?.rsplit_once('\'')?.0;
    Some(RepoPath::new(name))
}

fn errors_in(stderr: &str) -> Vec<String> {
    let errors = stderr.lines().filter_map(|line| line.strip_prefix("error: "));
    errors.map(str::to_owned).collect()
}

/// Whether git only complains that a path of the ledger, which is left out here, is ignored anyway. It
/// has taken everything else then.
fn only_ignored(stderr: &str) -> bool {
    let mut lines = stderr.lines();
    let first = lines.next().unwrap_or_default();
    let trouble = |line: &str| ["error:", "fatal:", "warning:"].iter().any(|w| line.starts_with(w));
    first.starts_with("The following paths are ignored by one of your") && !lines.any(trouble)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_differences_are_read() {
        let (a, zero) = ("a".repeat(40), "0".repeat(40));
        let text = format!(
            ":000000 100755 {zero} {a} A\0new\nname\0:120000 100644 {a} {a} T\0link\0\
             :100644 000000 {a} {zero} D\0gone\0"
        );
        let changes = parse_raw(text.as_bytes()).unwrap();
        let kinds: Vec<_> = changes.iter().map(|c| (c.path.to_string(), c.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("new\\x0aname".to_owned(), GitChangeKind::Added),
                ("link".to_owned(), GitChangeKind::TypeChanged),
                ("gone".to_owned(), GitChangeKind::Deleted),
            ]
        );
        assert_eq!((changes[0].old_mode, changes[0].new_mode), (None, Some(0o100_755)));
        assert_eq!(parse_raw(b"").unwrap(), []);
        assert!(parse_raw(b"nonsense\0").is_none());
    }

    #[test]
    fn a_repository_without_a_commit_is_named() {
        let stderr = "error: 'a 'b'/' does not have a commit checked out\nfatal: adding failed\n";
        assert_eq!(unborn_in(stderr), Some(RepoPath::from("a 'b'")));
        assert_eq!(unborn_in("fatal: other"), None);
    }
}
