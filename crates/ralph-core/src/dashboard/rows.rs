//! One attempt as a row of a table.

use serde::Serialize;

use crate::cycle::{AttemptView, FailureKind, Fate, History, Landing, Phase};
use crate::gate::GateCheck;
use crate::needs::Running;

/// An attempt, in the few facts that a list needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptRow {
    /// Its id.
    pub attempt: String,
    /// Its number.
    pub iteration: u32,
    /// The task.
    pub task_id: String,
    /// The task's name.
    pub name: String,
    /// Failed attempts on the task before.
    pub retry: u32,
    /// The backend.
    pub backend: String,
    /// The model asked for.
    pub model: Option<String>,
    /// `open`, `interrupted`, `landed`, `partial`, `failed`, `ended` (by a person) or `limited`.
    pub result: &'static str,
    /// The same in words, with the reason.
    pub words: String,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Milliseconds of the backend's run.
    pub duration_ms: Option<u64>,
    /// Dollars.
    pub cost_usd: Option<f64>,
    /// Tokens in and out.
    pub tokens: Option<(u64, u64)>,
    /// How many files it changed.
    pub changed_files: Option<usize>,
    /// Each gate.
    pub checks: Vec<GateCheck>,
    /// The commit.
    pub commit: Option<String>,
    /// The ref that keeps what was rolled back.
    pub salvage: Option<String>,
    /// One line about what was done.
    pub summary: String,
}

/// The row of an attempt. What a loop left open that is gone is not under way.
pub fn attempt_row(view: &AttemptView, running: &Running) -> AttemptRow {
    let (started, end) = (&view.started, view.backend.as_ref());
    let (result, words) = result(view, running);
    let (commit, salvage) = match &view.fate {
        Fate::Landed { commit, .. } => (commit.clone(), None),
        Fate::Failed { salvage, .. } => (None, salvage.clone()),
        Fate::Open | Fate::Limited => (None, None),
    };
    AttemptRow {
        attempt: started.attempt.clone(),
        iteration: started.iteration,
        task_id: started.task.clone(),
        name: started.name.clone(),
        retry: started.retries,
        backend: started.backend.clone(),
        model: started.model.clone(),
        result,
        words,
        started_at: view.at.clone(),
        ended_at: view.ended_at.clone(),
        duration_ms: end.map(|end| end.took_ms),
        cost_usd: end.and_then(|end| end.cost),
        tokens: end.and_then(|end| end.tokens),
        changed_files: end.map(|end| end.changed),
        checks: view.verdict.as_ref().map(|v| v.checks.clone()).unwrap_or_default(),
        commit,
        salvage,
        summary: end.map(|end| end.summary.clone()).unwrap_or_default(),
    }
}

fn result(view: &AttemptView, running: &Running) -> (&'static str, String) {
    match &view.fate {
        Fate::Open if *running == Running::Nobody => ("interrupted", "interrupted".to_owned()),
        Fate::Open => ("open", "under way".to_owned()),
        Fate::Limited => ("limited", "usage limit".to_owned()),
        Fate::Failed { failure, .. } => match failure.kind {
            FailureKind::Interrupted => ("ended", failure.message.clone()),
            _ => ("failed", failure.message.clone()),
        },
        Fate::Landed { landing, proof, .. } => {
            let proof = proof.remark().map(|remark| format!(", {remark}")).unwrap_or_default();
            match landing {
                Landing::Complete => ("landed", format!("landed{proof}")),
                Landing::Partial => ("partial", format!("a part landed{proof}")),
            }
        }
    }
}

/// How far the attempt under way has come: `backend`, `gates`, `landing` or `rolling_back`.
pub fn phase_word(history: &History) -> Option<&'static str> {
    Some(match &history.open.as_ref()?.phase {
        Phase::Running => "backend",
        Phase::Ended(_) => "gates",
        Phase::Landing(_) => "landing",
        Phase::RollingBack(_) => "rolling_back",
    })
}
