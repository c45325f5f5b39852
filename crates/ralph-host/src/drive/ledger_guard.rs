//! Files of the ledger that no agent may write, outside of its lane: as they were before it ran, so they
//! are after.
//!
//! An agent gets copies of them in its lane, which are thrown away. The files themselves are in the git
//! directory or, where git ignores them, in home; without a fence an agent can reach them by their absolute
//! paths. Only ralph writes them while an agent runs, so whoever else did is undone, and what they wrote is
//! kept beside. A file is read again only when its stamp says that it changed. The plan has its own guard
//! ([`super::guard`]), because people change it while agents run; so have home's tracked files
//! ([`super::home_guard`]), and the inbox is held ([`crate::store`]): what people do to it with commands
//! stays.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::agent_role::AgentRole;
use ralph_core::cycle::RunCommand;
use ralph_core::memory::index::{JSON_FILE, MARKDOWN_FILE};

use super::error::DriveError;
use super::guard::{self, PlanEditor};
use super::home_guard::HomeGuard;
use super::session::RunSession;
use super::working_tree::{LaneBeforeAgent, landed_tasks};
use crate::FileError;
use crate::handoff_files;
use crate::run_ledger::{HomeLedgerFile, read_from_lane};
use crate::store::{self, drop_view, free_name, put_aside, put_view};

/// Ledger files that are guarded. The newest handoffs and the next one are guarded too.
const FILES: [&str; 4] =
    [MARKDOWN_FILE, JSON_FILE, ".ralph/progress-log.md", ".ralph/progress-log.json"];

/// Handoffs that are looked after: those that ralph itself, or an agent that it asks, reads again.
const HANDOFFS: u32 = 5;

/// Larger files are not kept: nobody needs a copy of them in memory.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Files that an agent wrote in its lane and may have written, by their names.
pub(super) type WrittenFiles = BTreeMap<&'static str, Result<Option<Vec<u8>>, FileError>>;

/// State of a file: inode, length, modification time and change time.
type LedgerFileStamp = (u64, u64, i64, i64, i64, i64);

/// State of the ledger and of the lane before an agent runs.
pub(super) struct StateBeforeAgent {
    pub(super) plan: String,
    /// State of the guarded ledger files, by name.
    files: BTreeMap<String, GuardedFile>,
    /// Edits in home that are older than the agent.
    home: Vec<HomeLedgerFile>,
    pub(super) lane: LaneBeforeAgent,
}

struct GuardedFile {
    stamp: Option<LedgerFileStamp>,
    bytes: Option<Vec<u8>>,
}

/// The end of the name of a file that was put back, in `.ralph/context`.
pub(super) struct RestoredCopySuffix(String);

impl RestoredCopySuffix {
    pub(super) fn of_iteration(iteration: u32) -> Self {
        Self(format!("of-iteration-{iteration}"))
    }

    fn path(&self, project_root: &Path, name: &str) -> PathBuf {
        let file_name = name.rsplit('/').next().unwrap_or(name);
        project_root.join(format!(".ralph/context/{file_name}.{}", self.0))
    }
}

fn stamp(path: &Path) -> Option<LedgerFileStamp> {
    let meta = fs::symlink_metadata(path).ok()?;
    let (modified, changed) =
        ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    Some((meta.ino(), meta.len(), modified.0, modified.1, changed.0, changed.1))
}

/// The names of the files. There is one handoff more than are read: the next one.
fn guarded_files(iteration: u32) -> impl Iterator<Item = String> {
    let handoffs = iteration.saturating_sub(HANDOFFS)..=iteration;
    let handoffs = handoffs.map(|number| handoff_files::name(number.into()));
    FILES.iter().map(|&file| file.to_owned()).chain(handoffs)
}

/// Keep bytes of a file in `.ralph/context` of the project.
pub(super) fn keep_copy(
    project_root: &Path,
    name: &str,
    bytes: Option<&[u8]>,
    copy: &RestoredCopySuffix,
) -> Result<(), FileError> {
    let copy = copy.path(project_root, name);
    bytes.map_or(Ok(()), |bytes| put_view(&free_name(&copy), bytes))
}

/// Make a file what it was. What somebody made of it is then in `.ralph/context` of the project. Tells
/// whether anything had to be done.
fn put_back_at(
    project_root: &Path,
    path: &Path,
    name: &str,
    was: Option<&[u8]>,
    copy: &RestoredCopySuffix,
) -> Result<bool, FileError> {
    let copy = copy.path(project_root, name);
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
        put_aside(path, &copy)?;
    } else {
        let now = store::read(path).unwrap_or_default();
        if now.as_deref() == was {
            return Ok(false);
        }
        if let Some(theirs) = &now {
            put_view(&free_name(&copy), theirs)?;
        }
    }
    match was {
        Some(bytes) => put_view(path, bytes)?,
        None => drop_view(path)?,
    }
    Ok(true)
}

impl RunSession<'_> {
    /// An agent is about to run: give it what it needs, and remember what it may not change.
    pub(super) fn open_ledger_to_agent(&mut self) -> Result<StateBeforeAgent, DriveError> {
        let plan = self.plan.watch()?;
        let mut files = BTreeMap::new();
        for name in guarded_files(self.history.iteration) {
            let path = self.project.ledger_file(&name);
            let stamp = stamp(&path);
            let kept = match stamp {
                None => Some(GuardedFile { stamp, bytes: None }),
                Some((_, length, ..)) if length > LARGEST => None,
                // Unguarded is better than not at all.
                Some(_) => store::read(&path).ok().map(|bytes| GuardedFile { stamp, bytes }),
            };
            files.extend(kept.map(|kept| (name, kept)));
        }
        let home = self.work.ledger.edited_in_home()?;
        let inbox = self.project.inbox();
        if self.kind == RunCommand::Agent || inbox.exists() {
            let _unguarded = self.plan.store().hold(&inbox);
        }
        Ok(StateBeforeAgent { plan, files, home, lane: self.open_lane_to_backend()? })
    }

    /// Undo the changes to the ledger that an agent was not allowed to make. Call it when the agent ended.
    pub(super) fn restore_ledger(
        &mut self,
        found: &StateBeforeAgent,
        role: AgentRole,
        by: &PlanEditor,
    ) -> Result<(), DriveError> {
        let root = self.project.root().to_owned();
        let copy = RestoredCopySuffix::of_iteration(by.iteration);
        let mut names = Vec::new();
        for (name, kept) in &found.files {
            let path = self.project.ledger_file(name);
            if stamp(&path) == kept.stamp {
                continue;
            }
            let is_restored = put_back_at(&root, &path, name, kept.bytes.as_deref(), &copy)?;
            if is_restored && !role.may_write().contains(&name.as_str()) {
                names.push(name.clone());
            }
        }
        let inbox = self.project.inbox();
        if let Some(theirs) = self.plan.store().release(&inbox)? {
            let copy = format!(".ralph/context/inbox.jsonl.{}", copy.0);
            put_view(&root.join(copy), theirs.as_bytes())?;
            names.push(self.relative(&inbox));
        }
        if !names.is_empty() {
            let names = names.join(", ");
            self.ledger_restored(&format!(
                "{names}: {} may not write it; it was put back, and the other version is in \
                 .ralph/context",
                role.actor()
            ))?;
        }
        Ok(())
    }

    /// The same for home's files. Call it when the run's own plan is as it has to be.
    pub(super) fn guard_home(
        &mut self,
        found: &StateBeforeAgent,
        by: &PlanEditor,
    ) -> Result<(), DriveError> {
        let (landed, at) = (landed_tasks(&self.history), self.clock.stamp());
        let (project, repo, plan) = (&self.project, &self.repo, &self.plan);
        let (ledger, older) = (&self.work.ledger, found.home.as_slice());
        let guard = HomeGuard { project, repo, ledger, plan, landed, at, older };
        for sentence in guard.settle(by)? {
            self.ledger_restored(&sentence)?;
        }
        Ok(())
    }

    /// After the backend: the plan as ralph left it, with what others may change kept. `text` is the
    /// plan as it was when the backend began. What came through ralph's own commands stays.
    pub(super) fn guard_plan(&mut self, text: &str, by: &PlanEditor) -> Result<(), DriveError> {
        if self.plan.is_still(text)? {
            return Ok(());
        }
        let undone = guard::settle(&self.project, &self.plan, text, by)?;
        undone.map_or(Ok(()), |message| self.ledger_restored(&message))
    }

    /// Read what an agent wrote in its lane into files that it may write. Call it before the lane is put
    /// back.
    pub(super) fn written_files(&self, may_write: &[&'static str]) -> WrittenFiles {
        let root = self.work_root();
        may_write.iter().map(|&file| (file, read_from_lane(&root, file))).collect()
    }
}
