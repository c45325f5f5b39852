//! The working tree that backends and gates see: a lane, put on what has landed.
//!
//! # Theory of operation
//!
//! ```text
//! attempt:  lane on the tip (or on the spec's ref) → furnished → ledger and sources → private repository
//! collect:  submodules put away → lane intact → add -A → paths that the base ignores left out
//! discard:  kept under a ref; the next use of the lane puts it where it belongs
//! ```
//!
//! Nothing here touches home, unless home is the lane: commits arrive there, see [`super::arrival`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::agent_role::AgentRole;
use ralph_core::config::CommitScope;
use ralph_core::cycle::{
    AttemptBase, AttemptPhase, Candidate, History, JournalRecord, PathChange, Remark, TipStart,
};
use ralph_core::plan::{Id, Task};
use ralph_core::words::count;

use super::consult::few;
use super::error::DriveError;
use super::run_lane::tip_ref;
use super::session::RunSession;
use super::specs::scope_of_keeper;
use crate::git::{GitError, Oid, Repo, RepoPath, Salvage, spec_ref};
use crate::lanes::{FurnishReport, GitSettings, LaneError};
use crate::run_ledger;
use crate::store::{Durability, put_view};

/// Files that people write for ralph. A lane gets home's version of them.
const SOURCES: [&str; 5] =
    ["ralph.toml", "ralph/specs", "ralph/prompts", ".ralph/templates", ".ralph/skills"];

/// Folders of runtime files that prompts refer to.
const NAMED: [&str; 3] = [".ralph/handoffs", ".ralph/context", ".ralph/logs/validation"];

/// Those among them into which an agent may write in its lane; nobody reads it.
const FREE: [&str; 2] = [".ralph/context", ".ralph/logs/validation"];

/// The queue of specs, which is the person's.
const INBOX: &str = "ralph/inbox.jsonl";

/// State of the ralph files and git settings in a lane before an agent runs.
pub(super) struct LaneBeforeAgent {
    /// Files of the ledger and sources.
    files: BTreeMap<String, Option<Vec<u8>>>,
    /// Files that can run or redirect git.
    git_settings: GitSettings,
}

/// Words of git about the machine, not about the files of an agent.
const OF_MACHINE: [&str; 5] =
    ["No space left", "Disk quota", "Input/output error", "Read-only file system", ".lock"];

/// Work that was taken out of a lane.
pub(super) enum CollectedWork {
    Candidate(Candidate),
    /// The lane cannot be looked at: why.
    Damaged(String),
}

impl<'a> RunSession<'a> {
    /// The lane's working tree, with ralph's own git directory.
    pub(super) fn work_tree(&self) -> &Repo<'a> {
        self.work.repo()
    }

    /// The folder in which backends and gates run.
    pub(super) fn work_root(&self) -> PathBuf {
        self.work.lane.root()
    }

    /// Say in the journal where the tip of this run starts.
    pub(super) fn start_tip(&mut self) -> Result<(), DriveError> {
        let work = &mut self.work;
        if std::mem::replace(&mut work.has_started, true) {
            return Ok(());
        }
        let tip = work.tip.to_string();
        let mut lines = self.history.arrival.iter().chain(&self.history.left_arrivals);
        let line = lines.find(|line| line.branch == work.target_name());
        let arrived = match line {
            Some(line) if is_in(&self.repo, &work.tip, &line.arrived)? => line.arrived.clone(),
            // The last run was on another branch.
            _ => match self.repo.find_commit(&format!("refs/heads/{}", work.target_name()))? {
                Some(at) => self.repo.merge_base(&at, &work.tip)?.to_string(),
                None => tip.clone(),
            },
        };
        let old_ref = line.map(|line| tip_ref(&line.run)).filter(|old| *old != work.tip_ref());
        let start = TipStart {
            run: work.ledger.open_run().run.clone(),
            branch: work.target_name().to_owned(),
            target: work.target(),
            arrived,
            tip,
        };
        let (name, tip) = (work.tip_ref(), work.tip.clone());
        let known = self.repo.find_commit(&name)?;
        if known.as_ref() != Some(&tip) {
            self.repo.advance_ref(&name, &tip, known.as_ref())?;
        }
        self.record(JournalRecord::TipStarted(start), Durability::Synced)?;
        if let Some(old) = old_ref {
            self.repo.delete_ref(&old)?;
        }
        Ok(())
    }

    /// Files with changes that no lane has, because they are not committed.
    pub(super) fn tell_unseen_files(&mut self) -> Result<(), DriveError> {
        if self.work.lane.is_home() {
            self.warn("ralph owns this checkout until the run ends (workspace = \"checkout\")");
            return Ok(());
        }
        let names: Vec<String> = self.repo.dirty()?.iter().map(ToString::to_string).collect();
        if !names.is_empty() {
            let (names, files) = (few(&names), count(names.len(), "file"));
            self.warn(&format!(
                "your uncommitted changes stay as they are, and agents do not see them: {files} ({names})"
            ));
        }
        Ok(())
    }

    /// The commit on which the work on a task starts: the tip, or what has landed of its spec.
    pub(super) fn start_commit(&self, keeper: &str) -> Result<Oid, DriveError> {
        if scope_of_keeper(keeper) == CommitScope::Spec
            && let Some(spec) = self.repo.find_commit(&spec_ref(keeper))?
        {
            return Ok(spec);
        }
        Ok(self.work.tip.clone())
    }

    /// Make the lane ready for an attempt or a consultation that starts from what has landed.
    pub(super) fn ready_lane(&mut self, keeper: &str, id: &str) -> Result<AttemptBase, DriveError> {
        let commit = self.start_commit(keeper)?;
        self.take_over_edits()?;
        self.work.lane.put_on(&commit)?;
        self.announce_setup()?;
        let furnished = self.work.lane.furnish(self.project.root(), &|job| job)?;
        for remark in furnish_remarks(&furnished) {
            self.warn(&remark);
        }
        Ok(AttemptBase { keeper: keeper.to_owned(), attempt: id.to_owned(), commit })
    }

    /// Say that setup runs next, which may take minutes.
    pub(super) fn announce_setup(&mut self) -> Result<(), DriveError> {
        match self.work.lane.due_setup() {
            Some(command) => {
                self.arrive_beside()?;
                self.record(JournalRecord::LaneSetup(Remark::new(command)), Durability::Eventual)
            }
            None => Ok(()),
        }
    }

    /// A backend is about to run: the ledger, the sources and a repository of its own are in the lane.
    pub(super) fn open_lane_to_backend(&mut self) -> Result<LaneBeforeAgent, DriveError> {
        let files = self.write_sources()?;
        self.write_private_repository()?;
        Ok(LaneBeforeAgent { files, git_settings: self.work.lane.git_settings() })
    }

    /// Stop when somebody changed what can run or redirect git in home. In a lane nobody can.
    pub(super) fn check_git_settings(&self, found: &LaneBeforeAgent) -> Result<(), DriveError> {
        let changed = self.work.lane.git_settings().changed_since(&found.git_settings);
        let Some(first) = changed.first() else { return Ok(()) };
        let names: Vec<String> = changed.iter().map(|path| path.display().to_string()).collect();
        Err(DriveError::Ask {
            message: format!("the agent changed what git runs or reads here: {}", few(&names)),
            hint: format!(
                "look at it, put it back as it was (for a new file: `rm {}`), then start again",
                first.display()
            ),
        })
    }

    /// Gates are about to run on what the lane has now, which may need another setup than the tree before.
    /// The inner error says why setup failed.
    pub(super) fn ready_for_gates(&mut self) -> Result<Result<(), LaneError>, DriveError> {
        self.announce_setup()?;
        match self.work.lane.set_up(&|job| job) {
            Err(failed) if failed.is_of_project() => return Ok(Err(failed)),
            other => other?,
        };
        self.write_private_repository()?;
        Ok(Ok(()))
    }

    /// The keeper of what is worked on now, without a task.
    pub(super) fn current_keeper(&self) -> String {
        self.keeper(&Task { spec: self.current_spec.clone(), ..Task::default() })
    }

    /// Keep the work of an attempt that does not land under a ref. A lane need not be put back: the next
    /// use puts it where it belongs.
    pub(super) fn discard_work(
        &mut self,
        base: &AttemptBase,
        candidate: Option<&Candidate>,
    ) -> Result<Option<Salvage>, DriveError> {
        let salvage = match candidate {
            // Its tree is known to the index, also when the lane is gone.
            Some(candidate) => {
                self.work_tree().without_files().salvage_candidate(base, candidate)?
            }
            None => match self.collect_again(base)? {
                CollectedWork::Candidate(found) => {
                    self.work_tree().salvage_candidate(base, &found)?
                }
                CollectedWork::Damaged(_) => None,
            },
        };
        // Home's, because the lane may be gone.
        self.repo.forget_candidate(base)?;
        Ok(salvage)
    }

    /// The agent's repository, as if nobody had used it. Before a backend, gates and hooks.
    pub(super) fn write_private_repository(&self) -> Result<(), DriveError> {
        let work = &self.work;
        let head = match work.lane.is_home() {
            true => None,
            false => work.repo().head_commit()?,
        };
        let head = head.as_ref().unwrap_or(&work.tip);
        Ok(work.lane.write_private_repository(head, work.branch.as_deref())?)
    }

    /// Prompts name these files, and nobody else needs them: what an earlier agent left there is no part of the
    /// ledger, and gates and hooks that look at all files would complain about their layout.
    pub(super) fn remove_prompt_files(&self) {
        let lane = &self.work.lane;
        for folder in NAMED.iter().filter(|_| !lane.is_home()) {
            let _none = lane.remove_path(folder);
        }
    }

    /// The ledger, and what people wrote for ralph, at the same paths in the lane.
    fn write_sources(&self) -> Result<BTreeMap<String, Option<Vec<u8>>>, DriveError> {
        let work = &self.work;
        let mut files = Vec::new();
        let root = work.lane.root();
        self.remove_prompt_files();
        for folder in SOURCES.iter().chain(&NAMED) {
            files_below(self.project.root(), folder, &mut files);
        }
        work.write_ledger(&files)?;
        let free = |file: &String| FREE.iter().any(|folder| file.starts_with(folder));
        let guarded = files.into_iter().filter(|file| !free(file)).chain([INBOX.to_owned()]);
        let guarded = guarded.chain(run_ledger::ledger_files(&work.ledger.open_run().plan));
        let guarded = guarded.chain([run_ledger::INBOX.to_owned()]);
        let read = |file: &String| crate::store::read(&root.join(file)).ok().flatten();
        Ok(guarded.map(|file| (file.clone(), read(&file))).collect())
    }

    /// Warn about files of the ledger or the sources that an agent changed in its lane. These changes
    /// are left out of its work. In the lane over home, the files are put back.
    pub(super) fn tell_left_out(
        &mut self,
        given: &LaneBeforeAgent,
        role: AgentRole,
    ) -> Result<(), DriveError> {
        let (work, root) = (&self.work, self.work_root());
        let mut names: Vec<String> = Vec::new();
        for (file, was) in &given.files {
            let path = root.join(file);
            let found = crate::store::read(&path).unwrap_or_default();
            if role.may_write().contains(&file.as_str()) || found == *was {
                continue;
            }
            names.push(file.clone());
            // In a lane the next use writes it anew; home's has to be as it was.
            if let Some(bytes) = was.as_ref().filter(|_| work.lane.is_home()) {
                put_view(&path, bytes)?;
            }
        }
        let mut sources = Vec::new();
        for folder in SOURCES {
            files_below(&root, folder, &mut sources);
        }
        names.extend(sources.into_iter().filter(|file| !given.files.contains_key(file)));
        if names.is_empty() {
            return Ok(());
        }
        let names = names.join(", ");
        self.ledger_restored(&format!(
            "{names}: {} may not write it; its changes are left out",
            role.actor()
        ))
    }

    /// Copy a person's edits of home's ledger files into the ledger of the run. In the lane over home
    /// there is nothing to copy, because ralph owns home then.
    pub(super) fn take_over_edits(&mut self) -> Result<(), DriveError> {
        if self.work.lane.is_home() {
            return Ok(());
        }
        let landed = landed_tasks(&self.history);
        let at = self.clock.stamp();
        let remarks = self.work.ledger.take_over(self.plan.store(), &landed, &at)?;
        for remark in remarks {
            self.warn(&remark);
        }
        Ok(())
    }

    /// The work of a backend, after all of its processes have ended.
    pub(super) fn collect(&mut self, base: &AttemptBase) -> Result<CollectedWork, DriveError> {
        self.collect_with(base, Repo::collect_candidate)
    }

    /// The same when the index of the lane may hold a part of it already.
    pub(super) fn collect_again(
        &mut self,
        base: &AttemptBase,
    ) -> Result<CollectedWork, DriveError> {
        self.collect_with(base, Repo::collect_again)
    }

    fn collect_with(
        &mut self,
        base: &AttemptBase,
        take: fn(&Repo<'a>, &Oid) -> Result<Candidate, GitError>,
    ) -> Result<CollectedWork, DriveError> {
        let lane = &self.work.lane;
        if let Some(damage) = damage_of(lane.check_folders())? {
            return Ok(CollectedWork::Damaged(damage));
        }
        lane.remove_submodule_repositories()?;
        let mut candidate = match take(lane.repo(), &base.commit) {
            Err(GitError::Failed { command, message, .. })
                if command == "add" && !OF_MACHINE.iter().any(|words| message.contains(words)) =>
            {
                lane.repo().reset_index(&base.commit)?;
                let said = format!("git cannot take the files that it left: {message}");
                return Ok(CollectedWork::Damaged(said));
            }
            other => other?,
        };
        // A lane without a file of its base has at least one deleted.
        if candidate.paths.iter().any(|changed| changed.change == PathChange::Deleted)
            && let Some(damage) = damage_of(lane.check_not_emptied(&base.commit))?
        {
            lane.repo().reset_index(&base.commit)?;
            return Ok(CollectedWork::Damaged(damage));
        }
        for path in lane.changed_submodules()? {
            if !candidate.nested.contains(&path) {
                candidate.nested.push(path);
            }
        }
        let paths: Vec<RepoPath> = candidate.paths.iter().map(|c| c.path.clone()).collect();
        let ignored = lane.left_out_by_base(&base.commit, &paths)?;
        if !ignored.is_empty() {
            candidate.paths.retain(|changed| !ignored.contains(&changed.path));
            let names: Vec<String> = ignored.iter().map(ToString::to_string).collect();
            self.warn(&format!("left out, because it was ignored before: {}", names.join(", ")));
        }
        Ok(CollectedWork::Candidate(candidate))
    }
}

/// Tasks whose whole work the tip contains, or is about to.
pub(super) fn landed_tasks(history: &History) -> BTreeSet<Id> {
    let line = history.arrival.as_ref();
    let landed = line.into_iter().flat_map(|line| &line.landed).flat_map(|one| &one.tasks);
    let open = history.open.iter();
    let landing = open.filter(|open| open.phase() == AttemptPhase::Landing);
    let tasks = landed.chain(landing.map(|open| &open.started.task));
    tasks.map(|task| Id::new(task.as_str())).collect()
}

/// The words for a damaged lane.
fn damage_of(checked: Result<(), LaneError>) -> Result<Option<String>, LaneError> {
    match checked {
        Err(error) => error.damage().map(Some).ok_or(error),
        Ok(()) => Ok(None),
    }
}

/// Return warnings about configured paths that home does not have.
fn furnish_remarks(furnished: &FurnishReport) -> Vec<String> {
    let missing = furnished.missing.iter();
    missing.map(|path| format!("`[lane]` names {path}, which is not there")).collect()
}

/// All files at or below a path of the project.
fn files_below(root: &Path, path: &str, files: &mut Vec<String>) {
    let place = root.join(path);
    let Ok(meta) = fs::symlink_metadata(&place) else { return };
    if !meta.is_dir() {
        files.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        files_below(root, &format!("{path}/{}", name.to_string_lossy()), files);
    }
}

/// Whether a commit that the journal names is in the history of the tip.
fn is_in(repo: &Repo<'_>, tip: &Oid, commit: &str) -> Result<bool, GitError> {
    match Oid::parse(commit.as_bytes()) {
        Some(commit) => repo.contains(tip, &commit),
        None => Ok(false),
    }
}
