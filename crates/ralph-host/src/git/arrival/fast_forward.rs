//! Git's own fast-forward of the branch that home has checked out.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::time::Duration;

use ralph_core::cycle::{
    ArrivalIntent, ArrivalRecovery, ArrivalWait, ArrivalWay, HomeHead, JournalRecord,
    KilledArrivalBranch, LandedCommit, RiddenFile, longest_prefix, recover_arrival,
};

use super::super::call::{GitOutput, nul_fields};
use super::super::{GitChange, Repo};
use super::rides::{ChangeSide, entry_on};
use super::{Arrival, ArrivalError, ArrivalOutcome, GitError, Oid, RepoPath, path_of, path_text};
use crate::crash;

/// Exit codes above this one are signals: git was killed and says nothing.
const MOST_EXIT_CODE: i32 = 128;

/// Looks at the index after a merge, and the time between two of them.
const LOOKS_AFTER: u32 = 12;
const PAUSE_AFTER: Duration = Duration::from_millis(5);

/// Result of one fast-forward of the branch in home.
enum FastForwardResult {
    Arrived,
    Waits(ArrivalWait),
}

impl Arrival<'_, '_, '_> {
    /// Fast-forward to `tip`, or to the last commit before the first that touches a blocked path.
    pub(super) fn fast_forward(&mut self, tip: String) -> Result<ArrivalOutcome, ArrivalError> {
        let waiting: Vec<LandedCommit> = self.line.waiting().to_vec();
        let mut candidates = waiting.as_slice();
        let mut target = tip;
        let mut blocked: Option<ArrivalWait> = None;
        loop {
            match (self.forward_to(&target)?, blocked) {
                (FastForwardResult::Arrived, None) => return Ok(ArrivalOutcome::Complete),
                (FastForwardResult::Arrived, Some(rest)) => return self.wait(rest),
                (FastForwardResult::Waits(wait), _) => {
                    let ArrivalWait::Edited { paths } = &wait else { return self.wait(wait) };
                    let place = candidates.iter().rposition(|one| one.commit == target);
                    candidates =
                        candidates.get(..=place.unwrap_or(usize::MAX - 1)).unwrap_or(candidates);
                    match longest_prefix(candidates, paths) {
                        Some(last) if last.commit != target => target = last.commit.clone(),
                        _ => return self.wait(wait),
                    }
                    blocked = Some(wait);
                }
            }
        }
    }

    fn forward_to(&mut self, new: &str) -> Result<FastForwardResult, ArrivalError> {
        let old = self.line.arrived.clone();
        // Most arrivals need no more than the paths, and these the journal has.
        let (changes, rides) = match self.taken_over_in(new).is_empty() {
            true => (Vec::new(), Vec::new()),
            false => {
                let changes = self.repo.touched(&old, new)?;
                match self.find_rides(new, &changes)? {
                    Ok(rides) => (changes, rides),
                    Err(wait) => return Ok(FastForwardResult::Waits(wait)),
                }
            }
        };
        let paths = self.paths_to(new)?;
        let deleted = self.repo.deleted_files(&paths)?;
        if !deleted.is_empty() {
            return Ok(FastForwardResult::Waits(ArrivalWait::Edited { paths: deleted }));
        }
        if let Some(wait) = self.not_ready(&old)? {
            return Ok(FastForwardResult::Waits(wait));
        }
        self.record(JournalRecord::ArrivalIntent(ArrivalIntent {
            way: ArrivalWay::FastForward,
            old: old.clone(),
            new: new.to_owned(),
            paths: paths.iter().map(path_text).collect(),
            rides: rides.clone(),
        }))?;
        crash::point();
        for path in paths.iter().filter(|path| self.repo.ledger.contains(path)) {
            // An empty folder in the place of a file of the ledger is nobody's work.
            let _is_none = fs::remove_dir(self.repo.file(path));
        }
        let merged_from = match self.merge(new, &changes, &rides) {
            Ok(Ok(from)) => from,
            Ok(Err(wait)) => {
                self.repo.put_entries_back(&rides, &changes)?;
                if is_half_done(&wait) {
                    self.undo_half_merge(&old, new, rides)?;
                }
                crash::point();
                // Git has failed in the middle: the disk is full, or a ref is locked.
                if let (ArrivalWait::Refused { .. }, Some(intent)) =
                    (&wait, self.line.open_arrival.clone())
                {
                    self.undo_or_finish(&intent)?;
                    return Ok(FastForwardResult::Waits(wait));
                }
                // The intent has to be closed before another one is opened.
                self.wait(wait.clone())?;
                return Ok(FastForwardResult::Waits(wait));
            }
            Err(GitError::Locked(lock)) => {
                let lock = lock.display().to_string();
                return Ok(FastForwardResult::Waits(ArrivalWait::Locked { lock }));
            }
            Err(e) => return Err(e.into()),
        };
        crash::point();
        if let Some(wait) = self.wrong_branch(new, merged_from.as_ref(), &rides)? {
            return Ok(FastForwardResult::Waits(wait));
        }
        if let Some(from) = merged_from.filter(|from| from.as_str() != old)
            && let Some(wait) = self.take_back(from.as_str(), new, rides.clone())?
        {
            return Ok(FastForwardResult::Waits(wait));
        }
        self.keep_merged_entries(&paths, &old, new)?;
        self.repo.write_rides(&rides, new)?;
        crash::point();
        self.arrived(new)?;
        Ok(FastForwardResult::Arrived)
    }

    /// Home as it has to be in the moment before the intent.
    fn not_ready(&self, old: &str) -> Result<Option<ArrivalWait>, GitError> {
        if !self.repo.is_quiet() {
            return Ok(Some(match self.repo.index_lock() {
                lock if lock.exists() => ArrivalWait::Locked { lock: lock.display().to_string() },
                _ => ArrivalWait::Unsettled,
            }));
        }
        if let Some(busy) = self.repo.busy() {
            return Ok(Some(busy));
        }
        let on_branch = self.repo.home_head(&self.line)? == HomeHead::OnBranch;
        let unmoved = self.branch_at()?.is_some_and(|at| at.as_str() == old);
        Ok((!on_branch || !unmoved).then_some(ArrivalWait::Unsettled))
    }

    /// Set the entries of ridden files and merge. Returns the commit that HEAD was at when git merged, or why
    /// it did not.
    fn merge(
        &self,
        new: &str,
        changes: &[GitChange],
        rides: &[RiddenFile],
    ) -> Result<Result<Option<Oid>, ArrivalWait>, GitError> {
        let of_ride = |ride: &RiddenFile| {
            let path = path_of(&ride.file.path);
            let change = changes.iter().find(|change| change.path == path);
            let entry = change.and_then(|change| entry_on(change, ChangeSide::New));
            (path, entry)
        };
        let entries: Vec<_> = rides.iter().map(of_ride).collect();
        if !self.repo.is_still_quiet() {
            return Ok(Err(ArrivalWait::Unsettled));
        }
        self.repo.set_entries(&entries)?;
        crash::point();
        // Git merges into whatever HEAD is, so this is the last moment to look.
        let head = self.repo.head()?;
        let is_as_before = head.branch.is_some_and(|branch| branch == self.branch_ref())
            && head.commit.is_some_and(|commit| commit.as_str() == self.line.arrived);
        if !is_as_before {
            return Ok(Err(ArrivalWait::Unsettled));
        }
        if let Some(busy) = self.repo.busy() {
            return Ok(Err(busy));
        }
        let flags = ["--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-squash"];
        let more = ["--commit", "--no-verify-signatures", "--no-stat", new];
        let args = ["merge"].into_iter().chain(flags).chain(more);
        // Not `-c`: a branch may have `=` in its name.
        let options = format!("branch.{}.mergeOptions", self.line.branch);
        let call = self.repo.arrival_call(args);
        let call = call.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", options);
        let call = call.env("GIT_CONFIG_VALUE_0", "");
        let answer = self.repo.writing_index(|| call.run())?;
        match answer.code {
            0 => self.repo.merged_from(&answer, &self.line.arrived).map(Ok),
            code if code > MOST_EXIT_CODE => Err(answer.into_error()),
            _ => Ok(Err(refusal(&answer))),
        }
    }

    /// Git wrote the files and the index, and could not move the branch: somebody else did, or has its
    /// lock. The files go back to where the branch is.
    fn undo_half_merge(
        &self,
        old: &str,
        new: &str,
        rides: Vec<RiddenFile>,
    ) -> Result<(), GitError> {
        let head = self.repo.head()?;
        let Some(at) = head.commit.filter(|_| head.branch == Some(self.branch_ref())) else {
            return Ok(());
        };
        let merged: BTreeSet<RepoPath> =
            self.repo.touched(old, new)?.into_iter().map(|change| change.path).collect();
        let mut changes = self.repo.touched(at.as_str(), new)?;
        changes.retain(|change| merged.contains(&change.path));
        let intent = ArrivalIntent {
            old: at.to_string(),
            new: new.to_owned(),
            rides,
            ..ArrivalIntent::default()
        };
        self.put_back_merged(&intent, &changes)?;
        // What the person has committed meanwhile is not in the index that git wrote.
        let committed = self.repo.touched(old, at.as_str())?;
        let paths: Vec<RepoPath> = committed.into_iter().map(|change| change.path).collect();
        match paths.is_empty() {
            true => Ok(()),
            false => self.keep_merged_entries(&paths, old, at.as_str()),
        }
    }

    /// Put back what a merge wrote, although the branch is at the old commit of the intent.
    fn put_back_merged(
        &self,
        intent: &ArrivalIntent,
        changes: &[GitChange],
    ) -> Result<(), GitError> {
        let facts = self.repo.path_facts(changes, &intent.old, &intent.new)?;
        let (branch, home) = (KilledArrivalBranch::AtOld, HomeHead::OnBranch);
        match recover_arrival(intent, branch, home, &facts) {
            ArrivalRecovery::PutBack { paths } => self.put_back(intent, changes, &paths),
            _ => Ok(()),
        }
    }

    /// A fast-forward acts on whatever HEAD is by then. A branch that moved instead goes back, with its
    /// files and the index, unless the person has moved it on since: then it is named.
    fn wrong_branch(
        &self,
        new: &str,
        merged_from: Option<&Oid>,
        rides: &[RiddenFile],
    ) -> Result<Option<ArrivalWait>, ArrivalError> {
        if self.branch_at()?.is_some_and(|at| at.as_str() == new) {
            return Ok(None);
        }
        // The person may be on yet another branch by now.
        let other = self.repo.other_branch_with(new, &self.branch_ref())?;
        let (Some(old), Some(name)) = (merged_from, other) else {
            return Ok(Some(ArrivalWait::Unsettled));
        };
        if self.repo.move_ref(&name, old.as_str(), new).is_err() {
            let branch = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
            return Ok(Some(ArrivalWait::WrongBranchMoved { branch, old: old.to_string() }));
        }
        crash::point();
        if self.repo.head()?.branch != Some(name) {
            return Ok(Some(ArrivalWait::Unsettled));
        }
        let changes = self.repo.touched(old.as_str(), new)?;
        let intent = ArrivalIntent {
            old: old.to_string(),
            new: new.to_owned(),
            rides: rides.to_vec(),
            ..ArrivalIntent::default()
        };
        self.put_back_merged(&intent, &changes)?;
        Ok(Some(ArrivalWait::Unsettled))
    }

    /// The paths that differ between what arrived and a commit; perhaps more.
    fn paths_to(&self, new: &str) -> Result<Vec<RepoPath>, GitError> {
        let waiting = self.line.waiting();
        let place = waiting.iter().position(|landed| landed.commit == new);
        let landed = place.and_then(|last| waiting.get(..=last)).unwrap_or_default();
        if landed.is_empty() || landed.iter().any(|landed| landed.paths.is_empty()) {
            let changes = self.repo.touched(&self.line.arrived, new)?;
            return Ok(changes.into_iter().map(|change| change.path).collect());
        }
        let taken_over = landed.iter().flat_map(|one| &one.taken_over).map(|file| &file.path);
        let paths = landed.iter().flat_map(|one| &one.paths).chain(taken_over);
        Ok(paths.map(|path| path_of(path)).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// A `git commit` reads the index before it takes its lock. One that began just before the merge is
    /// refused by git, but it has written the old index by then, and the next commit would take back what
    /// arrived. As long as one may be at work, entries that are the old ones again become the new ones.
    fn keep_merged_entries(
        &self,
        paths: &[RepoPath],
        old: &str,
        new: &str,
    ) -> Result<(), GitError> {
        let mut known = None;
        for _ in 0..LOOKS_AFTER {
            // Asked first: who has ended by now has written the index.
            let is_alone = self.repo.is_alone();
            let now = self.repo.head_and_index();
            if known.as_ref() == Some(&now) || self.renew_old_entries(paths, old, new)? {
                known = Some(now);
                if is_alone {
                    break;
                }
            }
            std::thread::sleep(PAUSE_AFTER);
        }
        self.repo.leave_quiet(known);
        Ok(())
    }

    /// `false` when it has to be tried again.
    fn renew_old_entries(
        &self,
        paths: &[RepoPath],
        old: &str,
        new: &str,
    ) -> Result<bool, GitError> {
        let args = ["diff-index", "--cached", "--quiet", new, "--"].map(OsStr::new);
        let paths = paths.iter().map(|path| path.as_path().as_os_str());
        let call = self.repo.look(args.into_iter().chain(paths));
        if call.env("GIT_LITERAL_PATHSPECS", "1").run()?.code != 1 {
            return Ok(true);
        }
        let mut entries = Vec::new();
        for change in self.repo.touched(old, new)? {
            if self.repo.staged_entry(&change.path)? == entry_on(&change, ChangeSide::Old) {
                entries.push((change.path.clone(), entry_on(&change, ChangeSide::New)));
            }
        }
        // A switch or a reset of the person's writes the index as well, and HEAD after it.
        let is_moving = self.repo.may_move();
        let head = self.repo.head()?;
        let is_here = head.branch.is_some_and(|branch| branch == self.branch_ref())
            && head.commit.is_some_and(|commit| commit.as_str() == new);
        match is_moving || !is_here {
            true => Ok(!is_moving),
            false => match self.repo.set_entries(&entries) {
                Err(GitError::Locked(_)) => Ok(false),
                set => set.map(|()| true),
            },
        }
    }

    /// The person moved the branch back in the moment before git merged, and the fast-forward brought what
    /// they had dropped. The branch, the index and the files go back to where the person had put them.
    /// `None` when the person has moved the branch on since.
    fn take_back(
        &mut self,
        from: &str,
        new: &str,
        rides: Vec<RiddenFile>,
    ) -> Result<Option<ArrivalWait>, ArrivalError> {
        let changes = self.repo.touched(from, new)?;
        let intent = ArrivalIntent {
            way: ArrivalWay::FastForward,
            old: from.to_owned(),
            new: new.to_owned(),
            paths: changes.iter().map(|change| path_text(&change.path)).collect(),
            rides,
        };
        self.record(JournalRecord::ArrivalIntent(intent.clone()))?;
        crash::point();
        if self.repo.move_ref(&self.branch_ref(), from, new).is_err() {
            return Ok(None);
        }
        crash::point();
        self.recover(&intent)?;
        Ok(Some(ArrivalWait::Unsettled))
    }
}

impl Repo<'_> {
    /// Tracked files among these that the person has deleted: git's fast-forward would make them again. Files
    /// of the ledger come back with what arrives.
    fn deleted_files(&self, paths: &[RepoPath]) -> Result<Vec<String>, GitError> {
        let is_gone = |path: &&RepoPath| {
            fs::symlink_metadata(self.file(path)).is_err() && !self.ledger.contains(path)
        };
        let gone: Vec<_> = paths.iter().filter(is_gone).collect();
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        let args = ["ls-files", "-z", "--deleted", "--full-name", "--"].map(OsStr::new);
        let call = self.look(args.into_iter().chain(gone.iter().map(|p| p.as_path().as_os_str())));
        let listed = call.env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        Ok(nul_fields(&listed).map(|path| path_text(&RepoPath::new(path))).collect())
    }

    /// A branch that contains a commit, unless `branch` does.
    fn other_branch_with(&self, commit: &str, branch: &str) -> Result<Option<String>, GitError> {
        let contains = format!("--contains={commit}");
        let args = ["for-each-ref", &contains, "--format=%(refname)", "refs/heads/"];
        let names = self.look(args).ok()?;
        let names = String::from_utf8_lossy(&names);
        let has_branch = names.lines().any(|name| name == branch);
        Ok(names.lines().next().filter(|_| !has_branch).map(str::to_owned))
    }

    /// The commit that HEAD was at, as the merge itself says it: `Updating 1a2b3c4..5d6e7f8`. Commands of the
    /// person's write ORIG_HEAD as well. `old` is what it should be.
    fn merged_from(&self, merge: &GitOutput, old: &str) -> Result<Option<Oid>, GitError> {
        let words = String::from_utf8_lossy(&merge.stdout);
        let updated = words.lines().find_map(|line| line.strip_prefix("Updating "));
        match updated.and_then(|commits| commits.split_once("..")) {
            None => Ok(None),
            Some((from, _)) if old.starts_with(from) => Ok(Oid::parse(old.as_bytes())),
            Some((from, _)) => self.find_commit(from),
        }
    }
}

/// Why git refused to merge: the paths that it names, or its words.
fn refusal(answer: &GitOutput) -> ArrivalWait {
    let named = answer.stderr.lines().filter_map(|line| line.strip_prefix('\t'));
    let mut paths: Vec<String> = named.map(|path| path_text(&path.into())).collect();
    paths.sort_unstable();
    paths.dedup();
    match paths.is_empty() {
        false => ArrivalWait::Edited { paths },
        true => ArrivalWait::Refused { message: first_lines(&answer.stderr) },
    }
}

/// Whether git failed in its last step, in which it moves the branch.
fn is_half_done(wait: &ArrivalWait) -> bool {
    let last_step = "update_ref failed for ref 'HEAD'";
    matches!(wait, ArrivalWait::Refused { message } if message.contains(last_step))
}

/// The beginning of a message, on one line and without git's advice.
pub(super) fn first_lines(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    lines.take(2).collect::<Vec<_>>().join("; ")
}
