//! What stays on the screen: one line per thing that matters.

use ralph_core::backend::{Event, LimitStatus};
use ralph_core::construct::stage_words;
use ralph_core::cost_sum::CostSum;
use ralph_core::cycle::{
    AmendmentRow, Failure, FailureKind, Landing, PlanAmended, Proof, StageKind,
};
use ralph_core::plan::Task;
use ralph_host::drive::{Notice, Tally, Then};

use crate::ending::{Totals, ending};
use crate::line::{Line, Style};
use crate::tool::compacted;
use crate::words::{cost, count, elapsed, short, took};

/// Lines of a failure's detail that are shown; the rest is in the log.
const DETAIL: usize = 5;

/// Tells what happened, notice by notice.
#[derive(Clone, Debug, Default)]
pub struct Story {
    backend: String,
    iteration: u32,
    /// The gate that runs, and whether it runs on the tree before the attempt.
    gate: Option<(String, bool)>,
    waits: bool,
    limit_told: bool,
    /// The cost of the backend runs that have ended.
    spent: CostSum,
    /// Landings that no gate proved.
    unproven: usize,
}

impl Story {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The cost of the backend runs that have ended so far.
    pub fn spent(&self) -> CostSum {
        self.spent
    }

    /// The lines that one notice adds, mostly none or one.
    pub fn hear(&mut self, notice: &Notice<'_>) -> Vec<Line> {
        let waited = self.waits;
        self.waits = matches!(notice, Notice::Waiting { .. });
        match notice {
            Notice::Started { plan, backend, gates, tally, .. } => {
                self.backend = (*backend).to_owned();
                started(plan, backend, gates, tally)
            }
            Notice::Recovered(what) => vec![aside(Style::Caution, "Recovered: ", what)],
            Notice::Warning(what) => vec![aside(Style::Caution, "Warning: ", what)],
            Notice::Attempt { .. } => vec![self.attempt(notice)],
            Notice::Backend(event) => self.backend(event),
            Notice::Monitor(what) => {
                vec![detail(Style::Caution, "limits", what)]
            }
            Notice::BackendEnded { outcome, changed, cost: dollars, took_ms } => {
                self.spent.add(*dollars);
                let files = count(*changed, "file");
                let text = format!(
                    "{}; {files} changed, {}, {}",
                    clause(outcome),
                    cost(*dollars),
                    took(*took_ms)
                );
                vec![detail(Style::Plain, "backend", text)]
            }
            Notice::Asking { .. } => Vec::new(),
            Notice::Answered(answered) => {
                self.spent.add(answered.cost);
                let item = if answered.item.is_empty() { "" } else { " " };
                let (item, outcome) = (format!("{}{item}", answered.item), &answered.message);
                let text =
                    format!("{item}{outcome}; {}, {}", cost(answered.cost), took(answered.took_ms));
                let style =
                    if answered.outcome == "success" { Style::Plain } else { Style::Caution };
                vec![detail(style, &answered.role, text)]
            }
            Notice::StageStarted { iteration, stage } => vec![stage_line(*iteration, *stage)],
            Notice::StageEnded(end) => {
                let style = if end.came.is_progress() { Style::Plain } else { Style::Caution };
                let took = took(end.took_ms);
                vec![detail(style, "stage", format!("{}; {took}", stage_words(end)))]
            }
            Notice::Summary(summary) => {
                let lines = summary.lines().into_iter();
                lines.map(|line| Line::of(Style::Plain, line)).collect()
            }
            Notice::Agent(text) => vec![Line::of(Style::Strong, *text)],
            Notice::Said { who, what } => vec![detail(Style::Plain, who, what)],
            Notice::GateStarted { name, baseline } => {
                self.gate = Some(((*name).to_owned(), *baseline));
                Vec::new()
            }
            Notice::GateEnded { name, passed, preexisting, took_ms } => {
                let at_base = self.gate.take().is_some_and(|(n, baseline)| n == *name && baseline);
                let result = match (passed, preexisting, at_base) {
                    (true, _, true) => Gate::PassedAtBase,
                    (false, _, true) => Gate::FailedAtBase,
                    (true, _, false) => Gate::Passed,
                    (false, true, false) => Gate::FailedAsBefore,
                    (false, false, false) => Gate::Failed,
                };
                vec![gate(name, result, *took_ms)]
            }
            Notice::Landed { commit, landing, proof, summary, remarks, tally, .. } => {
                self.unproven += usize::from(*proof == Proof::Unproven);
                landed(*commit, *landing, proof, summary, remarks, tally)
            }
            Notice::SpecLanded { subject, commit } => {
                let commit = commit.get(..10).unwrap_or(commit);
                vec![detail(Style::Good, "spec", format!("{commit}  {subject}"))]
            }
            Notice::Failed { iteration, task, failure, then, salvage, detail } => {
                failed(*iteration, task, failure, *then, *salvage, detail)
            }
            Notice::Amended(amended) => amended_lines(amended),
            Notice::Waiting { .. } if waited => Vec::new(),
            Notice::Waiting { reason, seconds } => {
                vec![aside(
                    Style::Caution,
                    "Waiting: ",
                    &format!("{}; {} left", clause(reason), elapsed(*seconds)),
                )]
            }
            Notice::Paused => vec![aside(Style::Caution, "Paused: ", PAUSED)],
            Notice::Stopping => vec![aside(Style::Caution, "Stopping: ", STOPPING)],
            Notice::Ended {
                command,
                end,
                reason,
                needs,
                removed,
                remaining,
                landed,
                attempts,
                cost,
                took_ms,
            } => {
                let (remaining, landed, attempts) = (*remaining, *landed, *attempts);
                // The loop knows what earlier runs cost that it continues, and what it recovered.
                let unknown_runs = self.spent.unknown_runs.max(usize::from(cost.is_none()));
                let cost = CostSum { usd: cost.unwrap_or(0.0), unknown_runs };
                let took_ms = *took_ms;
                let totals = Totals { remaining, landed, attempts, cost, took_ms };
                let mut lines = ending(command, end, reason, &totals, needs);
                // A verifier's accept proves; and an end that is about it has said so.
                let said =
                    *command != "build" || matches!(end, ralph_core::cycle::End::Unproven { .. });
                lines.extend(doubt(if said { 0 } else { self.unproven }));
                lines.extend(removed.iter().map(removal));
                lines
            }
        }
    }

    fn attempt(&mut self, notice: &Notice<'_>) -> Line {
        let Notice::Attempt { iteration, task, retries, max_retries, backend, .. } = notice else {
            return Line::new();
        };
        self.iteration = *iteration;
        self.limit_told = false;
        // Before the name, which may be long: a retry is worth knowing about.
        let retry = match retries {
            0 => String::new(),
            _ => format!(", retry {retries} of {max_retries}"),
        };
        let other = match *backend == self.backend {
            true => String::new(),
            false => format!(" with {backend}"),
        };
        Line::of(Style::Plain, format!("[{iteration}] "))
            .hang_here()
            .add(Style::Strong, task.id.as_str())
            .add(Style::Caution, retry)
            .add(Style::Plain, other)
            .add(Style::Strong, format!("  {}", task.name))
    }

    /// Only what explains how an attempt ends; everything is in its log.
    fn backend(&mut self, event: &Event) -> Vec<Line> {
        match event {
            Event::Denied { tool, reason } => {
                let reason = reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
                vec![detail(Style::Bad, "denied", format!("{tool}{reason}"))]
            }
            Event::Compacted { before, after, .. } => {
                vec![detail(Style::Caution, "compact", compacted(*before, *after))]
            }
            Event::CompactionFailed(why) => {
                vec![detail(Style::Caution, "compact", format!("failed: {why}"))]
            }
            Event::RateLimit(limit) if limit.status == LimitStatus::Warning && !self.limit_told => {
                self.limit_told = true;
                vec![detail(Style::Caution, "limits", "the usage limit of the account is near")]
            }
            _ => Vec::new(),
        }
    }
}

/// `Iteration 2: VERIFY`.
fn stage_line(iteration: u32, stage: StageKind) -> Line {
    let line = match iteration {
        0 => Line::new(),
        n => Line::of(Style::Plain, format!("Iteration {n}: ")),
    };
    line.add(Style::Strong, stage.as_str())
}

const PAUSED: &str = "`ralph resume` goes on, `ralph stop` or Ctrl-C ends it";

const STOPPING: &str =
    "what is under way goes on to its end; the same signal once more ends it at once";

fn started(plan: &str, backend: &str, gates: &[String], tally: &Tally) -> Vec<Line> {
    let gates = if gates.is_empty() { "none".to_owned() } else { gates.join(", ") };
    vec![
        Line::of(Style::Strong, plan)
            .add(Style::Plain, format!(" with {backend}; {}", progress(tally))),
        Line::of(Style::Plain, "Gates: ").hang_here().add(Style::Plain, gates),
    ]
}

/// `2 of 7 tasks done, 1 stuck`.
fn progress(tally: &Tally) -> String {
    let Tally { done, total, skipped, stuck } = *tally;
    let mut words = format!("{done} of {} done", count(total, "task"));
    for (number, word) in [(skipped, "skipped"), (stuck, "stuck")] {
        if number > 0 {
            words.push_str(&format!(", {number} {word}"));
        }
    }
    words
}

/// Something beside the attempts.
fn aside(style: Style, label: &str, text: &str) -> Line {
    Line::of(style, label).hang_here().add(Style::Plain, text)
}

/// Something about the attempt, under its first line.
pub(crate) fn detail(style: Style, label: &str, text: impl AsRef<str>) -> Line {
    let meaning = if style == Style::Plain { Style::Faint } else { style };
    Line::of(meaning, format!("    {label:<8} ")).hang_here().add(Style::Plain, text)
}

/// How a gate ended, and on which tree.
#[derive(Clone, Copy)]
enum Gate {
    Passed,
    Failed,
    FailedAsBefore,
    PassedAtBase,
    FailedAtBase,
}

fn gate(name: &str, result: Gate, took_ms: u64) -> Line {
    let (style, word) = match result {
        Gate::Passed => (Style::Good, "passed"),
        Gate::Failed => (Style::Bad, "failed"),
        Gate::FailedAsBefore => (Style::Caution, "failed as before, which does not count"),
        Gate::PassedAtBase => (Style::Plain, "passed before the attempt"),
        Gate::FailedAtBase => (Style::Plain, "failed before the attempt too"),
    };
    Line::of(Style::Faint, "    gate     ")
        .hang_here()
        .add(Style::Plain, format!("{name}: "))
        .add(style, word)
        .add(Style::Faint, format!(", {}", took(took_ms)))
}

fn amended_lines(amended: &PlanAmended) -> Vec<Line> {
    let all = amended.outcomes.iter();
    all.map(|outcome| detail(Style::Caution, "plan", outcome.to_string())).collect()
}

/// A task that an agent took out of the plan, for the end of a run.
fn removal(row: &AmendmentRow) -> Line {
    let what = format!("{}; in iteration {}", row.outcome.task(), row.iteration);
    aside(Style::Caution, "Removed by an agent: ", &what)
}

/// What counts as done and was not proven is said at the end, too.
fn doubt(unproven: usize) -> Option<Line> {
    let what = match unproven {
        0 => return None,
        1 => "1 landing is unproven".to_owned(),
        n => format!("{n} landings are unproven"),
    };
    Some(aside(Style::Caution, "Unproven: ", &format!("{what}; `ralph report` says why")))
}

fn landed(
    commit: Option<&str>,
    landing: Landing,
    proof: &Proof,
    summary: &str,
    remarks: &[String],
    tally: &Tally,
) -> Vec<Line> {
    let commit = commit.map_or_else(|| "not committed".to_owned(), |c| short(c).to_owned());
    let mut line = Line::of(Style::Good, "    landed   ")
        .hang_here()
        .add(Style::Plain, format!("{commit}  {summary}"));
    line = match landing {
        Landing::Complete => line,
        Landing::Partial => line.add(Style::Caution, "; a part, so the task stays open"),
    };
    if let Some(remark) = proof.remark().filter(|_| *proof != Proof::Reviewed) {
        line = line.add(Style::Caution, format!("; {remark}"));
    }
    let mut lines = vec![line.add(Style::Faint, format!("  ({})", progress(tally)))];
    lines.extend(remarks.iter().map(|remark| detail(Style::Caution, "note", remark)));
    lines
}

/// A sentence of somebody else, before a semicolon of ours.
fn clause(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

/// A line without the emphasis that it begins with.
fn plain(line: &str) -> String {
    if line.starts_with("**") { line.replacen("**", "", 2) } else { line.to_owned() }
}

/// The few lines of a failure context that a person sees: its headings and fences say nothing to
/// people, and what a gate printed before its first error is in its log.
fn shown_of(context: &str) -> impl Iterator<Item = &str> {
    let marks = |l: &&str| l.trim().is_empty() || l.starts_with("### ") || l.starts_with("```");
    let output = context.find("\n```").unwrap_or(context.len());
    let (above, output) = context.split_at(output);
    let from = output.lines().position(ralph_core::gate::shows_error).unwrap_or(0);
    let said = above.lines().chain(output.lines().skip(from));
    said.filter(move |l| !marks(l)).take(DETAIL)
}

fn failed(
    iteration: u32,
    task: &Task,
    failure: &Failure,
    then: Then,
    salvage: Option<&str>,
    more: &str,
) -> Vec<Line> {
    let (message, text) = (failure.message.trim(), clause(&failure.told()).to_owned());
    let id = &task.id;
    let line = match (failure.kind, then) {
        (FailureKind::Blocked, _) => detail(Style::Bad, "blocked", message),
        (FailureKind::Conflict, _) => detail(Style::Bad, "blocked", text),
        (FailureKind::Interrupted, _) => detail(Style::Caution, "stopped", text),
        (_, Then::Again(left)) => detail(
            Style::Bad,
            "failed",
            format!("{text}; {} left", count(left as usize, "attempt")),
        ),
        (_, Then::BrokenDown) => {
            detail(Style::Bad, "killed", format!("{text}; {id} is broken down next"))
        }
        (_, Then::Stuck) => {
            detail(Style::Bad, "gave up", format!("{text}; {id} has no attempt left"))
        }
    };
    let mut lines = vec![line];
    lines.extend(shown_of(more).map(|l| {
        Line::of(Style::Faint, "             | ").hang_here().add(Style::Plain, plain(l.trim_end()))
    }));
    if let Some(salvage) = salvage {
        let text = format!("{salvage}  (`ralph show {iteration} --diff`)");
        lines.push(detail(Style::Plain, "kept", text));
    }
    lines
}
