//! From any plan format to any other, saying what the target could not hold.
//!
//! Nothing is declared lossy by a table that could be wrong: the new text is read back and compared
//! with what was meant.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::{EditError, Format, codec};
use crate::plan::{Edit, Id, Plan, Task, TombstoneKind};

/// A converted plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The text of the new file.
    pub text: String,
    /// What the target cannot hold, one line each; empty when nothing was lost.
    pub lost: Vec<String>,
}

/// Write `plan` in another format.
pub fn convert(plan: &Plan, to: Format, title: &str, now: &str) -> Result<Converted, EditError> {
    let codec = codec(to);
    let title = plan.title.as_deref().unwrap_or(title);
    let mut text = codec.empty(title, now);
    let mut lost = Vec::new();

    let tasks = plan.all_tasks();
    let edits: Vec<Edit> =
        tasks.iter().map(|t| Edit::AddTask { task: t.clone(), after: None }).collect();
    text = codec.edit(&text, &edits)?;

    let whole: Vec<Edit> = plan
        .issues
        .iter()
        .map(|i| Edit::AddIssue(i.clone()))
        .chain(plan.accepted_specs.iter().map(|s| Edit::AcceptSpec {
            spec: s.spec.clone(),
            at: s.at.clone().unwrap_or_else(|| now.to_owned()),
        }))
        .chain(plan.current_spec.iter().map(|s| Edit::UseSpec(s.clone())))
        .collect();
    for edit in whole {
        match codec.edit(&text, std::slice::from_ref(&edit)) {
            Ok(next) => text = next,
            Err(EditError::Unsupported { what, .. }) => lost.push(describe(&edit, &what)),
            Err(other) => return Err(other),
        }
    }

    let back = codec.parse(&text)?;
    lost.extend(task_losses(&tasks, &back.all_tasks()));
    lost.extend(plan_losses(plan, &back));
    Ok(Converted { text, lost })
}

fn describe(edit: &Edit, what: &str) -> String {
    match edit {
        Edit::AddIssue(issue) => format!("issue {}: {}", issue.id, issue.desc),
        Edit::UseSpec(spec) => format!("current spec: {spec}"),
        Edit::AcceptSpec { spec, .. } => format!("spec accepted: {spec}"),
        _ => what.to_owned(),
    }
}

fn task_losses(meant: &[Task], got: &[Task]) -> Vec<String> {
    if meant.len() != got.len() {
        return vec![format!("{} of {} tasks", meant.len().abs_diff(got.len()), meant.len())];
    }
    // Formats may group tasks, so they are matched by id, and by name where ids are not kept.
    let by_id: BTreeMap<&Id, &Task> = got.iter().map(|t| (&t.id, t)).collect();
    let by_name: BTreeMap<&str, &Task> = got.iter().map(|t| (t.name.as_str(), t)).collect();
    let mut lost: BTreeMap<Vec<&'static str>, Vec<&Id>> = BTreeMap::new();
    let mut renamed = 0;
    for task in meant {
        let found = by_id.get(&task.id).or_else(|| {
            renamed += 1;
            by_name.get(task.name.as_str())
        });
        let fields = found.map_or_else(|| vec!["the whole task"], |f| differences(task, f));
        if !fields.is_empty() {
            lost.entry(fields).or_default().push(&task.id);
        }
    }
    let mut lines: Vec<String> = lost.iter().map(|(fields, ids)| tell(fields, ids)).collect();
    if renamed > 0 {
        lines.push(format!("ids of tasks ({renamed}; the target makes its own)"));
    }
    lines
}

/// `dependencies, priority of t-1, t-2 and 5 more tasks`.
fn tell(fields: &[&str], ids: &[&Id]) -> String {
    const MOST: usize = 5;
    let named: Vec<&str> = ids.iter().take(MOST).map(|id| id.as_str()).collect();
    let more = match ids.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{} of {}{more}", fields.join(", "), named.join(", "))
}

fn differences(meant: &Task, got: &Task) -> Vec<&'static str> {
    // What nobody said cannot get lost: a target may fill in a spec or a phase of its own.
    fn kept<T: PartialEq>(meant: &Option<T>, got: &Option<T>) -> bool {
        meant.is_none() || meant == got
    }
    let ids = |ids: &[Id]| ids.iter().cloned().collect::<BTreeSet<_>>();
    let checks = [
        (meant.name == got.name, "name"),
        (meant.state == got.state, "state"),
        (kept(&meant.spec, &got.spec), "spec"),
        (kept(&meant.notes, &got.notes), "notes"),
        (meant.accept == got.accept, "acceptance criteria"),
        (ids(&meant.deps) == ids(&got.deps), "dependencies"),
        (kept(&meant.priority, &got.priority), "priority"),
        (meant.retries == got.retries, "retry count"),
        (kept(&meant.max_retries, &got.max_retries), "max retries"),
        (kept(&meant.max_turns, &got.max_turns), "max turns"),
        (kept(&meant.timeout_ms, &got.timeout_ms), "timeout"),
        (meant.skills == got.skills, "skills"),
        (meant.libraries == got.libraries, "libraries"),
        (meant.needs_docs == got.needs_docs, "needs_docs"),
        (kept(&meant.parent, &got.parent), "parent"),
        (kept(&meant.created_from, &got.created_from), "created_from"),
        (kept(&meant.done_at, &got.done_at), "done_at"),
        (kept(&meant.reject, &got.reject), "last rejection"),
        (kept(&meant.phase, &got.phase), "phase"),
    ];
    checks.into_iter().filter(|(same, _)| !same).map(|(_, field)| field).collect()
}

fn plan_losses(meant: &Plan, got: &Plan) -> Vec<String> {
    let mut lost = Vec::new();
    if meant.gates != got.gates && !meant.gates.is_empty() {
        lost.push("quality gates (put them into ralph.toml)".to_owned());
    }
    let settings = |plan: &Plan| crate::plan::PlanConfig { line: 0, ..plan.config.clone() };
    if settings(meant) != settings(got) {
        lost.push("the config record (put it into ralph.toml)".to_owned());
    }
    let rejections = |plan: &Plan| {
        plan.tombstones
            .iter()
            .filter(|t| t.kind == TombstoneKind::Reject && t.task.is_none())
            .count()
    };
    if rejections(meant) > rejections(got) {
        lost.push(format!("history of rejections ({})", rejections(meant) - rejections(got)));
    }
    let described = |plan: &Plan| {
        plan.specs.iter().filter(|s| s.context.is_some() || !s.accept.is_empty()).count()
    };
    if described(meant) > described(got) {
        lost.push("the context and criteria of specs".to_owned());
    }
    if meant.says_done && !got.says_done {
        lost.push("the RALPH_DONE mark".to_owned());
    }
    lost
}
