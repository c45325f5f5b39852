//! Events of the journal, in pages.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::limit;
use crate::error::HttpRefusal;
use crate::http::HttpRequest;
use crate::site::ServerContext;

/// Page of events, with the range that can be asked for.
#[derive(Serialize, JsonSchema)]
pub(crate) struct EventPage {
    /// The number of the first event that can be asked for.
    first: u64,
    /// The number of the last event; 0 before the first.
    last: u64,
    /// Lines of `events.jsonl`, each with its number as `id`. They are kept as text, without secrets.
    #[schemars(with = "Vec<serde_json::Value>")]
    events: Vec<Box<RawValue>>,
}

/// `GET /api/events?before=&after=&limit=`: oldest first; without a number, the newest.
pub(crate) fn page(
    site: &ServerContext,
    request: &HttpRequest,
    _: &str,
) -> Result<EventPage, HttpRefusal> {
    let most = limit(request, 100);
    let mut inner = site.feed.fresh();
    let page = match request.number("after") {
        Some(after) => inner.after(after, most),
        None => inner.before(request.number("before").unwrap_or(u64::MAX), most),
    };
    let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
    let events = page.iter().filter_map(|(_, text)| raw(text)).collect();
    Ok(EventPage { first: inner.first(), last: inner.last(), events })
}
