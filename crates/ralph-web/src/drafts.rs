//! Specs that were written while a loop was at work.
//!
//! What appears in the working tree during an attempt counts as its work, and goes away with it when it
//! is rolled back; and after an attempt that landed, a loop does not look at the tree again. So such a
//! spec waits in the state directory until the loop pauses or none runs. It is kept here until a later
//! look finds it in its place, and is queued only then: whatever takes it out of the queue finds it.

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
    /// It was put into its place.
    #[serde(default)]
    placed: bool,
}

fn path(site: &Site) -> PathBuf {
    site.project.state_dir().join("web-drafts.json")
}

/// Whether a loop could take a new file for its own work.
pub(crate) fn busy(site: &Site) -> bool {
    let idle = site.running() == Running::Nobody;
    let inner = site.feed.fresh();
    // Work that a dead loop left open is rolled back by the next one.
    inner.history.open.is_some() || !(idle || inner.history.paused)
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

/// Keep a spec until nobody is at work.
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

/// Put what waits into its place, if nobody is at work.
pub(crate) fn settle(site: &Site) {
    if std::fs::metadata(path(site)).is_err() {
        return;
    }
    let drafts = waiting(site);
    if drafts.is_empty() || busy(site) {
        return;
    }
    let there = |draft: &Draft| site.project.specs_dir().join(&draft.name).exists();
    let due: Vec<&Draft> = drafts.iter().filter(|draft| !there(draft)).collect();
    let over: Vec<&Draft> = drafts.iter().filter(|draft| draft.placed && there(draft)).collect();
    // What fails stays, and is tried again with the next look.
    let done = |work: &dyn Fn(&Draft) -> Result<(), Refusal>, drafts: &[&Draft]| -> Vec<String> {
        let fine = drafts.iter().filter(|draft| work(draft).is_ok());
        fine.map(|draft| draft.name.clone()).collect()
    };
    let placed = done(&|draft| place(site, draft), &due);
    let over = done(&|draft| enqueue(site, draft), &over);
    let _later = change(site, |now| {
        now.retain(|draft| !over.contains(&draft.name));
        for draft in now.iter_mut().filter(|draft| placed.contains(&draft.name)) {
            draft.placed = true;
        }
    });
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
