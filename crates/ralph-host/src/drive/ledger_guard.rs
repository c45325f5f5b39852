//! Files of the ledger that no agent may write: as ralph left them before it ran, so they are after.
//!
//! The plan has its own guard, because people change it while agents run. These files only ralph
//! writes, so whoever else did is undone, and what they wrote is kept beside. A file is read again only
//! when its stamp says that it changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ralph_core::memory::index::{JSON_FILE, MARKDOWN_FILE};

use super::error::DriveError;
use super::session::Session;
use crate::handoff_files;
use crate::store::{self, drop_view, free_name, put_aside, put_view};

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

impl Session<'_> {
    /// An agent is about to run: remember the files.
    pub(super) fn keep_ledger(&mut self) {
        let root = self.project.root();
        let last = self.history.iteration;
        let handoffs = last.saturating_sub(HANDOFFS)..=last;
        let handoffs = handoffs.map(|number| handoff_files::name(number.into()));
        let names = FILES.iter().map(|&file| file.to_owned()).chain(handoffs);
        let mut kept = BTreeMap::new();
        for name in names {
            let path = root.join(&name);
            let stamp = stamp(&path);
            let known = self.kept_ledger.0.remove(&name).filter(|known| known.stamp == stamp);
            let now = known.or_else(|| match stamp {
                None => Some(Kept { stamp, bytes: None }),
                Some((_, length, ..)) if length > LARGEST => None,
                Some(_) => store::read(&path).ok().map(|bytes| Kept { stamp, bytes }),
            });
            kept.extend(now.map(|now| (name, now)));
        }
        self.kept_ledger = KeptLedger(kept);
    }

    /// It has ended: what it was not to write is as it was.
    pub(super) fn restore_ledger(
        &mut self,
        may_write: &[&str],
        who: &str,
    ) -> Result<(), DriveError> {
        let root = self.project.root().to_owned();
        let mut put_back = Vec::new();
        for (name, kept) in &self.kept_ledger.0 {
            let path = root.join(name);
            if may_write.contains(&name.as_str()) || stamp(&path) == kept.stamp {
                continue;
            }
            let copy = name.rsplit('/').next().unwrap_or(name);
            let iteration = self.history.iteration;
            let copy = root.join(format!(".ralph/context/{copy}.of-iteration-{iteration}"));
            if is_directory(&path) {
                put_aside(&path, &copy)?;
            } else {
                let now = store::read(&path).unwrap_or_default();
                if now == kept.bytes {
                    continue;
                }
                if let Some(theirs) = &now {
                    put_view(&free_name(&copy), theirs)?;
                }
            }
            match &kept.bytes {
                Some(bytes) => put_view(&path, bytes)?,
                None => drop_view(&path)?,
            }
            put_back.push(name.clone());
        }
        if put_back.is_empty() {
            return Ok(());
        }
        let names = put_back.join(", ");
        self.ledger_restored(&format!(
            "{names}: {who} may not write it; it was put back, and the other version is in \
             .ralph/context"
        ))
    }
}
