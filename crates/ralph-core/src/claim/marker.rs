//! Markers: words that mean something only when they stand alone on a line, outside of code.

use crate::fence::{FencePosition, FenceTracker};

const DONE: &str = "<TASK_DONE>";
const BLOCKED: &str = "<TASK_BLOCKED";
const RALPH_DONE: &str = "RALPH_DONE";

/// Longest story that is taken from an answer, in characters.
const LONGEST_PROSE: usize = 8_000;

/// Maximum number of lines in a reason.
const REASON_LINES: usize = 20;

/// A marker in an agent's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimMarker {
    /// Marker `<TASK_DONE>`: the task is complete.
    Done,
    /// Marker `<TASK_BLOCKED reason="…">`, with its reason.
    Blocked(String),
    /// Marker `RALPH_DONE`: everything is done.
    RalphDone,
}

/// The markers of a text, in order.
pub fn markers(text: &str) -> Vec<ClaimMarker> {
    let lines: Vec<&str> = text.lines().collect();
    let mut fences = FenceTracker::default();
    let mut found = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        if fences.next(line) != FencePosition::Outside || is_code(line) {
            continue;
        }
        match line.trim() {
            DONE => found.push(ClaimMarker::Done),
            RALPH_DONE => found.push(ClaimMarker::RalphDone),
            line if line.starts_with(BLOCKED) => {
                found.extend(blocked(lines.get(n..).unwrap_or_default()));
            }
            _ => {}
        }
    }
    found
}

/// A text without its markers; of a long one the end, where an agent sums up.
pub(super) fn prose(text: &str) -> String {
    let is_marker = |line: &&str| {
        let line = line.trim();
        line == DONE || line == RALPH_DONE || line.starts_with(BLOCKED)
    };
    let kept: Vec<&str> = text.lines().filter(|line| !is_marker(line)).collect();
    let kept = kept.join("\n");
    let from = kept.char_indices().rev().nth(LONGEST_PROSE).map_or(0, |(at, _)| at);
    kept.get(from..).unwrap_or_default().trim().to_owned()
}

/// Four spaces make code of a line.
fn is_code(line: &str) -> bool {
    line.starts_with("    ") || line.trim_start_matches(' ').starts_with('\t')
}

/// The marker that begins on the first of these lines. Its reason may go over several lines, and
/// quotes in it may be escaped or not: what counts is where the tag ends.
fn blocked(lines: &[&str]) -> Option<ClaimMarker> {
    let first = lines.first()?.trim();
    if first.ends_with('>') {
        return tag(first);
    }
    // Only an open reason may go on: prose that mentions the marker is not one.
    let open = first.strip_prefix(BLOCKED)?.trim_start().strip_prefix("reason")?;
    open.trim_start().strip_prefix('=')?.trim_start().strip_prefix(['"', '\''])?;
    let count = lines.iter().take(REASON_LINES).position(|l| closes(l.trim()))?;
    let whole: Vec<&str> = lines.iter().take(count + 1).map(|l| l.trim()).collect();
    tag(&whole.join(" "))
}

fn closes(line: &str) -> bool {
    let inside = line.strip_suffix('>').map(|l| l.strip_suffix('/').unwrap_or(l).trim_end());
    inside.is_some_and(|l| l.ends_with(['"', '\'']))
}

/// Parse a complete `<TASK_BLOCKED …>` tag.
fn tag(text: &str) -> Option<ClaimMarker> {
    let inside = text.strip_prefix(BLOCKED)?.strip_suffix('>')?;
    let inside = inside.strip_suffix('/').unwrap_or(inside);
    if !(inside.is_empty() || inside.starts_with([' ', '\t', ':'])) {
        return None;
    }
    let inside = inside.trim().trim_start_matches(':').trim();
    let value = inside.strip_prefix("reason").map(str::trim_start);
    let value = value.and_then(|v| v.strip_prefix('=')).map_or(inside, str::trim);
    let value = value.replace("\\\"", "\"");
    let quoted = |mark: char| value.strip_prefix(mark).and_then(|v| v.strip_suffix(mark));
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(&value);
    Some(ClaimMarker::Blocked(super::reason(value)))
}
