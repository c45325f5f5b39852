//! `ralph config`: the settings, and where each comes from.

use clap::{Args, Subcommand};
use ralph_core::config::{self, Resolved, Shown, Tier, Value};
use ralph_core::control::{Command, Setting};
use ralph_host::config_load::{ProjectText, conf_in_force};
use serde_json::json;

use crate::args::{Common, PlanArgs};
use crate::commands::control;
use crate::commands::permit::Access;
use crate::context::Context;
use crate::error::CommandError;
use crate::out::{self, Render};

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
    common: Common,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
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
    pub(crate) fn access(&self) -> Access {
        match self.action {
            Action::Show { .. } | Action::Get { .. } => Access::Look,
            Action::Set { .. } => Access::Decide,
        }
    }
}

pub(crate) fn run(context: &Context, args: ConfigArgs) -> Result<(), CommandError> {
    let render = args.common.render();
    match args.action {
        Action::Show { set } => {
            let mut rows = resolved(context, &args.common.plan)?.show();
            rows.retain(|row| !set || row.origin.tier != Tier::Default);
            show(&rows, render)
        }
        Action::Get { key } => get(&resolved(context, &args.common.plan)?, &key, render),
        Action::Set { key, value } => set_key(context, &key, &value, render),
    }
}

/// All layers, the plan's own record included when there is a plan.
fn resolved(context: &Context, plan: &PlanArgs) -> Result<Resolved, CommandError> {
    let sources = context.config_sources(ProjectText::OnDisk)?;
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

fn show(rows: &[Shown], render: Render) -> Result<(), CommandError> {
    if render == Render::Json {
        return out::json(&rows.iter().map(as_json).collect::<Vec<_>>());
    }
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let value = row.value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
            vec![row.key.clone(), out::clip(&value, 48), format!("({})", row.origin)]
        })
        .collect();
    out::print_table(&rows)
}

fn get(resolved: &Resolved, key: &str, render: Render) -> Result<(), CommandError> {
    let shown = resolved
        .get(key)
        .map_err(|e| CommandError::new(e.to_string()).hint("`ralph config show` lists all keys"))?;
    match (render, &shown.value) {
        (Render::Json, _) => out::json(&as_json(&shown)),
        (Render::People, Some(value)) => out::line(value.to_string()),
        (Render::People, None) => Err(CommandError::new(format!("`{key}` is not set"))
            .hint(format!("for example: ralph config set {key} …"))),
    }
}

fn set_key(context: &Context, key: &str, value: &str, render: Render) -> Result<(), CommandError> {
    let path = context.project.ralph_toml();
    let shown = context.show(&path);
    if let Some(conf) = conf_in_force(context.project.root()) {
        let why = format!("the settings are in {conf}, which counts only without ralph.toml");
        return Err(CommandError::new(why).hint("`ralph init` makes ralph.toml of it, then set it"));
    }
    // What changes during an attempt would be taken for its work, so the loop does it between two.
    if control::running(context).is_some() && config::find_key(key).is_ok() {
        let setting = Setting::new(key, value).map_err(|why| {
            let why = format!("while a loop works, {why}");
            CommandError::new(why).hint("`ralph stop` ends the loop after its attempt; then set it")
        })?;
        return control::to_the_loop(context, &Command::Set(setting), render);
    }
    context.change_text(&path, |text| {
        let new = config::set(&shown, text.unwrap_or_default(), key, value).map_err(|e| {
            let (e, name) = (e.to_string(), format!("`{key}`"));
            let message = if e.contains(&name) { e } else { format!("{name}: {e}") };
            CommandError::new(message)
                .hint("nothing was changed; `ralph config show` lists all keys")
        })?;
        // A value may be right alone and wrong beside the others.
        let sources = context.config_sources(ProjectText::Instead(&new))?;
        sources.without_plan()?;
        Ok((new, ()))
    })?;
    render.print(
        &json!({ "key": key, "value": value, "file": shown }),
        format!("{shown}: {key} = {value}"),
    )
}

fn as_json(shown: &Shown) -> serde_json::Value {
    json!({
        "key": shown.key,
        "value": shown.value,
        "layer": shown.origin.tier,
        "origin": shown.origin.to_string(),
    })
}
