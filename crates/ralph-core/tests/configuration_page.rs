//! The reference page in `docs/` is what the key table says.

use std::path::Path;

#[test]
fn the_configuration_page_is_what_the_code_generates() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = ralph_core::config::reference_page();
    if std::env::var_os("RALPH_UPDATE").is_some() {
        #[expect(clippy::disallowed_methods, reason = "the test is the page's generator")]
        std::fs::write(&path, &page).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        on_disk == page,
        "docs/configuration.md is out of date; run: RALPH_UPDATE=1 cargo nextest run -p ralph-core configuration_page"
    );
}
