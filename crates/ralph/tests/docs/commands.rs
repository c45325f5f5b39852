//! No page names a command or an option that does not exist.
//!
//! The truth is what the binary itself says with `--help`. A command line on a page is read as far as
//! it can be: words in capitals, in brackets and in quotes are values; `a|b` is two commands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use ralph_testkit::{TestProject, project};

use crate::page::{What, pages};

#[test]
fn no_page_names_a_command_or_an_option_that_does_not_exist() {
    let help = Help::new();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in pages() {
        // What was true of an older version may stand in the history.
        if page.name == "CHANGELOG.md" {
            continue;
        }
        for item in &page.items {
            let lines: Vec<&str> = match &item.what {
                What::Code(code) => vec![code],
                What::Block(language, text) if is_shell(language) => text.lines().collect(),
                _ => continue,
            };
            for line in lines.into_iter().filter_map(ralph_line) {
                seen += 1;
                if let Err(why) = help.check(line) {
                    wrong.push(format!("{}:{}: `{line}`: {why}", page.name, item.line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 100, "only {seen} command lines were found");
}

fn is_shell(language: &str) -> bool {
    ["sh", "console", "yaml", "text", ""].contains(&language)
}

/// The part of a line that is a call of ralph.
fn ralph_line(line: &str) -> Option<&str> {
    let line = line.trim_start_matches("$ ").trim();
    let line = line.strip_prefix("run: ").unwrap_or(line);
    let line = line.split("# ").next().unwrap_or(line).trim();
    let hidden = line.starts_with("ralph __") || line.starts_with("ralph help");
    (line.starts_with("ralph ") && !hidden).then_some(line)
}

/// What the binary says about its commands.
pub(crate) struct Help {
    project: TestProject,
    known: Mutex<BTreeMap<String, Option<Command>>>,
}

/// One command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Command {
    /// All that `--help` prints.
    pub(crate) text: String,
    /// Its commands, in the order of the help.
    pub(crate) commands: Vec<String>,
    options: BTreeSet<String>,
}

impl Help {
    pub(crate) fn new() -> Self {
        Self { project: project!(), known: Mutex::default() }
    }

    /// The command behind these words, if there is one.
    pub(crate) fn of(&self, words: &[&str]) -> Option<Command> {
        let key = words.join(" ");
        if let Some(known) = self.known.lock().unwrap().get(&key) {
            return known.clone();
        }
        let run = self.project.run(words.iter().copied().chain(["--help"]));
        let command = (run.code == 0).then(|| Command::read(&run.stdout));
        self.known.lock().unwrap().insert(key, command.clone());
        command
    }

    fn check(&self, line: &str) -> Result<(), String> {
        let line = without_values(line);
        let mut path: Vec<&str> = Vec::new();
        let mut here = vec![self.of(&[]).unwrap()];
        let mut named = true;
        for word in line.split_whitespace().skip(1) {
            if ["&&", "|", ";", "&", ">", "<", "--"].contains(&word) {
                break;
            }
            let word = word.trim_end_matches([',', ';', '.', ':']);
            if word.starts_with('-') {
                let option = word.split('=').next().unwrap_or(word);
                let known = |c: &Command| c.options.contains(option);
                if !option.contains('…') && !here.iter().any(known) {
                    return Err(format!("there is no option {option}"));
                }
                continue;
            }
            let takes = here.iter().any(|command| !command.commands.is_empty());
            let value = |c: char| c.is_uppercase() || c.is_ascii_digit() || c == '…';
            if !takes || !named || word.contains(value) {
                named = false;
                continue;
            }
            let mut next = Vec::new();
            for choice in word.split('|').filter(|choice| !choice.is_empty()) {
                let whole: Vec<&str> = path.iter().copied().chain([choice]).collect();
                match self.of(&whole) {
                    Some(command) => next.push(command),
                    None => return Err(format!("there is no command {}", whole.join(" "))),
                }
            }
            path.push(word.split('|').next().unwrap_or(word));
            here = next;
        }
        Ok(())
    }
}

/// The line without quoted words, brackets and backslashes.
fn without_values(line: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                plain.push('…');
            }
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) | (None, '[' | ']' | '\\') => {}
            (None, c) => plain.push(c),
        }
    }
    plain
}

impl Command {
    fn read(text: &str) -> Self {
        let mut command = Self { text: text.to_owned(), ..Self::default() };
        let mut section = "";
        for line in text.lines() {
            if !line.starts_with(' ') {
                section = line;
                continue;
            }
            let word = line.split_whitespace().next().unwrap_or_default();
            if section == "Commands:" && line.starts_with("  ") && !line.starts_with("   ") {
                command.commands.push(word.to_owned());
            }
            if word.starts_with('-') {
                let words = line.split_whitespace().take_while(|w| w.starts_with('-'));
                command.options.extend(words.map(|w| w.trim_end_matches([',', '.']).to_owned()));
            }
        }
        command
    }
}

#[test]
fn the_check_itself_tells_right_from_wrong() {
    let help = Help::new();
    for good in [
        "ralph build --dry-run",
        "ralph task add|done",
        "ralph status [--watch]",
        "ralph -C DIR task add 'x --nonsense'",
        "ralph config set KEY VALUE",
    ] {
        assert_eq!(help.check(good), Ok(()), "{good}");
    }
    for bad in ["ralph bild", "ralph task ad", "ralph build --dry", "ralph task add|dome"] {
        assert!(help.check(bad).is_err(), "{bad}");
    }
}
