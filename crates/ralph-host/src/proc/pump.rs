//! The pipes of a job: one thread reads all output, another one writes what does not fit at once.
//!
//! # Theory of operation
//!
//! Plain threads and not an async runtime: a job has three pipes, and ralph runs a handful of jobs.
//! Reading never waits for writing, so a program that does not read its input until somebody reads
//! its output cannot hang. Each thread waits for its pipes and for `stop` at once: when that is
//! dropped, both end, also if some process outside of our reach keeps a pipe open.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

use super::job::{Job, JobStderr, JobStdin};
use super::mailbox::{JobMailbox, JobMessage, JobStream};
use super::tee::LogTee;
use crate::crew::{self, PoolJobHandle};

/// Bytes that are read at once; a pipe holds as many.
const PIECE: usize = 64 * 1024;

/// Most bytes that wait to be read by a program that does not read.
const MOST_UNREAD: usize = 64 << 20;

/// The threads that serve a job's pipes.
#[derive(Debug)]
pub(super) struct PipePumps {
    stop: Option<PipeWriter>,
    threads: Vec<PoolJobHandle<()>>,
    pub(super) input: JobInput,
    /// Streams that must end before the job is over.
    pub(super) streams: Vec<JobStream>,
}

/// The ends of the pipes that the program gets.
pub(super) type JobPipeEnds = [OwnedFd; 3];

impl PipePumps {
    /// Make the pipes of a job and serve them.
    pub(super) fn start(
        job: &Job,
        mailbox: &Arc<JobMailbox>,
        tee: &Arc<Mutex<LogTee>>,
    ) -> io::Result<(Self, JobPipeEnds)> {
        let (stopped, stop) = io::pipe()?;
        let mut pumps = Self {
            stop: Some(stop),
            threads: Vec::new(),
            input: JobInput::closed(),
            streams: vec![],
        };
        let stdin = pumps.feed(&job.stdin, &stopped)?;
        let (from, stdout) = io::pipe()?;
        let mut open = vec![(JobStream::Out, from)];
        let stderr = match job.stderr {
            JobStderr::Apart => {
                let (from, stderr) = io::pipe()?;
                open.push((JobStream::Err, from));
                stderr
            }
            JobStderr::Joined => stdout.try_clone()?,
        };
        pumps.streams.extend(open.iter().map(|(stream, _)| *stream));
        let (mailbox, tee) = (mailbox.clone(), tee.clone());
        pumps.begin(move || read_all(open, &stopped, &mailbox, &tee))?;
        Ok((pumps, [stdin, stdout.into(), stderr.into()]))
    }

    /// End every thread and wait for it.
    pub(super) fn stop(&mut self) {
        self.input.close();
        self.stop = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself; its stream ends early.
            let _panicked = thread.wait();
        }
    }

    fn feed(&mut self, stdin: &JobStdin, stopped: &PipeReader) -> io::Result<OwnedFd> {
        let first = match stdin {
            JobStdin::Nothing => return Ok(File::open("/dev/null")?.into()),
            JobStdin::Bytes(bytes) | JobStdin::Open(bytes) => bytes,
        };
        let (from, to) = io::pipe()?;
        fcntl_setfl(&to, OFlags::NONBLOCK)?;
        // What fits into the pipe needs no thread.
        let written = rustix::io::write(&to, first).unwrap_or(0);
        let rest = first.get(written..).unwrap_or_default();
        let open = matches!(stdin, JobStdin::Open(_));
        if open || !rest.is_empty() {
            let input = JobInput::open(rest.to_vec());
            if !open {
                input.close();
            }
            self.input = input.clone();
            let stopped = stopped.try_clone()?;
            self.begin(move || write_all(&to, &stopped, &input))?;
        }
        Ok(from.into())
    }

    fn begin(&mut self, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(crew::begin(work)?);
        Ok(())
    }
}

/// Read these pipes to their ends.
fn read_all(
    mut open: Vec<(JobStream, PipeReader)>,
    stopped: &PipeReader,
    mailbox: &JobMailbox,
    tee: &Mutex<LogTee>,
) {
    let mut buffer = vec![0; PIECE];
    while !open.is_empty() {
        let Some(ready) = wait_for_any(&open, stopped) else { break };
        let mut ready = ready.into_iter();
        let mut closed = false;
        open.retain_mut(|(stream, from)| {
            if closed || !ready.next().unwrap_or(false) {
                return true;
            }
            let piece = match from.read(&mut buffer) {
                Err(e) if e.kind() == ErrorKind::Interrupted => return true,
                Ok(length) if length > 0 => buffer.get(..length).unwrap_or_default(),
                Ok(_) | Err(_) => {
                    closed = mailbox.output(JobMessage::End(*stream)).is_err();
                    return false;
                }
            };
            {
                let mut tee = tee.lock().unwrap_or_else(PoisonError::into_inner);
                match stream {
                    JobStream::Out => tee.out(piece),
                    JobStream::Err => tee.err(piece),
                }
            }
            closed = mailbox.output(JobMessage::Piece(*stream, piece.to_vec())).is_err();
            true
        });
        if closed {
            return;
        }
    }
    for (stream, _) in open {
        let _closed = mailbox.output(JobMessage::End(stream));
    }
}

fn write_all(to: &PipeWriter, stopped: &PipeReader, input: &JobInput) {
    while let Some(bytes) = input.next() {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match rustix::io::write(to, rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if wait_until(to.as_fd(), PollFlags::OUT, stopped) => {}
                // The program does not want to read, which is its right.
                Err(_) => return input.close(),
            }
        }
    }
}

/// Wait until one of these pipes can be read, and say which; `None` when it is time to stop.
fn wait_for_any(open: &[(JobStream, PipeReader)], stopped: &PipeReader) -> Option<Vec<bool>> {
    let pipes = open.iter().map(|(_, pipe)| pipe).chain([stopped]);
    let mut polled: Vec<PollFd<'_>> = pipes.map(|p| PollFd::new(p, PollFlags::IN)).collect();
    loop {
        match poll(&mut polled, None) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    let mut ready: Vec<bool> = polled.iter().map(|p| !p.revents().is_empty()).collect();
    (ready.pop() == Some(false)).then_some(ready)
}

/// Wait until this pipe is ready; false when it is time to stop.
fn wait_until(pipe: BorrowedFd<'_>, ready: PollFlags, stopped: &PipeReader) -> bool {
    loop {
        let mut both = [PollFd::from_borrowed_fd(pipe, ready), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut both, None) {
            Ok(_) => return both[1].revents().is_empty(),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The standard input of a running program.
#[derive(Clone, Debug)]
pub struct JobInput(Arc<JobInputQueue>);

#[derive(Debug)]
struct JobInputQueue {
    waiting: Mutex<QueuedJobInput>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueuedJobInput {
    pieces: VecDeque<Vec<u8>>,
    bytes: usize,
    closed: bool,
}

impl JobInput {
    fn open(first: Vec<u8>) -> Self {
        let waiting =
            QueuedJobInput { bytes: first.len(), pieces: VecDeque::from([first]), closed: false };
        Self(Arc::new(JobInputQueue { waiting: Mutex::new(waiting), changed: Condvar::new() }))
    }

    fn closed() -> Self {
        let input = Self::open(Vec::new());
        input.close();
        input
    }

    /// Write these bytes as soon as the program reads. False when it will not get them: the input
    /// is closed, or the program has left too much unread.
    pub fn send(&self, bytes: Vec<u8>) -> bool {
        let mut waiting = self.lock();
        if waiting.closed || waiting.bytes + bytes.len() > MOST_UNREAD {
            return false;
        }
        waiting.bytes += bytes.len();
        waiting.pieces.push_back(bytes);
        self.0.changed.notify_one();
        true
    }

    /// Close it after what was sent.
    pub fn close(&self) {
        self.lock().closed = true;
        self.0.changed.notify_one();
    }

    fn next(&self) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        loop {
            if let Some(piece) = waiting.pieces.pop_front() {
                waiting.bytes -= piece.len();
                return Some(piece);
            }
            if waiting.closed {
                return None;
            }
            waiting = self.0.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueuedJobInput> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
