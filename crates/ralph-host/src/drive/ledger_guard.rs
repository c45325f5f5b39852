//! Files of the ledger that no agent may write: as ralph left them before it ran, so they are after.
//!
//! The plan has its own guard, because people change it while agents run. These files only ralph
//! writes, so whoever else did is undone, and what they wrote is kept beside. A file is read again only
//! when its stamp says that it changed. Copies of them are on disk while an agent runs, so that the next
//! start can do the same after ralph was killed. The inbox is held ([`crate::store`]): what people do to
//! it with commands stays.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ralph_core::memory::index::{JSON_FILE, MARKDOWN_FILE};

use super::error::DriveError;
use super::session::{Loop, Session};
use crate::FileError;
use crate::handoff_files;
use crate::project::Project;
use crate::store::{self, Copies, drop_view, free_name, put_aside, put_view};

/// What is looked after, with the newest handoffs and the one to come.
const FILES: [&str; 4] =
    [MARKDOWN_FILE, JSON_FILE, ".ralph/progress-log.md", ".ralph/progress-log.json"];

/// Handoffs that are looked after: those that ralph itself, or an agent that it asks, reads again.
const HANDOFFS: u32 = 5;

/// Larger files are not kept: nobody needs a copy of them in memory.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Which file it is, how long, and when it changed.
type Stamp = (u64, u64, i64, i64, i64, i64);

/// Files as ralph left them.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptLedger(BTreeMap<String, Kept>);

#[derive(Clone, Debug)]
struct Kept {
    stamp: Option<Stamp>,
    bytes: Option<Vec<u8>>,
    /// Whether its copy on disk says the same.
    copied: bool,
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::symlink_metadata(path).ok()?;
    let (modified, changed) =
        ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    Some((meta.ino(), meta.len(), modified.0, modified.1, changed.0, changed.1))
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// The files with the slots of their copies. There is one handoff more than are read: the next one.
fn watched(iteration: u32) -> impl Iterator<Item = (String, String)> {
    let file_name = |file: &str| file.rsplit('/').next().unwrap_or(file).to_owned();
    let files = FILES.iter().map(move |&file| (file.to_owned(), file_name(file)));
    let handoffs = iteration.saturating_sub(HANDOFFS)..=iteration;
    files.chain(handoffs.map(|number| {
        (handoff_files::name(number.into()), format!("handoff-{}", number % (HANDOFFS + 1)))
    }))
}

/// Make a file what it was. What somebody made of it is then in `.ralph/context`, its name ending in
/// `of`. Tells whether anything had to be done.
fn put_back(
    project: &Project,
    name: &str,
    was: Option<&[u8]>,
    of: &str,
) -> Result<bool, FileError> {
    let (root, path) = (project.root(), project.ledger_file(name));
    let copy = name.rsplit('/').next().unwrap_or(name);
    let copy = root.join(format!(".ralph/context/{copy}.of-{of}"));
    if is_directory(&path) {
        put_aside(&path, &copy)?;
    } else {
        let now = store::read(&path).unwrap_or_default();
        if now.as_deref() == was {
            return Ok(false);
        }
        if let Some(theirs) = &now {
            put_view(&free_name(&copy), theirs)?;
        }
    }
    match was {
        Some(bytes) => put_view(&path, bytes)?,
        None => drop_view(&path)?,
    }
    Ok(true)
}

fn message(put_back: &[String], who: &str) -> String {
    let names = put_back.join(", ");
    format!(
        "{names}: {who} may not write it; it was put back, and the other version is in \
         .ralph/context"
    )
}

/// After a crash: what the agent that was at work wrote into the files is undone. Says so.
pub(super) fn put_all_back(
    project: &Project,
    copies: &Copies,
) -> Result<Option<String>, FileError> {
    let mut names = Vec::new();
    for (name, was) in copies.files() {
        if put_back(project, &name, was.as_deref(), "backend")? {
            names.push(name);
        }
    }
    Ok(Some(message(&names, "the interrupted backend")).filter(|_| !names.is_empty()))
}

impl Session<'_> {
    /// An agent that may write some of the files is about to run: remember the others.
    pub(super) fn keep_ledger(&mut self, may_write: &[&str]) {
        if !self.work.lane.is_home() {
            return;
        }
        let copies = Copies::of(&self.project.state_dir());
        let names: Vec<_> = watched(self.history.iteration).collect();
        let (mut kept, mut copied) = (BTreeMap::new(), BTreeMap::new());
        for (name, slot) in &names {
            let path = self.project.ledger_file(name);
            let stamp = stamp(&path);
            let known = self.kept_ledger.0.remove(name).filter(|known| known.stamp == stamp);
            let now = known.or_else(|| match stamp {
                None => Some(Kept { stamp, bytes: None, copied: false }),
                Some((_, length, ..)) if length > LARGEST => None,
                Some(_) => {
                    store::read(&path).ok().map(|bytes| Kept { stamp, bytes, copied: false })
                }
            });
            let Some(mut now) = now else { continue };
            if !may_write.contains(&name.as_str()) {
                if let Some(bytes) = now.bytes.as_ref().filter(|_| !now.copied) {
                    now.copied = copies.fill(slot, bytes).is_ok();
                }
                if now.copied || now.bytes.is_none() {
                    copied.insert(name.as_str(), now.bytes.is_some().then_some(slot.as_str()));
                }
            }
            kept.insert(name.clone(), now);
        }
        self.kept_ledger = KeptLedger(kept);
        // Here and below: unguarded is better than not at all.
        let _unguarded = copies.begin(&copied);
        let inbox = self.project.inbox();
        if self.kind == Loop::Agent || inbox.exists() {
            let _unguarded = self.plan.store().hold(&inbox);
        }
    }

    /// It has ended: what it was not to write is as it was.
    pub(super) fn restore_ledger(
        &mut self,
        may_write: &[&str],
        who: &str,
    ) -> Result<(), DriveError> {
        if !self.work.lane.is_home() {
            return Ok(());
        }
        let root = self.project.root().to_owned();
        let of = format!("iteration-{}", self.history.iteration);
        let mut names = Vec::new();
        for (name, kept) in &self.kept_ledger.0 {
            let path = self.project.ledger_file(name);
            if may_write.contains(&name.as_str()) || stamp(&path) == kept.stamp {
                continue;
            }
            if put_back(&self.project, name, kept.bytes.as_deref(), &of)? {
                names.push(name.clone());
            }
        }
        let inbox = self.project.inbox();
        if let Some(theirs) = self.plan.store().release(&inbox)? {
            let copy = format!(".ralph/context/inbox.jsonl.of-{of}");
            put_view(&root.join(copy), theirs.as_bytes())?;
            names.push(self.relative(&inbox));
        }
        if !names.is_empty() {
            self.ledger_restored(&message(&names, who))?;
        }
        Ok(Copies::of(&self.project.state_dir()).end()?)
    }
}
