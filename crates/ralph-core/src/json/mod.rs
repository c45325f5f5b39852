//! JSON that knows its bytes: a strict reader with spans, and edits that are splices.
//!
//! # Theory of operation
//!
//! [`parse`] turns a text into a tree of [`JsonNode`]s. A node has no copy of the text, only its place in
//! it, so that whatever is not edited is never rewritten: number spellings, escapes, key order and
//! whitespace survive because nobody touches them. Reading is RFC 8259 to the letter, with three
//! limits: a key may stand in an object only once, nesting stops at [`MAX_DEPTH`], and a number must
//! fit a double. Values are decoded on demand, by handing the same text to the accessors.
//!
//! An [`JsonEditor`] turns changes of one object or array into [`Splice`](crate::text::Splice)s in the
//! file's own style. All spans are offsets in the text that was handed in, also with [`parse_in`],
//! which reads a part of it (one line), and [`parse_file`], which steps over a byte order mark.

mod edit;
mod fields;
mod parse;
mod style;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

pub use edit::{ItemChange, JsonEditor, MemberChange};
pub use fields::JsonFields;
pub use parse::{MAX_DEPTH, parse, parse_file, parse_in};

use crate::format::ParseError;

/// A text that is not JSON: where and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at byte {offset})")]
pub struct JsonError {
    /// Byte offset at which reading stopped.
    pub offset: usize,
    pub message: String,
}

impl JsonError {
    /// The same error with line and column in the text that was read.
    pub fn in_text(self, text: &str) -> ParseError {
        ParseError::at(text, self.offset, self.message)
    }
}

/// A value and the bytes it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonNode {
    /// Byte range of the value, quotes and brackets included.
    pub span: Range<usize>,
    pub kind: JsonKind,
}

/// Kind of a [`JsonNode`], with its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonKind {
    Null,
    Bool(bool),
    /// A number; read it with [`JsonNode::u64`] and its siblings.
    Number,
    /// A string; read it with [`JsonNode::str`].
    String,
    /// Items of the array, in order.
    Array(Vec<JsonNode>),
    /// Members in order, each key once.
    Object(Vec<JsonMember>),
}

/// A key and its value in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonMember {
    /// Key without quotes, with escapes decoded.
    pub key: String,
    /// Byte range of the key, quotes included.
    pub key_span: Range<usize>,
    pub value: JsonNode,
}

impl JsonMember {
    /// The bytes of key and value together.
    pub fn span(&self) -> Range<usize> {
        self.key_span.start..self.value.span.end
    }
}

impl JsonNode {
    /// The value of a member, when this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&JsonNode> {
        self.members()?.iter().find(|m| m.key == key).map(|m| &m.value)
    }

    /// The members, when this is an object.
    pub fn members(&self) -> Option<&[JsonMember]> {
        match &self.kind {
            JsonKind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items, when this is an array.
    pub fn items(&self) -> Option<&[JsonNode]> {
        match &self.kind {
            JsonKind::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The bytes of the value as they stand in the file.
    pub fn raw<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.span.clone()).unwrap_or_default()
    }

    /// The decoded string, when this is one.
    pub fn str<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        match self.kind {
            JsonKind::String => {
                Some(parse::unescape(self.raw(text).strip_prefix('"')?.strip_suffix('"')?))
            }
            _ => None,
        }
    }

    /// The boolean, when this is one.
    pub fn bool(&self) -> Option<bool> {
        match self.kind {
            JsonKind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The number, when this is one without fraction or exponent that fits.
    pub fn u64(&self, text: &str) -> Option<u64> {
        self.number(text)?.parse().ok()
    }

    /// The number, when this is one without fraction or exponent that fits.
    pub fn i64(&self, text: &str) -> Option<i64> {
        self.number(text)?.parse().ok()
    }

    /// The number, when this is one.
    pub fn f64(&self, text: &str) -> Option<f64> {
        self.number(text)?.parse().ok()
    }

    fn number<'t>(&self, text: &'t str) -> Option<&'t str> {
        (self.kind == JsonKind::Number).then(|| self.raw(text))
    }

    /// Whether this is `null`, which most files use for "not there".
    pub fn is_null(&self) -> bool {
        self.kind == JsonKind::Null
    }

    /// Return the kind for messages, such as "a string".
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            JsonKind::Null => "null",
            JsonKind::Bool(_) => "true or false",
            JsonKind::Number => "a number",
            JsonKind::String => "a string",
            JsonKind::Array(_) => "an array",
            JsonKind::Object(_) => "an object",
        }
    }

    /// The value without its place, to compare with or to hand on. Whole numbers beyond 64 bits
    /// become doubles, so a file is never written from this.
    pub fn to_value(&self, text: &str) -> Value {
        match &self.kind {
            JsonKind::Null => Value::Null,
            JsonKind::Bool(value) => Value::Bool(*value),
            JsonKind::Number => match (self.u64(text), self.i64(text)) {
                (Some(whole), _) => Value::from(whole),
                (None, Some(negative)) => Value::from(negative),
                _ => self.f64(text).map_or(Value::Null, Value::from),
            },
            JsonKind::String => Value::String(self.str(text).unwrap_or_default().into_owned()),
            JsonKind::Array(items) => items.iter().map(|i| i.to_value(text)).collect(),
            JsonKind::Object(members) => {
                members.iter().map(|m| (m.key.clone(), m.value.to_value(text))).collect()
            }
        }
    }
}

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod parse_tests;
