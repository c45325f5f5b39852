//! Everything that can be asked for, and nothing else.

use std::sync::LazyLock;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::{attempts, control, events, inbox, memory, overview};
use crate::error::HttpRefusal;
use crate::http::{HttpMethod, HttpRequest, HttpResponse};
use crate::openapi;
use crate::site::ServerContext;

/// Function that answers a request. The text is the part of the path that stands for `{id}`.
type RouteHandler<T> = fn(&ServerContext, &HttpRequest, &str) -> Result<T, HttpRefusal>;

/// Function that answers a request with a JSON value.
type JsonHandler =
    Box<dyn Fn(&ServerContext, &HttpRequest, &str) -> Result<Value, HttpRefusal> + Send + Sync>;

/// Function that makes the schema of a type.
type SchemaSource = fn(&mut SchemaGenerator) -> Schema;

/// One route of the API: what is asked, what answers, and what the description says about it.
pub(crate) struct Route {
    pub(crate) method: HttpMethod,
    /// The path with at most one `{id}`.
    pub(crate) path: &'static str,
    pub(crate) summary: &'static str,
    /// Keys of the query that it reads.
    pub(crate) query: &'static [&'static str],
    /// Schema of the body; `None` when the route takes no body.
    pub(crate) body: Option<SchemaSource>,
    /// Schema of the answer.
    pub(crate) answer: SchemaSource,
    /// Refusals beside those that follow from what it takes.
    pub(crate) refusals: &'static [&'static str],
    handler: JsonHandler,
}

impl Route {
    fn new<T: Serialize + JsonSchema>(
        method: HttpMethod,
        path: &'static str,
        summary: &'static str,
        handler: impl Fn(&ServerContext, &HttpRequest, &str) -> Result<T, HttpRefusal>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let as_json = move |site: &ServerContext, request: &HttpRequest, id: &str| {
            serde_json::to_value(handler(site, request, id)?)
                .map_err(|e| HttpRefusal::new(500, e.to_string()))
        };
        Self {
            method,
            path,
            summary,
            query: &[],
            body: None,
            answer: |generator| generator.subschema_for::<T>(),
            refusals: &[],
            handler: Box::new(as_json),
        }
    }

    fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    /// Declare that the route may also answer 404 and 409.
    fn may_conflict(self) -> Self {
        Self { refusals: &["404", "409"], ..self }
    }
}

fn get<T: Serialize + JsonSchema + 'static>(
    path: &'static str,
    summary: &'static str,
    handler: RouteHandler<T>,
) -> Route {
    Route::new(HttpMethod::Get, path, summary, handler)
}

fn post<B: DeserializeOwned + JsonSchema + 'static, T: Serialize + JsonSchema + 'static>(
    path: &'static str,
    summary: &'static str,
    handler: fn(&ServerContext, B, &str) -> Result<T, HttpRefusal>,
) -> Route {
    let with_body = move |site: &ServerContext, request: &HttpRequest, id: &str| {
        handler(site, body(request)?, id)
    };
    let body: SchemaSource = |generator| generator.subschema_for::<B>();
    Route { body: Some(body), ..Route::new(HttpMethod::Post, path, summary, with_body) }
}

pub(crate) static API: LazyLock<Vec<Route>> = LazyLock::new(|| {
    const PAGE: &[&str] = &["before", "limit"];
    const STREAM: &[&str] = &["after", "limit"];
    vec![
        get(
            "/api/state",
            "The first screen: loop, attempt, context, cost, health, what needs a person",
            overview::state,
        ),
        get(
            "/api/plan",
            "A page of the plan: tasks with state, dependencies and what is in their way",
            overview::plan,
        )
        .query(&["offset", "limit"]),
        get("/api/tasks/{id}", "One task with all its attempts", overview::task),
        get(
            "/api/numbers",
            "Cost, tokens, first-try rate, retries, by model and stage, and a timeline",
            overview::numbers,
        )
        .query(&["limit"]),
        get("/api/attempts", "Attempts, newest first", attempts::list)
            .query(&["before", "limit", "task"]),
        get("/api/attempts/{id}", "One attempt; `last` is the newest", attempts::one),
        get("/api/attempts/{id}/prompt", "Its prompt", attempts::prompt),
        get(
            "/api/attempts/{id}/stream",
            "What its backend said and did, by the page",
            attempts::stream,
        )
        .query(STREAM),
        get(
            "/api/agents/{id}/stream",
            "What an agent of a stage said and did, by the page",
            attempts::agent_stream,
        )
        .query(STREAM),
        get("/api/attempts/{id}/gates", "What the gates said, with their output", attempts::gates),
        get(
            "/api/attempts/{id}/diff",
            "What it changed, as a patch: from its commit, or from what was kept when it was rolled back",
            attempts::diff,
        ),
        get("/api/attempts/{id}/handoff", "What it handed over", attempts::handoff),
        get(
            "/api/events",
            "Events, by the page; with `Accept: text/event-stream` as they happen, from `Last-Event-ID` \
             on. Messages: hello, journal (with id), changed, gap, reset",
            events::page,
        )
        .query(&["before", "after", "limit"]),
        get("/api/inbox", "The queue of specs", inbox::list),
        post("/api/inbox", "Queue a spec", inbox::add).may_conflict(),
        post(
            "/api/inbox/{id}/move",
            "Move a pending spec before another one, or to the end",
            inbox::reorder,
        )
        .may_conflict(),
        Route::new(HttpMethod::Delete, "/api/inbox/{id}", "Take a spec out of the queue", inbox::remove)
            .may_conflict(),
        get("/api/specs", "All specs", inbox::specs),
        post("/api/specs", "Write a new spec; an existing one is never changed", inbox::write_spec)
            .may_conflict(),
        get("/api/specs/{id}", "One spec", inbox::spec),
        get(
            "/api/memory",
            "The knowledge index with what was superseded, notes that wait, the progress log",
            memory::memory,
        ),
        get("/api/handoffs", "Handoffs, newest first", memory::handoffs).query(PAGE),
        post("/api/command", "Tell the loop something", control::command),
        get("/api/settings", "The settings that may be changed here", control::settings),
        post("/api/settings", "Change settings in ralph.toml, all of them or none", control::set),
    ]
});

const FILES: [(&str, &str, &str); 4] = [
    ("/", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    ("/app.css", "text/css; charset=utf-8", include_str!("../assets/app.css")),
    ("/app.js", "text/javascript; charset=utf-8", include_str!("../assets/app.js")),
    ("/patch.js", "text/javascript; charset=utf-8", include_str!("../assets/patch.js")),
];

/// The path of the description of the API.
const DESCRIPTION: &str = "/openapi.json";

/// Whether a request wants events as they happen.
pub(crate) fn is_stream(request: &HttpRequest) -> bool {
    request.method == HttpMethod::Get
        && request.path == "/api/events"
        && request.header("accept").is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Answer a request that may be answered.
pub(crate) fn answer(site: &ServerContext, request: &HttpRequest) -> HttpResponse {
    let reads = matches!(request.method, HttpMethod::Get | HttpMethod::Head);
    let file = FILES.iter().find(|(path, ..)| *path == request.path);
    if file.is_some() || request.path == DESCRIPTION {
        return match (reads, file) {
            (false, _) => not_allowed("that can only be read", "GET, HEAD"),
            (true, Some((_, kind, text))) => HttpResponse::new(200, kind, *text),
            (true, None) => HttpResponse::json(200, &openapi::describe(&API)),
        };
    }
    let known: Vec<_> =
        API.iter().filter_map(|route| Some((route, id_in(route.path, &request.path)?))).collect();
    let wanted = if request.method == HttpMethod::Head { HttpMethod::Get } else { request.method };
    let Some((route, id)) = known.iter().find(|(route, _)| route.method == wanted) else {
        return match known.is_empty() {
            true => HttpRefusal::missing("there is nothing here").response(),
            false => {
                let words = known.iter().map(|(route, _)| route.method.words());
                not_allowed("that cannot be done with this", words.collect::<Vec<_>>().join(", "))
            }
        };
    };
    if let Some(key) = NUMBERS.iter().find(|key| wrong_number(request, key)) {
        return HttpRefusal::bad(format!("`{key}` is a whole number, 0 or more")).response();
    }
    match (route.handler)(site, request, id) {
        Ok(mut value) => {
            site.redactor.hide_json(&mut value);
            let status = if wanted == HttpMethod::Post { 202 } else { 200 };
            HttpResponse::json(status, &value)
        }
        Err(refusal) => refusal.response(),
    }
}

/// The largest whole number that every reader of JSON understands.
pub(crate) const LARGEST: u64 = (1 << 53) - 1;

/// Keys of a query that are numbers.
pub(crate) const NUMBERS: [&str; 4] = ["offset", "limit", "before", "after"];

fn wrong_number(request: &HttpRequest, key: &str) -> bool {
    request.asked(key).is_some() && request.number(key).is_none_or(|number| number > LARGEST)
}

fn not_allowed(words: &str, allowed: impl Into<String>) -> HttpResponse {
    HttpRefusal::new(405, words).response().with("Allow", allowed)
}

/// Return the part of the path that stands for `{id}`, or the empty text when the pattern has none.
/// `None` when the path does not fit the pattern.
fn id_in<'p>(pattern: &str, path: &'p str) -> Option<&'p str> {
    let Some((before, after)) = pattern.split_once("{id}") else {
        return (pattern == path).then_some("");
    };
    let id = path.strip_prefix(before)?.strip_suffix(after)?;
    // The name of a spec may have a folder in it; it is looked up in a list like every id.
    let plain = !id.contains('/') || pattern == "/api/specs/{id}";
    (plain && !id.is_empty()).then_some(id)
}

fn body<B: DeserializeOwned>(request: &HttpRequest) -> Result<B, HttpRefusal> {
    let kind = request.header("content-type").unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(HttpRefusal::new(415, "the body must be application/json"));
    }
    let value: Value = serde_json::from_slice(&request.body)
        .map_err(|e| HttpRefusal::bad(format!("the body is not JSON: {e}")))?;
    if !value.is_object() {
        return Err(HttpRefusal::bad("the body is a JSON object"));
    }
    serde_json::from_value(value).map_err(|e| HttpRefusal::bad(format!("the body is wrong: {e}")))
}

#[cfg(test)]
mod tests {
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
}
