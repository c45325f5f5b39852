//! The process of the embedded backend: `ralph __sim`.
//!
//! # Theory of operation
//!
//! This is not a part of ralph's own work but another program that happens to live in the same
//! binary: ralph starts it, reads its output and ends it like any other backend. So it may write
//! files, spawn and print as it likes. [`ralph_core::backend::sim`] decides what it does; here it
//! reads the scenario and the prompt, counts its attempts, and performs.
//!
//! Attempts are counted in small files outside the work tree: in `RALPH_SIM_STATE`, else in the git
//! directory, else in the scratch directory of the run. The count is written before anything is
//! done, so a run that is killed counts.

mod perform;
mod state;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use ralph_core::backend::sim::{
    AnswerShape, COMMAND, Scenario, ScenarioError, SigtermReaction, SimAccess, SimInvocation,
    choose, demo, expand,
};

use crate::clock::{Clock, ClockError};
use state::SimCounters;

/// The first argument of the helper that starts a process which gets away.
const STRAY: &str = "stray";

/// Says that SIGTERM is ignored already, and which counter this run is counted in.
const AGAIN: &str = "--counted";

/// Why the sim did not even begin.
#[derive(Debug, thiserror::Error)]
enum SimError {
    #[error("unknown argument {0:?}")]
    Argument(OsString),
    #[error("{0} needs a value that makes sense")]
    Value(&'static str),
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}, {source}", path.display())]
    Scenario { path: PathBuf, source: ScenarioError },
    #[error("cannot count attempts in {}: {source}", path.display())]
    State { path: PathBuf, source: io::Error },
    #[error("cannot start again: {0}")]
    Again(io::Error),
    #[error(transparent)]
    Clock(#[from] ClockError),
}

/// Be the backend. `args` are those after `__sim`.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    if args.first().is_some_and(|arg| arg == STRAY) {
        return perform::stray(args.get(1..).unwrap_or_default());
    }
    match run(&args) {
        Ok(code) => code,
        Err(error) => {
            let _nobody_listens = writeln!(io::stderr(), "sim: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[OsString]) -> Result<ExitCode, SimError> {
    let options = SimOptions::parse(args)?;
    let clock = Clock::from_env()?;
    let scenario = options.scenario()?;
    let prompt = read_prompt()?;
    let matched = match &options.system {
        Some(path) => format!("{prompt}\n{}", read_text(path)?),
        None => prompt.clone(),
    };
    let counters = SimCounters::find(options.scratch.as_deref());
    let choice = choose(&scenario, &matched, &mut |name| {
        let twice = options.counted.as_deref() == Some(name);
        counters.get(name).saturating_sub(u64::from(twice))
    });
    if options.counted.is_none() {
        counters
            .set(&choice.counter, choice.attempt)
            .map_err(|source| SimError::State { path: counters.dir(), source })?;
    }
    let performance = expand(&scenario, &choice, &prompt, &options.ask);
    if performance.sigterm == SigtermReaction::Ignored && options.counted.is_none() {
        return Err(again(args, &prompt, &choice.counter));
    }
    Ok(perform::perform(&performance, clock))
}

/// Start again with SIGTERM ignored. That is inherited, and a shell can set it; unsafe code, which
/// could do it here, is forbidden in this workspace.
#[expect(clippy::disallowed_methods, reason = "it becomes another process, as a backend may")]
fn again(args: &[OsString], prompt: &str, counter: &str) -> SimError {
    let start = || {
        let mut stdin = tempfile::tempfile()?;
        stdin.write_all(prompt.as_bytes())?;
        stdin.rewind()?;
        Err(Command::new("sh")
            .args(["-c", "trap '' TERM INT HUP; exec \"$@\"", "sh"])
            .arg(std::env::current_exe()?)
            .arg(COMMAND)
            .args(args)
            .args([AGAIN, counter])
            .stdin(Stdio::from(stdin))
            .exec())
    };
    start().map_or_else(SimError::Again, |never: std::convert::Infallible| match never {})
}

fn read_prompt() -> Result<String, SimError> {
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|source| SimError::Read { path: "the prompt".into(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn read_text(path: &PathBuf) -> Result<String, SimError> {
    fs::read_to_string(path).map_err(|source| SimError::Read { path: path.clone(), source })
}

/// Settings from the command line and the environment.
struct SimOptions {
    ask: SimInvocation,
    scenario: Option<PathBuf>,
    seed: Option<u64>,
    scratch: Option<PathBuf>,
    system: Option<PathBuf>,
    counted: Option<String>,
}

impl SimOptions {
    fn parse(args: &[OsString]) -> Result<Self, SimError> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let mut options = Self {
            ask: SimInvocation {
                model: "sim-1".into(),
                resume: None,
                shape: AnswerShape::Free,
                access: SimAccess::Write,
                max_turns: None,
                budget: None,
            },
            scenario: variable("RALPH_SIM").map(PathBuf::from),
            seed: None,
            scratch: None,
            system: None,
            counted: None,
        };
        if let Some(seed) = variable("RALPH_SIM_SEED") {
            options.seed = Some(number("RALPH_SIM_SEED", Some(&seed))?);
        }
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            options.take(arg, &mut args)?;
        }
        Ok(options)
    }

    fn take<'a>(
        &mut self,
        arg: &OsStr,
        rest: &mut impl Iterator<Item = &'a OsString>,
    ) -> Result<(), SimError> {
        let known = |name| SimError::Value(name);
        match arg.to_str() {
            Some("--structured") => self.ask.shape = AnswerShape::Structured,
            Some("--read-only") => self.ask.access = SimAccess::ReadOnly,
            Some("--model") => self.ask.model = text(rest.next()).ok_or(known("--model"))?,
            Some("--resume") => {
                self.ask.resume = Some(text(rest.next()).ok_or(known("--resume"))?);
            }
            Some("--max-turns") => self.ask.max_turns = Some(number("--max-turns", rest.next())?),
            Some("--budget") => self.ask.budget = Some(number("--budget", rest.next())?),
            Some("--seed") => self.seed = Some(number("--seed", rest.next())?),
            Some(AGAIN) => self.counted = Some(text(rest.next()).ok_or(known(AGAIN))?),
            Some("--scenario") => {
                self.scenario = Some(rest.next().ok_or(known("--scenario"))?.into());
            }
            Some("--scratch") => {
                self.scratch = Some(rest.next().ok_or(known("--scratch"))?.into());
            }
            Some("--system") => self.system = Some(rest.next().ok_or(known("--system"))?.into()),
            _ => return Err(SimError::Argument(arg.to_owned())),
        }
        Ok(())
    }

    fn scenario(&self) -> Result<Scenario, SimError> {
        let (path, text) = match &self.scenario {
            Some(path) => (path.clone(), read_text(path)?),
            None => ("the built-in scenario".into(), demo::SCENARIO.to_owned()),
        };
        let mut scenario =
            Scenario::parse(&text).map_err(|source| SimError::Scenario { path, source })?;
        scenario.chaos.seed = self.seed.or(scenario.chaos.seed);
        Ok(scenario)
    }
}

fn text(value: Option<&OsString>) -> Option<String> {
    value?.to_str().map(str::to_owned)
}

fn number<T: std::str::FromStr>(
    name: &'static str,
    value: Option<&OsString>,
) -> Result<T, SimError> {
    let parsed = value.and_then(|value| value.to_str()?.parse().ok());
    parsed.ok_or(SimError::Value(name))
}
