//! Ids of imported items, and the check whether an item is in the plan already.
//!
//! An id of the source is kept if it is a word. A mere number gets the kind as a prefix (`gh-42`).
//! Numbers that start again in every folder get the folder as a prefix (`001-T003`). An item without
//! an id gets one that is computed from its text. The same item always gets the same id.

use std::collections::{BTreeMap, BTreeSet};

use super::{ImportItem, ImportKind, ImportStatus};
use crate::format::{PlanFormat, progress};
use crate::plan::{Id, Plan};

/// Maximum length of an id from the source that is kept.
const LONGEST: usize = 48;

/// Tasks and issues of a plan by id: their names and, if the plan stores them, their notes.
pub(super) struct KnownPlanItems<'p> {
    by_id: BTreeMap<&'p Id, Vec<(&'p str, Option<&'p str>)>>,
    by_name: BTreeSet<&'p str>,
    names_are_ids: bool,
    used: BTreeSet<Id>,
}

impl<'p> KnownPlanItems<'p> {
    pub(super) fn of(plan: &'p Plan) -> Self {
        let mut by_id = BTreeMap::<&Id, Vec<_>>::new();
        for task in &plan.tasks {
            by_id.entry(&task.id).or_default().push((task.name.as_str(), task.notes.as_deref()));
        }
        for issue in &plan.issues {
            by_id.entry(&issue.id).or_default().push((issue.desc.as_str(), None));
        }
        for stone in &plan.tombstones {
            let notes = stone.task.as_ref().and_then(|task| task.notes.as_deref());
            by_id.entry(&stone.id).or_default().push((stone.name.as_deref().unwrap_or(""), notes));
        }
        Self {
            by_id,
            by_name: plan.tasks.iter().map(|task| task.name.as_str()).collect(),
            names_are_ids: plan.format == PlanFormat::Progress,
            used: BTreeSet::new(),
        }
    }

    /// Whether the plan has a record with this id.
    pub(super) fn has(&self, id: &Id) -> bool {
        self.by_id.contains_key(id)
    }

    /// The id of an item, and whether it is here already. progress.md makes ids of names, so there
    /// a name that is taken gets a number.
    pub(super) fn settle(&mut self, kind: ImportKind, item: &mut ImportItem) -> (Id, ImportStatus) {
        let (id, fate) = match self.names_are_ids {
            true => self.by_name(item),
            false => self.by_id(kind, item),
        };
        self.used.insert(id.clone());
        (id, fate)
    }

    fn by_name(&self, item: &mut ImportItem) -> (Id, ImportStatus) {
        let whole = item.task.name.clone();
        for n in 1.. {
            if n > 1 {
                item.task.name = format!("{whole} ({n})");
            }
            let id = progress::task_id(&item.task.name, 0);
            if !self.used.contains(&id) {
                let is_here = self.by_name.contains(item.task.name.as_str());
                return (id, if is_here { ImportStatus::Here } else { ImportStatus::New });
            }
        }
        (progress::task_id(&whole, 0), ImportStatus::New)
    }

    fn by_id(&self, kind: ImportKind, item: &ImportItem) -> (Id, ImportStatus) {
        let words: Vec<Id> = words(kind, item).into_iter().map(Id::new).collect();
        let is_free = |id: &Id| !self.used.contains(id);
        if let Some(id) = words.iter().find(|id| is_free(id) && self.is_same(kind, id, item)) {
            return (id.clone(), ImportStatus::Here);
        }
        if let Some(id) = words.iter().find(|id| is_free(id) && !self.has(id)) {
            return (id.clone(), ImportStatus::New);
        }
        let text = format!("{}\u{1f}{}\u{1f}{}", family(kind), item.scope, item.key);
        let mut ordinal = 0;
        let mut id = progress::task_id(&text, ordinal);
        while !is_free(&id) {
            ordinal += 1;
            id = progress::task_id(&text, ordinal);
        }
        let fate = if self.has(&id) { ImportStatus::Here } else { ImportStatus::New };
        (id, fate)
    }

    /// Whether the record with this id came from the item: it says so, or it has the same name and
    /// says nothing of where it came from. A scope that only one of the two knows (`gh` was asked for
    /// less) does not tell them apart.
    fn is_same(&self, kind: ImportKind, id: &Id, item: &ImportItem) -> bool {
        let whole = origin(kind, item);
        let bare = origin(kind, &ImportItem { scope: String::new(), ..item.clone() });
        let (start, end) = bare.split_once(": ").unwrap_or_default();
        let (start, end) = (format!("{start} ("), format!("): {end}"));
        let is_it = |line: &str| {
            let scoped = item.scope.is_empty() && line.starts_with(&start) && line.ends_with(&end);
            line == whole || line == bare || scoped
        };
        let records = self.by_id.get(id).map(Vec::as_slice).unwrap_or_default();
        records.iter().any(|(name, notes)| {
            let mut said = notes.iter().flat_map(|n| n.lines()).filter(|l| l.starts_with(FROM));
            match said.next() {
                None => crate::text::one_line(name) == item.task.name,
                Some(first) => is_it(first) || said.any(is_it),
            }
        })
    }
}

const FROM: &str = "Imported from ";

/// The line of the notes that says where a task came from.
pub(super) fn origin(kind: ImportKind, item: &ImportItem) -> String {
    let one_line = crate::text::one_line;
    match item.scope.is_empty() {
        true => format!("{FROM}{}: {}", family(kind), one_line(&item.key)),
        false => {
            format!("{FROM}{} ({}): {}", family(kind), one_line(&item.scope), one_line(&item.key))
        }
    }
}

/// Two kinds read the same checklists, and a task is the same whichever of them was named.
fn family(kind: ImportKind) -> &'static str {
    match kind {
        ImportKind::Wiggum => ImportKind::FixPlan.as_str(),
        other => other.as_str(),
    }
}

/// Ids that would suit the item, best first.
fn words(kind: ImportKind, item: &ImportItem) -> Vec<String> {
    if !item.has_id {
        return Vec::new();
    }
    let (key, scope) = (slug(&item.key), slug(&item.scope));
    let prefix = kind.prefix();
    let scoped = match scope.is_empty() {
        true => None,
        false => Some(format!("{scope}-{key}")),
    };
    let number = scope.split('-').next().filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let short = number.filter(|n| !n.is_empty()).map(|n| format!("{n}-{key}"));
    let found = match kind {
        ImportKind::SpecKit | ImportKind::OpenSpec => {
            [short, scoped, Some(format!("{prefix}-{key}"))]
        }
        ImportKind::TaskMaster if !scope.is_empty() => {
            [Some(format!("{prefix}-{scope}-{key}")), None, None]
        }
        _ => {
            [Some(key.clone()).filter(|_| key == item.key), Some(format!("{prefix}-{key}")), scoped]
        }
    };
    found.into_iter().flatten().filter(|id| is_word(id)).collect()
}

fn is_word(id: &str) -> bool {
    (2..=LONGEST).contains(&id.len())
        && id.bytes().any(|b| b.is_ascii_alphabetic())
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn slug(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let text: String = text.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    text.trim_matches(['-', '.']).to_owned()
}
