//! Events that a person may want to be notified about.

use serde::Serialize;

use crate::config::NotifyEvent;
use crate::needs::Need;
use crate::text::{clip, one_line};
use crate::words::{cost, count, short, took};

/// Most characters of a reason; the report and the log have all of it.
const LONGEST: usize = 600;

/// Most needs that a message lists.
const NEEDS: usize = 3;

/// Event of a project, for a notification.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectEvent {
    pub project: String,
    /// Time of the event, RFC 3339.
    pub at: String,
    pub what: ProjectEventKind,
}

/// Kind of an event, with its details.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ProjectEventKind {
    SpecDone {
        /// File name of the spec.
        #[serde(skip)]
        spec: String,
        /// Commit of the spec. `None` if nothing was committed.
        commit: Option<String>,
        /// Number of tasks that were completed.
        tasks: usize,
        /// Cost in dollars, if known.
        #[serde(rename = "cost_usd")]
        cost: Option<f64>,
        /// Time that the spec took, in milliseconds.
        #[serde(rename = "duration_ms")]
        took_ms: u64,
    },
    SpecFailed {
        /// File name of the spec.
        #[serde(skip)]
        spec: String,
        why: String,
        /// Stash entry or ref that keeps the work.
        kept: Option<String>,
    },
    /// Something cannot go on without a person.
    NeedsPerson {
        /// The spec's file name, where it is about one.
        #[serde(skip)]
        spec: Option<String>,
        /// Question to the person, or the obstacle.
        why: String,
    },
    /// A budget or a limit was reached.
    LimitReached {
        /// The spec's file name, where it is about one.
        #[serde(skip)]
        spec: Option<String>,
        /// Limit that was reached, and its effect.
        why: String,
    },
    /// The loop of `ralph agent` has stopped.
    Stopped {
        why: String,
        /// Things that a person has to do.
        needs: Vec<Need>,
        /// Number of specs that were finished in this session.
        #[serde(rename = "specs_completed")]
        done: u64,
        /// Specs given up in this session.
        #[serde(rename = "specs_failed")]
        failed: u64,
        /// Cost in dollars, if known.
        #[serde(rename = "cost_usd")]
        cost: Option<f64>,
        /// Duration of the session, in milliseconds.
        #[serde(rename = "duration_ms")]
        took_ms: u64,
    },
}

impl ProjectEvent {
    /// The word by which the configuration asks for it.
    pub fn on(&self) -> NotifyEvent {
        match self.what {
            ProjectEventKind::SpecDone { .. } => NotifyEvent::Done,
            ProjectEventKind::SpecFailed { .. } => NotifyEvent::Failed,
            ProjectEventKind::NeedsPerson { .. } => NotifyEvent::Blocked,
            ProjectEventKind::LimitReached { .. } => NotifyEvent::Limit,
            ProjectEventKind::Stopped { .. } => NotifyEvent::Stopped,
        }
    }

    /// Return the spec of the event, or `None` if it is not about one spec.
    pub fn spec(&self) -> Option<&str> {
        match &self.what {
            ProjectEventKind::SpecDone { spec, .. } | ProjectEventKind::SpecFailed { spec, .. } => {
                Some(spec)
            }
            ProjectEventKind::NeedsPerson { spec, .. }
            | ProjectEventKind::LimitReached { spec, .. } => spec.as_deref(),
            ProjectEventKind::Stopped { .. } => None,
        }
    }

    /// Return the title of the message, on one line.
    pub fn title(&self) -> String {
        let of =
            |spec: &Option<String>| spec.as_ref().map(|s| format!(": {s}")).unwrap_or_default();
        let what = match &self.what {
            ProjectEventKind::SpecDone { spec, .. } => format!("{spec} is done"),
            ProjectEventKind::SpecFailed { spec, .. } => format!("{spec} failed"),
            ProjectEventKind::NeedsPerson { spec, .. } => format!("a person is needed{}", of(spec)),
            ProjectEventKind::LimitReached { spec, .. } => {
                format!("a limit was reached{}", of(spec))
            }
            ProjectEventKind::Stopped { .. } => "the agent stopped".to_owned(),
        };
        one_line(&format!("{}: {what}", self.project))
    }

    /// Return the text of the message below its title.
    pub fn text(&self) -> String {
        match &self.what {
            ProjectEventKind::SpecDone { commit, tasks, cost: dollars, took_ms, .. } => {
                let landed = commit.as_ref().map(|c| format!(", commit {}", short(c)));
                format!(
                    "{}, {}, {}{}",
                    count(*tasks, "task"),
                    took(*took_ms),
                    cost(*dollars),
                    landed.unwrap_or_default()
                )
            }
            ProjectEventKind::SpecFailed { why, kept, .. } => {
                let kept = kept.as_ref().map(|k| format!("\nIts work is kept: {k}"));
                format!("{}{}", clip(why.trim(), LONGEST), kept.unwrap_or_default())
            }
            ProjectEventKind::NeedsPerson { why, .. }
            | ProjectEventKind::LimitReached { why, .. } => clip(why.trim(), LONGEST),
            ProjectEventKind::Stopped { why, needs, done, failed, cost: dollars, took_ms } => {
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

    /// Return the event in the form for programs.
    pub fn report(&self) -> ProjectEventReport<'_> {
        ProjectEventReport {
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
pub struct ProjectEventReport<'h> {
    /// The word by which the configuration asks for it.
    pub event: &'static str,
    pub project: &'h str,
    pub spec: Option<&'h str>,
    /// Title of the message, on one line.
    pub title: String,
    /// Text of the message below its title.
    pub message: String,
    /// Time of the event, RFC 3339.
    pub at: &'h str,
    #[serde(flatten)]
    pub what: &'h ProjectEventKind,
}
