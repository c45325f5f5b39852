//! VERIFY: one agent for each done task, all at once, and one for the spec as a whole.

use std::fmt::Write as _;

use ralph_core::config::{StageName, VerifyWorkspace};
use ralph_core::construct::answer::{self, SpecVerdict, TaskVerdict};
use ralph_core::construct::apply::{self, Verification};
use ralph_core::construct::prompts::{self, GateLine, VerifyInput};
use ralph_core::cycle::{Fate, Record, StageKind};
use ralph_core::memory::roles::directive::schema_of;
use ralph_core::plan::{Id, Plan, Task, Tombstone, TombstoneKind};

use super::Goal;
use crate::drive::consult::{Answer, Consultation, Consulted, Question, Said};
use crate::drive::error::DriveError;
use crate::drive::session::Session;
use crate::drive::workspace::Workplace;
use crate::store::Durability;

/// Bytes of a diff that are read: the prompt shows less, and says where all of it is.
const LONGEST_DIFF: usize = 256 * 1024;

impl Session<'_> {
    pub(super) fn verify(&mut self, goal: &Goal, tasks: &[Id]) -> Result<(), DriveError> {
        let under = self.begin_stage(StageKind::Verify, None)?;
        let plan = self.read_plan()?.plan;
        let tasks: Vec<Task> = tasks.iter().filter_map(|id| remembering(&plan, id)).collect();
        let Some(verdicts) = self.task_verdicts(goal, &tasks)? else { return Ok(()) };
        let Some(whole) = self.spec_verdict(goal, &plan)? else { return Ok(()) };
        if self.ending.is_some() {
            // Nobody can be asked: that no verifier spoke says nothing about the tasks.
            return Ok(());
        }
        let mut unverified = Vec::new();
        for task in &tasks {
            if !verdicts.iter().any(|verdict| verdict.task_id == task.id.as_str()) {
                let record = Record::Unverified { task: task.id.clone() };
                self.record(record, Durability::Eventual)?;
                let times = self.history.construct.unverified.get(&task.id).copied();
                unverified.push((task.id.clone(), times.unwrap_or(1)));
            }
        }
        let verification = Verification {
            spec: &goal.spec,
            verdicts: &verdicts,
            unverified: &unverified,
            whole: whole.as_ref(),
            max_retries: self.config.max_retries,
        };
        let came = self.apply(|_, text, pen| apply::verified(text, &verification, pen))?;
        self.end_stage(&under, came)
    }

    /// The verdicts that can be used. A verifier that failed is asked once more.
    fn task_verdicts(
        &mut self,
        goal: &Goal,
        tasks: &[Task],
    ) -> Result<Option<Vec<TaskVerdict>>, DriveError> {
        let mut verdicts = Vec::new();
        let mut open: Vec<&Task> = tasks.iter().collect();
        let mut jobs = goal.jobs();
        for _ in 0..2 {
            if open.is_empty() || self.ending.is_some() {
                break;
            }
            let Some(answers) = self.verifiers(goal, &open, &mut jobs)? else { return Ok(None) };
            self.halt_if_hopeless(&answers);
            let mut again = Vec::new();
            for (task, answer) in open.iter().zip(&answers) {
                match answer::task_verdict(answer.said.words(), task) {
                    Ok(verdict) if answer.finished() => {
                        verdicts.push(TaskVerdict { task_id: task.id.to_string(), ..verdict })
                    }
                    _ => again.push(*task),
                }
            }
            open = again;
        }
        for task in open {
            self.warn(&format!("{} is not verified: no usable verdict", task.id));
        }
        Ok(Some(verdicts))
    }

    /// One round of verifiers. When they disturbed each other, they are asked again one by one.
    fn verifiers(
        &mut self,
        goal: &Goal,
        tasks: &[&Task],
        jobs: &mut usize,
    ) -> Result<Option<Vec<Answer>>, DriveError> {
        if self.workplace() == Workplace::Own {
            return self.verifiers_apart(goal, tasks, *jobs);
        }
        let Some(consulted) = self.verifiers_at_once(goal, tasks, *jobs)? else {
            return Ok(None);
        };
        if consulted.undone.is_empty() || tasks.len() == 1 || *jobs == 1 {
            return Ok(Some(consulted.answers));
        }
        self.warn(
            "a verifier changed files while others looked: all are asked again, one at a time",
        );
        *jobs = 1;
        let mut all = Vec::new();
        for task in tasks {
            let Some(consulted) = self.verifiers_at_once(goal, &[task], 1)? else {
                return Ok(None);
            };
            all.extend(consulted.answers);
        }
        Ok(Some(all))
    }

    /// Verifiers in worktrees of their own, never more of these than work at once.
    fn verifiers_apart(
        &mut self,
        goal: &Goal,
        tasks: &[&Task],
        jobs: usize,
    ) -> Result<Option<Vec<Answer>>, DriveError> {
        let mut all = Vec::new();
        for some in tasks.chunks(jobs.max(1)) {
            let Some(consulted) = self.verifiers_at_once(goal, some, jobs)? else {
                return Ok(None);
            };
            all.extend(consulted.answers);
        }
        Ok(Some(all))
    }

    fn verifiers_at_once(
        &mut self,
        goal: &Goal,
        tasks: &[&Task],
        jobs: usize,
    ) -> Result<Option<Consulted>, DriveError> {
        let templates = self.templates()?;
        let checks: Vec<_> = tasks
            .iter()
            .map(|task| {
                move |said: &Said| {
                    answer::task_verdict(said.words(), task)
                        .map(drop)
                        .map_err(|problem| problem.question)
                }
            })
            .collect();
        let mut questions = Vec::new();
        for (task, check) in tasks.iter().zip(&checks) {
            let work = self.work_on(task)?;
            let gates: Vec<GateLine<'_>> =
                work.gates.iter().map(|(name, result)| GateLine { name, result }).collect();
            let input = VerifyInput {
                task,
                spec: goal.spec_text(),
                diff: &work.diff,
                diff_command: work.command.as_deref(),
                gates: &gates,
            };
            let prompt = prompts::verify(&templates, &input)
                .map_err(|e| DriveError::Prompt(e.to_string()))?;
            questions.push(Question { item: task.id.to_string(), prompt, check });
        }
        let consultation = Consultation {
            role: "verify",
            terms: self.tries(StageName::Verify, schema_of::<TaskVerdict>()),
            questions,
            jobs,
            may_write: &[],
        };
        self.consult_in(&consultation, self.workplace())
    }

    /// Where verifiers work.
    fn workplace(&self) -> Workplace {
        match self.config.verify_workspace {
            VerifyWorkspace::Shared => Workplace::Shared,
            VerifyWorkspace::Worktree => Workplace::Own,
        }
    }

    /// The word about the spec as a whole; none when no verifier has a usable one.
    #[expect(clippy::option_option, reason = "no answer is not the same as an end")]
    fn spec_verdict(
        &mut self,
        goal: &Goal,
        plan: &Plan,
    ) -> Result<Option<Option<SpecVerdict>>, DriveError> {
        let templates = self.templates()?;
        let tasks: Vec<Task> = plan.scoped_tasks().cloned().collect();
        let issues: Vec<_> = plan.scoped_issues().cloned().collect();
        let prompt = prompts::verify_spec(&templates, goal.spec_text(), &tasks, &issues)
            .map_err(|e| DriveError::Prompt(e.to_string()))?;
        let check = |said: &Said| {
            answer::spec_verdict(said.words()).map(drop).map_err(|problem| problem.question)
        };
        for _ in 0..2 {
            if self.ending.is_some() {
                break;
            }
            let question = Question { item: "spec".into(), prompt: prompt.clone(), check: &check };
            let consultation = Consultation {
                role: "verify",
                terms: self.tries(StageName::Verify, schema_of::<SpecVerdict>()),
                questions: vec![question],
                jobs: 1,
                may_write: &[],
            };
            let consulted = self.consult_in(&consultation, self.workplace())?;
            let Some(consulted) = consulted else { return Ok(None) };
            self.halt_if_hopeless(&consulted.answers);
            let answer = consulted.answers.first().filter(|answer| answer.finished());
            let verdict = answer.and_then(|a| answer::spec_verdict(a.said.words()).ok());
            if let Some(verdict) = verdict {
                return Ok(Some(Some(verdict)));
            }
        }
        self.warn("the spec as a whole is not verified: no usable verdict");
        Ok(Some(None))
    }

    /// What was done for a task: its commits, and what the gates said about the last of them.
    fn work_on(&self, task: &Task) -> Result<Work, DriveError> {
        let mut work = Work::default();
        let mut commits = Vec::new();
        for view in self.history.of_task(task.id.as_str()) {
            let Fate::Landed { commit, .. } = &view.fate else { continue };
            work.gates =
                view.verdict.iter().flat_map(|verdict| &verdict.checks).map(gate).collect();
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

/// A task that is done, with the reason why it was rejected before: that must be mended now.
fn remembering(plan: &Plan, id: &Id) -> Option<Task> {
    let task = plan.task(id)?.clone();
    let rejected = |stone: &&Tombstone| stone.kind == TombstoneKind::Reject && stone.id == *id;
    let last = plan.tombstones.iter().rfind(rejected);
    let reject = task.reject.clone().or_else(|| last?.reason.clone());
    Some(Task { reject, ..task })
}

#[derive(Default)]
struct Work {
    diff: String,
    command: Option<String>,
    gates: Vec<(String, &'static str)>,
}

fn gate(check: &ralph_core::gate::GateCheck) -> (String, &'static str) {
    let result = match (check.passed, check.preexisting) {
        (true, _) => "passed",
        (false, true) => "failed, as before the work",
        (false, false) => "failed",
    };
    (check.name.clone(), result)
}
