//! A batch of edits as splices of implementation.json.
//!
//! All edits are sorted first: what becomes of each task that is there, and what is new in each spec.
//! Then every container that changes is edited once, so that a batch of any size is one pass.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::specs::{self, AmbiguousSpec, SpecNames};
use super::{ImplementationFile, ImplementationStatus, KEYS, new_task, state_values};
use crate::format::members::{self, IdPlaces, TaskAnchor, TaskEditOutcome};
use crate::format::{EditError, ParseError, PlanFormat};
use crate::json::{ItemChange, JsonEditor, JsonError, JsonNode, MemberChange};
use crate::plan::{PlanEdit, Task, TaskState};
use crate::text::{self, Splice};

/// A spec that was not in the file.
struct AddedSpec {
    id: String,
    file: Option<String>,
    name: String,
}

/// Place of a new task in the file.
#[derive(Clone, Copy)]
struct SpecTaskPlace {
    spec: usize,
    /// In front of this item of the spec's `tasks`; `None` is the end.
    before: Option<usize>,
}

/// The edits of one batch, sorted by what they change.
struct ImplementationBatch<'a> {
    file: &'a ImplementationFile<'a>,
    names: SpecNames,
    /// Results for existing tasks, by index in the plan.
    outcomes: BTreeMap<usize, TaskEditOutcome>,
    added: BTreeMap<usize, Vec<(SpecTaskPlace, &'a Task)>>,
    /// Specs after those of the file.
    new_specs: Vec<AddedSpec>,
    /// Cache of name lookups, so that each name is resolved only once.
    found: BTreeMap<Option<&'a str>, usize>,
    /// The time of the last edit that has one.
    at: Option<&'a str>,
}

/// The text of `file` with `edits` made.
pub(super) fn edit(file: &ImplementationFile<'_>, edits: &[PlanEdit]) -> Result<String, EditError> {
    let mut places: IdPlaces<'_, SpecTaskPlace> = IdPlaces::of(&file.plan.tasks);
    let mut batch = ImplementationBatch {
        file,
        names: SpecNames::of(&file.plan.specs),
        outcomes: BTreeMap::new(),
        added: BTreeMap::new(),
        new_specs: Vec::new(),
        found: BTreeMap::new(),
        at: None,
    };
    for edit in edits {
        if let Some(what) = members::unsupported(edit) {
            return Err(EditError::Unsupported {
                format: PlanFormat::Implementation,
                what: what.into(),
            });
        }
        if let Some(id) = members::target(edit) {
            batch.change(places.find(id)?, edit)?;
        }
        if let PlanEdit::AddTask { task, after } = edit {
            let after = after.as_ref().map(|id| places.anchor(id)).transpose()?;
            let place = batch.add(task, after)?;
            places.add(&task.id, place)?;
        }
        if let PlanEdit::Retire { at, .. } | PlanEdit::Reject { at, .. } = edit {
            batch.at = Some(at);
        }
    }
    Ok(text::splice(file.text, batch.splices()?)?)
}

impl<'a> ImplementationBatch<'a> {
    fn change(&mut self, task: usize, edit: &PlanEdit) -> Result<(), EditError> {
        if let PlanEdit::UpdateTask(new) = edit
            && self.moves(task, new)?
        {
            let what = "the move of a task to another spec".to_owned();
            return Err(EditError::Unsupported { format: PlanFormat::Implementation, what });
        }
        let before = self.outcomes.get(&task).and_then(|o| o.task.as_ref());
        let outcome = members::outcome(before.unwrap_or(&self.file.plan.tasks[task]), edit);
        self.outcomes.insert(task, outcome);
        Ok(())
    }

    /// Whether `new` names another spec than the one that the task stands in.
    fn moves(&self, task: usize, new: &Task) -> Result<bool, EditError> {
        match &new.spec {
            Some(name) if new.spec != self.file.plan.tasks[task].spec => {
                Ok(self.resolve(name)? != Some(self.file.places[task].0))
            }
            _ => Ok(false),
        }
    }

    /// A new task goes behind the one it is to follow when both are of the same spec, else to the
    /// end of its own.
    fn add(
        &mut self,
        task: &'a Task,
        after: Option<TaskAnchor<SpecTaskPlace>>,
    ) -> Result<SpecTaskPlace, EditError> {
        let behind = after.map(|anchor| match anchor {
            TaskAnchor::New(place) => place,
            TaskAnchor::Old(task) => {
                let (spec, item) = self.file.places[task];
                SpecTaskPlace { spec, before: Some(item + 1) }
            }
        });
        let spec = match (task.spec.as_deref(), behind) {
            (None, Some(place)) => place.spec,
            (name, _) => self.spec_for(name)?,
        };
        let end = SpecTaskPlace { spec, before: None };
        let place = behind.filter(|place| place.spec == spec).unwrap_or(end);
        self.added.entry(spec).or_default().push((place, task));
        Ok(place)
    }

    /// The spec that takes a new task; made when there is none.
    fn spec_for(&mut self, asked: Option<&'a str>) -> Result<usize, EditError> {
        if let Some(&spec) = self.found.get(&asked) {
            return Ok(spec);
        }
        let name = asked.map_or_else(|| specs::default_name(&self.file.plan), str::to_owned);
        let spec = match self.resolve(&name)? {
            Some(spec) => spec,
            None => self.make_spec(&name),
        };
        self.found.insert(asked, spec);
        Ok(spec)
    }

    fn make_spec(&mut self, name: &str) -> usize {
        let id = self.names.unused(specs::slug(name));
        let file = name.ends_with(".md").then(|| name.to_owned());
        self.names.add(&id, file.as_deref());
        self.new_specs.push(AddedSpec { id, file, name: specs::title(name) });
        self.file.plan.specs.len() + self.new_specs.len() - 1
    }

    fn resolve(&self, name: &str) -> Result<Option<usize>, EditError> {
        self.names.resolve(name).map_err(|AmbiguousSpec(specs)| {
            let last = specs.last().and_then(|&spec| self.spec_node(spec));
            let place = last.map_or(0, |node| node.span.start);
            let message = format!("{name:?} stands for more than one spec; give each its own id");
            ParseError::at(self.file.text, place, message).into()
        })
    }

    fn spec_node(&self, spec: usize) -> Option<&'a JsonNode> {
        self.file.root.get("specs")?.items()?.get(spec)
    }

    fn splices(&self) -> Result<Vec<Splice>, EditError> {
        let editor = JsonEditor::new(self.file.text, &self.file.root);
        let mut splices = Vec::new();
        let mut removed: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (&task, outcome) in &self.outcomes {
            let (spec, item) = self.file.places[task];
            match &outcome.task {
                None => removed.entry(spec).or_default().push(item),
                Some(new) => splices.extend(self.task_splices(&editor, task, new, outcome)?),
            }
        }
        let of_tasks = self.outcomes.keys().map(|&task| self.file.places[task].0);
        let touched: BTreeSet<usize> = of_tasks.chain(self.added.keys().copied()).collect();
        let all = self.tasks_by_spec();
        for spec in touched.range(..self.file.plan.specs.len()) {
            let removed = removed.remove(spec).unwrap_or_default();
            let tasks = all.get(spec).map(Vec::as_slice).unwrap_or_default();
            splices.extend(self.spec_splices(&editor, *spec, tasks, &removed)?);
        }
        splices.extend(self.root_splices(&editor)?);
        Ok(splices)
    }

    fn task_splices(
        &self,
        editor: &JsonEditor<'_>,
        task: usize,
        new: &Task,
        outcome: &TaskEditOutcome,
    ) -> Result<Vec<Splice>, EditError> {
        let old = &self.file.plan.tasks[task];
        let mut changes =
            members::changes(&members::values(old, &KEYS), members::values(new, &KEYS));
        if old.state != new.state {
            let state = state_values(Some(&old.state), &new.state, outcome.skip_reason.clone());
            changes.extend(members::changes(&Vec::new(), state));
        }
        let (spec, item) = self.file.places[task];
        let tasks = self.spec_node(spec).and_then(|node| node.get("tasks")?.items());
        let Some(node) = tasks.and_then(|tasks| tasks.get(item)) else { return Ok(Vec::new()) };
        editor.object(node, &changes).map_err(|e| self.broken(e))
    }

    /// The tasks of the file by spec, as places in the plan.
    fn tasks_by_spec(&self) -> BTreeMap<usize, Vec<usize>> {
        let mut all: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (task, &(spec, _)) in self.file.places.iter().enumerate() {
            all.entry(spec).or_default().push(task);
        }
        all
    }

    fn spec_splices(
        &self,
        editor: &JsonEditor<'_>,
        spec: usize,
        tasks: &[usize],
        removed: &[usize],
    ) -> Result<Vec<Splice>, EditError> {
        let Some(node) = self.spec_node(spec) else { return Ok(Vec::new()) };
        let added = self.added.get(&spec).map(Vec::as_slice).unwrap_or_default();
        let mut members: Vec<MemberChange> =
            self.status_change(spec, tasks, added).into_iter().collect();
        let mut splices = Vec::new();
        match node.get("tasks").filter(|tasks| !tasks.is_null()) {
            Some(array) => {
                let new = added.iter().map(|&(place, task)| match place.before {
                    Some(at) => ItemChange::Insert(at, new_task(task)),
                    None => ItemChange::Push(new_task(task)),
                });
                let gone = removed.iter().map(|&at| ItemChange::Remove(at));
                let items: Vec<ItemChange> = new.chain(gone).collect();
                splices.extend(editor.array(array, &items).map_err(|e| self.broken(e))?);
            }
            None => {
                let tasks = added.iter().map(|&(_, task)| new_task(task)).collect();
                members.push(MemberChange::Set("tasks".into(), tasks));
            }
        }
        splices.extend(editor.object(node, &members).map_err(|e| self.broken(e))?);
        Ok(splices)
    }

    /// The spec's new status, when this batch is the reason for it. Work that has begun does not
    /// become work that has not.
    fn status_change(
        &self,
        spec: usize,
        tasks: &[usize],
        added: &[(SpecTaskPlace, &Task)],
    ) -> Option<MemberChange> {
        let old = tasks.iter().map(|&task| &self.file.plan.tasks[task]);
        let kept = tasks.iter().filter_map(|&task| match self.outcomes.get(&task) {
            Some(outcome) => outcome.task.as_ref(),
            None => Some(&self.file.plan.tasks[task]),
        });
        let before = status_of(old);
        let after = status_of(kept.chain(added.iter().map(|&(_, task)| task)))?;
        let written = self.file.plan.specs[spec].status.as_deref();
        let begun = written == Some(ImplementationStatus::InProgress.word())
            && after == ImplementationStatus::Pending;
        (before != Some(after) && !begun)
            .then(|| MemberChange::Set("status".into(), after.word().into()))
    }

    fn root_splices(&self, editor: &JsonEditor<'_>) -> Result<Vec<Splice>, EditError> {
        let root = &self.file.root;
        let highest = self.file.plan.specs.iter().filter_map(|spec| spec.priority).max();
        let known = self.file.plan.specs.len();
        let mut pushes = Vec::new();
        let mut priority = highest.unwrap_or(0);
        for (i, spec) in self.new_specs.iter().enumerate() {
            priority = priority.saturating_add(1);
            let added = self.added.get(&(known + i)).map(Vec::as_slice).unwrap_or_default();
            let tasks: Vec<&Task> = added.iter().map(|&(_, task)| task).collect();
            pushes.push(ItemChange::Push(new_spec(spec, priority, &tasks)));
        }
        let stamp = self.at.map(|at| MemberChange::Set("updatedAt".into(), at.into()));
        let members: Vec<MemberChange> = stamp.into_iter().collect();
        let mut splices = editor.object(root, &members).map_err(|e| self.broken(e))?;
        if let (Some(specs), false) = (root.get("specs"), pushes.is_empty()) {
            splices.extend(editor.array(specs, &pushes).map_err(|e| self.broken(e))?);
        }
        Ok(splices)
    }

    fn broken(&self, error: JsonError) -> EditError {
        error.in_text(self.file.text).into()
    }
}

fn new_spec(spec: &AddedSpec, priority: i64, tasks: &[&Task]) -> Value {
    let status = status_of(tasks.iter().copied()).unwrap_or(ImplementationStatus::Pending);
    members::object([
        ("id", spec.id.as_str().into()),
        ("file", spec.file.as_deref().map_or(Value::Null, Value::from)),
        ("name", spec.name.as_str().into()),
        ("priority", priority.into()),
        ("status", status.word().into()),
        ("tasks", tasks.iter().map(|task| new_task(task)).collect()),
        ("acceptanceCriteria", json!([])),
    ])
}

/// Return the status of a spec, computed from its tasks. `None` if it has no tasks.
fn status_of<'t>(tasks: impl Iterator<Item = &'t Task>) -> Option<ImplementationStatus> {
    let (mut any, mut begun, mut open) = (None, false, false);
    for task in tasks {
        any = Some(());
        let finished = matches!(task.state, TaskState::Done | TaskState::Accepted);
        open |= !finished && task.state != TaskState::Skipped;
        begun |= !matches!(task.state, TaskState::Pending | TaskState::Skipped) || task.retries > 0;
    }
    any.map(|()| match (open, begun) {
        (false, _) => ImplementationStatus::Completed,
        (true, true) => ImplementationStatus::InProgress,
        (true, false) => ImplementationStatus::Pending,
    })
}
