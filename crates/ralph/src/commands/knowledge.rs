//! `ralph knowledge`: what the agents have learned.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ralph_core::memory::index::{
    IndexFiles, IndexViolation, JSON_FILE, Knowledge, KnowledgeCategory, KnowledgeItem,
    KnowledgeStatus, MARKDOWN_FILE, knowledge, verify,
};
use ralph_core::memory::{MOST, search};
use ralph_core::text::nearest;
use ralph_host::git::{GitError, RepoPath};
use ralph_host::proc::JobRunner;
use serde_json::json;

use crate::args::OutputArgs;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, LabelledRows, OutputMode};

/// Look at what the agents have learned: the knowledge index
///
/// The index is two files: .ralph/knowledge-index.md for prompts and people, and
/// .ralph/knowledge-index.json, its history. An entry is in force until another one supersedes it.
///
/// Examples:
///   ralph knowledge list
///   ralph knowledge search force push
///   ralph knowledge verify
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct KnowledgeArgs {
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    action: KnowledgeAction,
}

#[derive(Debug, Subcommand)]
enum KnowledgeAction {
    /// List what is known, by category
    ///
    /// Example:
    ///   ralph knowledge list --all
    #[command(verbatim_doc_comment)]
    List {
        /// Also what was superseded or retired
        #[arg(long)]
        all: bool,
    },
    /// Show one entry: where it comes from, and whether it is in force
    ///
    /// Example:
    ///   ralph knowledge show K-constraint-no-force-push
    #[command(verbatim_doc_comment)]
    Show {
        /// The id of the entry, for example K-gotcha-line-ends
        id: String,
    },
    /// Find entries that have one of these words; what matters most comes first
    ///
    /// Example:
    ///   ralph knowledge search parser utf-8
    #[command(verbatim_doc_comment)]
    Search {
        /// The words to search for
        #[arg(required = true)]
        words: Vec<String>,
        /// Also in what was superseded or retired
        #[arg(long)]
        all: bool,
        /// Show at most this many entries
        #[arg(short = 'n', long = "number", value_name = "N", default_value_t = MOST)]
        number: usize,
    },
    /// Check both files, by themselves and against the last commit
    ///
    /// Prints one line for each finding, with file and line. Ends with 1 when there is one.
    ///
    /// Example:
    ///   ralph knowledge verify --json
    #[command(verbatim_doc_comment)]
    Verify,
}

/// Texts of both files of the knowledge index.
struct KnowledgeTexts {
    markdown: Option<String>,
    json: Option<String>,
}

impl KnowledgeTexts {
    fn read(context: &CommandContext) -> Result<Self, CommandError> {
        let read = |file: &str| context.read_text(&context.project.ledger_file(file));
        Ok(Self { markdown: read(MARKDOWN_FILE)?, json: read(JSON_FILE)? })
    }

    fn files(&self) -> IndexFiles<'_> {
        IndexFiles { markdown: self.markdown.as_deref(), json: self.json.as_deref() }
    }
}

pub(crate) fn run(
    context: &CommandContext,
    args: &KnowledgeArgs,
) -> Result<ExitCode, CommandError> {
    let render = args.output.render();
    let texts = KnowledgeTexts::read(context)?;
    match &args.action {
        KnowledgeAction::List { all } => {
            let known = known(&texts);
            let mut items: Vec<&KnowledgeItem> =
                known.items.iter().filter(|i| *all || in_force(i)).collect();
            items.sort_by_key(|item| item.category.map_or(u8::MAX, |c| c as u8));
            list(&items, "Nothing is known yet.", render)?;
        }
        KnowledgeAction::Show { id } => show(context, &known(&texts), id, render)?,
        KnowledgeAction::Search { words, all, number } => {
            let which = if *all { KnowledgeScope::All } else { KnowledgeScope::InForce };
            let found = found(&texts, words, which, *number);
            let none = format!("Nothing that is known speaks of {}.", out::clean(&words.join(" ")));
            list(&found.iter().collect::<Vec<_>>(), &none, render)?;
        }
        KnowledgeAction::Verify => return verify_files(context, &texts, render),
    }
    Ok(ExitCode::SUCCESS)
}

/// Set of entries that a search looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnowledgeScope {
    InForce,
    All,
}

/// Find entries in force that contain one of these words.
pub(crate) fn find(
    context: &CommandContext,
    words: &[String],
    number: usize,
) -> Result<Vec<KnowledgeItem>, CommandError> {
    Ok(found(&KnowledgeTexts::read(context)?, words, KnowledgeScope::InForce, number))
}

fn found(
    texts: &KnowledgeTexts,
    words: &[String],
    which: KnowledgeScope,
    number: usize,
) -> Vec<KnowledgeItem> {
    let mut known = known(texts);
    known.items.retain(|item| which == KnowledgeScope::All || in_force(item));
    search(&known.items, words, number).into_iter().cloned().collect()
}

/// Read the entries from the texts. Warn about a damaged history and leave it out.
fn known(texts: &KnowledgeTexts) -> Knowledge {
    let known = knowledge(texts.files());
    if let Some(damage) = &known.damage {
        out::warn(format!("{JSON_FILE}:{}: {}; it is left out", damage.line, damage.message));
    }
    known
}

fn in_force(item: &KnowledgeItem) -> bool {
    item.status == KnowledgeStatus::Active
}

fn list(items: &[&KnowledgeItem], none: &str, render: OutputMode) -> Result<(), CommandError> {
    if render == OutputMode::Json {
        return out::json(&items);
    }
    if items.is_empty() {
        return out::line(none);
    }
    let mut groups: Vec<(String, Vec<Vec<String>>)> = Vec::new();
    for item in items {
        let heading = heading(item);
        let row = row(item);
        match groups.last_mut() {
            Some((last, rows)) if *last == heading => rows.push(row),
            _ => groups.push((heading, vec![row])),
        }
    }
    for (heading, rows) in groups {
        out::line(heading)?;
        for line in out::table(&rows) {
            out::line(format!("  {line}"))?;
        }
    }
    Ok(())
}

fn heading(item: &KnowledgeItem) -> String {
    match item.category.map(KnowledgeCategory::heading) {
        Some(heading) => heading.to_owned(),
        None if item.heading.is_empty() => "Other".to_owned(),
        None => out::clean(&item.heading),
    }
}

fn row(item: &KnowledgeItem) -> Vec<String> {
    let text = match status(item) {
        Some(status) => format!("({status}) {}", out::clean(&item.text)),
        None => out::clean(&item.text),
    };
    vec![item.id.as_deref().map_or_else(|| "-".to_owned(), out::clean), text]
}

/// Return the reason why an entry is not in force; `None` when it is.
fn status(item: &KnowledgeItem) -> Option<String> {
    match &item.status {
        KnowledgeStatus::Active => None,
        KnowledgeStatus::Superseded { by } => Some(format!("superseded by {}", out::clean(by))),
        KnowledgeStatus::Retired => Some("retired".to_owned()),
    }
}

fn show(
    context: &CommandContext,
    known: &Knowledge,
    id: &str,
    render: OutputMode,
) -> Result<(), CommandError> {
    let same =
        |item: &&KnowledgeItem| item.id.as_deref().is_some_and(|i| i.eq_ignore_ascii_case(id));
    let Some(item) = known.items.iter().find(same) else {
        let ids = known.items.iter().filter_map(|item| item.id.as_deref());
        let near = nearest(id, ids).map(|near| format!("did you mean {}?", out::clean(near)));
        return Err(CommandError::new(format!("nothing is known as {}", out::clean(id)))
            .maybe_hint(near)
            .hint("`ralph knowledge list --all` lists everything"));
    };
    if render == OutputMode::Json {
        return out::json(item);
    }
    out::line(out::clean(item.id.as_deref().unwrap_or_default()))?;
    out::line(format!("  {}", out::clean(&item.text)))?;
    let mut rows = LabelledRows::default();
    rows.add("category", [heading(item)]);
    rows.add("status", [status(item).unwrap_or_else(|| "in force".to_owned())]);
    let joined = |words: &[String]| (!words.is_empty()).then(|| words.join(", "));
    let iterations: Vec<String> = item.sources.iter().map(u64::to_string).collect();
    rows.add("iterations", joined(&iterations));
    rows.add("tasks", joined(&item.tasks));
    rows.add("tags", joined(&item.tags));
    rows.add("supersedes", joined(&item.supersedes));
    let shown = |file| context.show(&context.project.root().join(file));
    rows.add(
        "file",
        [match item.line {
            Some(line) => format!("{}:{line}", shown(MARKDOWN_FILE)),
            None => shown(JSON_FILE),
        }],
    );
    rows.print()
}

/// Check both files. Return the violations and the number of entries in force; `None` when there is no
/// index.
pub(crate) fn check(
    context: &CommandContext,
) -> Result<Option<(Vec<IndexViolation>, usize)>, CommandError> {
    let texts = KnowledgeTexts::read(context)?;
    if texts.files() == IndexFiles::default() {
        return Ok(None);
    }
    let found = violations(&texts, committed(context)?.as_ref());
    Ok(Some((found, knowledge(texts.files()).active().count())))
}

/// List the violations in the files themselves and in the changes since the last commit.
fn violations(texts: &KnowledgeTexts, committed: Option<&KnowledgeTexts>) -> Vec<IndexViolation> {
    let now = texts.files();
    let mut found = verify(IndexFiles::default(), now).err().unwrap_or_default();
    if let Some(before) = committed.map(KnowledgeTexts::files) {
        let since = verify(before, now).err().unwrap_or_default();
        found.extend(since.into_iter().filter(|one| !found.contains(one)).collect::<Vec<_>>());
    }
    found
}

fn verify_files(
    context: &CommandContext,
    texts: &KnowledgeTexts,
    render: OutputMode,
) -> Result<ExitCode, CommandError> {
    let now = texts.files();
    let committed = committed(context)?;
    let found = violations(texts, committed.as_ref());
    let code = if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) };
    if render == OutputMode::Json {
        let compared = committed.is_some().then_some("HEAD");
        out::json(&json!({ "compared_with": compared, "violations": found }))?;
        return Ok(code);
    }
    let shown = |one: &IndexViolation| {
        let file = context.show(&context.project.root().join(one.file));
        let line = one.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{file}{line}: {}", out::clean(&one.message))
    };
    found.iter().map(shown).try_for_each(out::line)?;
    out::line(match (found.len(), now == IndexFiles::default()) {
        (0, true) => "There is no knowledge index yet.".to_owned(),
        (0, false) => {
            let entries = knowledge(now).active().count();
            let against = if committed.is_some() { ", also against the last commit" } else { "" };
            format!("{entries} in force, nothing wrong{against}")
        }
        (found, _) => format!("{found} found; `git log -p {MARKDOWN_FILE}` shows what it was"),
    })?;
    Ok(code)
}

/// The files in the last commit, when one of them is there.
fn committed(context: &CommandContext) -> Result<Option<KnowledgeTexts>, CommandError> {
    if context.project.git_dir().is_none() {
        return Ok(None);
    }
    let failed = |e: GitError| {
        CommandError::new(format!("git cannot show the index of the last commit: {e}"))
            .maybe_hint(e.hint())
    };
    let runner = JobRunner::new(format!("knowledge-{}", std::process::id()));
    let (root, repo) = (context.project.root(), context.repo(&runner)?);
    let prefix = root.strip_prefix(repo.top()).unwrap_or(root);
    let path = |file: &str| RepoPath::new(prefix.join(file).as_os_str().as_encoded_bytes());
    let texts = repo.texts_at_head(&[path(MARKDOWN_FILE), path(JSON_FILE)]).map_err(failed)?;
    let [markdown, json] = texts.try_into().unwrap_or_default();
    let is_there = markdown.is_some() || json.is_some();
    Ok(is_there.then_some(KnowledgeTexts { markdown, json }))
}
