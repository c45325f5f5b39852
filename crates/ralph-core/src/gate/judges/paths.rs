//! Detection of judges by their file names and by the scripts that gates run.

use crate::gate::{Gate, gate_scripts};
use crate::word_enum::word_enum;

word_enum! {
    /// Kind of a judge: what the file decides.
    JudgeKind {
        /// Tests, including their data and snapshots.
        Tests = "tests",
        /// Dependencies, and the commands that build.
        Manifest = "manifest",
        /// Exact versions of the dependencies.
        Lock = "lock",
        /// Settings of test runners and linters.
        Settings = "settings",
        /// Jobs that a CI service runs for every change.
        Ci = "ci",
        /// Script that a gate's command runs.
        GateScript = "gate script",
    }
}

const LOCKS: [&str; 16] = [
    "Cargo.lock",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "gradle.lockfile",
    "flake.lock",
];

const MANIFESTS: [&str; 36] = [
    "Cargo.toml",
    "build.rs",
    "rust-toolchain",
    "rust-toolchain.toml",
    "package.json",
    "deno.json",
    "tsconfig.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "Pipfile",
    "requirements.txt",
    "go.mod",
    "go.work",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "build.sbt",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    "Justfile",
    ".justfile",
    "Rakefile",
    "Gemfile",
    "CMakeLists.txt",
    "meson.build",
    "composer.json",
    "mix.exs",
    "Package.swift",
    "BUILD",
    "BUILD.bazel",
    "Taskfile.yml",
];

const SETTINGS: [&str; 33] = [
    "pytest.ini",
    "conftest.py",
    "tox.ini",
    "noxfile.py",
    ".coveragerc",
    ".flake8",
    ".pylintrc",
    "mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    "clippy.toml",
    ".clippy.toml",
    "rustfmt.toml",
    ".rustfmt.toml",
    "deny.toml",
    "nextest.toml",
    ".eslintignore",
    ".prettierignore",
    ".golangci.yml",
    ".golangci.yaml",
    ".golangci.toml",
    ".rspec",
    ".rubocop.yml",
    "phpunit.xml",
    "phpunit.xml.dist",
    "phpstan.neon",
    ".shellcheckrc",
    "biome.json",
    ".pre-commit-config.yaml",
    "codecov.yml",
    "karma.conf.js",
    ".credo.exs",
    "checkstyle.xml",
];

/// Beginnings of names whose ends vary: `jest.config.ts`, `.eslintrc.json`.
const SETTINGS_BEGIN: [&str; 11] = [
    "jest.config.",
    "vitest.config.",
    "vitest.workspace.",
    "vite.config.",
    "playwright.config.",
    "cypress.config.",
    "eslint.config.",
    ".eslintrc",
    ".prettierrc",
    ".mocharc",
    ".stylelintrc",
];

const CI_FILES: [&str; 9] = [
    ".gitlab-ci.yml",
    "Jenkinsfile",
    "azure-pipelines.yml",
    ".travis.yml",
    "bitbucket-pipelines.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".cirrus.yml",
    "appveyor.yml",
];

const CI_DIRECTORIES: [&str; 7] = [
    ".github/workflows/",
    ".github/actions/",
    ".circleci/",
    ".buildkite/",
    ".woodpecker/",
    ".husky/",
    ".gitlab/ci/",
];

/// Directories in which everything but prose belongs to tests.
const TEST_DIRECTORIES: [&str; 9] = [
    "tests",
    "test",
    "__tests__",
    "__snapshots__",
    "__mocks__",
    "testdata",
    "spec",
    "e2e",
    "cypress",
];

/// Endings of code in which `…Test` and `…Spec` are names of test classes.
const CLASSES: [&str; 8] = ["java", "kt", "kts", "scala", "groovy", "cs", "php", "swift"];

/// Knows judges by their names, and the scripts that the gates of a project run.
#[derive(Clone, Debug, Default)]
pub struct JudgeNames {
    scripts: Vec<String>,
}

impl JudgeNames {
    /// The judges of a project with these gates.
    pub fn of_gates(gates: &[Gate]) -> Self {
        Self { scripts: gates.iter().flat_map(|gate| gate_scripts(&gate.command)).collect() }
    }

    /// The kind of judge that a file is. A script may be called from any directory.
    pub(super) fn kind_of(&self, path: &str) -> Option<JudgeKind> {
        let runs = |script: &String| {
            path.strip_suffix(script.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        match self.scripts.iter().any(runs) {
            true => Some(JudgeKind::GateScript),
            false => kind_of(path),
        }
    }

    /// Whether the text of a changed file is needed to see what became of its tests.
    pub fn may_judge(&self, path: &str) -> bool {
        self.kind_of(path).is_some() || path.ends_with(".rs")
    }
}

/// The kind of judge that a file is by its name.
fn kind_of(path: &str) -> Option<JudgeKind> {
    let path = path.trim_start_matches("./");
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if LOCKS.contains(&name) {
        return Some(JudgeKind::Lock);
    }
    let in_ci = CI_DIRECTORIES.iter().any(|ci| path.starts_with(ci));
    if CI_FILES.contains(&name) || in_ci {
        return Some(JudgeKind::Ci);
    }
    if SETTINGS.contains(&name) || SETTINGS_BEGIN.iter().any(|begin| name.starts_with(begin)) {
        return Some(JudgeKind::Settings);
    }
    if path.ends_with(".cargo/config.toml") {
        return Some(JudgeKind::Settings);
    }
    // Before manifests: a fixture may be a whole project.
    if is_test(directory, name) {
        return Some(JudgeKind::Tests);
    }
    is_manifest(name).then_some(JudgeKind::Manifest)
}

fn is_manifest(name: &str) -> bool {
    let ends = [".csproj", ".fsproj", ".sln", ".gemspec", ".cabal", ".mk"];
    let begins = |begin: &str, end: &str| name.starts_with(begin) && name.ends_with(end);
    MANIFESTS.contains(&name)
        || ends.iter().any(|end| name.ends_with(end))
        || begins("requirements", ".txt")
        || begins("tsconfig.", ".json")
}

fn is_test(directory: &str, name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    if ["md", "txt", "rst", "adoc"].contains(&ending) {
        return false;
    }
    if directory.split('/').any(|part| TEST_DIRECTORIES.contains(&part)) {
        return true;
    }
    if ["bats", "snap"].contains(&ending) {
        return true;
    }
    if CLASSES.contains(&ending) {
        return ["Test", "Tests", "Spec", "IT", "TestCase"].iter().any(|end| stem.ends_with(end));
    }
    let dotted = stem.rsplit_once('.').map(|(_, middle)| middle);
    if matches!(dotted, Some("test" | "spec" | "e2e" | "cy")) {
        return true;
    }
    let code =
        ["rs", "py", "go", "rb", "exs", "dart", "c", "cc", "cpp", "js", "ts", "lua", "jl", "sh"];
    let ends = ["_test", "_tests", "_spec"].iter().any(|end| stem.ends_with(end));
    code.contains(&ending)
        && (ends || stem.starts_with("test_") || ["test", "tests"].contains(&stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_of_the_usual_stacks_are_known_by_name() {
        for (kind, paths) in [
            (
                JudgeKind::Tests,
                &[
                    "tests/api.rs",
                    "crates/a/src/plan_tests.rs",
                    "src/plan/tests.rs",
                    "test_util.py",
                    "pkg/test_a.py",
                    "pkg/a_test.py",
                    "pkg/a_test.go",
                    "src/a.test.ts",
                    "src/a.spec.jsx",
                    "src/__tests__/a.js",
                    "spec/a_spec.rb",
                    "test/run.bats",
                    "src/test/java/FooTest.java",
                    "FooTests.cs",
                    "tests/data/in.json",
                    "src/snapshots/a.snap",
                    "tests/fixture/package.json",
                    "lib/a_test.exs",
                ][..],
            ),
            (
                JudgeKind::Manifest,
                &[
                    "Cargo.toml",
                    "crates/a/Cargo.toml",
                    "package.json",
                    "pyproject.toml",
                    "go.mod",
                    "Makefile",
                    "requirements-dev.txt",
                    "build.gradle.kts",
                    "a.csproj",
                    "tsconfig.build.json",
                    "justfile",
                ],
            ),
            (JudgeKind::Lock, &["Cargo.lock", "web/package-lock.json", "go.sum", "uv.lock"]),
            (
                JudgeKind::Settings,
                &[
                    "jest.config.ts",
                    "vitest.config.mts",
                    ".eslintrc.json",
                    "conftest.py",
                    "tests/conftest.py",
                    "clippy.toml",
                    ".config/nextest.toml",
                    ".cargo/config.toml",
                    "tox.ini",
                    "phpunit.xml",
                ],
            ),
            (
                JudgeKind::Ci,
                &[
                    ".github/workflows/ci.yml",
                    ".gitlab-ci.yml",
                    "Jenkinsfile",
                    ".circleci/config.yml",
                ],
            ),
        ] {
            for path in paths {
                assert_eq!(kind_of(path), Some(kind), "{path}");
            }
        }
    }

    #[test]
    fn sources_and_prose_are_no_judges() {
        for path in [
            "src/lib.rs",
            "src/contest.py",
            "latest.go",
            "README.md",
            "tests/README.md",
            "ralph/specs/a.md",
            "src/attest.ts",
            "docs/testing.md",
            "src/Latest.java",
            "protest.rb",
            "src/testing.rs",
        ] {
            assert_eq!(kind_of(path), None, "{path}");
        }
        let names = JudgeNames::default();
        assert!(names.may_judge("src/lib.rs"), "it may have tests inside");
        assert!(!names.may_judge("src/app.py"));
    }
}
