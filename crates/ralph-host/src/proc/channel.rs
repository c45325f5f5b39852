//! The socket between ralph and its supervisor: frames with a length, and open files beside them.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Most bytes of a frame. The kernel takes a few megabytes of arguments and variables at most.
const MAX_FRAME: usize = 64 << 20;

/// Message that was received, with the file descriptors that came along.
#[derive(Debug)]
pub(super) struct SupervisorFrame {
    pub(super) body: Vec<u8>,
    pub(super) files: Vec<OwnedFd>,
}

/// Return a message with its length in front, as it is sent.
pub(super) fn frame(body: &[u8]) -> Vec<u8> {
    // Ours are never that long, and one that is says nonsense to the other end, which hangs up.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes()[..], body].concat()
}

/// Send one frame; the other end gets its own handles of `files` (three at most).
pub(super) fn send(to: &UnixStream, body: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let whole = frame(body);
    let mut sent = 0;
    if !files.is_empty() {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(ErrorKind::InvalidInput.into());
        }
        // The files travel with the first bytes, whatever part of the frame is taken at once.
        sent = sendmsg(to, &[IoSlice::new(&whole)], &mut control, no_signal())?;
    }
    (&mut &*to).write_all(whole.get(sent..).unwrap_or_default())
}

/// The next frame; `None` when the other end is gone.
pub(super) fn receive(from: &UnixStream) -> io::Result<Option<SupervisorFrame>> {
    let mut header = [0; 4];
    let mut files = Vec::new();
    let mut got = 0;
    while got < header.len() {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(3))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(header.get_mut(got..).unwrap_or_default())];
        let received = match recvmsg(from, into, &mut control, close_on_exec()) {
            Err(rustix::io::Errno::INTR) => continue,
            result => result?,
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(more) = message {
                files.extend(more);
            }
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        got += received.bytes;
    }
    let length = u32::from_le_bytes(header) as usize;
    if length > MAX_FRAME {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    match (&mut &*from).read_exact(&mut body) {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    for file in &files {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok(Some(SupervisorFrame { body, files }))
}

#[cfg(target_os = "linux")]
fn no_signal() -> SendFlags {
    SendFlags::NOSIGNAL
}

#[cfg(not(target_os = "linux"))]
fn no_signal() -> SendFlags {
    SendFlags::empty()
}

#[cfg(target_os = "linux")]
fn close_on_exec() -> RecvFlags {
    RecvFlags::CMSG_CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn close_on_exec() -> RecvFlags {
    RecvFlags::empty()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_frame_brings_its_open_files() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut out, into) = io::pipe().unwrap();
        send(&here, b"with a file", &[into.as_fd()]).unwrap();
        send(&here, b"", &[]).unwrap();
        drop(into);
        let frame = receive(&there).unwrap().unwrap();
        assert_eq!(frame.body, b"with a file");
        let [file] = <[OwnedFd; 1]>::try_from(frame.files).unwrap();
        std::fs::File::from(file).write_all(b"through it").unwrap();
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through it");
        let empty = receive(&there).unwrap().unwrap();
        assert!(empty.body.is_empty() && empty.files.is_empty());
    }

    #[test]
    fn a_frame_greater_than_the_socket_takes_at_once_arrives_whole() {
        let (here, there) = UnixStream::pair().unwrap();
        let (_out, into) = io::pipe().unwrap();
        let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        let copy = body.clone();
        let sender = std::thread::spawn(move || send(&here, &copy, &[into.as_fd()]));
        let frame = receive(&there).unwrap().unwrap();
        sender.join().unwrap().unwrap();
        assert!(frame.body == body, "the bytes differ");
        assert_eq!(frame.files.len(), 1);
        assert!(receive(&there).unwrap().is_none(), "the other end is gone");
    }

    #[test]
    fn half_a_frame_is_the_end() {
        let (here, there) = UnixStream::pair().unwrap();
        (&here).write_all(&[9, 0, 0, 0, b'x']).unwrap();
        drop(here);
        assert!(receive(&there).unwrap().is_none());
    }
}
