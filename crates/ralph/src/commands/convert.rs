//! `ralph convert`: a plan in another format.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::convert::convert;
use ralph_core::format::PlanFormat;
use serde_json::json;

use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Write a plan in another format, and list what that format cannot hold
///
/// The file names tell the formats: plan.jsonl, plan.json, progress.md, implementation.json. The
/// original does not change. In its own format the plan is copied byte for byte.
///
/// Examples:
///   ralph convert plan.json ralph/plan.jsonl
///   ralph convert ralph/plan.jsonl todo.json --to implementation
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConvertArgs {
    /// The plan to read
    input: PathBuf,
    /// The file to write, or - for standard output
    output: PathBuf,
    /// The format to write [default: from the output's name]
    #[arg(long, value_name = "FORMAT", value_parser = ["jsonl", "deluxe", "progress", "implementation"])]
    to: Option<String>,
    /// Overwrite the output file if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &CommandContext, args: &ConvertArgs) -> Result<(), CommandError> {
    let format = target(args)?;
    let file = context.read_plan(&PlanArgs { plan: Some(args.input.clone()) })?;
    let title = project_name(context);
    let converted = convert(&file.plan, &file.text, format, &title, &context.now())
        .map_err(|e| CommandError::new(format!("cannot convert {}: {e}", file.shown)))?;
    let to_stdout = args.output.as_os_str() == "-";
    if to_stdout {
        out::raw(&converted.text)?;
    } else {
        write(context, args, &converted.text)?;
    }
    report(context, args, format, file.plan.all_tasks().len(), &converted.lost)
}

fn target(args: &ConvertArgs) -> Result<PlanFormat, CommandError> {
    if let Some(name) = &args.to {
        let known = PlanFormat::ALL.into_iter().find(|f| f.as_str() == name);
        return known.ok_or_else(|| CommandError::usage(format!("unknown format {name}")));
    }
    PlanFormat::from_file_name(&args.output.to_string_lossy()).ok_or_else(|| {
        CommandError::usage(format!(
            "the name {} does not tell a plan format",
            args.output.display()
        ))
        .hint("name it with --to jsonl, deluxe, progress or implementation")
    })
}

fn write(context: &CommandContext, args: &ConvertArgs, text: &str) -> Result<(), CommandError> {
    let path = context.directory.join(&args.output);
    context.change_text(&path, |old| {
        if old.is_some() && !args.force {
            return Err(CommandError::new(format!("{} exists already", context.show(&path)))
                .hint("--force replaces it"));
        }
        Ok((text.to_owned(), ()))
    })
}

fn report(
    context: &CommandContext,
    args: &ConvertArgs,
    format: PlanFormat,
    tasks: usize,
    lost: &[String],
) -> Result<(), CommandError> {
    let stdout_is_data = args.output.as_os_str() == "-";
    let shown = context.show(&context.directory.join(&args.output));
    match (OutputMode::from_flag(args.json), stdout_is_data) {
        (OutputMode::Json, false) => {
            return out::json(&json!({
                "output": shown,
                "format": format.as_str(),
                "tasks": tasks,
                "lost": lost,
            }));
        }
        (OutputMode::People, false) => {
            let named = args.output.file_name().is_some_and(|n| n == format.file_name());
            let kind = if named { String::new() } else { format!(" as {format}") };
            out::line(format!("Wrote {shown}{kind}: {}", out::count(tasks, "task")))?;
        }
        (_, true) => {}
    }
    if lost.is_empty() {
        return Ok(());
    }
    out::note(format!("{format} cannot hold:"));
    lost.iter().for_each(|l| out::note(format!("  {}", out::clean(l))));
    Ok(())
}

/// Return the name of the project: the name of its directory.
pub(crate) fn project_name(context: &CommandContext) -> String {
    let name = context.project.root().file_name().map(Path::new);
    name.map_or_else(|| "plan".to_owned(), |n| n.display().to_string())
}
