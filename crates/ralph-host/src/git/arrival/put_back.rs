//! Files of home after an arrival that was killed: what they are, and how they are put back.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ralph_core::cycle::{PathContent, PathFact, StagedEntry};

use super::super::{GitChange, Repo};
use super::rides::{ChangeSide, entry_on};
use super::{GitError, Oid, RepoPath, path_text};
use crate::{crash, store};

const LINK: u32 = 0o120_000;
const PROGRAM: u32 = 0o100_755;
const PLAIN: u32 = 0o100_644;
const SUBMODULE: u32 = 0o160_000;

/// A file of home: its mode as git has it, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HomeArrivalFile {
    mode: u32,
    bytes: Vec<u8>,
}

/// The thing that is at a path of home.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HomePathState {
    Missing,
    Folder,
    File(HomeArrivalFile),
}

impl Repo<'_> {
    /// Compare every path of an arrival with both of its commits. Submodules are not touched by one.
    pub(super) fn path_facts(
        &self,
        changes: &[GitChange],
        old: &str,
        new: &str,
    ) -> Result<Vec<PathFact>, GitError> {
        let is_file =
            |change: &&GitChange| ![change.old_mode, change.new_mode].contains(&Some(SUBMODULE));
        let modes = self.has_file_modes()?;
        let mut facts = Vec::new();
        for change in changes.iter().filter(is_file) {
            let before = self.committed_file(change.old_mode, old, &change.path)?;
            let after = self.committed_file(change.new_mode, new, &change.path)?;
            let now = match look_at(&self.file(&change.path))? {
                HomePathState::Missing => PathContent::Missing,
                // A file that became a folder is gone, unless the folder is the person's.
                HomePathState::Folder if is_above_one(&change.path, changes) => {
                    PathContent::Missing
                }
                HomePathState::Folder => PathContent::Other,
                HomePathState::File(file) => compare(&file, before.as_ref(), after.as_ref(), modes),
            };
            facts.push(PathFact {
                path: path_text(&change.path),
                in_old: before.is_some(),
                in_new: after.is_some(),
                now,
            });
        }
        Ok(facts)
    }

    /// Keep what is at these paths under a ref.
    pub(super) fn keep_files(
        &self,
        name: &str,
        old: &str,
        paths: &[RepoPath],
    ) -> Result<(), GitError> {
        let index = self.arrival_index()?;
        self.git(["read-tree", old]).index(&index).ok()?;
        let mut entries = Vec::new();
        for path in paths {
            let entry = match look_at(&self.file(path))? {
                HomePathState::File(file) => {
                    let args = ["hash-object", "-w", "--no-filters", "--stdin"];
                    let object = self.git(args).stdin(file.bytes).oid()?.to_string();
                    Some(StagedEntry { mode: format!("{:06o}", file.mode), object })
                }
                HomePathState::Missing | HomePathState::Folder => None,
            };
            entries.push((path.clone(), entry));
        }
        let update = self.git(["update-index", "-z", "--index-info"]).index(&index);
        update.stdin(self.index_info(&entries)).ok()?;
        let tree = self.write_tree(&index)?;
        let _left = fs::remove_file(&index);
        let parent =
            Oid::parse(old.as_bytes()).ok_or_else(|| GitError::Unreadable("rev-parse".into()))?;
        let commit =
            self.commit_tree(&tree, &[&parent], "ralph: files of an interrupted arrival")?;
        self.arrival_call(["update-ref", name, commit.as_str()]).ok().map(drop)
    }

    /// Put files back to the old commit. What is there now is kept already.
    pub(super) fn put_files_back(
        &self,
        changes: &[GitChange],
        old: &str,
        paths: &[RepoPath],
    ) -> Result<(), GitError> {
        let own: Vec<&GitChange> = changes.iter().filter(|c| paths.contains(&c.path)).collect();
        // A folder may stand where a file was, and the other way round.
        for change in &own {
            self.remove_file(&change.path)?;
        }
        crash::point();
        for change in own {
            if let Some(file) = self.committed_file(change.old_mode, old, &change.path)? {
                write_file(&self.file(&change.path), &file)?;
                crash::point();
            }
        }
        Ok(())
    }

    /// Put entries of the index back that a merge had written before it was killed.
    pub(super) fn put_merged_entries_back(&self, changes: &[GitChange]) -> Result<(), GitError> {
        let mut entries = Vec::new();
        for change in changes {
            let old = entry_on(change, ChangeSide::Old);
            let new = entry_on(change, ChangeSide::New);
            if self.staged_entry(&change.path)? == new {
                entries.push((change.path.clone(), old));
            }
        }
        // A merge writes the whole index at once. If only some entries are new, a person staged them.
        let is_merged = entries.len() == changes.len();
        if is_merged { self.set_entries(&entries) } else { Ok(()) }
    }

    /// Remove a file, and the folders above it that are empty then.
    pub(super) fn remove_file(&self, path: &RepoPath) -> Result<(), GitError> {
        let file = self.file(path);
        match fs::remove_file(&file) {
            Err(e)
                if !matches!(
                    e.kind(),
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
                ) =>
            {
                return Err(GitError::io("remove", file)(e));
            }
            _ => {}
        }
        for folder in file.ancestors().skip(1).take_while(|folder| *folder != self.top) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// A private index for a moment.
    pub(super) fn arrival_index(&self) -> Result<PathBuf, GitError> {
        let folder = self.git_dir.join("ralph");
        fs::create_dir_all(&folder).map_err(GitError::io("make", &folder))?;
        let index = folder.join("arrival-index");
        for left in [index.clone(), index.with_extension("lock")] {
            let _none = fs::remove_file(left);
        }
        Ok(index)
    }

    fn committed_file(
        &self,
        mode: Option<u32>,
        commit: &str,
        path: &RepoPath,
    ) -> Result<Option<HomeArrivalFile>, GitError> {
        let Some(mode) = mode else { return Ok(None) };
        let bytes = match (mode, self.blob_in(commit, path)?) {
            (LINK, Some(blob)) => self.look(["cat-file", "blob", blob.as_str()]).ok()?,
            _ => self.checked_out_bytes(commit, path)?,
        };
        Ok(Some(HomeArrivalFile { mode, bytes }))
    }

    /// Whether the file system keeps the mode of programs.
    fn has_file_modes(&self) -> Result<bool, GitError> {
        let answer = self.look(["config", "--type=bool", "--get", "core.fileMode"]).run()?;
        Ok(answer.stdout.trim_ascii() != b"false")
    }
}

fn compare(
    file: &HomeArrivalFile,
    old: Option<&HomeArrivalFile>,
    new: Option<&HomeArrivalFile>,
    has_modes: bool,
) -> PathContent {
    let same_mode = |other: &HomeArrivalFile| match (file.mode, other.mode) {
        (one, other) if one == other => true,
        (PLAIN | PROGRAM, PLAIN | PROGRAM) => !has_modes,
        _ => false,
    };
    let is = |other: &HomeArrivalFile| same_mode(other) && file.bytes == other.bytes;
    // Git makes a file with its mode first, and fills it then.
    let is_part = |new: &HomeArrivalFile| {
        same_mode(new) && file.mode != LINK && new.bytes.starts_with(&file.bytes)
    };
    match (old, new) {
        (Some(old), _) if is(old) => PathContent::Old,
        (_, Some(new)) if is(new) => PathContent::New,
        (_, Some(new)) if is_part(new) => PathContent::PartOfNew,
        _ => PathContent::Other,
    }
}

/// Whether the new commit has files below this path.
fn is_above_one(path: &RepoPath, changes: &[GitChange]) -> bool {
    let is_below = |change: &GitChange| change.path != *path && change.path.is_at_or_below(path);
    changes.iter().any(|change| change.new.is_some() && is_below(change))
}

fn look_at(path: &Path) -> Result<HomePathState, GitError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(HomePathState::Missing);
        }
        Err(e) => return Err(GitError::io("look at", path)(e)),
    };
    let failed = |e| GitError::io("read", path)(e);
    Ok(if meta.is_dir() {
        HomePathState::Folder
    } else if meta.is_symlink() {
        let target = fs::read_link(path).map_err(failed)?;
        let bytes = target.as_os_str().as_bytes().to_vec();
        HomePathState::File(HomeArrivalFile { mode: LINK, bytes })
    } else if !meta.is_file() {
        // A socket or a pipe is nobody's commit.
        HomePathState::Folder
    } else {
        let mode = if meta.permissions().mode() & 0o100 == 0 { PLAIN } else { PROGRAM };
        HomePathState::File(HomeArrivalFile { mode, bytes: fs::read(path).map_err(failed)? })
    })
}

fn write_file(path: &Path, file: &HomeArrivalFile) -> Result<(), GitError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(GitError::io("make", folder))?;
    }
    if file.mode == LINK {
        let target = std::ffi::OsStr::from_bytes(&file.bytes);
        return std::os::unix::fs::symlink(target, path).map_err(GitError::io("make", path));
    }
    store::replace(path, &file.bytes)?;
    if file.mode == PROGRAM {
        let failed = |e| GitError::io("write", path)(e);
        let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
        // Whoever may read a program may run it.
        let mode = mode | ((mode & 0o444) >> 2);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)?;
    }
    Ok(())
}
