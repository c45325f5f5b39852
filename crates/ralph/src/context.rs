//! Context of a command: the project, the clock, and access to the plan.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::config;
use ralph_core::cycle::History;
use ralph_core::format::{self, EditError, PlanCodec};
use ralph_core::gate::GateVerdict;
use ralph_core::inbox::InboxEntry;
use ralph_core::needs::LoopProcess;
use ralph_core::plan::{Id, Plan, PlanEdit};
use ralph_host::choice::ProgramSearchPaths;
use ralph_host::clock::Clock;
use ralph_host::config_load::{ConfigSources, ProjectConfigText};
use ralph_host::drive::TASK_VARIABLE;
use ralph_host::git::{LedgerPaths, Repo};
use ralph_host::ids::IdSource;
use ralph_host::plan_store;
use ralph_host::proc::JobRunner;
use ralph_host::project::Project;
use ralph_host::project_reader::{LoadedPlan, ProjectReadError, ProjectReader};
use ralph_host::store::{LedgerFileKind, LedgerStore, LockHolder};

use crate::args::PlanArgs;
use crate::commands::permit::CommandCaller;
use crate::error::CommandError;
use crate::out;

/// Project, clock and other values that every command needs.
pub(crate) struct CommandContext {
    /// The project around the current directory.
    pub(crate) project: Project,
    /// The directory the command was started in, or `-C`.
    pub(crate) directory: PathBuf,
    clock: Clock,
    ids: RefCell<IdSource>,
    store: LedgerStore,
    reader: ProjectReader,
    search_path: Option<OsString>,
    /// The backend that the command is carried out for, in its loop.
    behalf: Option<CommandCaller>,
}

impl CommandContext {
    pub(crate) fn open(directory: Option<&Path>) -> Result<Self, CommandError> {
        let directory = match directory {
            Some(dir) => std::path::absolute(dir),
            None => std::env::current_dir(),
        }
        .map_err(|e| CommandError::new(format!("cannot find the current directory: {e}")))?;
        if !directory.is_dir() {
            return Err(CommandError::new(format!("{} is not a directory", directory.display()))
                .hint("`-C DIR` takes a directory that is there"));
        }
        let project = Project::discover(&directory)?;
        let clock = Clock::from_env()?;
        let ids = IdSource::from_env()?;
        let store = LedgerStore::new(project.state_dir(), LockHolder::this_process(clock.stamp()));
        let env = std::env::vars_os().collect();
        let reader = ProjectReader::new(project.clone(), directory.clone(), env);
        let search_path = std::env::var_os("PATH");
        let (ids, behalf) = (RefCell::new(ids), None);
        Ok(Self { project, directory, clock, ids, store, reader, search_path, behalf })
    }

    /// The same project for a command of a backend.
    pub(crate) fn open_for(project: &Path, behalf: CommandCaller) -> Result<Self, CommandError> {
        Ok(Self { behalf: Some(behalf), ..Self::open(Some(project))? })
    }

    /// The backend that the command is carried out for.
    pub(crate) fn behalf(&self) -> Option<&CommandCaller> {
        self.behalf.as_ref()
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Return the current time in RFC 3339.
    pub(crate) fn now(&self) -> String {
        self.clock.stamp()
    }

    pub(crate) fn ids(&self) -> IdSource {
        self.ids.borrow().clone()
    }

    pub(crate) fn store(&self) -> LedgerStore {
        self.store.clone()
    }

    /// A source of random base-36 words.
    pub(crate) fn random(&self) -> impl FnMut() -> String + '_ {
        || self.ids.borrow_mut().word(4)
    }

    pub(crate) fn reader(&self) -> &ProjectReader {
        &self.reader
    }

    /// Return the paths that are needed to find backends.
    pub(crate) fn place(&self) -> ProgramSearchPaths<'_> {
        let (root, path) = (self.project.root(), self.search_path.as_deref());
        ProgramSearchPaths { root, cwd: &self.directory, path }
    }

    /// A path as people should see it: relative to where they are, when it is below.
    pub(crate) fn show(&self, path: &Path) -> String {
        self.reader.show(path)
    }

    /// Return the path of the plan file that the command works on.
    pub(crate) fn plan_path(&self, args: &PlanArgs) -> Result<PathBuf, CommandError> {
        Ok(self.reader.plan_path(self.chosen_plan(args)?.as_deref())?)
    }

    /// The plan that was asked for. A backend sees that of its run, and others of the project.
    fn chosen_plan(&self, args: &PlanArgs) -> Result<Option<PathBuf>, CommandError> {
        let Some(behalf) = &self.behalf else { return Ok(args.plan.clone()) };
        let root = self.project.root();
        let Some(asked) = &args.plan else { return Ok(Some(root.join(behalf.plan()))) };
        let path = root.join(asked);
        let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
        let is_inside = directory.is_some_and(|directory| directory.starts_with(root));
        match is_inside && !path.is_symlink() {
            true => Ok(Some(path)),
            false => Err(CommandError::new(format!(
                "{} is not in the project of this attempt",
                asked.display()
            ))
            .hint("leave out `--plan`: the plan of the attempt is used")),
        }
    }

    /// The layers of the configuration, with what `ralph.toml` says or would say.
    pub(crate) fn config_sources(
        &self,
        project: ProjectConfigText<'_>,
    ) -> Result<ConfigSources, CommandError> {
        Ok(self.reader.sources(project)?)
    }

    /// Return the configuration without the settings of a plan.
    pub(crate) fn config(&self) -> Result<config::Config, CommandError> {
        Ok(self.config_sources(ProjectConfigText::OnDisk)?.without_plan()?.config)
    }

    /// The configuration for a plan, with options of the command line above all. Prints its warnings.
    pub(crate) fn config_with(
        &self,
        flags: &[config::ConfigFlag],
        plan: &LoadedPlan,
    ) -> Result<config::ResolvedConfig, CommandError> {
        let resolved = self.reader.config(plan, flags)?;
        resolved.warnings.iter().for_each(out::warn);
        Ok(resolved)
    }

    /// Read the plan. A plan that does not exist yet is an empty one, unless it was asked for.
    pub(crate) fn read_plan(&self, args: &PlanArgs) -> Result<Arc<LoadedPlan>, CommandError> {
        Ok(self.reader.plan(self.chosen_plan(args)?.as_deref())?)
    }

    /// The plan in this file; one that is not there yet is empty, in the format that its name says.
    pub(crate) fn plan_at(&self, path: &Path) -> Result<Arc<LoadedPlan>, CommandError> {
        Ok(self.reader.plan_at(path)?)
    }

    pub(crate) fn repo<'r>(&self, runner: &'r JobRunner) -> Result<Repo<'r>, CommandError> {
        let Some(git_dir) = self.project.git_dir() else {
            let error = CommandError::new("this is not a git repository, so no work is kept here");
            return Err(error.hint("`git init` makes one: ralph keeps work in git"));
        };
        let plan = self.plan_path(&PlanArgs::default());
        let plan = plan.unwrap_or_else(|_| self.project.plan_jsonl());
        let plan = self.project.relative_path(&plan);
        Ok(Repo::open(self.project.root(), git_dir, runner, &LedgerPaths::with_plan(&plan))?)
    }

    /// Read any file of the ledger as text; an unfinished last line of a .jsonl file is left out.
    pub(crate) fn read_text(&self, path: &Path) -> Result<Option<String>, CommandError> {
        Ok(self.reader.text(path)?)
    }

    pub(crate) fn inbox(&self) -> Result<Vec<InboxEntry>, CommandError> {
        Ok(self.reader.inbox()?)
    }

    /// Change any file of the ledger under its lock. `decide` gets the text (`None`: there is no
    /// such file) and gives the new one.
    pub(crate) fn change_text<T>(
        &self,
        path: &Path,
        decide: impl FnOnce(Option<&str>) -> Result<(String, T), CommandError>,
    ) -> Result<T, CommandError> {
        let shown = self.show(path);
        let updated = self.store.update(path, LedgerFileKind::of(path), |bytes| {
            decide(bytes.map(|bytes| plan_store::decode(&shown, bytes)).transpose()?)
        })?;
        if let Some(torn) = updated.torn {
            out::warn(torn.to_string());
        }
        Ok(updated.value)
    }

    /// Read the history of the loops of this worktree.
    pub(crate) fn history(&self) -> Result<History, CommandError> {
        Ok(self.reader.history()?)
    }

    /// The verdict on an attempt, with the excerpts of its gates.
    pub(crate) fn verdict(&self, attempt: &str) -> Result<Option<GateVerdict>, CommandError> {
        Ok(self.reader.verdict(attempt)?)
    }

    /// Whether a loop is at work here.
    pub(crate) fn running(&self) -> LoopProcess {
        self.reader.running()
    }

    /// The task that is worked on now: by the loop that started us, or by the one of this worktree.
    pub(crate) fn task_at_work(&self) -> Result<Option<Id>, CommandError> {
        if let Some(id) = std::env::var_os(TASK_VARIABLE).filter(|id| !id.is_empty()) {
            return Ok(Some(Id::new(id.to_string_lossy())));
        }
        let open = self.history()?.open.filter(|_| self.running() != LoopProcess::Nobody);
        Ok(open.map(|open| Id::new(open.started.task)))
    }

    /// Change the plan: under the ledger's lock, read it, let `decide` choose edits, make them,
    /// read the result back, and only then write it.
    pub(crate) fn change_plan(
        &self,
        args: &PlanArgs,
        decide: impl FnOnce(&Plan, &dyn PlanCodec) -> Result<Vec<PlanEdit>, CommandError>,
    ) -> Result<ChangedPlan, CommandError> {
        let path = self.plan_path(args)?;
        let shown = self.show(&path);
        if self.behalf.as_ref().is_some_and(|b| self.project.relative_path(&path) != b.plan()) {
            return Err(CommandError::new(format!("{shown} is not the plan of this attempt"))
                .hint("leave out `--plan`: the plan of the attempt is used"));
        }
        if args.plan.is_some() && !path.exists() {
            return Err(ProjectReadError::MissingPlan(shown).into());
        }
        self.change_text(&path, |text| {
            let text = text.unwrap_or_default();
            let before = plan_store::parse(&path, &shown, text)?;
            let codec = format::codec(before.format);
            let edits = decide(&before, codec)?;
            let new = codec.edit(text, &edits).map_err(|e| edit_error(&shown, &e))?;
            let after = codec.parse(&new).map_err(|e| {
                CommandError::new(format!("{shown}: this change would damage the plan: {e}"))
                    .hint("nothing was written; please report this")
            })?;
            Ok((new, ChangedPlan { before, after }))
        })
    }
}

/// A plan before and after a change.
pub(crate) struct ChangedPlan {
    pub(crate) before: Plan,
    pub(crate) after: Plan,
}

fn edit_error(shown: &str, error: &EditError) -> CommandError {
    let hint = match error {
        EditError::Unsupported { .. } => {
            Some("`ralph convert` writes the plan in another format".to_owned())
        }
        EditError::Ambiguous { .. } => Some("`ralph validate` shows the lines involved".to_owned()),
        _ => None,
    };
    CommandError::new(format!("{shown}: {error}")).maybe_hint(hint)
}
