//! `docs/reference/events.md`: the words of the event stream, from the type that is the stream.

use ralph_core::cycle::EventKind;

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
fn the_page_of_events_has_every_kind_with_what_it_tells() {
    let mut kinds: Vec<(&str, &str)> = EventKind::ALL.to_vec();
    kinds.sort_unstable();
    let mut page = format!("{HEAD}{OPENING}");
    page.push_str(&row(&["event", "what it tells"]));
    page.push_str("| --- | --- |\n");
    for (name, about) in kinds {
        page.push_str(&row(&[&format!("`{name}`"), about.trim()]));
    }
    holds("docs/reference/events.md", &page);
}
