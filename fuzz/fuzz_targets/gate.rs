//! What a gate wrote, and texts of judges: nothing panics, what is kept is bounded, a run compared with
//! itself has no new failures, and a failing test that is added is never called old.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::gate::judges::{FileChange, JudgeNames, judge_changes};
use ralph_core::gate::{
    FailureComparison, GateEnding, GateFailures, KEPT_HEAD, KEPT_TAIL, OutputReader, compare,
};

fn read(data: &[u8], more: &[u8]) -> GateFailures {
    let mut reader = OutputReader::new("/work/tree");
    data.split(|byte| *byte == b'\n').for_each(|line| reader.line(line));
    // A line of its own at the margin, whatever state the rest has left the readers in.
    reader.line(b"");
    reader.line(more);
    let reading = reader.finish(&GateEnding::Code(1));
    assert!(reading.output.len() < KEPT_HEAD + KEPT_TAIL + 100);
    reading.failures
}

fuzz_target!(|data: &[u8]| {
    let base = read(data, b"");
    assert!(!matches!(compare(&base, &base), FailureComparison::New(_)));
    let now = read(data, b"FAILED tests/test_added_by_the_fuzzer.py::test_new - no");
    assert_ne!(compare(&base, &now), FailureComparison::AllOld);

    let Ok(text) = std::str::from_utf8(data) else { return };
    let (before, after) = text.split_once("=====\n").unwrap_or((text, text));
    let names = JudgeNames::of_gates(&[]);
    for path in
        ["src/a.rs", "test_a.py", "a.test.ts", "a_test.go", "a_spec.rb", "ATest.java", "a.bats"]
    {
        judge_changes(&[FileChange { path, before: Some(before), after: Some(after) }], &names);
        let same = FileChange { path, before: Some(before), after: Some(before) };
        for change in judge_changes(&[same], &names) {
            assert!(change.deleted.is_empty() && change.weakened.is_empty());
        }
    }
});
