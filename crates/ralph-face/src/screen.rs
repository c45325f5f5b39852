//! The bottom of a terminal: a few lines that change, below lines that stay.
//!
//! # Theory of operation
//!
//! After each frame the cursor stands at the start of the line below the block, so that whatever ends
//! the program leaves a clean line behind, and nothing has to be undone: no mode is changed, no cursor
//! hidden. The next frame goes up over the block, clears to the end of the screen, writes what stays and
//! then the new block, all in one piece. Terminals break lines anew when they get narrower, so the way
//! up is counted with the width of now.

use std::io::{self, Write};

use crate::line::{Paint, ScreenLine};

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    pub columns: usize,
    pub rows: usize,
}

/// A terminal with a block at its bottom.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    paint: Paint,
    /// The widths of the lines of the block as they were drawn.
    drawn: Vec<usize>,
    last: Option<(ScreenSize, Vec<ScreenLine>)>,
}

impl<W: Write> Screen<W> {
    /// A screen with nothing on it yet.
    pub fn new(out: W, paint: Paint) -> Self {
        Self { out, paint, drawn: Vec::new(), last: None }
    }

    /// Write `finished` for good and `block` below it in place of the last one.
    pub fn draw(
        &mut self,
        size: ScreenSize,
        finished: &[ScreenLine],
        block: Vec<ScreenLine>,
    ) -> io::Result<()> {
        let same = self.last.as_ref().is_some_and(|(s, b)| *s == size && *b == block);
        if same && finished.is_empty() {
            return Ok(());
        }
        let mut frame = self.back(size);
        let columns = size.columns.saturating_sub(1);
        for line in finished.iter().flat_map(|line| line.wrap(columns)) {
            frame.push_str(&line.paint(self.paint));
            frame.push('\n');
        }
        for line in &block {
            frame.push_str(&line.paint(self.paint));
            frame.push('\n');
        }
        self.drawn = block.iter().map(ScreenLine::width).collect();
        self.last = Some((size, block));
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }

    /// Return the escape sequence that goes back to the first line of the block and clears it.
    fn back(&self, size: ScreenSize) -> String {
        let columns = size.columns.max(1);
        let rows: usize = self.drawn.iter().map(|width| width.div_ceil(columns).max(1)).sum();
        match rows.min(size.rows.saturating_sub(1)) {
            0 => String::new(),
            up => format!("\r\x1b[{up}A\x1b[J"),
        }
    }

    /// Return the writer.
    pub fn into_inner(self) -> W {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::ScreenStyle;

    const WIDE: ScreenSize = ScreenSize { columns: 80, rows: 24 };

    fn line(text: &str) -> ScreenLine {
        ScreenLine::of(ScreenStyle::Plain, text)
    }

    fn frames(play: impl FnOnce(&mut Screen<Vec<u8>>)) -> String {
        let mut screen = Screen::new(Vec::new(), Paint::None);
        play(&mut screen);
        String::from_utf8(screen.into_inner()).unwrap()
    }

    #[test]
    fn a_frame_replaces_the_block_and_keeps_what_is_finished() {
        let out = frames(|s| {
            s.draw(WIDE, &[], vec![line("one"), line("two")]).unwrap();
            s.draw(WIDE, &[line("kept")], vec![line("three")]).unwrap();
            s.draw(WIDE, &[], Vec::new()).unwrap();
        });
        assert_eq!(out, "one\ntwo\n\r\x1b[2A\x1b[Jkept\nthree\n\r\x1b[1A\x1b[J");
    }

    #[test]
    fn a_frame_that_changes_nothing_writes_nothing() {
        let out = frames(|s| {
            s.draw(WIDE, &[], vec![line("one")]).unwrap();
            s.draw(WIDE, &[], vec![line("one")]).unwrap();
        });
        assert_eq!(out, "one\n");
    }

    #[test]
    fn a_terminal_that_got_narrower_has_broken_the_lines_anew() {
        let out = frames(|s| {
            s.draw(WIDE, &[], vec![line(&"x".repeat(70)), line("")]).unwrap();
            s.draw(ScreenSize { columns: 30, rows: 24 }, &[], vec![line("y")]).unwrap();
        });
        assert!(out.ends_with("\r\x1b[4A\x1b[Jy\n"), "{out:?}");
    }

    #[test]
    fn the_way_up_ends_at_the_top_of_the_screen() {
        let out = frames(|s| {
            s.draw(WIDE, &[], (0..20).map(|n| line(&n.to_string())).collect()).unwrap();
            s.draw(ScreenSize { columns: 80, rows: 5 }, &[], vec![line("y")]).unwrap();
        });
        assert!(out.ends_with("\r\x1b[4A\x1b[Jy\n"), "{out:?}");
    }
}
