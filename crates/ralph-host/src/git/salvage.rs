//! Work that a roll-back removed, under `refs/ralph/<run>/salvage/<attempt>`.
//!
//! Each salvage is a commit whose parent holds the tree that the attempt started from. So its diff is
//! the work of the attempt.

use std::ffi::OsString;

use ralph_core::cycle::AttemptBase;
use serde::{Deserialize, Serialize};

use super::Repo;
use super::error::GitError;
use super::name::Oid;

/// Name of an attempt: its run and its id. Both become parts of refs and file names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRef {
    pub run: String,
    /// Id of the attempt, a ULID.
    pub attempt: String,
}

/// Work of an attempt that is kept under a ref.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Salvage {
    /// Attempt that did the work.
    #[serde(flatten)]
    pub of: AttemptRef,
    /// Full name of the ref.
    pub name: String,
    pub commit: Oid,
    /// When it was kept, in seconds since 1970.
    pub at: i64,
    /// The first line of its message.
    pub subject: String,
}

impl Repo<'_> {
    /// Keep a tree under the ref of an attempt.
    pub(super) fn salvage_tree(&self, base: &AttemptBase, tree: &Oid) -> Result<Salvage, GitError> {
        let subject = format!("ralph: salvage of {}", base.attempt);
        let commit = self.commit_tree(tree, &[&base.commit], &subject)?;
        let name = format!("refs/ralph/{}/salvage/{}", base.keeper, base.attempt);
        self.git(["update-ref", &name, commit.as_str()]).ok()?;
        let of = AttemptRef { run: base.keeper.clone(), attempt: base.attempt.clone() };
        Ok(Salvage { of, name, commit, at: 0, subject })
    }

    pub(super) fn commit_tree(
        &self,
        tree: &Oid,
        parents: &[&Oid],
        text: &str,
    ) -> Result<Oid, GitError> {
        let mut args = vec!["commit-tree", "-m", text];
        for parent in parents {
            args.extend(["-p", parent.as_str()]);
        }
        args.push(tree.as_str());
        self.git(args).by_ralph().oid()
    }

    /// Everything that was kept, the newest first.
    pub fn salvages(&self) -> Result<Vec<Salvage>, GitError> {
        let format = "--format=%(refname)%00%(objectname)%00%(creatordate:unix)%00%(subject)";
        let out = self.look(["for-each-ref", format, "refs/ralph"]).ok()?;
        let text = String::from_utf8_lossy(&out);
        let mut all: Vec<Salvage> = text.lines().filter_map(read).collect();
        all.sort_by(|a, b| (b.at, &b.of.attempt).cmp(&(a.at, &a.of.attempt)));
        Ok(all)
    }

    /// Return the work of an attempt as a patch.
    pub fn salvage_diff(&self, salvage: &Salvage) -> Result<Vec<u8>, GitError> {
        self.patch_of(salvage.commit.as_str())
    }

    /// Return the changes of a commit against its parent, as a patch that `git apply` accepts.
    pub fn patch_of(&self, revision: &str) -> Result<Vec<u8>, GitError> {
        let args =
            ["diff-tree", "-r", "-p", "--root", "--no-commit-id", "--binary", "--full-index"];
        let more =
            ["--no-renames", "--no-ext-diff", "--no-textconv", "--end-of-options", revision, "--"];
        self.look(args.into_iter().chain(more)).ok()
    }

    /// The same without ralph's own files, for people and agents who look at the work.
    pub fn work_of(&self, revision: &str) -> Result<Vec<u8>, GitError> {
        let args = ["diff-tree", "-r", "-p", "--root", "--no-commit-id", "--no-ext-diff"];
        let more = ["--no-textconv", "--end-of-options", revision, "--"];
        let args = args.into_iter().chain(more).map(OsString::from);
        self.look(args.chain(self.ledger.everything_else())).ok()
    }

    /// Bring back what an attempt did, into the files and not into the index. All of it or nothing.
    pub fn salvage_restore(&self, salvage: &Salvage) -> Result<(), GitError> {
        let patch = self.salvage_diff(salvage)?;
        if patch.is_empty() {
            return Ok(());
        }
        self.git(["apply", "--whitespace=nowarn", "-"]).stdin(patch).ok().map(drop)
    }
}

fn read(line: &str) -> Option<Salvage> {
    let [name, commit, at, subject] =
        <[&str; 4]>::try_from(line.splitn(4, '\0').collect::<Vec<_>>()).ok()?;
    let (run, attempt) = name.strip_prefix("refs/ralph/")?.split_once("/salvage/")?;
    let of = AttemptRef { run: run.to_owned(), attempt: attempt.to_owned() };
    Some(Salvage {
        of,
        name: name.to_owned(),
        commit: Oid::parse(commit.as_bytes())?,
        at: at.parse().unwrap_or(0),
        subject: subject.to_owned(),
    })
}
