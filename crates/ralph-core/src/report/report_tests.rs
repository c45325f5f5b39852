//! A night in the journal, and what the report makes of it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cycle::model_tests::run_end;
use crate::cycle::{JournalEntry, JournalRecord, LoopEnd, LoopSignal, RunEnd};
use crate::format::{self, PlanFormat};
use crate::inbox::Inbox;
use crate::needs::{LoopProcess, NeedSources};
use crate::plan::Plan;

const FIRST: &str = "1111111111aaaaaaaaaa";
const SECOND: &str = "2222222222bbbbbbbbbb";
const WHOLE: &str = "3333333333cccccccccc";
const SALVAGE: &str = "refs/ralph/01JRUN/salvage/01JAAA1";

fn at(minute: u32, record: Value) -> Value {
    let mut entry =
        json!({ "at": format!("2025-01-20T{:02}:{:02}:00Z", 2 + minute / 60, minute % 60) });
    if let (Value::Object(entry), Value::Object(record)) = (&mut entry, record) {
        entry.extend(record);
    }
    entry
}

fn begins(minute: u32, n: u32, task: &str, retries: u32) -> Value {
    at(
        minute,
        json!({
            "record": "attempt_started", "attempt": format!("01JAAA{n}"), "run": "01JRUN",
            "iteration": n, "task_id": task, "name": "Resize <b>", "retry": retries, "backend": "claude",
            "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"},
        }),
    )
}

fn ends(minute: u32, n: u32, cost: Value) -> Value {
    at(
        minute,
        json!({
            "record": "backend_ended", "attempt": format!("01JAAA{n}"), "outcome": "success",
            "cost_usd": cost, "claim": { "kind": "done" }, "candidate": {"paths": []},
            "changed_files": 2, "duration_ms": 300_000,
        }),
    )
}

fn judged(minute: u32, n: u32, passed: bool) -> Value {
    let none = json!({ "names": [] });
    let (ruling, test) = match passed {
        true => (json!("proven"), json!({ "name": "test", "standing": "green" })),
        false => (
            json!({ "refused": {} }),
            json!({ "name": "test", "standing": "new", "new": none, "old": none }),
        ),
    };
    let judge = json!({
        "path": "tests/a.rs", "kind": "tests", "extent": "changed", "deleted": [], "weakened": [],
    });
    at(
        minute,
        json!({
            "record": "judged", "attempt": format!("01JAAA{n}"), "ruling": ruling,
            "checks": [{ "name": "lint", "standing": "green" }, test],
            "judges": if passed { vec![judge] } else { vec![] },
        }),
    )
}

fn lands(minute: u32, n: u32, commit: Option<&str>) -> [Value; 2] {
    let attempt = format!("01JAAA{n}");
    [
        at(
            minute,
            json!({
                "record": "land_intent", "attempt": attempt, "landing": "complete", "proof": "proven",
                "summary": "Resized", "task": {"state": "pending"},
            }),
        ),
        at(minute, json!({ "record": "landed", "attempt": attempt, "commit": commit })),
    ]
}

fn fails(minute: u32, n: u32) -> [Value; 2] {
    let attempt = format!("01JAAA{n}");
    let failure = json!({ "kind": "gates", "message": "test", "fingerprint": "x" });
    [
        at(
            minute,
            json!({ "record": "fail_intent", "attempt": attempt, "failure": failure, "retries": 1 }),
        ),
        at(minute, json!({ "record": "rolled_back", "attempt": attempt, "salvage": SALVAGE })),
    ]
}

fn run(minute: u32, command: &str) -> Value {
    at(
        minute,
        json!({
            "record": "run_started", "run": "01JRUN", "command": command, "plan": "ralph/plan.jsonl",
            "mode": "handoff-only",
        }),
    )
}

fn run_ended(minute: u32, end: LoopEnd, reason: &str, remaining: usize) -> Value {
    let end = RunEnd { reason: reason.into(), ..run_end(end, remaining) };
    at(minute, serde_json::to_value(JournalRecord::RunEnded(end)).unwrap())
}

fn over(minute: u32) -> Value {
    run_ended(minute, LoopEnd::Complete, "all done", 0)
}

/// t-aaaa fails once and lands; t-bbbb lands at once; t-cccc fails.
fn night() -> Vec<Value> {
    let mut all = vec![
        run(0, "build"),
        begins(1, 1, "t-aaaa", 0),
        ends(6, 1, json!(0.5)),
        judged(6, 1, false),
    ];
    all.extend(fails(7, 1));
    all.extend([begins(8, 2, "t-aaaa", 1), ends(13, 2, json!(1.0)), judged(13, 2, true)]);
    all.extend(lands(14, 2, Some(FIRST)));
    all.extend([begins(15, 3, "t-bbbb", 0), ends(20, 3, Value::Null), judged(20, 3, true)]);
    all.extend(lands(21, 3, Some(SECOND)));
    all.extend([begins(22, 4, "t-cccc", 0), ends(27, 4, json!(0.25)), judged(27, 4, false)]);
    all.extend(fails(28, 4));
    all.push(over(30));
    all
}

fn past(records: &[Value]) -> ReportHistory {
    let mut past = ReportHistory::default();
    for record in records {
        past.add(&serde_json::from_value::<JournalEntry>(record.clone()).unwrap());
    }
    past
}

fn moment(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_second()
}

fn report(past: &ReportHistory, plan: &str, inbox: &str, on_branch: Option<&[&str]>) -> Report {
    let plan: Plan = format::codec(PlanFormat::Jsonl).parse(plan).unwrap();
    let inbox = Inbox::parse(inbox).unwrap();
    let here: Option<BTreeSet<String>> =
        on_branch.map(|commits| commits.iter().map(|c| (*c).to_owned()).collect());
    let running = match past.history.run_end {
        Some(_) => LoopProcess::Nobody,
        None => LoopProcess::Pid(1),
    };
    Report::of(&ReportSources {
        project: "shop",
        past,
        on_branch: here.as_ref(),
        branch: None,
        ledger: &["ralph/plan.jsonl".to_owned()],
        other_ledgers: &BTreeMap::new(),
        since: moment("2025-01-20T00:00:00Z"),
        until: moment("2025-01-20T08:00:00Z"),
        utc_offset: 3600,
        needs: NeedSources {
            plan: &plan,
            plan_file: "ralph/plan.jsonl",
            running: &running,
            inbox: inbox.entries(),
            history: &past.history,
            damage: &[],
        },
    })
}

const PLAN: &str = r#"{"t":"accept","id":"t-aaaa","spec":"a.md","name":"Resize","at":"2025-01-20T02:10:00Z"}
{"t":"accept","id":"t-bbbb","spec":"a.md","name":"Print","at":"2025-01-20T02:20:00Z"}
{"t":"task","id":"t-cccc","spec":"b.md","name":"Sign","s":"p","blocked":"which key?"}
"#;

#[test]
fn a_night_is_told_in_the_order_in_which_a_tired_person_wants_it() {
    let report = report(&past(&night()), PLAN, "", Some(&[FIRST, SECOND]));
    assert_eq!(
        report.markdown(),
        "\
# shop: 1 spec done, 1 task failed, 1 thing needs you

Mon 20 Jan 01:00 to Mon 20 Jan 09:00 (8h 0m).
2 tasks landed in 4 attempts, 1 of 3 tasks at the first try (33 %), $1.75 and 1 run of unknown cost. Agents worked 20m 0s; \
loops ran 30m 0s.

## Needs you

- **t-cccc is blocked: which key?**
  - `ralph task retry t-cccc`

## Landed

### a.md: done

2 tasks landed, 1 attempt failed on the way, $1.50 and 1 run of unknown cost, 15m 0s.

- **t-aaaa Resize \\<b\\>**: green: lint, test; 2 tries, $1.50, commit 1111111111
  - look at it: tests changed: tests/a.rs
  - undo: `git diff --exit-code --stat HEAD && (git revert --no-commit 1111111111; git checkout HEAD -- ralph/plan.jsonl && git commit -m 'Undo t-aaaa')`
- **t-bbbb Resize \\<b\\>**: green: lint, test; first try, cost unknown, commit 2222222222
  - look at it: tests changed: tests/a.rs
  - undo: `git diff --exit-code --stat HEAD && (git revert --no-commit 2222222222; git checkout HEAD -- ralph/plan.jsonl && git commit -m 'Undo t-bbbb')`

Undo all of it: `git diff --exit-code --stat HEAD && (for c in 2222222222 1111111111; do git revert --no-commit $c; \
git checkout HEAD -- ralph/plan.jsonl; done && git commit -m 'Undo a.md')`

Everything else: $0.25.

## Failed

- **t-cccc Resize \\<b\\>**: gates failed: test
  - look at it: `ralph show 4`
  - bring it back: `ralph salvage restore 4`

## Time and cost

| stage | runs | time | cost |
| --- | ---: | ---: | ---: |
| build | 4 | 20m 0s | $1.75 and 1 run of unknown cost |

## Runs

- Mon 20 Jan 03:00: ralph build, all done
"
    );
}

#[test]
fn a_spec_that_was_committed_as_a_whole_is_undone_as_a_whole() {
    let mut records =
        vec![run(0, "agent"), at(1, json!({ "record": "construct_started", "spec": "a.md" }))];
    records.extend([begins(2, 1, "t-aaaa", 0), ends(3, 1, json!(1.0)), judged(3, 1, true)]);
    records.extend(lands(4, 1, Some(FIRST)));
    records.push(at(5, json!({
        "record": "answered", "id": "c", "role": "verify", "backend": "claude", "outcome": "success",
        "answer": "", "usable": true, "cost_usd": 0.5, "log": "", "duration_ms": 60_000,
    })));
    let note = json!({
        "record": "spec_landed", "subject": "ralph: complete a", "commit": WHOLE, "spec": "a.md",
    });
    records.push(at(6, note));
    let inbox = r#"{"t":"inbox","id":"q-aaaa","spec":"a.md","added_at":"2025-01-19T10:00:00Z","status":"done","completed_at":"2025-01-20T02:06:00Z"}
"#;
    let report = report(&past(&records), "", inbox, Some(&[WHOLE]));
    let part = &report.specs[0];
    assert_eq!((part.spec.as_deref(), part.done, part.commits.len()), (Some("a.md"), true, 1));
    assert_eq!((part.tasks[0].place, &part.tasks[0].undo), (WorkPlace::Spec, &None));
    assert!(part.undo.as_ref().unwrap().contains("git revert --no-commit 3333333333;"));
    assert_eq!((part.cost.usd, report.totals.specs_done), (1.5, 1));
    assert_eq!(
        report.stages.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        ["build", "verify"]
    );
    assert!(report.markdown().contains("# shop: 1 spec done, nothing needs you"));
}

#[test]
fn work_that_is_not_on_the_branch_has_no_undo_and_says_so() {
    let report = report(&past(&night()), PLAN, "", Some(&[SECOND]));
    let task = &report.specs[0].tasks[0];
    assert_eq!((task.place, &task.undo), (WorkPlace::Elsewhere, &None));
    assert!(report.markdown().contains("commit 1111111111, which is not on this branch"));
    assert!(report.specs[0].undo.as_ref().unwrap().contains("git revert --no-commit 2222222222;"));
}

#[test]
fn a_spec_that_failed_says_why_where_its_work_is_and_how_to_try_again() {
    let note = json!({
        "record": "spec_failed", "spec": "b.md", "why": "no progress", "kept": "4444444444dddd",
    });
    let inbox = r#"{"t":"inbox","id":"q-bbbb","spec":"b.md","added_at":"2025-01-19T10:00:00Z","status":"failed","error":"no progress","completed_at":"2025-01-20T02:06:00Z"}
{"t":"inbox","id":"q-cccc","spec":"old.md","added_at":"2025-01-10T10:00:00Z","status":"failed","error":"x","completed_at":"2025-01-10T12:00:00Z"}
"#;
    let report = report(&past(&[run(0, "agent"), at(6, note)]), "", inbox, None);
    assert_eq!(report.failed_specs.len(), 1);
    let text = report.markdown();
    assert!(text.contains("# shop: 1 spec failed, 2 things need you"), "{text}");
    assert!(text.contains("- **b.md failed: no progress**\n  - `ralph inbox add b.md`"), "{text}");
    assert!(text.contains("bring it back: `git stash apply 4444444444dddd`"), "{text}");
    let again = inbox.to_owned()
        + r#"{"t":"inbox","id":"q-dddd","spec":"b.md","added_at":"2025-01-20T03:00:00Z","status":"pending"}
"#;
    let again = self::report(&past(&[run(0, "agent")]), "", &again, None);
    let left: Vec<_> = again.needs.iter().filter_map(|need| need.spec.as_deref()).collect();
    assert_eq!(left, ["old.md"], "the other one is in the queue again");
}

#[test]
fn what_landed_later_is_no_failure_and_what_is_older_is_not_told() {
    let past = past(&night());
    let report = report(&past, PLAN, "", None);
    assert_eq!(
        report.failed_tasks.iter().map(|t| t.attempt.started.task.as_str()).collect::<Vec<_>>(),
        ["t-cccc"]
    );
    let plan = Plan::empty(PlanFormat::Jsonl);
    let later = Report::of(&ReportSources {
        project: "shop",
        past: &past,
        on_branch: None,
        branch: None,
        ledger: &[],
        other_ledgers: &BTreeMap::new(),
        since: moment("2025-01-20T02:15:00Z"),
        until: moment("2025-01-20T08:00:00Z"),
        utc_offset: 0,
        needs: NeedSources {
            plan: &plan,
            plan_file: "ralph/plan.jsonl",
            running: &LoopProcess::Nobody,
            inbox: &[],
            history: &past.history,
            damage: &[],
        },
    });
    assert_eq!((later.totals.attempts, later.totals.tasks_landed), (2, 1));
    assert_eq!(later.totals.run_seconds, 15 * 60, "only what is in the period");
    assert!(
        later.specs[0].tasks[0].undo.as_ref().unwrap().starts_with("git revert --no-edit 2222")
    );
}

#[test]
fn nothing_is_said_to_have_happened_when_nothing_did() {
    let report = report(&ReportHistory::default(), "", "", None);
    assert_eq!(
        report.markdown(),
        "# shop: nothing happened\n\nMon 20 Jan 01:00 to Mon 20 Jan 09:00 (8h 0m).\n"
    );
    assert!(!report.html().contains("<svg"));
}

#[test]
fn the_page_stands_alone_and_texts_stay_texts() {
    let page = report(&past(&night()), PLAN, "", None).html();
    for foreign in ["http", "src=", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(foreign), "the page asks for something: {foreign}");
    }
    assert!(page.contains("Resize &lt;b&gt;") && !page.contains("Resize <b>"));
    assert_eq!(page.matches("<svg").count(), 3);
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("@media print"));
    assert!(page.contains("<h1>1 spec done, 1 task failed, 1 thing needs you</h1>"), "{page}");
}

#[test]
fn since_takes_what_people_write() {
    let past = past(&night());
    let now = moment("2025-01-20T08:00:00Z");
    let since = |text: &str, now| text.parse::<ReportStart>().unwrap().moment(&past, now, 3600);
    assert_eq!(since("12h", now), now - 12 * 3600);
    assert_eq!(since("3d", now), now - 3 * 86_400);
    assert_eq!(since("last", now), moment("2025-01-20T02:00:00Z"));
    assert_eq!(since("2025-01-19", now), moment("2025-01-18T23:00:00Z"), "midnight where I am");
    assert_eq!(since("2025-01-19T10:00:00Z", now), moment("2025-01-19T10:00:00Z"));
    for bad in ["", "yesterday", "12", "2025-13-40", "last week"] {
        assert!(bad.parse::<ReportStart>().unwrap_err().contains("`12h`"), "{bad}");
    }
    let usual = |now| ReportStart::default().moment(&past, now, 0);
    assert_eq!(usual(now), now - 86_400);
    let later = moment("2025-01-25T08:00:00Z");
    assert_eq!(usual(later), moment("2025-01-20T02:00:00Z"), "nothing since: the last run");
    assert_eq!(ReportStart::default().moment(&ReportHistory::default(), now, 0), now - 86_400);
}

proptest! {
    #[test]
    fn no_journal_breaks_a_report(picks in prop::collection::vec(0..16usize, 0..40), name in any::<String>()) {
        let night = night();
        let records: Vec<Value> = picks
            .iter()
            .map(|pick| {
                let mut record = night[pick % night.len()].clone();
                if record.get("name").is_some() {
                    record["name"] = json!(name);
                }
                record
            })
            .collect();
        let report = report(&past(&records), PLAN, "", None);
        let (markdown, page) = (report.markdown(), report.html());
        prop_assert!(!markdown.chars().any(|c| c.is_control() && c != '\n'));
        prop_assert_eq!(page.matches("<li>").count(), page.matches("</li>").count());
        prop_assert!(serde_json::to_value(&report).is_ok());
    }
}

#[test]
fn a_run_that_stopped_before_its_work_was_done_needs_somebody_to_go_on() {
    let ended = |end: LoopEnd| {
        let run_ended = run_ended(1, end, "its model failed: no key", 1);
        let start = json!({
            "record": "construct_started", "spec": "a b.md", "plan": "ralph/plan.jsonl", "limit": 3,
        });
        report(&past(&[run(0, "construct"), at(0, start), run_ended]), "", "", None)
    };
    let need = &ended(LoopEnd::NoPlan { why: "no key".into(), log: None }).needs[0];
    assert_eq!(
        (need.text.as_str(), need.command.as_str()),
        ("ralph construct stopped: its model failed: no key", "ralph construct 'a b.md'")
    );
    let limited = LoopEnd::UsageLimit { reason: "5 hours".into() };
    let interrupted = LoopEnd::Interrupted(LoopSignal::Interrupt);
    for end in [LoopEnd::Stopped, interrupted, LoopEnd::MaxIterations(3), limited] {
        assert_eq!(ended(end.clone()).needs[0].command, "ralph construct 'a b.md'", "{end:?}");
    }
    assert_eq!(ended(LoopEnd::Complete).needs, []);
}

#[test]
fn a_price_is_written_as_it_is_read() {
    let mut records = vec![run(0, "build"), begins(1, 1, "t-aaaa", 0), ends(6, 1, json!(0.001))];
    records.push(judged(6, 1, true));
    records.extend(lands(7, 1, Some(FIRST)));
    let text = report(&past(&records), "", "", Some(&[FIRST])).markdown();
    assert!(text.contains("first try, <$0.01, commit"), "{text}");
}

#[test]
fn a_run_lasts_until_its_end_and_not_until_the_next_one_begins() {
    use crate::cycle::model_tests::{run, run_ended};
    let mut past = ReportHistory::default();
    for (at, record) in [
        ("2025-01-20T02:00:00Z", run("r1", 0)),
        ("2025-01-20T02:00:10Z", run_ended(LoopEnd::Complete, 0)),
        ("2025-01-20T09:00:00Z", run("r2", 0)),
    ] {
        past.add(&JournalEntry { at: at.into(), record });
    }
    let lasted: Vec<i64> = past.runs.iter().map(|run| run.last - run.began).collect();
    assert_eq!(lasted, [10, 0]);
}
