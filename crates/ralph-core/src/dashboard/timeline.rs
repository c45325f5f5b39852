//! When what ran: stages, attempts, other agents and waits, each from its begin to its end.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cycle::{FailureKind, JournalEntry, JournalRecord};

/// Spans that are kept; older ones are forgotten.
const MOST: usize = 2_000;

/// Kind of a span in the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A whole run of a loop.
    Run,
    /// Stage of construct.
    Stage,
    /// Attempt at a task.
    Attempt,
    /// Consultation: questions to one or more agents.
    Consult,
    /// A wait for a usage limit.
    Wait,
}

/// Something with a begin and, as a rule, an end.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimelineSpan {
    /// Kind of the span.
    pub kind: SpanKind,
    /// Id of the run, the stage, the attempt or the consultation.
    pub id: String,
    /// A word for it: the command, the stage, the task, the role, the backend.
    pub label: String,
    /// Start of the span, RFC 3339.
    pub from: String,
    /// End of the span, RFC 3339. Absent while the span is open.
    pub to: Option<String>,
    /// Result: `landed`, `failed`, `ended`, or `lost` if no end was recorded. Absent while open.
    pub result: Option<&'static str>,
}

/// Spans of the journal, oldest first. The oldest ones are dropped when there are too many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    spans: VecDeque<TimelineSpan>,
    /// The attempt that is about to be rolled back because of a failure.
    failing: Option<String>,
}

impl Timeline {
    /// One more record of the journal.
    pub fn add(&mut self, entry: &JournalEntry) {
        let at = &entry.at;
        match &entry.record {
            JournalRecord::RunStarted(run) => {
                self.lose(at);
                self.begin(SpanKind::Run, &run.run, run.command.as_str(), at);
            }
            JournalRecord::RunEnded { .. } => self.end(SpanKind::Run, None, at, "ended"),
            JournalRecord::StageStarted(stage) => {
                self.begin(SpanKind::Stage, &stage.id, stage.stage.as_str(), at);
            }
            JournalRecord::StageEnded(_) => self.end(SpanKind::Stage, None, at, "ended"),
            JournalRecord::AttemptStarted { started, .. } => {
                self.begin(SpanKind::Attempt, &started.attempt, &started.task, at);
            }
            JournalRecord::Landed(landed) => {
                self.end(SpanKind::Attempt, Some(&landed.attempt), at, "landed");
            }
            JournalRecord::FailIntent(intent)
                if intent.failure.kind != FailureKind::Interrupted =>
            {
                self.failing = Some(intent.attempt.clone());
            }
            JournalRecord::RolledBack(discarded) => {
                let attempt = &discarded.attempt;
                let failed = self.failing.take_if(|failing| failing == attempt).is_some();
                let result = if failed { "failed" } else { "ended" };
                self.end(SpanKind::Attempt, Some(attempt), at, result);
            }
            JournalRecord::Consulting(c) => {
                self.begin(SpanKind::Consult, &c.id, c.role.as_str(), at)
            }
            JournalRecord::Consulted { id } => self.end(SpanKind::Consult, Some(id), at, "ended"),
            JournalRecord::Waiting(wait) => {
                self.begin(SpanKind::Wait, &wait.attempt, &wait.backend, at);
            }
            JournalRecord::Waited => self.end(SpanKind::Wait, None, at, "ended"),
            _ => {}
        }
    }

    fn begin(&mut self, kind: SpanKind, id: &str, label: &str, at: &str) {
        if self.spans.len() == MOST {
            self.spans.pop_front();
        }
        let (id, label, from) = (id.to_owned(), label.to_owned(), at.to_owned());
        self.spans.push_back(TimelineSpan { kind, id, label, from, to: None, result: None });
    }

    fn end(&mut self, kind: SpanKind, id: Option<&str>, at: &str, result: &'static str) {
        let meant = |span: &&mut TimelineSpan| {
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

    /// Return the newest spans, at most `most`, oldest first.
    pub fn newest(&self, most: usize) -> Vec<TimelineSpan> {
        self.spans.iter().skip(self.spans.len().saturating_sub(most)).cloned().collect()
    }
}
