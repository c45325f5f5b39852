//! `ralph lanes`: the checkouts in which agents work, and how to delete them.

use clap::{Args, Subcommand};
use ralph_core::words::{disk_size, short};
use ralph_host::lanes::{
    LaneError, LanePool, LaneState, LaneSummary, cache_folder, remove_orphaned_lanes,
};
use ralph_host::proc::JobRunner;
use serde_json::{Value, json};

use crate::args::OutputArgs;
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Show the lanes: checkouts of ralph's own, in which agents work
///
/// A lane is outside your checkout and is kept between attempts, so that what was built there stays warm.
/// Deleting one costs its preparation and nothing else: no landed work is only there.
///
/// Examples:
///   ralph lanes
///   ralph lanes prune
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LanesArgs {
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    action: Option<LanesAction>,
}

#[derive(Debug, Subcommand)]
enum LanesAction {
    /// List the lanes: size on disk, state, commit, folder
    ///
    /// Example: ralph lanes list --json
    List,
    /// Delete the lanes that are not in use, and those of repositories that are gone
    ///
    /// Example: ralph lanes prune
    Prune,
}

impl LanesArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            None | Some(LanesAction::List) => CommandAccess::Look,
            Some(LanesAction::Prune) => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: &LanesArgs) -> Result<(), CommandError> {
    let runner = JobRunner::new(format!("lanes-{}", std::process::id()));
    let repo = context.repo(&runner)?;
    let pool = LanePool::find(&repo, &context.config()?.lane)?;
    match args.action {
        None | Some(LanesAction::List) => list(&pool, args.output.render()),
        Some(LanesAction::Prune) => prune(context, &pool, args.output.render()),
    }
}

fn list(pool: &LanePool<'_>, render: OutputMode) -> Result<(), CommandError> {
    let lanes = pool.list()?;
    if render == OutputMode::Json {
        return out::json(&lanes.iter().map(as_json).collect::<Vec<_>>());
    }
    if lanes.is_empty() {
        let folder = pool.folder().display();
        return out::line(format!("There is no lane yet; the next run makes one in {folder}."));
    }
    let titles = ["#", "size", "state", "on", "folder"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    rows.extend(lanes.iter().map(|lane| {
        let commit = lane.commit.as_ref().map_or("-", |commit| short(commit.as_str()));
        vec![
            lane.number.to_string(),
            disk_size(lane.bytes),
            words_of(&lane.state),
            commit.to_owned(),
            lane.path.display().to_string(),
        ]
    }));
    out::print_table(&rows)
}

fn prune(
    context: &CommandContext,
    pool: &LanePool<'_>,
    render: OutputMode,
) -> Result<(), CommandError> {
    let pruned = pool.prune(context.store().holder())?;
    let orphans = cache_folder().map(|cache| remove_orphaned_lanes(&cache)).unwrap_or_default();
    let freed = pruned.removed.iter().map(|lane| lane.bytes).sum();
    if render == OutputMode::Json {
        let of = |lanes: &[LaneSummary]| lanes.iter().map(as_json).collect::<Vec<_>>();
        return out::json(&json!({
            "removed": of(&pruned.removed), "kept": of(&pruned.kept), "orphans": orphans,
            "bytes": freed,
        }));
    }
    for lane in &pruned.kept {
        out::line(format!("Kept: lane {}, {}", lane.number, words_of(&lane.state)))?;
    }
    for folder in &orphans {
        out::line(format!("Deleted: lanes of a repository that is gone, {}", folder.display()))?;
    }
    match pruned.removed.len() {
        0 if !orphans.is_empty() => Ok(()),
        0 => out::line("There is no lane to delete."),
        n => out::line(format!("Deleted: {}, {}.", out::count(n, "lane"), disk_size(freed))),
    }
}

fn words_of(state: &LaneState) -> String {
    match state {
        LaneState::Free => "free".to_owned(),
        LaneState::InUse(holder) => format!("in use by pid {}", holder.pid),
        LaneState::Damaged(why) => format!("damaged: {why}"),
    }
}

fn as_json(lane: &LaneSummary) -> Value {
    let (state, pid, why) = match &lane.state {
        LaneState::Free => ("free", None, None),
        LaneState::InUse(holder) => ("in_use", Some(holder.pid), None),
        LaneState::Damaged(why) => ("damaged", None, Some(why)),
    };
    json!({
        "lane": lane.number, "path": lane.path, "bytes": lane.bytes, "state": state, "pid": pid,
        "damage": why, "commit": lane.commit,
    })
}

impl From<LaneError> for CommandError {
    fn from(error: LaneError) -> Self {
        Self::new(error.to_string()).maybe_hint(error.hint())
    }
}
