//! The supervisor: a process of its own between ralph and everything that ralph starts.
//!
//! # Theory of operation
//!
//! `ralph __supervise RUN` is started with one end of a socket as its standard input. It has its
//! own session, so that a Ctrl-C at the terminal reaches ralph alone, and it is the reaper of all
//! its descendants: whoever loses its parent becomes its child and cannot get away. It waits for
//! three things: a request, the end of a child, a signal. When ralph's end of the socket closes,
//! which the kernel sees to however ralph ends, or when it is told to end itself, it kills all that
//! is below it and exits. It decides nothing; when to end a job is ralph's business.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::keeper::SupervisorState;
use super::os;

/// The hidden first argument that makes a ralph a supervisor.
pub(super) const COMMAND: &str = "__supervise";

/// Longest wait until killed processes are gone. After it, they are reported as left.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Be the supervisor if the command line says so. Has to come first in `main`: the supervisor needs
/// nothing that a command needs, and backends wait for its start.
pub fn supervise_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != COMMAND {
        return None;
    }
    let run = args.next().unwrap_or_default().to_string_lossy().into_owned();
    Some(supervise(&run).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS))
}

fn supervise(run: &str) -> io::Result<()> {
    // Fails only for the leader of a process group, whom no Ctrl-C for ralph's group reaches.
    let _leader = rustix::process::setsid();
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Somebody typed the hidden command: there is no ralph at the other end, and nobody to end.
    control.peer_addr()?;
    let child_ended = SignalBell::ring_on(&[SIGCHLD])?;
    let told_to_end = SignalBell::ring_on(&[SIGTERM, SIGINT, SIGHUP])?;
    os::adopt_orphans()?;
    let mut keeper = SupervisorState::new(run, control.try_clone()?);
    // Whatever goes wrong in here, what comes after it has to happen.
    let watching = || watch(&mut keeper, &control, &child_ended, &told_to_end);
    let _panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(watching));
    let until = Instant::now() + PATIENCE;
    while !keeper.kill_all() && Instant::now() < until {
        wait_for(&[&child_ended.0], Some(Duration::from_millis(20)));
        child_ended.silence();
    }
    Ok(())
}

/// Serve until ralph hangs up or somebody tells us to end.
fn watch(
    keeper: &mut SupervisorState,
    control: &UnixStream,
    child_ended: &SignalBell,
    told_to_end: &SignalBell,
) {
    loop {
        let patience = keeper.next_look().map(|at| at.saturating_duration_since(Instant::now()));
        let ready = wait_for(&[control, &child_ended.0, &told_to_end.0], patience);
        let [asked, ended, told] = ready[..] else { return };
        if told {
            return;
        }
        if ended {
            child_ended.silence();
        }
        let now = Instant::now();
        if (asked && keeper.serve(now).is_err()) || keeper.turn(now).is_err() {
            return;
        }
    }
}

/// Becomes readable when a signal has come.
struct SignalBell(UnixStream);

impl SignalBell {
    fn ring_on(signals: &[i32]) -> io::Result<Self> {
        let (here, there) = UnixStream::pair()?;
        here.set_nonblocking(true)?;
        for signal in signals {
            signal_hook::low_level::pipe::register(*signal, there.try_clone()?)?;
        }
        Ok(Self(here))
    }

    fn silence(&self) {
        let mut rings = [0; 256];
        while (&self.0).read(&mut rings).is_ok_and(|n| n == rings.len()) {}
    }
}

/// Wait until one of these can be read, but not longer than `patience`. Says which.
fn wait_for(streams: &[&UnixStream], patience: Option<Duration>) -> Vec<bool> {
    let mut polled: Vec<PollFd<'_>> =
        streams.iter().map(|s| PollFd::new(s, PollFlags::IN)).collect();
    let limit = patience.and_then(|p| Timespec::try_from(p).ok());
    // An interruption is a signal; its bell is heard in the next round.
    let _interrupted = poll(&mut polled, limit.as_ref());
    polled.iter().map(|p| !p.revents().is_empty()).collect()
}
