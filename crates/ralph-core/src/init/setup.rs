//! The answer to `ralph init`: what to write, what stays, what to say.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::draft::{ConfigDraft, GateSource};
use super::lane_proposal::{LaneKey, LaneProposal};
use super::manifest::ManifestReader;
use super::stack::DetectedStack;
use super::starter::{STARTER, STARTER_FILE};
use super::tree::{ProjectTree, TreeEntry};
use super::{ProposedGate, draft, ignore, import, other_rules, stack};
use crate::format::PlanFormat;

/// Choices of the user for `ralph init`, beyond the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitRequest {
    /// A plan of this format, with the text of an empty one.
    pub plan: Option<(PlanFormat, String)>,
    /// Whether the folder of specs begins with a starter.
    pub spec: FirstSpec,
    pub backend: Option<String>,
    /// Gates that were found and are not wanted, by name.
    pub dropped: BTreeSet<String>,
    /// Keys of `[lane]` that are proposed and not wanted.
    pub declined: BTreeSet<LaneKey>,
}

/// Content of a new folder of specs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstSpec {
    /// A spec that shows what a good one looks like.
    #[default]
    Starter,
    /// The folder starts empty.
    None,
}

/// A file to create. Whoever creates it must not replace one that appeared meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// From the root of the project.
    pub path: String,
    /// Complete text of the file.
    pub text: String,
}

/// Error in a file of the project. The setup continues without that file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectProblem {
    /// From the root of the project.
    pub file: String,
    /// Line, from 1, where one is known.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for ProjectProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// The state of an existing `.gitignore`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IgnoreRulesState {
    /// Nothing to do: it has them all, cannot be read, or is among the files to create.
    #[default]
    Done,
    /// Rules are missing. [`super::with_rules`] adds them.
    Lacking,
}

/// Files that `ralph init` will create, and its findings about the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProjectSetup {
    /// Files to create; `ralph.toml` is the last, so that a run that was cut short starts over.
    #[serde(skip)]
    pub create: Vec<NewFile>,
    #[serde(skip)]
    pub ignore: IgnoreRulesState,
    /// Files that exist already and stay unchanged.
    pub kept: Vec<String>,
    /// The stacks of the project; looked for only when there is no `ralph.toml` yet.
    pub found: Vec<DetectedStack>,
    /// The gates that the new `ralph.toml` has.
    pub gates: Vec<ProposedGate>,
    /// The table `[lane]` that the new `ralph.toml` has.
    pub lane: LaneProposal,
    /// Files of other programs whose settings were taken over.
    pub imported: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Files that could not be used.
    pub problems: Vec<ProjectProblem>,
}

impl ProjectSetup {
    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.create.is_empty() && self.ignore == IgnoreRulesState::Done
    }

    /// Whether there is no configuration yet.
    pub fn is_new(&self) -> bool {
        self.create.iter().any(|file| file.path == CONFIG)
    }
}

/// A file where a folder has to be, or the other way round.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is in the way: ralph needs {} there", self.path, self.needed())]
pub struct BlockedPath {
    /// From the root of the project.
    pub path: String,
    pub wanted: PathKind,
}

/// Kind of entry that must be at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    File,
    Folder,
}

impl BlockedPath {
    fn needed(&self) -> &'static str {
        match self.wanted {
            PathKind::File => "a file",
            PathKind::Folder => "a folder",
        }
    }
}

/// Compute the setup that makes the project ready for ralph.
pub fn set_up(tree: &ProjectTree, request: &InitRequest) -> Result<ProjectSetup, BlockedPath> {
    let mut setup = ProjectSetup::default();
    let mut look = ManifestReader::new(tree);
    let is_new = tree.get(CONFIG).is_none();
    specs(&mut look, &mut setup, request.spec);
    plan(&mut look, &mut setup, request);
    ignore_rules(&mut look, &mut setup);
    other_rules::tell_formatters(&mut look);
    if is_new {
        let draft = configuration(&mut look, &mut setup, request);
        setup.create.push(NewFile { path: CONFIG.to_owned(), text: draft.text() });
    } else {
        setup.kept.push(CONFIG.to_owned());
    }
    setup.problems = look.problems;
    // Who runs init again wants to hear that all is well, not the advice of the first time.
    if !setup.is_done() {
        setup.notes = look.notes;
    }
    check(tree, &setup)?;
    Ok(setup)
}

const CONFIG: &str = "ralph.toml";
const IGNORE: &str = ".gitignore";
const SPECS: &str = "ralph/specs";

/// The specs folder, with the specs of another program when they are not there yet.
fn specs(look: &mut ManifestReader<'_>, setup: &mut ProjectSetup, first: FirstSpec) {
    setup.create.extend(import::wiggum::specs(look, SPECS));
    let is_there = look.tree.names(SPECS).next().is_some();
    if is_there {
        setup.kept.push(format!("{SPECS}/"));
    } else if setup.create.is_empty() {
        let (path, text) = match first {
            FirstSpec::Starter => (STARTER_FILE.to_owned(), STARTER.to_owned()),
            // Git does not keep an empty folder.
            FirstSpec::None => (format!("{SPECS}/.gitkeep"), String::new()),
        };
        setup.create.push(NewFile { path, text });
    }
}

fn plan(look: &mut ManifestReader<'_>, setup: &mut ProjectSetup, request: &InitRequest) {
    let Some((format, text)) = &request.plan else { return };
    let path = format.file_name();
    if look.tree.get(path).is_some() {
        setup.kept.push(path.to_owned());
        return;
    }
    setup.create.push(NewFile { path: path.to_owned(), text: text.clone() });
    if look.tree.get(CONFIG).is_some() {
        look.note(format!(
            "{CONFIG} stays as it is: `ralph config set plan {path}` makes {path} the plan"
        ));
    }
}

fn ignore_rules(look: &mut ManifestReader<'_>, setup: &mut ProjectSetup) {
    if look.tree.get(IGNORE).is_none() {
        let text = ignore::with_rules("").unwrap_or_default();
        setup.create.push(NewFile { path: IGNORE.to_owned(), text });
        return;
    }
    let Some(text) = look.text(IGNORE) else { return };
    look.notes.extend(ignore::notes(text));
    if ignore::with_rules(text).is_some() {
        setup.ignore = IgnoreRulesState::Lacking;
    } else {
        setup.kept.push(IGNORE.to_owned());
    }
}

/// Compute the content of the new `ralph.toml`.
fn configuration(
    look: &mut ManifestReader<'_>,
    setup: &mut ProjectSetup,
    request: &InitRequest,
) -> ConfigDraft {
    let mut draft = ConfigDraft::new();
    if let Some((format, _)) = &request.plan {
        draft.set("", "plan", draft::quote(format.file_name()));
    }
    setup.imported.extend(import::deluxe::import(look, &mut draft));
    setup.imported.extend(import::wiggum::import(look, &mut draft));
    if draft.gates == GateSource::None {
        setup.found = stack::detect(look);
        draft.gates = GateSource::Found(setup.found.clone());
    }
    other_rules::set_commit_prefix(look, &mut draft);
    if let Some(backend) = &request.backend {
        draft.set("", "backend", draft::quote(backend));
    }
    draft.leave_out(&request.dropped);
    setup.lane = LaneProposal::detect(look);
    setup.lane.leave_out(&request.declined);
    setup.lane.write_into(&mut draft);
    setup.gates = draft.gates.list();
    match &draft.gates {
        GateSource::InThePlan(file) => {
            look.note(format!("the gates are the qualityGates of {file}"))
        }
        _ if setup.gates.is_empty() && request.dropped.is_empty() => {
            look.note(format!("no gates were found: {CONFIG} shows how to write one"));
        }
        _ => {}
    }
    draft
}

/// Whether everything can be created where it belongs.
fn check(tree: &ProjectTree, setup: &ProjectSetup) -> Result<(), BlockedPath> {
    let paths = setup.create.iter().map(|file| file.path.as_str()).chain([CONFIG, IGNORE]);
    for path in paths {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if let Some(file) = above.into_iter().find(|folder| tree.has_file(folder)) {
            return Err(BlockedPath { path: file.to_owned(), wanted: PathKind::Folder });
        }
        if tree.get(path) == Some(&TreeEntry::Folder) {
            return Err(BlockedPath { path: path.to_owned(), wanted: PathKind::File });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
