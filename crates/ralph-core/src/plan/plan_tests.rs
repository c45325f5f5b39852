//! The promises of the pure plan functions.

use super::*;
use crate::format::PlanFormat;

fn task(id: &str, deps: &[&str]) -> Task {
    Task {
        id: id.into(),
        name: format!("task {id}"),
        deps: deps.iter().map(|d| Id::from(*d)).collect(),
        ..Task::default()
    }
}

fn plan(tasks: Vec<Task>) -> Plan {
    Plan { tasks, ..Plan::empty(PlanFormat::Jsonl) }
}

fn with_state(mut t: Task, state: TaskState) -> Task {
    t.state = state;
    t
}

fn killed() -> TaskState {
    TaskState::Killed(KilledRun { reason: KillReason::Timeout, log: None })
}

fn ids(tasks: &[&Task]) -> Vec<String> {
    tasks.iter().map(|t| t.id.to_string()).collect()
}

mod stages {
    use super::*;

    #[test]
    fn an_empty_plan_is_complete() {
        assert_eq!(stage(&plan(vec![])), Stage::Complete);
    }

    #[test]
    fn precedence_is_decompose_investigate_build_verify() {
        let mut p = plan(vec![
            with_state(task("t-kill", &[]), killed()),
            task("t-open", &[]),
            with_state(task("t-done", &[]), TaskState::Done),
        ]);
        p.issues.push(Issue { id: "i-1".into(), desc: "why?".into(), ..Issue::default() });
        assert_eq!(stage(&p), Stage::Decompose);
        p.tasks.remove(0);
        assert_eq!(stage(&p), Stage::Investigate);
        p.issues.clear();
        assert_eq!(stage(&p), Stage::Build);
        p.tasks.remove(0);
        assert_eq!(stage(&p), Stage::Verify);
        p.tasks.clear();
        assert_eq!(stage(&p), Stage::Complete);
    }

    #[test]
    fn a_killed_issue_is_decomposed_before_others_are_investigated() {
        let mut p = plan(vec![]);
        p.issues.push(Issue { id: "i-1".into(), ..Issue::default() });
        p.issues.push(Issue {
            id: "i-2".into(),
            kill: Some(KilledRun { reason: KillReason::ContextLimit, log: None }),
            ..Issue::default()
        });
        let (stage, items) = next(&p);
        assert_eq!(stage, Stage::Decompose);
        assert!(matches!(items[..], [StageItem::Issue(i)] if i.id == Id::from("i-2")));
    }

    #[test]
    fn pending_work_that_cannot_run_is_blocked_and_never_complete() {
        let p = plan(vec![task("t-a", &["t-gone"])]);
        let (stage, items) = next(&p);
        assert_eq!(stage, Stage::Blocked);
        let [StageItem::Stuck { why, .. }] = &items[..] else { panic!("{items:?}") };
        assert_eq!(why.to_string(), "needs t-gone, which does not exist");
    }

    #[test]
    fn a_failed_task_is_not_complete() {
        let p = plan(vec![with_state(task("t-a", &[]), TaskState::Failed(None))]);
        assert_eq!(stage(&p), Stage::Blocked);
    }

    #[test]
    fn skipped_and_accepted_tasks_alone_are_complete() {
        let p = plan(vec![
            with_state(task("t-a", &[]), TaskState::Skipped),
            with_state(task("t-b", &[]), TaskState::Accepted),
        ]);
        assert_eq!(stage(&p), Stage::Complete);
    }

    #[test]
    fn only_records_of_the_current_spec_count() {
        let mut p = plan(vec![Task { spec: Some("other.md".into()), ..task("t-a", &[]) }]);
        p.current_spec = Some("mine.md".into());
        assert_eq!(stage(&p), Stage::Complete);
        p.tasks.push(task("t-b", &[]));
        assert_eq!(stage(&p), Stage::Build, "a record without a spec belongs to the current one");
    }
}

mod selection {
    use super::*;

    #[test]
    fn dependencies_then_priority_then_file_order() {
        let p = plan(vec![
            task("t-1", &[]),
            Task { priority: Some(Priority::Low), ..task("t-2", &[]) },
            Task { priority: Some(Priority::High), ..task("t-3", &["t-1"]) },
            Task { priority: Some(Priority::High), ..task("t-4", &[]) },
            task("t-5", &[]),
        ]);
        assert_eq!(ids(&runnable(&p, DependencyTrust::Claimed)), ["t-4", "t-1", "t-5", "t-2"]);
        assert_eq!(next_task(&p, DependencyTrust::Claimed).map(|t| t.id.as_str()), Some("t-4"));
    }

    #[test]
    fn a_claimed_dependency_is_enough_in_construct_only() {
        let p = plan(vec![with_state(task("t-1", &[]), TaskState::Done), task("t-2", &["t-1"])]);
        assert_eq!(ids(&runnable(&p, DependencyTrust::Claimed)), ["t-2"]);
        assert!(runnable(&p, DependencyTrust::Verified).is_empty());
        let why = obstacles(&p, DependencyTrust::Verified);
        assert_eq!(why[0].1, Obstacle::Unverified("t-1".into()));
    }

    #[test]
    fn an_accept_tombstone_satisfies_a_dependency() {
        let mut p = plan(vec![task("t-2", &["t-1"])]);
        p.tombstones.push(stone(TombstoneKind::Accept, "t-1"));
        assert_eq!(ids(&runnable(&p, DependencyTrust::Verified)), ["t-2"]);
    }

    #[test]
    fn failed_and_skipped_dependencies_are_told_apart() {
        let mut p = plan(vec![
            task("t-a", &["t-failed"]),
            task("t-b", &["t-skipped"]),
            task("t-c", &["t-live"]),
            with_state(task("t-live", &[]), TaskState::Skipped),
        ]);
        p.tombstones.push(stone(TombstoneKind::Reject, "t-failed"));
        p.tombstones.push(stone(TombstoneKind::Delete, "t-skipped"));
        let why: Vec<String> =
            obstacles(&p, DependencyTrust::Claimed).iter().map(|(_, o)| o.to_string()).collect();
        assert_eq!(
            why,
            [
                "needs t-failed, which failed",
                "needs t-skipped, which was skipped",
                "needs t-live, which was skipped"
            ]
        );
    }

    #[test]
    fn a_running_mark_left_by_a_crash_does_not_block() {
        let p = plan(vec![task("t-1", &[]), with_state(task("t-2", &[]), TaskState::Running)]);
        assert_eq!(ids(&runnable(&p, DependencyTrust::Verified)), ["t-2", "t-1"]);
    }

    #[test]
    fn specs_of_an_implementation_plan_come_in_their_order() {
        let of = |id: &str, spec: &str| Task { spec: Some(spec.into()), ..task(id, &[]) };
        let mut p = Plan {
            format: PlanFormat::Implementation,
            tasks: vec![of("b-1", "b"), of("a-1", "a"), of("a-2", "a"), of("c-1", "c")],
            ..Plan::empty(PlanFormat::Implementation)
        };
        p.tasks[2].priority = Some(Priority::High);
        for (id, priority) in [("a", Some(1)), ("b", Some(2)), ("c", None)] {
            p.specs.push(SpecEntry { id: id.into(), priority, ..SpecEntry::default() });
        }
        assert_eq!(ids(&runnable(&p, DependencyTrust::Verified)), ["a-2", "a-1", "b-1", "c-1"]);
    }

    fn stone(kind: TombstoneKind, id: &str) -> Tombstone {
        Tombstone {
            kind,
            id: id.into(),
            name: None,
            spec: None,
            reason: None,
            done_at: None,
            at: None,
            task: None,
            line: 0,
        }
    }
}

mod graphs {
    use super::*;

    #[test]
    fn a_cycle_is_reported_with_the_ids_along_it() {
        let tasks = [
            task("t-a", &["t-b"]),
            task("t-b", &["t-c"]),
            task("t-c", &["t-a"]),
            task("t-d", &["t-a"]),
        ];
        let found = cycles(&tasks.iter().collect::<Vec<_>>());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].len(), 3);
        assert!(!found[0].contains(&"t-d".into()), "t-d only waits for the cycle");
    }

    #[test]
    fn a_task_that_needs_itself_is_a_cycle_of_one() {
        let own = task("t-a", &["t-a"]);
        assert_eq!(cycles(&[&own]), [[Id::from("t-a")]]);
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_tasks_is_no_problem() {
        let n = 100_000;
        let tasks: Vec<Task> = (0..n)
            .map(|i| match i {
                0 => task("t-0", &[]),
                _ => task(&format!("t-{i}"), &[&format!("t-{}", i - 1)]),
            })
            .collect();
        let p = plan(tasks);
        assert_eq!(prioritize(&p, None).counts.prioritized, n);
        assert!(validate(&p).iter().all(|f| f.code != "cycle"));
        assert_eq!(next_task(&p, DependencyTrust::Claimed).map(|t| t.id.as_str()), Some("t-0"));
    }
}

mod priorities {
    use super::*;

    fn named(id: &str, name: &str, deps: &[&str]) -> Task {
        Task { name: name.into(), ..task(id, deps) }
    }

    fn priority_of(result: &PriorityUpdate, id: &str) -> Priority {
        result.order.iter().find(|(i, _)| i.as_str() == id).map(|(_, p)| *p).unwrap()
    }

    #[test]
    fn small_tasks_that_unblock_many_are_high_and_documentation_is_low() {
        let p = plan(vec![
            named("t-schema", "Add user schema", &[]),
            named("t-api", "Implement the upload endpoint", &["t-schema"]),
            named("t-ui", "Build the settings page", &["t-schema"]),
            named("t-docs", "Write documentation for uploads", &[]),
            named("t-log", "Log rejected uploads", &[]),
        ]);
        let result = prioritize(&p, None);
        assert_eq!(priority_of(&result, "t-schema"), Priority::High);
        assert_eq!(priority_of(&result, "t-docs"), Priority::Low);
        assert_eq!(priority_of(&result, "t-log"), Priority::Medium);
        assert_eq!(result.counts, PriorityCounts { prioritized: 5, high: 1, medium: 3, low: 1 });
        assert_eq!(result.order[0].0.as_str(), "t-schema");
    }

    #[test]
    fn the_longest_chain_is_high_except_its_end() {
        let p = plan(vec![
            named("t-1", "Parse", &[]),
            named("t-2", "Check", &["t-1"]),
            named("t-3", "Print", &["t-2"]),
            named("t-x", "Something apart", &[]),
        ]);
        let result = prioritize(&p, None);
        assert_eq!(priority_of(&result, "t-1"), Priority::High);
        assert_eq!(priority_of(&result, "t-2"), Priority::High);
        assert_eq!(priority_of(&result, "t-3"), Priority::Medium);
        assert_eq!(priority_of(&result, "t-x"), Priority::Medium);
    }

    #[test]
    fn a_chosen_priority_is_kept_and_a_computed_one_may_change() {
        let mut p = plan(vec![
            Task { priority: Some(Priority::Low), ..named("t-1", "Parse", &[]) },
            Task {
                priority: Some(Priority::Medium),
                auto_priority: Some(Priority::Medium),
                ..named("t-2", "Check", &[])
            },
            named("t-3", "A", &["t-1", "t-2"]),
            named("t-4", "B", &["t-1", "t-2"]),
        ]);
        let result = prioritize(&p, None);
        assert_eq!(priority_of(&result, "t-1"), Priority::Low, "somebody chose that");
        assert_eq!(priority_of(&result, "t-2"), Priority::High, "only ralph had said medium");
        for edit in &result.edits {
            let PlanEdit::UpdateTask(t) = edit else { panic!("{edit:?}") };
            *p.tasks.iter_mut().find(|o| o.id == t.id).unwrap() = t.clone();
        }
        assert!(prioritize(&p, None).edits.is_empty(), "the second run changes nothing");
    }

    #[test]
    fn what_a_chosen_high_task_needs_is_high_too() {
        let p = plan(vec![
            named("t-docs", "Document the format", &[]),
            Task { priority: Some(Priority::High), ..named("t-now", "Ship", &["t-docs"]) },
        ]);
        assert_eq!(priority_of(&prioritize(&p, None), "t-docs"), Priority::High);
    }

    #[test]
    fn long_and_far_reaching_tasks_are_large() {
        let long = Task { notes: Some("word ".repeat(100)), ..named("t", "Do it", &[]) };
        assert_eq!(size(&long), TaskSize::Large);
        assert_eq!(size(&named("t", "Rename a field", &[])), TaskSize::Small);
        assert_eq!(size(&named("t", "Migrate the database", &[])), TaskSize::Medium);
    }

    #[test]
    fn only_the_named_spec_is_looked_at() {
        let of = |id: &str, spec: &str| Task { spec: Some(spec.into()), ..task(id, &[]) };
        let p = plan(vec![of("t-a", "a.md"), of("t-b", "b.md"), task("t-c", &[])]);
        assert_eq!(prioritize(&p, Some("a.md")).counts.prioritized, 1);
        assert_eq!(prioritize(&p, None).counts.prioritized, 3);
    }
}

mod findings {
    use super::*;

    #[test]
    fn an_id_twice_is_found_in_a_plan_on_one_line() {
        let mut tasks = vec![task("t-a", &[]), task("t-a", &[])];
        tasks.iter_mut().for_each(|task| task.line = 1);
        let found = duplicate_ids(&plan(tasks));
        assert_eq!(found[0].message, "the id t-a is already used on line 1");
    }

    #[test]
    fn missing_dependencies_duplicates_cycles_and_vague_criteria_are_found_with_lines() {
        let mut tasks = vec![
            task("t-a", &["t-b"]),
            task("t-b", &["t-a", "t-none"]),
            task("t-a", &[]),
            Task { accept: vec!["it works".into()], ..task("t-v", &[]) },
        ];
        for (i, t) in tasks.iter_mut().enumerate() {
            t.line = i + 1;
            if t.accept.is_empty() {
                t.accept = vec!["`cargo test` passes".into()];
            }
        }
        let found = validate(&plan(tasks));
        let at: Vec<(usize, &str)> = found.iter().map(|f| (f.line, f.code)).collect();
        assert_eq!(
            at,
            [(1, "cycle"), (2, "missing-dependency"), (3, "duplicate-id"), (4, "vague-criterion")]
        );
    }

    #[test]
    fn what_can_be_checked_is_not_vague() {
        assert_eq!(vague("`cargo test` passes correctly"), None);
        assert_eq!(vague("users can upload JPG up to 5 MB"), None);
        assert!(vague("Works correctly.").is_some());
        assert!(vague("handles errors properly").is_some());
        assert!(vague("  ").is_some());
    }
}

mod words {
    use super::*;

    #[test]
    fn accept_and_reject_need_a_claim() {
        let p = plan(vec![task("t-a", &[]), with_state(task("t-d", &[]), TaskState::Done)]);
        assert!(verbs::accept(&p, &"t-a".into(), "now").is_err());
        assert!(verbs::reject(&p, &"t-a".into(), "no", "now").is_err());
        assert!(verbs::reject(&p, &"t-d".into(), " ", "now").is_err(), "a reason is needed");
        assert_eq!(verbs::accept_all(&p, "now").len(), 1);
    }

    #[test]
    fn done_work_and_what_others_need_is_not_deleted() {
        let p = plan(vec![
            task("t-a", &[]),
            task("t-b", &["t-a"]),
            with_state(task("t-d", &[]), TaskState::Done),
        ]);
        let why = verbs::delete(&p, &"t-a".into(), None, "now").unwrap_err();
        assert_eq!(why.to_string(), "task t-a is needed by t-b");
        assert!(verbs::delete(&p, &"t-d".into(), None, "now").is_err());
        assert!(verbs::delete(&p, &"t-b".into(), None, "now").is_ok());
    }

    #[test]
    fn a_typed_task_with_a_typo_names_the_nearest_field() {
        let err = read_tasks(r#"{"name": "x", "dep": ["t-1"]}"#).unwrap_err();
        assert_eq!(err.to_string(), "unknown field `dep` (did you mean `deps`?)");
        let err = read_tasks(r#"{"name": "x", "name": "y"}"#).unwrap_err();
        assert!(err.to_string().contains("name"), "{err}");
        assert!(read_tasks("[]").is_err());
        assert!(read_tasks(r#"[{"name":"a"},{"nmae":"b"}]"#).unwrap_err().0.starts_with("task 2:"));
    }

    #[test]
    fn field_names_of_every_format_are_understood() {
        let deluxe = r#"{"id":"T-1","title":"a","description":"b","acceptance_criteria":["c"],"depends_on":[]}"#;
        let input = &read_tasks(deluxe).unwrap()[0];
        assert_eq!((input.name.as_deref(), input.notes.as_deref()), (Some("a"), Some("b")));
        let implementation = r#"{"description":"a","acceptanceCriteria":["c"]}"#;
        let input = &read_tasks(implementation).unwrap()[0];
        assert_eq!((input.name.as_deref(), input.notes.as_deref()), (Some("a"), None));
        assert_eq!(input.accept, Some(vec!["c".to_owned()]));
    }
}
