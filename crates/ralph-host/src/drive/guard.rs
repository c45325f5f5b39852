//! The ledger is ralph's: what a backend wrote into the plan by hand is looked at, and mostly undone.
//!
//! That happens when the backend has ended, and after a crash in the middle of it at the next start,
//! before anybody reads the plan: it may be damaged.

use ralph_core::cycle::{
    AttemptPhase, AttemptStart, ChangedWords, History, JournalRecord, ReconciledPlan, Remark,
    reconcile,
};
use ralph_core::plan::MAX_AMENDMENTS;

use super::error::DriveError;
use super::home_guard::settle_home;
use super::listener::LoopListener;
use super::plan_file::{MissingPlanPolicy, PlanChangeOrigin, PlanFile};
use super::survivors::end_survivors;
use super::views::LoopViewFiles;
use crate::clock::Clock;
use crate::proc::JobRunner;
use crate::project::Project;
use crate::store::{Durability, Journal, LedgerStore, RunLock, put_view};

/// After a crash: take back what the backend of the interrupted attempt did to the ledger by hand. Does
/// nothing when no backend was at work, or when a loop is.
pub fn mend_ledger(
    project: &Project,
    store: &LedgerStore,
    clock: &Clock,
    listener: &mut dyn LoopListener,
) -> Result<(), DriveError> {
    let state_dir = project.state_dir();
    let (Some(watched), Some(git_dir)) = (store.watched(), project.git_dir()) else {
        return Ok(());
    };
    // Whoever has the lock looks after the ledger; that it is taken is told when a loop wants to begin.
    let Ok(_lock) = RunLock::acquire(&state_dir, store.holder()) else { return Ok(()) };
    let (mut journal, mut history) = Journal::open(&state_dir)?;
    let mut records = end_survivors(&history, &JobRunner::new("").at(git_dir));
    records.extend(mend_inbox(project, store)?);
    if let Some(by) = PlanEditor::interrupted(&history) {
        let plan = PlanFile::new(project, &watched.path, store.clone(), MissingPlanPolicy::Empty);
        let mut undone = Vec::new();
        if !plan.is_still(&watched.before)? {
            undone.extend(settle(project, &plan, &watched.before, &by)?);
        }
        undone.extend(settle_home(project, git_dir, &plan, (&history, clock.stamp()), &by)?);
        records.extend(
            undone.into_iter().map(|text| JournalRecord::LedgerRestored(Remark::new(text))),
        );
    } else {
        store.end_chain()?;
    }
    for record in records {
        let entry = journal.append(clock.stamp(), record, Durability::Eventual)?;
        history.add(&entry);
        // Files that cannot be written are told when a loop begins.
        LoopViewFiles::of(project).publish(&entry, &history, None, listener);
    }
    Ok(())
}

/// The inbox, which only commands may change while a backend runs.
fn mend_inbox(project: &Project, store: &LedgerStore) -> Result<Option<JournalRecord>, DriveError> {
    let Some(theirs) = store.release(&project.inbox())? else { return Ok(None) };
    let copy = ".ralph/context/inbox.jsonl.of-backend";
    put_view(&project.root().join(copy), theirs.as_bytes())?;
    Ok(Some(JournalRecord::LedgerRestored(Remark::new(format!(
        "ralph/inbox.jsonl: the interrupted backend may not write it; it was put back, and the other \
         version is {copy}"
    )))))
}

/// Backend or agent that may have edited the plan by hand.
pub(super) struct PlanEditor {
    /// Id of the attempt or of the consultation.
    pub(super) id: String,
    pub(super) iteration: u32,
    /// Most tasks and issues that it may add.
    pub(super) most: usize,
}

impl PlanEditor {
    /// Describe the backend of an attempt as an editor.
    pub(super) fn of(started: &AttemptStart) -> Self {
        let AttemptStart { attempt, iteration, .. } = started;
        Self { id: attempt.clone(), iteration: *iteration, most: MAX_AMENDMENTS }
    }

    /// The agent that was at work when ralph was killed. One that is only asked for advice adds nothing.
    fn interrupted(history: &History) -> Option<Self> {
        if let Some(open) =
            history.open.as_ref().filter(|open| open.phase() == AttemptPhase::Backend)
        {
            return Some(Self::of(&open.started));
        }
        let asked = history.consulting.as_ref()?;
        Some(Self { id: asked.id.clone(), iteration: asked.iteration, most: 0 })
    }
}

/// Make the plan what it is to be, given what it was `before`. Says what was undone.
pub(super) fn settle(
    project: &Project,
    plan: &PlanFile,
    before: &str,
    by: &PlanEditor,
) -> Result<Option<String>, DriveError> {
    let name = plan.path.to_string_lossy().into_owned();
    let (found, bytes) = plan.settle(|now, origin| {
        let found = look(&name, before, now, origin, by.most, ChangedWords::Undo);
        let wanted = match &found {
            GuardedPlanState::Fine(text) => text.clone(),
            GuardedPlanState::Edited(kept) => kept.text.clone(),
            GuardedPlanState::Damaged => before.to_owned(),
        };
        (wanted, (found, now.map(<[u8]>::to_vec)))
    })?;
    let shown = &plan.shown;
    let message = match found {
        GuardedPlanState::Fine(_) => return Ok(None),
        GuardedPlanState::Edited(ReconciledPlan { added, undone, .. }) => {
            plan.count_added(&by.id, added)?;
            if undone.is_empty() {
                return Ok(None);
            }
            format!("{shown}: what the backend did to it by hand was undone: {}", undone.join("; "))
        }
        GuardedPlanState::Damaged => {
            format!("{shown}: the backend damaged or removed it; it was put back")
        }
    };
    if let Some(new) = bytes {
        let keep = format!(".ralph/context/plan-of-backend-{}", by.iteration);
        put_view(&project.root().join(keep), &new)?;
    }
    Ok(Some(message))
}

/// State of the plan after a backend has worked.
pub(super) enum GuardedPlanState {
    /// Text of a plan that may stay as it is.
    Fine(String),
    /// Something that was written by hand, and what may stay of it.
    Edited(ReconciledPlan),
    /// Plan that cannot be parsed.
    Damaged,
}

/// `before` is how the backend found a plan, `now` how it left it.
pub(super) fn look(
    name: &str,
    before: &str,
    now: Option<&[u8]>,
    origin: PlanChangeOrigin,
    most: usize,
    words: ChangedWords,
) -> GuardedPlanState {
    let Some(now) = now.and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        return GuardedPlanState::Damaged;
    };
    if origin == PlanChangeOrigin::Ralph {
        return GuardedPlanState::Fine(now.to_owned());
    }
    match reconcile(name, before, now, most, words) {
        Some(kept) => GuardedPlanState::Edited(kept),
        None => GuardedPlanState::Damaged,
    }
}
