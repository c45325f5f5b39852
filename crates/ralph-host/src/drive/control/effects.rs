//! Effects of operator commands on the running attempt, the loop and the plan.

use ralph_core::control::Effect;
use ralph_core::format::codec;
use ralph_core::plan::{Edit, Id, Plan, Refusal, TaskStateName, TaskVerb, verbs};

use super::Ear;
use crate::drive::error::DriveError;

impl Ear<'_> {
    /// Do it. Whether it is done; what is held is not.
    pub(super) fn carry_out(&mut self, id: &str, effect: Effect) -> Result<bool, DriveError> {
        match effect {
            Effect::Noted | Effect::Nothing(_) => {}
            Effect::Stop => self.mailbox.stop = true,
            Effect::End => self.running.leash.kill(),
            Effect::Skip(task) => self.skip(&task)?,
            Effect::Retry(task) => {
                self.change_plan(&task, TaskVerb::Retry, |plan| verbs::retry(plan, &task))?;
            }
            Effect::EndThenSkip(task) => {
                self.running.leash.kill();
                self.mailbox.held.push((id.to_owned(), Effect::Skip(task)));
                return Ok(false);
            }
            held @ Effect::Set(_) => {
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
        edits: impl FnOnce(&Plan) -> Result<Vec<Edit>, Refusal>,
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
            Some(Refusal::WrongState { state: TaskStateName::Pending, .. }) => Ok(()),
            Some(
                Refusal::WrongState { state: TaskStateName::Skipped, .. }
                | Refusal::Buried { fate: TaskStateName::Skipped, .. },
            ) if verb == TaskVerb::Skip => Ok(()),
            Some(why) => self.refuse(&format!("{task} is not {}: {why}", verb.as_str())),
            None => Ok(()),
        }
    }
}
