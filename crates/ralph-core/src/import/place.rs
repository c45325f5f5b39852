//! Places for the documents of a source: their own place, or one beside an existing file.

use std::collections::BTreeMap;

use serde::Serialize;

use super::SourceDocument;

/// Kind of place in the project that a document belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentSite {
    /// The document is a spec with this file name.
    Spec(String),
    /// ralph keeps the same file in the same place of the project.
    Home(String),
    /// Kept for people only, among what was imported.
    Import(String),
}

const SPECS: &str = "ralph/specs";

/// The folder of whatever has no other place.
pub(super) const IMPORTS: &str = "ralph/imports";

/// A document and the path that it gets, relative to the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedDocument {
    #[serde(flatten)]
    pub document: SourceDocument,
    /// Path in the project, relative to its root.
    #[serde(rename = "to")]
    pub path: String,
    /// Whether it is there already, word for word.
    pub is_there: bool,
}

impl PlacedDocument {
    /// Return the spec's name in the source and the name that tasks use. `None` if it is no spec.
    pub fn spec(&self) -> Option<(&str, &str)> {
        match &self.document.site {
            DocumentSite::Spec(name) => {
                Some((name, self.path.strip_prefix(SPECS)?.trim_start_matches('/')))
            }
            _ => None,
        }
    }
}

/// Find a place for each document. `look` gives what a path of the project holds now, if anything;
/// nothing that is there is ever replaced.
pub fn place(
    documents: &[SourceDocument],
    look: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Vec<PlacedDocument> {
    let mut taken = BTreeMap::<String, Vec<u8>>::new();
    let mut placed = Vec::new();
    for document in documents {
        let bytes = document.text.as_bytes();
        for path in paths(&document.site) {
            let found = taken.get(&path).cloned().or_else(|| look(&path));
            let is_there = match found {
                None => false,
                Some(same) if same == bytes => true,
                Some(_) => continue,
            };
            taken.insert(path.clone(), bytes.to_vec());
            placed.push(PlacedDocument { document: document.clone(), path, is_there });
            break;
        }
    }
    placed
}

/// The paths that a document may get, best first; they never end.
fn paths(site: &DocumentSite) -> impl Iterator<Item = String> {
    let (first, base) = match site {
        DocumentSite::Spec(name) => (None, format!("{SPECS}/{}", safe(name))),
        DocumentSite::Import(name) => (None, format!("{IMPORTS}/{}", safe(name))),
        DocumentSite::Home(path) => {
            let name = path.trim_start_matches(".ralph/");
            (Some(safe(path)), format!("{IMPORTS}/deluxe/{}", safe(name)))
        }
    };
    let (stem, end) = match base.rsplit_once('.').filter(|(_, end)| !end.contains('/')) {
        Some((stem, end)) => (stem.to_owned(), format!(".{end}")),
        None => (base.clone(), String::new()),
    };
    let more = (2..).map(move |n: u32| format!("{stem}-{n}{end}"));
    first.into_iter().chain([base]).chain(more)
}

/// A path that stays where it is meant to be.
fn safe(path: &str) -> String {
    let part = |part: &str| match part {
        "" | "." | ".." => "_".to_owned(),
        other => other.replace(['\\', '\0', '\n', '\r'], "_"),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}
