//! From what is known to what a person wants to know.

use std::collections::{BTreeMap, BTreeSet};

use super::past::{ReportHistory, SpecResult, seconds};
use super::{CostPoint, Report, ReportTotals, RunLine};
use crate::config::StageName;
use crate::cost_sum::CostSum;
use crate::cycle::{AttemptState, AttemptView, BackendSpending};
use crate::dashboard::NumbersGroup;
use crate::inbox::{InboxEntry, InboxStatus};
use crate::needs::{LoopProcess, NeedSources, needs};
use crate::plan::{Id, Plan, PlanLookup};

/// Sources of a report: the journal, the plan, the queue and git.
#[derive(Clone, Debug)]
pub struct ReportSources<'a> {
    pub project: &'a str,
    /// Content of the journal, over all runs.
    pub past: &'a ReportHistory,
    /// Sources for the list of things that a person has to do.
    ///
    /// The plan and the queue are in their current state.
    pub needs: NeedSources<'a>,
    /// Commits of the journal that are on the branch; `None` when git was not asked.
    pub on_branch: Option<&'a BTreeSet<String>>,
    /// The branch that is checked out.
    pub branch: Option<&'a str>,
    /// Files of the ledger that are in git.
    pub ledger: &'a [String],
    /// The same on other branches that have landed work.
    pub other_ledgers: &'a BTreeMap<String, Vec<String>>,
    /// From when on, seconds since 1970.
    pub since: i64,
    /// End of the period, seconds since 1970.
    pub until: i64,
    /// Offset of the reader's time zone from UTC, in seconds.
    pub utc_offset: i32,
}

/// An attempt with what is known about it: the unit that everything is counted from.
pub(super) struct ReportedAttempt<'a> {
    pub(super) view: &'a AttemptView,
    pub(super) spec: Option<String>,
    pub(super) ended_at: i64,
}

impl ReportedAttempt<'_> {
    /// Whether it counts: usage limits and interruptions do not.
    pub(super) fn counts(&self) -> bool {
        counts(self.view)
    }

    /// Its number among the attempts at its task that count, also those before the period.
    pub(super) fn number(&self, sources: &ReportSources<'_>) -> usize {
        let own = &self.view.started;
        let upto = |view: &AttemptView| {
            view.started.task == own.task && view.started.iteration <= own.iteration
        };
        sources.past.attempts().filter(|(view, _)| upto(view) && counts(view)).count()
    }
}

impl Report {
    /// Build the report of everything since `sources.since`.
    pub fn of(sources: &ReportSources<'_>) -> Self {
        let tries = tries(sources);
        let failed_specs = super::failed::specs(sources);
        let mut report = Self {
            project: sources.project.to_owned(),
            since: sources.since,
            until: sources.until,
            utc_offset: sources.utc_offset,
            runs: runs(sources),
            attempts: tries.iter().map(|one| one.view.summary(sources.needs.running)).collect(),
            specs: super::landed::specs(sources, &tries, &failed_specs),
            failed_specs,
            failed_tasks: super::failed::tasks(sources, &tries),
            amendments: (sources.past.history.amendments())
                .filter(|row| within(sources, seconds(&row.at)))
                .collect(),
            ..Self::default()
        };
        report.needs = needs(&sources.needs);
        report.money(sources, &tries);
        let parts = report.specs.iter().map(|part| part.cost);
        report.other_cost = parts.fold(report.totals.cost, CostSum::without);
        report.totals.waited_seconds = waited(sources);
        report.count(sources, &tries);
        report
    }

    /// Everything that cost time or money, by stage and in order.
    fn money(&mut self, sources: &ReportSources<'_>, tries: &[ReportedAttempt<'_>]) {
        let spent = sources.past.history.spending.iter();
        let mut all: Vec<(i64, &BackendSpending)> =
            spent.map(|s| (seconds(&s.at), s)).filter(|(at, _)| within(sources, *at)).collect();
        all.sort_by_key(|(at, _)| *at);
        let mut stages: BTreeMap<&str, NumbersGroup> = BTreeMap::new();
        for (at, spent) in all {
            let name = spent.role.stage().as_str();
            let stage = stages.entry(name).or_insert_with(|| NumbersGroup {
                name: name.to_owned(),
                ..NumbersGroup::default()
            });
            stage.count += 1;
            stage.add(spent);
            self.totals.agent_ms = self.totals.agent_ms.saturating_add(spent.took_ms);
            self.totals.cost.add(spent.cost);
            if spent.cost.is_some() {
                self.spending.push(CostPoint { at, total_usd: self.totals.cost.usd });
            }
        }
        if let Some(build) = stages.get_mut(StageName::Build.as_str()) {
            build.landed = tries.iter().filter(|one| one.view.fate.is_landed()).count();
        }
        self.stages = stages.into_values().collect();
        self.stages.sort_by_key(|stage| std::cmp::Reverse(stage.duration_ms));
    }

    fn count(&mut self, sources: &ReportSources<'_>, tries: &[ReportedAttempt<'_>]) {
        let queue = |status: InboxStatus| {
            let over = |e: &&InboxEntry| e.completed_at.as_deref().map(seconds);
            let of = sources.needs.inbox.iter().filter(|e| e.status == status);
            of.filter(|e| over(e).is_some_and(|at| within(sources, at))).count()
        };
        let done = self.specs.iter().filter(|part| part.done && part.spec.is_some()).count();
        let landed =
            self.specs.iter().flat_map(|part| &part.tasks).filter(|task| !task.is_partial());
        let landed: BTreeSet<&str> =
            landed.map(|task| task.attempt.started.task.as_str()).collect();
        let (first_tries, first_try_landed) = first_tries(sources, tries, &landed);
        let length = |run: &RunLine| run.last.saturating_sub(run.began.max(self.since));
        let run_seconds = self.runs.iter().map(length).filter_map(|s| u64::try_from(s).ok()).sum();
        self.totals = ReportTotals {
            specs_done: done.max(queue(InboxStatus::Done)),
            specs_failed: self.failed_specs.len(),
            tasks_landed: landed.len(),
            tasks_failed: self.failed_tasks.len(),
            attempts: tries.len(),
            first_tries,
            first_try_landed,
            run_seconds,
            ..self.totals.clone()
        };
    }
}

/// Whether a moment is in the period. A clock that was wrong for a while hides nothing newer.
pub(super) fn within(sources: &ReportSources<'_>, at: i64) -> bool {
    at >= sources.since
}

fn tries<'a>(sources: &ReportSources<'a>) -> Vec<ReportedAttempt<'a>> {
    let specs = TaskSpecMap::to(sources.needs.plan);
    let ended = |view: &AttemptView| seconds(view.ended_at.as_deref().unwrap_or(&view.at));
    let all = sources.past.attempts().filter(|(view, _)| within(sources, ended(view)));
    all.filter(|(view, _)| view.fate != AttemptState::Open)
        .map(|(view, spec)| {
            let spec = spec.map(str::to_owned).or_else(|| specs.spec_of(&view.started.task));
            ReportedAttempt { view, spec, ended_at: ended(view) }
        })
        .collect()
}

/// Map from tasks to their specs, as far as the plan still knows them.
pub(super) struct TaskSpecMap<'p> {
    lookup: PlanLookup<'p>,
    plan: &'p Plan,
}

impl<'p> TaskSpecMap<'p> {
    pub(super) fn to(plan: &'p Plan) -> Self {
        Self { lookup: PlanLookup::new(plan), plan }
    }

    pub(super) fn spec_of(&self, task: &str) -> Option<String> {
        let id = Id::new(task);
        let live = self.lookup.task(&id).map(|task| task.spec.clone());
        let spec = live.or_else(|| self.lookup.tombstone(&id).map(|stone| stone.spec.clone()))?;
        let spec = spec.or_else(|| self.plan.current_spec.clone())?;
        let entry = self.plan.specs.iter().find(|entry| entry.id == spec);
        Some(entry.and_then(|entry| entry.name.clone()).unwrap_or(spec))
    }
}

fn counts(view: &AttemptView) -> bool {
    view.fate.is_landed() || view.fate.is_failed()
}

/// Tasks that were tried for the first time, and how many of them landed with that. What landed of a spec
/// that was given up is not among those that `landed`.
fn first_tries(
    sources: &ReportSources<'_>,
    tries: &[ReportedAttempt<'_>],
    landed: &BTreeSet<&str>,
) -> (usize, usize) {
    let mut first: BTreeMap<&str, bool> = BTreeMap::new();
    for one in tries.iter().filter(|one| one.counts() && one.number(sources) == 1) {
        let task = one.view.started.task.as_str();
        first.entry(task).or_insert(one.view.fate.is_landed() && landed.contains(task));
    }
    let landed = first.values().filter(|landed| **landed).count();
    (first.len(), landed)
}

fn runs(sources: &ReportSources<'_>) -> Vec<RunLine> {
    let last = sources.past.runs.len().saturating_sub(1);
    let runs = sources.past.runs.iter().enumerate();
    runs.filter(|(_, run)| within(sources, run.last))
        .map(|(n, run)| {
            let is_running = n == last && *sources.needs.running != LoopProcess::Nobody;
            let killed = (!is_running).then(|| "killed".to_owned());
            RunLine { end: run.end.clone().or(killed), ..run.clone() }
        })
        .collect()
}

fn waited(sources: &ReportSources<'_>) -> u64 {
    let waits = sources.past.waits.iter().filter(|(at, _)| within(sources, *at));
    waits.map(|(_, seconds)| *seconds).sum()
}

/// The spec's commits that are still there, oldest first.
pub(super) fn spec_commits<'a>(sources: &ReportSources<'a>, spec: Option<&str>) -> Vec<&'a str> {
    let notes = sources.past.specs.iter().filter(|note| within(sources, note.at));
    let of_spec = notes.filter(|note| note.spec.as_deref() == spec);
    of_spec
        .filter_map(|note| match &note.fate {
            SpecResult::Committed { commit } => Some(commit.as_str()),
            SpecResult::Failed { .. } => None,
        })
        .filter(|commit| is_here(sources, commit))
        .collect()
}

/// Whether a commit is on the branch, as far as anybody has looked.
pub(super) fn is_here(sources: &ReportSources<'_>, commit: &str) -> bool {
    sources.on_branch.is_none_or(|here| here.contains(commit))
}
