//! Settings of the programs that ralph follows, taken over once, when `ralph.toml` is new.
//!
//! Their files are read and never changed. Whatever has a key here becomes that key; what has none
//! is named in the notes; a damaged file is reported with its line, and the rest goes on.

mod conf;
pub(super) mod deluxe;
pub(super) mod wiggum;

/// Text that says something and can stand in a configuration.
fn text(value: Option<String>) -> Option<String> {
    value.filter(|text| !text.trim().is_empty() && !text.contains('\0'))
}

#[cfg(test)]
mod import_tests;
