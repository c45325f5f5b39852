//! Answers of the agents of construct. The types are the schemas.
//!
//! Reading is tolerant of the form: text around the JSON, a fence, one text in place of a list, the
//! field names of the other plan formats, a gap as a plain text. It is strict about the meaning: an
//! answer about another task, a task without a name or a dependency on nothing is an
//! [`UnusableAnswer`]. That error has the question that asks the agent for a better answer.

mod gap;
mod loose;
mod types;

pub use gap::{Gap, GapKind};
pub use types::{
    Decomposition, Investigation, InvestigationOutcome, NewIssue, NewTask, PlanAnswer, SpecVerdict,
    TaskVerdict, VerdictWord,
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::apply::check_new_parts;
use super::check::{self, TaskFlaw};
use crate::answer::{BackendAnswer, UnusableAnswer, schema_of};
use crate::plan::{Id, Issue, Plan, Task};

/// Subtasks of one task that is broken down.
pub const SUBTASKS: std::ops::RangeInclusive<usize> = 2..=5;

/// The plan of a spec. `plan` is what it is added to.
pub fn plan(said: &BackendAnswer, plan: &Plan) -> Result<PlanAnswer, UnusableAnswer> {
    read(said, |answer: &PlanAnswer| match answer.tasks.is_empty() {
        true if answer.reason.trim().is_empty() => Err("there are no tasks; if the spec is \
             satisfied already, say in `reason` what shows it"
            .to_owned()),
        true => Ok(()),
        false => all_good(check::flaws(&answer.tasks, plan)),
    })
}

/// Read the answer about the investigation of an issue.
pub fn investigation(
    said: &BackendAnswer,
    plan: &Plan,
    issue: &Issue,
) -> Result<Investigation, UnusableAnswer> {
    read(said, |answer: &Investigation| {
        about("issue_id", &answer.issue_id, &issue.id)?;
        match answer.outcome {
            InvestigationOutcome::Tasks => all_good(check::flaws(&answer.tasks, plan)),
            InvestigationOutcome::OutOfScope if !answer.tasks.is_empty() => {
                Err("an issue that is out of scope has no tasks".to_owned())
            }
            InvestigationOutcome::OutOfScope => said_why(&answer.reason),
        }
    })
}

/// The word of a verifier about one task.
pub fn task_verdict(said: &BackendAnswer, task: &Task) -> Result<TaskVerdict, UnusableAnswer> {
    read(said, |answer: &TaskVerdict| {
        about("task_id", &answer.task_id, &task.id)?;
        match answer.verdict {
            VerdictWord::Accept => Ok(()),
            VerdictWord::Reject => said_why(&answer.reason),
        }
    })
}

/// The word of a verifier about the spec as a whole.
pub fn spec_verdict(said: &BackendAnswer) -> Result<SpecVerdict, UnusableAnswer> {
    read(said, |answer: &SpecVerdict| match answer.satisfied || !answer.gaps.is_empty() {
        true => Ok(()),
        false => said_why(&answer.reason),
    })
}

/// The parts of a task that was killed: at least two that are new.
pub fn task_parts(
    said: &BackendAnswer,
    plan: &Plan,
    task: &Task,
) -> Result<Decomposition, UnusableAnswer> {
    read(said, |answer: &Decomposition| {
        if !answer.issues.is_empty() {
            return Err("a task is broken down into tasks, not into issues".to_owned());
        }
        let (least, most) = (SUBTASKS.start(), SUBTASKS.end());
        match answer.tasks.len() {
            n if SUBTASKS.contains(&n) => all_good(check::flaws(&answer.tasks, plan))
                .and_then(|()| check_new_parts(plan, task, &answer.tasks)),
            n => Err(format!("a task is broken down into {least} to {most} tasks, not {n}")),
        }
    })
}

/// The parts of an issue whose investigation was killed.
pub fn issue_parts(said: &BackendAnswer, plan: &Plan) -> Result<Decomposition, UnusableAnswer> {
    read(said, |answer: &Decomposition| {
        let most = *SUBTASKS.end();
        if answer.issues.iter().any(|issue| issue.desc.trim().is_empty()) {
            return Err("an issue needs a description".to_owned());
        }
        match (answer.tasks.len(), answer.issues.len()) {
            (0, 0) => Err("name at least one narrower issue or task".to_owned()),
            (tasks, issues) if tasks + issues > most => {
                Err(format!("at most {most} issues and tasks"))
            }
            (0, _) => Ok(()),
            _ => all_good(check::flaws(&answer.tasks, plan)),
        }
    })
}

/// The last answer that fits, the structured one first.
fn read<T: DeserializeOwned + JsonSchema>(
    said: &BackendAnswer,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, UnusableAnswer> {
    said.read_where(check).map_err(|why| UnusableAnswer::new(why, &schema_of::<T>()))
}

/// Whether an answer is about what was asked. One that does not say is.
fn about(field: &str, told: &str, asked: &Id) -> Result<(), String> {
    let told = told.trim().trim_matches('`');
    if told.is_empty() || told.eq_ignore_ascii_case(asked.as_str()) {
        return Ok(());
    }
    Err(format!("`{field}` is `{told}`, but the question was about `{asked}`"))
}

fn said_why(reason: &str) -> Result<(), String> {
    match reason.trim().is_empty() {
        true => Err("`reason` is empty".to_owned()),
        false => Ok(()),
    }
}

fn all_good(flaws: Vec<TaskFlaw>) -> Result<(), String> {
    match flaws.is_empty() {
        true => Ok(()),
        false => Err(check::in_words(&flaws)),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
