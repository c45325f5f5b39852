//! The result of one gate, in the form in which it is judged, journalled and shown.

use std::fmt;

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::model::{GateEnding, GateNeed};
use crate::config::GateKind;
use crate::prompt::markdown::fenced;
use crate::text::clip;

/// Most failures of a gate that are named.
const MOST_NAMES: usize = 20;
/// Longest name or message of a failure, in characters.
const LONGEST_NAME: usize = 200;

/// Result of one gate in one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateCheck {
    /// Name of the gate.
    pub name: String,
    /// Shell command of the gate.
    #[serde(default)]
    pub command: String,
    /// Kind of check, such as test or lint.
    #[serde(default, rename = "type")]
    #[schemars(with = "String")]
    pub kind: GateKind,
    /// Whether a failure of the gate fails the attempt.
    #[serde(default)]
    pub need: GateNeed,
    /// Way in which the command ended.
    #[serde(default)]
    pub ending: GateEnding,
    /// Meaning of the result for the attempt, with the names of the failures.
    #[serde(flatten)]
    pub standing: GateStanding,
    /// The output around the new failures, made from all of it, of a gate that blocks. A history has it
    /// only of the newest red verdict of an open task.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
    /// The file with the whole output, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// Running time, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
}

/// Meaning of a gate's result, compared with the tree that the attempt started from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum GateStanding {
    /// The gate is green.
    #[default]
    Green,
    /// The gate is red, and that does not count.
    Tolerated {
        /// Failures of the gate, old or new.
        failing: FailingNames,
    },
    /// The gate is red, and not only as before.
    New {
        /// New failures. Empty if the output names none.
        new: FailingNames,
        /// Old failures, which also failed before.
        old: FailingNames,
    },
    /// The gate is red, and all its failures are old.
    Old {
        /// Old failures. Empty if the output names none.
        old: FailingNames,
    },
    /// The gate was red before, and old and new failures cannot be told apart.
    Unclear {
        /// Reason why they cannot be told apart.
        why: String,
    },
}

impl GateStanding {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Tolerated { .. } => "tolerated",
            Self::New { .. } => "new",
            Self::Old { .. } => "old",
            Self::Unclear { .. } => "unclear",
        }
    }
}

/// Adds `passed` and `preexisting`, the names of Ralph Deluxe for what a standing says.
impl Serialize for GateStanding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("standing", self.as_str())?;
        map.serialize_entry("passed", &(*self == Self::Green))?;
        map.serialize_entry("preexisting", &matches!(self, Self::Old { .. }))?;
        match self {
            Self::Green => {}
            Self::Tolerated { failing } => map.serialize_entry("failing", failing)?,
            Self::New { new, old } => {
                map.serialize_entry("new", new)?;
                map.serialize_entry("old", old)?;
            }
            Self::Old { old } => map.serialize_entry("old", old)?,
            Self::Unclear { why } => map.serialize_entry("why", why)?,
        }
        map.end()
    }
}

/// Writes the failures as well with `{:#}`, where there is room for names.
impl fmt::Display for GateStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (words, names) = match self {
            Self::Green => ("passed", None),
            Self::Tolerated { failing } => ("failed, not required", Some(failing)),
            Self::New { new, .. } => ("failed", Some(new)),
            Self::Old { old } => ("failed as before", Some(old)),
            Self::Unclear { .. } => ("failed, maybe as before", None),
        };
        match names.filter(|names| f.alternate() && !names.is_empty()) {
            Some(names) => write!(f, "{words}: {names}"),
            None => f.write_str(words),
        }
    }
}

/// Names of failing tests, or messages of compilers: the first ones where there are many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailingNames {
    /// The names, none of them long.
    pub names: Vec<String>,
    /// Number of failures that `names` leaves out.
    #[serde(default)]
    pub more: usize,
}

impl FailingNames {
    /// Return whether no failure is named.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Return the number of failures, including those that are not named.
    pub fn count(&self) -> usize {
        self.names.len() + self.more
    }

    /// The names, and a last line about those that are left out.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let more = (self.more > 0).then(|| format!("… and {} more", self.more));
        self.names.iter().cloned().chain(more)
    }
}

impl FailingNames {
    /// Append the names of another gate.
    pub(super) fn extend(&mut self, other: &Self) {
        self.more += other.more;
        for name in &other.names {
            match self.names.len() < MOST_NAMES {
                true => self.names.push(name.clone()),
                false => self.more += 1,
            }
        }
    }
}

impl<S: AsRef<str>> FromIterator<S> for FailingNames {
    fn from_iter<I: IntoIterator<Item = S>>(all: I) -> Self {
        let mut all = all.into_iter();
        let short = |name: S| clip(name.as_ref().trim(), LONGEST_NAME);
        let names = all.by_ref().take(MOST_NAMES).map(short).collect();
        Self { names, more: all.count() }
    }
}

impl fmt::Display for FailingNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().collect::<Vec<_>>().join(", "))
    }
}

impl GateCheck {
    /// Return whether the gate is green.
    pub fn is_green(&self) -> bool {
        self.standing == GateStanding::Green
    }

    /// Whether the gate keeps the attempt from landing.
    pub fn blocks(&self) -> bool {
        matches!(self.standing, GateStanding::New { .. })
    }

    /// The failures that keep the attempt from landing, a line each.
    pub fn new_failures(&self) -> Vec<String> {
        match &self.standing {
            GateStanding::New { new, .. } => new.lines().collect(),
            _ => Vec::new(),
        }
    }

    /// Append what a retry has to know about a gate that blocks, as markdown.
    pub(super) fn write_context(&self, text: &mut String) {
        let (name, command, ending) = (&self.name, self.command.trim(), self.ending.describe());
        text.push_str(&format!("\n**{name}**: `{command}` ({ending})\n"));
        let failing = self.new_failures();
        if !failing.is_empty() {
            text.push_str("\nFailing:\n");
            failing.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
        }
        if !self.excerpt.is_empty() {
            text.push_str(&format!("\n{}\n", fenced(&self.excerpt)));
        }
        if let Some(log) = &self.log {
            text.push_str(&format!("\nThe whole output is in `{log}`.\n"));
        }
    }
}
