//! An agent that speaks ACP and does what its prompt says, one word of the first column per line:
//!
//! ```text
//! create PATH    write a file below the session's directory
//! ask PATH       ask for permission first
//! say WORDS      write a piece of the answer
//! cost DOLLARS   report a cost and a context
//! read PATH      ask the client for a file, which it does not offer
//! noise          print a line that is not the protocol
//! login          answer the prompt with "authentication required"
//! fail WORDS     answer the prompt with an error
//! crash          exit with 3 in the middle of the turn
//! hang           wait for a cancel
//! deaf           wait for ever, whatever comes
//! linger         answer, and do not exit when standard input ends
//! ```
//!
//! A prompt that comes to its end is answered with `end_turn`. With the argument `--modes` it offers
//! the modes `default` and `yolo`, and asks only in the first.

#![expect(clippy::disallowed_methods, reason = "it is an agent: it writes files")]

use std::io::{self, BufRead, StdinLock, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, thread};

use serde_json::{Value, json};

/// How a turn ended.
enum Turn {
    Answered,
    Linger,
    Crash,
}

struct Agent {
    input: StdinLock<'static>,
    cwd: PathBuf,
    mode: String,
    asked: u64,
}

fn main() -> ExitCode {
    let mut agent = Agent {
        input: io::stdin().lock(),
        cwd: PathBuf::from("."),
        mode: "default".to_owned(),
        asked: 0,
    };
    match agent.serve() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fake-acp: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Agent {
    fn serve(&mut self) -> io::Result<ExitCode> {
        while let Some(message) = self.hear()? {
            let id = &message["id"];
            match message["method"].as_str() {
                Some("initialize") => answer(id, &hello())?,
                Some("session/new") => {
                    self.cwd = PathBuf::from(message["params"]["cwd"].as_str().unwrap_or("."));
                    answer(id, &session())?;
                }
                Some("session/set_mode") => {
                    self.mode = message["params"]["modeId"].as_str().unwrap_or("").to_owned();
                    answer(id, &json!({}))?;
                }
                Some("session/prompt") => {
                    let text = message["params"]["prompt"][0]["text"].as_str().unwrap_or("");
                    match self.turn(id, text)? {
                        Turn::Answered => {}
                        Turn::Linger => forever(),
                        Turn::Crash => return Ok(ExitCode::from(3)),
                    }
                }
                Some(_) if !id.is_null() => refuse(id, -32601, "method not found")?,
                _ => {}
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The next message; `None` at the end of standard input.
    fn hear(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line)?))
    }

    fn turn(&mut self, id: &Value, prompt: &str) -> io::Result<Turn> {
        let mut end = Turn::Answered;
        for line in prompt.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "create" => self.create(rest)?,
                "ask" => self.ask(rest)?,
                "say" => update(&json!({"sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": rest}}))?,
                "cost" => {
                    let amount: f64 = rest.parse().unwrap_or(0.0);
                    update(&json!({"sessionUpdate": "usage_update", "used": 100, "size": 1000,
                        "cost": {"amount": amount, "currency": "USD"}}))?;
                }
                "read" => {
                    self.question("fs/read_text_file", json!({"sessionId": "s1", "path": rest}))?;
                }
                "noise" => print("this is not the protocol")?,
                "login" => {
                    refuse(id, -32000, "Authentication required")?;
                    return Ok(Turn::Answered);
                }
                "fail" => {
                    refuse(id, -32603, &format!("Internal error: {rest}"))?;
                    return Ok(Turn::Answered);
                }
                "crash" => return Ok(Turn::Crash),
                "hang" => {
                    while self.hear()?.is_some_and(|message| message["method"] != "session/cancel")
                    {
                    }
                    answer(id, &json!({"stopReason": "cancelled"}))?;
                    return Ok(Turn::Answered);
                }
                "deaf" => forever(),
                "linger" => end = Turn::Linger,
                _ => {}
            }
        }
        answer(id, &json!({"stopReason": "end_turn"}))?;
        Ok(end)
    }

    fn create(&mut self, path: &str) -> io::Result<()> {
        let call = format!("call-{path}");
        update(&json!({"sessionUpdate": "tool_call", "toolCallId": call, "name": "write",
            "title": format!("write {path}"), "kind": "edit", "status": "in_progress",
            "rawInput": {"path": path}}))?;
        let written = fs::write(self.cwd.join(path), "hello from the fake agent\n");
        let (status, text) = match &written {
            Ok(()) => ("completed", "written".to_owned()),
            Err(error) => ("failed", error.to_string()),
        };
        update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status,
            "rawOutput": text}))
    }

    fn ask(&mut self, path: &str) -> io::Result<()> {
        if self.mode != "yolo" {
            let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
            let response = self.question(
                "session/request_permission",
                json!({"sessionId": "s1", "toolCall": {"toolCallId": format!("call-{path}"),
                    "name": "write", "title": format!("write {path}"), "kind": "edit"},
                    "options": [option("yes", "allow_once"), option("no", "reject_once")]}),
            )?;
            if response["result"]["outcome"]["optionId"] != "yes" {
                return Ok(());
            }
        }
        self.create(path)
    }

    /// Asks the client and waits for its answer.
    fn question(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        print(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        )?;
        while let Some(message) = self.hear()? {
            if message["id"] == id.as_str() {
                return Ok(message);
            }
        }
        Err(io::Error::other("nobody answered"))
    }
}

fn hello() -> Value {
    json!({"protocolVersion": 1, "agentCapabilities": {},
        "agentInfo": {"name": "fake-acp", "version": env!("CARGO_PKG_VERSION")}})
}

fn session() -> Value {
    let mut session = json!({"sessionId": "s1"});
    if std::env::args().any(|arg| arg == "--modes") {
        let mode = |id: &str| json!({"id": id, "name": id});
        session["modes"] =
            json!({"currentModeId": "default", "availableModes": [mode("default"), mode("yolo")]});
    }
    session
}

fn answer(id: &Value, result: &Value) -> io::Result<()> {
    print(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

fn refuse(id: &Value, code: i64, message: &str) -> io::Result<()> {
    let error = json!({"code": code, "message": message});
    print(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())
}

fn update(update: &Value) -> io::Result<()> {
    let params = json!({"sessionId": "s1", "update": update});
    let message = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    print(&message.to_string())
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn forever() -> ! {
    loop {
        thread::park();
    }
}
