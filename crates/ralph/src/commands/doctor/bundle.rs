//! `--bundle`: one text file for a bug report, which a person can read before sending it.

use std::path::{Path, PathBuf};

use ralph_core::dashboard::redact::Redactor;
use ralph_core::doctor::DoctorReport;
use ralph_core::doctor::bundle::{self, BundleSection};
use ralph_host::config_load::user_file;
use ralph_host::store::{self, journal_file};

use super::look::DoctorContext;
use super::report;
use crate::error::CommandError;

/// Most records of the journal that the bundle has.
const RECORDS: usize = 200;
/// Most lines of a log that the bundle has.
const LINES: usize = 200;
/// Most names of files that the bundle lists.
const NAMES: usize = 50;

/// Whether what a backend was told is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BundledPrompts {
    None,
    Last,
}

#[derive(serde::Serialize)]
pub(super) struct WrittenBundle {
    pub(super) file: String,
    /// Title and size of each section.
    pub(super) parts: Vec<String>,
}

const HEAD: &str = "\
A report of `ralph doctor --bundle`. Secrets that ralph knows are replaced by [hidden]. There is no
source code in it, no specs and no plan; prompts only where --with-prompts asked for the last one.";

pub(super) fn write(
    look: &DoctorContext<'_>,
    report: &DoctorReport,
    file: &Path,
    prompts: BundledPrompts,
) -> Result<WrittenBundle, CommandError> {
    let shown = look.context.show(file);
    if file.symlink_metadata().is_ok() {
        return Err(CommandError::new(format!("{shown} is there already"))
            .hint("name a file that is not there yet"));
    }
    let sections = BundleWriter::new(look).sections(report, prompts);
    let text = bundle::text(HEAD, &sections);
    store::put_private(file, text.as_bytes())?;
    let size = |section: &BundleSection| match section.text.lines().count() {
        1 => "1 line".to_owned(),
        n => format!("{n} lines"),
    };
    let parts = sections.iter().map(|s| format!("{} ({})", s.title, size(s))).collect();
    Ok(WrittenBundle { file: shown, parts })
}

struct BundleWriter<'a> {
    look: &'a DoctorContext<'a>,
    redactor: Redactor,
    home: Option<String>,
}

impl<'a> BundleWriter<'a> {
    fn new(look: &'a DoctorContext<'a>) -> Self {
        let variables: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let pairs = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut patterns = look.config().redact;
        patterns.extend(bundle::secrets(pairs));
        let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
        Self { look, redactor: Redactor::new(&patterns), home }
    }

    fn sections(&self, report: &DoctorReport, prompts: BundledPrompts) -> Vec<BundleSection> {
        let project = &self.look.context.project;
        let root = project.root();
        let mut all = vec![self.section("versions", &self.versions())];
        let findings: Vec<String> = report.findings.iter().flat_map(report::lines).collect();
        all.push(self.section("doctor", &findings.join("\n")));
        let variables: Vec<_> = std::env::vars_os().collect();
        let files = [("settings: ralph.toml", Some(project.ralph_toml()))];
        for (title, path) in files.into_iter().chain([("settings: yours", user_file(&variables))]) {
            let text = path.and_then(|path| read(&path));
            all.extend(text.map(|t| self.section(title, &bundle::settings(&t, &self.redactor))));
        }
        all.extend(self.journal());
        let log = root.join(self.look.config().log_file);
        all.extend(tail(&log).map(|text| self.section("log of ralph", &text)));
        let logs = newest(&project.logs_dir());
        let agent = logs.iter().find(|path| starts(path, "agent-"));
        let agent = agent.and_then(|path| tail(path));
        all.extend(agent.map(|text| self.section("log of the agent loop", &text)));
        all.push(self.section("names of logs (their text stays here)", &names(&logs)));
        if prompts == BundledPrompts::Last {
            let prompt = logs.iter().find(|path| ends(path, ".prompt.md"));
            let text = prompt.and_then(|path| read(path));
            all.extend(text.map(|text| self.section("the last prompt", &text)));
        }
        all
    }

    fn section(&self, title: &str, text: &str) -> BundleSection {
        // Whose machine it is, is nobody's business.
        let text = match &self.home {
            Some(home) => text.replace(home.as_str(), "~"),
            None => text.to_owned(),
        };
        BundleSection::new(title, &text, &self.redactor)
    }

    fn versions(&self) -> String {
        let mut lines = vec![
            format!("ralph {}", env!("CARGO_PKG_VERSION")),
            format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            format!("written at {}", self.look.context.now()),
        ];
        for known in self.look.backends.iter().filter(|known| known.program.is_some()) {
            let version = known.version.as_deref().unwrap_or("of an unknown version");
            lines.push(format!("{} {version}", known.name));
        }
        lines.join("\n")
    }

    /// The last records, field by field: tasks, gate output and answers stay here.
    fn journal(&self) -> Option<BundleSection> {
        let text = read(&journal_file(&self.look.context.project.state_dir()))?;
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(RECORDS);
        let shown: Vec<String> = lines[from..]
            .iter()
            .filter(|line| !line.trim_matches(['\0', ' ']).is_empty())
            .map(|line| {
                bundle::record(line, &self.redactor).unwrap_or_else(|| "(no record)".to_owned())
            })
            .collect();
        Some(self.section("journal: the last records", &shown.join("\n")))
    }
}

fn read(path: &Path) -> Option<String> {
    let bytes = store::read(path).ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a log that ralph itself wrote.
fn tail(path: &Path) -> Option<String> {
    let text = read(path)?;
    let lines: Vec<&str> = text.lines().collect();
    Some(lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

/// The files of a directory, the newest first: their names begin with the time.
fn newest(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut all: Vec<(Option<std::time::SystemTime>, PathBuf)> = entries
        .map(|entry| (entry.metadata().and_then(|meta| meta.modified()).ok(), entry.path()))
        .collect();
    all.sort();
    all.into_iter().rev().map(|(_, path)| path).collect()
}

fn names(logs: &[PathBuf]) -> String {
    let line = |path: &PathBuf| {
        let size = path.metadata().map_or(0, |meta| meta.len());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("{size:>10}  {name}")
    };
    let lines: Vec<String> = logs.iter().take(NAMES).map(line).collect();
    if lines.is_empty() { "(none)".to_owned() } else { lines.join("\n") }
}

fn starts(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start))
}

fn ends(path: &Path, end: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end))
}
