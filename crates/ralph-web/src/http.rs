//! Just enough HTTP/1.1: one request a connection, strictly read, within limits.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::limits;

/// Method of a request, as far as routes distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpMethod {
    Get,
    Head,
    Post,
    Delete,
    /// One that nothing here can be asked with.
    Other,
}

impl HttpMethod {
    /// Whether a request may change something.
    pub(crate) fn is_change(self) -> bool {
        !matches!(self, Self::Get | Self::Head)
    }

    /// As a header names it, with what comes along.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Other => "",
        }
    }

    /// Whether it is one of the methods that a route takes for a change.
    pub(crate) fn changes(self) -> bool {
        matches!(self, Self::Post | Self::Delete)
    }
}

/// Request as it was read from a connection.
#[derive(Clone, Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: HttpMethod,
    /// The path, decoded, without the query.
    pub(crate) path: String,
    /// Pairs of the query, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// Headers, with their names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why a request cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HttpReadError {
    /// Nothing to answer: it went away or took too long.
    Gone,
    /// Answered with this status and these words.
    Refused(u16, &'static str),
}

impl HttpRequest {
    pub(crate) fn read(stream: &mut TcpStream) -> Result<Self, HttpReadError> {
        let until = Instant::now() + limits::REQUEST;
        let mut bytes = Vec::with_capacity(1024);
        let head = loop {
            if let Some(at) = find(&bytes, b"\r\n\r\n") {
                break at;
            }
            if bytes.len() > limits::HEAD {
                return Err(HttpReadError::Refused(431, "the headers are too long"));
            }
            more(stream, &mut bytes, until)?;
        };
        if head > limits::HEAD {
            return Err(HttpReadError::Refused(431, "the headers are too long"));
        }
        let mut request = Self::head(&bytes[..head])?;
        let length = request.body_length()?;
        let mut body = bytes.split_off(head + 4);
        while body.len() < length {
            more(stream, &mut body, until)?;
        }
        if body.len() > length {
            return Err(HttpReadError::Refused(400, "one request a connection"));
        }
        request.body = body;
        Ok(request)
    }

    fn head(bytes: &[u8]) -> Result<Self, HttpReadError> {
        let bad = HttpReadError::Refused(400, "this is no HTTP request");
        let Ok(text) = std::str::from_utf8(bytes) else { return Err(bad) };
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(bad);
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !target.starts_with('/') {
            return Err(bad);
        }
        let method = match method {
            "GET" => HttpMethod::Get,
            "HEAD" => HttpMethod::Head,
            "POST" => HttpMethod::Post,
            "DELETE" => HttpMethod::Delete,
            word if word.bytes().all(|b| b.is_ascii_alphabetic()) => HttpMethod::Other,
            _ => return Err(bad),
        };
        let mut headers = Vec::new();
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { return Err(bad) };
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if name.is_empty() || !name.bytes().all(token) || value.contains(['\r', '\n', '\0']) {
                return Err(bad);
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(path) = decode(path) else { return Err(bad) };
        Ok(Self { method, path, query: pairs(query), headers, body: Vec::new() })
    }

    fn body_length(&self) -> Result<usize, HttpReadError> {
        if self.header("transfer-encoding").is_some() {
            return Err(HttpReadError::Refused(501, "send the length of the body"));
        }
        let mut lengths = self.headers.iter().filter(|(name, _)| name == "content-length");
        let (first, second) = (lengths.next(), lengths.next());
        if second.is_some() {
            return Err(HttpReadError::Refused(400, "the body has two lengths"));
        }
        let Some((_, value)) = first else { return Ok(0) };
        let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        match value.parse::<usize>() {
            Ok(length) if digits && length <= limits::BODY => Ok(length),
            Ok(_) if digits => Err(HttpReadError::Refused(413, "the body is too long")),
            _ if digits => Err(HttpReadError::Refused(413, "the body is too long")),
            _ => Err(HttpReadError::Refused(400, "the length of the body is no number")),
        }
    }

    /// The value of a header that stands there once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Return how many times a header occurs.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(known, _)| known == name).count()
    }

    /// The value of a query's key.
    pub(crate) fn asked(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// The number of a query's key.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.asked(key)?.parse().ok()
    }
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>, until: Instant) -> Result<(), HttpReadError> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() || stream.set_read_timeout(Some(left.max(Duration::from_millis(1)))).is_err()
    {
        return Err(HttpReadError::Refused(408, "the request took too long"));
    }
    let mut piece = [0; 8192];
    match stream.read(&mut piece) {
        Ok(0) => Err(HttpReadError::Gone),
        Ok(length) => {
            bytes.extend_from_slice(&piece[..length]);
            Ok(())
        }
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Err(HttpReadError::Refused(408, "the request took too long"))
        }
        Err(_) => Err(HttpReadError::Gone),
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Percent signs and what they stand for; `None` when that is no text.
fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digit = |b: u8| char::from(b).to_digit(16);
                let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(out).ok().filter(|text| !text.contains(char::is_control))
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let pair = |text: &str| {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        Some((decode(key)?, decode(&value.replace('+', " "))?))
    };
    query.split('&').filter(|text| !text.is_empty()).filter_map(pair).collect()
}

/// Response to a request, with its headers and its body.
#[derive(Clone, Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// Content security policy: a page may load from this server and talk to it, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

impl HttpResponse {
    pub(crate) fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, kind, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn json(status: u16, value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_default();
        Self::new(status, "application/json", body)
    }

    /// One more header. The value comes from this program.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Write it; a client that went away is no reason to complain.
    pub(crate) fn write(&self, stream: &mut TcpStream, method: HttpMethod) {
        let mut out = self.head(Some(self.body.len()));
        if method != HttpMethod::Head {
            out.extend_from_slice(&self.body);
        }
        let _gone = stream.write_all(&out).and_then(|()| stream.flush());
    }

    /// The lines above the body; one without a length goes on until the connection ends.
    pub(crate) fn head(&self, length: Option<usize>) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let mut line = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        line("Content-Type", self.kind);
        if let Some(length) = length {
            line("Content-Length", &length.to_string());
        }
        for (name, value) in [
            ("Connection", "close"),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ] {
            line(name, value);
        }
        for (name, value) in &self.headers {
            line(name, value);
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_apart() {
        let head = b"GET /api/tasks/t%2D1?after=7&x=a+b HTTP/1.1\r\nHost: a\r\nCookie:  c ";
        let request = HttpRequest::head(head).unwrap();
        assert_eq!((request.method, request.path.as_str()), (HttpMethod::Get, "/api/tasks/t-1"));
        assert_eq!((request.number("after"), request.asked("x")), (Some(7), Some("a b")));
        assert_eq!((request.header("host"), request.header("cookie")), (Some("a"), Some("c")));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for head in [
            &b"GET / HTTP/2\r\nHost: a"[..],
            b"GET  / HTTP/1.1",
            b"GET http://x/ HTTP/1.1",
            b"GET /%zz HTTP/1.1",
            b"GET /%00 HTTP/1.1",
            b"GET /a%0d%0ab HTTP/1.1",
            b"GET / HTTP/1.1\r\nno colon",
            b"GET / HTTP/1.1\r\nHost : a",
            b"GET /\xff HTTP/1.1",
            b"BR3W / HTTP/1.1",
        ] {
            assert!(HttpRequest::head(head).is_err(), "{}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn a_body_has_one_length_within_the_limit() {
        let of = |more: &str| {
            let head = format!("POST / HTTP/1.1\r\nHost: a{more}");
            HttpRequest::head(head.as_bytes()).unwrap().body_length()
        };
        assert_eq!(of("\r\nContent-Length: 5"), Ok(5));
        assert_eq!(of(""), Ok(0));
        for more in [
            "\r\nContent-Length: 5\r\nContent-Length: 5",
            "\r\nContent-Length: -1",
            "\r\nContent-Length: +1",
            "\r\nContent-Length: 99999999999999999999999",
            "\r\nContent-Length: 600000",
            "\r\nTransfer-Encoding: chunked",
        ] {
            assert!(of(more).is_err(), "{more}");
        }
    }
}
