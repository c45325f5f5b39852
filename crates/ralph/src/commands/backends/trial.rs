//! Trial of one backend: run it once in the current directory.

use std::path::PathBuf;
use std::process::ExitCode;

use ralph_core::backend::{BackendPermissions, BackendRequest, SessionStart};
use ralph_core::choice::RequestedBackend;
use ralph_core::config::{Config, Dollars, render_duration};
use ralph_core::limits::{BackendRunLimits, LimitMonitor};
use ralph_host::backends::{BackendCall, BackendRunReport, FullContextPolicy, run_backend};
use ralph_host::choice::{self, BackendChoiceError, ChosenBackend, ProgramSearchPaths};
use ralph_host::drive::{LogSubject, prune_logs};
use ralph_host::proc::{CancelToken, InterruptListener, JobBounds, JobRunner};
use ralph_host::redaction::hide_secrets_of;

use super::live::BackendLiveView;
use super::{BackendTryArgs, report};
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

pub(super) fn run(
    context: &CommandContext,
    mut config: Config,
    place: ProgramSearchPaths<'_>,
    args: &BackendTryArgs,
    render: OutputMode,
) -> Result<ExitCode, CommandError> {
    if std::env::var_os("RALPH_ATTEMPT").is_some() {
        return Err(CommandError::new(
            "a backend cannot start another one from inside its attempt",
        ));
    }
    config.allow_unknown_cost |= args.allow_unknown_cost;
    check_words(&config, args)?;
    let asked = RequestedBackend { backend: args.name.as_deref(), model: args.model.as_deref() };
    let chosen = choice::choose(&config, asked, place).map_err(explain)?;
    chosen.check_cost(&config)?;
    if args.max_turns.is_some() && !chosen.driver.supports().max_turns {
        out::warn(format!(
            "{} cannot be told a number of turns: --max-turns has no effect",
            chosen.name
        ));
    }
    let cancel = CancelToken::default();
    let interrupt = InterruptListener::cancels(&cancel)
        .map_err(|e| CommandError::new(format!("cannot listen for Ctrl-C: {e}")))?;
    let mut report = call(context, &config, place, args, &chosen, cancel, render)?;
    report.find_reset(&context.clock());
    let code = report::print(context, &chosen, &report, render)?;
    Ok(interrupt.exit_code().map_or(code, ExitCode::from))
}

/// Refuse an empty prompt, and a backend's name in the place of the prompt.
fn check_words(config: &Config, args: &BackendTryArgs) -> Result<(), CommandError> {
    if args.prompt.trim().is_empty() {
        return Err(CommandError::usage("the prompt is empty")
            .hint("for example: ralph backends try \"say hello\""));
    }
    let prompt = args.prompt.as_str();
    if args.name.is_none() && choice::names(config).iter().any(|name| name == prompt) {
        return Err(CommandError::usage(format!("there is no prompt for {prompt}"))
            .hint(format!("for example: ralph backends try {prompt} \"say hello\"")));
    }
    Ok(())
}

fn explain(error: BackendChoiceError) -> CommandError {
    let hint = match error {
        BackendChoiceError::Unknown { near: None, .. } => {
            Some("a prompt of several words needs quotes: ralph backends try \"say hello\"")
        }
        BackendChoiceError::NoneInstalled => {
            Some("`ralph backends try sim \"say hello\"` works without any")
        }
        _ => None,
    };
    CommandError::from(error).maybe_hint(hint.map(str::to_owned))
}

fn call(
    context: &CommandContext,
    config: &Config,
    place: ProgramSearchPaths<'_>,
    args: &BackendTryArgs,
    chosen: &ChosenBackend,
    cancel: CancelToken,
    render: OutputMode,
) -> Result<BackendRunReport, CommandError> {
    let permissions = match (args.read_only, config.skip_permissions) {
        (true, _) => BackendPermissions::ReadOnly,
        (false, true) => BackendPermissions::Bypass,
        (false, false) => BackendPermissions::Default,
    };
    let log = log_file(context, &chosen.name);
    let call = BackendCall {
        driver: &*chosen.driver,
        program: Some(&chosen.program),
        args: &chosen.args,
        env: &[],
        surroundings: &[],
        request: BackendRequest {
            prompt: &args.prompt,
            system: None,
            model: chosen.model.as_deref(),
            max_turns: args.max_turns.or(config.max_turns).map(u32::from),
            permissions,
            mcp: None,
            schema: None,
            session: SessionStart::New,
            budget: config.limits.max_cost.map(Dollars::get),
            scratch: "",
            as_root: choice::is_root(),
        },
        cwd: place.cwd,
        scratch: &context.project.state_dir(),
        log: Some(&log),
        on_compact: FullContextPolicy::GoOn,
        bounds: JobBounds::default(),
        cancel,
    };
    let timeout = args.timeout.unwrap_or_else(|| config.limits.build_timeout());
    let mut live = BackendLiveView::new(render, context.clock(), place.cwd);
    if chosen.found(place).is_some() {
        live.start(&format!("{}, at most {}", chosen.name, render_duration(timeout)));
    }
    let limits = BackendRunLimits::of(&config.limits, timeout);
    let mut monitor = LimitMonitor::new(limits).priced(chosen.settings.prices.clone());
    let runner = JobRunner::new(format!("try-{}", std::process::id()));
    hide_secrets_of(config);
    runner.keep_of_logs(config.limits.max_log.get());
    let report = run_backend(&runner, &call, &mut monitor, &mut |heard| live.hear(heard));
    live.end();
    prune_logs(&context.project.logs_dir(), LogSubject::Trial, config.retention.logs.get());
    Ok(report?)
}

/// Return the path of the log, for example
/// `build/ralph-logs/try-codex-20250120-103000-x1y2.log`.
fn log_file(context: &CommandContext, backend: &str) -> PathBuf {
    let stamp = context.now().replace(['-', ':', 'Z'], "").replace('T', "-");
    let word = context.random()();
    let kind = LogSubject::Trial.prefix();
    context.project.logs_dir().join(format!("{kind}{backend}-{stamp}-{word}.log"))
}
