//! The ledger is ralph's: what a backend wrote into the plan by hand is looked at, and mostly undone.

use ralph_core::cycle::{Record, ledger};
use ralph_core::plan::Task;
use serde_json::json;

use super::error::DriveError;
use super::plan_file::Origin;
use super::session::Session;
use crate::store::{Durability, put_view};

impl Session<'_> {
    /// After the backend: the plan as ralph left it, with what others may change kept. `text` is the
    /// plan as it was when the backend began. What came through ralph's own commands stays.
    pub(super) fn guard_plan(&mut self, text: &str, iteration: u32) -> Result<(), DriveError> {
        if self.plan.is_still(text)? {
            return Ok(());
        }
        let name = self.plan.path.to_string_lossy().into_owned();
        let (found, bytes) = self.plan.settle(|now, origin| {
            let (wanted, found) = settle(&name, text, now, origin);
            (wanted, (found, now.map(<[u8]>::to_vec)))
        })?;
        let shown = &self.plan.shown;
        let message = match found {
            Found::Fine => return Ok(()),
            Found::Mended => {
                format!("{shown}: what the backend changed beyond new tasks was undone")
            }
            Found::Damaged => {
                format!("{shown}: the backend damaged or removed it; it was put back")
            }
        };
        if let Some(new) = bytes {
            let keep = format!(".ralph/context/plan-of-backend-{iteration}");
            put_view(&self.project.root().join(keep), &new)?;
        }
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

/// What a backend made of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Something that may stay.
    Fine,
    /// Something of which a part may stay.
    Mended,
    /// Nothing that can be used.
    Damaged,
}

/// What a plan is to be: `before` is how the backend found it, `now` how it left it.
fn settle(name: &str, before: &str, now: Option<&[u8]>, origin: Origin) -> (String, Found) {
    let Some(now) = now.and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        return (before.to_owned(), Found::Damaged);
    };
    if origin == Origin::Ralph {
        return (now.to_owned(), Found::Fine);
    }
    match ledger::reconcile(name, before, now) {
        Some(kept) if kept == now => (kept, Found::Fine),
        Some(kept) => (kept, Found::Mended),
        None => (before.to_owned(), Found::Damaged),
    }
}
