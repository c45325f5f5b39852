//! `ralph land --spec X`: what is done of a spec becomes one commit, although tasks of it are left.

use ralph_core::cycle::MissingWorkAnswer;
use ralph_core::plan::Plan;

use super::LandReport;
use crate::drive::error::DriveError;
use crate::drive::session::RunSession;
use crate::drive::spec_landing::{FinishedSpec, SpecTipCheck, done_tasks};
use crate::drive::specs::spec_keeper;
use crate::git::{CommitMessage, spec_ref};

impl RunSession<'_> {
    /// Fail when there is no work on this spec. Returns its keeper.
    pub(super) fn find_spec(&self, spec: &str) -> Result<String, DriveError> {
        let (keeper, open) = (spec_keeper(spec), self.repo.open_specs()?);
        if open.contains(&keeper) {
            return Ok(keeper);
        }
        let known: Vec<&str> =
            open.iter().filter_map(|keeper| keeper.strip_prefix("spec-")).collect();
        let hint = match known.is_empty() {
            true => "work on a spec is kept apart only with commit = \"spec\" and in `ralph agent`"
                .to_owned(),
            false => format!("there is work on: {}", known.join(", ")),
        };
        let message = format!("no work on {spec} waits for its spec to be complete");
        Err(DriveError::Ask { message, hint })
    }

    pub(super) fn land_partial_spec(
        &mut self,
        spec: &str,
        report: &mut LandReport,
    ) -> Result<(), DriveError> {
        let keeper = self.find_spec(spec)?;
        let by_hand = |why: String| DriveError::Ask {
            message: format!("the work on {spec} cannot land: {why}"),
            hint: format!("merge it by hand: `git merge {}`", spec_ref(&spec_keeper(spec))),
        };
        match self.fit_spec_to_tip(&keeper)? {
            SpecTipCheck::Proven => {}
            SpecTipCheck::Broken(why) => return Err(by_hand(why)),
            SpecTipCheck::Stopped => return Err(by_hand("the gates were ended".to_owned())),
        }
        let subject = format!("{}: {spec} (partial)", self.config.commit_prefix);
        let finished = FinishedSpec {
            tasks: tasks_of_keeper(&*self.known_plan()?, &keeper),
            keeper,
            spec: Some(spec.to_owned()),
            entry: None,
            message: CommitMessage { subject, ..CommitMessage::default() },
        };
        self.land_spec(&finished)?.map_err(by_hand)?;
        self.bring_all(MissingWorkAnswer::Wait, report)
    }
}

/// The tasks that are done of the spec whose work git keeps under this name.
fn tasks_of_keeper(plan: &Plan, keeper: &str) -> Vec<String> {
    let mut specs: Vec<Option<String>> = plan.all_tasks().iter().map(|t| t.spec.clone()).collect();
    specs.extend([plan.current_spec.clone(), None]);
    let is_kept = |spec: &&Option<String>| spec_keeper(spec.as_deref().unwrap_or("all")) == keeper;
    let spec = specs.iter().find(is_kept).cloned().flatten();
    done_tasks(plan, spec.as_deref())
}
