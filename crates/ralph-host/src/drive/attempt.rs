//! One attempt: a transaction around a backend's run.

use std::path::Path;
use std::rc::Rc;

use jiff::Timestamp;
use ralph_core::cycle::{
    AttemptBase, AttemptDecision, AttemptEvidence, AttemptFailure, AttemptStart, BackendEnd,
    Candidate, FailureKind, History, JournalRecord, LoopEnd, forbidden, judge, ledger,
};
use ralph_core::format::{PlanFormat, progress};
use ralph_core::plan::{Plan, Task};
use ralph_core::view::TaskTally;

use super::backend_mailbox::RunningProcesses;
use super::commit::CommitHookResult;
use super::error::{DriveError, LoopHalt};
use super::gating::{GateFindings, GatingResult};
use super::material::PromptText;
use super::session::RunSession;
use super::working_tree::CollectedWork;
use crate::handoff_files;
use crate::store::Durability;

/// One attempt at a task. The work half fills it in up to the candidate, and the land half takes it from
/// there; nothing about an attempt stands in the session.
pub(super) struct AttemptRun {
    /// Start record of the attempt, as it is in the journal.
    pub(super) started: AttemptStart,
    pub(super) task: Task,
    pub(super) base: AttemptBase,
    pub(super) started_at: Timestamp,
    pub(super) prompt: PromptText,
    /// Handles to end its processes and to answer their requests.
    pub(super) running: RunningProcesses,
    /// End of the backend's run; `None` until it has ended.
    pub(super) end: Option<BackendEnd>,
    /// Work that the backend left; `None` before its end, or when a crash lost the work.
    pub(super) work: Option<CollectedWork>,
    /// Findings of the gates on the candidate; `None` until they have run.
    pub(super) gates: Option<Box<GateFindings>>,
    /// The message of its commit, as the hooks left it.
    pub(super) message: Option<Vec<u8>>,
}

impl AttemptRun {
    pub(super) fn new(
        started: AttemptStart,
        task: Task,
        base: AttemptBase,
        started_at: Timestamp,
        running: RunningProcesses,
    ) -> Self {
        let (end, work, gates, message) = (None, None, None, None);
        let prompt = PromptText::default();
        Self { started, task, base, started_at, prompt, running, end, work, gates, message }
    }

    /// The tree that it leaves, where that can be looked at.
    pub(super) fn candidate(&self) -> Option<&Candidate> {
        match &self.work {
            Some(CollectedWork::Candidate(candidate)) => Some(candidate),
            Some(CollectedWork::Damaged(_)) | None => None,
        }
    }

    /// The files that its backend changed.
    pub(super) fn changed_files(&self) -> Vec<String> {
        self.candidate().map(Candidate::names).unwrap_or_default()
    }
}

impl RunSession<'_> {
    /// Make one attempt at a task, from its preparation to its landing or failure.
    pub(super) fn run_attempt(&mut self, task: Task) -> Result<(), LoopHalt> {
        self.arrive_before_attempt()?;
        let backend = self.free_backend()?;
        self.pause_between()?;
        let id = self.ids.ulid(self.clock.now());
        self.check_message_hook(&task, &id)?;
        self.gate_base(&task, &id)?;
        let prepared = self.prepare_prompt(&task)?;
        if !self.limits_allow_start() {
            return Err(LoopHalt::LookAgain);
        }
        let (mut run, plan, text) = self.start_attempt(task, id, backend)?;
        run.prompt = self.prompt(&run, &plan, &text, prepared.as_deref(), backend)?;
        self.run_backend(&mut run, &plan, backend)?;
        self.conclude(&mut run)?;
        self.run_passes(&run)
    }

    /// Preparing takes time and money: whether there is still some of both, and nobody has asked for
    /// something else meanwhile.
    fn limits_allow_start(&self) -> bool {
        let most = self.config.limits.max_cost;
        let left = most.is_none_or(|most| self.history.cost < most.get());
        // An agent goes on to the end of its iteration; asking again would never end there.
        left && self.stop_signal().is_none() && !self.mailbox.has_spoken()
    }

    /// The lane on its base, and the intent to run a backend.
    fn start_attempt(
        &mut self,
        task: Task,
        attempt: String,
        backend: usize,
    ) -> Result<(AttemptRun, Rc<Plan>, String), LoopHalt> {
        let at = self.clock.now();
        let iteration = self.next_iteration()?;
        let base = self.ready_lane(&self.keeper(&task), &attempt)?;
        // Its setup may have taken minutes.
        if !self.is_task_open(&task)? || !self.limits_allow_start() {
            return Err(LoopHalt::LookAgain);
        }
        let chosen = self.choice.at(backend);
        let stamp = at.strftime("%Y%m%d-%H%M%S");
        let started = AttemptStart {
            attempt,
            run: self.run_id().to_owned(),
            iteration,
            task: task.id.to_string(),
            name: task.name.clone(),
            retries: task.retries,
            max_retries: max_retries(&task, self.config.max_retries),
            backend: chosen.name.clone(),
            model: chosen.model.clone(),
            log: Some(format!("build/ralph-logs/ralph-{stamp}-build-{iteration}.log")),
            tasks: TaskTally::of(&*self.known_plan()?),
        };
        let record = JournalRecord::AttemptStarted { started: started.clone(), base: base.clone() };
        self.record(record, Durability::Syncing)?;
        let (now, is_shown) = (self.clock.stamp(), !self.work.ledger.has_copy(&self.plan.shown));
        let (_, text) = self.plan.change_when(
            || self.journal.settle(),
            |plan, text| match is_shown {
                true => ledger::begin(plan, text, &task.id, &now),
                // Nobody reads the run's own copy but ralph, which has the journal.
                false => Ok(text.to_owned()),
            },
        )?;
        self.plan.wait()?;
        let plan = self.known_plan()?;
        let (lane, id) = (&self.work.lane, &started.attempt);
        let running = RunningProcesses::new(lane, &self.signals, id, &started.task);
        Ok((AttemptRun::new(started, task, base, at, running), plan, text))
    }

    /// The same once an attempt has worked on it, with what the person has written by now. A landing that
    /// a crash interrupted may have told the plan already that the task is done.
    fn is_task_still_open(&mut self, run: &AttemptRun) -> Result<bool, DriveError> {
        let open = self.history.open.as_ref();
        let open = open.filter(|open| open.started.attempt == run.started.attempt);
        if open.is_some_and(|open| open.intent.is_some()) {
            return Ok(true);
        }
        self.take_over_edits()?;
        self.is_task_open(&run.task)
    }

    /// Whether the plan still has a task to be done: a person may have skipped or removed it.
    fn is_task_open(&mut self, task: &Task) -> Result<bool, DriveError> {
        let plan = self.read_plan()?.plan;
        Ok(plan.task(&task.id).is_some_and(|task| task.state.is_open()))
    }

    /// From the backend's end to the attempt's. Code of the project that takes the lane away fails it.
    pub(super) fn conclude(&mut self, run: &mut AttemptRun) -> Result<(), LoopHalt> {
        match self.judge_and_land(run) {
            Err(LoopHalt::Error(error)) if self.is_open(run) => match error.lane_damage() {
                Some(damage) => {
                    Ok(self.roll_back(run, AttemptFailure::new(FailureKind::Forbidden, damage))?)
                }
                None => Err(error.into()),
            },
            concluded => concluded,
        }
    }

    fn is_open(&self, run: &AttemptRun) -> bool {
        let open = self.history.open.as_ref();
        open.is_some_and(|open| open.started.attempt == run.started.attempt)
    }

    /// Judge, gate, land or roll back.
    fn judge_and_land(&mut self, run: &mut AttemptRun) -> Result<(), LoopHalt> {
        if let Some(CollectedWork::Damaged(damage)) = &run.work {
            let failure = AttemptFailure::new(FailureKind::Forbidden, damage.clone());
            return Ok(self.roll_back(run, failure)?);
        }
        let mut hooks_changed_files = false;
        loop {
            let failure = match self.judge(run) {
                AttemptDecision::Gate => match self.gate_candidate(run)? {
                    None => continue,
                    Some(failure) => failure,
                },
                AttemptDecision::Land { .. } if !self.is_task_still_open(run)? => {
                    let said = "the task was taken out of the plan while the agent worked";
                    AttemptFailure::new(FailureKind::Interrupted, said)
                }
                AttemptDecision::Land { landing, proof } => match self.run_hooks(run, landing)? {
                    CommitHookResult::Passed(message) => {
                        run.message = Some(message);
                        return Ok(self.land(run, landing, proof)?);
                    }
                    CommitHookResult::Changed(_) if hooks_changed_files => {
                        let said = "the hooks change files each time they run";
                        AttemptFailure::new(FailureKind::Hook, said)
                    }
                    CommitHookResult::Changed(hooks) => {
                        match self.collect_hook_changes(run, &hooks)? {
                            None => {
                                hooks_changed_files = true;
                                continue;
                            }
                            Some(failure) => failure,
                        }
                    }
                    CommitHookResult::Refused(failure) => failure,
                },
                AttemptDecision::Fail(failure) => failure,
                AttemptDecision::Wait { until, reason } => {
                    return Ok(self.end_limited_attempt(run, until, &reason)?);
                }
                AttemptDecision::Stop { reason } => {
                    let outcome = run.end.as_ref().map(|end| &end.outcome);
                    let advice = outcome.and_then(|outcome| outcome.advice(&run.started.backend));
                    let failure = AttemptFailure::new(FailureKind::Interrupted, reason.clone());
                    self.roll_back(run, failure)?;
                    return Err(LoopHalt::End(LoopEnd::Backend { reason, advice }));
                }
            };
            return Ok(self.roll_back(run, failure)?);
        }
    }

    /// Run the gates on the candidate. Returns why the attempt has failed, where they give no verdict.
    fn gate_candidate(&mut self, run: &mut AttemptRun) -> Result<Option<AttemptFailure>, LoopHalt> {
        match self.gate_attempt(run)? {
            GatingResult::Judged(findings) => {
                run.gates = Some(findings);
                Ok(None)
            }
            GatingResult::Failed(failure) => Ok(Some(failure)),
            GatingResult::Unusable(end) => {
                let failure = AttemptFailure::new(FailureKind::Interrupted, end.reason());
                self.roll_back(run, failure)?;
                Err(LoopHalt::End(end))
            }
            GatingResult::Stopped => {
                Ok(Some(AttemptFailure::new(FailureKind::Interrupted, "the gates were ended")))
            }
        }
    }

    /// Hooks made another candidate, which no gate has seen. Returns why it cannot be looked at.
    fn collect_hook_changes(
        &mut self,
        run: &mut AttemptRun,
        hooks: &str,
    ) -> Result<Option<AttemptFailure>, LoopHalt> {
        // The index is about to become what the hooks left; the work stays known until that is judged.
        self.work_tree().set_candidate_aside(&run.base)?;
        let candidate = match self.collect_again(&run.base)? {
            CollectedWork::Damaged(why) => {
                return Ok(Some(AttemptFailure::new(FailureKind::Hook, why)));
            }
            CollectedWork::Candidate(candidate) if candidate.paths.is_empty() => {
                let said = format!(
                    "the commit hook took the work away, as `git stash` and `git reset` do, and left no \
                     file changed; the work is kept. The hook and what it printed: {hooks}"
                );
                return Ok(Some(AttemptFailure::new(FailureKind::Hook, said.trim_end())));
            }
            CollectedWork::Candidate(candidate) => candidate,
        };
        self.work_tree().forget_candidate(&run.base)?;
        run.gates = None;
        if let Some(end) = &mut run.end {
            end.changed = candidate.paths.len();
        }
        run.work = Some(CollectedWork::Candidate(candidate));
        Ok(None)
    }

    fn judge(&self, run: &AttemptRun) -> AttemptDecision {
        let (Some(end), Some(candidate)) = (&run.end, run.candidate()) else {
            return AttemptDecision::Fail(AttemptFailure::new(
                FailureKind::Interrupted,
                "its work is lost",
            ));
        };
        let mut forbidden = forbidden(candidate.names(), &run.task);
        let nested = candidate.nested.iter();
        forbidden.extend(nested.map(|path| format!("{path} (a repository inside this one)")));
        judge(&AttemptEvidence {
            outcome: &end.outcome,
            claim: &end.claim,
            review: end.review.as_deref(),
            changed: end.changed,
            forbidden: &forbidden,
            partial_landings: self.history.partial_landings(&run.started.task),
            verdict: run.gates.as_ref().map(|findings| &findings.verdict),
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
pub(super) fn logged_iterations(format: PlanFormat, text: &str) -> u32 {
    if format == PlanFormat::Progress { progress::last_iteration(text) } else { 0 }
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

/// Return the most attempts that may follow the first one.
pub(super) fn max_retries(task: &Task, configured: u32) -> u32 {
    task.max_retries.unwrap_or(configured)
}
