//! The two ends of an attempt: its work lands, or the tree goes back to how it was.

use jiff::tz::TimeZone;
use ralph_core::config::CommitScope;
use ralph_core::cycle::ledger::{self, Defeat, Note};
use ralph_core::cycle::{
    AfterFailure, AttemptBase, Candidate, DiscardedAttempt, FailIntent, Failure, FailureKind,
    LandIntent, LandedAttempt, Landing, Proof, Record,
};
use ralph_core::format::jsonl::fresh_issue_id;
use ralph_core::plan::Id;
use ralph_core::view::Tally;

use super::attempt::{Begun, Ended, max_retries};
use super::commit::CommitTrouble;
use super::error::DriveError;
use super::memory::FAILURE_CONTEXT;
use super::session::Session;
use super::specs::scope_of_keeper;
use crate::crash;
use crate::git::{CommitMessage, LandError};
use crate::handoff_files;
use crate::redaction::{put_log, redactor};
use crate::store::Durability;

impl Session<'_> {
    /// Put the work where it belongs: intent, ledger, commit, fact.
    pub(super) fn land(
        &mut self,
        begun: &Begun,
        ended: &Ended,
        landing: Landing,
        proof: Proof,
    ) -> Result<(), DriveError> {
        let intent = LandIntent {
            attempt: begun.started.attempt.clone(),
            landing,
            proof,
            summary: ended.end.summary.clone(),
            story: ended.end.story.clone(),
            task: begun.task.clone(),
        };
        self.record(Record::LandIntent(intent.clone()), Durability::Syncing)?;
        self.land_now(begun, ended, &intent)
    }

    /// The landing after its intent; a recovery begins here.
    pub(super) fn land_now(
        &mut self,
        begun: &Begun,
        ended: &Ended,
        intent: &LandIntent,
    ) -> Result<(), DriveError> {
        let (before, after) = self.write_landing(begun, Some(ended), intent)?;
        crash::point();
        match self.commit(begun, ended, intent) {
            Ok(commit) => {
                crash::point();
                self.landed(begun, ended, commit)
            }
            Err(CommitTrouble::Failed(error)) => Err(error),
            Err(CommitTrouble::Refused(refusal)) => {
                let failure = self.refused(refusal)?;
                let now = self.clock.stamp();
                self.plan.put_back(&before, &after, |plan, text| {
                    ledger::undo(plan, text, &intent.task, &now)
                })?;
                self.roll_back(begun, Some(&ended.candidate), failure)
            }
        }
    }

    /// The plan says that the task is done, and the logs say how.
    pub(super) fn write_landing(
        &mut self,
        begun: &Begun,
        ended: Option<&Ended>,
        intent: &LandIntent,
    ) -> Result<(String, String), DriveError> {
        let times = Times::now(self, begun);
        let note =
            times.note(&begun.task.id, begun.started.iteration, &intent.summary, self.keep());
        let note = Note { story: &intent.story, ..note };
        // An attempt belongs to the loop that began it, also when another one finishes it.
        let write = match self.is_construct() {
            true => ledger::claim,
            false => ledger::land,
        };
        let ((before, mut after), syncing) = self.plan.change_when(
            || self.journal.settle(),
            |plan, text| write(plan, text, intent.landing, &note),
        )?;
        self.plan_syncing = syncing;
        if let Some(amended) = ended.map(|ended| self.amend(begun, ended)).transpose()?.flatten() {
            after = amended;
        }
        self.note_finished_spec(begun)?;
        self.log_landing(begun)?;
        Ok((before, after))
    }

    fn keep(&self) -> usize {
        usize::try_from(self.config.build.recent_attempts).unwrap_or(usize::MAX)
    }

    fn commit(
        &mut self,
        begun: &Begun,
        ended: &Ended,
        intent: &LandIntent,
    ) -> Result<Option<String>, CommitTrouble> {
        let message = self.commit_message(begun, intent.landing, &intent.summary);
        let text = ended.message.clone();
        let text = text.unwrap_or_else(|| message.of_attempt(&begun.started.attempt));
        self.commit_in_lane(begun, ended, text)
    }

    /// The message of an attempt's commit.
    pub(super) fn commit_message(
        &mut self,
        begun: &Begun,
        landing: Landing,
        summary: &str,
    ) -> CommitMessage {
        let started = &begun.started;
        let prefix = &self.config.commit_prefix;
        CommitMessage {
            subject: format!("{prefix}[{}]: {} — {summary}", started.iteration, started.task),
            body: match landing {
                Landing::Complete => self.completes_spec(&begun.task),
                Landing::Partial => String::new(),
            },
            trailers: vec![
                ("Ralph-Task".into(), started.task.clone()),
                ("Ralph-Run".into(), started.run.clone()),
            ],
        }
    }

    /// Why the commit was refused; what is no refusal is an error.
    fn refused(&mut self, refusal: LandError) -> Result<Failure, DriveError> {
        Ok(match refusal {
            LandError::Hook { output } => {
                Failure::new(FailureKind::Hook, format!("a hook refused the commit:\n{output}"))
            }
            LandError::Nothing => Failure::new(FailureKind::NoChange, "there is nothing to commit"),
            LandError::Git(e) => return Err(e.into()),
        })
    }

    fn landed(
        &mut self,
        begun: &Begun,
        ended: &Ended,
        commit: Option<String>,
    ) -> Result<(), DriveError> {
        let unread = ended.candidate.unread.iter();
        let remarks = unread.map(|said| format!("git could not read a file: {said}")).collect();
        let landed = LandedAttempt {
            attempt: begun.started.attempt.clone(),
            commit: commit.clone(),
            remarks,
            tasks: Tally::of(&*self.known_plan()?),
            ..self.arriving(&begun.base, &ended.candidate)?
        };
        self.record(Record::Landed(landed), Durability::Eventual)?;
        let findings = ended.gates.as_ref();
        self.baselines = findings.map(|found| found.next_base.clone()).unwrap_or_default();
        self.land_finished_specs()?;
        self.arrive()
    }

    /// What an arrival needs to know about a landing on the tip.
    pub(super) fn arriving(
        &self,
        base: &AttemptBase,
        candidate: &Candidate,
    ) -> Result<LandedAttempt, DriveError> {
        let on_spec = scope_of_keeper(&base.keeper) == CommitScope::Spec;
        let mut paths = candidate.names();
        paths.extend(self.work.ledger.open_run().files());
        Ok(LandedAttempt {
            on_spec,
            paths,
            taken_over: self.taken_over()?,
            ..LandedAttempt::default()
        })
    }

    /// Put the tree back, keep what was there under a ref, and write the failure down.
    pub(super) fn roll_back(
        &mut self,
        begun: &Begun,
        candidate: Option<&Candidate>,
        failure: Failure,
    ) -> Result<(), DriveError> {
        let retries = begun.started.retries + u32::from(failure.kind.counts());
        let attempt = begun.started.attempt.clone();
        // The plan, its issues and the progress log say it too, and they are committed.
        let failure = Failure { message: redactor().hide(&failure.message), ..failure };
        let intent = FailIntent { attempt, failure, retries };
        self.record(Record::FailIntent(intent.clone()), Durability::Synced)?;
        self.roll_back_now(begun, candidate, &intent)
    }

    /// The roll-back after its intent; a recovery begins here.
    pub(super) fn roll_back_now(
        &mut self,
        begun: &Begun,
        candidate: Option<&Candidate>,
        intent: &FailIntent,
    ) -> Result<(), DriveError> {
        let salvage = self.discard_work(&begun.base, candidate)?;
        crash::point();
        self.unland(begun, &intent.failure)?;
        let max = max_retries(&begun.task, self.config.max_retries);
        let issue = self.fresh_issue()?;
        let times = Times::now(self, begun);
        let note = times.note(&begun.task.id, begun.started.iteration, "", self.keep());
        let end = self.history.backend_end(&intent.attempt);
        let story = end.map(|end| end.story.clone()).unwrap_or_default();
        let note = Note { story: &story, ..note };
        let (failure, retries) = (&intent.failure, intent.retries);
        let defeat = Defeat { failure, retries, max_retries: max, issue };
        let stopped = self.killed_or_blocked(begun, failure)?;
        if stopped.is_none() {
            self.plan.change(|plan, text| ledger::fail(plan, text, &defeat, &note))?;
        }
        crash::point();
        let number = begun.started.iteration.into();
        handoff_files::mark_discarded(self.project.root(), number, &failure.told())?;
        if failure.kind.counts() {
            self.write_failure_context(begun, intent)?;
        }
        let salvage = salvage.map(|kept| kept.name);
        let blocked = matches!(failure.kind, FailureKind::Blocked | FailureKind::Conflict);
        let then = stopped.unwrap_or(match !blocked && retries <= max {
            true => AfterFailure::Retry(max.saturating_sub(retries) + 1),
            false => AfterFailure::GiveUp,
        });
        let discarded = DiscardedAttempt {
            attempt: intent.attempt.clone(),
            salvage,
            then,
            tasks: Tally::of(&*self.known_plan()?),
        };
        self.record(Record::RolledBack(discarded), Durability::Eventual)
    }

    /// Why the attempt failed, for people and for the context agent. What was written about the task
    /// before stays below it as long as no answer to it was read.
    fn write_failure_context(
        &mut self,
        begun: &Begun,
        intent: &FailIntent,
    ) -> Result<(), DriveError> {
        let verdict = self.history.attempts.last().and_then(|view| view.verdict.as_ref());
        let text = intent.failure.retry_context(verdict);
        let path = self.project.root().join(FAILURE_CONTEXT);
        let before = match self.history.has_unread_failure(&begun.started) {
            true => crate::store::read(&path)?.unwrap_or_default(),
            false => Vec::new(),
        };
        let before = String::from_utf8_lossy(&before);
        let text = match before.starts_with(&text) || before.is_empty() {
            true => text,
            false => format!("{text}\n{before}"),
        };
        Ok(put_log(&path, &text)?)
    }

    /// A landing that did not come to its end may have told the plan already that the task is done.
    fn unland(&mut self, begun: &Begun, why: &Failure) -> Result<(), DriveError> {
        let Some(intent) = self.history.open.as_ref().and_then(|open| open.intent.clone()) else {
            return Ok(());
        };
        let now = self.clock.stamp();
        self.plan.change(|format, text| ledger::undo(format, text, &intent.task, &now))?;
        self.log_undone(begun, &why.message)
    }

    /// An id for the issue that may take the place of a failed task.
    fn fresh_issue(&mut self) -> Result<Id, DriveError> {
        let plan = self.read_plan()?.plan;
        let ids = &mut self.ids;
        Ok(fresh_issue_id(&|id| plan.knows(id), &mut || ids.word(4)))
    }
}

/// Times as the plan shows them.
struct Times {
    started: String,
    took: String,
    at: String,
}

impl Times {
    fn now(session: &Session<'_>, begun: &Begun) -> Self {
        let seconds = session.clock.now().duration_since(begun.at).as_secs().max(0);
        let started = begun.at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M").to_string();
        let took = match (seconds / 60, seconds % 60) {
            (0, s) => format!("{s}s"),
            (m, s) => format!("{m}m {s}s"),
        };
        Self { started, took, at: session.clock.stamp() }
    }

    fn note<'t>(&'t self, task: &'t Id, iteration: u32, summary: &'t str, keep: usize) -> Note<'t> {
        let Self { started, took, at } = self;
        Note { task, iteration, started, took, summary, story: "", at, keep }
    }
}
