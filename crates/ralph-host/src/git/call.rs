//! One call of git: the same rules for each of them.
//!
//! A call never sees the caller's `GIT_DIR` and its relatives, never asks a question, never starts
//! maintenance or a monitor that would outlive it, and speaks plain English. Calls that only look do
//! not take locks. A call that finds the index locked waits for a few seconds. A git that died by a
//! signal is an error, never an answer.
//!
//! A call for a lane names its git directory and working tree, runs no hooks, and does not look at
//! the `.git` in the lane, which belongs to the coding agent.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::backend::ProcessEnding;

use super::Repo;
use super::error::GitError;
use super::name::RepoPath;
use crate::proc::{Job, JobStdin};

/// Longest wait for a lock of another process.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(50);

/// Longest time of a call that runs no hooks. Git needs a while to hash a large tree.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Variables that would make git look elsewhere, read pathspecs differently, or show something else.
pub(crate) const STRIPPED: [&str; 27] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DEFAULT_HASH",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    "LANGUAGE",
];

/// Settings of every call. A split index cannot be copied, and with a lax comparison of file times an
/// edit that keeps size and time would not be seen.
const EXACT: [&str; 3] =
    ["core.splitIndex=false", "core.trustctime=true", "core.checkStat=default"];

/// Settings that keep git from starting a process that outlives the call.
const QUIET: [&str; 3] = ["maintenance.auto=false", "gc.auto=0", "core.fsmonitor=false"];

/// An agent may have changed the hooks, where they are part of the work. Git runs some when a ref moves.
const NO_HOOKS: &str = "core.hooksPath=/dev/null";

/// Commands in home that run the user's hooks, or tell where they are.
const USERS_HOOKS: [&str; 3] = ["commit", "config", "rev-parse"];

/// Settings of every call for a lane.
const LANE: [&str; 2] = [NO_HOOKS, "submodule.recurse=false"];

/// Most bytes of git's output in an error.
const MOST_MESSAGE: usize = 1000;

/// Call of git that is prepared and not yet run.
pub(crate) struct GitCall<'r, 'a> {
    repo: &'r Repo<'a>,
    job: Job,
    command: String,
}

/// Exit code and output of a call of git.
#[derive(Debug)]
pub(crate) struct GitOutput {
    command: String,
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl<'a> Repo<'a> {
    /// Prepare a call that may change the repository.
    pub(crate) fn git<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> GitCall<'_, 'a> {
        let settings = QUIET.iter().flat_map(|s| ["-c", s]).map(OsString::from);
        self.tidy(settings.chain(args.into_iter().map(|a| a.as_ref().to_owned())))
    }

    /// A call that may start git's own maintenance.
    pub(super) fn tidy<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> GitCall<'_, 'a> {
        let args: Vec<OsString> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
        let mut words = args.iter().map(|a| a.to_string_lossy());
        let mut command = String::new();
        while let Some(word) = words.next() {
            if word != "-c" {
                command = word.into_owned();
                break;
            }
            words.next();
        }
        let own: &[&str] = match self.is_lane() {
            true => &LANE,
            false if USERS_HOOKS.contains(&command.as_str()) => &[],
            false => &[NO_HOOKS],
        };
        let settings = EXACT.iter().chain(own).flat_map(|s| ["-c", s]).map(OsString::from);
        let args = settings.chain(args);
        let mut job = Job::new("git", &self.top)
            .args(args)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "true");
        job.env.extend(STRIPPED.iter().map(|name| (name.into(), None)));
        // Named for home too: a planted `core.worktree` would lead git to other files.
        job = job.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top);
        job.bounds.timeout = Some(PATIENCE);
        GitCall { repo: self, job, command }
    }

    /// Prepare a call that only reads and takes no optional locks.
    pub(crate) fn look<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> GitCall<'_, 'a> {
        let mut call = self.git(args);
        call.job = call.job.env("GIT_OPTIONAL_LOCKS", "0");
        call
    }
}

impl GitCall<'_, '_> {
    /// With this index instead of the user's.
    pub(crate) fn index(self, index: &Path) -> Self {
        self.env("GIT_INDEX_FILE", index)
    }

    /// Set an environment variable for the call.
    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.job = self.job.env(name, value);
        self
    }

    /// Pass bytes to the standard input of the call.
    pub(crate) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.job.stdin = JobStdin::Bytes(bytes);
        self
    }

    /// With these paths, taken as they are, as a list that git reads. The command has to have
    /// `--pathspec-from-file=- --pathspec-file-nul` or `-z --stdin`.
    pub(crate) fn paths<'p>(self, paths: impl IntoIterator<Item = &'p RepoPath>) -> Self {
        self.env("GIT_LITERAL_PATHSPECS", "1").stdin(nul_list(paths))
    }

    /// As somebody who needs no configured name: for commits that only ralph reads.
    pub(super) fn by_ralph(mut self) -> Self {
        for role in ["AUTHOR", "COMMITTER"] {
            self = self.env(&format!("GIT_{role}_NAME"), "ralph");
            self = self.env(&format!("GIT_{role}_EMAIL"), "ralph@localhost");
        }
        self
    }

    /// Set the longest time that the call may take.
    pub(super) fn patience(mut self, limit: Duration) -> Self {
        self.job.bounds.timeout = Some(limit);
        self
    }

    /// Make the call, whatever its exit code. Waits a while for a lock that somebody else has.
    pub(crate) fn run(self) -> Result<GitOutput, GitError> {
        let until = Instant::now() + LOCK_WAIT;
        loop {
            let answer = self.once()?;
            let Some(lock) = answer.lock_in_the_way() else { return Ok(answer) };
            if Instant::now() >= until {
                return Err(GitError::Locked(lock));
            }
            std::thread::sleep(LOCK_POLL);
        }
    }

    /// Make the call, which has to succeed, and take what it printed.
    pub(crate) fn ok(self) -> Result<Vec<u8>, GitError> {
        let answer = self.run()?;
        if answer.code == 0 { Ok(answer.stdout) } else { Err(answer.into_error()) }
    }

    /// Make the call, which has to print the name of an object.
    pub(super) fn oid(self) -> Result<super::Oid, GitError> {
        let command = self.command.clone();
        super::Oid::parse(&self.ok()?).ok_or(GitError::Unreadable(command))
    }

    /// Make the call, and again where something took rights away from ralph in a lane.
    fn once(&self) -> Result<GitOutput, GitError> {
        let answer = self.start()?;
        match &self.repo.folder {
            Some(folder) if answer.stderr.contains("Permission denied") => {
                folder.unlock();
                let again = self.start()?;
                // The first call has told of what it took.
                let stdout = match self.command.as_str() {
                    "add" => [answer.stdout, again.stdout].concat(),
                    _ => again.stdout,
                };
                Ok(GitOutput { stdout, ..again })
            }
            _ => Ok(answer),
        }
    }

    fn start(&self) -> Result<GitOutput, GitError> {
        self.repo.check_folder()?;
        let (finished, stdout) = self.repo.runner.output(&self.job)?;
        if finished.exit.stopped.is_some() {
            return Err(GitError::TimedOut(self.command.clone()));
        }
        let code = match finished.exit.ending {
            ProcessEnding::Code(code) => code,
            ProcessEnding::Signal(signal) => {
                return Err(GitError::Killed { command: self.command.clone(), signal });
            }
            ProcessEnding::NotFound => return Err(GitError::NotInstalled),
        };
        let command = self.command.clone();
        Ok(GitOutput { command, code, stdout, stderr: finished.stderr_tail })
    }
}

impl GitOutput {
    pub(crate) fn into_error(self) -> GitError {
        if self.stderr.contains("Please tell me who you are")
            || self.stderr.contains("empty ident name")
            || self.stderr.contains("no email was given")
        {
            return GitError::Identity;
        }
        let text = if self.stderr.trim().is_empty() {
            String::from_utf8_lossy(&self.stdout).into_owned()
        } else {
            self.stderr
        };
        let text = text.trim();
        // A hook may print a whole test run; why it refused is at the end.
        let start = text.ceil_char_boundary(text.len().saturating_sub(MOST_MESSAGE));
        let message = text.get(start..).unwrap_or(text).to_owned();
        GitError::Failed { command: self.command, code: self.code, message }
    }

    /// Return the output of git and its hooks, for people.
    pub(super) fn said(&self) -> String {
        let out = String::from_utf8_lossy(&self.stdout);
        [out.trim_end(), self.stderr.trim_end()].join("\n").trim().to_owned()
    }

    fn lock_in_the_way(&self) -> Option<PathBuf> {
        if self.code == 0 {
            return None;
        }
        let line = self.stderr.lines().find(|l| l.contains(".lock': File exists"))?;
        let path = line.split('\'').nth(1)?;
        // The locks of refs are short-lived and git itself waits for them.
        path.ends_with("index.lock").then(|| PathBuf::from(path))
    }
}

/// Paths as git reads them: each with a NUL behind it.
pub(crate) fn nul_list<'p>(paths: impl IntoIterator<Item = &'p RepoPath>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_bytes());
        list.push(0);
    }
    list
}

/// The fields of a list that git wrote.
pub(crate) fn nul_fields(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    bytes.split(|b| *b == 0).filter(move |_| !bytes.is_empty())
}
