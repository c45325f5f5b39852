//! What the pages have in common, as a reader would want it.

use std::path::Path;

use ralph_core::prompt::VARIABLES;
use ralph_testkit::project;

use crate::page::{What, pages, root};

#[test]
fn a_page_has_one_title() {
    let mut wrong = Vec::new();
    for page in pages().iter().filter(|page| page.name != "docs/SUMMARY.md") {
        let mut fenced = None;
        let mut titles = 0;
        for line in page.text.lines() {
            let ticks = line.trim_start().starts_with("```");
            match (ticks, fenced) {
                (true, None) => fenced = Some(()),
                (true, Some(())) => fenced = None,
                (false, None) if line.starts_with("# ") => titles += 1,
                _ => {}
            }
        }
        if titles != 1 {
            wrong.push(format!("{}: {titles} titles", page.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_comment_that_is_meant_for_a_test_is_spelt_as_the_test_knows_it() {
    let known = ["setup: ", "file: ", "append: ", "not run: ", "run: ", "Written by "];
    for page in pages() {
        for item in &page.items {
            let What::Comment(words) = &item.what else { continue };
            assert!(
                !words.contains(": ") || known.iter().any(|start| words.starts_with(start)),
                "{}:{}: nobody reads the comment {words:?}",
                page.name,
                item.line
            );
        }
    }
}

#[test]
fn a_tutorial_needs_nothing_but_an_empty_directory() {
    let pages = pages();
    let tutorials: Vec<_> =
        pages.iter().filter(|page| page.name.starts_with("docs/tutorial/")).collect();
    assert_eq!(tutorials.len(), 2);
    for page in tutorials {
        let mut hidden = Vec::new();
        for item in &page.items {
            if let What::Comment(words) = &item.what
                && !words.starts_with("file: ")
                && !words.starts_with("append: ")
            {
                hidden.push(words.as_str());
            }
        }
        assert_eq!(hidden, ["setup: empty"], "{}", page.name);
    }
}

#[test]
fn the_recording_is_of_a_demo_that_came_to_its_end_and_loads_nothing() {
    let picture = std::fs::read_to_string(root().join("docs/images/demo.svg")).unwrap();
    // Rows are kept with their spaces, each once; colours may stand between the words.
    for words in ["ralph demo", "Complete: ", "all tasks complete", "landed"] {
        assert!(picture.contains(words), "the recording does not show {words:?}");
    }
    for reference in ["<script", "<image", "url(", "http://", "https://"] {
        let own = picture.replacen("http://www.w3.org/2000/svg", "", 1);
        assert!(!own.contains(reference), "the recording has {reference:?} in it");
    }
    assert!(picture.len() < 150_000, "the recording has {} bytes", picture.len());
}

#[test]
fn every_test_that_the_page_of_the_seeds_names_exists() {
    let page = pages().into_iter().find(|page| page.name == "docs/seed-coverage.md").unwrap();
    let mut sources = String::new();
    read_all(&root().join("crates"), &mut sources);
    let mut seen = 0;
    for item in &page.items {
        let What::Code(code) = &item.what else { continue };
        let name = code.rsplit("::").next().unwrap_or(code);
        let is_test = name.matches('_').count() > 2
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        if is_test {
            seen += 1;
            // A macro may be given the name.
            let found =
                sources.contains(&format!("fn {name}(")) || sources.contains(&format!("{name},"));
            assert!(found, "{}:{}: there is no test {name}", page.name, item.line);
        }
    }
    assert!(seen > 80, "only {seen} tests are named");
}

#[test]
fn every_setting_that_a_page_shows_exists() {
    let mut seen = 0;
    for page in pages().iter().filter(|page| page.name != "docs/sim.md") {
        for item in &page.items {
            let What::Block(language, text) = &item.what else { continue };
            if language != "toml" {
                continue;
            }
            seen += 1;
            let project = project!().git_init().file("ralph.toml", text);
            let shown = project.command(["config", "show"]).run();
            let at = format!("{}:{}", page.name, item.line);
            assert_eq!(shown.code, 0, "{at}: {}", shown.stderr);
        }
    }
    assert!(seen > 8, "only {seen} blocks of settings");
}

#[test]
fn the_page_about_prompts_names_every_variable_and_no_other() {
    let page = pages().into_iter().find(|page| page.name == "docs/prompts.md").unwrap();
    let table = page.text.split("| variable | what it holds |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with("| `"));
    let rows: Vec<(&str, &str)> = rows
        .map(|row| row.trim_matches(['|', ' ']).split_once(" | ").unwrap())
        .map(|(name, about)| (name.trim_matches('`'), about))
        .collect();
    assert_eq!(rows, VARIABLES);
}

fn read_all(dir: &Path, text: &mut String) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, text);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
