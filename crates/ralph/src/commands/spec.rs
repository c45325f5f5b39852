//! `ralph spec`: the specs of the project and which one is worked on.

use clap::{Args, Subcommand};
use ralph_core::format::PlanFormat;
use ralph_core::plan::{Plan, PlanEdit, TaskState};
use ralph_core::spec::{self, SpecOutline};
use ralph_core::text::nearest;
use ralph_host::specs;
use serde_json::{Value, json};

use crate::args::{CommonArgs, PlanArgs};
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// List the specs, or choose the one to work on
///
/// Examples:
///   ralph spec list
///   ralph spec use feature-x.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SpecArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    action: SpecAction,
}

#[derive(Debug, Subcommand)]
enum SpecAction {
    /// Show the specs of ralph/specs/ with their tasks
    List,
    /// Work on this spec from now on
    Use {
        /// The spec's file name, for example feature-x.md
        spec: String,
    },
}

impl SpecArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            SpecAction::List => CommandAccess::Look,
            SpecAction::Use { .. } => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: SpecArgs) -> Result<(), CommandError> {
    let render = args.common.render();
    match args.action {
        SpecAction::List => list(context, &args.common.plan, render),
        SpecAction::Use { spec } => use_spec(context, &args.common.plan, &spec, render),
    }
}

fn list(context: &CommandContext, plan: &PlanArgs, render: OutputMode) -> Result<(), CommandError> {
    let file = context.read_plan(plan)?;
    let plan = &file.plan;
    let mut found = Vec::new();
    for name in spec_names(context)? {
        found.push(read_spec(context, &name)?);
    }
    if render == OutputMode::Json {
        return out::json(&found.iter().map(|s| as_json(s, plan)).collect::<Vec<_>>());
    }
    if found.is_empty() {
        return out::line("No specs in ralph/specs/. Write one in markdown and put it there.");
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|s| {
            let mark = if plan.current_spec.as_deref() == Some(&s.name) { "*" } else { " " };
            let (open, done) = tasks_of(plan, &s.name);
            let tasks = match open + done {
                0 => "no tasks".to_owned(),
                _ => format!("{open} open, {done} done"),
            };
            let title = out::clean(s.title.as_deref().unwrap_or("(no heading)"));
            vec![format!("{mark} {}", s.name), tasks, title]
        })
        .collect();
    out::print_table(&rows)
}

fn use_spec(
    context: &CommandContext,
    plan: &PlanArgs,
    typed: &str,
    render: OutputMode,
) -> Result<(), CommandError> {
    let name = existing_spec(context, typed)?;
    context.change_plan(plan, |plan, _| {
        let same = plan.current_spec.as_deref() == Some(&name);
        Ok(if same { Vec::new() } else { vec![PlanEdit::UseSpec(name.clone())] })
    })?;
    render.print(&json!({ "spec": name }), format!("Current spec: {name}"))
}

/// The name of a spec that exists in `ralph/specs/`.
pub(crate) fn existing_spec(context: &CommandContext, typed: &str) -> Result<String, CommandError> {
    let name = spec::name(typed).map_err(CommandError::usage)?;
    if context.project.specs_dir().join(&name).is_file() {
        return Ok(name);
    }
    let known = spec_names(context)?;
    let hint = match nearest(&name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None if known.is_empty() => "ralph/specs/ has no specs; write one in markdown first".into(),
        None => "`ralph spec list` shows the specs there are".into(),
    };
    Err(CommandError::new(format!("spec not found: ralph/specs/{name}")).hint(hint))
}

/// The specs of the project, sorted.
pub(crate) fn spec_names(context: &CommandContext) -> Result<Vec<String>, CommandError> {
    specs::list(&context.project.specs_dir()).map_err(|e| {
        CommandError::new(format!(
            "cannot list {}: {e}",
            context.show(&context.project.specs_dir())
        ))
    })
}

fn read_spec(context: &CommandContext, name: &str) -> Result<SpecOutline, CommandError> {
    let text = context.read_text(&context.project.specs_dir().join(name))?.unwrap_or_default();
    Ok(SpecOutline::parse(name, &text))
}

fn as_json(spec: &SpecOutline, plan: &Plan) -> Value {
    let (open, done) = tasks_of(plan, &spec.name);
    json!({
        "spec": spec.name,
        "title": spec.title,
        "current": plan.current_spec.as_deref() == Some(&spec.name),
        "open": open,
        "done": done,
        "criteria": spec.boxes.len(),
    })
}

fn tasks_of(plan: &Plan, spec: &str) -> (usize, usize) {
    let of = |s: Option<&str>| s.or(plan.current_spec.as_deref()) == Some(spec);
    let open = plan.tasks.iter().filter(|t| of(t.spec.as_deref()) && t.state.is_open()).count();
    let done = plan
        .tasks
        .iter()
        .filter(|t| {
            of(t.spec.as_deref()) && matches!(t.state, TaskState::Done | TaskState::Accepted)
        })
        .count();
    let buried = plan
        .tombstones
        .iter()
        .filter(|t| t.kind == ralph_core::plan::TombstoneKind::Accept && of(t.spec.as_deref()))
        .count();
    (open, done + buried)
}

/// Return the name of a typed spec in this plan. In plan.jsonl it is a file name; in other formats it
/// is the typed word.
pub(crate) fn spec_of(plan: &Plan, typed: &str) -> Result<String, CommandError> {
    match plan.format {
        PlanFormat::Jsonl => spec::name(typed).map_err(CommandError::usage),
        _ => Ok(typed.to_owned()),
    }
}

/// Refuse a spec that no record of the plan belongs to.
pub(crate) fn known_spec(plan: &Plan, spec: &str) -> Result<(), CommandError> {
    let named = plan.tasks.iter().filter_map(|t| t.spec.as_deref());
    let entries = plan.specs.iter().map(|s| s.id.as_str());
    let known: Vec<&str> = named.chain(entries).chain(plan.current_spec.as_deref()).collect();
    if known.contains(&spec) {
        return Ok(());
    }
    let hint = nearest(spec, known.iter().copied()).map(|near| format!("did you mean {near}?"));
    Err(CommandError::new(format!("no task belongs to {spec}")).maybe_hint(hint))
}
