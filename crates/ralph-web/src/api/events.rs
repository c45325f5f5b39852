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
    let read = |(_, text): (u64, &str)| serde_json::from_str::<Value>(text).unwrap_or_default();
    let events: Vec<Value> = match request.number("after") {
        Some(after) => inner.after(after, most).map(read).collect(),
        None => {
            let before = request.number("before").unwrap_or(u64::MAX);
            inner.before(before, most).map(read).collect()
        }
    };
    Ok(json!({ "first": inner.first(), "last": inner.last(), "events": events }))
}
