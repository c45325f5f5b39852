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

mod ask;
mod attempt;
mod backend;
mod consult;
mod context;
mod counts;
mod error;
mod forget;
mod gating;
mod guard;
mod knowledge;
mod landing;
mod ledger_guard;
mod log;
mod material;
mod memory;
mod notice;
mod passes;
mod plan;
mod preview;
mod progress;
mod recovery;
mod regate;
mod session;
mod signals;
mod specs;
mod terms;
mod tidy;
mod wait;

pub use error::DriveError;
pub use forget::{Forgotten, forget};
pub use notice::{Listener, Notice, Tally};
pub use preview::{CommandLine, Input, Look, Next, Preview, preview};
pub use session::{ATTEMPT_VARIABLE, Options, Setup, TASK_VARIABLE};
pub use signals::Signals;
pub use tidy::{retirement, underway};

use ralph_core::cycle::{End, Fate, Limits, OnceEnd, Progress, Step, next_step};

use crate::proc::Runner;
use session::Session;

/// Work on a plan, one task at a time, until nothing is left or something says stop.
pub fn build(mut setup: Setup, listener: &mut dyn Listener) -> Result<End, DriveError> {
    let runner = Runner::new(setup.ids.ulid(setup.clock.now()));
    let mut session = Session::open(setup, &runner, listener)?;
    session.recover()?;
    session.start()?;
    let end = loop {
        match session.next()? {
            Step::Run(task) => session.attempt(*task)?,
            Step::End(end) => break end,
        }
    };
    session.finish(&end)?;
    counts::write(&runner);
    Ok(end)
}

impl Session<'_> {
    /// What comes next, from the plan as it is now and from what this run has done.
    fn next(&mut self) -> Result<Step, DriveError> {
        if let Some(end) = self.ending.take() {
            return Ok(Step::End(end));
        }
        let loaded = self.read_plan()?;
        let limits = Limits {
            iterations: self.config.build.max_iterations.get(),
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
            signal: self.signals.first(),
            only: self.options.task.clone(),
            ..Progress::of(&self.history)
        };
        Ok(next_step(&loaded.plan, &limits, &progress))
    }
}
