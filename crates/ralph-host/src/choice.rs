//! Choose the backend to run: the named one, else the first one that is installed.
//!
//! # Theory of operation
//!
//! The core says which name and which model the configuration asks for (`ralph_core::choice`). Here
//! a name becomes a driver with a program. [`for_stage`] serves the loops. It returns the chosen
//! backend, its fallbacks, and the fallbacks that cannot be used, with the reason. `sim` is chosen
//! only when it is named.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ralph_core::backend::acp::{self, AcpDriver};
use ralph_core::backend::{self, BackendDriver, CommandDriver, CostReporting, may_start};
use ralph_core::choice::{
    self, BackendRole, BackendSelection, BackendUsageLimit, RequestedBackend,
};
use ralph_core::config::{BackendKind, BackendSettings, CommandClaim, Config, Dollars, StageName};
use ralph_core::text::nearest;

use crate::proc::find_program;

/// The backends that are looked for when none is named, in this order.
pub const BY_DEFAULT: [BackendKind; 4] =
    [BackendKind::Claude, BackendKind::Codex, BackendKind::Gemini, BackendKind::Opencode];

/// Paths that are needed to find the program of a backend.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSearchPaths<'a> {
    /// The project: paths in the configuration are relative to it.
    pub root: &'a Path,
    /// Working directory of the backend, as an absolute path.
    pub cwd: &'a Path,
    pub path: Option<&'a OsStr>,
}

/// A backend that cannot be used, in plain words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackendChoiceError {
    /// Nobody said which, and none is installed.
    #[error("no coding agent is installed: looked for claude, codex, gemini and opencode")]
    NoneInstalled,
    #[error("there is no backend `{name}`")]
    Unknown {
        name: String,
        /// Known name that is most similar, for a hint.
        near: Option<String>,
    },
    #[error("backend `{name}`: {why}")]
    Unusable { name: String, why: String },
    #[error("{name} is not installed: there is no {program}")]
    NotInstalled {
        name: String,
        /// The program that was looked for.
        program: String,
    },
    /// There is a limit of cost and nobody would know what it costs.
    #[error("{0}")]
    CostUnknown(String),
}

impl BackendChoiceError {
    /// Return a hint on how to fix the error.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoneInstalled => {
                "install one of them, or describe your own program in ralph.toml \
                                    (`[backends.NAME]`, kind = \"command\" or \"acp\")"
                    .into()
            }
            Self::Unknown { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::Unknown { near: None, .. } => "`ralph backends` lists them".into(),
            Self::Unusable { name, .. } => format!("see `[backends.{name}]` in ralph.toml"),
            Self::NotInstalled { name, .. } => {
                format!("install it, or say where it is: `[backends.{name}] program = \"…\"`")
            }
            Self::CostUnknown(_) => "`--allow-unknown-cost` runs it all the same".into(),
        })
    }
}

/// A backend that is ready to be called.
pub struct ChosenBackend {
    /// Name of the backend in the configuration.
    pub name: String,
    pub kind: BackendKind,
    pub driver: Box<dyn BackendDriver>,
    /// The program to start: a name on the PATH or an absolute path.
    pub program: String,
    /// Arguments that are added after those of the driver.
    pub args: Vec<String>,
    /// Model to ask for; `None` for the backend's default.
    pub model: Option<String>,
    /// Table of the backend in the configuration.
    pub settings: BackendSettings,
}

impl ChosenBackend {
    /// Return the path of the program, if it is installed.
    pub fn found(&self, place: ProgramSearchPaths<'_>) -> Option<PathBuf> {
        find_program(OsStr::new(&self.program), place.path, place.cwd)
    }

    /// Whether it may run: with a limit of cost, nobody spends what nobody can count.
    pub fn check_cost(&self, config: &Config) -> Result<(), BackendChoiceError> {
        if config.allow_unknown_cost {
            return Ok(());
        }
        let reports =
            if self.driver.supports().cost { CostReporting::Yes } else { CostReporting::No };
        let limit = config.limits.max_cost.map(Dollars::get);
        may_start(&self.name, reports, &self.settings.prices, limit)
            .map_err(BackendChoiceError::CostUnknown)
    }
}

impl std::fmt::Debug for ChosenBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, program, args, model, .. } = self;
        write!(f, "{name}: {program} {args:?} model {model:?}")
    }
}

/// Backends that may run one stage.
#[derive(Debug)]
pub struct StageBackends {
    /// The chosen one. Whether it is installed shows when it runs: that is an outcome.
    pub chosen: ChosenBackend,
    /// Backends that replace the chosen one while it is limited, in order of preference.
    pub fallbacks: Vec<ChosenBackend>,
    /// Configured fallbacks that cannot be used, by name, with the reason.
    pub left_out: Vec<(String, BackendChoiceError)>,
}

impl StageBackends {
    /// The backend at this place: the chosen one is first, then those that may stand in for it.
    pub fn at(&self, place: usize) -> &ChosenBackend {
        place.checked_sub(1).and_then(|n| self.fallbacks.get(n)).unwrap_or(&self.chosen)
    }

    /// The place of the backend with this name.
    pub fn place_of(&self, name: &str) -> usize {
        self.fallbacks.iter().position(|one| one.name == name).map_or(0, |n| n + 1)
    }

    /// The first backend that is not limited at `now` (seconds since 1970), or the one to wait for.
    pub fn next(
        &self,
        limited: &BTreeMap<String, BackendUsageLimit>,
        now: i64,
    ) -> BackendSelection<&ChosenBackend> {
        let names = self.fallbacks.iter().map(|one| one.name.as_str());
        let by_name =
            |name: &str| self.fallbacks.iter().find(|one| one.name == name).unwrap_or(&self.chosen);
        match choice::next(&self.chosen.name, names, limited, now) {
            BackendSelection::Run(name) => BackendSelection::Run(by_name(name)),
            BackendSelection::Wait { backend, until } => {
                BackendSelection::Wait { backend: by_name(backend), until }
            }
        }
    }
}

/// All backends there are: those that need no configuration, and whatever it describes.
pub fn names(config: &Config) -> Vec<String> {
    let mut names: Vec<String> =
        BackendKind::BUILT_IN.iter().map(|kind| kind.as_str().to_owned()).collect();
    for name in config.backends.keys() {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The backend called `name`, with its own model.
pub fn named(
    config: &Config,
    name: &str,
    place: ProgramSearchPaths<'_>,
) -> Result<ChosenBackend, BackendChoiceError> {
    let settings = config.backends.get(name).cloned().unwrap_or_default();
    let kind = settings.kind.or_else(|| BackendKind::of_name(name)).ok_or_else(|| {
        let known = names(config);
        let near = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        BackendChoiceError::Unknown { name: name.to_owned(), near }
    })?;
    let driver = driver(kind, name, &settings, place)
        .map_err(|why| BackendChoiceError::Unusable { name: name.to_owned(), why })?;
    let program = match (kind, &settings.program) {
        (_, Some(program)) => below(place.root, program),
        (BackendKind::Sim, None) => own_program(),
        (_, None) => below(place.root, driver.program()),
    };
    // An ACP agent's arguments are its driver's: they may say which agent it is.
    let mut args = if kind == BackendKind::Acp { Vec::new() } else { settings.args.clone() };
    // The one program that switches by itself when its model is overloaded.
    if let (BackendKind::Claude, Some(model)) = (kind, &config.fallback_model) {
        args.extend(["--fallback-model".to_owned(), model.clone()]);
    }
    let model = settings.model.clone();
    Ok(ChosenBackend { name: name.to_owned(), kind, driver, program, args, model, settings })
}

/// The backend for a try by hand: the one asked for, the configured one, or the first installed.
pub fn choose(
    config: &Config,
    asked: RequestedBackend<'_>,
    place: ProgramSearchPaths<'_>,
) -> Result<ChosenBackend, BackendChoiceError> {
    chosen(config, None, asked, place)
}

/// Choose the backend of a stage and its fallbacks.
pub fn for_stage(
    config: &Config,
    stage: StageName,
    asked: RequestedBackend<'_>,
    place: ProgramSearchPaths<'_>,
) -> Result<StageBackends, BackendChoiceError> {
    let chosen = chosen(config, Some(stage), asked, place)?;
    chosen.check_cost(config)?;
    let mut choice = StageBackends { chosen, fallbacks: Vec::new(), left_out: Vec::new() };
    for name in &config.fallback_backends {
        let known = choice.fallbacks.iter().chain([&choice.chosen]).any(|one| one.name == *name);
        if known {
            continue;
        }
        match fallback(config, stage, asked, name, place) {
            Ok(one) => choice.fallbacks.push(one),
            Err(why) => choice.left_out.push((name.clone(), why)),
        }
    }
    Ok(choice)
}

/// Whether programs that ralph starts run as root, which some refuse unless told that it is meant.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn chosen(
    config: &Config,
    stage: Option<StageName>,
    asked: RequestedBackend<'_>,
    place: ProgramSearchPaths<'_>,
) -> Result<ChosenBackend, BackendChoiceError> {
    let mut chosen = match choice::backend(config, stage, asked) {
        Some(name) => named(config, name, place)?,
        None => BY_DEFAULT
            .iter()
            .filter_map(|kind| named(config, kind.as_str(), place).ok())
            .find(|chosen| chosen.found(place).is_some())
            .ok_or(BackendChoiceError::NoneInstalled)?,
    };
    let model = choice::model(config, stage, asked, &chosen.name, BackendRole::Chosen);
    chosen.model = model.map(str::to_owned);
    Ok(chosen)
}

fn fallback(
    config: &Config,
    stage: StageName,
    asked: RequestedBackend<'_>,
    name: &str,
    place: ProgramSearchPaths<'_>,
) -> Result<ChosenBackend, BackendChoiceError> {
    let mut chosen = named(config, name, place)?;
    if chosen.found(place).is_none() {
        let (name, program) = (name.to_owned(), chosen.program);
        return Err(BackendChoiceError::NotInstalled { name, program });
    }
    chosen.check_cost(config)?;
    let model = choice::model(config, Some(stage), asked, name, BackendRole::Fallback);
    chosen.model = model.map(str::to_owned);
    Ok(chosen)
}

fn driver(
    kind: BackendKind,
    name: &str,
    settings: &BackendSettings,
    place: ProgramSearchPaths<'_>,
) -> Result<Box<dyn BackendDriver>, String> {
    Ok(match kind {
        BackendKind::Claude => Box::new(backend::ClaudeDriver),
        BackendKind::Codex => Box::new(backend::CodexDriver),
        BackendKind::Gemini => Box::new(backend::GeminiDriver),
        BackendKind::Opencode => Box::new(backend::OpenCodeDriver),
        BackendKind::Sim => Box::new(backend::sim::SimDriver),
        BackendKind::Command => {
            let claim = settings.claim.unwrap_or(CommandClaim::Marker);
            Box::new(CommandDriver::new(name, &settings.command, claim)?)
        }
        BackendKind::Acp => {
            let program = settings.program.as_deref().ok_or("it has no `program`")?;
            let absolute = std::path::absolute(place.cwd).map_err(|e| e.to_string())?;
            Box::new(AcpDriver::new(acp::AcpOptions {
                name: name.to_owned(),
                program: program.to_owned(),
                args: settings.args.clone(),
                mode: settings.mode.clone(),
                cwd: absolute.display().to_string(),
            }))
        }
    })
}

/// A path in the configuration is relative to the project; a mere name is looked up on the PATH.
fn below(root: &Path, program: &str) -> String {
    if program.contains('/') {
        root.join(program).display().to_string()
    } else {
        program.to_owned()
    }
}

/// The agent inside ralph is this very program.
pub(crate) fn own_program() -> String {
    std::env::current_exe().map_or_else(|_| "ralph".to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
