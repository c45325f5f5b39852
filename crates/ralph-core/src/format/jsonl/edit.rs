//! Edits to splices: lines changed in place, lines taken out, lines added at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::write::{self, RecordMember, RecordMembers, STATE_KEYS};
use crate::format::{EditError, ParseError, PlanFormat};
use crate::json::{self, JsonEditor, MemberChange};
use crate::lines::{self, LinePosition};
use crate::plan::{Id, Issue, Plan, PlanEdit, Retirement, Task, TaskState};
use crate::text::{self, Splice, SpliceOverlap};

/// The text with all `edits` made; `plan` is what it says.
pub(super) fn edit(plan: &Plan, text: &str, edits: &[PlanEdit]) -> Result<String, EditError> {
    let mut batch = JsonlBatch::new(text, plan);
    for edit in edits {
        batch.take(edit)?;
    }
    batch.finish()
}

#[derive(Clone, Copy)]
enum JsonlItem<'a> {
    Task(&'a Task),
    Issue(&'a Issue),
}

impl<'a> JsonlItem<'a> {
    fn id(self) -> &'a Id {
        match self {
            Self::Task(task) => &task.id,
            Self::Issue(issue) => &issue.id,
        }
    }

    fn line(self) -> usize {
        match self {
            Self::Task(task) => task.line,
            Self::Issue(issue) => issue.line,
        }
    }
}

/// Place of a new record in the file.
#[derive(Clone, Copy)]
enum RecordPlace {
    At(usize),
    /// Behind the last line, which has no line end.
    LastLine,
    End,
}

/// The edits of one call, worked out against one old text.
struct JsonlBatch<'a> {
    text: &'a str,
    lines: Vec<LinePosition>,
    /// Live tasks and issues, sorted by id.
    items: Vec<JsonlItem<'a>>,
    splices: Vec<Splice>,
    /// Records that follow a last line without its line end.
    last_line: Vec<String>,
    /// Records for the end of the file.
    tail: Vec<String>,
    /// New tasks, and where they went.
    placed: BTreeMap<Id, RecordPlace>,
    /// Ids that an edit was about.
    touched: BTreeSet<Id>,
    /// The end of the old text that is taken out, if it is.
    removed_end: Option<usize>,
}

impl<'a> JsonlBatch<'a> {
    fn new(text: &'a str, plan: &'a Plan) -> Self {
        let tasks = plan.tasks.iter().map(JsonlItem::Task);
        let mut items: Vec<JsonlItem<'a>> =
            tasks.chain(plan.issues.iter().map(JsonlItem::Issue)).collect();
        items.sort_by_key(|item| (item.id(), item.line()));
        Self {
            text,
            lines: lines::lines(text).collect(),
            items,
            splices: Vec::new(),
            last_line: Vec::new(),
            tail: Vec::new(),
            placed: BTreeMap::new(),
            touched: BTreeSet::new(),
            removed_end: None,
        }
    }

    fn take(&mut self, edit: &PlanEdit) -> Result<(), EditError> {
        match edit {
            PlanEdit::AddTask { task, after } => self.add_task(task, after.as_ref()),
            PlanEdit::UpdateTask(task) => self.update_task(task),
            PlanEdit::Retire { id, how, reason, at } => self.retire(id, *how, reason.as_ref(), at),
            PlanEdit::Reject { id, reason, at } => self.reject(id, reason, at),
            PlanEdit::AddIssue(issue) => {
                self.claim_new(&issue.id)?;
                self.tail.push(write::record(write::issue(issue)));
                Ok(())
            }
            PlanEdit::UpdateIssue(issue) => self.update_issue(issue),
            PlanEdit::RemoveIssue(id) => {
                let issue = self.issue(id)?;
                self.remove_line(issue.line)
            }
            PlanEdit::UseSpec(spec) => {
                let record = vec![("t", Some("spec".into())), ("spec", Some(spec.as_str().into()))];
                self.tail.push(write::record(record));
                Ok(())
            }
            PlanEdit::AcceptSpec { spec, at } => {
                self.tail.push(write::record(vec![
                    ("t", Some("accept".into())),
                    ("spec", Some(spec.as_str().into())),
                    ("at", Some(at.as_str().into())),
                ]));
                Ok(())
            }
        }
    }

    fn add_task(&mut self, task: &Task, after: Option<&Id>) -> Result<(), EditError> {
        if let Some(tombstone) = tombstone_of_new(task) {
            self.tail.push(tombstone);
            return Ok(());
        }
        let place = match after {
            None => RecordPlace::End,
            Some(id) => self.place_after(id)?,
        };
        self.claim_new(&task.id)?;
        let record = write::record(write::task(task));
        match place {
            RecordPlace::At(offset) => {
                let line = format!("{record}{}", text::newline(self.text));
                self.splices.push(Splice::insert(offset, line));
            }
            RecordPlace::LastLine => self.last_line.push(record),
            RecordPlace::End => self.tail.push(record),
        }
        self.placed.insert(task.id.clone(), place);
        Ok(())
    }

    /// Return the place for a record after the one with this id, even if that one is new as well.
    fn place_after(&self, id: &Id) -> Result<RecordPlace, EditError> {
        if let Some(place) = self.placed.get(id) {
            return Ok(*place);
        }
        let line = self.line(self.find(id)?.line())?;
        Ok(if line.is_closed() { RecordPlace::At(line.end) } else { RecordPlace::LastLine })
    }

    fn update_task(&mut self, new: &Task) -> Result<(), EditError> {
        if matches!(new.state, TaskState::Accepted | TaskState::Failed(_) | TaskState::Skipped) {
            let what = format!("a live task that is {}", new.state.word());
            return Err(EditError::Unsupported { format: PlanFormat::Jsonl, what });
        }
        let old = self.task(&new.id)?;
        self.change_task(old, new)
    }

    fn change_task(&mut self, old: &Task, new: &Task) -> Result<(), EditError> {
        let changes = changes(&write::task(old), write::task(new));
        self.change_line(old.line, &changes)
    }

    fn update_issue(&mut self, new: &Issue) -> Result<(), EditError> {
        let old = self.issue(&new.id)?;
        let changes = changes(&write::issue(old), write::issue(new));
        self.change_line(old.line, &changes)
    }

    fn reject(&mut self, id: &Id, reason: &str, at: &str) -> Result<(), EditError> {
        let old = self.task(id)?;
        let new = Task {
            state: TaskState::Pending,
            reject: Some(reason.to_owned()),
            retries: old.retries.saturating_add(1),
            done_at: None,
            ..old.clone()
        };
        self.change_task(old, &new)?;
        let mut record = write::tombstone("reject", old);
        record.extend([("reason", Some(reason.into())), ("at", Some(at.into()))]);
        self.tail.push(write::record(record));
        Ok(())
    }

    fn retire(
        &mut self,
        id: &Id,
        how: Retirement,
        reason: Option<&String>,
        at: &str,
    ) -> Result<(), EditError> {
        let task = self.task(id)?;
        let line = self.line(task.line)?;
        let old = self.text.get(line.span).unwrap_or_default().trim();
        let rest = [("reason", write::text(reason)), ("at", Some(at.into()))];
        self.tail.push(match how {
            Retirement::Accepted => write::record(accepted(task).into_iter().chain(rest).collect()),
            Retirement::Failed => buried("reject", task, rest, old),
            Retirement::Skipped | Retirement::Deleted => buried("delete", task, rest, old),
        });
        self.remove_line(task.line)
    }

    fn change_line(&mut self, line: usize, changes: &[MemberChange]) -> Result<(), EditError> {
        let span = self.line(line)?.span;
        let located = |e: json::JsonError| e.in_text(self.text);
        let node = json::parse_in(self.text, span).map_err(located)?;
        let splices = JsonEditor::new(self.text, &node).object(&node, changes).map_err(located)?;
        self.splices.extend(splices);
        Ok(())
    }

    fn remove_line(&mut self, line: usize) -> Result<(), EditError> {
        let line = self.line(line)?;
        self.removed_end = self.removed_end.max(Some(line.end));
        self.splices.push(Splice::remove(line.with_end()));
        Ok(())
    }

    fn line(&self, number: usize) -> Result<LinePosition, ParseError> {
        let line = number.checked_sub(1).and_then(|i| self.lines.get(i));
        line.cloned().ok_or_else(|| ParseError::new(number, "this line is not there"))
    }

    /// The only live record with this id.
    fn find(&self, id: &Id) -> Result<JsonlItem<'a>, EditError> {
        let first = self.items.partition_point(|item| item.id() < id);
        let same: Vec<JsonlItem<'a>> = self.items[first..]
            .iter()
            .copied()
            .take_while(|item| item.id() == id)
            .take(2)
            .collect();
        match same.as_slice() {
            [] => Err(EditError::Unknown(id.clone())),
            [one] => Ok(*one),
            [one, other, ..] => {
                let lines = (one.line(), other.line());
                Err(EditError::Ambiguous { id: id.clone(), lines })
            }
        }
    }

    /// The live task that an edit is about.
    fn task(&mut self, id: &Id) -> Result<&'a Task, EditError> {
        match self.find(id)? {
            JsonlItem::Task(task) => self.claim(id, task.line).map(|()| task),
            JsonlItem::Issue(_) => Err(EditError::Unknown(id.clone())),
        }
    }

    /// The issue that an edit is about.
    fn issue(&mut self, id: &Id) -> Result<&'a Issue, EditError> {
        match self.find(id)? {
            JsonlItem::Issue(issue) => self.claim(id, issue.line).map(|()| issue),
            JsonlItem::Task(_) => Err(EditError::Unknown(id.clone())),
        }
    }

    /// One edit for each old record: two would be worked out without knowing of each other.
    fn claim(&mut self, id: &Id, line: usize) -> Result<(), EditError> {
        match self.touched.insert(id.clone()) {
            true => Ok(()),
            false => Err(SpliceOverlap(self.line(line)?.span.start).into()),
        }
    }

    /// An id for a new record must be free.
    fn claim_new(&mut self, id: &Id) -> Result<(), EditError> {
        let free = matches!(self.find(id), Err(EditError::Unknown(_)));
        match free && self.touched.insert(id.clone()) {
            true => Ok(()),
            false => Err(EditError::Taken(id.clone())),
        }
    }

    fn finish(mut self) -> Result<String, EditError> {
        let mut new = self.last_line;
        new.append(&mut self.tail);
        if !new.is_empty() {
            let newline = text::newline(self.text);
            let start = match self.removed_end == Some(self.text.len()) {
                true => "",
                false => lines::missing_end(self.text),
            };
            let records: String = new.iter().flat_map(|r| [r.as_str(), newline]).collect();
            self.splices.push(Splice::insert(self.text.len(), format!("{start}{records}")));
        }
        Ok(text::splice(self.text, self.splices)?)
    }
}

/// Return the changes that turn the members `before` into `after`.
///
/// A file may encode a state in an unusual way, such as a kill on a claimed task. So a state that
/// changes is written as a whole, not as a difference.
fn changes(before: &RecordMembers, after: RecordMembers) -> Vec<MemberChange> {
    let differs = |(old, new): (&RecordMember, &RecordMember)| old != new;
    let of_state = |key: &str| STATE_KEYS.contains(&key);
    let moved = before.iter().zip(&after).any(|pair| of_state(pair.1.0) && differs(pair));
    let mut changes = Vec::new();
    for (old, new) in before.iter().zip(after) {
        if differs((old, &new)) || (moved && of_state(new.0)) {
            let key = new.0.to_owned();
            changes.push(match new.1 {
                Some(value) => MemberChange::Set(key, value),
                None => MemberChange::Remove(key),
            });
        }
    }
    if moved {
        changes.push(MemberChange::Remove("kill".to_owned()));
    }
    changes
}

/// The tombstone that stands for a task which comes into the file already over.
fn tombstone_of_new(task: &Task) -> Option<String> {
    let old = || write::record(write::task(task));
    match &task.state {
        TaskState::Accepted => {
            let mut record = accepted(task);
            // `done_at` may be a commit; `at` is a time.
            let at = task.done_at.as_ref().filter(|at| !text::is_commit_id(at));
            record.push(("at", write::text(at)));
            Some(write::record(record))
        }
        TaskState::Failed(reason) => {
            Some(buried("reject", task, [("reason", write::text(reason.as_ref()))], &old()))
        }
        TaskState::Skipped => Some(buried("delete", task, [], &old())),
        TaskState::Pending
        | TaskState::Running
        | TaskState::Done
        | TaskState::Killed(_)
        | TaskState::Blocked(_) => None,
    }
}

/// The start of an accept record.
fn accepted(task: &Task) -> RecordMembers {
    let mut record = write::tombstone("accept", task);
    record.push(("spec", write::text(task.spec.as_ref())));
    record.push(("done_at", write::text(task.done_at.as_ref())));
    record
}

/// A tombstone that carries the whole task.
fn buried(
    kind: &str,
    task: &Task,
    rest: impl IntoIterator<Item = RecordMember>,
    old: &str,
) -> String {
    let record = write::tombstone(kind, task).into_iter().chain(rest).collect();
    write::record_with_task(record, old)
}
