//! `docs/reference/events.md`: the words of the event stream.
//!
//! The words are found in the sources, where they are written; a word without a row here, or a row
//! without a word there, fails the test.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{HEAD, holds, row};
use crate::page::root;

const OPENING: &str = "\
# Events

`.ralph/logs/events.jsonl` tells what happens, one JSON object a line:

```json
{\"timestamp\":\"2026-01-20T10:30:00Z\",\"event\":\"iteration_start\",\"message\":\"Starting iteration 1\",\"metadata\":{\"iteration\":1,\"task_id\":\"t-1a2b\"}}
```

`ralph build --json`, `ralph construct --json` and `ralph agent --json` print the same words while they
run. The third column says which of the two has a word: *file* outlives the run, *stream* is what only
`--json` has. Unknown words may be added in any version; a reader ignores what it does not know.

Commands of the operator are events under their own name (`pause`, `resume`, `note`, `skip_task`, `stop`).

";

/// The word and what it tells.
const EVENTS: &[(&str, &str)] = &[
    ("agent", "a step of `ralph agent`, in words"),
    ("agent_end", "an agent that was asked something has answered: `role`, `outcome`, `cost_usd`"),
    ("agent_pass", "a pass has looked at an attempt: its answer"),
    ("agent_pass_failed", "a pass crashed, took too long or talked nonsense: `pass`"),
    ("agent_start", "an agent is asked something: `role`, `item`, `log`"),
    ("amendments", "changes of the plan that an agent proposed, and what became of them"),
    ("backend", "what the backend says right now; its kind is in `type`"),
    ("backend_end", "the backend has ended: `outcome`, `cost_usd`, `changed_files`"),
    ("command_ignored", "a command of the operator that could not be carried out"),
    ("compaction_start", "the knowledge index is brought up to date"),
    ("construct_iteration", "an iteration of construct begins"),
    ("construct_start", "construct begins with a spec"),
    ("construct_summary", "how construct ended, with its numbers"),
    ("context", "how full a context is, and what was done about it"),
    ("context_directive", "what the context agent advises after an attempt"),
    ("failure_pattern", "a failure that happens again and again"),
    ("gate_end", "a gate has ended: `passed`, `preexisting`, `baseline`"),
    ("gate_start", "a gate begins; with `baseline` on what the attempt started from"),
    ("human_review_requested", "an agent asks for a person; the message is the question"),
    (
        "iteration_end",
        "an attempt has landed or was rolled back: `result`, `commit` and `proof`, or `failure`",
    ),
    ("iteration_start", "an attempt begins: `iteration`, `task_id`, `attempt`, `retry`, `backend`"),
    (
        "knowledge_index_undone",
        "an update of the knowledge index broke its rules and was undone: `why`",
    ),
    ("knowledge_indexed", "the knowledge index is up to date: `iteration`"),
    ("ledger_restored", "an agent changed the plan or another file of ralph's; it is as before"),
    ("monitor", "a warning about time or context"),
    (
        "not_verified",
        "no verifier gave a usable verdict about a task, or, without `task_id`, about the spec",
    ),
    ("orchestrator_end", "a loop has ended: `status`, `remaining`, `cost_usd`"),
    ("orchestrator_start", "a loop begins: `run`, `plan`"),
    ("paused", "the loop waits for `ralph resume`"),
    ("prompt_truncated", "sections of a prompt were left out to fit its budget"),
    ("recovered", "what an interrupted run had left is mended"),
    ("regate", "landed work was gated again without your uncommitted changes"),
    ("research_requested", "a task waits until more is known: `task_id`"),
    ("said", "what an agent that was asked something says: `who`"),
    ("skip_task", "a task is left out: `task_id`"),
    ("spec_complete", "a spec is done: its commit"),
    ("spec_failed", "a spec has failed: why, and where its work is"),
    ("stage_end", "a stage of construct has ended: `came`, `left`, `cost_usd`"),
    ("stage_start", "a stage of construct begins"),
    ("stopping", "a signal came, and the loop comes to its end"),
    ("stuck_detected", "the context agent says that the work goes round in circles"),
    ("tree_restored", "an agent that may only look changed files; they are as before"),
    ("validation_fail", "gates are red, or judges were changed: `ruling`, `checks`, `judges`"),
    (
        "validation_pass",
        "gates are green, or what is red was red before: `ruling`, `checks`, `judges`",
    ),
    ("wait_end", "the wait is over"),
    ("waiting", "a usage limit: `until`, `backend`"),
    ("warning", "something worth knowing that stops nothing"),
];

#[test]
fn the_page_of_events_has_every_word_that_the_sources_write() {
    let file = words(&["ralph-core/src/cycle/event.rs", "ralph-host/src/drive"]);
    let stream = words(&["ralph-face/src/json.rs"]);
    let listed: BTreeSet<String> = EVENTS.iter().map(|(word, _)| (*word).to_owned()).collect();
    let found: BTreeSet<String> = file.union(&stream).cloned().collect();
    assert_eq!(listed, found, "the table of events (left) and the sources (right) differ");

    let mut page = format!("{HEAD}{OPENING}");
    page.push_str(&row(&["event", "what it tells", "where"]));
    page.push_str("| --- | --- | --- |\n");
    for (word, about) in EVENTS {
        let place = match (file.contains(*word), stream.contains(*word)) {
            (true, true) => "both",
            (true, false) => "file",
            (false, _) => "stream",
        };
        page.push_str(&row(&[&format!("`{word}`"), about, place]));
    }
    holds("docs/reference/events.md", &page);
}

/// The words of events below these places.
fn words(places: &[&str]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for place in places {
        look(&root().join("crates").join(place), &mut words);
    }
    words
}

fn look(path: &Path, words: &mut BTreeSet<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            look(&entry.unwrap().path(), words);
        }
        return;
    }
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    if !name.ends_with(".rs") || name.ends_with("_tests.rs") {
        return;
    }
    let text: String = fs::read_to_string(path).unwrap().split_whitespace().collect();
    for start in
        ["event(\"", "event:\"", "noted(\"", "tell(\"", "(event,message)=(\"", "{\"", "judged(\""]
    {
        // `{"` alone is anything; only the two words of a verdict are written that way.
        for rest in text.split(start).skip(1) {
            let word = rest.split('"').next().unwrap_or_default();
            let plain =
                !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if plain && (start != "{\"" || word.starts_with("validation_")) {
                words.insert(word.to_owned());
            }
        }
    }
}
