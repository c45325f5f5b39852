//! Gaps: what a verifier found missing or wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::loose;

/// Kind of a gap. The kind decides whether the gap becomes a task or an issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// Something the spec asks for is not there: a task.
    MissingFeature,
    /// The task is not finished: it is rejected, and a follow-up task is made.
    Incomplete,
    /// Something is wrong: an issue.
    Bug,
    /// An edge case is not handled: a task when it comes with criteria, an issue otherwise.
    EdgeCase,
    /// Something is not tested: a task.
    TestCoverage,
    /// The spec can be read in two ways: an issue.
    Ambiguity,
    /// Anything else: an issue.
    #[default]
    Other,
}

impl GapKind {
    /// The kind that somebody's words for it mean: `Missing feature`, `test-coverage gap`.
    fn of_words(words: &str) -> Option<Self> {
        const STARTS: [(&str, GapKind); 11] = [
            ("missing", GapKind::MissingFeature),
            ("feature", GapKind::MissingFeature),
            ("incomplete", GapKind::Incomplete),
            ("unfinished", GapKind::Incomplete),
            ("bug", GapKind::Bug),
            ("edge", GapKind::EdgeCase),
            ("test", GapKind::TestCoverage),
            ("coverage", GapKind::TestCoverage),
            ("ambigu", GapKind::Ambiguity),
            ("spec ambigu", GapKind::Ambiguity),
            ("other", GapKind::Other),
        ];
        let words = words.trim().to_lowercase().replace(['_', '-'], " ");
        STARTS.iter().find(|(start, _)| words.starts_with(start)).map(|(_, kind)| *kind)
    }
}

impl<'de> Deserialize<'de> for GapKind {
    /// A kind that nobody knows is no reason to throw a verdict away.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = loose::text(deserializer)?;
        Ok(Self::of_words(&words).unwrap_or_default())
    }
}

/// One thing that a verifier found missing or wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Kind of the gap.
    #[serde(default, alias = "type")]
    pub kind: GapKind,
    /// Description of the gap: the missing or wrong thing, and its place.
    #[serde(alias = "desc", alias = "gap", alias = "text")]
    pub description: String,
    /// One line that says what to do about it.
    #[serde(default, alias = "name", deserialize_with = "loose::text")]
    pub title: String,
    /// Criteria that one can see or run when the gap is fixed.
    #[serde(
        default,
        alias = "acceptance_criteria",
        alias = "criteria",
        deserialize_with = "loose::texts"
    )]
    pub accept: Vec<String>,
}

impl Gap {
    /// A gap that was told as a plain text, perhaps with its kind in front: `bug: it crashes`.
    pub(super) fn of_text(text: &str) -> Self {
        let told = text.split_once(':').and_then(|(kind, rest)| {
            let short = kind.split_whitespace().count() <= 3;
            Some((GapKind::of_words(kind).filter(|_| short)?, rest.trim()))
        });
        let (kind, description) = told.unwrap_or((GapKind::Other, text.trim()));
        Self { kind, description: description.to_owned(), ..Self::default() }
    }
}
