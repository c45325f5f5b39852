//! Python: pytest, ruff and mypy where the project has tests or configuration for them.

use super::{Offer, Offers};
use crate::init::manifest::{Look, ini_section, table};
use crate::init::tree::join;

/// Files that say "this is a Python project".
const MANIFESTS: [&str; 9] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "pytest.ini",
    "tox.ini",
    "uv.lock",
    "poetry.lock",
];

/// Lock files and how their tool runs a command in the project's environment.
const RUNNERS: [(&str, &str); 4] = [
    ("uv.lock", "uv run "),
    ("poetry.lock", "poetry run "),
    ("pdm.lock", "pdm run "),
    ("Pipfile.lock", "pipenv run "),
];

/// What Python's tools offer in `folder`.
pub(super) fn detect(look: &mut Look<'_>, folder: &str) -> Option<Offers> {
    let evidence = look.tree.first(folder, &MANIFESTS)?;
    let tools = Tools::read(look, folder);
    let prefix = RUNNERS.iter().find(|(lock, _)| look.tree.has_file(&join(folder, lock)));
    let prefix = prefix.map_or("", |(_, prefix)| prefix);
    let mut gates = Vec::new();
    if let Some(command) = tools.mypy {
        gates.push(Offer::test("typecheck", format!("{prefix}{command}")).spelt(["mypy"]));
    }
    if tools.ruff {
        gates.push(Offer::lint("lint", format!("{prefix}ruff check .")).spelt(["ruff check"]));
    }
    if tools.pytest || has_tests(look, folder) {
        gates.push(Offer::test("test", format!("{prefix}pytest")).spelt(["pytest"]));
    }
    Some(Offers { evidence, gates })
}

struct Tools {
    pytest: bool,
    ruff: bool,
    mypy: Option<&'static str>,
}

impl Tools {
    fn read(look: &mut Look<'_>, folder: &str) -> Self {
        let has = |look: &Look<'_>, names: &[&str]| look.tree.first(folder, names).is_some();
        let pyproject = look.toml(&join(folder, "pyproject.toml"));
        let tool = |path| pyproject.as_ref().and_then(|document| table(document, path));
        let ini = |name: &str, section| {
            look.tree.text(&join(folder, name)).and_then(|text| ini_section(text, section))
        };
        // mypy wants to be told what to check, on the command line or in its configuration.
        let names_files = |lines: &[&str]| {
            let mut keys = lines.iter().filter_map(|line| line.split(['=', ':']).next());
            keys.any(|key| MYPY_TARGETS.contains(&key.trim()))
        };
        let in_ini =
            ["mypy.ini", ".mypy.ini", "setup.cfg"].into_iter().find_map(|n| ini(n, "mypy"));
        let bare = in_ini.as_deref().is_some_and(names_files)
            || tool("tool.mypy")
                .is_some_and(|t| MYPY_TARGETS.iter().any(|key| t.contains_key(key)));
        let mypy = tool("tool.mypy").is_some()
            || in_ini.is_some()
            || has(look, &["mypy.ini", ".mypy.ini"]);
        Self {
            pytest: tool("tool.pytest").is_some()
                || ini("setup.cfg", "tool:pytest").is_some()
                || ini("tox.ini", "pytest").is_some()
                || has(look, &["pytest.ini", ".pytest.ini", "conftest.py"]),
            ruff: tool("tool.ruff").is_some() || has(look, &["ruff.toml", ".ruff.toml"]),
            mypy: mypy.then_some(if bare { "mypy" } else { "mypy ." }),
        }
    }
}

/// The keys by which mypy's configuration says what to check.
const MYPY_TARGETS: [&str; 3] = ["files", "packages", "modules"];

/// Whether there are Python files where tests live. Folders are listed one level deep, so this is
/// known for the root's `tests/` only; a deeper one shows by its pytest configuration.
fn has_tests(look: &Look<'_>, folder: &str) -> bool {
    let is_test = |name: &str| {
        name.ends_with("_test.py") || (name.starts_with("test_") && name.ends_with(".py"))
    };
    let in_tests = ["tests", "test"].into_iter().any(|tests| {
        let tests = join(folder, tests);
        look.tree.names(&tests).any(|name| name.ends_with(".py"))
    });
    in_tests || look.tree.names(folder).any(is_test)
}
