//! What holds for every index.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Lines as agents write them, with those that would hurt most.
fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# Knowledge Index".to_owned()),
        Just("Last updated: iteration 3 (x)".to_owned()),
        Just("## Constraints".to_owned()),
        Just("## Gotchas ##".to_owned()),
        Just("```".to_owned()),
        Just("- [K-gotcha-a] must é [source: iter 3,] [supersedes: K-gotcha-b".to_owned()),
        "- \\[K-(constraint|gotcha)-[ab]\\] (must|never|maybe)( \\[supersedes: K-gotcha-[ab]\\])?",
        "  (must|never) [a-zé漢🦀]{0,9}",
        "\\PC{0,40}",
    ];
    prop::collection::vec(line, 0..20).prop_map(|lines| lines.join("\n"))
}

/// Records of different iterations that only supersede what was there before them.
fn history() -> impl Strategy<Value = Vec<Value>> {
    let record = ("[a-zé\"\\\\]{0,8}", prop::collection::vec("[a-z]{1,4}", 0..3), any::<u8>());
    prop::collection::vec(record, 1..8).prop_map(|all| {
        let one = |(at, (text, tags, dice)): (usize, (String, Vec<String>, u8))| {
            let mut record = json!({
                "iteration": at, "task": "t", "summary": text, "tags": tags,
                "memory_id": format!("K-gotcha-n{at}"), "unknown": {"dice": dice},
            });
            if at > 0 && dice % 2 == 0 {
                record["supersedes"] = format!("K-gotcha-n{}", usize::from(dice) % at).into();
            }
            record
        };
        all.into_iter().enumerate().map(one).collect()
    })
}

fn text(records: &[Value]) -> String {
    Value::from(records.to_vec()).to_string()
}

const MARKDOWN: &str = "# Knowledge Index\nLast updated: iteration 1 (x)\n";

fn check(before: &str, after: &str) -> Result<(), Vec<IndexViolation>> {
    let files = |json| IndexFiles { markdown: Some(MARKDOWN), json: Some(json) };
    verify(files(before), files(after))
}

proptest! {
    #[test]
    fn any_text_is_read_and_compared_without_a_panic(
        old in markdown(), new in markdown(), json in "\\PC{0,80}", other in "\\PC{0,80}",
    ) {
        let before = IndexFiles { markdown: Some(&old), json: Some(&json) };
        let after = IndexFiles { markdown: Some(&new), json: Some(&other) };
        let _verdict = verify(before, after);
        prop_assert_eq!(verify(before, before), Ok(()));
        for item in knowledge(after).items {
            prop_assert!(item.line.is_none_or(|line| line <= new.lines().count()));
        }
    }

    #[test]
    fn a_hard_constraint_is_kept_or_superseded_by_another_id_or_it_is_refused(
        old in markdown(), new in markdown(),
    ) {
        let before = IndexFiles { markdown: Some(&old), json: Some("[]") };
        let after = IndexFiles { markdown: Some(&new), json: Some("[]") };
        let found = verify(before, after).err().unwrap_or_default();
        let refused = found.iter().any(|one| one.check == IndexCheck::HardConstraints);
        let (old, new) = (MarkdownIndex::read(&old), MarkdownIndex::read(&new));
        let lost = old.hard.iter().any(|hard| {
            let kept = new.hard.iter().any(|line| line.text == hard.text);
            let by_another = |id: &str| {
                let others = new.entries.iter().filter(|e| e.id.as_deref() != Some(id));
                others.flat_map(|e| &e.supersedes).any(|s| s == id)
            };
            !kept && !old.id_of(hard).is_some_and(by_another)
        });
        prop_assert_eq!(refused, lost);
    }

    #[test]
    fn any_edit_of_an_earlier_entry_is_refused(
        records in history(), at in any::<prop::sample::Index>(), new in "[A-Z]{1,5}",
    ) {
        let before = text(&records);
        let at = at.index(records.len());
        let mut edited = records.clone();
        edited[at]["summary"] = new.into();
        prop_assert!(check(&before, &text(&edited)).is_err());
        let mut removed = records.clone();
        removed.remove(at);
        prop_assert!(check(&before, &text(&removed)).is_err());
        let mut moved = records.clone();
        moved.rotate_left(at);
        prop_assert_eq!(check(&before, &text(&moved)).is_err(), at > 0);
    }

    #[test]
    fn superseding_or_retiring_never_needs_an_edit(
        records in history(), at in any::<prop::sample::Index>(), replace in any::<bool>(),
    ) {
        let before = text(&records);
        prop_assert_eq!(check("[]", &before), Ok(()));
        let id = format!("K-gotcha-n{}", at.index(records.len()));
        let mut after = records.clone();
        let mut record = json!({
            "iteration": records.len(), "task": "t", "summary": "s", "tags": [], "supersedes": [id],
        });
        if replace {
            record["memory_id"] = "K-gotcha-new".into();
        }
        after.push(record);
        let after = text(&after);
        prop_assert_eq!(check(&before, &after), Ok(()));
        let all = knowledge(IndexFiles { markdown: None, json: Some(&after) });
        let found = all.items.iter().find(|item| item.id.as_ref() == Some(&id)).unwrap();
        prop_assert_ne!(&found.status, &KnowledgeStatus::Active);
    }

    #[test]
    fn exactly_one_entry_of_an_accepted_history_is_active_for_each_id_in_force(records in history()) {
        let after = text(&records);
        let all = knowledge(IndexFiles { markdown: None, json: Some(&after) });
        let over: Vec<&str> = records.iter().filter_map(|r| r["supersedes"].as_str()).collect();
        for item in &all.items {
            let id = item.id.as_deref().unwrap();
            prop_assert_eq!(item.status != KnowledgeStatus::Active, over.contains(&id), "{}", id);
        }
    }
}
