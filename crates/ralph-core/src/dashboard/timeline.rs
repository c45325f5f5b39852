//! When what ran: stages, attempts, other agents and waits, each from its begin to its end.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cycle::{Entry, FailureKind, Record};

/// Spans that are kept; older ones are forgotten.
const MOST: usize = 2_000;

/// What a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A whole run of a loop.
    Run,
    /// A stage of construct.
    Stage,
    /// An attempt.
    Attempt,
    /// Agents that were asked.
    Consult,
    /// A wait for a usage limit.
    Wait,
}

/// Something with a begin and, as a rule, an end.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Span {
    /// What it is.
    pub kind: SpanKind,
    /// Its id: that of a run, a stage, an attempt or a consultation.
    pub id: String,
    /// A word for it: the command, the stage, the task, the role, the backend.
    pub label: String,
    /// When it began.
    pub from: String,
    /// When it ended.
    pub to: Option<String>,
    /// How: `landed`, `failed`, `ended`, `lost` when nobody wrote down its end.
    pub result: Option<&'static str>,
}

/// All spans, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    spans: VecDeque<Span>,
    /// The attempt that is about to be rolled back because of a failure.
    failing: Option<String>,
}

impl Timeline {
    /// One more record of the journal.
    pub fn add(&mut self, entry: &Entry) {
        let at = &entry.at;
        match &entry.record {
            Record::RunStarted(run) => {
                self.lose(at);
                self.begin(SpanKind::Run, &run.run, run.command.as_str(), at);
            }
            Record::RunEnded { .. } => self.end(SpanKind::Run, None, at, "ended"),
            Record::StageStarted(stage) => {
                self.begin(SpanKind::Stage, &stage.id, stage.stage.as_str(), at);
            }
            Record::StageEnded(_) => self.end(SpanKind::Stage, None, at, "ended"),
            Record::AttemptStarted { started, .. } => {
                self.begin(SpanKind::Attempt, &started.attempt, &started.task, at);
            }
            Record::Landed(landed) => {
                self.end(SpanKind::Attempt, Some(&landed.attempt), at, "landed");
            }
            Record::FailIntent(intent) if intent.failure.kind != FailureKind::Interrupted => {
                self.failing = Some(intent.attempt.clone());
            }
            Record::RolledBack(discarded) => {
                let attempt = &discarded.attempt;
                let failed = self.failing.take_if(|failing| failing == attempt).is_some();
                let result = if failed { "failed" } else { "ended" };
                self.end(SpanKind::Attempt, Some(attempt), at, result);
            }
            Record::Consulting(c) => self.begin(SpanKind::Consult, &c.id, c.role.as_str(), at),
            Record::Consulted { id } => self.end(SpanKind::Consult, Some(id), at, "ended"),
            Record::Waiting(wait) => {
                self.begin(SpanKind::Wait, &wait.attempt, &wait.backend, at);
            }
            Record::Waited => self.end(SpanKind::Wait, None, at, "ended"),
            _ => {}
        }
    }

    fn begin(&mut self, kind: SpanKind, id: &str, label: &str, at: &str) {
        if self.spans.len() == MOST {
            self.spans.pop_front();
        }
        let (id, label, from) = (id.to_owned(), label.to_owned(), at.to_owned());
        self.spans.push_back(Span { kind, id, label, from, to: None, result: None });
    }

    fn end(&mut self, kind: SpanKind, id: Option<&str>, at: &str, result: &'static str) {
        let meant = |span: &&mut Span| {
            span.kind == kind && span.to.is_none() && id.is_none_or(|id| span.id == id)
        };
        if let Some(span) = self.spans.iter_mut().rev().find(meant) {
            span.to = Some(at.to_owned());
            span.result = Some(result);
        }
    }

    /// A new run begins: what is still open, but for an attempt that is recovered, was never ended.
    fn lose(&mut self, at: &str) {
        for span in &mut self.spans {
            if span.to.is_none() && span.kind != SpanKind::Attempt {
                span.to = Some(at.to_owned());
                span.result = Some("lost");
            }
        }
    }

    /// The newest spans, oldest first.
    pub fn newest(&self, most: usize) -> Vec<Span> {
        self.spans.iter().skip(self.spans.len().saturating_sub(most)).cloned().collect()
    }
}
