//! Just enough of a shell's grammar to know where an assignment ends and what is not one.

use super::conf::{ConfAssignment, ConfValue};

/// Words that start a block of shell code, and words that end one.
const OPENERS: [&str; 7] = ["if", "case", "for", "while", "until", "select", "{"];
const CLOSERS: [&str; 4] = ["fi", "esac", "done", "}"];

/// Walks over the text of a shell file, statement by statement.
pub(super) struct ShellScanner<'t> {
    rest: &'t str,
    line: usize,
}

/// A word of the shell, and why ralph cannot know its value, if it cannot.
struct ShellWord {
    text: String,
    trouble: Option<String>,
}

impl<'t> ShellScanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text, line: 1 }
    }

    /// Go to the next statement and give its line; `None` at the end.
    pub(super) fn next_statement(&mut self) -> Option<usize> {
        loop {
            match self.peek()? {
                '#' => self.skip_while(|c| c != '\n'),
                c if c.is_whitespace() || c == ';' => self.bump(),
                _ => return Some(self.line),
            }
        }
    }

    /// The assignments of the statement here, or what it is instead. Both ways it is behind us then.
    pub(super) fn assignments(&mut self) -> Result<Vec<ConfAssignment>, String> {
        let statement = self.rest;
        let start = self.line;
        self.take_word("export");
        let mut found = Vec::new();
        let mut trouble = None;
        loop {
            let Some(name) = self.assigned_name() else {
                (self.rest, self.line) = (statement, start);
                return Err(self.skip_code());
            };
            let line = self.line;
            match self.value(&name) {
                Ok(value) => found.push(ConfAssignment { name, value, line }),
                Err(why) => trouble = trouble.or(Some(why)),
            }
            self.skip_while(|c| c == ' ' || c == '\t');
            if matches!(self.peek(), None | Some('\n' | ';' | '#')) {
                return trouble.map_or(Ok(found), Err);
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) {
        let mut chars = self.rest.chars();
        if chars.next() == Some('\n') {
            self.line += 1;
        }
        self.rest = chars.as_str();
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.bump();
        }
    }

    fn take_word(&mut self, word: &str) {
        if let Some(rest) =
            self.rest.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t']))
        {
            self.rest = rest.trim_start_matches([' ', '\t']);
        }
    }

    /// `NAME=`, if that is what comes next.
    fn assigned_name(&mut self) -> Option<String> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
        let (name, after) = self.rest.split_at(end);
        let rest = after.strip_prefix('=')?;
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.rest = rest;
        Some(name.to_owned())
    }

    fn value(&mut self, name: &str) -> Result<ConfValue, String> {
        let because = |why: String| format!("{name} {why}");
        if self.peek() != Some('(') {
            let word = self.word();
            return word.trouble.map_or(Ok(ConfValue::Text(word.text)), |why| Err(because(why)));
        }
        self.bump();
        let mut items = Vec::new();
        let mut trouble = None;
        loop {
            match self.peek() {
                None => return Err(because("has a list without its `)`".to_owned())),
                Some(')') => {
                    self.bump();
                    return trouble.map_or(Ok(ConfValue::List(items)), |why| Err(because(why)));
                }
                Some('#') => self.skip_while(|c| c != '\n'),
                Some(c) if c.is_whitespace() => self.bump(),
                Some(';') => {
                    trouble = trouble.or(Some("has a `;` for the shell".to_owned()));
                    self.bump();
                }
                Some(_) => {
                    let word = self.word();
                    items.push(word.text);
                    trouble = trouble.or(word.trouble);
                }
            }
        }
    }

    /// One word, up to white space or the end of the statement or list.
    fn word(&mut self) -> ShellWord {
        let mut word = ShellWord { text: String::new(), trouble: None };
        while let Some(c) = self.peek() {
            match c {
                '\'' => self.quoted(&mut word, '\''),
                '"' => self.quoted(&mut word, '"'),
                '\\' => {
                    self.bump();
                    word.text.extend(self.peek().filter(|c| *c != '\n'));
                    self.bump();
                }
                '$' | '`' => self.expansion(&mut word),
                c if c.is_whitespace() || c == ';' || c == ')' => break,
                '&' | '|' | '<' | '>' | '(' => {
                    word.trouble.get_or_insert_with(|| format!("has a `{c}` for the shell"));
                    self.bump();
                }
                c => {
                    word.text.push(c);
                    self.bump();
                }
            }
        }
        word
    }

    fn quoted(&mut self, word: &mut ShellWord, quote: char) {
        self.bump();
        while let Some(c) = self.peek() {
            match c {
                _ if c == quote => return self.bump(),
                '\\' if quote == '"' => {
                    self.bump();
                    match self.peek() {
                        Some('\n') => {}
                        Some(c @ ('"' | '\\' | '$' | '`')) => word.text.push(c),
                        other => word.text.extend(std::iter::once('\\').chain(other)),
                    }
                    self.bump();
                }
                '$' if self.rest.starts_with("$\"") || self.rest.starts_with("$'") => {
                    word.text.push('$');
                    self.bump();
                }
                '$' | '`' if quote == '"' => self.expansion(word),
                c => {
                    word.text.push(c);
                    self.bump();
                }
            }
        }
        word.trouble.get_or_insert_with(|| format!("has a {quote} that is never closed"));
    }

    /// Something that only a shell can replace: step over it and say so. A `$` that stands for
    /// itself is text.
    fn expansion(&mut self, word: &mut ShellWord) {
        let backquoted = self.peek() == Some('`');
        self.bump();
        let next = self.peek();
        if !backquoted
            && !next.is_some_and(|c| c.is_ascii_alphanumeric() || "({_'\"@*#?$!-".contains(c))
        {
            word.text.push('$');
            return;
        }
        let what = match next {
            _ if backquoted => "a command",
            Some('(') => "a command",
            _ => "a variable",
        };
        word.trouble.get_or_insert_with(|| format!("uses {what}, which ralph does not run"));
        match next {
            _ if backquoted => self.until('`'),
            Some('(') => self.balanced('(', ')'),
            Some('{') => self.balanced('{', '}'),
            _ => {}
        }
    }

    fn until(&mut self, end: char) {
        self.skip_while(|c| c != end);
        self.bump();
    }

    fn balanced(&mut self, open: char, close: char) {
        let mut depth = 0usize;
        while let Some(c) = self.peek() {
            self.bump();
            if c == open {
                depth += 1;
            } else if c == close {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return;
                }
            }
        }
    }

    /// Pass over a command, and over the whole block if it starts one; say what it was.
    fn skip_code(&mut self) -> String {
        let first = super::keys::shorten(self.rest.lines().next().unwrap_or_default().trim());
        let start = self.line;
        let mut depth = 0usize;
        loop {
            let line = self.rest.split('\n').next().unwrap_or_default();
            depth = depth_after(line, depth);
            let continued = line.ends_with('\\');
            self.until('\n');
            if self.rest.is_empty() || (depth == 0 && !continued) {
                break;
            }
        }
        match self.line - start {
            0 | 1 => format!("`{first}` is shell code, which ralph does not run"),
            n => format!(
                "`{first}` and the next {} lines are shell code, which ralph does not run",
                n - 1
            ),
        }
    }
}

/// Return the number of blocks that are open after `line`.
/// Only words in the position of a command count.
fn depth_after(line: &str, mut depth: usize) -> usize {
    let spaced = line.replace(';', " ; ").replace("()", " () ");
    let mut at_command = true;
    for word in spaced.split_whitespace() {
        if word.starts_with('#') {
            break;
        }
        if at_command && OPENERS.contains(&word) {
            depth += 1;
        } else if at_command && CLOSERS.contains(&word) {
            depth = depth.saturating_sub(1);
        }
        at_command = matches!(
            word,
            ";" | "&&" | "||" | "|" | "()" | "then" | "do" | "else" | "{" | "(" | "!"
        );
    }
    depth
}
