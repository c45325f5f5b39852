//! Next step of the build loop, and its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{
    DependencyTrust, Id, Issue, LookedUpTask, Plan, PlanLookup, Task, TaskState, next_task,
    obstacle, obstacles,
};

use super::attempts::{self, AttemptView};
use super::breaker::{BreakerTrip, CircuitBreaker};
use super::history::History;
use super::run_record::RunCommand;

/// Limits of one build run: its iterations and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuildLimits {
    /// Maximum number of iterations.
    pub iterations: u32,
    /// Maximum cost in dollars. `None` means no limit.
    pub cost: Option<f64>,
    /// Whether the loop ends after one attempt.
    pub once: bool,
}

/// State of a run: its iterations, its cost and reasons to end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildProgress {
    /// Iterations that count towards the limit.
    pub iterations: u32,
    /// Dollars spent so far.
    pub cost: f64,
    /// An attempt was ended because the money was used up, whatever `cost` knows of it.
    pub out_of_money: bool,
    /// Result of the attempt of `--once`. `None` until it has ended.
    pub once: Option<OnceResult>,
    /// Result of the breaker, if it tripped.
    pub tripped: Option<BreakerTrip>,
    /// Signal that asks for the end, if one came.
    pub signal: Option<LoopSignal>,
    /// Somebody asked the loop to stop after this attempt.
    pub stop_asked: bool,
    /// The only task to work on.
    pub only: Option<Id>,
    /// Whose word is enough for a dependency.
    pub trust: DependencyTrust,
}

impl BuildProgress {
    /// Read the progress from the journal. The loop itself sets the rest.
    pub fn of(history: &History) -> Self {
        // Whatever is broken down is dealt with; how often that happens has a limit of its own.
        let split = RunCommand::last(history) != RunCommand::Build;
        let killed = |attempt: &&AttemptView| match &attempt.fate {
            attempts::AttemptState::Failed { failure, .. } => failure.kind.is_kill(),
            _ => false,
        };
        Self {
            iterations: history.counted,
            cost: history.cost,
            out_of_money: history.out_of_money,
            tripped: CircuitBreaker::look(history.of_loop().filter(|a| !(split && killed(a)))),
            ..Self::default()
        }
    }
}

/// Result of the attempt of `--once`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceResult {
    /// The work landed.
    Landed,
    /// The work did not land.
    Failed,
}

/// Signal that asks the loop to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// Next step of the build loop.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildStep {
    /// Work on this task.
    Run(Box<Task>),
    /// End the loop.
    End(LoopEnd),
}

/// Reason why a loop ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", content = "detail", rename_all = "snake_case")]
pub enum LoopEnd {
    /// Every task is accepted or skipped.
    Complete,
    /// The requested work is done, but no gate proves it.
    Unproven {
        /// Ids of the tasks.
        tasks: Vec<String>,
    },
    /// The requested work is done, but commits wait to arrive in home.
    Waiting {
        /// The reason, with the command that brings them.
        why: String,
    },
    /// The one task that was asked for is accepted; others are left.
    TaskComplete(Id),
    /// The remaining work cannot run.
    Blocked {
        /// Reasons in the form `id: why`, one line for each task.
        why: Vec<String>,
    },
    /// Work is done, and no verifier gave a usable verdict about it; one line each.
    NotVerified {
        /// `item: not verified: why (log: file)`.
        why: Vec<String>,
    },
    /// All iterations are used.
    #[serde(rename = "max_iterations_reached")]
    MaxIterations(u32),
    /// The budget is used up.
    #[serde(rename = "max_cost_reached")]
    MaxCost {
        /// Budget in dollars.
        limit: f64,
        /// Dollars spent.
        spent: f64,
    },
    /// The attempt of `--once` landed.
    OnceLanded,
    /// The attempt of `--once` did not land.
    OnceFailed,
    /// A signal ended the loop.
    Interrupted(LoopSignal),
    /// The loop was asked to stop.
    Stopped,
    /// The breaker tripped.
    #[serde(rename = "no_progress")]
    Breaker(BreakerTrip),
    /// A usage limit, and nobody wants to wait.
    UsageLimit {
        /// Message of the backend, with the time of the reset.
        reason: String,
    },
    /// Nothing would go better with the next task.
    #[serde(rename = "backend_unusable")]
    Backend {
        /// Reason why the backend cannot be used.
        reason: String,
        /// Advice for the user.
        advice: Option<String>,
    },
    /// A gate cannot be run, so nothing could be proven.
    #[serde(rename = "gate_unusable")]
    Gate {
        /// Name of the gate, and the reason why it cannot run.
        reason: String,
        /// Advice for the user.
        advice: String,
    },
    /// progress.md says that all is done, and tasks are open.
    FalseDone,
    /// No agent made a plan that can be used.
    NoPlan {
        /// Problem of the last plan.
        why: String,
        /// Log that shows the problem.
        log: Option<String>,
    },
    /// Somebody paused the loop, or a person has to decide.
    Paused {
        /// Reason for the pause.
        reason: String,
    },
}

/// Decide what comes next. The order matters: what is finished is finished, even when a limit was
/// reached by finishing it.
pub fn next_step(plan: &Plan, limits: &BuildLimits, progress: &BuildProgress) -> BuildStep {
    let open = remaining(plan) > 0;
    if !open {
        return BuildStep::End(LoopEnd::Complete);
    }
    if let Some(signal) = progress.signal {
        return BuildStep::End(LoopEnd::Interrupted(signal));
    }
    if let Some(end) = progress.once {
        return BuildStep::End(match end {
            OnceResult::Landed => LoopEnd::OnceLanded,
            OnceResult::Failed => LoopEnd::OnceFailed,
        });
    }
    if progress.stop_asked {
        return BuildStep::End(LoopEnd::Stopped);
    }
    if let Some(tripped) = &progress.tripped {
        return BuildStep::End(LoopEnd::Breaker(tripped.clone()));
    }
    if plan.says_done {
        return BuildStep::End(LoopEnd::FalseDone);
    }
    let task = match &progress.only {
        Some(id) => crate::plan::runnable(plan, progress.trust).into_iter().find(|t| t.id == *id),
        None => next_task(plan, progress.trust),
    };
    let Some(task) = task else { return BuildStep::End(blocked(plan, progress.only.as_ref())) };
    if progress.iterations >= limits.iterations {
        return BuildStep::End(LoopEnd::MaxIterations(limits.iterations));
    }
    let limit = limits.cost.filter(|limit| progress.cost >= *limit || progress.out_of_money);
    // A backend may have a limit of its own: going on would only meet it again.
    if let Some(limit) = limit.or(progress.out_of_money.then_some(progress.cost)) {
        return BuildStep::End(LoopEnd::MaxCost { limit, spent: progress.cost });
    }
    BuildStep::Run(Box::new(task.clone()))
}

fn blocked(plan: &Plan, only: Option<&Id>) -> LoopEnd {
    if let Some(id) = only {
        return blocked_one(plan, id);
    }
    let mut why: Vec<String> = obstacles(plan, DependencyTrust::Verified)
        .into_iter()
        .map(|(task, obstacle)| format!("{}: {obstacle}", task.id))
        .collect();
    let claimed = plan.scoped_tasks().filter_map(|t| Some(format!("{}: {}", t.id, unfinished(t)?)));
    why.extend(claimed);
    why.extend(buried_failures(plan).map(|issue| format!("{}: {}", issue.id, issue.desc)));
    LoopEnd::Blocked { why }
}

/// Why the one task that was asked for does not run.
fn blocked_one(plan: &Plan, id: &Id) -> LoopEnd {
    let lookup = PlanLookup::new(plan);
    let why = match lookup.fate(id) {
        LookedUpTask::Accepted => return LoopEnd::TaskComplete(id.clone()),
        LookedUpTask::Live(task) if task.state == TaskState::Accepted => {
            return LoopEnd::TaskComplete(id.clone());
        }
        LookedUpTask::Failed => "failed".to_owned(),
        LookedUpTask::Skipped => "was skipped".to_owned(),
        LookedUpTask::Unknown => "does not exist".to_owned(),
        LookedUpTask::Live(task) => {
            match (obstacle(task, &lookup, DependencyTrust::Verified), unfinished(task)) {
                (Some(obstacle), _) => obstacle.to_string(),
                (None, Some(why)) => why.to_owned(),
                (None, None) => match &task.spec {
                    Some(spec) if !plan.in_scope(Some(spec)) => {
                        format!("belongs to {spec}, which is not the current spec")
                    }
                    _ => task.state.word().to_owned(),
                },
            }
        }
    };
    LoopEnd::Blocked { why: vec![format!("{id}: {why}")] }
}

/// States that only construct brings to an end.
fn unfinished(task: &Task) -> Option<&'static str> {
    match task.state {
        TaskState::Done => {
            Some("claimed to be done and not verified; `ralph construct` verifies it")
        }
        TaskState::Killed(_) => {
            Some("its run was killed, so it has to be broken down; `ralph construct` does that")
        }
        _ => None,
    }
}

/// Tasks that are neither accepted nor skipped. A buried failure is an open issue instead.
pub fn remaining(plan: &Plan) -> usize {
    let open = plan
        .scoped_tasks()
        .filter(|t| !matches!(t.state, TaskState::Accepted | TaskState::Skipped));
    open.count() + buried_failures(plan).count()
}

/// The issues that tasks left behind which failed and are no longer in the file.
fn buried_failures(plan: &Plan) -> impl Iterator<Item = &Issue> {
    let lookup = plan.format.buries_tasks().then(|| PlanLookup::new(plan));
    plan.scoped_issues().filter(move |issue| {
        let (Some(id), Some(lookup)) = (&issue.created_from, &lookup) else { return false };
        // A task that is back in the file, or that was dealt with since, speaks for itself.
        matches!(lookup.fate(id), LookedUpTask::Failed | LookedUpTask::Unknown)
    })
}

impl LoopEnd {
    /// The same end, or another one where it would be a success that nothing proves.
    pub fn unless_unproven(self, history: &History, plan: &Plan) -> Self {
        let landed = history.unproven(plan);
        match self {
            Self::Complete | Self::TaskComplete(_) | Self::OnceLanded if !landed.is_empty() => {
                let mut tasks: Vec<String> =
                    landed.iter().map(|view| view.started.task.clone()).collect();
                tasks.dedup();
                Self::Unproven { tasks }
            }
            end => end,
        }
    }

    /// The word of the state file.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Unproven { .. } => "unproven",
            Self::Waiting { .. } => "waiting",
            Self::TaskComplete(_) => "task_complete",
            Self::Blocked { .. } => "blocked",
            Self::FalseDone => "false_done",
            Self::Breaker(_) => "no_progress",
            Self::NotVerified { .. } => "not_verified",
            Self::MaxIterations(_) => "max_iterations_reached",
            Self::MaxCost { .. } => "max_cost_reached",
            Self::OnceLanded => "once_landed",
            Self::OnceFailed => "once_failed",
            Self::Stopped => "stopped",
            Self::Gate { .. } => "gate_unusable",
            Self::Interrupted(_) => "interrupted",
            Self::UsageLimit { .. } => "usage_limit",
            Self::Backend { .. } => "backend_unusable",
            Self::NoPlan { .. } => "no_plan",
            Self::Paused { .. } => "paused",
        }
    }

    /// The reason in words, without what remains.
    pub fn reason(&self) -> String {
        match self {
            Self::Complete => "all tasks complete".into(),
            Self::Unproven { tasks } => match tasks.as_slice() {
                [one] => format!("nothing proves the work on {one}"),
                some => format!("nothing proves the work on {} tasks", some.len()),
            },
            Self::Waiting { why } => why.clone(),
            Self::Gate { reason, .. } => reason.clone(),
            Self::TaskComplete(id) => format!("{id} is complete"),
            Self::Blocked { .. } => "no task can run".into(),
            Self::NotVerified { .. } => "not verified: no verifier gave a usable verdict".into(),
            Self::MaxIterations(n) => format!("max iterations ({n}) reached"),
            Self::MaxCost { limit, spent } => {
                format!("max cost (${limit:.2}) reached, ${spent:.2} spent")
            }
            Self::OnceLanded => "one attempt, and it landed".into(),
            Self::OnceFailed => "one attempt, and it failed".into(),
            Self::Interrupted(LoopSignal::Interrupt) => "interrupted".into(),
            Self::Interrupted(LoopSignal::Terminate) => "terminated".into(),
            Self::Stopped => "asked to stop".into(),
            Self::Breaker(tripped) => format!("no progress: {}", tripped.reason),
            Self::UsageLimit { reason } => format!("usage limit: {reason}"),
            Self::Backend { reason, .. } => format!("the backend cannot be used: {reason}"),
            Self::FalseDone => "the plan says RALPH_DONE, and tasks are open".into(),
            Self::NoPlan { why, .. } => format!("there is no usable plan: {why}"),
            Self::Paused { reason } => format!("paused: {reason}"),
        }
    }
}

/// Return the exit code of the program for an end.
pub fn exit_code(end: &LoopEnd) -> u8 {
    match end {
        LoopEnd::Complete | LoopEnd::TaskComplete(_) | LoopEnd::OnceLanded => 0,
        LoopEnd::Backend { .. } | LoopEnd::Gate { .. } => 1,
        LoopEnd::Blocked { .. }
        | LoopEnd::Unproven { .. }
        | LoopEnd::Waiting { .. }
        | LoopEnd::NotVerified { .. }
        | LoopEnd::Breaker(_)
        | LoopEnd::FalseDone
        | LoopEnd::OnceFailed
        | LoopEnd::NoPlan { .. }
        | LoopEnd::Paused { .. } => 3,
        LoopEnd::MaxIterations(_)
        | LoopEnd::MaxCost { .. }
        | LoopEnd::UsageLimit { .. }
        | LoopEnd::Stopped => 4,
        LoopEnd::Interrupted(LoopSignal::Interrupt) => 130,
        LoopEnd::Interrupted(LoopSignal::Terminate) => 143,
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
