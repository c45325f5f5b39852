//! x
pub mod format;
pub mod ids;
pub mod json;
pub mod lines;
pub mod plan;
pub mod spec;
pub mod text;
pub mod view;
