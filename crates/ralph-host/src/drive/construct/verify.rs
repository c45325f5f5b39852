//! VERIFY: one agent for each done task, all at once, and one for the spec as a whole.

use std::fmt::Write as _;

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, schema_of};
use ralph_core::construct::answer::{self, SpecVerdict, TaskVerdict};
use ralph_core::construct::apply::{self, Verification};
use ralph_core::construct::prompts::{self, VerifyInput};
use ralph_core::cycle::{AttemptState, JournalRecord, StageKind, UnverifiedItem};
use ralph_core::gate::GateCheck;
use ralph_core::plan::{Id, Plan, Task, Tombstone, TombstoneKind};

use super::ConstructGoal;
use crate::drive::consult::{
    Consultation, ConsultationAnswer, ConsultationQuestion, ConsultationResult, may_do_better,
};
use crate::drive::error::{DriveError, LoopHalt};
use crate::drive::session::RunSession;
use crate::drive::terms::{AgentAccess, RoleTerms};
use crate::store::Durability;

/// Bytes of a diff that are read: the prompt shows less, and says where all of it is.
const LONGEST_DIFF: usize = 256 * 1024;

/// The verdicts, as the line about a verifier says them.
const ACCEPTED: &str = "accepted";
const REJECTED: &str = "rejected";

impl RunSession<'_> {
    pub(super) fn verify(&mut self, goal: &ConstructGoal, tasks: &[Id]) -> Result<(), LoopHalt> {
        let under = self.begin_stage(StageKind::Verify, None)?;
        let plan = self.read_plan()?.plan;
        let tasks: Vec<Task> = tasks.iter().filter_map(|id| remembering(&plan, id)).collect();
        let answers = match tasks.is_empty() {
            true => Vec::new(),
            false => self.verifiers_together(goal, &tasks)?,
        };
        let mut end = self.fatal_answer(&answers);
        let mut verdicts = Vec::new();
        let mut silent = Vec::new();
        for (task, answer) in tasks.iter().zip(&answers) {
            match (&answer.verdict, answer::task_verdict(&answer.said, task)) {
                (Ok(_), Ok(verdict)) => {
                    verdicts.push(TaskVerdict { task_id: task.id.to_string(), ..verdict });
                }
                (verdict, _) => silent.push(not_verified(Some(&task.id), verdict, &answer.log)),
            }
        }
        let mut whole = None;
        if end.is_none() {
            let answers = self.spec_answer(goal, &plan)?;
            end = self.fatal_answer(&answers);
            let Some(answer) = answers.first() else { return LoopHalt::at(end) };
            match (&answer.verdict, answer::spec_verdict(&answer.said)) {
                (Ok(_), Ok(verdict)) => whole = Some(verdict),
                (verdict, _) => silent.push(not_verified(None, verdict, &answer.log)),
            }
        }
        if end.is_some() {
            // Nobody can be asked: that no verifier spoke says nothing about the tasks.
            silent.clear();
            if verdicts.is_empty() {
                return LoopHalt::at(end);
            }
        }
        for item in &silent {
            self.warn(&item.to_string());
            self.record(JournalRecord::NotVerified(item.clone()), Durability::Eventual)?;
        }
        let unverified: Vec<Id> = silent.into_iter().filter_map(|item| item.task).collect();
        let verification = Verification {
            spec: &goal.spec,
            verdicts: &verdicts,
            unverified: &unverified,
            whole: whole.as_ref(),
            max_retries: self.config.max_retries,
        };
        let came = self.apply(|_, text, pen| apply::verified(text, &verification, pen))?;
        self.end_stage(&under, came)?;
        LoopHalt::at(end)
    }

    /// Verifiers in one tree, in the order of the tasks. When they disturbed each other, they are asked
    /// again one by one.
    fn verifiers_together(
        &mut self,
        goal: &ConstructGoal,
        tasks: &[Task],
    ) -> Result<Vec<ConsultationAnswer>, LoopHalt> {
        let jobs = goal.jobs();
        let consulted = self.verifiers_at_once(goal, tasks, jobs)?;
        if consulted.undone.is_empty() || tasks.len() == 1 || jobs == 1 {
            return Ok(consulted.answers);
        }
        self.warn(
            "a verifier changed files while others looked: all are asked again, one at a time",
        );
        let mut all = Vec::new();
        for task in tasks {
            all.extend(self.verifiers_at_once(goal, std::slice::from_ref(task), 1)?.answers);
        }
        Ok(all)
    }

    fn verifiers_at_once(
        &mut self,
        goal: &ConstructGoal,
        tasks: &[Task],
        jobs: usize,
    ) -> Result<ConsultationResult, LoopHalt> {
        let templates = self.templates()?;
        let checks: Vec<_> = tasks
            .iter()
            .map(|task| {
                move |said: &BackendAnswer| {
                    let verdict = answer::task_verdict(said, task)?;
                    Ok(verdict.rejection().map_or(ACCEPTED, |_| REJECTED))
                }
            })
            .collect();
        let mut questions = Vec::new();
        for (task, check) in tasks.iter().zip(&checks) {
            let work = self.work_on(task)?;
            let input = VerifyInput {
                task,
                spec: goal.spec_text(),
                diff: &work.diff,
                diff_command: work.command.as_deref(),
                gates: work.gates,
                rulings: &self.history.construct.rulings,
            };
            let prompt = prompts::verify(&templates, &input)?;
            questions.push(ConsultationQuestion { item: task.id.to_string(), prompt, check });
        }
        let schema = schema_of::<TaskVerdict>();
        let consultation = Consultation {
            terms: RoleTerms::of(&self.config, AgentRole::Verify, schema, AgentAccess::Writes),
            questions,
            jobs,
            ask_again: may_do_better,
        };
        self.consult(&consultation)
    }

    /// The answer about the spec as a whole.
    fn spec_answer(
        &mut self,
        goal: &ConstructGoal,
        plan: &Plan,
    ) -> Result<Vec<ConsultationAnswer>, LoopHalt> {
        let templates = self.templates()?;
        let in_scope = |task: &Task| plan.in_scope(task.spec.as_deref());
        let tasks: Vec<Task> = plan.all_tasks().into_iter().filter(in_scope).collect();
        let issues: Vec<_> = plan.scoped_issues().cloned().collect();
        let rulings = &self.history.construct.rulings;
        let prompt = prompts::verify_spec(&templates, goal.spec_text(), &tasks, &issues, rulings)?;
        let check = |said: &BackendAnswer| {
            let verdict = answer::spec_verdict(said)?;
            Ok(if verdict.is_accepted() { ACCEPTED } else { REJECTED })
        };
        let schema = schema_of::<SpecVerdict>();
        let terms = RoleTerms::of(&self.config, AgentRole::Verify, schema, AgentAccess::Writes);
        let question = ConsultationQuestion { item: "spec".into(), prompt, check: &check };
        let consultation =
            Consultation { ask_again: may_do_better, ..Consultation::one(terms, question) };
        Ok(self.consult(&consultation)?.answers)
    }

    /// Collect the work on a task: its commits, their patches, and the gate results of the last one.
    fn work_on<'a>(&'a self, task: &'a Task) -> Result<VerifierEvidence<'a>, DriveError> {
        let mut work = VerifierEvidence::default();
        let mut commits = Vec::new();
        for view in self.history.of_task(task.id.as_str()) {
            let AttemptState::Landed { commit, .. } = &view.fate else { continue };
            work.gates = view.verdict.as_ref().map(|v| v.checks.as_slice()).unwrap_or_default();
            let Some(commit) = commit else { continue };
            if work.diff.len() < LONGEST_DIFF {
                let patch = self.repo.work_of(commit)?;
                let patch = patch.get(..LONGEST_DIFF).unwrap_or(&patch);
                // Writing to a string cannot fail.
                let _ = writeln!(work.diff, "{}", String::from_utf8_lossy(patch));
            }
            commits.push(commit.as_str());
        }
        work.command = (!commits.is_empty()).then(|| format!("git show {}", commits.join(" ")));
        Ok(work)
    }
}

fn not_verified(
    task: Option<&Id>,
    verdict: &Result<&'static str, String>,
    log: &str,
) -> UnverifiedItem {
    let why = verdict.as_ref().err().map_or("no usable verdict", String::as_str);
    UnverifiedItem { task: task.cloned(), why: why.to_owned(), log: log.to_owned() }
}

/// A task that is done, with the reason why it was rejected before: that must be mended now.
fn remembering(plan: &Plan, id: &Id) -> Option<Task> {
    let task = plan.task(id)?.clone();
    let rejected = |stone: &&Tombstone| stone.kind == TombstoneKind::Reject && stone.id == *id;
    let last = plan.tombstones.iter().rfind(rejected);
    let reject = task.reject.clone().or_else(|| last?.reason.clone());
    Some(Task { reject, ..task })
}

#[derive(Default)]
struct VerifierEvidence<'a> {
    diff: String,
    command: Option<String>,
    gates: &'a [GateCheck],
}
