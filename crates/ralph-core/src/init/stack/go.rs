//! Go stack: gates with `go vet` and `go test`.

use super::{Offer, Offers};
use crate::init::manifest::Look;
use crate::init::tree::join;

/// Return the gates for a Go module in `folder`.
pub(super) fn detect(look: &mut Look<'_>, folder: &str) -> Option<Offers> {
    let manifest = join(folder, "go.mod");
    look.tree.has_file(&manifest).then(|| Offers {
        evidence: manifest,
        gates: vec![
            Offer::lint("lint", "go vet ./...").spelt(["go vet"]),
            Offer::test("test", "go test ./...").spelt(["go test"]),
        ],
    })
}
