//! What stands on a terminal after a program wrote to it: as much of a terminal as ralph uses.

/// What stands there, line by line.
pub(crate) fn rows(written: &str) -> Vec<String> {
    let mut grid = Grid::default();
    let mut behind = Grid::default();
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' => {
                if rest.next() != Some('[') {
                    continue;
                }
                let mut params = String::new();
                let last = rest.by_ref().find(|c| {
                    let ends = ('@'..='~').contains(c);
                    if !ends {
                        params.push(*c);
                    }
                    ends
                });
                match (params.as_str(), last) {
                    // The other screen, and back.
                    ("?1049", Some('h')) => behind = std::mem::take(&mut grid),
                    ("?1049", Some('l')) => grid = std::mem::take(&mut behind),
                    (params, Some(last)) => grid.obey(params, last),
                    (_, None) => {}
                }
            }
            '\r' => grid.column = 0,
            '\n' => grid.row += 1,
            c if c.is_control() => {}
            c => grid.put(c),
        }
    }
    grid.lines.iter().map(|line| line.iter().collect()).collect()
}

#[derive(Default)]
struct Grid {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Grid {
    fn put(&mut self, c: char) {
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Vec::new());
        }
        let line = &mut self.lines[self.row];
        if line.len() <= self.column {
            line.resize(self.column + 1, ' ');
        }
        line[self.column] = c;
        self.column += 1;
    }

    fn obey(&mut self, params: &str, last: char) {
        let numbers: Vec<usize> = params.split(';').map(|n| n.parse().unwrap_or(0)).collect();
        let first = numbers.first().copied().unwrap_or(0);
        let many = first.max(1);
        match last {
            'H' => {
                self.row = many - 1;
                self.column = numbers.get(1).copied().unwrap_or(1).max(1) - 1;
            }
            'A' => self.row = self.row.saturating_sub(many),
            'B' => self.row += many,
            'C' => self.column += many,
            'D' => self.column = self.column.saturating_sub(many),
            'G' => self.column = many - 1,
            'J' if first == 2 => self.lines.clear(),
            'J' => {
                self.lines.truncate(self.row + 1);
                self.cut();
            }
            'K' => self.cut(),
            _ => {}
        }
    }

    fn cut(&mut self) {
        if let Some(line) = self.lines.get_mut(self.row) {
            line.truncate(self.column);
        }
    }
}

#[test]
fn what_is_drawn_over_is_gone_and_the_old_screen_comes_back() {
    let drawn = "old\r\n\x1b[?1049h\x1b[1;1Hone two\x1b[1;5Hsix\x1b[3;2Hz";
    assert_eq!(rows(drawn), ["one six", "", " z"]);
    assert_eq!(rows(&format!("{drawn}\x1b[?1049l\x1b[1mnew\x1b[0m")), ["old", "new"]);
    assert_eq!(rows("a\r\nbcd\r\n\x1b[1A\x1b[Jx"), ["a", "x"]);
}
