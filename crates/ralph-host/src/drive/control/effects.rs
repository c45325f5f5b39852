//! Effects of operator commands on the running attempt, the loop and the plan.

use ralph_core::control::CommandEffect;
use ralph_core::format::codec;
use ralph_core::plan::{Id, Plan, PlanEdit, TaskStateName, TaskVerb, VerbRefusal, verbs};

use super::CommandListener;
use crate::drive::error::DriveError;

impl CommandListener<'_> {
    /// Do it. Whether it is done; what is held is not.
    pub(super) fn carry_out(
        &mut self,
        id: &str,
        effect: CommandEffect,
    ) -> Result<bool, DriveError> {
        match effect {
            CommandEffect::Noted | CommandEffect::Nothing(_) => {}
            CommandEffect::Stop => self.mailbox.stop = true,
            CommandEffect::End => self.running.leash.kill(),
            CommandEffect::Skip(task) => self.skip(&task)?,
            CommandEffect::Retry(task) => {
                self.change_plan(&task, TaskVerb::Retry, |plan| verbs::retry(plan, &task))?;
            }
            CommandEffect::EndThenSkip(task) => {
                self.running.leash.kill();
                self.mailbox.held.push((id.to_owned(), CommandEffect::Skip(task)));
                return Ok(false);
            }
            held @ CommandEffect::Set(_) => {
                self.mailbox.held.push((id.to_owned(), held));
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn skip(&mut self, task: &Id) -> Result<(), DriveError> {
        let at = self.clock.stamp();
        let verb = |plan: &Plan| verbs::skip(plan, task, Some("skipped by the operator"), &at);
        self.change_plan(task, TaskVerb::Skip, verb)
    }

    /// Change the plan with a verb. That it is as wished already is no reason to complain.
    fn change_plan(
        &mut self,
        task: &Id,
        verb: TaskVerb,
        edits: impl FnOnce(&Plan) -> Result<Vec<PlanEdit>, VerbRefusal>,
    ) -> Result<(), DriveError> {
        let mut refusal = None;
        self.plan.change(|plan, text| match edits(plan) {
            Ok(edits) => codec(plan.format).edit(text, &edits),
            Err(why) => {
                refusal = Some(why);
                Ok(text.to_owned())
            }
        })?;
        match refusal {
            Some(VerbRefusal::WrongState { state: TaskStateName::Pending, .. }) => Ok(()),
            Some(
                VerbRefusal::WrongState { state: TaskStateName::Skipped, .. }
                | VerbRefusal::Buried { fate: TaskStateName::Skipped, .. },
            ) if verb == TaskVerb::Skip => Ok(()),
            Some(why) => self.refuse(&format!("{task} is not {}: {why}", verb.as_str())),
            None => Ok(()),
        }
    }
}
