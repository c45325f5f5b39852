//! Actions of `ralph task`, one function for each.

use std::io::Read;

use ralph_core::claim::Claim;
use ralph_core::plan::{
    self, Id, Plan, PlanEdit, Priority, Task, TaskInput, VerbRefusal, add, prioritize, read_tasks,
    verbs,
};
use ralph_core::view;
use serde_json::json;

use super::TaskEditArgs;
use super::choice::{only_done, only_open, refused};
use super::deeds::{TaskScope, add_tasks, listed, task_of};
use crate::args::PlanArgs;
use crate::commands::permit;
use crate::commands::spec::{known_spec, spec_of};
use crate::context::{ChangedPlan, CommandContext};
use crate::error::CommandError;
use crate::out::{self, OutputMode};

pub(super) struct TaskActions<'a> {
    pub(super) context: &'a CommandContext,
    pub(super) plan: &'a PlanArgs,
    pub(super) render: OutputMode,
}

impl TaskActions<'_> {
    pub(super) fn add(&self, argument: &str) -> Result<(), CommandError> {
        let argument = match argument {
            "-" => match self.context.behalf() {
                Some(behalf) => behalf.input.clone().unwrap_or_default(),
                None => read_stdin(u64::MAX)?,
            },
            text => text.to_owned(),
        };
        let inputs = read_tasks(&argument).map_err(|e| {
            CommandError::usage(format!("cannot add this: {e}"))
                .hint("for example: ralph task add '{\"name\": \"…\", \"accept\": \"…\"}'")
        })?;
        let new = add_tasks(self.context, self.plan, inputs)?;
        self.tell("Added", &new.iter().collect::<Vec<_>>())
    }

    pub(super) fn done(&self, id: Option<String>) -> Result<(), CommandError> {
        if let Some(inside) = permit::inside(self.context)? {
            let id = inside.claim(self.context, id.as_deref(), Claim::DONE)?;
            return self.claimed(id, "done");
        }
        let at = self.context.now();
        let mut chosen = None;
        let working = if id.is_none() { self.context.task_at_work()? } else { None };
        let changed = self.context.change_plan(self.plan, |plan, _| {
            let id = match &id {
                Some(id) => Id::new(id.as_str()),
                None => only_open(plan, working)?,
            };
            let edits = verbs::done(plan, &id, &at).map_err(|e| refused(&e, plan))?;
            chosen = Some(id);
            Ok(edits)
        })?;
        self.tell("Done", &find(&changed, chosen.as_slice()))
    }

    pub(super) fn accept(&self, id: Option<String>) -> Result<(), CommandError> {
        let at = self.context.now();
        let mut accepted = Vec::new();
        let changed = self.context.change_plan(self.plan, |plan, _| {
            let edits = match &id {
                Some(id) => verbs::accept(plan, &Id::new(id.as_str()), &at)
                    .map_err(|e| refused(&e, plan))?,
                None => verbs::accept_all(plan, &at),
            };
            accepted.extend(edits.iter().filter_map(|e| match e {
                PlanEdit::Retire { id, .. } => Some(id.clone()),
                _ => None,
            }));
            Ok(edits)
        })?;
        if accepted.is_empty() && self.render == OutputMode::People {
            return out::line("Nothing to accept: no task is done.");
        }
        self.tell("Accepted", &find(&changed, &accepted))
    }

    pub(super) fn reject(&self, words: Vec<String>) -> Result<(), CommandError> {
        let at = self.context.now();
        let mut chosen = None;
        let changed = self.context.change_plan(self.plan, |plan, _| {
            let (id, reason) = match &words[..] {
                [id, reason] => (Id::new(id.as_str()), reason),
                [reason] => (only_done(plan, reason)?, reason),
                _ => return Err(CommandError::usage("a rejection is [ID] REASON")),
            };
            let edits = verbs::reject(plan, &id, reason, &at).map_err(|e| refused(&e, plan))?;
            chosen = Some(id);
            Ok(edits)
        })?;
        self.tell("Rejected", &find(&changed, chosen.as_slice()))
    }

    pub(super) fn prioritize(&self, spec: Option<String>) -> Result<(), CommandError> {
        let mut counts = None;
        self.context.change_plan(self.plan, |plan, _| {
            let spec = spec.as_deref().map(|s| spec_of(plan, s)).transpose()?;
            if let Some(spec) = &spec {
                known_spec(plan, spec)?;
            }
            let result = prioritize(plan, spec.as_deref());
            counts = Some(result.counts);
            Ok(result.edits)
        })?;
        out::json(&counts)
    }

    pub(super) fn list(&self, which: TaskScope) -> Result<(), CommandError> {
        let file = self.context.read_plan(self.plan)?;
        let plan = &file.plan;
        let shown = listed(plan, which);
        if self.render == OutputMode::Json {
            return out::json(&shown);
        }
        if shown.is_empty() {
            let remark = view::other_specs(plan).map(|remark| format!("; {remark}"));
            let remark = remark.unwrap_or_default();
            return out::line(format!("No open tasks in {}{remark}.", file.shown));
        }
        let lookup = plan::PlanLookup::new(plan);
        let rows: Vec<Vec<String>> = shown
            .iter()
            .map(|t| {
                let why = plan::obstacle(t, &lookup, plan::DependencyTrust::Claimed);
                let note = why.map(|w| format!("  [{}]", out::clean(&w.to_string())));
                vec![
                    t.id.to_string(),
                    t.state.word().to_owned(),
                    t.priority.map_or("-", Priority::as_str).to_owned(),
                    format!("{}{}", out::clean(&t.name), note.unwrap_or_default()),
                ]
            })
            .collect();
        out::print_table(&rows)
    }

    pub(super) fn show(&self, id: &str) -> Result<(), CommandError> {
        let file = self.context.read_plan(self.plan)?;
        let lookup = plan::PlanLookup::new(&file.plan);
        let task = task_of(&file.plan, &lookup, id)?;
        if self.render == OutputMode::Json {
            return out::json(&task);
        }
        details(task, &file.plan, &lookup).into_iter().try_for_each(out::line)
    }

    pub(super) fn edit(&self, args: &TaskEditArgs) -> Result<(), CommandError> {
        let input = args.input()?;
        let id = Id::new(args.id.as_str());
        let changed = self.context.change_plan(self.plan, |plan, _| {
            let Some(old) = plan.task(&id) else {
                return Err(refused(&VerbRefusal::NoTask(id.clone()), plan));
            };
            let mut task = old.clone();
            let spec = input.spec.as_deref().map(|s| spec_of(plan, s)).transpose()?;
            let input = TaskInput { spec, ..input };
            input.apply_to(&mut task).map_err(|e| CommandError::usage(e.to_string()))?;
            if let Some(deps) = &input.deps {
                add::change_deps(plan, &mut task, deps).map_err(|e| refused(&e, plan))?;
            }
            Ok(if task == *old { Vec::new() } else { vec![PlanEdit::UpdateTask(task)] })
        })?;
        // progress.md derives ids from names, so the task is found by its place.
        let at = changed.before.tasks.iter().position(|t| t.id == id);
        let after: Vec<&Task> = at.and_then(|i| changed.after.tasks.get(i)).into_iter().collect();
        let word = if changed.before == changed.after { "Unchanged" } else { "Changed" };
        self.tell(word, &after)
    }

    pub(super) fn judge(
        &self,
        word: &str,
        id: &str,
        verb: impl FnOnce(&Plan, &Id, &str) -> Result<Vec<PlanEdit>, VerbRefusal>,
    ) -> Result<(), CommandError> {
        let id = Id::new(id);
        let at = self.context.now();
        let changed = self.context.change_plan(self.plan, |plan, _| {
            verb(plan, &id, &at).map_err(|e| refused(&e, plan))
        })?;
        self.tell(word, &find(&changed, &[id]))
    }

    pub(super) fn block(&self, id: &str, reason: String) -> Result<(), CommandError> {
        if let Some(inside) = permit::inside(self.context)? {
            let id = inside.claim(self.context, Some(id), Claim::Blocked { reason })?;
            return self.claimed(id, "blocked");
        }
        self.judge("Blocked", id, |plan, id, _| verbs::block(plan, id, &reason))
    }

    /// A backend's word is not in the plan before the gates have spoken.
    fn claimed(&self, id: &Id, claim: &str) -> Result<(), CommandError> {
        self.render.print(
            &json!({ "id": id, "claim": claim }),
            format!("Claimed: {id} is {claim}. ralph decides when this attempt has ended."),
        )
    }

    fn tell(&self, word: &str, tasks: &[&Task]) -> Result<(), CommandError> {
        match self.render {
            OutputMode::Json => out::json(&tasks),
            OutputMode::People => tasks
                .iter()
                .try_for_each(|t| out::line(format!("{word}: {} {}", t.id, out::clean(&t.name)))),
        }
    }
}

/// The tasks with these ids, as they are now or, when they left the plan, as they were.
fn find<'c>(changed: &'c ChangedPlan, ids: &[Id]) -> Vec<&'c Task> {
    let now = |id| changed.after.task(id);
    ids.iter().filter_map(|id| now(id).or_else(|| changed.before.task(id))).collect()
}

fn details(task: &Task, plan: &Plan, lookup: &plan::PlanLookup<'_>) -> Vec<String> {
    let mut rows = vec![
        vec!["id".to_owned(), task.id.to_string()],
        vec!["name".to_owned(), out::clean(&task.name)],
        vec!["state".to_owned(), task.state.word().to_owned()],
    ];
    let mut row = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            let mut lines = value.lines().map(out::clean);
            rows.push(vec![key.to_owned(), lines.next().unwrap_or_default()]);
            rows.extend(lines.map(|line| vec![String::new(), line]));
        }
    };
    row("why", plan::obstacle(task, lookup, plan::DependencyTrust::Claimed).map(|o| o.to_string()));
    row("spec", task.spec.clone().or_else(|| plan.current_spec.clone()));
    row("phase", task.phase.clone());
    row("priority", task.priority.map(|p| p.as_str().to_owned()));
    row("deps", Some(task.deps.iter().map(Id::as_str).collect::<Vec<_>>().join(", ")));
    row("accept", Some(task.accept.join("\n")));
    row("notes", task.notes.clone());
    row("skills", Some(task.skills.join(", ")));
    row("libraries", Some(task.libraries.join(", ")));
    row("parent", task.parent.as_ref().map(Id::to_string));
    row("from issue", task.created_from.as_ref().map(Id::to_string));
    row("retries", (task.retries > 0).then(|| task.retries.to_string()));
    row("rejected", task.reject.clone());
    row("done at", task.done_at.clone());
    out::table(&rows)
}

/// Read at most so many bytes of standard input.
pub(crate) fn read_stdin(most: u64) -> Result<String, CommandError> {
    let mut text = String::new();
    std::io::stdin()
        .take(most)
        .read_to_string(&mut text)
        .map_err(|e| CommandError::new(format!("cannot read standard input: {e}")))?;
    Ok(text)
}
