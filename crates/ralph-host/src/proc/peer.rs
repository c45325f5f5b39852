//! The process at the other end of a local connection.

use std::net::TcpStream;

use super::mark::lineage;
use super::os;

/// Whether a process that the loop with this pid has started holds the other end of a connection. The
/// loop's supervisor starts all of them. `false` where the system does not tell (macOS).
pub fn is_peer_started_by(loop_pid: u32, stream: &TcpStream) -> bool {
    let (Ok(peer), Ok(here)) = (stream.peer_addr(), stream.local_addr()) else { return false };
    let Some(socket) = os::socket_between(peer, here) else { return false };
    let all = os::processes();
    let marks = os::marks(&all.iter().map(|p| p.pid).collect::<Vec<_>>());
    let is_supervisor = |pid: &i32| marks.get(pid).is_some_and(|mark| mark.watches.is_some());
    let children = all.iter().filter(|p| i64::from(p.parent) == i64::from(loop_pid));
    let supervisors: Vec<i32> = children.map(|p| p.pid).filter(is_supervisor).collect();
    all.iter()
        .filter(|p| lineage(&all, p.pid).iter().any(|pid| supervisors.contains(pid)))
        .any(|p| os::holds_socket(p.pid, socket))
}
