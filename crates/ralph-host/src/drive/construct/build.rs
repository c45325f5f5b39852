//! BUILD: the loop of `ralph build`, until no task can run; what is done is only claimed.

use ralph_core::construct::built;
use ralph_core::cycle::{End, StageKind};
use ralph_core::plan::{Stage, stage};

use crate::drive::error::Halt;
use crate::drive::session::Session;

impl Session<'_> {
    /// Work on tasks until none can run, or one was killed: that is broken down first.
    pub(super) fn build_stage(&mut self) -> Result<(), Halt> {
        let under = self.begin_stage(StageKind::Build, None)?;
        let before = self.read_plan()?.plan;
        let end = loop {
            let end = self.one_task()?;
            if end.is_some() || stage(&self.read_plan()?.plan) == Stage::Decompose {
                break end;
            }
        };
        let after = self.read_plan()?.plan;
        self.end_stage(&under, built(&before, &after))?;
        match end {
            // Nothing is left to build; what that means is for the construct to say.
            None | Some(End::Complete | End::Blocked { .. } | End::TaskComplete(_)) => Ok(()),
            Some(end) => Err(Halt::End(end)),
        }
    }
}
