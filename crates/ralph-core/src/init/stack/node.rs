//! Node: the scripts of package.json, run by the package manager that the project uses.

use serde_json::Value;

use super::{OfferedGate, StackOffer};
use crate::init::manifest::ManifestReader;
use crate::init::tree::{ProjectTree, join};

/// Roles in the order in which they run, and the scripts that may fill them.
const ROLES: [(&str, &[&str]); 4] = [
    ("typecheck", &["typecheck", "type-check", "check-types", "types:check"]),
    ("lint", &["lint"]),
    ("test", &["test"]),
    ("build", &["build"]),
];

/// Lock files and the package manager that writes them.
pub(in crate::init) const LOCKS: [(&str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
    ("npm-shrinkwrap.json", "npm"),
];

/// Return the gates for a Node package in `folder`.
pub(super) fn detect(look: &mut ManifestReader<'_>, folder: &str) -> Option<StackOffer> {
    let manifest = join(folder, "package.json");
    if !look.tree.has_file(&manifest) {
        return None;
    }
    let package: Value = look.json(&manifest).unwrap_or_default();
    let manager = manager(look.tree, folder, &package);
    let mut gates = Vec::new();
    for (role, names) in ROLES {
        let script =
            |name: &&'static str| Some((*name, package.get("scripts")?.get(name)?.as_str()?));
        let Some((name, text)) = names.iter().find_map(script) else { continue };
        if text.trim().is_empty() || text.contains("no test specified") {
            continue;
        }
        if watches(text) {
            look.note(format!(
                "{manifest}: the script `{name}` watches and never ends: no gate for it"
            ));
            continue;
        }
        let command = format!("{manager} run {name}");
        let spellings = [command.clone(), format!("{manager} {name}")];
        let offer = if role == "lint" {
            // Reported, but a warning of style is no reason to throw work away.
            OfferedGate { required: Some(false), ..OfferedGate::lint(role, command) }
        } else {
            OfferedGate::test(role, command)
        };
        gates.push(offer.spelt(spellings));
    }
    Some(StackOffer { evidence: manifest, gates })
}

/// The package manager: as declared, else by lock file here, else by lock file at the root, else npm.
pub(in crate::init) fn manager(tree: &ProjectTree, folder: &str, package: &Value) -> &'static str {
    let declared = package.get("packageManager").and_then(Value::as_str).unwrap_or_default();
    let declared = declared.split('@').next().unwrap_or_default();
    if let Some(known) = ["npm", "pnpm", "yarn", "bun"].into_iter().find(|m| *m == declared) {
        return known;
    }
    let locked = |folder: &str| LOCKS.iter().find(|(lock, _)| tree.has_file(&join(folder, lock)));
    locked(folder).or_else(|| locked("")).map_or("npm", |(_, manager)| manager)
}

/// Whether a script stays running to wait for changes.
fn watches(script: &str) -> bool {
    let mut words = script.split_whitespace();
    words.any(|word| matches!(word, "--watch" | "--watchAll" | "--watch-all" | "watch"))
}
