//! Make: the targets `lint`, `test` and `check`, as far as a scan of the Makefile can see them.

use std::collections::{BTreeMap, BTreeSet};

use super::{GateKind, OfferedGate, StackOffer};
use crate::init::manifest::ManifestReader;

/// One explicit rule, or several of the same target put together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MakeRule {
    needs: BTreeSet<String>,
    recipe: Vec<String>,
}

/// Return the gates for the targets of the makefile in `folder`.
pub(super) fn detect(look: &mut ManifestReader<'_>, folder: &str) -> Option<StackOffer> {
    // In the order in which GNU make looks.
    let file = look.tree.first(folder, &["GNUmakefile", "makefile", "Makefile"])?;
    let rules = rules(look.text(&file).unwrap_or_default());
    let phony = rules.get(".PHONY").map(|rule| &rule.needs);
    let mut gates: Vec<OfferedGate> = Vec::new();
    for (role, kind) in
        [("lint", GateKind::Lint), ("test", GateKind::Test), ("check", GateKind::Test)]
    {
        let Some(rule) = rules.get(role) else { continue };
        let is_phony = phony.is_some_and(|phony| phony.contains(role));
        if !is_phony && look.tree.get(role).is_some() {
            look.note(format!(
                "{file}: `make {role}` does nothing while something called {role} exists and \
                 .PHONY does not list it: no gate for it"
            ));
            continue;
        }
        let known = |need: &String| gates.iter().any(|gate| gate.role == need);
        let alone = rule.needs.iter().all(known);
        if alone && !rule.needs.is_empty() && rule.recipe.is_empty() {
            continue;
        }
        let command = format!("make {role}");
        let recipe = if alone { rule.recipe.clone() } else { Vec::new() };
        gates.push(
            OfferedGate { kind, recipe, ..OfferedGate::test(role, command.clone()) }
                .spelt([command]),
        );
    }
    Some(StackOffer { evidence: file, gates })
}

/// The explicit rules of a Makefile.
pub(super) fn rules(text: &str) -> BTreeMap<String, MakeRule> {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut rules: BTreeMap<String, MakeRule> = BTreeMap::new();
    let mut current: Vec<String> = Vec::new();
    let mut in_define = false;
    for line in text.lines() {
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "define" => in_define = true,
            "endef" => in_define = false,
            _ if in_define => {}
            _ if line.starts_with('\t') => {
                for target in &current {
                    if let Some(rule) = rules.get_mut(target) {
                        rule.recipe.push(line.trim().to_owned());
                    }
                }
            }
            _ => {
                if let Some((targets, rule)) = header(line) {
                    for target in &targets {
                        let known = rules.entry(target.clone()).or_default();
                        known.needs.extend(rule.needs.iter().cloned());
                        known.recipe.extend(rule.recipe.iter().cloned());
                    }
                    current = targets;
                }
            }
        }
    }
    rules
}

/// `targets : needs ; recipe`, unless the line is a comment or sets a variable.
fn header(line: &str) -> Option<(Vec<String>, MakeRule)> {
    let line = line.split('#').next().unwrap_or_default();
    let (targets, rest) = line.split_once(':')?;
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
    if targets.contains('=') || needs.contains('=') {
        return None;
    }
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let recipe = Some(recipe.trim()).filter(|r| !r.is_empty()).map(str::to_owned);
    let rule = MakeRule {
        needs: words(needs).into_iter().collect(),
        recipe: recipe.into_iter().collect(),
    };
    Some((words(targets.trim_end_matches('&')), rule))
}
