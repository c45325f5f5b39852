//! One run of a program, in an environment made from nothing.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::run::Run;
use crate::wait::until;

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
        // `RALPH_WORKSPACE=lane cargo nextest run …` tries every test in lanes.
        if let Some(workspace) = std::env::var_os("RALPH_WORKSPACE") {
            command.env("RALPH_WORKSPACE", workspace);
        }
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
        let stdout = OutputReader::start(child.stdout.take().expect("a piped stdout"));
        let stderr = OutputReader::start(child.stderr.take().expect("a piped stderr"));
        Running { child, line, stdout, stderr }
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
    stdout: OutputReader,
    stderr: OutputReader,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Wait until it has printed this, to standard output or to standard error.
    #[track_caller]
    pub fn until_prints(&self, text: &str) {
        until(|| self.stdout.has(text) || self.stderr.has(text));
    }

    /// End it at once, without a chance to clean up.
    pub fn kill(mut self) -> Run {
        self.child.kill().expect("a process of ours");
        self.wait()
    }

    /// Wait for its end.
    pub fn wait(mut self) -> Run {
        let status = self.child.wait().expect("a process of ours");
        let output = Output { status, stdout: self.stdout.finish(), stderr: self.stderr.finish() };
        Run::new(self.line, &output)
    }
}

/// A thread that collects the output of a process, so that it can be read while the process runs.
#[derive(Debug)]
struct OutputReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl OutputReader {
    fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&bytes);
        let thread = thread::spawn(move || {
            let mut piece = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                let mut bytes = collected.lock().unwrap_or_else(PoisonError::into_inner);
                bytes.extend_from_slice(&piece[..length]);
            }
        });
        Self { bytes, thread }
    }

    fn has(&self, text: &str) -> bool {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).contains(text)
    }

    /// Everything up to the end of the stream.
    fn finish(self) -> Vec<u8> {
        self.thread.join().expect("a reader does not panic");
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
