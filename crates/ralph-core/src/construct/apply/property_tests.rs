//! Whatever the plan and whatever the answers: nothing is lost, ids stay unique, done work stays, and
//! other specs are not touched.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::construct::answer::{
    Decomposition, Gap, GapKind, Investigation, InvestigationOutcome, NewIssue, NewTask,
    PlanAnswer, SpecVerdict, TaskVerdict, VerdictWord,
};
use crate::construct::testing::{read, with_pen};
use crate::format::{PlanFormat, codec};
use crate::plan::{
    Id, Issue, KillReason, KilledRun, Plan, PlanEdit, PlanSeverity, Task, TaskState, TombstoneKind,
    validate,
};

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[abc]{1,2} [de]{1,2} [0-3]", "\\PC{0,6}", "parse|print"]
}

fn states() -> impl Strategy<Value = TaskState> {
    let kill = KilledRun { reason: KillReason::Timeout, log: None };
    prop_oneof![
        Just(TaskState::Pending),
        Just(TaskState::Done),
        Just(TaskState::Blocked("why".into())),
        Just(TaskState::Killed(kill)),
    ]
}

fn spec() -> impl Strategy<Value = Option<String>> {
    prop_oneof![Just(None), Just(Some("s.md".to_owned())), Just(Some("o.md".to_owned()))]
}

/// A plan.jsonl with tasks `t-000…` whose dependencies have no circles, and issues `i-000…`.
fn plans() -> impl Strategy<Value = String> {
    let task = (name(), states(), spec(), prop::collection::vec(0..8_usize, 0..3), 0..4_u32);
    let issue = (name(), spec(), prop::option::of(0..8_usize), any::<bool>());
    (prop::collection::vec(task, 0..8), prop::collection::vec(issue, 0..4)).prop_map(
        |(tasks, issues)| {
            let id = |n: usize| Id::new(format!("t-000{n}"));
            let mut edits = vec![PlanEdit::UseSpec("s.md".into())];
            for (n, (name, state, spec, deps, retries)) in tasks.into_iter().enumerate() {
                let deps = deps.into_iter().filter(|d| *d < n).map(id).collect();
                let parent = (retries > 1 && n > 0).then(|| id(n - 1));
                let task =
                    Task { id: id(n), name, state, spec, deps, retries, parent, ..Task::default() };
                edits.push(PlanEdit::AddTask { task, after: None });
            }
            for (n, (desc, spec, from, killed)) in issues.into_iter().enumerate() {
                let kill =
                    killed.then_some(KilledRun { reason: KillReason::ContextLimit, log: None });
                let (id, created_from) = (Id::new(format!("i-000{n}")), from.map(id));
                let issue = Issue { id, desc, spec, kill, created_from, ..Issue::default() };
                edits.push(PlanEdit::AddIssue(issue));
            }
            codec(PlanFormat::Jsonl).edit("", &edits).unwrap()
        },
    )
}

fn new_tasks() -> impl Strategy<Value = Vec<NewTask>> {
    let dep = prop_oneof!["[a-d]", "t-000[0-7]", "zz"];
    let task =
        ("[a-d]?", name(), prop::collection::vec(dep, 0..3)).prop_map(|(key, name, deps)| {
            NewTask { key, name, deps, accept: vec!["`x` prints 1".into()], ..NewTask::default() }
        });
    prop::collection::vec(task, 0..6)
}

fn gaps() -> impl Strategy<Value = Vec<Gap>> {
    use GapKind::{Ambiguity, Bug, EdgeCase, Incomplete, MissingFeature, Other, TestCoverage};
    let kinds = vec![MissingFeature, Incomplete, Bug, EdgeCase, TestCoverage, Ambiguity, Other];
    let gap = (prop::sample::select(kinds), name()).prop_map(|(kind, description)| Gap {
        kind,
        description,
        ..Gap::default()
    });
    prop::collection::vec(gap, 0..4)
}

fn verdicts() -> impl Strategy<Value = Vec<TaskVerdict>> {
    let word = prop_oneof![Just(VerdictWord::Accept), Just(VerdictWord::Reject)];
    let verdict = ("t-00[0-1][0-9]", word, gaps()).prop_map(|(task_id, verdict, gaps)| {
        TaskVerdict { task_id, verdict, reason: String::new(), gaps }
    });
    prop::collection::vec(verdict, 0..6)
}

/// The promises that hold for every write.
fn check(before: &str, applied: &AppliedChange) -> Result<Plan, TestCaseError> {
    let (old, new) = (read(before), read(&applied.text));
    let ids: Vec<&Id> =
        new.tasks.iter().map(|t| &t.id).chain(new.issues.iter().map(|i| &i.id)).collect();
    prop_assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids are unique");
    for task in &old.tasks {
        let live = new.task(&task.id);
        let stone = new.tombstones.iter().rev().find(|stone| stone.id == task.id);
        prop_assert!(live.is_some() || stone.is_some(), "{} is lost", task.id);
        if task.state == TaskState::Done && live.is_none() {
            let kind = stone.map(|stone| stone.kind);
            prop_assert!(kind != Some(TombstoneKind::Delete), "done work was removed");
        }
        if task.spec.as_deref() == Some("o.md") {
            let same = |t: &Task| Task { line: 0, ..t.clone() };
            prop_assert_eq!(live.map(same), Some(same(task)), "another spec was touched");
        }
    }
    for issue in old.issues.iter().filter(|i| i.spec.as_deref() == Some("o.md")) {
        let named = applied.came.resolved.contains(&issue.id)
            || applied.came.split.contains(&issue.id)
            || applied.came.killed.contains(&issue.id);
        prop_assert!(named || new.issue(&issue.id).is_some(), "an issue of another spec is gone");
    }
    prop_assert!(new.tombstones.len() >= old.tombstones.len());
    let circle =
        validate(&new).into_iter().find(|f| f.severity == PlanSeverity::Error && f.code == "cycle");
    prop_assert_eq!(circle, None);
    for id in &applied.came.created {
        prop_assert!(new.task(id).is_some() && old.task(id).is_none());
    }
    Ok(new)
}

/// One of the ids of the plan, or none of them. Only records in scope are ever worked on.
fn pick(text: &str, at: usize) -> Option<Id> {
    let plan = read(text);
    let ids: Vec<Id> = plan
        .scoped_tasks()
        .map(|t| t.id.clone())
        .chain(plan.scoped_issues().map(|i| i.id.clone()))
        .collect();
    ids.get(at % (ids.len() + 1)).cloned()
}

proptest! {
    #[test]
    fn verify_keeps_every_promise(
        text in plans(), verdicts in verdicts(), silent in prop::collection::vec(0..8_usize, 0..3),
        satisfied in any::<bool>(), whole in prop::option::of(gaps()),
    ) {
        let in_scope = |id: &Id| read(&text).scoped_tasks().any(|t| t.id == *id);
        let verdicts: Vec<TaskVerdict> = verdicts
            .into_iter()
            .filter(|v| in_scope(&Id::from(v.task_id.as_str())) || v.task_id.ends_with("9"))
            .collect();
        let silent: Vec<Id> =
            silent.into_iter().map(|n| Id::new(format!("t-000{n}"))).filter(in_scope).collect();
        let whole = whole.map(|gaps| SpecVerdict { satisfied, gaps, ..SpecVerdict::default() });
        let input = Verification {
            spec: "s.md", verdicts: &verdicts, unverified: &silent, whole: whole.as_ref(), max_retries: 2,
        };
        let applied = with_pen(|pen| verified(&text, &input, pen));
        let new = check(&text, &applied)?;
        prop_assert!(applied.came.created.len() <= MOST_CREATED && applied.came.raised.len() <= MOST_CREATED + 8);
        prop_assert_eq!(applied.came.spec_accepted, !new.accepted_specs.is_empty());
        if applied.came.spec_accepted {
            prop_assert!(satisfied && crate::plan::stage(&new) == crate::plan::Stage::Complete);
        }
        if whole.is_some() && !satisfied {
            prop_assert!(new.scoped_tasks().count() + new.scoped_issues().count() > 0);
        }
    }

    #[test]
    fn investigate_keeps_every_promise(text in plans(), tasks in new_tasks(), out in any::<bool>(), at in 0..9_usize) {
        let outcome = if out { InvestigationOutcome::OutOfScope } else { InvestigationOutcome::Tasks };
        let finding = Investigation { issue_id: String::new(), outcome, reason: "r".into(), tasks };
        let id = pick(&text, at).unwrap_or_else(|| "i-zzzz".into());
        let findings = [(id.clone(), finding.clone()), (id, finding)];
        let applied = with_pen(|pen| investigated(&text, &findings, pen));
        let new = check(&text, &applied)?;
        for id in &applied.came.resolved {
            prop_assert!(new.issue(id).is_none());
        }
        let merged = with_pen(|pen| merge_issues(&applied.text, pen));
        check(&applied.text, &merged)?;
        let again = with_pen(|pen| merge_issues(&merged.text, pen));
        prop_assert_eq!(&again.text, &merged.text, "merging twice is merging once");
    }

    #[test]
    fn kill_and_decompose_keep_every_promise(
        text in plans(), tasks in new_tasks(), issues in prop::collection::vec(name(), 0..3), at in 0..13_usize,
    ) {
        let id = pick(&text, at).unwrap_or_else(|| "t-zzzz".into());
        let kill = KilledRun { reason: KillReason::Timeout, log: Some("a.log".into()) };
        let killed = with_pen(|pen| killed(&text, &id, &kill, pen));
        check(&text, &killed)?;
        let issues = issues.into_iter().map(|desc| NewIssue { desc }).collect();
        let parts = Decomposition { tasks, issues, reason: String::new() };
        let applied = with_pen(|pen| decomposed(&killed.text, &id, &parts, pen));
        let new = check(&killed.text, &applied)?;
        let still = new.task(&id).is_some_and(|t| matches!(t.state, TaskState::Killed(_)))
            || new.issue(&id).is_some_and(|i| i.kill.is_some());
        let task = read(&killed.text).task(&id).cloned();
        let stays = task.is_some_and(|task| {
            check_new_parts(&read(&killed.text), &task, &parts.tasks).is_err()
        });
        prop_assert!(!still || stays, "what was killed is dealt with");
        for task in new.scoped_tasks() {
            prop_assert!(depth(&new, &task.id) <= 8);
        }
        let blocked = with_pen(|pen| blocked(&text, &id, "why", pen));
        check(&text, &blocked)?;
        let given = with_pen(|pen| give_up(&killed.text, &id, "why", pen));
        check(&killed.text, &given)?;
    }

    #[test]
    fn planning_keeps_every_promise(text in plans(), tasks in new_tasks(), replace in any::<bool>()) {
        let existing = if replace { ExistingTasks::Replace } else { ExistingTasks::Merge };
        let target = PlanTarget { format: PlanFormat::Jsonl, spec: Some("s.md"), file: None, existing, title: "s" };
        let answer = PlanAnswer { tasks, ..PlanAnswer::default() };
        let applied = with_pen(|pen| planned(&text, &target, &answer, pen));
        let new = check(&text, &applied)?;
        for task in new.tasks.iter().filter(|t| applied.came.created.contains(&t.id)) {
            prop_assert_eq!(task.spec.as_deref(), Some("s.md"));
        }
    }

    #[test]
    fn planning_in_the_other_formats_gives_a_file_that_says_it(tasks in new_tasks(), replace in any::<bool>()) {
        let existing = if replace { ExistingTasks::Replace } else { ExistingTasks::Merge };
        let first = PlanAnswer {
            tasks: vec![NewTask { name: "parse 77".into(), ..NewTask::default() }], ..PlanAnswer::default()
        };
        let answer = PlanAnswer { tasks, ..PlanAnswer::default() };
        for format in [PlanFormat::Deluxe, PlanFormat::Progress, PlanFormat::Implementation] {
            let target = PlanTarget { format, spec: Some("specs/s.md"), file: None, existing, title: "s" };
            let text = with_pen(|pen| planned("", &target, &first, pen)).text;
            let applied = with_pen(|pen| planned(&text, &target, &answer, pen));
            let new = codec(format).parse(&applied.text).unwrap();
            prop_assert_eq!(new.tasks.len(), applied.came.created.len() + usize::from(!replace), "{}", format);
        }
    }
}
