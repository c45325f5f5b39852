//! Answers of the API: each function reads the facts that it needs and returns one value.

pub(crate) mod attempts;
pub(crate) mod control;
pub(crate) mod events;
pub(crate) mod inbox;
pub(crate) mod memory;
pub(crate) mod overview;

use ralph_core::text::clip;

use crate::http::HttpRequest;
use crate::limits;

fn limit(request: &HttpRequest, usual: usize) -> usize {
    let asked = request.number("limit").and_then(|n| usize::try_from(n).ok());
    asked.unwrap_or(usual).clamp(1, limits::PAGE)
}

/// A text that is not too long for a page.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= limits::TEXT {
        return text.into_owned();
    }
    format!("{}\n[cut: {} bytes in all]", clip(&text, limits::TEXT / 4), bytes.len())
}
