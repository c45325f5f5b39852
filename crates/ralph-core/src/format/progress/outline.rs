//! Outline of a markdown text: headings, list items, tables and thematic breaks with their places.
//!
//! pulldown-cmark tells real headings and items from those in code, comments and quotations. The
//! outline is flat, and it is built with an explicit stack. So deep nesting needs no recursion.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::lines;
use crate::text::bom_len;

/// More quotation or list marks than this at the start of one line are not a plan, and the
/// markdown rules make every following line pay for each of them.
const DEEPEST: usize = 500;

/// A heading outside of quotations and lists.
#[derive(Debug)]
pub(super) struct OutlineHeading {
    pub(super) level: u8,
    pub(super) range: Range<usize>,
    /// Text of the heading as in the source.
    pub(super) title: String,
}

/// A list item outside of quotations.
#[derive(Debug)]
pub(super) struct OutlineItem {
    /// From its marker to the end of its last line that is not blank.
    pub(super) range: Range<usize>,
    /// The item it is nested in, by index.
    pub(super) parent: Option<usize>,
    /// Place of the checkbox, brackets included.
    pub(super) checkbox: Option<Range<usize>>,
    /// Whether an item around it has a checkbox.
    pub(super) inside_checkbox: bool,
}

/// A table outside of quotations and lists.
#[derive(Debug)]
pub(super) struct OutlineTable {
    pub(super) range: Range<usize>,
    /// The cells of each row, the header first.
    pub(super) rows: Vec<Vec<Range<usize>>>,
}

/// The places that matter, each list in file order.
#[derive(Debug, Default)]
pub(super) struct MarkdownOutline {
    pub(super) headings: Vec<OutlineHeading>,
    pub(super) items: Vec<OutlineItem>,
    pub(super) tables: Vec<OutlineTable>,
    /// Starts of the lines that are thematic breaks.
    rules: Vec<usize>,
    opaque: Vec<Range<usize>>,
}

impl MarkdownOutline {
    pub(super) fn of(text: &str) -> Self {
        let base = bom_len(text);
        let options = Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
        let mut walk = OutlineBuilder { text, out: Self::default(), open: Vec::new(), foreign: 0 };
        let source = lines::plain_ends(lines::at(text, base..text.len()));
        let parser = Parser::new_ext(&source, options);
        for (event, range) in parser.into_offset_iter() {
            walk.event(&event, range.start + base..range.end + base);
        }
        walk.out
    }

    /// Whether `offset` is inside code or raw HTML.
    pub(super) fn is_opaque(&self, offset: usize) -> bool {
        let next = self.opaque.partition_point(|r| r.start <= offset);
        next.checked_sub(1).and_then(|n| self.opaque.get(n)).is_some_and(|r| offset < r.end)
    }

    /// Whether a thematic break stands on the line that begins at `line`.
    pub(super) fn is_rule(&self, line: usize) -> bool {
        self.rules.binary_search(&line).is_ok()
    }

    /// The indexes of the items that begin in `range`.
    pub(super) fn items_in(&self, range: &Range<usize>) -> Range<usize> {
        let from = self.items.partition_point(|i| i.range.start < range.start);
        let to = self.items.partition_point(|i| i.range.start < range.end);
        from..to.max(from)
    }
}

/// The line, from 1, that nests deeper than anybody can mean.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    text.split('\n').position(|line| marks(line) > DEEPEST && !is_one_mark(line)).map(|n| n + 1)
}

/// Return how many quotations and list items start at the beginning of a line. It may be too many.
fn marks(line: &str) -> usize {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || " \t>+-*.)".contains(c));
    let prefix = &line.as_bytes()[..line.len() - rest.len()];
    let items = prefix.windows(2).filter(|w| b"+-*.)".contains(&w[0]) && b" \t".contains(&w[1]));
    items.count() + prefix.iter().filter(|&&b| b == b'>').count()
}

/// A thematic break or an underline, however long: one mark again and again.
fn is_one_mark(line: &str) -> bool {
    let mut marks = line.bytes().filter(|b| !b.is_ascii_whitespace());
    let first = marks.next();
    matches!(first, Some(b'-' | b'*')) && marks.all(|b| Some(b) == first)
}

enum OutlineFrame {
    /// A list or an item of one, which may hold tasks; the item's index.
    List,
    Item(Option<usize>),
    Foreign,
}

struct OutlineBuilder<'t> {
    text: &'t str,
    out: MarkdownOutline,
    open: Vec<OutlineFrame>,
    /// Number of open frames that are foreign. An item can be a task only if this is 0.
    foreign: usize,
}

impl OutlineBuilder<'_> {
    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(*end),
            Event::TaskListMarker(_) => self.checkbox(range),
            Event::Rule if self.open.is_empty() => {
                self.out.rules.push(lines::line_start(self.text, range.start));
            }
            Event::Code(_) | Event::InlineHtml(_) => self.out.opaque.push(range),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let frame = match tag {
            Tag::List(_) => OutlineFrame::List,
            Tag::Item => OutlineFrame::Item(self.item(range)),
            other => {
                self.block(other, range);
                OutlineFrame::Foreign
            }
        };
        self.foreign += usize::from(matches!(frame, OutlineFrame::Foreign));
        self.open.push(frame);
    }

    fn end(&mut self, _end: TagEnd) {
        if let Some(OutlineFrame::Foreign) = self.open.pop() {
            self.foreign -= 1;
        }
    }

    fn item(&mut self, range: Range<usize>) -> Option<usize> {
        if self.foreign > 0 {
            return None;
        }
        let parent = self.innermost_item();
        let around = parent.and_then(|p| self.out.items.get(p));
        let inside_checkbox = around.is_some_and(|p| p.inside_checkbox || p.checkbox.is_some());
        let inside = lines::at(self.text, range.clone());
        let start = range.start + (inside.len() - inside.trim_start().len());
        let end = lines::content_end(self.text, start..range.end);
        self.out.items.push(OutlineItem {
            range: start..end,
            parent,
            checkbox: None,
            inside_checkbox,
        });
        Some(self.out.items.len() - 1)
    }

    fn innermost_item(&self) -> Option<usize> {
        self.open.iter().rev().find_map(|frame| match frame {
            OutlineFrame::Item(index) => Some(*index),
            OutlineFrame::List | OutlineFrame::Foreign => None,
        })?
    }

    /// A checkbox that has its text on the same line; another one is no task.
    fn checkbox(&mut self, range: Range<usize>) {
        let rest = lines::at(self.text, range.end..lines::line_end(self.text, range.end));
        let item = self.innermost_item().and_then(|n| self.out.items.get_mut(n));
        if let Some(item) = item
            && !rest.trim().is_empty()
        {
            item.checkbox = Some(range);
        }
    }

    fn block(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } if self.open.is_empty() => self.heading(*level, range),
            Tag::Table(_) if self.open.is_empty() => {
                let end = lines::content_end(self.text, range.clone());
                self.out.tables.push(OutlineTable { range: range.start..end, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow if self.open.len() == 1 => {
                self.last_table(|t| t.rows.push(Vec::new()));
            }
            Tag::TableCell if self.open.len() == 2 => {
                self.last_table(|t| {
                    if let Some(row) = t.rows.last_mut() {
                        row.push(range);
                    }
                });
            }
            Tag::CodeBlock(_) | Tag::HtmlBlock => self.out.opaque.push(range),
            _ => {}
        }
    }

    fn last_table(&mut self, change: impl FnOnce(&mut OutlineTable)) {
        if let Some(table) = self.out.tables.last_mut() {
            change(table);
        }
    }

    fn heading(&mut self, level: HeadingLevel, range: Range<usize>) {
        let start = lines::line_start(self.text, range.start);
        let end = lines::content_end(self.text, start..range.end);
        let source = lines::at(self.text, range.start..end).trim();
        let underlined = source.contains(['\n', '\r']);
        let title = if underlined { underlined_title(source) } else { marked_title(source) };
        self.out.headings.push(OutlineHeading { level: level as u8, range: start..end, title });
    }
}

/// The text of `## text ##`.
fn marked_title(marked: &str) -> String {
    let text = marked.trim_start_matches('#').trim();
    let open = text.trim_end_matches('#');
    let closed = open.is_empty() || open.ends_with([' ', '\t']);
    String::from(if closed { open.trim_end() } else { text })
}

/// Return the text above the underline of a heading.
fn underlined_title(source: &str) -> String {
    let above = lines::line_start(source, source.len());
    lines::one_line(lines::at(source, 0..above))
}
