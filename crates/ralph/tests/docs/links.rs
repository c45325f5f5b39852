//! Every link inside the repository leads to something, on the site as well as in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::page::{Page, What, pages, root};

/// Below this folder is the site.
const BOOK: &str = "docs";

#[test]
fn every_link_leads_to_a_file_and_every_anchor_to_a_heading() {
    let pages = pages();
    let anchors: BTreeMap<PathBuf, BTreeSet<&str>> =
        pages.iter().map(|page| (PathBuf::from(&page.name), anchors(page))).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        for item in &page.items {
            if let What::Link(target) = &item.what
                && let Err(why) = follow(page, target, &anchors)
            {
                wrong.push(format!("{}:{}: {target}: {why}", page.name, item.line));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_page_of_the_site_is_in_its_table_of_contents_and_once() {
    let pages = pages();
    let contents = pages.iter().find(|page| page.name == "docs/SUMMARY.md").unwrap();
    let mut listed: Vec<String> = Vec::new();
    for item in &contents.items {
        if let What::Link(target) = &item.what {
            listed.push(format!("{BOOK}/{target}"));
        }
    }
    let mut known: Vec<String> = pages
        .iter()
        .map(|page| page.name.clone())
        .filter(|name| name.starts_with(BOOK) && name != "docs/SUMMARY.md")
        .collect();
    listed.sort();
    known.sort();
    assert_eq!(listed, known, "docs/SUMMARY.md and the pages below docs/ differ");
}

fn anchors(page: &Page) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for item in &page.items {
        if let What::Anchor(anchor) = &item.what {
            found.insert(anchor.as_str());
        }
    }
    found
}

fn follow(
    page: &Page,
    target: &str,
    anchors: &BTreeMap<PathBuf, BTreeSet<&str>>,
) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let here = Path::new(&page.name);
    let place = match path {
        "" => here.to_owned(),
        path => tidy(&here.parent().unwrap_or(Path::new("")).join(path)),
    };
    if !root().join(&place).exists() {
        return Err(format!("there is no {}", place.display()));
    }
    if here.starts_with(BOOK) && !place.starts_with(BOOK) {
        return Err("it leads out of the site; name the file without a link".to_owned());
    }
    match (anchor, anchors.get(&place)) {
        (None, _) => Ok(()),
        (Some(anchor), Some(known)) if known.contains(anchor) => Ok(()),
        (Some(_), None) => Err("an anchor in something that is no page".to_owned()),
        (Some(_), Some(known)) => Err(format!("that page has only {known:?}")),
    }
}

/// Without `.` and `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                tidy.pop();
            }
            Component::CurDir => {}
            part => tidy.push(part),
        }
    }
    tidy
}

#[test]
fn every_script_that_a_page_or_a_workflow_names_exists() {
    let mut texts: Vec<(String, String)> =
        pages().into_iter().map(|page| (page.name, page.text)).collect();
    for entry in std::fs::read_dir(root().join(".github/workflows")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        texts.push((path.to_string_lossy().into_owned(), text));
    }
    let mut seen = 0;
    for (name, text) in &texts {
        let in_path = |c: char| !(c.is_ascii_alphanumeric() || "/-_.".contains(c));
        for word in text.split(in_path) {
            let script = word.starts_with("scripts/") || word.starts_with("packaging/");
            if script && word.ends_with("sh") {
                seen += 1;
                assert!(root().join(word).is_file(), "{name}: there is no {word}");
            }
        }
    }
    assert!(seen > 20, "only {seen} scripts are named");
}

#[test]
fn nothing_names_a_repository_address_that_nobody_owns() {
    let listed = std::process::Command::new("git")
        .args([
            "ls-files",
            "-z",
            "Cargo.toml",
            "crates/*/Cargo.toml",
            "packaging",
            ".github",
            "*.md",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("packaging/npm/package.json"), "{listed}");
    for name in listed.split_terminator('\0') {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        for address in ["ralph-loop/ralph", "ralph@users.noreply", "repository = \"http"] {
            assert!(!text.contains(address), "{name} names {address}");
        }
    }
}
