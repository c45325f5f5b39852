use proptest::prelude::*;

use super::*;

fn texts(lines: &[ScreenLine]) -> Vec<String> {
    lines.iter().map(|line| line.paint(Paint::None)).collect()
}

#[test]
fn a_long_line_is_broken_between_words_below_its_label() {
    let line = ScreenLine::of(ScreenStyle::Bad, "failed ")
        .hang_here()
        .add(ScreenStyle::Plain, "one two three four");
    let line = line.add(ScreenStyle::Plain, " five six");
    assert_eq!(texts(&line.wrap(20)), ["failed one two three", "       four five six"]);
    assert_eq!(texts(&line.wrap(16)), ["failed one two", "three four five", "six"]);
}

#[test]
fn a_word_that_is_too_long_is_broken_where_the_line_ends() {
    let line = ScreenLine::of(ScreenStyle::Plain, "a refs/ralph/0123456789");
    assert_eq!(texts(&line.wrap(10)), ["a", "refs/ralph", "/012345678", "9"]);
}

#[test]
fn what_does_not_fit_is_marked_and_no_wide_character_is_cut() {
    assert_eq!(ScreenLine::of(ScreenStyle::Plain, "画像の縮小").fit(6).text(), "画像…");
    assert_eq!(ScreenLine::of(ScreenStyle::Plain, "abc").fit(3).text(), "abc");
    assert_eq!(ScreenLine::of(ScreenStyle::Plain, "abc").fit(0).text(), "");
}

#[test]
fn colours_only_add_to_the_words() {
    let line = ScreenLine::of(ScreenStyle::Good, "passed").add(ScreenStyle::Plain, ", 2s");
    assert_eq!(line.paint(Paint::Ansi), "\x1b[32mpassed\x1b[0m, 2s");
    assert_eq!(line.paint(Paint::None), "passed, 2s");
}

proptest! {
    #[test]
    fn no_line_is_wider_than_its_columns_and_no_word_is_lost(
        label in "\\PC{0,10}", words in "(\\PC| |画|e\u{301}|\u{1b}){0,80}", columns in 2usize..60,
    ) {
        let line = ScreenLine::of(ScreenStyle::Bad, label).hang_here().add(ScreenStyle::Plain, words);
        prop_assert!(line.fit(columns).width() <= columns);
        let lines = line.wrap(columns);
        for line in &lines {
            prop_assert!(line.width() <= columns, "{line:?}");
        }
        let letters = |s: &str| s.chars().filter(|c| *c != ' ').collect::<String>();
        let all: String = lines.iter().map(ScreenLine::text).collect();
        prop_assert_eq!(letters(&all), letters(&line.text()));
    }
}
