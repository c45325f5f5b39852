//! Performance of a scenario by the simulated backend.
#![expect(
    clippy::disallowed_methods,
    reason = "the sim is another program in the same binary: it writes and spawns like one"
)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use ralph_core::backend::sim::{
    COMMAND, EscapeMethod, SimLine, SimOperation, SimPerformance, SimSignal, SimSpawn, SpawnStdout,
    ToolAction, path_bytes,
};
use ralph_core::backend::{LimitStatus, RateLimit, ToolStatus};
use rustix::process::{Signal as Os, getpid, kill_process, setsid};

use super::STRAY;
use crate::clock::Clock;

/// The most that a tool result shows of a command's output.
const SHOWN: usize = 4000;

/// Bytes that a giant line is made of.
static CHUNK: [u8; 65536] = [b'x'; 65536];

/// Do it all, and give the exit code.
pub(super) fn perform(performance: &SimPerformance, clock: Clock) -> ExitCode {
    let mut stage = SimPerformer { clock, lines_left: performance.silent_after };
    for op in &performance.ops {
        match stage.op(op) {
            Ok(None) => {}
            Ok(Some(code)) => return code,
            // Nobody reads any more.
            Err(_) => return ExitCode::FAILURE,
        }
    }
    ExitCode::SUCCESS
}

struct SimPerformer {
    clock: Clock,
    /// Lines until it falls silent, if it does.
    lines_left: Option<u64>,
}

impl SimPerformer {
    fn op(&mut self, op: &SimOperation) -> io::Result<Option<ExitCode>> {
        match op {
            SimOperation::Line(line) => self.print(line.render().as_bytes())?,
            SimOperation::Bytes(bytes) => self.print(bytes)?,
            SimOperation::Stderr(text) => io::stderr().write_all(text.as_bytes())?,
            SimOperation::Tool(id, act) => self.tool(id, act)?,
            SimOperation::Half(path, text) => {
                let half = text.as_bytes().get(..text.len() / 2).unwrap_or_default();
                let path = path_of(path);
                make_room(&path)?;
                fs::write(path, half)?;
            }
            SimOperation::Limit(status, resets_in) => self.limit(*status, *resets_in)?,
            SimOperation::Spawn(spawn) => start(spawn)?,
            SimOperation::Sleep(time) => thread::sleep(*time),
            SimOperation::Hold(path) => hold(path)?,
            SimOperation::Hang => hang(),
            SimOperation::Flood(lines) => self.flood(*lines)?,
            SimOperation::Giant(bytes) => self.giant(*bytes)?,
            SimOperation::Signal(signal) => die(*signal),
            SimOperation::Exit(code) => {
                return Ok(Some(u8::try_from(*code).map_or(ExitCode::FAILURE, ExitCode::from)));
            }
        }
        Ok(None)
    }

    /// One line, unless the sim has fallen silent: then this is where it stays.
    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.lines_left {
            Some(0) => hang(),
            Some(left) => *left -= 1,
            None => {}
        }
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()
    }

    fn tool(&mut self, id: &str, act: &ToolAction) -> io::Result<()> {
        let (status, text) = match act_on(act) {
            Ok(text) => (ToolStatus::Ok, text),
            Err(text) => (ToolStatus::Failed, text),
        };
        let line = SimLine::ToolResult { id: id.to_owned(), status, text };
        self.print(line.render().as_bytes())
    }

    fn limit(&mut self, status: LimitStatus, resets_in: Option<Duration>) -> io::Result<()> {
        let from_now =
            |time: Duration| self.clock.now().as_second().saturating_add_unsigned(time.as_secs());
        let resets_at = resets_in.map(from_now);
        let kind = Some("five_hour".into());
        let line = SimLine::RateLimit(RateLimit { status, resets_at, kind });
        self.print(line.render().as_bytes())
    }

    fn flood(&mut self, lines: Option<u64>) -> io::Result<()> {
        let line = |number| SimLine::Text { text: format!("line {number} of a flood") }.render();
        let numbers = 1..=lines.unwrap_or(u64::MAX);
        if self.lines_left.is_some() {
            return numbers.map(line).try_for_each(|line| self.print(line.as_bytes()));
        }
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        numbers.map(line).try_for_each(|line| out.write_all(line.as_bytes()))?;
        out.flush()
    }

    fn giant(&mut self, bytes: u64) -> io::Result<()> {
        self.print(b"")?;
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        out.write_all(b"{\"event\":\"text\",\"text\":\"")?;
        let mut left = bytes;
        while left > 0 {
            let part = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK.len());
            out.write_all(CHUNK.get(..part).unwrap_or_default())?;
            left -= part as u64;
        }
        out.write_all(b"\"}\n")?;
        out.flush()
    }
}

/// Wait until a file exists. Another one beside it says that the wait has begun.
fn hold(path: &str) -> io::Result<()> {
    let file = match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path_of(path),
    };
    fs::write(file.with_added_extension("held"), "")?;
    while !file.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

/// End by a signal. It is sent again and again, since Rust's own handler takes the first SIGSEGV.
fn die(signal: SimSignal) -> ! {
    let signal = match signal {
        SimSignal::Kill => Os::KILL,
        SimSignal::Abort => Os::ABORT,
        SimSignal::Segv => Os::SEGV,
        SimSignal::Term => Os::TERM,
    };
    loop {
        let _it_is_us = kill_process(getpid(), signal);
        thread::sleep(Duration::from_millis(10));
    }
}

fn path_of(path: &str) -> PathBuf {
    OsString::from_vec(path_bytes(path)).into()
}

fn make_room(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => fs::create_dir_all(dir),
        _ => Ok(()),
    }
}

/// Use a tool: what it says, or why it failed.
fn act_on(act: &ToolAction) -> Result<String, String> {
    let done = match act {
        ToolAction::Shell { command } => return shell(command),
        ToolAction::Write { path, text, mode } => write(&path_of(path), text, *mode),
        ToolAction::Append { path, text } => append(&path_of(path), text),
        ToolAction::Patch { path, find, with } => patch(&path_of(path), find, with),
        ToolAction::Delete { path } => delete(&path_of(path)),
    };
    done.map(|()| "done".to_owned()).map_err(|error| error.to_string())
}

fn write(path: &Path, text: &str, mode: Option<u32>) -> io::Result<()> {
    make_room(path)?;
    fs::write(path, text)?;
    match mode {
        Some(mode) => fs::set_permissions(path, Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    make_room(path)?;
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}

fn patch(path: &Path, find: &str, with: &str) -> io::Result<()> {
    let old = fs::read_to_string(path)?;
    if !old.contains(find) {
        return Err(io::Error::other("the text to replace is not there"));
    }
    fs::write(path, old.replacen(find, with, 1))
}

fn delete(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

fn shell(command: &str) -> Result<String, String> {
    let output = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot start sh: {error}"))?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let text: String = text.chars().take(SHOWN).collect();
    if output.status.success() { Ok(text) } else { Err(format!("{text}({})", output.status)) }
}

/// Start a process and do not wait for it.
fn start(spawn: &SimSpawn) -> io::Result<()> {
    let mut command = match spawn.escape {
        EscapeMethod::Child => sh(&spawn.command),
        EscapeMethod::Nohup => {
            let mut command = sh("trap '' HUP; exec sh -c \"$1\"");
            command.arg("sh").arg(&spawn.command);
            command
        }
        EscapeMethod::Setsid | EscapeMethod::DoubleFork => {
            let how = if spawn.escape == EscapeMethod::Setsid { "setsid" } else { "double_fork" };
            let mut command = Command::new(std::env::current_exe()?);
            command.args([COMMAND, STRAY, how, &spawn.command]);
            command
        }
    };
    command.stdin(Stdio::null());
    if spawn.stdout == SpawnStdout::Closed {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut child = command.spawn()?;
    if spawn.escape == EscapeMethod::DoubleFork {
        // Its own child is what stays.
        child.wait()?;
    }
    Ok(())
}

fn sh(command: &str) -> Command {
    let mut sh = Command::new("sh");
    sh.arg("-c").arg(command);
    sh
}

/// The process between the sim and one that gets away: leave the session, then start it.
pub(super) fn stray(args: &[OsString]) -> ExitCode {
    let [how, command] = args else { return ExitCode::from(2) };
    if setsid().is_err() {
        return ExitCode::FAILURE;
    }
    let mut sh = Command::new("sh");
    sh.arg(OsStr::new("-c")).arg(command);
    if how == "setsid" {
        let _error = sh.exec();
        return ExitCode::FAILURE;
    }
    match sh.spawn() {
        Ok(_it_stays) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
