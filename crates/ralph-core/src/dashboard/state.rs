//! The first screen: what is it doing, is it healthy, how far is it, what did it cost, what needs me.

use schemars::JsonSchema;
use serde::Serialize;

use super::gates::{GateNow, gate_now};
use super::health::health;
use super::{between, seconds};
use crate::backend::BackendEvent;
use crate::config::Config;
use crate::cost_sum::CostSum;
use crate::cycle::{
    AmendmentRow, AttemptPhase, AttemptSummary, GateProgress, GateTree, History, OpenAttempt,
    RunBudget, RunCommand,
};
use crate::gate::resolve;
use crate::needs::{LoopProcess, Need, NeedSources, needs};
use crate::plan::{self, DependencyTrust};
use crate::view::{TaskTally, stage_word};

/// The stage of a project whose plan or queue cannot be read.
pub const UNREADABLE: &str = "UNREADABLE";

/// Changes of the plan that the first screen lists.
const AMENDMENTS: usize = 20;
/// Attempts that the first screen lists.
const RECENT: usize = 12;

/// Context and cost that the running backend reports in its output stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BackendMeter {
    /// Number of tokens in the context. `None` until the backend reports it.
    pub used: Option<u64>,
    /// Maximum number of tokens of the context. `None` until the backend reports it.
    pub window: Option<u64>,
    /// Dollars so far in this run.
    pub cost: Option<f64>,
}

impl BackendMeter {
    /// Take in an event of the backend.
    pub fn hear(&mut self, event: &BackendEvent) {
        match event {
            BackendEvent::Context(context) => {
                self.used = Some(context.used);
                self.window = context.window.or(self.window);
            }
            BackendEvent::Cost(money) => self.cost = Some(money.0),
            _ => {}
        }
    }
}

/// Everything that the first screen is made of.
#[derive(Clone, Copy, Debug)]
pub struct DashboardSources<'a> {
    /// Current time, RFC 3339.
    pub now: &'a str,
    /// Name of the project.
    pub project: &'a str,
    /// Plan, journal, queue, and who works.
    pub sources: NeedSources<'a>,
    /// Settings of the project.
    pub config: &'a Config,
    /// Context and cost of the running backend.
    pub meter: BackendMeter,
}

/// First screen of the dashboard.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DashboardState {
    /// Time of this snapshot, RFC 3339.
    pub now: String,
    /// Name of the project.
    pub project: String,
    /// State of the loop.
    #[serde(rename = "loop")]
    pub run: LoopNow,
    /// Attempt that runs now.
    pub attempt: Option<AttemptNow>,
    /// Context of the running backend, once the backend has reported it.
    pub context: Option<ContextNow>,
    /// Cost of the current run and of all runs.
    pub cost: CostNow,
    /// Number of tasks in each state.
    pub tasks: TaskTally,
    /// Number of all tasks.
    pub tasks_total: usize,
    /// Health of the loop.
    pub health: LoopHealth,
    /// Things that a person has to do, most urgent first.
    pub needs: Vec<Need>,
    /// Ids of the next tasks, at most 5.
    pub next: Vec<String>,
    /// Newest attempts, newest first.
    pub recent: Vec<AttemptSummary>,
    /// Changes of the plan by agents since the last run that ended complete, newest first.
    pub amendments: Vec<AmendmentRow>,
    /// Notes of the operator that wait for the next prompt.
    pub notes: Vec<String>,
}

impl DashboardState {
    /// Clear what changes although nothing happens but that time goes by.
    pub fn clear_clocks(&mut self) {
        self.now.clear();
        (self.run.elapsed_s, self.run.wait_s) = (None, None);
        if let Some(attempt) = &mut self.attempt {
            attempt.elapsed_s = 0;
            attempt.gates.iter_mut().for_each(|gate| gate.elapsed_s = None);
        }
    }
}

/// Status of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopStatus {
    /// A loop works.
    Running,
    /// The operator paused the loop.
    Paused,
    /// The loop waits for a usage limit.
    Waiting,
    /// No loop runs. The last one recorded its end.
    Ended,
    /// No loop runs. The last one did not record its end.
    Crashed,
    /// No loop has run in this project yet.
    Never,
}

/// State of the running loop, or of the last one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LoopNow {
    /// Status of the loop as one word.
    pub status: LoopStatus,
    /// Status of the loop as a sentence.
    pub words: String,
    /// build, construct or agent.
    pub command: Option<RunCommand>,
    /// Id of the run.
    pub run: Option<String>,
    /// Memory mode of the run.
    pub mode: Option<String>,
    /// Path of the plan file.
    pub plan: String,
    /// Process id of the loop. Absent if no loop runs.
    pub pid: Option<u32>,
    /// Start of the run, RFC 3339.
    pub started_at: Option<String>,
    /// Seconds since then, while it goes on.
    pub elapsed_s: Option<u64>,
    /// Result of the run, as in the journal record `orchestrator_end`.
    pub end: Option<String>,
    /// The stage under way, or the one that follows from the plan; `NO TASKS` and `UNREADABLE` say
    /// that none does.
    pub stage: &'static str,
    /// Spec that the plan works on now.
    pub spec: Option<String>,
    /// Iterations of this run that count.
    pub iteration: u32,
    /// Maximum number of iterations of a run.
    pub iteration_limit: u32,
    /// The operator wants it to end after what runs now.
    pub stopping: bool,
    /// Until when it waits, RFC 3339.
    pub wait_until: Option<String>,
    /// Seconds until `wait_until`.
    pub wait_s: Option<u64>,
}

/// Attempt that runs now.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AttemptNow {
    /// Fields that every attempt has.
    #[serde(flatten)]
    pub summary: AttemptSummary,
    /// Phase of the attempt: backend, gates, landing or rolling back.
    pub phase: AttemptPhase,
    /// Seconds since the start of the attempt.
    pub elapsed_s: u64,
    /// Most seconds of a backend's run.
    pub timeout_s: u64,
    /// The gates that will decide, with where they are and what they said last.
    pub gates: Vec<GateNow>,
}

/// The context of the backend under way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ContextNow {
    /// Number of tokens in the context.
    pub used: u64,
    /// Tokens that fit, once that is known.
    pub window: Option<u64>,
    /// Share that is worth a warning.
    pub warn: f64,
    /// Share at which it is compacted.
    pub compact: f64,
    /// Share at which the run is stopped.
    pub kill: f64,
}

/// Cost of the current run and of all runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CostNow {
    /// This run, the attempt under way included.
    pub run: CostSum,
    /// Dollars of the attempt under way.
    pub attempt_usd: Option<f64>,
    /// Cost of all runs.
    pub total: CostSum,
    /// Maximum cost of a run in dollars. No limit if absent.
    pub limit_usd: Option<f64>,
}

impl CostNow {
    fn of(history: &History, attempt_usd: Option<f64>, limit_usd: Option<f64>) -> Self {
        let (mut run, mut total) = (CostSum::of_last_run(history), CostSum::of_all_runs(history));
        run.usd += attempt_usd.unwrap_or(0.0);
        total.usd += attempt_usd.unwrap_or(0.0);
        Self { run, attempt_usd, total, limit_usd }
    }
}

/// Health of the loop, with reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoopHealth {
    /// Health as one word.
    pub word: HealthWord,
    /// Reasons, one sentence each.
    pub why: Vec<String>,
}

/// Health of the loop as one word, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthWord {
    /// The loop works, and nothing is wrong.
    Healthy,
    /// Nothing runs, and nothing is wrong.
    Idle,
    /// The loop can continue, but a person should look at it.
    Attention,
    /// The loop does not continue without a person.
    Stopped,
}

/// Build the first screen of the dashboard.
pub fn state(facts: &DashboardSources<'_>) -> DashboardState {
    let history = facts.sources.history;
    let run = loop_now(facts);
    let needs = needs(&NeedSources { plan_file: &run.plan, ..facts.sources });
    let health = health(facts, &run, &needs);
    // An attempt that a killed loop left open is over: the next start brings it to its end.
    let open = history.open.as_ref().filter(|_| run.pid.is_some());
    let attempt_usd = open.and_then(|open| match &open.ended {
        Some(_) => None,
        None => facts.meter.cost,
    });
    let tasks = TaskTally::of(facts.sources.plan);
    DashboardState {
        now: facts.now.to_owned(),
        project: facts.project.to_owned(),
        attempt: open.and_then(|open| attempt_now(facts, open)),
        context: facts.meter.used.filter(|_| open.is_some()).map(|used| ContextNow {
            used,
            window: facts.meter.window,
            warn: facts.config.limits.context_warn.get(),
            compact: facts.config.limits.context_compact.get(),
            kill: facts.config.limits.context_kill.get(),
        }),
        cost: CostNow::of(history, attempt_usd, budget(facts).max_cost),
        tasks,
        tasks_total: tasks.total(),
        next: plan::runnable(facts.sources.plan, DependencyTrust::Claimed)
            .iter()
            .filter(|t| open.is_none_or(|o| o.started.task != t.id.as_str()))
            .take(5)
            .map(|t| t.id.to_string())
            .collect(),
        recent: history
            .attempts
            .iter()
            .rev()
            .take(RECENT)
            .map(|view| view.summary(facts.sources.running))
            .collect(),
        amendments: history.open_amendments().rev().take(AMENDMENTS).collect(),
        notes: history.notes.clone(),
        run,
        health,
        needs,
    }
}

/// Return the limits of the last run: those that it recorded, otherwise the configured ones.
pub(super) fn budget(facts: &DashboardSources<'_>) -> RunBudget {
    let run = facts.sources.history.run.as_ref();
    if let Some(budget) = run.and_then(|run| run.budget) {
        return budget;
    }
    let config = facts.config;
    match RunCommand::last(facts.sources.history) {
        RunCommand::Build => RunBudget::of_build(config),
        _ => RunBudget::of_construct(config),
    }
}

fn loop_now(facts: &DashboardSources<'_>) -> LoopNow {
    let history = facts.sources.history;
    let run = history.run.as_ref();
    let pid = match facts.sources.running {
        LoopProcess::Pid(pid) => Some(*pid),
        LoopProcess::Nobody => None,
    };
    let wait = history.wait.as_ref();
    let wait_s = wait.and_then(|w| u64::try_from(w.until - seconds(facts.now)?).ok());
    let command = RunCommand::last(history);
    let (status, words) = match (run, pid, &history.run_end) {
        (None, ..) => (LoopStatus::Never, "No loop has run here yet.".to_owned()),
        (Some(_), None, None) => (LoopStatus::Crashed, crashed(command)),
        (Some(_), None, Some(end)) => {
            (LoopStatus::Ended, format!("ralph {command} ended: {}.", plain(end.end.word())))
        }
        (Some(_), Some(_), _) if history.paused => (LoopStatus::Paused, paused(facts)),
        (Some(_), Some(_), _) if wait_s.is_some() => {
            let reason = wait.map_or("", |wait| wait.reason.as_str());
            (LoopStatus::Waiting, format!("Waiting for a usage limit: {reason}"))
        }
        (Some(_), Some(_), _) => (LoopStatus::Running, doing(facts)),
    };
    let construct = &history.construct;
    let staged = construct.open.as_ref().filter(|_| command != RunCommand::Build && pid.is_some());
    let iteration = match command {
        RunCommand::Construct | RunCommand::Agent => construct.counted,
        _ => history.counted,
    };
    LoopNow {
        status,
        words,
        command: run.map(|run| run.command),
        run: run.map(|run| run.run.clone()),
        mode: run.map(|run| run.mode.clone()),
        plan: run.map_or_else(|| facts.sources.plan_file.to_owned(), |run| run.plan.clone()),
        pid,
        started_at: history.run_at.clone(),
        elapsed_s: history
            .run_at
            .as_deref()
            .filter(|_| pid.is_some())
            .and_then(|at| between(at, facts.now)),
        end: history.run_end.as_ref().map(|run| run.end.word().to_owned()),
        stage: match (staged, facts.sources.damage) {
            (_, [_, ..]) => UNREADABLE,
            (Some(staged), _) => staged.stage.as_str(),
            (None, _) => stage_word(facts.sources.plan),
        },
        spec: facts.sources.plan.current_spec.clone(),
        iteration,
        iteration_limit: budget(facts).max_iterations,
        stopping: history.stopping && pid.is_some(),
        wait_until: wait
            .and_then(|w| jiff::Timestamp::from_second(w.until).ok())
            .map(|at| at.to_string()),
        wait_s,
    }
}

/// A pause waits for the end of what runs.
fn paused(facts: &DashboardSources<'_>) -> String {
    match facts.sources.history.open.is_some() || facts.sources.history.consulting.is_some() {
        true => format!("{}, then it pauses.", doing(facts).trim_end_matches('.')),
        false => "Paused by the operator.".to_owned(),
    }
}

fn crashed(command: RunCommand) -> String {
    format!("ralph {command} is gone without having said how it ended.")
}

fn plain(end: &str) -> String {
    end.replace('_', " ")
}

fn doing(facts: &DashboardSources<'_>) -> String {
    let history = facts.sources.history;
    match (&history.open, &history.consulting) {
        (Some(open), _) => {
            let started = &open.started;
            let what = match open.phase() {
                AttemptPhase::Gates => "Gates decide about",
                AttemptPhase::Landing => "Landing",
                AttemptPhase::RollingBack => "Rolling back",
                AttemptPhase::Backend => {
                    return format!("{} works on {}.", started.backend, started.task);
                }
            };
            format!("{what} {}.", started.task)
        }
        (None, Some(consulting)) => format!("Asking agents: {}.", consulting.role),
        (None, None) => match history.gates.last() {
            Some(GateProgress { start, passed: None, .. })
                if start.on == GateTree::Base && history.attempt(&start.attempt).is_none() =>
            {
                format!("Gate {} checks what the next attempt starts from.", start.gate)
            }
            _ => "Between two attempts.".to_owned(),
        },
    }
}

fn attempt_now(facts: &DashboardSources<'_>, open: &OpenAttempt) -> Option<AttemptNow> {
    let history = facts.sources.history;
    let view = history.attempt(&open.started.attempt)?;
    let task = facts.sources.plan.tasks.iter().find(|t| t.id.as_str() == open.started.task);
    let mut summary = view.summary(facts.sources.running);
    // What is set when the attempt ends decides.
    summary.started.max_retries =
        task.and_then(|t| t.max_retries).unwrap_or(facts.config.max_retries);
    Some(AttemptNow {
        summary,
        phase: open.phase(),
        elapsed_s: between(&view.at, facts.now).unwrap_or(0),
        timeout_s: budget(facts).timeout_s,
        gates: resolve(facts.config, facts.sources.plan)
            .into_iter()
            .map(|gate| gate_now(facts, open, gate))
            .collect(),
    })
}
