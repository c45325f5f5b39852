//! The description of the API against what the server answers.

use serde_json::{Value, json};

use crate::site::{Site, noted, run};

/// Why a value does not fit a schema; only the words of JSON Schema that the description uses.
fn misfit(value: &Value, schema: &Value, all: &Value, at: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let found = all.pointer(name.trim_start_matches('#'));
        return match found {
            Some(found) => misfit(value, found, all, at),
            None => Some(format!("{at}: there is no {name}")),
        };
    }
    let words = match &schema["type"] {
        Value::String(word) => vec![word.as_str()],
        other => other.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = |word: &&str| *word == is || (*word == "number" && is == "integer");
    if !words.is_empty() && !words.iter().any(fits) {
        return Some(format!("{at}: {value} is no {words:?}"));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value))
        || schema.get("const").is_some_and(|only| only != value)
    {
        return Some(format!("{at}: {value} is not one of {schema}"));
    }
    let list = |key: &str| schema[key].as_array().map(Vec::as_slice).unwrap_or_default().to_vec();
    for key in ["oneOf", "anyOf"] {
        let choices = list(key);
        let misfits = choices.iter().filter_map(|choice| misfit(value, choice, all, at));
        let misfits: Vec<String> = misfits.collect();
        if !choices.is_empty() && misfits.len() == choices.len() {
            return Some(misfits.join(" / "));
        }
    }
    let every = list("allOf");
    if let Some(why) = every.iter().find_map(|part| misfit(value, part, all, at)) {
        return Some(why);
    }
    if let Some(items) = value.as_array() {
        let first = list("prefixItems");
        let of = |n: usize| first.get(n).or(schema.get("items").filter(|i| i.is_object()));
        return items.iter().enumerate().find_map(|(n, item)| {
            of(n).and_then(|schema| misfit(item, schema, all, &format!("{at}/{n}")))
        });
    }
    let fields = value.as_object()?;
    let required = list("required");
    let missing = required.iter().filter_map(Value::as_str).find(|key| !fields.contains_key(*key));
    if let Some(key) = missing {
        return Some(format!("{at}: {key} is missing"));
    }
    fields.iter().find_map(|(key, value)| {
        let schema = schema["properties"].get(key).or(schema["additionalProperties"]
            .as_object()
            .map(|_| &schema["additionalProperties"]))?;
        misfit(value, schema, all, &format!("{at}/{key}"))
    })
}

/// A project with an attempt that landed, one that failed and one that was left open.
fn lived_in() -> Site {
    let site = Site::new(&[
        (
            "ralph/plan.jsonl",
            "{\"t\":\"task\",\"id\":\"t-aaaa\",\"name\":\"add\",\"s\":\"p\",\"accept\":[\"a\",\"b\"]}\n\
             {\"t\":\"task\",\"id\":\"t-bbbb\",\"name\":\"sub\",\"s\":\"p\",\"deps\":[\"t-aaaa\"]}\n\
             {\"t\":\"task\",\"id\":\"t-cccc\",\"name\":\"x\",\"s\":\"p\",\"blocked\":\"no key\"}\n\
             {\"t\":\"issue\",\"id\":\"i-aaaa\",\"desc\":\"why?\"}\n",
        ),
        ("ralph/specs/a.md", "# A\n\n- [ ] it is there\n- [x] it is done\n"),
        ("build/ralph-logs/a.log", "{\"event\":\"text\",\"text\":\"hello\"}\n"),
        ("build/ralph-logs/a.prompt.md", "do it"),
        (".ralph/progress-log.json", "{\"entries\":[{\"task_id\":\"t-aaaa\",\"iteration\":1}]}"),
    ]);
    let started = |attempt: &str, iteration: u32, task: &str| {
        json!({
            "record": "attempt_started", "attempt": attempt, "run": "r1", "iteration": iteration,
            "task_id": task, "name": "n", "retry": 0, "backend": "sim", "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"},
            "log": "build/ralph-logs/a.log",
        })
    };
    let ended = |attempt: &str| {
        json!({
            "record": "backend_ended", "attempt": attempt, "outcome": "success",
            "claim": { "kind": "done" }, "candidate": {"paths": []}, "changed_files": 1,
            "cost_usd": 0.5, "tokens": [10, 2], "duration_ms": 5000, "summary": "did it",
        })
    };
    let records = [
        started("a", 1, "t-aaaa"),
        ended("a"),
        json!({ "record": "judged", "attempt": "a", "ruling": { "refused": {} }, "checks": [{
            "name": "test", "command": "make test", "standing": "new",
            "new": { "names": ["add::adds"] }, "old": { "names": [] }, "excerpt": "add::adds failed",
        }]}),
        json!({ "record": "fail_intent", "attempt": "a", "retries": 1,
            "failure": { "kind": "gates", "message": "test" } }),
        json!({ "record": "rolled_back", "attempt": "a", "salvage": "refs/ralph/r1/salvage/a" }),
        started("b", 2, "t-aaaa"),
        ended("b"),
        json!({ "record": "land_intent", "attempt": "b", "landing": "complete",
            "proof": "unproven", "summary": "did it", "task": { "state": "pending" } }),
        json!({ "record": "landed", "attempt": "b", "commit": null }),
        started("c", 3, "t-bbbb"),
    ];
    let read = |record: Value| serde_json::from_value(record).unwrap();
    let mut all = vec![run(), noted("a note")];
    all.extend(records.into_iter().map(read));
    site.journal(all);
    site
}

#[test]
fn every_answer_fits_the_description_of_its_route() {
    let site = lived_in();
    let description = site.get("/openapi.json").json();
    let mut seen = 0;
    let mut check = |method: &str, path: &str, answer: crate::site::Answer| {
        let (real, wild) = path.split_once(' ').unwrap_or((path, path));
        let of = &description["paths"][wild][method]["responses"][answer.status.to_string()];
        let of = of["$ref"]
            .as_str()
            .map_or(of, |name| description.pointer(name.trim_start_matches('#')).unwrap());
        let schema = &of["content"]["application/json"]["schema"];
        assert!(!schema.is_null(), "{method} {real}: {} is not described", answer.status);
        assert_eq!(misfit(&answer.json(), schema, &description, real), None);
        seen += 1;
    };
    for path in [
        "/api/state",
        "/api/plan",
        "/api/tasks/t-aaaa /api/tasks/{id}",
        "/api/tasks/t-cccc /api/tasks/{id}",
        "/api/tasks/nobody /api/tasks/{id}",
        "/api/numbers",
        "/api/attempts",
        "/api/attempts/a /api/attempts/{id}",
        "/api/attempts/b /api/attempts/{id}",
        "/api/attempts/last /api/attempts/{id}",
        "/api/attempts/a/prompt /api/attempts/{id}/prompt",
        "/api/attempts/a/stream /api/attempts/{id}/stream",
        "/api/attempts/a/gates /api/attempts/{id}/gates",
        "/api/attempts/c/gates /api/attempts/{id}/gates",
        "/api/attempts/a/diff /api/attempts/{id}/diff",
        "/api/attempts/a/handoff /api/attempts/{id}/handoff",
        "/api/agents/x/stream /api/agents/{id}/stream",
        "/api/events",
        "/api/specs",
        "/api/specs/a.md /api/specs/{id}",
        "/api/memory",
        "/api/handoffs",
        "/api/settings",
    ] {
        check("get", path, site.get(path.split(' ').next().unwrap()));
    }
    let queued = site.post("/api/inbox", r#"{"spec":"a.md"}"#);
    let id = queued.json()["id"].as_str().map(str::to_owned).unwrap_or_default();
    check("post", "/api/inbox", queued);
    check("get", "/api/inbox", site.get("/api/inbox"));
    let moved = site.post(&format!("/api/inbox/{id}/move"), "{}");
    check("post", "/api/inbox/x/move /api/inbox/{id}/move", moved);
    let gone = site.ask("DELETE", &format!("/api/inbox/{id}"), &site.bearer(), "");
    check("delete", "/api/inbox/x /api/inbox/{id}", gone);
    check("post", "/api/specs", site.post("/api/specs", r#"{"name":"b.md","text":"do it"}"#));
    check("post", "/api/command", site.post("/api/command", r#"{"command":"pause"}"#));
    check("post", "/api/command", site.post("/api/command", r#"{"command":"rm"}"#));
    check("post", "/api/settings", site.post("/api/settings", r#"{"min_delay":30}"#));
    assert_eq!(seen, 31);
    let routes = description["paths"].as_object().unwrap().values();
    assert_eq!(routes.map(|methods| methods.as_object().unwrap().len()).sum::<usize>(), 25);
}

#[test]
fn an_attempt_has_the_failing_lines_of_its_gates() {
    let attempt = lived_in().get("/api/attempts/a").json();
    let check = &attempt["verdict"]["checks"][0];
    assert_eq!(check["new"]["names"], json!(["add::adds"]), "{attempt}");
    assert_eq!(
        (&attempt["result"], &attempt["failure"]["kind"]),
        (&json!("failed"), &json!("gates"))
    );
}
