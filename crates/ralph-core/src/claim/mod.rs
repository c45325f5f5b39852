//! Claims of an agent at the end of an attempt.
//!
//! # Theory of operation
//!
//! A claim is the agent's word, never a proof: the gates decide. It comes, in this order, from the
//! structured answer, from a handoff in the decoded text, or from a marker that stands alone on a
//! line of that text outside of code ([`ClaimMarker`]). If two of them differ, the more careful one
//! counts: "blocked" before "not complete" before "done". A text that only looks like a claim does
//! not count: "Not RALPH_DONE yet", or a marker in a quotation or a code block.
//!
//! An agent may also claim with `ralph task done|block`. Then the same order decides
//! ([`Claim::or_more_careful`]). A handoff written with the tool `handoff_write` takes the place of
//! the structured answer.
//!
//! A handoff in the text must be about the current task, because agents quote older ones.

mod marker;
mod progress;

use marker::prose;
pub use marker::{ClaimMarker, markers};
pub use progress::{ProgressClaim, taken_from_progress};

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{self, AnswerError, BackendAnswer};
use crate::format::PlanFormat;
use crate::format::progress::RecentAttempt;
use crate::handoff::{Handoff, MIN_FREEFORM};
use crate::plan::{Id, Task};

/// The words of an agent at the end of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct ClaimSources<'a> {
    /// Answer of the backend.
    pub answer: &'a BackendAnswer,
    /// The handoff that it wrote with a tool.
    pub written: Option<&'a Handoff>,
    /// Task of the attempt.
    pub task: &'a Task,
    /// The format of the plan: a reply may contain a progress file.
    pub format: PlanFormat,
    /// The iteration, by which a note in a returned progress file is known.
    pub iteration: u32,
}

/// An agent's word about its task. Commands, answers and files all say it in this form, and the journal,
/// `--json` and the API show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Claim {
    /// The task is complete.
    Done {
        /// Why nothing had to be changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        no_change_needed: Option<String>,
    },
    /// A part of the task is complete; the handoff says which.
    Partial,
    /// The agent cannot continue.
    Blocked {
        /// Reason why the agent cannot continue.
        reason: String,
    },
    /// A person has to decide before the agent can go on.
    NeedsHuman {
        /// Question for the person.
        reason: String,
    },
    /// Nothing about the task that can be read.
    #[default]
    None,
}

impl Claim {
    /// A complete task whose files changed.
    pub const DONE: Self = Self::Done { no_change_needed: None };

    /// Choose the more careful of two claims about one attempt.
    #[must_use]
    pub fn or_more_careful(self, other: Self) -> Self {
        if other.care() > self.care() { other } else { self }
    }

    fn care(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Done { .. } => 1,
            Self::Partial => 2,
            Self::NeedsHuman { .. } => 3,
            Self::Blocked { .. } => 4,
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done { no_change_needed: None } => f.write_str("done"),
            Self::Done { no_change_needed: Some(why) } => {
                write!(f, "nothing had to be changed: {why}")
            }
            Self::Partial => f.write_str("a part of it is done"),
            Self::Blocked { reason } => write!(f, "blocked: {reason}"),
            Self::NeedsHuman { reason } => write!(f, "a person has to decide: {reason}"),
            Self::None => f.write_str("nothing that counts"),
        }
    }
}

/// A claim and what came with it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentReply {
    /// Claim about the task.
    pub claim: Claim,
    /// The handoff, where there is one.
    pub handoff: Option<Handoff>,
    /// `RALPH_DONE` was said, beside whatever else: everything is done, which claims nothing about the task.
    pub says_ralph_done: bool,
    /// The note on this attempt in a progress file that was returned.
    pub attempt: Option<RecentAttempt>,
    /// Text before and after the marker. It is the story of the attempt when there is no handoff.
    pub prose: String,
    /// Problem of the answer, in the words of one repair question.
    /// With a claim, the handoff is poor. Without a claim, this is the reason why there is no handoff.
    pub problem: Option<AnswerError>,
}

impl AgentReply {
    /// Whether nothing was said, neither about the task nor about everything.
    pub fn is_silent(&self) -> bool {
        self.claim == Claim::None && !self.says_ralph_done
    }

    /// Return the question that the agent asks a person, if there is one.
    pub fn review(&self) -> Option<String> {
        let review = self.handoff.as_ref()?.request_human_review.as_ref()?;
        review.needed.then(|| reason(&review.reason))
    }
}

/// Read the claim and the handoff from the words of an agent.
pub fn hear(said: &ClaimSources<'_>) -> AgentReply {
    let (handoff, problem) = match handoff(said) {
        Ok(handoff) => {
            let problem = too_short(&handoff);
            (Some(handoff), problem)
        }
        Err(problem) => (None, Some(problem)),
    };
    let markers = markers(&said.answer.text);
    let says_ralph_done = markers.contains(&ClaimMarker::RalphDone);
    let marker = markers.into_iter().rev().find(|m| *m != ClaimMarker::RalphDone);
    let taken = match said.format {
        PlanFormat::Progress => taken_from_progress(&said.answer.text, said.task, said.iteration),
        _ => None,
    };
    let returned = taken.is_some();
    let ticked = taken.as_ref().is_some_and(|taken| taken.ticked);
    let claim = match (of_handoff(handoff.as_ref()), marker) {
        (_, Some(ClaimMarker::Blocked(reason))) => Claim::Blocked { reason },
        (Some(claim), _) => claim,
        (None, Some(ClaimMarker::Done)) => Claim::DONE,
        (None, _) if ticked => Claim::DONE,
        (None, _) => Claim::None,
    };
    let problem = match claim {
        // A marker is a whole answer; nobody needs to ask for JSON as well.
        Claim::Done { .. } | Claim::Blocked { .. } if handoff.is_none() => None,
        Claim::None if says_ralph_done && handoff.is_none() => None,
        _ => problem,
    };
    let attempt = taken.and_then(|taken| taken.attempt);
    // A returned file is no story.
    let prose = if returned { String::new() } else { prose(&said.answer.text) };
    AgentReply { claim, handoff, says_ralph_done, attempt, prose, problem }
}

fn of_handoff(handoff: Option<&Handoff>) -> Option<Claim> {
    let handoff = handoff?;
    if handoff.task_completed.fully_complete {
        let why = handoff.no_change_needed.as_deref().map(str::trim).filter(|why| !why.is_empty());
        return Some(Claim::Done { no_change_needed: why.map(str::to_owned) });
    }
    let review = handoff.request_human_review.as_ref().filter(|review| review.needed);
    Some(
        review
            .map_or(Claim::Partial, |review| Claim::NeedsHuman { reason: reason(&review.reason) }),
    )
}

/// A reason for people, also when none was given.
fn reason(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { "no reason was given".to_owned() } else { text.to_owned() }
}

/// The handoff of an answer: the structured one, else the last one in the text that is about this
/// task.
fn handoff(said: &ClaimSources<'_>) -> Result<Handoff, AnswerError> {
    if let Some(written) = said.written {
        return Ok(real(written.clone()));
    }
    match said.answer.structured.is_some().then(|| said.answer.read()) {
        Some(Ok(handoff)) => Ok(real(handoff)),
        Some(Err(problem)) => in_text(said).map_err(|_| problem),
        None => in_text(said),
    }
}

fn in_text(said: &ClaimSources<'_>) -> Result<Handoff, AnswerError> {
    answer::read_where(&said.answer.text, |handoff| about(handoff, &said.task.id)).map(real)
}

/// Whether a handoff is about this task.
fn about(handoff: &Handoff, task: &Id) -> Result<(), String> {
    let told = handoff.task_completed.task_id.trim().trim_matches('`');
    if told.is_empty() || told.eq_ignore_ascii_case(task.as_str()) {
        return Ok(());
    }
    Err(format!("`task_completed.task_id` is `{told}`, but the task is `{task}`"))
}

/// Check a handoff that was written for this task and not found in a text.
/// Return the problem if it is about another task or too short.
pub fn misfit(handoff: &Handoff, task: &Id) -> Option<AnswerError> {
    about(handoff, task).err().map(AnswerError::Misfit).or_else(|| too_short(handoff))
}

/// No agent writes a handoff that ralph made.
fn real(handoff: Handoff) -> Handoff {
    Handoff { synthetic: false, discarded: None, ..handoff }
}

fn too_short(handoff: &Handoff) -> Option<AnswerError> {
    let length = handoff.freeform.trim().chars().count();
    (length < MIN_FREEFORM).then(|| {
        AnswerError::Misfit(format!(
            "`freeform` has {length} characters and needs at least {MIN_FREEFORM}"
        ))
    })
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
