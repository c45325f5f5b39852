//! `ralph salvage`: what roll-backs removed is looked at, brought back, and given up.

use clap::{Args, Subcommand};
use ralph_core::age;
use ralph_core::cycle::{AttemptView, History};
use ralph_host::clock::stamp_of;
use ralph_host::drive::{retirement, underway};
use ralph_host::git::{GitError, Repo, RepoPath, Salvage, SalvageRetentionRule};
use ralph_host::proc::JobRunner;
use ralph_host::store::RunLock;
use serde_json::{Value, json};

use crate::args::OutputArgs;
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// See, bring back and give up the work of attempts that did not land
///
/// Nothing that an attempt did is lost when it fails: it is kept in git, under refs/ralph/, for
/// `retention.salvage` (30 days). A name is an attempt's id or the beginning of one, the number of an
/// iteration, or `last`.
///
/// Examples:
///   ralph salvage list
///   ralph salvage diff last
///   ralph salvage restore 7
///   ralph salvage prune --keep 10 --dry-run
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SalvageArgs {
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    action: SalvageAction,
}

#[derive(Debug, Subcommand)]
enum SalvageAction {
    /// List what is kept, newest first
    ///
    /// Example: ralph salvage list --json
    List,
    /// Print what an attempt had changed, as a patch
    ///
    /// Example: ralph salvage diff 7 | git apply --3way
    Diff {
        /// The number of an iteration, the id of an attempt or the beginning of one, or `last`
        #[arg(value_name = "NAME", default_value = "last")]
        which: String,
    },
    /// Put what an attempt had changed back into the files, all of it or nothing
    ///
    /// Nothing is staged or committed. Where your files have other changes in the same places, it
    /// refuses and changes nothing.
    ///
    /// Example: ralph salvage restore last
    #[command(verbatim_doc_comment)]
    Restore {
        /// The number of an iteration, the id of an attempt or the beginning of one, or `last`
        #[arg(value_name = "NAME", default_value = "last")]
        which: String,
    },
    /// Give up what was kept for longer than `retention.salvage`
    ///
    /// A loop does this too when it ends. The commits, stashes and indexes that backends had left go
    /// with it.
    ///
    /// Example: ralph salvage prune --keep 10 --dry-run
    #[command(verbatim_doc_comment)]
    Prune {
        /// Give up all but the newest N instead, whatever their age
        #[arg(long, value_name = "N")]
        keep: Option<usize>,
        /// Show what would be given up, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

impl SalvageArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            SalvageAction::List | SalvageAction::Diff { .. } => CommandAccess::Look,
            SalvageAction::Restore { .. } | SalvageAction::Prune { .. } => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: &SalvageArgs) -> Result<(), CommandError> {
    let runner = JobRunner::new(format!("salvage-{}", std::process::id()));
    let kept = SalvageContext {
        context,
        repo: context.repo(&runner)?,
        history: context.history()?,
        render: args.output.render(),
    };
    match &args.action {
        SalvageAction::List => kept.list(),
        SalvageAction::Diff { which } => kept.diff(which),
        SalvageAction::Restore { which } => kept.restore(which),
        SalvageAction::Prune { keep, dry_run } => kept.prune(*keep, SalvageRunMode::of(*dry_run)),
    }
}

/// Choice between a real run and a dry run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SalvageRunMode {
    It,
    Nothing,
}

impl SalvageRunMode {
    fn of(dry_run: bool) -> Self {
        if dry_run { Self::Nothing } else { Self::It }
    }
}

struct SalvageContext<'a> {
    context: &'a CommandContext,
    repo: Repo<'a>,
    history: History,
    render: OutputMode,
}

impl SalvageContext<'_> {
    fn all(&self) -> Result<Vec<Salvage>, CommandError> {
        Ok(self.repo.salvages()?)
    }

    fn list(&self) -> Result<(), CommandError> {
        let all = self.all()?;
        let files = self.repo.salvage_files(&all)?;
        let lines = all.iter().zip(&files);
        if self.render == OutputMode::Json {
            return out::json(
                &lines.map(|(kept, files)| self.as_json(kept, files)).collect::<Vec<_>>(),
            );
        }
        if all.is_empty() {
            return out::line("Nothing is kept: every attempt landed, or it is long ago.");
        }
        let titles = ["#", "task", "kept", "files", "why", "name"];
        let mut rows = vec![titles.map(str::to_owned).to_vec()];
        rows.extend(lines.map(|(kept, files)| {
            let view = self.view(kept);
            let text = |text: Option<String>| text.unwrap_or_else(|| "-".into());
            vec![
                text(view.map(|view| view.started.iteration.to_string())),
                text(view.map(|view| out::clean(&view.started.task))),
                text(self.when(kept)),
                files.len().to_string(),
                self.why(kept),
                kept.of.attempt.clone(),
            ]
        }));
        out::print_table(&rows)
    }

    fn as_json(&self, kept: &Salvage, files: &[RepoPath]) -> Value {
        let view = self.view(kept);
        json!({
            "attempt": kept.of.attempt, "ref": kept.name, "commit": kept.commit,
            "iteration": view.map(|view| view.started.iteration),
            "task": view.map(|view| &view.started.task),
            "at": stamp_of(kept.at),
            "files": files, "why": self.why(kept),
        })
    }

    /// The attempt in the journal; `<attempt>-base` and the like are parts of it.
    fn view(&self, kept: &Salvage) -> Option<&AttemptView> {
        let id = kept.of.attempt.split('-').next()?;
        self.history.attempts.iter().rev().find(|view| view.started.attempt == id)
    }

    fn when(&self, kept: &Salvage) -> Option<String> {
        age::ago(&stamp_of(kept.at)?, &self.context.now())
    }

    fn why(&self, kept: &Salvage) -> String {
        if kept.of.attempt.ends_with("-base") {
            return "written while gates looked at the tree before".into();
        }
        match self.view(kept) {
            Some(view) => view.summary(&self.context.running()).words,
            None => "unknown: the journal does not have it".into(),
        }
    }

    fn name(&self, kept: &Salvage) -> String {
        match self.view(kept) {
            Some(view) => {
                format!("iteration {} ({})", view.started.iteration, out::clean(&view.started.task))
            }
            None => kept.of.attempt.clone(),
        }
    }

    fn find(&self, which: &str) -> Result<Salvage, CommandError> {
        let all = self.all()?;
        if all.is_empty() {
            return Err(CommandError::new("nothing is kept here")
                .hint("the work of an attempt is kept when it does not land"));
        }
        let none = || {
            CommandError::new(format!("nothing is kept under {}", out::clean(which)))
                .hint("`ralph salvage list` shows what is kept")
        };
        if which == "last" {
            return all.into_iter().next().ok_or_else(none);
        }
        let begins = |kept: &&Salvage| {
            let id = &kept.of.attempt;
            id.get(..which.len()).is_some_and(|start| start.eq_ignore_ascii_case(which))
        };
        let number = which.parse::<u32>().ok();
        let of = |kept: &Salvage| self.view(kept).map(|view| view.started.iteration);
        let exact = |kept: &&Salvage| kept.of.attempt == which || kept.name == which;
        let found: Vec<&Salvage> = match (all.iter().find(exact), number) {
            (Some(kept), _) => vec![kept],
            (None, Some(_)) if all.iter().any(|kept| of(kept) == number) => {
                // The attempt itself comes before what was written beside it.
                let mut of_it: Vec<_> = all.iter().filter(|kept| of(kept) == number).collect();
                of_it.sort_by_key(|kept| kept.of.attempt.len());
                of_it.truncate(1);
                of_it
            }
            _ => all.iter().filter(begins).collect(),
        };
        match found[..] {
            [kept] => Ok(kept.clone()),
            [] => Err(none()),
            _ => {
                let error = CommandError::new(format!("several names begin with {which}"));
                Err(found.iter().take(10).fold(error, |error, kept| {
                    error.hint(format!("{}  {}", kept.of.attempt, self.name(kept)))
                }))
            }
        }
    }

    fn diff(&self, which: &str) -> Result<(), CommandError> {
        let kept = self.find(which)?;
        let patch = self.repo.salvage_diff(&kept)?;
        match self.render {
            OutputMode::Json => {
                out::json(&json!({ "ref": kept.name, "patch": String::from_utf8_lossy(&patch) }))
            }
            OutputMode::People => out::untrusted(&patch),
        }
    }

    fn restore(&self, which: &str) -> Result<(), CommandError> {
        let kept = self.find(which)?;
        let name = self.name(&kept);
        let store = self.context.store();
        let _no_loop = RunLock::acquire(&self.context.project.state_dir(), store.holder())?;
        let mut files = self.repo.salvage_files(std::slice::from_ref(&kept))?;
        let files = files.pop().unwrap_or_default();
        self.repo.salvage_restore(&kept).map_err(|e| misfit(e, &kept, &name))?;
        if self.render == OutputMode::Json {
            return out::json(&json!({ "ref": kept.name, "files": files }));
        }
        let count = out::count(files.len(), "file");
        out::line(format!("Restored: {count} of {name}; nothing is staged or committed"))?;
        files.iter().try_for_each(|file| out::line(format!("  {file}")))
    }

    fn prune(&self, keep: Option<usize>, doing: SalvageRunMode) -> Result<(), CommandError> {
        let rule = match keep {
            Some(keep) => SalvageRetentionRule::Beyond(keep),
            None => retirement(&self.context.config()?, self.context.clock().now()),
        };
        let gone = self.repo.retired(rule, underway(&self.history))?;
        if doing == SalvageRunMode::It {
            self.repo.retire(&gone)?;
        }
        let others: Vec<&str> = gone.others.iter().map(|other| other.name.as_str()).collect();
        if self.render == OutputMode::Json {
            let names: Vec<&str> = gone.salvages.iter().map(|kept| kept.name.as_str()).collect();
            let pruned = doing == SalvageRunMode::It;
            return out::json(&json!({ "pruned": pruned, "salvage": names, "others": others }));
        }
        if gone.is_empty() {
            return out::line("Nothing is old enough to go.");
        }
        let word = if doing == SalvageRunMode::It { "Gone" } else { "Would go" };
        for kept in &gone.salvages {
            out::line(format!("{word}: {}  {}", kept.of.attempt, self.name(kept)))?;
        }
        others.iter().try_for_each(|name| out::line(format!("{word}: {name}")))
    }
}

/// Return the error for work that does not fit the current files.
fn misfit(error: GitError, kept: &Salvage, name: &str) -> CommandError {
    let GitError::Failed { message, .. } = &error else { return error.into() };
    let why: Vec<&str> = message.lines().filter_map(|line| line.strip_prefix("error: ")).collect();
    let attempt = &kept.of.attempt;
    let mut told = CommandError::new(format!(
        "the work of {name} does not fit what is in your files now, so nothing was changed"
    ));
    for line in why.iter().take(10) {
        told = told.hint(out::clean(line));
    }
    told.hint(format!(
        "commit or stash your changes and try again, or merge by hand: \
                       `ralph salvage diff {attempt} | git apply --3way`"
    ))
}
