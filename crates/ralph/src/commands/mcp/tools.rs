//! The tools: what each takes, in types that are its schema, and what it does.
//!
//! Descriptions are read by models: they say when to call a tool and what comes of it.

use ralph_core::claim::Claim;
use ralph_core::handoff::Handoff;
use ralph_core::memory::MOST;
use ralph_core::plan::{self, Id, PlanLookup, Priority, Task, read_tasks};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::args::PlanArgs;
use crate::commands::permit::{self, CommandAccess};
use crate::commands::{issue, knowledge, task};
use crate::context::CommandContext;
use crate::error::CommandError;

/// Tasks of a list, unless somebody wants more.
const MOST_TASKS: usize = 100;

pub(super) struct McpToolContext<'a> {
    pub(super) context: &'a CommandContext,
    pub(super) plan: &'a PlanArgs,
}

pub(super) struct McpTool {
    pub(super) name: &'static str,
    /// Description of the tool for the model.
    pub(super) description: &'static str,
    pub(super) access: CommandAccess,
    /// The JSON Schema of what it takes.
    pub(super) schema: fn() -> Value,
    pub(super) call: fn(&McpToolContext<'_>, Value) -> Result<Value, CommandError>,
}

pub(super) const TOOLS: [McpTool; 8] = [
    tool::<TaskListCall>(),
    tool::<TaskShowCall>(),
    tool::<TaskAddCall>(),
    tool::<TaskDoneCall>(),
    tool::<TaskBlockCall>(),
    tool::<IssueAddCall>(),
    tool::<KnowledgeSearchCall>(),
    tool::<HandoffWriteCall>(),
];

trait McpToolCall: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const ACCESS: CommandAccess;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError>;
}

const fn tool<A: McpToolCall>() -> McpTool {
    McpTool {
        name: A::NAME,
        description: A::DESCRIPTION,
        access: A::ACCESS,
        schema: schema::<A>,
        call: call::<A>,
    }
}

/// A schema without references, formats and the name of its dialect: not every program knows them.
fn schema<A: McpToolCall>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let plain = RecursiveTransform(|schema: &mut Schema| drop(schema.remove("format")));
    let generator = settings.with_transform(plain).into_generator();
    let mut schema = generator.into_root_schema_for::<A>();
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

fn call<A: McpToolCall>(
    desk: &McpToolContext<'_>,
    arguments: Value,
) -> Result<Value, CommandError> {
    let ask: A = serde_json::from_value(arguments).map_err(|e| {
        CommandError::usage(format!("{} does not take this: {e}", A::NAME))
            .hint("nothing was done; call it again with arguments that fit its schema")
    })?;
    ask.answer(desk)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskListCall {
    /// `open`: the unfinished tasks of the current spec. `all`: those of every spec, finished ones too.
    #[serde(default)]
    which: task::TaskScope,
    /// Maximum number of tasks to return.
    #[serde(default = "most_tasks")]
    limit: usize,
}

fn most_tasks() -> usize {
    MOST_TASKS
}

impl McpToolCall for TaskListCall {
    const NAME: &'static str = "task_list";
    const DESCRIPTION: &'static str = "List the tasks of the plan: id, state, priority, name, and why a \
        task cannot run yet. `current` is the task of this attempt, if there is one. Use it to see \
        whether something is planned already.";
    const ACCESS: CommandAccess = CommandAccess::Look;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        let file = desk.context.read_plan(desk.plan)?;
        let lookup = PlanLookup::new(&file.plan);
        let tasks = task::listed(&file.plan, self.which);
        let row = |t: &Task| {
            let mut row = json!({ "id": t.id, "state": t.state.name(), "name": t.name });
            if let Some(priority) = t.priority {
                row["priority"] = json!(priority);
            }
            with_obstacle(row, t, &lookup)
        };
        let rows: Vec<Value> = tasks.iter().take(self.limit).map(row).collect();
        // Whoever only looks need not know that an attempt is over.
        let current = permit::inside(desk.context).ok().flatten().map(|inside| inside.task);
        Ok(json!({ "tasks": rows, "total": tasks.len(), "current": current }))
    }
}

fn with_obstacle(mut value: Value, task: &Task, lookup: &PlanLookup<'_>) -> Value {
    if let Some(why) = plan::obstacle(task, lookup, plan::DependencyTrust::Claimed) {
        value["why"] = json!(why.to_string());
    }
    value
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskShowCall {
    /// Id of the task, for example t-1a2b.
    id: String,
}

impl McpToolCall for TaskShowCall {
    const NAME: &'static str = "task_show";
    const DESCRIPTION: &'static str = "Show everything about one task: notes, acceptance criteria, \
        dependencies, retries, and why it was rejected or is blocked.";
    const ACCESS: CommandAccess = CommandAccess::Look;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        let file = desk.context.read_plan(desk.plan)?;
        let lookup = PlanLookup::new(&file.plan);
        let task = task::task_of(&file.plan, &lookup, &self.id)?;
        Ok(with_obstacle(json!(task), task, &lookup))
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskAddCall {
    /// One line that says what to do.
    name: String,
    /// Whatever helps whoever will do it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    notes: String,
    /// Conditions that must be true when the task is done. A condition that a command can check is best.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accept: Vec<String>,
    /// Ids of tasks that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deps: Vec<String>,
    /// Priority of the task. Leave it out to let ralph decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<Priority>,
}

impl McpToolCall for TaskAddCall {
    const NAME: &'static str = "task_add";
    const DESCRIPTION: &'static str = "Add a task to the plan: work that you found and that is not part of \
        your own task. Do not do that work yourself. One attempt may add three tasks and issues in all.";
    const ACCESS: CommandAccess = CommandAccess::Say;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        let inputs = read_tasks(&json!(self).to_string())
            .map_err(|e| CommandError::usage(format!("cannot add this: {e}")))?;
        let added = task::add_tasks(desk.context, desk.plan, inputs)?;
        Ok(json!({ "added": added }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskDoneCall {
    /// Your task; you may leave it out.
    #[serde(default)]
    id: Option<String>,
}

impl McpToolCall for TaskDoneCall {
    const NAME: &'static str = "task_done";
    const DESCRIPTION: &'static str = "Claim that the task of this attempt is complete: every acceptance \
        criterion is met and the work is in the files. ralph then runs the gates, which decide. Call it \
        once, at the end. Only your own task can be claimed.";
    const ACCESS: CommandAccess = CommandAccess::Say;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        let inside = permit::speaking(desk.context, Self::NAME)?;
        let id = inside.claim(desk.context, self.id.as_deref(), Claim::DONE)?;
        Ok(claimed(id, "done"))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskBlockCall {
    /// Description of the missing thing, and who could provide it.
    reason: String,
    /// Your task; you may leave it out.
    #[serde(default)]
    id: Option<String>,
}

impl McpToolCall for TaskBlockCall {
    const NAME: &'static str = "task_block";
    const DESCRIPTION: &'static str = "Say that the task of this attempt cannot go on without something that \
        you cannot get: a key, a decision, a service. A person reads the reason. Not for work that is \
        merely hard. Only your own task can be blocked.";
    const ACCESS: CommandAccess = CommandAccess::Say;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        let inside = permit::speaking(desk.context, Self::NAME)?;
        let claim = Claim::Blocked { reason: self.reason };
        let id = inside.claim(desk.context, self.id.as_deref(), claim)?;
        Ok(claimed(id, "blocked"))
    }
}

fn claimed(id: &Id, claim: &str) -> Value {
    json!({ "id": id, "claim": claim, "next": "ralph decides when this attempt has ended" })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct IssueAddCall {
    /// Question or problem.
    description: String,
    /// Priority of the issue.
    #[serde(default)]
    priority: Option<Priority>,
}

impl McpToolCall for IssueAddCall {
    const NAME: &'static str = "issue_add";
    const DESCRIPTION: &'static str = "Write down a question or a bug that must be investigated before it is \
        work. One attempt may add three tasks and issues in all.";
    const ACCESS: CommandAccess = CommandAccess::Say;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        let added = issue::open(desk.context, desk.plan, &self.description, self.priority)?;
        Ok(json!({ "added": added }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KnowledgeSearchCall {
    /// Words to look for; an entry that has one of them is found.
    query: String,
    /// Maximum number of entries to return.
    #[serde(default = "most_entries")]
    limit: usize,
}

fn most_entries() -> usize {
    MOST
}

impl McpToolCall for KnowledgeSearchCall {
    const NAME: &'static str = "knowledge_search";
    const DESCRIPTION: &'static str = "Search what earlier attempts learned about this project: constraints, \
        decisions, patterns, gotchas. What matters most comes first. Look here before you decide \
        something that others may have decided.";
    const ACCESS: CommandAccess = CommandAccess::Look;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        if self.query.trim().is_empty() {
            return Err(CommandError::usage("knowledge_search needs a word to look for"));
        }
        let found = knowledge::find(desk.context, &[self.query], self.limit)?;
        Ok(json!({ "entries": found }))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct HandoffWriteCall(Handoff);

impl McpToolCall for HandoffWriteCall {
    const NAME: &'static str = "handoff_write";
    const DESCRIPTION: &'static str = "Leave the handoff of this attempt: what was done, what is left, what \
        was learned. Whoever goes on tomorrow reads it. `task_completed.fully_complete` is also your \
        claim about the task. Write it at the end; a later one replaces it.";
    const ACCESS: CommandAccess = CommandAccess::Say;

    fn answer(self, desk: &McpToolContext<'_>) -> Result<Value, CommandError> {
        let inside = permit::speaking(desk.context, Self::NAME)?;
        let id = inside.hand_over(desk.context, self.0)?;
        Ok(json!({ "id": id, "stored": true, "next": "no other handoff is needed in your answer" }))
    }
}
