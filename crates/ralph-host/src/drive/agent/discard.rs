//! A spec that was begun and is taken out of the queue while no agent runs.

use ralph_core::cycle::RunCommand;
use ralph_core::inbox::InboxEntry;

use super::inbox::{is_plan_copy, plan_copy_file};
use super::{AgentLoop, AgentOptions};
use crate::drive::error::DriveError;
use crate::drive::listener::LoopListener;
use crate::drive::session::{RunSession, RunSetup};
use crate::notify::Notifier;
use crate::project::Project;

/// Whether an agent has begun to work on this entry and has not come to its end.
pub fn is_begun(project: &Project, id: &str) -> bool {
    plan_copy_file(project, id).exists()
}

/// Whether an agent has begun a spec that has not come to its end.
pub(in crate::drive) fn has_begun(project: &Project) -> bool {
    let entries = std::fs::read_dir(project.state_dir()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.into_iter().any(|name| is_plan_copy(&name))
}

/// Keep the work on a spec aside and put its records in the plan back, as those of a spec that failed;
/// no session goes on with it. Returns where the work is kept, in words; `None` when there was none.
pub fn discard_spec(
    mut setup: RunSetup,
    entry: &InboxEntry,
    listener: &mut dyn LoopListener,
) -> Result<Option<String>, DriveError> {
    let runner = crate::drive::runner(&mut setup);
    let mut session = RunSession::open(setup, RunCommand::Agent, &runner, listener)?;
    session.recover()?;
    session.start_tip()?;
    let notifier = Notifier::of(&session.config, session.project.root());
    let options = AgentOptions { max_specs: None, max_failures: 0, watch: false, jobs: None };
    let state = session.read_session()?;
    let mut agent =
        AgentLoop { options, state, notifier, last_run_ended: String::new(), halt: None };
    let message = format!("{}: removed {}", session.config.commit_prefix, entry.spec);
    let out = session.take_out_work(&mut agent, entry, &message)?;
    if agent.state.current_spec_id.as_ref() == Some(&entry.id) {
        session.spec_over(&mut agent)?;
    } else {
        session.forget_copies(Some(&entry.id));
    }
    session.close_run()?;
    Ok(out.map(|out| out.place))
}
