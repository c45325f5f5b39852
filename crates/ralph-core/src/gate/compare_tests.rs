use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::gate::{GateEnding, OutputReader};

fn read(text: &str) -> GateFailures {
    let mut reader = OutputReader::new("/r");
    text.lines().for_each(|line| reader.line(line.as_bytes()));
    reader.finish(&GateEnding::Code(1)).failures
}

fn tap(names: &BTreeSet<String>) -> GateFailures {
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
    assert_eq!(compare(&base, &read("not ok 7 - b\n")), FailureComparison::AllOld);
    assert_eq!(
        compare(&base, &read("not ok 2 - b\nnot ok 1 - c\n")),
        FailureComparison::New(vec!["c".into()])
    );
}

#[test]
fn a_test_that_passed_and_is_not_there_any_more_is_missed_also_where_another_one_came() {
    let base = read("test a ... ok\ntest old ... FAILED\n");
    assert_eq!(compare(&base, &base), FailureComparison::AllOld);
    let more = read("test a ... ok\ntest b ... ok\ntest old ... FAILED\n");
    assert_eq!(compare(&base, &more), FailureComparison::AllOld);
    let other = compare(&base, &read("test b ... ok\ntest old ... FAILED\n"));
    assert_eq!(other, cannot("a passed before and does not run any more"));
    let broken = compare(&base, &read("test a ... FAILED\ntest old ... FAILED\n"));
    assert!(matches!(broken, FailureComparison::New(_)), "{broken:?}");
}

#[test]
fn a_compile_error_where_tests_ran_before_is_new() {
    let base = read("not ok 1 - a\n");
    let now = read("error[E0425]: cannot find value `x`\n --> src/a.rs:3:4\n");
    assert_eq!(
        compare(&base, &now),
        FailureComparison::New(vec!["src/a.rs: error[E0425]: cannot find value `x`".into()])
    );
    assert!(
        matches!(compare(&now, &base), FailureComparison::New(_)),
        "which test is old, nobody knows; it ran in neither"
    );
}

#[test]
fn lint_errors_are_told_apart_by_message_and_number_not_by_line() {
    let base = read("a.c:3:5: error: no\na.c:9:1: error: never\n");
    assert_eq!(compare(&base, &read("a.c:30:5: error: no\n")), FailureComparison::AllOld);
    let twice = compare(&base, &read("a.c:3:5: error: no\na.c:4:5: error: no\n"));
    assert_eq!(twice, FailureComparison::New(vec!["a.c: error: no".into()]));
    let other = compare(&base, &read("b.c:3:5: error: no\n"));
    assert_eq!(other, FailureComparison::New(vec!["b.c: error: no".into()]));
}

#[test]
fn an_unknown_output_is_old_only_when_it_is_the_same_but_for_numbers() {
    let base = read("it went wrong after 12 ms\nsorry\n");
    assert_eq!(
        compare(&base, &read("sorry\nit went wrong after 340 ms\n")),
        FailureComparison::AllOld
    );
    assert!(matches!(
        compare(&base, &read("it went wrong twice\nsorry\n")),
        FailureComparison::CannotTell(_)
    ));
}

#[test]
fn old_tests_do_not_excuse_new_errors_of_a_second_command() {
    let base = read("not ok 1 - a\n");
    let now = read("not ok 1 - a\nsrc/a.js:3:1: error: unused\n");
    assert!(matches!(compare(&base, &now), FailureComparison::CannotTell(_)));
}

#[test]
fn a_gate_that_hangs_or_crashes_now_is_new_and_one_that_always_did_cannot_be_judged() {
    let red = read("not ok 1 - a\n");
    let hung = GateFailures { broken_off: GateEnding::TimedOut.broken_off(), ..red.clone() };
    let crashed = GateFailures { broken_off: GateEnding::Signal(11).broken_off(), ..red.clone() };
    assert_eq!(
        compare(&red, &hung),
        FailureComparison::New(vec!["did not end in its time".into()])
    );
    assert_eq!(compare(&hung, &crashed), FailureComparison::New(vec!["ended by signal 11".into()]));
    assert!(matches!(compare(&hung, &hung), FailureComparison::CannotTell(_)));
    assert!(matches!(compare(&hung, &read("not ok 1 - b\n")), FailureComparison::CannotTell(_)));
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
    assert_eq!(
        compare(&base, &target("a", "two", stop)),
        FailureComparison::New(vec!["a two".into()])
    );
    assert!(matches!(compare(&base, &target("b", "one", stop)), FailureComparison::CannotTell(_)));
    assert!(matches!(compare(&base, &target("a", "one", stop)), FailureComparison::CannotTell(_)));
    assert_eq!(compare(&base, &target("a", "one", "")), FailureComparison::AllOld);
}

fn read_with(ending: GateEnding, text: &str) -> GateFailures {
    let mut reader = OutputReader::new("/r");
    text.lines().for_each(|line| reader.line(line.as_bytes()));
    reader.finish(&ending).failures
}

#[test]
fn a_runner_that_crashes_after_old_failures_is_new_or_cannot_be_judged() {
    let tap = "ok 1 - fine\nnot ok 2 - a\n";
    let base = read(tap);
    for crashed in [
        read_with(GateEnding::Code(139), tap),
        read_with(GateEnding::Signal(11), tap),
        read_with(GateEnding::Code(2), &format!("{tap}make: *** [Makefile:2: test] Error 139\n")),
        read(&format!("{tap}Segmentation fault (core dumped)\n")),
    ] {
        assert_eq!(
            compare(&base, &crashed),
            FailureComparison::New(vec!["ended by signal 11".into()])
        );
        let alike = compare(&crashed, &crashed);
        assert!(
            matches!(&alike, FailureComparison::CannotTell(why) if why.contains("signal 11")),
            "{alike:?}"
        );
        assert_eq!(compare(&crashed, &base), FailureComparison::AllOld, "it came to its end now");
    }
    let with_new = read_with(GateEnding::Code(139), &format!("{tap}not ok 3 - b\n"));
    let names = vec!["b".into(), "ended by signal 11".into()];
    assert_eq!(compare(&base, &with_new), FailureComparison::New(names));
}

#[test]
fn a_target_without_a_result_hides_what_else_fails() {
    let run = |end: &str| {
        read(&format!(
            "     Running tests/a.rs (target/debug/deps/a-0123456789abcdef)\n\nrunning 2 tests\n\
             test one ... FAILED\nfailures:\n    one\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\n\
             \x20    Running tests/b.rs (target/debug/deps/b-0123456789abcdef)\n\nrunning 2 tests\n{end}"
        ))
    };
    let base = run("test two ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n");
    assert_eq!(compare(&base, &base), FailureComparison::AllOld);
    let now = compare(&base, &run("error: 2 targets failed:\n"));
    assert!(
        matches!(&now, FailureComparison::CannotTell(why) if why.contains("tests of b")),
        "{now:?}"
    );
}

#[test]
fn tests_that_passed_and_do_not_run_any_more_cannot_be_told_from_failures() {
    let cargo = |passed: u32| {
        read(&format!(
            "test a ... FAILED\ntest b ... FAILED\ntest result: FAILED. {passed} passed; 2 failed; 0 ignored\n"
        ))
    };
    let fewer = compare(&cargo(12), &cargo(3));
    assert_eq!(fewer, FailureComparison::CannotTell("fewer tests ran: 5, 14 before".into()));
    assert_eq!(compare(&cargo(12), &cargo(12)), FailureComparison::AllOld);
    assert_eq!(compare(&cargo(12), &cargo(13)), FailureComparison::AllOld);
    let nextest = |passes: &str| {
        read(&format!(
            "        PASS [   0.004s] (1/2) nx {passes}\n        FAIL [   0.006s] (2/2) nx old\n\
             \x20    Summary [   0.101s] 2 tests run: 1 passed, 1 failed, 0 skipped\n"
        ))
    };
    let exchanged = compare(&nextest("one"), &nextest("other"));
    assert!(
        matches!(&exchanged, FailureComparison::CannotTell(why) if why.starts_with("nx one ")),
        "{exchanged:?}"
    );
}

#[test]
fn an_unknown_output_with_other_counts_or_another_exit_code_is_not_old() {
    let base = read("6 passed/1 failed in 0.3s\n");
    assert_eq!(compare(&base, &read("6 passed/1 failed in 12.5s\n")), FailureComparison::AllOld);
    let more = compare(&base, &read("5 passed/2 failed in 0.3s\n"));
    assert_eq!(more, FailureComparison::New(vec!["2 failed by its own count, 1 before".into()]));
    let other_code = read_with(GateEnding::Code(3), "6 passed/1 failed in 0.3s\n");
    assert!(matches!(compare(&base, &other_code), FailureComparison::CannotTell(_)));
    let odd = compare(&read("good: 6 of 7\n"), &read("good: 5 of 7\n"));
    assert!(matches!(odd, FailureComparison::CannotTell(_)), "{odd:?}");
}

#[test]
fn a_gate_that_cannot_start_is_never_old() {
    let gone = "make: cargo: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n";
    let gone = read_with(GateEnding::Code(2), gone);
    let same = compare(&gone, &gone);
    assert!(
        matches!(&same, FailureComparison::CannotTell(why) if why.contains("`cargo`")),
        "{same:?}"
    );
    assert!(matches!(compare(&read("not ok 1 - a\n"), &gone), FailureComparison::New(_)));
}

proptest! {
    #[test]
    fn a_new_failing_name_is_never_called_old(
        base in prop::collection::btree_set("[a-z0-9_]{1,3}( [a-z0-9]{1,2})?", 0..8),
        now in prop::collection::btree_set("[a-z0-9_]{1,3}( [a-z0-9]{1,2})?", 1..8),
        broken in any::<bool>(), partial in any::<bool>(),
    ) {
        let (mut before, after) = (tap(&base), tap(&now));
        before.broken_off = broken.then(|| "did not end in its time".to_owned());
        before.partial = partial.then(|| "stopped".to_owned());
        let result = compare(&before, &after);
        if after.tests.is_subset(&before.tests) {
            prop_assert_eq!(result, FailureComparison::AllOld);
        } else {
            prop_assert_ne!(&result, &FailureComparison::AllOld);
            if let FailureComparison::New(new) = result {
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
        prop_assert_eq!(result == FailureComparison::AllOld, is_old);
    }
}

#[test]
fn another_exit_code_or_a_new_error_beside_old_failures_cannot_be_judged() {
    let failing = "test tests::a ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored\n";
    let base = read_with(GateEnding::Code(101), failing);
    assert_eq!(
        compare(&base, &read_with(GateEnding::Code(101), failing)),
        FailureComparison::AllOld
    );
    let other_code = compare(&base, &read_with(GateEnding::Code(2), failing));
    assert!(matches!(other_code, FailureComparison::CannotTell(_)), "{other_code:?}");
    let error = format!("{failing}error[E0425]: cannot find value `x`\n --> src/a.rs:3:4\n");
    let more = compare(&base, &read_with(GateEnding::Code(101), &error));
    assert_ne!(more, FailureComparison::AllOld);
}

#[test]
fn an_error_that_a_progress_bar_is_written_over_is_not_lost() {
    let mut reader = OutputReader::new("/r");
    reader.line(b"10%\r20%\rerror: the disk is full\r30%\r40%");
    let reading = reader.finish(&GateEnding::Code(1));
    assert!(reading.output.contains("error: the disk is full"), "{}", reading.output);
    assert!(!reading.output.contains("20%"), "{}", reading.output);
}
