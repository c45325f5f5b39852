//! Just: the recipes `lint`, `test` and `check` that can be called without arguments.

use std::collections::BTreeMap;

use super::{GateKind, OfferedGate, StackOffer};
use crate::init::manifest::ManifestReader;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JustRecipe {
    /// Whether it cannot be called without arguments.
    wants_arguments: bool,
    /// Names of the recipes that run before this one.
    needs: Vec<String>,
    body: Vec<String>,
}

/// Return the gates for the recipes of the justfile in `folder`.
pub(super) fn detect(look: &mut ManifestReader<'_>, folder: &str) -> Option<StackOffer> {
    let is_justfile = |name: &&str| {
        name.eq_ignore_ascii_case("justfile") || name.eq_ignore_ascii_case(".justfile")
    };
    let file = look.tree.names(folder).find(is_justfile)?.to_owned();
    let recipes = recipes(look.text(&file).unwrap_or_default());
    let mut gates: Vec<OfferedGate> = Vec::new();
    for (role, kind) in
        [("lint", GateKind::Lint), ("test", GateKind::Test), ("check", GateKind::Test)]
    {
        let Some(recipe) = recipes.get(role) else { continue };
        if recipe.wants_arguments {
            look.note(format!("{file}: the recipe `{role}` wants arguments: no gate for it"));
            continue;
        }
        let known = |need: &String| gates.iter().any(|gate| gate.role == need);
        let alone = recipe.needs.iter().all(known);
        if alone && !recipe.needs.is_empty() && recipe.body.is_empty() {
            continue;
        }
        let command = format!("just {role}");
        let recipe = if alone { recipe.body.clone() } else { Vec::new() };
        gates.push(
            OfferedGate { kind, recipe, ..OfferedGate::test(role, command.clone()) }
                .spelt([command]),
        );
    }
    Some(StackOffer { evidence: file, gates })
}

/// The recipes and aliases of a justfile.
pub(super) fn recipes(text: &str) -> BTreeMap<String, JustRecipe> {
    let mut recipes: BTreeMap<String, JustRecipe> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = recipes.get_mut(&current) {
                recipe.body.push(line.trim().to_owned());
            }
        } else if let Some((name, recipe)) = header(line) {
            current.clone_from(&name);
            recipes.insert(name, recipe);
        }
    }
    recipes
}

/// `@name parameters: needs`, or `alias name := recipe`.
fn header(line: &str) -> Option<(String, JustRecipe)> {
    let line = line.strip_prefix('@').unwrap_or(line);
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let (name, rest) = line.split_at(line.find(|c| !of_name(c)).unwrap_or(line.len()));
    if name == "alias" {
        let (alias, target) = rest.split_once(":=")?;
        let recipe =
            JustRecipe { body: vec![format!("just {}", target.trim())], ..JustRecipe::default() };
        return Some((alias.trim().to_owned(), recipe));
    }
    let (parameters, needs) = parameters(rest)?;
    if name.is_empty() || needs.starts_with('=') {
        return None;
    }
    let wants = |p: &String| !p.starts_with('*') && !p.contains('=');
    let needs = needs.split('#').next().unwrap_or_default();
    let needs = needs.split_whitespace().filter(|word| *word != "&&").map(str::to_owned).collect();
    Some((
        name.to_owned(),
        JustRecipe {
            wants_arguments: parameters.iter().any(wants),
            needs,
            ..JustRecipe::default()
        },
    ))
}

/// The words before the colon that ends a recipe's header, and what follows it. Defaults of
/// parameters may hold spaces and colons in quotes or parentheses.
fn parameters(rest: &str) -> Option<(Vec<String>, &str)> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, ':') if depth == 0 => {
                words.retain(|word| !word.is_empty());
                return Some((words, &rest[at + 1..]));
            }
            (None, '#') => return None,
            _ => {}
        }
        if quote.is_none() && depth == 0 && c.is_whitespace() {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    None
}
