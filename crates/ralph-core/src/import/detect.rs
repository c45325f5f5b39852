//! Detection of the kind of plan that files contain, and of the files in a project worth reading.
//!
//! File names decide first. Otherwise the content of a single file decides, by its outermost keys
//! alone. So a damaged file is still recognized, and its own reader can report the error.

use super::folders::{self, MARKS};
use super::{ImportKind, ImportSource, file_name, tasks_md};
use crate::fence;
use crate::json;

/// A kind that the files can be, and the file that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportCandidate {
    pub kind: ImportKind,
    /// File that indicates this kind.
    pub evidence: String,
}

/// Folders of a project in which plans are, with what is below them.
const WHOLE: [&str; 7] = [
    ".ralph/handoffs",
    ".ralph/skills",
    ".ralph/specs",
    ".ralph-wiggum/specs",
    ".specify/specs",
    "openspec/changes",
    "specs",
];

/// Folders in which only the files themselves are looked at.
const FLAT: [&str; 11] = [
    "",
    ".beads",
    ".ralph",
    ".ralph-wiggum",
    ".specify",
    ".taskmaster",
    ".taskmaster/tasks",
    "openspec",
    "scripts",
    "scripts/ralph",
    "tasks",
];

const ARCHIVE: &str = "openspec/changes/archive";

/// Whether a folder of a project is looked into; the project itself is the empty path.
pub fn enters(folder: &str) -> bool {
    FLAT.contains(&folder) || is_whole(folder)
}

fn is_whole(folder: &str) -> bool {
    let below = |root: &str| {
        folder.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    WHOLE.into_iter().any(below) && !below(ARCHIVE)
}

/// Whether a file of a project is read.
pub fn wants(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if is_whole(folder) {
        return true;
    }
    let bare = file_name(path).trim_start_matches('@').to_lowercase();
    let prompt = bare.starts_with("prompt") && bare.ends_with(".md");
    match folder {
        "" => prompt || ROOT.contains(&bare.as_str()),
        ".ralph" => {
            let log = ["knowledge-index.", "progress-log."].iter().any(|at| bare.starts_with(at));
            prompt || log || ["fix_plan.md", "agent.md"].contains(&bare.as_str())
        }
        ".ralph-wiggum" => {
            prompt
                || ["implementation.json", "guardrails.md", "progress.md"].contains(&bare.as_str())
        }
        "scripts/ralph" => ["prd.json", "progress.txt"].contains(&bare.as_str()),
        ".beads" => ["issues.jsonl", "beads.jsonl"].contains(&bare.as_str()),
        "tasks" | ".taskmaster/tasks" => bare == "tasks.json",
        _ => false,
    }
}

const ROOT: [&str; 9] = [
    "agent.md",
    "beads.jsonl",
    "fix_plan.md",
    "implementation_plan.md",
    "issues.jsonl",
    "plan.json",
    "prd.json",
    "progress.txt",
    "tasks.json",
];

/// Return the kinds that the files can be, one candidate for each kind.
pub fn candidates(sources: &[ImportSource]) -> Vec<ImportCandidate> {
    let named: Vec<ImportCandidate> = ImportKind::ALL
        .into_iter()
        .filter_map(|kind| Some(ImportCandidate { kind, evidence: evidence(kind, sources)? }))
        .collect();
    match (named.is_empty(), sources) {
        (true, [one]) => by_content(one)
            .into_iter()
            .map(|kind| ImportCandidate { kind, evidence: one.path.clone() })
            .collect(),
        _ => named,
    }
}

fn evidence(kind: ImportKind, sources: &[ImportSource]) -> Option<String> {
    let find = |test: &dyn Fn(&str) -> bool| {
        sources.iter().find(|source| test(&source.path)).map(|source| source.path.clone())
    };
    let named = |name: &'static str| find(&move |path: &str| file_name(path) == name);
    match kind {
        ImportKind::Prd => named("prd.json"),
        ImportKind::FixPlan => {
            let at = find(&|path| file_name(path).trim_start_matches('@') == "fix_plan.md")?;
            (!is_original(sources, &at)).then_some(at)
        }
        ImportKind::TaskMaster => named("tasks.json"),
        ImportKind::Beads => named("issues.jsonl").or_else(|| named("beads.jsonl")),
        ImportKind::OpenSpec | ImportKind::SpecKit => folder(kind, sources),
        ImportKind::Deluxe => {
            let plan = sources.iter().find(|source| file_name(&source.path) == "plan.json")?;
            by_content(plan).contains(&ImportKind::Deluxe).then(|| plan.path.clone())
        }
        ImportKind::Wiggum => {
            let at =
                tasks_md::plan(ImportKind::Wiggum, sources).map(|source| source.path.clone())?;
            let bare = file_name(&at).to_lowercase();
            let own = ["implementation_plan.md", "implementation.json"].contains(&bare.as_str());
            (own || is_original(sources, &at)).then_some(at)
        }
        ImportKind::Github => None,
    }
}

/// Whether a `fix_plan.md` stands beside `PROMPT.md` at the root, as in the first of these loops.
fn is_original(sources: &[ImportSource], plan: &str) -> bool {
    plan == "fix_plan.md" && sources.iter().any(|source| source.path == "PROMPT.md")
}

fn folder(kind: ImportKind, sources: &[ImportSource]) -> Option<String> {
    let mut found = sources.iter().filter_map(|source| {
        let (folder, rest) = folders::split(kind, &source.path)?;
        MARKS.contains(&rest).then_some((folder, rest, source))
    });
    let is_it = |(folder, rest, source): &(&str, &str, &ImportSource)| {
        // Below a folder of the other program nothing is of this one.
        let other = match kind {
            ImportKind::OpenSpec => "specs/",
            _ => "openspec/",
        };
        if source.path.starts_with(other)
            || source.path.starts_with('.') && kind == ImportKind::OpenSpec
        {
            return false;
        }
        let has = |name: &str| {
            sources.iter().any(|s| folders::split(kind, &s.path) == Some((*folder, name)))
        };
        match (kind, *rest) {
            (ImportKind::OpenSpec, "spec.md") | (ImportKind::SpecKit, "proposal.md") => false,
            (ImportKind::OpenSpec, "tasks.md") if has("spec.md") => false,
            (ImportKind::SpecKit, "tasks.md") if has("proposal.md") => false,
            (_, "tasks.md") if !has("proposal.md") && !has("spec.md") => {
                let home = ["openspec/changes/", "specs/", ".specify/specs/"];
                home.iter().any(|root| source.path.starts_with(root))
                    || by_content(source).contains(&kind)
            }
            _ => true,
        }
    };
    found.find(is_it).map(|(_, _, source)| source.path.clone())
}

/// Return the kinds that a text can be, whatever the name of its file.
fn by_content(source: &ImportSource) -> Vec<ImportKind> {
    let text = source.text.trim_start_matches('\u{feff}').trim_start();
    match text.starts_with(['{', '[']) {
        true => by_keys(text),
        false => by_boxes(text),
    }
}

fn by_keys(text: &str) -> Vec<ImportKind> {
    let first = text.lines().next().unwrap_or_default();
    if let Ok(record) = json::parse(first)
        && record.get("id").is_some()
        && record.get("title").is_some()
        && record.get("number").is_none()
    {
        return vec![ImportKind::Beads];
    }
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("userStories") {
        return vec![ImportKind::Prd];
    }
    if has("number") && has("title") && !has("tasks") {
        return vec![ImportKind::Github];
    }
    if has("specs") && !has("subtasks") && has("tasks") {
        return vec![ImportKind::Wiggum];
    }
    if !has("tasks") {
        return Vec::new();
    }
    let deluxe = ["acceptance_criteria", "depends_on", "retry_count"].iter().any(|key| has(key));
    let master = ["subtasks", "testStrategy", "dependencies"].iter().any(|key| has(key));
    match (deluxe, master) {
        (true, false) => vec![ImportKind::Deluxe],
        (false, true) => vec![ImportKind::TaskMaster],
        _ if names_a_project(text) => vec![ImportKind::Deluxe],
        _ => vec![ImportKind::TaskMaster, ImportKind::Deluxe],
    }
}

/// Whether the root has the one other member that plan.json has and tasks.json has not.
fn names_a_project(text: &str) -> bool {
    json::parse(text).is_ok_and(|root| root.get("project").is_some())
}

fn by_boxes(text: &str) -> Vec<ImportKind> {
    let boxes = fence::open_lines(text).filter_map(|(_, line)| {
        let line = line.trim_start();
        ["- [ ] ", "- [x] ", "- [X] ", "* [ ] ", "* [x] "].iter().find_map(|b| line.strip_prefix(b))
    });
    let mut boxes = boxes.peekable();
    if boxes.peek().is_none() {
        return Vec::new();
    }
    let (mut kit, mut open) = (false, false);
    for words in boxes {
        let word = words.split(' ').next().unwrap_or_default();
        let digits = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        kit |= word.strip_prefix('T').is_some_and(|n| n.len() > 2 && digits(n));
        open |= word.split_once('.').is_some_and(|(a, b)| digits(a) && digits(b));
    }
    match (kit, open) {
        (true, false) => vec![ImportKind::SpecKit],
        (false, true) => vec![ImportKind::OpenSpec],
        _ => {
            vec![ImportKind::FixPlan, ImportKind::OpenSpec, ImportKind::SpecKit, ImportKind::Wiggum]
        }
    }
}
