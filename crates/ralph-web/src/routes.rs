//! Everything that can be asked for, and nothing else.

use serde_json::Value;

use crate::api::{attempts, control, events, inbox, memory, overview};
use crate::error::Refusal;
use crate::http::{Method, Request, Response};
use crate::site::Site;

/// What answers a request; `id` is the part of the path that the route leaves open.
type Answer = fn(&Site, &Request, &str) -> Result<Value, Refusal>;

/// Routes of the API: method, path with at most one `{id}`, what answers.
const API: [(Method, &str, Answer); 25] = [
    (Method::Get, "/api/state", overview::state),
    (Method::Get, "/api/plan", overview::plan),
    (Method::Get, "/api/tasks/{id}", overview::task),
    (Method::Get, "/api/numbers", overview::numbers),
    (Method::Get, "/api/attempts", attempts::list),
    (Method::Get, "/api/attempts/{id}", attempts::one),
    (Method::Get, "/api/attempts/{id}/prompt", attempts::prompt),
    (Method::Get, "/api/attempts/{id}/stream", attempts::stream),
    (Method::Get, "/api/agents/{id}/stream", attempts::agent_stream),
    (Method::Get, "/api/attempts/{id}/gates", attempts::gates),
    (Method::Get, "/api/attempts/{id}/diff", attempts::diff),
    (Method::Get, "/api/attempts/{id}/handoff", attempts::handoff),
    (Method::Get, "/api/events", events::page),
    (Method::Get, "/api/inbox", inbox::list),
    (Method::Post, "/api/inbox", inbox::add),
    (Method::Post, "/api/inbox/{id}/move", inbox::reorder),
    (Method::Delete, "/api/inbox/{id}", inbox::remove),
    (Method::Get, "/api/specs", inbox::specs),
    (Method::Post, "/api/specs", inbox::write_spec),
    (Method::Get, "/api/specs/{id}", inbox::spec),
    (Method::Get, "/api/memory", memory::memory),
    (Method::Get, "/api/handoffs", memory::handoffs),
    (Method::Post, "/api/command", control::command),
    (Method::Get, "/api/settings", control::settings),
    (Method::Post, "/api/settings", control::set),
];

/// Files of the page.
const FILES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    ("/app.css", "text/css; charset=utf-8", include_str!("../assets/app.css")),
    ("/app.js", "text/javascript; charset=utf-8", include_str!("../assets/app.js")),
    ("/patch.js", "text/javascript; charset=utf-8", include_str!("../assets/patch.js")),
    ("/openapi.json", "application/json", include_str!("../assets/openapi.json")),
];

/// Whether a request wants events as they happen.
pub(crate) fn is_stream(request: &Request) -> bool {
    request.method == Method::Get
        && request.path == "/api/events"
        && request.header("accept").is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Answer a request that may be answered.
pub(crate) fn answer(site: &Site, request: &Request) -> Response {
    let reads = matches!(request.method, Method::Get | Method::Head);
    let file = FILES.iter().find(|(path, ..)| *path == request.path);
    if let Some((_, kind, text)) = file {
        return match reads {
            true => Response::new(200, kind, *text),
            false => not_allowed("that can only be read", "GET, HEAD"),
        };
    }
    let known: Vec<_> =
        API.iter().filter_map(|(m, path, f)| Some((*m, id_in(path, &request.path)?, f))).collect();
    let wanted = if request.method == Method::Head { Method::Get } else { request.method };
    let Some((_, id, answer)) = known.iter().find(|(method, ..)| *method == wanted) else {
        return match known.is_empty() {
            true => Refusal::missing("there is nothing here").response(),
            false => {
                let words = known.iter().map(|(method, ..)| method.words());
                not_allowed("that cannot be done with this", words.collect::<Vec<_>>().join(", "))
            }
        };
    };
    if let Some(key) = NUMBERS.iter().find(|key| wrong_number(request, key)) {
        return Refusal::bad(format!("`{key}` is a whole number, 0 or more")).response();
    }
    match answer(site, request, id) {
        Ok(mut value) => {
            site.redactor.hide_json(&mut value);
            let status = if wanted == Method::Post { 202 } else { 200 };
            Response::json(status, &value)
        }
        Err(refusal) => refusal.response(),
    }
}

/// The largest whole number that every reader of JSON understands.
const LARGEST: u64 = (1 << 53) - 1;

/// Keys of a query that are numbers.
const NUMBERS: [&str; 4] = ["offset", "limit", "before", "after"];

fn wrong_number(request: &Request, key: &str) -> bool {
    request.asked(key).is_some() && request.number(key).is_none_or(|number| number > LARGEST)
}

fn not_allowed(words: &str, allowed: impl Into<String>) -> Response {
    Refusal::new(405, words).response().with("Allow", allowed)
}

/// What stands for `{id}` when a path fits a pattern; the empty text when the pattern has none.
fn id_in<'p>(pattern: &str, path: &'p str) -> Option<&'p str> {
    let Some((before, after)) = pattern.split_once("{id}") else {
        return (pattern == path).then_some("");
    };
    let id = path.strip_prefix(before)?.strip_suffix(after)?;
    // The name of a spec may have a folder in it; it is looked up in a list like every id.
    let plain = !id.contains('/') || pattern == "/api/specs/{id}";
    (plain && !id.is_empty()).then_some(id)
}

/// The body, a JSON object.
pub(crate) fn body(request: &Request) -> Result<Value, Refusal> {
    let kind = request.header("content-type").unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(Refusal::new(415, "the body must be application/json"));
    }
    let value: Value = serde_json::from_slice(&request.body)
        .map_err(|e| Refusal::bad(format!("the body is not JSON: {e}")))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(Refusal::bad("the body is a JSON object")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_id_is_one_part_of_a_path() {
        assert_eq!(id_in("/api/tasks/{id}", "/api/tasks/t-1"), Some("t-1"));
        assert_eq!(id_in("/api/attempts/{id}/diff", "/api/attempts/a/diff"), Some("a"));
        assert_eq!(id_in("/api/specs/{id}", "/api/specs/a/b.md"), Some("a/b.md"));
        for path in ["/api/tasks/", "/api/tasks/a/b", "/api/tasks", "/api/tasks/../x"] {
            assert_eq!(id_in("/api/tasks/{id}", path), None, "{path}");
        }
    }

    #[test]
    fn the_description_of_the_api_has_every_route_and_no_other() {
        let text = FILES.iter().find(|(path, ..)| *path == "/openapi.json").unwrap().2;
        let description: Value = serde_json::from_str(text).unwrap();
        let mut told = BTreeSet::new();
        for (path, methods) in description["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                told.insert((method.clone(), path.clone()));
            }
        }
        let word = |m: Method| format!("{m:?}").to_ascii_lowercase();
        let all: BTreeSet<_> = API.iter().map(|(m, p, _)| (word(*m), (*p).to_owned())).collect();
        assert_eq!(told, all);
    }
}
