//! `ralph config`: the settings, and where each comes from.

use clap::{Args, Subcommand};
use ralph_core::config::{self, ConfigRow, ConfigTier, ConfigValue, ResolvedConfig};
use ralph_core::control::{CheckedSetting, LoopCommand};
use ralph_host::config_load::{ProjectConfigText, conf_in_force};
use serde_json::json;

use crate::args::{CommonArgs, PlanArgs};
use crate::commands::control;
use crate::commands::permit::CommandAccess;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// Show and change the configuration
///
/// Layers, the later ones win: defaults, your own file (~/.config/ralph/config.toml), the project's
/// ralph.toml, the plan's config record, RALPH_* variables, options.
///
/// Examples:
///   ralph config show
///   ralph config get limits.stage_timeout
///   ralph config set max_retries 3
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    action: ConfigAction,
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// Show every key with its value and where that comes from
    Show {
        /// Only keys that are set somewhere
        #[arg(long)]
        set: bool,
    },
    /// Print the value of one key
    Get {
        /// The key, for example max_retries or limits.stage_timeout
        key: String,
    },
    /// Set a key in ralph.toml, keeping its comments and order
    Set {
        /// The key, for example max_retries or limits.stage_timeout
        key: String,
        /// The value, as on a command line: 3, true, 30m, a text
        value: String,
    },
}

impl ConfigArgs {
    pub(crate) fn access(&self) -> CommandAccess {
        match self.action {
            ConfigAction::Show { .. } | ConfigAction::Get { .. } => CommandAccess::Look,
            ConfigAction::Set { .. } => CommandAccess::Decide,
        }
    }
}

pub(crate) fn run(context: &CommandContext, args: ConfigArgs) -> Result<(), CommandError> {
    let render = args.common.render();
    match args.action {
        ConfigAction::Show { set } => {
            let mut rows = resolved(context, &args.common.plan)?.show();
            rows.retain(|row| !set || row.origin.tier != ConfigTier::Default);
            show(&rows, render)
        }
        ConfigAction::Get { key } => get(&resolved(context, &args.common.plan)?, &key, render),
        ConfigAction::Set { key, value } => set_key(context, &key, &value, render),
    }
}

/// All layers, the plan's own record included when there is a plan.
fn resolved(context: &CommandContext, plan: &PlanArgs) -> Result<ResolvedConfig, CommandError> {
    let sources = context.config_sources(ProjectConfigText::OnDisk)?;
    let resolved = match context.read_plan(plan) {
        Ok(file) => sources.with_plan(&file.shown, &file.plan.config),
        // Settings can be looked at where there is no plan, or none that can be read.
        Err(_) if plan.plan.is_none() => sources.without_plan(),
        Err(error) => return Err(error),
    };
    let resolved = resolved?;
    resolved.warnings.iter().for_each(out::warn);
    Ok(resolved)
}

fn show(rows: &[ConfigRow], render: OutputMode) -> Result<(), CommandError> {
    if render == OutputMode::Json {
        return out::json(&rows.iter().map(as_json).collect::<Vec<_>>());
    }
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let value = row.value.as_ref().map_or_else(|| "-".to_owned(), ConfigValue::to_string);
            vec![row.key.clone(), out::clip(&value, 48), format!("({})", row.origin)]
        })
        .collect();
    out::print_table(&rows)
}

fn get(resolved: &ResolvedConfig, key: &str, render: OutputMode) -> Result<(), CommandError> {
    let shown = resolved
        .get(key)
        .map_err(|e| CommandError::new(e.to_string()).hint("`ralph config show` lists all keys"))?;
    match (render, &shown.value) {
        (OutputMode::Json, _) => out::json(&as_json(&shown)),
        (OutputMode::People, Some(value)) => out::line(value.to_string()),
        (OutputMode::People, None) => Err(CommandError::new(format!("`{key}` is not set"))
            .hint(format!("for example: ralph config set {key} …"))),
    }
}

fn set_key(
    context: &CommandContext,
    key: &str,
    value: &str,
    render: OutputMode,
) -> Result<(), CommandError> {
    let path = context.project.ralph_toml();
    let shown = context.show(&path);
    if let Some(conf) = conf_in_force(context.project.root()) {
        let why = format!("the settings are in {conf}, which counts only without ralph.toml");
        return Err(CommandError::new(why).hint("`ralph init` makes ralph.toml of it, then set it"));
    }
    // What changes during an attempt would be taken for its work, so the loop does it between two.
    if control::running(context).is_some() && config::find_key(key).is_ok() {
        let setting = CheckedSetting::new(key, value).map_err(|why| {
            let why = format!("while a loop works, {why}");
            CommandError::new(why).hint("`ralph stop` ends the loop after its attempt; then set it")
        })?;
        return control::to_the_loop(context, &LoopCommand::Set(setting), render);
    }
    context.change_text(&path, |text| {
        let new = config::set(&shown, text.unwrap_or_default(), key, value).map_err(|e| {
            let (e, name) = (e.to_string(), format!("`{key}`"));
            let message = if e.contains(&name) { e } else { format!("{name}: {e}") };
            CommandError::new(message)
                .hint("nothing was changed; `ralph config show` lists all keys")
        })?;
        // A value may be right alone and wrong beside the others.
        let sources = context.config_sources(ProjectConfigText::Instead(&new))?;
        sources.without_plan()?;
        Ok((new, ()))
    })?;
    render.print(
        &json!({ "key": key, "value": value, "file": shown }),
        format!("{shown}: {key} = {value}"),
    )
}

fn as_json(shown: &ConfigRow) -> serde_json::Value {
    json!({
        "key": shown.key,
        "value": shown.value,
        "layer": shown.origin.tier,
        "origin": shown.origin.to_string(),
    })
}
