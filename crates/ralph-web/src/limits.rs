//! Limits for requests, and intervals of the server.

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
/// Time between two heartbeats of a quiet stream of events. A page that hears nothing for twice this
/// time and two seconds more says that the server does not answer.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(3);
/// Time between two looks at the journal when the system reports no change of it.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// Shortest time between two looks: what happens within it is told at once.
pub(crate) const GATHER: Duration = Duration::from_millis(2);
/// Time between two looks at the other files while a stream is open.
pub(crate) const LOOK_AROUND: Duration = Duration::from_millis(500);
/// Events that are kept in memory, as they are told; older ones are on disk.
pub(crate) const RECENT: usize = 2_000;
/// Most items that one answer of the API contains.
pub(crate) const PAGE: usize = 500;
/// Largest text of one field, in bytes; what is longer is cut and says so.
pub(crate) const TEXT: usize = 1024 * 1024;
