//! Story of a loop: the lines that stay on the screen, one per thing that matters.

use ralph_core::backend::{BackendEvent, LimitStatus};
use ralph_core::construct::stage_words;
use ralph_core::control::{CommandKind, OperatorCommand};
use ralph_core::cost_sum::CostSum;
use ralph_core::cycle::{
    AmendmentRecord, AmendmentRow, AttemptEnd, AttemptFailure, AttemptStart, AttemptState,
    BackendEnd, ConsultedAgentEnd, EventKind, FailureKind, GateEnd, GateTree, LandingExtent,
    LoopEnd, Proof, RetryDecision, RunCommand, RunStart, StageEnd, StageStart, error_lines,
};
use ralph_core::gate::GateVerdict;
use ralph_core::view::TaskTally;

use crate::ending::ending;
use crate::line::{ScreenLine, ScreenStyle};
use crate::tool::compacted;
use crate::words::{cost, count, elapsed, short, took};

/// Lines of a failure's detail that are shown; the rest is in the log.
const DETAIL: usize = 8;

/// Tells what happened, event by event.
#[derive(Clone, Debug, Default)]
pub struct EventStory {
    backend: String,
    command: RunCommand,
    waits: bool,
    limit_told: bool,
    /// The cost of the backend runs that have ended.
    spent: CostSum,
    /// Number of landings that no gate proved.
    unproven: usize,
}

impl EventStory {
    /// Create a story without any event.
    pub fn new() -> Self {
        Self::default()
    }

    /// The cost of the backend runs that have ended so far.
    pub fn spent(&self) -> CostSum {
        self.spent
    }

    /// The lines that one event adds, mostly none or one.
    pub fn on_event(&mut self, kind: &EventKind<'_>) -> Vec<ScreenLine> {
        let waited = self.waits;
        self.waits = matches!(kind, EventKind::Tick(_));
        match kind {
            EventKind::OrchestratorStart(run) if run.command != RunCommand::Plan => {
                self.backend = run.backend.clone();
                self.command = run.command;
                started(run)
            }
            EventKind::OrchestratorEnd(end) if end.command != RunCommand::Plan => {
                let mut lines = ending(end);
                // A verifier's accept proves; and an end that is about it has said so.
                let said =
                    end.command != RunCommand::Build || matches!(end.end, LoopEnd::Unproven { .. });
                lines.extend(doubt(if said { 0 } else { self.unproven }));
                lines.extend(end.removed.iter().map(removal));
                lines
            }
            EventKind::Recovered(what) => {
                vec![aside(ScreenStyle::Caution, "Recovered: ", &what.text)]
            }
            EventKind::IterationStart(started) => vec![self.attempt(started)],
            EventKind::BackendEnd(end) => {
                self.spent.add(end.cost);
                vec![backend_end(end)]
            }
            EventKind::AgentEnd(answered) => {
                self.spent.add(answered.cost);
                vec![agent_end(answered)]
            }
            EventKind::Backend(streamed) => self.backend(streamed.event),
            EventKind::IterationEnd(end) => self.attempt_end(end),
            EventKind::Tick(_) if waited => Vec::new(),
            EventKind::Tick(tick) => {
                let text = format!("{}; {} left", clause(tick.reason), elapsed(tick.seconds));
                vec![aside(ScreenStyle::Caution, "Waiting: ", &text)]
            }
            EventKind::Paused(_) => vec![aside(ScreenStyle::Caution, "Paused: ", PAUSED)],
            EventKind::Stop(command) if command.is_signal() => {
                vec![aside(ScreenStyle::Caution, "Stopping: ", STOPPING)]
            }
            EventKind::GateEnd(end) => vec![gate_end(end)],
            // Its steps say so.
            EventKind::SpecComplete(_) if self.command == RunCommand::Agent => Vec::new(),
            other => lines_of(other),
        }
    }

    fn attempt(&mut self, started: &AttemptStart) -> ScreenLine {
        let AttemptStart { iteration, retries, max_retries, backend, .. } = started;
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
        ScreenLine::of(ScreenStyle::Plain, format!("[{iteration}] "))
            .hang_here()
            .add(ScreenStyle::Strong, &started.task)
            .add(ScreenStyle::Caution, retry)
            .add(ScreenStyle::Plain, other)
            .add(ScreenStyle::Strong, format!("  {}", started.name))
    }

    fn attempt_end(&mut self, end: &AttemptEnd<'_>) -> Vec<ScreenLine> {
        match end.fate {
            AttemptState::Landed { commit, landing, proof } => {
                self.unproven += usize::from(*proof == Proof::Unproven);
                landed(end, commit.as_deref(), *landing, proof)
            }
            AttemptState::Failed { failure, salvage } => failed(end, failure, salvage.as_deref()),
            AttemptState::Limited | AttemptState::Open | AttemptState::Interrupted => Vec::new(),
        }
    }

    /// Only what explains how an attempt ends; everything is in its log.
    fn backend(&mut self, event: &BackendEvent) -> Vec<ScreenLine> {
        match event {
            BackendEvent::Denied { tool, reason } => {
                let reason = reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default();
                vec![detail(ScreenStyle::Bad, "denied", format!("{tool}{reason}"))]
            }
            BackendEvent::Compacted { before, after, .. } => {
                vec![detail(ScreenStyle::Caution, "compact", compacted(*before, *after))]
            }
            BackendEvent::CompactionFailed(why) => {
                vec![detail(ScreenStyle::Caution, "compact", format!("failed: {why}"))]
            }
            BackendEvent::RateLimit(limit)
                if limit.status == LimitStatus::Warning && !self.limit_told =>
            {
                self.limit_told = true;
                vec![detail(
                    ScreenStyle::Caution,
                    "limits",
                    "the usage limit of the account is near",
                )]
            }
            _ => Vec::new(),
        }
    }
}

/// The lines of an event that depend on nothing before it.
fn lines_of(kind: &EventKind<'_>) -> Vec<ScreenLine> {
    match kind {
        EventKind::Warning(_)
        | EventKind::LedgerRestored(_)
        | EventKind::CommandRefused(_)
        | EventKind::AgentPassFailed(_)
        | EventKind::ResearchRequested(_)
        | EventKind::TaskSkipped(_) => vec![warning(&kind.to_string())],
        EventKind::HumanReviewRequested(request) => {
            let who = if request.attempt.is_some() { "backend" } else { "context agent" };
            vec![warning(&format!("the {who} asks for a person: {}", request.reason))]
        }
        EventKind::CommandIgnored(command) => vec![warning(&not_carried_out(command))],
        EventKind::Pause(command)
        | EventKind::Resume(command)
        | EventKind::Note(command)
        | EventKind::SkipTask(command)
        | EventKind::Stop(command)
        | EventKind::KillAttempt(command)
        | EventKind::RetryTask(command)
        | EventKind::SetSetting(command) => promised(command).into_iter().collect(),
        EventKind::Context(remark) => vec![detail(ScreenStyle::Caution, "limits", &remark.text)],
        EventKind::StageStart(start) => vec![stage_start(start)],
        EventKind::StageEnd(end) => stage_end(end),
        EventKind::ConstructSummary(summary) => {
            let lines = summary.lines().into_iter();
            lines.map(|line| ScreenLine::of(ScreenStyle::Plain, line)).collect()
        }
        EventKind::LaneSetup(command) => vec![detail(ScreenStyle::Plain, "setup", &command.text)],
        EventKind::AgentStep(step) => vec![ScreenLine::of(ScreenStyle::Strong, &step.text)],
        EventKind::AgentPass(_) => vec![detail(ScreenStyle::Plain, "pass", kind.to_string())],
        EventKind::SpecComplete(spec) => spec
            .commit
            .iter()
            .map(|commit| {
                detail(ScreenStyle::Good, "spec", format!("{}  {}", short(commit), spec.subject))
            })
            .collect(),
        EventKind::Amendments(amended) => amended_lines(amended),
        _ => Vec::new(),
    }
}

fn warning(text: &str) -> ScreenLine {
    aside(ScreenStyle::Caution, "Warning: ", text)
}

fn backend_end(end: &BackendEnd) -> ScreenLine {
    let (outcome, files) = (end.outcome.to_string(), count(end.changed, "file"));
    let (cost, took) = (cost(end.cost), took(end.took_ms));
    let text = format!("{}; {files} changed, {cost}, {took}", clause(&outcome));
    detail(ScreenStyle::Plain, "backend", text)
}

fn agent_end(answered: &ConsultedAgentEnd) -> ScreenLine {
    let space = if answered.item.is_empty() { "" } else { " " };
    let (cost, took) = (cost(answered.cost), took(answered.took_ms));
    let text = format!("{}{space}{}; {cost}, {took}", answered.item, answered.answer);
    let style = if answered.usable { ScreenStyle::Plain } else { ScreenStyle::Caution };
    detail(style, answered.role.as_str(), text)
}

/// Return the line about a command of the operator, if there is something to say.
fn promised(command: &OperatorCommand) -> Option<ScreenLine> {
    let argument = match (command.command, &command.argument) {
        (CommandKind::InjectNote, Some(text)) => format!(" \"{text}\""),
        _ => String::new(),
    };
    let text = format!("{}{argument}: {}", command.command.as_str(), command.promise);
    (!command.promise.is_empty()).then(|| detail(ScreenStyle::Plain, "operator", text))
}

/// Why a command was left to a person.
fn not_carried_out(command: &OperatorCommand) -> String {
    let why = command.ignored.as_deref().unwrap_or_default();
    let next = command.next.as_deref().unwrap_or_default();
    format!("{} is not carried out: {why}; `{next}` does it", command.what())
}

/// Return the line that begins a stage, for example `Iteration 2: VERIFY`.
fn stage_start(start: &StageStart) -> ScreenLine {
    let line = match start.iteration {
        0 => ScreenLine::new(),
        n => ScreenLine::of(ScreenStyle::Plain, format!("Iteration {n}: ")),
    };
    line.add(ScreenStyle::Strong, start.stage.as_str())
}

fn stage_end(end: &StageEnd) -> Vec<ScreenLine> {
    let style = if end.came.is_progress() { ScreenStyle::Plain } else { ScreenStyle::Caution };
    let text = format!("{}; {}", stage_words(end), took(end.took_ms));
    let notes = end.came.notes.iter().map(|note| detail(ScreenStyle::Plain, "note", note));
    notes.chain([detail(style, "stage", text)]).collect()
}

const PAUSED: &str = "`ralph resume` goes on, `ralph stop` or Ctrl-C ends it";

const STOPPING: &str =
    "what is under way goes on to its end; the same signal once more ends it at once";

fn started(run: &RunStart) -> Vec<ScreenLine> {
    let gates = if run.gates.is_empty() { "none".to_owned() } else { run.gates.join(", ") };
    vec![
        ScreenLine::of(ScreenStyle::Strong, &run.plan)
            .add(ScreenStyle::Plain, format!(" with {}; {}", run.backend, progress(&run.tasks))),
        ScreenLine::of(ScreenStyle::Plain, "Gates: ").hang_here().add(ScreenStyle::Plain, gates),
    ]
}

/// `2 of 7 tasks done, 1 stuck`.
fn progress(tally: &TaskTally) -> String {
    let mut words = format!("{} of {} done", tally.finished(), count(tally.total(), "task"));
    for (number, word) in [(tally.skipped, "skipped"), (tally.stuck(), "stuck")] {
        if number > 0 {
            words.push_str(&format!(", {number} {word}"));
        }
    }
    words
}

fn aside(style: ScreenStyle, label: &str, text: &str) -> ScreenLine {
    ScreenLine::of(style, label).hang_here().add(ScreenStyle::Plain, text)
}

/// Something about the attempt, under its first line.
pub(crate) fn detail(style: ScreenStyle, label: &str, text: impl AsRef<str>) -> ScreenLine {
    let meaning = if style == ScreenStyle::Plain { ScreenStyle::Faint } else { style };
    ScreenLine::of(meaning, format!("    {label:<8} ")).hang_here().add(ScreenStyle::Plain, text)
}

fn gate_end(end: &GateEnd) -> ScreenLine {
    let (style, word) = match (end.start.on, end.passed) {
        (GateTree::Result, true) => (ScreenStyle::Good, "passed"),
        (GateTree::Result, false) => (ScreenStyle::Bad, "failed"),
        (GateTree::Base, true) => (ScreenStyle::Plain, "passed before the attempt"),
        (GateTree::Base, false) => (ScreenStyle::Plain, "failed before the attempt"),
        (GateTree::Alone, true) => (ScreenStyle::Plain, "passed on the commit alone"),
        (GateTree::Alone, false) => (ScreenStyle::Caution, "failed on the commit alone"),
    };
    ScreenLine::of(ScreenStyle::Faint, "    gate     ")
        .hang_here()
        .add(ScreenStyle::Plain, format!("{}: ", end.start.gate))
        .add(style, word)
        .add(ScreenStyle::Faint, format!(", {}", took(end.took_ms)))
}

fn amended_lines(amended: &AmendmentRecord) -> Vec<ScreenLine> {
    let all = amended.outcomes.iter();
    all.map(|outcome| detail(ScreenStyle::Caution, "plan", outcome.to_string())).collect()
}

/// A task that an agent took out of the plan, for the end of a run.
fn removal(row: &AmendmentRow) -> ScreenLine {
    let what = format!("{}; in iteration {}", row.outcome.task(), row.iteration);
    aside(ScreenStyle::Caution, "Removed by an agent: ", &what)
}

/// Return the line about unproven landings for the end of the story. `None` when all are proven.
fn doubt(unproven: usize) -> Option<ScreenLine> {
    let what = match unproven {
        0 => return None,
        1 => "1 landing is unproven".to_owned(),
        n => format!("{n} landings are unproven"),
    };
    Some(aside(ScreenStyle::Caution, "Unproven: ", &format!("{what}; `ralph report` says why")))
}

fn landed(
    end: &AttemptEnd<'_>,
    commit: Option<&str>,
    landing: LandingExtent,
    proof: &Proof,
) -> Vec<ScreenLine> {
    let commit = commit.map_or_else(|| "not committed".to_owned(), |c| short(c).to_owned());
    let mut line = ScreenLine::of(ScreenStyle::Good, "    landed   ")
        .hang_here()
        .add(ScreenStyle::Plain, format!("{commit}  {}", end.summary));
    line = match landing {
        LandingExtent::Complete => line,
        LandingExtent::Partial => {
            line.add(ScreenStyle::Caution, "; a part, so the task stays open")
        }
    };
    if let Some(remark) = proof.remark().filter(|_| *proof != Proof::Reviewed) {
        line = line.add(ScreenStyle::Caution, format!("; {remark}"));
    }
    let mut lines = vec![line.add(ScreenStyle::Faint, format!("  ({})", progress(&end.tasks)))];
    lines.extend(end.remarks.iter().map(|remark| detail(ScreenStyle::Caution, "note", remark)));
    lines
}

/// A sentence of somebody else, before a semicolon of ours.
fn clause(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

/// The few lines about red gates that a person sees; all of it is in their logs.
fn shown_of(verdict: &GateVerdict) -> Vec<String> {
    let mut lines = Vec::new();
    for check in verdict.blocking() {
        let (command, ending) = (check.command.trim(), check.ending.describe());
        lines.push(format!("{}: `{command}` ({ending})", check.name));
        lines.extend(check.new_failures().iter().map(|name| format!("- {name}")));
        lines.extend(error_lines(check));
    }
    lines.extend(verdict.forbidden().iter().map(|path| format!("{path} must stay as it is")));
    lines.truncate(DETAIL);
    lines
}

fn failed(
    end: &AttemptEnd<'_>,
    failure: &AttemptFailure,
    salvage: Option<&str>,
) -> Vec<ScreenLine> {
    let (message, text) = (failure.message.trim(), clause(&failure.told()).to_owned());
    let id = end.task_id;
    let line = match (failure.kind, end.then.unwrap_or_default()) {
        (FailureKind::Blocked, _) => detail(ScreenStyle::Bad, "blocked", message),
        (FailureKind::Conflict, _) => detail(ScreenStyle::Bad, "blocked", text),
        (FailureKind::Interrupted, _) | (_, RetryDecision::Unchanged) => {
            detail(ScreenStyle::Caution, "stopped", text)
        }
        (_, RetryDecision::Retry(left)) => detail(
            ScreenStyle::Bad,
            "failed",
            format!("{text}; {} left", count(left as usize, "attempt")),
        ),
        (_, RetryDecision::Decompose) => {
            detail(ScreenStyle::Bad, "killed", format!("{text}; {id} is broken down next"))
        }
        (_, RetryDecision::GiveUp) => {
            detail(ScreenStyle::Bad, "gave up", format!("{text}; {id} has no attempt left"))
        }
    };
    let of_gates = matches!(failure.kind, FailureKind::Gates | FailureKind::Judges);
    let more = end.verdict.filter(|_| of_gates).map(shown_of).unwrap_or_default();
    let mut lines = vec![line];
    lines.extend(more.into_iter().map(|line| {
        ScreenLine::of(ScreenStyle::Faint, "             | ")
            .hang_here()
            .add(ScreenStyle::Plain, line)
    }));
    if let Some(salvage) = salvage {
        let text = format!("{salvage}  (`ralph show {} --diff`)", end.iteration);
        lines.push(detail(ScreenStyle::Plain, "kept", text));
    }
    lines
}
