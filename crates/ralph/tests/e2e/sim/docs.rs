//! Every example of `docs/sim.md` does what the page says.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use ralph_core::backend::sim::Fault;

use ralph_testkit::project;

use super::{PROMPT, Stage};

const PAGE: &str = include_str!("../../../../../docs/sim.md");

/// One example: what is promised of it, its scenario, and lines that it prints, in this order.
struct Example {
    promise: &'static str,
    scenario: &'static str,
    lines: Vec<&'static str>,
}

fn examples() -> Vec<Example> {
    let block = |text: &'static str, open: &str| {
        let (_, rest) = text.split_once(open)?;
        Some(rest.split_once("\n```").unwrap().0)
    };
    let example = |part: &'static str| {
        let (promise, rest) = part.split_once(" -->\n").unwrap();
        let lines = block(rest, "```jsonl\n").unwrap_or_default().lines().collect();
        Example { promise, scenario: block(rest, "```toml\n").unwrap(), lines }
    };
    PAGE.split("<!-- run: ").skip(1).map(example).collect()
}

#[test]
fn every_example_does_what_the_page_says() {
    let examples = examples();
    assert!(examples.len() > 30, "the examples were not found");
    for example in examples {
        let stage = Stage::new();
        let Example { promise, scenario, lines } = &example;
        let mut words = promise.split(", ");
        let (kind, number) = words.next().unwrap().split_once(' ').unwrap_or(("hangs", ""));
        let seen = match (kind, words.next()) {
            ("hangs", _) => stage.run_until(scenario, lines),
            (_, None) => stage.run(scenario),
            (_, Some("three times")) => {
                stage.run(scenario);
                stage.run(scenario);
                stage.run(scenario)
            }
            (_, Some(args)) => {
                stage.run_with(scenario, &args.split(' ').collect::<Vec<_>>(), PROMPT)
            }
        };
        let printed = seen.lines();
        let status = seen.status;
        let context = format!("{promise}: {status}\n{scenario}\n--- {printed:#?} {}", seen.stderr);
        match kind {
            "exit" => assert_eq!(status.code(), number.parse().ok(), "{context}"),
            "signal" => assert_eq!(status.signal(), number.parse().ok(), "{context}"),
            _ => assert_eq!(status.signal(), Some(9), "{context}"),
        }
        let mut rest = printed.iter();
        for line in lines {
            assert!(rest.any(|printed| printed == line), "no {line}\nin {context}");
        }
    }
}

#[test]
fn the_page_lists_every_fault() {
    for fault in Fault::ALL {
        let row = format!("| `{}` | {} |", fault.as_str(), fault.about());
        assert!(PAGE.contains(&row), "docs/sim.md has no row\n{row}");
    }
}

#[test]
fn the_scenario_for_all_roles_completes_a_construct() {
    let (_, rest) = PAGE.split_once("<!-- construct -->\n```toml\n").unwrap();
    let (scenario, _) = rest.split_once("\n```").unwrap();
    let project = project!()
        .git_init()
        .file("scenario.toml", scenario)
        .file("ralph/specs/greet.md", "# Greet\n\nGreet everybody, in files in `work/`.\n")
        .file(
            "ralph.toml",
            "backend = \"sim\"\n[backends.sim]\nargs = [\"--scenario\", \"scenario.toml\"]\n\
             [[gates]]\nname = \"test\"\ncommand = \"true\"\n",
        );
    project.git(["add", "-A"]).ok();
    project.git(["commit", "-q", "-m", "start"]).ok();
    let run = project.run(["construct", "greet.md"]).ok();
    run.stdout_has("Complete: the spec is satisfied");
    let journal = fs::read_to_string(project.path(".git/ralph/journal.jsonl")).unwrap();
    for role in ["plan", "decompose", "verify", "investigate"] {
        assert!(journal.contains(&format!("\"role\":\"{role}\"")), "{role}\n{journal}");
    }
    let words = |role: &str| {
        let row = PAGE.lines().find_map(|line| line.strip_prefix(&format!("| {role} | `")));
        row.unwrap().trim_end_matches("` |").to_owned()
    };
    let roles = [
        ("planner", "-plan-"),
        ("verifier of a task", "-verify-"),
        ("verifier of the whole spec", "-verify-"),
        ("investigator of an issue", "-investigate-"),
        ("who breaks killed work down", "-decompose-"),
    ];
    for (role, of_role) in roles {
        let words = words(role);
        for entry in fs::read_dir(project.path("build/ralph-logs")).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let is_prompt = name.ends_with(".prompt.md");
            let text = fs::read_to_string(project.path("build/ralph-logs").join(&name)).unwrap();
            let is_other = !name.contains(of_role);
            assert!(!(is_prompt && is_other && text.contains(&words)), "{words} is in {name}");
        }
    }
}
