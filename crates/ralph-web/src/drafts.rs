//! Specs that were written while an attempt ran.
//!
//! What appears in the working tree during an attempt counts as its work, and goes away with it when it
//! is rolled back. So such a spec waits in the state directory until no attempt is open. An attempt may
//! have taken its picture of the tree just before: the spec is kept here until it is still in its place
//! after another attempt, or no loop runs, and is put there again otherwise. Only then is it queued:
//! whatever takes it out of the queue finds it.

use std::path::PathBuf;

use ralph_core::dashboard::Running;
use ralph_core::inbox::Inbox;
use ralph_host::store::{self, Kind};
use serde::{Deserialize, Serialize};

use crate::error::Refusal;
use crate::site::Site;

/// A spec that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) text: String,
    /// It goes into the queue too.
    #[serde(default)]
    queue: bool,
    /// How many attempts there had been when it was put into its place.
    #[serde(default)]
    placed: Option<usize>,
}

fn path(site: &Site) -> PathBuf {
    site.project.state_dir().join("web-drafts.json")
}

/// Whether an attempt is open, and how many there have been.
pub(crate) fn attempts(site: &Site) -> (bool, usize) {
    let inner = site.feed.fresh();
    (inner.history.open.is_some(), inner.history.attempts.len())
}

/// What waits. A file that cannot be read holds nothing.
pub(crate) fn waiting(site: &Site) -> Vec<Draft> {
    let bytes = store::read(&path(site)).ok().flatten().unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn change<T>(site: &Site, change: impl FnOnce(&mut Vec<Draft>) -> T) -> Result<T, Refusal> {
    let changed = site.store.update(&path(site), Kind::Document, |bytes| {
        let mut drafts = serde_json::from_slice(bytes.unwrap_or_default()).unwrap_or_default();
        let value = change(&mut drafts);
        let text = serde_json::to_string_pretty(&drafts).unwrap_or_default() + "\n";
        Ok::<_, Refusal>((text, value))
    })?;
    site.feed.touch();
    Ok(changed.value)
}

/// Keep a spec until no attempt is open.
pub(crate) fn hold(site: &Site, name: &str, text: &str) -> Result<(), Refusal> {
    let draft = Draft { name: name.to_owned(), text: text.to_owned(), ..Draft::default() };
    change(site, |drafts| drafts.push(draft))
}

/// Queue a spec that waits; whether there is one of that name.
pub(crate) fn queue(site: &Site, name: &str) -> Result<bool, Refusal> {
    if !waiting(site).iter().any(|draft| draft.name == name) {
        return Ok(false);
    }
    change(site, |drafts| {
        let draft = drafts.iter_mut().find(|draft| draft.name == name);
        draft.map(|draft| draft.queue = true).is_some()
    })
}

/// Put what waits into its place, if no attempt is open. Whether something still waits.
pub(crate) fn settle(site: &Site) -> bool {
    if std::fs::metadata(path(site)).is_err() {
        return false;
    }
    let drafts = waiting(site);
    let (open, count) = attempts(site);
    if drafts.is_empty() || open {
        return !drafts.is_empty();
    }
    let idle = site.running() == Running::Nobody;
    let there = |draft: &Draft| site.project.specs_dir().join(&draft.name).exists();
    let settled =
        |draft: &Draft| draft.placed.is_some_and(|then| idle || count > then) && there(draft);
    let due: Vec<&Draft> =
        drafts.iter().filter(|draft| draft.placed.is_none() || !there(draft)).collect();
    if due.is_empty() && !drafts.iter().any(settled) {
        return true;
    }
    // What fails stays, and is tried again with the next look.
    let done = |work: &dyn Fn(&Draft) -> Result<(), Refusal>, drafts: &[&Draft]| -> Vec<String> {
        let fine = drafts.iter().filter(|draft| work(draft).is_ok());
        fine.map(|draft| draft.name.clone()).collect()
    };
    let placed = done(&|draft| place(site, draft), &due);
    let over: Vec<&Draft> = drafts.iter().filter(|draft| settled(draft)).collect();
    let over = done(&|draft| enqueue(site, draft), &over);
    let _later = change(site, |now| {
        now.retain(|draft| !over.contains(&draft.name));
        for draft in now.iter_mut().filter(|draft| placed.contains(&draft.name)) {
            draft.placed = Some(count);
        }
    });
    true
}

/// One that is there already is this one, or somebody's who came first.
fn place(site: &Site, draft: &Draft) -> Result<(), Refusal> {
    let spec = site.project.specs_dir().join(&draft.name);
    let made = store::create(&spec, draft.text.as_bytes());
    made.map(drop).map_err(|e| Refusal::broken(&site.project, e))
}

fn enqueue(site: &Site, draft: &Draft) -> Result<(), Refusal> {
    if !draft.queue {
        return Ok(());
    }
    let (inbox, at) = (site.project.inbox(), site.clock.stamp());
    site.store.update(&inbox, Kind::of(&inbox), |bytes| {
        let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let queue = Inbox::parse(&text).map_err(|e| Refusal::new(500, e.message))?;
        let id =
            queue.fresh_id(&mut || site.word()).filter(|_| queue.queued(&draft.name).is_none());
        let new = id.map(|id| queue.add(&id, &draft.name, &at));
        Ok::<_, Refusal>((new.unwrap_or_else(|| text.clone()), ()))
    })?;
    Ok(())
}
