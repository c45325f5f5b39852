//! Messages between ralph and its supervisor, as bytes.
//!
//! Arguments and variables need not be UTF-8, so the frames are plain bytes: a tag, then numbers as
//! eight bytes and strings as a length and their bytes. Both ends are the same binary, so there is no
//! version to agree on. A frame that cannot be read is `None`, and the receiver closes the connection.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::backend::ProcessEnding;

/// Request from ralph to the supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SupervisorRequest {
    /// Start a program; its standard streams come along as file descriptors.
    Spawn(SpawnRequest),
    /// End a job: SIGTERM to all of it, and SIGKILL after the grace.
    End { job: u64, grace: Duration },
}

/// Program that the supervisor has to start, with its environment and grace periods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpawnRequest {
    pub(super) job: u64,
    /// Absolute path of the program.
    pub(super) program: PathBuf,
    /// Name that the program gets as its first argument.
    pub(super) name: OsString,
    pub(super) args: Vec<OsString>,
    /// Changes to the environment; `None` takes a variable away.
    pub(super) env: Vec<(OsString, Option<OsString>)>,
    pub(super) cwd: PathBuf,
    /// Time that other processes of the job may still run after the program has exited.
    pub(super) settle: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub(super) grace: Duration,
}

/// Message from the supervisor to ralph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SupervisorNotice {
    NotStarted {
        job: u64,
        errno: i32,
    },
    Exited {
        job: u64,
        ending: ProcessEnding,
    },
    /// The last process of the job is gone, or nothing more can be done about it.
    Gone {
        job: u64,
        sweep: SweepCounts,
    },
}

/// Number of processes that a job left when its program had exited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepCounts {
    /// Processes that had to be told to end (SIGTERM).
    pub told: u64,
    /// Processes that had to be killed (SIGKILL).
    pub killed: u64,
    /// Processes that could not be ended at all: another user's, or stuck in the kernel.
    pub left: u64,
}

impl SupervisorNotice {
    /// Return the number of the job that the message is about.
    pub(super) fn job(&self) -> u64 {
        match self {
            Self::NotStarted { job, .. } | Self::Exited { job, .. } | Self::Gone { job, .. } => {
                *job
            }
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = WireWriter::default();
        match *self {
            Self::NotStarted { job, errno } => out.tag(1).number(job).signed(errno),
            Self::Exited { job, ending: ProcessEnding::Code(code) } => {
                out.tag(2).number(job).signed(code)
            }
            Self::Exited { job, ending: ProcessEnding::Signal(signal) } => {
                out.tag(3).number(job).signed(signal)
            }
            Self::Exited { job, ending: ProcessEnding::NotFound } => out.tag(4).number(job),
            Self::Gone { job, sweep } => {
                out.tag(5).number(job).number(sweep.told).number(sweep.killed).number(sweep.left)
            }
        };
        out.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = WireReader(bytes);
        let tag = from.tag()?;
        let job = from.number()?;
        let told = match tag {
            1 => Self::NotStarted { job, errno: from.signed()? },
            2 => Self::Exited { job, ending: ProcessEnding::Code(from.signed()?) },
            3 => Self::Exited { job, ending: ProcessEnding::Signal(from.signed()?) },
            4 => Self::Exited { job, ending: ProcessEnding::NotFound },
            5 => {
                let (told, killed) = (from.number()?, from.number()?);
                Self::Gone { job, sweep: SweepCounts { told, killed, left: from.number()? } }
            }
            _ => return None,
        };
        from.0.is_empty().then_some(told)
    }
}

impl SupervisorRequest {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = WireWriter::default();
        match self {
            Self::Spawn(spawn) => spawn.write(out.tag(1)),
            Self::End { job, grace } => {
                out.tag(2).number(*job).time(*grace);
            }
        }
        out.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = WireReader(bytes);
        let ask = match from.tag()? {
            1 => Self::Spawn(SpawnRequest::read(&mut from)?),
            2 => Self::End { job: from.number()?, grace: from.time()? },
            _ => return None,
        };
        from.0.is_empty().then_some(ask)
    }
}

impl SpawnRequest {
    fn write(&self, out: &mut WireWriter) {
        out.number(self.job).text(self.program.as_os_str()).text(&self.name);
        out.number(self.args.len() as u64);
        for arg in &self.args {
            out.text(arg);
        }
        out.number(self.env.len() as u64);
        for (name, value) in &self.env {
            out.text(name);
            match value {
                Some(value) => out.tag(1).text(value),
                None => out.tag(0),
            };
        }
        out.text(self.cwd.as_os_str()).time(self.settle).time(self.grace);
    }

    fn read(from: &mut WireReader<'_>) -> Option<Self> {
        let job = from.number()?;
        let program = from.text()?.into();
        let name = from.text()?;
        let args = (0..from.number()?).map(|_| from.text()).collect::<Option<_>>()?;
        let variable = |from: &mut WireReader<'_>| {
            let name = from.text()?;
            let value = if from.tag()? == 1 { Some(from.text()?) } else { None };
            Some((name, value))
        };
        let env = (0..from.number()?).map(|_| variable(from)).collect::<Option<_>>()?;
        let cwd = from.text()?.into();
        Some(Self { job, program, name, args, env, cwd, settle: from.time()?, grace: from.time()? })
    }
}

#[derive(Default)]
struct WireWriter(Vec<u8>);

impl WireWriter {
    fn tag(&mut self, tag: u8) -> &mut Self {
        self.0.push(tag);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn signed(&mut self, number: i32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn time(&mut self, time: Duration) -> &mut Self {
        self.number(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    fn text(&mut self, text: &OsStr) -> &mut Self {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
        self
    }
}

struct WireReader<'a>(&'a [u8]);

impl<'a> WireReader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn tag(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn signed(&mut self) -> Option<i32> {
        Some(i32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn time(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_millis)
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        Some(OsString::from_vec(self.take(length)?.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spawn() -> SpawnRequest {
        SpawnRequest {
            job: 7,
            program: "/bin/sh".into(),
            name: "sh".into(),
            args: vec!["-c".into(), "".into(), OsString::from_vec(vec![0xff, b'\n'])],
            env: vec![("A".into(), Some("b=c".into())), ("GONE".into(), None)],
            cwd: "/tmp".into(),
            settle: Duration::from_millis(200),
            grace: Duration::from_secs(5),
        }
    }

    fn asks() -> Vec<SupervisorRequest> {
        let grace = Duration::from_millis(1500);
        vec![
            SupervisorRequest::Spawn(spawn()),
            SupervisorRequest::Spawn(SpawnRequest::default()),
            SupervisorRequest::End { job: 3, grace },
        ]
    }

    #[test]
    fn what_is_asked_arrives_as_it_was_asked() {
        for ask in asks() {
            assert_eq!(SupervisorRequest::decode(&ask.encode()), Some(ask));
        }
    }

    #[test]
    fn what_is_told_arrives_as_it_was_told() {
        let sweep = SweepCounts { told: 3, killed: 2, left: 1 };
        for told in [
            SupervisorNotice::NotStarted { job: 1, errno: 13 },
            SupervisorNotice::Exited { job: 1, ending: ProcessEnding::Code(-1) },
            SupervisorNotice::Exited { job: 2, ending: ProcessEnding::Signal(9) },
            SupervisorNotice::Exited { job: 2, ending: ProcessEnding::NotFound },
            SupervisorNotice::Gone { job: u64::MAX, sweep },
        ] {
            assert_eq!(SupervisorNotice::decode(&told.encode()), Some(told));
        }
    }

    #[test]
    fn half_a_frame_and_one_with_something_behind_it_are_refused() {
        for ask in asks() {
            let whole = ask.encode();
            for length in 0..whole.len() {
                assert_eq!(
                    SupervisorRequest::decode(&whole[..length]),
                    None,
                    "{length} bytes of {ask:?}"
                );
            }
            assert_eq!(SupervisorRequest::decode(&[&whole[..], b"x"].concat()), None);
        }
    }
}
