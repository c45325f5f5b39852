//! Events by the page.

use serde_json::{Value, json};

use super::limit;
use crate::error::Refusal;
use crate::http::Request;
use crate::site::Site;

/// `GET /api/events?before=&after=&limit=`: oldest first; without a number, the newest.
pub(crate) fn page(site: &Site, request: &Request, _: &str) -> Result<Value, Refusal> {
    let most = limit(request, 100);
    let mut inner = site.feed.fresh();
    let page = match request.number("after") {
        Some(after) => inner.after(after, most),
        None => inner.before(request.number("before").unwrap_or(u64::MAX), most),
    };
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let events: Vec<Value> = page.iter().map(|(_, text)| read(text)).collect();
    Ok(json!({ "first": inner.first(), "last": inner.last(), "events": events }))
}
