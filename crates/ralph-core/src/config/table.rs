//! The key table: every key of `ralph.toml`, its type, its default and its meaning, once.
//!
//! Everything else is derived: the structs that other code reads, the names and checks of files and
//! variables, and the reference page. A new key is one line here (and the test that it does
//! something).

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use super::keys::{ConfigKey, ConfigSection, KeyAlias, VariableReading, record, section};
use super::setting::{ByteSize, Dollars, PassTrigger, Ratio, SettingType, Timeout, setting};
use super::value::{AbsentField, ConfigRecord, ConfigValue, RecordField, ValueKind};
use super::words::{
    BackendKind, BranchPolicy, CommandClaim, CommitScope, DirtyPolicy, FailurePolicy, GateKind,
    GateStrategy, JudgePolicy, LedgerCommitPolicy, LogLevel, MemoryMode, NotifyEvent, NotifyKind,
    StageName, UnprovenPolicy, Workspace, gate_kind,
};

/// All groups of keys, in the order of the reference page.
pub(super) static SECTIONS: &[&[ConfigKey]] = &[
    CONFIG, BUILD, CONSTRUCT, AGENT, LAND, LIMITS, MEMORY, BACKEND, PRICES, STAGE, LANE, RETENTION,
];

const fn at_least_one(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

section! {
    /// The whole configuration of ralph.
    Config, CONFIG = "" {
        /// The backend to use; absent: the first one installed of claude, codex, gemini, opencode.
        backend: Option<String> = None;
        /// Backends to go on with, in this order, while the chosen one waits for a usage limit.
        fallback_backends: Vec<String> = Vec::new();
        /// The model to ask `backend` for; other backends have their own; absent: the backend's own choice.
        model: Option<String> = None;
        /// The model for backends that can switch by themselves when the first one is overloaded.
        fallback_model: Option<String> = None;
        /// Whether backends may act without asking for permission.
        skip_permissions: bool = true;
        /// Most turns of one backend run, unless its stage or task says otherwise; absent: no limit.
        max_turns: Option<NonZeroU32> = None, "RALPH_DEFAULT_MAX_TURNS" Plain;
        /// Whether backends that take MCP servers are given ralph's own tools, see below.
        mcp_tools: bool = false;
        /// Whether a backend whose cost is unknown may run although `limits.max_cost` is set.
        allow_unknown_cost: bool = false;
        /// The plan file; absent: `ralph/plan.jsonl`, else the one plan file found.
        plan: Option<String> = None, "RALPH_PLAN_FILE" Plain;
        /// Memory in a prompt: the last handoff, also the knowledge index, or a text that a context agent prepares.
        mode: MemoryMode = MemoryMode::HandoffOnly;
        /// Most iterations of one run, for `build` and `construct` both; absent: each has its own.
        max_iterations: Option<NonZeroU32> = None;
        /// Attempts after the first: 2 means at most three backend runs for a task.
        max_retries: u32 = 2;
        /// Pause between two backend runs.
        min_delay: Duration = Duration::ZERO, "RALPH_MIN_DELAY_SECONDS" Seconds;
        /// Content of one commit: a task or a spec; absent: a task, but a spec in `ralph agent` and for implementation.json.
        commit: Option<CommitScope> = None;
        /// The word that commit subjects start with; with a scope, as in `chore(ralph)`, they are Conventional Commits.
        commit_prefix: String = "ralph".to_owned();
        /// Whether commits arrive on your branch by themselves; otherwise they wait for `ralph land`.
        auto_commit: bool = true;
        /// When ralph's own files are committed: with each task, once at the end, or never.
        commit_ledger: LedgerCommitPolicy = LedgerCommitPolicy::WithTask;
        /// Your uncommitted changes at the start: leave them, commit them first, or do not start. Agents see commits only.
        on_dirty: DirtyPolicy = DirtyPolicy::Leave;
        /// Place where attempts work: a lane, which is a checkout of ralph's own, or your checkout.
        workspace: Workspace = Workspace::Lane;
        /// Gates that must be green: all, or tests alone, with lint shown or not run. A gate's own `required` wins.
        gate_strategy: GateStrategy = GateStrategy::Strict, "RALPH_VALIDATION_STRATEGY" Plain;
        /// Commands that ralph runs to decide whether an attempt counts; none: the plan's `qualityGates`.
        gates: Vec<GateSettings> = Vec::new(), "RALPH_VALIDATION_COMMANDS" Commands;
        /// A change of tests, build manifests or CI files is named in the verdict, or fails the attempt.
        judges: JudgePolicy = JudgePolicy::List;
        /// End of a run whose landed work no gate proves: exit code 3 and a need, or complete.
        unproven: UnprovenPolicy = UnprovenPolicy::Stop;
        /// Whether agent passes run at all.
        passes_enabled: bool = true, "RALPH_AGENT_PASSES_ENABLED" Plain;
        /// Extra agents that look at an iteration's result; they advise and never stop the loop.
        passes: Vec<PassSettings> = Vec::new();
        /// Notifications that ralph sends; none by default.
        notify: Vec<NotifySettings> = Vec::new();
        /// Patterns of secrets to hide in streams and logs, beside the usual shapes of keys.
        redact: Vec<String> = Vec::new();
        /// Level of detail in the log.
        log_level: LogLevel = LogLevel::Info;
        /// The log file, relative to the project.
        log_file: String = ".ralph/logs/ralph.log".to_owned();
    }
    and {
        /// Keys of the table `[build]`.
        build: BuildSettings,
        /// Keys of the table `[construct]`.
        construct: ConstructSettings,
        /// Keys of the table `[agent]`.
        agent: AgentSettings,
        /// Keys of the table `[land]`.
        land: LandSettings,
        /// Keys of the table `[limits]`.
        limits: LimitSettings,
        /// Keys of the table `[memory]`.
        memory: MemorySettings,
        /// Keys of the tables `[backends.NAME]`, by name.
        backends: BTreeMap<String, BackendSettings>,
        /// Keys of the tables `[stages.NAME]`, by name.
        stages: BTreeMap<StageName, StageSettings>,
        /// Keys of the table `[lane]`.
        lane: LaneSettings,
        /// Keys of the table `[retention]`.
        retention: RetentionSettings,
    }
}

section! {
    /// `[build]`: the loop over tasks.
    BuildSettings, BUILD = "build." {
        /// Most attempts of one `ralph build`. A top-level `max_iterations` of the same layer wins.
        max_iterations: NonZeroU32 = at_least_one(50);
        /// Most entries kept under "Recent Attempts" in progress.md.
        recent_attempts: u32 = 5;
    }
}

section! {
    /// `[construct]`: the loop over stages.
    ConstructSettings, CONSTRUCT = "construct." {
        /// Most cycles of one `ralph construct`. A top-level `max_iterations` of the same layer wins.
        max_iterations: NonZeroU32 = at_least_one(10);
    }
}

section! {
    /// `[agent]`: the loop over the inbox.
    AgentSettings, AGENT = "agent." {
        /// The changes of a spec that failed become a stash entry, or go away (salvaged first).
        on_failure: FailurePolicy = FailurePolicy::Stash;
        /// Branch on which the commit of a spec arrives: the one that is checked out, or a new one, `ralph/<spec>`. A new branch begins at the end of the last one.
        branch: BranchPolicy = BranchPolicy::None;
        /// With `branch = "spec"`: `gh`, or a shell command that asks for a review of `RALPH_BRANCH`; absent: nobody is asked.
        pull_request: Option<String> = None;
    }
}

section! {
    /// `[land]`: where the commits of `ralph build` and `ralph construct` arrive.
    LandSettings, LAND = "land." {
        /// The branch on which commits arrive: the one that is checked out, or `ralph/<spec>`, while your checkout stays where it is. `--branch NAME` names another one.
        branch: BranchPolicy = BranchPolicy::None;
        /// With a branch of its own: `gh`, or a shell command that asks for a review of `RALPH_BRANCH` at the end of the run; absent: nobody is asked.
        pull_request: Option<String> = None;
    }
}

section! {
    /// `[limits]`: what stops a backend run.
    LimitSettings, LIMITS = "limits." {
        /// Longest time of one backend run; absent: 5m, and 10m in `ralph build`.
        stage_timeout: Option<Timeout> = None;
        /// Longest silence of a backend while no tool call is open.
        idle_timeout: Timeout = Timeout::minutes(10);
        /// Most dollars to spend; absent: no limit.
        max_cost: Option<Dollars> = None;
        /// Share of the context that is worth a warning.
        context_warn: Ratio = Ratio::percent(70);
        /// Share of the context at which it is compacted.
        context_compact: Ratio = Ratio::percent(85);
        /// Share of the context at which a run is stopped.
        context_kill: Ratio = Ratio::percent(95);
        /// Most bytes of one log of an agent or a gate; of a longer one the head and the tail are kept.
        max_log: ByteSize = ByteSize::megabytes(64);
    }
}

impl LimitSettings {
    /// Longest time of one backend run in `ralph build`.
    pub fn build_timeout(&self) -> Duration {
        self.stage_timeout.unwrap_or(Timeout::minutes(10)).get()
    }

    /// Longest time of one backend run in every other loop.
    pub fn construct_timeout(&self) -> Duration {
        self.stage_timeout.unwrap_or(Timeout::minutes(5)).get()
    }
}

section! {
    /// `[memory]`: handoffs and the knowledge index.
    MemorySettings, MEMORY = "memory." {
        /// Most tokens of a prompt in mode `handoff-only`, counted as characters / 4.
        context_budget_tokens: NonZeroU32 = at_least_one(8000), "RALPH_CONTEXT_BUDGET_TOKENS" Plain;
        /// Most tokens of a prompt in mode `handoff-plus-index`.
        context_budget_tokens_hpi: NonZeroU32 = at_least_one(16000), "RALPH_CONTEXT_BUDGET_TOKENS_HPI" Plain;
        /// Iterations after which the knowledge index is brought up to date.
        compaction_interval: u32 = 5, "RALPH_COMPACTION_INTERVAL" Plain;
        /// Bytes of handoffs after which the knowledge index is brought up to date.
        compaction_threshold_bytes: u32 = 32000, "RALPH_COMPACTION_THRESHOLD_BYTES" Plain;
        /// Most turns of the indexer, unless `stages.index` says otherwise.
        compaction_max_turns: NonZeroU32 = at_least_one(10), "RALPH_COMPACTION_MAX_TURNS" Plain;
        /// Share of a task's words known from recent handoffs, below which the task counts as new ground.
        novelty_overlap_threshold: Ratio = Ratio::percent(25), "RALPH_NOVELTY_OVERLAP_THRESHOLD" Plain;
        /// Number of handoffs that count as recent.
        novelty_recent_handoffs: u32 = 3, "RALPH_NOVELTY_RECENT_HANDOFFS" Plain;
    }
}

section! {
    /// `[backends.NAME]`: a program that writes code.
    BackendSettings, BACKEND = "backends.*." {
        /// Kind of the program; absent: the kind that the name says (claude, codex, gemini, opencode, sim).
        kind: Option<BackendKind> = None;
        /// The program: a name on PATH or a path; absent: the usual one of its kind.
        program: Option<String> = None;
        /// Extra arguments for the program.
        args: Vec<String> = Vec::new();
        /// The model to ask for, unless the stage says otherwise.
        model: Option<String> = None;
        /// Kind `command`: program and arguments; `{prompt_file}`, `{model}`, `{max_turns}`, `{session}` and `{scratch}` are filled in.
        command: Vec<String> = Vec::new();
        /// Kind `command`: it prints `<TASK_DONE>` to say that a task is done, or exits with 0; absent: marker.
        claim: Option<CommandClaim> = None;
        /// Context size of the model in tokens; absent: the size that the program reports, else the size that ralph knows.
        context_window: Option<NonZeroU32> = None;
        /// Kind `acp`: the session mode to set; absent: the one that fits `skip_permissions`.
        mode: Option<String> = None;
    }
    and {
        /// Keys of the table `[backends.NAME.prices]`.
        prices: TokenPrices,
    }
}

section! {
    /// `[backends.NAME.prices]`: dollars per million tokens, for a backend that reports only tokens.
    TokenPrices, PRICES = "backends.*.prices." {
        /// Dollars per million tokens sent.
        input: Option<Dollars> = None;
        /// Dollars per million tokens received.
        output: Option<Dollars> = None;
        /// Tokens sent that the provider still had; absent: as `input`.
        cache_read: Option<Dollars> = None;
        /// Tokens sent that the provider keeps for later; absent: as `input`.
        cache_write: Option<Dollars> = None;
    }
}

section! {
    /// `[stages.NAME]`: plan, investigate, build, verify, decompose, context, index or review.
    StageSettings, STAGE = "stages.*." {
        /// Backend of this stage; absent: the top-level `backend`.
        backend: Option<String> = None;
        /// The model of this stage, for its own backend and not for a fallback.
        model: Option<String> = None;
        /// Longest time of one backend run in this stage.
        timeout: Option<Timeout> = None;
        /// Most turns of one backend run in this stage.
        max_turns: Option<NonZeroU32> = None;
        /// A file with the MCP servers this stage may use, relative to the project; absent: none.
        mcp_config: Option<String> = None;
    }
}

section! {
    /// `[lane]`: where lanes are, and how one is made usable.
    LaneSettings, LANE = "lane." {
        /// The folder that holds the lanes of this project, outside the repository; absent: one below `$XDG_CACHE_HOME/ralph`.
        dir: Option<String> = None;
        /// A shell command that prepares a lane; it runs when the lane is new or a file of `setup_when` changed.
        setup: Option<String> = None;
        /// Files whose change makes `setup` run again, such as a lock file.
        setup_when: Vec<String> = Vec::new();
        /// Ignored files of the project to copy into a lane before each attempt, beside the patterns in `.worktreeinclude`.
        copy: Vec<String> = Vec::new();
        /// Paths of the project to link into a lane: shared and writable, so for read-mostly caches only; `../lib` is linked beside the lane.
        link: Vec<String> = Vec::new();
        /// Whether the lane's repository has the remotes of yours, so that an agent can fetch and push.
        remotes: bool = false;
    }
}

section! {
    /// `[retention]`: how long ralph keeps what it saved.
    RetentionSettings, RETENTION = "retention." {
        /// Time for which rolled-back work stays under `refs/ralph/`.
        salvage: Timeout = Timeout::minutes(30 * 24 * 60);
        /// Number of stage logs that stay under `build/ralph-logs/`.
        logs: NonZeroU32 = at_least_one(500);
    }
}

record! {
    /// `[[gates]]`: a command that ralph itself runs to decide whether an attempt counts.
    GateSettings {
        /// Short name of the pass. No other pass may have it.
        name: String;
        /// Shell command that the gate runs.
        command: String;
        /// test or lint; absent: guessed from the command.
        kind: Option<GateKind> = None;
        /// Whether a failure fails the attempt; absent: `gate_strategy` decides.
        required: Option<bool> = None;
        /// Longest time it may take; three times that in a lane where it has never come to an end.
        timeout: Timeout = Timeout::minutes(10);
    }
}

impl GateSettings {
    /// Return the kind of the gate: the configured one, else the one guessed from the command.
    pub fn checks(&self) -> GateKind {
        self.kind.unwrap_or_else(|| gate_kind(&self.command))
    }
}

record! {
    /// `[[passes]]`: an extra agent that looks at an iteration's result.
    PassSettings {
        /// Short name of the pass. No other pass may have it.
        name: String;
        /// Whether the pass runs.
        enabled: bool = true;
        /// The model to ask for; absent: as for the stage `review`.
        model: Option<String> = None;
        /// Condition under which the pass runs.
        trigger: PassTrigger = PassTrigger::Always;
        /// Most turns of one run of the pass.
        max_turns: Option<NonZeroU32> = None;
        /// The file with its prompt, in `ralph/prompts` or in the project; `review-agent-prompt.md` is built in.
        prompt_template: String;
        /// The file with the JSON Schema of its answer; absent: that of a review.
        schema: Option<String> = None;
        /// The file with the MCP servers it may use.
        mcp_config: Option<String> = None;
        /// Whether its tools only read. What a pass changes is put back in any case.
        read_only: bool = true;
    }
}

record! {
    /// `[[notify]]`: a notification that ralph sends.
    NotifySettings {
        /// Way in which the notification is sent.
        kind: NotifyKind;
        /// Events about which the notification is sent.
        on: Vec<NotifyEvent> = NotifyEvent::ALL.to_vec();
        /// Kind `command`: the shell command.
        command: Option<String> = None;
        /// The environment variable that holds the address, which is a secret: not the address itself.
        url_env: Option<String> = None;
    }
}

impl Config {
    /// The settings of a stage; all absent when the stage is not configured.
    pub fn stage(&self, stage: StageName) -> StageSettings {
        self.stages.get(&stage).cloned().unwrap_or_default()
    }
}

impl ConfigSection for Config {
    fn find<'a>(config: &'a Config, _: &str) -> Option<&'a Self> {
        Some(config)
    }

    fn make<'a>(config: &'a mut Config, _: &str) -> Option<&'a mut Self> {
        Some(config)
    }
}

macro_rules! plain_section {
    ($($type:ident $field:ident),+ $(,)?) => { $(
        impl ConfigSection for $type {
            fn find<'a>(config: &'a Config, _: &str) -> Option<&'a Self> {
                Some(&config.$field)
            }

            fn make<'a>(config: &'a mut Config, _: &str) -> Option<&'a mut Self> {
                Some(&mut config.$field)
            }
        }
    )+ };
}

plain_section!(
    BuildSettings build, ConstructSettings construct, AgentSettings agent, LandSettings land, LimitSettings limits, MemorySettings memory,
    LaneSettings lane, RetentionSettings retention,
);

impl ConfigSection for BackendSettings {
    fn find<'a>(config: &'a Config, slot: &str) -> Option<&'a Self> {
        config.backends.get(slot)
    }

    fn make<'a>(config: &'a mut Config, slot: &str) -> Option<&'a mut Self> {
        Some(config.backends.entry(slot.to_owned()).or_default())
    }
}

impl ConfigSection for TokenPrices {
    fn find<'a>(config: &'a Config, slot: &str) -> Option<&'a Self> {
        config.backends.get(slot).map(|backend| &backend.prices)
    }

    fn make<'a>(config: &'a mut Config, slot: &str) -> Option<&'a mut Self> {
        Some(&mut BackendSettings::make(config, slot)?.prices)
    }
}

impl ConfigSection for StageSettings {
    fn find<'a>(config: &'a Config, slot: &str) -> Option<&'a Self> {
        config.stages.get(&StageName::from_word(slot)?)
    }

    fn make<'a>(config: &'a mut Config, slot: &str) -> Option<&'a mut Self> {
        Some(config.stages.entry(StageName::from_word(slot)?).or_default())
    }
}
