//! One attempt: a transaction around a backend's run.

use std::path::Path;
use std::rc::Rc;

use jiff::Timestamp;
use ralph_core::cycle::{
    AttemptBase, BackendEnd, Candidate, Decision, End, Evidence, Failure, FailureKind, History,
    Record, Started, forbidden, judge, ledger,
};
use ralph_core::format::{Format, progress};
use ralph_core::plan::{Plan, Task};
use ralph_core::view::Tally;
use serde::Serialize;

use super::commit::Hooked;
use super::context::Preparation;
use super::error::DriveError;
use super::gating::{GateFindings, Gating};
use super::session::Session;
use super::working_tree::CollectedWork;
use crate::handoff_files;
use crate::store::Durability;

/// An attempt that has begun.
pub(super) struct Begun {
    /// As the journal has it.
    pub(super) started: Started,
    pub(super) task: Task,
    pub(super) base: AttemptBase,
    pub(super) at: Timestamp,
}

/// An attempt whose backend has ended, from its work to what the gates say about it.
pub(super) struct Ended {
    /// As the journal has it.
    pub(super) end: BackendEnd,
    pub(super) candidate: Candidate,
    /// What the gates found, once they have run; nothing after a crash.
    pub(super) gates: Option<Box<GateFindings>>,
    /// Why the work cannot be looked at.
    pub(super) damage: Option<String>,
    /// The message of its commit, as the hooks left it.
    pub(super) message: Option<Vec<u8>>,
}

impl Session<'_> {
    /// Work on a task once.
    pub(super) fn attempt(&mut self, task: Task) -> Result<(), DriveError> {
        let Some(backend) = self.free_backend()? else { return Ok(()) };
        if !self.pause_between()? {
            return Ok(());
        }
        let prepared = match self.prepare(&task)? {
            Preparation::Own => None,
            Preparation::Written(prompt) => Some(prompt),
            Preparation::Not => return Ok(()),
        };
        if !self.may_begin() {
            return Ok(());
        }
        self.leash = self.signals.cancel().inner();
        let Some((begun, plan, text)) = self.begin(task, backend)? else { return Ok(()) };
        let told = self.prompt(&begun, &plan, &text, prepared.as_deref(), backend)?;
        let ended = self.work(&begun, &plan, &told, backend)?;
        self.conclude(&begun, ended)?;
        self.follow_up(&begun)
    }

    /// Preparing takes time and money: whether there is still some of both, and nobody has asked for
    /// something else meanwhile.
    fn may_begin(&self) -> bool {
        let most = self.config.limits.max_cost;
        let left = most.is_none_or(|most| self.history.cost < most.get());
        // An agent goes on to the end of its iteration; asking again would never end there.
        left && self.stop_signal().is_none() && !self.mailbox.has_spoken()
    }

    /// The lane on its base, and the intent to run a backend. `None` when a person has taken the task out of
    /// the plan since it was chosen.
    fn begin(
        &mut self,
        task: Task,
        backend: usize,
    ) -> Result<Option<(Begun, Rc<Plan>, String)>, DriveError> {
        let at = self.clock.now();
        let attempt = self.ids.ulid(at);
        let iteration = self.next_iteration()?;
        let base = self.ready_lane(&self.keeper(&task), &attempt)?;
        if !self.is_wanted(&task)? {
            return Ok(None);
        }
        let chosen = self.choice.at(backend);
        let stamp = at.strftime("%Y%m%d-%H%M%S");
        let started = Started {
            attempt,
            run: self.run.clone(),
            iteration,
            task: task.id.to_string(),
            name: task.name.clone(),
            retries: task.retries,
            max_retries: max_retries(&task, self.config.max_retries),
            backend: chosen.name.clone(),
            model: chosen.model.clone(),
            log: Some(format!("build/ralph-logs/ralph-{stamp}-build-{iteration}.log")),
            tasks: Tally::of(&*self.known_plan()?),
        };
        let record = Record::AttemptStarted { started: started.clone(), base: base.clone() };
        self.record(record, Durability::Syncing)?;
        let now = self.clock.stamp();
        let ((_, text), syncing) = self.plan.change_when(
            || self.journal.settle(),
            |plan, text| ledger::begin(plan, text, &task.id, &now),
        )?;
        self.plan.wait(syncing)?;
        let plan = self.known_plan()?;
        Ok(Some((Begun { started, task, base, at }, plan, text)))
    }

    /// Whether the plan still has a task to be done: a person may have skipped or removed it.
    fn is_wanted(&mut self, task: &Task) -> Result<bool, DriveError> {
        let plan = self.read_plan()?.plan;
        Ok(plan.task(&task.id).is_some_and(|task| task.state.is_open()))
    }

    /// From the backend's end to the attempt's: judge, gate, land or roll back.
    pub(super) fn conclude(&mut self, begun: &Begun, mut ended: Ended) -> Result<(), DriveError> {
        if let Some(damage) = ended.damage.take() {
            let failure = Failure::new(FailureKind::Forbidden, damage);
            return self.roll_back(begun, Some(&ended.candidate), failure);
        }
        let mut hooks_changed_files = false;
        loop {
            match self.judge(begun, &ended) {
                Decision::Gate => match self.gate(begun, &ended.candidate)? {
                    Gating::Judged(findings) => ended.gates = Some(findings),
                    Gating::Failed(failure) => {
                        return self.roll_back(begun, Some(&ended.candidate), failure);
                    }
                    Gating::Unusable(end) => {
                        let failure = Failure::new(FailureKind::Interrupted, end.reason());
                        self.ending = Some(end);
                        return self.roll_back(begun, Some(&ended.candidate), failure);
                    }
                    Gating::Stopped => {
                        let failure =
                            Failure::new(FailureKind::Interrupted, "the gates were ended");
                        return self.roll_back(begun, Some(&ended.candidate), failure);
                    }
                },
                Decision::Land { landing, proof } => {
                    self.take_over_edits()?;
                    if !self.is_wanted(&begun.task)? {
                        let said = "the task was taken out of the plan while the agent worked";
                        let failure = Failure::new(FailureKind::Interrupted, said);
                        return self.roll_back(begun, Some(&ended.candidate), failure);
                    }
                    match self.run_hooks(begun, &ended, landing)? {
                        Hooked::Passed(message) => {
                            ended.message = Some(message);
                            return self.land(begun, &ended, landing, proof);
                        }
                        Hooked::Changed if hooks_changed_files => {
                            let said = "the hooks change files each time they run";
                            let failure = Failure::new(FailureKind::Hook, said);
                            return self.roll_back(begun, Some(&ended.candidate), failure);
                        }
                        Hooked::Changed => {
                            hooks_changed_files = true;
                            match self.collect_again(&begun.base)? {
                                CollectedWork::Candidate(new) => ended.candidate = new,
                                CollectedWork::Damaged(why) => {
                                    let failure = Failure::new(FailureKind::Hook, why);
                                    return self.roll_back(begun, Some(&ended.candidate), failure);
                                }
                            }
                            ended.gates = None;
                            ended.end.changed = ended.candidate.paths.len();
                        }
                        Hooked::Refused(failure) => {
                            return self.roll_back(begun, Some(&ended.candidate), failure);
                        }
                    }
                }
                Decision::Fail(failure) => {
                    return self.roll_back(begun, Some(&ended.candidate), failure);
                }
                Decision::Wait { until, reason } => {
                    return self.limit(begun, &ended, until, &reason);
                }
                Decision::Stop { .. } => {
                    let reason = ended.end.outcome.to_string();
                    let advice = ended.end.outcome.advice(&begun.started.backend);
                    let failure = Failure::new(FailureKind::Interrupted, reason.clone());
                    self.roll_back(begun, Some(&ended.candidate), failure)?;
                    self.ending = Some(End::Backend { reason, advice });
                    return Ok(());
                }
            }
        }
    }

    fn judge(&self, begun: &Begun, ended: &Ended) -> Decision {
        let names = ended.candidate.names();
        let mut forbidden = forbidden(names, &begun.task);
        let nested = ended.candidate.nested.iter();
        forbidden.extend(nested.map(|path| format!("{path} (a repository inside this one)")));
        judge(&Evidence {
            outcome: &ended.end.outcome,
            claim: &ended.end.claim,
            review: ended.end.review.as_deref(),
            changed: ended.end.changed,
            forbidden: &forbidden,
            partial_landings: self.history.partial_landings(&begun.started.task),
            verdict: ended.gates.as_ref().map(|findings| &findings.verdict),
        })
    }

    /// The number of the attempt or consultation that begins.
    pub(super) fn next_iteration(&self) -> Result<u32, DriveError> {
        let text = crate::store::read(&self.plan.path)?.unwrap_or_default();
        let logged = logged_iterations(self.format, &String::from_utf8_lossy(&text));
        next_iteration(&self.history, self.project.root(), logged)
    }
}

/// The highest iteration in the log of a plan file, where its format has one.
pub(super) fn logged_iterations(format: Format, text: &str) -> u32 {
    if format == Format::Progress { progress::last_iteration(text) } else { 0 }
}

/// A number that no attempt, no handoff and no row of the plan's own log has (`logged` is its highest),
/// unless a usage limit interrupted the last one.
pub(super) fn next_iteration(
    history: &History,
    root: &Path,
    logged: u32,
) -> Result<u32, DriveError> {
    let next = history.next_iteration();
    if next <= history.iteration {
        return Ok(next);
    }
    let next = next.max(logged.saturating_add(1));
    // Only this loop makes handoffs: after the first look the next number is known.
    let looked = history.of_run().next().is_some();
    if looked && handoff_files::is_free(root, next.into()) {
        return Ok(next);
    }
    let free = handoff_files::next_number(root, next.into())?;
    Ok(u32::try_from(free).unwrap_or(u32::MAX))
}

/// Attempts after the first.
pub(super) fn max_retries(task: &Task, configured: u32) -> u32 {
    task.max_retries.unwrap_or(configured)
}

/// A value for the journal. Ours always can be written.
pub(super) fn to_value(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}
