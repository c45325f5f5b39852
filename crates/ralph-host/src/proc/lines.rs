//! Bytes into lines, whatever the bytes are, in bounded memory.

/// A line of output, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobOutputLine<'a> {
    /// The bytes; of a line that is longer than the bound its head and its tail.
    pub bytes: &'a [u8],
    /// Bytes of the middle that were left out, less the length of the note that replaces them.
    pub cut: u64,
}

/// Bytes around a seam in which nothing may be quoted with a backslash: as long as `\\u0000`.
const QUIET: usize = 6;

/// Cuts a stream into lines. A line that is whole within one piece is handed on without a copy.
///
/// Of a line over the bound the middle is left out. Most such lines are JSON with one long text, so that
/// head and tail still are, and the claim at the end of an answer is read.
#[derive(Debug)]
pub(super) struct LineSplitter {
    bound: usize,
    part: Vec<u8>,
    tail: Vec<u8>,
    cut: u64,
}

impl LineSplitter {
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, part: Vec::new(), tail: Vec::new(), cut: 0 }
    }

    /// The next piece of the stream.
    pub(super) fn feed(&mut self, mut piece: &[u8], on_line: &mut dyn FnMut(JobOutputLine<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (line, rest) = piece.split_at(end);
            piece = rest.get(1..).unwrap_or_default();
            if self.part.is_empty() && line.len() <= self.bound {
                on_line(JobOutputLine { bytes: without_return(line), cut: 0 });
            } else {
                self.keep(line);
                self.hand_on(on_line);
            }
        }
        self.keep(piece);
    }

    /// The stream is over; what has no end yet is its last line.
    pub(super) fn finish(&mut self, on_line: &mut dyn FnMut(JobOutputLine<'_>)) {
        if !self.part.is_empty() {
            self.hand_on(on_line);
        }
    }

    /// Return how many bytes of the bound are reserved for the end of a line.
    fn tail_bound(&self) -> usize {
        self.bound / 16
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = (self.bound - self.tail_bound()).saturating_sub(self.part.len());
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.part.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * self.tail_bound() {
            self.trim_tail();
        }
    }

    fn trim_tail(&mut self) {
        let over = self.tail.len().saturating_sub(self.tail_bound());
        self.tail.drain(..over);
        self.cut += over as u64;
    }

    fn hand_on(&mut self, on_line: &mut dyn FnMut(JobOutputLine<'_>)) {
        if self.cut > 0 || self.part.len() + self.tail.len() > self.bound {
            self.trim_tail();
            let (head, tail) = (seam_before(&self.part), seam_behind(&self.tail));
            self.cut += (self.part.len() - head + tail) as u64;
            self.part.truncate(head);
            let told = format!("[... {} bytes are left out here ...]", self.cut);
            self.cut = self.cut.saturating_sub(told.len() as u64);
            self.part.extend_from_slice(told.as_bytes());
            self.part.extend_from_slice(self.tail.get(tail..).unwrap_or_default());
        } else {
            self.part.extend_from_slice(&self.tail);
        }
        on_line(JobOutputLine {
            bytes: without_return(&self.part),
            cut: std::mem::take(&mut self.cut),
        });
        self.tail.clear();
        self.part.clear();
        // One long line is no reason to hold on to its room.
        self.part.shrink_to(64 * 1024);
        self.tail.shrink_to(64 * 1024);
    }
}

/// Whether a text can be cut between these bytes: no sign of several bytes and nothing quoted is there.
fn is_quiet(around: &[u8]) -> bool {
    around.iter().all(|byte| byte.is_ascii() && *byte != b'\\')
}

/// Return the position at which the head of a cut line ends.
fn seam_before(head: &[u8]) -> usize {
    let quiet = head.windows(QUIET).rposition(is_quiet);
    quiet.map_or(head.len(), |at| at + QUIET)
}

/// Return the position at which the tail of a cut line begins.
fn seam_behind(tail: &[u8]) -> usize {
    let quiet = tail.windows(QUIET).position(is_quiet);
    quiet.map_or(0, |at| at + QUIET)
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]], bound: usize) -> Vec<(Vec<u8>, u64)> {
        let mut found = Vec::new();
        let mut lines = LineSplitter::new(bound);
        let mut on_line = |line: JobOutputLine<'_>| found.push((line.bytes.to_vec(), line.cut));
        for piece in pieces {
            lines.feed(piece, &mut on_line);
        }
        lines.finish(&mut on_line);
        found
    }

    #[test]
    fn lines_are_the_same_however_the_stream_is_cut() {
        let text = b"one\r\n\n\xff\xfe two\nlast without an end";
        let whole = lines(&[text], 1000);
        let expected = ["one".as_bytes(), b"", b"\xff\xfe two", b"last without an end"];
        assert_eq!(whole, expected.map(|l| (l.to_vec(), 0)));
        for at in 0..text.len() {
            assert_eq!(lines(&[&text[..at], &text[at..]], 1000), whole, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(lines(&bytes, 1000), whole);
    }

    #[test]
    fn a_line_over_the_bound_is_cut_and_says_by_how_much() {
        let long = format!("{{\"result\":\"{}\\n<TASK_DONE>\"}}", "x \\\"quoted\\\" ".repeat(1000));
        let expected = lines(&[long.as_bytes(), b"\nnext\n"], 1024);
        let (cut, left_out) = &expected[0];
        assert!(cut.len() <= 1024 + 64, "{}", cut.len());
        assert_eq!(cut.len() + *left_out as usize, long.len());
        let json: serde_json::Value = serde_json::from_slice(cut).unwrap();
        let answer = json["result"].as_str().unwrap();
        assert!(answer.ends_with("\n<TASK_DONE>"), "{answer}");
        assert!(answer.contains(" bytes are left out here ...]"), "{answer}");
        assert_eq!(expected[1], (b"next".to_vec(), 0));
        let pieces: Vec<&[u8]> = long.as_bytes().chunks(7).chain([&b"\nnext"[..]]).collect();
        assert_eq!(lines(&pieces, 1024), expected);
        assert_eq!(lines(&[&[b'x'; 1024]], 1024), [(vec![b'x'; 1024], 0)]);
    }

    #[test]
    fn a_long_line_does_not_keep_its_room() {
        let mut lines = LineSplitter::new(1 << 20);
        for _ in 0..100 {
            lines.feed(&[b'x'; 65536], &mut |_| {});
        }
        assert!(lines.part.capacity() <= 2 << 20, "{}", lines.part.capacity());
        lines.feed(b"\n", &mut |_| {});
        assert!(lines.part.capacity() <= 64 * 1024, "{}", lines.part.capacity());
    }
}
