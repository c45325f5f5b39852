//! Code fences in markdown, line by line: what is inside one is quoted and means nothing.

/// Follows a text and knows whether its lines stand in a code fence.
///
/// Indentation does not matter here: a fence in a list item is indented, and to take one line too
/// many for quoted is the careful mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FenceTracker {
    open: Option<(char, usize)>,
}

/// Position of a line relative to code fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FencePosition {
    /// The line is outside of all fences.
    Outside,
    /// The line opens or closes a fence.
    Mark,
    /// The line is inside a fence.
    Inside,
}

impl FenceTracker {
    /// Read the next line of the text and return its position.
    pub fn next(&mut self, line: &str) -> FencePosition {
        let line = line.trim_start();
        let mark = run(line);
        match (self.open, mark) {
            (Some((open, length)), Some((mark, count)))
                if open == mark && count >= length && line[count..].trim().is_empty() =>
            {
                self.open = None;
                FencePosition::Mark
            }
            (Some(_), _) => FencePosition::Inside,
            // A run of backticks with more of them behind is code in a sentence.
            (None, Some(('`', count))) if line[count..].contains('`') => FencePosition::Outside,
            (None, Some(mark)) => {
                self.open = Some(mark);
                FencePosition::Mark
            }
            (None, None) => FencePosition::Outside,
        }
    }

    /// The line that would close the fence that is open now.
    pub fn closing(&self) -> Option<String> {
        self.open.map(|(mark, length)| mark.to_string().repeat(length))
    }
}

/// The run of at least three backticks or tildes that a line begins with.
fn run(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// The lines of a text that stand in the open, with their numbers from 0.
pub fn open_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fences = FenceTracker::default();
    text.lines().enumerate().filter(move |(_, line)| fences.next(line) == FencePosition::Outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Vec<&str> {
        open_lines(text).map(|(_, line)| line).collect()
    }

    #[test]
    fn a_fence_is_closed_by_its_own_kind_and_at_least_its_length() {
        assert_eq!(open("a\n````rust\n```\n~~~~\n````  \nb"), ["a", "b"]);
        assert_eq!(open("~~~\n```\nx\n~~~\nb\n```\nc"), ["b"]);
        assert_eq!(open("- x\n    ```sh\n    y\n    ```\nz"), ["- x", "z"]);
    }

    #[test]
    fn code_in_a_sentence_opens_nothing() {
        assert_eq!(open("```a``` is code\nb"), ["```a``` is code", "b"]);
    }
}
