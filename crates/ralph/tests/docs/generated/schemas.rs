//! `docs/reference/schemas.md` and `docs/reference/schemas/`: what agents answer, as JSON Schemas.

use std::fmt::Write as _;

use ralph_core::answer::schema_of;
use ralph_core::construct::answer::{
    Decomposition, Investigation, PlanAnswer, SpecVerdict, TaskVerdict,
};
use ralph_core::handoff;
use ralph_core::memory::roles::directive::{
    IndexerReport, PassReview, PostDirective, PrepDirective,
};
use serde_json::Value;

use super::{HEAD, holds, row};

const OPENING: &str = "\
# Schemas

What ralph asks of agents, as JSON Schemas. A backend that takes a schema is given the file as it is
here; of the others the prompt asks for the same fields. What does not fit is asked for once more.

";

#[test]
fn the_schemas_are_those_of_the_types() {
    let mut page = format!("{HEAD}{OPENING}");
    for (name, who, schema) in schemas() {
        let text = serde_json::to_string_pretty(&schema).unwrap();
        holds(&format!("docs/reference/schemas/{name}.json"), &format!("{text}\n"));
        let _ = write!(page, "## {name}\n\n{who} [{name}.json](schemas/{name}.json)\n\n");
        page.push_str(&row(&["field", "value", "needed", "meaning"]));
        page.push_str("| --- | --- | --- | --- |\n");
        for (field, about) in schema["properties"].as_object().unwrap() {
            let required =
                schema["required"].as_array().is_some_and(|r| r.contains(&field.as_str().into()));
            let needed = if required { "yes" } else { "" };
            let meaning = about["description"].as_str().unwrap_or_default().replace('\n', " ");
            page.push_str(&row(&[&format!("`{field}`"), &kind(about), needed, &meaning]));
        }
        page.push('\n');
    }
    holds("docs/reference/schemas.md", &format!("{}\n", page.trim_end()));
}

fn schemas() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("handoff", "The end of every attempt.", handoff::schema().clone().to_value()),
        ("plan", "PLAN: a spec becomes tasks.", schema_of::<PlanAnswer>().to_value()),
        (
            "investigation",
            "INVESTIGATE: what becomes of an issue.",
            schema_of::<Investigation>().to_value(),
        ),
        (
            "task-verdict",
            "VERIFY: one task that is claimed done.",
            schema_of::<TaskVerdict>().to_value(),
        ),
        ("spec-verdict", "VERIFY: the spec as a whole.", schema_of::<SpecVerdict>().to_value()),
        (
            "decomposition",
            "DECOMPOSE: killed work in smaller parts.",
            schema_of::<Decomposition>().to_value(),
        ),
        (
            "before-attempt",
            "The context agent, before an attempt.",
            schema_of::<PrepDirective>().to_value(),
        ),
        (
            "after-attempt",
            "The context agent, after an attempt.",
            schema_of::<PostDirective>().to_value(),
        ),
        ("index-report", "The indexer.", schema_of::<IndexerReport>().to_value()),
        ("review", "A pass that reviews.", schema_of::<PassReview>().to_value()),
    ]
}

/// The kind of a value in a word or two.
fn kind(about: &Value) -> String {
    if let Some(name) = about["$ref"].as_str() {
        return format!("`{}`", name.rsplit('/').next().unwrap_or(name));
    }
    match &about["type"] {
        Value::String(word) if word == "array" => format!("list of {}", kind(&about["items"])),
        Value::String(word) => word.clone(),
        Value::Array(words) => {
            words.iter().filter_map(Value::as_str).next().unwrap_or("any").to_owned()
        }
        _ => match about["anyOf"].as_array().and_then(|any| any.first()) {
            Some(first) => kind(first),
            None => "any".to_owned(),
        },
    }
}
