//! The web dashboard: `ralph serve`.
//!
//! # Theory of operation
//!
//! ```text
//! socket --http--> Request --guard--> somebody who may --routes--> api --redact--> Response
//!                                                          |
//!                        journal --feed--> events, history |  plan, inbox, logs: read when asked
//! ```
//!
//! One thread a connection, one request a connection, and a limit for everything that a stranger
//! could make large or slow. `guard` decides before anything else happens whether a request may be
//! answered at all; only what `routes` lists is ever answered, and no part of a request is used as
//! a path. `feed` reads the journal once for everybody; its events have numbers that follow from
//! the journal alone, so that a browser goes on after a restart of this server exactly where it was.
//!
//! The server changes nothing by itself: a command goes into `commands.json`, where the loop finds it,
//! a setting into `ralph.toml`, a spec into the queue, each through `ralph_host::store`.

mod api;
mod error;
mod feed;
mod guard;
mod http;
mod limits;
mod openapi;
mod routes;
mod server;
mod site;
mod sse;
mod stream;

pub use error::ServeError;
pub use guard::RemoteAccess;
pub use server::{ServerOptions, WebServer};
