//! x
pub mod format;
pub mod json;
pub mod plan;
pub mod spec;
pub mod text;
pub mod view;
