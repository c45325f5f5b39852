//! Commits that a person agreed to outside of a run: what `ralph init` wrote, and the first commit of a
//! repository, which lanes need.

use super::Repo;
use super::call::nul_fields;
use super::error::GitError;
use super::name::RepoPath;

/// Files that people write for ralph, and the rules that keep its runtime files out of git.
const SET_UP: [&str; 6] = [
    "ralph.toml",
    ".gitignore",
    "ralph/specs",
    "ralph/prompts",
    ".ralph/templates",
    ".ralph/skills",
];

/// The files of a repository without a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnbornFiles {
    /// Sources of ralph: specs, settings, ignore rules.
    pub sources: Vec<RepoPath>,
    /// Everything else that is not ignored. The ledger is in neither.
    pub others: Vec<RepoPath>,
}

impl Repo<'_> {
    /// The files of a repository whose branch has no commit; `None` when it has one.
    pub fn unborn_files(&self) -> Result<Option<UnbornFiles>, GitError> {
        if self.head()?.commit.is_some() {
            return Ok(None);
        }
        let set_up = SET_UP.map(|path| self.prefix.join(&RepoPath::new(path)));
        let is_source = |path: &RepoPath| set_up.iter().any(|one| path.is_at_or_below(one));
        let (sources, others) = self.dirty()?.into_iter().partition(is_source);
        Ok(Some(UnbornFiles { sources, others }))
    }

    /// Commit exactly these files, whatever else is staged. Says whether there was anything to commit.
    pub fn commit_files(&self, files: &[RepoPath], message: &str) -> Result<bool, GitError> {
        self.readiness()?;
        let listed = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let literal = |args: &[&str]| {
            let args = args.iter().copied().chain(listed);
            self.git(args).env("GIT_LITERAL_PATHSPECS", "1").paths(files)
        };
        if files.is_empty() {
            let call = self.git(["commit", "-q", "--allow-empty", "-m", message]);
            return call.patience(self.hook_patience).ok().map(|_| true);
        }
        literal(&["add"]).ok()?;
        let staged = self.look(["diff", "--cached", "--name-only", "--no-renames", "-z"]).ok()?;
        if !nul_fields(&staged).any(|path| files.contains(&RepoPath::new(path))) {
            return Ok(false);
        }
        let commit = literal(&["commit", "-q", "--only", "-m", message]);
        commit.patience(self.hook_patience).ok().map(|_| true)
    }

    /// Commit everything that is not ignored, as the first commit.
    pub fn commit_all(&self, message: &str) -> Result<(), GitError> {
        self.readiness()?;
        self.git(["add", "-A"]).ok()?;
        self.git(["commit", "-q", "-m", message]).patience(self.hook_patience).ok().map(drop)
    }

    /// Paths of the project that git ignores, from its folder; a folder ends in `/` and stands for all
    /// that is below it.
    pub fn ignored_paths(&self) -> Result<Vec<String>, GitError> {
        let list = ["ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"];
        let out = self.look(list).ok()?;
        let prefix = self.prefix.to_string();
        let below = |path: &[u8]| {
            let path = std::str::from_utf8(path).ok()?;
            if prefix.is_empty() {
                return Some(path.to_owned());
            }
            Some(path.strip_prefix(&prefix)?.strip_prefix('/')?.to_owned())
        };
        Ok(nul_fields(&out).filter_map(below).filter(|path| !path.is_empty()).collect())
    }
}
