//! Checklists in markdown: items with a box are tasks, everything else is kept beside them.
//!
//! A task is a box at the start of a list item that is not nested in another task. What is indented
//! below it belongs to it: an open box there is a criterion, a ticked one is said to be done, and the
//! rest is notes. The nearest headings are its phase. Lines that belong to no task are the prose.
//! Boxes in code and in quotations are not tasks.

use super::LabelledText;
use crate::fence::{FencePosition, FenceTracker};
use crate::plan::{Priority, TaskState};

/// Style of a checklist: the list items that count as tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ChecklistStyle {
    #[default]
    Boxes,
    /// Being a list item at the margin: for plans without any box.
    Bullets,
}

/// Content of a checklist file.
#[derive(Debug, Default)]
pub(super) struct Checklist {
    pub(super) entries: Vec<ChecklistEntry>,
    pub(super) prose: String,
}

#[derive(Debug, Default)]
pub(super) struct ChecklistEntry {
    pub(super) line: usize,
    /// Text of the item's first line, after its mark and box.
    pub(super) text: String,
    pub(super) state: TaskState,
    /// The headings above it, the nearest last.
    pub(super) headings: Vec<String>,
    pub(super) accept: Vec<String>,
    /// Other content below the item, for the notes.
    pub(super) says: Vec<LabelledText>,
    body: String,
    indent: usize,
}

pub(super) fn read(text: &str, style: ChecklistStyle) -> Checklist {
    let mut reader = ChecklistReader { style, ..ChecklistReader::default() };
    let text = text.get(crate::text::bom_len(text)..).unwrap_or_default();
    for (index, line) in text.lines().enumerate() {
        reader.line(index + 1, line);
    }
    reader.close();
    reader.list
}

/// The way of writing that a text has: bullets only count where no box is.
pub(super) fn style(text: &str) -> ChecklistStyle {
    match read(text, ChecklistStyle::Boxes).entries.is_empty() {
        true => ChecklistStyle::Bullets,
        false => ChecklistStyle::Boxes,
    }
}

#[derive(Default)]
struct ChecklistReader {
    style: ChecklistStyle,
    list: Checklist,
    fences: FenceTracker,
    headings: Vec<(usize, String)>,
    open: Option<ChecklistEntry>,
    /// Blank lines that may turn out to be inside of the open task.
    blank: usize,
}

impl ChecklistReader {
    fn line(&mut self, number: usize, line: &str) {
        let place = self.fences.next(line);
        if line.trim().is_empty() {
            self.blank += 1;
            return;
        }
        let indent = indent(line);
        let is_below = self.open.as_ref().is_some_and(|task| indent > task.indent);
        if place != FencePosition::Outside {
            return if is_below { self.body(line) } else { self.prose(line) };
        }
        if let Some((level, words)) = heading(line) {
            self.headings.retain(|(above, _)| *above < level);
            self.headings.push((level, words.to_owned()));
            return self.prose(line);
        }
        let found = item(line).and_then(|rest| self.state_of(indent, rest));
        match found {
            Some((state, words)) if is_below => self.nested(&state, words, line),
            Some((state, words)) => self.start(number, indent, state, words, line),
            None if is_below => self.body(line),
            // The next line of a paragraph may stand at the margin.
            None if self.blank == 0 && self.open.is_some() && item(line).is_none() => {
                self.body(line)
            }
            None => self.prose(line),
        }
    }

    /// The state and the words of a list item, if that is what a task looks like.
    fn state_of<'l>(&self, indent: usize, rest: &'l str) -> Option<(TaskState, &'l str)> {
        match self.style {
            ChecklistStyle::Boxes => boxed(rest),
            ChecklistStyle::Bullets if indent > 0 && self.open.is_some() => None,
            ChecklistStyle::Bullets => {
                let headings = self.headings.iter().map(|(_, words)| words.to_lowercase());
                let past = headings
                    .clone()
                    .any(|words| ["done", "complete"].iter().any(|word| words.starts_with(word)));
                let beside = headings.clone().any(|words| BESIDE.iter().any(|b| words.contains(b)));
                let marked = ["✅", "[DONE]", "[done]", "(done)", "(DONE)"];
                let done = past || marked.iter().any(|mark| rest.contains(mark));
                let done = done || rest.starts_with("~~") && rest.ends_with("~~");
                let state = if done { TaskState::Accepted } else { TaskState::Pending };
                (!beside).then_some((state, rest))
            }
        }
    }

    fn start(&mut self, number: usize, indent: usize, state: TaskState, words: &str, line: &str) {
        self.close();
        self.blank = 0;
        let headings = self.headings.iter().filter(|(level, _)| *level > 1);
        // A mark that ralph has no state for (`[~]`, `[/]`) is said.
        let mark = item(line).and_then(|rest| rest.get(..rest.len() - words.len()));
        let mark = mark.map(str::trim).filter(|mark| !USUAL.contains(mark));
        self.open = Some(ChecklistEntry {
            line: number,
            says: mark.map(|mark| LabelledText::new("marked", mark)).into_iter().collect(),
            text: words.trim().to_owned(),
            state,
            headings: headings.map(|(_, words)| words.clone()).collect(),
            indent,
            ..ChecklistEntry::default()
        });
    }

    fn nested(&mut self, state: &TaskState, words: &str, line: &str) {
        self.blank = 0;
        let Some(task) = &mut self.open else { return };
        match state {
            TaskState::Pending if !words.trim().is_empty() => {
                task.accept.push(words.trim().to_owned())
            }
            TaskState::Accepted if self.style == ChecklistStyle::Boxes => {
                task.says.push(LabelledText::new("done already", words.trim()));
            }
            _ => self.body(line),
        }
    }

    fn body(&mut self, line: &str) {
        let Some(task) = &mut self.open else { return };
        if self.blank > 0 && !task.body.is_empty() {
            task.body.push('\n');
        }
        self.blank = 0;
        let cut = indent(line).min(task.indent + 2);
        task.body.push_str(line.get(cut..).unwrap_or_else(|| line.trim_start()));
        task.body.push('\n');
    }

    fn prose(&mut self, line: &str) {
        self.close();
        if self.blank > 0 && !self.list.prose.is_empty() {
            self.list.prose.push('\n');
        }
        self.blank = 0;
        self.list.prose.push_str(line);
        self.list.prose.push('\n');
    }

    fn close(&mut self) {
        if let Some(mut task) = self.open.take() {
            let body = std::mem::take(&mut task.body);
            if !body.trim().is_empty() {
                task.says.insert(0, LabelledText::new("", body.trim_end()));
            }
            self.list.entries.push(task);
        }
    }
}

/// Boxes that say no more than the state does.
const USUAL: [&str; 7] = ["", "[ ]", "[x]", "[X]", "[-]", "[✓]", "[!]"];

/// Sections whose items are no work.
const BESIDE: [&str; 9] = [
    "note",
    "overview",
    "learn",
    "context",
    "summary",
    "discover",
    "background",
    "reference",
    "status",
];

/// Bytes of white space in front.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let words = line.get(level..)?;
    let is_heading = (1..=6).contains(&level) && words.starts_with([' ', '\t']);
    is_heading.then(|| (level, words.trim().trim_end_matches('#').trim_end()))
}

/// Return the text after the mark of a list item: `- `, `* `, `+ `, `1. `, `1) `.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        return Some(rest.trim_start());
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (1..=9).contains(&(line.len() - rest.len()));
    let rest = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    numbered.then(|| rest.trim_start())
}

/// State and words of an item that begins with a box.
fn boxed(rest: &str) -> Option<(TaskState, &str)> {
    let inside = rest.strip_prefix('[')?;
    let mut chars = inside.chars();
    let mark = chars.next()?;
    let words = chars.as_str().strip_prefix(']')?;
    // `[a](b)` is a link, and `[P]` at the start is a mark of somebody's own.
    if words.starts_with(['(', '[', ':']) || mark.is_alphanumeric() && !matches!(mark, 'x' | 'X') {
        return None;
    }
    let state = match mark {
        'x' | 'X' | '✓' | '✔' | '✅' => TaskState::Accepted,
        '-' => TaskState::Skipped,
        '!' => TaskState::Blocked("marked with [!]".to_owned()),
        _ => TaskState::Pending,
    };
    Some((state, words.trim()))
}

/// The priority that headings give: `## High Priority`.
pub(super) fn priority(headings: &[String]) -> Option<Priority> {
    headings.iter().rev().find_map(|heading| {
        let words = heading.to_lowercase();
        let rank = Priority::ALL.into_iter().find(|rank| words.contains(rank.as_str()));
        let critical = words.contains("critical").then_some(Priority::High);
        rank.or(critical).filter(|_| words.contains("priority"))
    })
}
