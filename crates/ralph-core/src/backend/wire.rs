//! Repair and cutting of texts that programs print.

use std::borrow::Cow;

/// Makes a line readable that a strict parser refuses: bytes that are not UTF-8, and halves of
/// surrogate pairs (`\ud83d` alone), which JavaScript writes when it cuts a text between them.
/// `None` where nothing of that kind is wrong.
pub(super) fn repair(line: &[u8]) -> Option<String> {
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
pub(super) fn head(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    format!("{}\n… ({} more bytes are in the log)", &text[..end], text.len() - end)
}

/// The end of a text, at most `most` bytes.
pub(super) fn tail(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
