//! Items in a plan: ids, circles, a second import, and what a format cannot hold.

use super::*;
use crate::format::{PlanFormat, codec};
use crate::plan::{Id, Plan, TaskState};

const NOW: &str = "2025-01-20T10:30:00Z";

/// Sources from pairs of path and text.
pub(super) fn sources(files: &[(&str, &str)]) -> Vec<ImportSource> {
    let source =
        |(path, text): &(&str, &str)| ImportSource { path: (*path).into(), text: (*text).into() };
    files.iter().map(source).collect()
}

/// The import of these files into a plan with this text.
pub(super) fn into(
    kind: ImportKind,
    files: &[(&str, &str)],
    format: PlanFormat,
    text: &str,
) -> Result<PreparedImport, ImportError> {
    let found = read(kind, &sources(files))?;
    let codec = codec(format);
    let plan = codec.parse(text).expect("a plan of the test");
    let placed = place(&found.documents, &|_| None);
    settle(
        kind,
        &found,
        &placed,
        &ImportTarget { shown: "the plan", text, plan: &plan, codec, now: NOW },
    )
}

/// The import into an empty plan.jsonl, and that plan.
pub(super) fn fresh(kind: ImportKind, files: &[(&str, &str)]) -> (PreparedImport, Plan) {
    let import = into(kind, files, PlanFormat::Jsonl, "").expect("an import");
    let plan = codec(PlanFormat::Jsonl).parse(&import.text).expect("a plan that can be read");
    (import, plan)
}

const PRD: &str = r#"{"project": "Shop", "branchName": "ralph/cart", "description": "A cart",
  "userStories": [
    {"id": "US-002", "title": "Show the cart", "acceptanceCriteria": ["`/cart` answers 200"], "priority": 2, "passes": false},
    {"id": "US-001", "title": "Store the cart", "description": "Keep it.", "acceptanceCriteria": ["a test reads it back"], "priority": 1, "passes": true, "notes": "used sqlite"}
  ]}"#;

#[test]
fn a_second_import_adds_nothing_in_any_format() {
    for format in PlanFormat::ALL {
        let empty = codec(format).empty("x", NOW);
        let first = into(ImportKind::Prd, &[("prd.json", PRD)], format, &empty).unwrap();
        assert_eq!(first.added(), 2, "{format}");
        let record = with_blocks(None, ImportKind::Prd, &first.record).unwrap();
        let second = into(ImportKind::Prd, &[("prd.json", PRD)], format, &first.text).unwrap();
        assert_eq!((second.added(), &second.text), (0, &first.text), "{format}");
        assert_eq!(with_blocks(Some(&record), ImportKind::Prd, &second.record), None, "{format}");
    }
}

#[test]
fn what_is_done_is_a_record_and_its_words_are_kept() {
    let (import, plan) = fresh(ImportKind::Prd, &[("prd.json", PRD)]);
    assert_eq!(plan.tasks.len(), 1);
    assert_eq!(plan.tombstones[0].id, Id::new("US-001"));
    let record = import.record.join("\n");
    for part in [
        "Keep it.",
        "used sqlite",
        "a test reads it back",
        "A cart",
        "## US-001: Store the cart (done)",
    ] {
        assert!(record.contains(part), "{part}: {record}");
    }
}

#[test]
fn a_task_that_was_renamed_or_finished_since_is_still_the_same() {
    let (_, plan) = fresh(ImportKind::Prd, &[("prd.json", PRD)]);
    let text = codec(PlanFormat::Jsonl);
    let renamed = crate::plan::PlanEdit::UpdateTask(Task {
        name: "Show it".into(),
        ..plan.task(&"US-002".into()).unwrap().clone()
    });
    let (import, _) = fresh(ImportKind::Prd, &[("prd.json", PRD)]);
    let edited = text.edit(&import.text, &[renamed]).unwrap();
    assert_eq!(
        into(ImportKind::Prd, &[("prd.json", PRD)], PlanFormat::Jsonl, &edited).unwrap().added(),
        0
    );
    let accepted = crate::plan::PlanEdit::Retire {
        id: "US-002".into(),
        how: crate::plan::Retirement::Accepted,
        reason: None,
        at: NOW.into(),
    };
    let edited = text.edit(&import.text, &[accepted]).unwrap();
    assert_eq!(
        into(ImportKind::Prd, &[("prd.json", PRD)], PlanFormat::Jsonl, &edited).unwrap().added(),
        0
    );
}

#[test]
fn the_same_id_from_another_plan_is_another_task() {
    let (first, _) = fresh(ImportKind::Prd, &[("prd.json", PRD)]);
    let other = PRD.replace("ralph/cart", "ralph/login").replace("Show the cart", "Show the login");
    let other = other.replace("Store the cart", "Store the login");
    let files = [("prd.json", other.as_str())];
    let second = into(ImportKind::Prd, &files, PlanFormat::Jsonl, &first.text).unwrap();
    let ids: Vec<&str> = second.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["us-US-001", "us-US-002"]);
    assert_eq!(into(ImportKind::Prd, &files, PlanFormat::Jsonl, &second.text).unwrap().added(), 0);
}

#[test]
fn a_circle_is_refused_with_names_and_line() {
    let text = "{\"tasks\": [\n {\"id\": 1, \"title\": \"Egg\", \"dependencies\": [2]},\n \
                {\"id\": 2, \"title\": \"Hen\", \"dependencies\": [1]}\n]}";
    let error =
        into(ImportKind::TaskMaster, &[("tasks.json", text)], PlanFormat::Jsonl, "").unwrap_err();
    assert_eq!(error.line, Some(2));
    assert!(error.message.contains("1 (Egg) → 2 (Hen) → 1 (Egg)"), "{error}");
}

#[test]
fn a_part_that_needs_the_whole_closes_no_circle() {
    let text = r#"{"tasks": [{"id": 1, "title": "Whole", "subtasks": [
        {"id": 1, "title": "Part", "dependencies": ["2.0"]}]},
        {"id": "2.0", "title": "Other", "dependencies": [1]}]}"#;
    let import =
        into(ImportKind::TaskMaster, &[("tasks.json", text)], PlanFormat::Jsonl, "").unwrap();
    assert!(!import.warnings.is_empty());
    assert_eq!(import.added(), 3);
}

#[test]
fn a_dependency_on_nothing_is_noted_and_not_waited_for() {
    let text = r#"{"tasks": [{"id": 7, "title": "Alone", "dependencies": [99]}]}"#;
    let (import, plan) = fresh(ImportKind::TaskMaster, &[("tasks.json", text)]);
    assert!(plan.tasks[0].deps.is_empty());
    assert!(plan.tasks[0].notes.as_deref().unwrap().contains("99"));
    assert!(import.warnings[0].contains("needs 99"), "{:?}", import.warnings);
    assert!(
        crate::plan::validate(&plan).iter().all(|f| f.severity != crate::plan::PlanSeverity::Error)
    );
}

#[test]
fn two_items_with_one_id_are_both_there() {
    let text = r#"{"userStories": [{"id": "US-1", "title": "A"}, {"id": "US-1", "title": "B"}]}"#;
    let (import, plan) = fresh(ImportKind::Prd, &[("prd.json", text)]);
    assert_eq!(plan.tasks.len(), 2);
    assert_ne!(import.rows[0].id, import.rows[1].id);
    assert!(plan.tasks[1].notes.as_deref().unwrap().contains("US-1"));
}

#[test]
fn a_format_without_dependencies_gets_them_as_notes() {
    let text =
        r#"{"tasks": [{"id": 1, "title": "Egg"}, {"id": 2, "title": "Hen", "dependencies": [1]}]}"#;
    let empty = codec(PlanFormat::Progress).empty("x", NOW);
    let import =
        into(ImportKind::TaskMaster, &[("tasks.json", text)], PlanFormat::Progress, &empty)
            .unwrap();
    assert!(import.text.contains(&format!("after: {}", import.rows[0].id)), "{}", import.text);
}

#[test]
fn documents_take_free_names_and_are_found_again() {
    let documents = [SourceDocument {
        from: "specs/a.md".into(),
        site: DocumentSite::Spec("a.md".into()),
        text: "new".into(),
    }];
    let look = |held: &'static [(&'static str, &'static str)]| {
        move |path: &str| {
            held.iter().find(|(p, _)| *p == path).map(|(_, text)| text.as_bytes().to_vec())
        }
    };
    let at = |held| {
        let placed = place(&documents, &look(held));
        (placed[0].path.clone(), placed[0].is_there)
    };
    assert_eq!(at(&[]), ("ralph/specs/a.md".into(), false));
    assert_eq!(at(&[("ralph/specs/a.md", "new")]), ("ralph/specs/a.md".into(), true));
    assert_eq!(at(&[("ralph/specs/a.md", "old")]), ("ralph/specs/a-2.md".into(), false));
    let held = &[("ralph/specs/a.md", "old"), ("ralph/specs/a-2.md", "new")];
    assert_eq!(at(held), ("ralph/specs/a-2.md".into(), true));
}

#[test]
fn a_document_stays_in_its_folder() {
    let documents = [SourceDocument {
        from: "x".into(),
        site: DocumentSite::Spec("../../etc/passwd".into()),
        text: "x".into(),
    }];
    assert_eq!(place(&documents, &|_| None)[0].path, "ralph/specs/_/_/etc/passwd");
}

#[test]
fn tasks_of_a_spec_follow_it_to_its_new_name() {
    let files =
        [("specs/001-cart/spec.md", "# Cart\n"), ("specs/001-cart/tasks.md", "- [ ] T001 Do it\n")];
    let found = read(ImportKind::SpecKit, &sources(&files)).unwrap();
    let taken = |path: &str| (path == "ralph/specs/001-cart/spec.md").then(|| b"mine".to_vec());
    let placed = place(&found.documents, &taken);
    let plan = Plan::empty(PlanFormat::Jsonl);
    let target = ImportTarget {
        shown: "p",
        text: "",
        plan: &plan,
        codec: codec(PlanFormat::Jsonl),
        now: NOW,
    };
    let import = settle(ImportKind::SpecKit, &found, &placed, &target).unwrap();
    assert!(import.text.contains("\"spec\":\"001-cart/spec-2.md\""), "{}", import.text);
    assert_eq!(import.rows[0].state, TaskState::Pending);
}

#[test]
fn an_issue_is_the_same_with_and_without_its_address() {
    let bare = r#"[{"number": 4, "title": "Crash"}]"#;
    let whole =
        r#"[{"number": 4, "title": "Crash!", "url": "https://example.org/ann/shop/issues/4"}]"#;
    let other =
        r#"[{"number": 4, "title": "Else", "url": "https://example.org/bob/shop/issues/4"}]"#;
    let again = |first: &str, second: &str| {
        let (import, _) = fresh(ImportKind::Github, &[("-", first)]);
        into(ImportKind::Github, &[("-", second)], PlanFormat::Jsonl, &import.text).unwrap().added()
    };
    assert_eq!((again(bare, whole), again(whole, bare), again(whole, other)), (0, 0, 1));
}
