//! What the records of plan.jsonl mean, and what is refused.

use super::JsonlCodec;
use crate::format::{PlanCodec, PlanFormat};
use crate::plan::{Id, KillReason, KilledRun, Plan, Priority, Task, TaskState, TombstoneKind};

fn parse(text: &str) -> Plan {
    JsonlCodec.parse(text).unwrap()
}

fn task(members: &str) -> Task {
    let text = format!(r#"{{"t":"task","id":"t-1","name":"N"{members}}}"#);
    parse(&text).tasks.remove(0)
}

/// Line, column and message of the error.
fn complaint(text: &str) -> (usize, Option<usize>, String) {
    let error = JsonlCodec.parse(text).unwrap_err();
    (error.line, error.column, error.message)
}

#[test]
fn a_task_with_every_field_is_read() {
    let text = concat!(
        r#"{"t":"task","id":"t-a1b2","spec":"login.md","name":"Add login","s":"p","notes":"n","#,
        r#""accept":["a","b"],"deps":["t-0000"],"priority":"high","auto_priority":"low","#,
        r#""parent":"t-9999","created_from":"i-1111","retry_count":2,"max_retries":5,"#,
        r#""max_turns":30,"timeout_ms":900000,"skills":["rust"],"libraries":["serde"],"needs_docs":true,"#,
        r#""phase":"One","done_at":"abc123","reject":"no test","later":{"x":1}}"#,
        "\n"
    );
    let expected = Task {
        id: Id::new("t-a1b2"),
        name: "Add login".into(),
        spec: Some("login.md".into()),
        state: TaskState::Pending,
        notes: Some("n".into()),
        accept: vec!["a".into(), "b".into()],
        deps: vec!["t-0000".into()],
        priority: Some(Priority::High),
        auto_priority: Some(Priority::Low),
        retries: 2,
        max_retries: Some(5),
        max_turns: Some(30),
        timeout_ms: Some(900_000),
        skills: vec!["rust".into()],
        libraries: vec!["serde".into()],
        needs_docs: true,
        parent: Some("t-9999".into()),
        created_from: Some("i-1111".into()),
        done_at: Some("abc123".into()),
        reject: Some("no test".into()),
        phase: Some("One".into()),
        line: 1,
    };
    let plan = parse(text);
    assert_eq!(plan.tasks, [expected]);
    assert_eq!(plan.format, PlanFormat::Jsonl);
}

#[test]
fn id_and_name_are_enough_for_a_task() {
    let expected = Task { id: Id::new("t-1"), name: "N".into(), line: 1, ..Task::default() };
    assert_eq!(task(""), expected);
    assert_eq!(task(r#","notes":null,"deps":null,"s":null"#), expected);
}

#[test]
fn one_criterion_may_be_a_string() {
    assert_eq!(task(r#","accept":"it works""#).accept, ["it works"]);
    assert_eq!(task(r#","accept":["x","y"]"#).accept, ["x", "y"]);
}

#[test]
fn states_follow_the_table() {
    let timeout = |log: Option<&str>| {
        TaskState::Killed(KilledRun { reason: KillReason::Timeout, log: log.map(str::to_owned) })
    };
    assert_eq!(task(r#","s":"p""#).state, TaskState::Pending);
    assert_eq!(task(r#","s":"d""#).state, TaskState::Done);
    assert_eq!(task(r#","s":"p","blocked":"no key""#).state, TaskState::Blocked("no key".into()));
    assert_eq!(task(r#","s":"p","kill_reason":"timeout""#).state, timeout(None));
    assert_eq!(
        task(r#","kill":"timeout","kill_log":"build/x.log""#).state,
        timeout(Some("build/x.log"))
    );
    assert_eq!(
        task(r#","s":"d","kill_reason":"timeout""#).state,
        timeout(None),
        "a kill is stronger"
    );
    assert_eq!(task(r#","s":"d","blocked":"old""#).state, TaskState::Done);
}

#[test]
fn issues_are_read() {
    let text = concat!(
        r#"{"t":"issue","id":"i-1","spec":"a.md","desc":"why?","priority":"low","created_from":"t-1"}"#,
        "\n",
        r#"{"t":"issue","id":"i-2","desc":"slow","kill_reason":"context_limit","kill_log":"l"}"#,
    );
    let plan = parse(text);
    assert_eq!(plan.issues[0].desc, "why?");
    assert_eq!(plan.issues[0].priority, Some(Priority::Low));
    assert_eq!(plan.issues[0].created_from, Some("t-1".into()));
    let kill = KilledRun { reason: KillReason::ContextLimit, log: Some("l".into()) };
    assert_eq!((plan.issues[1].kill.clone(), plan.issues[1].line), (Some(kill), 2));
}

#[test]
fn tombstones_are_history_and_carry_their_task() {
    let text = concat!(
        r#"{"t":"accept","id":"t-1","name":"A","done_at":"c1","at":"2026-01-01T00:00:00Z"}"#,
        "\n",
        r#"{"t":"reject","id":"t-2","name":"B","reason":"no","at":"x"}"#,
        "\n",
        r#"{"t":"delete","id":"t-3","task":{"t":"task","id":"t-3","name":"C","spec":"s.md","s":"p"}}"#,
        "\n",
        r#"{"t":"accept","spec":"s.md","at":"y"}"#,
    );
    let plan = parse(text);
    let kinds: Vec<_> = plan.tombstones.iter().map(|t| (t.kind, t.line)).collect();
    assert_eq!(
        kinds,
        [(TombstoneKind::Accept, 1), (TombstoneKind::Reject, 2), (TombstoneKind::Delete, 3)]
    );
    assert_eq!(plan.tombstones[0].done_at.as_deref(), Some("c1"));
    assert_eq!(plan.tombstones[1].reason.as_deref(), Some("no"));
    let deleted = &plan.tombstones[2];
    assert_eq!((deleted.name.as_deref(), deleted.spec.as_deref()), (Some("C"), Some("s.md")));
    assert_eq!(deleted.task.as_ref().unwrap().name, "C");
    assert_eq!(plan.accepted_specs[0].spec, "s.md");
}

#[test]
fn the_last_spec_record_is_the_current_spec() {
    let text = "{\"t\":\"spec\",\"spec\":\"a.md\"}\n{\"t\":\"spec\",\"spec\":\"b.md\"}\n{\"t\":\"spec\",\"spec\":\"a.md\"}\n";
    let plan = parse(text);
    assert_eq!(plan.current_spec.as_deref(), Some("a.md"));
    let specs: Vec<_> = plan.specs.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(specs, ["a.md", "b.md"]);
}

#[test]
fn config_records_add_up() {
    let text = concat!(
        r#"{"t": "config", "timeout_ms": 300000, "max_iterations": 10, "context_warn": 0.7}"#,
        "\n",
        r#"{"t": "config", "timeout_ms": 5, "context_kill": 1}"#,
    );
    let config = parse(text).config;
    assert_eq!((config.timeout_ms, config.max_iterations), (Some(5), Some(10)));
    assert_eq!((config.context_warn, config.context_kill), (Some(0.7), Some(1.0)));
    assert_eq!(config.line, 2);
}

#[test]
fn stage_note_and_unknown_records_decide_nothing_and_the_unknown_are_named() {
    let text =
        "{\"t\":\"stage\",\"stage\":\"COMPLETE\"}\n{\"t\":\"note\",\"id\":7}\n{\"t\":\"weird\"}\n";
    let unknown_records = ["weird".to_owned()].into();
    assert_eq!(parse(text), Plan { unknown_records, ..Plan::empty(PlanFormat::Jsonl) });
}

#[test]
fn a_byte_order_mark_crlf_and_blank_lines_do_no_harm() {
    let text = "\u{feff}\r\n{\"t\":\"task\",\"id\":\"t-1\",\"name\":\"N\"}\r\n\r\n";
    assert_eq!(parse(text).tasks[0].line, 2);
}

#[test]
fn repeated_ids_are_read_so_that_they_can_be_reported() {
    let text = "{\"t\":\"task\",\"id\":\"x\",\"name\":\"A\"}\n{\"t\":\"issue\",\"id\":\"x\",\"desc\":\"B\"}\n";
    let plan = parse(text);
    assert_eq!((plan.tasks.len(), plan.issues.len()), (1, 1));
}

#[test]
fn wrong_fields_are_errors_with_line_and_plain_words() {
    for (members, message) in [
        (r#","deps":"x""#, "`deps` must be an array of strings, not \"x\""),
        (r#","s":"q""#, "`s` must be \"p\" (pending) or \"d\" (done), not \"q\""),
        (r#","priority":"urgent""#, "`priority` must be high, medium or low, not \"urgent\""),
        (r#","retry_count":-1"#, "`retry_count` must be a whole number, not -1"),
        (
            r#","kill_reason":"bored""#,
            "`kill_reason` must be timeout or context_limit, not \"bored\"",
        ),
        (r#","accept":{}"#, "`accept` must be a string or an array of strings, not an object"),
        (r#","blocked":true"#, "`blocked` must be a string, not true"),
        (r#","needs_docs":"yes""#, "`needs_docs` must be true or false, not \"yes\""),
    ] {
        let column = r#"{"t":"task","id":"t-1","name":"N""#.len() + members.find(':').unwrap() + 2;
        let text = format!("\n{{\"t\":\"task\",\"id\":\"t-1\",\"name\":\"N\"{members}}}\n");
        assert_eq!(complaint(&text), (2, Some(column), message.to_owned()));
    }
}

#[test]
fn missing_fields_are_errors() {
    for (text, message) in [
        (r#"{"t":"task","name":"N"}"#, "`id` is missing"),
        (r#"{"t":"task","id":"t-1"}"#, "`name` is missing"),
        (r#"{"t":"task","id":"","name":"N"}"#, "`id` must be a word, not \"\""),
        (r#"{"t":"issue","id":"i-1"}"#, "`desc` is missing"),
        (r#"{"t":"spec"}"#, "`spec` is missing"),
        (r#"{"t":"accept"}"#, "`id` is missing"),
        (r#"{"t":"reject","spec":"s.md"}"#, "`id` is missing"),
        (r#"{"t":"delete","id":"t-1","task":{"id":"t-1"}}"#, "`name` is missing"),
        (r#"{"t":"delete","id":"t-1","task":[]}"#, "expected an object, not an array"),
        (r#"{"t":"config","timeout_ms":"5m"}"#, "`timeout_ms` must be a whole number, not \"5m\""),
    ] {
        let (line, _, found) = complaint(text);
        assert_eq!((line, found.as_str()), (1, message), "{text}");
    }
}

#[test]
fn a_damaged_line_in_the_middle_loses_nothing_silently() {
    let text = "{\"t\":\"task\",\"id\":\"a\",\"name\":\"A\"}\n{\"t\":\"task\"\n{\"t\":\"task\",\"id\":\"b\",\"name\":\"B\"}\n";
    assert_eq!(complaint(text), (2, Some(12), "the text ends before the closing `}`".into()));
}

#[test]
fn fresh_ids_have_the_style_of_the_format() {
    let plan = Plan::empty(PlanFormat::Jsonl);
    let mut words = ["aaaa", "bbbb"].into_iter().map(str::to_owned).cycle();
    let mut random = || words.next().unwrap();
    let taken = |id: &Id| id.as_str() == "t-aaaa";
    assert_eq!(JsonlCodec.fresh_id(&plan, None, &taken, &mut random), Id::new("t-bbbb"));
    let crowded = |id: &Id| id.as_str().len() < 12;
    assert_eq!(JsonlCodec.fresh_id(&plan, None, &crowded, &mut random).as_str().len(), 12);
    assert_eq!(super::fresh_issue_id(&|_| false, &mut || "x1y2".into()), Id::new("i-x1y2"));
}

#[test]
fn a_new_plan_is_an_empty_file() {
    assert_eq!(JsonlCodec.empty("title", "2026-01-01T00:00:00Z"), "");
    assert_eq!(parse(""), Plan::empty(PlanFormat::Jsonl));
}
