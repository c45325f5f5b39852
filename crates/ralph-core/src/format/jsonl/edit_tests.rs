//! Each edit, and exactly the bytes it changes.

use super::JsonlCodec;
use crate::format::{EditError, PlanCodec};
use crate::plan::{
    Id, Issue, KillReason, KilledRun, PlanEdit, Priority, Retirement, Task, TaskState,
};

const AT: &str = "2026-02-03T04:05:06Z";

/// A plan as people and other tools write it: spaces, unknown fields, unknown records.
const PLAN: &str = concat!(
    r#"{"t": "config", "timeout_ms": 300000}"#,
    "\n",
    r#"{"t": "task", "id": "t-1", "name": "One", "s": "d", "done_at": "c1", "mine": 1.50}"#,
    "\n",
    "\n",
    r#"{"t":"task","id":"t-2","spec":"a.md","name":"Two","s":"p","deps":["t-1"],"x":{"y":[]}}"#,
    "\n",
    r#"{"t":"issue","id":"i-1","desc":"why?"}"#,
    "\n",
    r#"{"t":"weird","id":"t-1"}"#,
    "\n",
);

fn edit(text: &str, edits: &[PlanEdit]) -> String {
    let out = JsonlCodec.edit(text, edits).unwrap();
    JsonlCodec.parse(&out).unwrap();
    out
}

fn refusal(text: &str, edit: PlanEdit) -> EditError {
    JsonlCodec.edit(text, &[edit]).unwrap_err()
}

fn live(id: &str) -> Task {
    JsonlCodec.parse(PLAN).unwrap().task(&id.into()).unwrap().clone()
}

fn new_task(id: &str) -> Task {
    Task { id: id.into(), name: "New".into(), ..Task::default() }
}

fn add(task: Task) -> PlanEdit {
    PlanEdit::AddTask { task, after: None }
}

fn retire(id: &str, how: Retirement, reason: Option<&str>) -> PlanEdit {
    let reason = reason.map(str::to_owned);
    PlanEdit::Retire { id: id.into(), how, reason, at: AT.into() }
}

/// PLAN with one line changed.
fn with_line(old: &str, new: &str) -> String {
    assert!(PLAN.contains(old), "{old}");
    PLAN.replace(old, new)
}

#[test]
fn no_edits_give_the_same_bytes() {
    for text in ["", "\u{feff}", "\n\n", PLAN, &PLAN.replace('\n', "\r\n"), PLAN.trim_end()] {
        assert_eq!(edit(text, &[]), text);
    }
}

#[test]
fn a_new_task_is_one_compact_line_at_the_end() {
    let mut task = new_task("t-9");
    assert_eq!(
        edit(PLAN, &[add(task.clone())]),
        format!("{PLAN}{{\"t\":\"task\",\"id\":\"t-9\",\"name\":\"New\",\"s\":\"p\"}}\n")
    );
    task.accept = vec!["tests pass".into()];
    task.deps = vec!["t-1".into(), "t-2".into()];
    task.priority = Some(Priority::High);
    task.retries = 1;
    task.needs_docs = true;
    assert_eq!(
        edit("", &[add(task)]),
        concat!(
            r#"{"t":"task","id":"t-9","name":"New","s":"p","accept":"tests pass","#,
            r#""deps":["t-1","t-2"],"priority":"high","retry_count":1,"needs_docs":true}"#,
            "\n"
        )
    );
}

#[test]
fn every_live_state_of_a_new_task_is_written() {
    let line = |state: TaskState| edit("", &[add(Task { state, ..new_task("t-9") })]);
    let start = r#"{"t":"task","id":"t-9","name":"New","#;
    assert_eq!(line(TaskState::Running), format!("{start}\"s\":\"p\"}}\n"));
    assert_eq!(line(TaskState::Done), format!("{start}\"s\":\"d\"}}\n"));
    assert_eq!(
        line(TaskState::Blocked("b".into())),
        format!("{start}\"s\":\"p\",\"blocked\":\"b\"}}\n")
    );
    let kill = KilledRun { reason: KillReason::Timeout, log: Some("l".into()) };
    assert_eq!(
        line(TaskState::Killed(kill)),
        format!("{start}\"s\":\"p\",\"kill_reason\":\"timeout\",\"kill_log\":\"l\"}}\n")
    );
}

#[test]
fn a_task_that_arrives_finished_becomes_its_tombstone() {
    let line = |state: TaskState| {
        let done_at = Some("2026-01-01T00:00:00Z".to_owned());
        edit("", &[add(Task { state, spec: Some("a.md".into()), done_at, ..new_task("t-9") })])
    };
    assert_eq!(
        line(TaskState::Accepted),
        concat!(
            r#"{"t":"accept","id":"t-9","name":"New","spec":"a.md","#,
            r#""done_at":"2026-01-01T00:00:00Z","at":"2026-01-01T00:00:00Z"}"#,
            "\n"
        )
    );
    let carried = r#"{"t":"task","id":"t-9","spec":"a.md","name":"New","s":"p","done_at":"2026-01-01T00:00:00Z"}"#;
    assert_eq!(
        line(TaskState::Failed(Some("gave up".into()))),
        format!(
            "{{\"t\":\"reject\",\"id\":\"t-9\",\"name\":\"New\",\"reason\":\"gave up\",\"task\":{carried}}}\n"
        )
    );
    assert_eq!(
        line(TaskState::Skipped),
        format!("{{\"t\":\"delete\",\"id\":\"t-9\",\"name\":\"New\",\"task\":{carried}}}\n")
    );
}

#[test]
fn a_new_task_may_follow_another_line() {
    let after =
        |id: &str, after: &str| PlanEdit::AddTask { task: new_task(id), after: Some(after.into()) };
    let line =
        |id: &str| format!("{{\"t\":\"task\",\"id\":\"{id}\",\"name\":\"New\",\"s\":\"p\"}}\n");
    let (head, tail) = PLAN.split_at(PLAN.find("\n\n").unwrap() + 1);
    assert_eq!(edit(PLAN, &[after("t-9", "t-1")]), format!("{head}{}{tail}", line("t-9")));
    assert_eq!(
        edit(PLAN, &[after("t-8", "t-1"), after("t-9", "t-8")]),
        format!("{head}{}{}{tail}", line("t-8"), line("t-9"))
    );
    let open = r#"{"t":"task","id":"t-1","name":"One"}"#;
    assert_eq!(edit(open, &[after("t-9", "t-1")]), format!("{open}\n{}", line("t-9")));
    assert_eq!(
        edit(open, &[add(new_task("t-8")), after("t-9", "t-8")]),
        format!("{open}\n{}{}", line("t-8"), line("t-9"))
    );
    assert_eq!(refusal(PLAN, after("t-9", "t-7")), EditError::Unknown("t-7".into()));
}

#[test]
fn an_update_changes_only_the_members_that_differ() {
    let mut task = live("t-2");
    task.name = "Zwei".into();
    task.deps.clear();
    task.priority = Some(Priority::Low);
    task.auto_priority = Some(Priority::Low);
    assert_eq!(
        edit(PLAN, &[PlanEdit::UpdateTask(task)]),
        with_line(
            r#""name":"Two","s":"p","deps":["t-1"],"x":{"y":[]}}"#,
            r#""name":"Zwei","s":"p","x":{"y":[]},"priority":"low","auto_priority":"low"}"#
        )
    );
    assert_eq!(
        edit(PLAN, &[PlanEdit::UpdateTask(live("t-1")), PlanEdit::UpdateTask(live("t-2"))]),
        PLAN
    );
}

#[test]
fn an_update_follows_the_spaces_of_its_line() {
    let mut task = live("t-1");
    task.state = TaskState::Blocked("no key".into());
    task.done_at = None;
    assert_eq!(
        edit(PLAN, &[PlanEdit::UpdateTask(task)]),
        with_line(
            r#""s": "d", "done_at": "c1", "mine": 1.50}"#,
            r#""s": "p", "mine": 1.50, "blocked": "no key"}"#
        )
    );
}

#[test]
fn a_new_state_replaces_every_trace_of_the_old_one() {
    let text =
        r#"{"t":"task","id":"k","name":"K","s":"d","kill":"timeout","kill_log":"l","blocked":"b"}"#;
    let mut task = JsonlCodec.parse(text).unwrap().tasks.remove(0);
    task.state = TaskState::Pending;
    assert_eq!(
        edit(text, &[PlanEdit::UpdateTask(task.clone())]),
        r#"{"t":"task","id":"k","name":"K","s":"p"}"#
    );
    task.state = TaskState::Running;
    assert_eq!(
        edit(text, &[PlanEdit::UpdateTask(task)]),
        r#"{"t":"task","id":"k","name":"K","s":"p"}"#
    );
}

#[test]
fn a_live_task_cannot_be_updated_into_history() {
    let task = Task { state: TaskState::Accepted, ..live("t-1") };
    let error = refusal(PLAN, PlanEdit::UpdateTask(task));
    assert_eq!(error.to_string(), "plan.jsonl cannot hold a live task that is accepted");
}

#[test]
fn accepting_takes_the_line_out_and_leaves_a_tombstone() {
    let gone = "{\"t\": \"task\", \"id\": \"t-1\", \"name\": \"One\", \"s\": \"d\", \"done_at\": \"c1\", \"mine\": 1.50}\n";
    assert_eq!(
        edit(PLAN, &[retire("t-1", Retirement::Accepted, None)]),
        with_line(gone, "")
            + r#"{"t":"accept","id":"t-1","name":"One","done_at":"c1","at":"2026-02-03T04:05:06Z"}"#
            + "\n"
    );
}

#[test]
fn failing_and_deleting_keep_the_whole_record_in_the_tombstone() {
    let record =
        r#"{"t": "task", "id": "t-1", "name": "One", "s": "d", "done_at": "c1", "mine": 1.50}"#;
    let rest = with_line(&format!("{record}\n"), "");
    assert_eq!(
        edit(PLAN, &[retire("t-1", Retirement::Failed, Some("no"))]),
        format!(
            "{rest}{{\"t\":\"reject\",\"id\":\"t-1\",\"name\":\"One\",\"reason\":\"no\",\"at\":\"{AT}\",\"task\":{record}}}\n"
        )
    );
    for how in [Retirement::Skipped, Retirement::Deleted] {
        assert_eq!(
            edit(PLAN, &[retire("t-1", how, None)]),
            format!(
                "{rest}{{\"t\":\"delete\",\"id\":\"t-1\",\"name\":\"One\",\"at\":\"{AT}\",\"task\":{record}}}\n"
            )
        );
    }
}

#[test]
fn rejecting_makes_the_task_pending_and_counts() {
    let reject = PlanEdit::Reject { id: "t-1".into(), reason: "no test".into(), at: AT.into() };
    assert_eq!(
        edit(PLAN, &[reject]),
        with_line(
            r#""s": "d", "done_at": "c1", "mine": 1.50}"#,
            r#""s": "p", "mine": 1.50, "retry_count": 1, "reject": "no test"}"#
        ) + r#"{"t":"reject","id":"t-1","name":"One","reason":"no test","at":"2026-02-03T04:05:06Z"}"#
            + "\n"
    );
}

#[test]
fn issues_are_added_changed_and_removed_by_line() {
    let issue = Issue { id: "i-2".into(), desc: "how?".into(), ..Issue::default() };
    assert_eq!(
        edit(PLAN, &[PlanEdit::AddIssue(issue)]),
        format!("{PLAN}{{\"t\":\"issue\",\"id\":\"i-2\",\"desc\":\"how?\"}}\n")
    );
    let line = r#"{"t":"issue","id":"i-1","desc":"why?"}"#;
    let mut issue = JsonlCodec.parse(PLAN).unwrap().issues.remove(0);
    issue.kill = Some(KilledRun { reason: KillReason::ContextLimit, log: None });
    assert_eq!(
        edit(PLAN, &[PlanEdit::UpdateIssue(issue)]),
        with_line(line, r#"{"t":"issue","id":"i-1","desc":"why?","kill_reason":"context_limit"}"#)
    );
    assert_eq!(
        edit(PLAN, &[PlanEdit::RemoveIssue("i-1".into())]),
        with_line(&format!("{line}\n"), "")
    );
}

#[test]
fn specs_are_used_and_accepted_by_appending() {
    let edits = [
        PlanEdit::UseSpec("b.md".into()),
        PlanEdit::AcceptSpec { spec: "a.md".into(), at: AT.into() },
    ];
    assert_eq!(
        edit(PLAN, &edits),
        format!(
            "{PLAN}{{\"t\":\"spec\",\"spec\":\"b.md\"}}\n{{\"t\":\"accept\",\"spec\":\"a.md\",\"at\":\"{AT}\"}}\n"
        )
    );
}

#[test]
fn line_ends_are_those_of_the_file() {
    let crlf = PLAN.replace('\n', "\r\n");
    let edits = [add(new_task("t-9")), retire("t-2", Retirement::Accepted, None)];
    assert_eq!(edit(&crlf, &edits), edit(PLAN, &edits).replace('\n', "\r\n"));
}

#[test]
fn a_last_line_without_its_line_end_gets_one_before_an_append() {
    let open = "\u{feff}{\"t\":\"task\",\"id\":\"a\",\"name\":\"A\"}\r\n{\"t\":\"note\"}";
    let new = "{\"t\":\"spec\",\"spec\":\"s\"}\r\n";
    assert_eq!(edit(open, &[PlanEdit::UseSpec("s".into())]), format!("{open}\r\n{new}"));
}

#[test]
fn a_removed_last_line_leaves_no_stray_line_end() {
    let text = "{\"t\":\"note\"}\n{\"t\":\"task\",\"id\":\"a\",\"name\":\"A\"}";
    assert_eq!(
        edit(text, &[retire("a", Retirement::Accepted, None)]),
        format!(
            "{{\"t\":\"note\"}}\n{{\"t\":\"accept\",\"id\":\"a\",\"name\":\"A\",\"at\":\"{AT}\"}}\n"
        )
    );
    let issue = "\u{feff}{\"t\":\"issue\",\"id\":\"i\",\"desc\":\"D\"}";
    assert_eq!(edit(issue, &[PlanEdit::RemoveIssue("i".into())]), "\u{feff}");
}

#[test]
fn a_task_can_be_replaced_by_its_parts_in_one_batch() {
    let part = |id: &str| PlanEdit::AddTask {
        task: Task { parent: Some("t-2".into()), ..new_task(id) },
        after: Some("t-2".into()),
    };
    let out = edit(PLAN, &[retire("t-2", Retirement::Deleted, None), part("t-3"), part("t-4")]);
    let ids: Vec<Id> = JsonlCodec.parse(&out).unwrap().tasks.into_iter().map(|t| t.id).collect();
    assert_eq!(ids, ["t-1".into(), "t-3".into(), "t-4".into()]);
    assert_eq!(
        out.lines().nth(3),
        Some(r#"{"t":"task","id":"t-3","name":"New","s":"p","parent":"t-2"}"#)
    );
}

#[test]
fn an_unknown_or_ambiguous_id_is_refused() {
    assert_eq!(
        refusal(PLAN, retire("t-7", Retirement::Failed, None)).to_string(),
        "no task or issue t-7"
    );
    assert_eq!(
        refusal(PLAN, PlanEdit::RemoveIssue("t-1".into())),
        EditError::Unknown("t-1".into())
    );
    assert_eq!(
        refusal(PLAN, retire("i-1", Retirement::Failed, None)),
        EditError::Unknown("i-1".into())
    );
    let twice = "{\"t\":\"task\",\"id\":\"x\",\"name\":\"A\"}\n\n{\"t\":\"issue\",\"id\":\"x\",\"desc\":\"B\"}\n";
    assert_eq!(
        refusal(twice, retire("x", Retirement::Accepted, None)).to_string(),
        "x stands on line 1 and on line 3: give one of them another id"
    );
}

#[test]
fn a_taken_id_is_refused() {
    assert_eq!(refusal(PLAN, add(new_task("t-1"))), EditError::Taken("t-1".into()));
    assert_eq!(refusal(PLAN, add(new_task("i-1"))), EditError::Taken("i-1".into()));
    let both = JsonlCodec.edit(PLAN, &[add(new_task("t-9")), add(new_task("t-9"))]);
    assert_eq!(both, Err(EditError::Taken("t-9".into())));
}

#[test]
fn two_edits_of_one_record_are_refused_not_guessed() {
    let both = [PlanEdit::UpdateTask(live("t-1")), retire("t-1", Retirement::Accepted, None)];
    assert!(matches!(JsonlCodec.edit(PLAN, &both), Err(EditError::Overlap(_))));
}

#[test]
fn a_damaged_file_is_never_edited() {
    let text = format!("{PLAN}{{\"t\":\n");
    assert!(matches!(refusal(&text, add(new_task("t-9"))), EditError::Parse(e) if e.line == 7));
}
