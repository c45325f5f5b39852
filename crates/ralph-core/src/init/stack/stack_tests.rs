use proptest::prelude::*;

use super::*;
use crate::init::fixture::{gates, init};

const NO_CODE: [&str; 0] = [];

#[test]
fn rust_has_its_tests_and_the_workspace_flag_where_there_is_one() {
    assert_eq!(
        gates(&init(&[("Cargo.toml", "[package]\nname = \"a\"")])),
        ["test: cargo test --no-fail-fast"]
    );
    assert_eq!(
        gates(&init(&[("Cargo.toml", "[workspace]\nmembers = []")])),
        ["test: cargo test --workspace --no-fail-fast"]
    );
}

#[test]
fn nextest_runs_the_tests_where_it_is_configured() {
    let setup = init(&[("Cargo.toml", ""), (".config/nextest.toml", "")]);
    assert_eq!(gates(&setup), ["test: cargo nextest run --no-fail-fast"]);
}

#[test]
fn clippy_is_a_gate_where_the_project_asks_for_it() {
    let clippy =
        ["lint: cargo clippy --all-targets -- -D warnings", "test: cargo test --no-fail-fast"];
    for (file, text) in [
        ("clippy.toml", ""),
        ("rust-toolchain.toml", "[toolchain]\ncomponents = [\"rustfmt\", \"clippy\"]"),
    ] {
        assert_eq!(gates(&init(&[("Cargo.toml", ""), (file, text)])), clippy, "{file}");
    }
    assert_eq!(gates(&init(&[("Cargo.toml", "[lints.clippy]\nall = \"warn\"")])), clippy);
    let plain = init(&[("Cargo.toml", ""), ("rust-toolchain", "stable\n")]);
    assert_eq!(gates(&plain), ["test: cargo test --no-fail-fast"]);
    assert!(plain.problems.is_empty(), "{:?}", plain.problems);
}

const SCRIPTS: &str = r#"{"scripts": {"test": "vitest run", "lint": "eslint .", "dev": "vite",
    "build": "vite build", "typecheck": "tsc --noEmit"}}"#;

#[test]
fn node_runs_the_scripts_that_exist_with_the_package_manager_of_the_lock_file() {
    for (lock, manager) in [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
        ("README.md", "npm"),
    ] {
        let setup = init(&[("package.json", SCRIPTS), (lock, "")]);
        let wanted =
            ["typecheck", "lint", "test", "build"].map(|s| format!("{s}: {manager} run {s}"));
        assert_eq!(gates(&setup), wanted, "{lock}");
    }
}

#[test]
fn the_declared_package_manager_beats_the_lock_file() {
    let package = r#"{"packageManager": "pnpm@9.1.0+sha256.abc", "scripts": {"test": "jest"}}"#;
    assert_eq!(
        gates(&init(&[("package.json", package), ("yarn.lock", "")])),
        ["test: pnpm run test"]
    );
    let unknown = r#"{"packageManager": "zpm@1", "scripts": {"test": "jest"}}"#;
    assert_eq!(
        gates(&init(&[("package.json", unknown), ("yarn.lock", "")])),
        ["test: yarn run test"]
    );
}

#[test]
fn nodes_lint_gate_reports_without_stopping_a_task() {
    let setup = init(&[("package.json", SCRIPTS)]);
    let required: Vec<_> = setup.gates.iter().map(|gate| (gate.kind, gate.required)).collect();
    let test = (GateKind::Test, None);
    assert_eq!(required, [test, (GateKind::Lint, Some(false)), test, test]);
}

#[test]
fn scripts_that_test_nothing_or_never_end_are_no_gates() {
    let package =
        r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1", "lint": ""}}"#;
    assert_eq!(gates(&init(&[("package.json", package)])), NO_CODE);
    let watching = init(&[("package.json", r#"{"scripts": {"test": "jest --watch"}}"#)]);
    assert_eq!(gates(&watching), NO_CODE);
    assert!(watching.notes[0].contains("the script `test` watches"), "{:?}", watching.notes);
}

#[test]
fn a_damaged_manifest_is_reported_with_its_line_and_the_rest_goes_on() {
    let setup = init(&[("package.json", "{\n  \"scripts\": oops\n}"), ("go.mod", "module a")]);
    assert_eq!(setup.problems.len(), 1);
    assert_eq!(setup.problems[0].file, "package.json");
    assert_eq!(setup.problems[0].line, Some(2));
    assert_eq!(gates(&setup), ["lint: go vet ./...", "test: go test ./..."]);

    let setup = init(&[("Cargo.toml", "[package]\nname = \n")]);
    assert!(setup.problems[0].to_string().starts_with("Cargo.toml:2: "), "{:?}", setup.problems);
    assert_eq!(gates(&setup), ["test: cargo test --no-fail-fast"]);
}

#[test]
fn python_runs_pytest_where_there_are_tests_or_configuration() {
    let pyproject = ("pyproject.toml", "[tool.black]\n");
    for (file, text) in [
        ("tests/test_a.py", ""),
        ("test_a.py", ""),
        ("conftest.py", ""),
        ("pytest.ini", ""),
        ("setup.cfg", "[tool:pytest]\naddopts = -q"),
        ("tox.ini", "[pytest]\n"),
    ] {
        assert_eq!(gates(&init(&[pyproject, (file, text)])), ["test: pytest"], "{file}");
    }
    assert_eq!(gates(&init(&[("pyproject.toml", "[tool.pytest.ini_options]")])), ["test: pytest"]);
    assert_eq!(gates(&init(&[pyproject, ("tests/data.json", "")])), NO_CODE);
}

#[test]
fn python_checks_style_and_types_where_they_are_configured() {
    let all = ["typecheck: mypy .", "lint: ruff check .", "test: pytest"];
    let tools = "[tool.ruff]\n[tool.mypy]\nstrict = true\n[tool.pytest.ini_options]";
    assert_eq!(gates(&init(&[("pyproject.toml", tools)])), all);
    let files = [("ruff.toml", ""), ("mypy.ini", "[mypy]\n"), ("pytest.ini", "")];
    assert_eq!(gates(&init(&files)), all);
    let named = "[metadata]\nname = a\n[mypy]\n# files = x\nfiles = src\n";
    assert_eq!(gates(&init(&[("setup.cfg", named)])), ["typecheck: mypy"]);
}

#[test]
fn python_tools_run_in_the_environment_of_the_lock_file() {
    for (lock, prefix) in [("uv.lock", "uv"), ("poetry.lock", "poetry"), ("pdm.lock", "pdm")] {
        let project = "[dependency-groups]\ndev = [\"ruff\", \"pytest>=8\"]\n[tool.ruff]";
        let setup = init(&[("pyproject.toml", project), ("pytest.ini", ""), (lock, "")]);
        let wanted =
            [format!("lint: {prefix} run ruff check ."), format!("test: {prefix} run pytest")];
        assert_eq!(gates(&setup), wanted);
    }
}

#[test]
fn uv_brings_a_tool_that_is_configured_and_no_dependency() {
    let files = [("pyproject.toml", "[tool.ruff]"), ("uv.lock", "")];
    assert_eq!(gates(&init(&files)), ["lint: uv run --with ruff ruff check ."]);
}

#[test]
fn python_tools_run_in_the_environment_that_the_setup_of_a_lane_makes() {
    let files = [("requirements.txt", ""), ("ruff.toml", ""), ("mypy.ini", "[mypy]\n")];
    let wanted =
        ["typecheck: .venv/bin/python -m mypy .", "lint: .venv/bin/python -m ruff check ."];
    assert_eq!(gates(&init(&files)), wanted);
    let venv = [("pyproject.toml", "[project]\n"), ("venv/", ""), ("tests/test_a.py", "")];
    assert_eq!(gates(&init(&venv)), ["test: venv/bin/python -m pytest"]);
    let below = [("api/setup.py", ""), ("api/conftest.py", "")];
    assert_eq!(gates(&init(&below)), ["api-test: cd api && .venv/bin/python -m pytest"]);
}

#[test]
fn make_offers_the_targets_that_exist() {
    let makefile = "BIN := a:b\nCHECK ?= x\n.PHONY: all test lint\nall: test\ntest lint: $(BIN)\n\tcc -o a\n\
                    check: lint \\\n   test\n# deploy:\nrelease: OUT = x\n";
    assert_eq!(gates(&init(&[("Makefile", makefile)])), ["lint: make lint", "test: make test"]);
    assert_eq!(gates(&init(&[("Makefile", "check: other\n\ttrue\n")])), ["check: make check"]);
    assert_eq!(
        gates(&init(&[("Makefile", "testing:\ntest := 1\ndefine x\nlint:\nendef\n")])),
        NO_CODE
    );
}

#[test]
fn a_make_target_hidden_by_a_folder_is_no_gate() {
    let hidden = init(&[("Makefile", "test:\n\tbats test\n"), ("test/a.bats", "")]);
    assert_eq!(gates(&hidden), NO_CODE);
    assert!(hidden.notes[0].contains("`make test` does nothing"), "{:?}", hidden.notes);
    let phony = init(&[("Makefile", ".PHONY: test\ntest:\n\tbats test\n"), ("test/a.bats", "")]);
    assert_eq!(gates(&phony), ["test: make test"]);
}

#[test]
fn just_offers_the_recipes_that_need_no_arguments() {
    let justfile = "set shell := ['bash']\ntest := 'no'\n\n[private]\n@lint *args='a: b': fmt\n    eslint {{args}}\n\
                    test filter:\n    run {{filter}}\ncheck mode=(a + ':'):\n    go\nfmt:\n";
    let setup = init(&[("Justfile", justfile)]);
    assert_eq!(gates(&setup), ["lint: just lint", "check: just check"]);
    assert!(setup.notes[0].contains("`test` wants arguments"), "{:?}", setup.notes);
    assert_eq!(gates(&init(&[(".justfile", "alias test := t\nt:\n  go\n")])), ["test: just test"]);
    assert_eq!(gates(&init(&[("justfile", "check: lint test\nlint:\n a\ntest:\n b\n")])).len(), 2);
}

#[test]
fn a_target_that_only_runs_a_gate_is_left_out_and_said_so() {
    let cargo = ("Cargo.toml", "[workspace]");
    let same = init(&[cargo, ("Makefile", "test:\n\t@echo tests\n\t@cargo test --all\n")]);
    assert_eq!(gates(&same), ["test: cargo test --workspace --no-fail-fast"]);
    assert!(
        same.notes[0].starts_with("`make test` runs `cargo test --workspace --no-fail-fast`"),
        "{:?}",
        same.notes
    );
    let more = init(&[cargo, ("Makefile", "test:\n\tcargo test && ./e2e.sh\n")]);
    assert_eq!(
        gates(&more),
        ["test: cargo test --workspace --no-fail-fast", "make-test: make test"]
    );
    let built = init(&[cargo, ("Makefile", "test: image\n\tcargo test\n")]);
    assert_eq!(
        gates(&built),
        ["test: cargo test --workspace --no-fail-fast", "make-test: make test"]
    );
    let both = init(&[("justfile", "test:\n    ./t\n"), ("Makefile", "test:\n\tjust test\n")]);
    assert_eq!(gates(&both), ["test: just test"]);
}

#[test]
fn several_stacks_keep_their_gates_apart() {
    let setup = init(&[
        ("Cargo.toml", ""),
        ("package.json", r#"{"scripts": {"test": "jest"}}"#),
        ("api/go.mod", "module a"),
        ("my web/package.json", r#"{"scripts": {"test": "jest"}}"#),
    ]);
    assert_eq!(
        gates(&setup),
        [
            "test: cargo test --no-fail-fast",
            "node-test: npm run test",
            "api-lint: cd api && go vet ./...",
            "api-test: cd api && go test ./...",
        ]
    );
}

#[test]
fn a_stack_without_gates_at_the_root_is_looked_for_below() {
    let web = r#"{"scripts": {"test": "jest"}}"#;
    let setup = init(&[
        ("Cargo.toml", ""),
        ("package.json", r#"{"private": true}"#),
        ("pnpm-lock.yaml", ""),
        ("my web/package.json", web),
        ("-x/package.json", web),
        ("node_modules/package.json", web),
        ("fuzz/Cargo.toml", ""),
    ]);
    assert_eq!(
        gates(&setup),
        [
            "test: cargo test --no-fail-fast",
            "-x-test: cd ./-x && pnpm run test",
            "my-web-test: cd 'my web' && pnpm run test",
        ]
    );
}

#[test]
fn equal_names_get_a_number() {
    let web = r#"{"scripts": {"test": "jest"}}"#;
    let setup =
        init(&[("a b/package.json", web), ("a-b/package.json", web), ("a+b/package.json", web)]);
    let names: Vec<_> = setup.gates.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(names, ["a-b-test", "a-b-node-test", "a-b-node-test-2"]);
}

proptest! {
    #[test]
    fn no_manifest_can_trip_the_search(
        text in "([a-z:=@'\"#\t\n\\\\ (){}\\[\\]]|test:|\n\t|é|lint ){0,40}",
    ) {
        let names = ["Makefile", "justfile", "package.json", "Cargo.toml", "pyproject.toml", "setup.cfg"];
        let files: Vec<_> = names.iter().map(|name| (*name, text.as_str())).collect();
        let setup = init(&files);
        let mut names: Vec<_> = setup.gates.iter().map(|gate| gate.name.clone()).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), setup.gates.len());
    }
}
