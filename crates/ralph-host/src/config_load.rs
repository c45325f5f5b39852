//! Reading the configuration: two files and the environment become layers of the core.
//!
//! Which plan file is in use is itself configured, and the plan's config record is a layer between
//! the files and the environment. So the sources are read once ([`ConfigSources::read`]), and resolved as
//! often as needed: without a plan to learn which one it is, then with its record.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ralph_core::config::{
    ConfigErrors, ConfigFlag, ConfigLayer, ConfigProblem, ConfigTier, ResolvedConfig, ValueOrigin,
    conf_layer, env_layer, flag_layer, parse_layer, plan_layer, resolve,
};
use ralph_core::plan::PlanConfig;

/// The name of the project's configuration file.
pub const PROJECT_FILE: &str = "ralph.toml";

/// The settings of Ralph Deluxe, best place first. They count in a project without `ralph.toml`.
const CONF_FILES: [&str; 2] = [".ralph/config/ralph.conf", "ralph.conf"];

/// No configuration is longer than this; whatever is, is another file.
const LONGEST_FILE: u64 = 1024 * 1024;

/// Everything but the plan that the configuration is made of.
#[derive(Clone, Debug)]
pub struct ConfigSources {
    files: Vec<ConfigLayer>,
    above: Vec<ConfigLayer>,
}

/// The text of the project's configuration.
#[derive(Clone, Copy, Debug)]
pub enum ProjectConfigText<'t> {
    /// Text of the file on disk.
    OnDisk,
    /// Text that would replace the file.
    Instead(&'t str),
}

impl ConfigSources {
    /// Read the user's file, the project's file, the variables and the options. All that is wrong in
    /// any of them is reported together.
    pub fn read(
        root: &Path,
        project: ProjectConfigText<'_>,
        env: impl IntoIterator<Item = (OsString, OsString)>,
        flags: &[ConfigFlag],
    ) -> Result<Self, ConfigErrors> {
        let vars: Vec<_> = env.into_iter().collect();
        let user = user_file(&vars).map(|path| {
            let label = path.display().to_string();
            read_layer(ConfigTier::User, &path, &label)
        });
        let project = match project {
            ProjectConfigText::OnDisk => read_project_layer(root),
            ProjectConfigText::Instead(text) => {
                parse_layer(ConfigTier::Project, PROJECT_FILE, text)
            }
        };
        let mut problems = Vec::new();
        let mut keep = |layer: Result<ConfigLayer, ConfigErrors>| match layer {
            Ok(layer) => Some(layer),
            Err(errors) => {
                problems.extend(errors.0);
                None
            }
        };
        let files = user.into_iter().chain([project]).filter_map(&mut keep).collect();
        let above =
            [env_layer(vars), flag_layer(flags)].into_iter().filter_map(&mut keep).collect();
        if problems.is_empty() { Ok(Self { files, above }) } else { Err(ConfigErrors(problems)) }
    }

    /// The configuration before any plan is known.
    pub fn without_plan(&self) -> Result<ResolvedConfig, ConfigErrors> {
        resolve(self.files.iter().chain(&self.above))
    }

    /// The configuration with the record of a plan; `file` is how messages call that plan.
    pub fn with_plan(&self, file: &str, plan: &PlanConfig) -> Result<ResolvedConfig, ConfigErrors> {
        let plan = plan_layer(file, plan)?;
        resolve(self.files.iter().chain([&plan]).chain(&self.above))
    }
}

/// The configuration of the project at `root`, all at once.
pub fn load(
    root: &Path,
    plan: (&str, &PlanConfig),
    env: impl IntoIterator<Item = (OsString, OsString)>,
    flags: &[ConfigFlag],
) -> Result<ResolvedConfig, ConfigErrors> {
    ConfigSources::read(root, ProjectConfigText::OnDisk, env, flags)?.with_plan(plan.0, plan.1)
}

/// Return the path of the user's own configuration file. `None` when neither `XDG_CONFIG_HOME` nor
/// `HOME` is an absolute path.
pub fn user_file(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let var = |name: &str| {
        let value = env.iter().find(|(key, _)| key == name).map(|(_, value)| PathBuf::from(value));
        // A relative directory would depend on where ralph was started: the XDG rules ignore it.
        value.filter(|path| path.is_absolute())
    };
    let directory = var("XDG_CONFIG_HOME").or_else(|| Some(var("HOME")?.join(".config")))?;
    Some(directory.join("ralph").join("config.toml"))
}

/// The layer of `ralph.toml`, or of a `ralph.conf` where there is none.
fn read_project_layer(root: &Path) -> Result<ConfigLayer, ConfigErrors> {
    match conf_in_force(root) {
        Some(label) => {
            let text = read_config_text(ConfigTier::Project, &root.join(label), label)?;
            Ok(text.map(|text| conf_layer(label, &text)).unwrap_or_default())
        }
        None => read_layer(ConfigTier::Project, &root.join(PROJECT_FILE), PROJECT_FILE),
    }
}

/// The `ralph.conf` that a project without a `ralph.toml` takes its settings from.
pub fn conf_in_force(root: &Path) -> Option<&'static str> {
    let absent = fs::symlink_metadata(root.join(PROJECT_FILE)).is_err_and(|e| is_absent(&e));
    CONF_FILES.into_iter().find(|name| absent && root.join(name).is_file())
}

/// The layer of one file; a file that is not there sets nothing.
fn read_layer(tier: ConfigTier, path: &Path, label: &str) -> Result<ConfigLayer, ConfigErrors> {
    match read_config_text(tier, path, label)? {
        Some(text) => parse_layer(tier, label, &text),
        None => Ok(ConfigLayer::default()),
    }
}

/// The text of a configuration file, `None` when there is none; `label` is how messages call it.
pub fn read_config_text(
    tier: ConfigTier,
    path: &Path,
    label: &str,
) -> Result<Option<String>, ConfigErrors> {
    let problem = |line: Option<usize>, message: String| {
        ConfigErrors(vec![ConfigProblem::new(
            ValueOrigin { tier, name: label.into(), line },
            message,
        )])
    };
    let bytes = match read_bytes(path) {
        Ok(bytes) => bytes,
        Err(ConfigReadError::Absent) => return Ok(None),
        Err(ConfigReadError::Because(why)) => return Err(problem(None, why)),
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(problem(Some(line), "this is not valid UTF-8: save the file as UTF-8".to_owned()))
        }
    }
}

enum ConfigReadError {
    Absent,
    Because(String),
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, ConfigReadError> {
    let because = |error: io::Error| ConfigReadError::Because(format!("cannot be read: {error}"));
    // The kind of file is asked first: opening a pipe would wait for somebody to write to it.
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => {
            return Err(match fs::symlink_metadata(path) {
                Ok(_) => ConfigReadError::Because(
                    "this is a link to a file that does not exist".to_owned(),
                ),
                Err(_) => ConfigReadError::Absent,
            });
        }
        Err(error) => return Err(because(error)),
    };
    if metadata.is_dir() {
        return Err(ConfigReadError::Because("this is a directory, not a file".to_owned()));
    }
    if !metadata.is_file() {
        return Err(ConfigReadError::Because("this is not an ordinary file".to_owned()));
    }
    let file = fs::File::open(path).map_err(because)?;
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(because)?;
    if bytes.len() as u64 > LONGEST_FILE {
        let message = "this is longer than 1 MiB, which no configuration is".to_owned();
        return Err(ConfigReadError::Because(message));
    }
    Ok(bytes)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
#[path = "config_load_tests.rs"]
mod tests;
