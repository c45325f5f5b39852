//! Files that ride: ledger files and specs that a person changed in home and that ralph took over.
//!
//! Git refuses to fast-forward over a file that is untracked or edited. The bytes of these files are part
//! of the new commit already, so the index is told first that it has the new version, and the file is
//! written after. Until then the file stays as the person left it.

use std::collections::BTreeSet;
use std::fs;

use ralph_core::cycle::{ArrivalWait, RiddenFile, StagedEntry, TakenOverFile};

use super::super::call::nul_fields;
use super::super::{GitChange, Repo};
use super::{Arrival, GitError, Oid, RepoPath, path_of};
use crate::{crash, store};

/// Digits of an object name, where nothing says otherwise.
const SHA1_DIGITS: usize = 40;

/// Side of a change: before it or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeSide {
    Old,
    New,
}

/// The entry that a path has on one side of a change.
pub(super) fn entry_on(change: &GitChange, side: ChangeSide) -> Option<StagedEntry> {
    let (mode, object) = match side {
        ChangeSide::Old => (change.old_mode, &change.old),
        ChangeSide::New => (change.new_mode, &change.new),
    };
    let (mode, object) = (mode?, object.as_ref()?);
    Some(StagedEntry { mode: format!("{mode:06o}"), object: object.to_string() })
}

impl Arrival<'_, '_, '_> {
    /// The files of home whose bytes were taken over into a landed commit.
    pub(super) fn taken_over_in(&self, target: &str) -> &[TakenOverFile] {
        let landed = self.line.landed.iter().rev().find(|landed| landed.commit == target);
        landed.map(|landed| landed.taken_over.as_slice()).unwrap_or_default()
    }

    /// The files that have to ride to reach `target`, or why it has to wait.
    pub(super) fn find_rides(
        &self,
        target: &str,
        changes: &[GitChange],
    ) -> Result<Result<Vec<RiddenFile>, ArrivalWait>, GitError> {
        let touched: BTreeSet<&RepoPath> = changes.iter().map(|change| &change.path).collect();
        let taken = self.taken_over_in(target).iter();
        let taken: Vec<(RepoPath, &TakenOverFile)> =
            taken.map(|file| (path_of(&file.path), file)).collect();
        let taken = taken.into_iter().filter(|(path, _)| touched.contains(path));
        let taken: Vec<(RepoPath, &TakenOverFile)> = taken.collect();
        let paths: Vec<RepoPath> = taken.iter().map(|(path, _)| path.clone()).collect();
        let changed = self.repo.not_as_in_head(&paths)?;
        let mut rides = Vec::new();
        for (path, file) in taken.into_iter().filter(|(path, _)| changed.contains(path)) {
            let Ok(bytes) = fs::read(self.repo.file(&path)) else { continue };
            if self.repo.content_id(&bytes)?.as_str() != file.content {
                return Ok(Err(ArrivalWait::NotTakenOver { path: file.path.clone() }));
            }
            let entry = self.repo.staged_entry(&path)?;
            if self.repo.is_staged_apart(&path, &bytes, entry.as_ref())? {
                return Ok(Err(ArrivalWait::StagedApart { path: file.path.clone() }));
            }
            rides.push(RiddenFile { file: file.clone(), entry });
        }
        Ok(Ok(rides))
    }
}

impl Repo<'_> {
    /// The entry of home's index for a path.
    pub(super) fn staged_entry(&self, path: &RepoPath) -> Result<Option<StagedEntry>, GitError> {
        let args = ["ls-files", "-s", "-z", "--"].map(std::ffi::OsStr::new);
        let args = args.into_iter().chain([path.as_path().as_os_str()]);
        let out = self.look(args).env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        Ok(nul_fields(&out).find_map(|field| {
            let tab = field.iter().position(|b| *b == b'\t')?;
            let head = String::from_utf8_lossy(field.get(..tab)?).into_owned();
            let mut words = head.split(' ');
            let (mode, object) = (words.next()?.to_owned(), words.next()?.to_owned());
            Some(StagedEntry { mode, object })
        }))
    }

    /// Whether the index has content of a path that is neither in HEAD nor in the file: nothing else
    /// keeps it.
    fn is_staged_apart(
        &self,
        path: &RepoPath,
        bytes: &[u8],
        entry: Option<&StagedEntry>,
    ) -> Result<bool, GitError> {
        let Some(entry) = entry else { return Ok(false) };
        let mut name = std::ffi::OsString::from("--path=");
        name.push(path.as_path());
        let args = [std::ffi::OsStr::new("hash-object"), &name, std::ffi::OsStr::new("--stdin")];
        let file = self.look(args).stdin(bytes.to_vec()).oid()?;
        let committed = self.blob_in("HEAD", path)?;
        let known = [Some(&file), committed.as_ref()];
        Ok(!known.into_iter().flatten().any(|known| known.as_str() == entry.object))
    }

    /// The blob of a path in a commit.
    pub(super) fn blob_in(&self, commit: &str, path: &RepoPath) -> Result<Option<Oid>, GitError> {
        let mut name = std::ffi::OsString::from(format!("{commit}:"));
        name.push(path.as_path());
        let args = ["rev-parse", "-q", "--verify"].map(std::ffi::OsStr::new);
        let answer = self.look(args.into_iter().chain([name.as_os_str()])).run()?;
        Ok(Oid::parse(&answer.stdout).filter(|_| answer.code == 0))
    }

    /// The bytes that a path of a commit has in a working tree.
    pub(super) fn checked_out_bytes(
        &self,
        commit: &str,
        path: &RepoPath,
    ) -> Result<Vec<u8>, GitError> {
        let mut name = std::ffi::OsString::from(format!("{commit}:"));
        name.push(path.as_path());
        let args = ["cat-file", "--filters"].map(std::ffi::OsStr::new);
        self.look(args.into_iter().chain([name.as_os_str()])).ok()
    }

    /// Set or remove entries of home's index, all of them or none.
    pub(super) fn set_entries(
        &self,
        entries: &[(RepoPath, Option<StagedEntry>)],
    ) -> Result<(), GitError> {
        if entries.is_empty() {
            return Ok(());
        }
        let input = self.index_info(entries);
        let call = self.arrival_call(["update-index", "-z", "--index-info"]).stdin(input);
        self.writing_index(|| call.ok().map(drop))
    }

    /// Put the entries of ridden files back, where they are still those that the arrival made and no commit of
    /// the person's has taken them.
    pub(super) fn put_entries_back(
        &self,
        rides: &[RiddenFile],
        changes: &[GitChange],
    ) -> Result<(), GitError> {
        let mut entries = Vec::new();
        for ride in rides {
            let path = path_of(&ride.file.path);
            let ours = changes.iter().find(|change| change.path == path);
            let ours = ours.and_then(|change| entry_on(change, ChangeSide::New));
            let committed = self.blob_in("HEAD", &path)?;
            let is_committed = ours
                .as_ref()
                .is_some_and(|ours| committed.is_some_and(|blob| blob.as_str() == ours.object));
            if ours.is_some() && !is_committed && self.staged_entry(&path)? == ours {
                entries.push((path, ride.entry.clone()));
            }
        }
        self.set_entries(&entries)
    }

    /// Write the ridden files that still have the bytes that were taken over.
    pub(super) fn write_rides(&self, rides: &[RiddenFile], new: &str) -> Result<(), GitError> {
        for ride in rides {
            let path = path_of(&ride.file.path);
            let file = self.file(&path);
            let Ok(bytes) = fs::read(&file) else { continue };
            if self.content_id(&bytes)?.as_str() != ride.file.content {
                continue;
            }
            let target = self.checked_out_bytes(new, &path)?;
            if target != bytes {
                store::replace(&file, &target)?;
            }
            crash::point();
        }
        Ok(())
    }

    /// Entries as `update-index -z --index-info` reads them.
    pub(super) fn index_info(&self, entries: &[(RepoPath, Option<StagedEntry>)]) -> Vec<u8> {
        // Mode 0 removes; the object is not looked at, but has to have the length of all others.
        let commit = self.head().ok().and_then(|head| head.commit);
        let none = "0".repeat(commit.map_or(SHA1_DIGITS, |commit| commit.as_str().len()));
        let mut input = Vec::new();
        for (path, entry) in entries {
            let head = match entry {
                Some(entry) => format!("{} {}\t", entry.mode, entry.object),
                None => format!("0 {none}\t"),
            };
            input.extend(head.into_bytes());
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        input
    }
}
