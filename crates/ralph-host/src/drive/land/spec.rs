//! `ralph land --spec X`: what is done of a spec becomes one commit, although tasks of it are left.

use ralph_core::cycle::{OnMissing, Record, SpecLanded};
use ralph_core::plan::Plan;

use super::HomeLanding;
use crate::drive::error::DriveError;
use crate::drive::spec_landing::done_tasks;
use crate::drive::specs::spec_keeper;
use crate::git::{CommitMessage, Oid, ReplayGates, SpecOnTip, spec_ref};
use crate::store::Durability;

impl HomeLanding<'_> {
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

    pub(super) fn land_partial_spec(&mut self, spec: &str) -> Result<(), DriveError> {
        let keeper = self.find_spec(spec)?;
        let Some(tip) = self.tip()? else { return Ok(()) };
        let Some(work) = self.repo.spec_work(&keeper, &tip)? else { return Ok(()) };
        let by_hand = |why: String| DriveError::Ask {
            message: format!("the work on {spec} cannot land: {why}"),
            hint: format!("merge it by hand: `git merge {}`", spec_ref(&keeper)),
        };
        let (merged, others) = match self.repo.merge_spec(&work, &tip)? {
            SpecOnTip::Fits { merged, others } => (merged, others),
            SpecOnTip::Conflict(paths) => {
                let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
                let why = format!("it conflicts with what landed since, in {}", paths.join(", "));
                return Err(by_hand(why));
            }
        };
        if !others.is_empty()
            && let ReplayGates::Red(failed) = self.gate_commit(&merged)?
        {
            let why = format!("with what landed since these gates fail: {}", failed.join(", "));
            return Err(by_hand(why));
        }
        self.take_over()?;
        self.lane()?.stage_on(&merged, &tip)?;
        let prefix = &self.setup.config.commit_prefix;
        let subject = format!("{prefix}: {spec} (partial)");
        let message = CommitMessage { subject: subject.clone(), ..CommitMessage::default() };
        if let Some((attempt, commit)) = self.commit_lane(&message)? {
            self.advance_tip(&tip, &commit)?;
            let landed = self.partial_landing(spec, &keeper, subject, attempt, &commit)?;
            self.record(Record::SpecLanded(landed), Durability::Synced)?;
        }
        self.repo.drop_spec(&keeper)?;
        self.bring(OnMissing::Wait)
    }

    fn partial_landing(
        &self,
        spec: &str,
        keeper: &str,
        subject: String,
        attempt: String,
        commit: &Oid,
    ) -> Result<SpecLanded, DriveError> {
        let tasks = self.read_plan()?.map(|plan| tasks_of_keeper(&plan, keeper));
        let paths = self.repo.paths_of(commit)?;
        Ok(SpecLanded {
            spec: Some(spec.to_owned()),
            commit: Some(commit.to_string()),
            subject,
            attempt,
            tasks: tasks.unwrap_or_default(),
            paths: paths.iter().map(ToString::to_string).collect(),
            taken_over: self.taken_over_files()?,
        })
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
