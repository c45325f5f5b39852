//! `[lane] setup`: the commands that install what gates need, found by lock file and manifest.
//!
//! # Theory of operation
//!
//! Each package manager looks at one folder. It is asked at the root, and in the folders one level below:
//! there a lock file is enough, and a manifest without one counts only when the root has none of its kind,
//! because a workspace installs its members from the root. Commands install what the lock file says and
//! leave it alone. Cargo and Go need nothing: they install while they build.

use serde_json::Value;

use super::manifest::{ManifestReader, table};
use super::stack::python::{self, PythonManager, PythonTools};
use super::stack::{inside, node};
use super::tree::{ProjectTree, folders_below, join};

/// The setup of a lane: one command, and the files after whose change it has to run again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneSetup {
    pub(super) command: String,
    pub(super) when: Vec<String>,
}

/// Setup command of one package manager for one folder.
struct SetupStep {
    command: String,
    /// Files in the folder after whose change the command has to run again.
    when: Vec<String>,
    /// Whether a lock file says that this folder is installed by itself.
    locked: bool,
}

impl SetupStep {
    /// A step that depends on its lock file, or on the manifest where there is none.
    fn of(command: impl Into<String>, lock: Option<&str>, manifest: &str) -> Self {
        let when = vec![lock.unwrap_or(manifest).to_owned()];
        Self { command: command.into(), when, locked: lock.is_some() }
    }
}

type SetupDetector = fn(&mut ManifestReader<'_>, &str) -> Option<SetupStep>;

const MANAGERS: [SetupDetector; 6] = [node, python, bundler, composer, mix, dotnet];

/// The setup that the project needs, if any.
pub(super) fn detect(look: &mut ManifestReader<'_>) -> Option<LaneSetup> {
    let folders = folders_below(look.tree);
    let mut steps = Vec::new();
    for manager in MANAGERS {
        let root = manager(look, "");
        let has_root = root.is_some();
        steps.extend(root.map(|step| ("", step)));
        let below = folders.iter().filter_map(|folder| Some((*folder, manager(look, folder)?)));
        steps.extend(below.filter(|(_, step)| step.locked || !has_root));
    }
    let several = steps.len() > 1;
    let mut found = LaneSetup::default();
    for (folder, step) in &steps {
        let command = match (*folder, several) {
            ("", _) => step.command.clone(),
            (folder, false) => inside(folder, &step.command),
            (folder, true) => format!("({})", inside(folder, &step.command)),
        };
        let and = if found.command.is_empty() { "" } else { " && " };
        found.command = format!("{}{and}{command}", found.command);
        found.when.extend(step.when.iter().map(|name| join(folder, name)));
    }
    (!steps.is_empty()).then_some(found)
}

fn node(look: &mut ManifestReader<'_>, folder: &str) -> Option<SetupStep> {
    let manifest = join(folder, "package.json");
    if !look.tree.has_file(&manifest) {
        return None;
    }
    let package: Value = look.json(&manifest).unwrap_or_default();
    let manager = node::manager(look.tree, folder, &package);
    let has_lock =
        |(lock, by): &&(&str, &str)| *by == manager && look.tree.has_file(&join(folder, lock));
    let lock = node::LOCKS.iter().find(has_lock).map(|(lock, _)| *lock);
    let needs = ["dependencies", "devDependencies", "optionalDependencies", "workspaces"];
    if lock.is_none() && !needs.iter().any(|key| is_filled(package.get(key))) {
        return None;
    }
    let declared = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let is_old = declared.starts_with("yarn@1.");
    let is_berry = !is_old
        && (declared.starts_with("yarn@") || look.tree.has_file(&join(folder, ".yarnrc.yml")));
    let command = match (manager, lock.is_some()) {
        ("npm", true) => "npm ci",
        ("npm", false) => "npm install --no-package-lock",
        ("pnpm", true) => "pnpm install --frozen-lockfile",
        ("yarn", true) if is_berry => "yarn install --immutable",
        ("yarn", true) => "yarn install --frozen-lockfile",
        ("bun", true) => "bun install --frozen-lockfile",
        ("pnpm", false) => "pnpm install",
        ("bun", false) => "bun install",
        _ => "yarn install",
    };
    Some(SetupStep::of(command, lock, "package.json"))
}

fn is_filled(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Object(keys)) => !keys.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    }
}

fn python(look: &mut ManifestReader<'_>, folder: &str) -> Option<SetupStep> {
    look.tree.first(folder, &python::MANIFESTS)?;
    let manager = PythonManager::of(look, folder);
    let lock = manager.lock().filter(|lock| look.tree.has_file(&join(folder, lock)));
    let command = match (manager, lock) {
        (PythonManager::Uv, lock) => {
            let locked = if lock.is_some() { " --locked" } else { "" };
            format!("uv sync{locked}{}", uv_options(look, folder))
        }
        (PythonManager::Poetry, _) => "poetry install --no-interaction".to_owned(),
        (PythonManager::Pdm, Some(_)) => "pdm sync".to_owned(),
        (PythonManager::Pdm, None) => "pdm install".to_owned(),
        (PythonManager::Pipenv, Some(_)) => "pipenv sync --dev".to_owned(),
        (PythonManager::Pipenv, None) => "pipenv install --dev --skip-lock".to_owned(),
        (PythonManager::Venv, _) => return pip(look, folder),
        (PythonManager::None, _) => return None,
    };
    let manifest = if manager == PythonManager::Pipenv { "Pipfile" } else { "pyproject.toml" };
    Some(SetupStep::of(command, lock, manifest))
}

/// Names of extras and groups with what tests and tools need.
const FOR_TESTS: [&str; 6] = ["dev", "test", "tests", "testing", "lint", "typing"];

/// The names in a table of `pyproject.toml` that are for tests and tools.
fn test_names(look: &mut ManifestReader<'_>, folder: &str, path: &str) -> Vec<&'static str> {
    let Some(document) = look.toml(&join(folder, "pyproject.toml")) else { return Vec::new() };
    let Some(found) = table(&document, path) else { return Vec::new() };
    FOR_TESTS.into_iter().filter(|name| found.contains_key(name)).collect()
}

/// Members of a workspace, and extras and groups that uv does not install by itself.
fn uv_options(look: &mut ManifestReader<'_>, folder: &str) -> String {
    let extras = test_names(look, folder, "project.optional-dependencies");
    let groups = test_names(look, folder, "dependency-groups");
    let document = look.toml(&join(folder, "pyproject.toml"));
    let workspace = document.is_some_and(|d| table(&d, "tool.uv.workspace").is_some());
    let all = workspace.then(|| " --all-packages".to_owned());
    let extras = extras.into_iter().map(|name| format!(" --extra {name}"));
    // The group `dev` is installed anyway.
    let groups = groups.into_iter().filter(|name| *name != "dev");
    all.into_iter().chain(extras).chain(groups.map(|name| format!(" --group {name}"))).collect()
}

/// A virtual environment in the lane, with the project, its requirements and the tools of its gates.
fn pip(look: &mut ManifestReader<'_>, folder: &str) -> Option<SetupStep> {
    let venv = python::venv(look.tree, folder);
    let tools = PythonTools::read(look, folder);
    let extras = test_names(look, folder, "project.optional-dependencies");
    let groups = test_names(look, folder, "dependency-groups");
    let is_package = {
        let document = look.toml(&join(folder, "pyproject.toml"));
        let has = |path| document.as_ref().is_some_and(|d| table(d, path).is_some());
        has("build-system") || has("project") || look.tree.has_file(&join(folder, "setup.py"))
    };
    let files = python::requirement_files(look.tree, folder);
    let mut words: Vec<String> = files.iter().map(|file| format!("-r {file}")).collect();
    match extras.is_empty() {
        _ if !is_package => {}
        true => words.push("-e .".to_owned()),
        false => words.push(format!("-e '.[{}]'", extras.join(","))),
    }
    words.extend(groups.iter().map(|name| format!("--group {name}")));
    let tools = [("pytest", tools.pytest), ("ruff", tools.ruff), ("mypy", tools.mypy.is_some())];
    words.extend(tools.into_iter().filter(|(_, used)| *used).map(|(name, _)| name.to_owned()));
    // Older versions of pip do not know `--group`.
    let newer = match groups.is_empty() {
        true => String::new(),
        false => format!(" && {venv}/bin/pip install -q --upgrade pip"),
    };
    let command =
        format!("python3 -m venv {venv}{newer} && {venv}/bin/pip install -q {}", words.join(" "));
    let manifests = ["pyproject.toml", "setup.py", "setup.cfg"];
    let manifests = manifests.into_iter().filter(|name| look.tree.has_file(&join(folder, name)));
    let when: Vec<String> = files.into_iter().chain(manifests).map(str::to_owned).collect();
    Some(SetupStep { command, when, locked: false })
}

fn bundler(look: &mut ManifestReader<'_>, folder: &str) -> Option<SetupStep> {
    with_lock(look.tree, folder, "Gemfile", "Gemfile.lock", "bundle install")
}

fn composer(look: &mut ManifestReader<'_>, folder: &str) -> Option<SetupStep> {
    with_lock(
        look.tree,
        folder,
        "composer.json",
        "composer.lock",
        "composer install --no-interaction",
    )
}

fn mix(look: &mut ManifestReader<'_>, folder: &str) -> Option<SetupStep> {
    with_lock(look.tree, folder, "mix.exs", "mix.lock", "mix deps.get")
}

fn with_lock(
    tree: &ProjectTree,
    folder: &str,
    manifest: &str,
    lock: &str,
    command: &str,
) -> Option<SetupStep> {
    let has = |name: &str| tree.has_file(&join(folder, name));
    has(manifest).then(|| SetupStep::of(command, has(lock).then_some(lock), manifest))
}

fn dotnet(look: &mut ManifestReader<'_>, folder: &str) -> Option<SetupStep> {
    let ends = |name: &&str, with: &[&str]| with.iter().any(|end| name.ends_with(end));
    let solution = look.tree.names(folder).find(|name| ends(name, &[".sln", ".slnx"]));
    let projects = [".csproj", ".fsproj", ".vbproj"];
    let project = look.tree.names(folder).find(|name| ends(name, &projects));
    let evidence = solution.or(project)?;
    // Which file of several is meant, dotnet asks too.
    let several = look.tree.names(folder).filter(|name| ends(name, &[".sln", ".slnx"])).count() > 1;
    let command = match several {
        true => format!("dotnet restore {}", crate::text::shell_word(evidence)),
        false => "dotnet restore".to_owned(),
    };
    let names = ["packages.lock.json", "Directory.Packages.props", evidence];
    let when = names.into_iter().filter(|name| look.tree.has_file(&join(folder, name)));
    let when: Vec<String> = when.map(str::to_owned).collect();
    Some(SetupStep { command, when, locked: solution.is_some() })
}

#[cfg(test)]
#[path = "lane_setup_tests.rs"]
mod tests;
