//! `ralph demo`: the whole loop on a throw-away project, with a backend that costs nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ralph_core::backend::sim::demo::{DemoFile, FILES};
use ralph_core::cycle::{Failure, FailureKind};
use ralph_core::init::with_rules;
use ralph_face::{Detail, Lines};
use ralph_host::drive::{Listener, Notice};
use ralph_host::git::{self, LedgerPaths, Repo};
use ralph_host::proc::{Runner, Scratch};
use ralph_host::store::{self, Created};

use super::build_args::BuildArgs;
use super::{attempts, build};
use crate::context::Context;
use crate::error::CommandError;
use crate::out;

/// See ralph at work on a small project, without an account and without cost
///
/// Makes a throw-away repository with a calculator in shell, its tests and a plan of four tasks, and
/// builds it with a simulated backend that makes the mistakes that real ones make: work that fails
/// its tests, a claim without work, a crash in the middle of an edit. Takes a few seconds, needs git
/// and a shell, and touches nothing else.
///
/// Examples:
///   ralph demo
///   ralph demo --keep ralph-demo
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DemoArgs {
    /// Make the project in this directory and leave it there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const PLAN: &str = "ralph/plan.jsonl";

/// Where the demo takes place.
enum Place {
    /// Gone with this value.
    Scratch(Scratch),
    /// Stays.
    Kept(PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Self::Scratch(scratch) => scratch.path(),
            Self::Kept(path) => path,
        }
    }
}

/// Run it.
pub(crate) fn run(here: Option<&Path>, args: &DemoArgs) -> Result<ExitCode, CommandError> {
    let place = place(here, args)?;
    let root = place.path();
    write_project(root)?;
    let context = Context::open(Some(root))?;
    // Its own name: two demos at once must not take each other's processes for their own.
    let runner = Runner::new(context.ids().ulid(context.clock().now()));
    git::found(root, &runner, "A calculator without operations").map_err(git_error)?;
    tell(&introduction(root))?;
    // Opened again: now it is a repository.
    let context = Context::open(Some(root))?;
    let code = build::run_with(&context, &BuildArgs::with_backend("sim"), &mut Narrator::new())?;
    tell(&["", "Every attempt, newest first:", ""].map(str::to_owned))?;
    attempts::show_all(&context)?;
    tell(&["", "What is in git now:", ""].map(str::to_owned))?;
    tell(&log(&context, &runner)?)?;
    tell(&next_steps(&place))?;
    Ok(code)
}

fn place(here: Option<&Path>, args: &DemoArgs) -> Result<Place, CommandError> {
    let Some(keep) = &args.keep else {
        let scratch = Scratch::new(&std::env::temp_dir());
        return scratch.map(Place::Scratch).map_err(|e| CommandError::new(e.to_string()));
    };
    let path = match here {
        Some(here) => here.join(keep),
        None => keep.clone(),
    };
    let path = std::path::absolute(&path).unwrap_or(path);
    match std::fs::read_dir(&path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(Place::Kept(path)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Place::Kept(path)),
        Ok(false) => Err(CommandError::new(format!("{} is not empty", path.display()))
            .hint("name a directory that is not there yet")),
        Err(e) => Err(CommandError::new(format!("cannot use {}: {e}", path.display()))
            .hint("name a directory that is not there yet")),
    }
}

fn write_project(root: &Path) -> Result<(), CommandError> {
    let ignore = with_rules("").unwrap_or_default();
    let ignore = [(".gitignore", ignore.as_str())];
    let files = FILES.iter().map(|DemoFile { path, text }| (*path, *text)).chain(ignore);
    for (name, text) in files {
        let path = root.join(name);
        match store::create(&path, text.as_bytes()) {
            Ok(Created::New) => {}
            Ok(Created::AlreadyThere) => {
                return Err(CommandError::new(format!("{} is there already", path.display())));
            }
            Err(e) => return Err(CommandError::new(e.to_string()).maybe_hint(e.hint())),
        }
    }
    Ok(())
}

fn introduction(root: &Path) -> Vec<String> {
    let here = format!("A small project was made in {}:", root.display());
    let lines = [
        here.as_str(),
        "a calculator in shell that cannot calculate yet, its tests, and a plan of four tasks.",
        "",
        "A simulated backend will work on them. It makes the mistakes that real ones make, so watch",
        "what becomes of them. After each attempt ralph itself runs the gate, `sh test.sh`. The",
        "dollars are simulated, too.",
        "",
    ];
    lines.map(str::to_owned).to_vec()
}

fn log(context: &Context, runner: &Runner) -> Result<Vec<String>, CommandError> {
    let root = context.project.root();
    let Some(git_dir) = context.project.git_dir() else { return Ok(Vec::new()) };
    let ledger = LedgerPaths::with_plan(PLAN);
    let repo = Repo::open(root, git_dir, runner, &ledger).map_err(git_error)?;
    let lines = repo.recent(20).map_err(git_error)?;
    Ok(lines.iter().map(|line| format!("  {}", out::clean(line))).collect())
}

fn next_steps(place: &Place) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        "Four tasks, four commits that passed their tests, and no trace of what went wrong but the"
            .into(),
        "history: what was rolled back is kept under refs/ralph/.".into(),
        String::new(),
        "Next:".into(),
    ];
    match place {
        Place::Kept(path) => {
            lines.push(format!("  cd {}", path.display()));
            lines.push("  ralph show 2 --diff      the attempt that failed its tests".into());
            lines.push("  git log -p               the work".into());
        }
        Place::Scratch(_) => {
            lines.push("  ralph demo --keep DIR    do it again and keep the project".into());
        }
    }
    lines.push("  ralph init               set your own project up: gates, ignore rules".into());
    lines.push("  ralph build --dry-run    see there what a backend would be told".into());
    lines
}

fn tell(lines: &[String]) -> Result<(), CommandError> {
    lines.iter().try_for_each(out::line)
}

fn git_error(error: git::GitError) -> CommandError {
    CommandError::new(error.to_string()).maybe_hint(error.hint())
}

/// Tells the story of the loop, and in plain words what each turn of it means.
struct Narrator {
    lines: Lines<io::Stdout>,
}

impl Narrator {
    fn new() -> Self {
        Self { lines: Lines::new(io::stdout(), Detail::All) }
    }
}

impl Listener for Narrator {
    fn hear(&mut self, notice: Notice<'_>) {
        let meaning = meaning(&notice);
        self.lines.hear(notice);
        if let Some(words) = meaning {
            // A reader that went away stops nobody's work.
            let _gone = out::line(format!("    → {words}"));
        }
    }
}

fn meaning(notice: &Notice<'_>) -> Option<&'static str> {
    Some(match notice {
        Notice::Landed { .. } => "It said so, files changed and the gate is green: committed.",
        Notice::Failed { failure: Failure { kind, .. }, .. } => match kind {
            FailureKind::Gates => {
                "It said that it was done, and the tests say otherwise. Its files are put back, and the \
                 next attempt is told what the tests said."
            }
            FailureKind::NoChange => {
                "It said that it was done, and changed nothing. A claim alone counts for nothing."
            }
            FailureKind::Backend => {
                "It died in the middle of an edit. The half-written file is put back as it was."
            }
            _ => "The tree is put back as it was, and the task is tried again.",
        },
        _ => return None,
    })
}
