//! The two ends of an attempt: its work lands, or the tree goes back to how it was.

use jiff::tz::TimeZone;
use ralph_core::config::CommitScope;
use ralph_core::cycle::ledger::{self, AttemptNote, FailedAttempt};
use ralph_core::cycle::{
    AttemptBase, AttemptFailure, BackendEnd, Candidate, DiscardedAttempt, FailIntent, FailureKind,
    JournalRecord, LandIntent, LandedAttempt, LandingExtent, Proof, RetryDecision,
};
use ralph_core::format::jsonl::fresh_issue_id;
use ralph_core::gate::GateCheck;
use ralph_core::plan::Id;
use ralph_core::text::clip;
use ralph_core::view::TaskTally;

use super::attempt::{AttemptRun, max_retries};
use super::commit::LandingCommitError;
use super::error::DriveError;
use super::memory::FAILURE_CONTEXT;
use super::session::RunSession;
use super::specs::scope_of_keeper;
use crate::crash;
use crate::git::{CommitMessage, LaneCommitError, Oid, gate_trailers};
use crate::handoff_files;
use crate::redaction::{put_log, redactor};
use crate::run_ledger::LedgerCommitKind;
use crate::store::Durability;

impl RunSession<'_> {
    /// Put the work where it belongs: intent, ledger, commit, fact.
    pub(super) fn land(
        &mut self,
        run: &AttemptRun,
        landing: LandingExtent,
        proof: Proof,
    ) -> Result<(), DriveError> {
        let BackendEnd { summary, story, .. } = run.end.clone().unwrap_or_default();
        let (attempt, task) = (run.started.attempt.clone(), run.task.clone());
        let intent = &LandIntent { attempt, landing, proof, summary, story, task };
        self.record(JournalRecord::LandIntent(intent.clone()), Durability::Syncing)?;
        let (before, after) = self.write_landing(run, intent)?;
        crash::point();
        match self.commit(run, intent) {
            Ok(commit) => {
                crash::point();
                self.landed(run, commit)
            }
            Err(LandingCommitError::Failed(error)) => Err(error),
            Err(LandingCommitError::Refused(refusal)) => {
                let failure = self.failure_of_refusal(refusal)?;
                let now = self.clock.stamp();
                self.plan.put_back(&before, &after, |plan, text| {
                    ledger::undo(plan, text, &intent.task, &now)
                })?;
                self.roll_back(run, failure)
            }
        }
    }

    /// The plan says that the task is done, and the logs say how.
    pub(super) fn write_landing(
        &mut self,
        run: &AttemptRun,
        intent: &LandIntent,
    ) -> Result<(String, String), DriveError> {
        let times = LandingTimes::now(self, run);
        let note = times.note(&run.task.id, run.started.iteration, &intent.summary, self.keep());
        let note = AttemptNote { story: &intent.story, ..note };
        // An attempt belongs to the loop that began it, also when another one finishes it.
        let write = match self.is_construct() {
            true => ledger::claim,
            false => ledger::land,
        };
        let (before, mut after) = self.plan.change_when(
            || self.journal.settle(),
            |plan, text| write(plan, text, intent.landing, &note),
        )?;
        if let Some(amended) = self.amend(run)? {
            after = amended;
        }
        self.note_finished_spec(run)?;
        self.log_landing(run)?;
        Ok((before, after))
    }

    fn keep(&self) -> usize {
        usize::try_from(self.config.build.recent_attempts).unwrap_or(usize::MAX)
    }

    fn commit(
        &mut self,
        run: &AttemptRun,
        intent: &LandIntent,
    ) -> Result<Option<String>, LandingCommitError> {
        let message = self.commit_message(run, intent.landing, &intent.summary);
        let text = run.message.clone();
        let text = text.unwrap_or_else(|| message.of_attempt(&run.started.attempt));
        self.commit_in_lane(run, text)
    }

    /// The message of an attempt's commit.
    pub(super) fn commit_message(
        &mut self,
        run: &AttemptRun,
        landing: LandingExtent,
        summary: &str,
    ) -> CommitMessage {
        let started = &run.started;
        let mut trailers = vec![
            ("Ralph-Task".into(), started.task.clone()),
            ("Ralph-Run".into(), started.run.clone()),
        ];
        if let Some(found) = &run.gates {
            let name = |check: &GateCheck| match check.is_green() {
                true => check.name.clone(),
                false => format!("{} ({})", check.name, check.standing),
            };
            trailers.extend(gate_trailers(found.verdict.checks.iter().map(name), &found.tree));
        }
        let prefix = &self.config.commit_prefix;
        CommitMessage {
            subject: attempt_subject(prefix, started.iteration, &started.task, summary),
            body: match landing {
                LandingExtent::Complete => self.completes_spec(&run.task),
                LandingExtent::Partial => String::new(),
            },
            trailers,
        }
    }

    /// Why the commit was refused; what is no refusal is an error.
    fn failure_of_refusal(
        &mut self,
        refusal: LaneCommitError,
    ) -> Result<AttemptFailure, DriveError> {
        Ok(match refusal {
            LaneCommitError::Hook { output } => {
                AttemptFailure::new(FailureKind::Hook, output.trim())
            }
            LaneCommitError::Nothing => {
                AttemptFailure::new(FailureKind::NoChange, "there is nothing to commit")
            }
            LaneCommitError::Git(e) => return Err(e.into()),
        })
    }

    fn landed(&mut self, run: &AttemptRun, commit: Option<String>) -> Result<(), DriveError> {
        let candidate = run.candidate().cloned().unwrap_or_default();
        let unread = candidate.unread.iter();
        let remarks = unread.map(|said| format!("git could not read a file: {said}")).collect();
        let landed = LandedAttempt {
            attempt: run.started.attempt.clone(),
            commit: commit.clone(),
            remarks,
            tasks: TaskTally::of(&*self.known_plan()?),
            ..self.arriving(&run.base, &candidate)?
        };
        self.record(JournalRecord::Landed(landed), Durability::Eventual)?;
        let findings = run.gates.as_ref();
        let landed = commit.and_then(|commit| Oid::parse(commit.as_bytes()));
        self.gated_base = findings.map(|_| landed.unwrap_or_else(|| run.base.commit.clone()));
        self.baselines = findings.map(|found| found.next_base.clone()).unwrap_or_default();
        self.land_specs_on_the_way()?;
        self.arrive_soon()
    }

    /// Collect the facts about a landing on the tip that its arrival needs.
    pub(super) fn arriving(
        &self,
        base: &AttemptBase,
        candidate: &Candidate,
    ) -> Result<LandedAttempt, DriveError> {
        let on_spec = scope_of_keeper(&base.keeper) == CommitScope::Spec;
        let mut paths = candidate.names();
        let riding = self.riding_files(LedgerCommitKind::Landing).into_iter();
        let prefix = self.work.repo().prefix();
        paths.extend(riding.map(|file| prefix.join(&file.as_str().into()).to_string()));
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
        run: &AttemptRun,
        failure: AttemptFailure,
    ) -> Result<(), DriveError> {
        let retries = run.started.retries + u32::from(failure.kind.counts());
        let attempt = run.started.attempt.clone();
        // The plan, its issues and the progress log say it too, and they are committed.
        let failure = AttemptFailure { message: redactor().hide(&failure.message), ..failure };
        let intent = FailIntent { attempt, failure, retries };
        self.record(JournalRecord::FailIntent(intent.clone()), Durability::Synced)?;
        self.roll_back_now(run, &intent)
    }

    /// The roll-back after its intent; a recovery begins here.
    pub(super) fn roll_back_now(
        &mut self,
        run: &AttemptRun,
        intent: &FailIntent,
    ) -> Result<(), DriveError> {
        let salvage = self.discard_work(&run.base, run.candidate())?;
        crash::point();
        self.revert_landing_in_plan(run, &intent.failure)?;
        let max = max_retries(&run.task, self.config.max_retries);
        let issue = self.fresh_issue()?;
        let times = LandingTimes::now(self, run);
        let note = times.note(&run.task.id, run.started.iteration, "", self.keep());
        let view = self.history.attempt(&intent.attempt);
        let end = view.and_then(|view| view.backend.as_ref());
        let story = end.map(|end| end.story.clone()).unwrap_or_default();
        let note = AttemptNote { story: &story, ..note };
        let (failure, retries) = (&intent.failure, intent.retries);
        let defeat = FailedAttempt { failure, retries, max_retries: max, issue };
        let stopped = self.killed_or_blocked(run, failure)?;
        if stopped.is_none() {
            self.plan.change(|plan, text| ledger::fail(plan, text, &defeat, &note))?;
        }
        crash::point();
        let number = run.started.iteration.into();
        handoff_files::mark_discarded(self.project.root(), number, &failure.told())?;
        if failure.kind.counts() {
            self.write_failure_context(run, intent)?;
        }
        let salvage = salvage.map(|kept| kept.name);
        let blocked = matches!(failure.kind, FailureKind::Blocked | FailureKind::Conflict);
        let then = stopped.unwrap_or(match !blocked && retries <= max {
            true => RetryDecision::Retry(max.saturating_sub(retries) + 1),
            false => RetryDecision::GiveUp,
        });
        let discarded = DiscardedAttempt {
            attempt: intent.attempt.clone(),
            salvage,
            then,
            tasks: TaskTally::of(&*self.known_plan()?),
        };
        self.record(JournalRecord::RolledBack(discarded), Durability::Eventual)
    }

    /// Why the attempt failed, for people and for the context agent. What was written about the task
    /// before stays below it as long as no answer to it was read.
    fn write_failure_context(
        &mut self,
        run: &AttemptRun,
        intent: &FailIntent,
    ) -> Result<(), DriveError> {
        let view = self.history.attempt(&intent.attempt);
        let verdict = view.and_then(|view| view.verdict.as_ref());
        let text = intent.failure.retry_context(verdict);
        let path = self.project.root().join(FAILURE_CONTEXT);
        let before = match self.history.has_unread_failure(&run.started) {
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
    fn revert_landing_in_plan(
        &mut self,
        run: &AttemptRun,
        why: &AttemptFailure,
    ) -> Result<(), DriveError> {
        let open = self.history.open.as_ref();
        let open = open.filter(|open| open.started.attempt == run.started.attempt);
        let Some(intent) = open.and_then(|open| open.intent.clone()) else { return Ok(()) };
        let now = self.clock.stamp();
        self.plan.change(|format, text| ledger::undo(format, text, &intent.task, &now))?;
        self.log_undone(run, &why.message)
    }

    /// An id for the issue that may take the place of a failed task.
    fn fresh_issue(&mut self) -> Result<Id, DriveError> {
        let plan = self.read_plan()?.plan;
        let ids = &mut self.ids;
        Ok(fresh_issue_id(&|id| plan.knows(id), &mut || ids.word(4)))
    }
}

/// Times as the plan shows them.
struct LandingTimes {
    started: String,
    took: String,
    at: String,
}

impl LandingTimes {
    fn now(session: &RunSession<'_>, run: &AttemptRun) -> Self {
        let seconds = session.clock.now().duration_since(run.started_at).as_secs().max(0);
        let started = run.started_at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M").to_string();
        let took = match (seconds / 60, seconds % 60) {
            (0, s) => format!("{s}s"),
            (m, s) => format!("{m}m {s}s"),
        };
        Self { started, took, at: session.clock.stamp() }
    }

    fn note<'t>(
        &'t self,
        task: &'t Id,
        iteration: u32,
        summary: &'t str,
        keep: usize,
    ) -> AttemptNote<'t> {
        let Self { started, took, at } = self;
        AttemptNote { task, iteration, started, took, summary, story: "", at, keep }
    }
}

/// Most characters of the first line of a message, as the usual rules for Conventional Commits have it.
const LONGEST_SUBJECT: usize = 100;

/// The subject of an attempt's commit. Conventional Commits have no place for a number after the scope of
/// `chore(ralph)`.
pub(super) fn attempt_subject(prefix: &str, iteration: u32, task: &str, summary: &str) -> String {
    match prefix.ends_with(')') {
        true => subject(prefix, "task", &format!("{task} — {}", summary.trim_end_matches('.'))),
        false => format!("{prefix}[{iteration}]: {task} — {summary}"),
    }
}

/// The subject of a commit about a thing of this kind. Where subjects are Conventional Commits, none begins
/// with a capital letter, ends with a full stop, or is too long.
pub(super) fn subject(prefix: &str, kind: &str, text: &str) -> String {
    if !prefix.ends_with(')') {
        return format!("{prefix}: {text}");
    }
    let kind = match text.starts_with(char::is_uppercase) {
        true => format!("{kind} "),
        false => String::new(),
    };
    clip(&format!("{prefix}: {kind}{text}"), LONGEST_SUBJECT - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_with_a_scope_are_conventional_commits() {
        let of = |prefix, task| attempt_subject(prefix, 3, task, "Add a test.");
        assert_eq!(of("ralph", "T-1"), "ralph[3]: T-1 — Add a test.");
        assert_eq!(of("chore(ralph)", "t-1"), "chore(ralph): t-1 — Add a test");
        assert_eq!(of("chore(ralph)", "T-1"), "chore(ralph): task T-1 — Add a test");
        assert_eq!(subject("chore(ralph)", "spec", "First"), "chore(ralph): spec First");
        assert_eq!(subject("ralph", "spec", "First"), "ralph: First");
        let long = of("chore(ralph)", &"t".repeat(200));
        assert_eq!(long.chars().count(), 100, "{long}");
    }
}
