//! What the tests of memory share: who is asked, what the sim answers then, and what was asked.

use std::path::Path;

use serde_json::Value;

use crate::plans::{Format, Task, value};
use crate::repo::{GATE, Repo, repo_with};

/// Words that only the prompt of one role has.
pub(crate) const INDEXER: &str = "You keep the knowledge index";
pub(crate) const PREPARE: &str = "You prepare the work of a coding agent";
pub(crate) const PUT_AWAY: &str = "An iteration of a coding agent has ended";
pub(crate) const REVIEW: &str = "You review the work of a coding agent";

pub(crate) const MARKDOWN: &str = ".ralph/knowledge-index.md";
pub(crate) const JSON: &str = ".ralph/knowledge-index.json";
pub(crate) const PREPARED: &str = ".ralph/context/prepared-prompt.md";

/// An index with a hard constraint and a history.
pub(crate) const OLD_MD: &str = "\
# Knowledge Index
Last updated: iteration 1 (2025-01-20)

## Constraints
- [K-constraint-push] Must never force push to main [source: iter 1]

## Gotchas
- [K-gotcha-bom] A byte order mark may come first [source: iter 1]
";
pub(crate) const OLD_JSON: &str = "[\n  {\"iteration\": 1, \"task\": \"t-0\", \"summary\": \"no push\", \"tags\": [\"git\"], \"memory_id\": [\"K-constraint-push\"]}\n]\n";

/// The same with one thing more.
pub(crate) const NEW_MD: &str = "\
# Knowledge Index
Last updated: iteration 2 (2025-01-21)

## Constraints
- [K-constraint-push] Must never force push to main [source: iter 1]

## Gotchas
- [K-gotcha-bom] A byte order mark may come first [source: iter 1]

## Patterns
- [K-pattern-cache] Warm the cache before the parser runs [source: iter 2]
";
pub(crate) const NEW_JSON: &str = "[\n  {\"iteration\": 1, \"task\": \"t-0\", \"summary\": \"no push\", \"tags\": [\"git\"], \"memory_id\": [\"K-constraint-push\"]},\n  {\"iteration\": 900, \"task\": \"t-1\", \"summary\": \"cache\", \"tags\": [\"cache\"], \"memory_id\": [\"K-pattern-cache\"]}\n]\n";

/// A prompt as a context agent should write it.
pub(crate) const GOOD_PROMPT: &str = "\
## Current Task

PREPARED WITH CARE for {task}.

## Retrieved Memory

Nothing else matters.

## Previous Handoff

It went well.

## Output Instructions

End with a handoff.
";

/// A rule for a role: words of its prompt, further conditions, steps.
pub(crate) fn role(words: &str, conditions: &str, steps: &str) -> String {
    format!("[[rule]]\nwhen = {words:?}\n{conditions}\nsteps = [{steps}]\n")
}

/// The step that writes a file. A text of Rust is one of TOML here.
pub(crate) fn write(file: &str, text: &str) -> String {
    format!("{{ write = {file:?}, text = {text:?} }}")
}

/// Both files of the index, and what the indexer says.
pub(crate) fn index_of(markdown: &str, json: &str) -> String {
    let (markdown, json) = (write(MARKDOWN, markdown), write(JSON, json));
    format!("{markdown}, {json}, {{ answer = {{ summary = \"indexed\" }} }}")
}

/// The answer of the context agent before an attempt.
pub(crate) fn directive(action: &str) -> String {
    format!("{{ answer = {{ action = \"{action}\", reason = \"because of {action}\" }} }}")
}

/// A good preparation.
pub(crate) fn prepares() -> String {
    role(PREPARE, "", &format!("{}, {}", write(PREPARED, GOOD_PROMPT), directive("proceed")))
}

/// A context agent that has nothing to put away.
pub(crate) fn puts_nothing_away() -> String {
    role(PUT_AWAY, "", &directive("proceed"))
}

/// Work that is done, with a handoff that has these fields.
pub(crate) fn hands_over(fields: &str) -> String {
    format!(
        r#"{{ write = "work/{{task}}.txt", text = "{{task}}\n" }}, {{ claim = "done", handoff = {{ {fields} }} }}"#
    )
}

/// A repository in this mode, with more settings as tables.
pub(crate) fn in_mode(mode: &str, format: Format, tasks: &[Task], tables: &str) -> Repo {
    let repo = repo_with(format, tasks);
    repo.config(&format!("backend = \"sim\"\nmode = \"{mode}\"\n{tables}\n{GATE}"));
    repo
}

/// Triggers that never fire by themselves; append what a test wants.
pub(crate) const QUIET: &str = "[memory]\nnovelty_overlap_threshold = 0.0\n";

impl Repo {
    /// Give the repository an index, committed.
    pub(crate) fn knows(&self, markdown: &str, json: &str) -> &Self {
        self.write(MARKDOWN, markdown);
        self.write(JSON, json);
        self.commit("index");
        self
    }

    /// Set fields of every task of a plan.json, committed.
    pub(crate) fn each_task(&self, fields: &Value) -> &Self {
        let mut plan = self.plan_json();
        for task in plan["tasks"].as_array_mut().unwrap() {
            for (name, value) in fields.as_object().unwrap() {
                task[name] = value.clone();
            }
        }
        self.write(self.format.path(), format!("{plan:#}\n"));
        self.commit("fields");
        self
    }

    /// The prompts that agents of this role were given, in their order.
    #[track_caller]
    pub(crate) fn asked(&self, role: &str) -> Vec<String> {
        let ends = self.events("agent_end");
        let of_role = ends.iter().filter(|event| event["metadata"]["role"] == role);
        of_role
            .map(|event| {
                let log = event["metadata"]["log"].as_str().unwrap();
                self.read(Path::new(log).with_extension("prompt.md"))
            })
            .collect()
    }

    /// A handoff by its number.
    #[track_caller]
    pub(crate) fn handoff(&self, number: u32) -> Value {
        value(&self.read(format!(".ralph/handoffs/handoff-{number:03}.json")))
    }

    /// The index is exactly this.
    #[track_caller]
    pub(crate) fn index_is(&self, markdown: &str, json: &str) {
        assert_eq!(self.read(MARKDOWN), markdown);
        assert_eq!(self.read(JSON), json);
    }
}

/// What stands under a header of a prompt.
#[track_caller]
pub(crate) fn section<'p>(prompt: &'p str, header: &str) -> &'p str {
    let start =
        prompt.find(&format!("{header}\n")).unwrap_or_else(|| panic!("no {header} in\n{prompt}"));
    let body = &prompt[start + header.len()..];
    body.split("\n## ").next().unwrap_or_default()
}

/// A text has all of these in it.
#[track_caller]
pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}
