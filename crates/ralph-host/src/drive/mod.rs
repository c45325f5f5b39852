//! The main flow.

mod notice;

pub use notice::{Listener, Notice, Tally};
