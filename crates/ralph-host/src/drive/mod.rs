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
pub use construct::{
    ConstructGoal, PlannerPreview, PlanningRequest, PlanningResult, construct, plan, preview_plan,
};
pub use error::DriveError;
pub use forget::{ForgottenAttempt, WarningCollector, forget};
pub use guard::mend_ledger;
pub use land::{LandAction, LandReport, land};
pub use listener::LoopListener;
pub use log::{LogSubject, prune_logs};
pub use preview::{
    BackendCommandLine, BackendStdin, BuildPreview, PreviewInputs, PreviewedStep, preview,
};
pub use run_end::{retirement, underway};
pub use session::{ATTEMPT_VARIABLE, RunOptions, RunSetup, TASK_VARIABLE};
pub use signals::ReceivedSignals;

use ralph_core::cycle::{
    AttemptState, BuildLimits, BuildProgress, BuildStep, LoopEnd, OnceResult, RunCommand, next_step,
};
use ralph_core::plan::{DependencyTrust, next_task};

use crate::proc::JobRunner;
use error::LoopHalt;
use session::RunSession;

/// Work on a plan, one task at a time, until nothing is left or something says stop. Returns the exit code.
pub fn build(mut setup: RunSetup, listener: &mut dyn LoopListener) -> Result<u8, DriveError> {
    let runner = runner(&mut setup);
    let mut session = RunSession::open(setup, RunCommand::Build, &runner, listener)?;
    let mut end = session.recover()?;
    if session.has_work()? {
        session.preflight()?;
    }
    session.start(0.0)?;
    let end = loop {
        if let Some(end) = end {
            break end;
        }
        end = session.run_next_task()?;
    };
    let code = session.finish(&end, &end.reason(), None)?.exit_code;
    counts::write(&runner);
    Ok(code)
}

/// Create the runner of a loop. Its programs carry the marks of the run and of the place.
fn runner(setup: &mut RunSetup) -> JobRunner {
    let place = setup.project.git_dir().unwrap_or(setup.project.root());
    let secrets = setup.config.notify.iter().filter_map(|to| to.url_env.clone());
    let secrets: Vec<_> = secrets.map(Into::into).collect();
    JobRunner::new(setup.ids.ulid(setup.clock.now())).at(place).hiding(secrets)
}

impl RunSession<'_> {
    /// Whether a task could be worked on.
    fn has_work(&mut self) -> Result<bool, DriveError> {
        Ok(next_task(&self.read_plan()?.plan, DependencyTrust::Verified).is_some())
    }

    /// Work on the next task. Returns what ends the run, if something does.
    fn run_next_task(&mut self) -> Result<Option<LoopEnd>, DriveError> {
        if let Some(end) = LoopHalt::end_of(self.apply_operator_commands())? {
            return Ok(Some(end));
        }
        match self.next()? {
            BuildStep::Run(task) => LoopHalt::end_of(self.run_attempt(*task)),
            BuildStep::End(end) => Ok(Some(end)),
        }
    }

    /// Decide the next step from the current plan and the progress of this run.
    fn next(&mut self) -> Result<BuildStep, DriveError> {
        if self.kind == RunCommand::Build {
            // A person may have added a task to a plan whose tasks are done.
            self.take_over_edits()?;
        }
        let loaded = self.read_plan()?;
        let limits = BuildLimits {
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
        let progress = BuildProgress {
            once: match last {
                Some(AttemptState::Landed { .. }) if limits.once => Some(OnceResult::Landed),
                Some(AttemptState::Failed { .. }) if limits.once => Some(OnceResult::Failed),
                _ => None,
            },
            signal: self.stop_signal(),
            stop_asked: self.mailbox.stop_asked(),
            trust: match self.kind {
                RunCommand::Build | RunCommand::Plan | RunCommand::Land => {
                    DependencyTrust::Verified
                }
                RunCommand::Construct | RunCommand::Agent => DependencyTrust::Claimed,
            },
            only: self.options.task.clone(),
            ..BuildProgress::of(&self.history)
        };
        Ok(next_step(&loaded.plan, &limits, &progress))
    }
}
