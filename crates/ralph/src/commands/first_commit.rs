//! The first commit of a repository: lanes start from commits, so no run begins without one.
//!
//! Specs, settings and ignore rules are committed without a question, since they are what `ralph init`
//! writes and commits. Files of the user are committed only when the user says so; otherwise the run ends
//! before anything happens, with the command that commits them.

use std::io::{self, IsTerminal, Write};

use ralph_host::git::RepoPath;
use ralph_host::proc::JobRunner;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// The command that makes the first commit of everything.
pub(crate) const COMMAND: &str = "git add -A && git commit -m \"first commit\"";

/// Message of the first commit when it has the user's files too.
pub(crate) const MESSAGE: &str = "first commit";

/// The message of a commit of what `ralph init` wrote.
pub(crate) fn set_up_message(context: &CommandContext) -> String {
    // Settings that cannot be read are told elsewhere.
    let prefix = context.config().map_or_else(|_| "ralph".to_owned(), |it| it.commit_prefix);
    format!("{prefix}: set up")
}

/// Most names of files in a question.
const MOST_NAMES: usize = 8;

/// Make the first commit where there is none, or say how to make it.
pub(crate) fn ensure(context: &CommandContext) -> Result<(), CommandError> {
    if context.project.git_dir().is_none() {
        // Told by the run, with what to do.
        return Ok(());
    }
    let runner = JobRunner::new(format!("first-commit-{}", std::process::id()));
    let repo = context.repo(&runner)?;
    let Some(files) = repo.unborn_files()? else { return Ok(()) };
    if files.others.is_empty() {
        let made = repo.commit_files(&files.sources, &set_up_message(context));
        // Another run may have been faster.
        if made.is_err() && repo.unborn_files()?.is_some() {
            made?;
        }
        let names = match files.sources.is_empty() {
            true => "an empty one".to_owned(),
            false => short_list(&files.sources),
        };
        out::note(format!("this repository had no commit; made the first: {names}"));
        return Ok(());
    }
    let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
    if asks && agreed(&files.others) {
        return Ok(repo.commit_all(MESSAGE)?);
    }
    let error = "this repository has no commit yet, and agents see only what is committed";
    Err(CommandError::new(error).hint(format!("`{COMMAND}` makes the first one")))
}

fn agreed(files: &[RepoPath]) -> bool {
    // Nobody can be told that stderr is gone.
    let _ = write!(io::stderr(), "{} ", question(files));
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The question whether to commit files of the user. Enter means no.
pub(crate) fn question(files: &[RepoPath]) -> String {
    format!(
        "This repository has no commit yet, and agents see only what is committed.\n\
         Commit everything that is not ignored: {}? [y/N]",
        out::clean(&short_list(files))
    )
}

/// The first names of a list, and how many more there are.
pub(crate) fn short_list(files: &[RepoPath]) -> String {
    let names: Vec<String> = files.iter().take(MOST_NAMES).map(ToString::to_string).collect();
    match files.len().saturating_sub(MOST_NAMES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
