//! Choice of the view, by the options and by the kind of standard output.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::Path;

use ralph_host::drive::LoopListener;

use crate::json::JsonListener;
use crate::line::Paint;
use crate::lines::{LineView, LineViewDetail};
use crate::live::LiveView;
use crate::picture::LoopPicture;
use crate::screen::ScreenSize;

/// View that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewChoice {
    /// View that fits standard output.
    Auto,
    /// Only problems and the end.
    Quiet,
    /// One JSON object a line on standard output, words on standard error.
    Json,
}

/// Abilities of standard output: a plain stream, or a terminal with a movable cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalAbility {
    /// No terminal, or one that can only write.
    Plain,
    /// Terminal that can move its cursor, with its colours.
    Able(Paint),
}

impl TerminalAbility {
    /// Return the abilities of this process's standard output.
    pub fn of_stdout() -> Self {
        let var = |name: &str| std::env::var_os(name);
        Self::judge(io::stdout().is_terminal(), var("TERM").as_deref(), var("NO_COLOR").as_deref())
    }

    fn judge(is_terminal: bool, term: Option<&OsStr>, no_color: Option<&OsStr>) -> Self {
        if !is_terminal || term.is_none_or(|t| t.is_empty() || t == "dumb") {
            return Self::Plain;
        }
        let colours = no_color.is_none_or(OsStr::is_empty);
        Self::Able(if colours { Paint::Ansi } else { Paint::None })
    }
}

/// The listener for a view of a project at `root`, on the standard streams of this process.
pub fn listener(view: ViewChoice, root: &Path) -> Box<dyn LoopListener> {
    match (view, TerminalAbility::of_stdout()) {
        (ViewChoice::Json, _) => Box::new(JsonListener::new(io::stdout(), io::stderr())),
        (ViewChoice::Quiet, _) => Box::new(LineView::new(io::stdout(), LineViewDetail::Problems)),
        (ViewChoice::Auto, TerminalAbility::Able(paint)) => {
            let picture = LoopPicture::new(root.to_str().map(str::to_owned));
            match LiveView::start(picture, io::stdout(), paint, stdout_size) {
                Ok(live) => Box::new(live),
                // No thread to be had: then without one.
                Err(_) => Box::new(LineView::new(io::stdout(), LineViewDetail::All)),
            }
        }
        (ViewChoice::Auto, TerminalAbility::Plain) => {
            Box::new(LineView::new(io::stdout(), LineViewDetail::All))
        }
    }
}

/// The size of the terminal at standard output, or the usual one.
pub fn stdout_size() -> ScreenSize {
    match terminal_size::terminal_size_of(io::stdout()) {
        Some((columns, rows)) => ScreenSize { columns: columns.0.into(), rows: rows.0.into() },
        None => ScreenSize { columns: 80, rows: 24 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_moves_only_on_a_terminal_that_can_and_colours_only_where_they_are_wanted() {
        let judge = |tty, term: Option<&str>, no_color: Option<&str>| {
            TerminalAbility::judge(tty, term.map(OsStr::new), no_color.map(OsStr::new))
        };
        assert_eq!(judge(true, Some("xterm"), None), TerminalAbility::Able(Paint::Ansi));
        assert_eq!(judge(true, Some("xterm"), Some("")), TerminalAbility::Able(Paint::Ansi));
        assert_eq!(judge(true, Some("xterm"), Some("1")), TerminalAbility::Able(Paint::None));
        assert_eq!(judge(true, Some("dumb"), None), TerminalAbility::Plain);
        assert_eq!(judge(true, None, None), TerminalAbility::Plain);
        assert_eq!(judge(false, Some("xterm"), None), TerminalAbility::Plain);
    }
}
