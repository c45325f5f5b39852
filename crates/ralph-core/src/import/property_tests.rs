//! For any source: nothing panics, every task is there exactly once, and no words are lost.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::settle_tests::sources;
use super::*;
use crate::format::{PlanFormat, codec};
use crate::text::one_line;

const NOW: &str = "2025-01-20T10:30:00Z";

/// Formats that take any name; progress.md may refuse one that its markdown cannot hold.
const ANY_NAME: [PlanFormat; 3] =
    [PlanFormat::Jsonl, PlanFormat::Deluxe, PlanFormat::Implementation];

/// Words that somebody may have written.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z][a-zA-Z0-9 .,]{0,20}[a-z0-9]",
        2 => "[a-z]{3,8}(\n|\r\n|\n\n)[-*#>` a-z]{1,12}[a-z]",
        1 => "\\PC{1,12}",
        1 => Just(String::new()),
    ]
}

/// Members that no importer knows.
fn unknown() -> impl Strategy<Value = Value> {
    (words(), words(), any::<i32>(), words()).prop_map(
        |(a, b, n, c)| json!({"first": a, "list": [b, n, null, {"deep": c}], "flag": true}),
    )
}

/// All texts of a value, keys left out.
fn texts(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    found
}

/// Import into each format, and look for `needles` in all that would be written.
fn check(kind: ImportKind, path: &str, text: &str, count: usize, needles: &[String]) {
    let found = read(kind, &sources(&[(path, text)])).expect("a good source");
    assert_eq!(found.items.len(), count, "{found:?}");
    let placed = place(&found.documents, &|_| None);
    for format in ANY_NAME {
        let codec = codec(format);
        let empty = codec.empty("x", NOW);
        let plan = codec.parse(&empty).expect("an empty plan");
        let target = ImportTarget { shown: "plan", text: &empty, plan: &plan, codec, now: NOW };
        let import = settle(kind, &found, &placed, &target).expect("no circle");
        let new = codec.parse(&import.text).expect("a plan that can be read");
        let tasks = new.all_tasks();
        assert_eq!(tasks.len(), count, "{format}: {}", import.text);
        for row in &import.rows {
            assert_eq!(tasks.iter().filter(|task| task.id == row.id).count(), 1, "{}", row.id);
        }
        let mut hay = import.record.join("\n");
        for task in &tasks {
            let phase = task.phase.clone().unwrap_or_default();
            let notes = task.notes.clone().unwrap_or_default();
            hay = [hay, task.name.clone(), phase, notes, task.accept.join("\n")].join("\n");
        }
        for document in &found.documents {
            hay = [hay, document.text.clone()].join("\n");
        }
        let hay = one_line(&hay);
        for line in needles.iter().flat_map(|needle| needle.lines()) {
            let line = one_line(prd::unbulleted(line));
            assert!(hay.contains(&line), "{format}: {line:?} is lost in\n{text}\n---\n{hay}");
        }
        let again = ImportTarget { text: &import.text, plan: &new, ..target };
        let second = settle(kind, &found, &placed, &again).expect("the same again");
        assert_eq!((second.added(), &second.text), (0, &import.text), "{format}");
        assert_eq!(second.record, import.record, "{format}");
    }
}

prop_compose! {
    fn story()(title in words(), description in words(), accept in prop::collection::vec(words(), 0..3),
               passes in any::<bool>(), priority in 0..4, notes in words(), extra in unknown()) -> Value {
        json!({"title": title, "description": description, "acceptanceCriteria": accept,
               "passes": passes, "priority": priority, "notes": notes, "extra": extra})
    }
}

prop_compose! {
    fn bead()(title in words(), description in words(), design in words(), accept in words(),
              status in prop::sample::select(vec!["open", "in_progress", "closed", "blocked", "tombstone", "odd"]),
              priority in 0..5, link in 0usize..4, extra in unknown(), comment in words()) -> (usize, Value) {
        (link, json!({"title": title, "description": description, "design": design,
               "acceptance_criteria": accept, "status": status, "priority": priority,
               "comments": [{"author": "ann", "text": comment}], "extra": extra}))
    }
}

prop_compose! {
    fn master()(title in words(), description in words(), details in words(), strategy in words(),
                status in prop::sample::select(vec!["pending", "in-progress", "done", "cancelled", "deferred", "odd"]),
                link in 0usize..4, parts in prop::collection::vec(words(), 0..3), extra in unknown()) -> (usize, Vec<String>, Value) {
        (link, parts, json!({"title": title, "description": description, "details": details,
               "testStrategy": strategy, "status": status, "metadata": extra}))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_story_and_no_word_of_one_is_lost(
        mut stories in prop::collection::vec(story(), 1..5), project in words(), extra in unknown()
    ) {
        for (n, story) in stories.iter_mut().enumerate() {
            story["id"] = json!(format!("US-{n:03}"));
        }
        let needles = texts(&json!([stories, project, extra]));
        let file = json!({"project": project, "userStories": stories, "other": extra});
        check(ImportKind::Prd, "prd.json", &format!("{file:#}"), stories.len(), &needles);
    }

    #[test]
    fn no_bead_and_no_word_of_one_is_lost(beads in prop::collection::vec(bead(), 1..6)) {
        let mut lines = String::new();
        let mut needles = Vec::new();
        for (n, (link, bead)) in beads.iter().enumerate() {
            let mut bead = bead.clone();
            bead["status"].take();
            needles.extend(texts(&bead));
            bead["status"] = beads[n].1["status"].clone();
            bead["id"] = json!(format!("bd-{n}"));
            // Only to earlier ones, so that there is no circle.
            if *link < n {
                let kind = ["blocks", "related", "discovered-from"][link % 3];
                bead["dependencies"] =
                    json!([{"depends_on_id": format!("bd-{link}"), "type": kind, "created_by": "me"}]);
            }
            lines.push_str(&format!("{bead}\n"));
        }
        check(ImportKind::Beads, ".beads/issues.jsonl", &lines, beads.len(), &needles);
    }

    #[test]
    fn no_task_of_task_master_and_no_word_of_one_is_lost(
        tasks in prop::collection::vec(master(), 1..5), tag in "[a-z]{2,6}"
    ) {
        let mut list = Vec::new();
        let mut needles = Vec::new();
        let mut count = 0;
        for (n, (link, parts, task)) in tasks.iter().enumerate() {
            let mut task = task.clone();
            task["status"].take();
            needles.extend(texts(&task));
            needles.extend(parts.iter().cloned());
            task["status"] = tasks[n].2["status"].clone();
            task["id"] = json!(n + 1);
            if *link < n {
                task["dependencies"] = json!([link + 1]);
            }
            let part = |(i, title): (usize, &String)| json!({"id": i + 1, "title": title, "dependencies": (1..=i).collect::<Vec<_>>()});
            task["subtasks"] = parts.iter().enumerate().map(part).collect();
            count += 1 + parts.len();
            list.push(task);
        }
        let plain = json!({"tasks": list}).to_string();
        check(ImportKind::TaskMaster, "tasks.json", &plain, count, &needles);
        let tagged = json!({ tag: {"tasks": list}, "master": {"tasks": list} }).to_string();
        let total = if tagged.matches("\"tasks\"").count() == 2 { 2 * count } else { count };
        check(ImportKind::TaskMaster, "tasks.json", &tagged, total, &needles);
    }

    #[test]
    fn no_issue_and_no_word_of_one_is_lost(
        issues in prop::collection::vec((words(), words(), words(), words(), any::<bool>(), unknown()), 1..5)
    ) {
        let mut needles = Vec::new();
        let mut list = Vec::new();
        for (n, (title, body, label, comment, closed, extra)) in issues.iter().enumerate() {
            let issue = json!({"title": title, "body": body, "labels": [{"name": label, "color": "d73a4a"}],
                "comments": [{"author": {"login": "ann"}, "body": comment}], "milestone": extra});
            needles.extend(texts(&issue));
            let mut issue = issue;
            issue["number"] = json!(n + 1);
            issue["state"] = json!(if *closed { "CLOSED" } else { "OPEN" });
            list.push(issue);
        }
        check(ImportKind::Github, "-", &json!(list).to_string(), issues.len(), &needles);
    }

    #[test]
    fn no_line_of_a_checklist_is_lost(
        lines in prop::collection::vec("(#{1,3} |- \\[[ x]\\] |  - \\[[ x]\\] |  - |    |> |)[a-z]{1,6}( [a-z`*]{1,5})?|```|", 1..20)
    ) {
        let text = format!("- [ ] first\n{}\n", lines.join("\n"));
        // A box that is indented below no task is one itself.
        let count = checklist::read(&text, checklist::ChecklistStyle::Boxes).entries.len();
        let margin = crate::fence::open_lines(&text).filter(|(_, line)| line.starts_with("- ["));
        prop_assert!(count >= margin.count());
        let strip = |line: &str| {
            let line = line.trim().trim_start_matches('#').trim();
            prd::unbulleted(line).to_owned()
        };
        let needles: Vec<String> = text.lines().map(strip).collect();
        check(ImportKind::FixPlan, "fix_plan.md", &text, count, &needles);
    }

    #[test]
    fn no_damage_makes_an_importer_panic(
        which in 0usize..SAMPLES.len(), cut in any::<prop::sample::Index>(), put in "\\PC{0,6}|[\\[\\]{}\",:\n\\-# x]{0,4}"
    ) {
        let (path, sample) = SAMPLES[which];
        let chars: Vec<char> = sample.chars().collect();
        let at = cut.index(chars.len());
        let text: String = chars[..at].iter().copied().chain(put.chars())
            .chain(chars[at..].iter().copied().skip(put.chars().count() / 2)).collect();
        let sources = sources(&[(path, &text)]);
        let _known = candidates(&sources);
        for kind in ImportKind::ALL {
            let Ok(found) = read(kind, &sources) else { continue };
            let placed = place(&found.documents, &|_| None);
            for format in PlanFormat::ALL {
                let codec = codec(format);
                let empty = codec.empty("x", NOW);
                let plan = codec.parse(&empty).expect("an empty plan");
                let target = ImportTarget { shown: "plan", text: &empty, plan: &plan, codec, now: NOW };
                if let Ok(import) = settle(kind, &found, &placed, &target) {
                    prop_assert_eq!(import.rows.len(), found.items.len());
                    prop_assert!(codec.parse(&import.text).is_ok());
                }
            }
        }
    }
}

const SAMPLES: [(&str, &str); 6] = [
    (
        "prd.json",
        r#"{"userStories": [{"id": "US-1", "title": "A", "passes": true, "priority": 1e3}]}"#,
    ),
    (
        "tasks.json",
        r#"{"tasks": [{"id": 1, "title": "A", "dependencies": ["1.1"], "subtasks": [{"id": 1, "title": "B"}]}]}"#,
    ),
    (
        "issues.jsonl",
        "{\"id\":\"bd-1\",\"title\":\"A\",\"dependencies\":[{\"depends_on_id\":\"bd-2\",\"type\":\"parent-child\"}]}\n{\"id\":\"bd-2\",\"title\":\"B\"}\n",
    ),
    (
        "-",
        r##"[{"number": 1, "title": "A", "body": "- [ ] x\nBlocked by #1, #2", "url": "https://x/o/r/issues/1"}]"##,
    ),
    (
        "fix_plan.md",
        "# P\n\n## High Priority\n- [ ] ä T001 [P] one\n\n  - [x] two\n```\nx\n```\n1. [ ] 1.1 three\nlazy\n",
    ),
    (
        "plan.json",
        r#"{"tasks": [{"id": "T-1", "title": "A", "status": "failed", "depends_on": ["T-1"]}]}"#,
    ),
];
