//! `ralph/.agent-session`: how the running agent loop stands, for a restart and for other terminals.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The file. Fields that ralph does not know are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSession {
    /// When the session began, RFC 3339.
    pub started_at: String,
    /// Specs that were done in it.
    pub specs_completed: u32,
    /// Specs that failed in it.
    pub specs_failed: u32,
    /// Dollars, over restarts.
    pub total_cost: f64,
    /// The entry of the inbox that is worked on.
    pub current_spec_id: Option<String>,
    /// Failures in a row.
    pub consecutive_failures: u32,
    /// Dollars that were spent when the current spec began.
    pub cost_at_spec: f64,
    /// Everything else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
