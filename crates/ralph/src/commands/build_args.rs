//! Arguments of `ralph build` and `ralph start`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ralph_core::config::ConfigFlag;

use crate::args::PlanArgs;
use crate::commands::loop_args::{BranchArgs, LoopArgs, flag};
use crate::commands::permit::CommandAccess;
use crate::commands::plan_spec::PlanSpecArgs;
use crate::commands::screen::ScreenArgs;

/// Work on a plan, one task at a time, until every task is proven done
///
/// Each attempt works on one task in a lane, a checkout that belongs to ralph. Ralph runs the gates there;
/// work that passes is committed and arrives on your branch, other work is kept aside. Your checkout stays
/// yours meanwhile. It can be ended at any moment; the next start goes on from there.
///
/// Exit codes: 0 complete, 3 work is blocked, failed or not proven by a gate, 4 a limit was reached.
///
/// Examples:
///   ralph build
///   ralph build --dry-run
///   ralph build --tui
///   ralph build progress.md --max-iterations 20 --max-cost 5
///   ralph build --task t-1a2b --once --backend codex
///   ralph build --branch work/avatars
#[derive(Clone, Debug, Default, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BuildArgs {
    /// The plan file, as with --plan
    #[arg(value_name = "PLAN", conflicts_with = "plan")]
    file: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanArgs,
    /// Make one attempt and stop; 0 when it landed, else 3
    #[arg(long)]
    pub(crate) once: bool,
    /// Show the next task, its prompt, the backend's command line and the gates; change nothing
    #[arg(long, conflicts_with = "tui")]
    pub(crate) dry_run: bool,
    /// Count the last run's iterations and cost towards the limits of this one
    #[arg(long)]
    pub(crate) resume: bool,
    /// Stop after this many attempts
    #[arg(long, value_name = "N")]
    max_iterations: Option<String>,
    /// Work on this task only
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) target: BranchArgs,
    #[command(flatten)]
    pub(crate) common: LoopArgs,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
}

impl BuildArgs {
    /// As if only `--backend` had been typed.
    pub(crate) fn with_backend(name: &str) -> Self {
        Self { common: LoopArgs::with_backend(name), ..Self::default() }
    }

    /// Return the plan file from the argument, else from `--plan`.
    pub(crate) fn plan(&self) -> PlanArgs {
        PlanArgs { plan: self.file.clone().or_else(|| self.plan.plan.clone()) }
    }

    /// The options that set a key of the configuration, which also checks their values.
    pub(crate) fn flags(&self) -> Vec<ConfigFlag> {
        let iterations = self.max_iterations.as_deref();
        self.common.flags([flag("--max-iterations", "max_iterations", iterations)])
    }

    pub(crate) fn access(&self) -> CommandAccess {
        if self.dry_run { CommandAccess::Look } else { CommandAccess::Decide }
    }
}

/// Start a loop: another spelling of `ralph build` and `ralph plan`
///
/// Examples:
///   ralph start build
///   ralph start build implementation.json --once
///   ralph start plan
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StartArgs {
    #[command(subcommand)]
    pub(crate) mode: StartMode,
}

/// Loops that `ralph start` can start.
#[derive(Debug, Subcommand)]
pub(crate) enum StartMode {
    /// Work on the plan, as `ralph build`
    Build(Box<BuildArgs>),
    /// Make a plan from every spec that has no tasks yet, as `ralph plan`
    Plan(Box<PlanSpecArgs>),
}

impl StartArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match &self.mode {
            StartMode::Build(args) => args.access(),
            StartMode::Plan(args) => args.access(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ralph_core::config::{find_key, flag_layer};

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        args: BuildArgs,
    }

    fn typed(line: &str) -> BuildArgs {
        Typed::try_parse_from(line.split(' ')).unwrap().args
    }

    #[test]
    fn options_that_are_settings_become_flags_with_keys_that_exist() {
        let args = typed(
            "build --max-iterations 3 --max-cost 2.5 --mode handoff-only --allow-unknown-cost",
        );
        let flags = args.flags();
        assert_eq!(flags.len(), 4);
        assert!(flags.iter().all(|flag| find_key(flag.key).is_ok()));
        assert_eq!(flag_layer(&flags).unwrap().entries.len(), 4);
        assert!(typed("build").flags().is_empty());
    }

    #[test]
    fn a_wrong_value_is_refused_in_the_name_of_its_option() {
        let args = typed("build --max-iterations many");
        let error = flag_layer(&args.flags()).unwrap_err().to_string();
        assert!(error.starts_with("--max-iterations: "), "{error}");
    }

    #[test]
    fn a_plan_can_be_named_in_two_ways_but_not_in_both() {
        assert_eq!(typed("build progress.md").plan().plan, Some("progress.md".into()));
        assert_eq!(typed("build --plan plan.json").plan().plan, Some("plan.json".into()));
        assert!(Typed::try_parse_from(["build", "a.md", "--plan", "b.md"]).is_err());
        assert!(Typed::try_parse_from(["build", "--quiet", "--json"]).is_err());
    }
}
