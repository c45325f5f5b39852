//! `ralph task`: everything one may do to a task.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_core::plan::{
    self, Edit, Id, Plan, Priority, Refusal, State, Task, TaskInput, add, prioritize, read_tasks,
    verbs,
};
use ralph_core::text::nearest;
use ralph_core::view;
use serde_json::{Value, json};

use crate::args::PlanArgs;
use crate::commands::spec::{known_spec, spec_of};
use crate::context::{Changed, Context};
use crate::error::CommandError;
use crate::out::{self, Render};

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
    plan: PlanArgs,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
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
    /// Example: ralph task done t-1a2b
    Done {
        /// The task [default: the running one]
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
        /// [ID] REASON; the id may be left out when exactly one task is done
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
        /// The task
        id: String,
    },
    /// Change fields of a task
    ///
    /// Examples:
    ///   ralph task edit t-1a2b --priority high
    ///   ralph task edit t-1a2b '{"deps": ["t-3c4d"], "notes": "see the RFC"}'
    #[command(verbatim_doc_comment)]
    Edit(EditArgs),
    /// Leave a task out
    ///
    /// Example: ralph task skip t-1a2b "not needed any more"
    Skip {
        /// The task
        id: String,
        /// Why
        reason: Option<String>,
    },
    /// Mark a task as blocked, with the reason
    ///
    /// Example: ralph task block t-1a2b "needs an API key"
    Block {
        /// The task
        id: String,
        /// Why
        reason: String,
    },
    /// Try a blocked, failed, killed or skipped task again
    ///
    /// Example: ralph task retry t-1a2b
    Retry {
        /// The task
        id: String,
    },
    /// Take a task out of the plan; not one that is done, nor one that others need
    ///
    /// Example: ralph task delete t-1a2b
    Delete {
        /// The task
        id: String,
        /// Why
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
struct EditArgs {
    /// The task
    id: String,
    /// Fields as a JSON object
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
    /// The spec it belongs to
    #[arg(long, value_name = "FILE")]
    spec: Option<String>,
}

/// Run it.
pub(crate) fn run(context: &Context, args: TaskArgs) -> Result<ExitCode, CommandError> {
    let render = Render::from_flag(args.json);
    let tasks = Tasks { context, plan: &args.plan, render };
    match args.action {
        Action::Add { task } => tasks.add(&task),
        Action::Done { id } => tasks.done(id),
        Action::Accept { id } => tasks.accept(id),
        Action::Reject { words } => tasks.reject(words),
        Action::Prioritize { spec } => tasks.prioritize(spec),
        Action::List { all } => tasks.list(if all { Which::All } else { Which::Open }),
        Action::Show { id } => tasks.show(&id),
        Action::Edit(edit) => tasks.edit(&edit),
        Action::Skip { id, reason } => {
            tasks.judge("Skipped", &id, |p, id, at| verbs::skip(p, id, reason.as_deref(), at))
        }
        Action::Block { id, reason } => {
            tasks.judge("Blocked", &id, |p, id, _| verbs::block(p, id, &reason))
        }
        Action::Retry { id } => tasks.judge("Retry", &id, |p, id, _| verbs::retry(p, id)),
        Action::Delete { id, reason } => {
            tasks.judge("Deleted", &id, |p, id, at| verbs::delete(p, id, reason.as_deref(), at))
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Which tasks a list shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Open,
    All,
}

struct Tasks<'a> {
    context: &'a Context,
    plan: &'a PlanArgs,
    render: Render,
}

impl Tasks<'_> {
    fn add(&self, argument: &str) -> Result<(), CommandError> {
        let argument = match argument {
            "-" => read_stdin()?,
            text => text.to_owned(),
        };
        let inputs = read_tasks(&argument).map_err(|e| {
            CommandError::usage(format!("cannot add this: {e}"))
                .hint("for example: ralph task add '{\"name\": \"…\", \"accept\": \"…\"}'")
        })?;
        let changed = self.context.change_plan(self.plan, |plan, codec| {
            let inputs = inputs
                .into_iter()
                .map(|input| {
                    let spec = input.spec.as_deref().map(|s| spec_of(plan, s)).transpose()?;
                    Ok(TaskInput { spec, ..input })
                })
                .collect::<Result<Vec<_>, CommandError>>()?;
            add::add(plan, codec, &inputs, &mut self.context.random())
                .map_err(|e| refused(&e, plan))
        })?;
        let old: BTreeSet<&Id> = changed.before.tasks.iter().map(|t| &t.id).collect();
        let new: Vec<&Task> = changed.after.tasks.iter().filter(|t| !old.contains(&t.id)).collect();
        self.tell("Added", &new)
    }

    fn done(&self, id: Option<String>) -> Result<(), CommandError> {
        let at = self.context.now();
        let mut chosen = None;
        let changed = self.context.change_plan(self.plan, |plan, _| {
            let id = match &id {
                Some(id) => Id::new(id.as_str()),
                None => running(plan)?,
            };
            let edits = verbs::done(plan, &id, &at).map_err(|e| refused(&e, plan))?;
            chosen = Some(id);
            Ok(edits)
        })?;
        self.tell("Done", &find(&changed, chosen.as_slice()))
    }

    fn accept(&self, id: Option<String>) -> Result<(), CommandError> {
        let at = self.context.now();
        let mut accepted = Vec::new();
        let changed = self.context.change_plan(self.plan, |plan, _| {
            let edits = match &id {
                Some(id) => verbs::accept(plan, &Id::new(id.as_str()), &at)
                    .map_err(|e| refused(&e, plan))?,
                None => verbs::accept_all(plan, &at),
            };
            accepted.extend(edits.iter().filter_map(|e| match e {
                Edit::Retire { id, .. } => Some(id.clone()),
                _ => None,
            }));
            Ok(edits)
        })?;
        if accepted.is_empty() && self.render == Render::People {
            return out::line("Nothing to accept: no task is done.");
        }
        self.tell("Accepted", &find(&changed, &accepted))
    }

    fn reject(&self, words: Vec<String>) -> Result<(), CommandError> {
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

    fn prioritize(&self, spec: Option<String>) -> Result<(), CommandError> {
        let mut counts = Value::Null;
        self.context.change_plan(self.plan, |plan, _| {
            let spec = spec.as_deref().map(|s| spec_of(plan, s)).transpose()?;
            if let Some(spec) = &spec {
                known_spec(plan, spec)?;
            }
            let result = prioritize(plan, spec.as_deref());
            counts = json!(result.counts);
            Ok(result.edits)
        })?;
        out::json(&counts)
    }

    fn list(&self, which: Which) -> Result<(), CommandError> {
        let file = self.context.read_plan(self.plan)?;
        let plan = &file.plan;
        let shown: Vec<Task> = match which {
            Which::All => plan.all_tasks(),
            Which::Open => {
                let unfinished = |t: &&Task| !matches!(t.state, State::Accepted | State::Skipped);
                plan.scoped_tasks().filter(unfinished).cloned().collect()
            }
        };
        if self.render == Render::Json {
            return out::json(&shown.iter().map(view::task).collect());
        }
        if shown.is_empty() {
            return out::line(format!("No open tasks in {}.", file.shown));
        }
        let lookup = plan::Lookup::new(plan);
        let rows: Vec<Vec<String>> = shown
            .iter()
            .map(|t| {
                let why = plan::obstacle(t, &lookup, plan::Trust::Claimed);
                let note = why.map(|w| format!("  [{}]", out::clean(&w.to_string())));
                vec![
                    t.id.to_string(),
                    t.state.word().to_owned(),
                    t.priority.map_or("-", Priority::as_str).to_owned(),
                    format!("{}{}", out::clean(&t.name), note.unwrap_or_default()),
                ]
            })
            .collect();
        out::table(&rows).into_iter().try_for_each(out::line)
    }

    fn show(&self, id: &str) -> Result<(), CommandError> {
        let file = self.context.read_plan(self.plan)?;
        let id = Id::new(id);
        let lookup = plan::Lookup::new(&file.plan);
        let task = lookup.task(&id).ok_or_else(|| {
            let history =
                lookup.tombstone(&id).map(|_| "`ralph log` shows what became of it".into());
            refused(&Refusal::NoTask(id.clone()), &file.plan).maybe_hint(history)
        })?;
        if self.render == Render::Json {
            return out::json(&view::task(task));
        }
        details(task, &file.plan, &lookup).into_iter().try_for_each(out::line)
    }

    fn edit(&self, args: &EditArgs) -> Result<(), CommandError> {
        let input = args.input()?;
        let id = Id::new(args.id.as_str());
        let changed = self.context.change_plan(self.plan, |plan, _| {
            let Some(old) = plan.task(&id) else {
                return Err(refused(&Refusal::NoTask(id.clone()), plan));
            };
            let mut task = old.clone();
            let spec = input.spec.as_deref().map(|s| spec_of(plan, s)).transpose()?;
            let input = TaskInput { spec, ..input };
            input.apply_to(&mut task).map_err(|e| CommandError::usage(e.to_string()))?;
            if let Some(deps) = &input.deps {
                add::change_deps(plan, &mut task, deps).map_err(|e| refused(&e, plan))?;
            }
            Ok(if task == *old { Vec::new() } else { vec![Edit::UpdateTask(task)] })
        })?;
        // progress.md derives ids from names, so the task is found by its place.
        let at = changed.before.tasks.iter().position(|t| t.id == id);
        let after: Vec<&Task> = at.and_then(|i| changed.after.tasks.get(i)).into_iter().collect();
        let word = if changed.before == changed.after { "Unchanged" } else { "Changed" };
        self.tell(word, &after)
    }

    fn judge(
        &self,
        word: &str,
        id: &str,
        verb: impl FnOnce(&Plan, &Id, &str) -> Result<Vec<Edit>, Refusal>,
    ) -> Result<(), CommandError> {
        let id = Id::new(id);
        let at = self.context.now();
        let changed = self.context.change_plan(self.plan, |plan, _| {
            verb(plan, &id, &at).map_err(|e| refused(&e, plan))
        })?;
        self.tell(word, &find(&changed, &[id]))
    }

    fn tell(&self, word: &str, tasks: &[&Task]) -> Result<(), CommandError> {
        match self.render {
            Render::Json => out::json(&tasks.iter().map(|t| view::task(t)).collect()),
            Render::People => tasks
                .iter()
                .try_for_each(|t| out::line(format!("{word}: {} {}", t.id, out::clean(&t.name)))),
        }
    }
}

impl EditArgs {
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

/// The tasks with these ids, as they are now or, when they left the plan, as they were.
fn find<'c>(changed: &'c Changed, ids: &[Id]) -> Vec<&'c Task> {
    let now = |id| changed.after.task(id);
    ids.iter().filter_map(|id| now(id).or_else(|| changed.before.task(id))).collect()
}

/// The task that is being worked on: by the loop that started us, or marked so in the plan.
fn running(plan: &Plan) -> Result<Id, CommandError> {
    if let Some(id) = std::env::var_os("RALPH_TASK").filter(|id| !id.is_empty()) {
        return Ok(Id::new(id.to_string_lossy()));
    }
    let marked: Vec<&Task> = plan.scoped_tasks().filter(|t| t.state == State::Running).collect();
    match marked[..] {
        [task] => Ok(task.id.clone()),
        [] => {
            let open: Vec<&Task> = plan.scoped_tasks().filter(|t| t.state.is_open()).collect();
            Err(choose("no task is running", "task done ID", &open))
        }
        _ => Err(choose("several tasks are running", "task done ID", &marked)),
    }
}

fn only_done(plan: &Plan, reason: &str) -> Result<Id, CommandError> {
    if plan.task(&Id::new(reason)).is_some() {
        return Err(CommandError::usage(format!("a reason is missing for {reason}")).hint(
            format!("for example: ralph task reject {reason} \"no test for the empty file\""),
        ));
    }
    let claimed = |t: &&Task| match t.state {
        State::Done => true,
        State::Accepted => !plan.format.knows_claims(),
        _ => false,
    };
    let done: Vec<&Task> = plan.scoped_tasks().filter(claimed).collect();
    match done[..] {
        [task] => Ok(task.id.clone()),
        [] => Err(CommandError::new("no task is done, so there is nothing to reject")),
        _ => Err(choose("several tasks are done", "task reject ID REASON", &done)),
    }
}

fn choose(why: &str, usage: &str, tasks: &[&Task]) -> CommandError {
    const MOST: usize = 20;
    let mut error = CommandError::new(format!("{why}; say which task: ralph {usage}"));
    for task in tasks.iter().take(MOST) {
        error =
            error.hint(format!("{}  {}  {}", task.id, task.state.word(), out::clean(&task.name)));
    }
    if tasks.len() > MOST {
        error = error.hint(format!("… and {} more: ralph task list", tasks.len() - MOST));
    }
    error
}

/// A refusal with what to do about it.
pub(crate) fn refused(refusal: &Refusal, plan: &Plan) -> CommandError {
    let hint = match refusal {
        Refusal::NoTask(id) => {
            Some(match nearest(id.as_str(), plan.tasks.iter().map(|t| t.id.as_str())) {
                Some(near) => format!("did you mean {near}?"),
                None => "`ralph task list` shows them".to_owned(),
            })
        }
        Refusal::NoIssue(_) => Some("`ralph issue list` shows them".to_owned()),
        Refusal::Buried { id, fate: "failed" | "skipped" } => {
            Some(format!("`ralph task retry {id}` brings it back"))
        }
        Refusal::WrongState { id, state: "pending" | "running", verb: "accepted" | "rejected" } => {
            Some(format!("`ralph task done {id}` comes first"))
        }
        Refusal::Needed { .. } => Some("change or delete those first, or skip this one".to_owned()),
        _ => None,
    };
    CommandError::new(refusal.to_string()).maybe_hint(hint)
}

fn details(task: &Task, plan: &Plan, lookup: &plan::Lookup<'_>) -> Vec<String> {
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
    row("why", plan::obstacle(task, lookup, plan::Trust::Claimed).map(|o| o.to_string()));
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

fn read_stdin() -> Result<String, CommandError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|e| CommandError::new(format!("cannot read standard input: {e}")))?;
    Ok(text)
}
