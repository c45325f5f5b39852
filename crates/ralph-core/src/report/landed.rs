//! Landed work by spec, with evidence and the commands that undo it.

use super::gather::{ReportSources, ReportedAttempt, TaskSpecMap, is_here, spec_commits, within};
use super::past::{SpecResult, seconds};
use super::undo::undo;
use super::{FailedSpec, LandedTask, SpecPart, WorkPlace};
use crate::construct::needs_plan;
use crate::cost_sum::CostSum;
use crate::cycle::{AttemptState, LandedBranch};
use crate::inbox::InboxStatus;
use crate::plan::{TaskState, TombstoneKind};
use crate::text::shell_word;

/// Every spec of which something landed, in the order of the first landing.
pub(super) fn specs(
    sources: &ReportSources<'_>,
    tries: &[ReportedAttempt<'_>],
    failed: &[FailedSpec],
) -> Vec<SpecPart> {
    let mut parts: Vec<SpecPart> = Vec::new();
    for one in tries {
        let part = part_of(&mut parts, one.spec.as_deref());
        part.cost.add_attempt(one.view);
        if let Some(end) = &one.view.backend {
            part.agent_ms = part.agent_ms.saturating_add(end.took_ms);
        }
        part.tasks.extend(landed(sources, tries, one));
        part.failed_attempts += usize::from(one.view.fate.is_failed());
    }
    for (asked, spec) in sources.past.asked() {
        if spec.is_none() || !within(sources, seconds(&asked.at)) {
            continue;
        }
        let part = part_of(&mut parts, spec);
        part.agent_ms = part.agent_ms.saturating_add(asked.took_ms);
        part.cost.add(asked.cost);
    }
    // A spec may be committed without an attempt in the period.
    for note in sources.past.specs.iter().filter(|note| within(sources, note.at)) {
        if matches!(note.fate, SpecResult::Committed { .. }) {
            part_of(&mut parts, note.spec.as_deref());
        }
    }
    parts.iter_mut().for_each(|part| finish(sources, part));
    parts.retain(|part| match part.is_on_branch() {
        true => true,
        // A spec that was given up is listed with its reason.
        false => {
            !part.tasks.is_empty() && !failed.iter().any(|f| part.spec.as_ref() == Some(&f.spec))
        }
    });
    parts
}

impl SpecPart {
    fn is_on_branch(&self) -> bool {
        !self.commits.is_empty() || self.tasks.iter().any(|task| task.place == WorkPlace::Branch)
    }
}

fn part_of<'p>(parts: &'p mut Vec<SpecPart>, spec: Option<&str>) -> &'p mut SpecPart {
    let at = parts.iter().position(|part| part.spec.as_deref() == spec).unwrap_or_else(|| {
        parts.push(SpecPart { spec: spec.map(str::to_owned), ..SpecPart::default() });
        parts.len() - 1
    });
    &mut parts[at]
}

fn landed(
    sources: &ReportSources<'_>,
    tries: &[ReportedAttempt<'_>],
    one: &ReportedAttempt<'_>,
) -> Option<LandedTask> {
    let AttemptState::Landed { commit, .. } = &one.view.fate else { return None };
    if one.view.branch == LandedBranch::GivenUp {
        return None;
    }
    let started = &one.view.started;
    let place = match commit {
        Some(commit) if is_here(sources, commit) => WorkPlace::Branch,
        _ if !spec_commits(sources, one.spec.as_deref()).is_empty() => WorkPlace::Spec,
        Some(_) => WorkPlace::Elsewhere,
        None => WorkPlace::Uncommitted,
    };
    let upto = tries.iter().position(|t| std::ptr::eq(t, one)).map_or(0, |at| at + 1);
    let of_task = tries.iter().take(upto).filter(|t| t.view.started.task == started.task);
    // What an earlier part of the task cost is told with that part.
    let is_new = |t: &&ReportedAttempt<'_>| std::ptr::eq(*t, one) || !t.view.fate.is_landed();
    let mut cost = CostSum::default();
    of_task.rev().take_while(is_new).for_each(|t| cost.add_attempt(t.view));
    let branch = one.view.branch.name().filter(|name| {
        place == WorkPlace::Elsewhere && sources.branch.is_some_and(|here| here != *name)
    });
    let own = commit.as_deref().filter(|_| place == WorkPlace::Branch || branch.is_some());
    let undo = own.and_then(|commit| undo_on(sources, branch, &started.task, &[commit]));
    Some(LandedTask {
        attempt: one.view.summary(sources.needs.running),
        tries: one.number(sources),
        cost,
        place,
        branch: branch.map(str::to_owned),
        undo,
    })
}

/// The command that undoes commits on a branch; `None` is the one that is checked out.
fn undo_on(
    sources: &ReportSources<'_>,
    branch: Option<&str>,
    name: &str,
    commits: &[&str],
) -> Option<String> {
    let Some(branch) = branch else { return undo(name, commits, sources.ledger) };
    let there = undo(name, commits, sources.other_ledgers.get(branch)?)?;
    Some(format!("git switch {} && {there}", shell_word(branch)))
}

/// Whether the spec is done, which commits hold it, and how to undo it.
fn finish(sources: &ReportSources<'_>, part: &mut SpecPart) {
    let whole = spec_commits(sources, part.spec.as_deref());
    let branch = match part.is_on_branch() || !whole.is_empty() {
        true => None,
        false => part.tasks.iter().find_map(|task| task.branch.clone()),
    };
    let is_own = |task: &&LandedTask| match &branch {
        None => task.place == WorkPlace::Branch,
        Some(_) => task.branch == branch,
    };
    let own = part.tasks.iter().filter(is_own);
    let mut all: Vec<&str> = own.filter_map(|task| task.attempt.fate.kept()).collect();
    all.extend(&whole);
    // A revert goes from the newest to the oldest.
    all.reverse();
    let name = part.spec.as_deref().unwrap_or("tasks without a spec");
    part.undo = undo_on(sources, branch.as_deref(), name, &all);
    part.commits = whole.iter().map(|&commit| commit.to_owned()).collect();
    let Some(spec) = &part.spec else { return };
    let last = sources.needs.inbox.iter().rev().find(|entry| entry.spec == *spec);
    let accepted = sources.needs.plan.accepted_specs.iter().any(|done| {
        done.spec == *spec && done.at.as_deref().is_none_or(|at| within(sources, seconds(at)))
    });
    part.done = match last {
        Some(entry) => entry.status == InboxStatus::Done,
        None => !part.commits.is_empty() || accepted || is_all_done(sources, spec),
    };
}

/// Whether `ralph build` finished every task of a spec. What a construct claims has yet to be accepted.
fn is_all_done(sources: &ReportSources<'_>, spec: &str) -> bool {
    let (plan, belongs) = (sources.needs.plan, TaskSpecMap::to(sources.needs.plan));
    let is_done = |state: &TaskState| {
        matches!(state, TaskState::Done | TaskState::Accepted | TaskState::Skipped)
    };
    let open = plan.tasks.iter().filter(|task| !is_done(&task.state)).map(|task| &task.id);
    let rejected = plan.buried().filter(|stone| stone.kind == TombstoneKind::Reject);
    let mut left = open.chain(rejected.map(|stone| &stone.id));
    // Tasks that name no spec may have been done before this one was the current one.
    let is_unplanned = plan.current_spec.as_deref() == Some(spec) && needs_plan(plan, spec);
    !is_unplanned
        && !sources.past.attempts().any(|(_, constructed)| constructed == Some(spec))
        && !left.any(|id| belongs.spec_of(id.as_str()).as_deref() == Some(spec))
}
