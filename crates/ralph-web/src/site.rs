//! Data that all requests share: the project, the feed, and contents of files that did not change.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ralph_core::config::Config;
use ralph_core::dashboard::redact::Redactor;
use ralph_core::dashboard::{BackendMeter, LoopProcess};
use ralph_core::gate::GateVerdict;
use ralph_core::inbox::InboxEntry;
use ralph_host::choice::{self, ProgramSearchPaths};
use ralph_host::clock::Clock;
use ralph_host::config_load::{ConfigSources, ProjectConfigText};
use ralph_host::ids::IdSource;
use ralph_host::project::Project;
use ralph_host::project_reader::{FileStamp, ProjectReader, ProjectSnapshot};
use ralph_host::store::LedgerStore;

use crate::error::HttpRefusal;
use crate::feed::JournalFeed;
use crate::stream::{LogOwner, LogStream};

/// Number of logs that are kept in memory, read and parsed.
const LOGS: usize = 4;

/// Project, feed and caches that all requests share.
pub(crate) struct ServerContext {
    pub(crate) project: Project,
    pub(crate) store: LedgerStore,
    pub(crate) clock: Clock,
    pub(crate) feed: JournalFeed,
    pub(crate) redactor: Redactor,
    reader: ProjectReader,
    plan_flag: Option<PathBuf>,
    ids: Mutex<IdSource>,
    logs: Mutex<VecDeque<LogStream>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServerContext {
    pub(crate) fn new(
        project: Project,
        store: LedgerStore,
        clock: Clock,
        ids: IdSource,
        plan_flag: Option<PathBuf>,
        env: Vec<(OsString, OsString)>,
    ) -> Self {
        let reader = ProjectReader::new(project.clone(), project.root().to_owned(), env);
        let patterns = reader
            .sources(ProjectConfigText::OnDisk)
            .and_then(|sources| sources.without_plan())
            .map(|resolved| resolved.config.redact)
            .unwrap_or_default();
        let redactor = Redactor::new(&patterns);
        Self {
            feed: JournalFeed::new(&project.state_dir(), redactor.clone()),
            project,
            store,
            clock,
            redactor,
            reader,
            plan_flag,
            ids: Mutex::new(ids),
            logs: Mutex::new(VecDeque::new()),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.project.root()
    }

    /// The layers of the configuration, with what `ralph.toml` says or would say.
    pub(crate) fn sources(
        &self,
        text: ProjectConfigText<'_>,
    ) -> Result<ConfigSources, HttpRefusal> {
        self.reader.sources(text).map_err(|e| HttpRefusal::broken(&self.project, e))
    }

    /// The configuration; the defaults when it cannot be read, which the settings pane tells.
    fn config(&self) -> Config {
        let sources = self.sources(ProjectConfigText::OnDisk).ok();
        let resolved = sources.and_then(|sources| sources.without_plan().ok());
        resolved.map(|resolved| resolved.config).unwrap_or_default()
    }

    /// The project as it is now, but for the journal.
    pub(crate) fn snapshot(&self) -> ProjectSnapshot {
        self.reader.snapshot_with_damage(self.plan_flag.as_deref())
    }

    /// An id that sorts by time.
    pub(crate) fn ulid(&self) -> String {
        locked(&self.ids).ulid(self.clock.now())
    }

    pub(crate) fn word(&self) -> String {
        locked(&self.ids).word(4)
    }

    pub(crate) fn inbox(&self) -> Result<Vec<InboxEntry>, HttpRefusal> {
        self.reader.inbox().map_err(|e| HttpRefusal::broken(&self.project, e))
    }

    /// A path as people should see it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        self.reader.show(path)
    }

    /// The verdict on an attempt, with the excerpts of its gates.
    pub(crate) fn verdict(&self, attempt: &str) -> Result<Option<GateVerdict>, HttpRefusal> {
        self.reader.verdict(attempt).map_err(|e| HttpRefusal::broken(&self.project, e))
    }

    pub(crate) fn running(&self) -> LoopProcess {
        self.reader.running()
    }

    /// Return the stamps of the other files that a page shows, and whether a loop runs. A change of one of
    /// them changes the page.
    pub(crate) fn around(&self) -> (Vec<FileStamp>, LoopProcess) {
        let plan = self.reader.plan_path(self.plan_flag.as_deref());
        let files = [
            plan.unwrap_or_else(|_| self.project.plan_jsonl()),
            self.project.inbox(),
            self.project.ralph_toml(),
            self.project.specs_dir(),
            self.project.ledger_file(".ralph/knowledge-index.md"),
            self.project.commands_json(),
        ];
        (files.iter().map(|path| FileStamp::of(path)).collect(), self.running())
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
                let place = ProgramSearchPaths {
                    root: self.root(),
                    cwd: self.root(),
                    path: search.as_deref(),
                };
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
    pub(crate) fn meter(&self, of: Option<&LogOwner>) -> BackendMeter {
        of.and_then(|of| self.with_log(of, |log| log.meter)).unwrap_or_default()
    }

    /// Return the number of items in a log; 0 when there is no log.
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
