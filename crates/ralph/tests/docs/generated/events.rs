//! `docs/reference/events.md`: the words of the event stream, from the type that is the stream.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::cycle::EventKind;
use schemars::Schema;
use serde_json::Value;

use super::{HEAD, holds, row};

const OPENING: &str = "\
# Events

`.ralph/logs/events.jsonl` tells what happens, one JSON object a line:

```json
{\"timestamp\":\"2026-01-20T10:30:00Z\",\"event\":\"iteration_start\",\"message\":\"Starting iteration 1\",\"metadata\":{\"iteration\":1,\"task_id\":\"t-1a2b\"}}
```

`ralph build --json`, `ralph construct --json` and `ralph agent --json` print the same lines while they run, with
equal fields. Kinds that are called *live* below are printed only there: no file keeps them. Unknown kinds and
fields may be added in any version; a reader ignores what it does not know.

";

#[test]
fn the_page_of_events_has_every_kind_with_what_it_tells_and_its_fields() {
    let mut kinds: Vec<(&str, &str)> = EventKind::ALL.to_vec();
    kinds.sort_unstable();
    let schemas: BTreeMap<&str, Schema> = EventKind::schemas().into_iter().collect();
    let mut page = format!("{HEAD}{OPENING}");
    page.push_str(&row(&["event", "what it tells", "fields of `metadata`"]));
    page.push_str("| --- | --- | --- |\n");
    for (name, about) in kinds {
        let mut fields = BTreeSet::new();
        collect_fields(schemas[name].as_value(), &mut fields);
        let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
        page.push_str(&row(&[&format!("`{name}`"), about.trim(), &fields.join(", ")]));
    }
    holds("docs/reference/events.md", &page);
}

/// The names of the fields that an object of this schema may have.
fn collect_fields(schema: &Value, fields: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        fields.extend(properties.keys().cloned());
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for part in schema[key].as_array().into_iter().flatten() {
            collect_fields(part, fields);
        }
    }
}
