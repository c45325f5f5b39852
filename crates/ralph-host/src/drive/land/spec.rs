//! `ralph land --spec X`: what is done of a spec becomes one commit, although tasks of it are left.

use ralph_core::cycle::{OnMissing, Record, SpecLanded};

use super::HomeLanding;
use crate::crash;
use crate::drive::error::DriveError;
use crate::drive::run_lane::tip_ref;
use crate::drive::specs::spec_keeper;
use crate::git::{CommitMessage, Oid, ReplayGates, SpecTree, spec_ref};
use crate::store::Durability;

impl HomeLanding<'_> {
    /// The reference and the commit with the work on a spec.
    pub(super) fn find_spec(&self, spec: &str) -> Result<(String, Oid), DriveError> {
        let name = spec_ref(&spec_keeper(spec));
        match self.repo.find_commit(&name)? {
            Some(commit) => Ok((name, commit)),
            None => {
                let known = self.repo.open_specs()?;
                let known: Vec<&str> =
                    known.iter().filter_map(|keeper| keeper.strip_prefix("spec-")).collect();
                let hint = match known.is_empty() {
                    true => "work on a spec is kept apart only with commit = \"spec\" and in `ralph agent`"
                        .to_owned(),
                    false => format!("there is work on: {}", known.join(", ")),
                };
                let message = format!("no work on {spec} waits for its spec to be complete");
                Err(DriveError::Ask { message, hint })
            }
        }
    }

    pub(super) fn land_partial_spec(&mut self, spec: &str) -> Result<(), DriveError> {
        let (name, work) = self.find_spec(spec)?;
        let keeper = spec_keeper(spec);
        let Some(tip) = self.tip()? else { return Ok(()) };
        let found = self.repo.tree_with_spec(&tip, &work)?;
        let tree = match &found {
            SpecTree::Gated(tree) | SpecTree::Merged(tree) => tree.clone(),
            SpecTree::Conflict(paths) => {
                let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
                return Err(DriveError::Ask {
                    message: format!(
                        "the work on {spec} conflicts with what landed since, in {}",
                        paths.join(", ")
                    ),
                    hint: format!("merge it by hand: `git merge {name}`"),
                });
            }
        };
        self.take_over()?;
        let lane = self.lane()?;
        lane.put_on(&tip)?;
        lane.repo().read_tree(&tree)?;
        let prefix = &self.setup.config.commit_prefix;
        let subject = format!("{prefix}: {spec} (partial)");
        let message = CommitMessage { subject: subject.clone(), ..CommitMessage::default() };
        let Some((attempt, commit)) = self.commit_lane(&message)? else {
            return Ok(self.repo.drop_spec(&keeper)?);
        };
        if let SpecTree::Merged(_) = found
            && let ReplayGates::Red(failed) = self.gate_commit(&commit)?
        {
            return Err(DriveError::Ask {
                message: format!(
                    "gates fail on the work on {spec} together with what landed since: {}",
                    failed.join(", ")
                ),
                hint: format!("merge it by hand: `git merge {name}`"),
            });
        }
        crash::point();
        let Some(line) = self.line() else { return Ok(()) };
        self.repo.advance_ref(&tip_ref(&line.run), &commit, Some(&tip))?;
        crash::point();
        let landed = SpecLanded {
            spec: Some(spec.to_owned()),
            commit: Some(commit.to_string()),
            subject,
            attempt,
            tasks: Vec::new(),
            paths: self.repo.changed_paths(&tip, &commit)?,
            taken_over: self.taken_over_files()?,
        };
        self.record(Record::SpecLanded(landed), Durability::Synced)?;
        self.repo.drop_spec(&keeper)?;
        self.bring(OnMissing::Wait)
    }
}
