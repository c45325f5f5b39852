//! Repositories inside the working tree: submodules, and clones that git does not track.
//!
//! Git's trees do not hold their content, so what happens inside can be seen but not undone. A mark
//! of each is taken at the checkpoint and compared after the backend.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use super::Repo;
use super::call::nul_fields;
use super::error::GitError;
use super::name::RepoPath;
use super::status::Status;

/// A repository inside the working tree, and a mark of its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NestedRepo {
    /// Where it is.
    pub path: RepoPath,
    /// Differs when its HEAD, its index or one of its files does.
    pub mark: u64,
}

impl Repo<'_> {
    /// All of them, as they are now.
    pub(super) fn nested(&self, status: &Status) -> Result<Vec<NestedRepo>, GitError> {
        // A lane starts without any, and git must not read the configuration of one that an agent made.
        if self.is_lane() {
            return Ok(Vec::new());
        }
        let found = status.entries.iter().filter(|e| e.nested).map(|e| e.path.clone());
        let mut paths: BTreeSet<RepoPath> = found.collect();
        paths.extend(self.declared()?);
        paths.retain(|path| self.file(path).join(".git").exists());
        paths.into_iter().map(|path| Ok(NestedRepo { mark: self.mark(&path)?, path })).collect()
    }

    /// Those of `before` that are not as they were.
    pub(super) fn nested_touched(&self, before: &[NestedRepo]) -> Result<Vec<RepoPath>, GitError> {
        let mut touched = Vec::new();
        for nested in before {
            let there = self.file(&nested.path).join(".git").exists();
            if !there || self.mark(&nested.path)? != nested.mark {
                touched.push(nested.path.clone());
            }
        }
        Ok(touched)
    }

    /// Submodules that the project declares.
    fn declared(&self) -> Result<Vec<RepoPath>, GitError> {
        if !self.top.join(".gitmodules").is_file() {
            return Ok(Vec::new());
        }
        let call = ["config", "-z", "-f", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
        let answer = self.look(call).run()?;
        // A name and a value with a line end between them.
        let value = |field: &[u8]| {
            let at = field.iter().position(|b| *b == b'\n')?;
            field.get(at + 1..).map(RepoPath::new)
        };
        Ok(nul_fields(&answer.stdout).filter_map(value).collect())
    }

    fn mark(&self, path: &RepoPath) -> Result<u64, GitError> {
        let call = ["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"];
        let answer = self.look(call).inside(path).run()?;
        let mut mark = fnv(FNV, &answer.stdout);
        for field in nul_fields(&answer.stdout) {
            // The name is the last part of every line; a name with spaces marks less, not more.
            let name = RepoPath::new(field.rsplit(|b| *b == b' ').next().unwrap_or_default());
            if let Ok(meta) = fs::symlink_metadata(self.file(path).join(name.as_path())) {
                for number in [meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec()] {
                    mark = fnv(mark, &number.to_le_bytes());
                }
                mark = fnv(mark, &meta.len().to_le_bytes());
            }
        }
        Ok(mark)
    }
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// A hash that is the same in every version of ralph.
fn fnv(from: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(from, |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}
