use super::*;
use crate::format::PlanFormat;
use crate::plan::PlanLookup;

const AT: &str = "2026-03-01T10:00:00Z";

/// The same two tasks in every format, with these statuses as the format spells them.
fn plan_text(format: PlanFormat, done: [bool; 2]) -> String {
    let tick = |done: bool, yes: &'static str, no: &'static str| if done { yes } else { no };
    let (deluxe, long) = (
        done.map(|done| tick(done, "done", "pending")),
        done.map(|done| tick(done, "completed", "pending")),
    );
    let boxes = done.map(|done| tick(done, "x", " "));
    match format {
        PlanFormat::Jsonl => (0..2)
            .map(|n| match done[n] {
                true => format!("{{\"t\":\"accept\",\"id\":\"t-{n}\",\"name\":\"task {n}\"}}\n"),
                false => format!(
                    "{{\"t\":\"task\",\"id\":\"t-{n}\",\"name\":\"task {n}\",\"s\":\"p\"}}\n"
                ),
            })
            .collect(),
        PlanFormat::Deluxe => format!(
            "{{\n  \"tasks\": [\n    {{\"id\": \"t-0\", \"title\": \"task 0\", \"status\": \"{}\"}},\n    {{\"id\": \"t-1\", \"title\": \"task 1\", \"status\": \"{}\"}}\n  ]\n}}\n",
            deluxe[0], deluxe[1]
        ),
        PlanFormat::Progress => format!(
            "# Progress: shop\n\n## Tasks\n\n- [{}] task 0\n- [{}] task 1\n",
            boxes[0], boxes[1]
        ),
        PlanFormat::Implementation => format!(
            "{{\n  \"specs\": [\n    {{\n      \"id\": \"one\",\n      \"tasks\": [\n        {{\"id\": \"t-0\", \"description\": \"task 0\", \"status\": \"{}\"}},\n        {{\"id\": \"t-1\", \"description\": \"task 1\", \"status\": \"{}\"}}\n      ]\n    }}\n  ]\n}}\n",
            long[0], long[1]
        ),
    }
}

fn ids(format: PlanFormat) -> [Id; 2] {
    let plan = codec(format).parse(&plan_text(format, [false, false])).unwrap();
    [plan.tasks[0].id.clone(), plan.tasks[1].id.clone()]
}

fn is_done(format: PlanFormat, text: &str, id: &Id) -> bool {
    let plan = codec(format).parse(text).unwrap();
    PlanLookup::new(&plan).fate(id).satisfies(Default::default())
}

#[test]
fn an_old_file_that_comes_back_does_not_reopen_landed_work() {
    for format in PlanFormat::ALL {
        let [first, second] = ids(format);
        let (open, done) = (plan_text(format, [false, false]), plan_text(format, [true, false]));
        let edit =
            HomeEdit { shown: format.file_name(), copy: &done, seen: Some(&done), home: &open };
        let taken = take_over_plan(&edit, &BTreeSet::from([first.clone()]), AT);
        let text = taken.text.unwrap();
        assert!(is_done(format, &text, &first), "{text}");
        assert!(!is_done(format, &text, &second), "{text}");
        let command = format!("`ralph task retry {first}`");
        assert!(
            taken.remarks.iter().any(|remark| remark.contains(&command)),
            "{:?}",
            taken.remarks
        );
    }
}

#[test]
fn a_status_of_work_that_never_landed_is_believed() {
    for format in PlanFormat::ALL {
        let [first, second] = ids(format);
        let (open, done) = (plan_text(format, [false, false]), plan_text(format, [false, true]));
        let landed = plan_text(format, [true, false]);
        let edit =
            HomeEdit { shown: format.file_name(), copy: &landed, seen: Some(&open), home: &done };
        let taken = take_over_plan(&edit, &BTreeSet::from([first.clone()]), AT);
        let text = taken.text.unwrap();
        assert!(is_done(format, &text, &first) && is_done(format, &text, &second), "{text}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone_and_told() {
    for (format, nonsense) in [
        (PlanFormat::Jsonl, "{\"t\":\n{}\n"),
        (PlanFormat::Deluxe, "{\"tasks\": [{"),
        (PlanFormat::Implementation, "{\"specs\": [{"),
        (PlanFormat::Deluxe, "{\"specs\": []}"),
        (PlanFormat::Jsonl, ""),
    ] {
        let text = plan_text(format, [false, false]);
        let edit =
            HomeEdit { shown: format.file_name(), copy: &text, seen: Some(&text), home: nonsense };
        let taken = take_over_plan(&edit, &BTreeSet::new(), AT);
        assert_eq!(taken.text, None, "{nonsense}");
        assert!(taken.remarks[0].starts_with(format.file_name()), "{:?}", taken.remarks);
    }
}

#[test]
fn no_line_of_the_knowledge_index_is_lost() {
    let (seen, copy, home) = ("# Index\n- a\n", "# Index\n- a\n- run\n", "# Index\n- a\n- mine\n");
    let edit = HomeEdit { shown: "index.md", copy, seen: Some(seen), home };
    let taken = take_over_text(&edit);
    assert_eq!(taken.text.as_deref(), Some("# Index\n- a\n- mine\n- run\n"));
    assert_eq!(taken.remarks, ["took over your edit of index.md"]);
}

#[test]
fn what_the_run_has_already_is_no_edit() {
    let edit = |home| HomeEdit { shown: "log.md", copy: "- a\n- b\n", seen: Some("- a\n"), home };
    assert_eq!(take_over_text(&edit("- a\n- b\n")).remarks, [""; 0]);
    let (copy, seen) = ("- a\n- b\n", Some("- a\n- c\n"));
    let back = HomeEdit { shown: "log.md", copy, seen, home: "- a\n" };
    assert_eq!(take_over_text(&back).remarks, [""; 0]);
}

#[test]
fn a_replayed_commit_has_the_branchs_plan_and_its_own_statuses() {
    for format in PlanFormat::ALL {
        let [first, second] = ids(format);
        let parent = plan_text(format, [false, false]);
        // The person ticked the second task on the branch; the commit contains the first.
        let (branch, commit) = (plan_text(format, [false, true]), plan_text(format, [true, false]));
        let (none, name) = (BTreeSet::new(), format.file_name());
        let text = merged_ledger(name, Some(&parent), &branch, &commit, &none, AT).unwrap();
        assert!(is_done(format, &text, &first) && is_done(format, &text, &second), "{text}");
        let missing = BTreeSet::from([first.clone()]);
        let text = merged_ledger(name, Some(&parent), &branch, &commit, &missing, AT).unwrap();
        assert!(!is_done(format, &text, &first) && is_done(format, &text, &second), "{text}");
    }
}

#[test]
fn without_a_parent_every_status_of_the_commit_counts() {
    for format in
        [PlanFormat::Deluxe, PlanFormat::Implementation, PlanFormat::Progress, PlanFormat::Jsonl]
    {
        let [first, _] = ids(format);
        let (branch, commit) =
            (plan_text(format, [false, false]), plan_text(format, [true, false]));
        let none = BTreeSet::new();
        let text = merged_ledger(format.file_name(), None, &branch, &commit, &none, AT).unwrap();
        assert!(is_done(format, &text, &first), "{text}");
    }
}

#[test]
fn another_branchs_plan_gets_new_open_tasks_of_home() {
    for format in PlanFormat::ALL {
        let [first, _] = ids(format);
        let branch = plan_text(format, [true, false]);
        let home =
            plan_text(format, [false, false]).replace("task 1", "task 7").replace("t-1", "t-7");
        let text = with_new_tasks(format.file_name(), &branch, &home).unwrap();
        assert!(is_done(format, &text, &first), "{text}");
        let plan = codec(format).parse(&text).unwrap();
        assert!(plan.tasks.iter().any(|task| task.name == "task 7"), "{text}");
        assert!(plan.tasks.iter().any(|task| task.name == "task 1"), "{text}");
    }
}
