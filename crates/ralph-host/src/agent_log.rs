//! `build/ralph-logs/agent-<timestamp>.log`: what the agent did, a line each.

use std::path::{Path, PathBuf};

use crate::store::add_to_view;

/// The log of one agent; `None` writes nothing.
#[derive(Clone, Debug, Default)]
pub struct AgentLog {
    path: Option<PathBuf>,
}

impl AgentLog {
    /// A log that begins at this time, RFC 3339.
    pub fn create(directory: &Path, at: &str) -> Self {
        let stamp: String = at.chars().filter(char::is_ascii_digit).collect();
        Self { path: Some(directory.join(format!("agent-{stamp}.log"))) }
    }

    /// Add a line. That it cannot be written is no reason to stop.
    pub fn line(&mut self, at: &str, text: &str) {
        let Some(path) = &self.path else { return };
        let text = text.replace(['\n', '\r'], " ");
        let _ = add_to_view(path, format!("[{at}] {text}\n").as_bytes());
    }
}
