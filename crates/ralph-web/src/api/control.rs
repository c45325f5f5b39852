//! Commands to the loop, and the settings that can be changed from the dashboard.

use std::collections::BTreeMap;

use ralph_core::config;
use ralph_core::control::{CheckedSetting, LoopCommand};
use ralph_core::dashboard::LoopProcess;
use ralph_core::dashboard::command::{self as commands, CommandRequest, SettingsRequest};
use ralph_host::config_load::ProjectConfigText;
use ralph_host::store::{self, LedgerFileKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::HttpRefusal;
use crate::http::HttpRequest;
use crate::site::ServerContext;

/// Command that was put into the queue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CommandAnswer {
    id: String,
    command: &'static str,
    at: String,
    /// Effect of the command, and when it happens, in words.
    effect: String,
    /// Path to which an unreadable queue was moved; null when the queue was readable.
    set_aside: Option<String>,
}

/// Answer `POST /api/command`: put a command into the queue of the loop.
pub(crate) fn command(
    site: &ServerContext,
    request: CommandRequest,
    _: &str,
) -> Result<CommandAnswer, HttpRefusal> {
    let command = LoopCommand::try_from(request).map_err(HttpRefusal::bad)?;
    let effect = outlook(site, &command);
    let (id, set_aside) = send(site, &command)?;
    let at = site.clock.stamp();
    Ok(CommandAnswer { id, command: command.word(), at, effect, set_aside })
}

/// Describe the effect of a command that is sent now.
fn outlook(site: &ServerContext, command: &LoopCommand) -> String {
    let running = site.running();
    let inner = site.feed.fresh();
    let doing = matches!(running, LoopProcess::Pid(_)).then(|| commands::doing(&inner.history));
    commands::outlook(command, doing)
}

/// Put a command into the queue, where a loop finds it. Returns its id, and where a queue that could
/// not be read was moved.
fn send(
    site: &ServerContext,
    command: &LoopCommand,
) -> Result<(String, Option<String>), HttpRefusal> {
    // Chance may be predictable in tests, and ids are for ever.
    let id = format!("{}-{}", site.ulid(), std::process::id());
    let aside = site.store.send_command(&site.project.commands_json(), command, &id)?;
    site.feed.touch();
    Ok((id, aside.map(|path| site.relative(&path))))
}

/// The settings that may be changed from here.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SettingsAnswer {
    settings: Vec<SettingRow>,
}

/// One setting, with its value and the source of the value.
#[derive(Serialize, JsonSchema)]
struct SettingRow {
    key: &'static str,
    value: Option<String>,
    /// Source of the value.
    origin: String,
    /// Purpose of the setting.
    about: String,
}

/// Answer `GET /api/settings` with the settings that can be changed here.
pub(crate) fn settings(
    site: &ServerContext,
    _: &HttpRequest,
    _: &str,
) -> Result<SettingsAnswer, HttpRefusal> {
    let resolved = site.sources(ProjectConfigText::OnDisk)?.without_plan();
    let resolved = resolved.map_err(|e| HttpRefusal::broken(&site.project, e))?;
    let row = |key| {
        let shown = resolved.get(key).map_err(|e| HttpRefusal::new(500, e.to_string()))?;
        let about = config::find_key(key).map(|key| key.key.doc).unwrap_or_default();
        Ok(SettingRow {
            key,
            value: shown.value.as_ref().map(ToString::to_string),
            origin: shown.origin.to_string(),
            about: about.trim().to_owned(),
        })
    };
    Ok(SettingsAnswer {
        settings: commands::writable().map(row).collect::<Result<_, HttpRefusal>>()?,
    })
}

/// Settings that were changed, with the effect of the change.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SettingsChange {
    set: BTreeMap<&'static str, String>,
    /// Effect of the change, and when it happens, in words.
    effect: &'static str,
}

/// `POST /api/settings` with `{"KEY": value, …}`: all of them or none. A loop that runs is told to
/// change them, so that they are in force from its next attempt on.
pub(crate) fn set(
    site: &ServerContext,
    SettingsRequest(wanted): SettingsRequest,
    _: &str,
) -> Result<SettingsChange, HttpRefusal> {
    if wanted.is_empty() {
        return Err(HttpRefusal::bad("send an object: {\"mode\": \"handoff-only\"}"));
    }
    let checked: Result<Vec<CheckedSetting>, String> =
        wanted.iter().map(|(name, value)| commands::setting(name, value)).collect();
    let checked = checked.map_err(HttpRefusal::bad)?;
    let path = site.project.ralph_toml();
    let effect = if matches!(site.running(), LoopProcess::Pid(_)) {
        let bytes = store::read(&path).map_err(|e| HttpRefusal::broken(&site.project, e))?;
        changed(site, bytes.as_deref(), &checked)?;
        for setting in &checked {
            send(site, &LoopCommand::Set(setting.clone()))?;
        }
        "the loop changes it before its next attempt, and ralph.toml with it"
    } else {
        site.store.update(&path, LedgerFileKind::Document, |bytes| {
            Ok::<_, HttpRefusal>((changed(site, bytes, &checked)?, ()))
        })?;
        "ralph.toml is changed"
    };
    site.feed.touch();
    let set = checked.into_iter().map(|setting| (setting.key, setting.value)).collect();
    Ok(SettingsChange { set, effect })
}

/// `ralph.toml` with these settings, if it is a configuration then.
fn changed(
    site: &ServerContext,
    bytes: Option<&[u8]>,
    settings: &[CheckedSetting],
) -> Result<String, HttpRefusal> {
    let text = std::str::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| HttpRefusal::new(500, "ralph.toml is not UTF-8 text"))?;
    let mut new = text.to_owned();
    for CheckedSetting { key, value } in settings {
        new = config::set("ralph.toml", &new, key, value)
            .map_err(|e| HttpRefusal::bad(format!("`{key}`: {e}")))?;
    }
    // A value may be right alone and wrong beside the others.
    let sources = site.sources(ProjectConfigText::Instead(&new))?;
    sources.without_plan().map_err(|e| HttpRefusal::bad(e.to_string()))?;
    Ok(new)
}
