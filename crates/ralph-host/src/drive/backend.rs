//! The backend's run within an attempt: prompt in, claim and changes out.

use std::time::Duration;

use ralph_core::agent_role::AgentRole;
use ralph_core::backend::{BackendOutcome, RunUsage, SessionStart, cost, system_in_prompt};
use ralph_core::claim::{self, AgentReply, Claim, ClaimSources};
use ralph_core::config::StageName;
use ralph_core::control::LoopActivity;
use ralph_core::cycle::{BackendEnd, Candidate, JournalRecord, Remark, is_ticked};
use ralph_core::handoff;
use ralph_core::limits::{LimitMonitor, MonitorAction};
use ralph_core::plan::{Plan, Task};
use ralph_core::text::{clip, one_line};

use super::attempt::AttemptRun;
use super::backend_mailbox::CallerRole;
use super::control::{COMPACTING, ear};
use super::error::DriveError;
use super::guard::PlanEditor;
use super::material::PromptText;
use super::session::RunSession;
use super::terms::{RequestTerms, run_limits, variables, window};
use super::working_tree::CollectedWork;
use crate::backends::{BackendCall, BackendNotice, BackendRunReport, FullContextPolicy};
use crate::crash;
use crate::proc::JobBounds;
use crate::redaction::{hide_in, put_log, redactor};
use crate::run_ledger::read_from_lane;
use crate::session::{SessionReport, SessionWork, run_session};
use crate::store::Durability;

/// Longest story of an attempt, in characters.
const LONGEST_STORY: usize = 300;
/// Longest summary of an attempt, in characters.
const LONGEST_SUMMARY: usize = 72;

impl RunSession<'_> {
    /// Prompt, run, listen, collect; the result is in the journal when this returns.
    pub(super) fn run_backend(
        &mut self,
        run: &mut AttemptRun,
        plan: &Plan,
        backend: usize,
    ) -> Result<(), DriveError> {
        let PromptText { text, system } = &run.prompt;
        self.save_prompt(run, &system_in_prompt(system.as_deref(), text))?;
        self.journal.settle()?;
        let prices = self.choice.at(backend).settings.prices.clone();
        let mut limits = run_limits(&self.config, self.kind, StageName::Build, self.history.cost);
        limits.window = window(self.choice.at(backend));
        limits.timeout = run.task.timeout_ms.map(Duration::from_millis).or(limits.timeout);
        let mut monitor =
            LimitMonitor::knowing(limits, self.windows.clone()).priced(prices.clone());
        let found = self.open_ledger_to_agent()?;
        let (iteration, task) = (run.started.iteration, run.task.id.clone());
        let role = CallerRole::Attempt { iteration, task };
        self.backend_mailbox.open(&mut run.running, role, &self.plan.shown)?;
        let (report, reply, spent) = self.ask_and_repair(run, plan, backend, &mut monitor)?;
        run.running.close_mailbox();
        self.remember_windows(monitor.windows());
        crash::point();
        let by = PlanEditor::of(&run.started);
        self.restore_ledger(&found, AgentRole::Build, &by)?;
        crash::point();
        self.guard_plan(&found.plan, &by)?;
        self.guard_home(&found, &by)?;
        self.tell_left_out(&found.lane, AgentRole::Build)?;
        self.check_git_settings(&found.lane)?;
        crash::point();
        self.note_added_tasks(run, plan)?;
        let work = self.collect(&run.base)?;
        let candidate = match &work {
            CollectedWork::Candidate(candidate) => candidate.clone(),
            CollectedWork::Damaged(_) => Candidate::default(),
        };
        let (handoff, handoff_bytes) =
            self.keep_handoff(run, &reply, &candidate, &report.outcome)?;
        let end = BackendEnd {
            attempt: run.started.attempt.clone(),
            outcome: report.outcome.clone(),
            cost: cost(&spent, &prices),
            tokens: spent.input.zip(spent.output),
            session: report.session.clone(),
            claim: reply.claim.clone(),
            review: reply.review(),
            summary: summary(&reply, &run.task),
            story: story(&reply),
            changed: candidate.paths.len(),
            handoff,
            handoff_bytes,
            took_ms: u64::try_from(report.finished.elapsed.as_millis()).unwrap_or(u64::MAX),
        };
        let record = JournalRecord::BackendEnded { end: end.clone(), candidate };
        self.record(record, Durability::Syncing)?;
        (run.end, run.work) = (Some(end), Some(work));
        Ok(())
    }

    /// Ask the backend, and once more where its answer cannot be read.
    fn ask_and_repair(
        &mut self,
        run: &AttemptRun,
        plan: &Plan,
        backend: usize,
        monitor: &mut LimitMonitor,
    ) -> Result<(BackendRunReport, AgentReply, RunUsage), DriveError> {
        let asked =
            self.ask_backend(run, backend, (&run.prompt.text, SessionStart::New), monitor)?;
        let (mut report, mut spent) = (asked.last, asked.spent);
        report.find_reset(&self.clock);
        let mut reply = self.read_claims(run, plan, &report)?;
        if let Some((question, id)) = self.ask_repair_question(backend, &report, &reply) {
            let session = SessionStart::Resume { id: &id, before: spent };
            let asked = self.ask_backend(run, backend, (&question, session), monitor)?;
            spent = spent.plus(asked.spent);
            let again = asked.last;
            let second = self.read_claims(run, plan, &again)?;
            if !second.is_silent() {
                (reply, report) = (second, again);
            }
        }
        let unread =
            matches!(report.outcome, BackendOutcome::Success | BackendOutcome::Malformed { .. });
        if let Some(message) = report.too_long().filter(|_| unread && reply.is_silent()) {
            report.outcome = BackendOutcome::Malformed { message };
        }
        Ok((report, reply, spent))
    }

    /// Run the backend once, in a new session or in one that it has begun.
    fn ask_backend(
        &mut self,
        run: &AttemptRun,
        backend: usize,
        (question, session): (&str, SessionStart<'_>),
        monitor: &mut LimitMonitor,
    ) -> Result<SessionReport, DriveError> {
        let root = self.project.root().to_owned();
        let log = run.started.log.as_ref().map(|log| root.join(log));
        let scratch = self.project.state_dir();
        let env = variables(&run.started.attempt, &run.task, run.running.mailbox_variable());
        let terms = RequestTerms::of(&self.config, &root, &run.task, self.history.cost)?;
        let terms = terms.with_tools(&self.config, &env)?;
        let mut ear = ear!(self, &run.running);
        let Self { choice, runner, repo: home, work: run_lane, .. } = self;
        let repo = run_lane.lane.repo();
        let chosen = choice.at(backend);
        let call = BackendCall {
            driver: &*chosen.driver,
            program: Some(&chosen.program),
            args: &chosen.args,
            env: &env,
            surroundings: &run.running.surroundings,
            request: terms.request(chosen, (question, run.prompt.system.as_deref()), session),
            cwd: &run.running.root,
            scratch: &scratch,
            log: log.as_deref(),
            on_compact: FullContextPolicy::Stop,
            bounds: JobBounds::default(),
            cancel: run.running.leash.clone(),
        };
        let mut trouble = None;
        let doing = LoopActivity::Attempt(run.task.id.as_str());
        let mut hear = |heard: BackendNotice<'_>| match heard {
            BackendNotice::Event(event) => ear.stream(&run.started.attempt, event),
            BackendNotice::Decision(MonitorAction::Stop(_)) => {}
            BackendNotice::Decision(_) | BackendNotice::Started | BackendNotice::Tick
                if trouble.is_some() => {}
            BackendNotice::Decision(MonitorAction::Warn(text)) => {
                trouble = ear.note_context(text).err()
            }
            BackendNotice::Decision(MonitorAction::Compact) => {
                trouble = ear.note_context(COMPACTING).err()
            }
            BackendNotice::Started => trouble = ear.arrive(home, run_lane).err(),
            BackendNotice::Tick => trouble = ear.listen(doing).err(),
        };
        let diff = || repo.summary().unwrap_or_default();
        let work = SessionWork { call, task: &run.task.name, diff: &diff };
        let report = run_session(runner, &work, monitor, &mut hear)?;
        let trouble = trouble.or_else(|| ear.listen_after(doing).err());
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        for note in &report.notes {
            self.record(JournalRecord::ContextNoted(Remark::new(note)), Durability::Eventual)?;
        }
        Ok(report)
    }

    /// Read the claim of the agent from its answer, from ralph's commands and tools, and from a tick in a
    /// progress file.
    fn read_claims(
        &self,
        run: &AttemptRun,
        plan: &Plan,
        report: &BackendRunReport,
    ) -> Result<AgentReply, DriveError> {
        let said = self.plan.said(&run.started.attempt)?;
        let reply = claim::hear(&ClaimSources {
            answer: &report.answer,
            written: said.handoff.map(hide_in).as_ref(),
            task: &run.task,
            format: plan.format,
            iteration: run.started.iteration,
        });
        let command = match said.claim {
            Claim::Blocked { reason } => Claim::Blocked { reason: redactor().hide(&reason) },
            other => other,
        };
        let said = command.or_more_careful(self.read_ticked_claim(run)?);
        Ok(AgentReply { claim: reply.claim.or_more_careful(said), ..reply })
    }

    /// Read the claim that the backend made by a tick in a progress file. The tick itself is undone,
    /// because the gates decide.
    fn read_ticked_claim(&self, run: &AttemptRun) -> Result<Claim, DriveError> {
        let bytes = read_from_lane(&self.work_root(), &self.plan.shown).unwrap_or_default();
        let bytes = bytes.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let name = self.plan.path.to_string_lossy();
        Ok(if is_ticked(&name, &text, &run.task) { Claim::DONE } else { Claim::None })
    }

    /// The one question that is asked when an answer cannot be read.
    fn ask_repair_question(
        &self,
        backend: usize,
        report: &BackendRunReport,
        reply: &AgentReply,
    ) -> Option<(String, String)> {
        let can = self.choice.at(backend).driver.supports().resume;
        if report.outcome != BackendOutcome::Success || !reply.is_silent() || !can {
            return None;
        }
        let problem = reply.problem.as_ref()?;
        Some((problem.repair_request(handoff::schema()), report.session.clone()?))
    }

    /// The prompt beside the log, for `ralph show`.
    fn save_prompt(&mut self, run: &AttemptRun, prompt: &str) -> Result<(), DriveError> {
        let Some(log) = &run.started.log else { return Ok(()) };
        let path = self.project.root().join(log).with_extension("prompt.md");
        Ok(put_log(&path, prompt)?)
    }
}

/// Return the agent's own summary of the attempt, on one line.
fn story(reply: &AgentReply) -> String {
    let told = reply.handoff.as_ref().map_or(&reply.prose, |handoff| &handoff.summary);
    clip(&one_line(&redactor().hide(told)), LONGEST_STORY)
}

/// One line about the attempt: the agent's own, else the task's name.
fn summary(reply: &AgentReply, task: &Task) -> String {
    let own = reply.handoff.as_ref().map(|h| match h.summary.trim() {
        "" => h.task_completed.summary.trim(),
        summary => summary,
    });
    let line = own.filter(|s| !s.is_empty()).unwrap_or(&task.name);
    let line = redactor().hide(line);
    clip(&line.split_whitespace().collect::<Vec<_>>().join(" "), LONGEST_SUMMARY)
}
