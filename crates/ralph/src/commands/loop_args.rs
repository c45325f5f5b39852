//! Options that the commands which run a loop share.

use clap::Args;
use ralph_core::config::ConfigFlag;
use ralph_face::ViewChoice;
use ralph_host::drive::RunOptions;

use crate::out::OutputMode;

/// Options of `ralph build`, `ralph plan` and `ralph construct`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LoopArgs {
    /// Stop when this many dollars are spent
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<String>,
    /// The memory that prompts get: handoff-only, handoff-plus-index or agent-orchestrated
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The backend to use
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,
    /// The model to ask the backend for
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Stop at a usage limit (exit code 4) instead of waiting for its reset
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Let a backend run although its cost is unknown and --max-cost is set
    #[arg(long)]
    allow_unknown_cost: bool,
    /// End as complete although no gate proves the work (exit code 3 otherwise)
    #[arg(long)]
    allow_unproven: bool,
    /// Say only what went wrong, and how it ended
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON event a line; words for people go to standard error
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

/// The branch of `ralph build` and `ralph construct`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BranchArgs {
    /// Let commits arrive on this branch, which is made if it is not there; your checkout stays where it is
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) branch: Option<String>,
}

/// Options of `ralph construct` and `ralph agent`: what one stage may use.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StageArgs {
    /// Longest time of one backend run, in milliseconds
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,
    /// Limit the iterations of one spec to this number
    #[arg(long, value_name = "N")]
    max_iterations: Option<String>,
    /// Most agents at once when issues are investigated or tasks verified [default: all, at most 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    pub(crate) common: LoopArgs,
}

impl StageArgs {
    /// The options that set a key of the configuration.
    pub(crate) fn flags(&self) -> Vec<ConfigFlag> {
        let timeout = self.timeout.map(|ms| format!("{ms}ms"));
        self.common.flags([
            flag("--max-iterations", "max_iterations", self.max_iterations.as_deref()),
            flag("--timeout", "limits.stage_timeout", timeout.as_deref()),
        ])
    }

    pub(crate) fn jobs(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }
}

/// An option that sets a key of the configuration.
pub(crate) fn flag(
    name: &'static str,
    key: &'static str,
    value: Option<&str>,
) -> Option<ConfigFlag> {
    value.map(|value| ConfigFlag { name, key, value: value.to_owned() })
}

impl LoopArgs {
    /// As if only `--backend` had been typed.
    pub(crate) fn with_backend(name: &str) -> Self {
        Self { backend: Some(name.to_owned()), ..Self::default() }
    }

    /// The options that set a key of the configuration, with those of the command itself.
    pub(crate) fn flags(
        &self,
        own: impl IntoIterator<Item = Option<ConfigFlag>>,
    ) -> Vec<ConfigFlag> {
        let unknown = self.allow_unknown_cost.then_some("true");
        let mine = [
            flag("--max-cost", "limits.max_cost", self.max_cost.as_deref()),
            flag("--mode", "mode", self.mode.as_deref()),
            flag("--allow-unknown-cost", "allow_unknown_cost", unknown),
            flag("--allow-unproven", "unproven", self.allow_unproven.then_some("allow")),
        ];
        own.into_iter().chain(mine).flatten().collect()
    }

    /// Return the options of the loop that are not in the configuration.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            no_wait: self.no_wait,
            backend: self.backend.clone(),
            model: self.model.clone(),
            ..RunOptions::default()
        }
    }

    /// Return the kind of output for a dry run.
    pub(crate) fn render(&self) -> OutputMode {
        OutputMode::from_flag(self.json)
    }

    pub(crate) fn view(&self) -> ViewChoice {
        match (self.json, self.quiet) {
            (true, _) => ViewChoice::Json,
            (_, true) => ViewChoice::Quiet,
            _ => ViewChoice::Auto,
        }
    }
}
