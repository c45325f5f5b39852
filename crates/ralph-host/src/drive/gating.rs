//! The gates of an attempt: run them on its base where nothing is known of that, then on what its backend left,
//! and write the verdict down.

use std::path::{Path, PathBuf};

use ralph_core::control::LoopActivity;
use ralph_core::cycle::{
    AttemptBase, AttemptFailure, AttemptStart, Candidate, FailureKind, GateEnd, GateStart,
    GateTree, JournalRecord, LoopEnd, error_lines,
};
use ralph_core::doctor;
use ralph_core::gate::judges::{FileChange, JudgeChange, JudgeNames, judge_changes};
use ralph_core::gate::{
    self, Baselines, Gate, GateCheck, GateEnding, GateNeed, GateRunResult, GateVerdict,
};
use ralph_core::plan::Task;

use super::attempt::AttemptRun;
use super::backend_mailbox::RunningProcesses;
use super::control::ear;
use super::error::{DriveError, LoopHalt};
use super::preflight::gate_advice;
use super::session::RunSession;
use crate::crash;
use crate::gates::{GateError, GateNotice, GatePassSettings, run_gate, write_report};
use crate::git::{GateTraces, Oid, RepoPath};
use crate::proc::JobBounds;
use crate::store::Durability;

/// Directory of the outputs and verdicts of gates.
const DIRECTORY: &str = ".ralph/logs/validation";

/// Factor for the timeout of a gate in a lane where the gate has not built anything yet.
const COLD: u32 = 3;

/// Outcome of running the gates of an attempt.
pub(super) enum GatingResult {
    Judged(Box<GateFindings>),
    /// None can run on this work.
    Failed(AttemptFailure),
    /// One cannot be run at all, and the run ends.
    Unusable(LoopEnd),
    /// A request to stop came before the end of the gates.
    Stopped,
}

/// Findings of the gates about an attempt, with the baselines for the next one.
pub(super) struct GateFindings {
    /// Verdict as it is in the journal.
    pub(super) verdict: GateVerdict,
    /// Known gate results on the base of the next attempt, if this attempt lands.
    pub(super) next_base: Baselines,
    /// The tree that they ran on.
    pub(super) tree: Oid,
}

impl RunSession<'_> {
    /// Run the gates on what the backend left.
    pub(super) fn gate_attempt(&mut self, run: &AttemptRun) -> Result<GatingResult, DriveError> {
        let Some(candidate) = run.candidate() else { return Ok(GatingResult::Stopped) };
        if let Err(failed) = self.ready_for_gates()? {
            return Ok(GatingResult::Failed(AttemptFailure::new(
                FailureKind::Gates,
                failed.to_string(),
            )));
        }
        let logs = self.gate_logs(run.started.iteration, GateTree::Result);
        let ran = self.run_each_apart(&logs, GateTree::Result, &run.running)?;
        let Some((runs, traces)) = ran else { return Ok(GatingResult::Stopped) };
        self.report_changes_by_gates("gates changed files, which were put back", &traces.changed);
        self.report_changes_by_gates("gates made new files, which were removed", &traces.added);
        if !self.look_at_base(run, &runs)? {
            return Ok(GatingResult::Stopped);
        }
        let judges = self.changed_judges(&run.base, candidate);
        let attempt = &run.started.attempt;
        let mut verdict = gate::judge(attempt, &runs, &self.baselines, judges, self.config.judges);
        let iteration = run.started.iteration.into();
        let directory = self.project.root().join(DIRECTORY);
        let strategy = self.config.gate_strategy;
        let report = write_report(&directory, iteration, &verdict, &runs, strategy, &self.clock)?;
        verdict.report = Some(self.relative(&report));
        self.record(JournalRecord::Judged(verdict.clone()), Durability::Eventual)?;
        let unusable = runs.iter().find(|run| self.baselines.cannot_run(run));
        Ok(match unusable.and_then(|run| self.unusable(run)) {
            Some(end) => GatingResult::Unusable(end),
            None => {
                let next_base = Baselines::of_runs(&runs);
                let tree = self.work_tree().index_tree()?;
                GatingResult::Judged(Box::new(GateFindings { verdict, next_base, tree }))
            }
        })
    }

    /// Run the gates on the commit that an attempt of this id will start from, unless they ran on those files
    /// before: what fails there is no fault of an attempt, and what they build there stays for later runs.
    pub(super) fn gate_base(&mut self, task: &Task, id: &str) -> Result<(), LoopHalt> {
        let keeper = self.keeper(task);
        if self.gates.is_empty() || self.knows_base(&keeper)? {
            return Ok(());
        }
        let base = self.ready_lane(&keeper, id)?;
        self.open_lane_to_backend()?;
        crash::point();
        let logs = self.gate_logs(self.next_iteration()?, GateTree::Base);
        let running = RunningProcesses::new(&self.work.lane, &self.signals, id, task.id.as_str());
        let ran = match self.run_each_apart(&logs, GateTree::Base, &running) {
            Err(error) => {
                let damage = error.lane_damage().ok_or(error)?;
                self.warn(&format!("what fails before any work is done is not known: {damage}"));
                self.baselines = Baselines::default();
                self.gated_base = Some(base.commit);
                return Ok(());
            }
            Ok(ran) => ran,
        };
        crash::point();
        let Some((runs, _)) = ran else { return Err(LoopHalt::LookAgain) };
        self.baselines = Baselines::of_runs(&runs);
        self.gated_base = Some(base.commit);
        let counts =
            |run: &&GateRunResult| !run.check.is_green() && run.check.need == GateNeed::Required;
        for run in runs.iter().filter(counts) {
            self.warn(&red_before(run));
        }
        Ok(())
    }

    /// Whether the gates ran on the files of the commit that work on this keeper starts from.
    fn knows_base(&mut self, keeper: &str) -> Result<bool, DriveError> {
        let commit = self.start_commit(keeper)?;
        let Some(gated) = &self.gated_base else { return Ok(false) };
        if *gated != commit {
            if !self.repo.has_same_work(gated, &commit)? {
                return Ok(false);
            }
            self.gated_base = Some(commit);
        }
        Ok(true)
    }

    /// Run all gates on what the index of the lane holds, each of them on those files, and put back what they
    /// changed. `None` when somebody ended them.
    fn run_each_apart(
        &mut self,
        logs: &Path,
        on: GateTree,
        running: &RunningProcesses,
    ) -> Result<Option<(Vec<GateRunResult>, GateTraces)>, DriveError> {
        let (gates, mut runs, mut changed) = (self.gates.clone(), Vec::new(), Vec::new());
        for gate in &gates {
            if !runs.is_empty() {
                changed.extend(self.put_back_between_gates()?);
            }
            let Some(ran) = self.run_all(std::slice::from_ref(gate), logs, on, running)? else {
                return Ok(None);
            };
            runs.extend(ran);
        }
        self.work.lane.remove_submodule_repositories()?;
        let mut traces = self.work_tree().put_back_to_index()?;
        traces.changed.extend(changed);
        traces.changed.sort_unstable();
        traces.changed.dedup();
        Ok(Some((runs, traces)))
    }

    /// Each gate sees what would land, also after one that formats. Returns what the last one had changed.
    fn put_back_between_gates(&mut self) -> Result<Vec<RepoPath>, DriveError> {
        self.work.lane.remove_submodule_repositories()?;
        let changed = self.work_tree().put_back_changed()?;
        self.write_private_repository()?;
        Ok(changed)
    }

    /// A retry would only be paid to meet the same gate.
    fn unusable(&self, run: &GateRunResult) -> Option<LoopEnd> {
        let gate = self.gates.iter().find(|gate| gate.name == run.check.name)?;
        let why = doctor::last_line(run);
        let how = run.check.ending.describe();
        let reason = format!("the gate {} cannot be run ({how}): {why}", gate.name);
        Some(LoopEnd::Gate { reason, advice: gate_advice(gate) })
    }

    /// Run the gates that are red now and unknown at the base there once: another run began this attempt, and
    /// a crash ended it. Returns whether nobody wanted an end first.
    fn look_at_base(
        &mut self,
        run: &AttemptRun,
        runs: &[GateRunResult],
    ) -> Result<bool, DriveError> {
        let wanted: Vec<Gate> = self
            .baselines
            .wanted(runs)
            .into_iter()
            .filter_map(|run| self.gates.iter().find(|gate| gate.name == run.check.name).cloned())
            .collect();
        if wanted.is_empty() {
            return Ok(true);
        }
        let candidate = self.work_tree().set_candidate_aside(&run.base)?;
        crash::point();
        self.work_tree().check_out_tree(run.base.commit.as_str())?;
        self.ready_for_gates()??;
        crash::point();
        let logs = self.gate_logs(run.started.iteration, GateTree::Base);
        let ran = self.run_all(&wanted, &logs, GateTree::Base, &run.running);
        crash::point();
        self.work.lane.remove_submodule_repositories()?;
        self.work_tree().check_out_tree(candidate.as_str())?;
        crash::point();
        self.work_tree().forget_candidate(&run.base)?;
        let Some(ran) = ran? else { return Ok(false) };
        // Hooks run next, on the candidate.
        self.ready_for_gates()??;
        ran.iter().for_each(|run| self.baselines.record(run));
        Ok(true)
    }

    fn report_changes_by_gates(&mut self, what: &str, paths: &[RepoPath]) {
        if !paths.is_empty() {
            let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
            self.warn(&format!("{what}: {}", names.join(", ")));
        }
    }

    /// How the paths of the logs begin: one directory for all attempts, not one for each.
    fn gate_logs(&self, iteration: u32, on: GateTree) -> PathBuf {
        let name = match on {
            GateTree::Result => format!("iter-{iteration}"),
            GateTree::Base => format!("iter-{iteration}-base"),
            GateTree::Alone => format!("iter-{iteration}-alone"),
        };
        self.project.root().join(DIRECTORY).join(name)
    }

    /// Run gates in the lane. `None` when somebody ended them.
    pub(super) fn run_all(
        &mut self,
        gates: &[Gate],
        logs: &Path,
        on: GateTree,
        running: &RunningProcesses,
    ) -> Result<Option<Vec<GateRunResult>>, DriveError> {
        self.arrive_beside()?;
        self.remove_prompt_files();
        let root = self.project.root().to_owned();
        let mut ear = ear!(self, running);
        let runner = self.runner;
        let mut trouble = None;
        let run = GatePassSettings {
            cwd: &running.root,
            surroundings: &running.surroundings,
            logs,
            grace: JobBounds::default().grace,
            cancel: running.leash.clone(),
        };
        let known_warm = self.work.lane.warm_gates();
        let mut warm = known_warm.clone();
        let mut runs = Vec::new();
        for gate in gates {
            let patient = Gate { timeout: gate.timeout * COLD, ..gate.clone() };
            let gate = if warm.contains(&gate.name) { gate } else { &patient };
            let start = GateStart { attempt: running.id.clone(), gate: gate.name.clone(), on };
            // Whoever looks sees it at once; nothing depends on it, so nothing waits for the disk.
            ear.record(JournalRecord::GateStarted(start.clone()), Durability::Eventual)?;
            let mut over = None;
            let mut hear = |news: GateNotice<'_>| match news {
                GateNotice::Over(check) => {
                    let (passed, took_ms) = (check.is_green(), check.took_ms);
                    over = Some(GateEnd { start: start.clone(), passed, took_ms });
                }
                GateNotice::Begins(_) | GateNotice::Line(..) => {}
                GateNotice::Runs(..) if trouble.is_some() => {}
                GateNotice::Runs(..) => {
                    trouble = ear.listen(LoopActivity::Attempt(&running.task)).err()
                }
            };
            let ran = run_gate(runner, gate, &run, &mut hear);
            if let Some(trouble) = trouble.take() {
                return Err(trouble);
            }
            ear.listen_after(LoopActivity::Attempt(&running.task))?;
            if let Some(over) = over {
                ear.record(JournalRecord::GateEnded(over), Durability::Eventual)?;
            }
            let name = &gate.name;
            let intact = self.work.lane.check_place();
            intact.map_err(|damage| damage.after(format!("the gate {name}")))?;
            match ran {
                Ok(mut run) => {
                    if run.check.ending != GateEnding::TimedOut {
                        warm.insert(gate.name.clone());
                    }
                    run.check.log = run.check.log.map(|log| below(&root, &log));
                    runs.push(run);
                }
                Err(GateError::Cancelled) => return Ok(None),
                Err(GateError::Proc { source, .. }) => return Err(source.into()),
            }
        }
        if warm != known_warm {
            self.work.lane.note_warm_gates(&warm)?;
        }
        Ok(Some(runs))
    }

    /// The processes of the last attempt, for gates that run after it.
    pub(super) fn after_last_attempt(&self) -> RunningProcesses {
        let last = self.history.attempts.last().map(|view| view.started.clone());
        let AttemptStart { attempt, task, .. } = last.unwrap_or_default();
        RunningProcesses::new(&self.work.lane, &self.signals, &attempt, &task)
    }

    /// Tests, manifests and the like that the attempt changed.
    fn changed_judges(&mut self, base: &AttemptBase, candidate: &Candidate) -> Vec<JudgeChange> {
        let names = JudgeNames::of_gates(&self.gates);
        let paths: Vec<_> = candidate
            .paths
            .iter()
            .filter(|change| names.may_judge(&change.path.to_string()))
            .map(|change| change.path.clone())
            .collect();
        if paths.is_empty() {
            return Vec::new();
        }
        let before = match self.work_tree().texts_at(base.commit.as_str(), &paths) {
            Ok(texts) => texts,
            Err(e) => {
                self.warn(&format!("changed tests are not compared: {e}"));
                return Vec::new();
            }
        };
        let shown: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let after: Vec<Option<String>> = paths
            .iter()
            .map(|path| {
                let bytes = crate::store::read(&self.work_tree().file(path)).ok().flatten()?;
                String::from_utf8(bytes).ok()
            })
            .collect();
        let files: Vec<FileChange<'_>> = shown
            .iter()
            .zip(&before)
            .zip(&after)
            .map(|((path, before), after)| FileChange {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
            })
            .collect();
        judge_changes(&files, &names)
    }
}

/// The words for a gate that fails before any work was done, with what its output says.
fn red_before(run: &GateRunResult) -> String {
    let excerpt = run.excerpts.around(&run.failing());
    let lines = error_lines(&GateCheck { excerpt, ..run.check.clone() });
    let (name, how) = (&run.check.name, run.check.ending.describe());
    let output = if lines.is_empty() { "it said nothing".to_owned() } else { lines.join(" | ") };
    let log = run.check.log.as_ref().map_or_else(String::new, |log| format!(" ({log})"));
    format!(
        "the gate {name} fails before any work is done ({how}), and what fails now does not count \
         against an attempt: {output}{log}"
    )
}

/// A path below the root as it is written down.
fn below(root: &Path, path: &str) -> String {
    Path::new(path).strip_prefix(root).map_or(path.to_owned(), |p| p.display().to_string())
}
