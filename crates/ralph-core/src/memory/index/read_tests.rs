use super::*;

const INDEX: &str = "# Knowledge Index
Last updated: iteration 7 (2026-01-17)

Some words that nobody asked for.

## Constraints
- [K-constraint-no-force-push] Must never force push to main [source: iter 3,7] [supersedes: K-constraint-old-slug]
- [K-constraint-size] Input may have
  2 GB, so it [is] streamed [source: iter 2]
  - a note below it

## Architectural Decisions
* [K-decision-nom] Parsers use nom

## Our Own Heading
- an entry without an id
```
- [K-pattern-quoted] this is code
```
## Constraints
- [K-constraint-gone] [source: iter 9] [supersedes: K-decision-nom]
";

const RECORDS: &str = r#"[
  {"iteration": 2, "task": "t-1", "summary": "size", "tags": ["io"], "memory_id": "K-constraint-size"},
  {"iteration": 3, "task": "t-2", "summary": "push", "tags": ["git"], "memory_id": ["K-constraint-no-force-push", "K-gotcha-hooks"], "extra": {"kept": 1}},
  {"iteration": 9, "task": "t-3", "summary": "hooks are fine", "tags": [], "supersedes": "K-gotcha-hooks"}
]"#;

fn both() -> Knowledge {
    knowledge(IndexFiles { markdown: Some(INDEX), json: Some(RECORDS) })
}

fn item(id: &str) -> KnowledgeItem {
    both().items.into_iter().find(|item| item.id.as_deref() == Some(id)).unwrap()
}

#[test]
fn an_entry_has_its_id_text_sources_and_what_it_supersedes() {
    let entries = MarkdownIndex::read(INDEX).entries;
    assert_eq!(
        entries[0],
        MarkdownEntry {
            id: Some("K-constraint-no-force-push".into()),
            heading: "Constraints".into(),
            category: Some(KnowledgeCategory::Constraints),
            text: "Must never force push to main".into(),
            sources: vec![3, 7],
            supersedes: vec!["K-constraint-old-slug".into()],
            line: 7,
        }
    );
    assert_eq!(entries[1].text, "Input may have 2 GB, so it [is] streamed - a note below it");
    assert_eq!(entries[1].sources, [2]);
    assert_eq!(entries[2].category, Some(KnowledgeCategory::Decisions));
    assert_eq!((entries[3].heading.as_str(), entries[3].category), ("Our Own Heading", None));
    assert!(entries[4].is_tombstone() && entries.len() == 5, "{entries:?}");
}

#[test]
fn both_files_make_one_list_with_what_is_in_force() {
    assert_eq!(item("K-constraint-no-force-push").status, KnowledgeStatus::Active);
    let size = item("K-constraint-size");
    assert_eq!(
        (size.sources, size.tasks, size.tags),
        (vec![2], vec!["t-1".into()], vec!["io".into()])
    );
    assert_eq!(item("K-decision-nom").status, KnowledgeStatus::Retired);
    let hooks = item("K-gotcha-hooks");
    assert_eq!(
        (hooks.status, hooks.category),
        (KnowledgeStatus::Retired, Some(KnowledgeCategory::Gotchas))
    );
    assert_eq!((hooks.text.as_str(), hooks.line), ("push", None));
    assert_eq!(both().active().count(), 3);
    assert_eq!(both().items.len(), 5);
}

#[test]
fn a_later_entry_makes_an_earlier_one_inactive_without_editing_it() {
    let base = r#"[{"iteration": 1, "task": "t", "summary": "old", "tags": [], "memory_id": "K-gotcha-a", "status": "active"}"#;
    let status = |more: &str| {
        let json = format!("{base}{more}]");
        let all = knowledge(IndexFiles { markdown: None, json: Some(&json) });
        all.items.into_iter().find(|i| i.id.as_deref() == Some("K-gotcha-a")).unwrap().status
    };
    assert_eq!(status(""), KnowledgeStatus::Active);
    let by = KnowledgeStatus::Superseded { by: "K-gotcha-b".into() };
    assert_eq!(
        status(r#", {"iteration": 2, "memory_id": "K-gotcha-b", "supersedes": ["K-gotcha-a"]}"#),
        by
    );
    assert_eq!(
        status(r#", {"iteration": 2, "supersedes": ["K-gotcha-a"]}"#),
        KnowledgeStatus::Retired
    );
    assert_eq!(
        status(r#", {"iteration": 2, "memory_id": "K-gotcha-a", "retired": true}"#),
        KnowledgeStatus::Retired
    );
    let again = r#", {"iteration": 2, "memory_id": "K-gotcha-a", "supersedes": "K-gotcha-a"}"#;
    assert_eq!(status(again), KnowledgeStatus::Active);
}

#[test]
fn damaged_json_is_named_with_its_line_and_the_markdown_is_still_known() {
    let all = knowledge(IndexFiles { markdown: Some(INDEX), json: Some("[\n{]") });
    assert_eq!(all.damage.unwrap().line, 2);
    assert_eq!(all.items.len(), 4);
    assert!(records("{}").unwrap_err().message.contains("an array"));
    assert_eq!(records(" \n"), Ok(Vec::new()));
}

#[test]
fn ids_have_a_kind_and_a_slug() {
    assert_eq!(
        KnowledgeCategory::of_id("K-constraint-no-force-push"),
        Some(KnowledgeCategory::Constraints)
    );
    assert_eq!(
        KnowledgeCategory::of_id("K-unresolved-größe_2.0"),
        Some(KnowledgeCategory::Unresolved)
    );
    for wrong in ["K-constraint-", "K-rule-x", "k-gotcha-x", "K-gotcha", "K-gotcha-a b", ""] {
        assert_eq!(KnowledgeCategory::of_id(wrong), None, "{wrong}");
    }
}

#[test]
fn a_tag_that_is_never_closed_is_text() {
    let entries =
        MarkdownIndex::read("- [K-gotcha-a] see [source: iter 3 [supersedes: K-x").entries;
    assert_eq!(entries[0].text, "see [source: iter 3 [supersedes: K-x");
    assert!(entries[0].supersedes.is_empty());
}
