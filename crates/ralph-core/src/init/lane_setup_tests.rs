use super::*;
use crate::init::fixture::tree;

/// The setup of a project with these files.
fn setup(files: &[(&str, &str)]) -> String {
    detect(&mut ManifestReader::new(&tree(files))).unwrap_or_default().command
}

fn when(files: &[(&str, &str)]) -> Vec<String> {
    detect(&mut ManifestReader::new(&tree(files))).unwrap_or_default().when
}

const PACKAGE: (&str, &str) = ("package.json", r#"{"dependencies": {"a": "1"}}"#);

#[test]
fn node_installs_what_the_lock_file_says() {
    for (lock, command) in [
        ("package-lock.json", "npm ci"),
        ("npm-shrinkwrap.json", "npm ci"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn install --frozen-lockfile"),
        ("bun.lock", "bun install --frozen-lockfile"),
        ("bun.lockb", "bun install --frozen-lockfile"),
    ] {
        let files = [PACKAGE, (lock, "")];
        assert_eq!((setup(&files).as_str(), when(&files)), (command, vec![lock.to_owned()]));
    }
    let berry = [PACKAGE, ("yarn.lock", ""), (".yarnrc.yml", "")];
    assert_eq!(setup(&berry), "yarn install --immutable");
    let declared = ("package.json", r#"{"packageManager": "yarn@1.22.0"}"#);
    assert_eq!(setup(&[declared, ("yarn.lock", "")]), "yarn install --frozen-lockfile");
    assert_eq!(setup(&[PACKAGE]), "npm install --no-package-lock");
    assert_eq!(when(&[PACKAGE]), ["package.json"]);
    assert_eq!(setup(&[("package.json", r#"{"scripts": {"test": "node --test"}}"#)]), "");
}

#[test]
fn python_gets_the_environment_of_its_manager() {
    let project = ("pyproject.toml", "[project]\nname = \"a\"\n");
    for (lock, command) in [
        ("uv.lock", "uv sync --locked"),
        ("poetry.lock", "poetry install --no-interaction"),
        ("pdm.lock", "pdm sync"),
        ("Pipfile.lock", "pipenv sync --dev"),
    ] {
        let files = [project, (lock, "")];
        assert_eq!((setup(&files).as_str(), when(&files)), (command, vec![lock.to_owned()]));
    }
    let named = ("pyproject.toml", "[tool.poetry]\nname = \"a\"\n");
    assert_eq!(setup(&[named]), "poetry install --no-interaction");
    assert_eq!(when(&[named]), ["pyproject.toml"]);
}

#[test]
fn uv_installs_members_extras_and_groups_that_tests_need() {
    let text = "[project]\n[project.optional-dependencies]\ntest = []\ndocs = []\n\
                [dependency-groups]\ndev = []\nlint = []\n[tool.uv.workspace]\nmembers = []\n";
    assert_eq!(
        setup(&[("pyproject.toml", text), ("uv.lock", "")]),
        "uv sync --locked --all-packages --extra test --group lint"
    );
}

#[test]
fn pip_gets_an_environment_in_the_lane_with_the_tools_of_the_gates() {
    let files = [("requirements.txt", ""), ("requirements-dev.txt", ""), ("tests/test_a.py", "")];
    assert_eq!(
        setup(&files),
        "python3 -m venv .venv && .venv/bin/pip install -q -r requirements-dev.txt -r requirements.txt pytest"
    );
    assert_eq!(when(&files), ["requirements-dev.txt", "requirements.txt"]);
    let package = "[project]\n[project.optional-dependencies]\ndev = []\n[tool.ruff]\n";
    assert_eq!(
        setup(&[("pyproject.toml", package), ("venv/", "")]),
        "python3 -m venv venv && venv/bin/pip install -q -e '.[dev]' ruff"
    );
    let groups = "[project]\n[dependency-groups]\ntest = []\n";
    assert_eq!(
        setup(&[("pyproject.toml", groups)]),
        "python3 -m venv .venv && .venv/bin/pip install -q --upgrade pip && \
         .venv/bin/pip install -q -e . --group test"
    );
    assert_eq!(setup(&[("pytest.ini", ""), ("pyproject.toml", "[tool.ruff]")]), "");
}

#[test]
fn other_languages_have_their_setup_and_rust_and_go_have_none() {
    for (files, command, depends) in [
        (&[("Gemfile", ""), ("Gemfile.lock", "")][..], "bundle install", "Gemfile.lock"),
        (&[("composer.json", "")], "composer install --no-interaction", "composer.json"),
        (&[("mix.exs", ""), ("mix.lock", "")], "mix deps.get", "mix.lock"),
        (&[("App.csproj", "")], "dotnet restore", "App.csproj"),
        (&[("A.sln", ""), ("packages.lock.json", "")], "dotnet restore", "packages.lock.json"),
        (&[("A.sln", ""), ("B.sln", "")], "dotnet restore A.sln", "A.sln"),
    ] {
        assert_eq!(setup(files), command);
        assert_eq!(when(files)[0], depends, "{files:?}");
    }
    assert_eq!(
        setup(&[("Cargo.toml", ""), ("Cargo.lock", ""), ("go.mod", ""), ("go.sum", "")]),
        ""
    );
}

#[test]
fn several_setups_are_joined_each_in_its_folder() {
    let files = [
        PACKAGE,
        ("package-lock.json", ""),
        ("docs-site/package.json", "{}"),
        ("docs-site/package-lock.json", ""),
        // A member of the workspace at the root.
        ("web/package.json", r#"{"dependencies": {"a": "1"}}"#),
        ("my api/requirements.txt", ""),
    ];
    assert_eq!(
        setup(&files),
        "npm ci && (cd docs-site && npm ci) && \
         (cd 'my api' && python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt)"
    );
    assert_eq!(
        when(&files),
        ["package-lock.json", "docs-site/package-lock.json", "my api/requirements.txt"]
    );
    let one = [("web/package.json", "{}"), ("web/pnpm-lock.yaml", "")];
    assert_eq!(setup(&one), "cd web && pnpm install --frozen-lockfile");
}
