//! Specs and the queue of them.

use ralph_core::inbox::{Inbox, InboxEntry, InboxError, InboxStatus};
use ralph_core::spec::{self, Checkbox, SpecOutline};
use ralph_host::specs as files;
use ralph_host::store::{self, FileCreation, LedgerFileKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text;
use crate::error::HttpRefusal;
use crate::http::HttpRequest;
use crate::site::ServerContext;

/// Longest name of a new spec, in bytes.
const LONGEST_NAME: usize = 100;

/// Queue of specs, in its order.
#[derive(Serialize, JsonSchema)]
pub(crate) struct InboxAnswer {
    entries: Vec<InboxEntry>,
}

/// Answer `GET /api/inbox` with the queue of specs.
pub(crate) fn list(
    site: &ServerContext,
    _: &HttpRequest,
    _: &str,
) -> Result<InboxAnswer, HttpRefusal> {
    Ok(InboxAnswer { entries: site.inbox()? })
}

fn parse(text: &str) -> Result<Inbox<'_>, HttpRefusal> {
    Inbox::parse(text)
        .map_err(|e| HttpRefusal::new(500, format!("ralph/inbox.jsonl:{}: {}", e.line, e.message)))
}

fn change<T>(
    site: &ServerContext,
    decide: impl FnOnce(&Inbox<'_>) -> Result<(String, T), HttpRefusal>,
) -> Result<T, HttpRefusal> {
    let path = site.project.inbox();
    let updated = site.store.update(&path, LedgerFileKind::of(&path), |bytes| {
        let text = std::str::from_utf8(bytes.unwrap_or_default())
            .map_err(|_| HttpRefusal::new(500, "ralph/inbox.jsonl is not UTF-8 text"))?;
        decide(&parse(text)?)
    })?;
    site.feed.touch();
    Ok(updated.value)
}

fn refused(error: InboxError) -> HttpRefusal {
    match error {
        InboxError::Unknown(_) => HttpRefusal::missing(error.to_string()),
        InboxError::Active { .. } => HttpRefusal::new(409, error.to_string()),
        other => HttpRefusal::new(500, other.to_string()),
    }
}

/// Request to add a spec to the queue.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct QueueSpecRequest {
    /// The name of a file below ralph/specs/.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}$"))]
    spec: String,
}

/// Spec that was added to the queue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct QueuedSpec {
    id: String,
    spec: String,
    status: InboxStatus,
    added_at: String,
}

/// Answer `POST /api/inbox`: add a spec to the queue.
pub(crate) fn add(
    site: &ServerContext,
    request: QueueSpecRequest,
    _: &str,
) -> Result<QueuedSpec, HttpRefusal> {
    let spec = known(site, &request.spec)?;
    let at = site.clock.stamp();
    let id = change(site, |inbox| {
        if let Some(entry) = inbox.queued(&spec) {
            let words = format!("{spec} is in the queue already: {}", entry.id);
            return Err(HttpRefusal::new(409, words));
        }
        let id = inbox.fresh_id(&mut || site.word());
        let id = id.ok_or_else(|| HttpRefusal::new(409, "the queue has no free ids left"))?;
        Ok((inbox.add(&id, &spec, &at), id))
    })?;
    Ok(QueuedSpec { id, spec, status: InboxStatus::Pending, added_at: at })
}

/// New place of an entry in the queue.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoveRequest {
    /// The entry that it goes before; null for the end of the queue.
    #[serde(default)]
    before: Option<String>,
}

/// `POST /api/inbox/{id}/move`: the queue as it is then.
pub(crate) fn reorder(
    site: &ServerContext,
    request: MoveRequest,
    id: &str,
) -> Result<InboxAnswer, HttpRefusal> {
    let before = request.before.as_deref();
    change(site, |inbox| Ok((inbox.move_before(id, before).map_err(refused)?, ())))?;
    Ok(InboxAnswer { entries: site.inbox()? })
}

/// `DELETE /api/inbox/{id}`: the queue as it is then.
pub(crate) fn remove(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<InboxAnswer, HttpRefusal> {
    change(site, |inbox| Ok((inbox.remove(id).map_err(refused)?, ())))?;
    Ok(InboxAnswer { entries: site.inbox()? })
}

fn names(site: &ServerContext) -> Result<Vec<String>, HttpRefusal> {
    files::list(&site.project.specs_dir()).map_err(|e| HttpRefusal::broken(&site.project, e))
}

/// The spec that a name means, if there is one.
fn known(site: &ServerContext, typed: &str) -> Result<String, HttpRefusal> {
    let name = spec::name(typed).map_err(HttpRefusal::bad)?;
    match names(site)?.contains(&name) {
        true => Ok(name),
        false => Err(HttpRefusal::missing("ralph/specs/ has no such spec")),
    }
}

/// Names of all specs, with their state in the plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SpecList {
    specs: Vec<SpecRow>,
}

/// One spec in the list of specs.
#[derive(Serialize, JsonSchema)]
struct SpecRow {
    /// The plan has it accepted as a whole.
    accepted: bool,
    /// True for the spec that the plan works on now.
    current: bool,
    name: String,
}

/// Answer `GET /api/specs` with the list of all specs.
pub(crate) fn specs(
    site: &ServerContext,
    _: &HttpRequest,
    _: &str,
) -> Result<SpecList, HttpRefusal> {
    let plan = &site.snapshot().plan.plan;
    let row = |name: String| SpecRow {
        accepted: plan.accepted_specs.iter().any(|accepted| accepted.spec == name),
        current: plan.current_spec.as_ref() == Some(&name),
        name,
    };
    Ok(SpecList { specs: names(site)?.into_iter().map(row).collect() })
}

/// One spec, with its text and its checkboxes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SpecAnswer {
    name: String,
    title: Option<String>,
    boxes: Vec<Checkbox>,
    text: String,
}

/// Answer `GET /api/specs/{id}` with one spec.
pub(crate) fn spec(
    site: &ServerContext,
    _: &HttpRequest,
    id: &str,
) -> Result<SpecAnswer, HttpRefusal> {
    let name = known(site, id)?;
    let bytes = store::read(&site.project.specs_dir().join(&name));
    let bytes = bytes.map_err(|e| HttpRefusal::broken(&site.project, e))?.unwrap_or_default();
    let text = text(&bytes);
    let spec = SpecOutline::parse(&name, &text);
    Ok(SpecAnswer { title: spec.title, boxes: spec.boxes, name, text })
}

/// Request to write a new spec.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewSpecRequest {
    /// The name of a file that is not there yet.
    #[schemars(length(max = 100), regex(pattern = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*\.md$"))]
    name: String,
    /// Text of the spec, as Markdown.
    #[schemars(regex(pattern = r"\S"))]
    text: String,
}

/// Spec that was written to a file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WrittenSpec {
    name: String,
}

/// `POST /api/specs`: a new spec, never over another one.
pub(crate) fn write_spec(
    site: &ServerContext,
    spec: NewSpecRequest,
    _: &str,
) -> Result<WrittenSpec, HttpRefusal> {
    let NewSpecRequest { name, text } = spec;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let tame = name.ends_with(".md") && !name.starts_with('.') && name.chars().all(plain);
    if !tame || name.len() > LONGEST_NAME {
        let words = "a name has at most 100 letters, digits, - and _, and ends in .md";
        return Err(HttpRefusal::bad(words));
    }
    if text.trim().is_empty() {
        return Err(HttpRefusal::bad("`text` is empty: say what is wanted"));
    }
    let text = if text.ends_with('\n') { text } else { format!("{text}\n") };
    let made = store::create(&site.project.specs_dir().join(&name), text.as_bytes());
    match made.map_err(|e| HttpRefusal::broken(&site.project, e))? {
        FileCreation::AlreadyThere => {
            Err(HttpRefusal::new(409, "there is a spec of that name already"))
        }
        FileCreation::New => {
            site.feed.touch();
            Ok(WrittenSpec { name })
        }
    }
}
