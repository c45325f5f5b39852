//! Style of a JSON file, and rendering of values in that style.

use std::ops::Range;

use serde_json::Value;

use super::{JsonKind, JsonMember, JsonNode};

/// The habits of one file, learned from the first place that shows each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonStyle {
    pub(super) newline: &'static str,
    pub(super) indent: String,
    pub(super) colon: String,
    /// Between two entries on one line.
    pub(super) comma: String,
    /// Inside the braces of an object on one line.
    pub(super) pad: String,
    /// Layout of arrays that hold no arrays or objects, in a file of several lines.
    pub(super) lists: EntryLayout,
}

/// On one line, or an entry a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EntryLayout {
    Flat,
    /// Each entry on its own line; the container's own lines have this indentation.
    Pretty(String),
}

/// Parts of the style that were found so far.
#[derive(Default)]
struct FoundStyle<'t> {
    indent: Option<&'t str>,
    colon: Option<&'t str>,
    comma: Option<&'t str>,
    pad: Option<&'t str>,
    lists: Option<EntryLayout>,
}

impl FoundStyle<'_> {
    fn complete(&self) -> Option<()> {
        self.colon.and(self.comma).and(self.pad).and(self.lists.as_ref()).map(|_| ())
    }
}

impl JsonStyle {
    /// Learn the style of the text that `root` was read from.
    pub(super) fn detect(text: &str, root: &JsonNode) -> Self {
        let found = look_around(text, root);
        let own = root.raw(text);
        let colon = found.colon.unwrap_or(if own.contains('\n') { ": " } else { ":" });
        let comma = found.comma.unwrap_or(if colon.ends_with(' ') { ", " } else { "," });
        Self {
            newline: crate::text::newline(text),
            indent: found.indent.unwrap_or("  ").to_owned(),
            colon: colon.to_owned(),
            comma: comma.to_owned(),
            pad: found.pad.unwrap_or_default().to_owned(),
            lists: found.lists.unwrap_or(EntryLayout::Pretty(String::new())),
        }
    }

    /// `value` as text in this style.
    pub(super) fn render(&self, value: &Value, layout: &EntryLayout) -> String {
        let mut out = String::new();
        match layout {
            EntryLayout::Flat => self.flat(value, &mut out),
            EntryLayout::Pretty(base) => self.pretty(value, base, &mut out),
        }
        out
    }

    fn flat(&self, value: &Value, out: &mut String) {
        match value {
            Value::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push_str(&self.comma);
                    }
                    self.flat(item, out);
                }
                out.push(']');
            }
            Value::Object(members) if !members.is_empty() => {
                out.push('{');
                out.push_str(&self.pad);
                for (i, (key, item)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push_str(&self.comma);
                    }
                    self.key(key, out);
                    self.flat(item, out);
                }
                out.push_str(&self.pad);
                out.push('}');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
    }

    fn pretty(&self, value: &Value, base: &str, out: &mut String) {
        let inner = format!("{base}{}", self.indent);
        let mut first = true;
        let mut line = |out: &mut String| {
            out.push_str(if std::mem::take(&mut first) { "" } else { "," });
            out.push_str(self.newline);
            out.push_str(&inner);
        };
        match value {
            Value::Array(items) if !items.is_empty() && !self.is_flat_list(value) => {
                out.push('[');
                for item in items {
                    line(out);
                    self.pretty(item, &inner, out);
                }
                self.close(base, ']', out);
            }
            Value::Object(members) if !members.is_empty() => {
                out.push('{');
                for (key, item) in members {
                    line(out);
                    self.key(key, out);
                    self.pretty(item, &inner, out);
                }
                self.close(base, '}', out);
            }
            other => self.flat(other, out),
        }
    }

    fn close(&self, base: &str, bracket: char, out: &mut String) {
        out.push_str(self.newline);
        out.push_str(base);
        out.push(bracket);
    }

    fn key(&self, key: &str, out: &mut String) {
        out.push_str(&Value::from(key).to_string());
        out.push_str(&self.colon);
    }

    /// Whether this file writes this array on one line.
    pub(super) fn is_flat_list(&self, value: &Value) -> bool {
        let scalars = |items: &Vec<Value>| !items.iter().any(|i| i.is_array() || i.is_object());
        self.lists == EntryLayout::Flat && value.as_array().is_some_and(scalars)
    }
}

/// Walk the tree until every habit was seen once. A stack instead of recursion: files are big.
fn look_around<'t>(text: &'t str, root: &JsonNode) -> FoundStyle<'t> {
    let mut found = FoundStyle::default();
    let mut todo = vec![root];
    while let Some(node) = todo.pop() {
        if found.complete().is_some() {
            break;
        }
        let spans = entries(node);
        let Some(first) = spans.first() else { continue };
        let one_line = !node.raw(text).contains('\n');
        if text.get(node.span.start..first.start).is_some_and(|open| open.contains('\n')) {
            let outer = line_indent(text, node.span.start);
            let inner = line_indent(text, first.start);
            found.indent = found.indent.or(inner.strip_prefix(outer));
        }
        if let (Some(second), true) = (spans.get(1), one_line) {
            found.comma = found.comma.or(text.get(first.end..second.start));
        }
        match &node.kind {
            JsonKind::Array(items) => {
                if !items.iter().any(|i| matches!(i.kind, JsonKind::Array(_) | JsonKind::Object(_)))
                {
                    let layout = if one_line {
                        EntryLayout::Flat
                    } else {
                        EntryLayout::Pretty(String::new())
                    };
                    found.lists.get_or_insert(layout);
                }
                todo.extend(items.iter().rev());
            }
            JsonKind::Object(members) => {
                if one_line {
                    found.pad = found.pad.or(text.get(node.span.start + 1..first.start));
                }
                found.colon = found.colon.or(members.first().and_then(|m| colon(text, m)));
                todo.extend(members.iter().map(|m| &m.value).rev());
            }
            _ => {}
        }
    }
    found
}

/// Return the text between a key and its value, or `None` if it contains a line break.
pub(super) fn colon<'t>(text: &'t str, member: &JsonMember) -> Option<&'t str> {
    let between = text.get(member.key_span.end..member.value.span.start)?;
    (!between.contains('\n')).then_some(between)
}

/// The bytes of each entry of a container; nothing for other values.
pub(super) fn entries(node: &JsonNode) -> Vec<Range<usize>> {
    match &node.kind {
        JsonKind::Array(items) => items.iter().map(|i| i.span.clone()).collect(),
        JsonKind::Object(members) => members.iter().map(JsonMember::span).collect(),
        _ => Vec::new(),
    }
}

/// The indentation of the line that `offset` is on.
pub(super) fn line_indent(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
