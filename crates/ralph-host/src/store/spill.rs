//! Many lines by number, in a file without a name: memory stays the same however many there are.
//!
//! The file has no name in any directory, so that nobody else finds it and it is gone with the process.
//! Only where every [`STRIDE`]th line begins is remembered; whoever asks reads from there.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::file_error::{FileAction, FileError};

/// Lines from one remembered place to the next.
const STRIDE: u64 = 64;
/// Bytes that wait in memory until they are written together.
const BUFFER: usize = 64 * 1024;

/// Lines in a file without a name, which can be read again by number.
#[derive(Debug)]
pub struct SpilledLines {
    file: File,
    count: u64,
    length: u64,
    /// Bytes that are not in it yet.
    waiting: Vec<u8>,
    /// Byte positions of the lines 0, `STRIDE`, 2 × `STRIDE`, …
    places: Vec<u64>,
}

impl SpilledLines {
    /// An empty one in this directory, or where temporary files go when that refuses.
    pub fn new(dir: &Path) -> Result<Self, FileError> {
        let file = tempfile::tempfile_in(dir).or_else(|_| tempfile::tempfile());
        let file = file.map_err(FileError::io(FileAction::Write, dir))?;
        Ok(Self { file, count: 0, length: 0, waiting: Vec::new(), places: Vec::new() })
    }

    /// Return the number of all lines.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Put a line away. It has no line feed in it.
    pub fn push(&mut self, line: &str) -> io::Result<()> {
        if self.count.is_multiple_of(STRIDE) {
            self.places.push(self.length + self.waiting.len() as u64);
        }
        self.waiting.extend_from_slice(line.as_bytes());
        self.waiting.push(b'\n');
        self.count += 1;
        if self.waiting.len() < BUFFER { Ok(()) } else { self.write_down() }
    }

    fn write_down(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(&self.waiting)?;
        self.length += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Up to `most` lines from number `from` on; the first has the number 0.
    pub fn lines(&mut self, from: u64, most: usize) -> io::Result<Vec<String>> {
        let place = usize::try_from(from / STRIDE).ok().and_then(|n| self.places.get(n).copied());
        let Some(place) = place else { return Ok(Vec::new()) };
        self.file.seek(SeekFrom::Start(place.min(self.length)))?;
        let skipped = usize::try_from(place.saturating_sub(self.length)).unwrap_or(usize::MAX);
        let waiting = self.waiting.get(skipped..).unwrap_or_default();
        let before = usize::try_from(from % STRIDE).unwrap_or_default();
        BufReader::new((&self.file).chain(waiting)).lines().skip(before).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_page_can_be_read_at_any_time() {
        let place = tempfile::tempdir().unwrap();
        let mut spill = SpilledLines::new(place.path()).unwrap();
        assert_eq!(spill.lines(0, 10).unwrap(), Vec::<String>::new());
        let line = |n: u64| format!("line {n} {}", "x".repeat(usize::try_from(n % 300).unwrap()));
        for n in 0..3_000 {
            spill.push(&line(n)).unwrap();
            let from = n * 7919 % (n + 1);
            let most = usize::try_from(n % 90).unwrap();
            let expected: Vec<String> = (from..=n).take(most).map(line).collect();
            assert_eq!(spill.lines(from, most).unwrap(), expected, "{from} of {n}");
        }
        assert!(spill.length > 4 * BUFFER as u64, "it did not spill");
        assert_eq!(spill.count(), 3_000);
        assert_eq!(spill.lines(3_000, 5).unwrap(), Vec::<String>::new());
        assert_eq!(spill.lines(u64::MAX, 5).unwrap(), Vec::<String>::new());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "it has a name");
    }
}
