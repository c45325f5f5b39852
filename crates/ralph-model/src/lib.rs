//! A scripted model server: real agent programs talk to it as they talk to their vendor.
//!
//! # Theory of operation
//!
//! An agent program sends the whole conversation with every call, so the server needs no memory of
//! it: each call is read into a `Conversation`, whatever the
//! protocol. The [`Scenario`] says which rule speaks and which of its steps is due; the step becomes
//! an `Answer`, and the protocol writes that as a stream or as one body. Faults
//! are steps too. The server listens on loopback only, keeps every call for the test to look at
//! (without keys), and is gone with all its threads when it is dropped.
//!
//! ```text
//! POST /v1/messages               Anthropic Messages       (claude)
//! POST /v1/responses              OpenAI Responses         (codex)
//! POST /v1/chat/completions       OpenAI Chat Completions  (opencode and most others)
//! POST /v1beta/models/M:…         Gemini generateContent   (gemini)
//! ```
//!
//! # Scenario files
//!
//! ```json
//! {"rules": [
//!   {"when": "CREATE", "steps": [
//!     {"text": "I write it.", "write": {"path": "$1", "content": "hello\n"}},
//!     {"shell": "cat $1", "usage": {"input": 5, "cache_read": 900, "output": 40}},
//!     {"text": "$1 is there."}]},
//!   {"when": "LIMIT", "steps": [{"fault": {"kind": "usage_limit", "resets_at": 1800000000}}]},
//!   {"when": "FLAKY", "steps": [{"fault": {"kind": "status", "status": 529}, "times": 2,
//!                                "text": "third time lucky"}]}
//! ]}
//! ```
//!
//! A rule speaks when the latest user text that fits any rule fits it: the text begins with the
//! words of `when`, has `has` in it, and is the user's `turn`-th text (each where given; the first
//! rule in the file wins). `$1`, `$2` … are the words after `when`, `$*` all of them. A rule that
//! asks for nothing speaks when no other does. The step is the number of answers given since that
//! text; after the last step the answer is a plain text. See [`Step`] and [`Fault`] for the rest.

mod answer;
mod conversation;
mod http;
mod protocol;
mod scenario;
mod server;
mod tools;

pub use protocol::Protocol;
pub use scenario::{Fault, Rule, Scenario, Step, ToolUse, Usage, WriteFile};
pub use server::{Request, Server};
