//! The digest of a run: what a fresh session must know when the old one's context is full.
//!
//! Built from the event stream alone, as it passes, in bounded memory; used where a backend cannot
//! compact by itself. What is kept, shortened and left out follows the order of importance: the
//! task and the files at hand in full, commands and their results as one line each, reading and
//! searching as counts, long outputs not at all.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::backend::{Event, ToolStatus};
use crate::text::clip;

/// How many of each kind are kept.
const MOST: usize = 20;
/// Longest line that is kept, in characters.
const WIDTH: usize = 200;

/// What is worth carrying over, gathered as events pass.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    files: BTreeMap<String, usize>,
    reads: usize,
    open: BTreeMap<String, String>,
    commands: VecDeque<String>,
    errors: VecDeque<String>,
    said: VecDeque<String>,
}

impl Digest {
    /// Take note of one event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Text(text) => {
                for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
                    push(&mut self.said, line);
                }
            }
            Event::ToolCall { id, name, input } => self.call(id, name, input),
            Event::ToolResult { id, status, text } => self.result(id, *status, text),
            Event::Denied { tool, .. } => push(&mut self.errors, &format!("{tool}: not allowed")),
            Event::CompactionFailed(why) => push(&mut self.errors, why),
            _ => {}
        }
    }

    fn call(&mut self, id: &str, name: &str, input: &Value) {
        let text = |keys: &[&str]| keys.iter().find_map(|key| input[key].as_str());
        if let Some(command) = text(&["command", "cmd"]) {
            if self.open.len() < MOST {
                self.open.insert(id.to_owned(), clip(command, WIDTH));
            }
            return;
        }
        let path = text(&["file_path", "filePath", "path", "notebook_path"]);
        let writes = ["write", "edit", "patch", "create", "delete"];
        let lower = name.to_lowercase();
        match path {
            Some(path) if writes.iter().any(|w| lower.contains(w)) => {
                if self.files.len() < MOST * 5 || self.files.contains_key(path) {
                    *self.files.entry(clip(path, WIDTH)).or_default() += 1;
                }
            }
            _ => self.reads += 1,
        }
    }

    fn result(&mut self, id: &str, status: ToolStatus, text: &str) {
        // The last line of an output is where test runners and compilers say how it went.
        let last = text.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
        match (self.open.remove(id), status) {
            (Some(command), ToolStatus::Ok) => {
                push(&mut self.commands, &format!("`{command}`: {last}"));
            }
            (Some(command), ToolStatus::Failed) => {
                push(&mut self.commands, &format!("`{command}`: failed: {last}"));
                push(&mut self.errors, last);
            }
            (None, ToolStatus::Failed) => push(&mut self.errors, last),
            (None, ToolStatus::Ok) => {}
        }
    }

    /// The digest as the first part of a new prompt. `diff` is the summary of what has changed in
    /// the working tree.
    pub fn render(&self, task: &str, diff: &str) -> String {
        let list = |lines: &VecDeque<String>, none: &str| match lines.is_empty() {
            true => none.to_owned(),
            false => lines.iter().map(|l| format!("\n- {l}")).collect(),
        };
        let files: Vec<&str> = self.files.keys().map(String::as_str).collect();
        let progress = match (files.len(), self.reads) {
            (0, reads) => format!("nothing was changed yet; {reads} look-ups"),
            (n, reads) => format!("{n} files changed, {reads} look-ups"),
        };
        let state = match diff.trim() {
            "" => "the working tree is unchanged".to_owned(),
            diff => format!("uncommitted changes:\n{diff}"),
        };
        let next = self.said.back().map_or("begin with the task", String::as_str);
        format!(
            "=== COMPACTED CONTEXT ===\n\
             Task: {task}\n\
             Progress: {progress}\n\
             Current state: {state}\n\
             Key files: {files}\n\
             Commands run: {commands}\n\
             Key decisions: {said}\n\
             Blockers: {errors}\n\
             Next step: {next}\n\
             === END COMPACTED ===\n",
            files = if files.is_empty() { "none".to_owned() } else { files.join(", ") },
            commands = list(&self.commands, "none"),
            said = list(&self.said, "none"),
            errors = list(&self.errors, "none"),
        )
    }
}

fn push(lines: &mut VecDeque<String>, line: &str) {
    if line.is_empty() {
        return;
    }
    if lines.len() == MOST {
        lines.pop_front();
    }
    lines.push_back(clip(line, WIDTH));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str, input: Value) -> Event {
        Event::ToolCall { id: id.into(), name: name.into(), input }
    }

    fn result(id: &str, status: ToolStatus, text: &str) -> Event {
        Event::ToolResult { id: id.into(), status, text: text.into() }
    }

    #[test]
    fn the_digest_keeps_task_files_results_errors_and_the_next_step() {
        let mut digest = Digest::default();
        for event in [
            Event::Text("I use a lookup table.".into()),
            call("1", "Read", json!({"file_path": "src/a.rs"})),
            call("2", "Edit", json!({"file_path": "src/b.rs", "old_string": "x"})),
            call("3", "Bash", json!({"command": "cargo test"})),
            result(
                "3",
                ToolStatus::Failed,
                "running 7 tests\nnoise\ntest result: FAILED. 5 passed; 2 failed\n",
            ),
            Event::Text("Now the error case.".into()),
        ] {
            digest.event(&event);
        }
        let text = digest.render("t-1a2b Parse", " src/b.rs | 4 ++--\n");
        assert_eq!(
            text,
            "=== COMPACTED CONTEXT ===
Task: t-1a2b Parse
Progress: 1 files changed, 1 look-ups
Current state: uncommitted changes:
src/b.rs | 4 ++--
Key files: src/b.rs
Commands run: \n- `cargo test`: failed: test result: FAILED. 5 passed; 2 failed
Key decisions: \n- I use a lookup table.\n- Now the error case.
Blockers: \n- test result: FAILED. 5 passed; 2 failed
Next step: Now the error case.
=== END COMPACTED ===
"
        );
        assert!(!text.contains("noise"), "long output is left out");
    }

    #[test]
    fn an_endless_stream_costs_bounded_memory() {
        let mut digest = Digest::default();
        for i in 0..10_000 {
            digest.event(&Event::Text("word ".repeat(1000)));
            digest.event(&call(&i.to_string(), "Write", json!({"path": format!("f{i}")})));
            digest.event(&call(&format!("c{i}"), "Bash", json!({"command": "x".repeat(5000)})));
        }
        assert!(digest.render("t", "").len() < 20_000);
    }
}
