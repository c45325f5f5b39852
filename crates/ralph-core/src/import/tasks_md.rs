//! Projects whose plan is a checklist: ralph-claude-code's `fix_plan.md`, and the original loop with
//! `PROMPT.md`, `IMPLEMENTATION_PLAN.md` or `fix_plan.md`, and `specs/`. A `.ralph-wiggum/` folder has
//! its plan in `implementation.json`, which ralph reads as it is.

use super::checklist::{self, Checklist, ChecklistEntry, ChecklistStyle};
use super::{
    DocumentSite, ImportError, ImportItem, ImportKind, ImportSource, SourceContent, SourceDocument,
    file_name, native, pick,
};

pub(super) fn read(
    kind: ImportKind,
    sources: &[ImportSource],
) -> Result<SourceContent, ImportError> {
    let plan = plan(kind, sources);
    let mut found = match plan {
        Some(source) if source.path.ends_with(".json") => native::implementation(source)?,
        Some(source) => {
            let style = match kind {
                ImportKind::Wiggum => checklist::style(&source.text),
                _ => ChecklistStyle::Boxes,
            };
            tasks(source, checklist::read(&source.text, style))
        }
        None => SourceContent::default(),
    };
    for source in sources.iter().filter(|source| plan.is_none_or(|plan| plan.path != source.path)) {
        if let Some(site) = site(kind, &source.path) {
            let (from, text) = (source.path.clone(), source.text.clone());
            found.documents.push(SourceDocument { from, site, text });
        }
    }
    if let Some(source) = plan.filter(|_| found.items.is_empty()) {
        let message = "there is no task in it";
        let hint = "a task is a line like `- [ ] what to do`; nothing was written";
        return Err(ImportError::new(&source.path, message, hint));
    }
    native::adopt_specs(&mut found);
    Ok(found)
}

pub(super) fn plan(kind: ImportKind, sources: &[ImportSource]) -> Option<&ImportSource> {
    let bare = |path: &str| file_name(path).trim_start_matches('@').to_lowercase();
    let fix = |path: &str| bare(path) == "fix_plan.md";
    let long = |path: &str| bare(path) == "implementation_plan.md";
    let data = |path: &str| path.ends_with("implementation.json");
    let any = |path: &str| sources.len() == 1 && (path.ends_with(".md") || path == "-");
    match kind {
        ImportKind::FixPlan => pick(sources, &[&fix, &any]),
        _ => pick(sources, &[&data, &long, &fix, &any]),
    }
}

/// Return the place for another file of such a project. `None` if the file is not copied.
fn site(kind: ImportKind, path: &str) -> Option<DocumentSite> {
    let specs = ["specs/", ".ralph/specs/", ".ralph-wiggum/specs/"];
    if let Some(name) = specs.iter().find_map(|folder| path.strip_prefix(folder)) {
        return name.ends_with(".md").then(|| DocumentSite::Spec(name.to_owned()));
    }
    let name = file_name(path);
    let bare = name.trim_start_matches('@').to_uppercase();
    let told = bare.starts_with("PROMPT") && bare.ends_with(".MD")
        || ["AGENT.MD", "AGENTS.MD", "GUARDRAILS.MD", "PROGRESS.MD"].contains(&bare.as_str());
    told.then(|| DocumentSite::Import(format!("{kind}/{name}")))
}

fn tasks(source: &ImportSource, list: Checklist) -> SourceContent {
    let items = list.entries.into_iter().map(|entry| item(source, entry)).collect();
    let mut found = SourceContent { items, ..SourceContent::default() };
    found.aside(file_name(&source.path).trim_start_matches('@'), "", list.prose);
    found
}

/// An entry as an item whose text is its key.
pub(super) fn item(source: &ImportSource, entry: ChecklistEntry) -> ImportItem {
    let mut item = ImportItem {
        key: entry.text.clone(),
        file: source.path.clone(),
        line: entry.line,
        says: entry.says,
        ..ImportItem::default()
    };
    item.task.accept = entry.accept;
    item.task.priority = checklist::priority(&entry.headings);
    item.task.phase = Some(entry.headings.join(" / ")).filter(|phase| !phase.is_empty());
    item.task.state = entry.state;
    item.named(&entry.text);
    item
}
