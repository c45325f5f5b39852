//! Preview of the next step of `ralph build`, without doing any of it.
//!
//! The functions of a real run make the prompt and the request. Nothing is locked, journalled or
//! written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::backend::{SessionStart, system_in_prompt};
use ralph_core::choice::RequestedBackend;
use ralph_core::config::{CommitScope, Config, DirtyPolicy, Dollars, StageName};
use ralph_core::cycle::{
    BuildLimits, BuildProgress, BuildStep, History, LoopEnd, RunCommand, ledger, next_step,
};
use ralph_core::gate::Gate;
use ralph_core::memory::index::MARKDOWN_FILE;
use ralph_core::plan::{DependencyTrust, Id, Plan, Task, obstacles};
use ralph_core::prompt::BudgetedPrompt;
use ralph_core::view::TaskTally;
use serde::Serialize;

use super::attempt::{logged_iterations, max_retries, next_iteration};
use super::error::DriveError;
use super::landing::attempt_subject;
use super::material::PromptSource;
use super::session::RunOptions;
use super::specs::scope_of;
use super::terms::{RequestTerms, run_timeout, variables};
use crate::choice::{self, ChosenBackend, ProgramSearchPaths};
use crate::clock::Clock;
use crate::git::{LedgerPaths, Repo};
use crate::mailbox::MAILBOX_VARIABLE;
use crate::proc::JobRunner;
use crate::project::Project;
use crate::store::read_history;

/// Stands for the private directory of a run, which does not exist yet.
const SCRATCH: &str = "<scratch>";

/// Project, configuration and plan from which a preview is made.
pub struct PreviewInputs<'a> {
    pub project: &'a Project,
    pub config: &'a Config,
    pub gates: &'a [Gate],
    pub plan: &'a Plan,
    /// Text of the plan file.
    pub text: &'a str,
    /// Path of the plan file, relative to the root.
    pub shown: &'a str,
    pub options: &'a RunOptions,
    pub clock: Clock,
}

/// Description of the next step of `ralph build`, and the limits for it.
pub struct BuildPreview {
    /// Number of tasks in each state.
    pub tally: TaskTally,
    pub next: PreviewedStep,
    /// Tasks that cannot run now, and why.
    pub waiting: Vec<(Id, String)>,
    /// An interrupted attempt that is brought to its end first, in words.
    pub recovers: Option<String>,
    pub max_iterations: u32,
    /// Cost limit of the loop in dollars.
    pub max_cost: Option<f64>,
    /// Longest time of one run of the backend.
    pub timeout: Duration,
    /// Longest time without output of the backend.
    pub idle: Duration,
    pub warnings: Vec<String>,
}

/// Next step of the loop: its end or an attempt.
pub enum PreviewedStep {
    /// The loop would end at once.
    End(LoopEnd),
    Attempt {
        /// Number of the attempt.
        iteration: u32,
        task: Box<Task>,
        /// Most attempts that may follow the first one.
        max_retries: u32,
        prompt: Box<BudgetedPrompt>,
        command: Box<BackendCommandLine>,
        /// The message of its commit; `None` when nothing is committed.
        commit: Option<String>,
    },
}

/// Command line that starts a backend.
#[derive(Serialize)]
pub struct BackendCommandLine {
    #[serde(rename = "name")]
    pub backend: String,
    /// Model that is asked for; `None` for the backend's default.
    pub model: Option<String>,
    /// Name or path of the program.
    pub program: String,
    /// Path of the program; `None` when it is not installed.
    pub found: Option<PathBuf>,
    pub args: Vec<String>,
    /// The names of the variables that are set for it.
    pub env: Vec<String>,
    pub stdin: BackendStdin,
    /// Files that are made for it, below `<scratch>`.
    pub files: Vec<String>,
}

/// Data that a backend gets on its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendStdin {
    Nothing,
    Prompt,
    /// The messages of a dialogue; the prompt is in one of them.
    Dialogue,
    /// This text, which is not the prompt alone.
    Text(#[serde(skip)] String),
}

/// Find out the next step of `ralph build`.
pub fn preview(look: &PreviewInputs<'_>, runner: &JobRunner) -> Result<BuildPreview, DriveError> {
    let PreviewInputs { project, config, plan, options, .. } = *look;
    let Some(git_dir) = project.git_dir() else {
        return Err(DriveError::NoRepository(project.root().display().to_string()));
    };
    let history = read_history(&project.state_dir())?;
    let repo = Repo::open(project.root(), git_dir, runner, &LedgerPaths::with_plan(look.shown))?;
    let mut warnings = Vec::new();
    let dirty: Vec<String> = repo.dirty()?.iter().map(ToString::to_string).collect();
    if config.on_dirty == DirtyPolicy::Refuse && !dirty.is_empty() {
        let paths = dirty.join(", ");
        warnings.push(format!("the loop would not start: uncommitted changes in {paths}"));
    }
    let limits = BuildLimits {
        iterations: config.build.max_iterations.get(),
        cost: config.limits.max_cost.map(Dollars::get),
        once: options.once,
    };
    let progress = BuildProgress {
        iterations: if options.resume { history.counted } else { 0 },
        only: options.task.clone(),
        ..BuildProgress::default()
    };
    let next = match next_step(plan, &limits, &progress) {
        BuildStep::End(end) => PreviewedStep::End(end),
        BuildStep::Run(task) => attempt(look, &history, *task, &mut warnings)?,
    };
    if look.gates.is_empty() {
        warnings.push("no gates are configured, so nothing would prove the work".into());
    }
    let waiting = obstacles(plan, DependencyTrust::Verified);
    let own = match &next {
        PreviewedStep::Attempt { task, .. } => task.timeout_ms.map(Duration::from_millis),
        PreviewedStep::End(_) => None,
    };
    Ok(BuildPreview {
        tally: TaskTally::of(plan),
        next,
        waiting: waiting.into_iter().map(|(t, why)| (t.id.clone(), why.to_string())).collect(),
        recovers: history.open.as_ref().map(|open| {
            format!("iteration {} ({}) was interrupted", open.started.iteration, open.started.task)
        }),
        max_iterations: limits.iterations,
        max_cost: limits.cost,
        timeout: own.unwrap_or_else(|| run_timeout(config, RunCommand::Build, StageName::Build)),
        idle: config.limits.idle_timeout.get(),
        warnings,
    })
}

fn attempt(
    look: &PreviewInputs<'_>,
    history: &History,
    task: Task,
    warnings: &mut Vec<String>,
) -> Result<PreviewedStep, DriveError> {
    let (config, root) = (look.config, look.project.root());
    let iteration = next_iteration(history, root, logged_iterations(look.plan.format, look.text))?;
    let now = look.clock.stamp();
    // The prompt is made after the plan says that the task is worked on.
    let text = ledger::begin(look.plan, look.text, &task.id, &now)
        .map_err(|e| DriveError::plan(look.shown, &e.to_string(), "`ralph validate` says more"))?;
    let source = PromptSource {
        root,
        index: look.project.ledger_root(MARKDOWN_FILE),
        config,
        gates: look.gates,
        plan: look.shown,
        history,
    };
    let path = std::env::var_os("PATH");
    let (chosen, place) = choose(look, StageName::Build, path.as_ref())?;
    let made = source.make(&task, look.plan, &text, chosen.driver.supports())?;
    warnings.extend(made.warnings);
    if let Some(wait) = history.wait.as_ref().filter(|wait| wait.backend == chosen.name) {
        warnings.push(format!("{} has met a usage limit: {}", wait.backend, wait.reason));
    }
    let told = (made.prompt.text.as_str(), made.system.as_deref());
    let own = variables("", &task, (MAILBOX_VARIABLE.to_owned(), String::new()));
    let terms = RequestTerms::of(config, root, &task, 0.0)?;
    let terms = terms.with_tools(config, &own)?;
    let command = command_line(&terms, &own, &chosen, place, told);
    if command.found.is_none() {
        warnings.push(format!("the loop would not start: {} is not installed", command.program));
    }
    let prefix = &config.commit_prefix;
    let commit = match (config.auto_commit, scope_of(config, look.plan.format)) {
        (false, _) => None,
        (true, CommitScope::Task) => {
            Some(attempt_subject(prefix, iteration, task.id.as_str(), "<summary>"))
        }
        (true, CommitScope::Spec) => Some(format!("{prefix}: <spec>, when its last task landed")),
    };
    Ok(PreviewedStep::Attempt {
        iteration,
        max_retries: max_retries(&task, config.max_retries),
        task: Box::new(task),
        prompt: Box::new(BudgetedPrompt {
            text: system_in_prompt(told.1, told.0),
            ..made.prompt.clone()
        }),
        command: Box::new(command),
        commit,
    })
}

/// Choose the backend of a stage for a preview.
pub(super) fn choose<'a>(
    look: &PreviewInputs<'a>,
    stage: StageName,
    path: Option<&'a OsString>,
) -> Result<(ChosenBackend, ProgramSearchPaths<'a>), DriveError> {
    let options = look.options;
    let asked =
        RequestedBackend { backend: options.backend.as_deref(), model: options.model.as_deref() };
    let root: &'a Path = look.project.root();
    let place = ProgramSearchPaths { root, cwd: root, path: path.map(OsString::as_os_str) };
    Ok((choice::for_stage(look.config, stage, asked, place)?.chosen, place))
}

/// Return the command line that would start a backend on these terms.
pub(super) fn command_line(
    terms: &RequestTerms,
    own: &[(String, String)],
    chosen: &ChosenBackend,
    place: ProgramSearchPaths<'_>,
    told: (&str, Option<&str>),
) -> BackendCommandLine {
    let mut request = terms.request(chosen, told, SessionStart::New);
    request.scratch = SCRATCH;
    let invocation = chosen.driver.invocation(&request);
    let names = invocation.env.iter().chain(own).map(|(name, _)| name.clone());
    let stdin = match invocation.stdin {
        _ if chosen.driver.reader(&request).wants_input() => BackendStdin::Dialogue,
        text if text.is_empty() => BackendStdin::Nothing,
        text if text == told.0 => BackendStdin::Prompt,
        text => BackendStdin::Text(text),
    };
    BackendCommandLine {
        backend: chosen.name.clone(),
        model: chosen.model.clone(),
        program: chosen.program.clone(),
        found: chosen.found(place),
        args: invocation.args.into_iter().chain(chosen.args.iter().cloned()).collect(),
        env: names.collect(),
        stdin,
        files: invocation.files.into_iter().map(|file| file.path).collect(),
    }
}
