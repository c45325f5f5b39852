//! A repository of a user's, and the pool of its lanes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ralph_core::config::LaneSettings;
use ralph_host::git::{LedgerPaths, Oid, Repo};
use ralph_host::lanes::{Lane, LaneError, LanePool};
use ralph_host::proc::{Job, JobRunner};
use ralph_host::store::LockHolder;

/// A user's checkout in a temporary folder, with a folder for lanes beside it.
pub(crate) struct Stage {
    _folder: tempfile::TempDir,
    /// The checkout.
    pub(crate) home: PathBuf,
    /// The folder of the project, seen from the top of the checkout.
    pub(crate) project: &'static str,
    pub(crate) settings: LaneSettings,
    runner: JobRunner,
}

impl Stage {
    /// A repository with one commit of `a`, `dir/b` and `.gitignore`, which ignores `*.log` and
    /// `cache/`.
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// The same with more options of `git init`.
    pub(crate) fn with(options: &[&str]) -> Self {
        let stage = Self::empty();
        stage.init(&stage.home, options);
        write(&stage.home.join("a"), "a\n");
        write(&stage.home.join("dir/b"), "b\n");
        write(&stage.home.join(".gitignore"), "*.log\ncache/\n");
        stage.commit("first");
        stage
    }

    /// A folder without a repository.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        fs::create_dir(&home).unwrap();
        let lanes = folder.path().canonicalize().unwrap().join("lanes");
        let settings =
            LaneSettings { dir: Some(lanes.display().to_string()), ..LaneSettings::default() };
        let run = format!("lanes-{}", std::process::id());
        let runner = JobRunner::with_supervisor(run, env!("CARGO_BIN_EXE_ralph"));
        Self { _folder: folder, home, project: "", settings, runner }
    }

    pub(crate) fn init(&self, at: &Path, options: &[&str]) {
        fs::create_dir_all(at).unwrap();
        git(at, &[&["init", "-q", "-b", "main"], options].concat());
        git(at, &["config", "user.name", "A User"]);
        git(at, &["config", "user.email", "user@example.com"]);
    }

    /// Commit everything in home.
    pub(crate) fn commit(&self, message: &str) -> Oid {
        git(&self.home, &["add", "-A"]);
        git(&self.home, &["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    pub(crate) fn head(&self) -> Oid {
        Oid::parse(git(&self.home, &["rev-parse", "HEAD"]).as_bytes()).unwrap()
    }

    pub(crate) fn pool(&self) -> Result<LanePool<'_>, LaneError> {
        let git_dir = git(&self.home, &["rev-parse", "--absolute-git-dir"]);
        let ledger = LedgerPaths::with_plan("plan.json");
        let root = self.home.join(self.project);
        let repo = Repo::open(&root, Path::new(&git_dir), &self.runner, &ledger).unwrap();
        LanePool::open(&repo, &self.settings)
    }

    /// The first free lane, put on home's HEAD.
    pub(crate) fn lane(&self) -> Lane<'_> {
        let mut lane = self.pool().unwrap().take(&holder()).unwrap();
        lane.put_on(&self.head()).unwrap();
        lane
    }

    /// The first free lane on home's HEAD, with a private repository on `main`.
    pub(crate) fn private_lane(&self) -> Lane<'_> {
        let lane = self.lane();
        lane.write_private_repository(&self.head(), Some("main")).unwrap();
        lane
    }
}

pub(crate) fn holder() -> LockHolder {
    LockHolder::this_process("2026-01-01T00:00:00Z")
}

/// No sandbox around processes.
pub(crate) fn bare(job: Job) -> Job {
    job
}

/// Run git as a user or an agent would, and take what it printed.
#[track_caller]
pub(crate) fn git(at: &Path, args: &[&str]) -> String {
    let (ok, text) = try_git(at, args);
    assert!(ok, "git {args:?}: {text}");
    text
}

pub(crate) fn try_git(at: &Path, args: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    command.current_dir(at).args(["-c", "protocol.file.allow=always"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().unwrap();
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
}

#[track_caller]
pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[track_caller]
pub(crate) fn script(path: &Path, text: &str) {
    write(path, &format!("#!/bin/sh\n{text}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
