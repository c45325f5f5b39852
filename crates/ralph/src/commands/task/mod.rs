//! `ralph task`: everything one may do to a task.

mod actions;
mod choice;
mod deeds;

use clap::{Args, Subcommand};
use ralph_core::plan::{Id, Plan, Priority, TaskInput, VerbRefusal, verbs};

use crate::args::{CommonArgs, PlanArgs};
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::OutputMode;

use actions::TaskActions;
pub(crate) use actions::read_stdin;
pub(crate) use choice::refused;
pub(crate) use deeds::{TaskScope, add_tasks, listed, task_of};

/// Add, change and judge tasks
///
/// Examples:
///   ralph task add "Parse the header"
///   ralph task add '{"name": "Parse the header", "accept": "`cargo test header` passes"}'
///   ralph task done t-1a2b
///   ralph task reject t-1a2b "crashes on an empty file"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TaskArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    action: TaskAction,
}

#[derive(Debug, Subcommand)]
enum TaskAction {
    /// Add one task or several
    ///
    /// Fields: name, notes, accept (text or array), deps (array), priority, spec, and a few more.
    /// Inside one array a task may depend on another by the `id` given there or by its name.
    ///
    /// Examples:
    ///   ralph task add "Parse the header"
    ///   ralph task add '[{"id": "a", "name": "Parse"}, {"name": "Print", "deps": ["a"]}]'
    ///   generate-tasks | ralph task add -
    #[command(verbatim_doc_comment)]
    Add {
        /// A name, a JSON object, a JSON array of objects, or - to read that from standard input
        task: String,
    },
    /// Mark a task as done (claimed; `accept` verifies it)
    ///
    /// Inside an attempt of `ralph build` it is the backend's claim: the gates decide.
    ///
    /// Example: ralph task done t-1a2b
    Done {
        /// The task [default: the one that a loop works on, else the only one that is open]
        id: Option<String>,
    },
    /// Accept a task that is done: it leaves the plan, and a record stays
    ///
    /// Example: ralph task accept t-1a2b
    Accept {
        /// The task [default: all that are done]
        id: Option<String>,
    },
    /// Reject a task that is done: it is pending again, with the reason
    ///
    /// Example: ralph task reject t-1a2b "no test for the empty file"
    Reject {
        /// The reason, with the id before it unless exactly one task is done
        #[arg(value_name = "ID|REASON", num_args = 1..=2, required = true)]
        words: Vec<String>,
    },
    /// Give every open task without a chosen priority one, and print the totals as JSON
    ///
    /// Looks at who unblocks whom, the longest chain, and the size of each task.
    ///
    /// Example: ralph task prioritize --spec feature-x.md
    #[command(verbatim_doc_comment)]
    Prioritize {
        /// Only tasks of this spec [default: the current one]
        #[arg(long, value_name = "FILE")]
        spec: Option<String>,
    },
    /// List the tasks of the current spec
    ///
    /// Example: ralph task list --all
    List {
        /// Tasks of every spec, and those that are finished
        #[arg(long)]
        all: bool,
    },
    /// Show everything about one task
    ///
    /// Example: ralph task show t-1a2b
    Show {
        /// The id of the task
        id: String,
    },
    /// Change fields of a task
    ///
    /// Examples:
    ///   ralph task edit t-1a2b --priority high
    ///   ralph task edit t-1a2b '{"deps": ["t-3c4d"], "notes": "see the RFC"}'
    #[command(verbatim_doc_comment)]
    Edit(TaskEditArgs),
    /// Leave a task out
    ///
    /// Example: ralph task skip t-1a2b "not needed any more"
    Skip {
        /// The id of the task
        id: String,
        /// The reason
        reason: Option<String>,
    },
    /// Mark a task as blocked, with the reason
    ///
    /// Example: ralph task block t-1a2b "needs an API key"
    Block {
        /// The id of the task
        id: String,
        /// The reason
        reason: String,
    },
    /// Try a blocked, failed, killed or skipped task again
    ///
    /// Example: ralph task retry t-1a2b
    Retry {
        /// The id of the task
        id: String,
    },
    /// Take a task out of the plan; not one that is done, nor one that others need
    ///
    /// Example: ralph task delete t-1a2b
    Delete {
        /// The id of the task
        id: String,
        /// The reason
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
struct TaskEditArgs {
    /// The id of the task
    id: String,
    /// The fields to change, as a JSON object
    json_fields: Option<String>,
    /// A new name
    #[arg(long)]
    name: Option<String>,
    /// New notes; an empty text removes them
    #[arg(long)]
    notes: Option<String>,
    /// A new list of acceptance criteria, one flag each
    #[arg(long, value_name = "TEXT")]
    accept: Vec<String>,
    /// A new list of dependencies, one flag each
    #[arg(long = "dep", value_name = "ID")]
    deps: Vec<String>,
    /// high, medium, low, or none to let ralph decide
    #[arg(long, value_parser = ["high", "medium", "low", "none"])]
    priority: Option<String>,
    /// The spec that the task belongs to
    #[arg(long, value_name = "FILE")]
    spec: Option<String>,
}

impl TaskArgs {
    /// Check whether the command reads standard input.
    pub(crate) fn reads_input(&self) -> bool {
        matches!(&self.action, TaskAction::Add { task } if task == "-")
    }

    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            TaskAction::List { .. } | TaskAction::Show { .. } => CommandAccess::Look,
            TaskAction::Add { .. } | TaskAction::Done { .. } | TaskAction::Block { .. } => {
                CommandAccess::Say
            }
            _ => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: TaskArgs) -> Result<(), CommandError> {
    let render = args.common.render();
    let tasks = TaskActions { context, plan: &args.common.plan, render };
    match args.action {
        TaskAction::Add { task } => tasks.add(&task),
        TaskAction::Done { id } => tasks.done(id),
        TaskAction::Accept { id } => tasks.accept(id),
        TaskAction::Reject { words } => tasks.reject(words),
        TaskAction::Prioritize { spec } => tasks.prioritize(spec),
        TaskAction::List { all } => tasks.list(if all { TaskScope::All } else { TaskScope::Open }),
        TaskAction::Show { id } => tasks.show(&id),
        TaskAction::Edit(edit) => tasks.edit(&edit),
        TaskAction::Skip { id, reason } => {
            tasks.judge("Skipped", &id, |p, id, at| verbs::skip(p, id, reason.as_deref(), at))
        }
        TaskAction::Block { id, reason } => tasks.block(&id, reason),
        TaskAction::Retry { id } => tasks.judge("Retry", &id, |p, id, _| verbs::retry(p, id)),
        TaskAction::Delete { id, reason } => {
            tasks.judge("Deleted", &id, |p, id, at| verbs::delete(p, id, reason.as_deref(), at))
        }
    }
}

/// Run `ralph skip` while no loop runs.
pub(crate) fn skip(
    context: &CommandContext,
    plan: &PlanArgs,
    id: &str,
    render: OutputMode,
) -> Result<(), CommandError> {
    let tasks = TaskActions { context, plan, render };
    tasks.judge("Skipped", id, |plan, id, at| verbs::skip(plan, id, None, at))
}

/// Make the error for an id that the plan does not have.
pub(crate) fn unknown(id: &Id, plan: &Plan) -> CommandError {
    refused(&VerbRefusal::NoTask(id.clone()), plan)
}

impl TaskEditArgs {
    fn input(&self) -> Result<TaskInput, CommandError> {
        let bad = |e: String| CommandError::usage(format!("cannot change that: {e}"));
        let mut input = match &self.json_fields {
            None => TaskInput::default(),
            Some(text) => TaskInput::from_text(text).map_err(|e| bad(e.0))?,
        };
        if input.id.is_some() {
            return Err(bad("the id of a task never changes".into()));
        }
        input.name = self.name.clone().or(input.name);
        input.notes = self.notes.clone().or(input.notes);
        input.spec = self.spec.clone().or(input.spec);
        if !self.accept.is_empty() {
            input.accept = Some(self.accept.clone());
        }
        if !self.deps.is_empty() {
            input.deps = Some(self.deps.clone());
        }
        if let Some(word) = &self.priority {
            input.priority = Some(Priority::from_word(word));
        }
        if input == TaskInput::default() {
            return Err(CommandError::usage("nothing to change")
                .hint("for example: ralph task edit t-1a2b --priority high"));
        }
        Ok(input)
    }
}
