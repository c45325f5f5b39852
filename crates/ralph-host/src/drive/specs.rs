//! Specs of a plan: one commit each where that is wanted, and a section in PROGRESS.md.
//!
//! With `commit = "spec"` every attempt lands on the spec's own ref, under a name that does not change
//! from run to run, so that a restart goes on with it. When the last task is out of the way, the ref's
//! difference becomes one commit on the tip ([`super::spec_landing`]).

use ralph_core::config::{CommitScope, Config};
use ralph_core::cycle::RunCommand;
use ralph_core::format::PlanFormat;
use ralph_core::memory::{CompletedSpec, spec_done};
use ralph_core::plan::{Plan, SpecEntry, Task, TaskState};

use super::attempt::AttemptRun;
use super::error::DriveError;
use super::landing::subject;
use super::session::RunSession;
use super::spec_landing::{FinishedSpec, SpecTipCheck, done_tasks};
use crate::git::CommitMessage;
use crate::store::replace;

/// Name of the history file beside implementation.json.
const PROGRESS: &str = "PROGRESS.md";

impl RunSession<'_> {
    pub(super) fn scope(&self) -> CommitScope {
        match self.kind {
            RunCommand::Agent => CommitScope::Spec,
            _ => scope_of(&self.config, self.format),
        }
    }

    /// The name under which git keeps what belongs together: a run, or a spec over several runs.
    pub(super) fn keeper(&self, task: &Task) -> String {
        match (self.scope(), task.spec.as_deref().or(self.current_spec.as_deref())) {
            (CommitScope::Task, _) => self.run_id().to_owned(),
            (CommitScope::Spec, spec) => spec_keeper(spec.unwrap_or("all")),
        }
    }

    /// The plan says that this task is done. If that completes its spec, PROGRESS.md says so, in time
    /// for the commit.
    pub(super) fn note_finished_spec(&mut self, run: &AttemptRun) -> Result<(), DriveError> {
        if self.format != PlanFormat::Implementation {
            return Ok(());
        }
        let plan = self.read_plan()?.plan;
        let Some(spec) = finished(&plan, &run.task) else { return Ok(()) };
        let tasks: Vec<&Task> = plan.tasks.iter().filter(|t| t.spec == run.task.spec).collect();
        let view = self.history.attempt(&run.started.attempt);
        let verdict = view.and_then(|view| view.verdict.as_ref());
        let now = self.clock.stamp();
        let subject = self.spec_subject(spec);
        let home = self.project.shown_path(&self.plan.path).with_file_name(PROGRESS);
        let path = self.project.ledger_path(&home);
        let old = crate::store::read(&path)?.unwrap_or_default();
        let done = CompletedSpec {
            date: now.get(..10).unwrap_or_default(),
            name: name(spec),
            tasks: &tasks,
            gates: verdict.map(|verdict| verdict.checks.as_slice()).unwrap_or_default(),
            commit: Some(&subject),
        };
        let new = spec_done(&String::from_utf8_lossy(&old), &done);
        if new.as_bytes() != old {
            replace(&path, new.as_bytes())?;
        }
        Ok(())
    }

    /// The words with which the commit of a spec's last task names the spec.
    pub(super) fn completes_spec(&mut self, task: &Task) -> String {
        let plan = self.known_plan();
        let spec = plan.as_ref().ok().and_then(|plan| finished_with(plan, task));
        spec.map(|spec| format!("Completes the spec: {}", name(spec))).unwrap_or_default()
    }

    /// Specs whose tasks are all out of the way get their commit. Returns why one did not get it: its work
    /// stays under its ref, and the next start tries again.
    pub(super) fn land_finished_specs(&mut self) -> Result<Option<String>, DriveError> {
        // The agent says itself when a spec is done.
        if self.scope() != CommitScope::Spec || self.kind == RunCommand::Agent {
            return Ok(None);
        }
        let plan = self.read_plan()?.plan;
        let mut specs: Vec<FinishedSpec> = Vec::new();
        for task in plan.all_tasks() {
            let keeper = self.keeper(&task);
            if specs.iter().any(|known| known.keeper == keeper) || !is_finished(&plan, &task) {
                continue;
            }
            let entry = plan.specs.iter().find(|s| Some(&s.id) == task.spec.as_ref());
            let subject = match entry {
                Some(spec) => self.spec_subject(spec),
                None => {
                    let text = task.spec.as_deref().unwrap_or("all tasks");
                    subject(&self.config.commit_prefix, "spec", text)
                }
            };
            let trailers = vec![("Ralph-Run".into(), self.run_id().to_owned())];
            specs.push(FinishedSpec {
                keeper,
                spec: entry.map(|spec| name(spec).to_owned()).or_else(|| task.spec.clone()),
                entry: None,
                tasks: done_tasks(&plan, task.spec.as_deref()),
                message: CommitMessage { subject, body: String::new(), trailers },
            });
        }
        let mut refused = None;
        for finished in specs {
            refused = refused.or(self.land_finished_spec(&finished)?);
        }
        Ok(refused)
    }

    fn land_finished_spec(
        &mut self,
        finished: &FinishedSpec,
    ) -> Result<Option<String>, DriveError> {
        let refusal = match self.fit_spec_to_tip(&finished.keeper)? {
            SpecTipCheck::Stopped => return Ok(None),
            SpecTipCheck::Broken(why) => Some(why),
            SpecTipCheck::Proven => self.land_spec(finished)?.err(),
        };
        self.arrive()?;
        Ok(refusal.map(|why| format!("{} is not committed yet: {why}", finished.message.subject)))
    }

    /// The same while the run goes on.
    pub(super) fn land_specs_on_the_way(&mut self) -> Result<(), DriveError> {
        if let Some(why) = self.land_finished_specs()? {
            self.warn(&why);
        }
        Ok(())
    }

    fn spec_subject(&self, spec: &SpecEntry) -> String {
        subject(&self.config.commit_prefix, "spec", name(spec))
    }
}

/// Return the scope of one commit for a plan of this format.
pub(super) fn scope_of(config: &Config, format: PlanFormat) -> CommitScope {
    config.commit.unwrap_or(match format {
        PlanFormat::Implementation => CommitScope::Spec,
        PlanFormat::Jsonl | PlanFormat::Deluxe | PlanFormat::Progress => CommitScope::Task,
    })
}

fn name(spec: &SpecEntry) -> &str {
    spec.name.as_deref().unwrap_or(&spec.id)
}

/// The spec of a task, when all of its tasks are out of the way.
fn finished<'p>(plan: &'p Plan, task: &Task) -> Option<&'p SpecEntry> {
    let spec = plan.specs.iter().find(|s| Some(&s.id) == task.spec.as_ref())?;
    is_finished(plan, task).then_some(spec)
}

/// The spec of a task, when all of its other tasks are out of the way.
fn finished_with<'p>(plan: &'p Plan, task: &Task) -> Option<&'p SpecEntry> {
    let spec = plan.specs.iter().find(|s| Some(&s.id) == task.spec.as_ref())?;
    let mut others = plan.tasks.iter().filter(|t| t.spec == task.spec && t.id != task.id);
    others.all(|t| matches!(t.state, TaskState::Accepted | TaskState::Skipped)).then_some(spec)
}

fn is_finished(plan: &Plan, task: &Task) -> bool {
    let mut of_spec = plan.tasks.iter().filter(|t| t.spec == task.spec);
    of_spec.all(|t| matches!(t.state, TaskState::Accepted | TaskState::Skipped))
}

/// Prefix of the names under which git keeps the work on specs.
const OF_SPEC: &str = "spec-";

/// The name under which git keeps the work on a spec.
pub(super) fn spec_keeper(spec: &str) -> String {
    format!("{OF_SPEC}{}", slug(spec))
}

/// Return the scope of one commit for work that git keeps under this name. An attempt belongs to the
/// loop that began it, even if another loop finishes it.
pub(super) fn scope_of_keeper(keeper: &str) -> CommitScope {
    match keeper.starts_with(OF_SPEC) {
        true => CommitScope::Spec,
        false => CommitScope::Task,
    }
}

/// A name that git takes as a part of a ref.
pub(super) fn slug(text: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars().map(word).collect::<String>().trim_matches('-').to_owned()
}
