//! Landing: exactly S0 → S1 becomes a commit, and the ledger rides along.

use serde::{Deserialize, Serialize};

use super::Repo;
use super::call::{Answer, Call, nul_fields};
use super::changes::Changes;
use super::checkpoint::{Checkpoint, LedgerFile, Target};
use super::desk::put;
use super::error::GitError;
use super::message::{ATTEMPT, CommitMessage, GATED_TREE};
use super::name::{Oid, RepoPath};
use super::salvage::Salvage;
use super::state::Stamp;
use super::status::Side;

/// Hooks that can refuse a commit.
const HOOKS: [&str; 5] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "reference-transaction",
    "post-index-change",
];

/// How an attempt was landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The tree had been clean.
    Clean,
    /// The user's uncommitted paths and the backend's have nothing in common.
    Disjoint,
    /// The backend's change was taken out of files that hold uncommitted lines too.
    Merged,
    /// It was put on the ref of the spec.
    Spec,
}

/// A landed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landed {
    /// Its commit.
    pub commit: Oid,
    /// What the gates saw, where that is not what the commit holds: "proven with your uncommitted
    /// changes present".
    pub gated_tree: Option<Oid>,
    /// How.
    pub way: Way,
    /// What git and the hooks said.
    pub hook_output: String,
}

/// An attempt that was not landed. Nothing was committed, and [`Repo::roll_back`] works.
#[derive(Debug, thiserror::Error)]
pub enum LandError {
    /// A hook, or the signing of the commit, said no.
    #[error("a hook of this repository refused the commit:\n{output}")]
    Hook {
        /// What it said.
        output: String,
    },
    /// The change cannot be told apart from the user's uncommitted lines.
    #[error("the change touches lines that you have changed and not committed, in {}", paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Conflict {
        /// Where.
        paths: Vec<RepoPath>,
        /// What keeps the change.
        kept: Box<Salvage>,
        /// The command that applies it later.
        apply: String,
    },
    /// Somebody moved HEAD since the backend ended.
    #[error("HEAD has moved since the attempt ended")]
    HeadMoved,
    /// Something changed in a submodule or nested repository, which a commit cannot hold.
    #[error("the attempt changed a repository inside this one: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Nested(Vec<RepoPath>),
    /// There is nothing to commit.
    #[error("there is nothing to commit")]
    Nothing,
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl LandError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Conflict { apply, .. } => {
                Some(format!("commit or drop your changes there, then `{apply}`"))
            }
            Self::Nested(_) => Some("look into it: ralph did not undo what happened there".into()),
            Self::Git(e) => e.hint(),
            Self::Hook { .. } | Self::HeadMoved | Self::Nothing => None,
        }
    }
}

impl Repo<'_> {
    /// Land an attempt.
    pub fn land(
        &self,
        cp: &Checkpoint,
        changes: &Changes,
        message: &CommitMessage,
    ) -> Result<Landed, LandError> {
        if !changes.nested.is_empty() {
            return Err(LandError::Nested(changes.nested.clone()));
        }
        let attempt = (ATTEMPT, cp.of.attempt.as_str());
        let gated = changes.tree.as_ref().filter(|_| !cp.dirty.is_empty());
        let message = match gated {
            Some(tree) => message.render(&[attempt, (GATED_TREE, tree.as_str())]),
            None => message.render(&[attempt]),
        };
        self.ensure_desk(cp)?;
        let head = self.head()?;
        if cp.target == Target::Head && (head.commit != cp.head || head.branch != cp.branch) {
            return Err(LandError::HeadMoved);
        }
        if cp.target == Target::Head && cp.is_clean() {
            return self.land_clean(cp, message);
        }
        put(&self.desk(&cp.of.attempt).message(), &message)?;
        if cp.target == Target::Spec {
            self.land_on_spec(cp, changes)
        } else if is_disjoint(cp, changes) {
            self.land_disjoint(cp, changes)
        } else {
            self.land_merged(cp, changes)
        }
    }

    fn land_clean(&self, cp: &Checkpoint, message: Vec<u8>) -> Result<Landed, LandError> {
        let new: Vec<&RepoPath> = cp
            .ledger
            .iter()
            .filter(|l| l.file == Side::Untracked || l.stamp.is_none())
            .filter(|l| self.file(&l.path).exists())
            .map(|l| &l.path)
            .collect();
        if !new.is_empty() {
            let taken = self.rideable(&new, &["--others"])?;
            if !taken.is_empty() {
                self.writing_index(|| self.add(&taken).ok())?;
            }
        }
        let args = ["commit", "-q", "--cleanup=whitespace", "-F", "-", "-a"];
        let call = self.git(args).stdin(message).patience(self.hook_patience);
        let answer = self.writing_index(|| call.run())?;
        self.landed_by(answer, Way::Clean, None)
    }

    fn land_disjoint(&self, cp: &Checkpoint, changes: &Changes) -> Result<Landed, LandError> {
        let ledger = self.riding(self.written_ledger(cp))?;
        let paths: Vec<RepoPath> =
            changes.paths.iter().map(|c| c.path.clone()).chain(ledger).collect();
        if paths.is_empty() {
            return Err(LandError::Nothing);
        }
        let from_list = ["--only", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let commit = self.commit_call(cp, &from_list).paths(&paths);
        let made = self
            .writing_index(|| {
                self.add(&paths).ok()?;
                commit.run()
            })
            .map_err(LandError::from)
            .and_then(|answer| self.landed_by(answer, Way::Disjoint, changes.tree.clone()));
        if made.is_err() {
            self.install_saved(cp)?;
        }
        made
    }

    /// Take exactly these paths into the user's index.
    pub(super) fn add(&self, paths: &[RepoPath]) -> Call<'_, '_> {
        let args = ["add", "-A", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
        self.git(args).paths(paths)
    }

    /// A commit with the message that lies on the desk.
    pub(super) fn commit_call(&self, cp: &Checkpoint, args: &[&str]) -> Call<'_, '_> {
        self.commit_with(&self.desk(&cp.of.attempt).message(), args)
    }

    pub(super) fn commit_with(&self, message: &std::path::Path, args: &[&str]) -> Call<'_, '_> {
        let mut all: Vec<std::ffi::OsString> =
            ["commit", "-q", "--cleanup=whitespace", "-F"].map(Into::into).to_vec();
        all.push(message.into());
        all.extend(args.iter().map(Into::into));
        self.git(all).patience(self.hook_patience)
    }

    /// What a call of `git commit` came to.
    pub(super) fn landed_by(
        &self,
        answer: Answer,
        way: Way,
        gated_tree: Option<Oid>,
    ) -> Result<Landed, LandError> {
        if answer.code != 0 {
            return Err(self.refused(answer)?);
        }
        let commit = self.head()?.commit;
        let commit = commit.ok_or_else(|| GitError::Unreadable("commit".into()))?;
        Ok(Landed { commit, gated_tree, way, hook_output: answer.said() })
    }

    fn refused(&self, answer: Answer) -> Result<LandError, GitError> {
        let said = answer.said();
        let nothing = ["nothing to commit", "nothing added to commit", "no changes added"];
        if answer.code == 1 && nothing.iter().any(|words| said.contains(words)) {
            return Ok(LandError::Nothing);
        }
        let signing = ["failed to sign", "signing failed", "failed to write commit object"];
        if signing.iter().any(|words| said.contains(words)) {
            return Ok(LandError::Hook { output: said });
        }
        let failed = answer.into_error();
        if matches!(failed, GitError::Failed { .. }) && self.has_hooks()? {
            return Ok(LandError::Hook { output: said });
        }
        Ok(LandError::Git(failed))
    }

    /// Whether a hook can have refused a commit.
    fn has_hooks(&self) -> Result<bool, GitError> {
        let hooks = self.hooks()?;
        Ok(HOOKS.iter().any(|name| is_program(&hooks.join(name))))
    }

    /// Whether there is any hook at all: one that runs after a commit may change files.
    pub(super) fn any_hook(&self) -> Result<bool, GitError> {
        let Ok(entries) = std::fs::read_dir(self.hooks()?) else { return Ok(false) };
        let sample = |path: &std::path::Path| path.extension().is_some_and(|e| e == "sample");
        Ok(entries.flatten().map(|e| e.path()).any(|path| !sample(&path) && is_program(&path)))
    }

    /// Where the hooks are; git is asked once.
    pub(crate) fn hooks(&self) -> Result<std::path::PathBuf, GitError> {
        use std::os::unix::ffi::OsStrExt;
        if let Some(known) = self.hooks.get() {
            return Ok(known.clone());
        }
        let out = self.look(["rev-parse", "--git-path", "hooks"]).ok()?;
        let out = out.strip_suffix(b"\n").unwrap_or(&out);
        let path = self.top.join(std::ffi::OsStr::from_bytes(out));
        Ok(self.hooks.get_or_init(|| path).clone())
    }

    /// The shared ledger files that are not as in HEAD.
    pub(super) fn written_ledger<'c>(&self, cp: &'c Checkpoint) -> Vec<&'c RepoPath> {
        let written =
            |l: &&LedgerFile| l.file != Side::Same || Stamp::of(&self.file(&l.path)) != l.stamp;
        cp.ledger.iter().filter(written).map(|l| &l.path).collect()
    }

    /// Those of `ledger` that belong into the next commit: git knows them or would take them.
    pub(super) fn riding(&self, ledger: Vec<&RepoPath>) -> Result<Vec<RepoPath>, GitError> {
        let here = ledger.into_iter().filter(|path| self.file(path).exists());
        let mut tracked =
            self.tracked_ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (known, unknown): (Vec<&RepoPath>, Vec<&RepoPath>) =
            here.partition(|path| tracked.contains(*path));
        let mut riding: Vec<RepoPath> = known.into_iter().cloned().collect();
        if !unknown.is_empty() {
            let found = self.rideable(&unknown, &["--cached", "--others"])?;
            tracked.extend(found.iter().cloned());
            riding.extend(found);
        }
        Ok(riding)
    }

    /// Those of `paths` that git lists.
    fn rideable(&self, paths: &[&RepoPath], which: &[&str]) -> Result<Vec<RepoPath>, GitError> {
        let mut args: Vec<std::ffi::OsString> =
            ["ls-files", "-z", "--exclude-standard"].map(Into::into).to_vec();
        args.extend(which.iter().map(Into::into));
        args.push("--".into());
        args.extend(paths.iter().map(|path| path.as_path().into()));
        let out = self.look(args).env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        Ok(nul_fields(&out).map(RepoPath::new).collect())
    }
}

/// Whether the backend's paths and the user's have nothing to do with each other.
fn is_disjoint(cp: &Checkpoint, changes: &Changes) -> bool {
    let related = |a: &RepoPath, b: &RepoPath| a.is_at_or_below(b) || b.is_at_or_below(a);
    let mut all: Vec<(&RepoPath, bool)> = cp.dirty.iter().map(|d| (&d.path, false)).collect();
    all.extend(changes.paths.iter().map(|c| (&c.path, true)));
    // With `/` before every other byte, what is below a path comes right behind it.
    let key = |path: &RepoPath| -> Vec<u16> {
        path.as_bytes().iter().map(|b| if *b == b'/' { 0 } else { u16::from(*b) + 1 }).collect()
    };
    all.sort_by_cached_key(|(path, _)| key(path));
    let mut above: Vec<(&RepoPath, bool)> = Vec::new();
    for (path, backend) in all {
        above.retain(|(other, _)| related(path, other));
        if above.iter().any(|(_, other)| *other || backend) {
            return false;
        }
        above.push((path, backend));
    }
    true
}

fn is_program(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let meta = std::fs::metadata(path);
    meta.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}
