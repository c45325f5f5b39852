//! A three-way merge of plans of one format.

use std::collections::{BTreeMap, BTreeSet};

use super::lines::{ConflictRule, merge_lines};
use super::standing::{TaskStanding, TaskStandings, ids_in_order};
use crate::format::{ParseError, PlanCodec, PlanFormat, codec, detect};
use crate::plan::{Id, Issue, Plan, PlanEdit, Retirement, Task, TaskState};

/// Rounds of edits that bring a text to what it has to mean; a status and its words need two.
const MOST_ROUNDS: usize = 4;

/// The three texts of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanSides<'a> {
    /// The file's name, for its format.
    pub name: &'a str,
    /// The common ancestor; `None` where none is known.
    pub base: Option<&'a str>,
    /// Text that ralph wrote.
    pub ours: &'a str,
    /// The text that a person wrote, or that their branch has.
    pub theirs: &'a str,
}

/// Whose status counts where both sides changed it.
#[derive(Clone, Copy, Debug)]
pub enum StatusRule<'a> {
    /// Theirs, unless it reopens or removes one of these tasks, whose work has landed.
    TheirsUnlessLanded(&'a BTreeSet<Id>),
    /// Ours, except for these tasks, whose work is missing on their side.
    OursUnlessMissing(&'a BTreeSet<Id>),
    /// Ours, except for these tasks, which keep their status and our words.
    OursUnlessOpen(&'a BTreeSet<Id>),
}

/// One difference between their plan and the common ancestor, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanChange {
    /// A new task is in the merged plan.
    TaskAdded(Id),
    /// New values of a task are.
    TaskChanged(Id),
    /// A task was taken out of it.
    TaskDeleted(Id),
    /// An issue was added, changed or removed.
    IssueChanged(Id),
    /// A status was not believed, because the task's work has landed.
    StatusRefused {
        id: Id,
        /// The refused status as one word.
        said: &'static str,
    },
    /// A task whose work is done was not taken out.
    DeletionRefused(Id),
    /// A task was changed after it had been accepted and had left the plan.
    TaskLeftPlan(Id),
}

/// Merged plan, with the changes that came from their side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedPlan {
    /// New text of the plan file.
    pub text: String,
    /// Changes of their side, in plan order.
    pub changes: Vec<PlanChange>,
}

/// Reason why two texts of a plan cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanMergeError {
    #[error("{0}")]
    Theirs(ParseError),
    #[error("{0}")]
    Ours(ParseError),
    /// The texts have different formats.
    #[error("it was {before} and is {now} now")]
    Format { before: PlanFormat, now: PlanFormat },
    /// No text says all that both sides say.
    #[error("its changes cannot be combined with those of the run")]
    Irreconcilable,
}

/// Merge two texts of a plan. `at` is the time for records of the past, RFC 3339.
pub fn merge_plan(
    sides: PlanSides<'_>,
    rule: StatusRule<'_>,
    at: &str,
) -> Result<MergedPlan, PlanMergeError> {
    let format = detect(sides.name, sides.ours).map_err(PlanMergeError::Ours)?;
    let now = detect(sides.name, sides.theirs).map_err(PlanMergeError::Theirs)?;
    if now != format {
        return Err(PlanMergeError::Format { before: format, now });
    }
    let codec = codec(format);
    let ours = codec.parse(sides.ours).map_err(PlanMergeError::Ours)?;
    let theirs = codec.parse(sides.theirs).map_err(PlanMergeError::Theirs)?;
    // An ancestor that cannot be read says nothing about who changed what.
    let base_text = sides.base.filter(|text| codec.parse(text).is_ok());
    let base = base_text.and_then(|text| codec.parse(text).ok());
    let base = base.unwrap_or_else(|| Plan::empty(format));
    let wanted = MergeGoal::between(&base, &ours, &theirs, rule);
    let conflicts = match format {
        PlanFormat::Jsonl => ConflictRule::KeepBothByRecord,
        _ => ConflictRule::KeepBoth,
    };
    let by_lines = base_text.map(|text| merge_lines(text, sides.ours, sides.theirs, conflicts));
    // Their text keeps what ralph does not model; ours is the last resort.
    let candidates = [by_lines.as_deref(), Some(sides.theirs), Some(sides.ours)];
    let mut texts = candidates.into_iter().flatten();
    let text = texts.find_map(|text| wanted.write_into(codec, text, at));
    let text = text.ok_or(PlanMergeError::Irreconcilable)?;
    Ok(MergedPlan { text, changes: wanted.changes })
}

/// The tasks and issues that the merged plan has to have.
struct MergeGoal {
    tasks: Vec<(Id, TaskStanding)>,
    issues: Vec<(Id, Option<Issue>)>,
    spec: Option<String>,
    changes: Vec<PlanChange>,
}

impl MergeGoal {
    fn between(base: &Plan, ours: &Plan, theirs: &Plan, rule: StatusRule<'_>) -> Self {
        let standings = [base, ours, theirs].map(TaskStandings::of);
        let mut changes = Vec::new();
        let merge = |id: Id| {
            let [base, ours, theirs] = standings.each_ref().map(|plan| plan.get(&id));
            let sides = TaskSides { id: &id, base, ours, theirs };
            let standing = sides.merge(rule, &mut changes);
            (id, standing)
        };
        let tasks = ids_in_order(&[theirs, ours]).into_iter().map(merge).collect();
        let issues = merge_issues([base, ours, theirs], &mut changes);
        let spec = match theirs.current_spec == base.current_spec {
            true => ours.current_spec.clone(),
            false => theirs.current_spec.clone(),
        };
        Self { tasks, issues, spec, changes }
    }

    /// The text with everything that is wanted in it. `None`: edits cannot make it so.
    fn write_into(&self, codec: &dyn PlanCodec, text: &str, at: &str) -> Option<String> {
        let mut text = text.to_owned();
        for _ in 0..MOST_ROUNDS {
            let plan = codec.parse(&text).ok()?;
            let mut ids = BTreeSet::new();
            if !plan.tasks.iter().all(|task| ids.insert(&task.id)) {
                return None;
            }
            let edits = self.missing_in(&plan, at);
            if edits.is_empty() {
                return Some(text);
            }
            text = codec.edit_parsed(&plan, &text, &edits).ok()?;
        }
        None
    }

    /// Edits that bring a plan nearer to what is wanted.
    fn missing_in(&self, plan: &Plan, at: &str) -> Vec<PlanEdit> {
        let standings = TaskStandings::of(plan);
        let known: BTreeSet<&Id> = self.tasks.iter().map(|(id, _)| id).collect();
        let mut edits: Vec<PlanEdit> = self
            .tasks
            .iter()
            .filter_map(|(id, wanted)| {
                missing_in_task(plan.format, id, standings.get(id), wanted, at)
            })
            .collect();
        // Both sides removed it, and the merge of the texts has it back.
        let extra = standings.ids().filter(|id| !known.contains(id));
        edits.extend(extra.filter_map(|id| {
            missing_in_task(plan.format, id, standings.get(id), &TaskStanding::Absent, at)
        }));
        for (id, wanted) in &self.issues {
            let now = plan.issue(id).map(without_line);
            edits.extend(match (now, wanted) {
                (None, Some(issue)) => Some(PlanEdit::AddIssue(issue.clone())),
                (Some(now), Some(issue)) if now != *issue => {
                    Some(PlanEdit::UpdateIssue(issue.clone()))
                }
                (Some(_), None) => Some(PlanEdit::RemoveIssue(id.clone())),
                _ => None,
            });
        }
        let spec = self.spec.iter().filter(|spec| plan.current_spec.as_ref() != Some(spec));
        edits.extend(spec.cloned().map(PlanEdit::UseSpec));
        edits
    }
}

/// Standing of one task in the base, in ours and in theirs.
struct TaskSides<'a> {
    id: &'a Id,
    base: &'a TaskStanding,
    ours: &'a TaskStanding,
    theirs: &'a TaskStanding,
}

impl TaskSides<'_> {
    fn merge(&self, rule: StatusRule<'_>, changes: &mut Vec<PlanChange>) -> TaskStanding {
        match rule {
            StatusRule::OursUnlessMissing(missing) if missing.contains(self.id) => {
                self.without_our_work()
            }
            StatusRule::OursUnlessOpen(open) if open.contains(self.id) => {
                match (self.theirs, self.ours) {
                    (TaskStanding::Live(theirs), TaskStanding::Live(ours)) => {
                        TaskStanding::Live(with_status_of(theirs, ours.clone()))
                    }
                    (_, TaskStanding::Absent) => TaskStanding::Absent,
                    _ => self.without_our_work(),
                }
            }
            _ if self.theirs == self.base || self.theirs == self.ours => self.ours.clone(),
            StatusRule::OursUnlessMissing(_) | StatusRule::OursUnlessOpen(_) => {
                let (merged, change) = self.combine(rule);
                changes.extend(change);
                merged
            }
            StatusRule::TheirsUnlessLanded(landed) => {
                let (merged, change) = self.combine(rule);
                let (merged, change) = match landed.contains(self.id) && self.ours.is_done() {
                    true => self.believe_landing(merged, change),
                    false => (merged, change),
                };
                changes.extend(change);
                merged
            }
        }
    }

    /// The task as the other side has it, or as open work where it has none.
    fn without_our_work(&self) -> TaskStanding {
        match (self.theirs, self.ours) {
            (TaskStanding::Absent, TaskStanding::Live(task) | TaskStanding::Buried(task)) => {
                TaskStanding::Live(Task {
                    state: TaskState::Pending,
                    done_at: None,
                    ..task.clone()
                })
            }
            (theirs, _) => theirs.clone(),
        }
    }

    fn combine(&self, rule: StatusRule<'_>) -> (TaskStanding, Option<PlanChange>) {
        use TaskStanding::{Absent, Buried, Live};
        let id = || self.id.clone();
        let (merged, change) = match (self.ours, self.theirs) {
            (ours, theirs) if ours == self.base => (theirs.clone(), self.change()),
            (Live(ours), Live(theirs)) => {
                (Live(merge_tasks(self.base.live(), ours, theirs, rule)), self.change())
            }
            (Live(_), Absent) if self.ours.is_done() => {
                (self.ours.clone(), PlanChange::DeletionRefused(id()))
            }
            (Live(_), theirs) => (theirs.clone(), self.change()),
            (Buried(_), Live(_)) if self.ours.is_done() => {
                (self.ours.clone(), PlanChange::TaskLeftPlan(id()))
            }
            (Buried(_), Live(_)) => match rule {
                StatusRule::TheirsUnlessLanded(_) => (self.theirs.clone(), self.change()),
                StatusRule::OursUnlessMissing(_) | StatusRule::OursUnlessOpen(_) => {
                    (self.ours.clone(), self.change())
                }
            },
            (Buried(_), _) => return (self.ours.clone(), None),
            (Absent, theirs) => (theirs.clone(), self.change()),
        };
        (merged, Some(change))
    }

    fn change(&self) -> PlanChange {
        match (self.base, self.theirs) {
            (_, TaskStanding::Absent) => PlanChange::TaskDeleted(self.id.clone()),
            (TaskStanding::Absent, _) => PlanChange::TaskAdded(self.id.clone()),
            _ => PlanChange::TaskChanged(self.id.clone()),
        }
    }

    /// The task as landed, with their words.
    fn believe_landing(
        &self,
        merged: TaskStanding,
        change: Option<PlanChange>,
    ) -> (TaskStanding, Option<PlanChange>) {
        if merged.is_gone() {
            return (self.ours.clone(), Some(PlanChange::DeletionRefused(self.id.clone())));
        }
        if merged.is_done() {
            return (merged, change);
        }
        let said = merged.live().map_or("pending", |task| task.state.word());
        let merged = match (self.ours, merged) {
            (TaskStanding::Live(ours), TaskStanding::Live(words)) => {
                TaskStanding::Live(with_status_of(ours, words))
            }
            (ours, _) => ours.clone(),
        };
        (merged, Some(PlanChange::StatusRefused { id: self.id.clone(), said }))
    }
}

/// A task with the status of another.
fn with_status_of(status: &Task, words: Task) -> Task {
    let Task { state, retries, done_at, reject, .. } = status.clone();
    Task { state, retries, done_at, reject, ..words }
}

/// A task that both sides have, field by field.
fn merge_tasks(base: Option<&Task>, ours: &Task, theirs: &Task, rule: StatusRule<'_>) -> Task {
    let Some(base) = base else { return with_status_of(ours, theirs.clone()) };
    macro_rules! merge {
        ($($field:ident),+) => {
            Task {
                $($field: match theirs.$field == base.$field {
                    true => ours.$field.clone(),
                    false => theirs.$field.clone(),
                },)+
                line: 0,
            }
        };
    }
    let merged = merge!(
        id,
        name,
        spec,
        state,
        notes,
        accept,
        deps,
        priority,
        auto_priority,
        retries,
        max_retries,
        max_turns,
        timeout_ms,
        skills,
        libraries,
        needs_docs,
        parent,
        created_from,
        done_at,
        reject,
        phase
    );
    let changed = ours.state != base.state || ours.retries != base.retries;
    match rule {
        StatusRule::OursUnlessMissing(_) | StatusRule::OursUnlessOpen(_) if changed => {
            with_status_of(ours, merged)
        }
        _ => merged,
    }
}

fn without_line(issue: &Issue) -> Issue {
    Issue { line: 0, ..issue.clone() }
}

fn merge_issues(plans: [&Plan; 3], changes: &mut Vec<PlanChange>) -> Vec<(Id, Option<Issue>)> {
    let [base, ours, theirs] = plans.map(|plan| {
        let issues = plan.issues.iter().map(|issue| (issue.id.clone(), without_line(issue)));
        issues.collect::<BTreeMap<_, _>>()
    });
    let order = plans[2].issues.iter().chain(&plans[1].issues).map(|issue| &issue.id);
    let mut known = BTreeSet::new();
    let ids = order.filter(|id| known.insert(*id));
    ids.map(|id| {
        let merged = match (base.get(id), ours.get(id), theirs.get(id)) {
            (base, ours, theirs) if theirs == base || theirs == ours => ours,
            (_, _, theirs) => {
                changes.push(PlanChange::IssueChanged(id.clone()));
                theirs
            }
        };
        (id.clone(), merged.cloned())
    })
    .collect()
}

/// The edit that brings one task nearer to what is wanted.
fn missing_in_task(
    format: PlanFormat,
    id: &Id,
    now: &TaskStanding,
    wanted: &TaskStanding,
    at: &str,
) -> Option<PlanEdit> {
    use TaskStanding::{Absent, Buried, Live};
    match (now, wanted) {
        (Live(now), Live(wanted)) => change_of(format, now, wanted, at),
        (_, Live(wanted)) => Some(PlanEdit::AddTask { task: wanted.clone(), after: None }),
        (Live(_), Buried(wanted)) => retire(wanted, at),
        (Buried(now), Buried(wanted)) if now.state.word() == wanted.state.word() => None,
        (_, Buried(wanted)) => Some(PlanEdit::AddTask { task: wanted.clone(), after: None }),
        (Live(_), Absent) => Some(PlanEdit::Retire {
            id: id.clone(),
            how: Retirement::Deleted,
            reason: None,
            at: at.to_owned(),
        }),
        (_, Absent) => None,
    }
}

fn change_of(format: PlanFormat, now: &Task, wanted: &Task, at: &str) -> Option<PlanEdit> {
    if essence(format, now) == essence(format, wanted) {
        return None;
    }
    let is_final =
        matches!(wanted.state, TaskState::Accepted | TaskState::Failed(_) | TaskState::Skipped);
    if !is_final || now.state == wanted.state {
        return Some(PlanEdit::UpdateTask(wanted.clone()));
    }
    let words = Task { state: now.state.clone(), ..wanted.clone() };
    match essence(format, now) == essence(format, &words) {
        true => retire(wanted, at),
        false => Some(PlanEdit::UpdateTask(words)),
    }
}

/// A task without what follows from its history.
fn essence(format: PlanFormat, task: &Task) -> Task {
    let mut task = Task { line: 0, done_at: None, auto_priority: None, ..task.clone() };
    if let TaskState::Failed(_) = task.state {
        task.state = TaskState::Failed(None);
    }
    if format == PlanFormat::Progress {
        // They are counted from Recent Attempts.
        (task.retries, task.reject) = (0, None);
    }
    task
}

fn retire(task: &Task, at: &str) -> Option<PlanEdit> {
    let (how, reason) = match &task.state {
        TaskState::Accepted => (Retirement::Accepted, None),
        TaskState::Failed(reason) => (Retirement::Failed, reason.clone()),
        TaskState::Skipped => (Retirement::Skipped, None),
        _ => return None,
    };
    let at = task.done_at.clone().unwrap_or_else(|| at.to_owned());
    Some(PlanEdit::Retire { id: task.id.clone(), how, reason, at })
}
