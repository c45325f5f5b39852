//! Reading the manifests of other tools: a damaged one is reported with its line, never fatal.

use serde::de::DeserializeOwned;
use toml_edit::{Document, TableLike};

use super::setup::ProjectProblem;
use super::tree::{ProjectTree, TreeEntry};
use crate::text::position;

/// Looks at files and collects what is wrong with them.
pub(super) struct ManifestReader<'a> {
    pub(super) tree: &'a ProjectTree,
    /// Files that could not be used.
    pub(super) problems: Vec<ProjectProblem>,
    pub(super) notes: Vec<String>,
}

impl<'a> ManifestReader<'a> {
    pub(super) fn new(tree: &'a ProjectTree) -> Self {
        Self { tree, problems: Vec::new(), notes: Vec::new() }
    }

    /// The text of the file, when it is there; an unreadable one is a problem.
    pub(super) fn text(&mut self, path: &str) -> Option<&'a str> {
        if let Some(TreeEntry::Unreadable(why)) = self.tree.get(path) {
            self.problem(path, None, why.clone());
        }
        self.tree.text(path)
    }

    /// The JSON file as a value of this type, when it is there and sound.
    pub(super) fn json<T: DeserializeOwned>(&mut self, path: &str) -> Option<T> {
        match serde_json::from_str(self.text(path)?) {
            Ok(value) => Some(value),
            Err(error) => {
                let message = error.to_string();
                let message = message.rsplit_once(" at line ").map_or(&*message, |(what, _)| what);
                self.problem(path, Some(error.line().max(1)), message);
                None
            }
        }
    }

    /// The TOML file, when it is there and sound.
    pub(super) fn toml(&mut self, path: &str) -> Option<Document<&'a str>> {
        let text = self.text(path)?;
        match Document::parse(text) {
            Ok(document) => Some(document),
            Err(error) => {
                let line = error.span().map(|span| position(text, span.start).line);
                self.problem(path, line, error.message().to_owned());
                None
            }
        }
    }

    /// Remember that a file could not be used, once.
    pub(super) fn problem(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        let problem = ProjectProblem { file: file.to_owned(), line, message: message.into() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

/// The table at a dotted path of a TOML document.
pub(super) fn table<'d>(document: &'d Document<&str>, path: &str) -> Option<&'d dyn TableLike> {
    let mut found: &dyn TableLike = document.as_table();
    for part in path.split('.') {
        found = found.get(part)?.as_table_like()?;
    }
    Some(found)
}

/// The lines of one `[section]` of an INI file, without comments; `None` when it has no such section.
pub(super) fn ini_section<'t>(text: &'t str, name: &str) -> Option<Vec<&'t str>> {
    let mut lines = text.lines().map(str::trim);
    lines
        .by_ref()
        .find(|line| line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) == Some(name))?;
    let body = lines.take_while(|line| !line.starts_with('['));
    Some(body.filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).collect())
}
