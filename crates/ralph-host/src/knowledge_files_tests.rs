use super::*;

const HEADER: &str = "# Knowledge Index\nLast updated: iteration 1 (x)\n";

fn index(markdown: &[u8], json: &[u8]) -> KnowledgeSnapshot {
    KnowledgeSnapshot::of_bytes(Some(markdown.to_vec()), Some(json.to_vec()))
}

#[test]
fn an_update_that_follows_the_rules_has_no_violations() {
    assert_eq!(KnowledgeSnapshot::default().violations(&index(HEADER.as_bytes(), b"[]")), []);
}

#[test]
fn an_index_without_a_hard_line_or_without_its_files_is_a_violation() {
    let before = index(b"## Constraints\r\n\xff must", b"[]");
    assert_eq!(before.violations(&before), [], "what was no text before may stay");
    assert!(!before.violations(&index(HEADER.as_bytes(), b"[]")).is_empty());
    let before = index(HEADER.as_bytes(), b"[]");
    assert_eq!(before.violations(&KnowledgeSnapshot::default()).len(), 2);
}

#[test]
fn what_is_no_text_is_a_violation() {
    let found = KnowledgeSnapshot::default().violations(&index(HEADER.as_bytes(), b"[\"\xff\"]"));
    assert!(found[0].message.contains("not UTF-8"), "{found:?}");
}
