//! The gates of an attempt: run them, look at the base where that is needed, write the verdict down.

use std::path::{Path, PathBuf};

use ralph_core::control::Doing;
use ralph_core::cycle::{End, GateEnd, GateStart, On, Record, Result as Gates, Started};
use ralph_core::doctor;
use ralph_core::gate::judges::{FileChange, JudgeChange, judge_changes, may_judge};
use ralph_core::gate::{self, Baselines, Check, Gate, GateVerdict, Verdict};

use super::attempt::{Begun, Ended};
use super::control::ear;
use super::error::DriveError;
use super::preflight::gate_advice;
use super::session::{Red, Session};
use crate::crash;
use crate::gates::{GateError, GateNews, GateRun, run_gate, write_report};
use crate::git::{Changes, GateEffects};
use crate::proc::Bounds;
use crate::store::Durability;

/// Where the outputs and verdicts of gates are kept.
const DIRECTORY: &str = ".ralph/logs/validation";

/// What the gates came to.
pub(super) struct Gated {
    /// In a word.
    pub(super) result: Gates,
    /// For the retry's prompt.
    pub(super) context: String,
    /// The end of the run, when a gate cannot be run at all.
    pub(super) unusable: Option<End>,
}

impl Session<'_> {
    /// Run the gates on what the backend left. `None` when somebody wants an end first.
    pub(super) fn gate(
        &mut self,
        begun: &Begun,
        ended: &mut Ended,
    ) -> Result<Option<Gated>, DriveError> {
        let logs = self.gate_logs(begun, On::Result);
        let (gates, root) = (self.gates.clone(), self.project.root().to_owned());
        let Some(checks) = self.run_all(&gates, &logs, On::Result, &root)? else { return Ok(None) };
        let effects = self.repo.after_gates(&begun.base, &mut ended.changes)?;
        self.as_gated = effects == GateEffects::default();
        if !effects.removed.is_empty() {
            let names: Vec<String> = effects.removed.iter().map(ToString::to_string).collect();
            self.warn(&format!("gates made new files, which were removed: {}", names.join(", ")));
        }
        let base = match self.look_at_base(begun, &ended.changes, &checks)? {
            Some(base) => base,
            None => return Ok(None),
        };
        let judges = self.changed_judges(begun, &ended.changes);
        let verdict = gate::judge(checks, &base, judges, self.config.judges);
        let context = self.record_verdict(begun, &verdict)?;
        self.last_checks = verdict.checks.iter().map(|judged| judged.check.clone()).collect();
        let unusable = self.last_checks.iter().find(|check| base.cannot_run(check));
        let unusable = unusable.and_then(|check| self.unusable(check));
        Ok(Some(Gated { unusable, ..self.summed_up(&verdict, context) }))
    }

    /// A retry would only be paid to meet the same gate.
    fn unusable(&self, check: &Check) -> Option<End> {
        let gate = self.gates.iter().find(|gate| gate.name == check.name)?;
        let why = doctor::last_line(check);
        let how = check.ending.describe();
        let reason = format!("the gate {} cannot be run ({how}): {why}", gate.name);
        Some(End::Gate { reason, advice: gate_advice(gate) })
    }

    /// The gates that are red now and unknown at the base are run there once.
    fn look_at_base(
        &mut self,
        begun: &Begun,
        changes: &Changes,
        checks: &[Check],
    ) -> Result<Option<Baselines>, DriveError> {
        let wanted: Vec<Gate> = self
            .baselines
            .wanted(checks)
            .into_iter()
            .filter_map(|check| self.gates.iter().find(|gate| gate.name == check.name).cloned())
            .collect();
        if wanted.is_empty() {
            return Ok(Some(self.baselines.clone()));
        }
        crash::point();
        let on_base = self.repo.restore_base(&begun.base, changes)?;
        crash::point();
        let logs = self.gate_logs(begun, On::Base);
        let root = self.project.root().to_owned();
        let ran = self.run_all(&wanted, &logs, On::Base, &root);
        crash::point();
        self.repo.reapply(&begun.base, &on_base)?;
        crash::point();
        let Some(ran) = ran? else { return Ok(None) };
        ran.iter().for_each(|check| self.baselines.record(check));
        Ok(Some(self.baselines.clone()))
    }

    /// How the paths of the logs begin: one directory for all attempts, not one for each.
    pub(super) fn gate_logs(&self, begun: &Begun, on: On) -> PathBuf {
        let name = match on {
            On::Result => format!("iter-{}", begun.started.iteration),
            On::Base => format!("iter-{}-base", begun.started.iteration),
            On::Alone => format!("iter-{}-alone", begun.started.iteration),
        };
        self.project.root().join(DIRECTORY).join(name)
    }

    pub(super) fn run_all(
        &mut self,
        gates: &[Gate],
        logs: &Path,
        on: On,
        place: &Path,
    ) -> Result<Option<Vec<Check>>, DriveError> {
        let root = self.project.root().to_owned();
        let last = self.history.attempts.last().map(|view| view.started.clone());
        let Started { attempt, task, .. } = last.unwrap_or_default();
        let mut ear = ear!(self);
        let (runner, leash) = (self.runner, &self.leash);
        let mut trouble = None;
        let run =
            GateRun { cwd: place, logs, grace: Bounds::default().grace, cancel: leash.clone() };
        let mut checks = Vec::new();
        for gate in gates {
            let start = GateStart { attempt: attempt.clone(), gate: gate.name.clone(), on };
            // Whoever looks sees it at once; nothing depends on it, so nothing waits for the disk.
            ear.record(Record::GateStarted(start.clone()), Durability::Eventual)?;
            let mut over = None;
            let mut hear = |news: GateNews<'_>| match news {
                GateNews::Over(check) => {
                    let took_ms = u64::try_from(check.took.as_millis()).unwrap_or(u64::MAX);
                    let passed = check.is_green();
                    over = Some(GateEnd { start: start.clone(), passed, took_ms });
                }
                GateNews::Begins(_) | GateNews::Line(..) => {}
                GateNews::Runs(..) if trouble.is_some() => {}
                GateNews::Runs(..) => trouble = ear.listen(Doing::Attempt(&task)).err(),
            };
            let ran = run_gate(runner, gate, &run, &mut hear);
            if let Some(trouble) = trouble.take() {
                return Err(trouble);
            }
            ear.listen_after(Doing::Attempt(&task))?;
            if let Some(over) = over {
                ear.record(Record::GateEnded(over), Durability::Eventual)?;
            }
            match ran {
                Ok(mut check) => {
                    check.log = check.log.map(|log| below(&root, &log));
                    checks.push(check);
                }
                Err(GateError::Cancelled) => return Ok(None),
                Err(GateError::Proc { source, .. }) => return Err(source.into()),
            }
        }
        Ok(Some(checks))
    }

    /// Tests, manifests and the like that the attempt changed.
    fn changed_judges(&mut self, begun: &Begun, changes: &Changes) -> Vec<JudgeChange> {
        let paths: Vec<_> = changes
            .paths
            .iter()
            .filter(|change| may_judge(&change.path.to_string()))
            .map(|change| change.path.clone())
            .collect();
        if paths.is_empty() {
            return Vec::new();
        }
        let before = match self.repo.texts_before(&begun.base, &paths) {
            Ok(texts) => texts,
            Err(e) => {
                self.warn(&format!("changed tests are not compared: {e}"));
                return Vec::new();
            }
        };
        let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let after: Vec<Option<String>> = paths
            .iter()
            .map(|path| {
                let bytes = crate::store::read(&self.repo.file(path)).ok().flatten()?;
                String::from_utf8(bytes).ok()
            })
            .collect();
        let files: Vec<FileChange<'_>> = names
            .iter()
            .zip(&before)
            .zip(&after)
            .map(|((path, before), after)| FileChange {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
            })
            .collect();
        judge_changes(&files)
    }

    /// Write the verdict to its file and to the journal. Returns what stands in the way, as text.
    fn record_verdict(&mut self, begun: &Begun, verdict: &Verdict) -> Result<String, DriveError> {
        let iteration = begun.started.iteration;
        let directory = self.project.root().join(DIRECTORY);
        let strategy = self.config.gate_strategy;
        let report = write_report(&directory, iteration.into(), verdict, strategy, &self.clock)?;
        let noted = GateVerdict::of(&begun.started.attempt, verdict, Some(self.relative(&report)));
        let context = noted.failure_context();
        self.record(Record::Judged(noted), Durability::Eventual)?;
        Ok(context)
    }

    fn summed_up(&mut self, verdict: &Verdict, context: String) -> Gated {
        self.red = verdict.fingerprint().map(|fingerprint| {
            let names: Vec<String> = verdict.blockers.iter().map(blocker).collect();
            Red { message: names.join("; "), fingerprint }
        });
        let result = match (verdict.passed(), verdict.is_proven()) {
            (false, _) => Gates::Red,
            (true, true) => Gates::Green,
            (true, false) => Gates::Unproven,
        };
        Gated { result, context, unusable: None }
    }
}

fn blocker(blocker: &gate::Blocker) -> String {
    match blocker {
        gate::Blocker::Gate(name) => format!("{name} failed"),
        gate::Blocker::Judges(paths) => format!("it changed {}", paths.join(", ")),
    }
}

/// A path below the root as it is written down.
fn below(root: &Path, path: &str) -> String {
    Path::new(path).strip_prefix(root).map_or(path.to_owned(), |p| p.display().to_string())
}
