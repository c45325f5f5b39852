//! Construct: one spec, stage by stage, until it is satisfied or something says stop.
//!
//! # Theory of operation
//!
//! ```text
//! construct:  open → recover → start → (next → stage)* → finish
//! stage:      StageStarted → ask agents | build loop → one write of the plan → StageEnded
//! ```
//!
//! [`ralph_core::construct::next`] says which stage is due; a stage here asks agents
//! ([`super::consult`]), hands their answers to [`ralph_core::construct::apply`], and writes down what
//! came of it. After a crash nothing is resumed in the middle of a stage: the plan is what the last
//! finished write made it, so the stage that is due simply begins again.

mod decompose;
mod investigate;
mod plan;
mod verify;

use std::time::Instant;

use ralph_core::backend::BackendOutcome;
use ralph_core::config::Dollars;
use ralph_core::construct::apply::{AppliedChange, EditContext};
use ralph_core::construct::prompts::SpecText;
use ralph_core::construct::{
    ConstructEnd, ConstructLimits, ConstructMove, ConstructProgress, ConstructStep,
    ConstructSummary, built, next,
};
use ralph_core::cycle::{
    AttemptFailure, ConstructStart, FailureKind, IterationStart, JournalRecord, LoopEnd,
    RetryDecision, RunCommand, StageEnd, StageKind, StageResult, StageStart,
};
use ralph_core::format::{EditError, PlanFormat, codec};
use ralph_core::plan::{Id, KillReason, KilledRun, Plan, PlanEdit, Stage, stage};

use super::attempt::AttemptRun;
use super::consult::ConsultationAnswer;
use super::error::{DriveError, LoopHalt};
use super::listener::LoopListener;
use super::session::{RunSession, RunSetup};
use crate::store::Durability;

pub use plan::{PlannerPreview, PlanningRequest, PlanningResult, plan, preview_plan};

/// Spec that a construct works on.
#[derive(Clone, Debug)]
pub struct ConstructGoal {
    /// The spec's name, as plans and inboxes call it.
    pub spec: String,
    /// Path of the spec file, relative to the project.
    pub file: String,
    /// Text of the spec.
    pub text: String,
    /// Most agents at once; `None` is one for each item.
    pub jobs: Option<usize>,
}

/// Most agents at once when nobody says how many.
const MOST_JOBS: usize = 16;

impl ConstructGoal {
    fn spec_text(&self) -> SpecText<'_> {
        SpecText { name: &self.spec, file: Some(&self.file), text: &self.text }
    }

    fn jobs(&self) -> usize {
        self.jobs.unwrap_or(MOST_JOBS).max(1)
    }
}

/// Work on a spec until it is satisfied, or something says stop. Returns the exit code.
pub fn construct(
    mut setup: RunSetup,
    goal: &ConstructGoal,
    listener: &mut dyn LoopListener,
) -> Result<u8, DriveError> {
    let runner = crate::drive::runner(&mut setup);
    setup.options.spec = Some(goal.spec.clone());
    let mut session = RunSession::open(setup, RunCommand::Construct, &runner, listener)?;
    let end = session.recover()?;
    session.preflight()?;
    session.start(0.0)?;
    let end = session.run_construct(goal, end)?;
    let summary = ConstructSummary::of(&session.history.construct, &end);
    session.record(JournalRecord::ConstructEnded(summary), Durability::Eventual)?;
    let code = session.finish(&end.end, &end.reason(), None)?.exit_code;
    super::counts::write(&runner);
    Ok(code)
}

/// Stage that is running, for its record at the end.
pub(super) struct RunningStage {
    stage: StageKind,
    began: Instant,
    cost: f64,
}

impl RunSession<'_> {
    /// Stage by stage, until it ends. `halt` ends it at once.
    pub(super) fn run_construct(
        &mut self,
        goal: &ConstructGoal,
        mut halt: Option<LoopEnd>,
    ) -> Result<ConstructEnd, DriveError> {
        self.start_construct(goal)?;
        loop {
            let ConstructMove { iteration, step } = self.next_move(goal, halt)?;
            if iteration > self.history.construct.iteration {
                let start = IterationStart { iteration, spec: goal.spec.clone() };
                self.record(JournalRecord::IterationStarted(start), Durability::Eventual)?;
                self.log_agent(&format!("CONSTRUCT: starting iteration {iteration}"));
            }
            halt = LoopHalt::end_of(match step {
                ConstructStep::Plan => self.plan_stage(goal),
                ConstructStep::Investigate(issues) => self.investigate(goal, &issues),
                ConstructStep::Build => self.build_stage(),
                ConstructStep::Verify(tasks) => self.verify(goal, &tasks),
                ConstructStep::Decompose(item) => self.decompose(goal, &item),
                ConstructStep::End(end) => return Ok(end),
            })?;
        }
    }

    /// Work on tasks until none can run, or one was killed: that is broken down first.
    fn build_stage(&mut self) -> Result<(), LoopHalt> {
        let under = self.begin_stage(StageKind::Build, None)?;
        let before = self.read_plan()?.plan;
        let end = loop {
            let end = self.run_next_task()?;
            if end.is_some() || stage(&self.read_plan()?.plan) == Stage::Decompose {
                break end;
            }
        };
        let after = self.read_plan()?.plan;
        self.end_stage(&under, built(&before, &after))?;
        match end {
            // Nothing is left to build; what that means is for the construct to say.
            None | Some(LoopEnd::Complete | LoopEnd::Blocked { .. } | LoopEnd::TaskComplete(_)) => {
                Ok(())
            }
            Some(end) => Err(LoopHalt::End(end)),
        }
    }

    /// Whether claims wait for a verifier: in a construct, and in what is left of one.
    pub(super) fn is_construct(&self) -> bool {
        RunCommand::last(&self.history) != RunCommand::Build
    }

    fn start_construct(&mut self, goal: &ConstructGoal) -> Result<(), DriveError> {
        let counted = match self.options.resume && self.history.construct.spec == goal.spec {
            true => self.history.construct.counted,
            false => 0,
        };
        let spec = goal.spec.clone();
        self.record(
            JournalRecord::ConstructStarted(ConstructStart { spec, counted }),
            Durability::Synced,
        )?;
        if self.current_spec.as_deref() != Some(goal.spec.as_str()) {
            let at = goal.spec.clone();
            self.plan.change(|plan, text| {
                if plan.current_spec.as_deref() == Some(at.as_str()) {
                    return Ok(text.to_owned());
                }
                codec(plan.format).edit(text, &[PlanEdit::UseSpec(at.clone())])
            })?;
            self.current_spec = Some(goal.spec.clone());
        }
        Ok(())
    }

    fn next_move(
        &mut self,
        goal: &ConstructGoal,
        halt: Option<LoopEnd>,
    ) -> Result<ConstructMove, DriveError> {
        let halt = LoopHalt::end_of(self.apply_operator_commands())?.or(halt);
        let plan = self.read_plan()?.plan;
        let limits = ConstructLimits {
            iterations: self.config.construct.max_iterations.get(),
            cost: self.config.limits.max_cost.map(Dollars::get),
        };
        let halt = match (self.stop_signal(), halt) {
            (Some(signal), _) => Some(LoopEnd::Interrupted(signal)),
            (None, None) if self.mailbox.stop_asked() => Some(LoopEnd::Stopped),
            (None, halt) => halt,
        };
        let progress = ConstructProgress { halt, ..ConstructProgress::of(&self.history) };
        let step = next(&plan, &goal.spec, &limits, &progress);
        // An agent that was asked to stop finishes the iteration, and begins no other.
        match self.signals.first() {
            Some(signal) if step.iteration > self.history.construct.iteration => {
                let halt = Some(LoopEnd::Interrupted(signal));
                Ok(next(&plan, &goal.spec, &limits, &ConstructProgress { halt, ..progress }))
            }
            _ => Ok(step),
        }
    }

    fn begin_stage(
        &mut self,
        stage: StageKind,
        item: Option<Id>,
    ) -> Result<RunningStage, DriveError> {
        let id = self.ids.ulid(self.clock.now());
        let iteration = self.history.construct.iteration;
        self.record(
            JournalRecord::StageStarted(StageStart { stage, iteration, id, item }),
            Durability::Eventual,
        )?;
        Ok(RunningStage { stage, began: Instant::now(), cost: self.history.cost })
    }

    /// Record the end of a stage and its results. An interrupted stage is not recorded.
    fn end_stage(&mut self, under: &RunningStage, came: StageResult) -> Result<(), DriveError> {
        let plan = self.read_plan()?.plan;
        let left = plan.scoped_tasks().filter(|task| task.state.is_open()).count()
            + plan.scoped_issues().count();
        let spent = self.history.cost - under.cost;
        let known = spent > 0.0 || !self.history.cost_unknown;
        let end = StageEnd {
            stage: under.stage,
            iteration: self.history.construct.iteration,
            came,
            left,
            cost: known.then_some(spent),
            took_ms: u64::try_from(under.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.record(JournalRecord::StageEnded(end), Durability::Synced)
    }

    /// Change the plan in one write and return the results.
    fn apply(
        &mut self,
        change: impl FnOnce(&Plan, &str, EditContext<'_>) -> Result<AppliedChange, EditError>,
    ) -> Result<StageResult, DriveError> {
        let at = self.clock.stamp();
        let ids = &mut self.ids;
        let mut came = StageResult::default();
        self.plan.change(|plan, text| {
            let mut random = || ids.word(4);
            let applied = change(plan, text, EditContext { at: &at, random: &mut random })?;
            came = applied.came;
            Ok(applied.text)
        })?;
        Ok(came)
    }

    /// In a construct, work that was ended by a limit is broken down, and blocked work becomes an
    /// issue. What became of it, if that was the case.
    pub(super) fn killed_or_blocked(
        &mut self,
        run: &AttemptRun,
        failure: &AttemptFailure,
    ) -> Result<Option<RetryDecision>, DriveError> {
        use ralph_core::construct::apply;
        if !self.is_construct() || self.format != PlanFormat::Jsonl {
            return Ok(None);
        }
        let id = run.task.id.clone();
        if let Some(kill) = kill_of(failure.kind, run.started.log.clone()) {
            let came = self.apply(|_, text, pen| apply::killed(text, &id, &kill, pen))?;
            let given_up = came.failed.contains(&id);
            return Ok(Some(if given_up {
                RetryDecision::GiveUp
            } else {
                RetryDecision::Decompose
            }));
        }
        if matches!(failure.kind, FailureKind::Blocked | FailureKind::Conflict) {
            let reason = failure.message.clone();
            self.apply(|_, text, pen| apply::blocked(text, &id, &reason, pen))?;
            return Ok(Some(RetryDecision::GiveUp));
        }
        Ok(None)
    }

    /// An agent that will not work for the next question either, or for which there is no money: why the
    /// construct ends.
    fn fatal_answer(&self, answers: &[ConsultationAnswer]) -> Option<LoopEnd> {
        let hopeless = answers.iter().map(|answer| &answer.outcome).find(|outcome| {
            matches!(
                outcome,
                BackendOutcome::NotInstalled
                    | BackendOutcome::NotLoggedIn { .. }
                    | BackendOutcome::PermissionDenied { .. }
            )
        });
        if let Some(outcome) = hopeless {
            let advice = outcome.advice(&self.choice.chosen.name);
            return Some(LoopEnd::Backend { reason: outcome.to_string(), advice });
        }
        answers.iter().any(|answer| answer.outcome == BackendOutcome::Budget).then(|| {
            let spent = self.history.cost;
            let limit = self.config.limits.max_cost.map_or(spent, Dollars::get);
            LoopEnd::MaxCost { limit, spent }
        })
    }
}

/// Return the kill that a failure stands for, if it does.
fn kill_of(kind: FailureKind, log: Option<String>) -> Option<KilledRun> {
    let reason = match kind {
        FailureKind::Timeout | FailureKind::Idle => KillReason::Timeout,
        FailureKind::ContextLimit => KillReason::ContextLimit,
        _ => return None,
    };
    Some(KilledRun { reason, log })
}

/// The same for an agent that was asked.
fn kill_reason(outcome: &BackendOutcome) -> Option<KillReason> {
    match outcome {
        BackendOutcome::Timeout | BackendOutcome::Idle => Some(KillReason::Timeout),
        BackendOutcome::ContextLimit => Some(KillReason::ContextLimit),
        _ => None,
    }
}
