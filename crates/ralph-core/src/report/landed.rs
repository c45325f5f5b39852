//! What landed, by spec, with its evidence and the way back.

use super::gather::{Sources, Try, is_here, spec_commits, within};
use super::past::{SpecFate, seconds};
use super::undo::undo;
use super::{Ended, LandedTask, Place, SpecPart};
use crate::cycle::{Fate, Landing};
use crate::inbox::Status;

/// Every spec of which something landed, in the order of the first landing.
pub(super) fn specs(sources: &Sources<'_>, tries: &[Try<'_>]) -> Vec<SpecPart> {
    let mut parts: Vec<SpecPart> = Vec::new();
    for one in tries {
        let part = part_of(&mut parts, one.spec.as_deref());
        if let Some(end) = &one.view.backend {
            part.agent_ms = part.agent_ms.saturating_add(end.took_ms);
            match end.cost {
                Some(cost) => part.cost_usd += cost,
                None => part.cost_unknown += 1,
            }
        }
        match one.ended {
            Ended::Landed => part.tasks.extend(landed(sources, tries, one)),
            Ended::Failed => part.failed_attempts += 1,
            Ended::Uncounted => {}
        }
    }
    for (asked, spec) in sources.past.asked() {
        if spec.is_none() || !within(sources, seconds(&asked.at)) {
            continue;
        }
        let part = part_of(&mut parts, spec);
        part.agent_ms = part.agent_ms.saturating_add(asked.took_ms);
        match asked.cost {
            Some(cost) => part.cost_usd += cost,
            None => part.cost_unknown += 1,
        }
    }
    // A spec may be committed without an attempt in the period.
    for note in sources.past.specs.iter().filter(|note| within(sources, note.at)) {
        if matches!(note.fate, SpecFate::Committed { .. }) {
            part_of(&mut parts, note.spec.as_deref());
        }
    }
    parts.iter_mut().for_each(|part| finish(sources, part));
    parts.retain(|part| !part.tasks.is_empty() || !part.commits.is_empty());
    parts
}

fn part_of<'p>(parts: &'p mut Vec<SpecPart>, spec: Option<&str>) -> &'p mut SpecPart {
    let at = parts.iter().position(|part| part.spec.as_deref() == spec).unwrap_or_else(|| {
        parts.push(SpecPart { spec: spec.map(str::to_owned), ..SpecPart::default() });
        parts.len() - 1
    });
    &mut parts[at]
}

fn landed(sources: &Sources<'_>, tries: &[Try<'_>], one: &Try<'_>) -> Option<LandedTask> {
    let Fate::Landed { commit, landing, proof } = &one.view.fate else { return None };
    let (started, verdict) = (&one.view.started, one.view.verdict.as_ref());
    let place = match commit {
        Some(commit) if is_here(sources, commit) => Place::Branch,
        _ if !spec_commits(sources, one.spec.as_deref()).is_empty() => Place::Spec,
        Some(_) => Place::Elsewhere,
        None => Place::Uncommitted,
    };
    let before = |t: &&Try<'_>| t.view.started.task == started.task && t.ended_at <= one.ended_at;
    let counted = tries.iter().filter(before).filter(|t| t.ended != Ended::Uncounted).count();
    let own = commit.as_deref().filter(|_| place == Place::Branch);
    Some(LandedTask {
        task: started.task.clone(),
        name: started.name.clone(),
        iteration: started.iteration,
        at: one.ended_at,
        partial: *landing == Landing::Partial,
        proof: *proof,
        gates: verdict.map(|v| v.checks.clone()).unwrap_or_default(),
        judges: verdict.map(|v| v.judges.clone()).unwrap_or_default(),
        unproven: verdict.map(|v| v.unproven.clone()).unwrap_or_default(),
        // Attempts before the period count as the loop counted them.
        tries: counted.max(usize::try_from(started.retries).unwrap_or(0) + 1),
        cost_usd: one.view.backend.as_ref().and_then(|end| end.cost),
        commit: commit.clone(),
        place,
        undo: own.and_then(|commit| undo(&started.task, &[commit], sources.ledger)),
    })
}

/// Whether the spec is done, which commits hold it, and how to undo it.
fn finish(sources: &Sources<'_>, part: &mut SpecPart) {
    let whole = spec_commits(sources, part.spec.as_deref());
    let own = part.tasks.iter().filter(|task| task.place == Place::Branch);
    let mut all: Vec<&str> = own.filter_map(|task| task.commit.as_deref()).collect();
    all.extend(&whole);
    // A revert goes from the newest to the oldest.
    all.reverse();
    let name = part.spec.as_deref().unwrap_or("tasks without a spec");
    part.undo = undo(name, &all, sources.ledger);
    part.commits = whole.iter().map(|&commit| commit.to_owned()).collect();
    let Some(spec) = &part.spec else { return };
    let queue = sources.inbox.map(|inbox| inbox.entries()).unwrap_or_default();
    let last = queue.iter().rev().find(|entry| entry.spec == *spec);
    let accepted = sources.plan.accepted_specs.iter().any(|done| {
        done.spec == *spec && done.at.as_deref().is_none_or(|at| within(sources, seconds(at)))
    });
    part.done = match last {
        Some(entry) => entry.status == Status::Done,
        None => !part.commits.is_empty() || accepted,
    };
}
