//! Write the waiting commits again on top of the person's commits, in objects alone.

use std::collections::BTreeSet;
use std::ffi::OsString;

use ralph_core::cycle::{
    ArrivalWait, CommitReplay, JournalRecord, LandedCommit, ReplayedCommit, StagedEntry,
};

use super::super::Repo;
use super::super::call::nul_fields;
use super::{Arrival, ArrivalError, ArrivalOutcome, GitError, Oid, RepoPath};
use crate::crash;

/// A ledger file that is both in the branch and in a commit to be replayed.
#[derive(Debug)]
pub struct LedgerMerge<'m> {
    /// The path from the top of the repository.
    pub path: &'m RepoPath,
    /// The file before the commit; `None` when the commit added it.
    pub base: Option<Vec<u8>>,
    /// The file of the branch, with the commits that were replayed before this one.
    pub ours: Option<Vec<u8>>,
    /// File in the commit that is replayed.
    pub theirs: Vec<u8>,
    /// Attempts whose work the branch has lost: their tasks are pending.
    pub missing: &'m [LandedCommit],
}

/// The result of the gates on a replayed commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayGateResult {
    Green,
    /// The names of the gates that fail.
    Red(Vec<String>),
}

/// A commit as it has to be written again.
struct ReplayCommitText {
    author: [String; 3],
    message: Vec<u8>,
}

impl Arrival<'_, '_, '_> {
    /// Replay, gate the last tree and move the tip. `None` when the arrival can go on.
    pub(super) fn replay(
        &mut self,
        onto: &str,
        missing: &[LandedCommit],
        known: &BTreeSet<String>,
    ) -> Result<Option<ArrivalOutcome>, ArrivalError> {
        let todo = self.commits_to_replay(onto, known)?;
        let mut current = onto.to_owned();
        let mut commits = Vec::new();
        for commit in todo {
            let tree = match self.replayed_tree(&current, &commit, missing)? {
                Ok(tree) => tree,
                Err(paths) => return self.wait(ArrivalWait::Conflict { paths }).map(Some),
            };
            current = self.repo.write_again(&commit, &tree, &current)?;
            let (old, new) = (commit, current.clone());
            commits.push(ReplayedCommit { old, new, gated_before_replay: true });
            crash::point();
        }
        if let Some(wait) = self.gate(&mut commits)? {
            return self.wait(wait).map(Some);
        }
        let replay = CommitReplay {
            onto: onto.to_owned(),
            old_tip: self.line.tip.clone(),
            tip: current,
            commits,
            missing: missing.iter().map(|landed| landed.attempt.clone()).collect(),
        };
        self.record(JournalRecord::ReplayIntent(replay.clone()))?;
        crash::point();
        self.repo.move_ref(&Repo::tip_ref(&self.line.run), &replay.tip, &replay.old_tip)?;
        crash::point();
        self.record(JournalRecord::Replayed(replay))?;
        Ok(None)
    }

    /// Commits from what had arrived to the tip that the branch does not have yet, oldest first.
    fn commits_to_replay(
        &self,
        onto: &str,
        known: &BTreeSet<String>,
    ) -> Result<Vec<String>, GitError> {
        let exclude = [format!("^{}", self.line.arrived), format!("^{onto}")];
        let args = ["rev-list", "--reverse", "--first-parent", &self.line.tip];
        let out =
            self.repo.look(args.into_iter().chain(exclude.iter().map(String::as_str))).ok()?;
        let is_known = |commit: &str| {
            let landed = self.line.waiting().iter().find(|landed| landed.commit == commit);
            landed.is_some_and(|landed| known.contains(&landed.attempt))
        };
        let out = String::from_utf8_lossy(&out);
        Ok(out.lines().filter(|commit| !is_known(commit)).map(str::to_owned).collect())
    }

    /// The tree of a commit on top of another one, or the paths in conflict.
    fn replayed_tree(
        &mut self,
        onto: &str,
        commit: &str,
        missing: &[LandedCommit],
    ) -> Result<Result<Oid, Vec<String>>, ArrivalError> {
        let base = format!("{commit}^");
        let (tree, mixed) = self.repo.merge_trees(&base, onto, commit)?;
        let ledger: Vec<RepoPath> = self.repo.ledger().shared().to_vec();
        let theirs = |path: &&RepoPath| !ledger.contains(path);
        let conflicts: Vec<String> = mixed.iter().filter(theirs).map(ToString::to_string).collect();
        if !conflicts.is_empty() {
            return Ok(Err(conflicts));
        }
        let mut entries = Vec::new();
        for path in &ledger {
            if let Some(entry) = self.merged_ledger(path, onto, &base, commit, missing)? {
                entries.push((path.clone(), Some(entry)));
            } else if mixed.contains(path) {
                entries.push((path.clone(), self.repo.entry_in(onto, path)?));
            }
        }
        if entries.is_empty() {
            return Ok(Ok(tree));
        }
        let index = self.repo.arrival_index()?;
        self.repo.git(["read-tree", tree.as_str()]).index(&index).ok()?;
        let update = self.repo.git(["update-index", "-z", "--index-info"]).index(&index);
        update.stdin(self.repo.index_info(&entries)).ok()?;
        let tree = self.repo.write_tree(&index)?;
        let _left = std::fs::remove_file(&index);
        Ok(Ok(tree))
    }

    /// The entry of a ledger file in a replayed commit; `None` when the commit does not have it.
    fn merged_ledger(
        &mut self,
        path: &RepoPath,
        onto: &str,
        base: &str,
        commit: &str,
        missing: &[LandedCommit],
    ) -> Result<Option<StagedEntry>, ArrivalError> {
        let Some(entry) = self.repo.entry_in(commit, path)? else { return Ok(None) };
        let read = |of: &str| -> Result<Option<Vec<u8>>, GitError> {
            let blob = self.repo.blob_in(of, path)?;
            blob.map(|blob| self.repo.look(["cat-file", "blob", blob.as_str()]).ok()).transpose()
        };
        let merge = LedgerMerge {
            path,
            base: read(base)?,
            ours: read(onto)?,
            theirs: read(commit)?.unwrap_or_default(),
            missing,
        };
        let bytes = self.host.merge_ledger(&merge)?;
        let call = self.repo.git(["hash-object", "-w", "--no-filters", "--stdin"]).stdin(bytes);
        Ok(Some(StagedEntry { mode: entry.mode, object: call.oid()?.to_string() }))
    }

    /// Gate the last of these commits.
    fn gate(
        &mut self,
        commits: &mut [ReplayedCommit],
    ) -> Result<Option<ArrivalWait>, ArrivalError> {
        let Some(last) = commits.last_mut() else { return Ok(None) };
        let Some(commit) = Oid::parse(last.new.as_bytes()) else { return Ok(None) };
        last.gated_before_replay = false;
        Ok(match self.host.gate_replay(&commit)? {
            ReplayGateResult::Green => None,
            ReplayGateResult::Red(failed) => Some(ArrivalWait::RedGates { failed }),
        })
    }
}

impl Repo<'_> {
    /// The entry of a path in a commit's tree.
    fn entry_in(&self, commit: &str, path: &RepoPath) -> Result<Option<StagedEntry>, GitError> {
        let args = ["ls-tree", "-z", "--full-tree", commit, "--"].map(OsString::from);
        let args = args.into_iter().chain([path.as_path().as_os_str().to_owned()]);
        let out = self.look(args).env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        let field =
            nul_fields(&out).next().map(|field| String::from_utf8_lossy(field).into_owned());
        let words: Vec<&str> = field.iter().flat_map(|f| f.split([' ', '\t'])).collect();
        Ok(match words.as_slice() {
            [mode, "blob", object, ..] => {
                Some(StagedEntry { mode: (*mode).to_owned(), object: (*object).to_owned() })
            }
            _ => None,
        })
    }

    /// A commit with this tree and parent, by the author and with the message of another one. A commit
    /// that would change nothing is not written.
    fn write_again(&self, commit: &str, tree: &Oid, parent: &str) -> Result<String, GitError> {
        let before = self.look(["rev-parse", "--verify", &format!("{parent}^{{tree}}")]).oid()?;
        if before == *tree {
            return Ok(parent.to_owned());
        }
        let ReplayCommitText { author: [name, email, date], message } = self.commit_text(commit)?;
        let mut args = vec!["-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree.as_str()];
        args.extend(["-p", parent, "-F", "-"]);
        if self.signs_commits()? {
            args.push("-S");
        }
        let call = self.git(args).stdin(message).env("GIT_AUTHOR_NAME", name);
        let call = call.env("GIT_AUTHOR_EMAIL", email).env("GIT_AUTHOR_DATE", date);
        call.oid().map(|oid| oid.to_string())
    }

    fn commit_text(&self, commit: &str) -> Result<ReplayCommitText, GitError> {
        let format = "--format=%an%x00%ae%x00%ad%x00%B";
        let args = ["log", "-1", "--no-show-signature", "--encoding=UTF-8", "--date=raw", format];
        let out = self.look(args.into_iter().chain([commit])).ok()?;
        let mut fields = out.splitn(4, |b| *b == 0);
        let mut text = || String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
        let (name, email, date) = (text(), text(), text());
        let message = fields.next().unwrap_or_default();
        // The format adds a line end of its own.
        let message = message.strip_suffix(b"\n").unwrap_or(message).to_vec();
        Ok(ReplayCommitText { author: [name, email, format!("@{date}")], message })
    }

    fn signs_commits(&self) -> Result<bool, GitError> {
        let answer = self.look(["config", "--type=bool", "--get", "commit.gpgSign"]).run()?;
        Ok(answer.stdout.trim_ascii() == b"true")
    }
}
