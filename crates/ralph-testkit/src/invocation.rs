//! One run of a program, in an environment made from nothing.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::run::Run;

/// Who a program runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Same,
    /// Somebody without any rights.
    Nobody,
}

impl User {
    /// The user and group id of nobody.
    pub(crate) const NOBODY: u32 = 65534;
}

/// A program with arguments, before it runs.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    dir: PathBuf,
    stdin: Vec<u8>,
}

impl Invocation {
    pub(crate) fn new(program: &OsStr, dir: &Path, home: &Path, user: User) -> Self {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", home)
            .env("LC_ALL", "C.UTF-8")
            .env("NO_COLOR", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .current_dir(dir);
        for (role, date) in [("AUTHOR", "GIT_AUTHOR_DATE"), ("COMMITTER", "GIT_COMMITTER_DATE")] {
            command
                .env(format!("GIT_{role}_NAME"), "Tess Ter")
                .env(format!("GIT_{role}_EMAIL"), "tess@example.com")
                .env(date, crate::NOW);
        }
        if user == User::Nobody {
            // The standard library also drops all other groups when it leaves root.
            command.uid(User::NOBODY).gid(User::NOBODY);
        }
        Self { command, dir: dir.to_owned(), stdin: Vec::new() }
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Set a variable for this run.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Run in this directory of the project instead of its root.
    pub fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = self.dir.join(dir);
        self.command.current_dir(&self.dir);
        self
    }

    /// What the program reads; nothing unless told.
    pub fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    /// Run it to its end.
    #[track_caller]
    pub fn run(self) -> Run {
        self.spawn().wait()
    }

    /// Start it and do not wait.
    #[track_caller]
    pub fn spawn(mut self) -> Running {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let line = self.line();
        let mut child = match self.command.spawn() {
            Ok(child) => child,
            Err(e) => panic!("cannot start {line}: {e}"),
        };
        let mut pipe = child.stdin.take().expect("a piped stdin");
        let text = self.stdin;
        // In a thread: a program that writes much before it reads would wait for us for ever.
        thread::spawn(move || {
            let _it_did_not_want_to_know = pipe.write_all(&text);
        });
        Running { child, line }
    }

    /// The run as one line for messages.
    fn line(&self) -> String {
        let args = self.command.get_args().map(OsStr::to_string_lossy).map(|a| {
            if a.is_empty() || a.contains(|c: char| !c.is_ascii_graphic() || "'\"$".contains(c)) {
                format!("{a:?}")
            } else {
                a.into_owned()
            }
        });
        let program = Path::new(self.command.get_program());
        let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
        let words: Vec<String> = std::iter::once(name.into_owned()).chain(args).collect();
        format!("{} (in {})", words.join(" "), self.dir.display())
    }
}

/// A program that has started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    line: String,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// End it at once, without a chance to clean up.
    pub fn kill(mut self) -> Run {
        self.child.kill().expect("a process of ours");
        self.wait()
    }

    /// Wait for its end.
    pub fn wait(self) -> Run {
        let output = self.child.wait_with_output().expect("the output of a process of ours");
        Run::new(self.line, &output)
    }
}
