//! The agent loop in `ralph status`.

use ralph_core::agent_session::{AgentSession, SessionActivity};
use ralph_core::needs::LoopProcess;
use serde::Serialize;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// The block of the agent loop with an empty line below it; nothing when no session is there.
pub(super) fn block(context: &CommandContext) -> Result<Vec<String>, CommandError> {
    let lines = match read(context)? {
        None => return Ok(Vec::new()),
        Some(Err(why)) => vec![format!("Mode: agent ({why})")],
        Some(Ok(session)) => {
            session.block(&context.inbox()?, &context.history()?, at_work(context), &context.now())
        }
    };
    Ok(lines.iter().map(|line| out::clean(line)).chain([String::new()]).collect())
}

/// Status of the agent loop, for JSON output.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum AgentStatus {
    /// The session, with whether a loop works on it.
    Session {
        #[serde(flatten)]
        session: Box<AgentSession>,
        unknown_cost_runs: usize,
        running: bool,
        elapsed_seconds: Option<u64>,
    },
    /// The file of the session is damaged.
    Unreadable { error: String },
}

/// Read the status of the agent loop; `None` when there is no session.
pub(super) fn status(context: &CommandContext) -> Result<Option<AgentStatus>, CommandError> {
    Ok(match read(context)? {
        None => None,
        Some(Err(error)) => Some(AgentStatus::Unreadable { error }),
        Some(Ok(mut session)) => {
            let cost = session.cost(&context.history()?);
            session.total_cost = cost.usd;
            Some(AgentStatus::Session {
                unknown_cost_runs: cost.unknown_runs,
                running: at_work(context) == SessionActivity::Running,
                elapsed_seconds: session.seconds(&context.now()),
                session: Box::new(session),
            })
        }
    })
}

/// The session, or why it cannot be read: the rest of the status is worth showing without it.
fn read(context: &CommandContext) -> Result<Option<Result<AgentSession, String>>, CommandError> {
    let path = context.project.agent_session();
    let text = context.read_text(&path)?;
    Ok(text.map(|text| {
        let shown = context.show(&path);
        AgentSession::parse(&text).map_err(|e| format!("{shown} cannot be read: {e}"))
    }))
}

fn at_work(context: &CommandContext) -> SessionActivity {
    match context.running() {
        LoopProcess::Pid(_) => SessionActivity::Running,
        LoopProcess::Nobody => SessionActivity::Interrupted,
    }
}
