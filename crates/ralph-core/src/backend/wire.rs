//! Pieces of a line of JSON that take what they can use and let the rest go.
//!
//! The programs change their events with every release. A number that becomes a string, or an object
//! that becomes a list, must cost that one field and not the line it stands in: losing the line with
//! the result would lose the run. So these types accept any JSON and are empty where they do not know
//! it. They borrow from the line, and nothing is parsed twice.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string, number or flag; nothing for everything else.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Scalar<'a> {
    #[default]
    Nothing,
    Flag(bool),
    Whole(u64),
    Real(f64),
    Text(Cow<'a, str>),
}

impl<'a> Scalar<'a> {
    pub(crate) fn str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn into_string(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }

    pub(crate) fn whole(&self) -> Option<u64> {
        match self {
            Self::Whole(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn real(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        *self == Self::Flag(true)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Scalar<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
                Ok(Scalar::Flag(flag))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Scalar::Whole(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Scalar::Real(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Scalar::Real(number))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Scalar::Nothing)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                skip_seq(seq).map(|()| Scalar::Nothing)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                skip_map(map).map(|()| Scalar::Nothing)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// An object; nothing for everything else.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(Shapes(PhantomData::<(T, IgnoredAny)>))? {
            Shape::Object(object) => Ok(Self(Some(object))),
            Shape::List(_) | Shape::Text(_) | Shape::Nothing => Ok(Self(None)),
        }
    }
}

/// A list; empty for everything else.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(Shapes(PhantomData::<(IgnoredAny, T)>))? {
            Shape::List(list) => Ok(Self(list)),
            Shape::Object(_) | Shape::Text(_) | Shape::Nothing => Ok(Self(Vec::new())),
        }
    }
}

/// A field that is an object in one event, a list in another, and a string in a third.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Shape<'a, O, L> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Object(O),
    List(Vec<L>),
}

impl<'de: 'a, 'a, O: Deserialize<'de>, L: Deserialize<'de>> Deserialize<'de> for Shape<'a, O, L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Shapes(PhantomData::<(O, L)>))
    }
}

struct Shapes<T>(PhantomData<T>);

impl<'de, O: Deserialize<'de>, L: Deserialize<'de>> Visitor<'de> for Shapes<(O, L)> {
    type Value = Shape<'de, O, L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Shape::Nothing)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Shape::Nothing)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Shape::Nothing)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Shape::Nothing)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Shape::Nothing)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Shape::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Shape::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element()? {
            list.push(item);
        }
        Ok(Shape::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        O::deserialize(MapAccessDeserializer::new(map)).map(Shape::Object)
    }
}

fn skip_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Makes a line readable that a strict parser refuses: bytes that are not UTF-8, and halves of
/// surrogate pairs (`\ud83d` alone), which JavaScript writes when it cuts a text between them.
/// `None` where nothing of that kind is wrong.
pub(crate) fn repair(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let mut changed = matches!(text, Cow::Owned(_));
    let mut bytes = text.into_owned().into_bytes();
    let mut at = 0;
    while let Some(found) = bytes.get(at..)?.iter().position(|&byte| byte == b'\\') {
        at += found;
        at += match (unit(&bytes, at), unit(&bytes, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                bytes[at + 2..at + 6].copy_from_slice(b"fffd");
                changed = true;
                6
            }
            _ => 2,
        };
    }
    if changed { String::from_utf8(bytes).ok() } else { None }
}

/// The UTF-16 unit of a `\uXXXX` that begins here.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The beginning of a text, at most `most` bytes, with a word about what is missing.
pub(crate) fn head(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    format!("{}\n… ({} more bytes are in the log)", &text[..end], text.len() - end)
}

/// The end of a text, at most `most` bytes.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
