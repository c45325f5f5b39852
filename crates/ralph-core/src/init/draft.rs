//! The text of a new `ralph.toml`: short, and only what a person will want to change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Serialize;

use super::stack::DetectedStack;
use crate::config::GateKind;

/// A gate of the new configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedGate {
    /// A name that no other gate has.
    pub name: String,
    pub command: String,
    pub kind: GateKind,
    /// Whether a failure fails the attempt; absent: the strategy decides.
    pub required: Option<bool>,
}

/// Source of the gates in the new configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GateSource {
    None,
    /// From the stacks of the project.
    Found(Vec<DetectedStack>),
    /// From a file of another program: its path, and the commands.
    Imported(String, Vec<ProposedGate>),
    /// The gates stay in the plan file at this path.
    InThePlan(String),
}

impl GateSource {
    fn take(&mut self, names: &BTreeSet<String>) -> Vec<ProposedGate> {
        let mut taken = Vec::new();
        let mut take = |gates: &mut Vec<ProposedGate>| {
            taken.extend(gates.extract_if(.., |gate| names.contains(&gate.name)));
        };
        match self {
            Self::Found(found) => found.iter_mut().for_each(|one| take(&mut one.gates)),
            Self::Imported(_, gates) => take(gates),
            Self::None | Self::InThePlan(_) => {}
        }
        taken
    }

    /// Those that the file will have.
    pub(super) fn list(&self) -> Vec<ProposedGate> {
        match self {
            Self::Found(found) => found.iter().flat_map(|f| &f.gates).cloned().collect(),
            Self::Imported(_, gates) => gates.clone(),
            Self::None | Self::InThePlan(_) => Vec::new(),
        }
    }
}

/// Settings by table (`""` is the top), each a key and its value in TOML.
pub(super) type TomlSettings = BTreeMap<String, Vec<(String, String)>>;

/// Everything that goes into a new `ralph.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigDraft {
    settings: TomlSettings,
    /// `[[passes]]`, each a list of keys and values in TOML.
    pub(super) passes: Vec<Vec<(&'static str, String)>>,
    /// Content of `[[gates]]`.
    pub(super) gates: GateSource,
    /// Gates that were found and are not wanted.
    left_out: Vec<ProposedGate>,
}

const HEAD: &str = "\
# How ralph works in this project. `ralph config show` lists every key, its value and its origin.
";

const BACKEND: &str = "
# The program that writes code: claude, codex, gemini, opencode. Absent: the first one installed.
# backend = \"claude\"
";

const MAX_COST: &str = "\
# Most dollars to spend. Absent: no limit.
# max_cost = 10.0
";

const GATES: &str = "
# Gates: commands that ralph itself runs to decide whether a task is done.
# kind is test or lint; required = false reports a failure without stopping the task.
";

const LANE: &str = "\
# How a lane, the checkout in which agents work, is made usable. setup runs when the lane is new or a
# file of setup_when changed; copy names ignored files that it needs, and agents can read them.
";

const NO_GATES: &str = "\
# None were found. Without a gate nothing proves that the work is done, so write one:
#
# [[gates]]
# name = \"test\"
# command = \"make test\"
# kind = \"test\"
";

impl ConfigDraft {
    /// A configuration that says nothing yet.
    pub(super) fn new() -> Self {
        Self {
            settings: TomlSettings::new(),
            passes: Vec::new(),
            gates: GateSource::None,
            left_out: Vec::new(),
        }
    }

    /// Leave the gates with these names out; a comment names them.
    pub(super) fn leave_out(&mut self, names: &BTreeSet<String>) {
        self.left_out = self.gates.take(names);
    }

    /// Whether the key has a value.
    pub(super) fn has(&self, table: &str, key: &str) -> bool {
        self.settings.get(table).is_some_and(|keys| keys.iter().any(|(name, _)| name == key))
    }

    /// Whether some key has this value in TOML.
    pub(super) fn is_set_to(&self, value: &str) -> bool {
        self.settings.values().flatten().any(|(_, set)| set == value)
    }

    /// Give a key its value in TOML, unless it has one already.
    pub(super) fn set(&mut self, table: &str, key: &str, value: impl Into<String>) {
        if !self.has(table, key) {
            let keys = self.settings.entry(table.to_owned()).or_default();
            keys.push((key.to_owned(), value.into()));
        }
    }

    pub(super) fn text(&self) -> String {
        let mut out = HEAD.to_owned();
        if !self.has("", "backend") {
            out.push_str(BACKEND);
        }
        if let Some(top) = self.settings.get("") {
            out.push('\n');
            keys(&mut out, top);
        }
        self.limits(&mut out);
        for (table, values) in
            self.settings.iter().filter(|(t, _)| !["", "limits"].contains(&&***t))
        {
            out.push('\n');
            if table == "lane" {
                out.push_str(LANE);
            }
            let _ = writeln!(out, "[{table}]");
            keys(&mut out, values);
        }
        self.gates(&mut out);
        for pass in &self.passes {
            out.push_str("\n[[passes]]\n");
            keys(&mut out, pass);
        }
        out
    }

    fn limits(&self, out: &mut String) {
        out.push_str("\n[limits]\n");
        if !self.has("limits", "stage_timeout") {
            out.push_str("# Longest time of one backend run.\nstage_timeout = \"30m\"\n");
        }
        if let Some(values) = self.settings.get("limits") {
            keys(out, values);
        }
        if !self.has("limits", "max_cost") {
            out.push_str(MAX_COST);
        }
    }

    fn gates(&self, out: &mut String) {
        out.push_str(GATES);
        for ProposedGate { name, command, .. } in &self.left_out {
            let _ = writeln!(out, "# Left out: {} = {}", one_line(name), one_line(command));
        }
        match &self.gates {
            GateSource::None => out.push_str(NO_GATES),
            GateSource::Found(found) if found.iter().all(|f| f.gates.is_empty()) => {
                out.push_str(NO_GATES)
            }
            GateSource::Found(found) => {
                for DetectedStack { stack, evidence, gates } in
                    found.iter().filter(|f| !f.gates.is_empty())
                {
                    let _ = writeln!(out, "\n# {stack}, because of {}", one_line(evidence));
                    gates_text(out, gates);
                }
            }
            GateSource::Imported(file, gates) => {
                let _ = writeln!(out, "\n# From {}", one_line(file));
                gates_text(out, gates);
            }
            GateSource::InThePlan(file) => {
                let _ = writeln!(
                    out,
                    "# They are the qualityGates of {}. A [[gates]] here would replace them all.",
                    one_line(file)
                );
            }
        }
    }
}

fn gates_text(out: &mut String, gates: &[ProposedGate]) {
    for (n, gate) in gates.iter().enumerate() {
        out.push_str(if n == 0 { "[[gates]]\n" } else { "\n[[gates]]\n" });
        let mut values = vec![
            ("name", quote(&gate.name)),
            ("command", quote(&gate.command)),
            ("kind", quote(gate.kind.as_str())),
        ];
        values.extend(gate.required.map(|required| ("required", required.to_string())));
        keys(out, &values);
    }
}

fn keys<K: AsRef<str>>(out: &mut String, values: &[(K, String)]) {
    for (key, value) in values {
        let _ = writeln!(out, "{} = {value}", key.as_ref());
    }
}

/// A path in a comment; a line end in it would end the comment.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, "?")
}

pub(super) fn quote(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
