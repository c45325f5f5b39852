//! `ralph import`: the plan of another loop or tracker becomes tasks here.
//!
//! What is read is worked out first, shown, and agreed to; then the copies are written, then the
//! record, and the plan last, so that an interrupted import is finished by running it again.

mod gather;
mod show;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::format::{self, PlanFormat};
use ralph_core::import::{
    self, ImportError, ImportKind, ImportTarget, PlacedDocument, PreparedImport, SourceContent,
};
use ralph_core::text::nearest;
use ralph_host::plan_store;
use ralph_host::project_reader::ProjectReadError;
use ralph_host::store::{self, FileCreation};

use crate::args::{OutputArgs, PlanArgs};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

use gather::GatheredSources;

/// Bring a plan along from another loop or tracker
///
/// KIND is one of prd, fix-plan, task-master, beads, openspec, spec-kit, deluxe, wiggum, github;
/// without it the files say. PATH is a file, a project or - for standard input. It shows what it
/// will create and asks; nothing is overwritten, nothing is lost, and a second import adds nothing
/// twice.
///
/// Examples:
///   ralph import
///   ralph import prd.json --dry-run
///   ralph import beads ../old/.beads/issues.jsonl --into plan.json --yes
///   gh issue list --json number,title,body,labels,state | ralph import github - --yes
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ImportArgs {
    /// The kind of the source [default: known from the files]
    #[arg(value_name = "KIND")]
    kind: Option<String>,
    /// The file or the project, or - for standard input [default: this project]
    path: Option<String>,
    /// The plan that takes the tasks [default: the project's plan]
    #[arg(long, value_name = "PLAN")]
    into: Option<PathBuf>,
    /// Show what would be created, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Import without asking
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// An import that is known but not yet made.
struct ImportJob {
    kind: ImportKind,
    /// Name of the source, for people.
    from: String,
    found: SourceContent,
    placed: Vec<PlacedDocument>,
    into: PathBuf,
    /// Remarks about the source files, for people.
    remarks: Vec<String>,
}

pub(crate) fn run(context: &CommandContext, args: &ImportArgs) -> Result<(), CommandError> {
    let (kind, path) = asked(args)?;
    let gathered = gather::gather(context, path)?;
    let job = job(context, args, kind, gathered)?;
    let (import, blocks) = preview(context, &job)?;
    let is_new = import.added() > 0 || blocks || job.placed.iter().any(|placed| !placed.is_there);
    let render = args.output.render();
    if render == OutputMode::People {
        show::plan(context, &job, &import)?;
    }
    if !is_new || args.dry_run {
        return show::end(
            context,
            &job,
            &import,
            show::ImportOutcome::unwritten(args.dry_run),
            render,
        );
    }
    agree(args, path)?;
    if let Some(holder) = store::who_runs(&context.project.state_dir()) {
        let message = format!("a loop is running here (pid {}), nothing was written", holder.pid);
        return Err(
            CommandError::new(message).hint("`ralph stop` ends it; import again after that")
        );
    }
    let import = write(context, &job)?;
    show::end(context, &job, &import, show::ImportOutcome::Written, render)
}

/// The kind and the path, in whichever way they were typed.
fn asked(args: &ImportArgs) -> Result<(Option<ImportKind>, &str), CommandError> {
    let (Some(first), path) = (args.kind.as_deref(), args.path.as_deref()) else {
        return Ok((None, "."));
    };
    match (ImportKind::from_word(first), path) {
        (Some(kind), path) => Ok((Some(kind), path.unwrap_or("."))),
        (None, None) => Ok((None, first)),
        (None, Some(_)) => {
            let names = ImportKind::ALL.map(ImportKind::as_str);
            let hint = match nearest(first, names) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("it is one of {}", names.join(", ")),
            };
            Err(CommandError::usage(format!("unknown kind `{}`", out::clean(first))).hint(hint))
        }
    }
}

fn job(
    context: &CommandContext,
    args: &ImportArgs,
    kind: Option<ImportKind>,
    gathered: GatheredSources,
) -> Result<ImportJob, CommandError> {
    let kind = match kind {
        Some(kind) => kind,
        None => decide(&gathered)?,
    };
    let found = import::read(kind, &gathered.sources).map_err(|e| refused(&gathered, e))?;
    let root = context.project.root();
    // What cannot be read is in the way like anything else.
    let look = |path: &str| store::read(&root.join(path)).unwrap_or_else(|_| Some(vec![0]));
    let placed = import::place(&found.documents, &look);
    let into = match &args.into {
        Some(path) => context.directory.join(path),
        None => context.plan_path(&PlanArgs::default())?,
    };
    Ok(ImportJob { kind, from: gathered.shown, found, placed, into, remarks: gathered.remarks })
}

fn decide(gathered: &GatheredSources) -> Result<ImportKind, CommandError> {
    let candidates = import::candidates(&gathered.sources);
    match candidates.as_slice() {
        [one] => Ok(one.kind),
        [] => {
            let mut error =
                CommandError::new(format!("there is no plan to import in {}", gathered.shown));
            for kind in ImportKind::ALL {
                error = error.hint(format!("{kind}: {}", kind.looks_like()));
            }
            Err(error)
        }
        several => {
            let message = format!("{} can be read in several ways", gathered.shown);
            let mut error = CommandError::usage(message);
            for candidate in several {
                let path = gathered.typed(&candidate.evidence);
                error = error.hint(format!("`ralph import {} {path}`", candidate.kind));
            }
            Err(error)
        }
    }
}

fn refused(gathered: &GatheredSources, error: ImportError) -> CommandError {
    let file = gathered.called(&error.file);
    CommandError::new(out::clean(&ImportError { file, ..error.clone() }.to_string()))
        .hint(error.hint)
}

/// Work out the import, and whether it adds something to the record.
fn preview(
    context: &CommandContext,
    job: &ImportJob,
) -> Result<(PreparedImport, bool), CommandError> {
    let shown = context.show(&job.into);
    let import = if job.into.exists() {
        let file = context.read_plan(&PlanArgs { plan: Some(job.into.clone()) })?;
        settled(context, job, &shown, Some((&file.plan, &file.text)))?
    } else {
        settled(context, job, &shown, None)?
    };
    let path = context.project.root().join(&import.record_path);
    let old = context.read_text(&path)?;
    let is_new = import::with_blocks(old.as_deref(), job.kind, &import.record).is_some();
    Ok((import, is_new))
}

/// The import into a plan, or into a new one of the format that its name says.
fn settled(
    context: &CommandContext,
    job: &ImportJob,
    shown: &str,
    there: Option<(&ralph_core::plan::Plan, &str)>,
) -> Result<PreparedImport, CommandError> {
    let now = context.now();
    let fresh;
    let (plan, text) = match there {
        Some((plan, text)) => (plan, text),
        None => {
            let format = PlanFormat::from_file_name(shown)
                .ok_or_else(|| ProjectReadError::NotAPlanName(shown.to_owned()))?;
            let codec = format::codec(format);
            let text = codec.empty(&super::convert::project_name(context), &now);
            let plan = codec.parse(&text).map_err(|e| CommandError::new(e.to_string()))?;
            fresh = (plan, text);
            (&fresh.0, fresh.1.as_str())
        }
    };
    let codec = format::codec(plan.format);
    let target = ImportTarget { shown, text, plan, codec, now: &now };
    import::settle(job.kind, &job.found, &job.placed, &target)
        .map_err(|error| CommandError::new(out::clean(&error.to_string())).hint(error.hint))
}

/// Ask whoever sits there; without anybody, `--yes` must have been said.
fn agree(args: &ImportArgs, path: &str) -> Result<(), CommandError> {
    if args.yes {
        return Ok(());
    }
    let somebody = io::stdin().is_terminal() && io::stderr().is_terminal();
    if path == "-" || args.output.render() == OutputMode::Json || !somebody {
        return Err(CommandError::usage("nothing was written: nobody can be asked here")
            .hint("--yes imports it, --dry-run only shows it"));
    }
    // Nobody can be told that stderr is gone.
    let _ = write!(io::stderr(), "Import this? [Y/n] ");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    let yes = matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes");
    if read.is_ok_and(|bytes| bytes > 0) && yes {
        return Ok(());
    }
    Err(CommandError::new("stopped at your word; nothing was changed"))
}

/// Copies, then the record, then the plan.
fn write(context: &CommandContext, job: &ImportJob) -> Result<PreparedImport, CommandError> {
    let root = context.project.root();
    for placed in job.placed.iter().filter(|placed| !placed.is_there) {
        let path = root.join(&placed.path);
        let made = store::create(&path, placed.document.text.as_bytes())?;
        if made == FileCreation::AlreadyThere {
            let message = format!("{} has just been made by somebody else", context.show(&path));
            return Err(CommandError::new(message).hint("import again: it will take another name"));
        }
    }
    let (import, _) = preview(context, job)?;
    write_record(context, job.kind, &import, &root.join(&import.record_path))?;
    let shown = context.show(&job.into);
    context.change_text(&job.into, |old| {
        let import = match old.filter(|text| !text.is_empty()) {
            None => settled(context, job, &shown, None)?,
            Some(text) => {
                let plan = plan_store::parse(&job.into, &shown, text)?;
                settled(context, job, &shown, Some((&plan, text)))?
            }
        };
        Ok((import.text.clone(), import))
    })
}

fn write_record(
    context: &CommandContext,
    kind: ImportKind,
    import: &PreparedImport,
    path: &Path,
) -> Result<(), CommandError> {
    let old = context.read_text(path)?;
    if import::with_blocks(old.as_deref(), kind, &import.record).is_none() {
        return Ok(());
    }
    // The folder may not be there yet; a file of somebody else is never replaced, only added to.
    if old.is_none() {
        let text = import::with_blocks(None, kind, &import.record).unwrap_or_default();
        if store::create(path, text.as_bytes())? == FileCreation::New {
            return Ok(());
        }
    }
    context.change_text(path, |old| {
        let text = import::with_blocks(old, kind, &import.record);
        Ok((text.unwrap_or_else(|| old.unwrap_or_default().to_owned()), ()))
    })
}
