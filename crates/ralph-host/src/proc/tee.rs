//! The log of a job: what it wrote, line by line, without secrets.
//!
//! Standard output and standard error share one file. Standard error waits for the end of the line
//! that standard output is in, so that a log of JSON lines stays one; if it cannot wait any longer,
//! it is written where it is. Whole lines are written as they come, so that they are in the file even
//! if ralph is killed the moment after; a line without its end waits, because a secret may go on.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ralph_core::dashboard::redact::{OpenPemKey, Redactor};

use super::log_file::LogFile;
use crate::redaction::{hide_lines, redactor};

/// Most bytes of standard error that wait for the end of a line.
const MOST_HELD: usize = 64 * 1024;

/// Most bytes of a line that wait for its end.
const LONGEST_LINE: usize = 256 * 1024;

/// Bytes at the end of a longer one that are looked at for the end of a word.
const LONGEST_WORD: usize = 4 * 1024;

#[derive(Debug)]
pub(super) struct LogTee<W = LogFile> {
    to: Option<W>,
    redactor: Arc<Redactor>,
    key: OpenPemKey,
    /// The line of standard output whose end has not come.
    line: Vec<u8>,
    /// The beginning of that line is in the file already.
    within: bool,
    held: Vec<u8>,
    error: Option<io::Error>,
}

impl LogTee {
    /// A log in this file, which is made with its directory; what is in it already stays. Of more than
    /// `most` bytes the head and the tail are kept.
    pub(super) fn open(path: &Path, most: u64) -> io::Result<Self> {
        let mut file = LogFile::new(path, most);
        file.open()?;
        Ok(Self::new(Some(file)))
    }

    /// The same, made when there is something to write.
    pub(super) fn later(path: &Path, most: u64) -> Self {
        Self::new(Some(LogFile::new(path, most)))
    }

    pub(super) fn none() -> Self {
        Self::new(None)
    }
}

impl<W: Write> LogTee<W> {
    fn new(to: Option<W>) -> Self {
        let (redactor, key) = (redactor(), OpenPemKey::default());
        Self { to, redactor, key, line: Vec::new(), within: false, held: Vec::new(), error: None }
    }

    pub(super) fn out(&mut self, piece: &[u8]) {
        if self.to.is_none() {
            return;
        }
        let mut piece = piece;
        if self.within || !self.held.is_empty() {
            let Some(end) = memchr::memchr(b'\n', piece) else { return self.keep(piece) };
            let (line, rest) = piece.split_at(end + 1);
            self.keep(line);
            self.let_lines_go();
            piece = rest;
        }
        self.keep(piece);
    }

    pub(super) fn err(&mut self, piece: &[u8]) {
        if self.to.is_none() {
            return;
        }
        self.held.extend_from_slice(piece);
        if !self.within && self.line.is_empty() {
            self.let_lines_go();
        }
        if self.held.len() > MOST_HELD {
            self.let_all_go();
        }
    }

    /// Write what still waits. Gives the first error there was: a log that cannot be written is
    /// told at the end and stops nobody's work.
    pub(super) fn finish(&mut self) -> Option<io::Error> {
        let line = std::mem::take(&mut self.line);
        self.put(&line);
        self.let_all_go();
        self.error.take()
    }

    /// Standard output: whole lines are written, the rest waits for its end.
    fn keep(&mut self, piece: &[u8]) {
        self.line.extend_from_slice(piece);
        let whole = whole_lines(&self.line);
        if whole > 0 {
            self.within = false;
            self.put_line_up_to(whole);
        }
        if self.line.len() > LONGEST_LINE {
            let end = self.line.len() - LONGEST_WORD;
            let gap = self.line[end..].iter().rposition(|byte| !byte.is_ascii_graphic());
            self.within = true;
            self.put_line_up_to(gap.map_or(self.line.len(), |at| end + at));
        }
    }

    fn put_line_up_to(&mut self, end: usize) {
        let rest = self.line.split_off(end);
        let done = std::mem::replace(&mut self.line, rest);
        self.put(&done);
    }

    fn let_lines_go(&mut self) {
        let rest = self.held.split_off(whole_lines(&self.held));
        let lines = std::mem::replace(&mut self.held, rest);
        self.put(&lines);
    }

    fn let_all_go(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.put(&held);
    }

    fn put(&mut self, bytes: &[u8]) {
        if let Some(to) = &mut self.to
            && !bytes.is_empty()
            && let Err(e) = to.write_all(&hide_lines(bytes, &self.redactor, &mut self.key))
        {
            self.error.get_or_insert(e);
            self.to = None;
        }
    }
}

/// Return how many bytes at the start are whole lines.
fn whole_lines(held: &[u8]) -> usize {
    memchr::memrchr(b'\n', held).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn tee() -> LogTee<Vec<u8>> {
        LogTee::new(Some(Vec::new()))
    }

    fn text(tee: &LogTee<Vec<u8>>) -> &str {
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
        let mut tee = LogTee::later(&log, 1 << 20);
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
    fn no_secret_is_written_however_the_stream_is_cut() {
        let key = format!("sk-ant-{}", "a1".repeat(30));
        let text = format!(
            "{{\"text\":\"a\\n{key}\"}}\nkey {key}\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END \
             RSA PRIVATE KEY-----\nplain\n{} {key} end",
            "long ".repeat(300_000)
        );
        for size in [1, 7, 100_000, text.len()] {
            let mut tee = tee();
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            for piece in if size == 1 { &pieces[..1000] } else { &pieces } {
                tee.out(piece);
            }
            assert!(tee.finish().is_none());
            let text = self::text(&tee);
            assert!(!text.contains("a1a1a1") && !text.contains("MIIEow"), "{size}");
            assert!(text.starts_with("{\"text\":\"a\\n[hidden]\"}\nkey [hidden]\n"), "{size}");
            assert!(text.contains("\nplain\n"), "{size}");
        }
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
        let mut tee = LogTee::new(Some(full));
        tee.out(b"one\n");
        tee.err(b"two\n");
        tee.out(b"three\n");
        assert!(tee.finish().is_some());
        assert!(tee.finish().is_none());
    }
}
