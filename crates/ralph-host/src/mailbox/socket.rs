//! The loop's end of a mailbox: threads that read requests and write answers.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::{
    ANSWER_TIME, LONGEST_REQUEST, MOST_CALLERS, MailboxAnswer, MailboxDirectory, MailboxRequest,
    REQUEST_TIME,
};
use crate::crew;
use crate::file_error::{FileAction, FileError};

const OVER: &str = "the attempt is over, and its backend has no say any more";

/// A request that waits for an answer.
#[derive(Debug)]
pub struct PendingRequest {
    pub request: MailboxRequest,
    reply: Sender<MailboxAnswer>,
}

impl PendingRequest {
    /// Send the answer to the caller. Nothing happens if the caller has gone.
    pub fn answer(self, answer: MailboxAnswer) {
        // Whoever asked may be gone.
        let _gone = self.reply.send(answer);
    }
}

/// The socket of one attempt or consultation. Nobody is answered any more when it is dropped.
#[derive(Debug)]
pub struct MailboxSocket {
    path: PathBuf,
    requests: Receiver<PendingRequest>,
    callers: Arc<MailboxCallerCount>,
}

impl MailboxSocket {
    /// Create the socket of an attempt and start to accept requests on it.
    pub fn open(directory: &MailboxDirectory, attempt: &str) -> Result<Self, FileError> {
        let path = directory.socket(attempt);
        let failed = FileError::io(FileAction::Write, &path);
        let listening = UnixListener::bind(&path).and_then(|listener| {
            let (sender, requests) = channel();
            let callers = Arc::new(MailboxCallerCount::default());
            let known = callers.clone();
            crew::begin(move || accept_all(&listener, &sender, &known))?;
            Ok((requests, callers))
        });
        let (requests, callers) = listening.map_err(failed)?;
        Ok(Self { path, requests, callers })
    }

    /// Return the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Take the next request, if there is one.
    pub fn next(&self) -> Option<PendingRequest> {
        self.requests.try_recv().ok()
    }
}

impl Drop for MailboxSocket {
    fn drop(&mut self) {
        self.callers.close();
        // The thread that accepts callers looks up for the last time.
        let _gone = UnixStream::connect(&self.path);
        let _left = std::fs::remove_file(&self.path);
    }
}

/// Number of callers that are served, and whether the socket is closed for more.
#[derive(Debug, Default)]
struct MailboxCallerCount {
    count: Mutex<usize>,
    has_left: Condvar,
    is_closed: AtomicBool,
}

impl MailboxCallerCount {
    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.has_left.notify_all();
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Wait until one more may be served.
    fn enter(&self) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while *count >= MOST_CALLERS {
            count = self.has_left.wait(count).unwrap_or_else(PoisonError::into_inner);
        }
        *count += 1;
    }

    fn leave(&self) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.saturating_sub(1);
        self.has_left.notify_all();
    }
}

fn accept_all(
    listener: &UnixListener,
    sender: &Sender<PendingRequest>,
    callers: &Arc<MailboxCallerCount>,
) {
    while !callers.is_closed() {
        let Ok((stream, _)) = listener.accept() else { return };
        if callers.is_closed() {
            return;
        }
        callers.enter();
        let (sender, known) = (sender.clone(), callers.clone());
        let served = crew::begin(move || {
            // A caller that goes away needs no answer.
            let _gone = serve(&stream, &sender);
            known.leave();
        });
        if served.is_err() {
            callers.leave();
        }
    }
}

fn serve(mut stream: &UnixStream, sender: &Sender<PendingRequest>) -> io::Result<()> {
    let line = read_line(stream)?;
    let answer = match serde_json::from_slice(&line) {
        Ok(request) => forward(request, sender),
        Err(e) => MailboxAnswer::Refused(format!("the loop cannot read this request: {e}")),
    };
    let mut bytes = serde_json::to_vec(&answer)?;
    bytes.push(b'\n');
    stream.set_write_timeout(Some(REQUEST_TIME))?;
    stream.write_all(&bytes)
}

fn forward(request: MailboxRequest, sender: &Sender<PendingRequest>) -> MailboxAnswer {
    let (reply, answer) = channel();
    if sender.send(PendingRequest { request, reply }).is_err() {
        return MailboxAnswer::Refused(OVER.to_owned());
    }
    match answer.recv_timeout(ANSWER_TIME) {
        Ok(answer) => answer,
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
            MailboxAnswer::Refused(OVER.to_owned())
        }
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
            MailboxAnswer::Refused("the loop is busy and has not answered; try again".to_owned())
        }
    }
}

/// Read one line, which may be neither too long nor too slow.
fn read_line(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let (until, mut line, mut buffer) = (Instant::now() + REQUEST_TIME, Vec::new(), [0; 8192]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut buffer)?;
        let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        line.extend_from_slice(read);
        if line.ends_with(b"\n") {
            return Ok(line);
        }
        if line.len() > LONGEST_REQUEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}
