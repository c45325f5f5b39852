//! The file of a log, with a limit: of what is longer the head and the tail are kept.
//!
//! When the file is full its middle is taken out, whole lines of it, and a line says how much that was.
//! So there is room for a while, and whatever happens then the head and the tail are in the file.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ralph_core::config::ByteSize;

/// Beginning of the line that replaces the part that was left out.
const LEFT_OUT: &str = "[ralph: left out here, because limits.max_log allows no more: ";

/// Most bytes that are looked through for the end of a line.
const LONGEST_LOOK: usize = 64 * 1024;

/// Most bytes of a log where nobody says otherwise.
pub(super) const MOST: u64 = ByteSize::megabytes(64).get();

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    most: u64,
    /// Log file; `None` until it is opened or the first byte is written.
    file: Option<File>,
    length: u64,
}

impl LogFile {
    pub(super) fn new(path: &Path, most: u64) -> Self {
        Self { path: path.to_owned(), most, file: None, length: 0 }
    }

    /// The file, which is made with its directory if it is not there.
    pub(super) fn open(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let file = make(&self.path)?;
            self.length = file.metadata()?.len();
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Replace the middle of the file by a line that says how much was left out.
    fn shorten(&mut self) -> io::Result<()> {
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let keep = self.most / 4;
        let head = line_end(&file, keep)?;
        let mut told = vec![0; LEFT_OUT.len() + 32];
        let read = file.read_at(&mut told, head)?;
        let (before, middle) = earlier(&told[..read]);
        let tail = line_end(&file, self.length.saturating_sub(keep).max(head + middle))?;
        let mut kept = vec![0; usize::try_from(self.length - tail).unwrap_or_default()];
        file.read_exact_at(&mut kept, tail)?;
        let left_out = before + tail - head - middle;
        let told = format!("{LEFT_OUT}{left_out} bytes]\n");
        file.write_all_at(told.as_bytes(), head)?;
        let at = head + told.len() as u64;
        file.write_all_at(&kept, at)?;
        self.length = at + kept.len() as u64;
        file.set_len(self.length)
    }
}

fn make(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    open().or_else(|e| match (e.kind(), path.parent()) {
        (ErrorKind::NotFound, Some(directory)) => {
            create_dir_all(directory)?;
            open()
        }
        _ => Err(e),
    })
}

/// Return the end of the line that contains this position. Return the position itself when the end is
/// too far away.
fn line_end(file: &File, place: u64) -> io::Result<u64> {
    let mut piece = vec![0; LONGEST_LOOK];
    let read = file.read_at(&mut piece, place)?;
    Ok(memchr::memchr(b'\n', &piece[..read]).map_or(place, |at| place + at as u64 + 1))
}

/// Read how many bytes were left out earlier, and how long the line about them is.
fn earlier(text: &[u8]) -> (u64, u64) {
    let text = String::from_utf8_lossy(text);
    let told = text.strip_prefix(LEFT_OUT).and_then(|rest| rest.split_once(" bytes]\n"));
    let number = told.and_then(|(number, _)| Some((number.parse().ok()?, number.len())));
    number.map_or((0, 0), |(bytes, digits): (u64, usize)| {
        (bytes, (LEFT_OUT.len() + digits + " bytes]\n".len()) as u64)
    })
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?;
        if self.length + bytes.len() as u64 > self.most && self.length > self.most / 2 {
            self.shorten()?;
        }
        let written = self.open()?.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_log_head_and_tail_are_kept_and_the_rest_is_counted() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("made/long.log");
        let (most, mut written) = (64 * 1024, 0);
        // As often as a backend is started again on the same log.
        for run in 0..3 {
            let mut log = LogFile::new(&path, most);
            for n in 0..10_000 {
                let line = format!("run {run} line {n}\n");
                written += line.len();
                log.write_all(line.as_bytes()).unwrap();
                assert!(log.length <= most);
            }
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("run 0 line 0\nrun 0 line 1\n"));
        assert!(text.ends_with("run 2 line 9998\nrun 2 line 9999\n"));
        let told: Vec<&str> = text.lines().filter(|line| line.starts_with(LEFT_OUT)).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        let kept = text.len() - told[0].len() - 1;
        assert!(told[0].ends_with(&format!(": {} bytes]", written - kept)), "{}", told[0]);
        assert!(text.lines().all(|line| line.starts_with("run ") || line.starts_with(LEFT_OUT)));
    }
}
