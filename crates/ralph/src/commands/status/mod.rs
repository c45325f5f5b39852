//! `ralph status`: where things stand, for a person.

mod agent;
mod watch;

use clap::Args;
use ralph_core::agent_session::counts;
use ralph_core::cycle::{DoneElsewhere, History};
use ralph_core::dashboard::{self, BackendMeter, DashboardState, LoopStatus};
use ralph_core::inbox::InboxEntry;
use ralph_core::plan::{self, Stage, StageItem};
use ralph_core::view::{self, PlanSummary, TaskTally};
use ralph_core::words::count;
use ralph_host::project_reader::ProjectSnapshot;
use serde::Serialize;

use agent::AgentStatus;

use crate::args::CommonArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, LabelledRows, OutputMode};

/// Show where the work stands: the agent loop, stage, tasks, what comes next, what is in the way
///
/// With --watch it stays and shows every change until Ctrl-C: in place at a terminal, elsewhere as one
/// more block, and with --json as one more line.
///
/// Examples:
///   ralph status
///   ralph status --watch
///   ralph status --plan progress.md --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Keep running, and show every change
    #[arg(long)]
    pub(crate) watch: bool,
}

pub(crate) fn run(context: &CommandContext, args: &StatusArgs) -> Result<(), CommandError> {
    if args.watch {
        return watch::run(context, args);
    }
    match args.common.render() {
        OutputMode::Json => out::json(&StatusSources::read(context, args)?.answer(context)?),
        OutputMode::People => {
            let head = agent::block(context)?;
            let body = body(context, args, &head)?;
            head.into_iter().chain(body).try_for_each(out::line)
        }
    }
}

#[derive(Serialize)]
struct StatusAnswer<'a> {
    #[serde(flatten)]
    summary: PlanSummary<'a>,
    plan: &'a str,
    tally: TaskTally,
    inbox: &'a [InboxEntry],
    agent: Option<AgentStatus>,
    /// The same that the dashboards show.
    view: DashboardState,
}

/// Data that was read for one status.
struct StatusSources {
    seen: ProjectSnapshot,
    history: History,
    iteration: u32,
    now: String,
}

impl StatusSources {
    fn read(context: &CommandContext, args: &StatusArgs) -> Result<Self, CommandError> {
        let asked = context.read_plan(&args.common.plan)?;
        let history = context.history()?;
        Ok(Self {
            seen: context.reader().snapshot(Some(&asked.path))?,
            iteration: super::query::iteration(&history),
            history,
            now: context.now(),
        })
    }

    fn state(&self) -> DashboardState {
        dashboard::state(&self.seen.facts(&self.history, &self.now, BackendMeter::default()))
    }

    fn answer(&self, context: &CommandContext) -> Result<StatusAnswer<'_>, CommandError> {
        let file = &self.seen.plan;
        Ok(StatusAnswer {
            summary: PlanSummary::of(&file.plan, self.iteration),
            plan: &file.shown,
            tally: TaskTally::of(&file.plan),
            inbox: &self.seen.inbox,
            agent: agent::status(context)?,
            view: self.state(),
        })
    }
}

/// Return the lines below the block of the agent loop. `head` is that block, which may be empty.
fn body(
    context: &CommandContext,
    args: &StatusArgs,
    head: &[String],
) -> Result<Vec<String>, CommandError> {
    let sources = StatusSources::read(context, args)?;
    let (file, inbox, iteration) = (&sources.seen.plan, &sources.seen.inbox, sources.iteration);
    let tally = TaskTally::of(&file.plan);
    let (stage, items) = plan::next(&file.plan);
    let mut rows = LabelledRows::default();
    rows.add("Plan", [&file.shown]);
    rows.add("Spec", &file.plan.current_spec);
    rows.add("Stage", [explain(stage, &tally, iteration)]);
    rows.add("Tasks", [tasks(&tally)]);
    add_loop(&mut rows, &sources.state());
    rows.add("Other", view::other_specs(&file.plan));
    if let Some(here) = context.project.branch() {
        let found = DoneElsewhere::find(&sources.history, &file.plan, &here);
        rows.add("Elsewhere", found.iter().map(DoneElsewhere::to_sentence));
    }
    let issues = file.plan.scoped_issues().count();
    rows.add("Issues", (issues > 0).then(|| format!("{issues} open")));
    // The block has the same line.
    rows.add("Inbox", (head.is_empty() && !inbox.is_empty()).then(|| counts(inbox)));
    let more = items.len().checked_sub(5).filter(|more| *more > 0);
    let more = more.map(|more| format!("… and {more} more"));
    let label = if stage == Stage::Blocked { "Stuck" } else { "Next" };
    rows.add(label, items.iter().take(5).map(describe).chain(more));
    Ok(rows.lines())
}

/// The loop that runs, or is gone: what it does, what it cost, what it needs.
fn add_loop(rows: &mut LabelledRows, state: &DashboardState) {
    let run = &state.run;
    let then = if run.stopping { " Then it ends." } else { "" };
    let has_run = run.status != LoopStatus::Never;
    if has_run && (run.pid.is_some() || run.status == LoopStatus::Crashed) {
        rows.add("Loop", [format!("{}{then}", run.words)]);
    }
    if has_run && run.pid.is_some() {
        rows.add("Cost", [state.cost.run.with_limit(state.cost.limit_usd)]);
    }
    for need in &state.needs {
        rows.add("Needs", [format!("{} ({})", need.text, need.hint())]);
    }
}

fn explain(stage: Stage, tally: &TaskTally, iteration: u32) -> String {
    if stage == Stage::Complete && tally.total() == 0 {
        return "no tasks yet; `ralph plan` makes them of a spec, `ralph task add` adds one"
            .to_owned();
    }
    let words = match stage {
        Stage::Decompose => "killed work must be broken down".to_owned(),
        Stage::Investigate => "issues must become tasks".to_owned(),
        Stage::Build => "tasks are ready".to_owned(),
        Stage::Verify => "claimed work must be checked".to_owned(),
        Stage::Complete if tally.failed > 0 => {
            format!("nothing is left to do; given up: {}", count(tally.failed, "task"))
        }
        Stage::Complete => "nothing is left to do".to_owned(),
        Stage::Blocked => "work is left, but none of it can go on".to_owned(),
    };
    match iteration {
        0 => format!("{stage}: {words}"),
        n => format!("{stage}: {words} (iteration {n})"),
    }
}

fn tasks(tally: &TaskTally) -> String {
    let parts = [
        (tally.pending, "pending"),
        (tally.done, "done"),
        (tally.accepted, "accepted"),
        (tally.blocked, "blocked"),
        (tally.failed, "failed"),
        (tally.skipped, "skipped"),
    ];
    let said: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if said.is_empty() { "none".to_owned() } else { said.join(", ") }
}

fn describe(item: &StageItem<'_>) -> String {
    match item {
        StageItem::Task(t) => format!("{}  {}", t.id, t.name),
        StageItem::Issue(i) => format!("{}  {}", i.id, i.desc),
        StageItem::Stuck { task: t, why } => format!("{}  {} [{why}]", t.id, t.name),
    }
}
