//! A spec that is done becomes one commit on the tip of the run.
//!
//! # Theory of operation
//!
//! ```text
//! fit_spec:   the spec's ref + the tip → merged in objects → gates in the lane if others changed something
//! land_spec:  merged → hooks → ledger → commit in the lane → tip → journal → the spec's refs go
//! ```
//!
//! Both may be repeated after a crash: the id in the trailer of the commit follows from the work, so a
//! commit that is there already is found.

use std::collections::BTreeSet;

use ralph_core::config::CommitScope;
use ralph_core::cycle::{JournalRecord, SpecLanding, without_open_work};
use ralph_core::plan::{Id, Plan, Task, TaskState, TombstoneKind};

use super::consult::few;
use super::error::DriveError;
use super::session::RunSession;
use super::specs::spec_keeper;
use crate::crash;
use crate::git::{
    ATTEMPT, CommitMessage, GitError, LaneCommitError, Oid, Repo, RepoPath, SpecTipMerge,
    gate_trailers,
};
use crate::lanes::HookReport;
use crate::project::Project;
use crate::run_ledger::LedgerCommitKind;
use crate::store::{Durability, put_view};

/// Digits of a commit in the id of a spec's commit.
const SHORT: usize = 12;

/// A spec that is done, on what the tip is now.
pub(super) enum SpecTipCheck {
    /// Work whose proof still holds: it fits on the tip, and its gates pass.
    Proven,
    /// Others have committed meanwhile, and with that it does not work: why.
    Broken(String),
    /// Somebody wants an end before that is known.
    Stopped,
}

/// A spec whose work is to become one commit.
pub(super) struct FinishedSpec {
    pub(super) keeper: String,
    /// The name of the spec; `None` for tasks without one.
    pub(super) spec: Option<String>,
    /// The entry of the inbox. Its commit is made also when the ledger alone has changed.
    pub(super) entry: Option<String>,
    /// The tasks of the spec that are done.
    pub(super) tasks: Vec<String>,
    pub(super) message: CommitMessage,
}

impl RunSession<'_> {
    /// Whether what is about to be committed is what the gates saw. The tip may have moved since the spec
    /// began; then the gates run once more, on both together.
    pub(super) fn fit_spec_to_tip(&mut self, keeper: &str) -> Result<SpecTipCheck, DriveError> {
        let tip = self.work.tip.clone();
        let Some(work) = self.repo.spec_work(keeper, &tip)? else {
            return Ok(SpecTipCheck::Proven);
        };
        let (merged, others) = match self.repo.merge_spec(&work, &tip)? {
            SpecTipMerge::Conflict(paths) => return Ok(SpecTipCheck::Broken(conflict(&paths))),
            SpecTipMerge::Fits { merged, others } => (merged, others),
        };
        if others.is_empty() || self.gates.is_empty() {
            return Ok(SpecTipCheck::Proven);
        }
        self.log_line(&format!(
            "GATES: others have committed meanwhile ({}), so they run again",
            ralph_core::words::count(others.len(), "file")
        ));
        Ok(match self.gate_commit(&merged)? {
            None => SpecTipCheck::Stopped,
            Some(red) if red.is_empty() => SpecTipCheck::Proven,
            Some(red) => SpecTipCheck::Broken(format!(
                "others have committed meanwhile, and on that these gates fail: {}",
                red.join(", ")
            )),
        })
    }

    /// Commit the work of a spec with the ledger on the tip, from where it may arrive. `None` when there was
    /// nothing to commit; the inner error is why it was refused, in words.
    pub(super) fn land_spec(
        &mut self,
        finished: &FinishedSpec,
    ) -> Result<Result<Option<String>, String>, DriveError> {
        let tip = self.work.tip.clone();
        let spec_work = self.repo.spec_work(&finished.keeper, &tip)?;
        let end = spec_work.as_ref().map(|work| work.end.as_str());
        let of_work = end.map(|end| format!("spec-{}", end.get(..SHORT).unwrap_or(end)));
        let Some(attempt) = finished.entry.clone().or(of_work) else { return Ok(Ok(None)) };
        if let Some(commit) = self.repo.commit_with_trailer(&tip, ATTEMPT, &attempt)? {
            return self.spec_landed(finished, attempt, &commit, true).map(Ok);
        }
        let merged = match spec_work {
            None => tip.clone(),
            Some(work) => match self.repo.merge_spec(&work, &tip)? {
                SpecTipMerge::Conflict(paths) => return Ok(Err(conflict(&paths))),
                SpecTipMerge::Fits { merged, .. } => merged,
            },
        };
        self.work.lane.stage_on(&merged, &tip)?;
        let message = match self.run_spec_hooks(&tip, finished, &attempt, merged != tip)? {
            Ok(message) => message,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let riding = self.write_riding_files(LedgerCommitKind::Landing, Some(&finished.keeper))?;
        let commit = match self.commit_on_tip(&tip, message, riding) {
            Ok(commit) => commit,
            Err(LaneCommitError::Nothing) => {
                self.repo.drop_spec(&finished.keeper)?;
                return Ok(Ok(None));
            }
            Err(LaneCommitError::Git(e)) => return Err(e.into()),
            Err(refusal) => return Ok(Err(refusal.to_string())),
        };
        crash::point();
        self.spec_landed(finished, attempt, &commit, false).map(Ok)
    }

    /// The tasks of all open specs but the one that lands.
    pub(super) fn open_tasks(&mut self, landing: Option<&str>) -> Result<BTreeSet<Id>, DriveError> {
        let mut open = match self.work.open_specs.take() {
            Some(open) if self.scope() == CommitScope::Task => open,
            _ => self.repo.open_specs()?,
        };
        self.work.open_specs = Some(open.clone());
        open.retain(|keeper| Some(keeper.as_str()) != landing);
        if open.is_empty() {
            return Ok(BTreeSet::new());
        }
        let plan = self.known_plan()?;
        let tasks = plan.all_tasks().into_iter();
        let tasks = tasks.filter(|task| open.contains(&keeper_of(task, &plan)));
        Ok(tasks.map(|task| task.id).collect())
    }

    /// A commit gives a status only to work that it contains: in the plan that rides in it, tasks of open
    /// specs are as they were before.
    pub(super) fn leave_statuses_out(&self, open: &BTreeSet<Id>) -> Result<(), DriveError> {
        let (work, plan) = (&self.work, &self.work.ledger.open_run().plan);
        let path = work.lane.root().join(plan);
        let committed = self.repo.project_file_at(&work.tip, plan)?;
        let before = committed.map_or_else(|| work.ledger.seen(plan), |bytes| Ok(Some(bytes)))?;
        let Some((before, text)) = before.zip(crate::store::read(&path)?) else { return Ok(()) };
        let text = String::from_utf8_lossy(&text);
        let (before, at) = (String::from_utf8_lossy(&before), self.clock.stamp());
        // A plan that cannot be merged is committed as it is.
        match without_open_work(plan, &before, &text, open, &at) {
            Ok(riding) if riding != text => Ok(put_view(&path, riding.as_bytes())?),
            _ => Ok(()),
        }
    }

    /// The commit of a spec is on the tip: say so.
    fn spec_landed(
        &mut self,
        finished: &FinishedSpec,
        attempt: String,
        commit: &Oid,
        recovered: bool,
    ) -> Result<Option<String>, DriveError> {
        let line = self.history.arrival.as_ref();
        if !line.is_some_and(|line| line.landed.iter().any(|one| one.attempt == attempt)) {
            let paths = self.repo.paths_of(commit)?;
            let landed = SpecLanding {
                spec: finished.spec.clone(),
                commit: Some(commit.to_string()),
                subject: finished.message.subject.clone(),
                attempt,
                tasks: finished.tasks.clone(),
                paths: paths.iter().map(ToString::to_string).collect(),
                // After a crash nobody knows what home had then.
                taken_over: if recovered { Vec::new() } else { self.taken_over()? },
            };
            self.record(JournalRecord::SpecLanded(landed), Durability::Synced)?;
        }
        crash::point();
        self.repo.drop_spec(&finished.keeper)?;
        crash::point();
        Ok(Some(commit.to_string()))
    }

    /// The hooks of the commit of a spec. One that changes files makes another tree, which is gated once.
    /// Returns the message as they left it; the inner error is the refusal in words.
    fn run_spec_hooks(
        &mut self,
        tip: &Oid,
        finished: &FinishedSpec,
        attempt: &str,
        has_work: bool,
    ) -> Result<Result<Vec<u8>, String>, DriveError> {
        for _ in 0..2 {
            self.remove_prompt_files();
            let work = &self.work;
            let mut message = finished.message.clone();
            if has_work {
                let gates = self.gates.iter().map(|gate| gate.name.clone());
                message.trailers.extend(gate_trailers(gates, &work.repo().index_tree()?));
            }
            let text = message.of_attempt(attempt);
            match work.lane.run_hooks(tip, work.branch.as_deref(), &text, &|job| job)? {
                HookReport::Refused { output, .. } => {
                    return Ok(Err(format!("a hook refused the commit:\n{output}")));
                }
                HookReport::Passed { message, changed, .. } if changed.is_empty() => {
                    return Ok(Ok(message));
                }
                HookReport::Passed { .. } => {
                    let staged = work.repo().stage_all(tip)?;
                    match self.gate_commit(&staged)? {
                        None => return Ok(Err("the gates were ended".to_owned())),
                        Some(red) if red.is_empty() => self.work.lane.stage_on(&staged, tip)?,
                        Some(red) => {
                            return Ok(Err(format!(
                                "after what the hooks changed these gates fail: {}",
                                red.join(", ")
                            )));
                        }
                    }
                }
            }
        }
        Ok(Err("the hooks change files each time they run".to_owned()))
    }

    /// Whether a spec of the plan has landed attempts that are not on the tip yet, or an agent has begun
    /// one: then the ledger says things that are in no commit.
    pub(super) fn has_open_spec(&mut self) -> Result<bool, DriveError> {
        let plan = self.known_plan()?;
        Ok(is_spec_open(&self.project, &self.repo, &plan)?)
    }
}

/// Whether an agent has begun a spec, or a spec of the plan has landed attempts that are not on the tip.
pub(super) fn is_spec_open(
    project: &Project,
    repo: &Repo<'_>,
    plan: &Plan,
) -> Result<bool, GitError> {
    if super::agent::has_begun(project) {
        return Ok(true);
    }
    let open = repo.open_specs()?;
    let is_open = |task: &Task| open.contains(&keeper_of(task, plan));
    Ok(!open.is_empty() && plan.all_tasks().iter().any(is_open))
}

/// The name under which git keeps the work on the spec of a task.
fn keeper_of(task: &Task, plan: &Plan) -> String {
    let spec = task.spec.as_ref().or(plan.current_spec.as_ref());
    spec_keeper(spec.map_or("all", String::as_str))
}

/// The tasks of a spec that are done, or were when they were taken out of the plan.
pub(super) fn done_tasks(plan: &Plan, spec: Option<&str>) -> Vec<String> {
    let of_spec =
        |own: Option<&str>| own == spec || (own.is_none() && plan.current_spec.as_deref() == spec);
    let done = |task: &&Task| of_spec(task.spec.as_deref()) && task.state == TaskState::Accepted;
    let tasks = plan.tasks.iter().filter(done).map(|task| task.id.to_string());
    let stones = plan.buried().filter(|stone| stone.kind == TombstoneKind::Accept);
    let stones = stones.filter(|stone| of_spec(stone.spec.as_deref()));
    let mut ids: Vec<String> = tasks.chain(stones.map(|stone| stone.id.to_string())).collect();
    ids.retain(|id| !id.is_empty());
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn conflict(paths: &[RepoPath]) -> String {
    let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
    format!("others have changed the same lines meanwhile, in {}", few(&names))
}
