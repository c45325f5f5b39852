//! A server on a project of its own, and somebody who talks to it byte by byte.
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_core::cycle::{JOURNAL_FORM, JournalEntry, JournalRecord, Remark, RunStart};
use ralph_host::clock::Clock;
use ralph_host::ids::IdSource;
use ralph_host::project::Project;
use ralph_host::store::{Durability, Journal, LedgerStore, LockHolder};
use ralph_web::{RemoteAccess, ServerOptions, WebServer};
use serde_json::Value;

/// A project with a server.
pub(crate) struct Site {
    place: tempfile::TempDir,
    pub(crate) port: u16,
    pub(crate) token: String,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

/// How to listen on this machine alone.
pub(crate) fn options() -> ServerOptions {
    ServerOptions {
        bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 0,
        remote: RemoteAccess::Refuse,
        plan: None,
        new_token: false,
    }
}

/// The project in a directory.
pub(crate) fn bind(
    root: &std::path::Path,
    options: ServerOptions,
) -> Result<WebServer, ralph_web::ServeError> {
    let project = Project::discover(root).unwrap();
    let store = LedgerStore::new(project.state_dir(), LockHolder::this_process("now"));
    WebServer::bind(project, store, Clock::default(), IdSource::seeded(1), Vec::new(), options)
}

impl Site {
    /// With these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in
            [("ralph.toml", "# mine\nmode = \"handoff-only\" # memory\n")].iter().chain(files)
        {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self::on(place, 0)
    }

    fn on(place: tempfile::TempDir, port: u16) -> Self {
        let server = bind(place.path(), ServerOptions { port, ..options() }).unwrap();
        let link = server.link();
        let (address, token) = link.split_once("/?token=").unwrap();
        let port = address.rsplit(':').next().unwrap().parse().unwrap();
        let (token, stop) = (token.to_owned(), server.stopper());
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { place, port, token, stop, thread }
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        drop(self.thread.take().map(std::thread::JoinHandle::join));
    }

    /// Where it is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// What a file says.
    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Add records to the journal.
    pub(crate) fn journal(&self, records: Vec<JournalRecord>) {
        let (mut journal, _) = Journal::open(&self.path(".ralph")).unwrap();
        for record in records {
            let at = "2025-01-20T10:30:00Z".to_owned();
            let _entry: JournalEntry = journal.append(at, record, Durability::Eventual).unwrap();
        }
    }

    /// Exactly these bytes, and whatever comes back.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // It may refuse before it has read everything.
        let _refused = stream.write_all(bytes);
        let mut text = Vec::new();
        let _reset = stream.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A request with these headers beside Host.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let (port, length) = (self.port, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.raw(request.as_bytes())
    }

    /// The header of a program with the token.
    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }

    /// The headers of a browser with the cookie.
    pub(crate) fn cookie(&self) -> String {
        format!("Cookie: ralph-{}={}\r\n", self.port, self.token)
    }

    /// Read something as a program may.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &self.bearer(), "")
    }

    /// Send something as a program may.
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let headers = format!("{}Content-Type: application/json\r\n", self.bearer());
        self.ask("POST", path, &headers, body)
    }

    /// A stream of events that was asked for with these headers.
    pub(crate) fn events(&self, path: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: text/event-stream\r\n{}{headers}\r\n",
            self.port,
            self.bearer()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

/// Read an event stream up to its greeting: what is journalled from now on is in it.
pub(crate) fn await_hello(stream: &mut TcpStream) {
    let (mut text, mut byte) = (String::new(), [0]);
    while !(text.contains("event: hello") && text.ends_with("\n\n")) {
        stream.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.end();
    }
}

/// A record that becomes one event.
pub(crate) fn noted(message: &str) -> JournalRecord {
    JournalRecord::Warned(Remark::new(message))
}

/// A run begins.
pub(crate) fn run() -> JournalRecord {
    JournalRecord::RunStarted(RunStart {
        run: "r1".into(),
        command: ralph_core::cycle::RunCommand::Build,
        plan: "ralph/plan.jsonl".into(),
        mode: "handoff-only".into(),
        form: JOURNAL_FORM,
        ..RunStart::default()
    })
}

/// The numbers of the events in a stream until there are so many.
pub(crate) fn ids(stream: &mut TcpStream, count: usize) -> Vec<u64> {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    loop {
        let found: Vec<u64> = text
            .split("\n\n")
            .filter(|message| message.contains("event: journal"))
            .filter_map(|message| message.split("id: ").nth(1)?.lines().next()?.parse().ok())
            .collect();
        if found.len() >= count {
            return found;
        }
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "the stream ended after {found:?}");
        text.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
}
