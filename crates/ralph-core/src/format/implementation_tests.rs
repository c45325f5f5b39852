//! implementation.json: every verb changes exactly its bytes, and the spec's status follows.

use super::*;
use crate::plan::{Issue, KillReason, KilledRun, Priority, Retirement};

#[path = "implementation_add_tests.rs"]
mod adding;

const AT: &str = "2026-03-01T10:00:00Z";

const PRETTY: &str = r#"{
  "version": 1,
  "updatedAt": "2026-01-17T10:30:00Z",
  "updatedBy": "plan-mode",
  "qualityGates": [
    "bun run typecheck",
    {"name": "unit", "command": "bun test", "required": false}
  ],
  "specs": [
    {
      "id": "avatar",
      "file": "specs/user-avatar.md",
      "name": "User Avatar",
      "priority": 1,
      "status": "in_progress",
      "context": "Use S3.",
      "tasks": [
        {
          "id": "avatar-1",
          "description": "Add the field",
          "status": "completed"
        },
        {
          "id": "avatar-2",
          "description": "Add the endpoint",
          "status": "pending",
          "points": 3.0,
          "acceptanceCriteria": ["Users can upload"]
        }
      ],
      "acceptanceCriteria": ["JPG and PNG"]
    },
    {
      "id": "login",
      "priority": 5,
      "status": "pending",
      "dependsOn": [],
      "tasks": [
        {
          "id": "login-01",
          "description": "Add the form",
          "status": "pending"
        }
      ]
    }
  ]
}
"#;

/// Four spaces, CRLF, a byte order mark and no line end at the end.
const FOUR: &str = "\u{feff}{\r\n    \"specs\": [\r\n        {\r\n            \"id\": \"a\",\r\n            \"tasks\": [\r\n                {\r\n                    \"id\": \"a-1\",\r\n                    \"description\": \"A\",\r\n                    \"status\": \"pending\"\r\n                }\r\n            ]\r\n        }\r\n    ]\r\n}";

const COMPACT: &str = r#"{"updatedAt":"then","specs":[{"id":"s","status":"pending","tasks":[{"id":"s-1","description":"A","status":"pending"},{"id":"s-2","description":"B","status":"pending"}],"z":1e2}]}"#;

fn plan(text: &str) -> Plan {
    ImplementationCodec.parse(text).unwrap()
}

fn task(text: &str, id: &str) -> Task {
    plan(text).task(&id.into()).unwrap().clone()
}

fn status(text: &str, spec: usize) -> Option<String> {
    plan(text).specs[spec].status.clone()
}

fn edit(text: &str, edits: &[PlanEdit]) -> String {
    let out = ImplementationCodec.edit(text, edits).unwrap();
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

fn accept(id: &str) -> PlanEdit {
    retire(id, Retirement::Accepted, None)
}

fn reject(id: &str, reason: &str) -> PlanEdit {
    PlanEdit::Reject { id: id.into(), reason: reason.into(), at: AT.into() }
}

fn add(task: Task) -> PlanEdit {
    PlanEdit::AddTask { task, after: None }
}

fn named(id: &str, name: &str, spec: Option<&str>) -> Task {
    let spec = spec.map(str::to_owned);
    Task { id: id.into(), name: name.into(), spec, ..Task::default() }
}

/// The one place where `old` became `new` in `text`.
fn with(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "{old}");
    text.replacen(old, new, 1)
}

fn error(text: &str) -> String {
    let error = ImplementationCodec.parse(text).unwrap_err();
    format!("{}:{}: {}", error.line, error.column.unwrap_or(0), error.message)
}

#[test]
fn specs_gates_and_tasks_are_read() {
    let plan = plan(PRETTY);
    assert_eq!(plan.format, PlanFormat::Implementation);
    assert_eq!(plan.current_spec, None);
    let gate = |name: &str, command: &str, required| PlanGate {
        name: name.into(),
        command: command.into(),
        required,
    };
    let typecheck = gate("typecheck", "bun run typecheck", None);
    assert_eq!(plan.gates, [typecheck, gate("unit", "bun test", Some(false))]);
    assert_eq!(
        plan.specs[0],
        SpecEntry {
            id: "avatar".into(),
            file: Some("specs/user-avatar.md".into()),
            name: Some("User Avatar".into()),
            priority: Some(1),
            context: Some("Use S3.".into()),
            accept: vec!["JPG and PNG".into()],
            status: Some("in_progress".into()),
        }
    );
    let places: Vec<_> = plan.tasks.iter().map(|t| (t.id.as_str(), t.line)).collect();
    assert_eq!(places, [("avatar-1", 18), ("avatar-2", 23), ("login-01", 39)]);
    assert_eq!(plan.tasks[0].state, TaskState::Accepted);
    assert_eq!(plan.tasks[1].spec.as_deref(), Some("avatar"));
    assert_eq!(plan.tasks[1].accept, ["Users can upload"]);
}

#[test]
fn a_gate_is_called_after_its_last_word_that_is_no_option() {
    for (command, name) in [
        ("cargo test --all", "test"),
        ("make", "make"),
        ("--x", "--x"),
        ("npm  run\tlint ", "lint"),
    ] {
        assert_eq!(gate_name(command), name);
    }
}

#[test]
fn the_members_ralph_adds_are_read_back() {
    let full = Task {
        notes: Some("n\n\"q\"".into()),
        accept: vec!["a".into()],
        deps: vec!["x-1".into()],
        priority: Some(Priority::High),
        auto_priority: Some(Priority::Low),
        retries: 3,
        max_retries: Some(0),
        max_turns: Some(9),
        skills: vec!["s".into()],
        libraries: vec!["l".into()],
        needs_docs: true,
        parent: Some("x-1".into()),
        created_from: Some("i-1".into()),
        done_at: Some(AT.into()),
        reject: Some("no".into()),
        phase: Some("Phase 1".into()),
        line: 12,
        ..named("x-3", "C", Some("x"))
    };
    for state in [
        TaskState::Pending,
        TaskState::Running,
        TaskState::Accepted,
        TaskState::Blocked(String::new()),
        TaskState::Blocked("no key".into()),
        TaskState::Failed(None),
        TaskState::Failed(Some("red".into())),
        TaskState::Skipped,
    ] {
        let full = Task { state, ..full.clone() };
        let text = edit(&ImplementationCodec.empty("", AT), &[add(full.clone())]);
        assert_eq!(plan(&text).tasks[0], full, "{text}");
        assert_eq!(edit(&text, &[PlanEdit::UpdateTask(full)]), text);
    }
}

#[test]
fn states_the_file_cannot_tell_apart_become_the_nearest_one() {
    let kill = KilledRun { reason: KillReason::Timeout, log: None };
    for (state, read) in
        [(TaskState::Done, TaskState::Accepted), (TaskState::Killed(kill), TaskState::Pending)]
    {
        let text = update(FOUR, "a-1", |t| t.state = state);
        assert_eq!(task(&text, "a-1").state, read);
    }
}

#[test]
fn an_update_touches_only_what_differs() {
    assert_eq!(update(PRETTY, "avatar-2", |_| {}), PRETTY);
    assert_eq!(update(PRETTY, "avatar-2", |t| t.spec = None), PRETTY);
    assert_eq!(update(PRETTY, "avatar-2", |t| t.spec = Some("user-avatar.md".into())), PRETTY);
    let out = update(PRETTY, "avatar-2", |t| {
        t.name = "Add two endpoints".into();
        t.accept.push("Errors are shown".into());
        t.deps.push("avatar-1".into());
    });
    let expected = with(PRETTY, "Add the endpoint", "Add two endpoints");
    let list = "[\"Users can upload\", \"Errors are shown\"]";
    let added = format!("{list},\n          \"dependsOn\": [\"avatar-1\"]");
    assert_eq!(out, with(&expected, "[\"Users can upload\"]", &added));
}

#[test]
fn the_first_started_task_starts_its_spec() {
    let out = update(COMPACT, "s-1", |t| t.state = TaskState::Running);
    let expected =
        with(COMPACT, r#""id":"s","status":"pending""#, r#""id":"s","status":"in_progress""#);
    let expected = with(&expected, r#""A","status":"pending""#, r#""A","status":"in_progress""#);
    assert_eq!(out, expected);
    let back = update(&out, "s-1", |t| t.state = TaskState::Pending);
    assert_eq!(status(&back, 0).as_deref(), Some("in_progress"), "begun work stays begun");
}

#[test]
fn the_last_finished_task_completes_its_spec() {
    let first = edit(COMPACT, &[accept("s-1")]);
    let expected =
        with(COMPACT, r#""id":"s","status":"pending""#, r#""id":"s","status":"in_progress""#);
    let done = format!(r#""A","status":"completed","completedAt":"{AT}""#);
    let expected = with(&expected, r#""A","status":"pending""#, &done);
    assert_eq!(first, with(&expected, "then", AT));
    let second = edit(&first, &[retire("s-2", Retirement::Skipped, None)]);
    assert_eq!(status(&second, 0).as_deref(), Some("completed"));
    let reopened = edit(&second, &[reject("s-1", "no")]);
    assert_eq!(status(&reopened, 0).as_deref(), Some("in_progress"));
    let more = edit(&second, &[add(named("s-3", "C", Some("s")))]);
    assert_eq!(status(&more, 0).as_deref(), Some("in_progress"));
    let gone = edit(&first, &[retire("s-2", Retirement::Deleted, None)]);
    assert_eq!(status(&gone, 0).as_deref(), Some("completed"));
}

#[test]
fn a_status_somebody_chose_stays_until_an_edit_is_a_reason_to_change_it() {
    let chosen = with(COMPACT, r#""id":"s","status":"pending""#, r#""id":"s","status":"blocked""#);
    let out = update(&chosen, "s-1", |t| t.notes = Some("x".into()));
    assert_eq!(status(&out, 0).as_deref(), Some("blocked"));
    let out = update(&chosen, "s-1", |t| t.state = TaskState::Running);
    assert_eq!(status(&out, 0).as_deref(), Some("in_progress"));
    let empty = r#"{"specs":[{"id":"s","status":"completed","tasks":[]}]}"#;
    let out = edit(empty, &[add(named("n", "N", Some("s")))]);
    assert_eq!(status(&out, 0).as_deref(), Some("pending"));
}

#[test]
fn blocking_and_unblocking_leave_no_trace() {
    let blocked = update(FOUR, "a-1", |t| t.state = TaskState::Blocked("no key".into()));
    let pad = " ".repeat(20);
    let reason = format!("\"blocked\",\r\n{pad}\"blockedReason\": \"no key\"\r\n");
    let expected = with(FOUR, "\"pending\"\r\n", &reason);
    let spec = "            ],\r\n            \"status\": \"in_progress\"\r\n        }\r\n    ]";
    assert_eq!(blocked, with(&expected, "            ]\r\n        }\r\n    ]", spec));
    let back = update(&blocked, "a-1", |t| t.state = TaskState::Pending);
    assert_eq!(back, with(FOUR, "            ]\r\n        }\r\n    ]", spec));
}

#[test]
fn failing_keeps_the_reason() {
    let out = edit(COMPACT, &[retire("s-2", Retirement::Failed, Some("red"))]);
    assert!(out.contains(r#""B","status":"failed","failedReason":"red"}"#), "{out}");
    let out = update(&out, "s-2", |t| t.state = TaskState::Pending);
    assert!(out.contains(r#""B","status":"pending"}"#), "{out}");
}

#[test]
fn skipping_is_a_member_of_its_own() {
    let skipped = edit(COMPACT, &[retire("s-1", Retirement::Skipped, Some("later"))]);
    let expected =
        with(COMPACT, r#""A","status":"pending""#, r#""A","status":"pending","skipped":"later""#);
    assert_eq!(skipped, with(&expected, "then", AT));
    assert_eq!(task(&skipped, "s-1").state, TaskState::Skipped);
    let open = update(&skipped, "s-1", |t| t.state = TaskState::Pending);
    assert_eq!(open, with(COMPACT, "then", AT));
    let running = update(COMPACT, "s-1", |t| t.state = TaskState::Running);
    let skipped = edit(&running, &[retire("s-1", Retirement::Skipped, None)]);
    assert!(skipped.contains(r#""A","status":"pending","skipped":true}"#), "{skipped}");
    let said = with(COMPACT, r#""B""#, r#""B","skipped":false"#);
    assert_eq!(task(&said, "s-2").state, TaskState::Pending);
}

#[test]
fn rejecting_opens_the_task_again_and_counts() {
    let done = edit(COMPACT, &[accept("s-1")]);
    let out = edit(&done, &[reject("s-1", "no tests")]);
    let rejected = r#""A","status":"pending","retryCount":1,"reject":"no tests"}"#;
    assert!(out.contains(rejected), "{out}");
    let again = edit(&out, &[reject("s-1", "none yet")]);
    assert!(again.contains(r#""retryCount":2,"reject":"none yet"}"#), "{again}");
}

#[test]
fn deleting_takes_the_task_out() {
    let out = edit(COMPACT, &[retire("s-1", Retirement::Deleted, None)]);
    let expected = with(COMPACT, r#"{"id":"s-1","description":"A","status":"pending"},"#, "");
    assert_eq!(out, with(&expected, "then", AT));
    let none = edit(&out, &[retire("s-2", Retirement::Deleted, None)]);
    assert!(none.contains(r#""tasks":[],"z":1e2"#), "{none}");
}

#[test]
fn the_time_is_written_only_by_edits_that_have_one() {
    assert!(!update(COMPACT, "s-1", |t| t.state = TaskState::Running).contains(AT));
    let none = r#"{"specs":[{"id":"s","tasks":[{"id":"a","description":"A"}]}]}"#;
    let out = edit(none, &[retire("a", Retirement::Skipped, None)]);
    assert!(out.ends_with(&format!(r#""status":"completed"}}],"updatedAt":"{AT}"}}"#)), "{out}");
}

#[test]
fn a_stamp_says_when_and_by_whom() {
    let out = stamp(PRETTY, AT, "build-mode").unwrap();
    let expected = with(PRETTY, "2026-01-17T10:30:00Z", AT);
    assert_eq!(out, with(&expected, "plan-mode", "build-mode"));
    assert_eq!(stamp(&out, AT, "build-mode").unwrap(), out);
    let out = stamp(r#"{"specs":[]}"#, "t", "b").unwrap();
    assert_eq!(out, r#"{"specs":[],"updatedAt":"t","updatedBy":"b"}"#);
    assert!(stamp("[]", AT, "x").is_err());
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let moved = Task { spec: Some("login".into()), ..task(PRETTY, "avatar-1") };
    for edit in [
        PlanEdit::AddIssue(Issue::default()),
        PlanEdit::UpdateIssue(Issue::default()),
        PlanEdit::RemoveIssue("i-1".into()),
        PlanEdit::UseSpec("a.md".into()),
        PlanEdit::AcceptSpec { spec: "a.md".into(), at: AT.into() },
        PlanEdit::UpdateTask(moved),
    ] {
        let error = ImplementationCodec.edit(PRETTY, &[edit]).unwrap_err();
        assert!(error.to_string().starts_with("implementation.json cannot hold "), "{error}");
    }
}

#[test]
fn edits_of_unknown_ambiguous_or_taken_ids_are_refused() {
    let twice = "{\"specs\":[{\"id\":\"s\",\"tasks\":[{\"id\":\"a\",\"description\":\"1\"},\n\
        {\"id\":\"b\",\"description\":\"2\"}]},\n{\"id\":\"s\",\"tasks\":[{\"id\":\"a\",\"description\":\"3\"}]}]}";
    let fails = |edit: PlanEdit| ImplementationCodec.edit(twice, &[edit]).unwrap_err();
    let ambiguous = EditError::Ambiguous { id: "a".into(), lines: (1, 3) };
    assert_eq!(fails(accept("a")), ambiguous);
    assert_eq!(fails(accept("z")), EditError::Unknown("z".into()));
    let b = named("b", "B", Some("t"));
    assert_eq!(fails(add(b.clone())), EditError::Taken("b".into()));
    let two_specs = fails(add(named("c", "C", Some("s"))));
    let expected = "line 3: \"s\" stands for more than one spec; give each its own id";
    assert_eq!(two_specs.to_string(), expected);
    let same = PlanEdit::UpdateTask(Task { name: "B".into(), ..task(twice, "b") });
    assert!(ImplementationCodec.edit(twice, &[same]).is_ok(), "its spec was not asked for");
}

#[test]
fn damage_is_an_error_with_its_place() {
    assert_eq!(error("[]"), "1:1: expected an object, not an array");
    assert_eq!(error("{}"), "1:1: `specs` is missing");
    let spec = |members: &str| error(&format!("{{\"specs\": [\n  {{{members}}}\n]}}"));
    assert_eq!(spec("\"name\": \"x\""), "2:3: `id` is missing");
    assert_eq!(
        spec("\"id\": \"a\", \"priority\": 1.5"),
        "2:27: `priority` must be a whole number, not 1.5"
    );
    assert_eq!(
        spec("\"id\": \"a\", \"status\": \"done\""),
        "2:25: `status` must be pending, in_progress, completed, blocked or failed, not \"done\""
    );
    assert_eq!(spec("\"id\": \"a\", \"tasks\": 1"), "2:24: `tasks` must be an array, not 1");
    let task = |members: &str| spec(&format!("\"id\": \"a\", \"tasks\": [\n{{{members}}}]"));
    assert_eq!(task("\"id\": \"\""), "3:8: `id` must be a word, not \"\"");
    assert_eq!(task("\"id\": \"x\""), "3:1: `description` is missing");
    assert_eq!(
        task("\"id\": \"x\", \"description\": \"d\", \"skipped\": 1"),
        "3:44: `skipped` must be true, false or the reason, not 1"
    );
    assert_eq!(
        error("{\"qualityGates\": [1], \"specs\": []}"),
        "1:19: expected an object, not a number"
    );
    assert_eq!(error("{\"qualityGates\": [{}], \"specs\": []}"), "1:19: `command` is missing");
}
