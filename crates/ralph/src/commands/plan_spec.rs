//! `ralph plan`: a spec, or a sentence, becomes tasks.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ralph_core::config::flag_layer;
use ralph_core::construct::apply::ExistingTasks;
use ralph_core::construct::needs_plan;
use ralph_core::cycle::{EventKind, LoopEvent};
use ralph_core::cycle::{LoopEnd, exit_code};
use ralph_core::format::{PlanFormat, codec};
use ralph_core::plan::{Plan, Task};
use ralph_host::drive::{self, DriveError, PlanningRequest, PlanningResult, PreviewInputs};

use super::build::{mend_ledger, setup};
use super::first_commit;
use super::loop_args::LoopArgs;
use super::permit::CommandAccess;
use super::plan_preview;
use super::spec_file::{self, SpecFile};
use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Make tasks of a spec, or of a sentence, with criteria and dependencies
///
/// Without a spec: of every spec in ralph/specs/ (or specs/) that has no tasks yet. Tasks that
/// a spec has already stay, unless --replace is given; on a terminal ralph asks. A plan with
/// vague criteria, unknown dependencies, circles or no tasks goes back to the agent once.
///
/// Examples:
///   ralph plan avatars.md
///   ralph plan
///   ralph plan "a --json flag for the list command, with a test"
///   ralph plan ralph/specs/avatars.md --format implementation --replace
#[derive(Clone, Debug, Default, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PlanSpecArgs {
    /// A spec (a name in ralph/specs/ or a markdown file), or what is wanted in plain words
    what: Option<String>,
    #[command(flatten)]
    plan: PlanArgs,
    /// The format of a plan that does not exist yet: jsonl, plan-json, progress or implementation
    #[arg(long, value_name = "FORMAT", value_parser = format_of)]
    format: Option<PlanFormat>,
    /// Take out the open tasks that the spec has; finished ones stay
    #[arg(long, conflicts_with = "merge")]
    replace: bool,
    /// Keep the tasks that the spec has, and add what is new
    #[arg(long)]
    merge: bool,
    /// Show the prompt and the command line; ask nobody and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(crate) common: LoopArgs,
}

fn format_of(word: &str) -> Result<PlanFormat, String> {
    match word {
        "jsonl" | "plan.jsonl" => Ok(PlanFormat::Jsonl),
        "plan-json" | "plan.json" | "deluxe" => Ok(PlanFormat::Deluxe),
        "progress" | "progress.md" => Ok(PlanFormat::Progress),
        "implementation" | "implementation.json" => Ok(PlanFormat::Implementation),
        _ => Err("one of jsonl, plan-json, progress, implementation".to_owned()),
    }
}

impl PlanSpecArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        if self.dry_run { CommandAccess::Look } else { CommandAccess::Decide }
    }
}

pub(crate) fn run(context: &CommandContext, args: &PlanSpecArgs) -> Result<ExitCode, CommandError> {
    let flags = args.common.flags([]);
    flag_layer(&flags).map_err(|errors| CommandError::usage(errors.to_string()))?;
    if !args.dry_run {
        mend_ledger(context, &mut |event: &LoopEvent<'_>| {
            use EventKind::{LedgerRestored, Warning};
            if let Warning(remark) | LedgerRestored(remark) = &event.kind {
                out::warn(&remark.text);
            }
        })?;
    }
    let path = plan_path(context, args)?;
    let file = context.plan_at(&path)?;
    if let Some(format) = args.format.filter(|format| *format != file.plan.format) {
        let (shown, own) = (&file.shown, file.plan.format);
        return Err(CommandError::new(format!("{shown} is a {own}, not a {format}"))
            .hint("`ralph convert` makes one of the other, or name another file with --plan"));
    }
    let Some(plannings) = plannings(context, args, &file.plan)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let resolved = context.config_with(&flags, &file)?;
    if args.dry_run {
        let look = PreviewInputs {
            project: &context.project,
            config: &resolved.config,
            gates: &[],
            plan: &file.plan,
            text: "",
            shown: &file.shown,
            options: &args.common.options(),
            clock: context.clock(),
        };
        plan_preview::run(&look, &plannings, args.common.render())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !path.exists() {
        let empty = codec(file.plan.format).empty("", &context.now());
        context.change_text(&path, |text| Ok((text.map_or(empty, str::to_owned), ())))?;
    }
    first_commit::ensure(context)?;
    let setup = setup(context, &file, &resolved, args.common.options())?;
    let mut listener = ralph_face::listener(args.common.view(), context.project.root());
    let planned = drive::plan(setup, &plannings, &mut *listener);
    drop(listener);
    match planned {
        Ok(planned) => tell(context, &path, &planned, args.common.render()),
        // Once at most: nothing is left to recover then.
        Err(DriveError::SettingsMoved) => run(context, args),
        Err(e) => Err(e.into()),
    }
}

/// The plan in use, or the one that the format asks for.
fn plan_path(context: &CommandContext, args: &PlanSpecArgs) -> Result<PathBuf, CommandError> {
    if args.plan.plan.is_none()
        && let Some(format) = args.format
    {
        return Ok(match format {
            PlanFormat::Jsonl => context.project.plan_jsonl(),
            other => context.project.ledger_file(other.file_name()),
        });
    }
    match context.plan_path(&args.plan) {
        // A project may begin with a spec.
        Err(_) if args.plan.plan.is_none() => Ok(context.project.plan_jsonl()),
        other => other,
    }
}

/// Collect the plans to make. `None` when there is nothing to do, after a message to the user.
fn plannings(
    context: &CommandContext,
    args: &PlanSpecArgs,
    plan: &Plan,
) -> Result<Option<Vec<PlanningRequest>>, CommandError> {
    let Some(typed) = &args.what else {
        let all = spec_file::all(context)?;
        if all.is_empty() {
            return Err(spec_file::none(context)
                .hint("`ralph plan \"what you want\"` and `ralph task add` do without a spec"));
        }
        let open: Vec<SpecFile> =
            all.into_iter().filter(|spec| args.replace || unplanned(plan, &spec.name)).collect();
        if open.is_empty() {
            out::line("Every spec has tasks; nothing to plan.")?;
            return Ok(None);
        }
        let existing = if args.replace { ExistingTasks::Replace } else { ExistingTasks::Merge };
        return Ok(Some(open.into_iter().map(|spec| of_spec(spec, existing)).collect()));
    };
    if spec_file::find(context, typed)?.is_some() {
        let spec = spec_file::spec_file(context, typed)?;
        let existing = existing(args, plan, &spec)?;
        return Ok(existing.map(|existing| vec![of_spec(spec, existing)]));
    }
    if !typed.trim().contains(' ') {
        // One word is a slip, not a wish.
        let near = spec_file::near(context, typed).map(|near| format!("did you mean {near}?"));
        let other = "`ralph spec list` shows the specs; or say what is wanted in a sentence";
        return Err(CommandError::new(format!("there is no spec {}", out::clean(typed)))
            .hint(near.unwrap_or_else(|| other.into())));
    }
    let (text, existing) = (typed.clone(), ExistingTasks::Merge);
    Ok(Some(vec![PlanningRequest { spec: None, file: None, text, existing, dry: false }]))
}

fn of_spec(spec: SpecFile, existing: ExistingTasks) -> PlanningRequest {
    let SpecFile { name, file, text } = spec;
    PlanningRequest { spec: Some(name), file: Some(file), text, existing, dry: false }
}

fn unplanned(plan: &Plan, spec: &str) -> bool {
    let stem = |name: &str| name.trim_end_matches(".md").rsplit('/').next().map(str::to_owned);
    let listed = plan.specs.iter().any(|entry| {
        let named = entry.id == spec || stem(&entry.id) == stem(spec);
        named && plan.tasks.iter().any(|task| task.spec.as_ref() == Some(&entry.id))
    });
    !listed && needs_plan(plan, spec)
}

/// Decide what happens to the tasks that a spec already has. `None` when the user cancels.
fn existing(
    args: &PlanSpecArgs,
    plan: &Plan,
    spec: &SpecFile,
) -> Result<Option<ExistingTasks>, CommandError> {
    if args.replace {
        return Ok(Some(ExistingTasks::Replace));
    }
    let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
    if args.merge || args.dry_run || !asks || unplanned(plan, &spec.name) {
        return Ok(Some(ExistingTasks::Merge));
    }
    let mut answer = String::new();
    // Whoever cannot be asked has said nothing.
    let _ = write!(
        io::stderr(),
        "{} has tasks already. [m]erge what is new, [r]eplace the open ones, or [c]ancel? ",
        spec.name
    );
    let read = io::stdin().lock().read_line(&mut answer);
    let word = read.map(|_| answer.trim().to_lowercase()).unwrap_or_default();
    Ok(match word.as_str() {
        "m" | "merge" | "" => Some(ExistingTasks::Merge),
        "r" | "replace" => Some(ExistingTasks::Replace),
        _ => {
            out::line("Nothing was changed.")?;
            None
        }
    })
}

fn tell(
    context: &CommandContext,
    path: &std::path::Path,
    planned: &[PlanningResult],
    render: OutputMode,
) -> Result<ExitCode, CommandError> {
    let created: Vec<&Task> = planned.iter().flat_map(|one| &one.tasks).collect();
    let failed = planned.iter().any(|one| one.end.is_some());
    if render == OutputMode::People && !(failed && created.is_empty()) {
        for note in planned.iter().filter(|one| one.tasks.is_empty()).flat_map(|p| &p.came.notes) {
            out::line(note)?;
        }
        let count = out::count(created.len(), "new task");
        out::line(format!("{count} in {}", context.show(path)))?;
        table(&created)?;
    }
    Ok(failure(planned).unwrap_or(ExitCode::SUCCESS))
}

/// Tell why there is no plan, if there is none.
fn failure(planned: &[PlanningResult]) -> Option<ExitCode> {
    let end = planned.iter().find_map(|one| one.end.as_ref())?;
    let hint = match end {
        LoopEnd::Backend { advice, .. } => advice.clone(),
        LoopEnd::NoPlan { log, .. } => log.as_ref().map(|log| format!("{log} has what was said")),
        _ => None,
    };
    // The words of an error, and the exit code of the loop's end.
    let _code = CommandError::new(end.reason()).maybe_hint(hint).report();
    Some(ExitCode::from(exit_code(end)))
}

/// The tasks that specs would get.
pub(super) fn tell_dry(
    specs: &[String],
    planned: &[PlanningResult],
) -> Result<ExitCode, CommandError> {
    for (spec, one) in specs.iter().zip(planned) {
        out::line(format!("{spec}: would get {} tasks", one.tasks.len()))?;
        table(&one.tasks.iter().collect::<Vec<_>>())?;
    }
    Ok(failure(planned).unwrap_or(ExitCode::SUCCESS))
}

fn table(tasks: &[&Task]) -> Result<(), CommandError> {
    let rows: Vec<Vec<String>> = tasks
        .iter()
        .map(|task| {
            let priority = task.priority.map_or("", |p| p.as_str());
            let name = out::clean(&task.name);
            vec![format!("  {}", task.id), priority.to_owned(), name]
        })
        .collect();
    out::print_table(&rows)
}
