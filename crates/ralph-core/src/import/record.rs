//! The record of an import: notes for people about what found no place in the plan.
//!
//! It is a file of blocks that is only ever added to. A block that stands in it already is not added
//! again, so that the same import leaves it as it is.

use super::{ImportKind, LabelledText, PlanAside};
use crate::lines;

/// The file of this kind's record, relative to the project.
pub(super) fn path(kind: ImportKind) -> String {
    format!("{}/{kind}.md", super::place::IMPORTS)
}

/// A record with the blocks that it does not hold yet; `None` when it holds all of them.
pub fn with_blocks(old: Option<&str>, kind: ImportKind, blocks: &[String]) -> Option<String> {
    let mut text = old.unwrap_or_default().to_owned();
    let mut is_new = false;
    for block in blocks {
        // Line by line ends: a block must not be found as a part of a longer one.
        let is_there = format!("\n{text}").contains(&format!("\n{block}\n"));
        if is_there {
            continue;
        }
        if text.is_empty() {
            text = format!(
                "# Imported from {kind}\n\nWhat the plan has no place for. ralph does not read this file.\n"
            );
        }
        text.push_str(lines::missing_end(&text));
        text.push('\n');
        text.push_str(block);
        text.push('\n');
        is_new = true;
    }
    is_new.then_some(text)
}

/// Return the content about the whole plan, as one block for each file.
pub(super) fn asides(asides: &[PlanAside]) -> Vec<String> {
    asides
        .chunk_by(|a, b| a.from == b.from)
        .filter_map(|about| {
            let says: Vec<LabelledText> = about.iter().map(|aside| aside.said.clone()).collect();
            Some(block(&format!("## {}", one_line(&about.first()?.from)), &says))
        })
        .collect()
}

/// A heading and what is said below it.
pub(super) fn block(heading: &str, says: &[LabelledText]) -> String {
    let mut text = heading.trim_end().to_owned();
    for said in says {
        text.push_str("\n\n");
        text.push_str(&said.to_string());
    }
    text
}

pub(super) fn one_line(text: &str) -> String {
    crate::text::one_line(text)
}
