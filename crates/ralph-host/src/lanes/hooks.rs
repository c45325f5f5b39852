//! The user's commit hooks, run in the lane's private repository: they run code of the candidate.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use super::JobSandbox;
use super::error::LaneError;
use super::files;
use super::lane::Lane;
use super::setup::{describe_failure, end_of};
use crate::git::{Oid, RepoPath, nul_fields};
use crate::proc::{Job, JobStderr, is_executable};

/// Hooks that `git commit` runs before it commits, in this order.
const COMMIT_HOOKS: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

/// Longest time that one hook may take.
const LONGEST_HOOK: Duration = Duration::from_secs(30 * 60);

/// The result of the hooks that run before a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookReport {
    Passed {
        /// The message as the hooks left it.
        message: Vec<u8>,
        /// Paths whose files differ from the candidate in the lane's index.
        changed: Vec<RepoPath>,
        /// The hooks that ran.
        hooks: Vec<&'static str>,
        /// Complete output of all hooks.
        output: String,
    },
    Refused {
        /// Name of the hook, for example `pre-commit`.
        hook: &'static str,
        /// Exit of the hook, and the last part of its output.
        output: String,
    },
}

impl Lane<'_> {
    /// Run home's hooks for a commit of the lane's index on `tip` with this message. The private
    /// repository is written anew for it, with `branch` checked out. Without hooks nothing is run.
    pub fn run_hooks(
        &self,
        tip: &Oid,
        branch: Option<&str>,
        message: &[u8],
        wrap: JobSandbox<'_>,
    ) -> Result<HookReport, LaneError> {
        self.run_hooks_of(&COMMIT_HOOKS, (tip, branch), message, wrap)
    }

    /// The same with the one hook that looks at the message alone.
    pub fn run_message_hook(
        &self,
        tip: &Oid,
        branch: Option<&str>,
        message: &[u8],
        wrap: JobSandbox<'_>,
    ) -> Result<HookReport, LaneError> {
        self.run_hooks_of(&["commit-msg"], (tip, branch), message, wrap)
    }

    /// Whether home has a hook that looks at messages of commits.
    pub fn has_message_hook(&self) -> Result<bool, LaneError> {
        Ok(is_executable(&self.home.repo.hooks()?.join("commit-msg")))
    }

    fn run_hooks_of(
        &self,
        hooks: &[&'static str],
        (tip, branch): (&Oid, Option<&str>),
        message: &[u8],
        wrap: JobSandbox<'_>,
    ) -> Result<HookReport, LaneError> {
        let folder = self.home.repo.hooks()?;
        let is_there = |hook: &&&'static str| is_executable(&folder.join(**hook));
        let hooks: Vec<&'static str> = hooks.iter().filter(is_there).copied().collect();
        if hooks.is_empty() {
            let (message, changed, output) = (message.to_vec(), Vec::new(), String::new());
            return Ok(HookReport::Passed { message, changed, hooks, output });
        }
        self.write_private_repository(tip, branch)?;
        let file = match self.is_home() {
            true => self.home.repo.git_dir().join("COMMIT_EDITMSG"),
            false => self.top().join(".git/COMMIT_EDITMSG"),
        };
        files::put(&file, message)?;
        let mut said = Vec::new();
        for hook in hooks.iter().copied() {
            let (finished, output) =
                self.repo.runner().output(&wrap(self.hook_job(hook, &folder, &file)))?;
            self.check_place().map_err(|e| e.after(format!("the hook {hook}")))?;
            if let Some(ending) = describe_failure(&finished.exit) {
                self.remove_submodule_repositories()?;
                let output = end_of(&output);
                let output = format!("the hook {hook} {ending}\n{output}").trim_end().to_owned();
                return Ok(HookReport::Refused { hook, output });
            }
            said.extend_from_slice(&output);
        }
        self.remove_submodule_repositories()?;
        let message = files::read(&file)?.unwrap_or_else(|| message.to_vec());
        let changed = self.changed_since_index()?;
        Ok(HookReport::Passed { message, changed, hooks, output: end_of(&said) })
    }

    fn hook_job(&self, hook: &str, folder: &Path, message: &Path) -> Job {
        let mut path = OsString::from("core.hooksPath=");
        path.push(folder);
        let settings = ["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c"];
        let mut job = Job::new("git", self.top()).args(settings).args([path]);
        job = job.args(["hook", "run", hook]);
        match hook {
            "pre-commit" => {}
            "prepare-commit-msg" => {
                job = job.args(["--".as_ref(), message.as_os_str(), OsStr::new("message")]);
            }
            _ => job = job.args(["--".as_ref(), message.as_os_str()]),
        }
        let off = |name: &OsStr| name == "HUSKY" || name == "LEFTHOOK";
        let changes = self.environment(std::env::vars_os());
        job.env.extend(changes.into_iter().filter(|(name, _)| !off(name)));
        // As `git commit` does when it does not open an editor.
        job = job.env("GIT_EDITOR", ":");
        job.stderr = JobStderr::Joined;
        job.bounds.timeout = Some(LONGEST_HOOK);
        job
    }

    /// Paths whose files are not as in the lane's index.
    fn changed_since_index(&self) -> Result<Vec<RepoPath>, LaneError> {
        let args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
        let specs = self.repo.ledger().everything_else();
        let args =
            args.iter().map(OsStr::new).chain(["--ignore-submodules=all", "--"].map(OsStr::new));
        let out = self.repo.look(args.chain(specs.iter().map(OsString::as_os_str))).ok()?;
        // Two letters, for index and file, a space and the path.
        let changed = |entry: &[u8]| match entry {
            [_, b' ', ..] => None,
            [_, _, b' ', path @ ..] => Some(RepoPath::new(path)),
            _ => None,
        };
        Ok(nul_fields(&out).filter_map(changed).collect())
    }
}
