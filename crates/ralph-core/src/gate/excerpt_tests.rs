use proptest::prelude::*;

use super::*;

fn excerpt(text: &str) -> String {
    let mut reader = ExcerptReader::default();
    text.lines().for_each(|line| reader.line(line));
    reader.around(&[])
}

#[test]
fn a_short_output_is_shown_whole() {
    assert_eq!(excerpt("\none\n\ntest a ... ok\ntwo\n"), "one\n\ntest a ... ok\ntwo");
    assert_eq!(excerpt(""), "");
}

#[test]
fn a_long_output_shows_its_beginning_each_error_and_its_end() {
    let noise = "a line that means nothing\n".repeat(900);
    let text = format!(
        "first\n{noise}before it\nthread 'b' panicked at src/b.rs:3:4:\nleft: 1\n{noise}\
         error[E0308]: mismatched types\n{noise}last\n"
    );
    let shown = excerpt(&text);
    assert!(shown.starts_with("first\na line"), "{shown}");
    assert!(
        shown.contains("\nbefore it\nthread 'b' panicked at src/b.rs:3:4:\nleft: 1\n"),
        "{shown}"
    );
    assert!(shown.contains("\nerror[E0308]: mismatched types\n"), "{shown}");
    assert!(shown.ends_with("\nlast"), "{shown}");
    assert_eq!(shown.matches(" lines left out …]\n").count(), 3, "{shown}");
}

#[test]
fn lines_that_only_look_like_errors_do_not_crowd_out_a_clear_one() {
    let logged = "2025-01-01 ERROR the expected failure was logged\nError: it is expected\n";
    let text = format!("{0}thread 'b' panicked at src/b.rs:3:4:\n{0}", logged.repeat(900));
    assert!(excerpt(&text).contains("panicked at src/b.rs:3:4:"));
}

#[test]
fn the_new_failure_is_shown_however_many_old_ones_there_are() {
    let failure = |name: &str| {
        let output = "a line of its output\n".repeat(12);
        format!(
            "---- tests::{name} stdout ----\n{output}thread panicked at src/a.rs: {name}_detail\n"
        )
    };
    let all: String = (0..300).map(|n| failure(&format!("old_{n}")) + "\n").collect();
    let (before, after) = all.split_at(all.find("---- tests::old_200 ").unwrap());
    let mut reader = ExcerptReader::default();
    let text = format!("{before}{}{after}", failure("the_new_one"));
    text.lines().for_each(|line| reader.line(line));
    let named = ["tests::the_new_one".to_owned()];
    assert!(reader.around(&named).contains("the_new_one_detail"));
    assert!(!reader.around(&[]).contains("the_new_one_detail"), "the first ones come first");
    assert!(reader.around(&named).len() < EXCERPT_BYTES + 1_000);
}

#[test]
fn without_any_error_the_end_has_the_room() {
    let text: String = (0..3_000).map(|n| format!("line {n}\n")).collect();
    let shown = excerpt(&text);
    assert!(shown.contains("line 2600\n") && shown.ends_with("line 2999"), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_excerpt_is_short_and_in_order(
        lines in prop::collection::vec("(error: |FAIL |ok |E   )?[a-zü ]{0,60}", 0..400),
    ) {
        let shown = excerpt(&lines.join("\n"));
        prop_assert!(shown.len() < EXCERPT_BYTES + 3_000, "{} bytes", shown.len());
        let mut rest = lines.iter();
        for line in shown.lines().filter(|line| !line.starts_with("[… ")) {
            prop_assert!(rest.any(|one| one.trim_end() == line), "{line}");
        }
    }
}
