//! `docs/reference/commands.md`: the help of every command.

use std::fmt::Write as _;

use super::{HEAD, holds, row};
use crate::commands::{Command, Help};

#[test]
fn the_page_of_commands_is_what_their_help_says() {
    let help = Help::new();
    let top = help.of(&[]).unwrap();
    let mut page = format!(
        "{HEAD}# Commands\n\n`ralph COMMAND --help` says the same in a terminal, `ralph help COMMAND` too. \
         Every command takes `-C DIR` to work as if started in that directory, `--help` and `--version`. \
         Every command finds the project from the current directory upwards. What the exit codes mean \
         is on [a page of its own](exit-codes.md).\n\n"
    );
    page.push_str(&row(&["command", "what it does"]));
    page.push_str("| --- | --- |\n");
    for name in names(&top) {
        let command = help.of(&[name]).unwrap();
        let link = format!("[`ralph {name}`](#ralph-{name})");
        page.push_str(&row(&[&link, first_line(&command)]));
    }
    for name in names(&top) {
        section(&help, &[name], &mut page);
    }
    holds("docs/reference/commands.md", &page);
}

fn names(command: &Command) -> impl Iterator<Item = &str> {
    command.commands.iter().map(String::as_str).filter(|name| *name != "help")
}

fn first_line(command: &Command) -> &str {
    command.text.lines().next().unwrap_or_default()
}

/// The section of a command and those of its own commands. They are two deep at most.
fn section(help: &Help, path: &[&str], page: &mut String) {
    let command = help.of(path).unwrap();
    let level = if path.len() == 1 { "##" } else { "###" };
    let _ = write!(page, "\n{level} `ralph {}`\n\n", path.join(" "));
    let (about, usage) = command.text.split_once("Usage: ").unwrap();
    let (about, examples) = match about.split_once("Example") {
        Some((about, examples)) => (about, Some(examples.split_once(':').unwrap().1)),
        None => (about, None),
    };
    page.push_str(&paragraphs(about));
    if let Some(examples) = examples {
        let lines: Vec<&str> = examples.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let _ = write!(page, "\n```text\n{}\n```\n", lines.join("\n"));
    }
    let _ = write!(page, "\n```text\nUsage: {}\n```\n", without_the_usual(usage));
    for name in names(&command) {
        let deeper: Vec<&str> = path.iter().copied().chain([name]).collect();
        section(help, &deeper, page);
    }
}

/// The text without its line breaks, which fit a terminal.
fn paragraphs(text: &str) -> String {
    let mut out = String::new();
    for paragraph in text.trim().split("\n\n") {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        let _ = writeln!(out, "{}{}", if out.is_empty() { "" } else { "\n" }, words.join(" "));
    }
    out.replace('<', "\\<")
}

/// The options without those that every command has.
fn without_the_usual(usage: &str) -> String {
    let usual = ["-C, --directory", "-h, --help", "-V, --version"];
    let paragraphs = usage.trim_end().split("\n\n");
    let kept: Vec<&str> = paragraphs
        .map(|p| p.trim_end())
        .filter(|p| !usual.iter().any(|u| p.trim_start().starts_with(u)))
        .collect();
    let text = kept.join("\n\n");
    // The first of them stands on the line after `Options:`.
    let first = "Options:\n  -C, --directory <DIR>\n          Work as if started in this directory";
    let text = text.replace(first, "Options:").replace("Options:\n\n", "Options:\n");
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n").trim_end_matches("Options:").trim_end().to_owned()
}
