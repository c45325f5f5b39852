//! Everything a loop has at hand, and the one place where it writes to its journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ralph_core::choice::{BackendUsageLimit, RequestedBackend};
use ralph_core::config::{Config, StageName, UnprovenPolicy};
use ralph_core::control::LoopActivity;
use ralph_core::cycle::{
    ArrivalTarget, DoneElsewhere, EventKind, History, JOURNAL_FORM, JournalRecord, LoopEvent,
    LoopSignal, Remark, RunBudget, RunCommand, RunStart,
};
use ralph_core::format::PlanFormat;
use ralph_core::gate::{Baselines, Gate};
use ralph_core::plan::{Id, Plan};
use ralph_core::view::TaskTally;
use ralph_core::windows::ContextWindows;

use super::backend_mailbox::{BackendCommands, BackendMailbox};
use super::control::CommandMailbox;
use super::error::DriveError;
use super::listener::LoopListener;
use super::log::{LogSubject, LoopLog, prune_logs};
use super::plan_file::{MissingPlanPolicy, PlanFile, PlanOnDisk};
use super::progress::ProgressLogPosition;
use super::run_lane::{LastRunState, RunLane, RunStartFacts};
use super::run_target::RunTarget;
use super::signals::ReceivedSignals;
use super::views::LoopViewFiles;
use super::windows;
use crate::agent_log::AgentLog;
use crate::choice::{self, BackendChoiceError, ProgramSearchPaths, StageBackends};
use crate::clock::Clock;
use crate::git::{LedgerPaths, Oid, Repo};
use crate::ids::IdSource;
use crate::mailbox::MailboxDirectory;
use crate::proc::JobRunner;
use crate::project::Project;
use crate::redaction::hide_secrets_of;
use crate::store::{Durability, Journal, LedgerStore, RunLock};

/// The variable that tells a program that it runs inside an attempt.
pub const ATTEMPT_VARIABLE: &str = "RALPH_ATTEMPT";

/// The variable that tells it which task it works on.
pub const TASK_VARIABLE: &str = "RALPH_TASK";

/// Project, configuration and other values that a loop starts with.
pub struct RunSetup {
    pub project: Project,
    pub config: Config,
    /// The gates, as they were when the loop began.
    pub gates: Vec<Gate>,
    pub plan: PathBuf,
    pub clock: Clock,
    pub ids: IdSource,
    pub store: LedgerStore,
    pub options: RunOptions,
    pub signals: ReceivedSignals,
    /// The commands that backends may use.
    pub commands: Box<dyn BackendCommands>,
}

/// Options of the command line that are not in the configuration.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Stop after one attempt.
    pub once: bool,
    /// Iterations of the last run count towards the limit.
    pub resume: bool,
    /// Do not wait for a usage limit.
    pub no_wait: bool,
    /// Work on this task only.
    pub task: Option<Id>,
    /// Backend that overrides the configured one.
    pub backend: Option<String>,
    /// Model that overrides the configured one.
    pub model: Option<String>,
    /// The branch on which commits arrive.
    pub branch: Option<String>,
    /// The spec that is worked on, where it is known before.
    pub spec: Option<String>,
}

/// State of a running loop, shared by all its steps.
pub(super) struct RunSession<'a> {
    pub(super) kind: RunCommand,
    pub(super) project: Project,
    pub(super) config: Config,
    pub(super) gates: Vec<Gate>,
    pub(super) plan: PlanFile,
    pub(super) clock: Clock,
    pub(super) ids: IdSource,
    pub(super) options: RunOptions,
    pub(super) signals: ReceivedSignals,
    /// Backends that write the code.
    pub(super) choice: Rc<StageBackends>,
    pub(super) runner: &'a JobRunner,
    pub(super) repo: Repo<'a>,
    /// The lane of attempts, and the tip on which they land.
    pub(super) work: RunLane<'a>,
    pub(super) history: History,
    pub(super) limited: BTreeMap<String, BackendUsageLimit>,
    pub(super) baselines: Baselines,
    /// The commit on whose files the gates were as the baselines say.
    pub(super) gated_base: Option<Oid>,
    pub(super) listener: &'a mut dyn LoopListener,
    pub(super) format: PlanFormat,
    pub(super) current_spec: Option<String>,
    /// Position of the progress log in the history.
    pub(super) logged: ProgressLogPosition,
    /// Context size of each model, as far as it is known.
    pub(super) windows: ContextWindows,
    pub(super) journal: Journal,
    /// Log of `ralph agent`; `None` in other loops.
    pub(super) agent_log: Option<AgentLog>,
    /// Queue of commands from the operator.
    pub(super) mailbox: CommandMailbox,
    pub(super) backend_mailbox: BackendMailbox,
    pub(super) log: LoopLog,
    _lock: RunLock,
}

impl Drop for RunSession<'_> {
    /// No process of this run is left when its lock is given back: the next run would end it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // After an error. What cannot arrive now waits for the next start.
            let _waits = self.arrive_beside();
        }
        self.runner.rest();
    }
}

impl<'a> RunSession<'a> {
    /// Take the lock, read the journal, and make sure that the work can begin.
    pub(super) fn open(
        setup: RunSetup,
        kind: RunCommand,
        runner: &'a JobRunner,
        listener: &'a mut dyn LoopListener,
    ) -> Result<Self, DriveError> {
        let RunSetup {
            project,
            config,
            gates,
            plan,
            clock,
            ids,
            store,
            options,
            signals,
            commands,
        } = setup;
        if let Some(outer) = std::env::var_os(ATTEMPT_VARIABLE).filter(|v| !v.is_empty()) {
            return Err(DriveError::Nested(outer.to_string_lossy().into_owned()));
        }
        let Some(git_dir) = project.git_dir() else {
            return Err(DriveError::NoRepository(project.root().display().to_string()));
        };
        let logs_dir = project.logs_dir();
        let lock = RunLock::acquire(&project.state_dir(), store.holder())?;
        let backend_mailbox = BackendMailbox::new(MailboxDirectory::open(git_dir)?, commands);
        let (journal, history) = Journal::open(&project.state_dir())?;
        let windows = windows::read(&project.state_dir());
        hide_secrets_of(&config);
        runner.keep_of_logs(config.limits.max_log.get());
        let log = LoopLog::of(project.root(), &config);
        for kind in [LogSubject::Stage, LogSubject::Agent] {
            prune_logs(&project.logs_dir(), kind, config.retention.logs.get());
        }
        let missing = if kind == RunCommand::Build {
            MissingPlanPolicy::Error
        } else {
            MissingPlanPolicy::Empty
        };
        let plan = PlanFile::new(&project, &plan, store, missing);
        let spec = plan.read()?.plan.current_spec.clone();
        let ledger = LedgerPaths::with_plan(&plan.shown).and_runtime(config.log_file.as_str());
        let repo = Repo::open(project.root(), git_dir, runner, &ledger)?;
        let last = match history.open {
            Some(_) => LastRunState::Interrupted,
            None => LastRunState::Ended,
        };
        let holder = plan.store().holder().clone();
        let line = history.arrival.as_ref();
        let target = match kind {
            RunCommand::Agent => RunTarget::of_agent(&config, &project, line),
            _ => RunTarget::of(kind, &options, &config, spec.as_deref(), &plan.shown),
        };
        let facts = RunStartFacts { last, plan: &plan.shown, target: &target, line };
        let work = RunLane::open(&project, &repo, &config, &facts, &holder)?;
        let project = project.of_run(&work.ledger.open_run().run);
        let plan = plan.of_run(&project);
        let loaded = plan.read()?;
        let mailbox = CommandMailbox::of(&project, &history);
        let choice = stage_choice(&config, StageName::Build, &options, project.root())?;
        Ok(Self {
            kind,
            limited: BTreeMap::new(),
            baselines: Baselines::new(),
            gated_base: None,
            logged: ProgressLogPosition::of(&history),
            _lock: lock,
            format: loaded.plan.format,
            current_spec: loaded.plan.current_spec.clone(),
            project,
            config,
            gates,
            plan,
            clock,
            ids,
            options,
            signals,
            choice: Rc::new(choice),
            runner,
            repo,
            work,
            history,
            listener,
            windows,
            journal,
            agent_log: (kind == RunCommand::Agent)
                .then(|| AgentLog::create(&logs_dir, &clock.stamp())),
            mailbox,
            backend_mailbox,
            log,
        })
    }

    /// Return the id of this run.
    pub(super) fn run_id(&self) -> &str {
        self.runner.run_id()
    }

    /// Write a record down, and bring the views up to date.
    pub(super) fn record(
        &mut self,
        record: JournalRecord,
        durability: Durability,
    ) -> Result<(), DriveError> {
        // What the plan says is on the disk before the journal builds on it.
        self.plan.wait()?;
        let entry = self.journal.append(self.clock.stamp(), record, durability)?;
        self.history.add(&entry);
        let views = LoopViewFiles::of(&self.project);
        let problems = views.publish(&entry, &self.history, Some(&self.log), self.listener);
        // Warning about a warning would never end.
        if !matches!(entry.record, JournalRecord::Warned(_)) {
            problems.iter().for_each(|problem| self.warn(&problem.to_string()));
        }
        Ok(())
    }

    /// Tell listeners something that no file keeps.
    pub(super) fn tell(&mut self, kind: EventKind<'_>) {
        self.listener.on_event(&LoopEvent { timestamp: &self.clock.stamp(), kind });
    }

    /// The run begins. Runs of the same session have spent so many dollars before.
    pub(super) fn start(&mut self, spent_before: f64) -> Result<(), DriveError> {
        let loaded = self.read_plan()?;
        let (counted, spent) = match self.options.resume {
            true => (self.history.counted, spent_before.max(self.history.cost)),
            false => (0, spent_before),
        };
        self.record(
            JournalRecord::RunStarted(RunStart {
                run: self.run_id().to_owned(),
                command: self.kind,
                plan: self.plan.shown.clone(),
                mode: self.config.mode.as_str().to_owned(),
                counted,
                allow_unproven: self.config.unproven == UnprovenPolicy::Allow,
                spent,
                form: JOURNAL_FORM,
                backend: self.choice.chosen.name.clone(),
                gates: self.gates.iter().map(|gate| gate.name.clone()).collect(),
                tasks: TaskTally::of(&loaded.plan),
                budget: Some(match self.kind {
                    RunCommand::Build => RunBudget::of_build(&self.config),
                    _ => RunBudget::of_construct(&self.config),
                }),
            }),
            Durability::Eventual,
        )?;
        self.start_tip()?;
        if self.kind != RunCommand::Agent && self.work.target() == ArrivalTarget::NamedBranch {
            let branch = self.work.target_name();
            self.log_line(&format!(
                "BRANCH: commits arrive on {branch}; your checkout stays as it is"
            ));
        }
        self.land_specs_on_the_way()?;
        self.arrive()?;
        self.tell_unseen_files()?;
        for done in DoneElsewhere::find(&self.history, &loaded.plan, self.work.target_name()) {
            self.warn(&done.to_sentence());
        }
        if self.gates.is_empty() && self.kind != RunCommand::Plan {
            self.warn(match self.kind {
                RunCommand::Build => {
                    "no gates are configured, so nothing proves the work: set `[[gates]]` in ralph.toml"
                }
                _ => "no gates are configured, so only verifiers look at the work: set `[[gates]]` in ralph.toml",
            });
        }
        if !loaded.plan.unknown_records.is_empty() {
            let kinds: Vec<&str> = loaded.plan.unknown_records.iter().map(String::as_str).collect();
            let (file, kinds) = (&self.plan.shown, kinds.join(", "));
            self.warn(&format!("{file}: records of unknown type are kept and ignored: {kinds}"));
        }
        for (name, why) in &self.choice.clone().left_out {
            self.warn(&format!("the fallback backend {name} is left out: {why}"));
        }
        self.take_commands(LoopActivity::Starting)?;
        self.mailbox.trust_from_now();
        Ok(())
    }

    /// The signal that ends the loop now. An agent goes on to the end of its iteration, unless
    /// somebody insists.
    pub(super) fn stop_signal(&self) -> Option<LoopSignal> {
        let first = self.signals.first();
        first.filter(|_| self.kind != RunCommand::Agent || self.signals.insisted())
    }

    /// Read the plan, and tell when an unfinished line was moved away.
    pub(super) fn read_plan(&mut self) -> Result<PlanOnDisk, DriveError> {
        let loaded = self.plan.read()?;
        if let Some(torn) = &loaded.torn {
            self.warn(&torn.to_string());
        }
        Ok(loaded)
    }

    /// The plan as it was last read or written, for what needs nothing newer.
    pub(super) fn known_plan(&mut self) -> Result<Rc<Plan>, DriveError> {
        match self.plan.known() {
            Some(plan) => Ok(plan),
            None => Ok(self.read_plan()?.plan),
        }
    }

    /// A backend has ended that may have told how much the context of its model holds.
    pub(super) fn remember_windows(&mut self, learned: &ContextWindows) {
        let before = self.windows.clone();
        self.windows.learn(learned);
        if self.windows != before
            && let Err(e) = windows::write(&self.project.state_dir(), &self.windows)
        {
            self.warn(&e.to_string());
        }
    }

    /// A line for the agent's log.
    pub(super) fn log_agent(&mut self, text: &str) {
        let stamp = self.clock.stamp();
        if let Some(log) = &mut self.agent_log {
            log.line(&stamp, text);
        }
    }

    /// Tell something that a person should know.
    pub(super) fn warn(&mut self, text: &str) {
        // A journal that cannot be written stops the loop at the next record that matters.
        let _unwritten =
            self.record(JournalRecord::Warned(Remark::new(text)), Durability::Eventual);
    }

    /// Tell that something which an earlier run left was brought to its end.
    pub(super) fn recovered(&mut self, text: &str) -> Result<(), DriveError> {
        self.record(JournalRecord::Recovered(Remark::new(text)), Durability::Eventual)
    }

    /// A path below the root, as it is written into records.
    pub(super) fn relative(&self, path: &Path) -> String {
        self.project.relative_path(path)
    }
}

/// Choose the backends of a stage from the options and the configuration.
pub(super) fn stage_choice(
    config: &Config,
    stage: StageName,
    options: &RunOptions,
    root: &Path,
) -> Result<StageBackends, BackendChoiceError> {
    let asked =
        RequestedBackend { backend: options.backend.as_deref(), model: options.model.as_deref() };
    let path = std::env::var_os("PATH");
    choice::for_stage(
        config,
        stage,
        asked,
        ProgramSearchPaths { root, cwd: root, path: path.as_deref() },
    )
}
