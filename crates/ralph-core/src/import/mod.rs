//! Plans of other loops and trackers, brought along: text in, tasks, documents and notes out.
//!
//! # Theory of operation
//!
//! ```text
//! files --detect--> Kind --read--> Found --settle--> Import (new text of the plan, rows, record)
//!                                    \---place----> copies of its documents, under free names
//! ```
//!
//! A reader knows one foreign format and says what stands in it: [`ImportItem`]s, [`SourceDocument`]s, and
//! [`PlanAside`]s that belong to no item. It loses nothing: whatever a task of ralph has no field for
//! becomes part of its notes. [`settle`] brings the items into a plan: it finds those that are there
//! already, gives the others their ids, and reads the new plan back. Whatever its format did not keep
//! (plan.jsonl buries what is done) goes to the *record*, a file of notes beside the plan.
//!
//! Ids are worked out from the source and never rolled, so that a second import finds the first.

mod beads;
mod checklist;
mod detect;
mod facts;
mod folders;
mod github;
mod ident;
mod leftover;
mod native;
mod place;
mod prd;
mod record;
mod settle;
mod task_master;
mod tasks_md;

#[cfg(test)]
mod kinds_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod settle_tests;

use std::fmt;

pub use detect::{ImportCandidate, candidates, enters, wants};
pub use place::{DocumentSite, PlacedDocument, place};
pub use record::with_blocks;
pub use settle::{ImportRow, ImportStatus, ImportTarget, PreparedImport, settle};

use serde::Serialize;

use crate::json::{self, JsonError, JsonNode};
use crate::plan::Task;
use crate::word_enum::word_enum;

word_enum! {
    /// Kind of a source from which plans can be imported.
    ImportKind {
        /// snarktank's `prd.json`.
        Prd = "prd",
        /// `fix_plan.md` of ralph-claude-code.
        FixPlan = "fix-plan",
        /// `tasks.json` of Task Master.
        TaskMaster = "task-master",
        /// `issues.jsonl` of beads.
        Beads = "beads",
        /// Change folders of OpenSpec.
        OpenSpec = "openspec",
        /// Feature folders of spec-kit.
        SpecKit = "spec-kit",
        Deluxe = "deluxe",
        Wiggum = "wiggum",
        /// GitHub issues, as `gh` prints them.
        Github = "github",
    }
}

impl ImportKind {
    /// Return a description of the files that indicate this kind.
    pub fn looks_like(self) -> &'static str {
        match self {
            Self::Prd => "prd.json (an object with `userStories`)",
            Self::FixPlan => "fix_plan.md, @fix_plan.md or .ralph/fix_plan.md",
            Self::TaskMaster => ".taskmaster/tasks/tasks.json",
            Self::Beads => ".beads/issues.jsonl",
            Self::OpenSpec => "openspec/changes/NAME/ with proposal.md or tasks.md",
            Self::SpecKit => "specs/NNN-NAME/ with spec.md or tasks.md",
            Self::Deluxe => "plan.json of a Ralph Deluxe project",
            Self::Wiggum => "IMPLEMENTATION_PLAN.md, or PROMPT.md beside fix_plan.md",
            Self::Github => {
                "the output of `gh issue list --json number,title,body,labels,state` on standard input"
            }
        }
    }

    /// Return the prefix that turns a number into an id, such as `gh` in `gh-42`.
    fn prefix(self) -> &'static str {
        match self {
            Self::TaskMaster => "tm",
            Self::Github => "gh",
            Self::Beads => "bd",
            Self::Prd => "us",
            Self::OpenSpec => "os",
            Self::SpecKit => "sk",
            Self::FixPlan | Self::Deluxe | Self::Wiggum => "t",
        }
    }
}

impl fmt::Display for ImportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that may be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSource {
    /// Path below the path that the user named, with `/`. `-` for standard input.
    pub path: String,
    pub text: String,
}

/// A source that cannot be imported: where, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ImportError {
    pub file: String,
    /// Line, from 1, where one is to blame.
    pub line: Option<usize>,
    pub message: String,
    /// Advice for the user.
    pub hint: String,
}

impl ImportError {
    fn new(file: &str, message: impl Into<String>, hint: &str) -> Self {
        Self { file: file.to_owned(), line: None, message: message.into(), hint: hint.to_owned() }
    }

    fn json(source: &ImportSource, error: JsonError) -> Self {
        let at = error.in_text(&source.text);
        Self { line: Some(at.line), ..Self::new(&source.path, at.message, MEND) }
    }
}

const MEND: &str = "nothing was written; mend that place and import again";

/// Tasks, documents and other content found in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceContent {
    /// Tasks, in the order in which they should be done.
    pub items: Vec<ImportItem>,
    /// Files to copy into the project.
    pub documents: Vec<SourceDocument>,
    /// Content that belongs to no task.
    pub asides: Vec<PlanAside>,
}

impl SourceContent {
    fn aside(&mut self, from: &str, label: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.asides
                .push(PlanAside { from: from.to_owned(), said: LabelledText::new(label, text) });
        }
    }
}

/// One task of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportItem {
    /// Reference to the item within the source. Unique together with `scope`.
    pub key: String,
    /// Part of the source that the item is from, such as a folder or a repository. Empty if unknown.
    pub scope: String,
    /// Whether `key` is an id that people use, not only the text of the task.
    pub has_id: bool,
    pub file: String,
    /// Line of the item in its file, from 1.
    pub line: usize,
    /// Fields that ralph has a place for, without id, dependencies and notes.
    pub task: Task,
    /// Keys of the items that must be done first.
    pub needs: Vec<String>,
    /// Keys of the items that it should come after, unless that closes a circle: its parts, and what
    /// the whole waits for that it is a part of.
    pub after: Vec<String>,
    /// Content for the task's notes.
    pub says: Vec<LabelledText>,
    /// Content for the record of the import only, because it does not help to do the task.
    pub aside: Vec<LabelledText>,
}

impl ImportItem {
    fn say(&mut self, label: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.says.push(LabelledText::new(label, text));
        }
    }

    /// Give it a name of one line; a title that is more stays in the notes.
    fn named(&mut self, title: &str) {
        self.task.name = crate::text::one_line(title);
        if self.task.name.is_empty() {
            let first = self.says.iter().flat_map(|said| said.text.lines()).next();
            let first = first.map(|line| crate::text::clip(&crate::text::one_line(line), 80));
            self.task.name = first.filter(|line| !line.is_empty()).unwrap_or_else(|| {
                format!("(without a title) {}", crate::text::one_line(&self.key))
            });
        } else if self.task.name != title.trim() {
            self.say("title", title);
        }
    }
}

/// Something that was said, and under which name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledText {
    /// Name of the field in the source. Empty for plain text.
    pub label: String,
    pub text: String,
}

impl LabelledText {
    fn new(label: &str, text: impl Into<String>) -> Self {
        Self { label: label.to_owned(), text: text.into() }
    }
}

impl fmt::Display for LabelledText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.trim_end();
        match (self.label.is_empty(), text.contains('\n')) {
            (true, _) => f.write_str(text),
            (false, false) => write!(f, "{}: {}", self.label, text.trim_start()),
            (false, true) => write!(f, "{}:\n{text}", self.label),
        }
    }
}

/// Information about the whole plan, which belongs to no task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanAside {
    /// The file it stands in, called the same wherever it is read from.
    pub from: String,
    pub said: LabelledText,
}

/// File of the source that is copied into the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceDocument {
    /// Path of the file in the source.
    pub from: String,
    #[serde(skip)]
    pub site: DocumentSite,
    #[serde(skip)]
    pub text: String,
}

/// Read the sources as what they are said to be. Files of other kinds among them are passed over.
pub fn read(kind: ImportKind, sources: &[ImportSource]) -> Result<SourceContent, ImportError> {
    let mut found = match kind {
        ImportKind::Prd => prd::read(sources),
        ImportKind::FixPlan | ImportKind::Wiggum => tasks_md::read(kind, sources),
        ImportKind::TaskMaster => task_master::read(sources),
        ImportKind::Beads => beads::read(sources),
        ImportKind::OpenSpec | ImportKind::SpecKit => folders::read(kind, sources),
        ImportKind::Deluxe => native::deluxe(sources),
        ImportKind::Github => github::read(sources),
    }?;
    if found.items.is_empty() && found.documents.is_empty() {
        let file = sources.first().map_or("-", |source| source.path.as_str());
        let message = format!("there is nothing of {kind} in it");
        let hint = format!("expected {}", kind.looks_like());
        return Err(ImportError::new(file, message, &hint));
    }
    tell_apart(&mut found.items);
    Ok(found)
}

/// A second item with a key that was used before gets one of its own; nobody can mean it.
fn tell_apart(items: &mut [ImportItem]) {
    let mut seen = std::collections::BTreeMap::<(String, String), usize>::new();
    for item in items {
        let count = seen.entry((item.scope.clone(), item.key.clone())).or_default();
        *count += 1;
        if *count > 1 {
            if item.has_id {
                item.say("id", item.key.clone());
            }
            item.key = format!("{}#{count}", item.key);
            item.has_id = false;
        }
    }
}

/// The root of a JSON file.
fn root(source: &ImportSource) -> Result<JsonNode, ImportError> {
    json::parse_file(&source.text).map_err(|e| ImportError::json(source, e))
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The first source that a test picks, asked in order of preference.
fn pick<'s>(
    sources: &'s [ImportSource],
    tests: &[&dyn Fn(&str) -> bool],
) -> Option<&'s ImportSource> {
    tests.iter().find_map(|test| sources.iter().find(|source| test(&source.path)))
}
