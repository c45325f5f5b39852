//! Python: pytest, ruff and mypy where the project has tests or configuration for them, each run in the
//! environment that the setup of a lane makes.

use super::{OfferedGate, StackOffer};
use crate::init::manifest::{ManifestReader, ini_section, table};
use crate::init::tree::{ProjectTree, join};

/// Files that say "this is a Python project".
pub(in crate::init) const MANIFESTS: [&str; 9] = [
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

/// Lock files and the tool that writes them, each with a table in `pyproject.toml` that names it.
const LOCKS: [(&str, &str, PythonManager); 4] = [
    ("uv.lock", "tool.uv", PythonManager::Uv),
    ("poetry.lock", "tool.poetry", PythonManager::Poetry),
    ("pdm.lock", "tool.pdm", PythonManager::Pdm),
    ("Pipfile.lock", "tool.pipenv", PythonManager::Pipenv),
];

/// Tool that manages the environment of a Python project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::init) enum PythonManager {
    Uv,
    Poetry,
    Pdm,
    Pipenv,
    /// pip, in an environment of `python -m venv`.
    Venv,
    /// Nobody: there is nothing to install.
    None,
}

impl PythonManager {
    /// The manager of the project in `folder`: by lock file, else by the tables of `pyproject.toml`, else
    /// pip where there is something to install.
    pub(in crate::init) fn of(look: &mut ManifestReader<'_>, folder: &str) -> Self {
        let tree = look.tree;
        let locked = LOCKS.iter().find(|(lock, ..)| tree.has_file(&join(folder, lock)));
        if let Some((_, _, manager)) = locked {
            return *manager;
        }
        let pyproject = look.toml(&join(folder, "pyproject.toml"));
        let has = |path| pyproject.as_ref().is_some_and(|document| table(document, path).is_some());
        match LOCKS.iter().find(|(_, named, _)| has(named)) {
            Some((_, _, manager)) => *manager,
            None if tree.has_file(&join(folder, "Pipfile")) => Self::Pipenv,
            None if has("project") || has("build-system") => Self::Venv,
            None if tree.has_file(&join(folder, "setup.py")) => Self::Venv,
            None if !requirement_files(tree, folder).is_empty() => Self::Venv,
            None => Self::None,
        }
    }

    /// The lock file, where the manager writes one.
    pub(in crate::init) fn lock(self) -> Option<&'static str> {
        LOCKS.iter().find(|(_, _, manager)| *manager == self).map(|(lock, ..)| *lock)
    }

    /// Return the prefix of a command that runs `tool` in the environment.
    fn prefix(self, tree: &ProjectTree, folder: &str, tool: &str) -> String {
        let is_quoted =
            |text: &str| ["\"", "'"].iter().any(|quote| text.contains(&format!("{quote}{tool}")));
        let is_dependency = tree.text(&join(folder, "pyproject.toml")).is_some_and(is_quoted);
        match self {
            // A tool that is configured and not a dependency comes from elsewhere.
            Self::Uv if !is_dependency => format!("uv run --with {tool} "),
            Self::Uv => "uv run ".to_owned(),
            Self::Poetry => "poetry run ".to_owned(),
            Self::Pdm => "pdm run ".to_owned(),
            Self::Pipenv => "pipenv run ".to_owned(),
            Self::Venv => format!("{}/bin/python -m ", venv(tree, folder)),
            Self::None => String::new(),
        }
    }
}

/// The folder of the virtual environment: the one that is there, else the usual one.
pub(in crate::init) fn venv(tree: &ProjectTree, folder: &str) -> &'static str {
    let is_there = |name: &&str| tree.has_folder(&join(folder, name));
    [".venv", "venv"].into_iter().find(is_there).unwrap_or(".venv")
}

/// The files for `pip install -r`: what the project needs, and what its tests and tools need.
pub(in crate::init) fn requirement_files<'t>(
    tree: &'t ProjectTree,
    folder: &'t str,
) -> Vec<&'t str> {
    let wanted = |name: &&str| {
        let Some(stem) = name.strip_suffix(".txt") else { return false };
        let mut words = stem.split(['-', '_', '.']);
        words.clone().any(|word| word == "requirements")
            && words.all(|word| {
                ["requirements", "dev", "develop", "test", "tests", "lint"].contains(&word)
            })
    };
    let is_file = |name: &&str| tree.has_file(&join(folder, name));
    tree.names(folder).filter(wanted).filter(is_file).collect()
}

/// Return the gates for a Python project in `folder`.
pub(super) fn detect(look: &mut ManifestReader<'_>, folder: &str) -> Option<StackOffer> {
    let evidence = look.tree.first(folder, &MANIFESTS)?;
    let tools = PythonTools::read(look, folder);
    let (manager, tree) = (PythonManager::of(look, folder), look.tree);
    let prefix = |tool: &str| manager.prefix(tree, folder, tool);
    let mut gates = Vec::new();
    if let Some(command) = tools.mypy {
        gates.push(
            OfferedGate::test("typecheck", format!("{}{command}", prefix("mypy"))).spelt(["mypy"]),
        );
    }
    if tools.ruff {
        gates.push(
            OfferedGate::lint("lint", format!("{}ruff check .", prefix("ruff")))
                .spelt(["ruff check"]),
        );
    }
    if tools.pytest {
        gates.push(
            OfferedGate::test("test", format!("{}pytest", prefix("pytest"))).spelt(["pytest"]),
        );
    }
    Some(StackOffer { evidence, gates })
}

/// The tools that a project uses.
pub(in crate::init) struct PythonTools {
    pub(in crate::init) pytest: bool,
    pub(in crate::init) ruff: bool,
    /// Command that runs mypy. `None` if the project does not use it.
    pub(in crate::init) mypy: Option<&'static str>,
}

impl PythonTools {
    pub(in crate::init) fn read(look: &mut ManifestReader<'_>, folder: &str) -> Self {
        let has =
            |look: &ManifestReader<'_>, names: &[&str]| look.tree.first(folder, names).is_some();
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
                || has(look, &["pytest.ini", ".pytest.ini", "conftest.py"])
                || has_tests(look, folder),
            ruff: tool("tool.ruff").is_some() || has(look, &["ruff.toml", ".ruff.toml"]),
            mypy: mypy.then_some(if bare { "mypy" } else { "mypy ." }),
        }
    }
}

/// The keys by which mypy's configuration says what to check.
const MYPY_TARGETS: [&str; 3] = ["files", "packages", "modules"];

/// Whether there are Python files where tests live. Folders are listed one level deep, so this is
/// known for the root's `tests/` only; a deeper one shows by its pytest configuration.
fn has_tests(look: &ManifestReader<'_>, folder: &str) -> bool {
    let is_test = |name: &str| {
        name.ends_with("_test.py") || (name.starts_with("test_") && name.ends_with(".py"))
    };
    let in_tests = ["tests", "test"].into_iter().any(|tests| {
        let tests = join(folder, tests);
        look.tree.names(&tests).any(|name| name.ends_with(".py"))
    });
    in_tests || look.tree.names(folder).any(is_test)
}
