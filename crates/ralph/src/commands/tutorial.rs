//! `ralph tutorial`: the project with which the tutorials of the documentation begin.

use std::path::{Path, PathBuf};

use clap::Args;
use ralph_core::backend::sim::demo::{DemoFile, TUTORIAL};

use super::demo;
use crate::error::CommandError;
use crate::out;

/// Create the small project that the tutorials work on
///
/// Writes a program in shell, its test and a Makefile into a new directory, and commits them in a git
/// repository of their own. Both tutorials (docs/tutorial/) work there without an account:
/// `ralph config set backend sim` chooses the simulated agent, which knows what they ask for.
///
/// Examples:
///   ralph tutorial
///   ralph tutorial night
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TutorialArgs {
    /// The directory to create
    #[arg(value_name = "DIR", default_value = "greeter")]
    folder: PathBuf,
}

/// Create the project and say how to go on.
pub(crate) fn run(here: Option<&Path>, args: &TutorialArgs) -> Result<(), CommandError> {
    let root = demo::empty_directory(here, &args.folder)?;
    let files = TUTORIAL.iter().map(|DemoFile { path, text }| (*path, *text));
    demo::make_project(&root, files, "A program")?;
    let shown = args.folder.display();
    let names: Vec<&str> = TUTORIAL.iter().map(|file| file.path).collect();
    out::line(format!("Created a git repository in {shown} with {}.", names.join(", ")))?;
    out::line(format!("Next: cd {shown}"))
}
