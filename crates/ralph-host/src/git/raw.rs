//! The user's uncommitted files, byte for byte.
//!
//! A tree holds what filters and line-end rules make of a file, and one bit of its rights. For a
//! file that is in no commit this is not enough to put it back, so its bytes are kept as they are.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::PoisonError;

use serde::{Deserialize, Serialize};

use super::Repo;
use super::call::nul_list;
use super::checkpoint::DirtyPath;
use super::error::GitError;
use super::name::{Oid, RepoPath};
use super::state::{Moment, Stamp};

const MODE_BITS: u32 = 0o7777;

/// A file as it is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    /// The object that holds its bytes.
    pub oid: Oid,
    /// How many they are.
    pub size: u64,
    /// The rights of the file.
    pub mode: u32,
}

impl Repo<'_> {
    /// Keep the bytes of these files, where they are files, and are not as they were when they were
    /// kept before. `now` is a moment that is past.
    pub(super) fn keep_raw(&self, dirty: &mut [DirtyPath], now: Moment) -> Result<(), GitError> {
        let mut kept = self.kept_raw.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = Vec::new();
        for (at, entry) in dirty.iter_mut().enumerate() {
            let path = self.file(&entry.path);
            let Some(stamp) = Stamp::of(&path) else { continue };
            match kept.get(&entry.path).filter(|(old, _)| *old == stamp) {
                Some((_, raw)) => entry.raw = Some(raw.clone()),
                None => match fs::symlink_metadata(&path) {
                    Ok(meta) if meta.is_file() => files.push((at, meta, stamp)),
                    _ => {}
                },
            }
        }
        // Git takes a list of names only one a line, and reads quotes in it.
        let plain = |path: &RepoPath| {
            !path.as_bytes().contains(&b'\n') && path.as_bytes().first() != Some(&b'"')
        };
        let (many, single): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(at, ..)| plain(&dirty[*at].path));
        let mut oids = Vec::new();
        if !many.is_empty() {
            let list = nul_list(many.iter().map(|(at, ..)| &dirty[*at].path));
            let lines = list.iter().map(|b| if *b == 0 { b'\n' } else { *b }).collect();
            let call = self.git(["hash-object", "-w", "--no-filters", "--stdin-paths"]);
            let out = call.stdin(lines).ok()?;
            oids.extend(out.split(|b| *b == b'\n').filter_map(Oid::parse));
            if oids.len() != many.len() {
                return Err(GitError::Unreadable("hash-object".into()));
            }
        }
        for (at, ..) in &single {
            let path = dirty[*at].path.as_path().as_os_str().to_owned();
            let args = ["hash-object", "-w", "--no-filters", "--"].map(Into::into);
            oids.push(self.git(args.into_iter().chain([path])).oid()?);
        }
        for ((at, meta, stamp), oid) in many.into_iter().chain(single).zip(oids) {
            let raw = Raw { oid, size: meta.len(), mode: meta.mode() & MODE_BITS };
            // One that was changed only just now may be changed again without a new stamp.
            if stamp.is_before(now) {
                kept.insert(dirty[at].path.clone(), (stamp, raw.clone()));
            }
            dirty[at].raw = Some(raw);
        }
        Ok(())
    }

    /// Make these files, which git has just written, what they were on disk. `stored` says which
    /// object git wrote each of them from. Says which needed it.
    pub(super) fn restore_raw(
        &self,
        dirty: &[DirtyPath],
        stored: &dyn Fn(&RepoPath) -> Option<Oid>,
    ) -> Result<Vec<RepoPath>, GitError> {
        let mut rewritten = Vec::new();
        for entry in dirty {
            let (Some(raw), Some(stored)) = (&entry.raw, stored(&entry.path)) else { continue };
            let path = self.file(&entry.path);
            let Ok(meta) = fs::symlink_metadata(&path) else { continue };
            if !meta.is_file() {
                continue;
            }
            if stored != raw.oid || meta.len() != raw.size {
                let bytes = self.look(["cat-file", "blob", raw.oid.as_str()]).ok()?;
                let mut open = OpenOptions::new();
                let written = open.write(true).truncate(true).open(&path);
                let written = written.and_then(|mut file| file.write_all(&bytes));
                written.map_err(GitError::io("write", &path))?;
                rewritten.push(entry.path.clone());
            }
            if meta.mode() & MODE_BITS != raw.mode {
                fs::set_permissions(&path, Permissions::from_mode(raw.mode))
                    .map_err(GitError::io("set the rights of", &path))?;
            }
        }
        Ok(rewritten)
    }
}
