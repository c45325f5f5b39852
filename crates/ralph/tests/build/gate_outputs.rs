//! Outputs of test runners and compilers in the shape of the real ones, some 2,000 lines long, with
//! the line that matters in the middle.

/// An output, and the lines in it that say what is wrong.
pub(crate) struct GateOutput {
    pub(crate) runner: &'static str,
    pub(crate) text: String,
    pub(crate) decisive: &'static [&'static str],
}

pub(crate) fn all() -> [GateOutput; 5] {
    [cargo(), pytest(), vitest(), go(), tsc()]
}

fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

fn cargo() -> GateOutput {
    let text = format!(
        "   Compiling app v0.1.0 (/work/app)\n    Finished `test` profile in 4.02s\n     Running \
         unittests src/lib.rs (target/debug/deps/app-1f3e5d7c9b)\n\nrunning 801 tests\n{}test \
         tests::adds_up ... FAILED\n\nfailures:\n\n---- tests::adds_up stdout ----\n{}\nthread \
         'tests::adds_up' (4711) panicked at src/lib.rs:87:9:\nassertion `left == right` failed\n  \
         left: 41\n right: 42\nnote: run with `RUST_BACKTRACE=1` environment variable to display a \
         backtrace\n{}\n\nfailures:\n    tests::adds_up\n\ntest result: FAILED. 800 passed; 1 \
         failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.31s\n\nerror: test failed, to \
         rerun pass `--lib`\n",
        numbered(800, |n| format!("test tests::case_{n} ... ok")),
        numbered(400, |n| format!("step {n}: queue = [{n}, {}], state = Running", n + 1)),
        numbered(800, |n| format!("closing connection {n} of 800")),
    );
    let decisive = &["panicked at src/lib.rs:87:9", "  left: 41", " right: 42", "tests::adds_up"];
    GateOutput { runner: "cargo test", text, decisive }
}

fn pytest() -> GateOutput {
    let text = format!(
        "============================= test session starts ==============================\nplatform \
         linux -- Python 3.12.3, pytest-8.3.4, pluggy-1.5.0\nrootdir: /work/app\ncollected 901 \
         items\n\n{}tests/test_sum.py::test_adds_up FAILED                                 [ \
         99%]\n\n=================================== FAILURES \
         ===================================\n_________________________________ test_adds_up \
         __________________________________\n\n    def test_adds_up():\n        ledger = \
         Ledger()\n>       assert ledger.sum() == 42\nE       assert 41 == 42\nE        +  where 41 \
         = <bound method Ledger.sum of Ledger()>()\n\ntests/test_sum.py:87: \
         AssertionError\n------------------------------ Captured log call \
         -------------------------------\n{}=========================== short test summary info \
         ============================\nFAILED tests/test_sum.py::test_adds_up - assert 41 == \
         42\n======================== 1 failed, 900 passed in 3.21s =========================\n",
        numbered(900, |n| format!(
            "tests/test_many.py::test_case[{n}] PASSED                        [ {}%]",
            n / 10
        )),
        numbered(1_100, |n| format!("INFO     app.ledger:ledger.py:{} booked entry {n}", n % 90)),
    );
    let decisive = &["E       assert 41 == 42", "tests/test_sum.py:87: AssertionError"];
    GateOutput { runner: "pytest", text, decisive }
}

fn vitest() -> GateOutput {
    let text = format!(
        "\n RUN  v3.0.5 /work/app\n\n{} ❯ src/sum.test.ts (3 tests | 1 failed) 9ms\n   × adds up \
         4ms\n     → expected 41 to be 42 // Object.is equality\n\n⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 \
         ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  src/sum.test.ts > ledger > adds up\nAssertionError: expected 41 to be 42 \
         // Object.is equality\n\n- Expected\n+ Received\n\n- 42\n+ 41\n\n ❯ \
         src/sum.test.ts:87:9\n     85|   it('adds up', () => {{\n     86|     const ledger = new \
         Ledger()\n     87|     expect(ledger.sum()).toBe(42)\n       |         ^\n     88|   \
         }})\n\n{}\n Test Files  1 failed | 1000 passed (1001)\n      Tests  1 failed | 3002 passed \
         (3003)\n   Start at  10:12:45\n   Duration  4.41s\n",
        numbered(1_000, |n| format!(" ✓ src/module-{n}.test.ts (3 tests) {}ms", n % 17)),
        numbered(1_000, |n| format!("stdout | src/module-{n}.test.ts: cache warmed in {n} ms")),
    );
    let decisive = &["AssertionError: expected 41 to be 42", "❯ src/sum.test.ts:87:9", "+ 41"];
    GateOutput { runner: "vitest", text, decisive }
}

fn go() -> GateOutput {
    let passed = |n: usize| format!("=== RUN   TestCase{n}\n--- PASS: TestCase{n} (0.00s)");
    let text = format!(
        "{}=== RUN   TestAddsUp\n    sum_test.go:87: Sum() = 41, want 42\n--- FAIL: TestAddsUp \
         (0.00s)\n{}{}FAIL\nexit status 1\nFAIL\texample.com/app\t0.512s\nFAIL\n",
        numbered(500, passed),
        numbered(300, |n| format!("2025/01/20 10:30:{:02} server: closed listener {n}", n % 60)),
        numbered(400, |n| passed(n + 500)),
    );
    let decisive = &["sum_test.go:87: Sum() = 41, want 42", "--- FAIL: TestAddsUp"];
    GateOutput { runner: "go test", text, decisive }
}

fn tsc() -> GateOutput {
    let resolved = |n: usize| {
        format!(
            "======== Resolving module './module-{n}' from '/work/app/src/index.ts'. ========\n\
             Module resolution kind is not specified, using 'Bundler'.\n\
             File '/work/app/src/module-{n}.ts' exists - use it as a name resolution result."
        )
    };
    let text = format!(
        "{}src/sum.ts(87,9): error TS2322: Type 'string' is not assignable to type 'number'.\n{}",
        numbered(330, resolved),
        numbered(340, |n| resolved(n + 330)),
    );
    let decisive = &["src/sum.ts(87,9): error TS2322: Type 'string' is not assignable"];
    GateOutput { runner: "tsc", text, decisive }
}
