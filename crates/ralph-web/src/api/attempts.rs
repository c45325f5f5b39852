//! One attempt, from its prompt to its end.

use std::path::Path;

use ralph_core::cycle::{AttemptSummary, AttemptView};
use ralph_core::gate::GateCheck;
use ralph_core::handoff::Handoff;
use ralph_host::git::{LedgerPaths, Repo};
use ralph_host::proc::JobRunner;
use ralph_host::store;
use schemars::JsonSchema;
use serde::Serialize;

use super::{limit, text};
use crate::error::HttpRefusal;
use crate::http::HttpRequest;
use crate::site::ServerContext;
use crate::stream::{LogItem, LogOwner};

/// A page of attempts, newest first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AttemptList {
    /// Number of all attempts, whatever the filter.
    total: usize,
    attempts: Vec<AttemptSummary>,
    /// Value of `before` for the next page; 0 when there is no next page.
    before: usize,
}

/// Answer `GET /api/attempts?before=&limit=&task=` with a page of attempts, newest first.
pub(crate) fn list(
    site: &ServerContext,
    request: &HttpRequest,
    _: &str,
) -> Result<AttemptList, HttpRefusal> {
    let inner = site.feed.fresh();
    let all = &inner.history.attempts;
    let end = request.number("before").and_then(|n| usize::try_from(n).ok());
    let end = end.unwrap_or(all.len()).min(all.len());
    let task = request.asked("task");
    let running = site.running();
    let mut attempts = Vec::new();
    let mut before = 0;
    for (at, view) in all.iter().enumerate().take(end).rev() {
        if task.is_some_and(|task| task != view.started.task) {
            continue;
        }
        if attempts.len() == limit(request, 100) {
            before = at + 1;
            break;
        }
        attempts.push(view.summary(&running));
    }
    Ok(AttemptList { total: all.len(), attempts, before })
}

/// The attempt that an id names; `last` is the newest.
fn find(site: &ServerContext, id: &str) -> Result<AttemptView, HttpRefusal> {
    let inner = site.feed.fresh();
    let attempts = &inner.history.attempts;
    let found = match id {
        "last" => attempts.last(),
        id => attempts.iter().rev().find(|view| view.started.attempt == id),
    };
    found.cloned().ok_or_else(|| HttpRefusal::missing("no attempt has that id"))
}

/// The attempt that an id names, with the excerpts of its gates, which the journal has.
fn find_with_excerpts(site: &ServerContext, id: &str) -> Result<AttemptView, HttpRefusal> {
    let mut view = find(site, id)?;
    if let Some(verdict) = &mut view.verdict
        && let Some(whole) = site.verdict(&view.started.attempt)?
    {
        *verdict = whole;
    }
    Ok(view)
}

/// One attempt, with its claim and its failure in words.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AttemptPage {
    #[serde(flatten)]
    attempt: AttemptSummary,
    /// Claim of the backend in words; null when it made none.
    claim_words: Option<String>,
    /// Text about the failure for the prompt of the next try; null when no failure counts.
    retry_context: Option<String>,
}

/// Answer `GET /api/attempts/{id}` with one attempt.
pub(crate) fn one(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<AttemptPage, HttpRefusal> {
    let view = find_with_excerpts(site, id)?;
    let attempt = view.summary(&site.running());
    let claim_words = attempt.claim.as_ref().map(ToString::to_string);
    let counts = attempt.fate.failure().filter(|failure| failure.kind.counts());
    let retry_context = counts.map(|failure| failure.retry_context(view.verdict.as_ref()));
    Ok(AttemptPage { attempt, claim_words, retry_context })
}

/// Prompt that the backend got in an attempt.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PromptAnswer {
    text: String,
}

/// Answer `GET /api/attempts/{id}/prompt` with the prompt of an attempt.
pub(crate) fn prompt(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<PromptAnswer, HttpRefusal> {
    let view = find(site, id)?;
    let log = view.started.log.ok_or_else(|| HttpRefusal::missing("it has no log"))?;
    let path = Path::new(&log).with_extension("prompt.md");
    Ok(PromptAnswer { text: file(site, &path.to_string_lossy())? })
}

fn file(site: &ServerContext, relative: &str) -> Result<String, HttpRefusal> {
    let gone = || HttpRefusal::missing("logs are kept for a while only, and this one is gone");
    let path = site.inside(relative).ok_or_else(gone)?;
    let bytes = store::read(&path).map_err(|e| HttpRefusal::broken(&site.project, e))?;
    Ok(text(&bytes.ok_or_else(gone)?))
}

/// A part of what a backend said and did.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StreamPage {
    /// Id of the attempt or the agent.
    attempt: String,
    /// The number of the first item.
    from: usize,
    /// The number to go on with, for `after`.
    next: usize,
    /// Number of all items that can be asked for.
    total: usize,
    /// Items of a log that is too long to be kept.
    left_out: usize,
    items: Vec<LogItem>,
}

/// `GET /api/attempts/{id}/stream?after=&limit=`: items from a number on.
pub(crate) fn stream(
    site: &ServerContext,
    request: &HttpRequest,
    id: &str,
) -> Result<StreamPage, HttpRefusal> {
    stream_of(site, request, &LogOwner::from(&find(site, id)?))
}

/// `GET /api/agents/{id}/stream?after=&limit=`: the same for an agent of a stage.
pub(crate) fn agent_stream(
    site: &ServerContext,
    request: &HttpRequest,
    id: &str,
) -> Result<StreamPage, HttpRefusal> {
    let of = site.feed.fresh().agents.find(id).map(LogOwner::from);
    stream_of(site, request, &of.ok_or_else(|| HttpRefusal::missing("no agent has that id"))?)
}

fn stream_of(
    site: &ServerContext,
    request: &HttpRequest,
    of: &LogOwner,
) -> Result<StreamPage, HttpRefusal> {
    let most = limit(request, 200);
    let asked = request.number("after").and_then(|n| usize::try_from(n).ok());
    let page = site.with_log(of, |log| {
        let total = log.items.len();
        // Without a number: the end, which is what a person looks at first.
        let from = asked.unwrap_or(total.saturating_sub(most)).min(total);
        let items: Vec<_> = log.items.iter().skip(from).take(most).cloned().collect();
        let (next, left_out) = (from + items.len(), log.left_out);
        StreamPage { attempt: of.id.clone(), from, next, total, left_out, items }
    });
    page.ok_or_else(|| HttpRefusal::missing("logs are kept for a while only, and this one is gone"))
}

/// Results of the gates on an attempt.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct GatesAnswer {
    /// Whether the attempt may land as far as gates go; null when none ran.
    passed: Option<bool>,
    checks: Vec<GateOutput>,
    /// Why the result is not proven, where it is not.
    unproven: Vec<String>,
    /// Changes to tests, manifests and CI, one line each.
    judges: Vec<String>,
}

/// Result of one gate, with its output.
#[derive(Serialize, JsonSchema)]
struct GateOutput {
    #[serde(flatten)]
    check: GateCheck,
    /// Result of the gate in words.
    words: String,
    /// The whole output, or what the journal has of it.
    output: String,
}

/// Answer `GET /api/attempts/{id}/gates` with the results of the gates.
pub(crate) fn gates(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<GatesAnswer, HttpRefusal> {
    let Some(verdict) = find_with_excerpts(site, id)?.verdict else {
        return Ok(GatesAnswer::default());
    };
    let with_output = |check: GateCheck| {
        let whole = check.log.as_deref().and_then(|log| file(site, log).ok());
        let output = whole.unwrap_or_else(|| check.excerpt.clone());
        GateOutput { words: format!("{:#}", check.standing), output, check }
    };
    Ok(GatesAnswer {
        passed: Some(verdict.passed()),
        unproven: verdict.proof_gaps().iter().map(ToString::to_string).collect(),
        judges: verdict.judges.iter().map(ToString::to_string).collect(),
        checks: verdict.checks.into_iter().map(with_output).collect(),
    })
}

/// Changes of an attempt, as a patch.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct DiffAnswer {
    /// The commit or the ref; null when nothing is kept.
    kept_as: Option<String>,
    patch: String,
}

/// Answer `GET /api/attempts/{id}/diff` with the changes of an attempt.
pub(crate) fn diff(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<DiffAnswer, HttpRefusal> {
    let view = find(site, id)?;
    let (Some(kept), Some(git_dir)) = (view.fate.kept(), site.project.git_dir()) else {
        return Ok(DiffAnswer::default());
    };
    let runner = JobRunner::new(format!("web-{}", site.ulid()));
    let ledger = LedgerPaths::with_plan(&site.snapshot().plan.shown);
    let patch = Repo::open(site.root(), git_dir, &runner, &ledger)
        .and_then(|repo| repo.patch_of(kept))
        .map_err(|e| HttpRefusal::broken(&site.project, e))?;
    Ok(DiffAnswer { kept_as: Some(kept.to_owned()), patch: text(&patch) })
}

/// Handoff that an attempt left, with its file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HandoffAnswer {
    file: String,
    /// Null when the file is no handoff any more.
    handoff: Option<Handoff>,
}

/// Answer `GET /api/attempts/{id}/handoff` with the handoff of an attempt.
pub(crate) fn handoff(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<HandoffAnswer, HttpRefusal> {
    let path = find(site, id)?.backend.and_then(|end| end.handoff);
    let path = path.ok_or_else(|| HttpRefusal::missing("it left no handoff"))?;
    let handoff = serde_json::from_str(&file(site, &path)?).ok();
    Ok(HandoffAnswer { file: path, handoff })
}
