//! Bytes into lines, whatever the bytes are, in bounded memory.

/// A line of output, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The bytes, up to the bound.
    pub bytes: &'a [u8],
    /// How many bytes were left out because the line is longer than the bound.
    pub cut: u64,
}

/// Cuts a stream into lines. A line that is whole within one piece is handed on without a copy.
#[derive(Debug)]
pub(super) struct Lines {
    bound: usize,
    part: Vec<u8>,
    cut: u64,
}

impl Lines {
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, part: Vec::new(), cut: 0 }
    }

    /// The next piece of the stream.
    pub(super) fn feed(&mut self, mut piece: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (line, rest) = piece.split_at(end);
            piece = rest.get(1..).unwrap_or_default();
            if self.part.is_empty() && self.cut == 0 {
                on_line(self.bounded(line));
            } else {
                self.keep(line);
                self.hand_on(on_line);
            }
        }
        self.keep(piece);
    }

    /// The stream is over; what has no end yet is its last line.
    pub(super) fn finish(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if !self.part.is_empty() || self.cut > 0 {
            self.hand_on(on_line);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.bound.saturating_sub(self.part.len());
        let (kept, over) = bytes.split_at(bytes.len().min(room));
        self.part.extend_from_slice(kept);
        self.cut += over.len() as u64;
    }

    fn hand_on(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        let cut = std::mem::take(&mut self.cut);
        let bytes = if cut == 0 { without_return(&self.part) } else { &self.part };
        on_line(Line { bytes, cut });
        self.part.clear();
        // One long line is no reason to hold on to its room.
        self.part.shrink_to(64 * 1024);
    }

    fn bounded<'a>(&self, line: &'a [u8]) -> Line<'a> {
        let (kept, over) = line.split_at(line.len().min(self.bound));
        match over.len() {
            0 => Line { bytes: without_return(kept), cut: 0 },
            cut => Line { bytes: kept, cut: cut as u64 },
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]], bound: usize) -> Vec<(Vec<u8>, u64)> {
        let mut found = Vec::new();
        let mut lines = Lines::new(bound);
        let mut on_line = |line: Line<'_>| found.push((line.bytes.to_vec(), line.cut));
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
        let expected = vec![(b"abcd".to_vec(), 5), (b"next".to_vec(), 0)];
        assert_eq!(lines(&[b"abcdefghi\nnext\n"], 4), expected);
        assert_eq!(lines(&[b"ab", b"cde", b"fghi", b"\nnext"], 4), expected);
        assert_eq!(lines(&[b"abcdefghi"], 4), [(b"abcd".to_vec(), 5)]);
    }

    #[test]
    fn a_long_line_does_not_keep_its_room() {
        let mut lines = Lines::new(1 << 20);
        for _ in 0..100 {
            lines.feed(&[b'x'; 65536], &mut |_| {});
        }
        assert!(lines.part.capacity() <= 2 << 20, "{}", lines.part.capacity());
        lines.feed(b"\n", &mut |_| {});
        assert!(lines.part.capacity() <= 64 * 1024, "{}", lines.part.capacity());
    }
}
