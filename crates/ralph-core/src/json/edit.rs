//! Changes of one object or array as splices.
//!
//! A new entry is joined to its neighbours with a copy of what already stands between two entries of
//! the same container (comma, line end, indentation), so any layout is followed without naming it.
//! Only an empty container, or one with a single entry, has to borrow from the rest of the file.

use std::ops::Range;

use serde_json::Value;

use super::style::{EntryLayout, JsonStyle, colon, entries, line_indent};
use super::{JsonError, JsonKind, JsonMember, JsonNode};
use crate::text::Splice;

/// A change of one member of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberChange {
    /// The member has this value from now on; a new one goes to the end.
    Set(String, Value),
    /// The member goes away; fine if there is none.
    Remove(String),
}

impl MemberChange {
    fn key(&self) -> &str {
        match self {
            Self::Set(key, _) | Self::Remove(key) => key,
        }
    }
}

/// A change of an array. Indexes count in the *old* array.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemChange {
    /// A new item in front of the one that has this index; the length puts it at the end.
    Insert(usize, Value),
    /// A new item at the end.
    Push(Value),
    /// Replace the value of the item at this index.
    Set(usize, Value),
    /// Remove the item at this index.
    Remove(usize),
}

impl ItemChange {
    /// The old item that this changes.
    fn item(&self) -> Option<usize> {
        match self {
            Self::Set(at, _) | Self::Remove(at) => Some(*at),
            Self::Insert(..) | Self::Push(_) => None,
        }
    }
}

/// Makes splices for one text, in its own style. The splices of different containers may be applied
/// together; all changes of one container go into one call.
pub struct JsonEditor<'a> {
    text: &'a str,
    root: &'a JsonNode,
    style: JsonStyle,
}

/// Changes to the entries of a container.
///
/// `stays` says which old entries remain. `new` has the new entries before each old one. Its last list
/// is for the end.
struct ContainerRebuild {
    stays: Vec<bool>,
    new: Vec<Vec<String>>,
}

/// Text and layout that join the entries of one container.
struct EntryJoint {
    separator: String,
    layout: EntryLayout,
    /// Text after the opening bracket of an empty container.
    ///
    /// `close` is the text before the closing bracket.
    open: String,
    close: String,
}

impl<'a> JsonEditor<'a> {
    /// An editor for `text`, of which `root` was read.
    pub fn new(text: &'a str, root: &'a JsonNode) -> Self {
        Self { text, root, style: JsonStyle::detect(text, root) }
    }

    /// Change members of an object. Of several changes of one key the last one counts; a member that
    /// already has the value is not touched.
    pub fn object(
        &self,
        node: &JsonNode,
        changes: &[MemberChange],
    ) -> Result<Vec<Splice>, JsonError> {
        let members = node.members().ok_or_else(|| wrong(node, "an object"))?;
        let joint = self.joint(node, &[]);
        let key_end =
            members.first().and_then(|m| colon(self.text, m)).unwrap_or(&self.style.colon);
        let mut splices = Vec::new();
        let mut rebuild = ContainerRebuild::keep_all(members.len());
        for (i, change) in changes.iter().enumerate() {
            if changes[i + 1..].iter().any(|later| later.key() == change.key()) {
                continue;
            }
            let old = members.iter().position(|m| m.key == change.key());
            match (change, old) {
                (MemberChange::Set(_, value), Some(at)) => {
                    splices.extend(self.replace(&members[at].value, value, &joint.layout));
                }
                (MemberChange::Set(key, value), None) => {
                    let value = self.style.render(value, &joint.layout);
                    rebuild.push(format!("{}{key_end}{value}", Value::from(key.as_str())));
                }
                (MemberChange::Remove(_), Some(at)) => rebuild.stays[at] = false,
                (MemberChange::Remove(_), None) => {}
            }
        }
        splices.extend(rebuild.splices(node, &joint));
        Ok(splices)
    }

    /// Change items of an array. Of several changes of one item the last one counts.
    pub fn array(&self, node: &JsonNode, changes: &[ItemChange]) -> Result<Vec<Splice>, JsonError> {
        let items = node.items().ok_or_else(|| wrong(node, "an array"))?;
        let joint = self.joint(node, changes);
        let model = items.iter().rev().find(|i| !entries(i).is_empty());
        let layout = model.map_or(joint.layout.clone(), |m| self.layout_of(m));
        let mut splices = Vec::new();
        let mut rebuild = ContainerRebuild::keep_all(items.len());
        let missing = || wrong(node, "an array with more items");
        for (i, change) in changes.iter().enumerate() {
            if change.item().is_some() && changes[i + 1..].iter().any(|c| c.item() == change.item())
            {
                continue;
            }
            match change {
                ItemChange::Insert(at, value) => {
                    let place = rebuild.new.get_mut(*at).ok_or_else(missing)?;
                    place.push(self.style.render(value, &layout));
                }
                ItemChange::Push(value) => rebuild.push(self.style.render(value, &layout)),
                ItemChange::Set(at, value) => {
                    let old = items.get(*at).ok_or_else(missing)?;
                    splices.extend(self.replace(old, value, &layout));
                }
                ItemChange::Remove(at) => *rebuild.stays.get_mut(*at).ok_or_else(missing)? = false,
            }
        }
        splices.extend(rebuild.splices(node, &joint));
        Ok(splices)
    }

    /// Another value in the place of `old`, laid out as `old` was where that says anything.
    fn replace(&self, old: &JsonNode, value: &Value, around: &EntryLayout) -> Option<Splice> {
        if old.to_value(self.text) == *value {
            return None;
        }
        let layout = if entries(old).is_empty() { around.clone() } else { self.layout_of(old) };
        Some(Splice::replace(old.span.clone(), self.style.render(value, &layout)))
    }

    /// Return the layout of a container that has entries.
    fn layout_of(&self, node: &JsonNode) -> EntryLayout {
        match node.raw(self.text).contains('\n') {
            false => EntryLayout::Flat,
            true => EntryLayout::Pretty(line_indent(self.text, node.span.end - 1).to_owned()),
        }
    }

    /// Return the way to join new entries to those of this container.
    fn joint(&self, node: &JsonNode, changes: &[ItemChange]) -> EntryJoint {
        match entries(node).as_slice() {
            [] => self.joint_of_empty(node, changes),
            [one] => {
                let before = self.text.get(node.span.start + 1..one.start).unwrap_or_default();
                match before.contains('\n') {
                    true => self.joint_like(&format!(",{before}"), one),
                    false => self.joint_like(&self.style.comma, one),
                }
            }
            [.., last_but_one, last] => {
                let between = self.text.get(last_but_one.end..last.start).unwrap_or_default();
                self.joint_like(between, last)
            }
        }
    }

    /// Join as `between` does, but without blank lines; `entry` is one that stays in line.
    fn joint_like(&self, between: &str, entry: &Range<usize>) -> EntryJoint {
        // Asked for only where a line end is near: in a file of one line it would be looked for in
        // all of it.
        let indent = || line_indent(self.text, entry.start).to_owned();
        let (separator, layout) = match between.matches('\n').count() {
            0 => (between.to_owned(), EntryLayout::Flat),
            1 => (between.to_owned(), EntryLayout::Pretty(indent())),
            _ => (format!(",{}{}", self.style.newline, indent()), EntryLayout::Pretty(indent())),
        };
        EntryJoint { separator, layout, open: String::new(), close: String::new() }
    }

    fn joint_of_empty(&self, node: &JsonNode, changes: &[ItemChange]) -> EntryJoint {
        let around = self.parent(node).unwrap_or(node);
        let flat_list = node.items().is_some() && changes.iter().all(|c| self.suits_flat_list(c));
        if !around.raw(self.text).contains('\n') || flat_list {
            return EntryJoint {
                separator: self.style.comma.clone(),
                layout: EntryLayout::Flat,
                open: String::new(),
                close: String::new(),
            };
        }
        let outer = line_indent(self.text, node.span.start);
        let (newline, inner) = (self.style.newline, format!("{outer}{}", self.style.indent));
        EntryJoint {
            separator: format!(",{newline}{inner}"),
            open: format!("{newline}{inner}"),
            close: format!("{newline}{outer}"),
            layout: EntryLayout::Pretty(inner),
        }
    }

    fn suits_flat_list(&self, change: &ItemChange) -> bool {
        match change {
            ItemChange::Insert(_, value) | ItemChange::Push(value) | ItemChange::Set(_, value) => {
                self.style.lists == EntryLayout::Flat && !value.is_array() && !value.is_object()
            }
            ItemChange::Remove(_) => true,
        }
    }

    /// The container that `node` stands in.
    fn parent(&self, node: &JsonNode) -> Option<&'a JsonNode> {
        let start = node.span.start;
        let mut around = self.root;
        loop {
            let inside = match &around.kind {
                JsonKind::Array(items) => items.get(items.partition_point(|i| i.span.end <= start)),
                JsonKind::Object(members) => members
                    .get(members.partition_point(|m: &JsonMember| m.value.span.end <= start))
                    .map(|m| &m.value),
                _ => None,
            }?;
            if inside.span == node.span {
                return Some(around);
            }
            around = inside;
        }
    }
}

impl ContainerRebuild {
    fn keep_all(entries: usize) -> Self {
        Self { stays: vec![true; entries], new: vec![Vec::new(); entries + 1] }
    }

    /// A new entry at the end.
    fn push(&mut self, entry: String) {
        if let Some(end) = self.new.last_mut() {
            end.push(entry);
        }
    }

    /// The splices that do it. Between two entries that stay there is at most one, so none overlap.
    fn splices(mut self, node: &JsonNode, joint: &EntryJoint) -> Vec<Splice> {
        let spans = entries(node);
        let separator = joint.separator.as_str();
        let mut splices = Vec::new();
        let mut kept: Option<usize> = None;
        let mut fresh: Vec<String> = Vec::new();
        for i in 0..spans.len() {
            fresh.append(&mut self.new[i]);
            if !self.stays[i] {
                continue;
            }
            let (range, text) = match kept {
                Some(k) => (spans[k].end..spans[i - 1].end, prefixed(&fresh, separator)),
                None => (spans[0].start..spans[i].start, suffixed(&fresh, separator)),
            };
            splices.push(Splice::replace(range, text));
            fresh.clear();
            kept = Some(i);
        }
        fresh.append(&mut self.new[spans.len()]);
        let inside = node.span.start + 1..node.span.end - 1;
        splices.push(match (kept, spans.first(), spans.last()) {
            (Some(k), _, Some(last)) => {
                Splice::replace(spans[k].end..last.end, prefixed(&fresh, separator))
            }
            (None, Some(first), Some(last)) if !fresh.is_empty() => {
                Splice::replace(first.start..last.end, fresh.join(separator))
            }
            (None, Some(_), _) => Splice::remove(inside),
            _ if fresh.is_empty() => return splices,
            _ => Splice::replace(
                inside,
                format!("{}{}{}", joint.open, fresh.join(separator), joint.close),
            ),
        });
        splices.retain(|s| !s.range.is_empty() || !s.new.is_empty());
        splices
    }
}

fn prefixed(entries: &[String], separator: &str) -> String {
    entries.iter().flat_map(|e| [separator, e]).collect()
}

fn suffixed(entries: &[String], separator: &str) -> String {
    entries.iter().flat_map(|e| [e, separator]).collect()
}

fn wrong(node: &JsonNode, expected: &str) -> JsonError {
    JsonError { offset: node.span.start, message: format!("expected {expected} here") }
}
