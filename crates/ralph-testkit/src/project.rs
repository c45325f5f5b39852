//! A throw-away project.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::invocation::{Invocation, Running, User};
use crate::run::Run;

/// What ralph's clock shows in tests.
pub const NOW: &str = "2025-01-20T10:30:00Z";

/// A directory to run ralph in, and a home beside it.
#[derive(Debug)]
pub struct TestProject {
    program: PathBuf,
    root: PathBuf,
    home: PathBuf,
    env: Vec<(OsString, OsString)>,
    user: User,
    /// Directories whose permissions were taken away; given back so that they can be removed.
    closed: Mutex<Vec<PathBuf>>,
    /// Removed with the project.
    room: Option<TempDir>,
}

impl TestProject {
    /// An empty directory in which `program` is run. Mostly used through [`crate::project!`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self::in_room(program, tempfile::tempdir().expect("a temporary directory"))
    }

    /// The same, in a temporary directory that was made somewhere else (on a disk in memory).
    pub fn in_room(program: impl Into<PathBuf>, room: TempDir) -> Self {
        let place = fs::canonicalize(room.path()).expect("the temporary directory");
        let mut project = Self::inside(program, &place);
        project.room = Some(room);
        project
    }

    /// The same, below a directory that the caller owns (a [`crate::SmallDisk`]).
    pub fn inside(program: impl Into<PathBuf>, place: &Path) -> Self {
        let (root, home) = (place.join("project"), place.join("home"));
        fs::create_dir(&root).expect("the project directory");
        fs::create_dir(&home).expect("the home directory");
        Self {
            program: program.into(),
            root,
            home,
            // Most tests are about something else than proof, and have no gates.
            env: vec![("RALPH_NOW".into(), NOW.into()), ("RALPH_UNPROVEN".into(), "allow".into())],
            user: User::Same,
            closed: Mutex::default(),
            room: None,
        }
    }

    /// Make it a git repository with the branch `main` and no commit.
    #[track_caller]
    pub fn git_init(self) -> Self {
        self.git(["init", "--quiet", "--initial-branch=main"]).ok();
        self
    }

    /// Add a file, with the directories it needs.
    pub fn file(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Add an empty directory, with the ones above it.
    pub fn dir(self, path: impl AsRef<Path>) -> Self {
        self.make_dirs(&self.path(path));
        self
    }

    /// Add a symbolic link at `path` with exactly this target.
    pub fn link(self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> Self {
        let path = self.path(path);
        self.make_dirs(path.parent().expect("a link has a directory"));
        symlink(target, &path).expect("a symbolic link");
        self.give(&path);
        self
    }

    /// Set a variable for every program run from now on.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref().to_owned();
        self.env.retain(|(n, _)| *n != name);
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// Let ralph see the real time.
    pub fn real_time(mut self) -> Self {
        self.env.retain(|(name, _)| name != "RALPH_NOW");
        self
    }

    /// Let work that no gate proves end a run as it does for users: unproven, and not complete.
    pub fn with_proofs(mut self) -> Self {
        self.env.retain(|(name, _)| name != "RALPH_UNPROVEN");
        self
    }

    /// From now on the project belongs to an unprivileged user, and every program runs as that
    /// user. Changes nothing for tests that do not run as root: they are such a user.
    pub fn as_nobody(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            self.user = User::Nobody;
            let place = self.root.parent().expect("a project is in a directory").to_owned();
            give_all(&place);
            self.program = self.reachable_program(&place);
        }
        self
    }

    /// Write a file now, with the directories it needs.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        self.make_dirs(path.parent().expect("a file has a directory"));
        fs::write(&path, content).expect("a file of the test");
        self.give(&path);
    }

    /// Set the permission bits of a file or directory.
    pub fn mode(&self, path: impl AsRef<Path>, mode: u32) {
        let path = self.path(path);
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("permission bits");
        if path.is_dir() {
            self.closed.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        }
    }

    /// The project's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home directory that programs see.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// A path in the project.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Whether there is something at this path.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.path(path)).is_ok()
    }

    /// The text of a file.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(self.read_bytes(path)).expect("a file with valid UTF-8")
    }

    /// The bytes of a file.
    #[track_caller]
    pub fn read_bytes(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(path);
        match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) => panic!("cannot read {}: {e}", path.display()),
        }
    }

    /// Run ralph with these arguments.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.command(args).run()
    }

    /// Start ralph with these arguments and do not wait.
    #[track_caller]
    pub fn spawn<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Running {
        self.command(args).spawn()
    }

    /// A run of ralph to be described further.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Invocation {
        self.invocation(&self.program, args)
    }

    /// Run git in the project, with an identity and without anybody's configuration.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.invocation("git", args).run()
    }

    /// Run a line of shell in the project.
    #[track_caller]
    pub fn shell(&self, script: &str) -> Run {
        self.invocation("sh", ["-c", script]).run()
    }

    fn invocation<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = S>,
    ) -> Invocation {
        let mut call = Invocation::new(program.as_ref(), &self.root, &self.home, self.user);
        for (name, value) in &self.env {
            call = call.env(name, value);
        }
        args.into_iter().fold(call, |call, arg| call.arg(arg))
    }

    /// The program, copied to where the unprivileged user gets at it if it is out of reach.
    fn reachable_program(&self, place: &Path) -> PathBuf {
        let probe = self.invocation("test", [OsStr::new("-x"), self.program.as_os_str()]).run();
        if probe.code == 0 {
            return self.program.clone();
        }
        let copy = place.join("program");
        fs::copy(&self.program, &copy).expect("a copy of the program");
        fs::set_permissions(&copy, Permissions::from_mode(0o755)).expect("permission bits");
        copy
    }

    fn make_dirs(&self, dir: &Path) {
        fs::create_dir_all(dir).expect("a directory of the test");
        for dir in dir.ancestors().take_while(|d| d.starts_with(&self.root)) {
            self.give(dir);
        }
    }

    fn give(&self, path: &Path) {
        if self.user == User::Nobody {
            give(path);
        }
    }
}

impl Drop for TestProject {
    fn drop(&mut self) {
        // The innermost ones were closed while the outer ones were open, so open in reverse.
        for dir in self.closed.lock().unwrap_or_else(PoisonError::into_inner).iter().rev() {
            let _gone = fs::set_permissions(dir, Permissions::from_mode(0o700));
        }
    }
}

fn give(path: &Path) {
    lchown(path, Some(User::NOBODY), Some(User::NOBODY)).expect("root may give files away");
}

fn give_all(path: &Path) {
    give(path);
    let real_dir = fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
    if real_dir {
        for entry in fs::read_dir(path).expect("a directory of the test") {
            give_all(&entry.expect("an entry of the test's directory").path());
        }
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
