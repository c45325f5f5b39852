//! Detection of things that a lane lacks besides packages.
//!
//! These are ignored files that programs read, and folders beside the repository.

use serde_json::Value;
use toml_edit::TableLike;

use super::manifest::{ManifestReader, table};
use super::tree::{ProjectTree, folders_below, join};

/// Names of files that hold settings of one machine.
const LOCAL_SETTINGS: [&str; 8] = [
    ".env",
    ".flaskenv",
    ".dev.vars",
    ".npmrc",
    "auth.json",
    "local.properties",
    "master.key",
    "local.settings.json",
];

/// Ends of names of files that are templates for others.
const TEMPLATES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];

/// Ignored files that look like settings which gates read. Those for production are left out, and
/// all are when a `.worktreeinclude` says what new checkouts need.
pub(super) fn local_settings(tree: &ProjectTree) -> Vec<String> {
    if tree.has_file(".worktreeinclude") {
        return Vec::new();
    }
    tree.ignored().iter().filter(|path| is_local_settings(path)).cloned().collect()
}

/// Whether the name of a file says that it holds settings of one machine.
pub(super) fn is_local_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = name.strip_prefix(".env.");
    let fits = |end: &str| !end.contains("prod") && !TEMPLATES.contains(&end);
    LOCAL_SETTINGS.contains(&name) || end.is_some_and(fits)
}

/// Folders right beside the repository that manifests depend on, as paths from the project.
pub(super) fn siblings(look: &mut ManifestReader<'_>) -> Vec<String> {
    let folders = folders_below(look.tree);
    let mut found = Vec::new();
    for folder in [""].into_iter().chain(folders) {
        let mut paths = cargo(look, folder);
        paths.extend(node(look, folder));
        paths.extend(python(look, folder));
        paths.extend(go(look, folder));
        for path in paths {
            let sibling = sibling(look.tree.depth(), folder, &path);
            found.extend(sibling.filter(|one| !found.contains(one)));
        }
    }
    found.sort();
    found
}

/// The folder beside the repository that a path in a manifest leads to, as a path from the project.
fn sibling(depth: usize, folder: &str, path: &str) -> Option<String> {
    let (mut inside, mut above): (Vec<&str>, usize) = (Vec::new(), 0);
    let whole = join(folder, path);
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => above += usize::from(inside.pop().is_none()),
            name => inside.push(name),
        }
    }
    let name = inside.first().filter(|_| above == depth + 1 && !path.starts_with('/'))?;
    Some(format!("{}{name}", "../".repeat(above)))
}

fn cargo(look: &mut ManifestReader<'_>, folder: &str) -> Vec<String> {
    let Some(document) = look.toml(&join(folder, "Cargo.toml")) else { return Vec::new() };
    let tables =
        ["dependencies", "dev-dependencies", "build-dependencies", "workspace.dependencies"];
    let mut paths: Vec<String> =
        tables.iter().filter_map(|name| table(&document, name)).flat_map(paths_of).collect();
    for (_, patched) in table(&document, "patch").into_iter().flat_map(TableLike::iter) {
        paths.extend(patched.as_table_like().into_iter().flat_map(paths_of));
    }
    paths
}

/// The `path` of each entry of a table.
fn paths_of(entries: &dyn TableLike) -> Vec<String> {
    let path =
        |item: &toml_edit::Item| Some(item.as_table_like()?.get("path")?.as_str()?.to_owned());
    entries.iter().filter_map(|(_, item)| path(item)).collect()
}

fn node(look: &mut ManifestReader<'_>, folder: &str) -> Vec<String> {
    let package: Value = look.json(&join(folder, "package.json")).unwrap_or_default();
    let lists = ["dependencies", "devDependencies", "optionalDependencies"];
    let values = lists.iter().filter_map(|list| package.get(list)?.as_object());
    let texts = values.flat_map(|list| list.values()).filter_map(Value::as_str);
    let path = |text: &str| {
        ["file:", "link:", "portal:"]
            .iter()
            .find_map(|kind| text.strip_prefix(kind))
            .map(str::to_owned)
    };
    texts.filter_map(path).collect()
}

fn python(look: &mut ManifestReader<'_>, folder: &str) -> Vec<String> {
    let Some(document) = look.toml(&join(folder, "pyproject.toml")) else { return Vec::new() };
    let tables = ["tool.uv.sources", "tool.poetry.dependencies"];
    tables.iter().filter_map(|name| table(&document, name)).flat_map(paths_of).collect()
}

fn go(look: &mut ManifestReader<'_>, folder: &str) -> Vec<String> {
    let Some(text) = look.text(&join(folder, "go.mod")) else { return Vec::new() };
    let replaced = text.lines().filter_map(|line| line.split_once("=>"));
    let paths = replaced.filter_map(|(_, by)| by.split_whitespace().next());
    paths.filter(|path| path.starts_with('.')).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::fixture::tree;

    #[test]
    fn settings_of_one_machine_are_proposed_and_those_of_production_are_not() {
        for yes in [".env", "apps/web/.env.local", ".env.test", "config/master.key"] {
            assert!(is_local_settings(yes), "{yes}");
        }
        for no in [".env.example", ".env.production", ".envrc", "env", "node_modules/", "a.env"] {
            assert!(!is_local_settings(no), "{no}");
        }
        let mut project = tree(&[("a.rs", "")]);
        project.set_repository(vec![".env".into(), "target/".into()], 0);
        assert_eq!(local_settings(&project), [".env"]);
        let mut decided = tree(&[(".worktreeinclude", ".env\n")]);
        decided.set_repository(vec![".env".into()], 0);
        assert!(local_settings(&decided).is_empty());
    }

    #[test]
    fn only_what_is_right_beside_the_repository_can_be_linked() {
        assert_eq!(sibling(0, "", "../lib").as_deref(), Some("../lib"));
        assert_eq!(sibling(0, "web", "../../lib/deep/").as_deref(), Some("../lib"));
        assert_eq!(sibling(1, "", "../../lib").as_deref(), Some("../../lib"));
        for (depth, folder, path) in
            [(0, "", "crates/a"), (1, "", "../lib"), (0, "", "../../lib"), (0, "", "/srv/lib")]
        {
            assert_eq!(sibling(depth, folder, path), None, "{path}");
        }
    }

    #[test]
    fn path_dependencies_of_each_manifest_are_found() {
        let project = tree(&[
            (
                "Cargo.toml",
                "[dependencies]\na = { path = \"../a\" }\n[patch.crates-io]\nb = { path = \"../b\" }\n",
            ),
            ("package.json", r#"{"dependencies": {"c": "file:../c", "x": "^1"}}"#),
            (
                "web/pyproject.toml",
                "[tool.uv.sources]\nd = { path = \"../../d\", editable = true }\n",
            ),
            (
                "go.mod",
                "module m\n\nreplace (\n\texample.com/e => ../e/v2\n\texample.com/f => example.com/g v1.0.0\n)\n",
            ),
        ]);
        let found = siblings(&mut ManifestReader::new(&project));
        assert_eq!(found, ["../a", "../b", "../c", "../d", "../e"]);
    }
}
