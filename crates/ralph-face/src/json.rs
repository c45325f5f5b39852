//! The loop as JSON, one object a line: the words of `events.jsonl`, and what only a live stream has.
//!
//! Every line is `{"timestamp", "event", "message", "metadata"}`. What the backend says is `backend` with
//! its kind in `metadata.type`. Words for people go to another stream, so that standard output is data.

use std::io::Write;

use ralph_core::backend::{CompactionTrigger, Event, LimitStatus, ToolStatus};
use ralph_core::cycle::{End, Event as Told, FailureKind, exit_code};
use ralph_host::clock::Clock;
use ralph_host::drive::{Listener, Notice, Tally};
use serde_json::{Value, json};

use crate::lines::{Detail, Lines};
use crate::tool::tool_words;

/// Writes events.
#[derive(Debug)]
pub struct Json<W, E> {
    out: W,
    words: Lines<E>,
    clock: Clock,
    iteration: u32,
    attempt: String,
    task: String,
    gates: Vec<Value>,
    at_base: bool,
    waits: bool,
}

impl<W: Write, E: Write> Json<W, E> {
    /// Events to `out`, problems and the end in words to `words`.
    pub fn new(out: W, words: E, clock: Clock) -> Self {
        Self {
            out,
            words: Lines::new(words, Detail::Problems),
            clock,
            iteration: 0,
            attempt: String::new(),
            task: String::new(),
            gates: Vec::new(),
            at_base: false,
            waits: false,
        }
    }

    /// Where it writes.
    pub fn into_inner(self) -> (W, E) {
        (self.out, self.words.into_inner())
    }

    fn tell(&mut self, event: &str, message: impl Into<String>, metadata: Value) {
        let told = Told {
            timestamp: self.clock.stamp(),
            event: event.to_owned(),
            message: message.into(),
            metadata,
        };
        // A reader that went away stops nobody's work.
        let _ = serde_json::to_string(&told)
            .map_err(std::io::Error::from)
            .and_then(|line| writeln!(self.out, "{line}"))
            .and_then(|()| self.out.flush());
    }

    fn attempt(&mut self, notice: &Notice<'_>) {
        let Notice::Attempt {
            attempt, iteration, task, retries, backend, model, tally, log, ..
        } = notice
        else {
            return;
        };
        self.iteration = *iteration;
        self.attempt = (*attempt).to_owned();
        self.task = task.id.to_string();
        self.gates.clear();
        let metadata = json!({
            "iteration": iteration, "task_id": self.task, "attempt": attempt, "retry": retries,
            "backend": backend, "model": model, "name": task.name, "log": log, "tasks": tasks(tally),
        });
        self.tell("iteration_start", format!("Starting iteration {iteration}"), metadata);
    }

    fn gate(&mut self, notice: &Notice<'_>) {
        match notice {
            Notice::GateStarted { name, baseline } => {
                self.at_base = *baseline;
                let metadata =
                    json!({ "attempt": self.attempt, "name": name, "baseline": baseline });
                self.tell("gate_start", *name, metadata);
            }
            Notice::GateEnded { name, passed, preexisting, took_ms } => {
                let check = json!({ "name": name, "passed": passed, "preexisting": preexisting });
                if !self.at_base {
                    self.gates.push(check);
                }
                let metadata = json!({
                    "attempt": self.attempt, "name": name, "passed": passed,
                    "preexisting": preexisting, "baseline": self.at_base, "duration_ms": took_ms,
                });
                self.tell("gate_end", *name, metadata);
            }
            _ => {}
        }
    }

    fn judged(&mut self, word: &str, message: String) {
        if !self.gates.is_empty() {
            let checks = std::mem::take(&mut self.gates);
            let metadata = json!({ "attempt": self.attempt, "checks": checks });
            self.tell(word, message, metadata);
        }
    }

    fn end_of_iteration(&mut self, notice: &Notice<'_>) {
        let about = json!({
            "iteration": self.iteration, "task_id": self.task, "attempt": self.attempt,
        });
        let (message, more) = match notice {
            Notice::Landed { commit, landing, proof, summary, remarks, tally, .. } => {
                self.judged("validation_pass", "gates passed".to_owned());
                let more = json!({
                    "result": "landed", "commit": commit, "landing": landing, "proof": proof,
                    "summary": summary, "remarks": remarks, "tasks": tasks(tally),
                });
                ("landed", more)
            }
            Notice::Failed { failure, then, salvage, detail, .. } => {
                if failure.kind == FailureKind::Gates {
                    self.judged("validation_fail", failure.message.clone());
                }
                let more = json!({
                    "result": "failed", "failure": failure.kind, "attempts_left": then.left(),
                    "salvage": salvage, "detail": detail,
                });
                (failure.message.as_str(), more)
            }
            _ => return,
        };
        let message = format!("Iteration {}: {message}", self.iteration);
        self.tell("iteration_end", message, merged(about, more));
    }
}

impl<W: Write, E: Write> Listener for Json<W, E> {
    fn hear(&mut self, notice: Notice<'_>) {
        let waited = std::mem::replace(&mut self.waits, matches!(notice, Notice::Waiting { .. }));
        if waited && !self.waits {
            self.tell("wait_end", "the wait is over", json!({}));
        }
        match &notice {
            Notice::Started { run, plan, backend, gates, tally } => {
                let metadata = json!({
                    "run": run, "plan": plan, "backend": backend, "gates": gates,
                    "tasks": tasks(tally),
                });
                self.tell("orchestrator_start", format!("ralph build on {plan}"), metadata);
            }
            Notice::Recovered(what) => self.tell("recovered", *what, json!({})),
            Notice::Warning(what) => self.tell("warning", *what, json!({})),
            Notice::Attempt { .. } => self.attempt(&notice),
            Notice::Backend(event) => {
                let (message, metadata) = backend_event(event);
                let about = json!({ "attempt": self.attempt });
                self.tell("backend", message, merged(about, metadata));
            }
            Notice::Monitor(what) => {
                let metadata = json!({ "attempt": self.attempt });
                self.tell("monitor", *what, metadata);
            }
            Notice::BackendEnded { outcome, changed, cost, took_ms } => {
                let metadata = json!({
                    "attempt": self.attempt, "cost_usd": cost, "changed_files": changed,
                    "duration_ms": took_ms,
                });
                self.tell("backend_end", *outcome, metadata);
            }
            Notice::Asking { role, item, log } => {
                self.tell("agent_start", *role, json!({ "role": role, "item": item, "log": log }));
            }
            Notice::Answered(answered) => {
                let metadata = serde_json::to_value(answered).unwrap_or_default();
                self.tell("agent_end", answered.message.as_str(), metadata);
            }
            Notice::Said { who, what } => self.tell("said", *what, json!({ "who": who })),
            Notice::StageStarted { iteration, stage } => {
                let metadata = json!({ "iteration": iteration, "stage": stage });
                self.tell("stage_start", stage.as_str(), metadata);
            }
            Notice::StageEnded(end) => {
                let metadata = serde_json::to_value(end).unwrap_or_default();
                self.tell("stage_end", end.stage.as_str(), metadata);
            }
            Notice::Agent(text) => self.tell("agent", *text, json!({})),
            Notice::Summary(summary) => {
                let metadata = serde_json::to_value(summary).unwrap_or_default();
                self.tell("construct_summary", summary.reason.as_str(), metadata);
            }
            Notice::GateStarted { .. } | Notice::GateEnded { .. } => self.gate(&notice),
            Notice::Landed { .. } | Notice::Failed { .. } => self.end_of_iteration(&notice),
            Notice::Waiting { reason, seconds } if !waited => {
                self.tell("waiting", *reason, json!({ "seconds": seconds }));
            }
            Notice::Waiting { .. } => {}
            Notice::SpecLanded { subject, commit } => {
                self.tell("spec_complete", *subject, json!({ "commit": commit }));
            }
            Notice::Amended(amended) => {
                let words: Vec<String> = amended.outcomes.iter().map(ToString::to_string).collect();
                self.tell(
                    "amendments",
                    words.join("; "),
                    json!({ "amendments": amended.outcomes }),
                );
            }
            Notice::Paused => self.tell("paused", "the loop waits for `ralph resume`", json!({})),
            Notice::Stopping => self.tell("stopping", "a signal came", json!({})),
            Notice::Ended {
                end,
                reason,
                needs,
                remaining,
                landed,
                attempts,
                cost,
                took_ms,
                ..
            } => {
                let metadata = json!({
                    "status": end.word(), "exit_code": exit_code(end), "remaining": remaining,
                    "landed": landed, "attempts": attempts, "cost_usd": cost,
                    "duration_ms": took_ms, "why": why(end), "needs": needs,
                });
                self.tell("orchestrator_end", *reason, metadata);
            }
        }
        self.words.hear(notice);
    }
}

/// The evidence of an end.
fn why(end: &End) -> Vec<&str> {
    match end {
        End::Blocked { why } | End::NotVerified { why } => why.iter().map(String::as_str).collect(),
        End::Breaker(tripped) => tripped.evidence.iter().map(String::as_str).collect(),
        End::Backend { advice, .. } => advice.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

fn tasks(tally: &Tally) -> Value {
    let Tally { done, total, skipped, stuck } = tally;
    json!({ "done": done, "total": total, "skipped": skipped, "stuck": stuck })
}

fn merged(mut one: Value, more: Value) -> Value {
    if let (Value::Object(one), Value::Object(more)) = (&mut one, more) {
        one.extend(more);
    }
    one
}

/// What a backend said, in a few words and as data.
fn backend_event(event: &Event) -> (String, Value) {
    let nothing = String::new;
    match event {
        Event::Started { session, model } => {
            (nothing(), json!({ "type": "started", "session": session, "model": model }))
        }
        Event::Text(text) => (nothing(), json!({ "type": "text", "text": text })),
        Event::Thinking(text) => (nothing(), json!({ "type": "thinking", "text": text })),
        Event::ToolCall { id, name, input } => (
            tool_words(name, input, None),
            json!({ "type": "tool_call", "id": id, "name": name, "input": input }),
        ),
        Event::ToolResult { id, status, text } => {
            let ok = *status == ToolStatus::Ok;
            (nothing(), json!({ "type": "tool_result", "id": id, "ok": ok, "text": text }))
        }
        Event::Usage(usage) => (
            nothing(),
            json!({
                "type": "usage", "input": usage.input, "cached": usage.cached,
                "output": usage.output,
            }),
        ),
        Event::Cost(money) => (nothing(), json!({ "type": "cost", "cost_usd": money.0 })),
        Event::Context(context) => (
            nothing(),
            json!({ "type": "context", "used": context.used, "window": context.window }),
        ),
        Event::RateLimit(limit) => {
            let reached = limit.status == LimitStatus::Rejected;
            let value = json!({
                "type": "rate_limit", "reached": reached, "resets_at": limit.resets_at,
                "kind": limit.kind,
            });
            (nothing(), value)
        }
        Event::Retry { attempt, of, delay_ms, reason } => (
            reason.clone(),
            json!({ "type": "retry", "try": attempt, "of": of, "delay_ms": delay_ms }),
        ),
        Event::Compacted { trigger, before, after } => {
            let trigger = match trigger {
                CompactionTrigger::Auto => "auto",
                CompactionTrigger::Manual => "manual",
            };
            let value = json!({
                "type": "compacted", "trigger": trigger, "before": before, "after": after,
            });
            (nothing(), value)
        }
        Event::CompactionFailed(why) => (why.clone(), json!({ "type": "compaction_failed" })),
        Event::Denied { tool, reason } => {
            (tool.clone(), json!({ "type": "denied", "tool": tool, "reason": reason }))
        }
        Event::Finished => (nothing(), json!({ "type": "finished" })),
        Event::Unknown(text) => (nothing(), json!({ "type": "unknown", "text": text })),
    }
}
