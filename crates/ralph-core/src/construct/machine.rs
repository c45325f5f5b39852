//! Next step of a construct, and its end.
//!
//! # Theory of operation
//!
//! ```text
//! PLAN (nothing there yet)
//! iteration: INVESTIGATE → BUILD → VERIFY, each only when it has something to do
//! killed work: DECOMPOSE, then the next iteration at once
//! ```
//!
//! Inside an iteration the stages only go forward, DECOMPOSE takes each item once, and the number
//! of iterations is limited. So every construct ends, whatever the agents answer. The stage comes
//! from the plan ([`crate::plan::next`]). The journal says only how far the iteration has come.
//! Work that a stage leaves to an earlier one waits for the next iteration.
//!
//! A construct is complete when nothing is left and the spec has its accept record. If the last
//! VERIFY did not give one, an older record does not count.

mod breaker;

use crate::cycle::{
    BreakerTrip, ConstructIteration, History, LoopEnd, StageKind, UnverifiedItem, exit_code,
};
use crate::plan::{
    DependencyTrust, Id, Plan, Stage, StageItem, TaskState, obstacles, runnable, stage,
};
use crate::text::clip;

/// Limits of one construct: its iterations and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstructLimits {
    /// Maximum number of iterations.
    pub iterations: u32,
    /// Maximum cost in dollars. `None` means no limit.
    pub cost: Option<f64>,
}

/// State of a construct: its iteration, the results so far, and reasons to end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConstructProgress {
    /// The number of the current iteration; 0 before the first.
    pub iteration: u32,
    /// Iterations that count towards the limit.
    pub counted: u32,
    /// The iteration of that number is under way.
    pub under_way: bool,
    /// The last stage that ended in it.
    pub last: Option<StageKind>,
    /// PLAN has run, or there was work without it.
    pub planned: bool,
    /// The last VERIFY of this run, and whether it accepted the spec.
    pub accepted: Option<bool>,
    /// Items that DECOMPOSE has had in this iteration.
    pub decomposed: Vec<Id>,
    /// Items that this run could not verify. The run does not ask about them again.
    pub unverified: Vec<UnverifiedItem>,
    /// Issues that this run got no usable answer about: it does not ask about them again.
    pub uninvestigated: Vec<Id>,
    /// Dollars spent so far.
    pub cost: f64,
    /// A run was ended because the money was used up, whatever `cost` knows of it.
    pub out_of_money: bool,
    /// The breaker's word about the iterations that are over.
    pub tripped: Option<BreakerTrip>,
    /// Result of the breaker if the current iteration has nothing more to do.
    pub tripped_after: Option<BreakerTrip>,
    /// Something else wants the end: a signal, a usage limit, a backend that cannot be used, a
    /// person, or the way in which the build loop ended.
    pub halt: Option<LoopEnd>,
}

impl ConstructProgress {
    /// Read the progress from the journal. The loop itself sets `halt`.
    pub fn of(history: &History) -> Self {
        let staged = &history.construct;
        let ended = || staged.laps.iter().flat_map(|lap| &lap.stages);
        let verify = ended().rfind(|stage| stage.stage == StageKind::Verify);
        Self {
            iteration: staged.iteration,
            counted: staged.counted,
            under_way: staged.under_way,
            last: staged.last_stage().map(|stage| stage.stage),
            planned: ended().any(|stage| {
                matches!(stage.stage, StageKind::Plan | StageKind::Build | StageKind::Verify)
            }),
            accepted: verify.map(|stage| stage.came.spec_accepted),
            decomposed: staged.decomposed.clone(),
            unverified: staged.unverified.clone(),
            uninvestigated: staged.uninvestigated.clone(),
            cost: history.cost,
            out_of_money: history.out_of_money,
            tripped: breaker::look(closed(&staged.laps)),
            tripped_after: breaker::look(&staged.laps),
            halt: None,
        }
    }
}

/// The iterations that are over: a stage that goes on, or DECOMPOSE, ends each.
fn closed(laps: &[ConstructIteration]) -> &[ConstructIteration] {
    let over = |lap: &ConstructIteration| {
        let last = lap.stages.last().map(|stage| stage.stage);
        matches!(last, Some(StageKind::Verify | StageKind::Decompose))
    };
    match laps.split_last() {
        Some((last, before)) if !over(last) => before,
        _ => laps,
    }
}

/// Next step of a construct.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstructStep {
    /// Make a plan of the spec.
    Plan,
    Investigate(Vec<Id>),
    /// Work on tasks until none can run.
    Build,
    /// Verify these tasks, and the spec as a whole. Without tasks it is the spec alone.
    Verify(Vec<Id>),
    /// Break this task or issue down.
    Decompose(Id),
    End(ConstructEnd),
}

/// A step and the iteration that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstructMove {
    /// The number of the iteration; a new one begins when it is higher than before.
    pub iteration: u32,
    pub step: ConstructStep,
}

/// End of a construct, with the work that is left.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstructEnd {
    pub end: LoopEnd,
    /// Work that is left, with the reasons, one line each.
    pub left: Vec<String>,
}

impl ConstructEnd {
    /// The word of the state file.
    pub fn word(&self) -> &'static str {
        self.end.word()
    }

    /// The reason in words, without what is left.
    pub fn reason(&self) -> String {
        match &self.end {
            LoopEnd::Complete => "the spec is satisfied".to_owned(),
            LoopEnd::Blocked { .. } => "no work can go on".to_owned(),
            end => end.reason(),
        }
    }

    /// Return the exit code of the program for this end.
    pub fn exit_code(&self) -> u8 {
        exit_code(&self.end)
    }
}

/// Whether the spec in scope has no record of its own yet. A task that left the plan without a spec says
/// nothing: it may have been done before this spec was the current one.
pub fn needs_plan(plan: &Plan, spec: &str) -> bool {
    let mine = |own: Option<&str>| match own {
        Some(own) => own == spec,
        None => plan.current_spec.as_deref().is_none_or(|current| current == spec),
    };
    !plan.tasks.iter().any(|task| mine(task.spec.as_deref()))
        && !plan.issues.iter().any(|issue| mine(issue.spec.as_deref()))
        && !plan.tombstones.iter().any(|stone| stone.spec.as_deref() == Some(spec))
        && !plan.accepted_specs.iter().any(|accepted| accepted.spec == spec)
}

/// Decide what comes next. The order matters: what is finished is finished, even when a limit was
/// reached by finishing it.
pub fn next(
    plan: &Plan,
    spec: &str,
    limits: &ConstructLimits,
    progress: &ConstructProgress,
) -> ConstructMove {
    let here = progress.iteration;
    let unverified = &progress.unverified;
    let end = |end: LoopEnd| ConstructMove {
        iteration: here,
        step: ConstructStep::End(ended(plan, end, unverified)),
    };
    let (stage, items) = crate::plan::next(plan);
    let has_record = plan.accepted_specs.iter().any(|accepted| accepted.spec == spec);
    if stage == Stage::Complete && has_record && progress.accepted != Some(false) {
        return end(LoopEnd::Complete);
    }
    if let Some(halt) = &progress.halt {
        return end(halt.clone());
    }
    // A planner may find nothing to do; then it is for VERIFY to say whether that is so.
    let unplanned = needs_plan(plan, spec) && !progress.planned;
    let next_lap = ConstructProgress {
        unverified: unverified.clone(),
        uninvestigated: progress.uninvestigated.clone(),
        ..ConstructProgress::default()
    };
    let within = forward(plan, &items, progress).filter(|_| progress.under_way);
    let first = forward(plan, &items, &next_lap);
    if stage == Stage::Blocked || (within.is_none() && first.is_none() && !unplanned) {
        let why = left(plan, unverified);
        return end(match unverified.is_empty() {
            true => LoopEnd::Blocked { why },
            false => LoopEnd::NotVerified { why },
        });
    }
    if let Some(tripped) = &progress.tripped {
        return end(LoopEnd::Breaker(tripped.clone()));
    }
    let limit = limits.cost.filter(|limit| progress.cost >= *limit || progress.out_of_money);
    // A backend may have a limit of its own: going on would only meet it again.
    if let Some(limit) = limit.or(progress.out_of_money.then_some(progress.cost)) {
        return end(LoopEnd::MaxCost { limit, spent: progress.cost });
    }
    if unplanned {
        return ConstructMove { iteration: here, step: ConstructStep::Plan };
    }
    if let Some(step) = within {
        return ConstructMove { iteration: here, step };
    }
    if let Some(tripped) = &progress.tripped_after {
        return end(LoopEnd::Breaker(tripped.clone()));
    }
    if progress.counted >= limits.iterations {
        return end(LoopEnd::MaxIterations(limits.iterations));
    }
    match first {
        Some(step) => ConstructMove { iteration: here.saturating_add(1), step },
        None => end(LoopEnd::Blocked { why: left(plan, unverified) }),
    }
}

/// The next stage of this iteration, if there is one left with something to do.
fn forward(
    plan: &Plan,
    items: &[StageItem<'_>],
    progress: &ConstructProgress,
) -> Option<ConstructStep> {
    let killed = items.iter().filter_map(|item| match item {
        StageItem::Task(task) if matches!(task.state, TaskState::Killed(_)) => Some(&task.id),
        StageItem::Issue(issue) if issue.kill.is_some() => Some(&issue.id),
        _ => None,
    });
    let mut killed = killed.peekable();
    if killed.peek().is_some() {
        let new = killed.find(|id| !progress.decomposed.contains(id));
        return new.map(|id| ConstructStep::Decompose(id.clone()));
    }
    let last = progress.last;
    let issues = plan.scoped_issues().map(|issue| &issue.id);
    let issues: Vec<Id> =
        issues.filter(|id| !progress.uninvestigated.contains(id)).cloned().collect();
    if last.is_none_or(|last| last == StageKind::Plan) && !issues.is_empty() {
        return Some(ConstructStep::Investigate(issues));
    }
    let before_build =
        last.is_none_or(|last| matches!(last, StageKind::Plan | StageKind::Investigate));
    if before_build && !runnable(plan, DependencyTrust::Claimed).is_empty() {
        return Some(ConstructStep::Build);
    }
    if matches!(last, Some(StageKind::Verify | StageKind::Decompose)) {
        return None;
    }
    let asked = |id: Option<&Id>| progress.unverified.iter().any(|item| item.task.as_ref() == id);
    let done = plan.scoped_tasks().filter(|t| t.state == TaskState::Done && !asked(Some(&t.id)));
    let done: Vec<Id> = done.map(|t| t.id.clone()).collect();
    // The spec alone is verified only when nothing else is left to do.
    let verify = !done.is_empty() || (stage(plan) == Stage::Complete && !asked(None));
    verify.then_some(ConstructStep::Verify(done))
}

/// The stage that is under way, for another terminal. The plan is the truth; only where it has
/// nothing left to say the journal speaks: a plan is being made, or the whole spec is looked at.
pub fn current_stage(plan: &Plan, history: &History) -> &'static str {
    let stage = stage(plan);
    let running = history.run_end.is_none();
    match &history.construct.open {
        Some(open) if stage == Stage::Complete && running => open.stage.as_str(),
        _ => stage.as_str(),
    }
}

fn ended(plan: &Plan, end: LoopEnd, unverified: &[UnverifiedItem]) -> ConstructEnd {
    let left = if end == LoopEnd::Complete { Vec::new() } else { left(plan, unverified) };
    ConstructEnd { end, left }
}

/// List the work that is left in scope, with the reasons, one line each.
pub fn left(plan: &Plan, unverified: &[UnverifiedItem]) -> Vec<String> {
    let obstacles = obstacles(plan, DependencyTrust::Claimed);
    let mut lines = Vec::new();
    for task in plan.scoped_tasks() {
        let obstacle = obstacles.iter().find(|(other, _)| std::ptr::eq(*other, task));
        let why = match (&task.state, obstacle) {
            (TaskState::Accepted | TaskState::Skipped, _) => continue,
            (_, Some((_, why))) => why.to_string(),
            (TaskState::Killed(kill), None) => format!("killed: {}", kill.reason.as_str()),
            (TaskState::Done, None) => {
                match unverified.iter().find(|item| item.task.as_ref() == Some(&task.id)) {
                    Some(item) => {
                        lines.push(item.to_string());
                        continue;
                    }
                    None => "done, not verified".to_owned(),
                }
            }
            (_, None) => match &task.reject {
                Some(reason) => format!("to be done again: {}", clip(reason, 200)),
                None => "to be done".to_owned(),
            },
        };
        lines.push(format!("{} {}: {why}", task.id, clip(&task.name, 80)));
    }
    let issue = |issue: &crate::plan::Issue| format!("{} {}", issue.id, clip(&issue.desc, 200));
    lines.extend(plan.scoped_issues().map(issue));
    lines.extend(unverified.iter().filter(|item| item.task.is_none()).map(ToString::to_string));
    lines
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "model_tests.rs"]
mod model_tests;
