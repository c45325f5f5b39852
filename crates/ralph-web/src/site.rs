//! What every request shares: the project, the feed, and what was read of files that did not change.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ralph_core::config::Config;
use ralph_core::dashboard::redact::Redactor;
use ralph_core::dashboard::{Meter, Running};
use ralph_core::format::Format;
use ralph_core::inbox::{Entry, Inbox};
use ralph_core::plan::Plan;
use ralph_host::choice::{self, Place};
use ralph_host::clock::Clock;
use ralph_host::config_load::{ProjectText, Sources};
use ralph_host::ids::Ids;
use ralph_host::plan_file::{PlanFileError, plan_file};
use ralph_host::plan_store::{self, PlanError};
use ralph_host::project::Project;
use ralph_host::store::{self, Store};

use crate::error::Refusal;
use crate::feed::Feed;
use crate::stream::{LogOwner, LogStream};

/// Logs that are kept read.
const LOGS: usize = 4;

/// Everything that requests share.
pub(crate) struct Site {
    pub(crate) project: Project,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) feed: Feed,
    pub(crate) redactor: Redactor,
    plan_flag: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    ids: Mutex<Ids>,
    plan: Mutex<Option<(Stamp, Arc<PlanRead>)>>,
    logs: Mutex<VecDeque<LogStream>>,
}

/// A plan that was read.
pub(crate) struct PlanRead {
    /// As people call it.
    pub(crate) file: String,
    pub(crate) plan: Plan,
    /// Why it could not be read; the plan is empty then.
    pub(crate) problem: Option<String>,
}

impl PlanRead {
    fn damaged(file: String, problem: String) -> Self {
        Self { file, plan: Plan::empty(Format::Jsonl), problem: Some(problem) }
    }
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Vec<Option<(SystemTime, u64)>>);

impl Stamp {
    fn of<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Self {
        let look = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.modified().ok()?, meta.len()))
        };
        Self(paths.into_iter().map(look).collect())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Site {
    pub(crate) fn new(
        project: Project,
        store: Store,
        clock: Clock,
        ids: Ids,
        plan_flag: Option<PathBuf>,
        env: Vec<(OsString, OsString)>,
    ) -> Self {
        let patterns = Sources::read(project.root(), ProjectText::OnDisk, env.clone(), &[])
            .and_then(|sources| sources.without_plan())
            .map(|resolved| resolved.config.redact)
            .unwrap_or_default();
        let redactor = Redactor::new(&patterns);
        Self {
            feed: Feed::new(&project.state_dir(), redactor.clone()),
            project,
            store,
            clock,
            redactor,
            plan_flag,
            env,
            ids: Mutex::new(ids),
            plan: Mutex::new(None),
            logs: Mutex::new(VecDeque::new()),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.project.root()
    }

    /// The project's name.
    pub(crate) fn name(&self) -> String {
        self.root().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The layers of the configuration, with what `ralph.toml` says or would say.
    pub(crate) fn sources(&self, text: ProjectText<'_>) -> Result<Sources, Refusal> {
        Sources::read(self.root(), text, self.env.clone(), &[])
            .map_err(|e| Refusal::broken(&self.project, e))
    }

    /// The configuration; the defaults when it cannot be read, which the settings pane tells.
    pub(crate) fn config(&self) -> Config {
        let sources = self.sources(ProjectText::OnDisk).ok();
        let resolved = sources.and_then(|sources| sources.without_plan().ok());
        resolved.map(|resolved| resolved.config).unwrap_or_default()
    }

    /// An id that sorts by time.
    pub(crate) fn ulid(&self) -> String {
        locked(&self.ids).ulid(self.clock.now())
    }

    /// A short random word.
    pub(crate) fn word(&self) -> String {
        locked(&self.ids).word(4)
    }

    /// The plan file; a directory that is no project yet has the native one.
    fn plan_path(&self) -> Result<PathBuf, PlanFileError> {
        let configured = self.config().plan.map(PathBuf::from);
        match plan_file(&self.project, self.plan_flag.as_deref(), configured.as_deref()) {
            Err(PlanFileError::NotAProject { .. }) => Ok(self.project.plan_jsonl()),
            found => found,
        }
    }

    /// The plan as it is now.
    pub(crate) fn plan(&self) -> Arc<PlanRead> {
        let path = match self.plan_path() {
            Ok(path) => path,
            Err(e) => return Arc::new(PlanRead::damaged(String::new(), e.to_string())),
        };
        let stamp = Stamp::of([path.as_path()]);
        let mut kept = locked(&self.plan);
        if let Some((then, plan)) = &*kept
            && *then == stamp
        {
            return Arc::clone(plan);
        }
        let read = Arc::new(self.read_plan(&path));
        *kept = Some((stamp, Arc::clone(&read)));
        read
    }

    fn read_plan(&self, path: &Path) -> PlanRead {
        let file = self.relative(path);
        let parse = |text: Option<String>| match text {
            Some(text) => plan_store::parse(path, &file, &text),
            None => Ok(Plan::empty(Format::Jsonl)),
        };
        match plan_store::peek(path, &file).and_then(parse) {
            Ok(plan) => PlanRead { file, plan, problem: None },
            Err(e) => PlanRead::damaged(file, e.to_string()),
        }
    }

    /// A path as people should see it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).unwrap_or(path).display().to_string()
    }

    /// The queue's text and entries; why not, otherwise.
    pub(crate) fn inbox(&self) -> Result<Vec<Entry>, String> {
        let (path, file) = (self.project.inbox(), "ralph/inbox.jsonl");
        let text = plan_store::peek(&path, file).map_err(|e| e.to_string())?.unwrap_or_default();
        let inbox = Inbox::parse(&text).map_err(|e| PlanError::damaged(file, &e).to_string())?;
        Ok(inbox.entries().to_vec())
    }

    /// Who works.
    pub(crate) fn running(&self) -> Running {
        let holder = store::who_runs(&self.project.state_dir());
        holder.map_or(Running::Nobody, |holder| Running::Pid(holder.pid))
    }

    /// What else a page shows changes when one of these does.
    pub(crate) fn around(&self) -> (Stamp, Running) {
        let root = self.root();
        let plan = self.plan_path().unwrap_or_else(|_| self.project.plan_jsonl());
        let files = [
            plan,
            self.project.inbox(),
            self.project.ralph_toml(),
            self.project.specs_dir(),
            root.join(".ralph/knowledge-index.md"),
            root.join(".ralph/control/commands.json"),
        ];
        (Stamp::of(files.iter().map(PathBuf::as_path)), self.running())
    }

    /// Look at the log of an attempt or an agent and use it.
    pub(crate) fn with_log<T>(
        &self,
        of: &LogOwner,
        use_it: impl FnOnce(&LogStream) -> T,
    ) -> Option<T> {
        let path = self.inside(of.log.as_deref()?)?;
        let mut logs = locked(&self.logs);
        let at = logs.iter().position(|log| log.owner == of.id);
        let mut log = match at.and_then(|at| logs.remove(at)) {
            Some(log) => log,
            None => {
                let search = std::env::var_os("PATH");
                let place = Place { root: self.root(), cwd: self.root(), path: search.as_deref() };
                let chosen = choice::named(&self.config(), &of.backend, place).ok();
                let driver = chosen.as_ref().map(|chosen| chosen.driver.as_ref());
                LogStream::new(&of.id, path, self.root(), driver)
            }
        };
        log.look(&self.redactor);
        let value = use_it(&log);
        logs.push_front(log);
        logs.truncate(LOGS);
        Some(value)
    }

    /// The meter of the attempt under way.
    pub(crate) fn meter(&self, of: Option<&LogOwner>) -> Meter {
        of.and_then(|of| self.with_log(of, |log| log.meter)).unwrap_or_default()
    }

    /// How many items a log has.
    pub(crate) fn log_length(&self, of: &LogOwner) -> usize {
        self.with_log(of, |log| log.items.len() + log.left_out).unwrap_or(0)
    }

    /// A path that the journal names, if it stays inside of the project.
    pub(crate) fn inside(&self, relative: &str) -> Option<PathBuf> {
        use std::path::Component;
        let path = Path::new(relative);
        let tame = path.components().all(|part| matches!(part, Component::Normal(_)));
        let whole = self.root().join(path);
        // A link could lead elsewhere.
        let real = whole.canonicalize().ok()?;
        let root = self.root().canonicalize().ok()?;
        (tame && real.starts_with(root)).then_some(whole)
    }
}
