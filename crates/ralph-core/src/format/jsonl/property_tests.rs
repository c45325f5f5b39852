//! Random plans and edits: the new text means what the edit says, and no other line has changed.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::{JsonlCodec, write};
use crate::format::PlanCodec;
use crate::json;
use crate::plan::{
    AcceptedSpec, Id, Issue, KillReason, KilledRun, Plan, PlanEdit, Priority, Retirement,
    SpecEntry, Task, TaskState, Tombstone, TombstoneKind,
};

const AT: &str = "2026-02-03T04:05:06Z";

// Boxed, because a value tree of all fields of a task is too big for a test's stack.
fn words() -> BoxedStrategy<String> {
    prop_oneof!["[a-z ]{0,6}", "\\PC{0,5}", any::<String>()].boxed()
}

fn maybe<T: std::fmt::Debug + 'static>(
    s: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Option<T>> {
    prop::option::weighted(0.3, s).boxed()
}

fn list() -> BoxedStrategy<Vec<String>> {
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(words(), 1..3)].boxed()
}

fn ids() -> impl Strategy<Value = Vec<Id>> {
    list().prop_map(|ids| ids.into_iter().map(Id::new).collect())
}

fn priority() -> impl Strategy<Value = Option<Priority>> {
    maybe(prop::sample::select(Priority::ALL.to_vec()))
}

fn kill() -> impl Strategy<Value = KilledRun> {
    let reason = prop::sample::select(vec![KillReason::Timeout, KillReason::ContextLimit]);
    (reason, maybe(words())).prop_map(|(reason, log)| KilledRun { reason, log })
}

fn live_state() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        Just(TaskState::Pending),
        Just(TaskState::Done),
        words().prop_map(TaskState::Blocked),
        kill().prop_map(TaskState::Killed),
    ]
}

fn any_state() -> impl Strategy<Value = TaskState> {
    prop_oneof![
        4 => live_state(),
        1 => Just(TaskState::Running),
        1 => Just(TaskState::Accepted),
        1 => maybe(words()).prop_map(TaskState::Failed),
        1 => Just(TaskState::Skipped),
    ]
}

fn task(state: impl Strategy<Value = TaskState> + 'static) -> BoxedStrategy<Task> {
    let texts = (words(), maybe(words()), maybe(words()), maybe(words()), maybe(words()));
    let lists = (list(), ids(), list(), list());
    let numbers = (0..3u32, maybe(any::<u32>()), maybe(any::<u32>()), any::<bool>());
    let more = (priority(), priority(), maybe(words()), maybe(words()), maybe(words()));
    (state, texts, lists, numbers, more)
        .prop_map(
            |(
                state,
                (name, spec, notes, done_at, reject),
                (accept, deps, skills, libraries),
                (retries, max_retries, max_turns, needs_docs),
                (priority, auto_priority, parent, created_from, phase),
            )| Task {
                id: Id::default(),
                name,
                spec,
                state,
                notes,
                accept,
                deps,
                priority,
                auto_priority,
                retries,
                max_retries,
                max_turns,
                timeout_ms: max_turns.map(u64::from),
                skills,
                libraries,
                needs_docs,
                parent: parent.map(Id::new),
                created_from: created_from.map(Id::new),
                done_at,
                reject,
                phase,
                line: 0,
            },
        )
        .boxed()
}

fn issue() -> BoxedStrategy<Issue> {
    (words(), maybe(words()), priority(), maybe(kill()), maybe(words()))
        .prop_map(|(desc, spec, priority, kill, from)| Issue {
            id: Id::default(),
            desc,
            spec,
            priority,
            kill,
            created_from: from.map(Id::new),
            line: 0,
        })
        .boxed()
}

/// The members of an old line as text, with one that ralph does not know, in one of two styles.
fn old_line(mut members: write::RecordMembers, at: Index, spaces: &str) -> String {
    members.retain(|m| m.1.is_some());
    members.insert(at.index(members.len() + 1), ("unknown", Some(Value::from(1.25))));
    let members: Vec<String> = members
        .into_iter()
        .map(|(key, value)| {
            let key = if key == "kill_reason" && spaces.is_empty() { "kill" } else { key };
            format!("\"{key}\":{spaces}{}", value.unwrap())
        })
        .collect();
    format!("{{{}}}", members.join(&format!(",{spaces}")))
}

#[derive(Clone, Debug)]
enum OldLine {
    Task(Box<Task>, Index, &'static str),
    Issue(Issue, Index, &'static str),
    Other(&'static str),
}

fn old_lines() -> impl Strategy<Value = Vec<OldLine>> {
    let spaces = || prop::sample::select(vec!["", " "]);
    let other = prop::sample::select(vec![
        "",
        "   ",
        r#"{"t":"note","text":"ü"}"#,
        r#" {"t": "stage", "stage": "BUILD"} "#,
        r#"{"t":"unheard","id":"n-0","task":[1e3]}"#,
        r#"{"t":"spec","spec":"a.md"}"#,
        r#"{"t":"accept","id":"t-old","name":"x"}"#,
        r#"{"t": "reject", "id": "n-0", "name": "x", "reason": "r"}"#,
        r#"{"t":"config","max_iterations":3}"#,
    ]);
    let line = prop_oneof![
        4 => (task(live_state()), any::<Index>(), spaces())
            .prop_map(|(task, at, spaces)| OldLine::Task(Box::new(task), at, spaces)),
        1 => (issue(), any::<Index>(), spaces())
            .prop_map(|(issue, at, spaces)| OldLine::Issue(issue, at, spaces)),
        2 => other.prop_map(OldLine::Other),
    ];
    prop::collection::vec(line, 0..10)
}

/// The text of a plan whose n-th line, if it is a live record, has the id `n-<n>`.
fn written(lines: Vec<OldLine>, newline: &str, start: &str, closed: bool) -> String {
    let lines: Vec<String> = lines
        .into_iter()
        .enumerate()
        .map(|(n, line)| {
            let id = Id::new(format!("n-{n}"));
            match line {
                OldLine::Task(task, at, spaces) => {
                    old_line(write::task(&Task { id, ..*task }), at, spaces)
                }
                OldLine::Issue(issue, at, spaces) => {
                    old_line(write::issue(&Issue { id, ..issue }), at, spaces)
                }
                OldLine::Other(text) => text.to_owned(),
            }
        })
        .collect();
    let end = if closed && !lines.is_empty() { newline } else { "" };
    format!("{start}{}{end}", lines.join(newline))
}

fn plans() -> impl Strategy<Value = String> {
    let newline = prop::sample::select(vec!["\n", "\r\n"]);
    let start = prop::sample::select(vec!["", "\u{feff}"]);
    (old_lines(), newline, start, any::<bool>())
        .prop_map(|(lines, newline, start, closed)| written(lines, newline, start, closed))
}

/// What to do, before it is known to what.
#[derive(Clone, Debug)]
enum Wish {
    Add(Task),
    AddAfter(Task, Index),
    Update(Task, Index),
    Retire(Index, Retirement, Option<String>),
    Reject(Index, String),
    AddIssue(Issue),
    UpdateIssue(Issue, Index),
    RemoveIssue(Index),
    UseSpec(String),
    AcceptSpec(String),
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let how = prop::sample::select(vec![
        Retirement::Accepted,
        Retirement::Failed,
        Retirement::Skipped,
        Retirement::Deleted,
    ]);
    let item = any::<Index>;
    let wish = prop_oneof![
        task(any_state()).prop_map(Wish::Add),
        (task(live_state()), item()).prop_map(|(t, i)| Wish::AddAfter(t, i)),
        (task(live_state()), item()).prop_map(|(t, i)| Wish::Update(t, i)),
        (item(), how, maybe(words())).prop_map(|(i, how, why)| Wish::Retire(i, how, why)),
        (item(), words()).prop_map(|(i, why)| Wish::Reject(i, why)),
        issue().prop_map(Wish::AddIssue),
        (issue(), item()).prop_map(|(issue, i)| Wish::UpdateIssue(issue, i)),
        item().prop_map(Wish::RemoveIssue),
        words().prop_map(Wish::UseSpec),
        words().prop_map(Wish::AcceptSpec),
    ];
    prop::collection::vec(wish, 0..5)
}

/// Wishes as edits of different items of this plan.
fn edits(plan: &Plan, wishes: Vec<Wish>) -> Vec<PlanEdit> {
    let mut used: Vec<Id> = Vec::new();
    let mut edits = Vec::new();
    for (n, wish) in wishes.into_iter().enumerate() {
        let new = Id::new(format!("new-{n}"));
        let task_ids: Vec<&Id> = plan.tasks.iter().map(|t| &t.id).collect();
        let issue_ids: Vec<&Id> = plan.issues.iter().map(|i| &i.id).collect();
        let pick =
            |ids: &[&Id], at: Index| (!ids.is_empty()).then(|| ids[at.index(ids.len())].clone());
        let at = AT.to_owned();
        let (about, edit) = match wish {
            Wish::Add(task) => {
                (None, Some(PlanEdit::AddTask { task: Task { id: new, ..task }, after: None }))
            }
            Wish::AddAfter(task, i) => {
                let after = pick(&task_ids, i);
                (None, Some(PlanEdit::AddTask { task: Task { id: new, ..task }, after }))
            }
            Wish::Update(task, i) => {
                let id = pick(&task_ids, i);
                (id.clone(), id.map(|id| PlanEdit::UpdateTask(Task { id, ..task })))
            }
            Wish::Retire(i, how, reason) => {
                let id = pick(&task_ids, i);
                (id.clone(), id.map(|id| PlanEdit::Retire { id, how, reason, at }))
            }
            Wish::Reject(i, reason) => {
                let id = pick(&task_ids, i);
                (id.clone(), id.map(|id| PlanEdit::Reject { id, reason, at }))
            }
            Wish::AddIssue(issue) => (None, Some(PlanEdit::AddIssue(Issue { id: new, ..issue }))),
            Wish::UpdateIssue(issue, i) => {
                let id = pick(&issue_ids, i);
                (id.clone(), id.map(|id| PlanEdit::UpdateIssue(Issue { id, ..issue })))
            }
            Wish::RemoveIssue(i) => {
                let id = pick(&issue_ids, i);
                (id.clone(), id.map(PlanEdit::RemoveIssue))
            }
            Wish::UseSpec(spec) => (None, Some(PlanEdit::UseSpec(spec))),
            Wish::AcceptSpec(spec) => (None, Some(PlanEdit::AcceptSpec { spec, at })),
        };
        if about.as_ref().is_some_and(|id| used.contains(id)) {
            continue;
        }
        used.extend(about);
        edits.extend(edit);
    }
    edits
}

fn tombstone(kind: TombstoneKind, task: &Task) -> Tombstone {
    Tombstone {
        kind,
        id: task.id.clone(),
        name: Some(task.name.clone()),
        spec: None,
        reason: None,
        done_at: None,
        at: None,
        task: None,
        line: 0,
    }
}

fn accepted(task: &Task) -> Tombstone {
    Tombstone {
        spec: task.spec.clone(),
        done_at: task.done_at.clone(),
        ..tombstone(TombstoneKind::Accept, task)
    }
}

fn buried(kind: TombstoneKind, task: Task) -> Tombstone {
    Tombstone {
        spec: task.spec.clone(),
        task: Some(Box::new(task.clone())),
        ..tombstone(kind, &task)
    }
}

/// What the edit means, said without any text.
fn apply(plan: &mut Plan, edit: &PlanEdit) {
    let find = |plan: &Plan, id: &Id| plan.tasks.iter().position(|t| t.id == *id).unwrap();
    match edit.clone() {
        PlanEdit::AddTask { mut task, after } => match task.state.clone() {
            TaskState::Accepted => {
                let at = task.done_at.clone();
                plan.tombstones.push(Tombstone { at, ..accepted(&task) });
            }
            TaskState::Failed(reason) => {
                task.state = TaskState::Pending;
                plan.tombstones.push(Tombstone { reason, ..buried(TombstoneKind::Reject, task) });
            }
            TaskState::Skipped => {
                task.state = TaskState::Pending;
                plan.tombstones.push(buried(TombstoneKind::Delete, task));
            }
            state => {
                task.state = if state == TaskState::Running { TaskState::Pending } else { state };
                let at = after.map_or(plan.tasks.len(), |id| find(plan, &id) + 1);
                plan.tasks.insert(at, task);
            }
        },
        PlanEdit::UpdateTask(task) => {
            let at = find(plan, &task.id);
            plan.tasks[at] = task;
        }
        PlanEdit::Retire { id, how, reason, at } => {
            let task = plan.tasks.remove(find(plan, &id));
            let tombstone = match how {
                Retirement::Accepted => accepted(&task),
                Retirement::Failed => buried(TombstoneKind::Reject, task),
                Retirement::Skipped | Retirement::Deleted => buried(TombstoneKind::Delete, task),
            };
            plan.tombstones.push(Tombstone { reason, at: Some(at), ..tombstone });
        }
        PlanEdit::Reject { id, reason, at } => {
            let i = find(plan, &id);
            let task = &mut plan.tasks[i];
            task.state = TaskState::Pending;
            task.retries += 1;
            task.done_at = None;
            task.reject = Some(reason.clone());
            let told = tombstone(TombstoneKind::Reject, task);
            plan.tombstones.push(Tombstone { reason: Some(reason), at: Some(at), ..told });
        }
        PlanEdit::AddIssue(issue) => plan.issues.push(issue),
        PlanEdit::UpdateIssue(issue) => {
            let at = plan.issues.iter().position(|i| i.id == issue.id).unwrap();
            plan.issues[at] = issue;
        }
        PlanEdit::RemoveIssue(id) => plan.issues.retain(|i| i.id != id),
        PlanEdit::UseSpec(spec) => {
            if !plan.specs.iter().any(|s| s.id == spec) {
                plan.specs.push(SpecEntry { id: spec.clone(), ..SpecEntry::default() });
            }
            plan.current_spec = Some(spec);
        }
        PlanEdit::AcceptSpec { spec, at } => {
            plan.accepted_specs.push(AcceptedSpec { spec, at: Some(at) });
        }
    }
}

/// Lines are places in a file, not meaning.
fn without_lines(mut plan: Plan) -> Plan {
    let carried = plan.tombstones.iter_mut().filter_map(|t| t.task.as_deref_mut());
    plan.tasks.iter_mut().chain(carried).for_each(|t| t.line = 0);
    plan.issues.iter_mut().for_each(|i| i.line = 0);
    plan.tombstones.iter_mut().for_each(|t| t.line = 0);
    plan.config.line = 0;
    plan
}

/// The id of the old record that an edit is about.
fn about(edit: &PlanEdit) -> Option<&Id> {
    match edit {
        PlanEdit::UpdateTask(task) => Some(&task.id),
        PlanEdit::Retire { id, .. } | PlanEdit::Reject { id, .. } | PlanEdit::RemoveIssue(id) => {
            Some(id)
        }
        PlanEdit::UpdateIssue(issue) => Some(&issue.id),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn reading_and_writing_nothing_is_the_identity(text in plans()) {
        prop_assert_eq!(JsonlCodec.edit(&text, &[]).unwrap(), text);
    }

    #[test]
    fn edits_mean_what_they_say_and_touch_no_other_line(text in plans(), wishes in wishes()) {
        let old = JsonlCodec.parse(&text).unwrap();
        let edits = edits(&old, wishes);
        let out = JsonlCodec.edit(&text, &edits).unwrap();
        let new = JsonlCodec.parse(&out).unwrap();

        // `after` a task that goes away in the same batch has no meaning without text.
        let mut ordered: Vec<&PlanEdit> = edits.iter().collect();
        ordered.sort_by_key(|e| about(e).is_some());
        let mut expected = old.clone();
        for edit in ordered {
            apply(&mut expected, edit);
        }
        let (mut expected, mut new) = (without_lines(expected), without_lines(new));
        expected.tombstones.sort_by_key(|t| format!("{t:?}"));
        new.tombstones.sort_by_key(|t| format!("{t:?}"));
        let order = |plan: &Plan| plan.tasks.iter().map(|t| t.id.clone()).collect::<Vec<_>>();
        let (mut left, mut right) = (order(&expected), order(&new));
        if edits.iter().filter(|e| matches!(e, PlanEdit::AddTask { after: Some(_), .. })).count() > 1 {
            left.sort();
            right.sort();
        }
        prop_assert_eq!(left, right);
        expected.tasks.sort_by(|a, b| a.id.cmp(&b.id));
        new.tasks.sort_by(|a, b| a.id.cmp(&b.id));
        prop_assert_eq!(expected, new);

        let touched: Vec<usize> = edits
            .iter()
            .filter_map(about)
            .filter_map(|id| old.task(id).map(|t| t.line).or(old.issue(id).map(|i| i.line)))
            .collect();
        let mut lines = out.split('\n').map(|l| l.trim_start_matches('\u{feff}'));
        for (n, line) in text.split('\n').enumerate() {
            let line = line.trim_start_matches('\u{feff}');
            let kept = !touched.contains(&(n + 1)) && !line.is_empty();
            let same = |l: &str| l == line || l.strip_suffix('\r') == Some(line);
            prop_assert!(!kept || lines.any(same), "lost line {}", line);
        }
    }

    #[test]
    fn additions_are_appends(text in plans(), task in task(any_state()), issue in issue()) {
        let edits = [
            PlanEdit::AddTask { task: Task { id: "new-1".into(), ..task }, after: None },
            PlanEdit::AddIssue(Issue { id: "new-2".into(), ..issue }),
            PlanEdit::UseSpec("b.md".into()),
        ];
        let out = JsonlCodec.edit(&text, &edits).unwrap();
        prop_assert!(out.starts_with(&text));
        prop_assert!(out.ends_with('\n'));
        let old = text.split('\n').count() - usize::from(text.ends_with('\n') || text.is_empty());
        let bare_mark = usize::from(text == "\u{feff}");
        prop_assert_eq!(out.lines().count(), old - bare_mark + 3);
    }

    #[test]
    fn unknown_members_survive_every_change_of_their_line(text in plans(), wishes in wishes()) {
        let old = JsonlCodec.parse(&text).unwrap();
        let out = JsonlCodec.edit(&text, &edits(&old, wishes)).unwrap();
        let new = JsonlCodec.parse(&out).unwrap();
        for task in old.tasks.iter().filter_map(|t| new.task(&t.id)) {
            let line = out.split('\n').nth(task.line - 1).unwrap().trim_start_matches('\u{feff}');
            let node = json::parse(line).unwrap();
            prop_assert_eq!(node.get("unknown").unwrap().raw(line), "1.25");
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[{}\"t:ask,id\\n]{0,30}") {
        if let Ok(plan) = JsonlCodec.parse(&text) {
            prop_assert_eq!(JsonlCodec.edit(&text, &[]).unwrap(), text);
            prop_assert!(plan.tasks.is_empty());
        }
    }
}
