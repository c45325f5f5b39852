//! The members of an object as typed fields: absent, right, or an error that says what is expected.
//!
//! `null` counts as absent wherever a field may be absent, because other tools write it so.

use std::borrow::Cow;

use super::{JsonError, JsonKind, JsonNode};

/// An object that is read field by field.
#[derive(Clone, Copy)]
pub struct JsonFields<'t, 'n> {
    text: &'t str,
    node: &'n JsonNode,
}

type FieldResult<T> = Result<T, JsonError>;

impl<'t, 'n> JsonFields<'t, 'n> {
    /// The fields of `node`, which was read from `text`.
    pub fn new(text: &'t str, node: &'n JsonNode) -> FieldResult<Self> {
        match node.members() {
            Some(_) => Ok(Self { text, node }),
            None => {
                let message = format!("expected an object, not {}", node.kind_name());
                Err(JsonError { offset: node.span.start, message })
            }
        }
    }

    /// The text that the fields were read from.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The value of a field, unless it is absent.
    pub fn get(&self, key: &str) -> Option<&'n JsonNode> {
        self.node.get(key).filter(|value| !value.is_null())
    }

    /// An error about a field that is there.
    pub fn wrong<T>(&self, key: &str, value: &JsonNode, expected: &str) -> FieldResult<T> {
        let shown = match value.kind {
            JsonKind::String => format!("{:?}", shorten(&value.str(self.text).unwrap_or_default())),
            JsonKind::Array(_) | JsonKind::Object(_) => value.kind_name().to_owned(),
            JsonKind::Null | JsonKind::Bool(_) | JsonKind::Number => {
                shorten(value.raw(self.text)).into_owned()
            }
        };
        let message = format!("`{key}` must be {expected}, not {shown}");
        Err(JsonError { offset: value.span.start, message })
    }

    /// An error about a field that is not there.
    pub fn missing<T>(&self, key: &str) -> FieldResult<T> {
        Err(JsonError { offset: self.node.span.start, message: format!("`{key}` is missing") })
    }

    fn read<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl Fn(&'n JsonNode) -> Option<T>,
    ) -> FieldResult<Option<T>> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match read(value) {
                None => self.wrong(key, value, expected),
                found => Ok(found),
            },
        }
    }

    /// Read a string.
    pub fn str(&self, key: &str) -> FieldResult<Option<Cow<'t, str>>> {
        self.read(key, "a string", |value| value.str(self.text))
    }

    /// A string, as an owned one.
    pub fn string(&self, key: &str) -> FieldResult<Option<String>> {
        Ok(self.str(key)?.map(Cow::into_owned))
    }

    /// A string that must be there.
    pub fn required(&self, key: &str) -> FieldResult<Cow<'t, str>> {
        match self.str(key)? {
            Some(text) => Ok(text),
            None => self.missing(key),
        }
    }

    /// An array of strings; absent is empty.
    pub fn strings(&self, key: &str) -> FieldResult<Vec<String>> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(value) => match value.items() {
                Some(items) => items.iter().map(|item| self.item(key, item)).collect(),
                None => self.wrong(key, value, "an array of strings"),
            },
        }
    }

    /// One string or an array of them; absent, or one empty string, is empty.
    pub fn one_or_more(&self, key: &str) -> FieldResult<Vec<String>> {
        match self.get(key).map(|value| (value, value.str(self.text))) {
            Some((_, Some(one))) if one.is_empty() => Ok(Vec::new()),
            Some((_, Some(one))) => Ok(vec![one.into_owned()]),
            Some((value, None)) if value.items().is_none() => {
                self.wrong(key, value, "a string or an array of strings")
            }
            _ => self.strings(key),
        }
    }

    fn item(&self, key: &str, item: &JsonNode) -> FieldResult<String> {
        match item.str(self.text) {
            Some(text) => Ok(text.into_owned()),
            None => self.wrong(key, item, "an array of strings only"),
        }
    }

    /// Read a whole number that is not negative.
    pub fn u64(&self, key: &str) -> FieldResult<Option<u64>> {
        self.read(key, "a whole number", |value| value.u64(self.text))
    }

    /// A whole number from 0, of the size of counters.
    pub fn u32(&self, key: &str) -> FieldResult<Option<u32>> {
        let read = |value: &JsonNode| value.u64(self.text).and_then(|n| u32::try_from(n).ok());
        self.read(key, "a whole number", read)
    }

    /// Read a number.
    pub fn f64(&self, key: &str) -> FieldResult<Option<f64>> {
        self.read(key, "a number", |value| value.f64(self.text))
    }

    /// Read a boolean.
    pub fn bool(&self, key: &str) -> FieldResult<Option<bool>> {
        self.read(key, "true or false", JsonNode::bool)
    }

    /// One of a few words; `expected` lists them for the message.
    pub fn word<T>(
        &self,
        key: &str,
        expected: &str,
        from_word: impl Fn(&str) -> Option<T>,
    ) -> FieldResult<Option<T>> {
        self.read(key, expected, |value| from_word(&value.str(self.text)?))
    }
}

/// Enough of a text to recognise it in a message.
fn shorten(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(40) {
        Some((cut, _)) => Cow::Owned(format!("{}…", &text[..cut])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn absent_and_null_are_the_same() {
        let text = r#"{"a": null}"#;
        let node = parse(text).unwrap();
        let fields = JsonFields::new(text, &node).unwrap();
        for key in ["a", "b"] {
            assert_eq!(fields.str(key), Ok(None));
            assert_eq!(fields.strings(key), Ok(vec![]));
            assert_eq!(fields.u32(key), Ok(None));
            assert_eq!(fields.required(key).unwrap_err().message, format!("`{key}` is missing"));
        }
    }

    #[test]
    fn a_wrong_type_says_what_is_expected_and_what_is_there() {
        let text = r#"{"n": "x", "s": 1, "l": ["a", 2], "w": "urgent", "big": 4294967296, "b": 0}"#;
        let node = parse(text).unwrap();
        let fields = JsonFields::new(text, &node).unwrap();
        let message = |e: JsonError| e.message;
        assert_eq!(message(fields.u64("n").unwrap_err()), "`n` must be a whole number, not \"x\"");
        assert_eq!(message(fields.str("s").unwrap_err()), "`s` must be a string, not 1");
        assert_eq!(
            message(fields.strings("l").unwrap_err()),
            "`l` must be an array of strings only, not 2"
        );
        assert_eq!(
            message(fields.word("w", "high or low", |_| None::<()>).unwrap_err()),
            "`w` must be high or low, not \"urgent\""
        );
        assert!(fields.u32("big").is_err());
        assert!(fields.bool("b").is_err());
        assert!(JsonFields::new(text, node.get("l").unwrap()).is_err());
    }

    #[test]
    fn one_string_or_several_are_both_a_list() {
        let text = r#"{"one": "a", "more": ["a", "b"], "none": "", "bad": 1}"#;
        let node = parse(text).unwrap();
        let fields = JsonFields::new(text, &node).unwrap();
        assert_eq!(fields.one_or_more("one"), Ok(vec!["a".to_owned()]));
        assert_eq!(fields.one_or_more("more").unwrap().len(), 2);
        assert_eq!(fields.one_or_more("none"), Ok(vec![]));
        assert!(fields.one_or_more("bad").is_err());
    }

    #[test]
    fn long_values_are_shortened_in_messages() {
        let text = format!(r#"{{"n": "{}"}}"#, "ü".repeat(5000));
        let node = parse(&text).unwrap();
        let error = JsonFields::new(&text, &node).unwrap().u64("n").unwrap_err();
        assert!(error.message.chars().count() < 100, "{error}");
    }
}
