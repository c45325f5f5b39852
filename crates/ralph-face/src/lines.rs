//! Plain lines, for pipes, files, and people who want to see less.

use std::io::Write;

use ralph_host::drive::{Listener, Notice};

use crate::line::Paint;
use crate::story::Story;

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everything that matters.
    All,
    /// Problems and the end.
    Problems,
}

/// Writes the story line by line.
#[derive(Debug)]
pub struct Lines<W> {
    story: Story,
    detail: Detail,
    out: W,
    /// The first line of the attempt, told only when something is wrong with it.
    header: Option<String>,
}

impl<W: Write> Lines<W> {
    /// Nothing is written yet.
    pub fn new(out: W, detail: Detail) -> Self {
        Self { story: Story::new(), detail, out, header: None }
    }

    /// Where it writes.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn write(&mut self, line: &str) {
        // A reader that went away stops nobody's work.
        let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
    }
}

impl<W: Write> Listener for Lines<W> {
    fn hear(&mut self, notice: Notice<'_>) {
        let lines = self.story.hear(&notice);
        let mut lines = lines.iter().map(|line| line.paint(Paint::None));
        if self.detail == Detail::Problems {
            if matches!(notice, Notice::Attempt { .. }) {
                self.header = lines.next();
                return;
            }
            if !is_problem(&notice) {
                return;
            }
            if matches!(notice, Notice::Failed { .. })
                && let Some(header) = self.header.take()
            {
                self.write(&header);
            }
        }
        lines.for_each(|line| self.write(&line));
    }
}

/// Whether somebody who wants to hear little wants to hear this.
fn is_problem(notice: &Notice<'_>) -> bool {
    match notice {
        Notice::Warning(_)
        | Notice::Recovered(_)
        | Notice::Waiting { .. }
        | Notice::Paused
        | Notice::Stopping => true,
        Notice::Failed { then, .. } => then.left().is_none(),
        Notice::Ended { .. } => true,
        _ => false,
    }
}
