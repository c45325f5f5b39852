//! The main flow: what the core decides is done here, step by step, and written down before and after.
//!
//! # Theory of operation
//!
//! ```text
//! build:    open → recover → start → (next → attempt)* → finish
//! attempt:  checkpoint → prompt → backend → collect → judge → gates → judge → land | roll back
//! journal:  AttemptStarted          BackendEnded              Judged   LandIntent … Landed
//!                                                                      FailIntent … RolledBack
//! ```
//!
//! Every record that something depends on is synced before it happens ([`crate::store::Journal`]).
//! Whatever ralph was doing when it ended, the next start reads the journal, looks at git, asks
//! [`ralph_core::cycle::recover`], and does that. Nothing in this room decides about tasks: it
//! performs, and reports what happened.

mod agent;
mod arrival;
mod arrival_beside;
mod ask;
mod attempt;
mod backend;
mod backend_mailbox;
mod commit;
mod construct;
mod consult;
mod context;
mod control;
mod cost_guard;
mod counts;
mod error;
mod forget;
mod gating;
mod guard;
mod home_guard;
mod knowledge;
mod land;
mod landing;
mod ledger_guard;
mod listener;
mod log;
mod material;
mod memory;
mod passes;
mod plan_file;
mod preflight;
mod preview;
mod progress;
mod recovery;
mod run_end;
mod run_lane;
mod run_target;
mod session;
mod signals;
mod spec_landing;
mod specs;
mod survivors;
mod terms;
mod views;
mod wait;
mod windows;
mod working_tree;

pub use agent::{AgentEnd, AgentOptions, agent, discard_spec, is_begun};
pub use backend_mailbox::{BackendCommands, CallerRole, MailboxCaller};
pub use construct::{Goal, PlanPreview, Planned, Planning, construct, plan, preview_plan};
pub use error::DriveError;
pub use forget::{Forgotten, Warnings, forget};
pub use guard::mend_ledger;
pub use land::{LandAction, LandReport, land};
pub use listener::Listener;
pub use log::{LogOf, prune_logs};
pub use preview::{CommandLine, Input, Look, Next, Preview, preview};
pub use run_end::{retirement, underway};
pub use session::{ATTEMPT_VARIABLE, Options, Setup, TASK_VARIABLE};
pub use signals::Signals;

use ralph_core::cycle::{End, Fate, Limits, OnceEnd, Progress, RunCommand, Step, next_step};
use ralph_core::plan::{Trust, next_task};

use crate::proc::Runner;
use error::Halt;
use session::Session;

/// Work on a plan, one task at a time, until nothing is left or something says stop. Returns the exit code.
pub fn build(mut setup: Setup, listener: &mut dyn Listener) -> Result<u8, DriveError> {
    let runner = runner(&mut setup);
    let mut session = Session::open(setup, RunCommand::Build, &runner, listener)?;
    let mut end = session.recover()?;
    if session.has_work()? {
        session.preflight()?;
    }
    session.start(0.0)?;
    let end = loop {
        if let Some(end) = end {
            break end;
        }
        end = session.one_task()?;
    };
    let code = session.finish(&end, &end.reason(), None)?.exit_code;
    counts::write(&runner);
    Ok(code)
}

/// Create the runner of a loop. Its programs carry the marks of the run and of the place.
fn runner(setup: &mut Setup) -> Runner {
    let place = setup.project.git_dir().unwrap_or(setup.project.root());
    let secrets = setup.config.notify.iter().filter_map(|to| to.url_env.clone());
    let secrets: Vec<_> = secrets.map(Into::into).collect();
    Runner::new(setup.ids.ulid(setup.clock.now())).at(place).hiding(secrets)
}

impl Session<'_> {
    /// Whether a task could be worked on.
    fn has_work(&mut self) -> Result<bool, DriveError> {
        Ok(next_task(&self.read_plan()?.plan, Trust::Verified).is_some())
    }

    /// Work on the next task. Returns what ends the run, if something does.
    fn one_task(&mut self) -> Result<Option<End>, DriveError> {
        if let Some(end) = Halt::end_of(self.heed_operator())? {
            return Ok(Some(end));
        }
        match self.next()? {
            Step::Run(task) => Halt::end_of(self.attempt(*task)),
            Step::End(end) => Ok(Some(end)),
        }
    }

    /// Decide the next step from the current plan and the progress of this run.
    fn next(&mut self) -> Result<Step, DriveError> {
        if self.kind == RunCommand::Build {
            // A person may have added a task to a plan whose tasks are done.
            self.take_over_edits()?;
        }
        let loaded = self.read_plan()?;
        let limits = Limits {
            iterations: match self.kind {
                // Iterations of a construct are cycles, and it counts them itself.
                RunCommand::Construct | RunCommand::Agent => u32::MAX,
                RunCommand::Build | RunCommand::Plan | RunCommand::Land => {
                    self.config.build.max_iterations.get()
                }
            },
            cost: self.config.limits.max_cost.map(ralph_core::config::Dollars::get),
            once: self.options.once,
        };
        let last = self.history.of_run().next_back().map(|view| &view.fate);
        let progress = Progress {
            once: match last {
                Some(Fate::Landed { .. }) if limits.once => Some(OnceEnd::Landed),
                Some(Fate::Failed { .. }) if limits.once => Some(OnceEnd::Failed),
                _ => None,
            },
            signal: self.stop_signal(),
            stop_asked: self.mailbox.stop_asked(),
            trust: match self.kind {
                RunCommand::Build | RunCommand::Plan | RunCommand::Land => Trust::Verified,
                RunCommand::Construct | RunCommand::Agent => Trust::Claimed,
            },
            only: self.options.task.clone(),
            ..Progress::of(&self.history)
        };
        Ok(next_step(&loaded.plan, &limits, &progress))
    }
}
