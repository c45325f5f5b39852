//! A chosen rule to what the process does, one small thing after the other.

use serde_json::{Value, json};

use super::answer;
use super::choose::{ChosenRule, is_compaction};
use super::fault::{Fault, FaultContinuation, hash, strike};
use super::line::{SimFinish, SimLine, SimVerdict};
use super::op::{AnswerShape, SimAccess, SimInvocation, SimOperation, SimPerformance};
use super::scenario::{
    ChanceFaults, GarbageOutput, Scenario, ScenarioStep, SigtermReaction, SimAnswer, SimFailure,
    SimSpawn, ToolAction,
};
use crate::backend::{CompactionTrigger, ContextFill, LimitStatus, TokenUsage};

/// Expand the chosen rule into the operations of a run.
pub fn expand(
    scenario: &Scenario,
    choice: &ChosenRule,
    prompt: &str,
    ask: &SimInvocation,
) -> SimPerformance {
    let mut steps = choice.rule.steps.clone();
    if choice.rule.chance == ChanceFaults::Faults
        && !is_compaction(prompt)
        && let Some((at, fault)) = strike(&scenario.chaos, &choice.task, choice.attempt, &steps)
    {
        steps.insert(at.min(steps.len()), ScenarioStep::Fault(fault));
    }
    let mut run = SimRun {
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
    run.line(SimLine::Started { session, model: ask.model.clone() });
    run.steps(&steps);
    if run.code.is_none() {
        run.finish(SimVerdict::Success, None);
    }
    let code = run.code.unwrap_or(0);
    run.ops.push(SimOperation::Exit(code));
    SimPerformance { ops: run.ops, silent_after: choice.rule.silent_after, sigterm: run.sigterm }
}

/// Continuation after a step: the next step, or the end of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepContinuation {
    Next,
    Over,
}

struct SimRun<'a> {
    choice: &'a ChosenRule,
    ask: &'a SimInvocation,
    window: u64,
    trigger: CompactionTrigger,
    ops: Vec<SimOperation>,
    sigterm: SigtermReaction,
    /// Files that were named so far, for the handoff.
    touched: Vec<(String, &'static str)>,
    turns: u64,
    retries: u64,
    tools: u64,
    /// The exit code, once it has finished.
    code: Option<i32>,
}

impl SimRun<'_> {
    fn line(&mut self, line: SimLine) {
        self.ops.push(SimOperation::Line(line));
    }

    fn text(&mut self, text: &str) {
        let text = self.fill(text);
        self.line(SimLine::Text { text });
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

    fn finish(&mut self, verdict: SimVerdict, structured: Option<Value>) {
        if verdict == SimVerdict::Success {
            self.turns += 1;
        }
        let (message, status) = (None, None);
        self.finished(SimFinish {
            result: verdict,
            turns: self.turns,
            status,
            message,
            structured,
        });
    }

    fn finished(&mut self, finished: SimFinish) {
        self.code = Some(i32::from(finished.result != SimVerdict::Success));
        self.line(SimLine::Finished(finished));
    }

    fn steps(&mut self, steps: &[ScenarioStep]) -> StepContinuation {
        for (at, step) in steps.iter().enumerate() {
            let flow = match step {
                ScenarioStep::Fault(fault) => {
                    self.fault(*fault, steps.get(at + 1..).unwrap_or_default())
                }
                step => self.step(step),
            };
            if flow == StepContinuation::Over {
                return StepContinuation::Over;
            }
        }
        StepContinuation::Next
    }

    fn fault(&mut self, fault: Fault, rest: &[ScenarioStep]) -> StepContinuation {
        if fault == Fault::Stubborn {
            self.sigterm = SigtermReaction::Ignored;
        }
        let (steps, after) = fault.steps(rest);
        // The steps of a fault hold no fault.
        for step in &steps {
            if self.step(step) == StepContinuation::Over {
                return StepContinuation::Over;
            }
        }
        match after {
            FaultContinuation::GoOn => StepContinuation::Next,
            FaultContinuation::End => StepContinuation::Over,
        }
    }

    fn step(&mut self, step: &ScenarioStep) -> StepContinuation {
        match step {
            ScenarioStep::Say(text) => self.text(text),
            ScenarioStep::Think(text) => {
                let text = self.fill(text);
                self.line(SimLine::Thinking { text });
            }
            ScenarioStep::Act(act) => return self.act(act),
            ScenarioStep::Half { path, text } => self.half(path, text),
            ScenarioStep::Answer(answer) => self.answer(answer),
            ScenarioStep::Claim(claim) => {
                let facts = answer::HandoffFacts {
                    task: &self.choice.task,
                    touched: &self.touched,
                    shape: self.ask.shape,
                };
                let said = answer::claim(claim, &facts);
                self.text(&said.text);
                let structured = said.structured.and_then(|data| self.fill_data(&data));
                self.finish(SimVerdict::Success, structured);
            }
            ScenarioStep::Fail(failure) => self.fail(failure),
            ScenarioStep::Garbage(garbage) => {
                self.ops.push(SimOperation::Bytes(bytes_of(*garbage).to_vec()))
            }
            ScenarioStep::Raw(text) => {
                let line = self.fill(text) + "\n";
                self.ops.push(SimOperation::Bytes(line.into_bytes()));
            }
            ScenarioStep::Flood(lines) => self.ops.push(SimOperation::Flood(*lines)),
            ScenarioStep::Giant(bytes) => self.ops.push(SimOperation::Giant(*bytes)),
            ScenarioStep::Stderr(text) => {
                self.ops.push(SimOperation::Stderr(self.fill(text) + "\n"))
            }
            ScenarioStep::Sleep(time) => self.ops.push(SimOperation::Sleep(*time)),
            ScenarioStep::Hold(path) => self.ops.push(SimOperation::Hold(self.fill(path))),
            ScenarioStep::Spawn(spawn) => {
                let command = self.fill(&spawn.command);
                self.ops.push(SimOperation::Spawn(SimSpawn { command, ..spawn.clone() }));
            }
            ScenarioStep::Hang => self.ops.push(SimOperation::Hang),
            ScenarioStep::Signal(signal) => self.ops.push(SimOperation::Signal(*signal)),
            ScenarioStep::Exit(code) => {
                self.code = Some(*code);
                return StepContinuation::Over;
            }
            ScenarioStep::Fault(_) => {}
            report => return self.report(report),
        }
        match self.ops.last() {
            Some(SimOperation::Hang | SimOperation::Signal(_) | SimOperation::Flood(None)) => {
                // Nothing can come after these; the code is never seen.
                self.code = self.code.or(Some(0));
                StepContinuation::Over
            }
            _ => StepContinuation::Next,
        }
    }

    /// Perform a step that only reports something, such as tokens, costs or retries.
    fn report(&mut self, step: &ScenarioStep) -> StepContinuation {
        let window = self.window;
        let tokens = |percent: u64| window.saturating_mul(percent) / 100;
        match step {
            ScenarioStep::Usage(input, cached, output) => {
                self.line(SimLine::Usage(TokenUsage {
                    input: *input,
                    cached: *cached,
                    output: *output,
                }));
            }
            ScenarioStep::Cost(usd) => {
                self.line(SimLine::Cost { usd: *usd });
                if self.ask.budget.is_some_and(|budget| *usd > budget) {
                    self.finish(SimVerdict::Budget, None);
                    return StepContinuation::Over;
                }
            }
            ScenarioStep::Context(trace) => {
                for percent in trace {
                    self.line(SimLine::Context(ContextFill {
                        used: tokens(*percent),
                        window: Some(window),
                    }));
                }
            }
            ScenarioStep::Compact(from, to) => {
                let (before, after) = (tokens(*from), tokens(*to));
                self.line(SimLine::Compacted { trigger: self.trigger, before, after });
                self.line(SimLine::Context(ContextFill { used: after, window: Some(window) }));
            }
            ScenarioStep::CompactionFails(reason) => {
                self.line(SimLine::CompactionFailed { reason: reason.clone() });
            }
            ScenarioStep::Retry(reason) => {
                self.retries += 1;
                let (attempt, reason) = (self.retries, reason.clone());
                self.line(SimLine::Retry { attempt, of: Some(10), delay_ms: Some(1000), reason });
            }
            ScenarioStep::Limit(limit, resets_in) => {
                self.ops.push(SimOperation::Limit(*limit, *resets_in))
            }
            ScenarioStep::Denied(tool, reason) => {
                self.line(SimLine::Denied { tool: tool.clone(), reason: reason.clone() });
            }
            _ => {}
        }
        StepContinuation::Next
    }

    fn act(&mut self, act: &ToolAction) -> StepContinuation {
        if self.ask.max_turns.is_some_and(|most| self.turns >= most) {
            self.finish(SimVerdict::MaxTurns, None);
            return StepContinuation::Over;
        }
        self.turns += 1;
        let act = self.filled(act);
        let (name, target) = call_of(&act);
        if self.ask.access == SimAccess::ReadOnly {
            self.line(SimLine::Denied { tool: name.to_owned(), reason: Some(target.to_owned()) });
            return StepContinuation::Next;
        }
        let (id, call) = self.call(name, target);
        self.line(call);
        if name != "shell" {
            let how = if name == "delete" { "deleted" } else { "modified" };
            self.touched.push((target.to_owned(), how));
        }
        self.ops.push(SimOperation::Tool(id, act));
        StepContinuation::Next
    }

    fn call(&mut self, name: &str, target: &str) -> (String, SimLine) {
        self.tools += 1;
        let id = format!("tool-{}", self.tools);
        let field = if name == "shell" { "command" } else { "path" };
        let call = SimLine::ToolCall {
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
        self.ops.push(SimOperation::Half(path, text));
    }

    fn filled(&self, act: &ToolAction) -> ToolAction {
        match act {
            ToolAction::Write { path, text, mode } => {
                ToolAction::Write { path: self.fill(path), text: self.fill(text), mode: *mode }
            }
            ToolAction::Append { path, text } => {
                ToolAction::Append { path: self.fill(path), text: self.fill(text) }
            }
            ToolAction::Patch { path, find, with } => ToolAction::Patch {
                path: self.fill(path),
                find: self.fill(find),
                with: self.fill(with),
            },
            ToolAction::Delete { path } => ToolAction::Delete { path: self.fill(path) },
            ToolAction::Shell { command } => ToolAction::Shell { command: self.fill(command) },
        }
    }

    fn answer(&mut self, answer: &SimAnswer) {
        let structured = match answer {
            SimAnswer::Text(text) => {
                self.text(text);
                None
            }
            SimAnswer::Data(data) => {
                self.text(&data.to_string());
                self.fill_data(data).filter(|_| self.ask.shape == AnswerShape::Structured)
            }
        };
        self.finish(SimVerdict::Success, structured);
    }

    fn fail(&mut self, failure: &SimFailure) {
        let (usual, status) = match failure.verdict {
            SimVerdict::RateLimit => ("You have hit your limit.", None),
            SimVerdict::NotLoggedIn => ("Not logged in. Run `sim login`.", Some(401)),
            SimVerdict::ApiError => ("The model is overloaded.", Some(529)),
            SimVerdict::MaxTurns => ("No turns are left.", None),
            SimVerdict::ContextLimit => ("The prompt is too long.", None),
            SimVerdict::Budget => ("The budget is used up.", None),
            SimVerdict::Success => ("", None),
        };
        if failure.verdict == SimVerdict::RateLimit {
            self.ops.push(SimOperation::Limit(LimitStatus::Rejected, failure.resets_in));
        }
        self.finished(SimFinish {
            result: failure.verdict,
            turns: self.turns,
            status: failure.status.or(status),
            message: Some(failure.message.clone().unwrap_or_else(|| usual.to_owned())),
            structured: None,
        });
    }
}

/// Return the tool name and the target of a tool call, for display.
fn call_of(act: &ToolAction) -> (&'static str, &str) {
    match act {
        ToolAction::Write { path, .. } => ("write", path),
        ToolAction::Append { path, .. } => ("append", path),
        ToolAction::Patch { path, .. } => ("edit", path),
        ToolAction::Delete { path } => ("delete", path),
        ToolAction::Shell { command } => ("shell", command),
    }
}

fn bytes_of(garbage: GarbageOutput) -> &'static [u8] {
    match garbage {
        GarbageOutput::Utf8 => b"\xff\xfe not text \xc3\x28\n",
        GarbageOutput::HalfJson => b"{\"event\":\"text\",\"te\n",
        GarbageOutput::Json => b"[1,{\"event\":\"no such event\"},null]\n",
        GarbageOutput::Binary => b"\x00\x01\x1b[2J\x07\x00\n",
        GarbageOutput::Cut => b"{\"event\":\"finished\",\"result\":\"succ",
    }
}
