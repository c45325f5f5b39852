//! Agents that are asked something and may change nothing: one at a time, or many at once.
//!
//! # Theory of operation
//!
//! ```text
//! checkpoint → Consulting → ask … ask → Answered … → plan and tree as they were → Consulted
//! ```
//!
//! Whatever such an agent writes is undone, and told: the plan goes back to its text, the tree to the
//! checkpoint (what was there is kept under a ref). Only files of the ledger that the role may write are
//! read from the lane first; whoever asked checks them and writes them into the ledger. A crash in between
//! is recovered like that of an attempt.
//!
//! An answer that cannot be used is asked for once more: in the same session where the backend can, or
//! anew with the reason. So is one whose agent died, where the consultation wants that; nobody is
//! started more than twice for a question. A usage limit is waited for, and only those who met it are
//! asked again. Nobody is started when the money is used up ([`super::cost_guard`]).

use std::collections::BTreeMap;

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, UnusableAnswer};
use ralph_core::backend::BackendOutcome;
use ralph_core::config::Dollars;
use ralph_core::cycle::{
    AttemptBase, ConsultationStart, ConsultedAgentEnd, ConsultedAgentStart, JournalRecord, Remark,
    RestoredTree,
};

use super::ask::{ConsultationSettings, ConsultedAgentResult, PendingQuestion, ask_all};
use super::backend_mailbox::{CallerRole, RunningProcesses};
use super::control::ear;
use super::cost_guard::{CostGuard, EndedCalls};
use super::error::{DriveError, LoopHalt};
use super::guard::PlanEditor;
use super::ledger_guard::WrittenFiles;
use super::session::{ATTEMPT_VARIABLE, RunSession, stage_choice};
use super::terms::{RequestTerms, RoleTerms, run_limits};
use super::working_tree::CollectedWork;
use crate::crash;
use crate::redaction::put_log;
use crate::store::Durability;

/// Question to one agent, with the check of its answer.
pub(super) struct ConsultationQuestion<'q> {
    /// Subject of the question, for people and logs. Empty when the role says enough.
    pub(super) item: String,
    pub(super) prompt: String,
    /// Whether an answer can be used: the verdict in one word, empty where there is none to tell.
    pub(super) check: &'q (dyn Fn(&BackendAnswer) -> Result<&'static str, UnusableAnswer> + Sync),
}

#[derive(Clone, Debug)]
pub(super) struct ConsultationAnswer {
    pub(super) said: BackendAnswer,
    pub(super) outcome: BackendOutcome,
    /// The verdict in one word, or why the answer cannot be used.
    pub(super) verdict: Result<&'static str, String>,
    /// Path of the log, relative to the root.
    pub(super) log: String,
}

/// A question, or many of one kind.
pub(super) struct Consultation<'q> {
    pub(super) terms: RoleTerms,
    pub(super) questions: Vec<ConsultationQuestion<'q>>,
    /// Most agents that run at the same time.
    pub(super) jobs: usize,
    /// Whether an agent that ended like this, without a usable answer, is asked once more in a new
    /// session.
    pub(super) ask_again: fn(&BackendOutcome) -> bool,
}

impl<'q> Consultation<'q> {
    /// One question, for which nobody is asked again in a new session.
    pub(super) fn one(terms: RoleTerms, question: ConsultationQuestion<'q>) -> Self {
        Self { terms, questions: vec![question], jobs: 1, ask_again: |_| false }
    }
}

/// Result of a consultation, after its changes were undone.
#[derive(Debug, Default)]
pub(super) struct ConsultationResult {
    /// The answers, in the order of the questions.
    pub(super) answers: Vec<ConsultationAnswer>,
    /// Paths that somebody changed, and that were put back.
    pub(super) undone: Vec<String>,
    /// Files that the role may write, as it left them in the lane. Nobody has checked them.
    pub(super) written: WrittenFiles,
}

impl ConsultationAnswer {
    /// An agent that could not even be asked.
    pub(super) fn failed(outcome: BackendOutcome) -> Self {
        let verdict = Err(outcome.to_string());
        Self { said: BackendAnswer::default(), outcome, verdict, log: String::new() }
    }

    /// Whether it came to its end.
    pub(super) fn finished(&self) -> bool {
        self.outcome == BackendOutcome::Success
    }
}

/// An agent may do better the next time; one that nobody lets work will not.
pub(super) fn may_do_better(outcome: &BackendOutcome) -> bool {
    match outcome {
        BackendOutcome::Success
        | BackendOutcome::MaxTurns
        | BackendOutcome::ContextLimit
        | BackendOutcome::ApiError { .. }
        | BackendOutcome::Crash { .. }
        | BackendOutcome::NoOutput
        | BackendOutcome::Malformed { .. } => true,
        // The limit is one for both questions, so nothing is left of it for a second.
        BackendOutcome::Timeout
        | BackendOutcome::Idle
        | BackendOutcome::Budget
        | BackendOutcome::RateLimit { .. }
        | BackendOutcome::NotLoggedIn { .. }
        | BackendOutcome::NotInstalled
        | BackendOutcome::PermissionDenied { .. }
        | BackendOutcome::Cancelled => false,
    }
}

impl RunSession<'_> {
    pub(super) fn consult(
        &mut self,
        consultation: &Consultation<'_>,
    ) -> Result<ConsultationResult, LoopHalt> {
        self.arrive_if_due()?;
        let id = self.ids.ulid(self.clock.now());
        let base = self.ready_lane(&self.current_keeper(), &id)?;
        let iteration = self.next_iteration()?;
        let role = consultation.terms.role;
        let consulting =
            ConsultationStart { id: id.clone(), run: self.run_id().to_owned(), role, iteration };
        self.record(JournalRecord::Consulting(consulting), Durability::Synced)?;
        let found = self.open_ledger_to_agent()?;
        let mut running = RunningProcesses::new(&self.work.lane, &self.signals, &id, "");
        let caller = CallerRole::Consultation { role };
        self.backend_mailbox.open(&mut running, caller, &self.plan.shown)?;
        crash::point();
        let answers = self.ask_until_answered(consultation, &running);
        running.close_mailbox();
        crash::point();
        // Also when asking failed: nothing may stay that nobody looked at.
        let written = self.written_files(role.may_write());
        let by = PlanEditor { id: id.clone(), iteration: self.history.iteration, most: 0 };
        self.restore_ledger(&found, role, &by)?;
        self.keep_plan(&found.plan, role)?;
        self.guard_home(&found, &by)?;
        self.tell_left_out(&found.lane, role)?;
        self.check_git_settings(&found.lane)?;
        let undone = self.put_back(&base, role)?;
        self.record(JournalRecord::Consulted { id }, Durability::Eventual)?;
        Ok(ConsultationResult { answers: answers?, undone, written })
    }

    /// Ask somebody whose help is not needed: what cannot be asked is told, and the loop goes on with no
    /// answers.
    pub(super) fn consult_if_possible(
        &mut self,
        consultation: &Consultation<'_>,
    ) -> Result<ConsultationResult, LoopHalt> {
        use DriveError::{Ask, Choice, Proc};
        match self.consult(consultation) {
            Err(LoopHalt::Error(error @ (Choice(_) | Proc(_) | Ask { .. }))) => {
                self.warn(&format!("{} cannot be asked: {error}", consultation.terms.role));
                Ok(ConsultationResult::default())
            }
            other => other,
        }
    }

    /// Every question is answered, however many limits have to be waited for.
    fn ask_until_answered(
        &mut self,
        consultation: &Consultation<'_>,
        running: &RunningProcesses,
    ) -> Result<Vec<ConsultationAnswer>, LoopHalt> {
        let id = running.id.as_str();
        let root = self.project.root().to_owned();
        let role = consultation.terms.role;
        let mut choice = stage_choice(&self.config, role.stage(), &self.options, &root)?;
        if let Some(model) = &consultation.terms.model {
            choice.chosen.model = Some(model.clone());
        }
        let mut open: Vec<usize> = (0..consultation.questions.len()).collect();
        let mut answers = BTreeMap::new();
        while !open.is_empty() {
            if self.stop_signal().is_some() {
                return Err(LoopHalt::LookAgain);
            }
            let Some(place) = self.free_backend_of(&choice)? else { continue };
            let chosen = choice.at(place);
            let spent = self.history.cost;
            let terms = RequestTerms::of_role(&self.config, &root, &consultation.terms, spent)?;
            let limits = run_limits(&self.config, self.kind, role.stage(), spent);
            let max_cost = self.config.limits.max_cost.map(Dollars::get);
            let calls = match max_cost.is_some() && open.len() > 1 {
                true => self.ended_calls(role),
                false => EndedCalls::default(),
            };
            let stamp = self.clock.now().strftime("%Y%m%d-%H%M%S").to_string();
            let asking: Vec<PendingQuestion<'_>> = open
                .iter()
                .filter_map(|&n| Some((n, consultation.questions.get(n)?)))
                .map(|(number, question)| PendingQuestion {
                    number,
                    question,
                    log: log_name(&stamp, consultation, question, id),
                    place: &running.root,
                })
                .collect();
            for one in &asking {
                let prompt = root.join(&one.log).with_extension("prompt.md");
                put_log(&prompt, &one.question.prompt)?;
                let asked = ConsultedAgentStart {
                    id: id.to_owned(),
                    role,
                    item: one.question.item.clone(),
                    backend: chosen.name.clone(),
                    log: one.log.clone(),
                };
                self.record(JournalRecord::Asked(asked), Durability::Eventual)?;
            }
            let talk = ConsultationSettings {
                runner: self.runner,
                chosen,
                terms: &terms,
                limits,
                windows: &self.windows,
                root: &root,
                scratch: self.project.state_dir(),
                env: [(ATTEMPT_VARIABLE.to_owned(), id.to_owned()), running.mailbox_variable()],
                surroundings: &running.surroundings,
                leash: &running.leash,
                clock: &self.clock,
                ask_again: consultation.ask_again,
                costs: CostGuard::new(max_cost, spent, calls),
            };
            let mut ear = ear!(self, running);
            let ended = ask_all(&talk, &asking, consultation.jobs, &mut ear)?;
            if ended.len() < open.len() {
                for number in std::mem::take(&mut open) {
                    answers.insert(number, ConsultationAnswer::failed(BackendOutcome::Budget));
                }
            }
            for ended in ended {
                self.remember_windows(&ended.windows);
                let name = &chosen.name;
                let model = consultation.terms.model.clone().or_else(|| chosen.model.clone());
                let answered = ConsultedAgentEnd { model, ..answered(id, role, name, &ended) };
                self.record(JournalRecord::Answered(answered), Durability::Eventual)?;
                if let BackendOutcome::RateLimit { resets_at, message } = &ended.answer.outcome {
                    let since = self.clock.now().as_second();
                    self.remember_limit(name, since, *resets_at, message);
                    continue;
                }
                open.retain(|&n| n != ended.number);
                answers.insert(ended.number, ended.answer);
            }
        }
        Ok(answers.into_values().collect())
    }

    /// Calls of a role that have ended in this project, as far as their cost is known.
    fn ended_calls(&self, role: AgentRole) -> EndedCalls {
        let mut calls = EndedCalls::default();
        let spent = self.history.spending.iter().filter(|spent| spent.role == role);
        spent.filter_map(|spent| spent.cost).for_each(|cost| calls.add(cost));
        calls
    }

    /// The plan as it was, unless it was changed with ralph's own commands.
    fn keep_plan(&mut self, before: &str, role: AgentRole) -> Result<(), DriveError> {
        if self.plan.is_still(before)? {
            return Ok(());
        }
        let edited = self.plan.settle(|now, origin| match (now, origin) {
            (Some(now), super::plan_file::PlanChangeOrigin::Ralph) => {
                (String::from_utf8_lossy(now).into_owned(), false)
            }
            _ => (before.to_owned(), true),
        })?;
        if edited {
            let shown = self.plan.shown.clone();
            self.ledger_restored(&format!("{shown}: changed during {role}; it was put back"))?;
        }
        Ok(())
    }

    /// What such an agent changed is kept under a ref; the next use of the lane puts it back. Returns
    /// the paths.
    fn put_back(&mut self, base: &AttemptBase, role: AgentRole) -> Result<Vec<String>, DriveError> {
        let candidate = match self.collect(base)? {
            CollectedWork::Candidate(candidate) => candidate,
            CollectedWork::Damaged(why) => {
                self.warn(&format!("{role} may change nothing: {why}; the lane is made anew"));
                return Ok(vec![".".to_owned()]);
            }
        };
        let mut paths = candidate.names();
        paths.extend(candidate.nested.iter().map(ToString::to_string));
        if paths.is_empty() {
            return Ok(paths);
        }
        let salvage = self.discard_work(base, Some(&candidate))?;
        let kept = salvage.map_or_else(String::new, |salvage| {
            format!("; `ralph salvage diff {}` shows it", salvage.of.attempt)
        });
        self.warn(&format!(
            "{role} may change nothing, and changed {}: put back{kept}",
            few(&paths)
        ));
        let restored = RestoredTree { role, paths };
        self.record(JournalRecord::TreeRestored(restored.clone()), Durability::Eventual)?;
        Ok(restored.paths)
    }

    /// A consultation that a crash interrupted: the lane is put back at its next use, and nothing else came
    /// of it.
    pub(super) fn recover_consultation(&mut self) -> Result<(), DriveError> {
        let Some(open) = self.history.consulting.clone() else { return Ok(()) };
        self.record(JournalRecord::Consulted { id: open.id }, Durability::Synced)?;
        self.recovered(&format!("{} was interrupted; it changed nothing", open.role))
    }

    /// Tell and write down that something in the ledger was put back.
    pub(super) fn ledger_restored(&mut self, message: &str) -> Result<(), DriveError> {
        self.record(JournalRecord::LedgerRestored(Remark::new(message)), Durability::Eventual)
    }
}

/// The record of an agent that has ended.
fn answered(
    id: &str,
    role: AgentRole,
    backend: &str,
    ended: &ConsultedAgentResult,
) -> ConsultedAgentEnd {
    let answer = &ended.answer;
    let words = match &answer.verdict {
        Ok("") => answer.outcome.to_string(),
        Ok(verdict) => (*verdict).to_owned(),
        Err(why) => format!("unusable: {why}; log: {}", answer.log),
    };
    ConsultedAgentEnd {
        id: id.to_owned(),
        role,
        item: ended.item.clone(),
        backend: backend.to_owned(),
        model: None,
        outcome: answer.outcome.clone(),
        answer: words,
        usable: answer.verdict.is_ok(),
        cost: ended.cost,
        tokens: ended.tokens,
        log: answer.log.clone(),
        took_ms: ended.took_ms,
    }
}

/// The log of one agent, relative to the root.
fn log_name(
    stamp: &str,
    of: &Consultation<'_>,
    question: &ConsultationQuestion<'_>,
    id: &str,
) -> String {
    let item: String =
        question.item.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let dash = if item.is_empty() { "" } else { "-" };
    let tail = id.get(id.len().saturating_sub(4)..).unwrap_or(id).to_ascii_lowercase();
    format!("build/ralph-logs/ralph-{stamp}-{}{dash}{item}-{tail}.log", of.terms.role)
}

/// The first few of many names.
pub(super) fn few(paths: &[String]) -> String {
    const NAMED: usize = 5;
    let shown = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
