//! Current state of a loop: the small block below the story.
//!
//! The lines of an attempt stay in the block until the attempt ends, so that its first line is always
//! visible. Then they move to the story above. Nothing here asks for the time; it is passed in as the
//! time since the start.

use std::collections::VecDeque;
use std::time::Duration;

use ralph_core::backend::{BackendEvent, ContextFill, ToolStatus};
use ralph_core::cycle::{AttemptState, EventKind, GateTree};
use ralph_core::view::TaskTally;

use crate::line::{ScreenLine, ScreenStyle};
use crate::screen::ScreenSize;
use crate::story::{EventStory, detail};
use crate::text::last_line;
use crate::tool::tool_words;
use crate::words::{dollars, elapsed};

/// Doings of the backend that are shown.
const DOINGS: usize = 3;
/// Most characters that are kept of what it says.
const SAYING: usize = 400;
/// Lines of the attempt that are shown while it runs.
const HELD: usize = 8;

/// Current state of a loop, built from its events.
#[derive(Clone, Debug, Default)]
pub struct LoopPicture {
    story: EventStory,
    root: Option<String>,
    /// Lines that have not been shown yet and stay.
    finished: Vec<ScreenLine>,
    tally: TaskTally,
    attempt: Option<PicturedAttempt>,
    /// A gate that runs while no attempt does, and since when.
    gate: Option<(String, Duration)>,
    waiting: Option<(String, u64)>,
    stopping: bool,
    ended: bool,
}

#[derive(Clone, Debug)]
struct PicturedAttempt {
    lines: Vec<ScreenLine>,
    who: String,
    since: Duration,
    doings: VecDeque<PicturedActivity>,
    context: Option<ContextFill>,
    cost: Option<f64>,
    phase: PicturedPhase,
}

#[derive(Clone, Debug)]
enum PicturedPhase {
    Backend,
    Gate { name: String, at_base: bool, since: Duration },
    Between,
}

#[derive(Clone, Debug)]
enum PicturedActivity {
    Tool { id: String, words: String, since: Duration, result: Option<ToolStatus> },
    Says(String),
}

impl LoopPicture {
    /// An empty one. Paths below `root` are shown without it.
    pub fn new(root: Option<String>) -> Self {
        Self { root, ..Self::default() }
    }

    /// Something happened, this long after the start.
    pub fn on_event(&mut self, now: Duration, kind: &EventKind<'_>) {
        let lines = self.story.on_event(kind);
        if !matches!(kind, EventKind::Tick(_)) {
            self.waiting = None;
        }
        match kind {
            EventKind::OrchestratorStart(run) => self.tally = run.tasks,
            EventKind::IterationStart(started) => {
                self.close();
                self.tally = started.tasks;
                let who = [Some(started.backend.as_str()), started.model.as_deref()];
                let who = who.into_iter().flatten().collect::<Vec<_>>().join(" ");
                self.attempt = Some(PicturedAttempt::new(now, who));
            }
            EventKind::IterationEnd(end) => self.tally = end.tasks,
            EventKind::GateStart(start) => self.gate = Some((start.gate.clone(), now)),
            EventKind::GateEnd(_) | EventKind::OrchestratorEnd(_) => self.gate = None,
            EventKind::Tick(tick) => {
                self.waiting = Some((tick.reason.to_owned(), tick.seconds));
            }
            EventKind::Stop(command) if command.is_signal() => self.stopping = true,
            _ => {}
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.on_event(now, kind, self.root.as_deref());
        }
        let of_attempt = !is_aside(kind);
        match &mut self.attempt {
            Some(attempt) if of_attempt => attempt.lines.extend(lines),
            _ => self.finished.extend(lines),
        }
        match kind {
            EventKind::IterationEnd(end) if *end.fate != AttemptState::Limited => self.close(),
            EventKind::OrchestratorEnd(_) => self.end(),
            _ => {}
        }
    }

    /// The attempt has ended, or somebody forgot to say so: its lines stay.
    fn close(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            self.finished.extend(attempt.lines);
        }
    }

    /// Nothing more comes, for whatever reason: what was going on stays as it is.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// A line that stays, from whoever draws it.
    pub fn say(&mut self, line: ScreenLine) {
        self.finished.push(line);
    }

    /// Forget all but the newest of the lines that stay: nobody sees them yet.
    pub fn keep_newest(&mut self, most: usize) {
        let extra = self.finished.len().saturating_sub(most);
        self.finished.drain(..extra);
    }

    /// The lines that stay and were not given out yet.
    pub fn take_finished(&mut self) -> Vec<ScreenLine> {
        if self.ended {
            self.close();
        }
        std::mem::take(&mut self.finished)
    }

    /// The block, fitted to a screen of this size; empty once the loop has ended.
    pub fn block(&self, now: Duration, size: ScreenSize) -> Vec<ScreenLine> {
        if self.ended {
            return Vec::new();
        }
        let mut lines = vec![ScreenLine::new()];
        match (&self.attempt, &self.gate) {
            (Some(attempt), _) => lines.extend(attempt.block(now)),
            (None, Some((name, since))) => {
                let since = elapsed(now.saturating_sub(*since).as_secs());
                lines.push(detail(ScreenStyle::Plain, "gate", format!("{name}: running, {since}")));
            }
            (None, None) => {}
        }
        if let Some((reason, seconds)) = &self.waiting {
            let left = elapsed(*seconds);
            lines.push(
                ScreenLine::of(ScreenStyle::Caution, format!("Waiting, {left} left: "))
                    .add(ScreenStyle::Plain, reason),
            );
        }
        if self.stopping {
            let text = "Stopping after this attempt (Ctrl-C again ends it at once)";
            lines.push(ScreenLine::of(ScreenStyle::Caution, text));
        }
        lines.push(self.progress(now, size));
        // One column stays free: a terminal that is full to the edge wraps when it likes.
        let columns = size.columns.saturating_sub(1);
        // The cursor is below the block, and what is above the screen cannot be drawn again.
        let rows = size.rows.saturating_sub(1).max(1);
        let first = lines.len().saturating_sub(rows);
        lines[first..].iter().map(|line| line.fit(columns)).collect()
    }

    fn progress(&self, now: Duration, size: ScreenSize) -> ScreenLine {
        let (done, total) = (self.tally.finished(), self.tally.total());
        let stuck = self.tally.stuck();
        let mut spent = self.story.spent();
        spent.usd += self.attempt.as_ref().map_or(0.0, PicturedAttempt::running_cost);
        let stuck_words = if stuck > 0 { format!(", {stuck} stuck") } else { String::new() };
        ScreenLine::new()
            .add_bar(&self.tally, size.columns)
            .add(ScreenStyle::Plain, format!("{done}/{total} tasks"))
            .add(ScreenStyle::Bad, stuck_words)
            .add(ScreenStyle::Plain, format!(", {}, {}", elapsed(now.as_secs()), spent.in_list()))
    }
}

/// Whether an event is about the loop rather than the attempt. Its line goes up at once.
fn is_aside(kind: &EventKind<'_>) -> bool {
    matches!(
        kind,
        EventKind::OrchestratorStart(_)
            | EventKind::OrchestratorEnd(_)
            | EventKind::Recovered(_)
            | EventKind::Warning(_)
            | EventKind::LedgerRestored(_)
            | EventKind::CommandIgnored(_)
            | EventKind::CommandRefused(_)
            | EventKind::AgentPassFailed(_)
            | EventKind::HumanReviewRequested(_)
            | EventKind::SpecComplete(_)
            | EventKind::Stop(_)
            | EventKind::Tick(_)
            | EventKind::Paused(_)
    )
}

impl PicturedAttempt {
    fn new(since: Duration, who: String) -> Self {
        Self {
            lines: Vec::new(),
            who,
            since,
            doings: VecDeque::new(),
            context: None,
            cost: None,
            phase: PicturedPhase::Backend,
        }
    }

    fn on_event(&mut self, now: Duration, kind: &EventKind<'_>, root: Option<&str>) {
        match kind {
            EventKind::Backend(streamed) => self.backend(now, streamed.event, root),
            EventKind::BackendEnd(end) => {
                self.cost = end.cost.or(self.cost);
                self.phase = PicturedPhase::Between;
            }
            EventKind::GateStart(start) => {
                let (name, at_base) = (start.gate.clone(), start.on == GateTree::Base);
                self.phase = PicturedPhase::Gate { name, at_base, since: now };
            }
            EventKind::GateEnd(_) => self.phase = PicturedPhase::Between,
            _ => {}
        }
    }

    /// Dollars so far of a backend that has not ended.
    fn running_cost(&self) -> f64 {
        self.cost.filter(|_| matches!(self.phase, PicturedPhase::Backend)).unwrap_or(0.0)
    }

    fn backend(&mut self, now: Duration, event: &BackendEvent, root: Option<&str>) {
        match event {
            BackendEvent::ToolCall { id, name, input } => {
                let words = tool_words(name, input, root);
                self.push(PicturedActivity::Tool {
                    id: id.clone(),
                    words,
                    since: now,
                    result: None,
                });
            }
            BackendEvent::ToolResult { id: of, status, .. } => {
                for doing in &mut self.doings {
                    if let PicturedActivity::Tool { id, result, .. } = doing
                        && id == of
                    {
                        *result = Some(*status);
                    }
                }
            }
            BackendEvent::Text(piece) => {
                if let Some(PicturedActivity::Says(text)) = self.doings.back_mut() {
                    text.push_str(piece);
                    keep_end(text);
                } else if !piece.trim().is_empty() {
                    let mut text = piece.clone();
                    keep_end(&mut text);
                    self.push(PicturedActivity::Says(text));
                }
            }
            BackendEvent::Context(context) => {
                let window = context.window.or(self.context.and_then(|c| c.window));
                self.context = Some(ContextFill { window, ..*context });
            }
            BackendEvent::Cost(money) => self.cost = Some(money.0),
            BackendEvent::Started { model: Some(model), .. }
                if !self.who.contains(model.as_str()) =>
            {
                let backend = self.who.split(' ').next().unwrap_or_default();
                self.who = format!("{backend} {model}");
            }
            _ => {}
        }
    }

    fn push(&mut self, doing: PicturedActivity) {
        if self.doings.len() == DOINGS {
            self.doings.pop_front();
        }
        self.doings.push_back(doing);
    }

    fn block(&self, now: Duration) -> Vec<ScreenLine> {
        let since = |then: Duration| elapsed(now.saturating_sub(then).as_secs());
        let mut lines: Vec<ScreenLine> = self.lines.first().cloned().into_iter().collect();
        let rest = self.lines.get(1..).unwrap_or_default();
        lines.extend_from_slice(&rest[rest.len().saturating_sub(HELD)..]);
        match &self.phase {
            PicturedPhase::Backend => {
                lines.extend(self.doings.iter().map(|doing| doing.line(&since)));
                lines.push(self.status(&since));
            }
            PicturedPhase::Gate { name, at_base, since: then } => {
                let tree = if *at_base { " on the tree before the attempt" } else { "" };
                let text = format!("{name}: running{tree}, {}", since(*then));
                lines.push(detail(ScreenStyle::Plain, "gate", text));
            }
            PicturedPhase::Between => {}
        }
        lines
    }

    /// `claude opus, 1m 12s, context 43 %, $0.03`.
    fn status(&self, since: &dyn Fn(Duration) -> String) -> ScreenLine {
        let mut text = since(self.since);
        if let Some(ContextFill { used, window: Some(window) }) = self.context
            && let Some(percent) = (used.saturating_mul(100)).checked_div(window)
        {
            text.push_str(&format!(", context {percent} %"));
        }
        if let Some(cost) = self.cost {
            text.push_str(&format!(", {}", dollars(cost)));
        }
        detail(ScreenStyle::Plain, "now", format!("{text}, {}", self.who))
    }
}

impl PicturedActivity {
    fn line(&self, since: &dyn Fn(Duration) -> String) -> ScreenLine {
        match self {
            Self::Says(text) => detail(ScreenStyle::Plain, "says", last_line(text)),
            Self::Tool { words, result: Some(ToolStatus::Ok), .. } => {
                detail(ScreenStyle::Plain, "tool", words)
            }
            Self::Tool { words, result: Some(ToolStatus::Failed), .. } => {
                ScreenLine::of(ScreenStyle::Faint, "    tool     ")
                    .add(ScreenStyle::Bad, "failed: ")
                    .add(ScreenStyle::Plain, words)
            }
            Self::Tool { words, since: then, result: None, .. } => {
                ScreenLine::of(ScreenStyle::Faint, "    tool     ")
                    .add(ScreenStyle::Plain, format!("{}, ", since(*then)))
                    .add(ScreenStyle::Strong, words)
            }
        }
    }
}

/// Cut the front of a text that grows.
fn keep_end(text: &mut String) {
    let mut cut = text.len().saturating_sub(SAYING);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}
