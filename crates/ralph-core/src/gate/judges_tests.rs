use proptest::prelude::*;

use super::*;
use crate::config::GateKind;
use crate::gate::{Gate, GateNeed};

fn changes_of(files: &[FileChange<'_>]) -> Vec<JudgeChange> {
    judge_changes(files, &JudgeNames::default())
}

fn one(path: &str, before: &str, after: &str) -> Option<JudgeChange> {
    let mut all = changes_of(&[FileChange { path, before: Some(before), after: Some(after) }]);
    assert!(all.len() <= 1);
    all.pop()
}

#[track_caller]
fn change(path: &str, before: &str, after: &str) -> JudgeChange {
    one(path, before, after).unwrap_or_else(|| panic!("{path} is a judge"))
}

fn hows(change: &JudgeChange) -> Vec<String> {
    change.weakened.iter().map(ToString::to_string).collect()
}

const RUST: &str = r##"
pub fn add(a: u8, b: u8) -> u8 { a + b }

#[cfg(test)]
mod tests {
    use super::*;

    /// A brace in a string: "}" and in a character.
    #[test]
    fn adds() {
        let odd = r#"} " {"#;
        assert_eq!(add(1, 2), 3, "{odd} {}", '}');
        assert_eq!(add(0, 0), 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn waits<'a>() {
        assert!(later().await);
    }
}
"##;

#[test]
fn the_script_of_a_gate_is_a_judge_even_where_lines_were_only_added() {
    let gate = |command: &str| Gate {
        name: "test".into(),
        command: command.into(),
        kind: GateKind::Test,
        need: GateNeed::Required,
        timeout: std::time::Duration::from_secs(1),
    };
    let names = JudgeNames::of_gates(&[gate("./check.sh"), gate("cd web && sh test.sh")]);
    for path in ["check.sh", "web/test.sh"] {
        let file = FileChange { path, before: Some("run\n"), after: Some("exit 0\nrun\n") };
        let changes = judge_changes(&[file], &names);
        assert_eq!(changes[0].kind, JudgeKind::GateScript, "{path}");
        assert!(changes[0].is_blockable(), "{path}");
    }
    assert!(!names.may_judge("tools/recheck.sh"));
}

#[test]
fn a_source_without_change_to_its_tests_is_no_judge() {
    assert_eq!(one("src/lib.rs", RUST, &RUST.replace("a + b", "b + a")), None);
    assert_eq!(one("src/app.py", "def test_x(): pass", ""), None);
}

#[test]
fn a_deleted_test_inside_a_source_is_named() {
    let gone = change(
        "src/lib.rs",
        RUST,
        &RUST.replace("#[tokio::test(flavor = \"current_thread\")]", ""),
    );
    assert_eq!(
        (gone.deleted, gone.extent),
        (vec!["tests::waits".to_owned()], ChangeExtent::Changed)
    );
    let all = change("src/lib.rs", RUST, "pub fn add(a: u8, b: u8) -> u8 { a + b }\n");
    assert_eq!(all.deleted, ["tests::adds", "tests::waits"]);
    assert!(all.is_blockable());
}

#[test]
fn weakened_rust_tests_are_named_with_the_way() {
    let fewer = change(
        "src/lib.rs",
        RUST,
        &RUST.replace("assert_eq!(add(0, 0), 0);", "// assert_eq!(add(0, 0), 0);"),
    );
    assert_eq!(hows(&fewer), ["tests::adds: fewer assertions (1, there were 2)"]);
    let ignored =
        change("src/lib.rs", RUST, &RUST.replace("#[test]", "#[test]\n    #[ignore = \"later\"]"));
    assert_eq!(hows(&ignored), ["tests::adds: skipped, or allowed to fail"]);
    let trivial =
        change("src/lib.rs", RUST, &RUST.replace("assert!(later().await)", "assert!(true)"));
    assert_eq!(hows(&trivial), ["tests::waits: an assertion that cannot fail"]);
    let early = change("src/lib.rs", RUST, &RUST.replace("let odd", "return;\n        let odd"));
    assert_eq!(hows(&early), ["tests::adds: returns before it checks anything"]);
}

#[test]
fn tests_that_are_only_added_are_listed_and_not_held_against_anybody() {
    let more = RUST.replace(
        "    #[tokio",
        "    #[test]\n    fn more() {\n        assert!(true);\n    }\n\n    #[tokio",
    );
    let grown = change("src/lib.rs", RUST, &more);
    assert_eq!((grown.extent, grown.is_blockable()), (ChangeExtent::Grown, false));
    let files =
        [FileChange { path: "tests/new.rs", before: None, after: Some("#[test]\nfn a() {}\n") }];
    assert!(!changes_of(&files)[0].is_blockable());
}

#[test]
fn a_changed_expectation_is_a_change() {
    let changed = change("src/lib.rs", RUST, &RUST.replace("add(1, 2), 3", "add(1, 2), 4"));
    assert_eq!((changed.extent, changed.is_blockable()), (ChangeExtent::Changed, true));
    assert_eq!(changed.weakened, []);
}

#[test]
fn a_test_that_moved_to_another_file_is_not_deleted() {
    let test = "#[test]\nfn adds() { assert!(true) }\n";
    let files = [
        FileChange { path: "tests/a.rs", before: Some(test), after: None },
        FileChange { path: "tests/b.rs", before: None, after: Some(test) },
    ];
    let changes = changes_of(&files);
    assert_eq!(changes[0].deleted, Vec::<String>::new());
    assert_eq!(changes[0].extent, ChangeExtent::Deleted);
}

#[test]
fn python_tests_are_known_by_class_and_name() {
    let before = "import pytest\n\n\nclass TestCalc:\n    def test_adds(self):\n        x = '''\n def test_no(): '''\n        assert add(1, 2) == 3\n\n\
        \x20   @pytest.mark.parametrize(\n        'x', [1]\n    )\n    async def test_p(self, x):\n        assert x\n\n\ndef test_alone():\n    with raises(E):\n        f()\n\n\ndef helper():\n    pass\n";
    let gone = change("tests/test_calc.py", before, &before.replace("def test_alone", "def alone"));
    assert_eq!(gone.deleted, ["test_alone"]);
    let skipped = before
        .replace("    def test_adds", "    @pytest.mark.skip(reason=\"x\")\n    def test_adds");
    let skipped = change("tests/test_calc.py", before, &skipped);
    assert_eq!(hows(&skipped), ["TestCalc::test_adds: skipped, or allowed to fail"]);
    let class =
        change("tests/test_calc.py", before, &before.replace("class T", "@unittest.skip\nclass T"));
    assert_eq!(hows(&class), ["TestCalc: skipped, or allowed to fail"]);
    let swallowed = change(
        "tests/test_calc.py",
        before,
        &before.replace("        assert x\n", "        pass\n"),
    );
    assert_eq!(hows(&swallowed), ["TestCalc::test_p: fewer assertions (0, there were 1)"]);
}

#[test]
fn script_tests_are_known_by_suite_and_title() {
    let before = "import { exit } from 'x';\ndescribe('sum', () => {\n  it('adds \\'1\\'', () => {\n    expect(sum(1, 2)).toBe(3);\n    exit(0);\n  });\n  \
        it.each([[1, 2]])(\"maps %i\", (a) => { expect(a).toBeTruthy(); });\n});\ntest(`alone`, async () => { assert.ok(await f()); });\n";
    let gone = change("src/sum.test.ts", before, &before.replace("test(`alone`", "run(`alone`"));
    assert_eq!(gone.deleted, ["alone"]);
    for (from, to, expected) in [
        ("  it('adds", "  xit('adds", "sum::adds '1': skipped, or allowed to fail"),
        ("  it('adds", "  it.skip('adds", "sum::adds '1': skipped, or allowed to fail"),
        ("describe(", "describe.skip(", "sum: skipped, or allowed to fail"),
        ("test(`alone`", "test.only(`alone`", "alone: only this runs, the others do not"),
        (
            "it.each([[1, 2]])",
            "it.skip.each([[1, 2]])",
            "sum::maps %i: skipped, or allowed to fail",
        ),
        ("expect(sum(1, 2)).toBe(3);", "", "sum::adds '1': fewer assertions (0, there were 1)"),
    ] {
        let weak = change("src/sum.test.ts", before, &before.replacen(from, to, 1));
        assert_eq!((hows(&weak), weak.deleted), (vec![expected.to_owned()], vec![]), "{to}");
    }
}

#[test]
fn go_java_ruby_and_bats_tests_are_known() {
    let go = "func TestAdd(t *testing.T) {\n\tif add(1) != 2 {\n\t\tt.Errorf(\"no }\")\n\t}\n}\n\nfunc helper() {}\n";
    assert_eq!(change("add_test.go", go, "func helper() {}\n").deleted, ["TestAdd"]);
    let skipped = change("add_test.go", go, &go.replacen("\tif", "\tt.Skip(\"x\")\n\tif", 1));
    assert_eq!(hows(&skipped), ["TestAdd: skipped, or allowed to fail"]);

    let java = "class CalcTest {\n  @Test\n  @Tag(\"x\")\n  void adds() { assertEquals(3, add(1, 2)); }\n\n  @ParameterizedTest\n  public void maps(int a) { assertTrue(a > 0); }\n}\n";
    assert_eq!(
        change("CalcTest.java", java, &java.replace("  @ParameterizedTest\n", "")).deleted,
        ["maps"]
    );
    let disabled =
        change("CalcTest.java", java, &java.replace("  @Test\n", "  @Disabled\n  @Test\n"));
    assert_eq!(hows(&disabled), ["adds: skipped, or allowed to fail"]);

    let ruby = "describe Calc do\n  it 'adds' do\n    expect(1).to eq(1)\n  end\n\n  context \"more\" do\n    it \"maps\" do\n      expect(2).to eq(2)\n    end\n  end\nend\n";
    assert_eq!(
        change("spec/calc_spec.rb", ruby, &ruby.replace("it \"maps\"", "its \"maps\"")).deleted,
        ["Calc::more::maps"]
    );
    let pending = change(
        "spec/calc_spec.rb",
        ruby,
        &ruby.replace("    expect(1)", "    skip 'x'\n    expect(1)"),
    );
    assert_eq!(hows(&pending), ["Calc::adds: skipped, or allowed to fail"]);

    let bats = "@test \"adds\" {\n  run add 1 2\n  [ \"$output\" = 3 ]\n}\n";
    assert_eq!(change("test/calc.bats", bats, "").deleted, ["adds"]);
    let ignored = change("test/calc.bats", bats, &bats.replace("= 3 ]", "= 3 ] || true"));
    assert_eq!(hows(&ignored), ["adds: a failing command is ignored"]);
}

#[test]
fn a_loosened_command_in_ci_or_a_manifest_is_shown() {
    let ci = change(".github/workflows/ci.yml", "run: cargo test\n", "run: cargo test || true\n");
    assert_eq!((ci.kind, hows(&ci)), (JudgeKind::Ci, vec!["`run: cargo test || true`".to_owned()]));
    let manifest =
        change("package.json", "{\"test\": \"jest\"}", "{\"test\": \"jest --passWithNoTests\"}");
    assert_eq!(hows(&manifest), ["`{\"test\": \"jest --passWithNoTests\"}`"]);
    assert!(manifest.is_blockable());
    assert!(!change("Cargo.lock", "a", "b").is_blockable());
}

proptest! {
    #[test]
    fn any_text_can_be_looked_into(before in ".{0,120}", after in ".{0,120}", path in prop::sample::select(vec![
        "src/a.rs", "tests/a.py", "a.test.ts", "a_test.go", "spec/a_spec.rb", "ATest.java", "a.bats", "Makefile",
    ])) {
        let files = [FileChange { path, before: Some(&before), after: Some(&after) }];
        let _ = changes_of(&files);
        let same = [FileChange { path, before: Some(&before), after: Some(&before) }];
        for change in changes_of(&same) {
            prop_assert_eq!((change.deleted, change.weakened), (vec![], vec![]));
        }
    }

    #[test]
    fn deleted_tests_are_exactly_those_that_are_gone(names in prop::collection::btree_set("[a-z]{3,6}", 1..8), keep in any::<u8>()) {
        let text = |wanted: &dyn Fn(usize) -> bool| -> String {
            names.iter().enumerate().filter(|(n, _)| wanted(*n))
                .map(|(_, name)| format!("#[test]\nfn t_{name}() {{ assert!(\"}}{{\".len() == '}}' as usize); }}\n")).collect()
        };
        let kept = |n: usize| keep & (1 << n) != 0;
        let expected: Vec<String> = names.iter().enumerate().filter(|(n, _)| !kept(*n)).map(|(_, name)| format!("t_{name}")).collect();
        let (before, after) = (text(&|_| true), text(&kept));
        let files = [FileChange { path: "tests/x.rs", before: Some(&before), after: Some(&after) }];
        prop_assert_eq!(&changes_of(&files)[0].deleted, &expected);
    }
}
