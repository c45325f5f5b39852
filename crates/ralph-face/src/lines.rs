//! Plain lines, for pipes, files, and people who want to see less.

use std::io::Write;

use ralph_core::cycle::{AttemptState, EventKind, LoopEvent, RetryDecision};
use ralph_host::drive::LoopListener;

use crate::line::Paint;
use crate::story::EventStory;

/// Amount of text that a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineViewDetail {
    All,
    /// Only problems and the end.
    Problems,
}

/// Writes the story line by line.
#[derive(Debug)]
pub struct LineView<W> {
    story: EventStory,
    detail: LineViewDetail,
    out: W,
    /// The first line of the attempt, told only when something is wrong with it.
    header: Option<String>,
}

impl<W: Write> LineView<W> {
    /// Create a view that writes to `out`.
    pub fn new(out: W, detail: LineViewDetail) -> Self {
        Self { story: EventStory::new(), detail, out, header: None }
    }

    /// Return the writer.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write(&mut self, line: &str) {
        // A reader that went away stops nobody's work.
        let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
    }
}

impl<W: Write> LoopListener for LineView<W> {
    fn on_event(&mut self, event: &LoopEvent<'_>) {
        let kind = &event.kind;
        let lines = self.story.on_event(kind);
        let mut lines = lines.iter().map(|line| line.paint(Paint::None));
        if self.detail == LineViewDetail::Problems {
            if matches!(kind, EventKind::IterationStart(_)) {
                self.header = lines.next();
                return;
            }
            if !is_problem(kind) {
                return;
            }
            if matches!(kind, EventKind::IterationEnd(_))
                && let Some(header) = self.header.take()
            {
                self.write(&header);
            }
        }
        lines.for_each(|line| self.write(&line));
    }
}

/// Whether somebody who wants to hear little wants to hear this.
fn is_problem(kind: &EventKind<'_>) -> bool {
    match kind {
        EventKind::Warning(_)
        | EventKind::Recovered(_)
        | EventKind::LedgerRestored(_)
        | EventKind::CommandRefused(_)
        | EventKind::CommandIgnored(_)
        | EventKind::AgentPassFailed(_)
        | EventKind::ResearchRequested(_)
        | EventKind::TaskSkipped(_)
        | EventKind::HumanReviewRequested(_)
        | EventKind::Tick(_)
        | EventKind::Paused(_)
        | EventKind::OrchestratorEnd(_) => true,
        EventKind::Stop(command) => command.is_signal(),
        EventKind::IterationEnd(end) => {
            let goes_on = matches!(end.then, Some(RetryDecision::Retry(_)));
            matches!(end.fate, AttemptState::Failed { .. }) && !goes_on
        }
        _ => false,
    }
}
