//! List of backends: which are installed, and what each can do by itself.

use std::ffi::OsString;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ralph_core::backend::{BackendFeatures, ProcessEnding};
use ralph_core::choice::RequestedBackend;
use ralph_core::config::{BackendKind, Config};
use ralph_host::choice::{self, ChosenBackend, ProgramSearchPaths};
use ralph_host::proc::{Job, JobBounds, JobOutputLine, JobRunner, WatchDecision};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::out::{self, OutputMode};

/// A program that takes longer than this to tell its version does not tell it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Facts about one backend for the list.
pub(crate) struct BackendListing {
    /// Name in the configuration.
    pub(crate) name: String,
    /// Or why it cannot be used.
    pub(crate) chosen: Result<ChosenBackend, String>,
    /// Path of the program, if it is installed.
    pub(crate) program: Option<std::path::PathBuf>,
    /// Version that the program reports.
    pub(crate) version: Option<String>,
}

/// Return every backend that is built in or configured, with what is installed of it.
pub(crate) fn known_backends(
    config: &Config,
    place: ProgramSearchPaths<'_>,
) -> Vec<BackendListing> {
    let runner = JobRunner::new(format!("backends-{}", std::process::id()));
    let names = choice::names(config);
    // Some programs take seconds to tell their version, so all are asked at once.
    thread::scope(|scope| {
        let asked: Vec<_> =
            names.iter().map(|name| scope.spawn(|| look(config, name, place, &runner))).collect();
        asked.into_iter().filter_map(|one| one.join().ok()).collect()
    })
}

pub(super) fn run(
    config: &Config,
    place: ProgramSearchPaths<'_>,
    render: OutputMode,
) -> Result<(), CommandError> {
    let all = known_backends(config, place);
    let default = choice::choose(config, RequestedBackend::default(), place);
    match render {
        OutputMode::Json => {
            let default = default.as_ref().ok().map(|chosen| chosen.name.as_str());
            out::json(&all.iter().map(|one| as_json(one, default)).collect::<Vec<_>>())
        }
        OutputMode::People => {
            out::print_table(&table(&all))?;
            out::line("")?;
            match default {
                Ok(chosen) => {
                    let why = match config.backend {
                        Some(_) => "as configured",
                        None => "the first one installed",
                    };
                    out::line(format!("Default: {}, {why}", chosen.name))?;
                }
                Err(error) => {
                    out::line(format!("Default: none; {error}"))?;
                }
            }
            out::line("Login is known only when one runs: ralph backends try [NAME] \"say hello\"")
        }
    }
}

fn look(
    config: &Config,
    name: &str,
    place: ProgramSearchPaths<'_>,
    runner: &JobRunner,
) -> BackendListing {
    let chosen = choice::named(config, name, place).map_err(|error| error.to_string());
    let program = chosen.as_ref().ok().and_then(|chosen| chosen.found(place));
    let version = match (&chosen, &program) {
        (Ok(chosen), Some(program)) => version(chosen, program, place, runner),
        _ => None,
    };
    BackendListing { name: name.to_owned(), chosen, program, version }
}

/// Ask the program for its version. Only programs that ralph knows are asked, because any other program
/// may do anything when it is started.
fn version(
    chosen: &ChosenBackend,
    program: &Path,
    place: ProgramSearchPaths<'_>,
    runner: &JobRunner,
) -> Option<String> {
    match chosen.kind {
        BackendKind::Sim => return Some(env!("CARGO_PKG_VERSION").to_owned()),
        BackendKind::Command | BackendKind::Acp => return None,
        _ => {}
    }
    let mut job = Job::new(OsString::from(program), place.root).args(["--version"]);
    job.bounds = JobBounds { timeout: Some(PATIENCE), ..JobBounds::default() };
    let mut told = None;
    let ran = runner.run(&job, &mut |line: JobOutputLine<'_>| {
        told = told.take().or_else(|| version_in(&String::from_utf8_lossy(line.bytes)));
        WatchDecision::Continue
    });
    ran.ok().filter(|finished| finished.exit.ending == ProcessEnding::Code(0)).and(told)
}

/// The first word that looks like a version.
fn version_in(line: &str) -> Option<String> {
    let words = line.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
    let mut versions = words
        .map(|word| word.trim_start_matches('v'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    versions.next().map(|word| out::clip(word, 24))
}

/// Return the abilities of a backend, in the order of the columns.
fn abilities(can: &BackendFeatures) -> [(&'static str, bool); 8] {
    [
        ("schema", can.schema),
        ("resume", can.resume),
        ("cost", can.cost),
        ("context", can.context),
        ("mcp", can.mcp),
        ("turns", can.max_turns),
        ("budget", can.budget),
        ("compact", can.compaction),
    ]
}

fn login(one: &BackendListing) -> &'static str {
    match (&one.chosen, &one.program) {
        (Ok(chosen), Some(_)) if chosen.kind == BackendKind::Sim => "not needed",
        (Ok(_), Some(_)) => "unknown",
        _ => "-",
    }
}

fn table(all: &[BackendListing]) -> Vec<Vec<String>> {
    let heading = "NAME VERSION LOGIN SCHEMA RESUME COST CONTEXT MCP TURNS BUDGET COMPACT";
    let mut rows = vec![heading.split(' ').map(str::to_owned).collect()];
    for one in all {
        let version = match (&one.program, &one.version) {
            (None, _) => "not installed".to_owned(),
            (Some(_), None) => "unknown".to_owned(),
            (Some(_), Some(version)) => version.clone(),
        };
        let mut row = vec![out::clean(&one.name)];
        match &one.chosen {
            Ok(chosen) => {
                let can = chosen.driver.supports();
                row.extend([version, login(one).to_owned()]);
                let word = |yes: bool| if yes { "yes" } else { "-" };
                row.extend(abilities(&can).map(|(_, yes)| word(yes).to_owned()));
            }
            Err(why) => row.push(format!("unusable: {why}")),
        }
        rows.push(row);
    }
    rows
}

fn as_json(one: &BackendListing, default: Option<&str>) -> Value {
    let mut value = json!({
        "name": one.name,
        "default": default == Some(&one.name),
        "installed": one.program.is_some(),
        "program": one.program.as_ref().map(|path| path.display().to_string()),
        "version": one.version,
    });
    match &one.chosen {
        Ok(chosen) => {
            let can = chosen.driver.supports();
            let supports = abilities(&can).map(|(word, yes)| (word.to_owned(), yes.into()));
            value["kind"] = chosen.kind.as_str().into();
            value["login"] = match login(one) {
                "-" => Value::Null,
                word => word.into(),
            };
            value["supports"] = Value::Object(supports.into_iter().collect());
        }
        Err(why) => value["error"] = why.as_str().into(),
    }
    value
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn a_version_is_found_among_other_words() {
        for line in ["2.1.325 (Claude Code)", "codex-cli 2.1.325", "v2.1.325", "tool (2.1.325)"] {
            assert_eq!(version_in(line).as_deref(), Some("2.1.325"), "{line}");
        }
        for line in ["", "hello", "version 3", "1 file changed"] {
            assert_eq!(version_in(line), None, "{line}");
        }
    }
}
