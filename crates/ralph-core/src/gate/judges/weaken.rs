//! Judges that do not judge as strictly as they did.

use super::JudgeWeakening;
use super::cases::TestItem;
use super::code::SourceLanguage;
use super::paths::JudgeKind;

/// Words that keep a test from running, or from failing.
const SKIPS: [&str; 32] = [
    "#[ignore",
    "#[should_panic",
    "#[cfg(",
    "#[cfg_attr(",
    "mark.skip",
    "mark.xfail",
    "skipTest(",
    "unittest.skip",
    "unittest.expectedFailure",
    "pytest.skip(",
    "pytest.xfail(",
    "importorskip(",
    "@skip",
    ".skip",
    ".todo",
    ".failing",
    ".fails(",
    "xit",
    "xtest",
    "xdescribe",
    "this.skip(",
    "t.Skip(",
    "t.Skipf(",
    "t.SkipNow(",
    "@Disabled",
    "@Ignore",
    "[Ignore",
    "Skip =",
    "markTestSkipped",
    "markTestIncomplete",
    "@tag :skip",
    "assumeTrue(",
];

/// Words that keep all other tests from running.
const ONLYS: [&str; 4] = [".only", "fit(", "fdescribe(", "ftest("];

/// Assertions that can never fail.
const TRIVIAL: [&str; 9] = [
    "assert!(true",
    "assert_eq!(1,1",
    "assert True",
    "assertTrue(True",
    "assertTrue(true",
    "expect(true).toBe(true",
    "expect(1).toBe(1",
    "assert.ok(true",
    "assert(true",
];

/// Ways to make a command succeed whatever happens.
const LOOSE: [&str; 14] = [
    "|| true",
    "||true",
    "|| :",
    "|| exit 0",
    "|| echo",
    "continue-on-error: true",
    "allow_failure: true",
    "--passWithNoTests",
    "--exit-zero",
    "set +e",
    "if: false",
    "--no-verify",
    "test = false",
    "ignore_errors = true",
];

/// Tests that are in both texts and are weaker in the new one.
pub(super) fn tests(
    old: &[TestItem],
    new: &[TestItem],
    language: Option<SourceLanguage>,
) -> Vec<JudgeWeakening> {
    let Some(language) = language else { return Vec::new() };
    let mut weakened = Vec::new();
    for case in new {
        let before =
            old.iter().find(|other| other.name == case.name && other.is_test() == case.is_test());
        if before == Some(case) {
            continue;
        }
        let hows = match before {
            Some(before) => compare(before, case, language),
            // A new test takes nothing away from the others, unless it keeps them from running.
            None => Vec::from_iter(more(&[], case, &ONLYS).then(only)),
        };
        weakened.extend(
            hows.into_iter().map(|how| JudgeWeakening { test: Some(case.name.clone()), how }),
        );
    }
    weakened
}

fn only() -> String {
    "only this runs, the others do not".to_owned()
}

fn compare(before: &TestItem, case: &TestItem, language: SourceLanguage) -> Vec<String> {
    let mut hows = Vec::new();
    if more(&[before], case, &SKIPS)
        || (language == SourceLanguage::Ruby || language == SourceLanguage::Bats)
            && skips_by_word(before, case)
    {
        hows.push("skipped, or allowed to fail".to_owned());
    }
    if more(&[before], case, &ONLYS) {
        hows.push(only());
    }
    let (Some(was), Some(is)) = (&before.body, &case.body) else { return hows };
    let (had, has) = (assertions(was, language), assertions(is, language));
    if has < had {
        hows.push(format!("fewer assertions ({has}, there were {had})"));
    }
    if count(is, &TRIVIAL) > count(was, &TRIVIAL) {
        hows.push("an assertion that cannot fail".to_owned());
    }
    if returns_at_once(is) && !returns_at_once(was) {
        hows.push("returns before it checks anything".to_owned());
    }
    if count(is, &LOOSE[..5]) > count(was, &LOOSE[..5]) {
        hows.push("a failing command is ignored".to_owned());
    }
    hows
}

/// Whether more of `words` is in a test than there was.
fn more(before: &[&TestItem], case: &TestItem, words: &[&str]) -> bool {
    let all = |case: &TestItem| {
        count(&case.head, words) + case.body.as_ref().map_or(0, |b| count(b, words))
    };
    all(case) > before.iter().map(|case| all(case)).sum()
}

/// `skip` and `pending` are whole commands in Ruby and bats.
fn skips_by_word(before: &TestItem, case: &TestItem) -> bool {
    let skips = |case: &TestItem| {
        let lines = case.body.as_deref().unwrap_or_default().lines().map(str::trim);
        lines
            .filter(|line| ["skip", "pending"].iter().any(|w| line.split(' ').next() == Some(w)))
            .count()
    };
    skips(case) > skips(before)
}

fn count(text: &str, words: &[&str]) -> usize {
    let squeezed: String;
    let mut sum = 0;
    for word in words {
        sum += text.match_indices(word).filter(|(at, _)| stands_alone(text, *at, word)).count();
    }
    // `assert_eq!(1, 1)` however it is spaced.
    if sum == 0 && words.iter().any(|word| word.contains(',')) {
        squeezed = text.split_whitespace().collect();
        sum += words
            .iter()
            .filter(|w| w.contains(','))
            .map(|w| squeezed.matches(w).count())
            .sum::<usize>();
    }
    sum
}

/// Whether a word is not the end of a longer one: `xit` is not in `exit`, `fit(` not in `benefit(`.
fn stands_alone(text: &str, at: usize, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let before = text.get(..at).and_then(|t| t.chars().next_back());
    let after = text.get(at + word.len()..).and_then(|t| t.chars().next());
    let starts = word.starts_with(is_letter) && before.is_some_and(is_letter);
    let ends = word.ends_with(is_letter)
        && after.is_some_and(is_letter)
        && !word.starts_with(['#', 'm', '@', '[']);
    !starts && !ends
}

fn assertions(body: &str, language: SourceLanguage) -> usize {
    let words: &[&str] = match language {
        SourceLanguage::Rust => &["assert", "panic!(", "unreachable!("],
        SourceLanguage::Python => &["assert", "raises("],
        SourceLanguage::Script => &["expect(", "assert", ".should"],
        SourceLanguage::Go => &["t.Error", "t.Fatal", "t.Fail", "assert.", "require.", "cmp.Diff("],
        SourceLanguage::Ruby => &["expect", "assert", "refute", "should", "must_"],
        SourceLanguage::Class => &["assert", "Assert", "verify(", "expect", "fail("],
        SourceLanguage::Bats => &["[ ", "[[ ", "assert", "refute"],
    };
    words.iter().map(|word| body.matches(word).count()).sum()
}

fn returns_at_once(body: &str) -> bool {
    let inside = body.trim_start_matches(|c: char| c == '{' || c == '(' || c.is_whitespace());
    inside.starts_with("return;")
        || inside.starts_with("return\n")
        || inside.starts_with("return }")
}

/// Marks that make a command of a manifest or of CI succeed whatever happens, and that are new.
pub(super) fn settings(
    kind: JudgeKind,
    before: Option<&str>,
    after: Option<&str>,
) -> Vec<JudgeWeakening> {
    let (
        JudgeKind::Manifest | JudgeKind::Settings | JudgeKind::Ci | JudgeKind::GateScript,
        Some(after),
    ) = (kind, after)
    else {
        return Vec::new();
    };
    let before = before.unwrap_or_default();
    let is_more = |mark: &&&str| after.matches(**mark).count() > before.matches(**mark).count();
    let line = |mark: &&str| {
        let line = after.lines().find(|line| line.contains(*mark) && !before.contains(line.trim()));
        line.unwrap_or(mark).trim().to_owned()
    };
    let weakened = |mark: &&str| JudgeWeakening {
        test: None,
        how: format!("`{}`", crate::text::clip(&line(mark), 120)),
    };
    LOOSE.iter().filter(is_more).map(weakened).collect()
}
