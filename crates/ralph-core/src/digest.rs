//! The digest of a run: what a fresh session must know when the old one's context is full.
//!
//! Built from the event stream alone, as it passes, in bounded memory; used where a backend cannot
//! compact by itself. The task and the files at hand are kept in full. Commands, searches and files that
//! were read are one line each: how the tests went and which failed, what was looked for and found,
//! what a file defines. Long outputs are left out.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::backend::{BackendEvent, ToolStatus};
use crate::gate::{GateEnding, OutputReader};
use crate::text::clip;

/// Maximum number of lines kept of each kind.
const MOST: usize = 20;
/// Longest line that is kept, in characters.
const WIDTH: usize = 200;

/// Most names of tests, files or definitions in one line.
const MOST_NAMES: usize = 6;

/// A tool call whose result has not come.
#[derive(Clone, Debug)]
enum OpenCall {
    Command(String),
    Search(String),
    Read(String),
}

/// Digest of a run, collected from its events.
#[derive(Clone, Debug, Default)]
pub struct RunDigest {
    /// Files that were changed, with the first line of the last change.
    files: BTreeMap<String, String>,
    open: BTreeMap<String, OpenCall>,
    commands: VecDeque<String>,
    searches: VecDeque<String>,
    reads: VecDeque<String>,
    errors: VecDeque<String>,
    said: VecDeque<String>,
}

impl RunDigest {
    /// Record an event if a later session needs it.
    pub fn event(&mut self, event: &BackendEvent) {
        match event {
            BackendEvent::Text(text) => {
                for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
                    push(&mut self.said, line);
                }
            }
            BackendEvent::ToolCall { id, name, input } => self.call(id, name, input),
            BackendEvent::ToolResult { id, status, text } => self.result(id, *status, text),
            BackendEvent::Denied { tool, .. } => {
                push(&mut self.errors, &format!("{tool}: not allowed"))
            }
            _ => {}
        }
    }

    fn call(&mut self, id: &str, name: &str, input: &Value) {
        let text = |keys: &[&str]| keys.iter().find_map(|key| input[key].as_str());
        let path = text(&["file_path", "filePath", "path", "notebook_path"]);
        let wanted = text(&["pattern", "query", "regex", "glob"]);
        let writes = ["write", "edit", "patch", "create", "delete", "replace"];
        let lower = name.to_lowercase();
        let call = match (text(&["command", "cmd"]), path, wanted) {
            (Some(command), _, _) => OpenCall::Command(clip(command, WIDTH)),
            (None, Some(path), _) if writes.iter().any(|word| lower.contains(word)) => {
                let change = text(&["new_string", "newString", "content", "old_string"]);
                let first = change.and_then(|text| text.lines().find(|l| !l.trim().is_empty()));
                if self.files.len() < MOST * 5 || self.files.contains_key(path) {
                    self.files
                        .insert(clip(path, WIDTH), clip(first.unwrap_or_default().trim(), 80));
                }
                return;
            }
            (None, path, Some(wanted)) => {
                let place = path.map(|path| format!(" in {path}")).unwrap_or_default();
                OpenCall::Search(clip(&format!("{wanted}{place}"), WIDTH))
            }
            (None, Some(path), None) => OpenCall::Read(clip(path, WIDTH)),
            (None, None, None) => return,
        };
        if self.open.len() < MOST {
            self.open.insert(id.to_owned(), call);
        }
    }

    fn result(&mut self, id: &str, status: ToolStatus, text: &str) {
        // The last line of an output is where test runners and compilers say how it went.
        let last = text.lines().rev().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
        match (self.open.remove(id), status) {
            (Some(OpenCall::Command(command)), status) => {
                let failed = failed_tests(text, status);
                let word = if status == ToolStatus::Failed { "failed: " } else { "" };
                push(&mut self.commands, &format!("`{command}`: {word}{last}{failed}"));
                if status == ToolStatus::Failed {
                    push(&mut self.errors, &format!("{last}{failed}"));
                }
            }
            (_, ToolStatus::Failed) => push(&mut self.errors, last),
            (Some(OpenCall::Search(wanted)), ToolStatus::Ok) => {
                push(&mut self.searches, &format!("searched {wanted}: {}", found(text)));
            }
            (Some(OpenCall::Read(path)), ToolStatus::Ok) => {
                push(&mut self.reads, &format!("read {path}: {}", purpose(text)));
            }
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
        let file = |(path, near): (&String, &String)| match near.as_str() {
            "" => path.clone(),
            near => format!("{path} (near `{near}`)"),
        };
        let files: VecDeque<String> = self.files.iter().map(file).collect();
        let looked: VecDeque<String> = self.searches.iter().chain(&self.reads).cloned().collect();
        let progress = match files.len() {
            0 => "nothing was changed yet".to_owned(),
            n => crate::words::count(n, "file") + " changed",
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
             Explored: {looked}\n\
             Commands run: {commands}\n\
             Key decisions: {said}\n\
             Blockers: {errors}\n\
             Next step: {next}\n\
             === END COMPACTED ===\n",
            files = list(&files, "none"),
            looked = list(&looked, "nothing"),
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

/// The tests that failed in the output of a command, in brackets.
fn failed_tests(output: &str, status: ToolStatus) -> String {
    let mut reader = OutputReader::new("");
    output.lines().for_each(|line| reader.line(line.as_bytes()));
    let code = i32::from(status == ToolStatus::Failed);
    let failures = reader.finish(&GateEnding::Code(code)).failures;
    let names: Vec<&str> = failures.tests.iter().map(String::as_str).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", few(&names)) }
}

/// Summarize the output of a search: the number of lines and the files.
fn found(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let nothing = ["No files found", "No matches found", "No matches"];
    if lines.is_empty() || lines.iter().all(|line| nothing.contains(line)) {
        return "found nothing".to_owned();
    }
    let mut places: Vec<&str> = Vec::new();
    for line in &lines {
        let place = line.split(':').next().unwrap_or(line);
        if place.contains(['.', '/']) && !place.contains(' ') && !places.contains(&place) {
            places.push(place);
        }
    }
    let lines = crate::words::count(lines.len(), "line");
    if places.is_empty() { lines } else { format!("{lines}, {}", few(&places)) }
}

/// Describe a file that the agent read: its definitions, else its size and its first line.
fn purpose(text: &str) -> String {
    const WORDS: [&str; 15] = [
        "fn",
        "struct",
        "enum",
        "trait",
        "impl",
        "class",
        "def",
        "function",
        "interface",
        "type",
        "const",
        "func",
        "module",
        "mod",
        "macro_rules!",
    ];
    // Some programs number the lines that they show.
    let bare = |line: &str| match line.split_once(['→', '\t']) {
        Some((number, rest)) if number.trim().bytes().all(|b| b.is_ascii_digit()) => {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(bare).collect();
    let defined = |line: &String| {
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '!'));
        let word = words.find(|word| WORDS.contains(word))?;
        let name = words.find(|name| !name.is_empty())?;
        // What stands further in is a detail of what is defined.
        let outer = !line.starts_with([' ', '\t', '/', '#', '*', '"']);
        outer.then(|| format!("{word} {name}"))
    };
    let names: Vec<String> = lines.iter().filter_map(defined).collect();
    if !names.is_empty() {
        return format!("defines {}", few(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    let first = lines.iter().map(|line| line.trim()).find(|line| !line.is_empty());
    let size = crate::words::count(lines.len(), "line");
    first.map_or(size.clone(), |first| format!("{size}, begins `{}`", clip(first, 80)))
}

/// The first of these names, and how many more there are.
fn few(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: &str, name: &str, input: Value) -> BackendEvent {
        BackendEvent::ToolCall { id: id.into(), name: name.into(), input }
    }

    fn result(id: &str, status: ToolStatus, text: &str) -> BackendEvent {
        BackendEvent::ToolResult { id: id.into(), status, text: text.into() }
    }

    #[test]
    fn the_digest_keeps_task_files_results_errors_and_the_next_step() {
        let mut digest = RunDigest::default();
        for event in [
            BackendEvent::Text("I use a lookup table.".into()),
            call("1", "Read", json!({"file_path": "src/a.rs"})),
            result(
                "1",
                ToolStatus::Ok,
                "     1→use std::fs;\n     2→pub fn parse() {\n     3→    let fn_x = 1;\n     4→}\n     5→struct Plan;\n",
            ),
            call("g", "Grep", json!({"pattern": "fn parse", "path": "src"})),
            result(
                "g",
                ToolStatus::Ok,
                "src/a.rs:2:pub fn parse() {\nsrc/c.rs:9:fn parse_all() {\n",
            ),
            call("h", "Glob", json!({"pattern": "**/*.py"})),
            result("h", ToolStatus::Ok, "No files found"),
            call(
                "2",
                "Edit",
                json!({"file_path": "src/b.rs", "old_string": "x", "new_string": "fn table() {"}),
            ),
            call("3", "Bash", json!({"command": "cargo test"})),
            result(
                "3",
                ToolStatus::Failed,
                "running 7 tests\nnoise\ntest a::one ... FAILED\ntest a::two ... FAILED\ntest a::three ... ok\n\nfailures:\n    a::one\n    a::two\n\ntest result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n",
            ),
            BackendEvent::Text("Now the error case.".into()),
        ] {
            digest.event(&event);
        }
        let text = digest.render("t-1a2b Parse", " src/b.rs | 4 ++--\n");
        assert_eq!(
            text,
            "=== COMPACTED CONTEXT ===
Task: t-1a2b Parse
Progress: 1 file changed
Current state: uncommitted changes:
src/b.rs | 4 ++--
Key files: \n- src/b.rs (near `fn table() {`)
Explored: \n- searched fn parse in src: 2 lines, src/a.rs, src/c.rs\n- searched **/*.py: found nothing\n- read src/a.rs: defines fn parse, struct Plan
Commands run: \n- `cargo test`: failed: test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out (a::one, a::two)
Key decisions: \n- I use a lookup table.\n- Now the error case.
Blockers: \n- test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out (a::one, a::two)
Next step: Now the error case.
=== END COMPACTED ===
"
        );
        assert!(!text.contains("noise"), "long output is left out");
    }

    #[test]
    fn an_endless_stream_costs_bounded_memory() {
        let mut digest = RunDigest::default();
        for i in 0..10_000 {
            digest.event(&BackendEvent::Text("word ".repeat(1000)));
            digest.event(&call(&i.to_string(), "Write", json!({"path": format!("f{i}")})));
            digest.event(&call(&format!("c{i}"), "Bash", json!({"command": "x".repeat(5000)})));
        }
        assert!(digest.render("t", "").len() < 20_000);
    }
}
