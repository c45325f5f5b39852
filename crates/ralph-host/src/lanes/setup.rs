//! The setup command of a lane, and the record of what it made.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use ralph_core::backend::{BackendExit, ProcessEnding};
use ralph_core::config::LaneSettings;
use serde::{Deserialize, Serialize};

use super::JobSandbox;
use super::error::LaneError;
use super::files;
use super::lane::Lane;
use crate::file_error::FileError;
use crate::git::{RepoPath, nul_fields};
use crate::proc::{Job, JobStderr};

/// Longest time that setup may take.
const LONGEST_SETUP: Duration = Duration::from_secs(60 * 60);

/// Most bytes of a command's output that an error shows.
const MOST_OUTPUT: usize = 8 * 1024;

const RECORD_FILE: &str = "setup.json";

/// Proof that setup ran in a lane, kept in ralph's git directory of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    /// The command and the files of `setup_when` as they were; empty when setup never ran.
    fingerprint: String,
    /// Untracked paths that setup made, from the top of the lane.
    pub(super) made: BTreeSet<RepoPath>,
}

impl SetupRecord {
    /// The record of a lane. A damaged one counts as none: then setup runs again.
    pub(super) fn read(git_dir: &Path) -> Self {
        let bytes = files::read(&git_dir.join(RECORD_FILE)).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn write(&self, git_dir: &Path) -> Result<(), LaneError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        Ok(files::put(&git_dir.join(RECORD_FILE), &text)?)
    }

    /// Remove the record, so that setup runs again.
    pub(super) fn forget(git_dir: &Path) -> Result<(), FileError> {
        files::remove(&git_dir.join(RECORD_FILE))
    }
}

impl Lane<'_> {
    /// The command of setup when it never ran here, or something that it depends on changed.
    pub fn due_setup(&self) -> Option<String> {
        let settings = &self.home.settings;
        let command = settings.setup.as_ref().filter(|_| !self.is_home())?;
        let is_due = SetupRecord::read(&self.git_dir).fingerprint
            != fingerprint(settings, command, &self.root());
        is_due.then(|| command.clone())
    }

    /// Run setup when it never ran here, or something that it depends on changed. Says whether it ran. The
    /// index stays as it is: it may be the work of an attempt.
    pub fn set_up(&mut self, wrap: JobSandbox<'_>) -> Result<bool, LaneError> {
        let Some(command) = self.due_setup() else { return Ok(false) };
        let fingerprint = fingerprint(&self.home.settings, &command, &self.root());
        let mut record = SetupRecord::read(&self.git_dir);
        let before = self.untracked()?;
        // One that fails or is killed leaves something that fits no commit, also not the one before.
        record.fingerprint.clear();
        record.write(&self.git_dir)?;
        self.run_setup(&command, wrap)?;
        self.remove_submodule_repositories()?;
        // Tracked files that setup wrote, such as a lock file, are put back.
        self.repo.git(["checkout-index", "--all", "--force", "--index", "--quiet"]).ok()?;
        let after = self.untracked()?;
        record.made.retain(|path| std::fs::symlink_metadata(self.repo.file(path)).is_ok());
        record.made.extend(after.difference(&before).cloned());
        record.fingerprint = fingerprint;
        record.write(&self.git_dir)?;
        self.leave_out_of_snapshots();
        Ok(true)
    }

    fn run_setup(&self, command: &str, wrap: JobSandbox<'_>) -> Result<(), LaneError> {
        let mut job = Job::new("sh", self.root()).args(["-c", command]);
        job.env.extend(self.environment(std::env::vars_os()));
        job.stderr = JobStderr::Joined;
        job.bounds.timeout = Some(LONGEST_SETUP);
        let (finished, output) = self.repo.runner().output(&wrap(job))?;
        self.check_place().map_err(|e| e.after(format!("the setup of the lane (`{command}`)")))?;
        let Some(ending) = describe_failure(&finished.exit) else { return Ok(()) };
        let output = end_of(&output);
        Err(LaneError::Setup { command: command.to_owned(), ending, output })
    }

    /// Untracked paths that no rule ignores; a folder of them is one path.
    fn untracked(&self) -> Result<BTreeSet<RepoPath>, LaneError> {
        let args = ["ls-files", "-z", "-o", "--exclude-standard", "--directory"];
        let out = self.repo.look(args.map(OsStr::new)).ok()?;
        Ok(nul_fields(&out).map(RepoPath::new).collect())
    }
}

/// Describe how a process failed; `None` when it succeeded.
pub(super) fn describe_failure(exit: &BackendExit) -> Option<String> {
    match (exit.stopped, exit.ending) {
        (Some(_), _) => Some("was stopped before it ended".to_owned()),
        (None, ProcessEnding::Code(0)) => None,
        (None, ProcessEnding::Code(code)) => Some(format!("failed with exit code {code}")),
        (None, ProcessEnding::Signal(signal)) => Some(format!("was killed by signal {signal}")),
        (None, ProcessEnding::NotFound) => {
            Some("could not be started: its program is missing".to_owned())
        }
    }
}

/// The end of a long output, as text.
pub(super) fn end_of(output: &[u8]) -> String {
    let from = output.len().saturating_sub(MOST_OUTPUT);
    String::from_utf8_lossy(output.get(from..).unwrap_or_default()).trim_end().to_owned()
}

/// The command and the content of what it depends on, as one word.
fn fingerprint(settings: &LaneSettings, command: &str, root: &Path) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(command.as_bytes());
    for path in &settings.setup_when {
        add(path.as_bytes());
        match std::fs::read(root.join(path)) {
            Ok(bytes) => add(&bytes),
            Err(_) => add(b"absent"),
        }
    }
    format!("{hash:016x}")
}
