//! Submodules: lanes within the lane, over home's copies of their repositories.
//!
//! Each has a git directory of ralph's in `modules/` of the lane's, and a private repository of the
//! agent's in its folder. Git would run in the private ones by itself, with whatever configuration
//! the agent left there, so they are removed before ralph's first git call after an agent ran.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::checkout::{HeadWriter, put_tree_on};
use super::error::LaneError;
use super::files;
use super::lane::Lane;
use crate::git::{GitError, Oid, Repo, RepoPath, nul_fields};
use crate::git_dir;
use crate::proc::JobRunner;

/// Greatest depth of submodules inside submodules.
const DEEPEST: u32 = 8;

/// A submodule as it is checked out in a lane.
pub(super) struct SubmoduleLane<'a> {
    /// From the top of the lane.
    pub(super) path: RepoPath,
    pub(super) repo: Repo<'a>,
}

/// A submodule that a commit has.
struct DeclaredSubmodule {
    name: String,
    path: RepoPath,
    commit: Oid,
}

/// A repository that has submodules: where its copy in home keeps theirs.
struct SubmoduleParent<'p> {
    /// The git directories whose `modules` folder may have them.
    git_dirs: Vec<&'p Path>,
    /// Working tree of the repository in home. The folder may be missing.
    home_top: PathBuf,
    /// From the top of the lane.
    path: RepoPath,
}

impl<'a> SubmoduleLane<'a> {
    /// Ralph's git directories of the submodules of a lane.
    pub(super) fn git_dirs(lane_git_dir: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(lane_git_dir.join("modules")).into_iter().flatten().flatten();
        let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        // A submodule comes before those inside it.
        dirs.sort();
        dirs
    }

    /// The submodules that are checked out in a lane.
    pub(super) fn all(lane: &Lane<'a>) -> Vec<Self> {
        let open = |dir: &PathBuf| Self::open(lane.top(), dir, lane.home.repo.runner());
        Self::git_dirs(&lane.git_dir).iter().filter_map(open).collect()
    }

    fn open(lane_top: &Path, git_dir: &Path, runner: &'a JobRunner) -> Option<Self> {
        let path = RepoPath::new(fs::read(git_dir.join("lane")).ok()?);
        let common = fs::read(git_dir.join("commondir")).ok()?;
        let common = Path::new(OsStr::from_bytes(common.strip_suffix(b"\n")?));
        let top = lane_top.join(path.as_path());
        Some(Self { path, repo: Repo::explicit(&top, git_dir, common, runner) })
    }

    /// The commit that is checked out.
    pub(super) fn commit(&self) -> Option<Oid> {
        Oid::parse(&fs::read(self.repo.git_dir().join("HEAD")).ok()?)
    }
}

impl Lane<'_> {
    /// Remove the private repositories of submodules. To be called when a backend, a gate or a hook
    /// has ended, before the first git call.
    pub fn remove_submodule_repositories(&self) -> Result<(), LaneError> {
        self.check_place()?;
        for submodule in SubmoduleLane::all(self) {
            let top = submodule.repo.top();
            if files::is_folder(top) && is_below(self.top(), top) {
                files::remove(&top.join(".git"))?;
            }
        }
        Ok(())
    }

    /// The submodules whose files are not those of their commit. `add -A` does not see them.
    pub fn changed_submodules(&self) -> Result<Vec<RepoPath>, LaneError> {
        if self.is_home() {
            return Ok(self.repo.dirty_submodules()?);
        }
        self.remove_submodule_repositories()?;
        let mut changed = Vec::new();
        for SubmoduleLane { path, repo } in SubmoduleLane::all(self) {
            let there = files::is_folder(repo.top()) && is_below(self.top(), repo.top());
            let args = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
            if !there || !repo.look(args).ok()?.is_empty() {
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// Check out the submodules of the commit that the lane is on, as far as home has them.
    pub(super) fn check_out_submodules(&self, commit: &Oid) -> Result<(), LaneError> {
        let home = &self.home.repo;
        let parent = SubmoduleParent {
            git_dirs: vec![home.git_dir(), home.common_dir()],
            home_top: home.top().to_owned(),
            path: RepoPath::new(""),
        };
        let mut made = Vec::new();
        self.check_out_below(&self.repo, commit, &parent, DEEPEST, &mut made)?;
        for dir in SubmoduleLane::git_dirs(&self.git_dir) {
            if !made.contains(&dir) {
                files::remove(&dir)?;
            }
        }
        Ok(())
    }

    fn check_out_below(
        &self,
        repo: &Repo<'_>,
        commit: &Oid,
        parent: &SubmoduleParent<'_>,
        levels: u32,
        made: &mut Vec<PathBuf>,
    ) -> Result<(), LaneError> {
        let has_any = fs::symlink_metadata(repo.top().join(".gitmodules")).is_ok();
        if !has_any || levels == 0 {
            return Ok(());
        }
        for declared in declared_by(repo, commit)? {
            let Some(source) = find_module(parent, &declared) else { continue };
            let path = join(&parent.path, &declared.path);
            let git_dir = self.git_dir.join("modules").join(encode(&path));
            self.make_submodule(&git_dir, &path, &source)?;
            let top = files::make_folder_below(self.top(), path.as_path())?;
            let inner = Repo::explicit(&top, &git_dir, &source, self.home.repo.runner());
            // A detached HEAD is a file even where references are in tables.
            let head = HeadWriter { reftable: false };
            put_tree_on(&inner, &head, &declared.commit, &[]).map_err(|e| match e {
                LaneError::Git(failed @ GitError::Failed { .. }) => {
                    LaneError::Submodule { path: path.clone(), source: failed }
                }
                other => other,
            })?;
            made.push(git_dir);
            let home_top = parent.home_top.join(declared.path.as_path());
            let next = SubmoduleParent { git_dirs: vec![&source], home_top, path };
            self.check_out_below(&inner, &declared.commit, &next, levels - 1, made)?;
        }
        Ok(())
    }

    fn make_submodule(
        &self,
        git_dir: &Path,
        path: &RepoPath,
        source: &Path,
    ) -> Result<(), LaneError> {
        let common = [source.as_os_str().as_encoded_bytes(), b"\n"].concat();
        if files::read(&git_dir.join("commondir"))?.as_ref() == Some(&common) {
            return Ok(());
        }
        files::remove(git_dir)?;
        files::make_folder(git_dir)?;
        files::put(&git_dir.join("lane"), path.as_bytes())?;
        files::put(&git_dir.join("HEAD"), b"ref: refs/ralph/none\n")?;
        Ok(files::put(&git_dir.join("commondir"), &common)?)
    }
}

/// The submodules that a commit has and declares.
fn declared_by(repo: &Repo<'_>, commit: &Oid) -> Result<Vec<DeclaredSubmodule>, LaneError> {
    let blob = format!("--blob={commit}:.gitmodules");
    let args = ["config", "-z", &blob, "--get-regexp", r"^submodule\..*\.path$"];
    let answer = repo.look(args).run()?;
    let mut names = Vec::new();
    for field in nul_fields(&answer.stdout) {
        let text = String::from_utf8_lossy(field);
        let Some((key, path)) = text.split_once('\n') else { continue };
        let name = key.strip_prefix("submodule.").and_then(|rest| rest.strip_suffix(".path"));
        if let Some(name) = name.filter(|name| is_plain(name)) {
            names.push((name.to_owned(), RepoPath::from(path)));
        }
    }
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut args: Vec<&OsStr> =
        ["ls-tree", "-z", "--full-tree", commit.as_str(), "--"].map(OsStr::new).to_vec();
    args.extend(names.iter().map(|(_, path)| path.as_path().as_os_str()));
    let out = repo.look(args).env("GIT_LITERAL_PATHSPECS", "1").ok()?;
    let commit_of = |path: &RepoPath| {
        nul_fields(&out).find_map(|line| {
            let oid = line.strip_prefix(b"160000 commit ")?;
            let tab = oid.iter().position(|b| *b == b'\t')?;
            (oid.get(tab + 1..)? == path.as_bytes()).then(|| Oid::parse(oid.get(..tab)?))?
        })
    };
    let found = names.into_iter().filter_map(|(name, path)| {
        let commit = commit_of(&path)?;
        Some(DeclaredSubmodule { name, path, commit })
    });
    Ok(found.collect())
}

/// The git directory of a submodule in home, if home has it.
fn find_module(parent: &SubmoduleParent<'_>, declared: &DeclaredSubmodule) -> Option<PathBuf> {
    let in_home = parent.home_top.join(declared.path.as_path());
    let checked_out = git_dir::of(&in_home).ok().flatten();
    let stored = parent.git_dirs.iter().map(|dir| dir.join("modules").join(&declared.name));
    let found = checked_out.into_iter().chain(stored).find(|dir| git_dir::is_git_dir(dir))?;
    fs::canonicalize(found).ok()
}

/// Whether a name stays below the folder that it is joined to.
fn is_plain(name: &str) -> bool {
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    !name.is_empty() && Path::new(name).components().all(normal)
}

/// Whether a folder is really below another, not through a link.
fn is_below(top: &Path, folder: &Path) -> bool {
    let real = (fs::canonicalize(top), fs::canonicalize(folder));
    matches!(real, (Ok(top), Ok(folder)) if folder.starts_with(&top) && folder != top)
}

fn join(parent: &RepoPath, path: &RepoPath) -> RepoPath {
    if parent.as_bytes().is_empty() {
        return path.clone();
    }
    RepoPath::new([parent.as_bytes(), b"/", path.as_bytes()].concat())
}

/// A path as the name of one folder.
fn encode(path: &RepoPath) -> PathBuf {
    let mut name = Vec::new();
    for byte in path.as_bytes() {
        match byte {
            b'%' => name.extend_from_slice(b"%25"),
            b'/' => name.extend_from_slice(b"%2F"),
            other => name.push(*other),
        }
    }
    PathBuf::from(OsStr::from_bytes(&name))
}
