//! The server: a thread that accepts, a thread for each connection, and what they share.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::conversation::Conversation;
use crate::http::{self, Call};
use crate::protocol::{Ask, Protocol, Refusal, Trouble};
use crate::scenario::{Due, Fault, Scenario};

/// Headers that hold keys.
const SECRET: [&str; 5] =
    ["authorization", "x-api-key", "x-goog-api-key", "cookie", "proxy-authorization"];

/// One call that a program made.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST` …
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Names in lower case; the value of one that holds a key is `(removed)`.
    pub headers: BTreeMap<String, String>,
    /// The body; null when it is no JSON.
    pub body: Value,
    /// The protocol, for a call that wanted an answer of the model.
    pub protocol: Option<Protocol>,
    /// The rule that spoke, by its `when` or `has`.
    pub rule: Option<String>,
    /// Which of its steps, from 0.
    pub step: usize,
}

impl Request {
    /// All of it in one value, for looking at.
    pub fn to_json(&self) -> Value {
        json!({
            "method": self.method,
            "path": self.path,
            "rule": self.rule,
            "step": self.step,
            "headers": self.headers,
            "body": self.body,
        })
    }
}

/// A running server. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    scenario: Scenario,
    state: Mutex<State>,
    /// Wakes those who hang on purpose.
    stopped: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<Request>,
    /// How often each step went wrong already.
    faults: BTreeMap<(usize, usize), u32>,
    open: BTreeMap<usize, TcpStream>,
    connections: usize,
    answers: usize,
    stop: bool,
}

impl Server {
    /// Start on a free port of the loopback device.
    pub fn start(scenario: Scenario) -> io::Result<Self> {
        Self::start_at(scenario, 0)
    }

    /// Start on this port of the loopback device.
    pub fn start_at(scenario: Scenario, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let (state, stopped) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { scenario, state, stopped });
        let theirs = Arc::clone(&shared);
        let accepting = Some(thread::spawn(move || accept(&listener, &theirs)));
        Ok(Self { address, shared, accepting })
    }

    /// Where it is, without a final slash or version: `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every call so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.stop = true;
        for stream in state.open.values() {
            let _closed_already = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.shared.stopped.notify_all();
        // `accept` sees the flag only when somebody comes.
        let _it_woke_up = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _it_panicked = accepting.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keep the connection open and say nothing until the server ends.
    fn hang(&self) {
        let state = self.state();
        let waited = self.stopped.wait_while(state, |state| !state.stop);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// The fault of this step, unless it has gone wrong often enough.
    fn fault<'a>(&self, talk: &Conversation, due: &Due<'a>) -> Option<&'a Fault> {
        let step = due.step?;
        let fault = step.fault.as_ref()?;
        let Some(times) = step.times else { return Some(fault) };
        // A side call (a title for the session) must not use up what is meant for the work.
        if talk.tools.is_empty() {
            return None;
        }
        let mut state = self.state();
        let seen = state.faults.entry(due.place).or_default();
        *seen += 1;
        (*seen <= times).then_some(fault)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if shared.state().stop {
            break;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        threads.push(thread::spawn(move || {
            // Whoever is on the other end may go away at any time: that is their business.
            let _gone = serve(stream, &shared);
        }));
    }
    for thread in threads {
        let _it_panicked = thread.join();
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut state = shared.state();
    if state.stop {
        return Ok(());
    }
    let number = state.connections;
    state.connections += 1;
    state.open.insert(number, stream.try_clone()?);
    drop(state);
    let mut connection = Connection(BufReader::new(stream));
    let result = match Call::read(&mut connection) {
        Ok(Some(call)) => answer(&mut connection, &call, shared),
        Ok(None) => Ok(()),
        Err(e) => http::write_json(&mut connection, 400, &[], &json!({"error": e.to_string()})),
    };
    let _closed_already = connection.0.get_ref().shutdown(Shutdown::Both);
    shared.state().open.remove(&number);
    result
}

fn answer(to: &mut Connection, call: &Call, shared: &Shared) -> io::Result<()> {
    let body: Value = serde_json::from_slice(&call.body).unwrap_or(Value::Null);
    let ask = Ask::of(&call.method, &call.path);
    let (protocol, streaming) = match ask {
        Ask::Answer(protocol) => {
            (protocol, body.get("stream").and_then(Value::as_bool).unwrap_or(false))
        }
        Ask::Stream(protocol) => (protocol, true),
        Ask::Count(_) | Ask::Models | Ask::Unknown => {
            shared.state().requests.push(record(call, body));
            return side_call(to, call, ask);
        }
    };
    let talk = protocol.read(&call.path, &body);
    let due = shared.scenario.due(&talk);
    let mut seen = record(call, body);
    seen.protocol = Some(protocol);
    seen.rule = due.as_ref().map(|due| due.rule.to_owned());
    seen.step = due.as_ref().map_or(0, |due| due.place.1);
    let mut state = shared.state();
    state.requests.push(seen);
    state.answers += 1;
    let number = state.answers;
    drop(state);
    let answer = Answer::new(number, &talk, due.as_ref());
    match due.as_ref().and_then(|due| shared.fault(&talk, due)) {
        Some(fault) => go_wrong(to, protocol, &answer, fault, shared),
        None if streaming => {
            http::begin_stream(to)?;
            write_frames(to, &protocol.frames(&answer))?;
            http::end_stream(to)
        }
        None => http::write_json(to, 200, &[], &protocol.whole(&answer)),
    }
}

/// What a program asks beside its conversation.
fn side_call(to: &mut Connection, call: &Call, ask: Ask) -> io::Result<()> {
    match ask {
        Ask::Count(protocol) => http::write_json(to, 200, &[], &protocol.count(&call.body)),
        Ask::Models => {
            let body = json!({"object": "list", "data": [], "models": [], "has_more": false});
            http::write_json(to, 200, &[], &body)
        }
        _ => http::write_json(to, 404, &[], &json!({"error": {"message": "not found"}})),
    }
}

fn go_wrong(
    to: &mut Connection,
    protocol: Protocol,
    answer: &Answer,
    fault: &Fault,
    shared: &Shared,
) -> io::Result<()> {
    let trouble = match fault {
        Fault::Status { status, .. } => Some(Trouble::Status(*status)),
        Fault::Unauthorized => Some(Trouble::Unauthorized),
        Fault::TooLong => Some(Trouble::TooLong),
        Fault::UsageLimit { resets_at } => Some(Trouble::UsageLimit(*resets_at)),
        _ => None,
    };
    if let Some(trouble) = trouble {
        let Refusal { status, headers: mut extra, mut body } = protocol.refusal(trouble);
        if let Fault::Status { body: own, headers, .. } = fault {
            extra.extend(headers.clone());
            body = own.clone().unwrap_or(body);
        }
        return http::write_json(to, status, &extra, &body);
    }
    if let Fault::Hang = fault {
        shared.hang();
        return Ok(());
    }
    let frames = protocol.frames(answer);
    let (first, second) = frames.split_at(frames.len().div_ceil(2));
    http::begin_stream(to)?;
    write_frames(to, first)?;
    match fault {
        Fault::Stall => {
            shared.hang();
            return Ok(());
        }
        Fault::Drop => return Ok(()),
        Fault::StreamError => http::write_chunk(to, &protocol.error_frame())?,
        Fault::Malformed => {
            http::write_chunk(to, "data: {\"type\": \"this is not\n\n")?;
            write_frames(to, second)?;
        }
        _ => {}
    }
    http::end_stream(to)
}

fn write_frames(to: &mut Connection, frames: &[String]) -> io::Result<()> {
    frames.iter().try_for_each(|frame| http::write_chunk(to, frame))
}

fn record(call: &Call, body: Value) -> Request {
    let headers = call.headers.iter().map(|(name, value)| {
        let secret = SECRET.contains(&name.as_str());
        (name.clone(), if secret { "(removed)".to_owned() } else { value.clone() })
    });
    Request {
        method: call.method.clone(),
        path: call.path.clone(),
        headers: headers.collect(),
        body,
        protocol: None,
        rule: None,
        step: 0,
    }
}

/// Both directions of a connection.
struct Connection(BufReader<TcpStream>);

impl Read for Connection {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl BufRead for Connection {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl Write for Connection {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
