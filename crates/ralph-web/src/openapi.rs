//! The description of the API: OpenAPI 3.1, made of the routes and of the types that they take and give.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::error::ErrorAnswer;
use crate::http::HttpMethod;
use crate::routes::{LARGEST, NUMBERS, Route};

/// Make the OpenAPI description of these routes from the types of their bodies and answers.
pub(crate) fn describe(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut answers = settings.clone().for_serialize().into_generator();
    let mut bodies = settings
        .with(|settings| settings.inline_subschemas = true)
        .for_deserialize()
        .into_generator();
    let mut paths = Map::new();
    for route in routes {
        let mut operation = json!({
            "summary": route.summary,
            "responses": responses(route, &(route.answer)(&mut answers)),
        });
        let parameters = parameters(route);
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some(body) = route.body {
            let schema = body(&mut bodies);
            let content = json!({ "application/json": { "schema": schema } });
            operation["requestBody"] = json!({ "required": true, "content": content });
        }
        paths.entry(route.path).or_insert_with(|| json!({}))[method_key(route.method)] = operation;
    }
    let error = answers.subschema_for::<ErrorAnswer>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ralph serve",
            "version": "1",
            "description": "What `ralph serve` answers. The token is in the link that `ralph serve` \
                prints; programs send it as a bearer token.",
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, { "cookie": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "ralph-7878" },
            },
            "responses": { "Error": {
                "description": "Why not",
                "content": { "application/json": { "schema": error } },
            }},
            "schemas": answers.take_definitions(true),
        },
    })
}

fn method_key(method: HttpMethod) -> &'static str {
    match method {
        HttpMethod::Post => "post",
        HttpMethod::Delete => "delete",
        _ => "get",
    }
}

/// The answer, and the refusals that follow from what the route takes.
fn responses(route: &Route, answer: &Schema) -> Value {
    let mut refusals = vec!["401", "403"];
    refusals.extend(route.refusals);
    if route.path.contains("{id}") {
        refusals.extend(["400", "404"]);
    }
    if !route.query.is_empty() {
        refusals.push("400");
    }
    if route.body.is_some() {
        refusals.extend(["400", "413", "415"]);
    }
    let status = if route.method == HttpMethod::Post { "202" } else { "200" };
    let mut all = json!({ status: {
        "description": "Done", "content": { "application/json": { "schema": answer } },
    }});
    for status in refusals {
        all[status] = json!({ "$ref": "#/components/responses/Error" });
    }
    all
}

fn parameters(route: &Route) -> Vec<Value> {
    let id = match route.path {
        "/api/specs/{id}" => Some("^[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}$"),
        path => path.contains("{id}").then_some("^[A-Za-z0-9._-]{1,100}$"),
    };
    let id = id.map(|pattern| {
        let schema = json!({ "type": "string", "pattern": pattern });
        json!({ "name": "id", "in": "path", "required": true, "schema": schema })
    });
    let query = route.query.iter().map(|key| {
        let schema = match NUMBERS.contains(key) {
            true => json!({ "type": "integer", "minimum": 0, "maximum": LARGEST }),
            false => json!({ "type": "string" }),
        };
        json!({ "name": key, "in": "query", "description": describe_key(key), "schema": schema })
    });
    id.into_iter().chain(query).collect()
}

fn describe_key(key: &str) -> &'static str {
    match key {
        "offset" => "Skip so many",
        "limit" => "At most so many, 500 at most",
        "before" => "Only what comes before this number",
        "after" => "Only what comes after this number",
        _ => "Only those on this task",
    }
}
