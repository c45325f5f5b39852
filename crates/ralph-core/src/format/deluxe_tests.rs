//! plan.json: every verb changes exactly its bytes, in the file's own style.

use super::*;
use crate::plan::{Issue, KillReason, KilledRun, Priority, Retirement};

const AT: &str = "2026-03-01T10:00:00Z";

/// Two spaces, lists on one line, as Ralph Deluxe's own files are.
const PRETTY: &str = r#"{
  "project": "shop",
  "branch": "main",
  "max_iterations": 50,
  "tasks": [
    {
      "id": "T-001",
      "title": "Add the schema",
      "description": "Two tables.",
      "status": "done",
      "order": 1,
      "skills": ["sql"],
      "needs_docs": false,
      "libraries": [],
      "acceptance_criteria": ["Migrations run", "Tests pass"],
      "depends_on": [],
      "max_turns": 20,
      "retry_count": 0,
      "max_retries": 2
    },
    {
      "id": "T-002",
      "title": "Add the form",
      "description": "",
      "status": "in_progress",
      "order": 7,
      "owner": {"name": "Zoë", "rank": 1.50},
      "depends_on": ["T-001"],
      "retry_count": 1
    }
  ],
  "validation_strategy": "strict"
}
"#;

const TABS: &str = "\u{feff}{\r\n\t\"tasks\": [\r\n\t\t{\r\n\t\t\t\"id\": \"a\",\r\n\t\t\t\"title\": \"A\",\r\n\
    \t\t\t\"status\": \"pending\",\r\n\t\t\t\"depends_on\": [\r\n\t\t\t\t\"x\"\r\n\t\t\t]\r\n\t\t}\r\n\t]\r\n}";

const COMPACT: &str = r#"{"tasks":[{"id":"TASK-7","title":"A","status":"pending"},{"id":"TASK-8","title":"B","status":"failed","failed_reason":"red"}],"x":[1.0,2e3]}"#;

fn plan(text: &str) -> Plan {
    DeluxeCodec.parse(text).unwrap()
}

fn task(text: &str, id: &str) -> Task {
    plan(text).task(&id.into()).unwrap().clone()
}

fn edit(text: &str, edits: &[PlanEdit]) -> String {
    let out = DeluxeCodec.edit(text, edits).unwrap();
    plan(&out);
    out
}

fn update(text: &str, id: &str, change: impl FnOnce(&mut Task)) -> String {
    let mut task = task(text, id);
    change(&mut task);
    edit(text, &[PlanEdit::UpdateTask(task)])
}

fn retire(id: &str, how: Retirement, reason: Option<&str>) -> PlanEdit {
    PlanEdit::Retire { id: id.into(), how, reason: reason.map(str::to_owned), at: AT.into() }
}

fn reject(id: &str, reason: &str) -> PlanEdit {
    PlanEdit::Reject { id: id.into(), reason: reason.into(), at: AT.into() }
}

fn add(task: Task, after: Option<&str>) -> PlanEdit {
    PlanEdit::AddTask { task, after: after.map(Id::from) }
}

fn named(id: &str, name: &str) -> Task {
    Task { id: id.into(), name: name.into(), ..Task::default() }
}

/// The one place where `old` became `new` in `text`.
fn with(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old}");
    text.replacen(old, new, 1)
}

fn error(text: &str) -> String {
    let error = DeluxeCodec.parse(text).unwrap_err();
    format!("{}:{}: {}", error.line, error.column.unwrap_or(0), error.message)
}

#[test]
fn every_field_is_read() {
    let plan = plan(PRETTY);
    assert_eq!(plan.format, PlanFormat::Deluxe);
    assert_eq!(plan.title.as_deref(), Some("shop"));
    assert_eq!(
        plan.tasks[0],
        Task {
            id: "T-001".into(),
            name: "Add the schema".into(),
            state: TaskState::Accepted,
            notes: Some("Two tables.".into()),
            accept: vec!["Migrations run".into(), "Tests pass".into()],
            skills: vec!["sql".into()],
            max_turns: Some(20),
            max_retries: Some(2),
            line: 6,
            ..Task::default()
        }
    );
    let second = &plan.tasks[1];
    assert_eq!((second.state.clone(), second.retries, second.line), (TaskState::Running, 1, 21));
    assert_eq!((&second.notes, &second.deps), (&None, &vec![Id::from("T-001")]));
}

#[test]
fn the_members_ralph_adds_are_read_back() {
    let full = Task {
        spec: Some("shop.md".into()),
        state: TaskState::Blocked("no key".into()),
        notes: Some("n\n\"q\"".into()),
        accept: vec!["a".into()],
        deps: vec!["T-001".into()],
        priority: Some(Priority::High),
        auto_priority: Some(Priority::Low),
        retries: 3,
        max_retries: Some(0),
        max_turns: Some(9),
        skills: vec!["s".into()],
        libraries: vec!["l".into()],
        needs_docs: true,
        parent: Some("T-001".into()),
        created_from: Some("i-1".into()),
        done_at: Some(AT.into()),
        reject: Some("no".into()),
        phase: Some("Phase 1".into()),
        line: 3,
        ..named("T-003", "C")
    };
    for state in [
        TaskState::Pending,
        TaskState::Running,
        TaskState::Accepted,
        TaskState::Blocked("no key".into()),
        TaskState::Failed(None),
        TaskState::Failed(Some("red".into())),
        TaskState::Skipped,
    ] {
        let full = Task { state, ..full.clone() };
        let text = edit(&DeluxeCodec.empty("", AT), &[add(full.clone(), None)]);
        assert_eq!(plan(&text).tasks[0], full);
        assert_eq!(edit(&text, &[PlanEdit::UpdateTask(full)]), text);
    }
}

#[test]
fn states_the_file_cannot_tell_apart_become_the_nearest_one() {
    let kill = KilledRun { reason: KillReason::Timeout, log: None };
    for (state, read) in [
        (TaskState::Done, TaskState::Accepted),
        (TaskState::Killed(kill), TaskState::Pending),
        (TaskState::Blocked(String::new()), TaskState::Blocked("no reason given".into())),
    ] {
        let new = Task { state, ..named("T-1", "A") };
        let text = edit(&DeluxeCodec.empty("", AT), &[add(new, None)]);
        assert_eq!(task(&text, "T-1").state, read);
    }
}

#[test]
fn a_new_task_has_all_members_in_the_order_of_the_format() {
    let out = edit(PRETTY, &[add(named("T-003", "Say \"hi\""), None)]);
    let new = r#",
    {
      "id": "T-003",
      "title": "Say \"hi\"",
      "description": "",
      "status": "pending",
      "order": 8,
      "skills": [],
      "needs_docs": false,
      "libraries": [],
      "acceptance_criteria": [],
      "depends_on": [],
      "retry_count": 0
    }
  ],
  "validation"#;
    assert_eq!(out, with(PRETTY, "\n  ],\n  \"validation", new));
}

#[test]
fn new_tasks_follow_the_one_they_name_in_the_order_given() {
    let edits = [
        add(named("n1", "1"), Some("T-001")),
        add(named("n2", "2"), None),
        add(named("n3", "3"), Some("T-001")),
        add(named("n4", "4"), Some("n2")),
    ];
    let ids: Vec<_> = plan(&edit(PRETTY, &edits)).tasks.into_iter().map(|t| t.id).collect();
    assert_eq!(ids, ["T-001", "n1", "n3", "T-002", "n2", "n4"].map(Id::from));
}

#[test]
fn a_new_task_follows_tabs_line_ends_and_list_layout() {
    let new = Task { deps: vec!["a".into()], max_turns: Some(5), ..named("b", "B") };
    let members = [
        "\"id\": \"b\"",
        "\"title\": \"B\"",
        "\"description\": \"\"",
        "\"status\": \"pending\"",
        "\"order\": 1",
        "\"skills\": []",
        "\"needs_docs\": false",
        "\"libraries\": []",
        "\"acceptance_criteria\": []",
        "\"depends_on\": [\r\n\t\t\t\t\"a\"\r\n\t\t\t]",
        "\"max_turns\": 5",
        "\"retry_count\": 0",
    ];
    let new_text =
        format!("}},\r\n\t\t{{\r\n\t\t\t{}\r\n\t\t}}\r\n\t]", members.join(",\r\n\t\t\t"));
    assert_eq!(edit(TABS, &[add(new, None)]), with(TABS, "}\r\n\t]", &new_text));
}

#[test]
fn a_new_task_in_a_compact_file_is_compact() {
    let new = concat!(
        r#"},{"id":"TASK-9","title":"C","description":"","status":"pending","order":1,"skills":[],"#,
        r#""needs_docs":false,"libraries":[],"acceptance_criteria":[],"depends_on":[],"#,
        r#""retry_count":0}],"x""#
    );
    let out = edit(COMPACT, &[add(named("TASK-9", "C"), None)]);
    assert_eq!(out, with(COMPACT, r#"}],"x""#, new));
}

#[test]
fn an_update_touches_only_what_differs() {
    assert_eq!(update(PRETTY, "T-002", |_| {}), PRETTY);
    assert_eq!(update(PRETTY, "T-002", |t| t.line = 99), PRETTY);
    let out = update(PRETTY, "T-002", |t| {
        t.name = "Add a form".into();
        t.deps.push("T-009".into());
        t.priority = Some(Priority::High);
    });
    let expected = with(PRETTY, "\"Add the form\"", "\"Add a form\"");
    let expected = with(&expected, "[\"T-001\"]", "[\"T-001\", \"T-009\"]");
    let retry = "\"retry_count\": 1";
    let expected = with(&expected, retry, &format!("{retry},\n      \"priority\": \"high\""));
    assert_eq!(out, expected);
}

#[test]
fn an_update_clears_what_is_gone() {
    let out = update(PRETTY, "T-001", |t| {
        t.notes = None;
        t.accept.clear();
        t.max_turns = None;
    });
    let expected = with(PRETTY, "\"Two tables.\"", "\"\"");
    let expected = with(&expected, "[\"Migrations run\", \"Tests pass\"]", "[]");
    assert_eq!(out, with(&expected, "\n      \"max_turns\": 20,", ""));
}

#[test]
fn blocking_and_unblocking_leave_no_trace() {
    let blocked = update(TABS, "a", |t| t.state = TaskState::Blocked("needs a key".into()));
    let reason = "\t\t\t],\r\n\t\t\t\"blocked_reason\": \"needs a key\"\r\n\t\t}";
    assert_eq!(blocked, with(TABS, "\t\t\t]\r\n\t\t}", reason));
    assert_eq!(task(&blocked, "a").state, TaskState::Blocked("needs a key".into()));
    assert_eq!(update(&blocked, "a", |t| t.state = TaskState::Pending), TABS);
}

#[test]
fn a_retired_task_can_be_opened_again() {
    let expected = with(COMPACT, r#""failed","failed_reason":"red""#, r#""pending""#);
    assert_eq!(update(COMPACT, "TASK-8", |t| t.state = TaskState::Pending), expected);
}

#[test]
fn accepting_says_done_and_when() {
    let out = edit(PRETTY, &[retire("T-002", Retirement::Accepted, None)]);
    let expected = with(PRETTY, "in_progress", "done");
    let retry = "\"retry_count\": 1";
    let done = format!("{retry},\n      \"done_at\": \"{AT}\"");
    assert_eq!(out, with(&expected, retry, &done));
    let later = PlanEdit::Retire {
        id: "T-002".into(),
        how: Retirement::Accepted,
        reason: None,
        at: "2027-01-01T00:00:00Z".into(),
    };
    assert_eq!(edit(&out, &[later]), out);
}

#[test]
fn failing_and_skipping_keep_the_reason() {
    let failed = edit(COMPACT, &[retire("TASK-7", Retirement::Failed, Some("tests red"))]);
    let expected = with(
        COMPACT,
        r#""A","status":"pending""#,
        r#""A","status":"failed","failed_reason":"tests red""#,
    );
    assert_eq!(failed, expected);
    let skipped = edit(COMPACT, &[retire("TASK-8", Retirement::Skipped, Some("later"))]);
    let expected = with(
        COMPACT,
        r#""status":"failed","failed_reason":"red""#,
        r#""status":"skipped","skipped_reason":"later""#,
    );
    assert_eq!(skipped, expected);
    let open = update(&skipped, "TASK-8", |t| t.state = TaskState::Pending);
    assert!(!open.contains("skipped"), "{open}");
}

#[test]
fn deleting_takes_the_task_out() {
    let out = edit(COMPACT, &[retire("TASK-7", Retirement::Deleted, None)]);
    let expected = with(COMPACT, r#"{"id":"TASK-7","title":"A","status":"pending"},"#, "");
    assert_eq!(out, expected);
    let out = edit(TABS, &[retire("a", Retirement::Deleted, None)]);
    assert_eq!(out, "\u{feff}{\r\n\t\"tasks\": []\r\n}");
}

#[test]
fn rejecting_opens_the_task_again_and_counts() {
    let done = edit(PRETTY, &[retire("T-002", Retirement::Accepted, None)]);
    let out = edit(&done, &[reject("T-002", "no tests")]);
    let expected = with(PRETTY, "in_progress", "pending");
    let rejected = "\"retry_count\": 2,\n      \"reject\": \"no tests\"";
    assert_eq!(out, with(&expected, "\"retry_count\": 1", rejected));
}

#[test]
fn a_batch_is_worked_out_against_the_old_text() {
    let edits = [
        retire("TASK-7", Retirement::Deleted, None),
        add(named("n", "N"), Some("TASK-7")),
        retire("TASK-8", Retirement::Skipped, None),
        reject("TASK-8", "on second thought"),
    ];
    let tasks = plan(&edit(COMPACT, &edits)).tasks;
    assert_eq!(tasks[0].id, "n".into());
    assert_eq!((&tasks[1].state, tasks[1].retries), (&TaskState::Pending, 1));
    assert_eq!(tasks.len(), 2);
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    for edit in [
        PlanEdit::AddIssue(Issue::default()),
        PlanEdit::UpdateIssue(Issue::default()),
        PlanEdit::RemoveIssue("i-1".into()),
        PlanEdit::UseSpec("a.md".into()),
        PlanEdit::AcceptSpec { spec: "a.md".into(), at: AT.into() },
    ] {
        let error = DeluxeCodec.edit(PRETTY, &[edit]).unwrap_err();
        assert!(matches!(error, EditError::Unsupported { .. }), "{error}");
        assert!(error.to_string().starts_with("plan.json cannot hold "), "{error}");
    }
}

#[test]
fn edits_of_unknown_ambiguous_or_taken_ids_are_refused() {
    let twice =
        r#"{"tasks":[{"id":"a","title":"1"},{"id":"a","title":"2"},{"id":"b","title":"3"}]}"#;
    assert_eq!(plan(twice).tasks.len(), 3);
    let fails = |edit: PlanEdit| DeluxeCodec.edit(twice, &[edit]).unwrap_err();
    let ambiguous = EditError::Ambiguous { id: "a".into(), lines: (1, 1) };
    assert_eq!(fails(reject("a", "x")), ambiguous);
    assert_eq!(fails(add(named("c", "C"), Some("a"))), ambiguous);
    assert_eq!(fails(PlanEdit::UpdateTask(named("z", "Z"))), EditError::Unknown("z".into()));
    assert_eq!(fails(add(named("b", "B"), None)), EditError::Taken("b".into()));
    let both = [add(named("c", "1"), None), add(named("c", "2"), None)];
    assert_eq!(DeluxeCodec.edit(twice, &both), Err(EditError::Taken("c".into())));
    assert!(DeluxeCodec.edit(twice, &[reject("b", "x")]).is_ok());
}

#[test]
fn damage_is_an_error_with_its_place() {
    assert_eq!(error("[]"), "1:1: expected an object, not an array");
    assert_eq!(error("{}"), "1:1: `tasks` is missing");
    assert_eq!(error("{\"tasks\": {}}"), "1:11: `tasks` must be an array, not an object");
    let tasks = |members: &str| error(&format!("{{\"tasks\": [\n  {{{members}}}\n]}}"));
    assert_eq!(tasks("\"title\": \"x\""), "2:3: `id` is missing");
    assert_eq!(tasks("\"id\": 1, \"title\": \"x\""), "2:10: `id` must be a string, not 1");
    assert_eq!(tasks("\"id\": \" \", \"title\": \"x\""), "2:10: `id` must be a word, not \" \"");
    assert_eq!(tasks("\"id\": \"a\""), "2:3: `title` is missing");
    assert_eq!(
        tasks("\"id\": \"a\", \"title\": \"é\", \"status\": \"wip\""),
        "2:39: `status` must be pending, in_progress, done, failed or skipped, not \"wip\""
    );
    assert_eq!(
        tasks("\"id\": \"a\", \"title\": \"A\",\n\"depends_on\": \"b\""),
        "3:15: `depends_on` must be an array of strings, not \"b\""
    );
    assert!(error(&PRETTY[..300]).starts_with("15:"), "{}", error(&PRETTY[..300]));
    assert!(DeluxeCodec.edit("{", &[]).is_err());
}

#[test]
fn a_task_may_be_as_short_as_id_and_title() {
    let text = r#"{"tasks": [{"id": "a", "title": "A", "status": null, "skills": null}]}"#;
    assert_eq!(plan(text).tasks, [Task { line: 1, ..named("a", "A") }]);
    let out = edit(text, &[reject("a", "x")]);
    assert_eq!(task(&out, "a").state, TaskState::Pending);
}

#[test]
fn an_empty_plan_is_a_pretty_file() {
    assert_eq!(
        DeluxeCodec.empty("my \"shop\"", AT),
        "{\n  \"project\": \"my \\\"shop\\\"\",\n  \"tasks\": []\n}\n"
    );
    assert_eq!(DeluxeCodec.empty("", AT), "{\n  \"tasks\": []\n}\n");
    let out = edit(&DeluxeCodec.empty("", AT), &[add(named("T-001", "A"), None)]);
    assert!(out.starts_with("{\n  \"tasks\": [\n    {\n      \"id\": \"T-001\",\n"), "{out}");
    assert!(out.ends_with("\"retry_count\": 0\n    }\n  ]\n}\n"), "{out}");
}

#[test]
fn new_ids_go_on_in_the_style_of_the_plan() {
    let fresh = |text: &str| {
        let plan = plan(text);
        let taken = |id: &Id| plan.task(id).is_some();
        let id = DeluxeCodec.fresh_id(&plan, None, &taken, &mut || unreachable!());
        id.as_str().to_owned()
    };
    assert_eq!(fresh(PRETTY), "T-003");
    assert_eq!(fresh(COMPACT), "TASK-9");
    assert_eq!(fresh(TABS), "T-001");
    assert_eq!(fresh(r#"{"tasks": []}"#), "T-001");
    let mixed = r#"{"tasks": [{"id":"P1-009","title":"A"},{"id":"setup","title":"B"}]}"#;
    assert_eq!(fresh(mixed), "P1-010");
}

#[test]
fn ten_thousand_new_tasks_are_one_batch() {
    let tasks = (1..=10_000).map(|n| named(&format!("T-{n:05}"), "x"));
    let edits: Vec<PlanEdit> = tasks.map(|task| add(task, None)).collect();
    let out = edit(&DeluxeCodec.empty("", AT), &edits);
    let plan = plan(&out);
    assert_eq!(plan.tasks.len(), 10_000);
    assert_eq!(plan.tasks[9_999].line, 3 + 9_999 * 13);
    let all: Vec<PlanEdit> = plan.tasks.iter().map(|t| reject(t.id.as_str(), "x")).collect();
    assert_eq!(self::plan(&edit(&out, &all)).tasks[9_999].retries, 1);
}
