//! What the pages have in common, as a reader would want it.

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
    let known = ["setup: ", "file: ", "not run: ", "run: ", "Written by "];
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
