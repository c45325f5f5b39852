//! INVESTIGATE: one agent for each issue; what they find becomes tasks, or is out of scope.

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, schema_of};
use ralph_core::construct::answer::{self, Investigation};
use ralph_core::construct::{apply, prompts};
use ralph_core::cycle::{LoopEnd, StageKind};
use ralph_core::plan::{Id, Issue, KilledRun, Plan, Task};

use super::{ConstructGoal, kill_reason};
use crate::drive::consult::{Consultation, ConsultationQuestion, may_do_better};
use crate::drive::error::LoopHalt;
use crate::drive::session::RunSession;
use crate::drive::terms::{AgentAccess, RoleTerms};

/// The answers of the investigators, by issue.
#[derive(Default)]
struct InvestigatorAnswers {
    findings: Vec<(Id, Investigation)>,
    killed: Vec<(Id, KilledRun)>,
    unanswered: Vec<Id>,
    /// End of the run, if a halt came between the answers.
    end: Option<LoopEnd>,
}

impl RunSession<'_> {
    pub(super) fn investigate(
        &mut self,
        goal: &ConstructGoal,
        issues: &[Id],
    ) -> Result<(), LoopHalt> {
        let under = self.begin_stage(StageKind::Investigate, None)?;
        let mut came = self.apply(|_, text, pen| apply::merge_issues(text, pen))?;
        let plan = self.read_plan()?.plan;
        let issues: Vec<Issue> = issues.iter().filter_map(|id| plan.issue(id).cloned()).collect();
        let asked = self.investigators(goal, &plan, &issues)?;
        let findings = &asked.findings;
        came.extend(&self.apply(|_, text, pen| apply::investigated(text, findings, pen))?);
        came.uninvestigated = asked.unanswered;
        for (id, kill) in asked.killed {
            came.extend(&self.apply(|_, text, pen| apply::killed(text, &id, &kill, pen))?);
        }
        self.end_stage(&under, came)?;
        LoopHalt::at(asked.end)
    }

    /// Ask about all issues; those whose agent failed are asked about once more.
    fn investigators(
        &mut self,
        goal: &ConstructGoal,
        plan: &Plan,
        issues: &[Issue],
    ) -> Result<InvestigatorAnswers, LoopHalt> {
        let templates = self.templates()?;
        let checks: Vec<_> = issues
            .iter()
            .map(|issue| {
                move |said: &BackendAnswer| answer::investigation(said, plan, issue).map(|_| "")
            })
            .collect();
        let mut questions = Vec::new();
        for (issue, check) in issues.iter().zip(&checks) {
            let task = issue.created_from.as_ref().and_then(|id| origin(plan, id));
            let prompt = prompts::investigate(&templates, issue, task.as_ref(), goal.spec_text())?;
            questions.push(ConsultationQuestion { item: issue.id.to_string(), prompt, check });
        }
        let schema = schema_of::<Investigation>();
        let consultation = Consultation {
            terms: RoleTerms::of(&self.config, AgentRole::Investigate, schema, AgentAccess::Writes),
            questions,
            jobs: goal.jobs(),
            ask_again: |outcome| may_do_better(outcome) && kill_reason(outcome).is_none(),
        };
        let consulted = self.consult(&consultation)?;
        let end = self.fatal_answer(&consulted.answers);
        let mut answers = InvestigatorAnswers { end, ..InvestigatorAnswers::default() };
        for (issue, answer) in issues.iter().zip(&consulted.answers) {
            if let Some(reason) = kill_reason(&answer.outcome) {
                let log = Some(answer.log.clone());
                answers.killed.push((issue.id.clone(), KilledRun { reason, log }));
                continue;
            }
            match (&answer.verdict, answer::investigation(&answer.said, plan, issue)) {
                (Ok(_), Ok(found)) => answers.findings.push((issue.id.clone(), found)),
                _ => {
                    self.warn(&format!("{} was not investigated: no usable answer", issue.id));
                    answers.unanswered.push(issue.id.clone());
                }
            }
        }
        Ok(answers)
    }
}

/// The task that an issue came from, also when it is buried.
fn origin(plan: &Plan, id: &Id) -> Option<Task> {
    plan.all_tasks().into_iter().find(|task| task.id == *id)
}
