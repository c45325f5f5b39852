//! The reference pages are what the code says.
//!
//! Each test makes its page and compares it with the committed one. With `RALPH_UPDATE` set it writes
//! the page first: `scripts/docs.sh --update`.

mod commands;
mod events;
mod exit_codes;
mod files;
mod schemas;

use std::fs;

use crate::page::root;

/// The first line of every generated page.
const HEAD: &str = "<!-- Written by a test (crates/ralph/tests/docs/generated/). To renew it: scripts/docs.sh --update -->\n\n";

/// Compare a file with what the code says, or write it.
#[track_caller]
fn holds(path: &str, made: &str) {
    let place = root().join(path);
    if std::env::var_os("RALPH_UPDATE").is_some() {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, made).unwrap();
    }
    let there = fs::read_to_string(&place).unwrap_or_default();
    assert!(there == made, "{path} is out of date; run: scripts/docs.sh --update");
}

/// One row of a table.
fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}
