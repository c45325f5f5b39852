//! Whether an attempt counts: a claim, green gates and a changed tree, or a reason why not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::BackendOutcome;
use crate::claim::Claim;
use crate::gate::{FailingNames, GateRuling, GateVerdict};
use crate::plan::Task;
use crate::words::count;

/// Degree to which a landed result is proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// A gate was green, and none that counts was red.
    Proven,
    /// Tests ran and passed, and only these failed, as they did before.
    ProvenExceptOld(FailingNames),
    /// No gate was green, or old and new failures could not be told apart.
    Unproven,
    /// No gate proves it, and a verifier accepted it.
    Reviewed,
    /// Nothing had to be changed, and the gates do not say otherwise.
    NoChange,
}

impl Proof {
    /// A remark for people; nothing where the work is simply proven.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Proven => None,
            Self::ProvenExceptOld(old) => {
                Some(format!("proven except {}", count(old.count(), "old failure")))
            }
            Self::Unproven => Some("unproven".to_owned()),
            Self::Reviewed => Some("accepted by review".to_owned()),
            Self::NoChange => Some("no change was needed".to_owned()),
        }
    }
}

/// Everything the judgement of an attempt depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptEvidence<'a> {
    /// Outcome of the backend's run.
    pub outcome: &'a BackendOutcome,
    /// Claim of the agent about its task.
    pub claim: &'a Claim,
    /// Question of the agent to a person, beside its claim.
    pub review: Option<&'a str>,
    /// Number of paths that the attempt changed.
    pub changed: usize,
    /// Paths that it must not change and did (specs, prompts, configuration, submodules).
    pub forbidden: &'a [String],
    /// Number of times that the task landed in part since it last landed whole.
    pub partial_landings: usize,
    /// Verdict of the gates. `None` until they have run.
    pub verdict: Option<&'a GateVerdict>,
}

/// Kind of the failure of an attempt.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A gate is red.
    Gates,
    /// No file changed.
    NoChange,
    /// No claim, or an answer nobody can read.
    BadOutput,
    /// The run exceeded its time limit.
    Timeout,
    /// The backend was silent for too long.
    Idle,
    /// The context was full.
    ContextLimit,
    /// The backend used all its turns.
    MaxTurns,
    /// The budget was used up.
    Budget,
    /// The program or its model failed.
    Backend,
    /// The attempt changed files that it must not change.
    Forbidden,
    /// The attempt changed judges, and the configuration forbids that.
    Judges,
    /// The attempt did a part of its task, and the task landed in part too often before.
    PartlyDone,
    /// A hook of the repository refused the commit.
    Hook,
    /// The attempt was interrupted. It does not count.
    Interrupted,
    /// Ralph was ended in the middle of it more often than is forgiven.
    Crashed,
    /// The agent cannot continue. The task is blocked, and nothing is counted.
    Blocked,
    /// The result does not fit the user's own changes. The task is blocked, and nothing is counted.
    Conflict,
}

impl FailureKind {
    /// Check whether the failure uses up a retry.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Interrupted | Self::Blocked | Self::Conflict | Self::Budget)
    }

    /// Whether a limit of a single run ended it: in a construct such work is broken down.
    pub fn is_kill(self) -> bool {
        matches!(self, Self::Timeout | Self::Idle | Self::ContextLimit)
    }

    /// Return the kind in words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Gates => "gates failed",
            Self::NoChange => "nothing changed",
            Self::BadOutput => "no claim that counts",
            Self::Timeout => "took too long",
            Self::Idle => "fell silent",
            Self::ContextLimit => "context full",
            Self::MaxTurns => "out of turns",
            Self::Budget => "out of money",
            Self::Backend => "backend failed",
            Self::Forbidden => "changed what it must not",
            Self::Judges => "changed its judges",
            Self::PartlyDone => "partly done ten times",
            Self::Hook => "commit refused by a hook",
            Self::Interrupted => "interrupted",
            Self::Crashed => "interrupted again and again",
            Self::Blocked => "blocked",
            Self::Conflict => "conflict with your changes",
        }
    }
}

/// Failure of an attempt: its kind and its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptFailure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// In words, with what a person needs to know.
    pub message: String,
    /// Equal for equal failures, whatever numbers and times are in them; empty when nobody knows.
    #[serde(default)]
    pub fingerprint: String,
}

impl AttemptFailure {
    /// A failure whose message is its fingerprint.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let message = message.into();
        let fingerprint = format!("{kind:?}: {message}");
        Self { kind, message, fingerprint }
    }

    /// Write the text about the failure for the next attempt, as markdown.
    pub fn retry_context(&self, verdict: Option<&GateVerdict>) -> String {
        let of_gates = matches!(self.kind, FailureKind::Gates | FailureKind::Judges);
        match verdict.filter(|verdict| of_gates && !verdict.passed()) {
            Some(verdict) => verdict.failure_context(),
            None => format!("### {}\n\n{}\n", self.kind.words(), self.message),
        }
    }

    /// Format the kind and the message as one line, without repetition.
    pub fn told(&self) -> String {
        let (words, message) = (self.kind.words(), self.message.trim());
        match self.kind {
            // Their messages are the same in other words.
            FailureKind::Timeout
            | FailureKind::Idle
            | FailureKind::ContextLimit
            | FailureKind::MaxTurns
            | FailureKind::Budget => words.to_owned(),
            _ if message.is_empty() || message == words => words.to_owned(),
            _ => format!("{words}: {message}"),
        }
    }
}

/// Number of interruptions of a task that do not count.
pub(super) const FREE_CRASHES: u32 = 3;

impl AttemptFailure {
    /// An interruption is not the task's fault, until it happens too often to be chance.
    pub(super) fn interrupted(before: u32, message: &str) -> Self {
        if before < FREE_CRASHES {
            return Self::new(FailureKind::Interrupted, message);
        }
        let message = format!("{message}; this was the {}th time", before.saturating_add(1));
        let fingerprint = FailureKind::Crashed.words().to_owned();
        Self { kind: FailureKind::Crashed, message, fingerprint }
    }
}

/// Decision about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptDecision {
    /// Run the gates, then ask again.
    Gate,
    /// Land the work.
    Land {
        /// State in which the task is left.
        landing: super::LandingExtent,
        /// Degree to which the work is proven.
        proof: Proof,
    },
    /// Roll the attempt back.
    Fail(AttemptFailure),
    /// Roll it back and try again at this time, uncounted.
    Wait {
        /// Seconds since 1970, where the backend said so.
        until: Option<i64>,
        /// Message of the backend.
        reason: String,
    },
    /// Roll it back and end the loop: nothing would go better with the next task.
    Stop {
        /// Reason why the loop ends.
        reason: String,
    },
}

/// Decide whether an attempt lands, fails, waits or stops the loop.
pub fn judge(evidence: &AttemptEvidence<'_>) -> AttemptDecision {
    if let Some(decision) = of_outcome(evidence.outcome) {
        return decision;
    }
    match evidence.claim {
        Claim::Blocked { reason } => {
            return AttemptDecision::Fail(AttemptFailure::new(
                FailureKind::Blocked,
                reason.clone(),
            ));
        }
        Claim::NeedsHuman { reason } => return needs_human(reason),
        Claim::None => {
            let message = "it ended without saying that the task is done, blocked or partly done";
            return AttemptDecision::Fail(AttemptFailure::new(FailureKind::BadOutput, message));
        }
        Claim::Done { .. } | Claim::Partial => {}
    }
    match (of_claim(evidence), evidence.review) {
        // It said that it cannot do this alone: another attempt would not know more.
        (AttemptDecision::Fail(_), Some(reason)) => needs_human(reason),
        (decision, _) => decision,
    }
}

fn needs_human(reason: &str) -> AttemptDecision {
    let message = format!("a person has to decide: {reason}");
    AttemptDecision::Fail(AttemptFailure::new(FailureKind::Blocked, message))
}

/// The claim is that the task is done, or a part of it.
fn of_claim(evidence: &AttemptEvidence<'_>) -> AttemptDecision {
    if !evidence.forbidden.is_empty() {
        let message = format!("it changed {}", evidence.forbidden.join(", "));
        return AttemptDecision::Fail(AttemptFailure::new(FailureKind::Forbidden, message));
    }
    of_work(evidence)
}

/// The outcome decides, unless the backend ended as it should.
fn of_outcome(outcome: &BackendOutcome) -> Option<AttemptDecision> {
    let message = outcome.to_string();
    Some(match outcome {
        BackendOutcome::Success => return None,
        BackendOutcome::RateLimit { resets_at, message } => {
            AttemptDecision::Wait { until: *resets_at, reason: message.clone() }
        }
        BackendOutcome::NotLoggedIn { .. }
        | BackendOutcome::NotInstalled
        | BackendOutcome::PermissionDenied { .. } => AttemptDecision::Stop { reason: message },
        BackendOutcome::MaxTurns
        | BackendOutcome::ContextLimit
        | BackendOutcome::Budget
        | BackendOutcome::Timeout
        | BackendOutcome::Idle
        | BackendOutcome::Cancelled
        | BackendOutcome::ApiError { .. }
        | BackendOutcome::Crash { .. }
        | BackendOutcome::NoOutput
        | BackendOutcome::Malformed { .. } => AttemptDecision::Fail(of_end(outcome)?),
    })
}

/// The failure that the end of a backend is by itself. `None` when the work decides (`success`), or
/// nothing about the task was learnt.
pub(super) fn of_end(outcome: &BackendOutcome) -> Option<AttemptFailure> {
    let kind = match outcome {
        BackendOutcome::Success
        | BackendOutcome::RateLimit { .. }
        | BackendOutcome::NotLoggedIn { .. }
        | BackendOutcome::NotInstalled
        | BackendOutcome::PermissionDenied { .. } => return None,
        BackendOutcome::MaxTurns => FailureKind::MaxTurns,
        BackendOutcome::ContextLimit => FailureKind::ContextLimit,
        BackendOutcome::Budget => FailureKind::Budget,
        BackendOutcome::Timeout => FailureKind::Timeout,
        BackendOutcome::Idle => FailureKind::Idle,
        BackendOutcome::Cancelled => FailureKind::Interrupted,
        BackendOutcome::ApiError { .. }
        | BackendOutcome::Crash { .. }
        | BackendOutcome::NoOutput
        | BackendOutcome::Malformed { .. } => FailureKind::Backend,
    };
    let (message, fingerprint) = (outcome.to_string(), outcome.word().to_owned());
    Some(AttemptFailure { kind, message, fingerprint })
}

/// Landings of parts of one task that count as progress.
const MOST_PARTIAL_LANDINGS: usize = 10;

/// A claim was made and nothing forbidden was done: tree and gates decide.
fn of_work(evidence: &AttemptEvidence<'_>) -> AttemptDecision {
    use super::LandingExtent;
    let no_change = matches!(
        evidence.claim,
        Claim::Done { no_change_needed: Some(why) } if !why.trim().is_empty()
    );
    if evidence.changed == 0 && !no_change {
        let message = "it says that it worked on the task, and no file changed";
        return AttemptDecision::Fail(AttemptFailure::new(FailureKind::NoChange, message));
    }
    let complete = matches!(evidence.claim, Claim::Done { .. });
    if !complete && evidence.partial_landings >= MOST_PARTIAL_LANDINGS {
        let words = FailureKind::PartlyDone.words();
        return AttemptDecision::Fail(AttemptFailure::new(FailureKind::PartlyDone, words));
    }
    let Some(verdict) = evidence.verdict else { return AttemptDecision::Gate };
    let proof = match &verdict.ruling {
        GateRuling::Refused { fingerprint, .. } => {
            return AttemptDecision::Fail(refused(verdict, fingerprint.clone()));
        }
        // Without a change and without a green gate there is nothing but its word.
        GateRuling::Unproven(_) if evidence.changed == 0 => {
            let message = "it says that nothing has to be changed, and no gate can confirm it";
            return AttemptDecision::Fail(AttemptFailure::new(FailureKind::NoChange, message));
        }
        GateRuling::Unproven(_) => Proof::Unproven,
        GateRuling::Proven | GateRuling::ProvenExceptOld(_) if evidence.changed == 0 => {
            Proof::NoChange
        }
        GateRuling::Proven => Proof::Proven,
        GateRuling::ProvenExceptOld(old) => Proof::ProvenExceptOld(old.clone()),
    };
    let landing = if complete { LandingExtent::Complete } else { LandingExtent::Partial };
    AttemptDecision::Land { landing, proof }
}

/// Why the gates, or the rule about their judges, refuse the work.
fn refused(verdict: &GateVerdict, fingerprint: String) -> AttemptFailure {
    let mut causes: Vec<String> =
        verdict.blocking().map(|check| format!("{} failed", check.name)).collect();
    let kind = match verdict.forbidden() {
        [] => FailureKind::Gates,
        changed => {
            causes.push(format!("it changed {}", changed.join(", ")));
            FailureKind::Judges
        }
    };
    AttemptFailure { kind, message: causes.join("; "), fingerprint }
}

/// Sources that a person writes: a backend that changes one fails, unless its task names the path.
const SOURCES: [&str; 6] = [
    "ralph.toml",
    "ralph.conf",
    "ralph/specs/",
    "ralph/prompts/",
    ".ralph/templates/",
    ".ralph/skills/",
];

/// The changed paths that this task does not allow to change.
pub fn forbidden(paths: impl IntoIterator<Item = String>, task: &Task) -> Vec<String> {
    let words = || {
        let notes = task.notes.iter();
        std::iter::once(&task.name).chain(notes).chain(&task.accept)
    };
    paths
        .into_iter()
        .filter(|path| {
            SOURCES.iter().any(|s| match s.strip_suffix('/') {
                Some(directory) => path == directory || path.starts_with(s),
                None => path == s,
            })
        })
        .filter(|path| !words().any(|text| text.contains(path.as_str())))
        .collect()
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
