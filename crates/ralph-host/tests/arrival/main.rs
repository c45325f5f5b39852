//! Arrival on real repositories: landed commits reach the branch, and nothing of the person's is lost.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests write files, start programs and end in a panic"
)]

mod arrival_busy;
mod arrival_moved;
mod arrival_recovery;
mod arrival_rides;
mod arrival_rows;
mod arrival_settlement;
mod stage;

/// The supervisor of every test here: the runner starts this program again with this word, which is then
/// the name of the one test to be run.
#[test]
fn __supervise() {
    let _asked = ralph_host::proc::supervise_if_asked();
}
