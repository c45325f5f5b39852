//! What following claude's stream costs over a bare `serde_json` loop with typed structs.
//!
//! The stream of a long run (words, thoughts, tool calls with files in them and what the tools gave
//! back) is in a file. The bare loop reads that file and parses every line once into structs with
//! the fields that ralph uses, and throws them away: no events, no state. Ralph's way is the whole of
//! it: a program that prints the file under the runner and its supervisor, every byte into a log, the
//! driver's events, the monitor's decisions, a listener. Both take turns, each time in a process of
//! its own, so that the most memory each has used is its own; the best time of each counts.
//!
//! ```text
//! cargo bench -p ralph-host --bench stream             200 MB, best of 5, and memory at 20 MB
//! cargo bench -p ralph-host --bench stream -- 20       20 MB
//! ```
#![expect(clippy::disallowed_methods, reason = "this program makes files and starts itself")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use ralph_core::backend::{
    BackendDriver, BackendEvent, BackendFeatures, BackendOutcome, BackendReader, BackendRequest,
    ClaudeDriver, Invocation,
};
use ralph_core::limits::{BackendRunLimits, LimitMonitor};
use ralph_host::backends::{BackendCall, BackendNotice, FullContextPolicy, run_backend};
use ralph_host::proc::{CancelToken, JobBounds, JobRunner, supervise_if_asked};
use serde::Deserialize;
use serde_json::{Value, json};

const ROUNDS: usize = 5;
const MOST_RATIO: f64 = 1.5;
/// One of the two ways, in a process of its own.
const ONE: &str = "--one";

fn main() -> ExitCode {
    // The runner starts this very program as its supervisor.
    if let Some(code) = supervise_if_asked() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().position(|arg| arg == ONE) {
        Some(at) => one(args.get(at + 1..).unwrap_or_default()),
        None => compare(args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(200)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("stream: {e}");
            ExitCode::FAILURE
        }
    }
}

/// What one process found out.
#[derive(Clone, Copy)]
struct Found {
    time: Duration,
    /// Processor time of all its threads, which other work on the machine changes less.
    work: Duration,
    /// The most memory it had, in kilobytes.
    peak: u64,
    /// Blocks or events.
    count: u64,
}

fn compare(megabytes: usize) -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let file = place.path().join("stream.jsonl");
    generate(&file, megabytes << 20)?;
    let length = std::fs::metadata(&file)?.len();
    println!("{} MB, best of {ROUNDS}", length >> 20);
    let (mut bare, mut ours) = (child("bare", &file)?, child("ralph", &file)?);
    for _ in 1..ROUNDS {
        bare = better(bare, child("bare", &file)?);
        ours = better(ours, child("ralph", &file)?);
    }
    for (name, found, what) in [("bare", bare, "blocks"), ("ralph", ours, "events")] {
        println!(
            "{name:<8} {:>10.2?}  {:>10.2?} of work  {:>5.0} MB/s  peak {:>6} kB  {} {what}",
            found.time,
            found.work,
            length as f64 / 1e6 / found.time.as_secs_f64(),
            found.peak,
            found.count,
        );
    }
    let ratio = ours.time.as_secs_f64() / bare.time.as_secs_f64();
    let work = ours.work.as_secs_f64() / bare.work.as_secs_f64();
    let verdict = if ratio <= MOST_RATIO { "within" } else { "over" };
    println!("ratio    {ratio:.2}, {verdict} the goal of {MOST_RATIO}; {work:.2} of work");
    let small = place.path().join("small.jsonl");
    generate(&small, (megabytes << 20) / 10)?;
    let small = child("ralph", &small)?;
    println!("memory   peak {} kB with a tenth of the stream", small.peak);
    Ok(())
}

fn better(a: Found, b: Found) -> Found {
    Found {
        time: a.time.min(b.time),
        work: a.work.min(b.work),
        peak: a.peak.max(b.peak),
        count: b.count,
    }
}

fn child(way: &str, file: &Path) -> Result<Found, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args([ONE, way]).arg(file).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    match numbers[..] {
        [time, work, peak, count] if output.status.success() => {
            let [time, work] = [time, work].map(Duration::from_micros);
            Ok(Found { time, work, peak, count })
        }
        _ => Err(format!("{way} failed: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn one(args: &[String]) -> Result<(), Box<dyn Error>> {
    let [way, file, ..] = args else { return Err("which way, and which file?".into()) };
    let start = Instant::now();
    let count = match way.as_str() {
        "bare" => read_bare(Path::new(file))?,
        _ => read_as_ralph(Path::new(file))?,
    };
    let time = start.elapsed();
    println!("{} {} {} {count}", time.as_micros(), work()?.as_micros(), peak()?);
    Ok(())
}

/// The most memory that this process has had, in kilobytes.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmHWM")?;
    Ok(number.parse()?)
}

/// The processor time that this process has used, in steps of a hundredth of a second.
fn work() -> Result<Duration, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, after_name) = stat.rsplit_once(')').ok_or("no name in stat")?;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(Duration::from_millis(ticks.sum::<Result<u64, _>>()? * 10))
}

/// Claude's reader over a program that prints a file.
struct Prints<'a>(&'a str);

impl BackendDriver for Prints<'_> {
    fn name(&self) -> &str {
        "claude"
    }
    fn program(&self) -> &str {
        "cat"
    }
    fn supports(&self) -> BackendFeatures {
        ClaudeDriver.supports()
    }
    fn invocation(&self, _: &BackendRequest<'_>) -> Invocation {
        Invocation { args: vec![self.0.to_owned()], ..Invocation::default() }
    }
    fn reader(&self, request: &BackendRequest<'_>) -> Box<dyn BackendReader> {
        ClaudeDriver.reader(request)
    }
}

fn read_as_ralph(file: &Path) -> Result<u64, Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let log = place.path().join("log");
    let call = BackendCall {
        driver: &Prints(file.to_str().ok_or("a strange path")?),
        program: None,
        args: &[],
        env: &[],
        surroundings: &[],
        request: BackendRequest::plain(""),
        cwd: place.path(),
        scratch: place.path(),
        log: Some(&log),
        on_compact: FullContextPolicy::Stop,
        bounds: JobBounds::default(),
        cancel: CancelToken::default(),
    };
    let mut monitor = LimitMonitor::new(BackendRunLimits {
        timeout: Some(Duration::from_secs(3600)),
        idle: Some(Duration::from_secs(600)),
        max_cost: Some(100.0),
        context_warn: 0.70,
        context_compact: 0.85,
        context_kill: 0.95,
        window: None,
    });
    let mut count = 0;
    let mut listener = |heard: BackendNotice<'_>| {
        count += u64::from(
            matches!(heard, BackendNotice::Event(e) if !matches!(e, BackendEvent::Unknown(_))),
        );
    };
    let report = run_backend(&JobRunner::new("bench"), &call, &mut monitor, &mut listener)?;
    let logged = std::fs::metadata(&log)?.len();
    match report.outcome {
        BackendOutcome::Success if logged == std::fs::metadata(file)?.len() => Ok(count),
        outcome => Err(format!("{outcome}, {logged} bytes in the log").into()),
    }
}

fn read_bare(file: &Path) -> Result<u64, Box<dyn Error>> {
    let mut from = BufReader::with_capacity(64 * 1024, File::open(file)?);
    let (mut bytes, mut count) = (Vec::new(), 0);
    while from.read_until(b'\n', &mut bytes)? > 0 {
        let line: Line = serde_json::from_slice(&bytes)?;
        count += line.message.as_ref().map_or(0, |message| message.content.len() as u64);
        black_box(&line);
        bytes.clear();
    }
    Ok(count)
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is thrown away")]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    session_id: Option<String>,
    parent_tool_use_id: Option<String>,
    model: Option<String>,
    message: Option<Message>,
    result: Option<String>,
    is_error: Option<bool>,
    total_cost_usd: Option<f64>,
    usage: Option<Tokens>,
    #[serde(rename = "modelUsage")]
    models: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is thrown away")]
struct Message {
    id: Option<String>,
    content: Vec<Block>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is thrown away")]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<String>,
    content: Option<String>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is thrown away")]
struct Tokens {
    input_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    output_tokens: u64,
}

/// Writes a run of at least this many bytes.
fn generate(file: &Path, size: usize) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut length = 0;
    let mut push = |line: Value| {
        let line = format!("{line}\n");
        length += line.len();
        out.write_all(line.as_bytes()).map(|()| length)
    };
    push(
        json!({"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash", "Edit"],
        "model": "claude-opus-5-5", "cwd": "/work", "permissionMode": "bypassPermissions"}),
    )?;
    let source =
        "    fn name(&self) -> &'static str {\n        \"stream\\t\"\n    }\n\n".repeat(12);
    for turn in 0_usize.. {
        let id = format!("msg_{turn}");
        let tool = format!("toolu_{turn}");
        let text = format!("Step {turn}: now I look at \"the\" next function — and change it.\n");
        let path = format!("/work/src/module_{}.rs", turn % 97);
        let said = source.repeat(1 + turn % 4);
        push(said_by(&id, turn, json!({"type": "thinking", "thinking": text.repeat(3)})))?;
        push(said_by(&id, turn, json!({"type": "text", "text": text})))?;
        push(said_by(
            &id,
            turn,
            json!({"type": "tool_use", "id": tool, "name": "Edit", "input":
            {"file_path": path, "old_string": source, "new_string": text, "replace_all": false}}),
        ))?;
        let length = push(json!({"type": "user", "message": {"role": "user", "content": [
            {"tool_use_id": tool, "type": "tool_result", "content": said, "is_error": false}]},
            "parent_tool_use_id": null, "session_id": "s", "uuid": "0751039d-aecc-48dd-95ee-2fc1e1",
            "tool_use_result": {"filePath": path, "stdout": said, "structuredPatch": [turn]}}))?;
        if length >= size {
            break;
        }
    }
    push(json!({"subtype": "success", "is_error": false, "num_turns": 9, "total_cost_usd": 1.5,
        "usage": usage(7), "result": "All done.", "terminal_reason": "completed",
        "permission_denials": [], "modelUsage": {"claude-opus-5-5": {"contextWindow": 1_000_000}},
        "session_id": "s", "type": "result"}))?;
    Ok(out.flush()?)
}

fn said_by(id: &str, turn: usize, block: Value) -> Value {
    json!({"type": "assistant", "message": {"id": id, "type": "message", "role": "assistant",
        "model": "claude-opus-5-5", "content": [block], "stop_reason": null,
        "usage": usage(turn), "context_management": null}, "parent_tool_use_id": null,
        "session_id": "s", "uuid": "c05f9529-5493-434d-a7d2-4d3eae", "request_id": "req_1",
        "timestamp": "2026-11-15T20:12:05.464Z"})
}

fn usage(turn: usize) -> Value {
    json!({"input_tokens": 1200 + turn, "cache_creation_input_tokens": 10,
        "cache_read_input_tokens": 300, "output_tokens": 1,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard"})
}
