//! Amendments: changes of the plan that a backend proposes in its handoff, behind guard rails.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::add::{self, change_deps};
use super::edit::{PlanEdit, Retirement};
use super::input::TaskInput;
use super::model::{Id, Plan, Task, TaskState};
use super::verbs;
use crate::format::{EditError, PlanCodec};
use crate::handoff::{LooseFields, PlanAmendment};
use crate::text::{clip, one_line};

/// Most amendments of one attempt; a longer list in a handoff is refused as a whole.
pub const MAX_AMENDMENTS: usize = 3;

/// Longest word of an action that is written out, in characters; agents choose it.
const ACTION: usize = 40;
/// Longest reason that is written out, in characters.
const REASON: usize = 200;

/// On whose behalf amendments are made.
#[derive(Clone, Copy, Debug)]
pub struct AmendmentAuthor<'a> {
    /// The task that is worked on.
    pub current: Option<&'a Id>,
    /// Number of tasks and issues that the attempt has added so far, with commands or by hand.
    pub used: usize,
    /// Current time, RFC 3339.
    pub at: &'a str,
}

/// A change of the plan that an agent proposed or made, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendmentOutcome {
    /// Requested action: `add`, `modify`, `remove`, or any other word that the agent wrote.
    pub action: String,
    /// The task concerned, where that is known.
    pub id: Option<Id>,
    /// The task's name, where that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Names of the fields that the amendment changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Reason that the agent gave for the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Refused, and why; `None` when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl AmendmentOutcome {
    /// A task that an agent added with a command of ralph or by hand.
    pub fn added(task: &Task) -> Self {
        let (id, name) = (Some(task.id.clone()), task.name.clone());
        Self { action: "add".to_owned(), id, name, ..Self::default() }
    }

    /// Whether a task is not in the plan any more.
    pub fn is_removal(&self) -> bool {
        self.action == "remove" && self.refused.is_none()
    }

    /// The task as people know it: its id and its name.
    pub fn task(&self) -> String {
        let id = self.id.as_ref().map_or("a task", Id::as_str);
        one_line(&format!("{id} {}", self.name))
    }
}

impl std::fmt::Display for AmendmentOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (action, task) = (one_line(&self.action), self.task());
        if let Some(why) = &self.refused {
            return write!(f, "refused to {} {task}: {}", clip(&action, ACTION), one_line(why));
        }
        let verb = match action.as_str() {
            "add" => "added",
            "modify" => "changed",
            _ => "removed",
        };
        match self.fields.as_slice() {
            [] => write!(f, "{verb} {task}")?,
            fields => {
                write!(f, "{verb} {} of {task}", clip(&one_line(&fields.join(", ")), ACTION))?
            }
        }
        match self.reason.as_deref().map(one_line).filter(|reason| !reason.is_empty()) {
            Some(reason) => write!(f, " ({})", clip(&reason, REASON)),
            None => Ok(()),
        }
    }
}

/// Make the amendments one after the other, each on the result of the ones before. A bad one is
/// skipped, the others go on; too many at once are all refused.
pub fn amend(
    codec: &dyn PlanCodec,
    text: &str,
    amendments: &[PlanAmendment],
    by: AmendmentAuthor<'_>,
    random: &mut dyn FnMut() -> String,
) -> Result<(String, Vec<AmendmentOutcome>), EditError> {
    let mut text = text.to_owned();
    let too_many = amendments.len() > MAX_AMENDMENTS;
    let mut room = MAX_AMENDMENTS.saturating_sub(by.used);
    let mut outcomes = Vec::with_capacity(amendments.len());
    for amendment in amendments {
        let plan = codec.parse(&text)?;
        let new_id = || amendment.task.as_ref()?.as_object()?.get("id")?.as_str();
        let id = amendment.task_id.as_deref().or_else(new_id).map(Id::new);
        let mut outcome = AmendmentOutcome {
            action: amendment.action.clone(),
            name: id.as_ref().and_then(|id| plan.task(id)).map_or("", |task| &task.name).to_owned(),
            id,
            fields: Vec::new(),
            reason: amendment.reason.clone(),
            refused: None,
        };
        let decided = if too_many {
            Err(format!("more than {MAX_AMENDMENTS} amendments at once"))
        } else if room == 0 {
            Err(format!("one attempt may make {MAX_AMENDMENTS} amendments"))
        } else {
            judge(&plan, codec, amendment, by, random)
        };
        let made = decided.and_then(|edits| {
            let next = codec.edit(&text, &edits).map_err(|e| e.to_string())?;
            codec.parse(&next).map_err(|e| e.to_string())?;
            Ok((next, edits))
        });
        match made {
            Ok((next, edits)) => {
                text = next;
                room -= 1;
                let changed = amendment.changes.as_ref().and_then(LooseFields::as_object);
                outcome.fields = changed.into_iter().flat_map(|c| c.keys().cloned()).collect();
                if let Some(PlanEdit::AddTask { task, .. }) = edits.first() {
                    outcome.id = Some(task.id.clone());
                    outcome.name = task.name.clone();
                }
            }
            Err(why) => outcome.refused = Some(why),
        }
        outcomes.push(outcome);
    }
    Ok((text, outcomes))
}

/// The guard rails: what a backend may change, decided for one amendment.
fn judge(
    plan: &Plan,
    codec: &dyn PlanCodec,
    amendment: &PlanAmendment,
    by: AmendmentAuthor<'_>,
    random: &mut dyn FnMut() -> String,
) -> Result<Vec<PlanEdit>, String> {
    match amendment.action.as_str() {
        "add" => judge_add(plan, codec, amendment, random),
        "modify" => judge_modify(plan, amendment, by.current),
        "remove" => judge_remove(plan, amendment, by.current, by.at),
        other => Err(format!("unknown action `{other}`; known are add, modify, remove")),
    }
}

fn judge_add(
    plan: &Plan,
    codec: &dyn PlanCodec,
    amendment: &PlanAmendment,
    random: &mut dyn FnMut() -> String,
) -> Result<Vec<PlanEdit>, String> {
    let object = amendment.task.as_ref().and_then(LooseFields::as_object);
    let object = object.ok_or("`add` needs a `task`")?;
    let input = TaskInput::from_object(object).map_err(|e| e.0)?;
    if input.name.as_deref().is_none_or(|n| n.trim().is_empty()) {
        return Err("a new task needs a title".into());
    }
    if input.notes.is_none() && input.accept.is_none() {
        return Err("a new task needs a description".into());
    }
    let mut edits = add::add(plan, codec, &[input], random).map_err(|e| e.to_string())?;
    if let Some(id) = amendment.after.as_deref().map(Id::new) {
        plan.task(&id).ok_or_else(|| format!("`after` names {id}, which does not exist"))?;
        if let Some(PlanEdit::AddTask { after, .. }) = edits.first_mut() {
            *after = Some(id);
        }
    }
    Ok(edits)
}

fn judge_modify(
    plan: &Plan,
    amendment: &PlanAmendment,
    current: Option<&Id>,
) -> Result<Vec<PlanEdit>, String> {
    let task = named(plan, amendment)?;
    let changes = amendment.changes.as_ref().and_then(LooseFields::as_object);
    let changes = changes.ok_or("`modify` needs `changes`")?;
    let mut new = task.clone();
    if let Some(status) = changes.get("status") {
        new.state = judge_status(task, status, current)?;
    }
    let rest: Map<String, Value> = changes
        .iter()
        .filter(|(k, _)| *k != "status")
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    if rest.contains_key("id") {
        return Err("the id of a task cannot change".into());
    }
    let input = TaskInput::from_object(&rest).map_err(|e| e.0)?;
    // In `changes` a description is one, also for tasks that have nothing else to go by.
    let input = match (rest.contains_key("description"), plan.format) {
        (true, crate::format::PlanFormat::Deluxe) if !rest.contains_key("title") => {
            TaskInput { notes: input.name.clone(), name: None, ..input }
        }
        _ => input,
    };
    input.apply_to(&mut new).map_err(|e| e.0)?;
    if let Some(deps) = &input.deps {
        change_deps(plan, &mut new, deps).map_err(|e| e.to_string())?;
    }
    if new == *task {
        return Err("nothing would change".into());
    }
    Ok(vec![PlanEdit::UpdateTask(new)])
}

/// A backend may reopen or skip other tasks. Done is what ralph proves, nobody claims it here.
fn judge_status(task: &Task, status: &Value, current: Option<&Id>) -> Result<TaskState, String> {
    if current == Some(&task.id) {
        return Err("the status of the current task is not the agent's to change".into());
    }
    match status.as_str() {
        Some("pending") if matches!(task.state, TaskState::Done | TaskState::Accepted) => {
            Err("done work is not reopened by an amendment".into())
        }
        Some("pending") => Ok(TaskState::Pending),
        Some("blocked") if task.state.is_open() => Ok(TaskState::Blocked("by an amendment".into())),
        Some(word) => Err(format!("an amendment cannot set the status `{word}`")),
        None => Err("`status` must be a text".into()),
    }
}

fn judge_remove(
    plan: &Plan,
    amendment: &PlanAmendment,
    current: Option<&Id>,
    at: &str,
) -> Result<Vec<PlanEdit>, String> {
    let task = named(plan, amendment)?;
    if current == Some(&task.id) {
        return Err("the current task cannot remove itself".into());
    }
    let reason = amendment.reason.as_deref();
    let edits = verbs::delete(plan, &task.id, reason, at).map_err(|e| e.to_string())?;
    debug_assert!(matches!(edits[..], [PlanEdit::Retire { how: Retirement::Deleted, .. }]));
    Ok(edits)
}

fn named<'p>(plan: &'p Plan, amendment: &PlanAmendment) -> Result<&'p Task, String> {
    let id = amendment.task_id.as_deref().ok_or("the amendment needs a `task_id`")?;
    plan.task(&Id::new(id)).ok_or_else(|| format!("no task {id}"))
}
