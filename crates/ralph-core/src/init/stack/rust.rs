//! Rust: `cargo test` or nextest, and clippy where the project has asked for it.

use super::{OfferedGate, StackOffer};
use crate::init::manifest::{ManifestReader, table};
use crate::init::tree::join;

/// Return the gates for a Rust package or workspace in `folder`.
pub(super) fn detect(look: &mut ManifestReader<'_>, folder: &str) -> Option<StackOffer> {
    let manifest = join(folder, "Cargo.toml");
    if !look.tree.has_file(&manifest) {
        return None;
    }
    let document = look.toml(&manifest);
    let has = |path| document.as_ref().is_some_and(|d| table(d, path).is_some());
    let all = if has("workspace") { " --workspace" } else { "" };
    let lints = has("lints.clippy") || has("workspace.lints.clippy");
    let mut gates = Vec::new();
    if lints || uses_clippy(look, folder) {
        let command = format!("cargo clippy{all} --all-targets -- -D warnings");
        gates.push(OfferedGate::lint("lint", command).spelt(["cargo clippy"]));
    }
    let nextest = look.tree.has_file(&join(folder, ".config/nextest.toml"));
    let runner = if nextest { "cargo nextest run" } else { "cargo test" };
    // All failures at once: an agent mends what it is told about, and the base is compared by names.
    let command = format!("{runner}{all} --no-fail-fast");
    gates.push(OfferedGate::test("test", command).spelt(["cargo test", "cargo nextest run"]));
    Some(StackOffer { evidence: manifest, gates })
}

/// Whether clippy is configured or part of the pinned toolchain; it is not part of every toolchain.
fn uses_clippy(look: &mut ManifestReader<'_>, folder: &str) -> bool {
    if look.tree.first(folder, &["clippy.toml", ".clippy.toml"]).is_some() {
        return true;
    }
    // The old name may also hold nothing but a channel, which is not TOML and no problem.
    let pinned = ["rust-toolchain.toml", "rust-toolchain"].map(|name| join(folder, name));
    let texts = pinned.iter().filter_map(|path| look.tree.text(path));
    texts.filter_map(|text| toml_edit::Document::parse(text).ok()).any(|document| {
        let components =
            table(&document, "toolchain").and_then(|t| t.get("components")?.as_array());
        components.is_some_and(|list| list.iter().any(|c| c.as_str() == Some("clippy")))
    })
}
