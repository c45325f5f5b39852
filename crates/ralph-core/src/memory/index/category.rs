//! What an entry of the index is about, and the ids that name entries: `K-<kind>-<slug>`.

use schemars::JsonSchema;
use serde::Serialize;

const LONGEST: usize = 120;

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "KnowledgeCategory")]
pub enum Category {
    /// What must be so.
    #[serde(rename = "constraint")]
    Constraints,
    /// What was decided.
    #[serde(rename = "decision")]
    Decisions,
    /// How things are done here.
    #[serde(rename = "pattern")]
    Patterns,
    /// What surprises.
    #[serde(rename = "gotcha")]
    Gotchas,
    /// What nobody knows yet.
    #[serde(rename = "unresolved")]
    Unresolved,
}

impl Category {
    /// All of them in the order of the file.
    pub const ALL: [Self; 5] =
        [Self::Constraints, Self::Decisions, Self::Patterns, Self::Gotchas, Self::Unresolved];

    /// Its heading in the markdown file.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Constraints => "Constraints",
            Self::Decisions => "Architectural Decisions",
            Self::Patterns => "Patterns",
            Self::Gotchas => "Gotchas",
            Self::Unresolved => "Unresolved",
        }
    }

    /// The word for it in an id.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Constraints => "constraint",
            Self::Decisions => "decision",
            Self::Patterns => "pattern",
            Self::Gotchas => "gotcha",
            Self::Unresolved => "unresolved",
        }
    }

    /// How soon it is shown when something is looked up; the lowest first.
    pub fn rank(self) -> u8 {
        match self {
            Self::Constraints => 1,
            Self::Decisions => 2,
            Self::Unresolved => 3,
            Self::Gotchas => 4,
            Self::Patterns => 5,
        }
    }

    /// The category that a heading begins.
    pub fn of_heading(heading: &str) -> Option<Self> {
        let heading = heading.trim();
        Self::ALL.into_iter().find(|c| c.heading().eq_ignore_ascii_case(heading))
    }

    /// The category of an id; `None` when it is not of the form `K-<kind>-<slug>`.
    pub fn of_id(id: &str) -> Option<Self> {
        let (kind, slug) = id.strip_prefix("K-")?.split_once('-')?;
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_slug = !slug.is_empty() && slug.chars().all(fits) && id.len() <= LONGEST;
        Self::ALL.into_iter().find(|c| c.kind() == kind).filter(|_| is_slug)
    }
}
