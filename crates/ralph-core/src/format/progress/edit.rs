//! A batch of edits worked out against one old text.
//!
//! Every edit becomes splices of the old text. Ids follow from names, so before anything is written
//! the names of all tasks after the batch are put in file order and numbered; entries in Recent
//! Attempts that name a task whose id changes are changed with it. At the end the new text is read
//! again: if a task is not there as it should be, there is an error and no text.

use std::collections::{BTreeMap, BTreeSet};

use super::add::TaskAdditions;
use super::attempts::{self, EntryVerdict, RecentAttempt};
use super::doc::{ProgressDoc, ProgressSectionKind};
use super::wanted::TaskContent;
use super::{ident, lines, record, swallowed, unsupported, view};
use crate::format::EditError;
use crate::plan::{Id, PlanEdit, Retirement, Task, TaskState};
use crate::text::{Splice, splice};

/// Return the text after all `edits`.
pub(super) fn edit(text: &str, edits: &[PlanEdit]) -> Result<String, EditError> {
    let doc = ProgressDoc::read(text)?;
    if edits.is_empty() {
        return Ok(text.to_owned());
    }
    let mut batch = ProgressBatch::new(&doc);
    for edit in edits {
        batch.take(edit)?;
    }
    batch.finish()
}

/// A task after the batch: one that was there, by index, or an added one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BatchTask {
    Old(usize),
    New(usize),
}

/// A verdict to be written to Recent Attempts.
struct NewMark {
    who: BatchTask,
    verdict: EntryVerdict,
    reason: Option<String>,
}

struct ProgressBatch<'d> {
    doc: &'d ProgressDoc<'d>,
    index: BTreeMap<&'d Id, usize>,
    splices: Vec<Splice>,
    /// The names after the batch of the tasks that were there; `None` is deleted.
    names: Vec<Option<String>>,
    additions: TaskAdditions<'d>,
    marks: Vec<NewMark>,
    /// The tasks that were there and that an edit is about.
    touched: BTreeSet<usize>,
    /// The state words that the touched tasks must have in the end.
    states: BTreeMap<BatchTask, &'static str>,
}

impl<'d> ProgressBatch<'d> {
    fn new(doc: &'d ProgressDoc<'d>) -> Self {
        Self {
            doc,
            index: doc.tasks.iter().enumerate().map(|(n, t)| (&t.task.id, n)).collect(),
            splices: Vec::new(),
            names: doc.tasks.iter().map(|t| Some(t.task.name.clone())).collect(),
            additions: TaskAdditions::new(doc),
            marks: Vec::new(),
            touched: BTreeSet::new(),
            states: BTreeMap::new(),
        }
    }

    fn find(&self, id: &Id) -> Result<usize, EditError> {
        self.index.get(id).copied().ok_or_else(|| EditError::Unknown(id.clone()))
    }

    /// The task that an edit is about.
    fn touch(&mut self, id: &Id) -> Result<usize, EditError> {
        let n = self.find(id)?;
        self.touched.insert(n);
        Ok(n)
    }

    fn take(&mut self, edit: &PlanEdit) -> Result<(), EditError> {
        match edit {
            PlanEdit::AddTask { task, after } => self.add(task, after.as_ref()),
            PlanEdit::UpdateTask(task) => self.update(task),
            PlanEdit::Retire { id, how, reason, .. } => self.retire(id, *how, reason.clone()),
            PlanEdit::Reject { id, reason, .. } => {
                let n = self.touch(id)?;
                self.set_marks(n, CheckboxState::Open, None);
                self.mark(BatchTask::Old(n), EntryVerdict::Rejected, Some(reason.clone()));
                self.states.insert(BatchTask::Old(n), TaskState::Pending.word());
                Ok(())
            }
            PlanEdit::AddIssue(_) | PlanEdit::UpdateIssue(_) | PlanEdit::RemoveIssue(_) => {
                Err(unsupported("issues"))
            }
            PlanEdit::UseSpec(_) | PlanEdit::AcceptSpec { .. } => Err(unsupported("specs")),
        }
    }

    fn add(&mut self, task: &Task, after: Option<&Id>) -> Result<(), EditError> {
        let wanted = TaskContent::of(task)?;
        let anchor = after.map(|id| self.find(id)).transpose()?;
        let who = BatchTask::New(self.additions.len());
        match &wanted.state {
            TaskState::Failed(reason) => self.mark(who, EntryVerdict::Failed, reason.clone()),
            TaskState::Skipped => self.mark(who, EntryVerdict::Skipped, None),
            _ => {}
        }
        self.states.insert(who, wanted.state.word());
        self.additions.push(wanted, anchor);
        Ok(())
    }

    fn retire(&mut self, id: &Id, how: Retirement, why: Option<String>) -> Result<(), EditError> {
        let n = self.touch(id)?;
        match how {
            Retirement::Accepted => self.set_state(n, &TaskState::Accepted, None),
            Retirement::Failed => self.set_state(n, &TaskState::Failed(None), why),
            Retirement::Skipped => self.set_state(n, &TaskState::Skipped, why),
            Retirement::Deleted => {
                self.splices.push(self.removal(n));
                self.names[n] = None;
            }
        }
        Ok(())
    }

    /// The task's lines taken away. A blank line stays where the text below would become part of
    /// the item above.
    fn removal(&self, n: usize) -> Splice {
        let (text, item) = (self.doc.text, self.doc.tasks[n].item.clone());
        let below = item.end..lines::line_end(text, item.end);
        let line = lines::at(text, below.clone());
        let joins = !lines::is_blank(line)
            && !line.starts_with('#')
            && self.doc.outline.items_in(&below).is_empty();
        let mut removal = lines::remove(text, item);
        if joins {
            removal.new = lines::eol(text).to_owned();
        }
        removal
    }

    fn update(&mut self, task: &Task) -> Result<(), EditError> {
        let n = self.touch(&task.id)?;
        if let TaskState::Killed(_) = task.state {
            return Err(unsupported("killed tasks"));
        }
        let wanted = TaskContent::of(task)?;
        let old = &self.doc.tasks[n].task;
        let same_body = wanted.notes == old.notes && wanted.accept == old.accept;
        let fresh_start = task.retries == 0 && old.retries > 0;
        if wanted.name != old.name {
            self.splices.push(Splice::replace(self.doc.tasks[n].name.clone(), &wanted.name));
            self.names[n] = Some(wanted.name.clone());
        }
        if !same_body {
            self.set_body(n, &wanted);
        }
        if wanted.state != old.state {
            let why = match &wanted.state {
                TaskState::Failed(reason) => reason.clone(),
                _ => None,
            };
            self.set_state(n, &wanted.state, why);
        }
        let marked = self.marks.last().is_some_and(|m| m.who == BatchTask::Old(n));
        if fresh_start && !marked {
            self.mark(BatchTask::Old(n), EntryVerdict::Retry, None);
        }
        let changed = wanted.name != old.name || !same_body || wanted.state != old.state;
        match wanted.field_without_a_place(task, old) {
            Some(field) if !changed && !fresh_start => Err(unsupported(field)),
            _ => Ok(()),
        }
    }

    /// Put the task into `state`, whatever it takes.
    fn set_state(&mut self, n: usize, state: &TaskState, why: Option<String>) {
        let given_up = self.doc.tasks[n].verdict.is_some_and(EntryVerdict::is_final);
        let verdict = match state {
            TaskState::Failed(_) => Some(EntryVerdict::Failed),
            TaskState::Skipped => Some(EntryVerdict::Skipped),
            TaskState::Accepted => None,
            _ => given_up.then_some(EntryVerdict::Retry),
        };
        let tick =
            if *state == TaskState::Accepted { CheckboxState::Ticked } else { CheckboxState::Open };
        let blocked =
            if let TaskState::Blocked(reason) = state { Some(reason.as_str()) } else { None };
        self.set_marks(n, tick, blocked);
        if let Some(verdict) = verdict {
            self.mark(BatchTask::Old(n), verdict, why);
        }
        self.states.insert(BatchTask::Old(n), state.word());
    }

    /// Make the box and the `[BLOCKED]` mark say this.
    fn set_marks(&mut self, n: usize, tick: CheckboxState, blocked: Option<&str>) {
        let span = &self.doc.tasks[n];
        if span.ticked != (tick == CheckboxState::Ticked) {
            let mark = if tick == CheckboxState::Ticked { "x" } else { " " };
            self.splices.push(Splice::replace(span.tick.clone(), mark));
        }
        let mark = blocked.map(super::wanted::blocked_mark).unwrap_or_default();
        if lines::at(self.doc.text, span.blocked.clone()) != mark {
            self.splices.push(Splice::replace(span.blocked.clone(), mark));
        }
    }

    /// Make notes and criteria what is wanted, touching the notes only if they change.
    fn set_body(&mut self, n: usize, wanted: &TaskContent) {
        let (text, span) = (self.doc.text, &self.doc.tasks[n]);
        let indent = span.indent(text);
        if wanted.notes != span.task.notes {
            let new = wanted.body(&indent);
            let mut change = lines::insert(text, span.body.start, &new);
            change.range = span.body.clone();
            self.splices.push(change);
            return;
        }
        let added = wanted.accept.strip_prefix(span.task.accept.as_slice());
        if added.is_none() {
            self.splices.extend(span.accepts.iter().map(|r| Splice::remove(r.clone())));
        }
        let new = super::wanted::criteria(&indent, added.unwrap_or(&wanted.accept));
        self.splices.push(lines::insert(text, span.item.end, &new));
    }

    fn mark(&mut self, who: BatchTask, verdict: EntryVerdict, reason: Option<String>) {
        self.marks.push(NewMark { who, verdict, reason });
    }

    /// All changes as one new text.
    fn finish(mut self) -> Result<String, EditError> {
        self.splices.extend(self.additions.splices());
        let after = self.after();
        self.rename_in_attempts(&after);
        self.write_marks(&after);
        let new = splice(self.doc.text, std::mem::take(&mut self.splices))?;
        let read = ProgressDoc::read(&new).map_err(|_| swallowed())?;
        let as_wanted = read.tasks.len() == after.len()
            && read.tasks.iter().zip(&after).all(|(span, slot)| self.is_right(&span.task, slot));
        if as_wanted { Ok(new) } else { Err(swallowed()) }
    }

    /// Whether `task`, read from the new text, is what it should be: as wanted, or as it was.
    fn is_right(&self, task: &Task, slot: &TaskSlot) -> bool {
        let state = task.state.word();
        let as_wanted = self.states.get(&slot.who).is_none_or(|wanted| *wanted == state);
        let as_it_was = match slot.who {
            BatchTask::Old(n) if !self.touched.contains(&n) => {
                let old = &self.doc.tasks[n].task;
                state == old.state.word()
                    && (&task.notes, &task.accept, &task.phase)
                        == (&old.notes, &old.accept, &old.phase)
            }
            _ => true,
        };
        task.name == slot.name && as_wanted && as_it_was
    }

    /// The tasks after the batch, in file order, with their ids.
    fn after(&self) -> Vec<TaskSlot> {
        let old = self.doc.tasks.iter().zip(&self.names).enumerate();
        let old = old.filter_map(|(n, (span, name))| {
            Some((span.item.start, BatchTask::Old(n), name.clone()?))
        });
        let new = self.additions.in_order();
        let new = new.iter().map(|a| (a.at, BatchTask::New(a.nth), a.wanted.name.clone()));
        let mut places: Vec<_> = new.chain(old).collect();
        // The sort is stable: what is added where a task begins comes before that task.
        places.sort_by_key(|(at, ..)| *at);
        let ids = ident::assign(places.iter().map(|(_, _, name)| name.as_str()));
        let places = places.into_iter().zip(ids);
        places.map(|((_, who, name), id)| TaskSlot { who, name, id }).collect()
    }

    /// Let entries follow the tasks whose ids change. Where another task takes over the id of one
    /// that is gone, the id is taken out of the old entries: they are history.
    fn rename_in_attempts(&mut self, after: &[TaskSlot]) {
        let now: BTreeMap<BatchTask, &Id> = after.iter().map(|s| (s.who, &s.id)).collect();
        let used: BTreeSet<&Id> = after.iter().map(|s| &s.id).collect();
        for entry in &self.doc.entries {
            let Some(old) = entry.mark.as_ref().map(|m| &m.id) else { continue };
            let end = entry.tried_at + old.as_str().len();
            match self.index.get(old).and_then(|n| now.get(&BatchTask::Old(*n))) {
                Some(&new) if new != old => {
                    self.splices.push(Splice::replace(entry.tried_at..end, new.as_str()));
                }
                None if used.contains(old) => {
                    let rest = lines::at(self.doc.text, end..lines::line_end(self.doc.text, end));
                    let name = rest.trim_start_matches([' ', '\t', '—', '–', '-']);
                    let end = end + rest.len() - name.len();
                    self.splices.push(Splice::remove(entry.tried_at..end));
                }
                _ => {}
            }
        }
    }

    fn write_marks(&mut self, after: &[TaskSlot]) {
        if self.marks.is_empty() {
            return;
        }
        let slots: BTreeMap<BatchTask, &TaskSlot> = after.iter().map(|s| (s.who, s)).collect();
        let iteration = view::current_iteration(self.doc);
        let entries: Vec<RecentAttempt> = self
            .marks
            .iter()
            .filter_map(|m| {
                let slot = slots.get(&m.who)?;
                let task = (&slot.id, slot.name.as_str());
                Some(attempts::marking(iteration, task, m.verdict, m.reason.as_deref()))
            })
            .collect();
        self.splices.push(record::append(
            self.doc,
            ProgressSectionKind::Attempts,
            &attempts::render_all(&entries),
        ));
    }
}

/// State of a task's checkbox after the edit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckboxState {
    Open,
    Ticked,
}

/// Task of the file after the batch, with its name and id.
struct TaskSlot {
    who: BatchTask,
    name: String,
    id: Id,
}
