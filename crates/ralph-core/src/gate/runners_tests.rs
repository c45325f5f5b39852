//! Outputs in the shapes that the runners really write, and the names found in them.

use super::{GateEnding, GateFailures, OutputReader};

fn read(text: &str) -> GateFailures {
    let mut reader = OutputReader::new("/work/tree");
    text.lines().for_each(|line| reader.line(line.as_bytes()));
    reader.finish(&GateEnding::Code(1)).failures
}

#[track_caller]
fn check(text: &str, names: &[&str]) -> GateFailures {
    let failures = read(text);
    assert_eq!(failures.tests.iter().map(String::as_str).collect::<Vec<_>>(), names);
    failures
}

const CARGO: &str = "   Compiling nx v0.1.0 (/work/tree/nx)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.51s
     Running unittests src/lib.rs (target/debug/deps/nx-72ee6507dc2c5010)

running 4 tests
test m::er ... FAILED
test m::good ... ok
test m::panics - should panic ... FAILED
test bad_one ... some words of its own
FAILED

failures:

---- m::er stdout ----
Error: \"x\"

---- m::panics stdout ----
note: test did not panic as expected at src/lib.rs:5:56
---- bad_one stdout ----
thread 'bad_one' (12326) panicked at src/lib.rs:4:42:
assertion `left == right` failed
  left: 1
 right: 2


failures:
    bad_one
    m::er
    m::panics

test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.08s

error: test failed, to rerun pass `--lib`
";

const CARGO_REST: &str = "     Running tests/it.rs (target/debug/deps/it-2a6507dc2c501072)

running 1 test
test m::er ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests nx

running 2 tests
test src/lib.rs - (line 1) ... FAILED
test src/lib.rs - (line 9) ... FAILED

failures:

---- src/lib.rs - (line 1) stdout ----
Test executable failed (exit status: 101).

failures:
    src/lib.rs - (line 1)
    src/lib.rs - (line 9)

test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.08s

error: doctest failed, to rerun pass `--doc`
error: 2 targets failed:
    `--lib`
    `--doc`
";

const NX: &str = "nx(src/lib.rs)";

#[test]
fn cargo_test_names_carry_their_target_and_an_early_stop_is_noticed() {
    let names = [format!("{NX} bad_one"), format!("{NX} m::er"), format!("{NX} m::panics")];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let failures = check(CARGO, &names);
    assert!(failures.partial.unwrap().contains("--no-fail-fast"));
    assert!(failures.ran.contains(NX));
}

#[test]
fn cargo_test_without_fail_fast_is_complete_and_doc_tests_are_counted() {
    let failures = read(&format!("{CARGO}{CARGO_REST}"));
    assert_eq!(failures.partial, None);
    assert_eq!(failures.tests.len(), 5);
    assert!(failures.tests.contains("nx-doc src/lib.rs -"));
    assert!(failures.tests.contains("nx-doc src/lib.rs - #2"));
    assert!(failures.ran.contains("it"));
}

#[test]
fn a_test_that_is_counted_but_not_named_makes_the_list_partial() {
    let text = CARGO.replace("    m::er\n", "").replace("test m::er ... FAILED\n", "");
    let failures = read(&text.replace("error: test failed, to rerun pass `--lib`\n", ""));
    assert_eq!(failures.partial.as_deref(), Some("3 tests failed, 2 of them with a known name"));
}

#[test]
fn nextest_names_carry_their_binary_and_retries_that_pass_do_not_fail() {
    let text = "────────────
 Nextest run ID cb37743a-8c65-4595-82bd-b48697d6209d with nextest profile: default
    Starting 6 tests across 2 binaries
        PASS [   0.004s] (1/6) nx m::good
        FAIL [   0.006s] (2/6) nx m::er
  stdout ───

    running 1 test
    test m::er ... FAILED

    failures:
        m::er

    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s

  TRY 1 FAIL [   0.010s] (3/6) nx::it wobbly
  TRY 2 PASS [   0.010s] (3/6) nx::it wobbly
     SIGABRT [   0.101s] (4/6) nx::it crash
  Cancelling due to test failure: 1 test still running
────────────
     Summary [   0.101s] 4/6 tests run: 2 passed (1 flaky), 2 failed, 0 skipped
   FLAKY 2/2 [   0.010s] (3/6) nx::it wobbly
        FAIL [   0.006s] (2/6) nx m::er
     SIGABRT [   0.101s] (4/6) nx::it crash
warning: 2/6 tests were not run due to test failure (run with --no-fail-fast to run all tests, or run with --max-fail)
error: test run failed
";
    let failures = check(text, &["nx m::er", "nx::it crash"]);
    assert!(failures.partial.unwrap().contains("--no-fail-fast"));
    assert!(failures.ran.contains("nx m::good"));
    assert!(failures.errors.is_empty(), "{:?}", failures.errors);
}

#[test]
fn pytest_names_are_node_ids_with_their_parameters() {
    let text = "============================= test session starts ==============================
platform linux -- Python 3.12.1, pytest-8.0.0, pluggy-1.4.0
collected 5 items

tests/test_a.py .FF                                                      [ 60%]
tests/test_b.py E.                                                       [100%]

=================================== FAILURES ===================================
____________________________________ test_x ____________________________________

    def test_x():
>       assert 1 == 2
E       assert 1 == 2

tests/test_a.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_a.py::test_x - assert 1 == 2
FAILED tests/test_a.py::TestC::test_p[a - b] - ValueError: no - really
ERROR tests/test_b.py::test_e - RuntimeError: fixture
ERROR tests/test_c.py - ImportError: no module named y
==================== 2 failed, 2 passed, 2 errors in 0.05s =====================
";
    let names = [
        "tests/test_a.py::TestC::test_p[a - b]",
        "tests/test_a.py::test_x",
        "tests/test_b.py::test_e",
        "tests/test_c.py",
    ];
    assert_eq!(check(text, &names).partial, None);
    let stopped = "FAILED tests/test_a.py::test_x - no\n!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!\n1 failed in 0.02s\n";
    assert!(check(stopped, &["tests/test_a.py::test_x"]).partial.is_some());
}

#[test]
fn unittest_names_are_those_below_a_rule() {
    let rule = "=".repeat(70);
    let text = format!(
        "FFE\n{rule}\nERROR: test_y (t.T.test_y)\n----\nTraceback (most recent call last):\nValueError\n\n\
         {rule}\nFAIL: test_s (t.T.test_s) (i=1)\n----\nFAIL: not one\n\nRan 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n"
    );
    assert_eq!(check(&text, &["test_s (t.T.test_s) (i=1)", "test_y (t.T.test_y)"]).partial, None);
}

#[test]
fn go_test_names_carry_their_package() {
    let text = "--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/negative (0.00s)
        add_test.go:12: got 1, want 2
FAIL
FAIL\texample.com/m/add\t0.003s
ok  \texample.com/m/sub\t0.002s
# example.com/m/mul
mul/mul.go:3:9: undefined: x
FAIL\texample.com/m/mul [build failed]
--- FAIL: TestBoom (0.00s)
panic: boom [recovered]
\tpanic: boom

goroutine 6 [running]:
FAIL\texample.com/m/boom\t0.004s
FAIL
";
    let names = [
        "example.com/m/add TestAdd",
        "example.com/m/add TestAdd/negative",
        "example.com/m/boom TestBoom",
        "example.com/m/mul [build failed]",
    ];
    let failures = check(text, &names);
    assert!(failures.partial.unwrap().contains("panic"));
    assert!(
        failures.ran.contains("example.com/m/sub") && failures.ran.contains("example.com/m/add")
    );
    assert!(!failures.ran.contains("example.com/m/boom"));
}

#[test]
fn jest_names_carry_their_file() {
    let text = "PASS src/ok.test.js
  ● Console

    console.log
FAIL src/sum.test.js (5.123 s)
  sum
    ✓ adds (2 ms)
    ✕ subtracts (1 ms)

  ● sum › subtracts

    expect(received).toBe(expected) // Object.is equality

FAIL src/broken.test.js
  ● Test suite failed to run

    Cannot find module './nope' from 'src/broken.test.js'

Test Suites: 2 failed, 1 passed, 3 total
Tests:       1 failed, 2 passed, 3 total
Snapshots:   0 total
Time:        0.5 s
";
    let names = ["src/broken.test.js Test suite failed to run", "src/sum.test.js sum › subtracts"];
    assert_eq!(check(text, &names).partial, None);
}

#[test]
fn vitest_names_carry_their_file() {
    let text = " RUN  v1.2.0 /work/tree

 ❯ src/sum.test.ts  (2 tests | 1 failed) 4ms
   ❯ sum > subtracts
     → expected 1 to be 2

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/sum.test.ts > sum > subtracts
AssertionError: expected 1 to be 2
 FAIL  src/broken.test.ts [ src/broken.test.ts ]
Error: Failed to load url ./nope

 Test Files  2 failed (2)
      Tests  1 failed | 1 passed (2)
   Start at  10:00:00
";
    assert_eq!(
        check(text, &["src/broken.test.ts", "src/sum.test.ts sum > subtracts"]).partial,
        None
    );
}

#[test]
fn mocha_names_are_paths_of_titles() {
    let text = "
  Array
    #indexOf()
      ✔ works
      1) returns -1
  2) alone

  1 passing (5ms)
  2 failing

  1) Array
       #indexOf()
         returns -1:

      AssertionError [ERR_ASSERTION]: 0 == -1
      + expected - actual

      at Context.<anonymous> (test.js:7:14)

  2) alone:
     Error: no
      at x (test.js:1:1)
";
    assert_eq!(check(text, &["Array › #indexOf() › returns -1", "alone"]).partial, None);
}

#[test]
fn node_test_names_are_the_same_in_both_of_its_reports() {
    let tap = "TAP version 13
# Subtest: ok one
ok 1 - ok one
  ---
  duration_ms: 1.075648
  ...
# Subtest: bad one
not ok 2 - bad one
  ---
  duration_ms: 1.016301
  location: '/work/tree/a.test.js:3:1'
  failureType: 'testCodeFailure'
  error: '1 == 2'
  ...
# Subtest: suite
    # Subtest: inner bad
    not ok 1 - inner bad
      ---
      location: '/work/tree/a.test.js:4:23'
      ...
    # Subtest: sk
    ok 2 - sk # SKIP
    1..2
not ok 3 - suite
  ---
  type: 'suite'
  location: '/work/tree/a.test.js:4:1'
  ...
1..3
# tests 4
# fail 2
";
    check(tap, &["./a.test.js bad one", "./a.test.js suite", "./a.test.js suite › inner bad"]);
    let spec = "✔ ok one (1.446825ms)
✖ bad one (1.391086ms)
▶ suite
  ✖ inner bad (11.554757ms)
✖ suite (12.590002ms)
ℹ tests 3
ℹ fail 2
ℹ cancelled 0

✖ failing tests:

test at a.test.js:3:1
✖ bad one (1.391086ms)
  AssertionError [ERR_ASSERTION]: 1 == 2

test at a.test.js:4:23
✖ inner bad (11.554757ms)
";
    assert_eq!(check(spec, &["a.test.js bad one", "a.test.js inner bad"]).partial, None);
}

#[test]
fn bats_names_carry_their_file_and_expected_failures_do_not_count() {
    let tap = "1..4
ok 1 adds
not ok 2 subtracts
# (in test file test/calc.bats, line 7)
#   `[ \"$result\" -eq 4 ]' failed
not ok 3 later # TODO not yet
not ok 4 deep in 12ms
# (from function `inner' in file test/helper.bash, line 3,
#  in test file test/calc.bats, line 20)
";
    check(tap, &["test/calc.bats deep in", "test/calc.bats subtracts"]);
    let pretty = "calc.bats\n ✓ adds\n ✗ subtracts\n   (in test file test/calc.bats, line 7)\n     `false' failed\n\n2 tests, 1 failure\n";
    check(pretty, &["test/calc.bats subtracts"]);
}

#[test]
fn two_tap_tests_of_one_name_are_two() {
    check("not ok 1 - same\nnot ok 2 - same\n", &["same", "same #2"]);
}

#[test]
fn rspec_names_carry_their_file_but_not_the_line() {
    let text = "Failures:

  1) Calc adds
     Failure/Error: expect(1).to eq(2)

Finished in 0.01 seconds
3 examples, 2 failures

Failed examples:

rspec ./spec/calc_spec.rb:5 # Calc adds
rspec './spec/calc_spec.rb[1:2:1]' # Calc shared works
";
    assert_eq!(
        check(text, &["spec/calc_spec.rb Calc adds", "spec/calc_spec.rb Calc shared works"])
            .partial,
        None
    );
}

#[test]
fn maven_gradle_dotnet_phpunit_exunit_ctest_and_junit_xml_are_known() {
    check(
        "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in com.x.FooTest\n\
         [ERROR] com.x.FooTest.bar -- Time elapsed: 0.01 s <<< FAILURE!\n",
        &["com.x.FooTest.bar"],
    );
    check(
        "> Task :test FAILED\n\nFooTest > bar() FAILED\n    java.lang.AssertionError at FooTest.java:9\n",
        &["FooTest > bar()"],
    );
    check("  Failed Calc.Tests.Adds [5 ms]\n  Error Message:\n", &["Calc.Tests.Adds"]);
    check(
        "There was 1 failure:\n\n1) App\\CalcTest::testAdds with data set #0\nFailed asserting\n",
        &["App\\CalcTest::testAdds with data set #0"],
    );
    check(
        "  1) test adds two (CalcTest)\n     test/calc_test.exs:5\n",
        &["test adds two (CalcTest)"],
    );
    check(
        "The following tests FAILED:\n\t  3 - calc.adds (Failed)\n\t 12 - calc.loops (Timeout)\n",
        &["calc.adds", "calc.loops"],
    );
    check(
        "<testsuite>\n<testcase name=\"ok\" classname=\"A\"/>\n<testcase name=\"bad\" classname=\"A\" time=\"0.1\">\n<failure message=\"no\">x</failure>\n</testcase>\n</testsuite>\n",
        &["A bad"],
    );
}

#[test]
fn colours_do_not_hide_a_name() {
    check("\u{1b}[31mnot ok\u{1b}[0m 1 - red\n", &["red"]);
    check(
        "\u{1b}[0m\u{1b}[7m\u{1b}[1m\u{1b}[31m FAIL \u{1b}[39m\u{1b}[22m\u{1b}[27m\u{1b}[0m a.test.ts > x\n",
        &["a.test.ts x"],
    );
}

#[test]
fn targets_of_one_name_are_told_apart() {
    let target =
        "     Running tests/it.rs (target/debug/deps/it-0123456789abcdef)\ntest a ... FAILED\n";
    check(&format!("{target}{target}"), &["it a", "it#2 a"]);
}

#[test]
fn addresses_are_no_part_of_a_name_but_other_numbers_are() {
    let text = "FAILED t.py::x[<object at 0x7f01>] - no\nFAILED t.py::x[0x10] - no\nFAILED t.py::x[0x11] - no\n";
    check(text, &["t.py::x[0x10]", "t.py::x[0x11]", "t.py::x[<object at 0x>]"]);
}
