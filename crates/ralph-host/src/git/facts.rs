//! What recovery asks, and what comes at the end of a run.

use std::fs;

use serde::{Deserialize, Serialize};

use super::Repo;
use super::call::nul_fields;
use super::checkpoint::{Checkpoint, Target};
use super::desk::put;
use super::error::GitError;
use super::land::{LandError, Landed, Way};
use super::message::{ATTEMPT, CommitMessage};
use super::name::{Oid, RepoPath};
use super::salvage::Salvage;
use super::state::Operation;
use super::status::Side;

/// Whether an attempt has landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landing {
    /// It has not.
    No,
    /// This commit is it.
    At(Oid),
    /// The history that would say it was rewritten: ask the user.
    Rewritten,
}

/// What git knows about an attempt that was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// HEAD's commit now.
    pub head: Option<Oid>,
    /// HEAD's branch now.
    pub branch: Option<String>,
    /// Whether it landed.
    pub landing: Landing,
    /// What was kept of it.
    pub salvage: Option<Salvage>,
    /// The index is locked.
    pub locked: bool,
    /// Something of git's own is unfinished.
    pub operation: Option<Operation>,
}

impl Repo<'_> {
    /// Whether an attempt landed: its trailer stands in a commit after the checkpoint.
    pub fn landed(&self, cp: &Checkpoint) -> Result<Landing, GitError> {
        let (target, base) = match cp.target {
            Target::Head => (cp.branch.clone().unwrap_or("HEAD".into()), cp.head.as_ref()),
            Target::Spec => (cp.own_ref("spec"), cp.spec_tip.as_ref().or(cp.head.as_ref())),
        };
        let Some(tip) = self.find_ref(&target)? else {
            let gone = cp.target == Target::Head && base.is_some();
            return Ok(if gone { Landing::Rewritten } else { Landing::No });
        };
        if Some(&tip) == base {
            return Ok(Landing::No);
        }
        if let Some(base) = base {
            let args = ["merge-base", "--is-ancestor", base.as_str(), tip.as_str()];
            match self.look(args).run()? {
                answer if answer.code == 0 => {}
                answer if answer.code == 1 => return Ok(Landing::Rewritten),
                answer => return Err(answer.into_error()),
            }
        }
        let range = base.map_or(tip.to_string(), |base| format!("{base}..{tip}"));
        let format = format!("--format=%H %(trailers:key={ATTEMPT},valueonly,separator=%x2C)");
        let out = self.look(["log", "-z", "--no-show-signature", &format, &range, "--"]).ok()?;
        let found = nul_fields(&out).find_map(|field| {
            let text = std::str::from_utf8(field).ok()?;
            let (commit, attempts) = text.split_once(' ')?;
            let ours = attempts.split(',').any(|a| a.trim() == cp.of.attempt);
            ours.then(|| Oid::parse(commit.as_bytes())).flatten()
        });
        Ok(found.map_or(Landing::No, Landing::At))
    }

    /// Everything that recovery needs to know from git.
    pub fn facts(&self, cp: &Checkpoint) -> Result<Facts, GitError> {
        let head = self.head()?;
        let salvages = self.salvages()?;
        Ok(Facts {
            head: head.commit,
            branch: head.branch,
            landing: self.landed(cp)?,
            salvage: salvages.into_iter().find(|s| s.of == cp.of),
            locked: self.index_lock().exists(),
            operation: self.operation(),
        })
    }

    /// Commit ledger files that no landing has taken along. `None` when there are none.
    pub fn commit_ledger(&self, message: &CommitMessage) -> Result<Option<Landed>, LandError> {
        let status = self.status()?;
        let shared = self.ledger.shared();
        let changed: Vec<RepoPath> = status
            .entries
            .into_iter()
            .filter(|e| shared.contains(&e.path) && e.index != Side::Unmerged)
            .map(|e| e.path)
            .collect();
        if changed.is_empty() {
            return Ok(None);
        }
        let desk = self.desk("ledger");
        desk.clear()?;
        put(&desk.message(), &message.render(&[]))?;
        let list = ["--only", "--pathspec-from-file=-", "--pathspec-file-nul"];
        let commit = self.commit_with(&desk.message(), &list).paths(&changed);
        let answer = self.writing_index(|| {
            self.add(&changed).ok()?;
            commit.run()
        })?;
        let landed = self.landed_by(answer, Way::Disjoint, None)?;
        desk.remove();
        Ok(Some(landed))
    }

    /// The end of a run: private files go, and git may tidy up, which it was not allowed before.
    pub fn maintenance(&self) -> Result<(), GitError> {
        let _left = fs::remove_dir_all(self.desks());
        let auto = ["-c", "maintenance.auto=true", "-c", "gc.autoDetach=false"];
        let more =
            ["-c", "maintenance.autoDetach=false", "maintenance", "run", "--auto", "--quiet"];
        self.tidy(auto.into_iter().chain(more)).run().map(drop)
    }
}
