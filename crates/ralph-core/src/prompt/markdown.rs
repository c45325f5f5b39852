//! Other people's text inside a prompt: it may not end a code block or begin a section.
//!
//! A prompt is put together from texts that somebody else wrote: notes, handoffs, the output of a
//! gate. Each goes through one of these functions first, so that its headings stand below the
//! section's, its code blocks end where it ends, and no line of it reads like one of ralph's own
//! headers.

use super::section::PromptSection;
use crate::fence::{FencePosition, FenceTracker};

/// A text with its headings moved below a heading of level `above`, and every code block closed.
pub(crate) fn under(text: &str, above: usize) -> String {
    let text = plain(text);
    let shallowest = crate::fence::open_lines(&text).filter_map(|(_, line)| level(line)).min();
    let shift = shallowest.map_or(0, |least| (above + 1).saturating_sub(least));
    let mut fences = FenceTracker::default();
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if let (FencePosition::Outside, Some(level)) = (fences.next(line), level(line)) {
            let title = line.trim_start().trim_start_matches('#');
            out.extend(["######".get(..(level + shift).min(6)).unwrap_or_default(), title]);
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out.extend(fences.closing());
    out.trim_end().to_owned()
}

/// A text as an item of a list: what follows its first line is indented.
pub(crate) fn item(text: &str) -> String {
    under(text, 3).replace('\n', "\n  ")
}

/// A text in a code block of its own.
pub(crate) fn fenced(text: &str) -> String {
    let text = plain(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{text}\n{fence}")
}

/// A short text as code in a sentence.
pub(crate) fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    if longest == 0 { format!("`{text}`") } else { format!("{ticks} {text} {ticks}") }
}

/// A text on one line, its words set apart by single spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginning and the end of a text that is too long, at most `most` characters of it: compilers
/// say first what is wrong, test runners last.
pub(crate) fn both_ends(text: &str, most: usize) -> String {
    let text = plain(text);
    let all = text.chars().count();
    if all <= most {
        return text;
    }
    let head = most * 2 / 5;
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(i, _)| i);
    let (begin, end) = (&text[..at(head)], &text[at(all - (most - head))..]);
    format!("{begin}\n[… {} characters left out …]\n{end}", all - most)
}

/// One kind of line end, no blank lines around, no characters that a terminal would act on.
fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text: String =
        text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    text.trim_matches('\n').trim_end().to_owned()
}

/// The level of a heading that is marked with `#`.
fn level(line: &str) -> Option<usize> {
    let text = line.trim_start();
    if line.len() - text.len() > 3 {
        return None;
    }
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t'])))
        .then_some(level)
}

/// The body of a section as it goes into the prompt: at most one blank line in a row outside of
/// code, no line that could be taken for the header of a section, every code block closed.
pub(super) fn body(rendered: &str) -> String {
    let rendered = plain(rendered);
    let mut out = String::with_capacity(rendered.len());
    let mut fences = FenceTracker::default();
    let mut blank = true;
    for line in rendered.lines() {
        let place = fences.next(line);
        let empty = line.trim().is_empty();
        if place == FencePosition::Outside && empty && blank {
            continue;
        }
        blank = empty;
        if is_header(line) {
            out.push('#');
        }
        out.extend([line, "\n"]);
    }
    out.extend(fences.closing());
    out.truncate(out.trim_end().len());
    out
}

/// A text that was cut, without a last line that the cut has made a header of.
pub(super) fn whole_header_gone(cut: &str) -> &str {
    let last = cut.rfind('\n').map_or(0, |n| n + 1);
    if is_header(&cut[last..]) { cut[..last].trim_end() } else { cut }
}

fn is_header(line: &str) -> bool {
    let Some(title) = line.trim().strip_prefix("##") else { return false };
    let title = title.trim_end_matches('#').trim();
    PromptSection::ALL.iter().any(|section| section.title() == title)
}
