//! Gates on a commit that no attempt has left: a replay, or a spec that is merged with other work.

use ralph_core::gate::{self, Baselines, Gate, GateRunResult};

use super::HomeLanding;
use crate::drive::error::DriveError;
use crate::drive::working_tree::source_files;
use crate::gates::{GateError, GateRun, run_gate};
use crate::git::{Oid, ReplayGates};
use crate::lanes::{Lane, LanePool};
use crate::proc::{Bounds, Cancel};

/// The start of the paths of the gates' logs.
const LOGS: &str = ".ralph/logs/validation/replay";

impl<'a> HomeLanding<'a> {
    /// The lane in which this works.
    pub(super) fn lane(&mut self) -> Result<&mut Lane<'a>, DriveError> {
        let lane = match self.lane.take() {
            Some(lane) => lane,
            None => {
                let pool = LanePool::open(&self.repo, &self.setup.config.lane)?;
                pool.take(self.setup.store.holder())?
            }
        };
        Ok(self.lane.insert(lane))
    }

    /// Gate a commit. Failures that the branch has too do not count.
    pub(super) fn gate_commit(&mut self, commit: &Oid) -> Result<ReplayGates, DriveError> {
        let gates = self.setup.gates.clone();
        let runs = self.run_gates(commit, &gates)?;
        let mut baselines = Baselines::new();
        let wanted = baselines.wanted(&runs);
        let is_wanted = |gate: &&Gate| wanted.iter().any(|run| run.check.name == gate.name);
        let unknown: Vec<Gate> = gates.iter().filter(is_wanted).cloned().collect();
        let branch = self.report.branch.clone().unwrap_or_default();
        if !unknown.is_empty()
            && let Some(base) = self.repo.find_commit(&format!("refs/heads/{branch}"))?
        {
            self.run_gates(&base, &unknown)?.iter().for_each(|run| baselines.record(run));
        }
        let verdict = gate::judge("", &runs, &baselines, Vec::new(), self.setup.config.judges);
        let red: Vec<String> = verdict.blocking().map(|check| check.name.clone()).collect();
        Ok(if red.is_empty() { ReplayGates::Green } else { ReplayGates::Red(red) })
    }

    fn run_gates(
        &mut self,
        commit: &Oid,
        gates: &[Gate],
    ) -> Result<Vec<GateRunResult>, DriveError> {
        if gates.is_empty() {
            return Ok(Vec::new());
        }
        let root = self.setup.project.root().to_owned();
        let branch = self.report.branch.clone();
        let lane = self.lane()?;
        lane.put_on(commit)?;
        lane.furnish(&root, &|job| job)?;
        lane.write_private_repository(commit, branch.as_deref())?;
        let place = lane.root();
        let surroundings = lane.environment(std::env::vars_os());
        if let Some(ledger) = &self.ledger {
            ledger.write_into(&place, &source_files(&root))?;
        }
        let logs = root.join(LOGS);
        let run = GateRun {
            cwd: &place,
            surroundings: &surroundings,
            logs: &logs,
            grace: Bounds::default().grace,
            cancel: Cancel::default(),
        };
        let mut runs = Vec::new();
        for gate in gates {
            match run_gate(self.runner, gate, &run, &mut |_| {}) {
                Ok(ran) => runs.push(ran),
                Err(GateError::Proc { source, .. }) => return Err(source.into()),
                Err(e @ GateError::Cancelled) => {
                    return Err(DriveError::Ask { message: e.to_string(), hint: String::new() });
                }
            }
        }
        Ok(runs)
    }
}
