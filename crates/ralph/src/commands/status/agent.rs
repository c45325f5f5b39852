//! The agent loop in `ralph status`.

use ralph_core::agent_session::{AgentSession, AtWork};
use ralph_host::store::who_runs;
use serde_json::{Value, json};

use crate::commands::inbox;
use crate::context::Context;
use crate::error::CommandError;
use crate::out;

/// The block of the agent loop with an empty line below it; nothing when no session is there.
pub(super) fn block(context: &Context) -> Result<Vec<String>, CommandError> {
    let lines = match read(context)? {
        None => return Ok(Vec::new()),
        Some(Err(why)) => vec![format!("Mode: agent ({why})")],
        Some(Ok(session)) => {
            let text = inbox::read(context)?;
            let inbox = inbox::parse(context, &text)?;
            session.block(&inbox, &context.history()?, at_work(context), &context.now())
        }
    };
    Ok(lines.iter().map(|line| out::clean(line)).chain([String::new()]).collect())
}

/// The session with whether a loop works on it; `null` when there is none.
pub(super) fn as_json(context: &Context) -> Result<Value, CommandError> {
    Ok(match read(context)? {
        None => Value::Null,
        Some(Err(why)) => json!({ "error": why }),
        Some(Ok(session)) => {
            let mut value = json!(session);
            let cost = session.cost(&context.history()?);
            value["total_cost"] = json!(cost.usd);
            value["unknown_cost_runs"] = json!(cost.unknown_runs);
            value["running"] = json!(at_work(context) == AtWork::Running);
            value["elapsed_seconds"] = json!(session.seconds(&context.now()));
            value
        }
    })
}

/// The session, or why it cannot be read: the rest of the status is worth showing without it.
fn read(context: &Context) -> Result<Option<Result<AgentSession, String>>, CommandError> {
    let path = context.project.agent_session();
    let text = context.read_text(&path)?;
    Ok(text.map(|text| {
        let shown = context.show(&path);
        AgentSession::parse(&text).map_err(|e| format!("{shown} cannot be read: {e}"))
    }))
}

fn at_work(context: &Context) -> AtWork {
    match who_runs(&context.project.state_dir()) {
        Some(_) => AtWork::Running,
        None => AtWork::Interrupted,
    }
}
