//! Go stack: gates with `go vet` and `go test`.

use super::{OfferedGate, StackOffer};
use crate::init::manifest::ManifestReader;
use crate::init::tree::join;

/// Return the gates for a Go module in `folder`.
pub(super) fn detect(look: &mut ManifestReader<'_>, folder: &str) -> Option<StackOffer> {
    let manifest = join(folder, "go.mod");
    look.tree.has_file(&manifest).then(|| StackOffer {
        evidence: manifest,
        gates: vec![
            OfferedGate::lint("lint", "go vet ./...").spelt(["go vet"]),
            OfferedGate::test("test", "go test ./...").spelt(["go test"]),
        ],
    })
}
