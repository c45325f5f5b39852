//! The caller's end of a mailbox.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::{ANSWER_TIME, LONGEST_ANSWER, MAILBOX_VARIABLE, MailboxAnswer, MailboxRequest};

/// A loop that does not answer.
#[derive(Debug, thiserror::Error)]
pub enum MailboxError {
    #[error("the loop that started this attempt cannot be reached at {}: {source}", path.display())]
    Gone { path: PathBuf, source: io::Error },
    /// Loop that closed the connection or sent an invalid answer.
    #[error("the loop that started this attempt did not answer: {0}")]
    Silent(io::Error),
}

impl MailboxError {
    /// Return a hint on how to fix the error.
    pub fn hint(&self) -> Option<String> {
        let hint = format!(
            "the attempt is over, or the loop was ended; outside of an attempt {MAILBOX_VARIABLE} is not set"
        );
        Some(hint)
    }
}

/// Send a request to the loop and return its answer.
pub fn ask(socket: &Path, request: &MailboxRequest) -> Result<MailboxAnswer, MailboxError> {
    let gone = |source| MailboxError::Gone { path: socket.to_owned(), source };
    let stream = UnixStream::connect(socket).map_err(gone)?;
    converse(&stream, request).map_err(MailboxError::Silent)
}

fn converse(mut stream: &UnixStream, request: &MailboxRequest) -> io::Result<MailboxAnswer> {
    stream.set_read_timeout(Some(ANSWER_TIME * 2))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = Vec::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_until(b'\n', &mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&answer)?)
}
