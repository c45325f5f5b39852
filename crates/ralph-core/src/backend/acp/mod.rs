//! Every agent that speaks the Agent Client Protocol over its standard streams.
//!
//! # Theory of operation
//!
//! The other drivers listen; this one holds a dialogue. [`AcpClient`] is the dialogue as a pure state
//! machine: a line comes in, events and lines to write back come out, and at most one request of
//! ours is open at a time:
//!
//! ```text
//! initialize → session/new | session/resume | session/load → mode, permissions, model → session/prompt → end
//! ```
//!
//! While the prompt is open the agent reports (`session/update`, `turn`) and asks for permission,
//! which is answered by the request's policy (`permission`). Files and terminals are not offered:
//! an agent that is offered them writes through its client, and some do so badly. Whatever else an
//! agent asks for is answered with "method not found", so that it never waits for ralph.
//!
//! The words on the wire are the official schema crate's types; the state machine is ours (see the
//! ADR on ACP). What the protocol leaves open differs from agent to agent, and all of that is in one
//! table (`agents`).
//!
//! **What ACP cannot say.** There is no structured answer, no limit of turns or money, no event for
//! retries or usage limits. An agent may report a failed turn as `end_turn`, like a good one; where
//! a known agent gives any other sign of it, that sign is used, and otherwise the gates decide.

mod agents;
mod call;
mod client;
mod failure;
mod permission;
mod servers;
mod setup;
mod turn;
mod usage;
mod wire;

pub use client::AcpClient;

use super::{
    BackendDriver, BackendFeatures, BackendPermissions, BackendReader, BackendRequest, Invocation,
    SessionStart,
};
use agents::AcpAgent;

/// An ACP agent, as `ralph.toml` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcpOptions {
    /// Name of the backend in `ralph.toml`.
    pub name: String,
    pub program: String,
    /// Arguments of the program, including those that make it use ACP.
    pub args: Vec<String>,
    /// The mode to set for a session, instead of the one that fits the permissions.
    pub mode: Option<String>,
    /// Working directory as an absolute path. The protocol requires it.
    pub cwd: String,
}

impl AcpOptions {
    /// Return the known facts about this agent.
    fn agent(&self) -> Option<&'static AcpAgent> {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(String::as_str).find_map(agents::known)
    }
}

/// Driver for agents that use the Agent Client Protocol.
#[derive(Clone, Debug)]
pub struct AcpDriver {
    options: AcpOptions,
    agent: Option<&'static AcpAgent>,
}

impl AcpDriver {
    /// Create a driver for this agent.
    pub fn new(options: AcpOptions) -> Self {
        let agent = options.agent();
        Self { options, agent }
    }
}

impl BackendDriver for AcpDriver {
    fn name(&self) -> &str {
        &self.options.name
    }

    fn program(&self) -> &str {
        &self.options.program
    }

    fn supports(&self) -> BackendFeatures {
        BackendFeatures {
            resume: true,
            cost: self.agent.is_some_and(|agent| agent.cost),
            context: self.agent.is_some_and(|agent| agent.context),
            mcp: true,
            compaction: self.agent.is_some_and(|agent| agent.compact.is_some()),
            ..BackendFeatures::default()
        }
    }

    fn invocation(&self, request: &BackendRequest<'_>) -> Invocation {
        let mut env = Vec::new();
        for (name, value) in self.agent.map_or(&[][..], |agent| agent.env) {
            env.push(((*name).to_owned(), (*value).to_owned()));
        }
        if request.as_root && request.permissions == BackendPermissions::Bypass {
            for (name, value) in self.agent.map_or(&[][..], |agent| agent.env_as_root) {
                env.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
        Invocation { args: self.options.args.clone(), env, ..Invocation::default() }
    }

    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        Box::new(AcpClient::new(request, &self.options))
    }
}

#[cfg(test)]
mod acp_tests;
#[cfg(test)]
mod props_tests;
#[cfg(test)]
mod setup_tests;
#[cfg(test)]
mod talk_tests;
#[cfg(test)]
mod turn_tests;
