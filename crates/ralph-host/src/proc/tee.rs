//! The log of a job: every byte that it wrote, as it came.
//!
//! Standard output and standard error share one file. Standard error waits for the end of the line
//! that standard output is in, so that a log of JSON lines stays one; if it cannot wait any longer,
//! it is written where it is. Nothing is buffered: pieces come as large as a pipe gives them, and
//! what was read is in the file even if ralph is killed the moment after.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Most bytes of standard error that wait for the end of a line.
const MOST_HELD: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Tee<W = LogFile> {
    to: Option<W>,
    /// Standard output is within a line.
    within: bool,
    held: Vec<u8>,
    error: Option<io::Error>,
}

impl Tee {
    /// A log in this file, which is made with its directory; what is in it already stays.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(Some(LogFile::Open(make(path)?))))
    }

    /// The same, made when there is something to write.
    pub(super) fn later(path: &Path) -> Self {
        Self::new(Some(LogFile::Later(path.to_owned())))
    }

    /// No log.
    pub(super) fn none() -> Self {
        Self::new(None)
    }
}

/// The file behind a log.
#[derive(Debug)]
pub(super) enum LogFile {
    Open(File),
    /// To be made for the first byte.
    Later(PathBuf),
}

fn make(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().create(true).append(true).open(path);
    open().or_else(|e| match (e.kind(), path.parent()) {
        (ErrorKind::NotFound, Some(directory)) => {
            create_dir_all(directory)?;
            open()
        }
        _ => Err(e),
    })
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Open(file) => file.write(bytes),
            Self::Later(path) => {
                let mut file = make(path)?;
                let written = file.write(bytes);
                *self = Self::Open(file);
                written
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Tee<W> {
    fn new(to: Option<W>) -> Self {
        Self { to, within: false, held: Vec::new(), error: None }
    }

    pub(super) fn out(&mut self, piece: &[u8]) {
        let mut piece = piece;
        if self.within && held_lines(&self.held) > 0 {
            let Some(end) = memchr::memchr(b'\n', piece) else { return self.put(piece) };
            let (line, rest) = piece.split_at(end + 1);
            self.put(line);
            self.within = false;
            self.let_go();
            piece = rest;
        }
        self.put(piece);
        if let Some(last) = piece.last() {
            self.within = *last != b'\n';
        }
    }

    pub(super) fn err(&mut self, piece: &[u8]) {
        if self.to.is_none() {
            return;
        }
        self.held.extend_from_slice(piece);
        if !self.within {
            self.let_go();
        }
        if self.held.len() > MOST_HELD {
            self.let_all_go();
        }
    }

    /// Write what still waits. Gives the first error there was: a log that cannot be written is
    /// told at the end and stops nobody's work.
    pub(super) fn finish(&mut self) -> Option<io::Error> {
        self.let_all_go();
        self.error.take()
    }

    fn let_go(&mut self) {
        let rest = self.held.split_off(held_lines(&self.held));
        let lines = std::mem::replace(&mut self.held, rest);
        self.put(&lines);
    }

    fn let_all_go(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.put(&held);
    }

    fn put(&mut self, bytes: &[u8]) {
        if let Some(to) = &mut self.to
            && let Err(e) = to.write_all(bytes)
        {
            self.error.get_or_insert(e);
            self.to = None;
        }
    }
}

/// How many bytes of this are whole lines.
fn held_lines(held: &[u8]) -> usize {
    memchr::memrchr(b'\n', held).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tee() -> Tee<Vec<u8>> {
        Tee::new(Some(Vec::new()))
    }

    fn text(tee: &Tee<Vec<u8>>) -> &str {
        str::from_utf8(tee.to.as_deref().unwrap()).unwrap()
    }

    #[test]
    fn standard_error_does_not_come_into_a_line_of_standard_output() {
        let mut tee = tee();
        tee.out(b"{\"a\":");
        tee.err(b"warning\n");
        tee.out(b"1}\n{\"b\":2}\n");
        tee.err(b"half");
        tee.out(b"{\"c\":3}\n");
        tee.err(b" a line\n");
        assert!(tee.finish().is_none());
        assert_eq!(text(&tee), "{\"a\":1}\nwarning\n{\"b\":2}\n{\"c\":3}\nhalf a line\n");
    }

    #[test]
    fn a_log_that_may_be_spared_is_made_with_the_first_byte() {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("made/gate.log");
        let mut tee = Tee::later(&log);
        tee.out(b"");
        assert!(tee.finish().is_none() && !log.exists());
        tee.err(b"late\n");
        tee.out(b"and more\n");
        assert!(tee.finish().is_none());
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "late\nand more\n");
    }

    #[test]
    fn every_byte_is_there_even_when_no_line_ends() {
        let mut tee = tee();
        tee.out(b"out");
        tee.err(b"err");
        tee.out(b" out");
        assert!(tee.finish().is_none());
        assert_eq!(text(&tee), "out outerr");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut tee = tee();
        tee.out(b"a line that never ends");
        for _ in 0..1000 {
            tee.err(&[b'e'; 1000]);
            assert!(tee.held.len() <= MOST_HELD);
        }
        assert!(tee.finish().is_none());
        assert_eq!(text(&tee).len(), 22 + 1_000_000);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_told_once_and_stops_nothing() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut tee = Tee::new(Some(full));
        tee.out(b"one\n");
        tee.err(b"two\n");
        tee.out(b"three\n");
        assert!(tee.finish().is_some());
        assert!(tee.finish().is_none());
    }
}
