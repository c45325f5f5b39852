//! Each kind: what its fields become, and what is said of damaged files.

use super::settle_tests::{fresh, into, sources};
use super::*;
use crate::format::PlanFormat;
use crate::plan::{Id, Plan, Priority, TaskState};

fn task<'p>(plan: &'p Plan, id: &str) -> &'p Task {
    plan.task(&Id::new(id)).unwrap_or_else(|| panic!("no {id} in {plan:#?}"))
}

fn notes<'p>(plan: &'p Plan, id: &str) -> &'p str {
    task(plan, id).notes.as_deref().unwrap_or_default()
}

#[test]
fn stories_come_in_the_order_of_their_priority() {
    let text = r#"{"userStories": [
        {"id": "US-3", "title": "Last"},
        {"id": "US-2", "title": "Second", "priority": 2, "owner": "bob"},
        {"id": "US-1", "title": "First", "priority": 1, "dependsOn": []}]}"#;
    let (import, plan) = fresh(ImportKind::Prd, &[("prd.json", text), ("progress.txt", "log")]);
    let names: Vec<&str> = import.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["First", "Second", "Last"]);
    assert!(notes(&plan, "US-2").contains("owner: bob"));
    let found =
        read(ImportKind::Prd, &sources(&[("prd.json", text), ("progress.txt", "log")])).unwrap();
    assert_eq!(found.documents[0].site, DocumentSite::Import("prd/progress.txt".into()));
}

#[test]
fn a_fix_plan_has_phases_priorities_criteria_and_prose() {
    let text = "# Ralph Fix Plan\n\n## High Priority\n\n### Phase 1\n- [x] Set it up\n- [~] Read `a.toml`\n  - [ ] `cargo test` passes\n  - [x] named\n  - see docs/a.md\n\n    and more\n\n## Low Priority\n* [ ] Polish\n\n```\n- [ ] not a task\n```\n> - [ ] nor this\n\n## Notes\n- keep it small\n- [link](x)\n";
    let (import, plan) = fresh(ImportKind::FixPlan, &[("@fix_plan.md", text)]);
    let names: Vec<&str> = import.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["Set it up", "Read `a.toml`", "Polish"]);
    let read = &plan.tasks[0];
    assert_eq!(read.accept, ["`cargo test` passes"]);
    assert_eq!(read.priority, Some(Priority::High));
    assert_eq!(read.phase.as_deref(), Some("High Priority / Phase 1"));
    let notes = read.notes.as_deref().unwrap();
    assert!(notes.contains("done already: named"), "{notes}");
    assert!(notes.contains("marked: [~]"), "{notes}");
    assert!(notes.contains("- see docs/a.md\n\n  and more"), "{notes}");
    assert_eq!(plan.tasks[1].priority, Some(Priority::Low));
    let record = import.record.join("\n");
    assert!(record.contains("- keep it small") && record.contains("- [ ] nor this"), "{record}");
}

#[test]
fn subtasks_come_first_and_call_their_sisters_by_the_last_number() {
    let text = r#"{"master": {"tasks": [
        {"id": 1, "title": "Repo", "status": "done", "priority": "high"},
        {"id": 2, "title": "Login", "status": "in-progress", "dependencies": [1], "details": "OAuth",
         "testStrategy": "`npm test` passes", "priority": "critical", "subtasks": [
            {"id": 1, "title": "Form", "status": "pending"},
            {"id": 2, "title": "Call", "dependencies": [1, "3"]},
            {"id": 3, "title": "Cut", "status": "cancelled"}]},
        {"id": 3, "title": "Later", "status": "deferred", "dependencies": ["2.2"], "metadata": {"sprint": "Q1"}}],
        "metadata": {"description": "main list"}},
      "spike": {"tasks": [{"id": 1, "title": "Try it"}]}}"#;
    let (import, plan) = fresh(ImportKind::TaskMaster, &[(".taskmaster/tasks/tasks.json", text)]);
    let ids: Vec<&str> = import.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["tm-1", "tm-2.1", "tm-2.2", "tm-2.3", "tm-2", "tm-3", "tm-spike-1"]);
    let deps = |id: &str| task(&plan, id).deps.iter().map(Id::as_str).collect::<Vec<_>>();
    assert_eq!(deps("tm-2.1"), ["tm-1"]);
    assert_eq!(deps("tm-2.2"), ["tm-2.1", "tm-2.3", "tm-1"]);
    assert_eq!(deps("tm-2"), ["tm-1", "tm-2.1", "tm-2.2", "tm-2.3"]);
    assert_eq!(deps("tm-3"), ["tm-2.2"]);
    assert_eq!(task(&plan, "tm-3").state, TaskState::Blocked("deferred in Task Master".into()));
    assert_eq!(task(&plan, "tm-2").accept, ["`npm test` passes"]);
    assert_eq!(task(&plan, "tm-2").priority, Some(Priority::High));
    let said = notes(&plan, "tm-2");
    assert!(said.contains("OAuth") && said.contains("status: in-progress"), "{said}");
    assert!(said.ends_with("Imported from task-master: 2"), "{said}");
    assert!(
        notes(&plan, "tm-3").contains("metadata:\nsprint: Q1")
            || notes(&plan, "tm-3").contains("sprint: Q1")
    );
    assert!(import.record.join("\n").contains("main list"));
}

#[test]
fn links_of_beads_are_dependencies_parts_or_words() {
    let text = r#"{"id":"bd-1","title":"Epic","issue_type":"epic","status":"open","priority":0}
{"id":"bd-1.1","title":"Child","status":"blocked","priority":2,"acceptance_criteria":"- [ ] a\n- b","dependencies":[{"issue_id":"bd-1.1","depends_on_id":"bd-1","type":"parent-child","created_by":"daemon"},{"issue_id":"bd-1.1","depends_on_id":"bd-2","type":"blocks"},{"issue_id":"bd-1.1","depends_on_id":"bd-9","type":"related"}]}

{"id":"bd-2","title":"Closed","status":"closed","priority":1,"closed_at":"2025-01-01T00:00:00Z","close_reason":"shipped","comments":[{"id":1,"author":"ann","text":"nice","created_at":"2025-01-01"}]}
{"id":"bd-3","title":"Gone","status":"tombstone","delete_reason":"batch"}
"#;
    let (import, plan) = fresh(ImportKind::Beads, &[(".beads/issues.jsonl", text)]);
    let deps = |id: &str| task(&plan, id).deps.iter().map(Id::as_str).collect::<Vec<_>>();
    assert_eq!(deps("bd-1"), ["bd-1.1"]);
    assert_eq!(deps("bd-1.1"), ["bd-2"]);
    assert_eq!(task(&plan, "bd-1.1").state, TaskState::Pending);
    assert_eq!(task(&plan, "bd-1.1").accept, ["a", "b"]);
    assert!(notes(&plan, "bd-1.1").contains("related: bd-9"));
    assert_eq!(task(&plan, "bd-1").priority, Some(Priority::High));
    assert!(notes(&plan, "bd-1").contains("priority: P0"));
    let closed = plan.tombstones.iter().find(|t| t.id == Id::new("bd-2")).unwrap();
    assert_eq!(closed.done_at.as_deref(), Some("2025-01-01T00:00:00Z"));
    let record = import.record.join("\n");
    assert!(record.contains("shipped") && record.contains("nice") && record.contains("daemon"));
    assert!(import.text.contains("batch"), "a skipped task keeps its words");
}

#[test]
fn a_change_of_open_spec_becomes_specs_and_tasks_of_its_proposal() {
    let files = [
        ("openspec/changes/add-dark-mode/proposal.md", "# Why\n"),
        ("openspec/changes/add-dark-mode/specs/theme/spec.md", "## ADDED Requirements\n"),
        (
            "openspec/changes/add-dark-mode/tasks.md",
            "## 1. Style\n- [x] 1.1 Pick colours\n- [ ] 1.2 Use them\n- [ ] Ship\n",
        ),
        ("openspec/changes/archive/2025-01-01-old/tasks.md", "- [ ] 1.1 Old\n"),
    ];
    let (import, plan) = fresh(ImportKind::OpenSpec, &files);
    let ids: Vec<&str> = import.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(&ids[..2], ["add-dark-mode-1.1", "add-dark-mode-1.2"]);
    assert_eq!(ids.len(), 3);
    let use_them = task(&plan, "add-dark-mode-1.2");
    assert_eq!(
        (use_them.name.as_str(), use_them.spec.as_deref()),
        ("Use them", Some("add-dark-mode/proposal.md"))
    );
    let found = read(ImportKind::OpenSpec, &sources(&files)).unwrap();
    let sites: Vec<&DocumentSite> = found.documents.iter().map(|document| &document.site).collect();
    assert_eq!(
        sites,
        [
            &DocumentSite::Spec("add-dark-mode/proposal.md".into()),
            &DocumentSite::Spec("add-dark-mode/specs/theme/spec.md".into())
        ]
    );
}

#[test]
fn a_feature_of_spec_kit_keeps_its_marks_and_dependencies() {
    let files = [
        ("specs/001-photo-albums/spec.md", "# Photo albums\n"),
        ("specs/001-photo-albums/contracts/api.yaml", "openapi: 3.1.0\n"),
        (
            "specs/001-photo-albums/tasks.md",
            "# Tasks\n\n## Phase 1: Setup\n- [x] T001 Make the project\n\n## Phase 3: User Story 1 (Priority: P1)\n**Goal**: albums\n- [ ] T002 [P] [US1] Model in src/a.rs\n- [ ] T003 [US1] Service in src/b.rs (depends on T001, T002)\n",
        ),
        ("specs/002-share/spec.md", "# Share\n"),
        ("specs/002-share/tasks.md", "- [ ] T001 Make links\n"),
    ];
    let (import, plan) = fresh(ImportKind::SpecKit, &files);
    let ids: Vec<&str> = import.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["001-T001", "001-T002", "001-T003", "002-T001"]);
    let third = task(&plan, "001-T003");
    assert_eq!(third.deps, [Id::new("001-T001"), Id::new("001-T002")]);
    assert!(notes(&plan, "001-T002").contains("marks: [P] [US1]"));
    assert_eq!(third.spec.as_deref(), Some("001-photo-albums/spec.md"));
    assert!(import.record.join("\n").contains("**Goal**: albums"));
}

#[test]
fn a_deluxe_project_brings_plan_handoffs_and_knowledge() {
    let plan_json = r#"{"project": "p", "style": "terse", "tasks": [
        {"id": "T-001", "title": "A", "description": "d", "status": "done", "acceptance_criteria": ["c"]},
        {"id": "T-002", "title": "B", "description": "e", "status": "in_progress", "depends_on": ["T-001"],
         "max_turns": 9, "estimate": "2h", "skills": ["bash"]}]}"#;
    let files = [
        ("plan.json", plan_json),
        (".ralph/handoffs/handoff-001.json", "{}"),
        (".ralph/knowledge-index.md", "# Knowledge\n"),
    ];
    let (import, plan) = fresh(ImportKind::Deluxe, &files);
    let b = task(&plan, "T-002");
    assert_eq!((b.state.clone(), b.max_turns, b.skills.len()), (TaskState::Pending, Some(9), 1));
    assert_eq!(b.deps, [Id::new("T-001")]);
    assert!(notes(&plan, "T-002").contains("estimate: 2h"));
    assert!(import.record.join("\n").contains("terse"));
    let found = read(ImportKind::Deluxe, &sources(&files)).unwrap();
    let placed =
        place(&found.documents, &|path| (path == ".ralph/knowledge-index.md").then(Vec::new));
    let paths: Vec<&str> = placed.iter().map(|placed| placed.path.as_str()).collect();
    assert_eq!(
        paths,
        [".ralph/handoffs/handoff-001.json", "ralph/imports/deluxe/knowledge-index.md"]
    );
}

#[test]
fn a_wiggum_plan_may_be_boxes_bullets_or_data() {
    let boxes =
        [("IMPLEMENTATION_PLAN.md", "- [ ] One\n"), ("PROMPT.md", "go"), ("specs/a.md", "# A")];
    let (import, _) = fresh(ImportKind::Wiggum, &boxes);
    assert_eq!(import.rows.len(), 1);
    let found = read(ImportKind::Wiggum, &sources(&boxes)).unwrap();
    assert_eq!(found.documents.len(), 2);
    let bullets = "# Plan\n\n## Remaining\n1. Parse it\n   - carefully\n2. Print it ✅\n\n## Notes\n- a note\n";
    let (import, plan) = fresh(ImportKind::Wiggum, &[("IMPLEMENTATION_PLAN.md", bullets)]);
    let states: Vec<&str> = import.rows.iter().map(|row| row.state.word()).collect();
    assert_eq!(states, ["pending", "accepted"]);
    assert!(plan.tasks[0].notes.as_deref().unwrap().contains("carefully"));
    let data = r#"{"version": 1, "specs": [{"id": "a", "file": "specs/a.md", "context": "why", "tasks": [
        {"id": "a-1", "description": "Do", "status": "completed"}, {"id": "a-2", "description": "Go", "status": "pending"}]}]}"#;
    let files = [(".ralph-wiggum/implementation.json", data), (".ralph-wiggum/specs/a.md", "# A")];
    let (import, plan) = fresh(ImportKind::Wiggum, &files);
    assert_eq!(task(&plan, "a-2").spec.as_deref(), Some("a.md"));
    assert!(import.record.join("\n").contains("why"));
}

#[test]
fn issues_of_github_keep_bodies_comments_and_links() {
    let text = r##"[{"number": 12, "title": "Crash", "state": "OPEN", "labels": [{"name": "priority: high", "color": "f00"}],
        "body": "It crashes.\r\n\r\n- [ ] no crash\r\n- [x] found\r\n\r\nBlocked by #3, #4", "comments": [{"author": {"login": "ann"}, "body": "me too"}]},
       {"number": 3, "title": "Old", "state": "CLOSED", "stateReason": "COMPLETED", "closedAt": "2024-01-01T00:00:00Z", "body": ""},
       {"number": 4, "title": "No", "state": "CLOSED", "stateReason": "NOT_PLANNED", "body": "x"}]"##;
    let (import, plan) = fresh(ImportKind::Github, &[("-", text)]);
    let ids: Vec<&str> = import.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["gh-3", "gh-4", "gh-12"]);
    let crash = task(&plan, "gh-12");
    assert_eq!(
        (crash.priority, &crash.accept[..]),
        (Some(Priority::High), &["no crash".to_owned()][..])
    );
    assert_eq!(crash.deps, [Id::new("gh-3"), Id::new("gh-4")]);
    assert!(notes(&plan, "gh-12").contains("comment by ann: me too"));
    assert_eq!(import.rows[1].state, TaskState::Skipped);
    assert!(import.record.join("\n").contains("f00"), "colours go to the record");
}

#[test]
fn damage_is_told_with_file_and_line() {
    let cases: [(ImportKind, &str, &str, usize, &str); 7] = [
        (ImportKind::Prd, "prd.json", "{\n \"userStories\": 3}", 2, "an array"),
        (ImportKind::Prd, "prd.json", "{}", 1, "`userStories` is missing"),
        (ImportKind::TaskMaster, "tasks.json", "{\"tasks\": [\n{\"id\": 1,}]}", 2, ""),
        (
            ImportKind::Beads,
            "issues.jsonl",
            "{\"id\":\"a\",\"title\":\"b\"}\n<<<<<<< HEAD\n",
            2,
            "",
        ),
        (ImportKind::Beads, "issues.jsonl", "{\"id\":\"a\"}", 1, "`title` is missing"),
        (ImportKind::Deluxe, "plan.json", "{\"tasks\": [\n\n{\"id\": \"a\"}]}", 3, "title"),
        (ImportKind::Github, "-", "[{\"title\": \"x\"}]", 1, "`number` is missing"),
    ];
    for (kind, path, text, line, part) in cases {
        let error = into(kind, &[(path, text)], PlanFormat::Jsonl, "").unwrap_err();
        assert_eq!((error.file.as_str(), error.line), (path, Some(line)), "{error}");
        assert!(error.message.contains(part), "{error}");
        assert!(error.hint.contains("nothing was written"), "{error:?}");
    }
    let empty = into(ImportKind::FixPlan, &[("fix_plan.md", "# Plan\n")], PlanFormat::Jsonl, "")
        .unwrap_err();
    assert!(empty.hint.contains("- [ ]"), "{empty:?}");
}

#[test]
fn kinds_are_known_by_name_or_by_content() {
    let kinds = |files: &[(&str, &str)]| -> Vec<ImportKind> {
        candidates(&sources(files)).into_iter().map(|candidate| candidate.kind).collect()
    };
    let one: [(&str, &str, ImportKind); 16] = [
        ("scripts/ralph/prd.json", "{}", ImportKind::Prd),
        ("x.json", "{\"userStories\": []}", ImportKind::Prd),
        (".ralph/fix_plan.md", "", ImportKind::FixPlan),
        ("@fix_plan.md", "", ImportKind::FixPlan),
        ("fix_plan.md", "", ImportKind::FixPlan),
        (".taskmaster/tasks/tasks.json", "", ImportKind::TaskMaster),
        ("x.json", "{\"tasks\": [{\"subtasks\": []}]}", ImportKind::TaskMaster),
        (".beads/issues.jsonl", "", ImportKind::Beads),
        ("-", "{\"id\":\"bd-1\",\"title\":\"a\"}\n{", ImportKind::Beads),
        ("-", "[{\"number\": 1, \"title\": \"a\"}]", ImportKind::Github),
        ("openspec/changes/a/tasks.md", "", ImportKind::OpenSpec),
        ("specs/001-a/spec.md", "", ImportKind::SpecKit),
        ("x.md", "- [ ] T001 Do\n", ImportKind::SpecKit),
        ("x.md", "- [ ] 1.1 Do\n", ImportKind::OpenSpec),
        ("plan.json", "{\"tasks\": [{\"depends_on\": []}]}", ImportKind::Deluxe),
        ("IMPLEMENTATION_PLAN.md", "", ImportKind::Wiggum),
    ];
    for (path, text, kind) in one {
        assert_eq!(kinds(&[(path, text)]), [kind], "{path}");
    }
    assert_eq!(kinds(&[("fix_plan.md", ""), ("PROMPT.md", "")]), [ImportKind::Wiggum]);
    assert_eq!(
        kinds(&[("prd.json", ""), (".beads/issues.jsonl", "")]),
        [ImportKind::Prd, ImportKind::Beads]
    );
    assert_eq!(kinds(&[("TODO.md", "- [ ] a\n")]).len(), 4);
    assert!(kinds(&[("README.md", "hello")]).is_empty());
    assert!(
        enters("specs/001-a/contracts") && !enters("src") && !enters("openspec/changes/archive/x")
    );
    assert!(
        wants("specs/001-a/contracts/api.yaml") && wants("@fix_plan.md") && !wants("Cargo.toml")
    );
}
