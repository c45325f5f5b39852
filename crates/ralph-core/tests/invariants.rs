//! Random sequences of verbs on all four formats keep what must always hold.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ralph_core::format::{PlanCodec, PlanFormat, codec};
use ralph_core::plan::{
    DependencyTrust, Id, LookedUpTask, Plan, PlanEdit, PlanLookup, Task, TaskInput, TaskState, add,
    next_task, prioritize, stage, validate, verbs,
};

const AT: &str = "2025-01-20T10:30:00Z";

/// What somebody may do; numbers choose among the tasks there are.
#[derive(Clone, Debug)]
enum Verb {
    Add { deps: Vec<usize>, name: String },
    Done(usize),
    Accept(usize),
    AcceptAll,
    Reject(usize),
    Skip(usize),
    Delete(usize),
    Block(usize, String),
    Retry(usize),
    Fail(usize),
    Prioritize,
    Rename(usize, String),
}

fn verb() -> impl Strategy<Value = Verb> {
    let n = 0..12usize;
    let name = "[a-zA-Z][a-z `*_|\\]\"\\\\é]{0,12}";
    prop_oneof![
        4 => (prop::collection::vec(n.clone(), 0..3), name)
            .prop_map(|(deps, name)| Verb::Add { deps, name }),
        2 => n.clone().prop_map(Verb::Done),
        2 => n.clone().prop_map(Verb::Accept),
        1 => Just(Verb::AcceptAll),
        2 => n.clone().prop_map(Verb::Reject),
        1 => n.clone().prop_map(Verb::Skip),
        1 => n.clone().prop_map(Verb::Delete),
        1 => (n.clone(), "[a-z][a-z ]{0,10}").prop_map(|(i, why)| Verb::Block(i, why)),
        2 => n.clone().prop_map(Verb::Retry),
        1 => n.clone().prop_map(Verb::Fail),
        1 => Just(Verb::Prioritize),
        1 => (n, name).prop_map(|(i, name)| Verb::Rename(i, name)),
    ]
}

/// The edits a verb asks for; `None` when it does not apply, which is as good an answer.
fn decide(
    verb: &Verb,
    plan: &Plan,
    codec: &dyn PlanCodec,
    random: &mut dyn FnMut() -> String,
) -> Option<Vec<PlanEdit>> {
    let ids: Vec<Id> = {
        let buried = plan.tombstones.iter().map(|t| t.id.clone());
        let all: BTreeSet<Id> = plan.tasks.iter().map(|t| t.id.clone()).chain(buried).collect();
        all.into_iter().collect()
    };
    let pick = |n: usize| ids.get(n.checked_rem(ids.len())?).cloned();
    match verb {
        Verb::Add { deps, name } => {
            let deps = match plan.format {
                PlanFormat::Progress => Vec::new(),
                _ => deps.iter().filter_map(|n| Some(pick(*n)?.to_string())).collect(),
            };
            let input =
                TaskInput { name: Some(name.clone()), deps: Some(deps), ..TaskInput::default() };
            add::add(plan, codec, &[input], random).ok()
        }
        Verb::Done(n) => verbs::done(plan, &pick(*n)?, AT).ok(),
        Verb::Accept(n) => verbs::accept(plan, &pick(*n)?, AT).ok(),
        Verb::AcceptAll => Some(verbs::accept_all(plan, AT)),
        Verb::Reject(n) => verbs::reject(plan, &pick(*n)?, "no test", AT).ok(),
        Verb::Skip(n) => verbs::skip(plan, &pick(*n)?, Some("later"), AT).ok(),
        Verb::Delete(n) => verbs::delete(plan, &pick(*n)?, None, AT).ok(),
        Verb::Block(n, why) => verbs::block(plan, &pick(*n)?, why).ok(),
        Verb::Retry(n) => verbs::retry(plan, &pick(*n)?).ok(),
        Verb::Fail(n) => verbs::fail(plan, &pick(*n)?, "gave up", AT, Id::new("i-fail")).ok(),
        Verb::Prioritize if plan.format == PlanFormat::Progress => None,
        Verb::Prioritize => Some(prioritize(plan, None).edits),
        Verb::Rename(n, name) => {
            let task = plan.task(&pick(*n)?)?;
            Some(vec![PlanEdit::UpdateTask(Task { name: name.trim().to_owned(), ..task.clone() })])
        }
    }
}

/// Every name that was ever added and not deleted or renamed is still known, and nothing else is.
fn names(plan: &Plan) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    let lookup = PlanLookup::new(plan);
    for task in &plan.tasks {
        *names.entry(task.name.clone()).or_default() += 1;
    }
    for stone in &plan.tombstones {
        let last = lookup.tombstone(&stone.id).is_some_and(|s| std::ptr::eq(s, stone));
        if last && lookup.task(&stone.id).is_none() {
            *names.entry(stone.name.clone().unwrap_or_default()).or_default() += 1;
        }
    }
    names
}

fn check(before: &Plan, after: &Plan, verb: &Verb) -> Result<(), TestCaseError> {
    // No id is given twice, no dependency points nowhere, there is no cycle.
    let errors: Vec<_> = validate(after)
        .into_iter()
        .filter(|f| matches!(f.code, "duplicate-id" | "missing-dependency" | "cycle"))
        .collect();
    prop_assert!(errors.is_empty(), "{errors:?}");
    // Accepted work is never lost, except that a rejection reopens it where claims are not known.
    for task in before.tasks.iter().filter(|t| t.state == TaskState::Accepted) {
        let reopened = matches!(verb, Verb::Reject(_)) && !before.format.knows_claims();
        let renamed = matches!(verb, Verb::Rename(..));
        let still = after.task(&task.id).is_some_and(|t| t.state == TaskState::Accepted);
        prop_assert!(still || reopened || renamed, "{} was accepted", task.id);
    }
    let accepted = |plan: &Plan| -> Vec<_> {
        plan.tombstones.iter().map(|t| (t.kind, t.id.clone())).collect()
    };
    prop_assert!(accepted(after).starts_with(&accepted(before)), "history only grows");
    // Tasks do not vanish or appear from nowhere.
    match verb {
        Verb::Add { .. } | Verb::Rename(..) => {}
        Verb::Delete(_) if !before.format.buries_tasks() => {}
        _ => prop_assert_eq!(names(before), names(after)),
    }
    // What comes next can really run.
    if let Some(next) = next_task(after, DependencyTrust::Claimed) {
        let lookup = PlanLookup::new(after);
        prop_assert!(next.deps.iter().all(|d| lookup.fate(d).satisfies(DependencyTrust::Claimed)));
        prop_assert!(!matches!(lookup.fate(&next.id), LookedUpTask::Unknown));
    }
    let open =
        after.scoped_tasks().any(|t| t.state.is_open() || matches!(t.state, TaskState::Failed(_)));
    prop_assert!(!(open && stage(after).as_str() == "COMPLETE"), "open work is never complete");
    Ok(())
}

fn run(format: PlanFormat, verbs: &[Verb]) -> Result<(), TestCaseError> {
    let codec = codec(format);
    let mut text = codec.empty("demo", AT);
    let mut count = 0u32;
    let mut random = || {
        count += 1;
        format!("{count:04}")
    };
    for verb in verbs {
        let before = codec.parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        let Some(edits) = decide(verb, &before, codec, &mut random) else { continue };
        // A format may refuse what it cannot hold; then nothing changes.
        let Ok(next) = codec.edit(&text, &edits) else { continue };
        let after = codec
            .parse(&next)
            .map_err(|e| TestCaseError::fail(format!("after {verb:?}: {e}\n{next}")))?;
        check(&before, &after, verb).map_err(|e| {
            TestCaseError::fail(format!(
                "{format} after {verb:?}: {e}\nbefore:\n{text}\nafter:\n{next}"
            ))
        })?;
        if edits.is_empty() {
            prop_assert_eq!(&next, &text, "no edit, no change");
        }
        text = next;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn random_verbs_keep_the_invariants_of_plan_jsonl(verbs in prop::collection::vec(verb(), 1..30)) {
        run(PlanFormat::Jsonl, &verbs)?;
    }

    #[test]
    fn random_verbs_keep_the_invariants_of_plan_json(verbs in prop::collection::vec(verb(), 1..30)) {
        run(PlanFormat::Deluxe, &verbs)?;
    }

    #[test]
    fn random_verbs_keep_the_invariants_of_progress_md(verbs in prop::collection::vec(verb(), 1..30)) {
        run(PlanFormat::Progress, &verbs)?;
    }

    #[test]
    fn random_verbs_keep_the_invariants_of_implementation_json(verbs in prop::collection::vec(verb(), 1..30)) {
        run(PlanFormat::Implementation, &verbs)?;
    }
}
