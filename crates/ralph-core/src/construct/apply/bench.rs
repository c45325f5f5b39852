//! The bench: a plan, and the changes of one round.

use std::collections::{BTreeMap, BTreeSet};

use super::{AppliedChange, EditContext};
use crate::construct::similar::WordSet;
use crate::cycle::StageResult;
use crate::format::jsonl::fresh_issue_id;
use crate::format::{EditError, PlanCodec, PlanFormat, codec};
use crate::plan::{Id, Issue, Plan, PlanEdit, Task, cycles, prioritize, verbs};
use crate::prompt::markdown::one_line;
use crate::text::clip;

/// Maximum length of an issue's description, in characters.
const DESCRIPTION: usize = 2_000;

/// Notes of one stage that are kept.
const NOTES: usize = 50;

/// Characters of a name in a note.
const SHORT: usize = 80;

/// A plan that is being changed. A round ends with [`WorkingPlan::commit`]; in one round there is at most
/// one change of each record.
pub(super) struct WorkingPlan<'a> {
    /// Plan as of the last round.
    pub(super) plan: Plan,
    /// Results of all rounds so far.
    pub(super) came: StageResult,
    pub(super) pen: EditContext<'a>,
    text: String,
    codec: &'static dyn PlanCodec,
    changed: BTreeMap<Id, Task>,
    /// Tasks that this round adds.
    pub(super) added: Vec<Task>,
    edits: Vec<PlanEdit>,
    /// Words of the issues raised in this round.
    raised: Vec<WordSet>,
    taken: BTreeSet<Id>,
}

impl<'a> WorkingPlan<'a> {
    pub(super) fn new(
        format: PlanFormat,
        text: &str,
        pen: EditContext<'a>,
    ) -> Result<Self, EditError> {
        let codec = codec(format);
        let plan = codec.parse(text)?;
        let tasks = plan.tasks.iter().map(|t| &t.id);
        let ids = tasks.chain(plan.issues.iter().map(|i| &i.id));
        let taken = ids.chain(plan.tombstones.iter().map(|t| &t.id)).cloned().collect();
        Ok(Self {
            plan,
            came: StageResult::default(),
            pen,
            text: text.to_owned(),
            codec,
            changed: BTreeMap::new(),
            added: Vec::new(),
            edits: Vec::new(),
            raised: Vec::new(),
            taken,
        })
    }

    /// Add a remark for people to the results.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.came.notes.push(text.into());
    }

    /// One more edit of this round.
    pub(super) fn edit(&mut self, edit: PlanEdit) {
        self.edits.push(edit);
    }

    /// The live task as this round leaves it.
    pub(super) fn task(&self, id: &Id) -> Option<&Task> {
        self.changed.get(id).or_else(|| self.plan.task(id))
    }

    pub(super) fn change(&mut self, id: &Id, change: impl FnOnce(&mut Task)) {
        if let Some(mut task) = self.task(id).cloned() {
            change(&mut task);
            self.changed.insert(id.clone(), task);
        }
    }

    /// An id for a new task.
    pub(super) fn task_id(&mut self, spec: Option<&str>) -> Id {
        let taken = &self.taken;
        let id = self.codec.fresh_id(&self.plan, spec, &|id| taken.contains(id), self.pen.random);
        self.taken.insert(id.clone());
        id
    }

    /// A new issue, unless one says the same already.
    pub(super) fn raise(&mut self, issue: Issue) {
        let desc = clip(issue.desc.trim(), DESCRIPTION);
        let words = WordSet::new(&desc);
        let known = self.plan.scoped_issues().find(|i| words.similar(&WordSet::new(&i.desc)));
        if let Some(known) = known.map(|i| i.id.clone()) {
            let desc = short(&desc);
            return self.note(format!("“{desc}” is an issue already: {known}"));
        }
        if self.raised.iter().any(|other| other.similar(&words)) {
            return self.note(format!("“{}” was told twice", short(&desc)));
        }
        self.raised.push(words);
        let id = self.issue_id();
        self.note(format!("{id}: {}", short(&desc)));
        self.came.raised.push(id.clone());
        let spec = issue.spec.or_else(|| self.plan.current_spec.clone());
        self.edits.push(PlanEdit::AddIssue(Issue { id, desc, spec, ..issue }));
    }

    fn issue_id(&mut self) -> Id {
        let taken = &self.taken;
        let id = fresh_issue_id(&|id| taken.contains(id), self.pen.random);
        self.taken.insert(id.clone());
        id
    }

    /// Give up on a task; an issue takes its place.
    pub(super) fn fail(&mut self, id: &Id, reason: &str) {
        let issue = self.issue_id();
        match verbs::fail(&self.plan, id, reason, self.pen.at, issue.clone()) {
            Ok(edits) => {
                self.came.failed.push(id.clone());
                if self.plan.format.buries_tasks() {
                    self.came.raised.push(issue);
                }
                self.edits.extend(edits);
            }
            Err(refusal) => self.note(refusal.to_string()),
        }
    }

    /// Whatever waits for `old` waits for `new` instead.
    pub(super) fn repoint(&mut self, old: &Id, new: &[Id]) {
        let waiting = |task: &&Task| task.deps.contains(old) && self.in_scope(task);
        let ids: Vec<Id> = self.plan.tasks.iter().filter(waiting).map(|t| t.id.clone()).collect();
        for id in ids {
            self.change(&id, |task| {
                let mut deps: Vec<Id> = Vec::with_capacity(task.deps.len() + new.len());
                for dep in std::mem::take(&mut task.deps) {
                    match dep == *old {
                        true => deps.extend(new.iter().filter(|n| **n != task.id).cloned()),
                        false => deps.push(dep),
                    }
                }
                task.deps = unique(deps);
            });
        }
    }

    /// Whether a task is the current spec's.
    pub(super) fn in_scope(&self, task: &Task) -> bool {
        self.plan.in_scope(task.spec.as_deref())
    }

    /// Make the changes of this round.
    pub(super) fn commit(&mut self) -> Result<(), EditError> {
        self.break_circles();
        let mut edits = std::mem::take(&mut self.edits);
        let changed = std::mem::take(&mut self.changed);
        edits.extend(changed.into_values().map(PlanEdit::UpdateTask));
        let added = in_order(std::mem::take(&mut self.added));
        edits.extend(added.into_iter().map(|task| PlanEdit::AddTask { task, after: None }));
        self.raised.clear();
        if !edits.is_empty() {
            self.text = self.codec.edit_parsed(&self.plan, &self.text, &edits)?;
            self.plan = self.codec.parse(&self.text)?;
        }
        Ok(())
    }

    /// Give open tasks that `which` picks a priority, where the format has any.
    pub(super) fn prioritize(
        &mut self,
        which: impl Fn(&Plan, &Task) -> bool,
    ) -> Result<(), EditError> {
        if self.plan.format == PlanFormat::Progress {
            return Ok(());
        }
        for edit in prioritize(&self.plan, None).edits {
            if let PlanEdit::UpdateTask(task) = edit
                && which(&self.plan, &task)
            {
                self.changed.insert(task.id.clone(), task);
            }
        }
        self.commit()
    }

    /// A new task may not close a circle: what it asked for itself is taken back first.
    fn break_circles(&mut self) {
        let links: usize = self.added.iter().map(|task| task.deps.len()).sum();
        for _ in 0..links {
            let old = self.plan.tasks.iter().map(|t| self.changed.get(&t.id).unwrap_or(t));
            let all: Vec<&Task> = old.chain(&self.added).collect();
            let found = cycles(&all).into_iter().find_map(|cycle| {
                let at = self.added.iter().position(|task| cycle.contains(&task.id))?;
                Some((at, cycle))
            });
            let Some((at, cycle)) = found else { return };
            self.added[at].deps.retain(|dep| !cycle.contains(dep));
            let id = self.added[at].id.clone();
            self.note(format!("{id} would wait for itself; it does not wait any more"));
        }
    }

    pub(super) fn finish(mut self) -> Result<AppliedChange, EditError> {
        self.commit()?;
        let notes = &mut self.came.notes;
        if notes.len() > NOTES {
            let more = notes.len() - NOTES;
            notes.truncate(NOTES);
            notes.push(format!("and {more} more remarks"));
        }
        Ok(AppliedChange { text: self.text, came: self.came })
    }

    /// The text of the last round, to be changed by hand.
    pub(super) fn rewrite(
        &mut self,
        change: impl FnOnce(&str, &str) -> Result<String, EditError>,
    ) -> Result<(), EditError> {
        self.commit()?;
        self.text = change(&self.text, self.pen.at)?;
        self.plan = self.codec.parse(&self.text)?;
        Ok(())
    }
}

/// Shorten a text to one line for a note.
pub(super) fn short(text: &str) -> String {
    clip(&one_line(text), SHORT)
}

/// The ids without those that stand there already.
pub(super) fn unique(ids: Vec<Id>) -> Vec<Id> {
    let mut seen = BTreeSet::new();
    ids.into_iter().filter(|id| seen.insert(id.clone())).collect()
}

/// New tasks, each after those of them that it needs: not every format can say what needs what.
fn in_order(mut left: Vec<Task>) -> Vec<Task> {
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let free = |task: &Task| !left.iter().any(|other| task.deps.contains(&other.id));
        let next = left.iter().position(free).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}
