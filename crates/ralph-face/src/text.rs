//! Texts from elsewhere: made safe to show, and measured in columns.

use unicode_width::UnicodeWidthChar;

/// Asks for the coloured, two columns wide form of the character before it.
const WIDE_FORM: char = '\u{fe0f}';

/// A text on one line, safe to show: no character of it moves the cursor, changes colours or turns the
/// direction of reading. Colours of a program's output are left out, other such characters become spaces.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' && rest.as_str().starts_with('[') {
            // Ends with the first character that is no parameter, or with the text.
            rest.next();
            rest.find(|c| ('@'..='~').contains(c));
        } else {
            out.push(if is_unsafe(c) { ' ' } else { c });
        }
    }
    out
}

fn is_unsafe(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    c.is_control() || turns || breaks
}

/// Return the number of columns that a character takes. It is never less than terminals use, as far as
/// they agree.
pub fn char_width(c: char) -> usize {
    if c == WIDE_FORM { 1 } else { c.width().unwrap_or(0) }
}

/// Return the number of columns that a text takes.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// A text with spaces after it, up to this many columns.
pub fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// The last line of a text that says something.
pub fn last_line(text: &str) -> &str {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_reaches_the_terminal_as_a_command() {
        assert_eq!(clean("a\x1b[1;31mb\x1b[0m\r\nc\u{202e}d\u{9b}e\tf"), "ab  c d e f");
        assert_eq!(clean("a\x1b]0;title\x07b\x1b[12"), "a ]0;title b");
        assert_eq!(clean("\x1b"), " ");
    }

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!(width("ab"), 2);
        assert_eq!(width("画像"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("❤\u{fe0f}"), 2);
        assert_eq!(pad("画", 4), "画  ");
    }
}
