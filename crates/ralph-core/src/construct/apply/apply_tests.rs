use super::*;
use crate::construct::answer::{
    Decomposition, Gap, GapKind, Investigation, InvestigationOutcome, NewIssue, PlanAnswer,
    SpecVerdict, TaskVerdict, VerdictWord,
};
use crate::construct::testing::{live, plan, read, states, task, texts, with_pen};
use crate::format::{PlanFormat, codec};
use crate::plan::{
    Id, KillReason, KilledRun, LookedUpTask, PlanLookup, Priority, TaskState, TombstoneKind,
};

fn verdict(id: &str, verdict: VerdictWord, gaps: Vec<Gap>) -> TaskVerdict {
    TaskVerdict { task_id: id.into(), verdict, reason: "because".into(), gaps }
}

fn gap(kind: GapKind, description: &str) -> Gap {
    Gap { kind, description: description.into(), ..Gap::default() }
}

fn satisfied() -> SpecVerdict {
    SpecVerdict { satisfied: true, ..SpecVerdict::default() }
}

fn verify(
    text: &str,
    verdicts: &[TaskVerdict],
    unverified: &[Id],
    whole: Option<&SpecVerdict>,
) -> AppliedChange {
    let input = Verification { spec: "s.md", verdicts, unverified, whole, max_retries: 2 };
    with_pen(|pen| verified(text, &input, pen))
}

#[test]
fn verdicts_gaps_priorities_and_the_word_about_the_spec_are_one_write() {
    let text = plan(&[
        "{'t':'task','id':'t-3a','name':'A','s':'d','done_at':'then'}",
        "{'t':'task','id':'t-3b','name':'B','s':'d'}",
    ]);
    let gaps = vec![gap(GapKind::MissingFeature, "missing error handling")];
    let verdicts = [
        verdict("t-3a", VerdictWord::Accept, Vec::new()),
        verdict("t-3b", VerdictWord::Reject, gaps),
    ];
    let whole = SpecVerdict {
        satisfied: false,
        gaps: vec![gap(GapKind::Bug, "a flaky test")],
        ..SpecVerdict::default()
    };
    let applied = verify(&text, &verdicts, &[], Some(&whole));
    let after = read(&applied.text);
    assert_eq!(texts(&applied.came.accepted), ["t-3a"]);
    assert_eq!(texts(&applied.came.rejected), ["t-3b"]);
    assert_eq!(live(&after, "t-3b").reject.as_deref(), Some("because"));
    assert_eq!(live(&after, "t-3b").retries, 1);
    assert_eq!(applied.came.created.len(), 1);
    let new = live(&after, applied.came.created[0].as_str());
    assert_eq!(new.name, "missing error handling");
    assert!(new.priority.is_some() && live(&after, "t-3b").priority.is_some());
    assert_eq!(after.issues.len(), 1);
    assert!(after.issues[0].desc.contains("a flaky test"));
    assert!(!applied.came.spec_accepted && after.accepted_specs.is_empty());
}

#[test]
fn the_spec_is_accepted_only_when_it_is_satisfied_and_nothing_is_left() {
    let text = plan(&["{'t':'task','id':'t-1','name':'A','s':'d'}"]);
    let accept = [verdict("t-1", VerdictWord::Accept, Vec::new())];
    let done = verify(&text, &accept, &[], Some(&satisfied()));
    assert!(done.came.spec_accepted && read(&done.text).accepted_specs.len() == 1);
    let with_gap = SpecVerdict { gaps: vec![gap(GapKind::Bug, "b")], ..satisfied() };
    for whole in [None, Some(&with_gap)] {
        assert!(!verify(&text, &accept, &[], whole).came.spec_accepted);
    }
    let reject = [verdict("t-1", VerdictWord::Reject, Vec::new())];
    assert!(!verify(&text, &reject, &[], Some(&satisfied())).came.spec_accepted);
    let silent = verify(&text, &[], &["t-1".into()], Some(&satisfied()));
    assert!(!silent.came.spec_accepted);
    assert_eq!(states(&read(&silent.text)), [("t-1", TaskState::Done)]);
    let nothing = verify(&plan(&[]), &[], &[], Some(&satisfied()));
    assert!(nothing.came.spec_accepted, "the spec alone was looked at");
}

#[test]
fn a_spec_that_is_not_satisfied_leaves_work_even_when_no_gap_was_told() {
    let whole = SpecVerdict { reason: "no docs".into(), ..SpecVerdict::default() };
    let after = read(&verify(&plan(&[]), &[], &[], Some(&whole)).text);
    assert!(after.issues[0].desc.contains("no docs"), "{after:?}");
}

#[test]
fn each_kind_of_gap_becomes_what_the_table_says() {
    let text = plan(&["{'t':'task','id':'t-1','name':'A','s':'d'}"]);
    let edge =
        Gap { accept: vec!["`x ''` prints 0".into()], ..gap(GapKind::EdgeCase, "empty input") };
    for (gap, tasks, issues) in [
        (gap(GapKind::MissingFeature, "no help"), 1, 0),
        (gap(GapKind::Incomplete, "half of it"), 1, 0),
        (gap(GapKind::Bug, "it crashes"), 0, 1),
        (edge, 1, 0),
        (gap(GapKind::EdgeCase, "huge input"), 0, 1),
        (gap(GapKind::TestCoverage, "no test for errors"), 1, 0),
        (gap(GapKind::Ambiguity, "which one?"), 0, 1),
        (gap(GapKind::Other, "odd"), 0, 1),
    ] {
        let kind = gap.kind;
        let applied = verify(&text, &[verdict("t-1", VerdictWord::Accept, vec![gap])], &[], None);
        let came = &applied.came;
        assert_eq!((came.created.len(), came.raised.len()), (tasks, issues), "{kind:?}");
        let incomplete = kind == GapKind::Incomplete;
        assert_eq!(came.rejected.len(), usize::from(incomplete), "{kind:?}");
        if incomplete {
            let after = read(&applied.text);
            let follow_up = live(&after, came.created[0].as_str());
            assert_eq!(follow_up.deps, ["t-1".into()], "after the task itself");
        }
    }
}

#[test]
fn a_task_out_of_retries_becomes_an_issue_and_one_that_nobody_verified_stays_done() {
    let text = plan(&[
        "{'t':'task','id':'t-1','name':'A','s':'d','retry_count':2,'priority':'high'}",
        "{'t':'task','id':'t-3','name':'C','s':'d'}",
    ]);
    let reject = [verdict("t-1", VerdictWord::Reject, Vec::new())];
    let applied = verify(&text, &reject, &["t-3".into()], None);
    let after = read(&applied.text);
    assert_eq!(texts(&applied.came.failed), ["t-1"]);
    assert_eq!(texts(&applied.came.unverified), ["t-3"]);
    assert_eq!(states(&after), [("t-3", TaskState::Done)]);
    let from: Vec<_> = after.issues.iter().map(|i| (i.created_from.clone(), i.priority)).collect();
    assert_eq!(from, [(Some("t-1".into()), Some(Priority::High))]);
    assert_eq!(PlanLookup::new(&after).fate(&"t-1".into()), LookedUpTask::Failed);
}

#[test]
fn verdicts_about_unknown_or_open_tasks_are_reported_and_ignored_and_doubt_wins() {
    let text = plan(&[
        "{'t':'task','id':'t-1','name':'A','s':'d'}",
        "{'t':'task','id':'t-2','name':'B','s':'p'}",
    ]);
    let verdicts = [
        verdict("t-9", VerdictWord::Accept, Vec::new()),
        verdict("t-2", VerdictWord::Accept, Vec::new()),
        verdict("t-1", VerdictWord::Accept, Vec::new()),
        verdict("t-1", VerdictWord::Reject, Vec::new()),
    ];
    let applied = verify(&text, &verdicts, &[], None);
    assert_eq!(texts(&applied.came.rejected), ["t-1"]);
    assert!(applied.came.accepted.is_empty());
    assert!(applied.came.notes.iter().any(|note| note.contains("t-9")));
    assert!(applied.came.notes.iter().any(|note| note.contains("t-2")));
}

#[test]
fn new_work_is_capped_and_what_is_there_already_is_not_made_again() {
    let text = plan(&["{'t':'task','id':'t-1','name':'Handle empty input','s':'p'}"]);
    let numbered = |n: usize| gap(GapKind::MissingFeature, &format!("feature number {n}"));
    let mut gaps: Vec<Gap> = (0..50).map(numbered).collect();
    gaps.extend((0..50).map(|n| gap(GapKind::Bug, &format!("bug number {n}"))));
    gaps.insert(0, gap(GapKind::MissingFeature, "handle the empty input"));
    let whole = SpecVerdict { gaps, ..SpecVerdict::default() };
    let applied = verify(&text, &[], &[], Some(&whole));
    assert_eq!(
        (applied.came.created.len(), applied.came.raised.len()),
        (MOST_CREATED, MOST_CREATED)
    );
    assert!(applied.came.notes.iter().any(|note| note.contains("is there already: t-1")));
    let again = verify(
        &applied.text,
        &[],
        &[],
        Some(&SpecVerdict { gaps: whole.gaps[..20].to_vec(), ..SpecVerdict::default() }),
    );
    assert!(again.came.created.is_empty(), "{:?}", again.came);
}

fn found(
    outcome: InvestigationOutcome,
    tasks: Vec<crate::construct::answer::NewTask>,
) -> Investigation {
    Investigation { issue_id: String::new(), outcome, reason: "not asked for".into(), tasks }
}

#[test]
fn an_issue_becomes_tasks_with_its_priority_and_what_it_blocked_goes_on_after_them() {
    let text = plan(&[
        "{'t':'task','id':'t-1','name':'A','s':'p','blocked':'no key'}",
        "{'t':'issue','id':'i-1','desc':'t-1 has no key','priority':'low','created_from':'t-1'}",
        "{'t':'issue','id':'i-2','desc':'colours'}",
        "{'t':'issue','id':'i-3','desc':'not looked at'}",
    ]);
    let findings = [
        (
            "i-1".into(),
            found(
                InvestigationOutcome::Tasks,
                vec![task("a", "Make a key", &[]), task("b", "Use it", &["a"])],
            ),
        ),
        ("i-2".into(), found(InvestigationOutcome::OutOfScope, Vec::new())),
        ("i-9".into(), found(InvestigationOutcome::OutOfScope, Vec::new())),
    ];
    let applied = with_pen(|pen| investigated(&text, &findings, pen));
    let after = read(&applied.text);
    assert_eq!(texts(&applied.came.resolved), ["i-1", "i-2"]);
    assert_eq!(after.issues.len(), 1, "i-3 waits");
    let [a, b] = &applied.came.created[..] else { panic!("{:?}", applied.came) };
    assert_eq!(texts(&live(&after, b.as_str()).deps), [a.as_str()]);
    assert_eq!(live(&after, a.as_str()).priority, Some(Priority::Low));
    assert_eq!(live(&after, a.as_str()).created_from, Some("i-1".into()));
    assert_eq!(live(&after, "t-1").state, TaskState::Pending);
    assert_eq!(live(&after, "t-1").deps, [a.clone(), b.clone()]);
    let notes = applied.came.notes.join("\n");
    assert!(notes.contains("out of scope: not asked for") && notes.contains("i-9"), "{notes}");
}

#[test]
fn what_waited_for_a_task_that_was_given_up_waits_for_its_successors() {
    let text = plan(&[
        "{'t':'reject','id':'t-1','name':'A','reason':'r','at':'x','task':{'t':'task','id':'t-1','name':'A','s':'p'}}",
        "{'t':'task','id':'t-2','name':'B','s':'p','deps':['t-1']}",
        "{'t':'issue','id':'i-1','desc':'t-1 failed','created_from':'t-1'}",
    ]);
    let findings =
        [("i-1".into(), found(InvestigationOutcome::Tasks, vec![task("", "Another way", &[])]))];
    let applied = with_pen(|pen| investigated(&text, &findings, pen));
    assert_eq!(live(&read(&applied.text), "t-2").deps, applied.came.created);
}

#[test]
fn issues_that_say_the_same_become_one_with_the_highest_priority() {
    let text = plan(&[
        "{'t':'issue','id':'i-1','desc':'The login test is flaky'}",
        "{'t':'issue','id':'i-2','desc':'login test is flaky','priority':'high'}",
        "{'t':'issue','id':'i-3','desc':'login test is flaky','created_from':'t-1'}",
        "{'t':'issue','id':'i-4','spec':'other.md','desc':'login test is flaky'}",
    ]);
    let applied = with_pen(|pen| merge_issues(&text, pen));
    let after = read(&applied.text);
    let left: Vec<&str> = after.issues.iter().map(|i| i.id.as_str()).collect();
    assert_eq!(left, ["i-1", "i-3", "i-4"], "another origin and another spec stay apart");
    assert_eq!(after.issues[0].priority, Some(Priority::High));
}

fn kill() -> KilledRun {
    KilledRun { reason: KillReason::Timeout, log: Some("build/ralph-logs/x.log".into()) }
}

fn parts(names: &[&str]) -> Decomposition {
    let tasks = names.iter().map(|name| task(name, name, &[])).collect();
    Decomposition {
        tasks,
        reason: "the suite takes ten minutes".into(),
        ..Decomposition::default()
    }
}

#[test]
fn a_killed_task_is_replaced_by_its_parts_and_dependants_wait_for_all_of_them() {
    let text = plan(&[
        "{'t':'task','id':'t-0','name':'Z','s':'d'}",
        "{'t':'task','id':'t-3','name':'Parser','s':'p','deps':['t-0'],'priority':'high'}",
        "{'t':'task','id':'t-4','name':'Printer','s':'p','deps':['t-3','t-0']}",
    ]);
    let text = with_pen(|pen| killed(&text, &"t-3".into(), &kill(), pen)).text;
    assert_eq!(live(&read(&text), "t-3").state, TaskState::Killed(kill()));
    let mut split = parts(&["Lexer", "Grammar", "lexer", "parser"]);
    split.tasks[1].deps = vec!["Lexer".into(), "t-4".into(), "t-3".into()];
    let applied = with_pen(|pen| decomposed(&text, &"t-3".into(), &split, pen));
    let after = read(&applied.text);
    let [a, b] = &applied.came.created[..] else { panic!("{:?}", applied.came) };
    let (lexer, grammar) = (live(&after, a.as_str()), live(&after, b.as_str()));
    assert_eq!(lexer.parent, Some("t-3".into()));
    assert_eq!((lexer.priority, &lexer.deps[..]), (Some(Priority::High), &["t-0".into()][..]));
    assert!(lexer.notes.as_deref().unwrap().contains("ran out of time"));
    assert_eq!(lexer.state, TaskState::Pending);
    assert!(!grammar.deps.contains(&"t-4".into()), "that would be a circle");
    assert_eq!(live(&after, "t-4").deps, [a.clone(), b.clone(), "t-0".into()]);
    assert!(after.task(&"t-3".into()).is_none());
    assert_eq!(texts(&applied.came.split), ["t-3"]);
    assert_eq!(after.tombstones.last().map(|t| t.kind), Some(TombstoneKind::Delete));
    assert_eq!(crate::plan::cycles(&after.tasks.iter().collect::<Vec<_>>()).len(), 0);
}

#[test]
fn work_that_was_broken_down_three_times_is_given_up_when_it_is_killed_again() {
    let mut text = plan(&["{'t':'task','id':'t-1','name':'Work of depth 0','s':'p'}"]);
    let mut id: Id = "t-1".into();
    for level in 0..crate::construct::MAX_DEPTH {
        assert_eq!(depth(&read(&text), &id), level);
        text = with_pen(|pen| killed(&text, &id, &kill(), pen)).text;
        let names = [format!("one {level}{level}"), format!("two {level}{level}")];
        let applied = with_pen(|pen| decomposed(&text, &id, &parts(&[&names[0], &names[1]]), pen));
        id = applied.came.created[0].clone();
        text = applied.text;
    }
    let applied = with_pen(|pen| killed(&text, &id, &kill(), pen));
    assert_eq!(applied.came.failed, [id.clone()]);
    assert_eq!(read(&applied.text).issues[0].created_from, Some(id));
}

#[test]
fn a_task_that_nobody_can_break_down_is_given_up_and_one_without_two_new_parts_stays() {
    let text =
        plan(&["{'t':'task','id':'t-1','name':'Parser','s':'p','kill_reason':'context_limit'}"]);
    let applied = with_pen(|pen| give_up(&text, &"t-1".into(), "no usable answer", pen));
    assert_eq!(texts(&applied.came.failed), ["t-1"]);
    assert_eq!(read(&applied.text).issues.len(), 1);
    for names in [["the parser", "Parser"], ["Parser", "Read the input"]] {
        let applied = with_pen(|pen| decomposed(&text, &"t-1".into(), &parts(&names), pen));
        assert_eq!((applied.text, applied.came.created), (text.clone(), Vec::new()));
    }
}

#[test]
fn a_killed_issue_becomes_narrower_issues_or_tasks_and_is_looked_at_again_when_nothing_comes_of_it()
{
    let text = plan(&["{'t':'issue','id':'i-1','desc':'everything is slow','priority':'high'}"]);
    let text = with_pen(|pen| killed(&text, &"i-1".into(), &kill(), pen)).text;
    assert_eq!(read(&text).issues[0].kill, Some(kill()));
    let mut split = parts(&["Measure the start"]);
    split.issues = vec![
        NewIssue { desc: "the cache is cold".into() },
        NewIssue { desc: "everything is slow".into() },
    ];
    let applied = with_pen(|pen| decomposed(&text, &"i-1".into(), &split, pen));
    let after = read(&applied.text);
    assert_eq!((after.issues.len(), after.tasks.len()), (1, 1));
    assert_eq!((after.issues[0].priority, &after.issues[0].kill), (Some(Priority::High), &None));
    assert_eq!(after.tasks[0].created_from, Some("i-1".into()));
    let nothing = with_pen(|pen| decomposed(&text, &"i-1".into(), &Decomposition::default(), pen));
    assert_eq!(read(&nothing.text).issues[0].kill, None);
}

#[test]
fn a_blocked_task_waits_for_an_issue() {
    let text = plan(&["{'t':'task','id':'t-1','name':'A','s':'p'}"]);
    let applied = with_pen(|pen| blocked(&text, &"t-1".into(), "no key", pen));
    let after = read(&applied.text);
    assert_eq!(live(&after, "t-1").state, TaskState::Blocked("no key".into()));
    assert_eq!(after.issues[0].created_from, Some("t-1".into()));
}

fn target(format: PlanFormat, existing: ExistingTasks) -> PlanTarget<'static> {
    PlanTarget { format, spec: Some("s.md"), file: None, existing, title: "s" }
}

#[test]
fn a_plan_goes_into_every_format_with_its_dependencies_where_there_is_a_place_for_them() {
    let tasks = vec![
        task("b", "Print it", &["a"]),
        task("t-0001", "Parse it", &[]),
        task("a", "Read it", &["t-0001"]),
    ];
    let answer = PlanAnswer { tasks, ..PlanAnswer::default() };
    for format in PlanFormat::ALL {
        let applied =
            with_pen(|pen| planned("", &target(format, ExistingTasks::Merge), &answer, pen));
        let after = codec(format).parse(&applied.text).unwrap();
        let names: Vec<&str> = after.tasks.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(
            names,
            ["Parse it", "Read it", "Print it"],
            "{format}: what is needed comes first"
        );
        assert_eq!(applied.came.created.len(), 3);
        assert!(
            after.tasks.iter().all(|t| t.accept.len() == 1 && applied.came.created.contains(&t.id))
        );
        if format != PlanFormat::Progress {
            assert_eq!(after.tasks[2].deps, [after.tasks[1].id.clone()], "{format}");
            assert!(after.tasks.iter().all(|t| t.priority.is_some()), "{format}");
        }
        let again = with_pen(|pen| {
            planned(&applied.text, &target(format, ExistingTasks::Merge), &answer, pen)
        });
        assert!(again.came.created.is_empty(), "{format}: {:?}", again.came);
    }
}

#[test]
fn replacing_keeps_done_work_and_every_other_spec() {
    let text = plan(&[
        "{'t':'task','id':'t-1','name':'Done already','s':'d','spec':'s.md'}",
        "{'t':'task','id':'t-2','name':'Old idea','s':'p','spec':'s.md'}",
        "{'t':'task','id':'t-3','name':'Needed elsewhere','s':'p','spec':'s.md'}",
        "{'t':'task','id':'t-4','name':'Other','s':'p','spec':'o.md','deps':['t-3']}",
    ]);
    let answer = PlanAnswer {
        tasks: vec![task("", "New idea", &["t-1"]), task("", "done already!", &[])],
        ..PlanAnswer::default()
    };
    let applied = with_pen(|pen| {
        planned(&text, &target(PlanFormat::Jsonl, ExistingTasks::Replace), &answer, pen)
    });
    let after = read(&applied.text);
    let names: Vec<&str> = after.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["Done already", "Needed elsewhere", "Other", "New idea"]);
    assert!(
        applied.text.contains("\"spec\":\"o.md\",\"deps\"")
            || live(&after, "t-4").priority.is_none()
    );
    assert!(applied.came.notes.iter().any(|note| note.contains("t-3 stays")));
}
