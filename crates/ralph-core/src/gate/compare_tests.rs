use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::gate::OutputReader;

fn read(text: &str) -> Failures {
    let mut reader = OutputReader::new("/r");
    text.lines().for_each(|line| reader.line(line.as_bytes()));
    reader.finish(&Ending::Code(1)).failures
}

fn tap(names: &BTreeSet<String>) -> Failures {
    read(
        &names
            .iter()
            .enumerate()
            .map(|(n, name)| format!("not ok {n} - {name}\n"))
            .collect::<String>(),
    )
}

#[test]
fn failures_that_were_there_are_old_even_if_fewer() {
    let base = read("not ok 1 - a\nnot ok 2 - b\nsome other words\n");
    assert_eq!(compare(&base, &read("not ok 7 - b\n")), Comparison::AllOld);
    assert_eq!(
        compare(&base, &read("not ok 2 - b\nnot ok 1 - c\n")),
        Comparison::New(vec!["c".into()])
    );
}

#[test]
fn a_compile_error_where_tests_ran_before_is_new() {
    let base = read("not ok 1 - a\n");
    let now = read("error[E0425]: cannot find value `x`\n --> src/a.rs:3:4\n");
    assert_eq!(
        compare(&base, &now),
        Comparison::New(vec!["src/a.rs: error[E0425]: cannot find value `x`".into()])
    );
    assert!(
        matches!(compare(&now, &base), Comparison::New(_)),
        "which test is old, nobody knows; it ran in neither"
    );
}

#[test]
fn lint_errors_are_told_apart_by_message_and_number_not_by_line() {
    let base = read("a.c:3:5: error: no\na.c:9:1: error: never\n");
    assert_eq!(compare(&base, &read("a.c:30:5: error: no\n")), Comparison::AllOld);
    let twice = compare(&base, &read("a.c:3:5: error: no\na.c:4:5: error: no\n"));
    assert_eq!(twice, Comparison::New(vec!["a.c: error: no".into()]));
    let other = compare(&base, &read("b.c:3:5: error: no\n"));
    assert_eq!(other, Comparison::New(vec!["b.c: error: no".into()]));
}

#[test]
fn an_unknown_output_is_old_only_when_it_is_the_same_but_for_numbers() {
    let base = read("it went wrong after 12 ms\nsorry\n");
    assert_eq!(compare(&base, &read("sorry\nit went wrong after 340 ms\n")), Comparison::AllOld);
    assert!(matches!(
        compare(&base, &read("it went wrong twice\nsorry\n")),
        Comparison::CannotTell(_)
    ));
}

#[test]
fn old_tests_do_not_excuse_new_errors_of_a_second_command() {
    let base = read("not ok 1 - a\n");
    let now = read("not ok 1 - a\nsrc/a.js:3:1: error: unused\n");
    assert!(matches!(compare(&base, &now), Comparison::CannotTell(_)));
}

#[test]
fn a_gate_that_hangs_or_crashes_now_is_new_and_one_that_always_did_cannot_be_judged() {
    let red = read("not ok 1 - a\n");
    let hung = Failures { broken_off: Some(Ending::TimedOut), ..red.clone() };
    let crashed = Failures { broken_off: Some(Ending::Signal(11)), ..red.clone() };
    assert_eq!(compare(&red, &hung), Comparison::New(vec!["did not end in its time".into()]));
    assert_eq!(compare(&hung, &crashed), Comparison::New(vec!["ended by signal 11".into()]));
    assert!(matches!(compare(&hung, &hung), Comparison::CannotTell(_)));
    assert!(matches!(compare(&hung, &read("not ok 1 - b\n")), Comparison::CannotTell(_)));
}

#[test]
fn an_early_stop_convicts_a_test_whose_group_ran_and_no_other() {
    let target = |name: &str, test: &str, end: &str| {
        read(&format!(
            "     Running tests/{name}.rs (target/debug/deps/{name}-0123456789abcdef)\ntest {test} ... FAILED\n\
             failures:\n    {test}\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n{end}"
        ))
    };
    let stop = "error: test failed, to rerun pass `--test x`\n";
    let base = target("a", "one", stop);
    assert_eq!(compare(&base, &target("a", "two", stop)), Comparison::New(vec!["a two".into()]));
    assert!(matches!(compare(&base, &target("b", "one", stop)), Comparison::CannotTell(_)));
    assert!(matches!(compare(&base, &target("a", "one", stop)), Comparison::CannotTell(_)));
    assert_eq!(compare(&base, &target("a", "one", "")), Comparison::AllOld);
}

proptest! {
    #[test]
    fn a_new_failing_name_is_never_called_old(
        base in prop::collection::btree_set("[a-z0-9_]{1,3}( [a-z0-9]{1,2})?", 0..8),
        now in prop::collection::btree_set("[a-z0-9_]{1,3}( [a-z0-9]{1,2})?", 1..8),
        broken in any::<bool>(), partial in any::<bool>(),
    ) {
        let (mut before, after) = (tap(&base), tap(&now));
        before.broken_off = broken.then_some(Ending::TimedOut);
        before.partial = partial.then(|| "stopped".to_owned());
        let result = compare(&before, &after);
        if after.tests.is_subset(&before.tests) {
            prop_assert_eq!(result, Comparison::AllOld);
        } else {
            prop_assert_ne!(&result, &Comparison::AllOld);
            if let Comparison::New(new) = result {
                prop_assert!(new.iter().all(|name| !before.tests.contains(name)));
            }
        }
    }

    #[test]
    fn a_new_complaint_is_never_called_old(
        base in prop::collection::vec(("[ab]\\.c", "[xyz]{1,2}"), 0..6), now in prop::collection::vec(("[ab]\\.c", "[xyz]{1,2}"), 1..6),
    ) {
        let text = |list: &[(String, String)]| {
            list.iter().enumerate().map(|(n, (file, what))| format!("{file}:{n}:1: error: {what}\n")).collect::<String>()
        };
        let mut left = base.clone();
        let is_old = now.iter().all(|item| left.iter().position(|b| b == item).map(|at| left.swap_remove(at)).is_some());
        let result = compare(&read(&text(&base)), &read(&text(&now)));
        prop_assert_eq!(result == Comparison::AllOld, is_old);
    }
}
