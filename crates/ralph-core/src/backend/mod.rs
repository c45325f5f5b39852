//! Backends: coding-agent programs, behind one pure translator each.
//!
//! # Theory of operation
//!
//! A [`Driver`] says how to start its program for a [`Request`] ([`Invocation`]: arguments,
//! environment, standard input, files) and gives a [`Reader`] that turns each line of output into
//! typed [`Event`]s. When the process is gone, the reader judges the [`Exit`] together with all it
//! has read: an [`Outcome`]. An exit code of 0 alone never means success. Nothing here starts a
//! process: the host's one runner does that for all of them, so that timeouts, logs, and the end of
//! every descendant are the same whatever the program is.
//!
//! ```text
//! Request --invocation--> Invocation --(host runs it)--> lines --reader--> Events
//!                                                          exit --reader--> Outcome
//! ```

mod event;
mod outcome;
mod price;
mod request;

pub use event::{
    CompactionTrigger, Context, Event, LimitStatus, Money, RateLimit, ToolStatus, Usage,
};
pub use price::{Reports, cost, may_start};
pub use outcome::{Ending, Exit, Outcome, Stop};
pub use request::{Invocation, Permissions, Request, ScratchFile, Session, Spent};

/// What a backend can do by itself; the rest ralph does around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supports {
    /// Takes a JSON Schema for its answer.
    pub schema: bool,
    /// Continues an earlier session.
    pub resume: bool,
    /// Reports what it cost, in dollars.
    pub cost: bool,
    /// Reports how full its context is.
    pub context: bool,
    /// Takes a configuration of MCP servers.
    pub mcp: bool,
    /// Stops by itself after a number of turns.
    pub max_turns: bool,
    /// Stops by itself at a budget.
    pub budget: bool,
    /// Can be told to compact its context without a person.
    pub compaction: bool,
}

/// One backend program as a pure translator.
pub trait Driver: Send + Sync {
    /// The name in `ralph.toml` and on the command line.
    fn name(&self) -> &'static str;

    /// The program that is looked for on the PATH.
    fn program(&self) -> &'static str;

    /// What it can do.
    fn supports(&self) -> Supports;

    /// How to start it for this request.
    fn invocation(&self, request: &Request<'_>) -> Invocation;

    /// A reader for one run of this request.
    fn reader(&self, request: &Request<'_>) -> Box<dyn Reader>;

    /// The request that compacts a session natively, if the backend can; `focus` says what to keep.
    fn compaction(&self, session: &str, focus: &str) -> Option<CompactionRun> {
        let _ = (session, focus);
        None
    }
}

/// How a native compaction is asked for: a run of its own on the same session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionRun {
    /// The session to continue.
    pub session: String,
    /// The prompt that makes the program compact.
    pub prompt: String,
}

/// Turns one run's output into events and, at the end, into an outcome.
pub trait Reader: Send {
    /// One line of standard output without its end. What it does not understand becomes
    /// [`Event::Unknown`]; nothing is dropped and nothing panics.
    fn line(&mut self, line: &[u8], events: &mut Vec<Event>);

    /// Whether the program has said that it is finished, so that it may be ended if it lingers.
    fn is_finished(&self) -> bool;

    /// The judgement, once the process is gone. `stderr` is the end of its standard error.
    fn outcome(&mut self, exit: &Exit, stderr: &str) -> Outcome;

    /// The text of the last answer, for markers and JSON in prose.
    fn answer(&self) -> &str;

    /// The structured answer, when a schema was asked for and the program gave one.
    fn structured(&self) -> Option<&serde_json::Value>;

    /// The session's id, once it is known.
    fn session(&self) -> Option<&str>;

    /// What the run has used so far.
    fn spent(&self) -> Spent;
}
