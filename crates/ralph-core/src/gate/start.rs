//! The program that a gate's command starts first.

/// Words that a shell knows by itself, or that begin something that is no program.
const SHELL_WORDS: [&str; 44] = [
    "!", ".", ":", "[", "[[", "{", "(", "alias", "bg", "break", "case", "cd", "command",
    "continue", "echo", "eval", "exec", "exit", "export", "false", "for", "function", "getopts",
    "hash", "if", "local", "printf", "pwd", "read", "return", "set", "shift", "source", "test",
    "time", "times", "trap", "true", "type", "ulimit", "umask", "unset", "until", "while",
];

/// The program that must be there for the command to start; `None` where only a shell can tell:
/// builtins, quotes, expansions, redirections.
pub fn start_program(command: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+@%,:".contains(c);
    let mut words = command.split_whitespace();
    // `NAME=value` before a command; a value with quotes may reach over several words.
    let word =
        words.find(|word| !is_assignment(word) || word.contains(['"', '\'', '$', '`', '\\']))?;
    let word = word.split([';', '&', '|']).next().filter(|word| !word.is_empty())?;
    (word.chars().all(is_plain) && !SHELL_WORDS.contains(&word)).then_some(word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_is_found_where_a_shell_is_not_needed_to_tell() {
        for (command, program) in [
            ("maek test", Some("maek")),
            ("cargo test", Some("cargo")),
            ("./test.sh --all", Some("./test.sh")),
            ("CI=1 RUST_LOG=debug cargo test", Some("cargo")),
            ("make;true", Some("make")),
            ("cd web && npm test", None),
            ("! grep -r BROKEN work", None),
            ("test -f done.txt", None),
            ("(cd a; make)", None),
            ("\"./my tests.sh\"", None),
            ("$HOME/bin/check", None),
            ("~/bin/check", None),
            ("X=\"a b\" make", None),
            ("if true; then false; fi", None),
            ("", None),
        ] {
            assert_eq!(start_program(command), program, "{command}");
        }
    }
}
