//! Furnishing a lane: ignored files that are copied or linked from home, and the setup command.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use super::JobSandbox;
use super::error::LaneError;
use super::files;
use super::lane::Lane;
use crate::file_error::{FileAction, FileError};
use crate::git::{GitError, RepoPath, nul_fields};

/// The file that lists ignored files which new working trees need, in the syntax of ignore rules.
const INCLUDE_FILE: &str = ".worktreeinclude";

/// Result of furnishing a lane: its files from home, and the setup command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FurnishReport {
    /// Paths that were copied or linked, from the top of the lane.
    pub given: Vec<RepoPath>,
    /// Paths of `copy` and `link` that git tracks: the lane has them from its commit already.
    pub tracked: Vec<RepoPath>,
    /// Paths of `copy` and `link` that home does not have.
    pub missing: Vec<String>,
    pub setup_ran: bool,
}

impl Lane<'_> {
    /// Copy and link what `[lane]` and `.worktreeinclude` name from the project in home, and run setup
    /// when it is due. To be called on a lane that was just put on a commit.
    pub fn furnish(
        &mut self,
        home_root: &Path,
        wrap: JobSandbox<'_>,
    ) -> Result<FurnishReport, LaneError> {
        if self.is_home() {
            return Ok(FurnishReport::default());
        }
        self.check_place()?;
        let settings = self.home.settings.clone();
        let mut done = FurnishReport::default();
        let mut given = BTreeSet::new();
        let prefix = self.repo.prefix().as_path().to_owned();
        let (mut copies, mut links, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        for path in &settings.copy {
            match place_of_setting(&prefix, path) {
                Some(FurnishTarget::InLane(inside)) => copies.push((path, inside)),
                _ => return Err(bad_setting("lane.copy", path, "is outside the repository")),
            }
        }
        for path in &settings.link {
            match place_of_setting(&prefix, path) {
                Some(FurnishTarget::InLane(inside)) => links.push((path, inside)),
                Some(FurnishTarget::Beside(name)) => beside.push((path, name)),
                None => {
                    let reason = "is neither in the repository nor right beside it";
                    return Err(bad_setting("lane.link", path, reason));
                }
            }
        }
        let named = copies.iter().chain(&links).map(|(_, inside)| inside);
        let tracked = self.tracked(named)?;
        let is_tracked = |path: &RepoPath| tracked.iter().any(|t| t.is_at_or_below(path));
        for (path, inside) in copies {
            let from = home_root.join(path);
            if is_tracked(&inside) {
                done.tracked.push(inside);
            } else if fs::symlink_metadata(&from).is_err() {
                done.missing.push(path.clone());
            } else {
                files::copy(&from, &files::make_room_below(self.top(), inside.as_path())?)?;
                given.insert(inside);
            }
        }
        for path in self.included()? {
            let to = files::make_room_below(self.top(), path.as_path())?;
            files::copy(&self.home.repo.file(&path), &to)?;
            given.insert(path);
        }
        for (path, inside) in links {
            let from = home_root.join(path);
            if is_tracked(&inside) {
                done.tracked.push(inside);
            } else if !from.exists() {
                done.missing.push(path.clone());
            } else {
                let to = files::make_room_below(self.top(), inside.as_path())?;
                symlink(&from, &to).map_err(FileError::io(FileAction::Write, &to))?;
                given.insert(inside);
            }
        }
        for (path, name) in beside {
            self.link_beside(path, &home_root.join(path), &name, &mut done)?;
        }
        done.given = given.iter().cloned().collect();
        self.given = given;
        self.leave_out_of_snapshots();
        done.setup_ran = self.set_up(wrap)?;
        Ok(done)
    }

    /// Those of `paths`, and of what is below them, that the lane's commit has.
    fn tracked<'p>(
        &self,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<Vec<RepoPath>, LaneError> {
        let paths: Vec<&OsStr> = paths.map(|path| path.as_path().as_os_str()).collect();
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let args = ["ls-files", "-z", "--"].map(OsStr::new).into_iter().chain(paths);
        let out = self.repo.look(args).env("GIT_LITERAL_PATHSPECS", "1").ok()?;
        Ok(nul_fields(&out).map(RepoPath::new).collect())
    }

    /// Ignored files of home that match a pattern in a `.worktreeinclude`.
    fn included(&self) -> Result<Vec<RepoPath>, LaneError> {
        let home = &self.home.repo;
        let has_file = |folder: &Path| folder.join(INCLUDE_FILE).is_file();
        if !has_file(home.top()) && !has_file(&home.project_root()) {
            return Ok(Vec::new());
        }
        let patterns = format!("--exclude-per-directory={INCLUDE_FILE}");
        let listed = home.look(["ls-files", "-z", "-o", "-i", &patterns]).ok()?;
        if listed.is_empty() {
            return Ok(Vec::new());
        }
        let answer = home.look(["check-ignore", "-z", "--stdin"]).stdin(listed).run()?;
        match answer.code {
            0 | 1 => Ok(nul_fields(&answer.stdout).map(RepoPath::new).collect()),
            _ => Err(GitError::into(answer.into_error())),
        }
    }

    /// Link a folder beside home to the same place beside the lane.
    fn link_beside(
        &self,
        path: &str,
        from: &Path,
        name: &OsStr,
        done: &mut FurnishReport,
    ) -> Result<(), LaneError> {
        let Ok(from) = fs::canonicalize(from) else {
            done.missing.push(path.to_owned());
            return Ok(());
        };
        let to = self.home.folder.join(name);
        if fs::read_link(&to).is_ok_and(|target| target == from) {
            return Ok(());
        }
        match fs::symlink_metadata(&to) {
            Ok(meta) if !meta.is_symlink() => {
                return Err(bad_setting("lane.link", path, "has the name of a file of ralph's"));
            }
            Ok(_) => files::remove(&to)?,
            Err(_) => {}
        }
        match symlink(&from, &to) {
            // Another lane was faster.
            Err(_) if fs::read_link(&to).is_ok_and(|target| target == from) => Ok(()),
            other => other.map_err(|e| FileError::io(FileAction::Write, &to)(e).into()),
        }
    }
}

/// The place in or beside a lane that a path of `[lane]` stands for.
enum FurnishTarget {
    /// From the top of the lane.
    InLane(RepoPath),
    /// A name in the folder of lanes.
    Beside(std::ffi::OsString),
}

/// Return the place of a project path, seen from the top of the lane. `None` when the path is neither
/// in the lane nor directly beside it.
fn place_of_setting(prefix: &Path, path: &str) -> Option<FurnishTarget> {
    let (mut inside, mut above) = (PathBuf::new(), 0);
    for part in prefix.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => inside.push(name),
            Component::ParentDir => {
                if !inside.pop() {
                    above += 1;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let inside = inside.into_os_string();
    let bytes = inside.as_encoded_bytes();
    let is_git = bytes == b".git" || bytes.starts_with(b".git/");
    match above {
        _ if bytes.is_empty() || is_git => None,
        0 => Some(FurnishTarget::InLane(RepoPath::new(bytes))),
        1 if !bytes.contains(&b'/') => Some(FurnishTarget::Beside(inside)),
        _ => None,
    }
}

fn bad_setting(key: &'static str, path: &str, reason: &'static str) -> LaneError {
    LaneError::Setting { key, path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(prefix: &str, path: &str) -> String {
        match place_of_setting(Path::new(prefix), path) {
            Some(FurnishTarget::InLane(path)) => format!("in {path}"),
            Some(FurnishTarget::Beside(name)) => format!("beside {}", name.display()),
            None => "refused".to_owned(),
        }
    }

    #[test]
    fn a_path_is_in_the_lane_or_right_beside_it() {
        assert_eq!(place("", ".env"), "in .env");
        assert_eq!(place("apps/web", "./.env"), "in apps/web/.env");
        assert_eq!(place("apps/web", "../lib"), "in apps/lib");
        assert_eq!(place("", "../lib"), "beside lib");
        assert_eq!(place("apps/web", "../../../lib"), "beside lib");
        for refused in ["../../lib", "../lib/deep", "/etc", "..", ".", ".git", ".git/config"] {
            assert_eq!(place("", refused), "refused", "{refused}");
        }
    }
}
