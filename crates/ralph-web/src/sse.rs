//! Events as they happen: `text/event-stream`, from any number on.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::feed::FeedPosition;
use crate::http::{HttpRequest, HttpResponse};
use crate::limits;
use crate::site::ServerContext;

/// Events that are written at once.
const BATCH: usize = 200;

/// Counts a stream while it is there.
struct CountedStream<'s>(&'s ServerContext);

impl<'s> CountedStream<'s> {
    fn new(site: &'s ServerContext) -> Self {
        site.feed.known().watchers += 1;
        Self(site)
    }
}

impl Drop for CountedStream<'_> {
    fn drop(&mut self) {
        self.0.feed.known().watchers -= 1;
    }
}

/// Tell events until the client goes away. It says which one it had last (`Last-Event-ID`, or `after`
/// in the query); without that it gets only new ones.
pub(crate) fn tell(
    stream: &mut TcpStream,
    site: &ServerContext,
    request: &HttpRequest,
    stop: &AtomicBool,
) {
    let _watching = CountedStream::new(site);
    let head = HttpResponse::new(200, "text/event-stream", "").head(None);
    if stream.write_all(&head).is_err() {
        return;
    }
    let asked = request.header("last-event-id").and_then(|id| id.parse().ok());
    let asked: Option<u64> = asked.or_else(|| request.number("after"));
    let mut seen = {
        let inner = site.feed.fresh();
        FeedPosition { last: asked.unwrap_or(inner.last()), tick: inner.tick, epoch: inner.epoch }
    };
    let (last, seconds) = (seen.last, limits::HEARTBEAT.as_secs());
    let mut out = format!(
        "retry: 1000\nevent: hello\ndata: {{\"last\":{last},\"heartbeat_s\":{seconds}}}\n\n"
    );
    let mut said = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        seen = next(site, seen, &mut out);
        if out.is_empty() && said.elapsed() >= limits::HEARTBEAT {
            out.push_str("event: beat\ndata: {}\n\n");
        }
        if !out.is_empty() {
            if stream.write_all(out.as_bytes()).is_err() {
                return;
            }
            said = Instant::now();
            out.clear();
        }
        drop(site.feed.wait(seen, Duration::from_secs(1)));
    }
}

/// Append the events that the stream has not sent yet to `out`, and return its new position.
fn next(site: &ServerContext, mut seen: FeedPosition, out: &mut String) -> FeedPosition {
    let mut inner = site.feed.known();
    let last = inner.last();
    if inner.epoch != seen.epoch || seen.last > last {
        // Another journal: numbers begin anew, and so does whoever reads.
        out.push_str(&format!("event: reset\nid: {last}\ndata: {{\"last\":{last}}}\n\n"));
        return FeedPosition { last, tick: inner.tick, epoch: inner.epoch };
    }
    if seen.last + 1 < inner.first() {
        let first = inner.first();
        out.push_str(&format!("event: gap\ndata: {{\"first\":{first}}}\n\n"));
    }
    for (id, event) in inner.after(seen.last, BATCH) {
        out.push_str(&format!("id: {id}\nevent: journal\ndata: {event}\n\n"));
        seen.last = id;
    }
    if inner.tick != seen.tick {
        seen.tick = inner.tick;
        out.push_str("event: changed\ndata: {}\n\n");
    }
    seen
}
