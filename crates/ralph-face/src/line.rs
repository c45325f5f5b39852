//! One line for people: pieces with a meaning, which a colour may repeat but never replaces.

use ralph_core::view::TaskTally;

use crate::text::{char_width, clean, width};

/// Meaning of a piece of a line. The view chooses the colour for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenStyle {
    Plain,
    /// Subject of the line.
    Strong,
    /// Less important text.
    Faint,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Text that deserves a look.
    Caution,
}

/// Choice between plain text and colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Plain text without colours.
    None,
    /// Colours as ANSI escape sequences.
    Ansi,
}

/// Line of styled text, of any length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenLine {
    /// The column in which its further lines begin when it is wrapped.
    hang: usize,
    pieces: Vec<(ScreenStyle, String)>,
}

impl ScreenLine {
    /// Create an empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Create a line with one piece.
    pub fn of(style: ScreenStyle, text: impl AsRef<str>) -> Self {
        Self::new().add(style, text)
    }

    /// Add a piece. It is made safe here, so that no caller can forget it.
    #[must_use]
    pub fn add(mut self, style: ScreenStyle, text: impl AsRef<str>) -> Self {
        let text = clean(text.as_ref());
        if !text.is_empty() {
            self.pieces.push((style, text));
        }
        self
    }

    /// Add a bar of tasks, in brackets, as wide as a view of this many columns can spare.
    #[must_use]
    pub(crate) fn add_bar(self, tasks: &TaskTally, columns: usize) -> Self {
        let wide = (columns / 4).clamp(8, 30);
        let part = |n: usize| (n * wide).checked_div(tasks.total()).unwrap_or(0).min(wide);
        let full = part(tasks.finished());
        let bad = part(tasks.finished() + tasks.stuck()) - full;
        self.add(ScreenStyle::Plain, "[")
            .add(ScreenStyle::Good, "#".repeat(full))
            .add(ScreenStyle::Bad, "!".repeat(bad))
            .add(ScreenStyle::Faint, "-".repeat(wide - full - bad))
            .add(ScreenStyle::Plain, "] ")
    }

    /// Further lines begin below what is added next.
    #[must_use]
    pub fn hang_here(mut self) -> Self {
        self.hang = self.width();
        self
    }

    /// Return the number of columns that the line takes.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| width(text)).sum()
    }

    /// Return the text without styles.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// At most this many columns of it, with `…` for what is left out.
    pub fn fit(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let cells: Vec<ScreenCell> = self.cells().collect();
        let end = count_that_fit(&cells, columns.saturating_sub(1));
        let mut line = Self::from_cells(&cells[..end]);
        if columns > 0 {
            line.pieces.push((ScreenStyle::Faint, "…".to_owned()));
        }
        line
    }

    /// All of it in lines of at most this many columns, broken between words where that is possible.
    pub fn wrap(&self, columns: usize) -> Vec<Self> {
        if columns == 0 || self.width() <= columns {
            return vec![self.clone()];
        }
        // On a narrow screen every column is needed for words.
        let hang = if columns < 20 { 0 } else { self.hang.min(columns / 2) };
        let cells: Vec<ScreenCell> = self.cells().collect();
        let mut rest = &cells[..];
        let mut lines = Vec::new();
        while !rest.is_empty() {
            let indent = if lines.is_empty() { 0 } else { hang };
            let mut end = count_that_fit(rest, columns - indent).max(1);
            if end < rest.len() {
                // A break inside of the label would say nothing.
                let first = if lines.is_empty() { hang } else { 0 };
                let space = rest[..=end].iter().rposition(|(_, c)| *c == ' ');
                end = space.filter(|at| *at > first).unwrap_or(end);
            }
            let mut line = Self::new().add(ScreenStyle::Plain, " ".repeat(indent));
            line.pieces.extend(Self::from_cells(&rest[..end]).pieces);
            lines.push(line);
            let blanks = rest[end..].iter().take_while(|(_, c)| *c == ' ').count();
            rest = &rest[end + blanks..];
        }
        lines
    }

    /// As it is written to a terminal or a file, without the end of the line.
    pub fn paint(&self, paint: Paint) -> String {
        let mut out = String::new();
        for (style, text) in &self.pieces {
            match (paint, code(*style)) {
                (Paint::Ansi, Some(code)) => {
                    out.push_str(&format!("\x1b[{code}m{text}\x1b[0m"));
                }
                _ => out.push_str(text),
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out
    }

    /// Iterate over the pieces with their styles.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (ScreenStyle, &str)> {
        self.pieces.iter().map(|(style, text)| (*style, text.as_str()))
    }

    fn cells(&self) -> impl Iterator<Item = ScreenCell> {
        self.pieces.iter().flat_map(|(style, text)| text.chars().map(|c| (*style, c)))
    }

    fn from_cells(cells: &[ScreenCell]) -> Self {
        let mut line = Self::new();
        for (style, c) in cells {
            match line.pieces.last_mut() {
                Some((last, text)) if last == style => text.push(*c),
                _ => line.pieces.push((*style, c.to_string())),
            }
        }
        line
    }
}

type ScreenCell = (ScreenStyle, char);

/// Return how many characters from the start fit into this many columns. A combining mark stays with
/// its letter.
fn count_that_fit(cells: &[ScreenCell], columns: usize) -> usize {
    let mut used = 0;
    for (n, (_, c)) in cells.iter().enumerate() {
        used += char_width(*c);
        if used > columns {
            return n;
        }
    }
    cells.len()
}

/// The sixteen colours that follow the user's own theme.
fn code(style: ScreenStyle) -> Option<&'static str> {
    match style {
        ScreenStyle::Plain => None,
        ScreenStyle::Strong => Some("1"),
        ScreenStyle::Faint => Some("2"),
        ScreenStyle::Good => Some("32"),
        ScreenStyle::Bad => Some("31"),
        ScreenStyle::Caution => Some("33"),
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
