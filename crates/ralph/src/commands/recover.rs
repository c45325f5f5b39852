//! `ralph recover`: what an interrupted run left, and a way to go on without it.

use clap::Args;
use ralph_core::cycle::{ArrivalLine, AttemptPhase, OpenAttempt};
use ralph_core::needs::LoopProcess;
use ralph_host::drive;
use ralph_host::git::Salvage;
use ralph_host::proc::JobRunner;
use ralph_host::store::RunLock;
use serde_json::json;

use crate::args::OutputArgs;
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, LabelledRows, OutputMode};

/// Show what an interrupted run left, or go on without it
///
/// The next start of a loop recovers by itself: it finishes, judges or discards the attempt that was under
/// way. This command is for looking first, and for the rare case in which ralph asks a person to decide.
/// Commits whose arrival on your branch was interrupted are shown too; `ralph land` brings them.
///
/// --forget keeps the attempt's work under a ref and writes the attempt down as discarded. It changes no
/// file of yours. The next start then goes on from what has landed.
///
/// Examples:
///   ralph recover
///   ralph recover --json
///   ralph recover --forget
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RecoverArgs {
    /// Go on without the interrupted attempt; its work is kept
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl RecoverArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        if self.forget { CommandAccess::Decide } else { CommandAccess::Look }
    }
}

pub(crate) fn run(context: &CommandContext, args: &RecoverArgs) -> Result<(), CommandError> {
    let render = args.output.render();
    let runner = JobRunner::new(format!("recover-{}", std::process::id()));
    if args.forget { forget(context, &runner, render) } else { look(context, &runner, render) }?;
    Ok(())
}

fn look(
    context: &CommandContext,
    runner: &JobRunner,
    render: OutputMode,
) -> Result<(), CommandError> {
    let history = context.history()?;
    let is_idle = context.running() == LoopProcess::Nobody;
    let arrival = history.arrival.as_ref().filter(|_| is_idle).and_then(interrupted_arrival);
    let Some(open) = history.open else {
        let words = match &arrival {
            Some(arrival) => arrival.as_str(),
            None => "Nothing was interrupted.",
        };
        return render.print(&json!({ "open": null, "arrival": arrival }), words);
    };
    // Whoever has the lock is at work on it.
    let store = context.store();
    let running = RunLock::acquire(&context.project.state_dir(), store.holder()).err();
    let repo = context.repo(runner)?;
    let salvages = repo.salvages()?;
    let kept: Vec<Salvage> =
        salvages.into_iter().filter(|s| s.of.attempt.starts_with(&open.started.attempt)).collect();
    let started = &open.started;
    let command = history.run.as_ref().map_or("build", |run| run.command.as_str());
    let (phase, next) = phase(&open, &format!("`ralph {command}`"));
    let running = running.map(|e| e.to_string());
    if render == OutputMode::Json {
        return out::json(&json!({ "open": {
            "attempt": started.attempt, "iteration": started.iteration, "task": started.task,
            "phase": open.phase(), "running": running,
            "salvage": kept.iter().map(|s| &s.name).collect::<Vec<_>>(), "next": next,
        }, "arrival": arrival }));
    }
    let mut rows = LabelledRows::default();
    rows.add("Attempt", [format!("{} (iteration {})", started.attempt, started.iteration)]);
    rows.add("Task", [format!("{}  {}", started.task, started.name)]);
    rows.add("Phase", [phase]);
    kept.iter().for_each(|kept| rows.add("Kept as", [&kept.name]));
    rows.add("Next", [running.as_ref().unwrap_or(&next)]);
    rows.add("Arrival", arrival);
    rows.print()
}

/// The sentence about an arrival that was killed.
fn interrupted_arrival(line: &ArrivalLine) -> Option<String> {
    let is_open = line.open_arrival.is_some() || line.open_replay.is_some();
    is_open.then(|| {
        format!(
            "Commits were arriving on {} when ralph was killed; `ralph land` finishes that, or puts your \
             files back first.",
            line.branch
        )
    })
}

/// How far it came, and what the next start of the loop does about it.
fn phase(open: &OpenAttempt, command: &str) -> (&'static str, String) {
    let (phase, next) = match open.phase() {
        AttemptPhase::Backend => {
            ("the backend was at work", "keeps what it left aside, and tries again")
        }
        AttemptPhase::Gates => (
            "the backend had ended, and nothing was decided",
            "runs the gates on its work, or tries again if that is gone",
        ),
        AttemptPhase::Landing => (
            "its work was about to be committed",
            "finishes that, after the gates if it did not come so far",
        ),
        AttemptPhase::RollingBack => ("its work was being discarded", "finishes that"),
    };
    (phase, format!("{command} {next}"))
}

fn forget(
    context: &CommandContext,
    runner: &JobRunner,
    render: OutputMode,
) -> Result<(), CommandError> {
    let forgotten = drive::forget(
        &context.project,
        &context.config()?,
        &context.store(),
        context.clock(),
        runner,
    )?;
    let Some(forgotten) = forgotten else {
        return render.print(
            &json!({ "forgotten": null }),
            "Nothing was interrupted, so there is nothing to forget.",
        );
    };
    forgotten.warnings.iter().for_each(out::warn);
    let started = &forgotten.attempt.started;
    let kept = forgotten.kept.as_ref();
    if render == OutputMode::Json {
        return out::json(&json!({
            "forgotten": started.attempt, "iteration": started.iteration, "task": started.task,
            "salvage": kept.map(|kept| &kept.name),
        }));
    }
    out::line(format!("Forgotten: iteration {} ({})", started.iteration, started.task))?;
    match kept {
        Some(kept) => {
            let name = &kept.of.attempt;
            out::line(format!("Its work is kept as {} (`ralph salvage diff {name}`).", kept.name))
        }
        None => out::line("It had changed no file, so there was nothing to keep."),
    }
}
