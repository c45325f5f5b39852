//! A chosen rule to what the process does, one small thing after the other.

use serde_json::{Value, json};

use super::answer;
use super::choose::{Choice, is_compaction};
use super::fault::{After, Fault, hash, strike};
use super::line::{Finished, Line, Verdict};
use super::op::{Access, Ask, Op, Performance, Shape};
use super::scenario::{Act, Answer, Chance, Failure, Garbage, Scenario, Sigterm, Spawn, Step};
use crate::backend::{CompactionTrigger, Context, LimitStatus, Usage};

/// Expand the chosen rule into the operations of a run.
pub fn expand(scenario: &Scenario, choice: &Choice, prompt: &str, ask: &Ask) -> Performance {
    let mut steps = choice.rule.steps.clone();
    if choice.rule.chance == Chance::Faults
        && !is_compaction(prompt)
        && let Some((at, fault)) = strike(&scenario.chaos, &choice.task, choice.attempt, &steps)
    {
        steps.insert(at.min(steps.len()), Step::Fault(fault));
    }
    let mut run = Run {
        choice,
        ask,
        window: scenario.window,
        trigger: match is_compaction(prompt) {
            true => CompactionTrigger::Manual,
            false => CompactionTrigger::Auto,
        },
        ops: Vec::new(),
        sigterm: choice.rule.sigterm,
        touched: Vec::new(),
        turns: 0,
        retries: 0,
        tools: 0,
        code: None,
    };
    let session = ask.resume.clone().unwrap_or_else(|| {
        format!("sim-{:016x}", hash(&[&choice.counter, &choice.attempt.to_string()]))
    });
    run.line(Line::Started { session, model: ask.model.clone() });
    run.steps(&steps);
    if run.code.is_none() {
        run.finish(Verdict::Success, None);
    }
    let code = run.code.unwrap_or(0);
    run.ops.push(Op::Exit(code));
    Performance { ops: run.ops, silent_after: choice.rule.silent_after, sigterm: run.sigterm }
}

/// Continuation after a step: the next step, or the end of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Over,
}

struct Run<'a> {
    choice: &'a Choice,
    ask: &'a Ask,
    window: u64,
    trigger: CompactionTrigger,
    ops: Vec<Op>,
    sigterm: Sigterm,
    /// Files that were named so far, for the handoff.
    touched: Vec<(String, &'static str)>,
    turns: u64,
    retries: u64,
    tools: u64,
    /// The exit code, once it has finished.
    code: Option<i32>,
}

impl Run<'_> {
    fn line(&mut self, line: Line) {
        self.ops.push(Op::Line(line));
    }

    fn text(&mut self, text: &str) {
        let text = self.fill(text);
        self.line(Line::Text { text });
    }

    /// Put the task and the attempt in.
    fn fill(&self, text: &str) -> String {
        // Most texts have neither, and then this is the one copy.
        let filled = text.replace("{task}", &self.choice.task);
        if !filled.contains("{attempt}") {
            return filled;
        }
        filled.replace("{attempt}", &self.choice.attempt.to_string())
    }

    /// The same in data: an id has no quotes, so this cannot break JSON.
    fn fill_data(&self, data: &Value) -> Option<Value> {
        serde_json::from_str(&self.fill(&data.to_string())).ok()
    }

    fn finish(&mut self, verdict: Verdict, structured: Option<Value>) {
        if verdict == Verdict::Success {
            self.turns += 1;
        }
        let (message, status) = (None, None);
        self.finished(Finished { result: verdict, turns: self.turns, status, message, structured });
    }

    fn finished(&mut self, finished: Finished) {
        self.code = Some(i32::from(finished.result != Verdict::Success));
        self.line(Line::Finished(finished));
    }

    fn steps(&mut self, steps: &[Step]) -> Flow {
        for (at, step) in steps.iter().enumerate() {
            let flow = match step {
                Step::Fault(fault) => self.fault(*fault, steps.get(at + 1..).unwrap_or_default()),
                step => self.step(step),
            };
            if flow == Flow::Over {
                return Flow::Over;
            }
        }
        Flow::Next
    }

    fn fault(&mut self, fault: Fault, rest: &[Step]) -> Flow {
        if fault == Fault::Stubborn {
            self.sigterm = Sigterm::Ignored;
        }
        let (steps, after) = fault.steps(rest);
        // The steps of a fault hold no fault.
        for step in &steps {
            if self.step(step) == Flow::Over {
                return Flow::Over;
            }
        }
        match after {
            After::GoOn => Flow::Next,
            After::End => Flow::Over,
        }
    }

    fn step(&mut self, step: &Step) -> Flow {
        match step {
            Step::Say(text) => self.text(text),
            Step::Think(text) => {
                let text = self.fill(text);
                self.line(Line::Thinking { text });
            }
            Step::Act(act) => return self.act(act),
            Step::Half { path, text } => self.half(path, text),
            Step::Answer(answer) => self.answer(answer),
            Step::Claim(claim) => {
                let facts = answer::Facts {
                    task: &self.choice.task,
                    touched: &self.touched,
                    shape: self.ask.shape,
                };
                let said = answer::claim(claim, &facts);
                self.text(&said.text);
                let structured = said.structured.and_then(|data| self.fill_data(&data));
                self.finish(Verdict::Success, structured);
            }
            Step::Fail(failure) => self.fail(failure),
            Step::Garbage(garbage) => self.ops.push(Op::Bytes(bytes_of(*garbage).to_vec())),
            Step::Raw(text) => {
                let line = self.fill(text) + "\n";
                self.ops.push(Op::Bytes(line.into_bytes()));
            }
            Step::Flood(lines) => self.ops.push(Op::Flood(*lines)),
            Step::Giant(bytes) => self.ops.push(Op::Giant(*bytes)),
            Step::Stderr(text) => self.ops.push(Op::Stderr(self.fill(text) + "\n")),
            Step::Sleep(time) => self.ops.push(Op::Sleep(*time)),
            Step::Hold(path) => self.ops.push(Op::Hold(self.fill(path))),
            Step::Spawn(spawn) => {
                let command = self.fill(&spawn.command);
                self.ops.push(Op::Spawn(Spawn { command, ..spawn.clone() }));
            }
            Step::Hang => self.ops.push(Op::Hang),
            Step::Signal(signal) => self.ops.push(Op::Signal(*signal)),
            Step::Exit(code) => {
                self.code = Some(*code);
                return Flow::Over;
            }
            Step::Fault(_) => {}
            report => return self.report(report),
        }
        match self.ops.last() {
            Some(Op::Hang | Op::Signal(_) | Op::Flood(None)) => {
                // Nothing can come after these; the code is never seen.
                self.code = self.code.or(Some(0));
                Flow::Over
            }
            _ => Flow::Next,
        }
    }

    /// Perform a step that only reports something, such as tokens, costs or retries.
    fn report(&mut self, step: &Step) -> Flow {
        let window = self.window;
        let tokens = |percent: u64| window.saturating_mul(percent) / 100;
        match step {
            Step::Usage(input, cached, output) => {
                self.line(Line::Usage(Usage { input: *input, cached: *cached, output: *output }));
            }
            Step::Cost(usd) => {
                self.line(Line::Cost { usd: *usd });
                if self.ask.budget.is_some_and(|budget| *usd > budget) {
                    self.finish(Verdict::Budget, None);
                    return Flow::Over;
                }
            }
            Step::Context(trace) => {
                for percent in trace {
                    self.line(Line::Context(Context {
                        used: tokens(*percent),
                        window: Some(window),
                    }));
                }
            }
            Step::Compact(from, to) => {
                let (before, after) = (tokens(*from), tokens(*to));
                self.line(Line::Compacted { trigger: self.trigger, before, after });
                self.line(Line::Context(Context { used: after, window: Some(window) }));
            }
            Step::CompactionFails(reason) => {
                self.line(Line::CompactionFailed { reason: reason.clone() });
            }
            Step::Retry(reason) => {
                self.retries += 1;
                let (attempt, reason) = (self.retries, reason.clone());
                self.line(Line::Retry { attempt, of: Some(10), delay_ms: Some(1000), reason });
            }
            Step::Limit(limit, resets_in) => self.ops.push(Op::Limit(*limit, *resets_in)),
            Step::Denied(tool, reason) => {
                self.line(Line::Denied { tool: tool.clone(), reason: reason.clone() });
            }
            _ => {}
        }
        Flow::Next
    }

    fn act(&mut self, act: &Act) -> Flow {
        if self.ask.max_turns.is_some_and(|most| self.turns >= most) {
            self.finish(Verdict::MaxTurns, None);
            return Flow::Over;
        }
        self.turns += 1;
        let act = self.filled(act);
        let (name, target) = call_of(&act);
        if self.ask.access == Access::ReadOnly {
            self.line(Line::Denied { tool: name.to_owned(), reason: Some(target.to_owned()) });
            return Flow::Next;
        }
        let (id, call) = self.call(name, target);
        self.line(call);
        if name != "shell" {
            let how = if name == "delete" { "deleted" } else { "modified" };
            self.touched.push((target.to_owned(), how));
        }
        self.ops.push(Op::Tool(id, act));
        Flow::Next
    }

    fn call(&mut self, name: &str, target: &str) -> (String, Line) {
        self.tools += 1;
        let id = format!("tool-{}", self.tools);
        let field = if name == "shell" { "command" } else { "path" };
        let call = Line::ToolCall {
            id: id.clone(),
            name: name.to_owned(),
            input: json!({ field: target }),
        };
        (id, call)
    }

    fn half(&mut self, path: &str, text: &str) {
        self.turns += 1;
        let (path, text) = (self.fill(path), self.fill(text));
        let (_, call) = self.call("write", &path);
        self.line(call);
        self.ops.push(Op::Half(path, text));
    }

    fn filled(&self, act: &Act) -> Act {
        match act {
            Act::Write { path, text, mode } => {
                Act::Write { path: self.fill(path), text: self.fill(text), mode: *mode }
            }
            Act::Append { path, text } => {
                Act::Append { path: self.fill(path), text: self.fill(text) }
            }
            Act::Patch { path, find, with } => {
                Act::Patch { path: self.fill(path), find: self.fill(find), with: self.fill(with) }
            }
            Act::Delete { path } => Act::Delete { path: self.fill(path) },
            Act::Shell { command } => Act::Shell { command: self.fill(command) },
        }
    }

    fn answer(&mut self, answer: &Answer) {
        let structured = match answer {
            Answer::Text(text) => {
                self.text(text);
                None
            }
            Answer::Data(data) => {
                self.text(&data.to_string());
                self.fill_data(data).filter(|_| self.ask.shape == Shape::Structured)
            }
        };
        self.finish(Verdict::Success, structured);
    }

    fn fail(&mut self, failure: &Failure) {
        let (usual, status) = match failure.verdict {
            Verdict::RateLimit => ("You have hit your limit.", None),
            Verdict::NotLoggedIn => ("Not logged in. Run `sim login`.", Some(401)),
            Verdict::ApiError => ("The model is overloaded.", Some(529)),
            Verdict::MaxTurns => ("No turns are left.", None),
            Verdict::ContextLimit => ("The prompt is too long.", None),
            Verdict::Budget => ("The budget is used up.", None),
            Verdict::Success => ("", None),
        };
        if failure.verdict == Verdict::RateLimit {
            self.ops.push(Op::Limit(LimitStatus::Rejected, failure.resets_in));
        }
        self.finished(Finished {
            result: failure.verdict,
            turns: self.turns,
            status: failure.status.or(status),
            message: Some(failure.message.clone().unwrap_or_else(|| usual.to_owned())),
            structured: None,
        });
    }
}

/// Return the tool name and the target of a tool call, for display.
fn call_of(act: &Act) -> (&'static str, &str) {
    match act {
        Act::Write { path, .. } => ("write", path),
        Act::Append { path, .. } => ("append", path),
        Act::Patch { path, .. } => ("edit", path),
        Act::Delete { path } => ("delete", path),
        Act::Shell { command } => ("shell", command),
    }
}

fn bytes_of(garbage: Garbage) -> &'static [u8] {
    match garbage {
        Garbage::Utf8 => b"\xff\xfe not text \xc3\x28\n",
        Garbage::HalfJson => b"{\"event\":\"text\",\"te\n",
        Garbage::Json => b"[1,{\"event\":\"no such event\"},null]\n",
        Garbage::Binary => b"\x00\x01\x1b[2J\x07\x00\n",
        Garbage::Cut => b"{\"event\":\"finished\",\"result\":\"succ",
    }
}
