use super::super::index::{IndexFiles, knowledge};
use super::*;
use crate::plan::Id;

const INDEX: &str = "# Knowledge Index
Last updated: iteration 9 (2026-01-17)

## Patterns
- [K-pattern-errors] One error type for each parser [source: iter 1]
## Gotchas
- [K-gotcha-bom] The PARSER sees a byte order mark [source: iter 2]
## Unresolved
- [K-unresolved-speed] Is the parser fast enough?
## Architectural Decisions
- [K-decision-nom] The parser and its errors use nom [source: iter 3]
- [K-decision-hand] A parser by hand
## Constraints
- [K-constraint-panic] Must never panic
- [K-constraint-size] The parser must read 2 GB
## Elsewhere
- a parser without a name
";

fn found(words: &str, most: usize) -> Vec<String> {
    let all = knowledge(IndexFiles { markdown: Some(INDEX), json: None });
    let hits = search(&all.items, &[words.to_owned()], most);
    hits.iter().map(|item| item.id.clone().unwrap_or_default()).collect()
}

#[test]
fn constraints_come_first_then_decisions_open_questions_traps_and_patterns() {
    assert_eq!(
        found("parser", 12),
        [
            "K-constraint-size",
            "K-decision-nom",
            "K-decision-hand",
            "K-unresolved-speed",
            "K-gotcha-bom",
            "K-pattern-errors",
            ""
        ]
    );
    assert_eq!(found("parser", 2).len(), 2);
}

#[test]
fn more_matching_words_come_first_within_a_category() {
    assert_eq!(found("HAND parser", 3), ["K-constraint-size", "K-decision-hand", "K-decision-nom"]);
    assert_eq!(found("constraint-panic", 3), ["K-constraint-panic"]);
    assert_eq!(found("zebra", 3), Vec::<String>::new());
    assert_eq!(found("  ", 3), Vec::<String>::new());
}

#[test]
fn the_words_of_a_task_are_those_of_its_id_title_description_and_libraries() {
    let task = Task {
        id: Id::new("t-1a2b"),
        name: "Parse it".into(),
        notes: Some("by hand".into()),
        libraries: vec!["nom".into()],
        ..Task::default()
    };
    assert_eq!(words_of(&task), ["1a2b", "hand", "nom", "parse"]);
}
