//! What the gates said about an attempt: the one value that the journal keeps and that prompts, the
//! terminal and the page show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::judges::JudgeChange;
use super::verdict::{Blocker, Judged, Standing, Verdict};
use crate::prompt::markdown::fenced;
use crate::text::clip;

/// Most failures of a gate that are named.
const MOST_NAMES: usize = 20;
/// Longest name or message of a failure, in characters.
const LONGEST_NAME: usize = 200;

/// What the gates said about an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateVerdict {
    /// The attempt that it is about.
    pub attempt: String,
    /// Whether the attempt may land as far as gates go.
    pub passed: bool,
    /// Every gate that ran.
    pub checks: Vec<GateCheck>,
    /// Why the result is not proven, where it is not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproven: Vec<String>,
    /// Changes to tests, manifests and CI, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<String>,
    /// Files among them that an attempt must not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<String>,
    /// The file with the report, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// The result of one gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateCheck {
    /// The gate's name.
    pub name: String,
    /// Its shell command.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Whether it was green.
    pub passed: bool,
    /// Whether all of its failures were there before the attempt.
    #[serde(default)]
    pub preexisting: bool,
    /// Whether it keeps the attempt from landing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// How its command ended, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ending: String,
    /// What failed and did not before, by name or message, as far as the output says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// The output around the errors, made from all of it, of a gate that blocks. A history has it only
    /// of the newest red verdict of an open task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
    /// The file with the whole output, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

impl GateVerdict {
    /// The verdict on an attempt, with the file of its report.
    pub fn of(attempt: &str, verdict: &Verdict, report: Option<String>) -> Self {
        let forbidden = verdict.blockers.iter().filter_map(|blocker| match blocker {
            Blocker::Judges(paths) => Some(paths.clone()),
            Blocker::Gate(_) => None,
        });
        Self {
            attempt: attempt.to_owned(),
            passed: verdict.passed(),
            checks: verdict.checks.iter().map(GateCheck::of).collect(),
            unproven: verdict.unproven.iter().map(ToString::to_string).collect(),
            judges: verdict.judges.iter().map(JudgeChange::to_string).collect(),
            forbidden: forbidden.flat_map(|paths| shorten_list(&paths)).collect(),
            report,
        }
    }

    /// The gates that keep the attempt from landing.
    pub fn blocking(&self) -> impl Iterator<Item = &GateCheck> {
        self.checks.iter().filter(|check| check.blocks)
    }

    /// What keeps the attempt from landing, as markdown under `### Validation Failures`; empty when
    /// nothing does.
    pub fn failure_context(&self) -> String {
        if self.passed {
            return String::new();
        }
        let mut text = "### Validation Failures\n".to_owned();
        self.blocking().for_each(|check| check.write_context(&mut text));
        if !self.forbidden.is_empty() {
            text.push_str("\nThese files decide what the gates find and must stay as they are:\n");
            write_list(&self.forbidden, &mut text);
        }
        let excused = self.checks.iter().filter(|check| !check.passed && !check.blocks);
        let excused: Vec<&str> = excused.map(|check| check.name.as_str()).collect();
        if !excused.is_empty() {
            text.push_str(&format!(
                "\nAlso red, but not held against this task: {}\n",
                excused.join(", ")
            ));
        }
        text
    }
}

impl GateCheck {
    fn of(judged: &Judged) -> Self {
        let Judged { check, standing } = judged;
        let blocks = matches!(standing, Standing::New(_));
        Self {
            name: check.name.clone(),
            command: check.command.clone(),
            passed: check.is_green(),
            preexisting: *standing == Standing::Old,
            blocks,
            ending: check.ending.describe(),
            failing: match standing {
                Standing::New(new) => shorten_list(new),
                _ => Vec::new(),
            },
            excerpt: if blocks { check.excerpt.clone() } else { String::new() },
            log: check.log.clone(),
        }
    }

    fn write_context(&self, text: &mut String) {
        let Self { name, command, ending, .. } = self;
        text.push_str(&format!("\n**{name}**: `{}` ({ending})\n", command.trim()));
        if !self.failing.is_empty() {
            text.push_str("\nFailing:\n");
            write_list(&self.failing, text);
        }
        if !self.excerpt.is_empty() {
            text.push_str(&format!("\n{}\n", fenced(&self.excerpt)));
        }
        if let Some(log) = &self.log {
            text.push_str(&format!("\nThe whole output is in `{log}`.\n"));
        }
    }
}

fn shorten_list(names: &[String]) -> Vec<String> {
    let short = |name: &String| clip(name.trim(), LONGEST_NAME);
    let mut shown: Vec<String> = names.iter().take(MOST_NAMES).map(short).collect();
    if let more @ 1.. = names.len() - shown.len() {
        shown.push(format!("… and {more} more"));
    }
    shown
}

fn write_list(items: &[String], text: &mut String) {
    items.iter().for_each(|item| text.push_str(&format!("- {item}\n")));
}
