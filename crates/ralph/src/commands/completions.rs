//! `ralph completions` and `ralph man`: for shells and for `man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::CommandError;
use crate::out;

/// Print a completion script for a shell
///
/// Example: ralph completions bash > ~/.local/share/bash-completion/completions/ralph
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to print the script for
    shell: Shell,
}

/// Print the manual page, or write one page for each command into a directory
///
/// Example: ralph man ~/.local/share/man/man1
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory to write the pages into
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ralph", &mut script);
    out::raw(&String::from_utf8_lossy(&script))
}

/// Write the man pages.
pub(crate) fn man(args: &ManArgs) -> Result<(), CommandError> {
    match &args.directory {
        Some(directory) => {
            let wrong =
                |e| CommandError::new(format!("cannot write to {}: {e}", directory.display()));
            std::fs::create_dir_all(directory).map_err(wrong)?;
            clap_mangen::generate_to(Cli::command(), directory).map_err(wrong)?;
            out::line(format!("Wrote the manual pages to {}", directory.display()))
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(|e| CommandError::new(format!("cannot make the page: {e}")))?;
            out::raw(&String::from_utf8_lossy(&page))
        }
    }
}
