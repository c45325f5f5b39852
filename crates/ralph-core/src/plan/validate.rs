//! Validation of a plan that parses: the findings of `ralph validate`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::graph;
use super::lookup::{LookedUpTask, PlanLookup};
use super::model::{Id, Plan, Task, TaskState};

/// Severity of a finding in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanSeverity {
    /// The plan cannot be carried out like this.
    Error,
    /// The plan can be carried out, but probably not as intended.
    Warning,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanFinding {
    pub severity: PlanSeverity,
    /// Line in the plan file, from 1.
    pub line: usize,
    /// Identifier of the kind of finding. It is stable, so scripts can use it.
    pub code: &'static str,
    /// Ids of the tasks or issues involved.
    pub ids: Vec<Id>,
    /// Description for people.
    pub message: String,
}

/// Everything wrong with the plan, by line.
pub fn validate(plan: &Plan) -> Vec<PlanFinding> {
    let mut findings = duplicate_ids(plan);
    let lookup = PlanLookup::new(plan);
    for task in &plan.tasks {
        dependencies(task, &lookup, &mut findings);
        criteria(plan, task, &mut findings);
    }
    let all: Vec<&Task> = plan.tasks.iter().collect();
    for cycle in graph::cycles(&all) {
        let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(Id::as_str).collect();
        let line = cycle.first().and_then(|id| lookup.task(id)).map_or(0, |t| t.line);
        let message = format!("dependency cycle: {}", path.join(" → "));
        findings.push(PlanFinding {
            severity: PlanSeverity::Error,
            line,
            code: "cycle",
            ids: cycle.clone(),
            message,
        });
    }
    findings.sort_by_key(|f| (f.line, f.severity));
    findings
}

/// Ids that more than one task or issue has.
pub fn duplicate_ids(plan: &Plan) -> Vec<PlanFinding> {
    let mut first: BTreeMap<&Id, usize> = BTreeMap::new();
    let tasks = plan.tasks.iter().map(|t| (&t.id, t.line));
    let issues = plan.issues.iter().map(|i| (&i.id, i.line));
    let mut findings = Vec::new();
    for (id, line) in tasks.chain(issues) {
        // A whole plan may stand on one line, so only the first one is no duplicate.
        if let Some(earlier) = first.get(id) {
            let message = format!("the id {id} is already used on line {earlier}");
            findings.push(error(line, "duplicate-id", vec![id.clone()], message));
        } else {
            first.insert(id, line);
        }
    }
    findings
}

fn dependencies(task: &Task, lookup: &PlanLookup<'_>, findings: &mut Vec<PlanFinding>) {
    if matches!(task.state, TaskState::Accepted | TaskState::Skipped) {
        return;
    }
    for dep in &task.deps {
        let ids = vec![task.id.clone(), dep.clone()];
        match lookup.fate(dep) {
            LookedUpTask::Unknown => {
                let message = format!("{} depends on {dep}, which does not exist", task.id);
                findings.push(error(task.line, "missing-dependency", ids, message));
            }
            LookedUpTask::Failed => {
                let message = format!("{} depends on {dep}, which failed", task.id);
                findings.push(warning(task.line, "dead-dependency", ids, message));
            }
            LookedUpTask::Skipped => {
                let message = format!("{} depends on {dep}, which was skipped", task.id);
                findings.push(warning(task.line, "dead-dependency", ids, message));
            }
            LookedUpTask::Live(other) => match other.state {
                TaskState::Failed(_) | TaskState::Skipped => {
                    let fate = other.state.word();
                    let message = format!("{} depends on {dep}, which is {fate}", task.id);
                    findings.push(warning(task.line, "dead-dependency", ids, message));
                }
                _ => {}
            },
            LookedUpTask::Accepted => {}
        }
    }
}

fn criteria(plan: &Plan, task: &Task, findings: &mut Vec<PlanFinding>) {
    if !task.state.is_open() {
        return;
    }
    let ids = vec![task.id.clone()];
    let inherited = plan
        .specs
        .iter()
        .find(|s| Some(s.id.as_str()) == task.spec.as_deref())
        .is_some_and(|s| !s.accept.is_empty());
    if task.accept.is_empty() && !inherited {
        // A list of one-line items is all that progress.md is meant to be.
        if plan.format != crate::format::PlanFormat::Progress {
            let message = format!("{} has no acceptance criteria", task.id);
            findings.push(warning(task.line, "no-criteria", ids, message));
        }
        return;
    }
    for criterion in &task.accept {
        if let Some(why) = vague(criterion) {
            let message = format!("{}: vague criterion “{criterion}”: {why}", task.id);
            findings.push(warning(task.line, "vague-criterion", ids.clone(), message));
        }
    }
}

/// Why a criterion is too vague to be checked, if it is.
pub fn vague(criterion: &str) -> Option<&'static str> {
    const EMPTY: [&str; 14] = [
        "it works",
        "works",
        "works correctly",
        "works as expected",
        "works properly",
        "done",
        "completed",
        "is implemented",
        "implemented",
        "looks good",
        "good",
        "ok",
        "tbd",
        "todo",
    ];
    const MANNER: [&str; 9] = [
        "properly",
        "correctly",
        "appropriately",
        "as expected",
        "as needed",
        "good quality",
        "user-friendly",
        "robust",
        "etc.",
    ];
    let text = criterion.trim().trim_end_matches(['.', '!']).to_lowercase();
    if text.is_empty() {
        return Some("it is empty");
    }
    if EMPTY.contains(&text.as_str()) {
        return Some("nobody could check it; say what one can see or run");
    }
    let words = text.split_whitespace().count();
    if words <= 6 && MANNER.iter().any(|m| text.contains(m)) && !has_evidence(criterion) {
        return Some("say what one can see or run instead of how well it is done");
    }
    None
}

/// Numbers, code and commands are things one can check.
fn has_evidence(criterion: &str) -> bool {
    criterion.contains('`') || criterion.chars().any(|c| c.is_ascii_digit())
}

fn error(line: usize, code: &'static str, ids: Vec<Id>, message: String) -> PlanFinding {
    PlanFinding { severity: PlanSeverity::Error, line, code, ids, message }
}

fn warning(line: usize, code: &'static str, ids: Vec<Id>, message: String) -> PlanFinding {
    PlanFinding { severity: PlanSeverity::Warning, line, code, ids, message }
}
