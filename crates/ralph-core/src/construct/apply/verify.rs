//! VERIFY: verdicts, gaps, priorities and the word about the whole spec, all in one write.

use std::collections::BTreeSet;

use super::bench::{WorkingPlan, short};
use super::mint::{DuplicateScope, TaskCreation};
use super::{AppliedChange, EditContext};
use crate::construct::answer::{Gap, GapKind, NewTask, SpecVerdict, TaskVerdict, VerdictWord};
use crate::format::{EditError, PlanFormat};
use crate::plan::{Id, Issue, PlanEdit, Retirement, Stage, Task, TaskState, stage};
use crate::text::clip;

/// Most tasks, and most issues, that one stage makes: work must not grow without bounds.
pub const MOST_CREATED: usize = 20;

/// Characters of a gap's description in a name.
const NAME: usize = 120;

/// Verdicts of all verifiers of a stage.
#[derive(Clone, Debug)]
pub struct Verification<'a> {
    pub spec: &'a str,
    /// Verdicts about tasks, in any order.
    pub verdicts: &'a [TaskVerdict],
    /// Tasks without a usable verdict: they stay done.
    pub unverified: &'a [Id],
    /// The word about the spec as a whole; `None` when there is none that can be used.
    pub whole: Option<&'a SpecVerdict>,
    /// Rejections that a task survives, unless it has a number of its own.
    pub max_retries: u32,
}

/// Apply all verdicts to the plan and return its new text.
pub fn verified(
    text: &str,
    verification: &Verification<'_>,
    pen: EditContext<'_>,
) -> Result<AppliedChange, EditError> {
    let mut bench = WorkingPlan::new(PlanFormat::Jsonl, text, pen)?;
    let verdicts = careful(verification.verdicts);
    for verdict in &verdicts {
        judge(&mut bench, verdict, verification.max_retries);
    }
    bench.came.unverified = verification.unverified.to_vec();
    bench.commit()?;

    let mut gaps = GapWork::default();
    for verdict in &verdicts {
        let id = Id::new(verdict.task_id.trim());
        let after = bench.plan.task(&id).map(|task| task.id.clone());
        verdict.gaps.iter().for_each(|gap| gaps.sort(gap, &id, after.as_ref()));
    }
    if let Some(whole) = verification.whole {
        whole.gaps.iter().for_each(|gap| gaps.sort(gap, &Id::new(verification.spec), None));
        if !whole.satisfied && whole.gaps.is_empty() {
            let reason = short_of_nothing(&whole.reason);
            gaps.issues.push(format!("the spec is not satisfied: {reason}"));
        }
    }
    gaps.make(&mut bench);
    bench.commit()?;
    bench.prioritize(|plan, task| plan.in_scope(task.spec.as_deref()))?;

    let satisfied = verification.whole.is_some_and(SpecVerdict::is_accepted);
    if satisfied && stage(&bench.plan) == Stage::Complete {
        let (spec, at) = (verification.spec.to_owned(), bench.pen.at.to_owned());
        bench.edit(PlanEdit::AcceptSpec { spec, at });
        bench.came.spec_accepted = true;
    }
    bench.finish()
}

/// One verdict for each task, in the order in which they came: of two the more careful one counts, with
/// the gaps of both.
fn careful(verdicts: &[TaskVerdict]) -> Vec<TaskVerdict> {
    let mut all: Vec<TaskVerdict> = Vec::new();
    for verdict in verdicts {
        let id = verdict.task_id.trim().trim_matches('`').to_owned();
        let verdict = TaskVerdict { task_id: id, ..verdict.clone() };
        match all.iter_mut().find(|known| known.task_id == verdict.task_id) {
            None => all.push(verdict),
            Some(known) => {
                known.gaps.extend(verdict.gaps);
                if known.verdict == VerdictWord::Accept && verdict.verdict == VerdictWord::Reject {
                    (known.verdict, known.reason) = (verdict.verdict, verdict.reason);
                }
            }
        }
    }
    all
}

/// Accept, reject or give up one task.
fn judge(bench: &mut WorkingPlan<'_>, verdict: &TaskVerdict, max_retries: u32) {
    let id = Id::new(verdict.task_id.as_str());
    let Some(task) = bench.plan.task(&id).filter(|task| task.state == TaskState::Done).cloned()
    else {
        return bench.note(format!("a verdict about {id} is ignored: no such task is done"));
    };
    let at = bench.pen.at.to_owned();
    let Some(reason) = verdict.rejection().map(short_of_nothing) else {
        bench.edit(PlanEdit::Retire {
            id: id.clone(),
            how: Retirement::Accepted,
            reason: None,
            at,
        });
        return bench.came.accepted.push(id);
    };
    if task.retries >= task.max_retries.unwrap_or(max_retries) {
        return bench.fail(&id, &format!("rejected {} times: {reason}", task.retries + 1));
    }
    bench.note(format!("{id} is rejected: {}", short(&reason)));
    bench.edit(PlanEdit::Reject { id: id.clone(), reason, at });
    bench.came.rejected.push(id);
}

/// A reason that is never empty.
fn short_of_nothing(reason: &str) -> String {
    match reason.trim() {
        "" => "no reason was given".to_owned(),
        reason => clip(reason, 4_000),
    }
}

/// Gaps as the work that they are.
#[derive(Default)]
struct GapWork {
    tasks: Vec<(NewTask, Option<Id>)>,
    issues: Vec<String>,
}

impl GapWork {
    /// Turn a gap into a task or an issue.
    /// `about` is the task or the spec that was verified. `after` is the task, if it is still in the
    /// plan.
    fn sort(&mut self, gap: &Gap, about: &Id, after: Option<&Id>) {
        let description = match gap.description.trim() {
            "" => "a gap that the verifier did not describe",
            text => text,
        };
        let as_task = match gap.kind {
            GapKind::MissingFeature | GapKind::Incomplete | GapKind::TestCoverage => true,
            GapKind::EdgeCase => !gap.accept.is_empty(),
            GapKind::Bug | GapKind::Ambiguity | GapKind::Other => false,
        };
        if !as_task {
            self.issues.push(format!("found while verifying {about}: {description}"));
            return;
        }
        let name = match gap.title.trim() {
            "" => clip(description, NAME),
            title => title.to_owned(),
        };
        let accept = match gap.accept.is_empty() {
            true => vec![format!("this gap is closed: {description}")],
            false => gap.accept.clone(),
        };
        let notes = format!("Found while verifying {about}: {description}");
        let after = after.filter(|_| gap.kind == GapKind::Incomplete).cloned();
        self.tasks.push((NewTask { name, notes, accept, ..NewTask::default() }, after));
    }

    /// Make tasks and issues of them, up to the cap.
    fn make(self, bench: &mut WorkingPlan<'_>) {
        let spec = bench.plan.current_spec.clone();
        let waiting: BTreeSet<Option<&Id>> =
            self.tasks.iter().map(|(_, after)| after.as_ref()).collect();
        for after in waiting {
            let deps = after.into_iter().cloned().collect();
            let like = Task { spec: spec.clone(), deps, ..Task::default() };
            let mine = self.tasks.iter().filter(|(_, other)| other.as_ref() == after);
            let tasks: Vec<NewTask> = mine.map(|(task, _)| task.clone()).collect();
            let most = MOST_CREATED.saturating_sub(bench.came.created.len());
            let against = DuplicateScope::Unverified;
            bench.mint(&tasks, &TaskCreation { like: &like, instead_of: None, against, most });
        }
        let over = self.issues.len().saturating_sub(MOST_CREATED);
        for desc in self.issues.into_iter().take(MOST_CREATED) {
            bench.raise(Issue { desc, spec: spec.clone(), ..Issue::default() });
        }
        if over > 0 {
            bench.note(format!("{over} more issues were left out: enough for now"));
        }
    }
}
