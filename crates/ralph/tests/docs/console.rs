//! Every command that a page shows is run, and prints what the page says.
//!
//! A ```` ```console ```` block is a session: lines with `$ ` in front are commands, the others are what
//! they print, on both streams. `…` stands for anything within a line, and for any lines when it is
//! alone. A command that does not end with 0 is followed by `[exit code N]`.
//!
//! ```` ```sh ```` blocks are commands without what they print, one a line; each has to end with 0. One
//! with a command of ralph needs a comment that says where it runs, or why it does not.
//!
//! | comment | what it means |
//! | --- | --- |
//! | `<!-- setup: words -->` | from here on a new project (`world.rs` has the words) |
//! | `<!-- file: path -->` | the next code block is the text of this file |
//! | `<!-- not run: why -->` | the next code block is not run |
//!
//! `console` blocks without a `setup` above them go on in the project of the block before.

use std::fmt::Write as _;

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
    Leave,
}

fn run(page: &Page) -> Told {
    let mut told = Told::default();
    let mut project: Option<TestProject> = None;
    let mut fate = Fate::Unsaid;
    for item in &page.items {
        let (language, text) = match &item.what {
            What::Comment(words) => {
                match words.split_once(": ") {
                    Some(("setup", words)) => {
                        project = Some(world::make(words));
                        fate = Fate::Run;
                    }
                    Some(("file", path)) => fate = Fate::File(path.to_owned()),
                    Some(("not run", _why)) => fate = Fate::Leave,
                    _ => {}
                }
                continue;
            }
            What::Block(language, text) => (language.as_str(), text),
            _ => continue,
        };
        let fate = std::mem::replace(&mut fate, Fate::Unsaid);
        let session = match language {
            "console" => session(text),
            "sh" => text.lines().enumerate().map(Step::silent).collect(),
            _ => Vec::new(),
        };
        let place = project.get_or_insert_with(|| world::make(""));
        match fate {
            Fate::File(path) => place.write(path, text),
            Fate::Leave => {}
            Fate::Unsaid if language == "sh" => {
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
        let script = format!("exec 2>&1\n{}", self.command);
        let run = project.shell(&script);
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
    let (expected, printed) = (expected.trim_end(), printed.trim_end());
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
}

#[test]
fn a_session_is_split_into_commands_with_what_they_print() {
    let steps = session("$ echo 'a\nb'\na\nb\n$ false\n[exit code 1]\n");
    let seen: Vec<_> = steps.iter().map(|s| (&*s.command, s.expected.as_deref(), s.code)).collect();
    assert_eq!(seen, [("echo 'a\nb'", Some("a\nb\n"), 0), ("false", Some(""), 1)]);
}
