//! Rules between keys, checked when all layers are known. No single value can violate them.

use super::keys::unknown;
use super::layer::ConfigProblem;
use super::resolve::ResolvedConfig;
use super::table::BackendSettings;
use super::words::{BackendKind, CommandClaim, NotifyKind};
use crate::backend::CommandDriver;

/// Everything that is wrong between keys.
pub(super) fn check(resolved: &ResolvedConfig) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    problems.extend(context_tiers(resolved));
    problems.extend(backends(resolved));
    problems.extend(backend_names(resolved));
    problems.extend(lists(resolved));
    problems
}

/// A problem at the place that set one of `paths` last, by layer and then by line.
fn problem(resolved: &ResolvedConfig, paths: &[&str], message: String) -> ConfigProblem {
    let origins = paths.iter().map(|path| resolved.origin(path));
    let origin = origins.max_by_key(|origin| (origin.tier, origin.line));
    ConfigProblem::new(origin.unwrap_or_else(super::layer::ValueOrigin::built_in), message)
}

fn context_tiers(resolved: &ResolvedConfig) -> Option<ConfigProblem> {
    let limits = &resolved.config.limits;
    let (warn, compact, kill) = (limits.context_warn, limits.context_compact, limits.context_kill);
    if warn < compact && compact < kill {
        return None;
    }
    let paths = ["limits.context_warn", "limits.context_compact", "limits.context_kill"];
    let message = format!(
        "the context limits must rise: context_warn {} < context_compact {} < context_kill {}",
        warn.get(),
        compact.get(),
        kill.get()
    );
    Some(problem(resolved, &paths, message))
}

fn backends(resolved: &ResolvedConfig) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    for (name, backend) in &resolved.config.backends {
        let path = |field: &str| format!("backends.{name}.{field}");
        let Some(kind) = backend.kind.or_else(|| BackendKind::of_name(name)) else {
            let set = resolved.first_of(&format!("backends.{name}."));
            let message = format!(
                "[backends.{name}] has no `kind`: {}",
                super::value::one_of(BackendKind::WORDS)
            );
            problems.push(problem(resolved, &[&set], message));
            continue;
        };
        if let Some(message) = template(name, kind, backend) {
            problems.push(problem(resolved, &[&path("command")], message));
        }
        let (needed, useless) = fields_of(kind, backend);
        for field in needed {
            let set = resolved.first_of(&format!("backends.{name}."));
            let message = format!("[backends.{name}] of kind {} has no `{field}`", kind.as_str());
            problems.push(problem(resolved, &[&set], message));
        }
        for field in useless {
            let message =
                format!("`{field}` means nothing for a backend of kind {}", kind.as_str());
            problems.push(problem(resolved, &[&path(field)], message));
        }
    }
    problems
}

/// Return the problem of a command's template, if there is one.
fn template(name: &str, kind: BackendKind, backend: &BackendSettings) -> Option<String> {
    if kind != BackendKind::Command || backend.command.is_empty() {
        return None;
    }
    let claim = backend.claim.unwrap_or(CommandClaim::Marker);
    let message = CommandDriver::new(name, &backend.command, claim).err()?;
    Some(format!("[backends.{name}]: {message}"))
}

/// The fields that a backend lacks, and those it has for nothing.
fn fields_of(
    kind: BackendKind,
    backend: &BackendSettings,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let has_command = !backend.command.is_empty();
    if kind == BackendKind::Command {
        let needed = if has_command { vec![] } else { vec!["command"] };
        let useless = [
            ("program", backend.program.is_some()),
            ("args", !backend.args.is_empty()),
            ("mode", backend.mode.is_some()),
        ];
        return (needed, set_ones(&useless));
    }
    let needed = match kind {
        BackendKind::Acp if backend.program.is_none() => vec!["program"],
        _ => vec![],
    };
    let has_mode = backend.mode.is_some() && kind != BackendKind::Acp;
    let useless =
        [("command", has_command), ("claim", backend.claim.is_some()), ("mode", has_mode)];
    (needed, set_ones(&useless))
}

fn set_ones(fields: &[(&'static str, bool)]) -> Vec<&'static str> {
    fields.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect()
}

fn backend_names(resolved: &ResolvedConfig) -> Vec<ConfigProblem> {
    let config = &resolved.config;
    let built_in = BackendKind::BUILT_IN.map(BackendKind::as_str);
    let known = || built_in.into_iter().chain(config.backends.keys().map(String::as_str));
    let mut used: Vec<(String, &str)> = Vec::new();
    used.extend(config.backend.iter().map(|name| ("backend".to_owned(), name.as_str())));
    used.extend(
        config.fallback_backends.iter().map(|name| ("fallback_backends".to_owned(), name.as_str())),
    );
    for (stage, settings) in &config.stages {
        let path = format!("stages.{}.backend", stage.as_str());
        used.extend(settings.backend.iter().map(|name| (path.clone(), name.as_str())));
    }
    used.retain(|(_, name)| !known().any(|other| other == *name));
    used.into_iter()
        .map(|(path, name)| {
            let mut message = format!("`{path}`: {}", unknown("backend", name, known()));
            if !message.ends_with(')') {
                message.push_str(&format!("; describe it in [backends.{name}]"));
            }
            problem(resolved, &[&path], message)
        })
        .collect()
}

fn lists(resolved: &ResolvedConfig) -> Vec<ConfigProblem> {
    let config = &resolved.config;
    let mut problems = Vec::new();
    let gates: Vec<&str> = config.gates.iter().map(|gate| gate.name.as_str()).collect();
    let passes: Vec<&str> = config.passes.iter().map(|pass| pass.name.as_str()).collect();
    for (list, names) in [("gates", gates), ("passes", passes)] {
        for (n, name) in names.iter().enumerate() {
            if names[..n].contains(name) {
                problems.push(problem(
                    resolved,
                    &[list],
                    format!("two of the {list} are called `{name}`"),
                ));
            }
        }
    }
    for notify in &config.notify {
        let (kind, needed, there) = match notify.kind {
            NotifyKind::Desktop => continue,
            NotifyKind::Command => ("command", "command", notify.command.is_some()),
            other => (other.as_str(), "url_env", notify.url_env.is_some()),
        };
        if !there {
            let message = format!("the [[notify]] of kind {kind} has no `{needed}`");
            problems.push(problem(resolved, &["notify"], message));
        }
    }
    problems
}
