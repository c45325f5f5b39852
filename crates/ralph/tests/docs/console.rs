//! Every command that a page shows is run, and prints what the page says.
//!
//! A ```` ```console ```` block is a session: lines with `$ ` in front are commands, the others are what
//! they print, on both streams. Ids, commits and times may differ from those on the page. `…` stands for
//! anything within a line, and for any lines when it is alone. A command that does not end with 0 is followed by `[exit code N]`.
//!
//! ```` ```sh ```` blocks are commands without what they print, one a line; each has to end with 0. One
//! with a command of ralph needs a comment that says where it runs, or why it does not. So does a block
//! that does not say its language.
//!
//! | comment | what it means |
//! | --- | --- |
//! | `<!-- setup: words -->` | from here on a new project (`world.rs` has the words) |
//! | `<!-- file: path -->` | the next code block is the text of this file, which the words above it name |
//! | `<!-- append: path -->` | the same, at the end of a file that is there |
//! | `<!-- not run: why -->` | the next code block is not run |
//!
//! `console` blocks without a `setup` above them go on in the project of the block before, in the
//! directory in which that ended.

use std::fmt::Write as _;
use std::path::PathBuf;

use ralph_testkit::TestProject;

use crate::page::{Page, What, pages};
use crate::world;

#[test]
fn every_command_of_every_page_runs_and_prints_what_the_page_says() {
    let mut sessions = 0;
    let mut wrong = String::new();
    std::thread::scope(|scope| {
        let chosen = std::env::var("PAGE").unwrap_or_default();
        let pages = pages().into_iter().filter(|page| page.name.contains(&chosen));
        let runs: Vec<_> = pages.map(|page| scope.spawn(move || run(&page))).collect();
        for run in runs {
            let Told { ran, wrong: more } = run.join().unwrap();
            sessions += ran;
            wrong.push_str(&more);
        }
    });
    assert!(wrong.is_empty(), "the pages are wrong:\n{wrong}");
    assert!(std::env::var_os("PAGE").is_some() || sessions > 20, "only {sessions} blocks were run");
}

/// What came of a page.
#[derive(Default)]
struct Told {
    ran: usize,
    wrong: String,
}

/// What the comments above a block say about it.
enum Fate {
    Unsaid,
    Run,
    File(String),
    Append(String),
    Leave,
}

fn run(page: &Page) -> Told {
    let mut told = Told::default();
    let mut project: Option<TestProject> = None;
    let mut fate = Fate::Unsaid;
    let mut last_code = "";
    for item in &page.items {
        let (language, text) = match &item.what {
            What::Comment(words) => {
                match words.split_once(": ") {
                    Some(("setup", words)) => {
                        project = Some(world::make(words));
                        fate = Fate::Run;
                    }
                    Some(("file", path)) => fate = Fate::File(path.to_owned()),
                    Some(("append", path)) => fate = Fate::Append(path.to_owned()),
                    Some(("not run", _why)) => fate = Fate::Leave,
                    _ => {}
                }
                continue;
            }
            What::Block(language, text) => (language.as_str(), text),
            What::Code(code) => {
                last_code = code;
                continue;
            }
            _ => continue,
        };
        let fate = std::mem::replace(&mut fate, Fate::Unsaid);
        let session = match language {
            "console" => session(text),
            "sh" | "" => text.lines().enumerate().map(Step::silent).collect(),
            _ => Vec::new(),
        };
        let place = project.get_or_insert_with(|| world::make(""));
        if let Fate::File(path) | Fate::Append(path) = &fate
            && path != last_code
        {
            let line = item.line;
            let _ =
                writeln!(told.wrong, "{}:{line}: the words above do not name {path}", page.name);
        }
        match fate {
            Fate::File(path) => {
                let path = directory(place).join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Fate::Append(path) => {
                let path = directory(place).join(path);
                let old = std::fs::read_to_string(&path).unwrap();
                std::fs::write(path, old + text).unwrap();
            }
            Fate::Leave => {}
            Fate::Unsaid if ["sh", ""].contains(&language) => {
                if text.lines().any(|line| line.starts_with("ralph ")) {
                    let place = format!("{}:{}", page.name, item.line);
                    let _ = writeln!(told.wrong, "{place}: no `setup` and no `not run` above it");
                }
            }
            Fate::Run | Fate::Unsaid => {
                told.ran += usize::from(!session.is_empty());
                for step in session {
                    if let Err(why) = step.run(place) {
                        let line = item.line + step.line;
                        let _ =
                            writeln!(told.wrong, "{}:{line}: $ {}\n{why}", page.name, step.command);
                    }
                }
            }
        }
    }
    told
}

/// Where the last command of a project ended.
fn directory(project: &TestProject) -> PathBuf {
    let kept = std::fs::read_to_string(project.home().join("directory"));
    kept.map_or_else(|_| project.root().to_owned(), |path| PathBuf::from(path.trim_end()))
}

/// One command and what it prints.
struct Step {
    line: usize,
    command: String,
    expected: Option<String>,
    code: i32,
}

/// The steps of a session. A command goes on as long as its quotes are open.
fn session(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (line, row) in text.lines().enumerate() {
        let open = steps.last().is_some_and(|s| s.command.matches('\'').count() % 2 == 1);
        match (row.strip_prefix("$ "), steps.last_mut()) {
            (_, Some(step)) if open => {
                step.command.push('\n');
                step.command.push_str(row);
            }
            (Some(command), _) => {
                let (command, expected) = (command.to_owned(), Some(String::new()));
                steps.push(Step { line, command, expected, code: 0 });
            }
            (None, Some(step)) => {
                match row.strip_prefix("[exit code ").and_then(|r| r.strip_suffix(']')) {
                    Some(code) => step.code = code.parse().unwrap(),
                    None => {
                        let expected = step.expected.get_or_insert_default();
                        expected.push_str(row);
                        expected.push('\n');
                    }
                }
            }
            (None, None) => panic!("a console block begins with `$ `, not with {row:?}"),
        }
    }
    steps
}

impl Step {
    fn silent((line, command): (usize, &str)) -> Self {
        Self { line, command: command.to_owned(), expected: None, code: 0 }
    }

    fn run(&self, project: &TestProject) -> Result<(), String> {
        // From a file, so that quotes are as on the page; a command that waits for ever ends.
        let directory = directory(project);
        let script = format!(
            "cd '{}' || exit\ntrap 'pwd >\"$HOME/directory\"' EXIT\n{}",
            directory.display(),
            self.command
        );
        std::fs::write(project.home().join("command.sh"), script).unwrap();
        let run = project.shell("exec 2>&1; exec timeout 180 sh \"$HOME/command.sh\"");
        let root = project.root().to_string_lossy();
        let printed = run.stdout.replace(&*root, "~/project");
        if run.code != self.code {
            return Err(format!("ended with {}, not {}:\n{printed}", run.code, self.code));
        }
        match &self.expected {
            Some(expected) if !fits(expected, &printed) => {
                Err(format!("printed\n{printed}\nand not\n{expected}"))
            }
            _ => Ok(()),
        }
    }
}

/// The line with the same word for every id, every commit and every time.
fn blurred(line: &str) -> String {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(in_word) {
        let (between, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|c| !in_word(c)).unwrap_or(word.len()));
        out.push_str(between);
        out.push_str(&blurred_word(word));
        rest = after;
    }
    out + rest
}

fn blurred_word(word: &str) -> String {
    let core = word.trim_end_matches(['.', '-']);
    let end = &word[core.len()..];
    let short = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let id = core.split_once('-').filter(|(kind, id)| {
        ["t", "q", "i"].contains(kind) && id.len() == 4 && id.chars().all(short)
    });
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let commit = [7, 10].contains(&core.len()) && core.chars().all(hex);
    let attempt =
        core.len() == 26 && core.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase());
    let time = core.strip_suffix('s').is_some_and(|n| n.contains('.') && n.parse::<f64>().is_ok());
    match id {
        Some((kind, _)) => format!("{kind}-0000{end}"),
        None if commit => format!("0000000{end}"),
        None if attempt => format!("ATTEMPT{end}"),
        None if time => format!("0.0s{end}"),
        None => word.to_owned(),
    }
}

/// Whether this was printed, with `…` for what may differ.
fn fits(expected: &str, printed: &str) -> bool {
    let expected: Vec<&str> = expected.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    lines_fit(&expected, &printed)
}

fn lines_fit(expected: &[&str], printed: &[&str]) -> bool {
    match expected {
        [] => printed.is_empty(),
        ["…", rest @ ..] => (0..=printed.len()).any(|n| lines_fit(rest, &printed[n..])),
        [line, rest @ ..] => printed
            .split_first()
            .is_some_and(|(first, others)| line_fits(line, first) && lines_fit(rest, others)),
    }
}

/// Spaces at the end of a line are nothing to look at.
fn line_fits(expected: &str, printed: &str) -> bool {
    let (expected, printed) = (blurred(expected.trim_end()), blurred(printed.trim_end()));
    let mut parts = expected.split('…');
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn dots_stand_for_what_may_differ_and_for_nothing_else() {
    assert!(fits("a … c\n", "a b c\n"));
    assert!(!fits("a … c\n", "a b d\n"));
    assert!(fits("a\n…\nz\n", "a\nb\nc\nz\n"));
    assert!(!fits("a\n", "a\nb\n"));
    assert!(!fits("a\nb\n", "a\n"));
    assert!(fits("$0.…, …s\n", "$0.02, 1.5s\n"));
    assert!(fits("[1] t-a1b2, 0.1s 115336e9e2\n", "[1] t-9xyz, 12.0s 00ff00ff00\n"));
    assert!(!fits("t-a1b2 landed\n", "q-a1b2 landed\n"));
    assert!(!fits("t-german\n", "t-readme\n"));
}

#[test]
fn a_session_is_split_into_commands_with_what_they_print() {
    let steps = session("$ echo 'a\nb'\na\nb\n$ false\n[exit code 1]\n");
    let seen: Vec<_> = steps.iter().map(|s| (&*s.command, s.expected.as_deref(), s.code)).collect();
    assert_eq!(seen, [("echo 'a\nb'", Some("a\nb\n"), 0), ("false", Some(""), 1)]);
}
