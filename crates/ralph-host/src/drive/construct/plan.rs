//! PLAN: a spec becomes tasks, as the first stage of a construct or for itself.

use std::path::Path;

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, schema_of};
use ralph_core::backend::BackendOutcome;
use ralph_core::config::{Config, LedgerCommitPolicy, StageName};
use ralph_core::construct::answer::{self, PlanAnswer};
use ralph_core::construct::apply::{self, ExistingTasks, PlanTarget};
use ralph_core::construct::prompts::{self, SpecText};
use ralph_core::cycle::{LoopEnd, RunCommand, StageKind, StageResult};
use ralph_core::format::{PlanFormat, codec};
use ralph_core::plan::{Plan, Task};

use super::ConstructGoal;
use crate::drive::consult::{Consultation, ConsultationQuestion};
use crate::drive::error::{DriveError, LoopHalt};
use crate::drive::listener::LoopListener;
use crate::drive::preview::{BackendCommandLine, PreviewInputs, choose, command_line};
use crate::drive::session::{ATTEMPT_VARIABLE, RunSession, RunSetup};
use crate::drive::terms::{AgentAccess, RequestTerms, RoleTerms};
use crate::prompt_files;

/// A plan that is to be made.
#[derive(Clone, Debug)]
pub struct PlanningRequest {
    /// The spec's name; `None` for free text.
    pub spec: Option<String>,
    /// Path of the spec file; `None` for free text.
    pub file: Option<String>,
    /// Text of the spec, or the free text that the user typed.
    pub text: String,
    /// Treatment of the tasks that the spec has already.
    pub existing: ExistingTasks,
    /// Whether the plan is only shown.
    pub dry: bool,
}

/// Result of planning one spec: its tasks, or the reason why the loop ended before.
#[derive(Clone, Debug)]
pub struct PlanningResult {
    /// Changes to the plan, even if they were only shown.
    pub came: StageResult,
    pub tasks: Vec<Task>,
    /// Why the loop ended before, if it did.
    pub end: Option<LoopEnd>,
}

/// Make plans of specs, one after another, in the plan file in use, which must be there.
pub fn plan(
    mut setup: RunSetup,
    plannings: &[PlanningRequest],
    listener: &mut dyn LoopListener,
) -> Result<Vec<PlanningResult>, DriveError> {
    let runner = crate::drive::runner(&mut setup);
    let mut session = RunSession::open(setup, RunCommand::Plan, &runner, listener)?;
    let mut end = session.recover()?;
    session.preflight()?;
    session.start(0.0)?;
    let mut all = Vec::new();
    for planning in plannings {
        let made = match end.take() {
            Some(end) => Err(LoopHalt::End(end)),
            None => session.make_plan(planning),
        };
        let ((came, tasks), end) = match made {
            Ok(made) => (made, None),
            Err(LoopHalt::End(end)) => (<_>::default(), Some(end)),
            Err(LoopHalt::LookAgain) => {
                (<_>::default(), session.signals.first().map(LoopEnd::Interrupted))
            }
            Err(LoopHalt::Error(error)) => return Err(error),
        };
        let ended = end.is_some();
        all.push(PlanningResult { came, tasks, end });
        if ended {
            break;
        }
    }
    let end = all.iter().find_map(|planned| planned.end.clone()).unwrap_or(LoopEnd::Complete);
    if plannings.iter().all(|planning| planning.dry) {
        // Nothing was written, so nothing is committed either.
        session.config.commit_ledger = LedgerCommitPolicy::Never;
    }
    let reason = match end {
        LoopEnd::Complete => "the plan is made".to_owned(),
        _ => end.reason(),
    };
    session.finish(&end, &reason, None)?;
    Ok(all)
}

impl RunSession<'_> {
    pub(super) fn plan_stage(&mut self, goal: &ConstructGoal) -> Result<(), LoopHalt> {
        let under = self.begin_stage(StageKind::Plan, None)?;
        let planning = PlanningRequest {
            spec: Some(goal.spec.clone()),
            file: Some(goal.file.clone()),
            text: goal.text.clone(),
            existing: ExistingTasks::Merge,
            dry: false,
        };
        let (came, tasks) = self.make_plan(&planning)?;
        self.log_agent(&format!("PLAN: {} tasks generated", tasks.len()));
        Ok(self.end_stage(&under, came)?)
    }

    /// Ask for a plan and write it.
    fn make_plan(
        &mut self,
        planning: &PlanningRequest,
    ) -> Result<(StageResult, Vec<Task>), LoopHalt> {
        let plan = self.read_plan()?.plan;
        let plan: &Plan = &plan;
        let prompt = plan_prompt(self.project.root(), self.format, planning, plan)?;
        let answered = self.ask_for_plan(planning, plan, prompt)?;
        let target = PlanTarget {
            format: self.format,
            spec: planning.spec.as_deref(),
            file: planning.file.as_deref(),
            existing: planning.existing,
            title: planning.spec.as_deref().unwrap_or_default(),
        };
        let mut made = Vec::new();
        let came = self.apply(|_, text, pen| {
            let mut applied = apply::planned(text, &target, &answered, pen)?;
            let plan = codec(target.format).parse(&applied.text)?;
            made = applied.came.created.iter().filter_map(|id| plan.task(id).cloned()).collect();
            if planning.dry {
                applied.text = text.to_owned();
            }
            Ok(applied)
        })?;
        Ok((came, made))
    }

    fn ask_for_plan(
        &mut self,
        planning: &PlanningRequest,
        plan: &Plan,
        prompt: String,
    ) -> Result<PlanAnswer, LoopHalt> {
        let check = |said: &BackendAnswer| answer::plan(said, plan).map(|_| "");
        let item = planning.spec.clone().unwrap_or_default();
        let consultation = Consultation {
            ask_again: |outcome| *outcome == BackendOutcome::Success,
            ..Consultation::one(
                planner_terms(&self.config),
                ConsultationQuestion { item, prompt, check: &check },
            )
        };
        let consulted = self.consult(&consultation)?;
        LoopHalt::at(self.fatal_answer(&consulted.answers))?;
        let Some(one) = consulted.answers.first() else { return Err(LoopHalt::LookAgain) };
        if let Err(why) = &one.verdict {
            let (why, log) = (why.clone(), Some(one.log.clone()));
            return Err(LoopHalt::End(LoopEnd::NoPlan { why, log }));
        }
        answer::plan(&one.said, plan).map_err(|_| LoopHalt::LookAgain)
    }
}

/// Build the prompt of the planner.
fn plan_prompt(
    root: &Path,
    format: PlanFormat,
    planning: &PlanningRequest,
    plan: &Plan,
) -> Result<String, DriveError> {
    let templates = prompt_files::templates(root)?.value;
    let spec = SpecText {
        name: planning.spec.as_deref().unwrap_or("what was asked for"),
        file: planning.file.as_deref(),
        text: &planning.text,
    };
    let tasks: Vec<Task> = plan.tasks.iter().filter(|t| t.state.is_open()).cloned().collect();
    Ok(prompts::plan(&templates, spec, &tasks, format)?)
}

fn planner_terms(config: &Config) -> RoleTerms {
    RoleTerms::of(config, AgentRole::Plan, schema_of::<PlanAnswer>(), AgentAccess::Looks)
}

/// One question of a planner that is not asked.
pub struct PlannerPreview {
    pub prompt: String,
    /// Command line that would start the backend.
    pub command: BackendCommandLine,
}

/// Return the prompts and command lines that `ralph plan` would use.
pub fn preview_plan(
    look: &PreviewInputs<'_>,
    plannings: &[PlanningRequest],
) -> Result<Vec<PlannerPreview>, DriveError> {
    let (root, path) = (look.project.root(), std::env::var_os("PATH"));
    let (chosen, place) = choose(look, StageName::Plan, path.as_ref())?;
    let terms = RequestTerms::of_role(look.config, root, &planner_terms(look.config), 0.0)?;
    let own = [(ATTEMPT_VARIABLE.to_owned(), String::new())];
    plannings
        .iter()
        .map(|planning| {
            let prompt = plan_prompt(root, look.plan.format, planning, look.plan)?;
            let command = command_line(&terms, &own, &chosen, place, (&prompt, None));
            Ok(PlannerPreview { prompt, command })
        })
        .collect()
}
