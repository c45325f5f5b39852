//! The tools of the agent programs: each has its own names for writing a file and for a command.
//!
//! The program says with every call which tools it has, so nothing needs to know which program it
//! is. A side call without tools (a title for the session) gets words instead.

use serde_json::{Value, json};

use crate::answer::{Call, Part};
use crate::conversation::{Conversation, Tool, ToolInput};

/// Make a file.
pub(crate) fn write(talk: &Conversation, path: &str, content: &str) -> Part {
    let input = |tool: &Tool| match tool.name.as_str() {
        // claude, gemini and qwen, opencode
        "Write" | "write_file" => Some(json!({"file_path": path, "content": content})),
        "write" => Some(json!({"filePath": path, "content": content})),
        // codex
        "apply_patch" if tool.input == ToolInput::Free => Some(patch(path, content).into()),
        "apply_patch" => Some(json!({"input": patch(path, content)})),
        "exec" => Some(script("apply_patch", &patch(path, content).into())),
        _ => None,
    };
    pick(talk, input).unwrap_or_else(|| {
        let word = "END_OF_FILE";
        let end = if content.ends_with('\n') { "" } else { "\n" };
        shell(talk, &format!("cat >'{path}' <<'{word}'\n{content}{end}{word}"))
    })
}

/// Run a command.
pub(crate) fn shell(talk: &Conversation, command: &str) -> Part {
    let input = |tool: &Tool| match tool.name.as_str() {
        // claude, opencode
        "Bash" | "bash" => Some(json!({"command": command, "description": "as asked"})),
        // gemini and qwen
        "run_shell_command" => Some(json!({"command": command})),
        // codex, by model
        "exec_command" => Some(json!({"cmd": command})),
        "shell_command" => Some(json!({"command": command})),
        "shell" => Some(json!({"command": ["bash", "-c", command]})),
        "exec" => Some(script("exec_command", &json!({"cmd": command}))),
        _ => None,
    };
    pick(talk, input).unwrap_or_else(|| Part::Text(format!("I would run: {command}")))
}

/// Use the tool with this name, offered or not.
pub(crate) fn exactly(talk: &Conversation, name: &str, input: Value) -> Part {
    let tool = talk.tools.iter().find(|tool| tool.name == name);
    let kind = tool.map_or(ToolInput::Json, |tool| tool.input);
    Part::Call(Call { name: name.into(), input, kind })
}

/// The structured answer: claude has a tool for it, the others take it as text.
pub(crate) fn structured(talk: &Conversation, answer: Value) -> Part {
    let text = answer.to_string();
    let input = |tool: &Tool| {
        matches!(tool.name.as_str(), "StructuredOutput" | "structured_output")
            .then(|| answer.clone())
    };
    pick(talk, input).unwrap_or(Part::Text(text))
}

/// The first tool on offer for which there is an input.
fn pick(talk: &Conversation, input: impl Fn(&Tool) -> Option<Value>) -> Option<Part> {
    talk.tools.iter().find_map(|tool| {
        let input = input(tool)?;
        Some(Part::Call(Call { name: tool.name.clone(), input, kind: tool.input }))
    })
}

/// Newer models of codex have one tool, which runs JavaScript that uses the others.
fn script(tool: &str, input: &Value) -> Value {
    format!("text(await tools.{tool}({input}));\n").into()
}

/// A patch in codex's own form that adds one file.
fn patch(path: &str, content: &str) -> String {
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}
