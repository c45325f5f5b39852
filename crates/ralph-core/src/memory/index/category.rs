//! Categories of index entries, and the ids that name entries: `K-<kind>-<slug>`.

use crate::word_enum::word_enum;

const LONGEST: usize = 120;

word_enum! {
    /// Category of an index entry. The word is the `<kind>` in its id.
    #[schemars(rename = "KnowledgeCategory")]
    KnowledgeCategory {
        /// Rules that the work must follow.
        Constraints = "constraint",
        /// Decisions about the design.
        Decisions = "decision",
        /// Usual ways of working in this project.
        Patterns = "pattern",
        /// Facts that are surprising or easy to get wrong.
        Gotchas = "gotcha",
        /// Open questions.
        Unresolved = "unresolved",
    }
}

impl KnowledgeCategory {
    /// Return the heading of this category in the markdown file.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Constraints => "Constraints",
            Self::Decisions => "Architectural Decisions",
            Self::Patterns => "Patterns",
            Self::Gotchas => "Gotchas",
            Self::Unresolved => "Unresolved",
        }
    }

    /// Return the rank of this category in search results. The lowest rank comes first.
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
        Self::from_word(kind).filter(|_| is_slug)
    }
}
