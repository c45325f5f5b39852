//! `ralph init`: make a directory a project of ralph.

mod commit;
mod interview;

use std::io::{self, IsTerminal};
use std::path::Path;

use clap::Args;
use ralph_core::format::{self, PlanFormat};
use ralph_core::init::{
    self, IgnoreRulesState, InitRequest, ProjectSetup, ProjectTree, ProposedGate, STARTER_FILE,
};
use ralph_host::proc::JobRunner;
use ralph_host::store::{self, FileCreation};
use ralph_host::survey::survey;
use serde::Serialize;

use self::commit::{CommitAnswer, CommitOffer};
use super::construct::native_plan;
use super::{first_commit, lane_trial};
use crate::args::PlanArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, LabelledRows, OutputMode};

/// Set a project up: a first spec, ralph.toml with quality gates, ignore rules
///
/// ralph looks for Rust, Node, Python, Go, Make and Just, and writes their test and lint commands as
/// gates. It also finds what makes a lane usable, the checkout in which agents work: the command that
/// installs packages, ignored files such as .env, folders beside the repository. On a terminal it asks
/// which backend to use, runs each gate once and asks whether to keep it, commits what it wrote if you
/// agree, and tries the gates in a lane. --yes takes the usual answer to each question, commits what it
/// wrote and runs no gate. Without a terminal it asks nothing and commits nothing. It imports the settings
/// of a Ralph Deluxe project or a .ralph-wiggum/ folder. It never overwrites a file, so you can run it
/// again.
///
/// Examples:
///   ralph init
///   ralph init --yes --format progress
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct InitArgs {
    /// Ask nothing, keep every gate that was found, and commit what was written
    #[arg(short, long)]
    yes: bool,
    /// Also write an empty plan of this format
    #[arg(long, value_name = "FORMAT", value_parser = ["implementation", "progress", "deluxe"])]
    format: Option<String>,
    /// Print JSON (and do not ask)
    #[arg(long)]
    json: bool,
}

const IGNORE: &str = ".gitignore";

pub(crate) fn run(context: &CommandContext, args: &InitArgs) -> Result<(), CommandError> {
    let root = context.project.root();
    let runner = JobRunner::new(format!("init-{}", std::process::id()));
    let repo = match context.project.git_dir() {
        Some(_) => Some(context.repo(&runner)?),
        None => None,
    };
    let tree = match &repo {
        Some(repo) => lane_trial::look_at(context, repo)?,
        None => survey(root)?,
    };
    let mut request = request(context, args);
    let mut setup = set_up(&tree, &request)?;
    let render = OutputMode::from_flag(args.json);
    let asks = !args.yes && render == OutputMode::People && is_asked();
    let mut stdin = io::stdin().lock();
    let mut interview = interview::InitInterview::new(&mut stdin, io::stderr());
    let mut tried = Vec::new();
    if asks && !setup.is_done() {
        // Whoever has a configuration has answered before.
        if setup.is_new() {
            tried = interview.ask(context, &runner, &setup, &mut request)?;
            setup = set_up(&tree, &request)?;
        }
        interview.agree(&setup)?;
    }
    let before = repo.as_ref().map(CommitOffer::before);
    let mut done = carry_out(root, setup)?;
    let written = done.written();
    if let (Some(repo), Some(before)) = (&repo, before)
        && (args.yes || !written.is_empty())
    {
        let message = first_commit::set_up_message(context);
        let offer = before.after(repo, &context.directory, &written, message);
        let answer = match (args.yes, asks) {
            (true, _) => CommitAnswer::Usual,
            (false, true) => interview.commit(&offer),
            (false, false) => CommitAnswer::Nothing,
        };
        done.commit = offer.carry_out(repo, answer);
    }
    match render {
        OutputMode::Json => out::json(&done)?,
        OutputMode::People => done.report(context)?,
    }
    if let Some(repo) = repo.as_ref().filter(|_| asks) {
        interview.try_in_lane(context, repo, &runner, context.config()?.lane, &tried)?;
    }
    Ok(())
}

fn request(context: &CommandContext, args: &InitArgs) -> InitRequest {
    let wanted = PlanFormat::ALL.into_iter().find(|f| Some(f.as_str()) == args.format.as_deref());
    let empty = |format| {
        format::codec(format).empty(&super::convert::project_name(context), &context.now())
    };
    InitRequest { plan: wanted.map(|format| (format, empty(format))), ..InitRequest::default() }
}

fn set_up(tree: &ProjectTree, request: &InitRequest) -> Result<ProjectSetup, CommandError> {
    init::set_up(tree, request).map_err(|in_the_way| {
        CommandError::new(in_the_way.to_string())
            .hint(format!("move {} away, then run `ralph init` again", in_the_way.path))
    })
}

fn is_asked() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal()
}

#[derive(Serialize)]
struct InitReport {
    root: String,
    created: Vec<String>,
    changed: Vec<String>,
    commit: commit::CommitReport,
    #[serde(flatten)]
    setup: ProjectSetup,
}

/// Write what is missing. A file that appeared since we looked counts as kept.
fn carry_out(root: &Path, mut setup: ProjectSetup) -> Result<InitReport, CommandError> {
    let mut created = Vec::new();
    let mut changed = Vec::new();
    // Before the configuration, which comes last: without it the next run starts over.
    if setup.ignore == IgnoreRulesState::Lacking && add_ignore_rules(&root.join(IGNORE))? {
        changed.push(IGNORE.to_owned());
    }
    for file in std::mem::take(&mut setup.create) {
        match store::create(&root.join(&file.path), file.text.as_bytes())? {
            FileCreation::New => created.push(file.path),
            FileCreation::AlreadyThere => setup.kept.push(file.path),
        }
    }
    let commit = commit::CommitReport::default();
    Ok(InitReport { root: root.display().to_string(), created, changed, commit, setup })
}

fn add_ignore_rules(path: &Path) -> Result<bool, CommandError> {
    let bytes = store::read(path)?.unwrap_or_default();
    let Some(text) = String::from_utf8(bytes).ok().and_then(|text| init::with_rules(&text)) else {
        return Ok(false);
    };
    store::replace(path, text.as_bytes())?;
    Ok(true)
}

impl InitReport {
    /// The files that were made or changed.
    fn written(&self) -> Vec<String> {
        self.created.iter().chain(&self.changed).cloned().collect()
    }

    fn report(&self, context: &CommandContext) -> Result<(), CommandError> {
        let setup = &self.setup;
        if self.written().is_empty() && self.commit.made.is_none() {
            out::line(format!(
                "Everything is already there{}; nothing was changed.",
                place(context)
            ))?;
        } else {
            self.rows(context).print()?;
        }
        self.commit.trouble.iter().for_each(|trouble| out::warn(out::clean(trouble)));
        setup.problems.iter().for_each(|problem| out::warn(out::clean(&problem.to_string())));
        Ok(())
    }

    fn rows(&self, context: &CommandContext) -> LabelledRows {
        let setup = &self.setup;
        let mut rows = LabelledRows::default();
        if context.project.root() != context.directory {
            rows.add("Project", [context.project.root().display().to_string()]);
        }
        rows.add("Created", &self.created);
        rows.add("Changed", self.changed.iter().map(|f| format!("{f} (rules added)")));
        rows.add("Kept", &setup.kept);
        rows.add("Imported", &setup.imported);
        let found = setup.found.iter().map(|f| format!("{} ({})", f.stack, f.evidence));
        rows.add("Found", found);
        rows.add("Gates", out::table(&setup.gates.iter().map(gate).collect::<Vec<_>>()));
        let lane = &setup.lane;
        let setup_command = lane.setup.iter().map(|command| format!("setup {command}"));
        let copied = lane.copy.iter().map(|path| format!("copy {path}: agents can read it"));
        let linked = lane.link.iter().map(|path| format!("link {path}"));
        rows.add("Lane", setup_command.chain(copied).chain(linked));
        rows.add("Commit", &self.commit.made);
        rows.add("Note", &setup.notes);
        let starter = self.created.iter().any(|file| file == STARTER_FILE);
        rows.add("Next", self.commit.next.iter().cloned().chain(next_steps(context, starter)));
        rows
    }
}

/// Return ` in PATH` for messages when the project is not in the directory of the command. Otherwise
/// return the empty text.
fn place(context: &CommandContext) -> String {
    let root = context.project.root();
    if root == context.directory { String::new() } else { format!(" in {}", root.display()) }
}

/// Name and command; an imported gate has nothing but its command.
fn gate(gate: &ProposedGate) -> Vec<String> {
    let command = Some(gate.command.clone()).filter(|command| *command != gate.name);
    [gate.name.clone()].into_iter().chain(command).collect()
}

fn next_steps(context: &CommandContext, starter: bool) -> Vec<String> {
    let git = context.project.git_dir().is_none();
    let git = git.then(|| "`git init`: ralph works in git repositories".to_owned());
    let constructs = native_plan(context, &PlanArgs::default()).is_ok();
    let spec = match starter {
        true if constructs => {
            format!("say what you want in {STARTER_FILE}, then `ralph construct`")
        }
        true => format!("say what you want in {STARTER_FILE}, then `ralph plan` and `ralph build`"),
        false => "write a spec into ralph/specs/, or `ralph task add \"…\"`".to_owned(),
    };
    git.into_iter().chain([spec]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_files_are_ignored_by_git() {
        let rules = init::with_rules("").unwrap();
        assert!(rules.lines().any(|rule| rule == format!("{}*", store::TEMP_PREFIX)), "{rules}");
    }
}
