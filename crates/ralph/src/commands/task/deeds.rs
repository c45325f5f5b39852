//! Actions on tasks that return their result. The command prints it, and an MCP tool returns it.

use std::collections::BTreeSet;

use ralph_core::plan::{Id, Plan, PlanLookup, Task, TaskInput, TaskState, VerbRefusal, add};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choice::refused;
use crate::args::PlanArgs;
use crate::commands::permit;
use crate::commands::spec::spec_of;
use crate::context::CommandContext;
use crate::error::CommandError;

/// Tasks in a list: the unfinished ones of the current spec, or those of every spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TaskScope {
    #[default]
    Open,
    All,
}

/// Add tasks; inside an attempt only a few. Returns them as they are in the plan.
pub(crate) fn add_tasks(
    context: &CommandContext,
    plan: &PlanArgs,
    inputs: Vec<TaskInput>,
) -> Result<Vec<Task>, CommandError> {
    let hide = permit::secrets_hider(context)?;
    let inputs: Vec<TaskInput> = inputs
        .into_iter()
        .map(|input| TaskInput {
            name: input.name.as_deref().map(&hide),
            notes: input.notes.as_deref().map(&hide),
            accept: input.accept.map(|all| all.iter().map(|text| hide(text)).collect()),
            ..input
        })
        .collect();
    let add = |plan: &Plan, codec: &dyn ralph_core::format::PlanCodec| {
        let inputs = inputs.iter().cloned().map(|input| {
            let spec = input.spec.as_deref().map(|s| spec_of(plan, s)).transpose()?;
            Ok(TaskInput { spec, ..input })
        });
        let inputs = inputs.collect::<Result<Vec<_>, CommandError>>()?;
        add::add(plan, codec, &inputs, &mut context.random()).map_err(|e| refused(&e, plan))
    };
    let changed = permit::adding(context, inputs.len(), || context.change_plan(plan, add))?;
    let old: BTreeSet<&Id> = changed.before.tasks.iter().map(|t| &t.id).collect();
    Ok(changed.after.tasks.iter().filter(|t| !old.contains(&t.id)).cloned().collect())
}

/// Return the tasks of a list, in the order of the plan.
pub(crate) fn listed(plan: &Plan, which: TaskScope) -> Vec<Task> {
    match which {
        TaskScope::All => plan.all_tasks(),
        TaskScope::Open => {
            let unfinished =
                |t: &&Task| !matches!(t.state, TaskState::Accepted | TaskState::Skipped);
            plan.scoped_tasks().filter(unfinished).cloned().collect()
        }
    }
}

/// Return the task with this id, or an error that names similar ids and the command for ended tasks.
pub(crate) fn task_of<'p>(
    plan: &'p Plan,
    lookup: &PlanLookup<'p>,
    id: &str,
) -> Result<&'p Task, CommandError> {
    let id = Id::new(id);
    lookup.task(&id).ok_or_else(|| {
        let history = lookup.tombstone(&id).map(|_| "`ralph log` shows what became of it".into());
        refused(&VerbRefusal::NoTask(id.clone()), plan).maybe_hint(history)
    })
}
