//! What reading claude's stream costs over a bare `serde_json` loop with typed structs.
//!
//! Both read the same lines in the same run, one after the other, several times; the best of each
//! counts. The bare loop parses every line once into structs with the fields that ralph uses and
//! throws them away: no events, no state. The stream is that of a long run: words, thoughts, tool
//! calls with files in them and what the tools gave back.
//!
//! ```text
//! cargo bench -p ralph-core --bench stream             20 MB, best of 5
//! cargo bench -p ralph-core --bench stream -- 200      200 MB
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use ralph_core::backend::{Claude, Driver, Event, Exit, Outcome, Permissions, Request, Session};
use serde::Deserialize;
use serde_json::{Value, json};

const ROUNDS: usize = 5;
const MOST_RATIO: f64 = 1.5;

fn main() -> Result<(), Box<dyn Error>> {
    let size = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(20);
    let stream = stream(size << 20);
    println!("{} MB, {} lines, best of {ROUNDS}", stream.len() >> 20, lines(&stream).count());
    let (mut bare, mut driver) = (Duration::MAX, Duration::MAX);
    let mut counts = (0, 0);
    for _ in 0..ROUNDS {
        bare = bare.min(timed(&mut counts.0, || read_bare(&stream))?);
        driver = driver.min(timed(&mut counts.1, || read_driver(&stream))?);
    }
    let speed = |time: Duration| (stream.len() as f64 / 1e6) / time.as_secs_f64();
    println!("bare     {bare:>10.2?}  {:>5.0} MB/s  {} blocks", speed(bare), counts.0);
    println!("driver   {driver:>10.2?}  {:>5.0} MB/s  {} events", speed(driver), counts.1);
    let ratio = driver.as_secs_f64() / bare.as_secs_f64();
    println!("ratio    {ratio:.2} (at most {MOST_RATIO})");
    if ratio > MOST_RATIO { Err("the driver is too slow".into()) } else { Ok(()) }
}

fn timed(
    count: &mut usize,
    run: impl FnOnce() -> Result<usize, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    *count = black_box(run()?);
    Ok(start.elapsed())
}

fn lines(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    stream.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

fn read_driver(stream: &[u8]) -> Result<usize, Box<dyn Error>> {
    let request = Request {
        prompt: "",
        system: None,
        model: None,
        max_turns: None,
        permissions: Permissions::Bypass,
        mcp: None,
        schema: None,
        session: Session::New,
        budget: None,
        scratch: "/scratch",
        as_root: false,
    };
    let mut reader = Claude.reader(&request);
    let mut events = Vec::new();
    let mut count = 0;
    for line in lines(stream) {
        events.clear();
        reader.line(line, &mut events);
        count += events.iter().filter(|event| !matches!(event, Event::Unknown(_))).count();
    }
    match reader.outcome(&Exit::code(0), "") {
        Outcome::Success => Ok(count),
        outcome => Err(outcome.to_string().into()),
    }
}

fn read_bare(stream: &[u8]) -> Result<usize, Box<dyn Error>> {
    let mut count = 0;
    for line in lines(stream) {
        let line: Line = serde_json::from_slice(line)?;
        count += line.message.as_ref().map_or(0, |message| message.content.len());
        black_box(&line);
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

/// A run of at least this many bytes.
fn stream(size: usize) -> Vec<u8> {
    let mut out = String::with_capacity(size + (1 << 20));
    let mut push = |line: Value| {
        out.push_str(&line.to_string());
        out.push('\n');
        out.len()
    };
    push(json!({"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash", "Edit"],
        "model": "claude-opus-5-5", "cwd": "/work", "permissionMode": "bypassPermissions"}));
    let source =
        "    fn name(&self) -> &'static str {\n        \"stream\\t\"\n    }\n\n".repeat(12);
    for turn in 0_usize.. {
        let id = format!("msg_{turn}");
        let tool = format!("toolu_{turn}");
        let text = format!("Step {turn}: now I look at \"the\" next function — and change it.\n");
        let path = format!("/work/src/module_{}.rs", turn % 97);
        let said = source.repeat(1 + turn % 4);
        push(said_by(&id, turn, json!({"type": "thinking", "thinking": text.repeat(3)})));
        push(said_by(&id, turn, json!({"type": "text", "text": text})));
        push(said_by(
            &id,
            turn,
            json!({"type": "tool_use", "id": tool, "name": "Edit", "input":
            {"file_path": path, "old_string": source, "new_string": text, "replace_all": false}}),
        ));
        let length = push(json!({"type": "user", "message": {"role": "user", "content": [
            {"tool_use_id": tool, "type": "tool_result", "content": said, "is_error": false}]},
            "parent_tool_use_id": null, "session_id": "s", "uuid": "0751039d-aecc-48dd-95ee-2fc1e1",
            "tool_use_result": {"filePath": path, "stdout": said, "structuredPatch": [turn]}}));
        if length >= size {
            break;
        }
    }
    push(json!({"subtype": "success", "is_error": false, "num_turns": 9, "total_cost_usd": 1.5,
        "usage": usage(7), "result": "All done.", "terminal_reason": "completed",
        "permission_denials": [], "modelUsage": {"claude-opus-5-5": {"contextWindow": 1_000_000}},
        "session_id": "s", "type": "result"}));
    out.into_bytes()
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
