//! `ralph demo`: the whole loop on a throw-away project, with a backend that costs nothing.

mod page;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ralph_core::backend::sim::demo::{DemoFile, FILES};
use ralph_core::cycle::{AttemptState, EventKind, FailureKind, LoopEvent};
use ralph_core::init::{STARTER_FILE, with_rules};
use ralph_face::{LineView, LineViewDetail};
use ralph_host::drive::LoopListener;
use ralph_host::git;
use ralph_host::proc::{JobRunner, ScratchDirectory};
use ralph_host::store::{self, FileCreation};

use self::page::DemoDashboard;
use super::build;
use super::build_args::BuildArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// See ralph at work on a small project, without an account and without cost
///
/// Creates a temporary repository with a calculator in shell, its tests and a plan of four tasks. A
/// simulated agent works on them and makes the mistakes of real agents: code that fails the tests, a
/// claim without any change, a crash in the middle of an edit. It takes a few seconds, needs git and a
/// shell, and changes nothing else on your machine.
///
/// Examples:
///   ralph demo
///   ralph demo --web
///   ralph demo --keep ralph-demo
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DemoArgs {
    /// Create the project in this directory and keep it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Also show it in the dashboard, until Ctrl-C
    #[arg(long)]
    web: bool,
}

/// Directory of the demo, either temporary or kept.
enum DemoDirectory {
    /// Directory that is removed when this value is dropped.
    Scratch(ScratchDirectory),
    Kept(PathBuf),
}

impl DemoDirectory {
    fn path(&self) -> &Path {
        match self {
            Self::Scratch(scratch) => scratch.path(),
            Self::Kept(path) => path,
        }
    }
}

pub(crate) fn run(here: Option<&Path>, args: &DemoArgs) -> Result<ExitCode, CommandError> {
    let place = place(here, args)?;
    let root = place.path();
    let ignore = with_rules("").unwrap_or_default();
    let files = FILES.iter().map(|DemoFile { path, text }| (*path, *text));
    let files = files.chain([(".gitignore", ignore.as_str())]);
    let runner = make_project(root, files, "A calculator without operations")?;
    tell(&introduction(root))?;
    let context = CommandContext::open(Some(root))?;
    let page = if args.web { Some(DemoDashboard::open(&context)?) } else { None };
    let code =
        build::run_with(&context, &BuildArgs::with_backend("sim"), &mut DemoNarrator::new())?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    tell(&["", "What is in git now:", ""].map(str::to_owned))?;
    tell(&log(&context, &runner)?)?;
    tell(&ending(&place))?;
    if let Some(page) = page {
        page.until_told()?;
    }
    Ok(code)
}

fn place(here: Option<&Path>, args: &DemoArgs) -> Result<DemoDirectory, CommandError> {
    match &args.keep {
        Some(keep) => empty_directory(here, keep).map(DemoDirectory::Kept),
        None => {
            let scratch = ScratchDirectory::new(&std::env::temp_dir());
            scratch.map(DemoDirectory::Scratch).map_err(|e| CommandError::new(e.to_string()))
        }
    }
}

/// The absolute path of a directory that is empty or not there yet.
pub(super) fn empty_directory(here: Option<&Path>, name: &Path) -> Result<PathBuf, CommandError> {
    let path = here.map_or_else(|| name.to_owned(), |here| here.join(name));
    let path = std::path::absolute(&path).unwrap_or(path);
    let why = match std::fs::read_dir(&path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => return Ok(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(path),
        Ok(false) => format!("{} is not empty", path.display()),
        Err(e) => format!("cannot use {}: {e}", path.display()),
    };
    Err(CommandError::new(why).hint("name a directory that does not exist yet"))
}

/// Write these files and commit them, in a repository of their own.
pub(super) fn make_project<'f>(
    root: &Path,
    files: impl IntoIterator<Item = (&'f str, &'f str)>,
    subject: &str,
) -> Result<JobRunner, CommandError> {
    for (name, text) in files {
        let path = root.join(name);
        if store::create(&path, text.as_bytes())? == FileCreation::AlreadyThere {
            return Err(CommandError::new(format!("{} is there already", path.display())));
        }
    }
    let context = CommandContext::open(Some(root))?;
    // Its own name: two demos at once must not take each other's processes for their own.
    let runner = JobRunner::new(context.ids().ulid(context.clock().now()));
    git::found(root, &runner, subject)?;
    Ok(runner)
}

fn introduction(root: &Path) -> Vec<String> {
    let here = format!("A small project was made in {}:", root.display());
    let lines = [
        here.as_str(),
        "a calculator in shell that cannot calculate yet, its tests, and a plan of four tasks.",
        "",
        "A simulated agent works on them, one at a time, and makes the mistakes that real ones make.",
        "Watch what comes of them: after each attempt ralph runs the tests itself (`sh test.sh`) and",
        "believes nothing else. The arrows say what just happened. The dollars are simulated, too.",
        "",
    ];
    lines.map(str::to_owned).to_vec()
}

fn log(context: &CommandContext, runner: &JobRunner) -> Result<Vec<String>, CommandError> {
    let lines = context.repo(runner)?.recent(20)?;
    Ok(lines.iter().map(|line| format!("  {}", out::clean(line))).collect())
}

fn ending(place: &DemoDirectory) -> Vec<String> {
    let lines = [
        "",
        "Four tasks, four commits, and the tests passed before each of them. Three attempts went wrong,",
        "and nothing of them is in the files: what they did is kept aside, under refs/ralph/ in git.",
        "",
    ];
    let mut lines = lines.map(str::to_owned).to_vec();
    match place {
        DemoDirectory::Kept(path) => {
            lines.push("Look around in this one:".into());
            lines.push(format!("  cd {}", path.display()));
            lines.push("  ralph attempts           every attempt, and how it ended".into());
            lines.push("  ralph show 2 --diff      the one that failed its tests".into());
            lines.push(String::new());
        }
        DemoDirectory::Scratch(_) => {}
    }
    lines.push("Now on your own repository:".into());
    lines.push("  ralph init                          finds your agent, tries your tests".into());
    lines.push(format!("  ${{EDITOR:-vi}} {STARTER_FILE}  say what you want"));
    lines.push("  ralph construct                     until it is proven done".into());
    lines
}

fn tell(lines: &[String]) -> Result<(), CommandError> {
    lines.iter().try_for_each(out::line)
}

/// Time to read about one attempt, if the output is a terminal.
const PACE: Duration = Duration::from_millis(1500);

/// Tells the story of the loop, and in plain words what each turn of it means.
struct DemoNarrator {
    lines: LineView<io::Stdout>,
    /// Kind of failure of the last attempt; `None` when it did not fail.
    wrong: Option<FailureKind>,
    pace: Duration,
}

impl DemoNarrator {
    fn new() -> Self {
        // Whoever reads a file reads at their own pace.
        let pace = if io::stdout().is_terminal() { PACE } else { Duration::ZERO };
        Self { lines: LineView::new(io::stdout(), LineViewDetail::All), wrong: None, pace }
    }
}

impl LoopListener for DemoNarrator {
    fn on_event(&mut self, event: &LoopEvent<'_>) {
        self.lines.on_event(event);
        let EventKind::IterationEnd(end) = &event.kind else { return };
        if let Some([first, second]) = meaning(end.fate, self.wrong) {
            // A reader that went away stops nobody's work.
            let _gone = out::line(format!("    → {first}"));
            let _gone = out::line(format!("      {second}"));
            std::thread::sleep(self.pace);
        }
        self.wrong = match end.fate {
            AttemptState::Failed { failure, .. } => Some(failure.kind),
            _ => None,
        };
    }
}

fn meaning(fate: &AttemptState, wrong: Option<FailureKind>) -> Option<[&'static str; 2]> {
    Some(match fate {
        AttemptState::Landed { .. } => match wrong {
            None => [
                "It changed files, and the tests pass: that is a commit.",
                "Its word alone would not have been enough, and your word was not needed.",
            ],
            Some(FailureKind::Gates) => [
                "This try was told what the tests had said, and now they pass: a commit.",
                "A mistake costs one more try, not your evening.",
            ],
            Some(FailureKind::NoChange) => [
                "This time there is work, and the tests pass: a commit.",
                "A task is done when it is proven, not when somebody says so.",
            ],
            Some(_) => [
                "A new try from a clean start, and the tests pass: a commit.",
                "Had ralph itself been killed, the next start would have gone on from there.",
            ],
        },
        AttemptState::Failed { failure, .. } => match failure.kind {
            FailureKind::Gates => [
                "It said that it was done, and the tests say otherwise. Its work does not land; it is",
                "kept aside, and the next try is told what the tests said.",
            ],
            FailureKind::NoChange => [
                "It said that it was done, and changed nothing.",
                "A claim alone counts for nothing, so the task is tried again.",
            ],
            FailureKind::Backend => [
                "It died in the middle of an edit. The half-written file stays in its lane and is",
                "cleaned away there: nothing broken is left for the next try, or for you.",
            ],
            _ => ["Nothing of it lands,", "and the task is tried again."],
        },
        AttemptState::Open | AttemptState::Interrupted | AttemptState::Limited => return None,
    })
}
