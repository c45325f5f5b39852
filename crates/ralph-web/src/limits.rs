//! How much a stranger may ask for.

use std::time::Duration;

/// Connections at once, streams of events included.
pub(crate) const CONNECTIONS: usize = 256;
/// Longest request line and headers, in bytes.
pub(crate) const HEAD: usize = 16 * 1024;
/// Longest body, in bytes; a spec is the longest thing that is sent.
pub(crate) const BODY: usize = 512 * 1024;
/// Longest time from the first byte of a request to its last.
pub(crate) const REQUEST: Duration = Duration::from_secs(10);
/// Longest time that a client may not read what it is sent.
pub(crate) const WRITE: Duration = Duration::from_secs(10);
/// How often a quiet stream of events says that it is still there. A page that hears nothing for twice
/// as long and two seconds more says that the server does not answer.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(3);
/// How often the journal is looked at while somebody watches and nothing is heard of it.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// Shortest time between two looks: what happens within it is told at once.
pub(crate) const GATHER: Duration = Duration::from_millis(2);
/// How often the other files are looked at while somebody watches.
pub(crate) const LOOK_AROUND: Duration = Duration::from_millis(500);
/// Events that are kept in memory, as they are told; older ones are on disk.
pub(crate) const RECENT: usize = 2_000;
/// Most items of a page.
pub(crate) const PAGE: usize = 500;
/// Largest text of one field, in bytes; what is longer is cut and says so.
pub(crate) const TEXT: usize = 1024 * 1024;
