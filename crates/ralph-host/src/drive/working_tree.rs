//! The working tree that backends and gates see: a lane, or home.
//!
//! # Theory of operation
//!
//! ```text
//! open:     the branch → the run's own ledger → the tip → the lane
//! attempt:  lane on the tip (or on the spec's ref) → furnished → ledger and sources → private repository
//! land:     hooks → ledger into the lane → commit in the lane → tip (or the spec's ref)
//! ```
//!
//! Nothing here touches home: commits arrive there, see [`super::arrival`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::config::{CommitScope, LaneSettings};
use ralph_core::cycle::{
    ArrivalTarget, Failure, FailureKind, Landing, Record, TakenOverFile, TipStart,
};
use ralph_core::plan::{Id, Task};
use ralph_core::words::count;

use super::attempt::{Begun, Ended};
use super::consult::few;
use super::error::DriveError;
use super::session::{HOME_VARIABLE, Session};
use crate::crash;
use crate::git::{Changes, Checkpoint, GitError, LandError, Oid, Repo, RepoPath, RolledBack};
use crate::lanes::{Furnished, HookReport, Lane, LaneError, LanePool};
use crate::proc::EnvChange;
use crate::project::Project;
use crate::run_ledger::{self, LedgerCommit, LedgerStart, OpenRun, RunLedger, RunWorkspace};
use crate::store::{Durability, Holder};

/// What people write for ralph; a lane has home's version of it.
const SOURCES: [&str; 5] =
    ["ralph.toml", "ralph/specs", "ralph/prompts", ".ralph/templates", ".ralph/skills"];

/// Runtime files that prompts name.
const NAMED: [&str; 3] = [".ralph/handoffs", ".ralph/context", ".ralph/logs/validation"];

/// Those among them into which an agent may write in its lane; nobody reads it.
const FREE: [&str; 2] = [".ralph/context", ".ralph/logs/validation"];

/// The queue of specs, which is the person's.
const INBOX: &str = "ralph/inbox.jsonl";

/// A lane and the run whose work goes through it.
pub(super) struct RunLane<'a> {
    pub(super) lane: Lane<'a>,
    /// The run's own copy of the ledger.
    pub(super) ledger: RunLedger,
    /// The branch on which commits arrive.
    pub(super) branch: String,
    /// The branch and everything that has landed.
    pub(super) tip: Oid,
    /// Whether the journal knows where this run's tip starts.
    has_started: bool,
    /// Files of the ledger and sources, as the last agent found them in the lane.
    given: BTreeMap<String, Option<Vec<u8>>>,
}

impl<'a> RunLane<'a> {
    /// Take a lane, and open the ledger of the run or go on with that of an earlier one.
    pub(super) fn open(
        project: &Project,
        home: &Repo<'a>,
        settings: &LaneSettings,
        plan: &str,
        run: &str,
        holder: &Holder,
    ) -> Result<Self, DriveError> {
        let (branch, commit) = home.branch_and_commit()?;
        let Some(branch) = branch else { return Err(DriveError::DetachedHead) };
        let Some(commit) = commit else { return Err(DriveError::NoCommit) };
        let lane = LanePool::open(home, settings)?.take(holder)?;
        let (ledger, tip) = match RunLedger::of_branch(project, Some(&branch)) {
            Some(earlier) => {
                let old = tip_ref(&earlier.open_run().run);
                let tip = home.find_commit(&old)?;
                (earlier.adopt(run)?, tip.unwrap_or(commit))
            }
            None => {
                let ignored = home.ignored_ledger()?;
                let open_run = OpenRun {
                    run: run.to_owned(),
                    branch: Some(branch.clone()),
                    plan: plan.to_owned(),
                    folder: String::new(),
                    ignored,
                    workspace: RunWorkspace::Lane,
                };
                (RunLedger::open(project, open_run, LedgerStart::Home)?, commit)
            }
        };
        Ok(Self { lane, ledger, branch, tip, has_started: false, given: BTreeMap::new() })
    }

    /// The lane's working tree, with ralph's own git directory.
    pub(super) fn repo(&self) -> &Repo<'a> {
        self.lane.repo()
    }

    /// The reference of the tip.
    pub(super) fn tip_ref(&self) -> String {
        tip_ref(&self.ledger.open_run().run)
    }
}

fn tip_ref(run: &str) -> String {
    format!("refs/ralph/{run}/tip")
}

/// Why a landing was not committed.
pub(super) enum CommitTrouble {
    /// Git, or somebody's hook, refused.
    Refused(LandError),
    Failed(DriveError),
}

impl From<LandError> for CommitTrouble {
    fn from(error: LandError) -> Self {
        Self::Refused(error)
    }
}

impl From<DriveError> for CommitTrouble {
    fn from(error: DriveError) -> Self {
        Self::Failed(error)
    }
}

/// What came of the hooks of a commit.
pub(super) enum Hooked {
    /// They let it pass, with this message.
    Passed(Vec<u8>),
    /// They changed files, so the gates have to look again.
    Changed,
    /// They refused it.
    Refused(Failure),
}

impl<'a> Session<'a> {
    /// The repository whose working tree attempts change.
    pub(super) fn work_tree(&self) -> &Repo<'a> {
        self.lane.as_ref().map_or(&self.repo, RunLane::repo)
    }

    /// The folder in which backends and gates run.
    pub(super) fn work_root(&self) -> PathBuf {
        match &self.lane {
            Some(work) => work.lane.root(),
            None => self.project.root().to_owned(),
        }
    }

    /// Changes to the environment of everything that runs there.
    pub(super) fn surroundings(&self) -> Vec<EnvChange> {
        let Some(work) = &self.lane else { return Vec::new() };
        let mut changes = work.lane.environment(std::env::vars_os());
        changes.push((HOME_VARIABLE.into(), Some(self.project.root().into())));
        changes
    }

    /// Say in the journal where the tip of this run starts.
    pub(super) fn start_tip(&mut self) -> Result<(), DriveError> {
        let Some(work) = &mut self.lane else { return Ok(()) };
        if std::mem::replace(&mut work.has_started, true) {
            return Ok(());
        }
        let tip = work.tip.to_string();
        let line = self.history.arrival.as_ref();
        let arrived = match line.filter(|line| line.branch == work.branch) {
            Some(line) if is_in(&self.repo, &work.tip, &line.arrived)? => line.arrived.clone(),
            _ => tip.clone(),
        };
        let old_ref = line.map(|line| tip_ref(&line.run)).filter(|old| *old != work.tip_ref());
        let start = TipStart {
            run: work.ledger.open_run().run.clone(),
            branch: work.branch.clone(),
            target: ArrivalTarget::HomeBranch,
            arrived,
            tip,
        };
        let (name, tip) = (work.tip_ref(), work.tip.clone());
        let known = self.repo.find_commit(&name)?;
        if known.as_ref() != Some(&tip) {
            self.repo.advance_ref(&name, &tip, known.as_ref())?;
        }
        self.record(Record::TipStarted(start), Durability::Synced)?;
        if let Some(old) = old_ref {
            self.repo.delete_ref(&old)?;
        }
        Ok(())
    }

    /// Files with changes that no lane has, because they are not committed.
    pub(super) fn tell_unseen_files(&mut self) -> Result<(), DriveError> {
        if self.lane.is_none() {
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
    fn start_commit(&self, keeper: &str) -> Result<Option<Oid>, DriveError> {
        let Some(work) = &self.lane else { return Ok(None) };
        if self.scope() == CommitScope::Spec
            && let Some(spec) = self.repo.find_commit(&spec_ref(keeper))?
        {
            return Ok(Some(spec));
        }
        Ok(Some(work.tip.clone()))
    }

    /// Make the lane ready for an attempt or a consultation that starts from what has landed.
    pub(super) fn ready_lane(&mut self, keeper: &str) -> Result<(), DriveError> {
        let Some(start) = self.start_commit(keeper)? else { return Ok(()) };
        self.take_over_edits()?;
        let remarks = {
            let Some(work) = &mut self.lane else { return Ok(()) };
            work.lane.put_on(&start)?;
            furnish_remarks(&work.lane.furnish(self.project.root(), &|job| job)?)
        };
        for remark in remarks {
            self.warn(&remark);
        }
        Ok(())
    }

    /// A backend is about to run: the ledger, the sources and a repository of its own are in the lane.
    pub(super) fn let_in(&mut self) -> Result<(), DriveError> {
        self.write_sources()?;
        self.write_private_repository()
    }

    /// Gates are about to run on a candidate.
    pub(super) fn ready_for_gates(&mut self, changes: &Changes) -> Result<(), DriveError> {
        let due = &self.config.lane.setup_when;
        let touched = |path: &RepoPath| due.iter().any(|name| path.to_string().ends_with(name));
        let setup = changes.paths.iter().any(|change| touched(&change.path));
        if let Some(work) = self.lane.as_mut().filter(|_| setup) {
            work.lane.furnish(self.project.root(), &|job| job)?;
        }
        self.write_private_repository()
    }

    /// The keeper of what is worked on now, without a task.
    pub(super) fn current_keeper(&self) -> String {
        self.keeper(&Task { spec: self.current_spec.clone(), ..Task::default() })
    }

    /// The work of an attempt goes: it is kept under a ref. A lane need not be put back: the next use puts
    /// it where it belongs.
    pub(super) fn discard_work(
        &mut self,
        base: &Checkpoint,
        changes: Option<&Changes>,
    ) -> Result<RolledBack, DriveError> {
        let Some(work) = &self.lane else { return Ok(self.repo.roll_back(base, changes)?) };
        let collected = match (changes, &base.head) {
            (None, Some(head)) if work.lane.check_intact(head).is_ok() => {
                work.lane.remove_submodule_repositories()?;
                Some(work.repo().collect(base)?)
            }
            _ => None,
        };
        let Some(changes) = changes.or(collected.as_ref()) else {
            return Ok(RolledBack::default());
        };
        Ok(work.repo().keep_candidate(base, changes)?)
    }

    /// A landing whose commit is in the lane comes to its end.
    pub(super) fn finish_landing(&mut self, begun: &Begun, commit: &str) -> Result<(), DriveError> {
        if self.lane.is_none() {
            return Ok(self.repo.finish_landing(&begun.base)?);
        }
        let Some(commit) = Oid::parse(commit.as_bytes()) else { return Ok(()) };
        let keeper = begun.base.of.run.clone();
        match self.advance(&keeper, begun.base.head.as_ref(), &commit) {
            Ok(()) => Ok(()),
            Err(LandError::Git(e)) => Err(e.into()),
            Err(other) => Err(DriveError::Ask { message: other.to_string(), hint: String::new() }),
        }
    }

    /// The agent's repository, as if nobody had used it. Before a backend, gates and hooks.
    pub(super) fn write_private_repository(&self) -> Result<(), DriveError> {
        let Some(work) = &self.lane else { return Ok(()) };
        let head = work.repo().head_commit()?.unwrap_or_else(|| work.tip.clone());
        Ok(work.lane.write_private_repository(&head, Some(&work.branch))?)
    }

    /// The ledger, and what people wrote for ralph, at the same paths in the lane.
    fn write_sources(&mut self) -> Result<(), DriveError> {
        let Some(work) = &mut self.lane else { return Ok(()) };
        let mut files = Vec::new();
        for folder in NAMED {
            // What an earlier agent left there is no part of the ledger.
            let _none = fs::remove_dir_all(work.lane.root().join(folder));
        }
        for folder in SOURCES.iter().chain(&NAMED) {
            files_below(self.project.root(), folder, &mut files);
        }
        let root = work.lane.root();
        work.ledger.write_into(&root, &files)?;
        let free = |file: &String| FREE.iter().any(|folder| file.starts_with(folder));
        let guarded = files.into_iter().filter(|file| !free(file)).chain([INBOX.to_owned()]);
        let guarded = guarded.chain(run_ledger::ledger_files(&work.ledger.open_run().plan));
        work.given = guarded
            .map(|file| {
                let bytes = crate::store::read(&root.join(&file)).ok().flatten();
                (file, bytes)
            })
            .collect();
        Ok(())
    }

    /// What an agent wrote into the ledger or the sources in its lane is left out, and told.
    pub(super) fn tell_left_out(
        &mut self,
        may_write: &[&str],
        who: &str,
    ) -> Result<(), DriveError> {
        let Some(work) = &self.lane else { return Ok(()) };
        let root = work.lane.root();
        let changed = |(file, given): &(&String, &Option<Vec<u8>>)| {
            !may_write.contains(&file.as_str())
                && crate::store::read(&root.join(file)).unwrap_or_default() != **given
        };
        let names: Vec<&str> =
            work.given.iter().filter(changed).map(|(file, _)| file.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let names = names.join(", ");
        self.ledger_restored(&format!("{names}: {who} may not write it; its changes are left out"))
    }

    /// What a person changed in home's ledger files becomes part of the run's.
    pub(super) fn take_over_edits(&mut self) -> Result<(), DriveError> {
        let landed = self.landed_tasks();
        let at = self.clock.stamp();
        let Some(work) = &self.lane else { return Ok(()) };
        let remarks = work.ledger.take_over(self.plan.store(), &landed, &at)?;
        for remark in remarks {
            self.warn(&remark);
        }
        Ok(())
    }

    /// Tasks whose whole work the tip contains.
    fn landed_tasks(&self) -> BTreeSet<Id> {
        let line = self.history.arrival.as_ref();
        let landed = line.into_iter().flat_map(|line| &line.landed);
        landed.filter_map(|landed| landed.task.as_deref().map(Id::new)).collect()
    }

    /// The work of a backend, after all of its processes have ended. The second value says why it cannot be
    /// looked at.
    pub(super) fn collect(
        &mut self,
        begun: &Begun,
    ) -> Result<(Changes, Option<String>), DriveError> {
        let Some(work) = &self.lane else {
            return Ok((self.repo.collect(&begun.base)?, None));
        };
        work.lane.remove_submodule_repositories()?;
        if let Some(base) = &begun.base.head {
            match work.lane.check_intact(base) {
                Err(damage @ LaneError::Damaged { .. }) => {
                    return Ok((Changes::default(), Some(damage.to_string())));
                }
                checked => checked?,
            }
        }
        let mut changes = work.repo().collect(&begun.base)?;
        changes.nested.extend(work.lane.changed_submodules()?);
        let paths: Vec<RepoPath> = changes.paths.iter().map(|c| c.path.clone()).collect();
        let base = begun.base.head.clone().unwrap_or_else(|| work.tip.clone());
        let ignored = work.lane.left_out_by_base(&base, &paths)?;
        if !ignored.is_empty() {
            work.repo().leave_out_of_index(&ignored.iter().collect::<Vec<_>>())?;
            changes.paths.retain(|change| !ignored.contains(&change.path));
            let names: Vec<String> = ignored.iter().map(ToString::to_string).collect();
            self.warn(&format!("left out, because it was ignored before: {}", names.join(", ")));
        }
        Ok((changes, None))
    }

    /// The hooks of the commit that is about to be made.
    pub(super) fn run_hooks(
        &mut self,
        begun: &Begun,
        ended: &Ended,
        landing: Landing,
    ) -> Result<Hooked, DriveError> {
        let message = self.commit_message(begun, landing, &ended.end.summary);
        let text = message.of_attempt(&begun.started.attempt);
        let Some(work) = &self.lane else { return Ok(Hooked::Passed(text)) };
        let head = begun.base.head.clone().unwrap_or_else(|| work.tip.clone());
        Ok(match work.lane.run_hooks(&head, Some(&work.branch), &text, &|job| job)? {
            HookReport::Passed { message, changed, .. } if changed.is_empty() => {
                Hooked::Passed(message)
            }
            HookReport::Passed { .. } => Hooked::Changed,
            HookReport::Refused { output, .. } => Hooked::Refused(Failure::new(
                FailureKind::Hook,
                format!("a hook refused the commit:\n{output}"),
            )),
        })
    }

    /// Commit in the lane what its gates saw green, with the ledger, and move the tip or the spec's ref.
    pub(super) fn commit_in_lane(
        &mut self,
        begun: &Begun,
        message: Vec<u8>,
    ) -> Result<Option<String>, CommitTrouble> {
        let keeper = begun.base.of.run.clone();
        let riding = match self.scope() {
            CommitScope::Task => self.ride(LedgerCommit::Landing)?,
            CommitScope::Spec => Vec::new(),
        };
        let Some(work) = &mut self.lane else { return Ok(None) };
        let commit = match work.repo().commit_index(message, &riding) {
            Ok(commit) => commit,
            Err(LandError::Nothing) => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        crash::point();
        self.advance(&keeper, begun.base.head.as_ref(), &commit)?;
        Ok(Some(commit.to_string()))
    }

    /// A commit of the lane becomes the tip, or the end of its spec's ref. May be repeated.
    pub(super) fn advance(
        &mut self,
        keeper: &str,
        old: Option<&Oid>,
        commit: &Oid,
    ) -> Result<(), LandError> {
        let on_spec = self.scope() == CommitScope::Spec;
        let Some(work) = &mut self.lane else { return Ok(()) };
        if on_spec {
            let name = spec_ref(keeper);
            let known = self.repo.find_commit(&name)?;
            if known.as_ref() != Some(commit) {
                self.repo.advance_ref(&name, commit, known.as_ref())?;
            }
            return Ok(());
        }
        if work.tip != *commit && !self.repo.contains(&work.tip, commit)? {
            let old = old.cloned().unwrap_or_else(|| work.tip.clone());
            self.move_tip(&old, commit)?;
        }
        Ok(())
    }

    /// Move the tip, if nobody else did.
    pub(super) fn move_tip(&mut self, old: &Oid, new: &Oid) -> Result<(), GitError> {
        let Some(work) = &mut self.lane else { return Ok(()) };
        self.repo.advance_ref(&work.tip_ref(), new, Some(old))?;
        work.tip = new.clone();
        Ok(())
    }

    /// Write the ledger into the lane, and name the files of it that ride in a commit.
    pub(super) fn ride(&mut self, commit: LedgerCommit) -> Result<Vec<RepoPath>, DriveError> {
        self.take_over_edits()?;
        let setting = self.config.commit_ledger;
        let Some(work) = &self.lane else { return Ok(Vec::new()) };
        work.ledger.write_into(&work.lane.root(), &[])?;
        let prefix = work.repo().prefix();
        let riding = work.ledger.riding_files(setting, commit);
        Ok(riding.iter().map(|file| prefix.join(&RepoPath::from(file.as_str()))).collect())
    }

    /// Files of home whose bytes are part of what has just been committed.
    pub(super) fn taken_over(&self) -> Result<Vec<TakenOverFile>, DriveError> {
        let Some(work) = &self.lane else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for file in work.ledger.riding_files(self.config.commit_ledger, LedgerCommit::End) {
            if let Some(bytes) = work.ledger.seen(&file)? {
                let path = work.repo().prefix().join(&RepoPath::from(file.as_str()));
                let content = self.repo.content_id(&bytes)?.to_string();
                files.push(TakenOverFile { path: path.to_string(), content });
            }
        }
        Ok(files)
    }
}

/// What a person should know about what a lane was given.
fn furnish_remarks(furnished: &Furnished) -> Vec<String> {
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
    for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
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

/// The ref that holds what has landed of a spec.
pub(super) fn spec_ref(keeper: &str) -> String {
    format!("refs/ralph/{keeper}/spec")
}
