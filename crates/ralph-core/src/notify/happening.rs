//! What a person may want to hear of.

use serde::Serialize;

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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum What {
    /// A spec is done.
    SpecDone {
        /// The spec's file name.
        #[serde(skip)]
        spec: String,
        /// Its commit, unless nothing was committed.
        commit: Option<String>,
        /// Tasks that were completed.
        tasks: usize,
        /// Dollars, where known.
        #[serde(rename = "cost_usd")]
        cost: Option<f64>,
        /// How long it took, in milliseconds.
        #[serde(rename = "duration_ms")]
        took_ms: u64,
    },
    /// A spec was given up.
    SpecFailed {
        /// The spec's file name.
        #[serde(skip)]
        spec: String,
        /// Why.
        why: String,
        /// Where its work is: a stash entry or a ref.
        kept: Option<String>,
    },
    /// Something cannot go on without a person.
    NeedsPerson {
        /// The spec's file name, where it is about one.
        #[serde(skip)]
        spec: Option<String>,
        /// What is asked or in the way.
        why: String,
    },
    /// A budget or a limit was reached.
    LimitReached {
        /// The spec's file name, where it is about one.
        #[serde(skip)]
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
        #[serde(rename = "specs_completed")]
        done: u64,
        /// Specs given up in this session.
        #[serde(rename = "specs_failed")]
        failed: u64,
        /// Dollars, where known.
        #[serde(rename = "cost_usd")]
        cost: Option<f64>,
        /// How long the session took, in milliseconds.
        #[serde(rename = "duration_ms")]
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
    pub fn report(&self) -> HappeningReport<'_> {
        HappeningReport {
            event: self.on().as_str(),
            project: &self.project,
            spec: self.spec(),
            title: self.title(),
            message: self.text(),
            at: &self.at,
            what: &self.what,
        }
    }
}

/// A happening as programs read it: what all of them have, and then its own fields.
#[derive(Clone, Debug, Serialize)]
pub struct HappeningReport<'h> {
    /// The word by which the configuration asks for it.
    pub event: &'static str,
    /// The project's name.
    pub project: &'h str,
    /// The spec it is about.
    pub spec: Option<&'h str>,
    /// One line.
    pub title: String,
    /// A line or two more.
    pub message: String,
    /// When, RFC 3339.
    pub at: &'h str,
    /// What happened.
    #[serde(flatten)]
    pub what: &'h What,
}
