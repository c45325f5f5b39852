//! Whether somebody works in home in a way that an arrival could disturb.

use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use ralph_core::cycle::ArrivalWait;

use super::super::Repo;
use super::super::state::GitFileStamp;
use crate::git_dir;

/// HEAD and index have to stay as they are for so long before an arrival begins.
const QUIET: Duration = Duration::from_millis(200);

/// Time without a change after which nobody can be in the middle of several commands. It is long
/// enough for file systems that round times to seconds.
const LONG_AGO: Duration = Duration::from_secs(3);

/// Most looks at HEAD and the index before an arrival waits for another time.
const MOST_LOOKS: u32 = 5;

/// Commands of git that write in a checkout. Those that only show something, often in a pager, may run
/// beside an arrival.
const WRITERS: [&str; 22] = [
    "add",
    "am",
    "apply",
    "bisect",
    "checkout",
    "cherry-pick",
    "citool",
    "clean",
    "commit",
    "commit-tree",
    "gui",
    "merge",
    "mv",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "sparse-checkout",
    "stash",
    "switch",
];

/// Commands of git that check another commit out.
const SWITCHERS: [&str; 6] = ["bisect", "checkout", "pull", "rebase", "switch", "worktree"];

/// Options of `git` itself that have a value of their own.
const WITH_VALUE: [&str; 8] = [
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--exec-path",
    "--git-dir",
    "--namespace",
    "--work-tree",
];

impl Repo<'_> {
    /// An unfinished operation, or a process that writes.
    pub(super) fn busy(&self) -> Option<ArrivalWait> {
        if let Some(operation) = self.operation() {
            return Some(ArrivalWait::Operation {
                name: operation.to_string(),
                finish: operation.finish(),
                give_up: operation.give_up(),
            });
        }
        let (pid, command) = process_in(&self.top, &WRITERS)?;
        Some(ArrivalWait::Process { command, pid })
    }

    /// Whether a process may be about to move HEAD, or to write the index, other than by a commit.
    pub(super) fn may_move(&self) -> bool {
        let others: Vec<&str> = WRITERS.into_iter().filter(|word| *word != "commit").collect();
        process_in(&self.top, &others).is_some()
    }

    /// A process that may be about to check a branch out.
    pub(super) fn switching(&self) -> Option<ArrivalWait> {
        let (pid, command) = process_in(&self.top, &SWITCHERS)?;
        Some(ArrivalWait::Process { command, pid })
    }

    /// Whether no process of git that writes is in home, as far as the system tells.
    pub(super) fn is_alone(&self) -> bool {
        cfg!(target_os = "linux") && process_in(&self.top, &WRITERS).is_none()
    }

    /// Wait until HEAD, the index and their locks have been quiet for a moment. When nobody but ralph has
    /// changed them for longer, they are.
    pub(super) fn is_quiet(&self) -> bool {
        let mut before = self.head_and_index();
        if !before.is_locked() && self.last_foreign_change(&before).is_some_and(is_long_ago) {
            return true;
        }
        for _ in 0..MOST_LOOKS {
            std::thread::sleep(QUIET);
            let now = self.head_and_index();
            if now == before && !now.is_locked() {
                return true;
            }
            self.last_foreign_change(&now);
            before = now;
        }
        false
    }

    /// Whether they are as when they were last found quiet.
    pub(super) fn is_still_quiet(&self) -> bool {
        self.quiet().state.as_ref() == Some(&self.head_and_index())
    }

    /// An arrival has changed them, and this is how.
    pub(super) fn leave_quiet(&self, state: Option<HeadAndIndexStamps>) {
        self.quiet().state = state;
    }

    pub(super) fn head_and_index(&self) -> HeadAndIndexStamps {
        let look = |names: &[&str]| {
            names.iter().map(|name| GitFileStamp::of(&self.git_dir.join(name))).collect()
        };
        let locks = look(&["index.lock", "HEAD.lock"]);
        HeadAndIndexStamps { files: look(&["HEAD", "index", "logs/HEAD"]), locks }
    }

    /// When somebody else last changed them; a state that is not the known one is somebody else's.
    fn last_foreign_change(&self, now: &HeadAndIndexStamps) -> Option<SystemTime> {
        let mut quiet = self.quiet();
        if quiet.state.as_ref() != Some(now) {
            let foreign_change = now.files.iter().flatten().map(GitFileStamp::changed_at).max();
            *quiet = HomeQuietState { state: Some(now.clone()), foreign_change };
        }
        quiet.foreign_change
    }

    fn quiet(&self) -> MutexGuard<'_, HomeQuietState> {
        self.quiet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// HEAD and the index as ralph last saw or left them.
#[derive(Debug, Default)]
pub(in super::super) struct HomeQuietState {
    state: Option<HeadAndIndexStamps>,
    /// Time of the last change of these files that was not made by ralph.
    foreign_change: Option<SystemTime>,
}

/// When HEAD, the index and their locks changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadAndIndexStamps {
    files: Vec<Option<GitFileStamp>>,
    locks: Vec<Option<GitFileStamp>>,
}

impl HeadAndIndexStamps {
    fn is_locked(&self) -> bool {
        self.locks.iter().any(Option::is_some)
    }
}

fn is_long_ago(change: SystemTime) -> bool {
    change.elapsed().is_ok_and(|age| age > LONG_AGO)
}

/// A process of git in this checkout that runs one of these commands, with its command. Ralph itself looks
/// between its own calls, so it is a person's, or that of a backend that has left its lane.
#[cfg(target_os = "linux")]
fn process_in(top: &Path, commands: &[&str]) -> Option<(i32, String)> {
    let top = std::fs::canonicalize(top).ok()?;
    let entries = std::fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let cwd = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        // Most are elsewhere.
        if !cwd.starts_with(&top) {
            return None;
        }
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = git_command(&words).filter(|one| commands.contains(&one.as_str()))?;
        is_in(&cwd, &top).then_some((pid, command))
    })
    .next()
}

#[cfg(not(target_os = "linux"))]
fn process_in(_top: &Path, _commands: &[&str]) -> Option<(i32, String)> {
    None
}

/// Whether a directory below the top belongs to this checkout and not to a repository below it.
fn is_in(cwd: &Path, top: &Path) -> bool {
    let nearest = cwd.ancestors().find(|dir| matches!(git_dir::of(dir), Ok(Some(_))));
    nearest.is_none_or(|dir| dir == top)
}

/// The command of git among these words of a command line.
fn git_command(words: &[u8]) -> Option<String> {
    let mut words = words.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let program = PathBuf::from(words.next()?);
    let program = program.file_name()?.to_str()?.to_owned();
    let command = match program.strip_prefix("git-") {
        Some(command) => command.to_owned(),
        None if program == "git" => command_of(words)?,
        None => return None,
    };
    Some(command)
}

/// The first word that is neither an option nor the value of one.
fn command_of(mut words: impl Iterator<Item = String>) -> Option<String> {
    loop {
        let word = words.next()?;
        if WITH_VALUE.contains(&word.as_str()) {
            words.next()?;
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_that_write_count() {
        let command = |line: &str| {
            let command = git_command(line.replace(' ', "\0").as_bytes());
            command.filter(|command| WRITERS.contains(&command.as_str()))
        };
        assert_eq!(command("git commit -m x").as_deref(), Some("commit"));
        assert_eq!(
            command("/usr/bin/git -c a.b=c -C /x --no-pager stash").as_deref(),
            Some("stash")
        );
        assert_eq!(command("/usr/lib/git-core/git-rebase --continue").as_deref(), Some("rebase"));
        for line in ["git log -p", "git show commit", "git diff merge", "less commit", "git", ""] {
            assert_eq!(command(line), None, "{line}");
        }
    }
}
