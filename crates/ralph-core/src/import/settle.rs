//! Items become tasks of a plan: ids, dependencies, notes, and what the plan's format cannot hold.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::facts::lost;
use super::ident::{self, KnownPlanItems};
use super::{
    ImportError, ImportItem, ImportKind, LabelledText, PlacedDocument, SourceContent, record,
};
use crate::format::{EditError, PlanCodec, PlanFormat};
use crate::plan::{self, Id, Plan, PlanEdit, Task, TaskState};

/// The plan that items go into.
pub struct ImportTarget<'a> {
    /// Name of the plan in messages.
    pub shown: &'a str,
    /// Text of the plan file. If there is no file yet, the text of an empty plan.
    pub text: &'a str,
    /// Plan that was parsed from `text`.
    pub plan: &'a Plan,
    pub codec: &'a dyn PlanCodec,
    /// Current time, RFC 3339.
    pub now: &'a str,
}

/// Whether an item is new to the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportStatus {
    /// The import adds the item.
    New,
    /// The plan has the item already, and the import does not change it.
    Here,
}

/// Result of the import for one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportRow {
    /// Id of the task in the plan.
    pub id: Id,
    /// Id of the item in the source, if it has one.
    pub source: Option<String>,
    pub name: String,
    /// State of the item in the source.
    #[serde(flatten)]
    pub state: TaskState,
    pub deps: Vec<Id>,
    pub fate: ImportStatus,
    /// Fields of the source that went into its notes.
    #[serde(rename = "notes")]
    pub noted: Vec<String>,
    /// Fields that went into the record.
    #[serde(rename = "record")]
    pub recorded: Vec<String>,
}

/// An import, worked out and not yet written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedImport {
    /// One row for each item, in order.
    pub rows: Vec<ImportRow>,
    /// The new text of the plan.
    pub text: String,
    /// The file for what has no place in the plan, relative to the project.
    pub record_path: String,
    /// Blocks for this file, as [`super::with_blocks`] takes them.
    pub record: Vec<String>,
    /// Warnings for the user, one line each.
    pub warnings: Vec<String>,
}

impl PreparedImport {
    /// Return the number of new tasks.
    pub fn added(&self) -> usize {
        self.rows.iter().filter(|row| row.fate == ImportStatus::New).count()
    }
}

/// Bring what was found into a plan. `placed` says what its documents are called now.
pub fn settle(
    kind: ImportKind,
    found: &SourceContent,
    placed: &[PlacedDocument],
    target: &ImportTarget<'_>,
) -> Result<PreparedImport, ImportError> {
    let mut warnings = Vec::new();
    let mut drafts = drafts(kind, found, placed, target, &mut warnings);
    untangle(&mut drafts, target, &mut warnings)?;
    let tasks: Vec<Task> = drafts.iter().map(|draft| draft.task(kind, target)).collect();
    let new = drafts.iter().zip(&tasks).filter(|(draft, _)| draft.fate == ImportStatus::New);
    let edits: Vec<PlanEdit> = new.map(|(_, task)| added(task)).collect();
    let refused = |e: EditError| {
        let hint = "nothing was written; `--into ralph/plan.jsonl` takes any task";
        ImportError::new(target.shown, format!("this plan cannot take the tasks: {e}"), hint)
    };
    let text = target.codec.edit_parsed(target.plan, target.text, &edits).map_err(refused)?;
    target.codec.parse(&text).map_err(|e| refused(e.into()))?;
    // What is lost is seen on an empty plan, so that it is the same at every import.
    let alone: Vec<PlanEdit> = tasks.iter().map(added).collect();
    let alone = target.codec.edit(&target.codec.empty("", target.now), &alone).map_err(refused)?;
    let kept = target.codec.parse(&alone).map_err(|e| refused(e.into()))?.all_tasks();
    let kept: BTreeMap<&str, &Task> = match target.plan.format {
        PlanFormat::Progress => kept.iter().map(|task| (task.name.as_str(), task)).collect(),
        _ => kept.iter().map(|task| (task.id.as_str(), task)).collect(),
    };
    let mut blocks = record::asides(&found.asides);
    let mut rows = Vec::with_capacity(drafts.len());
    for (draft, task) in drafts.iter().zip(tasks) {
        let key = match target.plan.format {
            PlanFormat::Progress => task.name.as_str(),
            _ => task.id.as_str(),
        };
        let mut lost = lost(&task, kept.get(key).copied());
        lost.extend(draft.item.aside.iter().cloned());
        if !lost.is_empty() {
            blocks.push(record::block(&draft.heading(&task), &lost));
        }
        rows.push(draft.row(task, &lost));
    }
    Ok(PreparedImport { rows, text, record_path: record::path(kind), record: blocks, warnings })
}

fn added(task: &Task) -> PlanEdit {
    PlanEdit::AddTask { task: task.clone(), after: None }
}

/// An item on its way into the plan.
struct ItemDraft {
    item: ImportItem,
    id: Id,
    fate: ImportStatus,
    deps: Vec<Id>,
    /// Dependencies that give way when they close a circle.
    soft: Vec<Id>,
}

impl ItemDraft {
    fn task(&self, kind: ImportKind, target: &ImportTarget<'_>) -> Task {
        let mut deps = self.deps.clone();
        deps.extend(self.soft.iter().filter(|id| !self.deps.contains(id)).cloned());
        let mut notes = String::new();
        let mut says = self.item.says.clone();
        if target.plan.format == PlanFormat::Progress && !deps.is_empty() {
            let ids: Vec<&str> = deps.iter().map(Id::as_str).collect();
            says.push(LabelledText::new("after", ids.join(", ")));
        }
        if self.item.has_id {
            says.push(LabelledText::new("", ident::origin(kind, &self.item)));
        }
        for said in says {
            // Short facts stand together, texts stand alone.
            let said = said.to_string();
            let short = !said.contains('\n') && !said.is_empty();
            let last_is_short = notes.lines().last().is_some_and(|line| line.contains(": "));
            notes.push_str(match (notes.is_empty(), short && last_is_short) {
                (true, _) => "",
                (false, true) => "\n",
                (false, false) => "\n\n",
            });
            notes.push_str(&said);
        }
        let notes = Some(notes).filter(|notes| !notes.is_empty());
        Task { id: self.id.clone(), notes, deps, line: 0, ..self.item.task.clone() }
    }

    fn heading(&self, task: &Task) -> String {
        let name = record::one_line(&task.name);
        let state = match task.state {
            TaskState::Accepted => " (done)",
            TaskState::Skipped => " (skipped)",
            _ => "",
        };
        format!("## {}: {name}{state}", self.id)
    }

    fn row(&self, task: Task, lost: &[LabelledText]) -> ImportRow {
        let label = |said: &LabelledText| match said.label.is_empty() {
            true => "text".to_owned(),
            false => said.label.clone(),
        };
        let unique = |says: &[LabelledText]| says.iter().map(label).collect::<BTreeSet<_>>();
        let recorded = unique(lost);
        let noted = match recorded.contains("notes") {
            true => BTreeSet::new(),
            false => unique(&self.item.says),
        };
        ImportRow {
            id: self.id.clone(),
            source: self.item.has_id.then(|| self.item.key.clone()),
            name: task.name,
            state: task.state,
            deps: task.deps,
            fate: self.fate,
            noted: noted.into_iter().collect(),
            recorded: recorded.into_iter().collect(),
        }
    }
}

fn drafts(
    kind: ImportKind,
    found: &SourceContent,
    placed: &[PlacedDocument],
    target: &ImportTarget<'_>,
    warnings: &mut Vec<String>,
) -> Vec<ItemDraft> {
    let mut known = KnownPlanItems::of(target.plan);
    let specs: BTreeMap<&str, &str> = placed.iter().filter_map(PlacedDocument::spec).collect();
    let mut drafts: Vec<ItemDraft> = found
        .items
        .iter()
        .map(|item| {
            let mut item = item.clone();
            let spec = item.task.spec.as_deref().and_then(|spec| specs.get(spec));
            item.task.spec = spec.map(|name| (*name).to_owned()).or(item.task.spec);
            let (id, fate) = known.settle(kind, &mut item);
            ItemDraft { item, id, fate, deps: Vec::new(), soft: Vec::new() }
        })
        .collect();
    let ids: BTreeMap<(String, String), Id> = drafts
        .iter()
        .map(|draft| ((draft.item.scope.clone(), draft.item.key.clone()), draft.id.clone()))
        .collect();
    for draft in &mut drafts {
        let scope = draft.item.scope.clone();
        let find = |key: &String| {
            let own = ids.get(&(scope.clone(), key.clone())).cloned();
            own.or_else(|| Some(Id::new(key.as_str())).filter(|id| known.has(id)))
        };
        let needs = draft.item.needs.clone();
        for key in &needs {
            match find(key) {
                Some(id) if draft.deps.contains(&id) => {}
                Some(id) => draft.deps.push(id),
                None => {
                    draft.item.say("needs (not in the source)", key.as_str());
                    let name = &draft.item.task.name;
                    warnings.push(format!(
                        "{} ({name}) needs {key}, which is not in the source: noted, not waited for",
                        draft.id
                    ));
                }
            }
        }
        draft.soft = draft.item.after.iter().filter_map(find).collect();
    }
    drafts
}

/// Circles are refused, unless a dependency that nobody wrote closes them: that one goes.
fn untangle(
    drafts: &mut [ItemDraft],
    target: &ImportTarget<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), ImportError> {
    loop {
        let tasks: Vec<Task> = drafts
            .iter()
            .filter(|draft| !target.plan.format.buries_tasks() || draft.item.task.state.is_open())
            .filter(|draft| draft.fate == ImportStatus::New)
            .map(|draft| Task {
                id: draft.id.clone(),
                deps: draft.deps.iter().chain(&draft.soft).cloned().collect(),
                ..Task::default()
            })
            .collect();
        let all: Vec<&Task> = target.plan.tasks.iter().chain(&tasks).collect();
        let Some(cycle) = plan::cycles(&all).into_iter().next() else { return Ok(()) };
        let mut is_looser = false;
        for draft in drafts.iter_mut().filter(|draft| cycle.contains(&draft.id)) {
            let before = draft.soft.len();
            draft.soft.retain(|id| draft.deps.contains(id) || !cycle.contains(id));
            is_looser |= draft.soft.len() < before;
        }
        if !is_looser {
            return Err(circle(drafts, &cycle));
        }
        let ids: Vec<&str> = cycle.iter().map(Id::as_str).collect();
        warnings.push(format!(
            "{} do not wait for their parts: that would be a circle",
            ids.join(", ")
        ));
    }
}

fn circle(drafts: &[ItemDraft], cycle: &[Id]) -> ImportError {
    let named = |id: &Id| match drafts.iter().find(|draft| draft.id == *id) {
        Some(draft) => format!("{} ({})", record::one_line(&draft.item.key), draft.item.task.name),
        None => id.to_string(),
    };
    let path: Vec<String> = cycle.iter().chain(cycle.first()).map(named).collect();
    let first = drafts.iter().find(|draft| cycle.contains(&draft.id));
    let file = first.map_or("-", |draft| draft.item.file.as_str());
    let hint = "nothing was written; take one of these dependencies out and import again";
    ImportError {
        line: first.map(|draft| draft.item.line),
        ..ImportError::new(file, format!("dependency cycle: {}", path.join(" → ")), hint)
    }
}
