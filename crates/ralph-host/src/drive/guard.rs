//! The ledger is ralph's: what a backend wrote into the plan by hand is looked at, and mostly undone.

use ralph_core::cycle::{Record, ledger};
use ralph_core::plan::Task;
use serde_json::json;

use super::error::DriveError;
use super::session::Session;
use crate::store::{Durability, put_view};

impl Session<'_> {
    /// After the backend: the plan as ralph left it, with what others may change kept. `text` is the
    /// plan as it was when the backend began.
    pub(super) fn guard_plan(&mut self, text: &str, iteration: u32) -> Result<(), DriveError> {
        let now = crate::store::read(&self.plan.path)?;
        if now.as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        let shown = self.plan.shown.clone();
        let edited = now.as_deref().map(String::from_utf8_lossy);
        let kept = edited
            .as_deref()
            .and_then(|new| ledger::reconcile(&self.plan.path.to_string_lossy(), text, new));
        let (wanted, message) = match (edited.as_deref(), kept) {
            (Some(new), Some(kept)) if kept == new => {
                return Ok(());
            }
            (_, Some(kept)) => {
                (kept, format!("{shown}: what the backend changed beyond new tasks was undone"))
            }
            (_, None) => (
                text.to_owned(),
                format!("{shown}: the backend damaged or removed it; it was put back"),
            ),
        };
        if let Some(new) = now {
            let keep = format!(".ralph/context/plan-of-backend-{iteration}");
            put_view(&self.project.root().join(keep), &new)?;
        }
        // The directory may be gone as well. Nobody else writes there while a backend has it.
        put_view(&self.plan.path, wanted.as_bytes())?;
        crate::store::replace(&self.plan.path, wanted.as_bytes())?;
        self.warn(&message);
        let record = Record::Noted {
            event: "ledger_restored".into(),
            message,
            details: json!({ "iteration": iteration }),
        };
        self.record(record, Durability::Eventual)
    }

    /// Take the mark of a running task away.
    pub(super) fn unmark(&mut self, task: &Task) -> Result<(), DriveError> {
        let now = self.clock.stamp();
        self.plan.change(|plan, text| ledger::unmark(plan, text, &task.id, &now)).map(drop)
    }
}
