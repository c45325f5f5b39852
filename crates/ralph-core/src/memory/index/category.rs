//! What an entry of the index is about, and the ids that name entries: `K-<kind>-<slug>`.

use crate::word_enum::word_enum;

const LONGEST: usize = 120;

word_enum! {
    /// What an entry is about; the word is that of its id.
    #[schemars(rename = "KnowledgeCategory")]
    Category {
        /// What must be so.
        Constraints = "constraint",
        /// What was decided.
        Decisions = "decision",
        /// How things are done here.
        Patterns = "pattern",
        /// What surprises.
        Gotchas = "gotcha",
        /// What nobody knows yet.
        Unresolved = "unresolved",
    }
}

impl Category {
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
        Self::from_word(kind).filter(|_| is_slug)
    }
}
