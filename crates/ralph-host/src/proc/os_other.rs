//! Processes where there is no `/proc` and no subreaper (macOS), as `ps` shows them: best effort.
//!
//! An orphan goes to the system's first process. It is still found by its process group, or by its
//! mark where `ps` shows the environment; one that has left both is not found.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};

use super::family::Process;
use super::mark::Mark;

/// Orphans do not come to the supervisor here.
pub(super) const ORPHANS_COME_HOME: bool = false;

/// Nothing to be had on this system.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(super) fn processes() -> Vec<Process> {
    let text = ps(&["-axo", "pid=,ppid=,pgid=,state="]);
    let process = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let mut next = || words.next()?.parse().ok();
        let (pid, parent, group) = (next()?, next()?, next()?);
        let dead = words.next().is_some_and(|state| state.starts_with('Z'));
        // There is no cheap start time; 0 is never taken for the sign of one and the same process.
        Some(Process { pid, parent, group, started: 0, dead })
    };
    text.lines().filter_map(process).collect()
}

/// The marks of those of these processes that carry one and let us look.
pub(super) fn marks(pids: &[i32]) -> BTreeMap<i32, Mark> {
    let text = ps(&["-axEww", "-o", "pid=,command="]);
    let mark = |line: &str| {
        let (pid, words) = line.trim_start().split_once(' ')?;
        let pid = pid.parse().ok().filter(|pid| pids.contains(pid))?;
        Some((pid, Mark::of_variables(words.split(' ').map(str::as_bytes))?))
    };
    text.lines().filter_map(mark).collect()
}

/// Send a signal to a process.
pub(super) fn signal(process: &Process, signal: Signal) -> bool {
    Pid::from_raw(process.pid).is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

/// Not to be had on this system.
pub(super) fn socket_between(_: SocketAddr, _: SocketAddr) -> Option<u64> {
    None
}

/// Not to be had on this system.
pub(super) fn holds_socket(_: i32, _: u64) -> bool {
    false
}

/// The name of a program, for people.
pub(super) fn name(pid: i32) -> String {
    ps(&["-o", "comm=", "-p", &pid.to_string()]).trim().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "this room is the one that spawns")]
fn ps(args: &[&str]) -> String {
    let output = Command::new("ps").args(args).stdin(Stdio::null()).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
}
