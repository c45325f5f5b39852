//! Requirements that must be met before a gate's command can start, read without a shell.
//!
//! The command is split into words, and the parts between `&&` and `;` are read in order. The reading
//! stops at the first thing that only a shell can evaluate (expansions, `||`, `if`, `eval` and so on).
//! The requirements found up to there are certain. Nothing is known about the rest.

/// Program or file that a command needs before it can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartRequirement {
    /// A program, by its name on the PATH or by its file.
    Program(String),
    /// A file that an interpreter reads.
    Script(String),
}

/// Builtins that change neither the PATH nor the files.
const HARMLESS: [&str; 9] = [":", "[", "echo", "false", "printf", "pwd", "test", "true", "umask"];

/// Words that a shell knows by itself, and after which only a shell knows how it goes on.
const SHELL_WORDS: [&str; 41] = [
    "!", ".", "[[", "{", "}", "alias", "bg", "break", "case", "command", "continue", "coproc",
    "do", "done", "elif", "else", "esac", "eval", "exit", "export", "fi", "for", "function",
    "getopts", "hash", "if", "local", "read", "return", "select", "set", "shift", "source", "then",
    "times", "trap", "type", "ulimit", "unset", "until", "while",
];

/// Arguments of programs that may install what a later part needs.
const INSTALLS: [&str; 7] = ["add", "ci", "get", "i", "install", "setup", "sync"];

/// Programs and files that must be there, in the order of the command.
pub fn start_requirements(command: &str) -> Vec<StartRequirement> {
    let mut reader = StartReader::default();
    // The end of what can be read is no error: the rest passes.
    let _end = reader.read(command);
    reader.found
}

/// Scripts of the project that a command runs, as they are written in it, whether or not something else makes or
/// needs them first.
pub fn gate_scripts(command: &str) -> Vec<String> {
    let mut reader = StartReader::default();
    let _end = reader.read(command);
    reader.scripts
}

#[derive(Default)]
struct StartReader {
    found: Vec<StartRequirement>,
    scripts: Vec<String>,
    /// The directory is not known any more, or an earlier program may have made the file.
    files_unknown: bool,
    /// An earlier program may have installed what is missing.
    programs_unknown: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum ShellToken {
    Word(String),
    /// A word whose text only a shell can tell.
    Opaque,
    /// `&&`, `;`, a line end or the end of a subshell.
    Next,
    Pipe,
    Open,
}

impl StartReader {
    /// Read a command; `None` where reading ends before its end.
    fn read(&mut self, command: &str) -> Option<()> {
        let (tokens, is_whole) = tokens(command);
        for part in tokens.split(|token| *token == ShellToken::Next) {
            let part = part.split(|token| *token == ShellToken::Pipe).next().unwrap_or_default();
            let opened = part.iter().take_while(|token| **token == ShellToken::Open).count();
            self.read_part(&part[opened..])?;
        }
        is_whole.then_some(())
    }

    fn read_part(&mut self, part: &[ShellToken]) -> Option<()> {
        let mut words = part;
        loop {
            words = without_assignments(words)?;
            let Some((ShellToken::Word(first), rest)) = words.split_first() else {
                return words.is_empty().then_some(());
            };
            words = match first.as_str() {
                "exec" | "time" => without_options(rest, &["-p"], &[])?,
                "env" => without_options(rest, &[], &[])?,
                "nice" => without_options(rest, &[], &["-n"])?,
                "timeout" => {
                    let flags = ["--foreground", "--preserve-status", "--verbose", "-v"];
                    let (limit, rest) =
                        without_options(rest, &flags, &["-k", "-s"])?.split_first()?;
                    let ShellToken::Word(limit) = limit else { return None };
                    limit.starts_with(|c: char| c.is_ascii_digit()).then_some(rest)?
                }
                "cd" => {
                    self.files_unknown = true;
                    return Some(());
                }
                "sh" | "bash" | "dash" => {
                    self.add_program(first);
                    return self.read_shell(rest);
                }
                "python3" | "python" => {
                    self.add_program(first);
                    let rest = without_options(rest, &["-u", "-B", "-E", "-O", "-s"], &[])?;
                    return self.add_script(rest.first());
                }
                "node" | "perl" | "php" | "ruby" | "zsh" => {
                    self.add_program(first);
                    (self.files_unknown, self.programs_unknown) = (true, true);
                    self.note_script(rest.first());
                    return Some(());
                }
                word if HARMLESS.contains(&word) => return Some(()),
                word if SHELL_WORDS.contains(&word) => return None,
                word => {
                    self.add_program(word);
                    self.files_unknown = true;
                    let installs = |token: &ShellToken| match token {
                        ShellToken::Word(word) => INSTALLS.contains(&word.as_str()),
                        _ => false,
                    };
                    self.programs_unknown |= word.contains('/') || rest.iter().any(installs);
                    return Some(());
                }
            };
            if first != "exec" && first != "time" {
                self.add_program(first);
            }
        }
    }

    /// The arguments of a shell: options, then `-c COMMAND` or a file.
    fn read_shell(&mut self, mut words: &[ShellToken]) -> Option<()> {
        while let Some((ShellToken::Word(option), rest)) = words.split_first() {
            let Some(letters) = option.strip_prefix('-') else { break };
            if letters.is_empty() || !letters.chars().all(|letter| "ceuxvo".contains(letter)) {
                return None;
            }
            words = if letters.contains('o') { rest.get(1..)? } else { rest };
            if letters.contains('c') {
                let ShellToken::Word(command) = words.first()? else { return None };
                return self.read(command);
            }
        }
        self.add_script(words.first())
    }

    fn note_script(&mut self, file: Option<&ShellToken>) {
        if let Some(ShellToken::Word(file)) = file
            && !file.starts_with(['/', '-'])
        {
            self.scripts.push(file.trim_start_matches("./").to_owned());
        }
    }

    fn add_program(&mut self, name: &str) {
        if name.contains('/') {
            self.note_script(Some(&ShellToken::Word(name.to_owned())));
        }
        let unknown = match name.contains('/') {
            true => self.files_unknown && !name.starts_with('/'),
            false => self.programs_unknown,
        };
        if !unknown {
            self.found.push(StartRequirement::Program(name.to_owned()));
        }
    }

    /// The script may do anything, so nothing is certain behind it.
    fn add_script(&mut self, file: Option<&ShellToken>) -> Option<()> {
        self.note_script(file);
        if let Some(ShellToken::Word(file)) = file
            && (!self.files_unknown || file.starts_with('/'))
        {
            self.found.push(StartRequirement::Script(file.clone()));
        }
        (self.files_unknown, self.programs_unknown) = (true, true);
        Some(())
    }
}

/// The words behind `NAME=value`; `None` where one of them changes the PATH.
fn without_assignments(words: &[ShellToken]) -> Option<&[ShellToken]> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut rest = words;
    while let Some((ShellToken::Word(word), behind)) = rest.split_first() {
        let Some((name, _)) = word.split_once('=').filter(|(name, _)| is_name(name)) else { break };
        if name == "PATH" {
            return None;
        }
        rest = behind;
    }
    Some(rest)
}

/// The words behind the options of a program: flags, and options that take the next word. A number as an
/// option, and `--name=value`, stand for themselves. `None` where another option comes.
fn without_options<'t>(
    words: &'t [ShellToken],
    flags: &[&str],
    with_value: &[&str],
) -> Option<&'t [ShellToken]> {
    let mut rest = words;
    while let Some((ShellToken::Word(word), behind)) = rest.split_first() {
        let Some(option) = word.strip_prefix('-') else { break };
        rest = if with_value.contains(&word.as_str()) {
            behind.get(1..)?
        } else if flags.contains(&word.as_str())
            || (!with_value.is_empty()
                && (option.contains('=') || option.bytes().all(|b| b.is_ascii_digit())))
        {
            behind
        } else {
            return None;
        };
    }
    Some(rest)
}

/// The words and signs of a command, and whether all of it could be read.
fn tokens(command: &str) -> (Vec<ShellToken>, bool) {
    let mut tokens = Vec::new();
    let mut rest = command.trim_start_matches([' ', '\t']);
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '\n' => (ShellToken::Next, 1),
            ';' if !rest.starts_with(";;") => (ShellToken::Next, 1),
            '&' if rest.starts_with("&&") => (ShellToken::Next, 2),
            '|' if !rest.starts_with("||") => (ShellToken::Pipe, 1),
            '(' if matches!(tokens.last(), None | Some(ShellToken::Next | ShellToken::Open)) => {
                (ShellToken::Open, 1)
            }
            ')' => (ShellToken::Next, 1),
            ';' | '&' | '|' | '(' | '#' => return (without_last_list(tokens), false),
            _ => match word(rest) {
                Some((token, length)) => (token, length),
                None => return (without_last_list(tokens), false),
            },
        };
        tokens.push(token);
        rest = rest[length..].trim_start_matches([' ', '\t']);
    }
    (tokens, true)
}

/// The parts before the one whose end cannot be read: `a || b` needs no `a`.
fn without_last_list(mut tokens: Vec<ShellToken>) -> Vec<ShellToken> {
    while tokens.pop().is_some_and(|token| token != ShellToken::Next) {}
    tokens
}

/// The first word of a text, and how long it is there. `None` for one that does not end.
fn word(text: &str) -> Option<(ShellToken, usize)> {
    let (mut plain, mut opaque) = (String::new(), false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' => {
                return Some((token(plain, opaque), at));
            }
            '\'' | '"' => loop {
                match chars.next()?.1 {
                    end if end == c => break,
                    '$' | '`' | '\\' if c == '"' => return None,
                    other => plain.push(other),
                }
            },
            '$' | '`' | '\\' => return None,
            '<' if text[at..].starts_with("<<") => return None,
            '>' | '<' => {
                opaque = true;
                chars.next_if(|(_, next)| matches!(next, '&' | '>' | '|'));
            }
            '*' | '?' | '~' => opaque = true,
            '[' | ']' | '{' | '}' if at > 0 => opaque = true,
            other => plain.push(other),
        }
    }
    Some((token(plain, opaque), text.len()))
}

fn token(plain: String, opaque: bool) -> ShellToken {
    if opaque { ShellToken::Opaque } else { ShellToken::Word(plain) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs as they are, scripts with `<` before them.
    fn found(command: &str) -> String {
        let words = start_requirements(command).into_iter().map(|found| match found {
            StartRequirement::Program(name) => name,
            StartRequirement::Script(file) => format!("<{file}"),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_first_program_of_each_part_is_found() {
        for (command, expected) in [
            ("maek test", "maek"),
            ("./test.sh --all", "./test.sh"),
            ("CI=1 RUST_LOG=debug cargo test", "cargo"),
            ("X=\"a b\" make", "make"),
            ("\"./my tests.sh\"", "./my tests.sh"),
            ("make;true", "make"),
            ("make > log 2>&1 && lint", "make lint"),
            ("make | tee log", "make"),
            ("true && maek", "maek"),
            ("cargo fmt --check && cargo test -- --list", "cargo cargo"),
            ("test -f done.txt && maek", "maek"),
            ("cd web && npm test", "npm"),
            ("(cd a; make)", "make"),
            ("( maek ) && lint", "maek lint"),
            ("ls *.c && maek", "ls maek"),
        ] {
            assert_eq!(found(command), expected, "{command}");
        }
    }

    #[test]
    fn wrappers_and_interpreters_are_looked_through() {
        for (command, expected) in [
            ("env CI=1 maek", "env maek"),
            ("timeout 60 maek", "timeout maek"),
            ("timeout -k 5 --signal=KILL 1m maek", "timeout maek"),
            ("nice -n 10 maek", "nice maek"),
            ("nice -10 maek", "nice maek"),
            ("time -p maek", "maek"),
            ("exec maek", "maek"),
            ("timeout 9 env A=b nice maek x", "timeout env nice maek"),
            ("sh -c 'maek test'", "sh maek"),
            ("bash -euo pipefail -c \"make && lint\"", "bash make lint"),
            ("sh tests/run.sh", "sh <tests/run.sh"),
            ("bash -e run.sh --all", "bash <run.sh"),
            ("python3 -u check.py", "python3 <check.py"),
            ("python3 -m pytest", "python3"),
        ] {
            assert_eq!(found(command), expected, "{command}");
        }
    }

    #[test]
    fn the_scripts_of_a_gate_are_known_wherever_they_stand() {
        for (command, expected) in [
            ("./check.sh --all", "check.sh"),
            ("sh scripts/test.sh", "scripts/test.sh"),
            ("python3 -u run_tests.py", "run_tests.py"),
            ("node run.js && cargo test", "run.js"),
            ("cd web && ./run.sh", "run.sh"),
            ("make && tools/check", "tools/check"),
            ("timeout 60 bash -e ci/run.sh", "ci/run.sh"),
            ("cargo test", ""),
            ("test -f done.txt", ""),
            ("node --test", ""),
            ("/usr/bin/check", ""),
        ] {
            assert_eq!(gate_scripts(command).join(" "), expected, "{command}");
        }
    }

    #[test]
    fn what_only_a_shell_can_tell_passes() {
        for (command, expected) in [
            ("", ""),
            ("! grep -r BROKEN work", ""),
            ("maek || true", ""),
            ("make && maek || true", "make"),
            ("server & maek", ""),
            ("$HOME/bin/check", ""),
            ("~/bin/check", ""),
            ("make && $CHECK && maek", "make"),
            ("if true; then maek; fi", ""),
            ("f() { maek; }; f", ""),
            (". venv/bin/activate && pytest", ""),
            ("PATH=bin maek", ""),
            ("env -i maek", ""),
            ("timeout $T maek", ""),
            ("sh -c \"$CHECK\"", ""),
            ("bash -lc maek", "bash"),
            ("command -v maek", ""),
            ("cd web && ./run.sh", ""),
            ("make && ./built", "make"),
            ("make && sh built.sh", "make sh"),
            ("pip install pytest && pytest", "pip"),
            ("./setup.sh && pytest", "./setup.sh"),
            ("cat <<END\nmaek\nEND", ""),
        ] {
            assert_eq!(found(command), expected, "{command}");
        }
    }
}
