//! Processes as Linux shows them, under `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::family::FamilyProcess;
use super::mark::ProcessMark;

/// Orphans come to the supervisor, so that every descendant of it can be found below it.
pub(super) const ORPHANS_COME_HOME: bool = true;

/// Become the parent of every descendant that loses its own, under a name that says so in `ps`.
pub(super) fn adopt_orphans() -> io::Result<()> {
    let _unnamed = rustix::thread::set_name(c"ralph-supervise");
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Every process there is, zombies included.
pub(super) fn processes() -> Vec<FamilyProcess> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter_map(process).collect()
}

/// The marks of those of these processes that carry one and let us look.
pub(super) fn marks(pids: &[i32]) -> BTreeMap<i32, ProcessMark> {
    let mark = |pid: &i32| {
        let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
        Some((*pid, ProcessMark::of_variables(bytes.split(|b| *b == 0))?))
    };
    pids.iter().filter_map(mark).collect()
}

/// Send a signal to this very process, not to another one that got its number since.
pub(super) fn signal(process: &FamilyProcess, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(process.pid) else { return false };
    let handle = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => handle,
        // A kernel older than 5.3 has no such handles.
        Err(Errno::NOSYS) => return rustix::process::kill_process(pid, signal).is_ok(),
        Err(_) => return false,
    };
    let same = self::process(process.pid).is_some_and(|now| now.started == process.started);
    same && pidfd_send_signal(&handle, signal).is_ok()
}

/// The inode of the socket that connects this local address to that one.
pub(super) fn socket_between(local: SocketAddr, remote: SocketAddr) -> Option<u64> {
    let file = if local.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let table = fs::read_to_string(file).ok()?;
    let (local, remote) = (table_address(local), table_address(remote));
    let inode = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(1);
        (words.next()? == local && words.next()? == remote).then(|| words.nth(6)?.parse().ok())?
    };
    table.lines().find_map(inode)
}

/// An address as `/proc/net/tcp` writes it: each 32 bits in the machine's own order.
fn table_address(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words =
        octets.as_chunks().0.iter().map(|four| format!("{:08X}", u32::from_ne_bytes(*four)));
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

/// Whether a process has this socket open.
pub(super) fn holds_socket(pid: i32, inode: u64) -> bool {
    let wanted = format!("socket:[{inode}]");
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link.as_os_str() == wanted.as_str())
}

/// The name of a program, for people.
pub(super) fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

fn process(pid: i32) -> Option<FamilyProcess> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))
        .or_else(|_| fs::read(format!("/proc/{pid}/stat")).map(lossy))
        .ok()?;
    parse_stat(pid, &stat)
}

/// A program's name is part of `stat` and may be any bytes.
fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The name stands in brackets and may hold brackets and spaces; what follows the last one does not.
fn parse_stat(pid: i32, stat: &str) -> Option<FamilyProcess> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let dead = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(FamilyProcess { pid, parent, group, started, dead })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_hides_nothing() {
        let stat = "77 (a) b (c) S 12 34 56 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 11";
        let process = parse_stat(77, stat).unwrap();
        let expected =
            FamilyProcess { pid: 77, parent: 12, group: 34, started: 987_654, dead: false };
        assert_eq!(process, expected);
    }

    #[test]
    fn this_process_is_among_all_processes() {
        let me = i32::try_from(std::process::id()).unwrap();
        let found = processes().into_iter().find(|p| p.pid == me).unwrap();
        assert_eq!(found.parent, i32::try_from(std::os::unix::process::parent_id()).unwrap());
    }
}
