//! Looking at everything but the gates, without changing anything.

use std::path::{Path, PathBuf};

use ralph_core::choice::RequestedBackend;
use ralph_core::config::{BackendKind, Config, ConfigErrors, Workspace};
use ralph_core::cycle::History;
use ralph_core::doctor::{self, DoctorFinding, FindingArea, FindingState, Remedy};
use ralph_core::plan;
use ralph_host::checkup::{CheckupInputs, free_space, queue};
use ralph_host::choice;
use ralph_host::config_load::{ConfigSources, ProjectConfigText, conf_in_force};
use ralph_host::drive::retirement;
use ralph_host::git::{self, GitError, Repo};
use ralph_host::lanes::{LanePool, cache_folder, orphaned_lanes};
use ralph_host::proc::JobRunner;
use ralph_host::store::{LedgerStore, LockHolder, who_runs};

use crate::args::PlanArgs;
use crate::commands::backends::{BackendListing, known_backends};
use crate::commands::knowledge;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Inputs for all checks except the gates.
pub(super) struct DoctorContext<'a> {
    pub(super) context: &'a CommandContext,
    /// Without the mark of the place: a loop that begins ends whatever carries it, and this only looks.
    runner: JobRunner,
    /// The settings, or what is wrong with them.
    pub(super) settings: Result<Config, ConfigErrors>,
    warnings: Vec<String>,
    pub(super) backends: Vec<BackendListing>,
}

impl<'a> DoctorContext<'a> {
    pub(super) fn new(context: &'a CommandContext) -> Self {
        let root = context.project.root();
        let sources =
            ConfigSources::read(root, ProjectConfigText::OnDisk, std::env::vars_os(), &[]);
        let (settings, warnings) = match sources.and_then(|sources| sources.without_plan()) {
            Ok(resolved) => {
                let warnings = resolved.warnings.iter().map(ToString::to_string).collect();
                (Ok(resolved.config), warnings)
            }
            Err(errors) => (Err(errors), Vec::new()),
        };
        let runner = JobRunner::new(name());
        let mut look = Self { context, runner, settings, warnings, backends: Vec::new() };
        look.backends = known_backends(&look.config(), context.place());
        look
    }

    /// Create a runner for the holder of the run's lock. The next loop ends the processes that it leaves.
    pub(super) fn worker(&self) -> JobRunner {
        let project = &self.context.project;
        JobRunner::new(name()).at(project.git_dir().unwrap_or(project.root()))
    }

    /// The settings, or the defaults where there is something wrong with them.
    pub(super) fn config(&self) -> Config {
        self.settings.as_ref().cloned().unwrap_or_default()
    }

    /// Everything, in the order in which a person would look.
    pub(super) fn findings(&self) -> Vec<DoctorFinding> {
        let mut all = self.git();
        all.extend(self.settings());
        all.extend(self.backends());
        // Where nothing was set up yet, that is said once.
        if self.context.project.is_initialised() {
            all.push(self.plan());
        }
        all.extend(self.inbox());
        all.extend(self.knowledge());
        all.extend(self.journal());
        all.extend(self.lanes());
        all.extend(self.disk());
        all
    }

    fn git(&self) -> Vec<DoctorFinding> {
        let root = self.context.project.root();
        let (version, known) = match git::introduce(root, &self.runner) {
            Ok(said) => said,
            Err(GitError::NotInstalled) => return vec![doctor::git_version(None)],
            Err(e) => return vec![refused(FindingArea::Git, &e.to_string(), e.hint())],
        };
        let mut all = vec![doctor::git_version(Some(&version)), doctor::identity(known)];
        all.extend(match self.repo(&self.runner) {
            Ok(Some(repo)) => match repo.condition() {
                Ok(facts) => doctor::repository(&facts),
                Err(e) => vec![refused(FindingArea::Repository, &e.to_string(), e.hint())],
            },
            Ok(None) => {
                let what = format!("{} is not in one: ralph keeps work in git", root.display());
                vec![DoctorFinding::new(
                    FindingArea::Repository,
                    FindingState::Problem,
                    what,
                    "git init",
                )]
            }
            Err(e) => vec![failed(FindingArea::Repository, e)],
        });
        all
    }

    fn settings(&self) -> Vec<DoctorFinding> {
        let problem = |what: String| {
            DoctorFinding::new(
                FindingArea::Settings,
                FindingState::Problem,
                what,
                "correct it; `ralph config show` lists the keys",
            )
        };
        let mut all: Vec<DoctorFinding> = match &self.settings {
            Err(errors) => errors.0.iter().map(|error| problem(error.to_string())).collect(),
            Ok(_) if self.context.project.ralph_toml().is_file() => {
                vec![DoctorFinding::ok(FindingArea::Settings, "ralph.toml can be read")]
            }
            Ok(_) if conf_in_force(self.context.project.root()).is_some() => Vec::new(),
            Ok(_) => {
                let what = "there is no ralph.toml, so there are no gates";
                vec![DoctorFinding::new(
                    FindingArea::Settings,
                    FindingState::Warning,
                    what,
                    "ralph init",
                )]
            }
        };
        let warning = |text: &String| {
            DoctorFinding::new(
                FindingArea::Settings,
                FindingState::Warning,
                text.as_str(),
                "ralph config show",
            )
        };
        all.extend(self.warnings.iter().map(warning));
        all
    }

    fn backends(&self) -> Vec<DoctorFinding> {
        let config = self.config();
        let default = choice::choose(&config, RequestedBackend::default(), self.context.place());
        let mut used: Vec<String> = config.fallback_backends.clone();
        used.extend(config.stages.values().filter_map(|stage| stage.backend.clone()));
        let mut all = Vec::new();
        match &default {
            Ok(chosen) => used.insert(0, chosen.name.clone()),
            Err(e) => {
                let fix = e.hint().unwrap_or_else(|| "ralph backends".to_owned());
                all.push(DoctorFinding::new(
                    FindingArea::Backend,
                    FindingState::Problem,
                    e.to_string(),
                    fix,
                ));
            }
        }
        for name in &used {
            if !self.backends.iter().any(|known| known.name == *name) {
                let what = format!("there is no backend `{name}`, which ralph.toml names");
                all.push(DoctorFinding::new(
                    FindingArea::Backend,
                    FindingState::Problem,
                    what,
                    "ralph backends",
                ));
            }
        }
        let of = |known: &BackendListing| backend(known, used.contains(&known.name));
        all.extend(self.backends.iter().filter_map(of));
        all
    }

    fn plan(&self) -> DoctorFinding {
        let args = PlanArgs::default();
        let path = match self.context.plan_path(&args) {
            Ok(path) => path,
            Err(e) => return failed(FindingArea::Plan, e),
        };
        if !path.exists() {
            return DoctorFinding::ok(
                FindingArea::Plan,
                format!("{} is not there yet", self.context.show(&path)),
            );
        }
        match self.context.read_plan(&args) {
            Ok(file) => doctor::plan(&file.shown, &file.plan, &plan::validate(&file.plan)),
            Err(e) => failed(FindingArea::Plan, e),
        }
    }

    fn inbox(&self) -> Option<DoctorFinding> {
        if !self.context.project.inbox().exists() {
            return None;
        }
        Some(match self.context.inbox() {
            Ok(inbox) => {
                DoctorFinding::ok(FindingArea::Inbox, ralph_core::words::count(inbox.len(), "spec"))
            }
            Err(e) => failed(FindingArea::Inbox, e),
        })
    }

    fn knowledge(&self) -> Option<DoctorFinding> {
        match knowledge::check(self.context) {
            Ok(checked) => {
                let (violations, entries) = checked?;
                Some(doctor::violations(&violations, entries))
            }
            Err(e) => Some(failed(FindingArea::Knowledge, e)),
        }
    }

    /// The journal and all that only means something when no loop is at work.
    fn journal(&self) -> Vec<DoctorFinding> {
        if let Some(holder) = self.at_work() {
            let what =
                format!("a loop is at work, {holder}; what it leaves is its own until it ends");
            return vec![DoctorFinding::ok(FindingArea::Journal, what)];
        }
        let history = match self.context.history() {
            Ok(history) => history,
            Err(e) => return vec![failed(FindingArea::Journal, e)],
        };
        let mut all = vec![doctor::interrupted(&history)];
        all.extend(doctor::waiting(&history));
        all.push(self.control());
        all.extend(self.leftovers(&history));
        all
    }

    fn control(&self) -> DoctorFinding {
        let path = self.context.project.commands_json();
        match queue(&path) {
            Ok(Ok(entries)) => doctor::commands(&entries),
            Ok(Err(e)) => {
                let what = format!("{} cannot be read: {e}", self.context.show(&path));
                DoctorFinding::new(
                    FindingArea::Control,
                    FindingState::Warning,
                    what,
                    "ralph doctor --fix",
                )
                .mended_by(Remedy::DamagedCommands)
            }
            Err(e) => refused(FindingArea::Control, &e.to_string(), e.hint()),
        }
    }

    fn leftovers(&self, history: &History) -> Vec<DoctorFinding> {
        let Ok(Some(repo)) = self.repo(&self.runner) else { return Vec::new() };
        let (store, plan) = (self.context.store(), self.plan_path());
        match self.checkup(&repo, &store, &plan).leftovers(history) {
            Ok(found) => doctor::leftovers(&found),
            Err(e) => vec![refused(FindingArea::Leftover, &e.to_string(), e.hint())],
        }
    }

    /// The checkouts in which agents work, and those of repositories that are gone.
    fn lanes(&self) -> Vec<DoctorFinding> {
        let mut all = Vec::new();
        if let Ok(Some(repo)) = self.repo(&self.runner)
            && self.config().workspace == Workspace::Lane
        {
            let found = LanePool::find(&repo, &self.config().lane).and_then(|pool| {
                pool.check_writable()?;
                let lanes = pool.list()?;
                let bytes = lanes.iter().map(|lane| lane.bytes).sum();
                Ok(doctor::lanes(lanes.len(), bytes, &pool.folder().display().to_string()))
            });
            all.push(
                found.unwrap_or_else(|e| refused(FindingArea::Lanes, &e.to_string(), e.hint())),
            );
        }
        let orphans = cache_folder().map(|cache| orphaned_lanes(&cache)).unwrap_or_default();
        let orphans: Vec<String> = orphans.iter().map(|path| path.display().to_string()).collect();
        all.extend(doctor::orphaned_lanes(&orphans));
        all
    }

    fn disk(&self) -> Vec<DoctorFinding> {
        let root = self.context.project.root().to_owned();
        let free = |place: &Path| match free_space(place) {
            Some(free) => doctor::disk(&place.display().to_string(), free),
            None => {
                let what = format!("nobody knows how much room there is at {}", place.display());
                DoctorFinding::new(
                    FindingArea::Disk,
                    FindingState::Unknown,
                    what,
                    format!("df -h {}", place.display()),
                )
            }
        };
        [root, std::env::temp_dir()].iter().map(|place| free(place)).collect()
    }

    pub(super) fn at_work(&self) -> Option<LockHolder> {
        who_runs(&self.context.project.state_dir())
    }

    /// Return the history of the project. It is empty when the journal cannot be read, which another check
    /// reports.
    pub(super) fn history(&self) -> History {
        self.context.history().unwrap_or_default()
    }

    /// The repository, where there is one.
    pub(super) fn repo<'r>(&self, runner: &'r JobRunner) -> Result<Option<Repo<'r>>, CommandError> {
        match self.context.project.git_dir() {
            Some(_) => self.context.repo(runner).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn plan_path(&self) -> PathBuf {
        let path = self.context.plan_path(&PlanArgs::default());
        path.unwrap_or_else(|_| self.context.project.plan_jsonl())
    }

    /// Create the check that finds leftovers and can remove them.
    pub(super) fn checkup<'c>(
        &'c self,
        repo: &'c Repo<'c>,
        store: &'c LedgerStore,
        plan: &'c Path,
    ) -> CheckupInputs<'c> {
        let clock = self.context.clock();
        CheckupInputs {
            project: &self.context.project,
            store,
            clock,
            runner: &self.runner,
            repo,
            plan,
            retire: retirement(&self.config(), clock.now()),
        }
    }
}

/// The run that a doctor's processes belong to.
fn name() -> String {
    format!("doctor-{}", std::process::id())
}

/// A backend that is installed, or that the settings name.
fn backend(known: &BackendListing, used: bool) -> Option<DoctorFinding> {
    let name = &known.name;
    let version = known.version.as_deref().unwrap_or("of an unknown version");
    match (&known.chosen, &known.program, used) {
        (Err(why), _, true) => Some(DoctorFinding::new(
            FindingArea::Backend,
            FindingState::Problem,
            format!("{name}: {why}"),
            format!("see `[backends.{name}]` in ralph.toml"),
        )),
        (Ok(chosen), Some(_), true) if chosen.kind == BackendKind::Sim => Some(DoctorFinding::ok(
            FindingArea::Backend,
            format!("{name} {version}, in use; needs no log-in"),
        )),
        (Ok(_), Some(_), true) => Some(DoctorFinding::new(
            FindingArea::Backend,
            FindingState::Unknown,
            format!("{name} {version}, in use; whether you are logged in shows when it runs"),
            format!("ralph backends try {name} \"say hello\""),
        )),
        (Ok(chosen), None, true) => Some(DoctorFinding::new(
            FindingArea::Backend,
            FindingState::Problem,
            format!("{name} is not installed: there is no {}", chosen.program),
            format!("install it, or say where it is: `[backends.{name}] program = \"…\"`"),
        )),
        (Ok(chosen), Some(_), false) if chosen.kind != BackendKind::Sim => {
            Some(DoctorFinding::ok(FindingArea::Backend, format!("{name} {version}, not in use")))
        }
        _ => None,
    }
}

fn failed(area: FindingArea, error: CommandError) -> DoctorFinding {
    let (message, hint) = error.into_parts();
    refused(area, &message, hint)
}

fn refused(area: FindingArea, message: &str, hint: Option<String>) -> DoctorFinding {
    let fix = hint.unwrap_or_else(|| "see the message".to_owned());
    DoctorFinding::new(area, FindingState::Problem, message, fix)
}
