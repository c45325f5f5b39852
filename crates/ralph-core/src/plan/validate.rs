//! Validation of a plan that parses: the findings of `ralph validate`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::graph;
use super::lookup::{Fate, Lookup};
use super::model::{Id, Plan, State, Task};

/// Severity of a finding in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The plan cannot be carried out like this.
    Error,
    /// The plan can be carried out, but probably not as intended.
    Warning,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: Severity,
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
pub fn validate(plan: &Plan) -> Vec<Finding> {
    let mut findings = duplicate_ids(plan);
    let lookup = Lookup::new(plan);
    for task in &plan.tasks {
        dependencies(task, &lookup, &mut findings);
        criteria(plan, task, &mut findings);
    }
    let all: Vec<&Task> = plan.tasks.iter().collect();
    for cycle in graph::cycles(&all) {
        let path: Vec<&str> = cycle.iter().chain(cycle.first()).map(Id::as_str).collect();
        let line = cycle.first().and_then(|id| lookup.task(id)).map_or(0, |t| t.line);
        let message = format!("dependency cycle: {}", path.join(" → "));
        findings.push(Finding {
            severity: Severity::Error,
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
pub fn duplicate_ids(plan: &Plan) -> Vec<Finding> {
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

fn dependencies(task: &Task, lookup: &Lookup<'_>, findings: &mut Vec<Finding>) {
    if matches!(task.state, State::Accepted | State::Skipped) {
        return;
    }
    for dep in &task.deps {
        let ids = vec![task.id.clone(), dep.clone()];
        match lookup.fate(dep) {
            Fate::Unknown => {
                let message = format!("{} depends on {dep}, which does not exist", task.id);
                findings.push(error(task.line, "missing-dependency", ids, message));
            }
            Fate::Failed => {
                let message = format!("{} depends on {dep}, which failed", task.id);
                findings.push(warning(task.line, "dead-dependency", ids, message));
            }
            Fate::Skipped => {
                let message = format!("{} depends on {dep}, which was skipped", task.id);
                findings.push(warning(task.line, "dead-dependency", ids, message));
            }
            Fate::Live(other) => match other.state {
                State::Failed(_) | State::Skipped => {
                    let fate = other.state.word();
                    let message = format!("{} depends on {dep}, which is {fate}", task.id);
                    findings.push(warning(task.line, "dead-dependency", ids, message));
                }
                _ => {}
            },
            Fate::Accepted => {}
        }
    }
}

fn criteria(plan: &Plan, task: &Task, findings: &mut Vec<Finding>) {
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
        if plan.format != crate::format::Format::Progress {
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

fn error(line: usize, code: &'static str, ids: Vec<Id>, message: String) -> Finding {
    Finding { severity: Severity::Error, line, code, ids, message }
}

fn warning(line: usize, code: &'static str, ids: Vec<Id>, message: String) -> Finding {
    Finding { severity: Severity::Warning, line, code, ids, message }
}
