//! The dashboard's server: how soon an event is told, to how many, and what a long history costs.
//!
//! ```text
//! cargo bench -p ralph-web --bench web              all of it, about a minute
//! cargo bench -p ralph-web --bench web -- --quick   does it run at all?
//! cargo bench -p ralph-web --bench web -- --long    five minutes: does memory stay?
//! ```
//!
//! The server runs in a process of its own, so that its memory can be told from that of the clients.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts the server that it measures")]

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::cycle::{JournalRecord, Remark};
use ralph_host::clock::Clock;
use ralph_host::ids::IdSource;
use ralph_host::project::Project;
use ralph_host::store::{Durability, Journal, LedgerStore, LockHolder};
use ralph_web::{RemoteAccess, ServerOptions, WebServer};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How much of each.
struct Size {
    rounds: usize,
    clients: usize,
    seconds: u64,
    filled: usize,
    long: usize,
    loads: usize,
}

const WHOLE: Size =
    Size { rounds: 300, clients: 100, seconds: 15, filled: 200_000, long: 100_000, loads: 50 };
const QUICK: Size =
    Size { rounds: 5, clients: 10, seconds: 1, filled: 2_000, long: 2_000, loads: 3 };

/// Events a second while many listen.
const RATE: u64 = 1_000;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--server") {
        return serve(Path::new(args.get(at + 1).map_or(".", String::as_str)));
    }
    let has = |word: &str| args.iter().any(|arg| arg == word);
    let size = match (has("--quick"), has("--long")) {
        (true, _) => QUICK,
        (_, true) => Size { seconds: 300, ..WHOLE },
        _ => WHOLE,
    };
    latency(&size)?;
    many(&size)?;
    first_screen(&size)
}

/// The server, in a process of its own, until its standard input ends.
fn serve(root: &Path) -> Outcome<()> {
    let project = Project::discover(root)?;
    let store = LedgerStore::new(project.state_dir(), LockHolder::this_process("now"));
    let options = ServerOptions {
        bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: 0,
        remote: RemoteAccess::Refuse,
        plan: None,
        new_token: false,
    };
    let server =
        WebServer::bind(project, store, Clock::default(), IdSource::seeded(1), vec![], options)?;
    println!("{}", server.link());
    thread::spawn(move || server.run());
    let _end = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

/// A project with so many events, and a server on it.
struct Site {
    place: tempfile::TempDir,
    journal: Journal,
    server: Child,
    port: u16,
    token: String,
}

impl Site {
    fn new(events: usize) -> Outcome<Self> {
        let place = tempfile::tempdir()?;
        std::fs::write(place.path().join("ralph.toml"), "")?;
        let (mut journal, _) = Journal::open(&place.path().join(".ralph"))?;
        for n in 0..events {
            write(&mut journal, n)?;
        }
        let mut server = Command::new(std::env::current_exe()?)
            .arg("--server")
            .arg(place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut link = String::new();
        BufReader::new(server.stdout.take().ok_or("no output")?).read_line(&mut link)?;
        let (address, token) = link.trim().split_once("/?token=").ok_or("no link")?;
        let port = address.rsplit(':').next().ok_or("no port")?.parse()?;
        Ok(Self { journal, server, port, token: token.to_owned(), place })
    }

    fn ask(&self, path: &str, accept: &str) -> Outcome<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let (port, token) = (self.port, &self.token);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Accept: {accept}\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        Ok(stream)
    }

    fn get(&self, path: &str) -> Outcome<usize> {
        let mut answer = Vec::new();
        self.ask(path, "*/*")?.read_to_end(&mut answer)?;
        match answer.starts_with(b"HTTP/1.1 200") {
            true => Ok(answer.len()),
            false => Err(format!("{path}: {}", String::from_utf8_lossy(&answer)).into()),
        }
    }

    /// Memory of the server, in kB.
    fn memory(&self) -> Outcome<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.server.id()))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.split_whitespace().next().ok_or("no number")?.parse()?)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _gone = self.server.wait();
        let _kept = self.place.path();
    }
}

fn write(journal: &mut Journal, n: usize) -> Outcome<()> {
    let message = format!("event number {n} of a benchmark, as long as most of them are");
    let record = JournalRecord::Warned(Remark::new(message));
    journal.append("2025-01-20T10:30:00Z".into(), record, Durability::Eventual)?;
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// From an event written to an event received, next to the same line through a file and a socket.
fn latency(size: &Size) -> Outcome<()> {
    let mut site = Site::new(0)?;
    let (told, events) = mpsc::channel();
    let stream = site.ask("/api/events", "text/event-stream")?;
    listen(stream, told, "event: journal");
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut bare = TcpStream::connect(listener.local_addr()?)?;
    bare.set_nodelay(true)?;
    let (told, floors) = mpsc::channel();
    listen(listener.accept()?.0, told, "event: journal");
    let mut file = tempfile::tempfile()?;
    thread::sleep(Duration::from_millis(300));
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for n in 0..size.rounds {
        // Not in step with the server's looks.
        thread::sleep(Duration::from_millis(5 + (n as u64 * 7919) % 31));
        let began = Instant::now();
        file.write_all(&[b'x'; 200])?;
        bare.write_all(b"event: journal\n")?;
        floor.push(floors.recv_timeout(Duration::from_secs(10))? - began);
        let began = Instant::now();
        write(&mut site.journal, n)?;
        ours.push(events.recv_timeout(Duration::from_secs(10))? - began);
    }
    let (floor, ours) = (median(floor), median(ours));
    println!("event written to event received, median of {}", size.rounds);
    println!(
        "  floor (a file, a socket) {floor:.2?}   ralph {ours:.2?}   ours {:.2?}",
        ours - floor
    );
    Ok(())
}

/// The moment in which each line with these words came.
fn listen(stream: TcpStream, told: mpsc::Sender<Instant>, words: &'static str) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if line.starts_with(words) && told.send(Instant::now()).is_err() {
                return;
            }
        }
    });
}

/// Many that listen, some that do not read, and 1,000 events a second.
fn many(size: &Size) -> Outcome<()> {
    let mut site = Site::new(size.filled)?;
    site.get("/api/state")?;
    let stop = Arc::new(AtomicBool::new(false));
    let counts: Vec<Arc<AtomicU64>> = (0..size.clients).map(|_| Arc::default()).collect();
    for count in &counts {
        let (stream, count) = (site.ask("/api/events", "text/event-stream")?, Arc::clone(count));
        thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                count.fetch_add(u64::from(line.starts_with("id: ")), Ordering::Relaxed);
            }
        });
    }
    let deaf: Result<Vec<_>, _> =
        (0..size.clients / 10).map(|_| site.ask("/api/events", "text/event-stream")).collect();
    let deaf = deaf?;
    thread::sleep(Duration::from_secs(1));
    let before = site.memory()?;
    let (began, total) = (Instant::now(), RATE * size.seconds);
    let mut middle = before;
    for n in 0..total {
        write(&mut site.journal, usize::try_from(n)?)?;
        if n == total / 2 {
            middle = site.memory()?;
        }
        let due = Duration::from_micros(n * 1_000_000 / RATE);
        thread::sleep(due.saturating_sub(began.elapsed()));
    }
    let wrote = began.elapsed();
    let all = |counts: &[Arc<AtomicU64>]| counts.iter().all(|c| c.load(Ordering::Relaxed) >= total);
    while !all(&counts) && began.elapsed() < wrote + Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(10));
    }
    let behind = began.elapsed().saturating_sub(wrote);
    let exact = counts.iter().filter(|c| c.load(Ordering::Relaxed) == total).count();
    let after = site.memory()?;
    stop.store(true, Ordering::Relaxed);
    println!(
        "{} clients and {} that do not read, {total} events in {wrote:.1?}, {} kept before",
        size.clients,
        deaf.len(),
        size.filled
    );
    println!("  {exact} clients had each event once, the last {behind:.0?} after it was written");
    println!(
        "  memory of the server: {before} kB before, {middle} kB half way, {after} kB at the end"
    );
    Ok(())
}

/// All that the first screen asks for, with few events and with many.
fn first_screen(size: &Size) -> Outcome<()> {
    let (few, many) = (Site::new(100)?, Site::new(size.long)?);
    let load = |site: &Site| -> Outcome<Duration> {
        let began = Instant::now();
        for path in ["/", "/app.css", "/app.js", "/api/state", "/api/events?limit=100"] {
            site.get(path)?;
        }
        Ok(began.elapsed())
    };
    let (cold_few, cold_many) = (load(&few)?, load(&many)?);
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for _ in 0..size.loads {
        short.push(load(&few)?);
        long.push(load(&many)?);
    }
    let (short, long) = (median(short), median(long));
    println!("all requests of the first screen, median of {}", size.loads);
    println!(
        "  100 events {short:.2?}   {} events {long:.2?}   ratio {:.2}   (first time: {cold_few:.2?}, {cold_many:.2?})",
        size.long,
        long.as_secs_f64() / short.as_secs_f64()
    );
    Ok(())
}
