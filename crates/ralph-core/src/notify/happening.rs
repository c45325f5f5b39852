//! What a person may want to hear of.

use serde_json::{Value, json};

use crate::config::NotifyOn;
use crate::needs::Need;
use crate::text::{clip, one_line};
use crate::words::{cost, count, short, took};

/// Most characters of a reason; the report and the log have all of it.
const LONGEST: usize = 600;

/// Most needs that a message lists.
const NEEDS: usize = 3;

/// Something happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// The project's name.
    pub project: String,
    /// When, RFC 3339.
    pub at: String,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A spec is done.
    SpecDone {
        /// The spec's file name.
        spec: String,
        /// Its commit, unless nothing was committed.
        commit: Option<String>,
        /// Tasks that were completed.
        tasks: usize,
        /// Dollars, where known.
        cost: Option<f64>,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// A spec was given up.
    SpecFailed {
        /// The spec's file name.
        spec: String,
        /// Why.
        why: String,
        /// Where its work is: a stash entry or a ref.
        kept: Option<String>,
    },
    /// Something cannot go on without a person.
    NeedsPerson {
        /// The spec's file name, where it is about one.
        spec: Option<String>,
        /// What is asked or in the way.
        why: String,
    },
    /// A budget or a limit was reached.
    LimitReached {
        /// The spec's file name, where it is about one.
        spec: Option<String>,
        /// Which one, and what follows from it.
        why: String,
    },
    /// The agent loop has stopped.
    Stopped {
        /// Why.
        why: String,
        /// What needs a person.
        needs: Vec<Need>,
        /// Specs done in this session.
        done: u64,
        /// Specs given up in this session.
        failed: u64,
        /// Dollars, where known.
        cost: Option<f64>,
        /// How long the session took, in milliseconds.
        took_ms: u64,
    },
}

impl Happening {
    /// The word by which the configuration asks for it.
    pub fn on(&self) -> NotifyOn {
        match self.what {
            What::SpecDone { .. } => NotifyOn::Done,
            What::SpecFailed { .. } => NotifyOn::Failed,
            What::NeedsPerson { .. } => NotifyOn::Blocked,
            What::LimitReached { .. } => NotifyOn::Limit,
            What::Stopped { .. } => NotifyOn::Stopped,
        }
    }

    /// The spec it is about.
    pub fn spec(&self) -> Option<&str> {
        match &self.what {
            What::SpecDone { spec, .. } | What::SpecFailed { spec, .. } => Some(spec),
            What::NeedsPerson { spec, .. } | What::LimitReached { spec, .. } => spec.as_deref(),
            What::Stopped { .. } => None,
        }
    }

    /// One line.
    pub fn title(&self) -> String {
        let of =
            |spec: &Option<String>| spec.as_ref().map(|s| format!(": {s}")).unwrap_or_default();
        let what = match &self.what {
            What::SpecDone { spec, .. } => format!("{spec} is done"),
            What::SpecFailed { spec, .. } => format!("{spec} failed"),
            What::NeedsPerson { spec, .. } => format!("a person is needed{}", of(spec)),
            What::LimitReached { spec, .. } => format!("a limit was reached{}", of(spec)),
            What::Stopped { .. } => "the agent stopped".to_owned(),
        };
        one_line(&format!("{}: {what}", self.project))
    }

    /// A line or two more.
    pub fn text(&self) -> String {
        match &self.what {
            What::SpecDone { commit, tasks, cost: dollars, took_ms, .. } => {
                let landed = commit.as_ref().map(|c| format!(", commit {}", short(c)));
                format!(
                    "{}, {}, {}{}",
                    count(*tasks, "task"),
                    took(*took_ms),
                    cost(*dollars),
                    landed.unwrap_or_default()
                )
            }
            What::SpecFailed { why, kept, .. } => {
                let kept = kept.as_ref().map(|k| format!("\nIts work is kept: {k}"));
                format!("{}{}", clip(why.trim(), LONGEST), kept.unwrap_or_default())
            }
            What::NeedsPerson { why, .. } | What::LimitReached { why, .. } => {
                clip(why.trim(), LONGEST)
            }
            What::Stopped { why, needs, done, failed, cost: dollars, took_ms } => {
                let needs = needs.iter().take(NEEDS);
                let needs = needs
                    .map(|n| clip(&format!("\nNeeds you: {} ({})", n.text, n.hint()), LONGEST));
                format!(
                    "{}\n{done} done, {failed} failed, {}, {}{}",
                    clip(why.trim(), LONGEST),
                    cost(*dollars),
                    took(*took_ms),
                    needs.collect::<String>()
                )
            }
        }
    }

    /// All of it, for programs.
    pub fn as_json(&self) -> Value {
        let mut value = json!({
            "event": self.on().as_str(),
            "project": self.project,
            "spec": self.spec(),
            "title": self.title(),
            "message": self.text(),
            "at": self.at,
        });
        let more = match &self.what {
            What::SpecDone { commit, tasks, cost, took_ms, .. } => {
                json!({ "commit": commit, "tasks": tasks, "cost_usd": cost, "duration_ms": took_ms })
            }
            What::SpecFailed { why, kept, .. } => json!({ "why": why, "kept": kept }),
            What::NeedsPerson { why, .. } | What::LimitReached { why, .. } => json!({ "why": why }),
            What::Stopped { why, needs, done, failed, cost, took_ms } => json!({
                "why": why, "needs": needs, "specs_completed": done, "specs_failed": failed, "cost_usd": cost,
                "duration_ms": took_ms,
            }),
        };
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value
    }
}
