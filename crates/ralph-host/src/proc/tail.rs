//! End of a stream, kept in bounded memory.

/// Number of bytes that are kept.
const KEPT: usize = 64 * 1024;

/// Keeps the last bytes of what is pushed.
#[derive(Debug, Default)]
pub(super) struct OutputTail {
    bytes: Vec<u8>,
    seen: u64,
}

impl OutputTail {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.seen += piece.len() as u64;
        self.bytes.extend_from_slice(piece);
        if self.bytes.len() > 2 * KEPT {
            self.trim();
        }
    }

    /// Return the number of bytes that were written to the stream in total.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn into_text(mut self) -> String {
        self.trim();
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    fn trim(&mut self) {
        self.bytes.drain(..self.bytes.len().saturating_sub(KEPT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_the_rest_is_counted() {
        let mut tail = OutputTail::default();
        for _ in 0..1000 {
            tail.push(&[b'x'; 1000]);
            assert!(tail.bytes.len() <= 2 * KEPT);
        }
        tail.push(b"the \xff end");
        assert_eq!(tail.seen(), 1_000_009);
        let text = tail.into_text();
        assert!(text.ends_with("xthe \u{fffd} end"), "{}", text.len());
    }
}
