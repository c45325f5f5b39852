//! Trial of one backend: run it once in the current directory.

use std::path::PathBuf;
use std::process::ExitCode;

use ralph_core::backend::{Permissions, Request, Session};
use ralph_core::choice::Asked;
use ralph_core::config::{Config, Dollars, render_duration};
use ralph_core::limits::{Limits, Monitor};
use ralph_host::backends::{Call, OnCompact, RunReport, run_backend};
use ralph_host::choice::{self, ChoiceError, Chosen, Place};
use ralph_host::drive::{LogOf, prune_logs};
use ralph_host::proc::{Bounds, Cancel, Interrupt, Runner};
use ralph_host::redaction::hide_secrets_of;

use super::live::Live;
use super::{TryArgs, report};
use crate::context::Context;
use crate::error::CommandError;
use crate::out::{self, Render};

pub(super) fn run(
    context: &Context,
    mut config: Config,
    place: Place<'_>,
    args: &TryArgs,
    render: Render,
) -> Result<ExitCode, CommandError> {
    if std::env::var_os("RALPH_ATTEMPT").is_some() {
        return Err(CommandError::new(
            "a backend cannot start another one from inside its attempt",
        ));
    }
    config.allow_unknown_cost |= args.allow_unknown_cost;
    check_words(&config, args)?;
    let asked = Asked { backend: args.name.as_deref(), model: args.model.as_deref() };
    let chosen = choice::choose(&config, asked, place).map_err(explain)?;
    chosen.check_cost(&config)?;
    if args.max_turns.is_some() && !chosen.driver.supports().max_turns {
        out::warn(format!(
            "{} cannot be told a number of turns: --max-turns has no effect",
            chosen.name
        ));
    }
    let cancel = Cancel::default();
    let interrupt = Interrupt::cancels(&cancel)
        .map_err(|e| CommandError::new(format!("cannot listen for Ctrl-C: {e}")))?;
    let mut report = call(context, &config, place, args, &chosen, cancel, render)?;
    report.find_reset(&context.clock());
    let code = report::print(context, &chosen, &report, render)?;
    Ok(interrupt.exit_code().map_or(code, ExitCode::from))
}

/// Refuse an empty prompt, and a backend's name in the place of the prompt.
fn check_words(config: &Config, args: &TryArgs) -> Result<(), CommandError> {
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

fn explain(error: ChoiceError) -> CommandError {
    let hint = match error {
        ChoiceError::Unknown { near: None, .. } => {
            Some("a prompt of several words needs quotes: ralph backends try \"say hello\"")
        }
        ChoiceError::NoneInstalled => {
            Some("`ralph backends try sim \"say hello\"` works without any")
        }
        _ => None,
    };
    CommandError::from(error).maybe_hint(hint.map(str::to_owned))
}

fn call(
    context: &Context,
    config: &Config,
    place: Place<'_>,
    args: &TryArgs,
    chosen: &Chosen,
    cancel: Cancel,
    render: Render,
) -> Result<RunReport, CommandError> {
    let permissions = match (args.read_only, config.skip_permissions) {
        (true, _) => Permissions::ReadOnly,
        (false, true) => Permissions::Bypass,
        (false, false) => Permissions::Default,
    };
    let log = log_file(context, &chosen.name);
    let call = Call {
        driver: &*chosen.driver,
        program: Some(&chosen.program),
        args: &chosen.args,
        env: &[],
        surroundings: &[],
        request: Request {
            prompt: &args.prompt,
            system: None,
            model: chosen.model.as_deref(),
            max_turns: args.max_turns.or(config.max_turns).map(u32::from),
            permissions,
            mcp: None,
            schema: None,
            session: Session::New,
            budget: config.limits.max_cost.map(Dollars::get),
            scratch: "",
            as_root: choice::is_root(),
        },
        cwd: place.cwd,
        scratch: &context.project.state_dir(),
        log: Some(&log),
        on_compact: OnCompact::GoOn,
        bounds: Bounds::default(),
        cancel,
    };
    let timeout = args.timeout.unwrap_or_else(|| config.limits.build_timeout());
    let mut live = Live::new(render, context.clock(), place.cwd);
    if chosen.found(place).is_some() {
        live.start(&format!("{}, at most {}", chosen.name, render_duration(timeout)));
    }
    let limits = Limits::of(&config.limits, timeout);
    let mut monitor = Monitor::new(limits).priced(chosen.settings.prices.clone());
    let runner = Runner::new(format!("try-{}", std::process::id()));
    hide_secrets_of(config);
    runner.keep_of_logs(config.limits.max_log.get());
    let report = run_backend(&runner, &call, &mut monitor, &mut |heard| live.hear(heard));
    live.end();
    prune_logs(&context.project.logs_dir(), LogOf::Trial, config.retention.logs.get());
    Ok(report?)
}

/// Return the path of the log, for example
/// `build/ralph-logs/try-codex-20250120-103000-x1y2.log`.
fn log_file(context: &Context, backend: &str) -> PathBuf {
    let stamp = context.now().replace(['-', ':', 'Z'], "").replace('T', "-");
    let word = context.random()();
    let kind = LogOf::Trial.prefix();
    context.project.logs_dir().join(format!("{kind}{backend}-{stamp}-{word}.log"))
}
