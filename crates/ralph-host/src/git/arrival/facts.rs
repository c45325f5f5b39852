//! The state of home and of the branch, read without taking a lock.

use std::collections::BTreeSet;

use ralph_core::cycle::{ArrivalFacts, ArrivalLine, BranchAncestry, HomeHead};

use super::super::call::nul_fields;
use super::super::message::ATTEMPT;
use super::super::name::RepoPath;
use super::super::snapshot::parse_raw;
use super::super::{GitChange, Repo};
use super::{Arrival, ArrivalError, GitError, Oid};

impl Arrival<'_, '_, '_> {
    pub(super) fn facts(&mut self) -> Result<ArrivalFacts, ArrivalError> {
        let repo = self.repo;
        let branch = self.branch_at()?;
        let head = repo.home_head(&self.line)?;
        let elsewhere = match head {
            HomeHead::OnBranch => None,
            _ => repo.other_worktree_of(&self.branch_ref())?,
        };
        let mut facts = ArrivalFacts {
            branch_at: branch.as_ref().map(Oid::to_string),
            ancestry: BranchAncestry::Unmoved,
            head,
            busy: repo.busy(),
            elsewhere,
            attempts: BTreeSet::new(),
            accepted: BTreeSet::new(),
        };
        let Some(branch) = branch else { return Ok(facts) };
        facts.ancestry = repo.ancestry(&self.line, branch.as_str())?;
        if matches!(facts.ancestry, BranchAncestry::HasArrived | BranchAncestry::Rewritten) {
            facts.attempts = repo.known_attempts(&self.line, branch.as_str(), facts.ancestry)?;
        }
        if facts.ancestry == BranchAncestry::Rewritten {
            facts.accepted = self.host.accepted_tasks(&branch)?;
        }
        Ok(facts)
    }
}

impl Repo<'_> {
    pub(super) fn home_head(&self, line: &ArrivalLine) -> Result<HomeHead, GitError> {
        Ok(match self.head()?.branch {
            Some(name) if name == format!("refs/heads/{}", line.branch) => HomeHead::OnBranch,
            Some(_) => HomeHead::OnOtherBranch,
            None => HomeHead::Detached,
        })
    }

    fn ancestry(&self, line: &ArrivalLine, branch: &str) -> Result<BranchAncestry, GitError> {
        Ok(if branch == line.arrived {
            BranchAncestry::Unmoved
        } else if self.is_ancestor(&line.tip, branch)? {
            BranchAncestry::HasTip
        } else if self.is_ancestor(&line.arrived, branch)? {
            BranchAncestry::HasArrived
        } else {
            BranchAncestry::Rewritten
        })
    }

    pub(super) fn is_ancestor(&self, older: &str, newer: &str) -> Result<bool, GitError> {
        if older == newer {
            return Ok(true);
        }
        let answer = self.look(["merge-base", "--is-ancestor", older, newer]).run()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(answer.into_error()),
        }
    }

    /// Attempts whose commits the branch has, or whose trailers are in commits of the person: a rebase, a
    /// cherry-pick, an amend and a squash keep those.
    fn known_attempts(
        &self,
        line: &ArrivalLine,
        branch: &str,
        ancestry: BranchAncestry,
    ) -> Result<BTreeSet<String>, GitError> {
        // A squash indents them.
        let grep = format!("--grep={ATTEMPT}: ");
        let excluded = format!("^{}", line.arrived);
        let mut args = vec!["log", "--encoding=UTF-8", "--format=%B", &grep, branch];
        // A commit that was written again may be below what arrived since.
        if ancestry != BranchAncestry::Rewritten {
            args.push(&excluded);
        }
        let log = self.look(args).ok()?;
        let log = String::from_utf8_lossy(&log);
        let trailer = |line: &str| {
            let id = line.trim().strip_prefix(ATTEMPT)?.strip_prefix(": ")?;
            Some(id.trim().to_owned())
        };
        let mut known: BTreeSet<String> = log.lines().filter_map(trailer).collect();
        // Commits that a rewrite dropped are neither in the branch nor in the tip.
        let mut landed: String =
            line.landed.iter().map(|one| format!("{}\n", one.commit)).collect();
        landed.push_str(&format!("^{branch}\n"));
        let gone = self
            .look(["rev-list", "--ignore-missing", "--stdin"])
            .stdin(landed.into_bytes())
            .ok()?;
        let gone = String::from_utf8_lossy(&gone);
        let gone: BTreeSet<&str> = gone.lines().collect();
        let there = line.landed.iter().filter(|landed| !gone.contains(landed.commit.as_str()));
        known.extend(there.map(|landed| landed.attempt.clone()));
        Ok(known)
    }

    /// The folder of another worktree that has this branch checked out.
    pub(super) fn other_worktree_of(&self, branch: &str) -> Result<Option<String>, GitError> {
        let list = self.look(["worktree", "list", "--porcelain", "-z"]).ok()?;
        let mut place = None;
        for field in list.split(|b| *b == 0) {
            let field = String::from_utf8_lossy(field);
            if let Some(path) = field.strip_prefix("worktree ") {
                place = Some(path.to_owned());
            } else if field.strip_prefix("branch ") == Some(branch) {
                return Ok(place);
            }
        }
        Ok(None)
    }

    /// List the changes between two commits, including the ledger.
    pub(super) fn touched(&self, old: &str, new: &str) -> Result<Vec<GitChange>, GitError> {
        let args =
            ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", old, new, "--"];
        let out = self.look(args).ok()?;
        parse_raw(&out).ok_or_else(|| GitError::Unreadable("diff-tree".into()))
    }

    /// Those of these paths that are not as in HEAD: staged, changed, untracked or ignored.
    pub(super) fn not_as_in_head(
        &self,
        paths: &[RepoPath],
    ) -> Result<BTreeSet<RepoPath>, GitError> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let args =
            ["status", "--porcelain=v1", "-z", "--no-renames", "-uall", "--ignored=matching"];
        let args = args.into_iter().map(Into::into).chain(["--".into()]);
        let args = args.chain(paths.iter().map(|path| path.as_path().as_os_str().to_owned()));
        let out = self.look::<std::ffi::OsString>(args).env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        Ok(nul_fields(&out).filter_map(|field| field.get(3..)).map(RepoPath::new).collect())
    }
}
