//! Detection of a project's stacks, and of the gates that follow from them.
//!
//! # Theory of operation
//!
//! Each language looks at one folder and offers gates for roles (`typecheck`, `lint`, `test`,
//! `build`). It offers them only for tools that the project visibly uses, because a gate that cannot
//! run is worse than none. Languages look at the root first. A language without gates there looks one
//! level below. This finds `web/` beside a Cargo workspace, and it does not treat the members of a
//! workspace as projects of their own. The task runners Make and Just come last and look only at the
//! root. They offer nothing that another gate already runs. Names stay short where possible: the first
//! stack with a role gets the plain name.

mod go;
mod just;
mod make;
pub(super) mod node;
pub(super) mod python;
mod rust;

use serde::Serialize;

use super::draft::ProposedGate;
use super::manifest::ManifestReader;
use super::tree::folders_below;
use crate::config::GateKind;
use crate::text::shell_word;

/// A stack that was found and the gates it led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DetectedStack {
    /// Name of the stack for people.
    pub stack: &'static str,
    /// The file that gave it away.
    pub evidence: String,
    /// The gates, in the order in which they should run.
    #[serde(skip)]
    pub gates: Vec<ProposedGate>,
}

/// A gate that a stack offers, before it has a name that nothing else has.
#[derive(Debug)]
struct OfferedGate {
    role: &'static str,
    command: String,
    kind: GateKind,
    required: Option<bool>,
    /// Other forms of the command in a Makefile or a justfile.
    spellings: Vec<String>,
    /// The lines of a task runner's target; empty when they are not all there is to it.
    recipe: Vec<String>,
}

impl OfferedGate {
    fn test(role: &'static str, command: impl Into<String>) -> Self {
        let command = command.into();
        Self {
            role,
            command,
            kind: GateKind::Test,
            required: None,
            spellings: Vec::new(),
            recipe: Vec::new(),
        }
    }

    fn lint(role: &'static str, command: impl Into<String>) -> Self {
        Self { kind: GateKind::Lint, ..Self::test(role, command) }
    }

    fn spelt<S: Into<String>>(mut self, spellings: impl IntoIterator<Item = S>) -> Self {
        self.spellings.extend(spellings.into_iter().map(Into::into));
        self
    }
}

/// Gates that one stack offers in one folder.
struct StackOffer {
    evidence: String,
    gates: Vec<OfferedGate>,
}

type StackDetector = fn(&mut ManifestReader<'_>, &str) -> Option<StackOffer>;

/// The languages: the name for people, the word for gate names, and how to look.
const LANGUAGES: [(&str, &str, StackDetector); 4] = [
    ("Rust", "rust", rust::detect),
    ("Node", "node", node::detect),
    ("Python", "python", python::detect),
    ("Go", "go", go::detect),
];

/// Every stack of the project with its gates, names unique.
pub(super) fn detect(look: &mut ManifestReader<'_>) -> Vec<DetectedStack> {
    let folders = folders_below(look.tree);
    let mut names = GateNames::default();
    let mut found = Vec::new();
    for (stack, word, detect) in LANGUAGES {
        let root = detect(look, "");
        let searched =
            if root.as_ref().is_some_and(|o| !o.gates.is_empty()) { &[][..] } else { &folders };
        let below: Vec<_> =
            searched.iter().filter_map(|folder| Some((*folder, detect(look, folder)?))).collect();
        let below = below.into_iter().filter(|(_, offers)| !offers.gates.is_empty());
        for (folder, offers) in root.map(|offers| ("", offers)).into_iter().chain(below) {
            found.push(names.settle(stack, word, folder, offers));
        }
    }
    for (stack, word, detect) in
        [("Just", "just", just::detect as StackDetector), ("Make", "make", make::detect)]
    {
        if let Some(mut offers) = detect(look, "") {
            offers.gates.retain(|offer| !names.runs_already(look, offer));
            found.push(names.settle(stack, word, "", offers));
        }
    }
    found
}

/// The names given so far, and what their commands run.
#[derive(Default)]
struct GateNames {
    taken: Vec<String>,
    commands: Vec<(String, Vec<String>)>,
}

impl GateNames {
    fn settle(
        &mut self,
        stack: &'static str,
        word: &str,
        folder: &str,
        offers: StackOffer,
    ) -> DetectedStack {
        let gates = offers.gates.into_iter().map(|offer| {
            let name = self.name(offer.role, word, folder);
            let spellings = offer.spellings;
            self.taken.push(name.clone());
            self.commands.push((offer.command.clone(), spellings));
            let command = inside(folder, &offer.command);
            ProposedGate { name, command, kind: offer.kind, required: offer.required }
        });
        DetectedStack { stack, evidence: offers.evidence, gates: gates.collect() }
    }

    /// `test`, else `web-test`, else `web-node-test`, else with a number.
    fn name(&self, role: &str, word: &str, folder: &str) -> String {
        let folder = tame(folder);
        let tries = if folder.is_empty() {
            [role.to_owned(), format!("{word}-{role}")]
        } else {
            [format!("{folder}-{role}"), format!("{folder}-{word}-{role}")]
        };
        let [_, last] = &tries;
        let numbered = (2..).map(|n| format!("{last}-{n}"));
        let free = |name: &String| !self.taken.contains(name);
        tries.iter().cloned().chain(numbered).find(free).unwrap_or_default()
    }

    /// Whether a target does nothing but what gates do already.
    fn runs_already(&self, look: &mut ManifestReader<'_>, offer: &OfferedGate) -> bool {
        let steps = offer.recipe.iter().flat_map(|line| line.split(['&', ';'])).map(str::trim);
        let steps = steps.map(|step| step.trim_start_matches(['@', '-', '+']));
        let steps: Vec<&str> = steps
            .filter(|step| {
                !step.is_empty() && !step.starts_with(['#']) && !step.starts_with("echo ")
            })
            .collect();
        let gate = |step: &&str| {
            let runs = |(_, spellings): &&(String, Vec<String>)| {
                spellings.iter().any(|s| has_words(step, s))
            };
            self.commands.iter().find(runs).map(|(command, _)| command.as_str())
        };
        let Some(commands) = steps.iter().map(gate).collect::<Option<Vec<_>>>() else {
            return false;
        };
        if let Some(first) = commands.first() {
            look.note(format!(
                "`{}` runs `{first}`, which is a gate already: left out",
                offer.command
            ));
        }
        !commands.is_empty()
    }
}

/// Whether `line` has `words` as whole words.
fn has_words(line: &str, words: &str) -> bool {
    let bounds = |c: Option<char>| {
        c.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')))
    };
    line.match_indices(words).any(|(at, _)| {
        bounds(line[..at].chars().next_back()) && bounds(line[at + words.len()..].chars().next())
    })
}

/// Return the command that runs `command` in `folder`.
pub(super) fn inside(folder: &str, command: &str) -> String {
    if folder.is_empty() {
        command.to_owned()
    } else {
        let start = if folder.starts_with('-') { "./" } else { "" };
        format!("cd {start}{} && {command}", shell_word(folder))
    }
}

/// A folder as part of a gate's name.
fn tame(folder: &str) -> String {
    let fine = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    folder.chars().map(fine).collect()
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
