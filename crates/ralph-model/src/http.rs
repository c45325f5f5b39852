//! As much of HTTP/1.1 as the programs under test speak: one call per connection.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// Larger than any conversation of a test.
const LARGEST_BODY: u64 = 64 << 20;
const LARGEST_HEAD: u64 = 256 << 10;

/// One call as it came.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) method: String,
    /// Without the query, in which some programs put their key.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Call {
    /// Read a call. `None` when the connection is closed without one.
    pub(crate) fn read(stream: &mut (impl BufRead + Write)) -> io::Result<Option<Self>> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let before = head.len();
            Read::by_ref(stream).take(LARGEST_HEAD).read_until(b'\n', &mut head)?;
            if head.len() == before {
                return Ok(None);
            }
            if head.len() as u64 >= LARGEST_HEAD {
                return Err(bad("the head of the call is too large"));
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next().unwrap_or_default().split_whitespace();
        let method = first.next().unwrap_or_default().to_owned();
        let target = first.next().unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut call = Self { method, path, headers, body: Vec::new() };
        if call.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        call.read_body(stream)?;
        Ok(Some(call))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    fn read_body(&mut self, stream: &mut impl BufRead) -> io::Result<()> {
        if self.header("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
            return self.read_chunks(stream);
        }
        let length = self.header("content-length").unwrap_or("0").parse();
        let length: u64 = length.map_err(|_| bad("content-length is no number"))?;
        self.read_exactly(stream, length)
    }

    fn read_chunks(&mut self, stream: &mut impl BufRead) -> io::Result<()> {
        loop {
            let mut line = String::new();
            stream.by_ref().take(LARGEST_HEAD).read_line(&mut line)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(|_| bad("a chunk without a size"))?;
            self.read_exactly(stream, size)?;
            stream.by_ref().take(LARGEST_HEAD).read_line(&mut line)?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn read_exactly(&mut self, stream: &mut impl BufRead, length: u64) -> io::Result<()> {
        if self.body.len() as u64 + length > LARGEST_BODY {
            return Err(bad("the body of the call is too large"));
        }
        let got = stream.by_ref().take(length).read_to_end(&mut self.body)? as u64;
        if got == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Write a whole answer.
pub(crate) fn write_json(
    stream: &mut impl Write,
    status: u16,
    headers: &[(String, String)],
    body: &Value,
) -> io::Result<()> {
    // A body that is a string in the scenario is meant as it stands, for answers that are no JSON.
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    let mut head = head(status, "application/json", headers);
    head.push_str(&format!("content-length: {}\r\n\r\n", text.len()));
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Begin a stream of server-sent events.
pub(crate) fn begin_stream(stream: &mut impl Write) -> io::Result<()> {
    let mut head = head(200, "text/event-stream; charset=utf-8", &[]);
    head.push_str("cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.flush()
}

/// One piece of a stream.
pub(crate) fn write_chunk(stream: &mut impl Write, text: &str) -> io::Result<()> {
    write!(stream, "{:x}\r\n{text}\r\n", text.len())?;
    stream.flush()
}

/// The regular end of a stream; without it the reader knows that something was cut off.
pub(crate) fn end_stream(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()
}

fn head(status: u16, kind: &str, headers: &[(String, String)]) -> String {
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\nconnection: close\r\n",
        if status < 400 { "OK" } else { "Error" }
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}
