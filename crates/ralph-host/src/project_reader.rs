//! The one reader of a project: its plan, its queue, its settings, its journal and who is at work.
//!
//! Commands, the full screen, the report, MCP tools and the dashboard read through [`ProjectReader`];
//! what one of them cannot read, none of them takes for empty. Reading changes nothing: the last record
//! of a file that is still being appended to is not there yet.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use ralph_core::config::{Config, ConfigErrors, ConfigFlag, ResolvedConfig};
use ralph_core::cycle::{History, JournalRecord};
use ralph_core::dashboard::{BackendMeter, DashboardSources};
use ralph_core::format::PlanFormat;
use ralph_core::gate::GateVerdict;
use ralph_core::inbox::{Inbox, InboxEntry};
use ralph_core::needs::{LedgerDamage, LedgerPart, LoopProcess, NeedSources};
use ralph_core::plan::Plan;
use ralph_core::text::shell_word;

use crate::config_load::{ConfigSources, ProjectConfigText};
use crate::plan_file::{PlanFileError, plan_file};
use crate::plan_store::{self, PlanError};
use crate::project::Project;
use crate::store::{JournalError, read_entries, read_history, who_runs};

/// A part of a project that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ProjectReadError {
    /// The plan or the queue is damaged, or cannot be opened.
    #[error(transparent)]
    Ledger(#[from] PlanError),
    #[error(transparent)]
    PlanFile(#[from] PlanFileError),
    /// The plan file that was asked for does not exist.
    #[error("there is no plan file {0}")]
    MissingPlan(String),
    /// A plan file that does not exist yet has a name that says no format.
    #[error("{0} is not the name of a plan file")]
    NotAPlanName(String),
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl ProjectReadError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Ledger(e) => e.hint.clone(),
            Self::PlanFile(e) => e.hint(),
            Self::MissingPlan(_) => Some(
                "`ralph plan` makes one of your specs, `ralph convert` one of another plan"
                    .to_owned(),
            ),
            Self::NotAPlanName(_) => {
                Some("plan.jsonl, plan.json, progress.md and implementation.json are".to_owned())
            }
            Self::Config(_) => Some("`ralph config show` lists all keys".to_owned()),
            Self::Journal(e) => e.hint(),
        }
    }
}

/// A plan that was read from its file.
#[derive(Clone, Debug)]
pub struct LoadedPlan {
    /// The file; it need not exist yet.
    pub path: PathBuf,
    /// The file as people call it.
    pub shown: String,
    /// The text without an unfinished last record.
    pub text: String,
    pub plan: Plan,
}

/// Everything about a project but its journal, as it was at one moment.
#[derive(Clone, Debug)]
pub struct ProjectSnapshot {
    pub name: String,
    /// The plan; empty where it cannot be read.
    pub plan: Arc<LoadedPlan>,
    pub inbox: Vec<InboxEntry>,
    /// The settings, the plan's own among them.
    pub config: Config,
    /// Whether a loop is at work.
    pub running: LoopProcess,
    pub damage: Vec<LedgerDamage>,
}

impl ProjectSnapshot {
    /// Why the plan cannot be read, when it cannot.
    pub fn plan_damage(&self) -> Option<&str> {
        let of_plan = self.damage.iter().find(|damage| damage.part == LedgerPart::Plan);
        of_plan.map(|damage| damage.problem.as_str())
    }

    /// The facts that the view model is made of.
    pub fn facts<'a>(
        &'a self,
        history: &'a History,
        now: &'a str,
        meter: BackendMeter,
    ) -> DashboardSources<'a> {
        DashboardSources {
            now,
            project: &self.name,
            config: &self.config,
            meter,
            sources: NeedSources {
                plan_file: &self.plan.shown,
                history,
                plan: &self.plan.plan,
                damage: &self.damage,
                inbox: &self.inbox,
                running: &self.running,
            },
        }
    }
}

/// The time, length and inode of a file, which tell one state of it from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp(Option<(SystemTime, u64, u64)>);

impl FileStamp {
    /// The stamp of the file at `path` now.
    pub fn of(path: &Path) -> Self {
        let stamp = |meta: std::fs::Metadata| Some((meta.modified().ok()?, meta.len(), meta.ino()));
        Self(std::fs::metadata(path).ok().and_then(stamp))
    }
}

/// Reader of one project's files. It keeps the last plan that it parsed.
#[derive(Debug)]
pub struct ProjectReader {
    project: Project,
    directory: PathBuf,
    env: Vec<(OsString, OsString)>,
    last_plan: Mutex<Option<(FileStamp, Arc<LoadedPlan>)>>,
}

impl ProjectReader {
    /// A reader for somebody in `directory`, with these environment variables.
    pub fn new(project: Project, directory: PathBuf, env: Vec<(OsString, OsString)>) -> Self {
        Self { project, directory, env, last_plan: Mutex::new(None) }
    }

    /// Show a path as people should see it: relative to where they are, when it is below.
    pub fn show(&self, path: &Path) -> String {
        let path = self.project.shown_path(path);
        let shown = path
            .strip_prefix(&self.directory)
            .or_else(|_| path.strip_prefix(self.project.root()))
            .unwrap_or(&path);
        shown.display().to_string()
    }

    /// Find the plan file: the one that was asked for, else the one of the project.
    pub fn plan_path(&self, asked: Option<&Path>) -> Result<PathBuf, ProjectReadError> {
        let flag = asked.map(|path| self.directory.join(path));
        let configured = match &flag {
            Some(_) => None,
            None => self.sources(ProjectConfigText::OnDisk)?.without_plan()?.config.plan,
        };
        let configured = configured.map(PathBuf::from);
        Ok(plan_file(&self.project, flag.as_deref(), configured.as_deref())?)
    }

    /// Read the layers of the configuration, with what `ralph.toml` says or would say.
    pub fn sources(&self, project: ProjectConfigText<'_>) -> Result<ConfigSources, ConfigErrors> {
        ConfigSources::read(self.project.root(), project, self.env.clone(), &[])
    }

    /// Read the configuration for a plan, with options of the command line above all.
    pub fn config(
        &self,
        plan: &LoadedPlan,
        flags: &[ConfigFlag],
    ) -> Result<ResolvedConfig, ConfigErrors> {
        ConfigSources::read(
            self.project.root(),
            ProjectConfigText::OnDisk,
            self.env.clone(),
            flags,
        )?
        .with_plan(&plan.shown, &plan.plan.config)
    }

    /// Read the text of a file of the ledger; `None` when there is no such file.
    pub fn text(&self, path: &Path) -> Result<Option<String>, PlanError> {
        plan_store::peek(path, &self.show(path))
    }

    /// Read the plan. One that was asked for has to exist; that of the project may be empty still.
    pub fn plan(&self, asked: Option<&Path>) -> Result<Arc<LoadedPlan>, ProjectReadError> {
        let path = self.plan_path(asked)?;
        match asked {
            Some(_) if !path.exists() => Err(ProjectReadError::MissingPlan(self.show(&path))),
            _ => self.plan_at(&path),
        }
    }

    /// Read the plan in this file. One that does not exist yet is empty, in the format of its name.
    pub fn plan_at(&self, path: &Path) -> Result<Arc<LoadedPlan>, ProjectReadError> {
        let stamp = FileStamp::of(path);
        let mut last = self.last_plan.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, plan)) = &*last
            && *then == stamp
            && plan.path == path
        {
            return Ok(Arc::clone(plan));
        }
        let shown = self.show(path);
        let (text, plan) = match self.text(path)? {
            Some(text) => {
                let plan = plan_store::parse(path, &shown, &text)?;
                (text, plan)
            }
            None => {
                let format = PlanFormat::from_file_name(&shown);
                let format = format.ok_or(ProjectReadError::NotAPlanName(shown.clone()))?;
                (String::new(), Plan::empty(format))
            }
        };
        let read = Arc::new(LoadedPlan { path: path.to_owned(), shown, text, plan });
        *last = Some((stamp, Arc::clone(&read)));
        Ok(read)
    }

    /// Read the queue of specs; one that does not exist is empty.
    pub fn inbox(&self) -> Result<Vec<InboxEntry>, PlanError> {
        let path = self.project.inbox();
        let text = self.text(&path)?.unwrap_or_default();
        let inbox = Inbox::parse(&text);
        Ok(inbox.map_err(|e| PlanError::damaged(&self.show(&path), &e))?.into_entries())
    }

    /// Read what the loops of this worktree have done.
    pub fn history(&self) -> Result<History, JournalError> {
        read_history(&self.project.state_dir())
    }

    /// Read the verdict on an attempt with its excerpts, of which a history keeps only the newest.
    pub fn verdict(&self, attempt: &str) -> Result<Option<GateVerdict>, JournalError> {
        let mut found = None;
        read_entries(&self.project.state_dir(), &mut |entry| match &entry.record {
            JournalRecord::Judged(verdict) if verdict.attempt == attempt => {
                found = Some(verdict.clone())
            }
            _ => {}
        })?;
        Ok(found)
    }

    /// Look whether a loop is at work.
    pub fn running(&self) -> LoopProcess {
        let holder = who_runs(&self.project.state_dir());
        holder.map_or(LoopProcess::Nobody, |holder| LoopProcess::Pid(holder.pid))
    }

    /// Read everything but the journal; the first file that cannot be read is an error.
    pub fn snapshot(&self, asked: Option<&Path>) -> Result<ProjectSnapshot, ProjectReadError> {
        let plan = self.plan_at(&self.plan_path(asked)?)?;
        Ok(ProjectSnapshot {
            name: self.project.name(),
            inbox: self.inbox()?,
            config: self.config(&plan, &[])?.config,
            plan,
            running: self.running(),
            damage: Vec::new(),
        })
    }

    /// Read everything but the journal. A file that cannot be read counts as empty and is listed as
    /// damage; a directory that is no project yet has the native plan.
    pub fn snapshot_with_damage(&self, asked: Option<&Path>) -> ProjectSnapshot {
        let mut damage = Vec::new();
        let mut report = |part, error: &dyn std::fmt::Display, command: String| {
            damage.push(LedgerDamage { part, problem: error.to_string(), command });
        };
        let path = match self.plan_path(asked) {
            Err(ProjectReadError::PlanFile(PlanFileError::NotAProject { .. })) => {
                Ok(self.project.plan_jsonl())
            }
            other => other,
        };
        let shown = path.as_ref().map(|path| self.show(path)).unwrap_or_default();
        let plan = path.and_then(|path| self.plan_at(&path)).unwrap_or_else(|e| {
            let file = if shown.is_empty() { String::new() } else { shell_word(&shown) };
            report(LedgerPart::Plan, &e, format!("ralph validate --plan {file}"));
            let (path, plan) = (self.project.plan_jsonl(), Plan::empty(PlanFormat::Jsonl));
            Arc::new(LoadedPlan { path, shown, text: String::new(), plan })
        });
        let inbox = self.inbox().unwrap_or_else(|e| {
            report(LedgerPart::Inbox, &e, "ralph inbox list".to_owned());
            Vec::new()
        });
        ProjectSnapshot {
            name: self.project.name(),
            inbox,
            config: self.config(&plan, &[]).map(|resolved| resolved.config).unwrap_or_default(),
            plan,
            running: self.running(),
            damage,
        }
    }
}
