//! Why a gate that is green in home may be red in a lane, in words, with what to do about it.

use super::lane_files::is_local_settings;
use super::lane_proposal::{LaneProposal, list};
use crate::config::LaneSettings;
use crate::words::count;

/// Maximum number of names in one sentence.
const MOST_NAMES: usize = 5;

/// Differences between home and a lane, apart from the results of gates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneDifference {
    /// Settings of `[lane]` that are in force.
    pub settings: LaneSettings,
    /// Settings of `[lane]` that the files of the project suggest.
    pub proposal: LaneProposal,
    /// Ignored paths of home that the lane does not have; a folder ends in `/`.
    pub absent: Vec<String>,
    /// Files of the user that are not committed.
    pub uncommitted: Vec<String>,
    /// A virtual environment, outside home, whose packages lead to home's files.
    pub environment: Option<String>,
}

/// Possible reason for a failure in a lane, with advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneAdvice {
    /// Reason for the failure: what the lane lacks.
    pub what: String,
    /// Advice for the user.
    pub fix: String,
}

impl LaneDifference {
    /// The reasons for which gates with this output may be red in a lane alone, the likeliest first.
    /// Empty when nothing differs.
    pub fn advice(&self, outputs: &[&str]) -> Vec<LaneAdvice> {
        let mut all = Vec::new();
        let named: Vec<String> = self.missing_files(|path| {
            outputs.iter().any(|output| names_path(output, path.trim_end_matches('/')))
        });
        if !named.is_empty() {
            let what = format!(
                "it does not have {}, which git ignores and the output names",
                short_list(&named)
            );
            all.push(advice(what, self.copying(named)));
        }
        if let (None, Some(setup)) = (&self.settings.setup, &self.proposal.setup) {
            let what = "no setup is configured, so nothing is installed in it".to_owned();
            let when = list(&self.proposal.setup_when);
            let setup = crate::init::draft::quote(setup);
            all.push(advice(
                what,
                format!("in [lane] of ralph.toml: setup = {setup} and setup_when = {when}"),
            ));
        }
        let unlinked: Vec<String> = self
            .proposal
            .link
            .iter()
            .filter(|path| !self.settings.link.contains(path))
            .cloned()
            .collect();
        if !unlinked.is_empty() {
            let what =
                format!("the project depends on {}, beside the repository", short_list(&unlinked));
            let link = [self.settings.link.clone(), unlinked].concat();
            all.push(advice(what, format!("in [lane] of ralph.toml: link = {}", list(&link))));
        }
        if let Some(environment) = &self.environment {
            let what = format!(
                "the packages in {environment} lead to your checkout, so gates test your files there"
            );
            let fix = "let `setup` in [lane] make an environment in the lane, and let gates use it";
            all.push(advice(what, fix.to_owned()));
        }
        if !self.uncommitted.is_empty() {
            let files = count(self.uncommitted.len(), "file");
            let what =
                format!("it has only what is committed: not {}", short_list(&self.uncommitted));
            all.push(advice(what, format!("commit {files} that the gates need")));
        }
        if all.is_empty() {
            all.extend(self.guess());
        }
        all
    }

    /// With nothing better to say: ignored files, settings before all.
    fn guess(&self) -> Option<LaneAdvice> {
        let settings = self.missing_files(is_local_settings);
        let guessed = if settings.is_empty() { self.missing_files(|_| true) } else { settings };
        if guessed.is_empty() {
            return None;
        }
        let what = format!("it does not have {}, which git ignores", short_list(&guessed));
        let fix = format!("name those that the gates read: {}", self.copying(guessed));
        Some(advice(what, fix))
    }

    /// Absent paths that are no packages of a setup.
    fn missing_files(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let installs = self.settings.setup.is_some() || self.proposal.setup.is_some();
        let is_installed = |path: &str| {
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            path.ends_with('/') && installs && INSTALLED.contains(&name)
        };
        let is_made =
            |path: &str| MADE.iter().any(|made| path.split('/').any(|part| part == *made));
        let missing = self.absent.iter().filter(|path| !is_installed(path) && !is_made(path));
        missing.filter(|path| wanted(path)).cloned().collect()
    }

    fn copying(&self, mut paths: Vec<String>) -> String {
        paths.truncate(MOST_NAMES);
        let paths = paths.into_iter().map(|path| path.trim_end_matches('/').to_owned());
        let all: Vec<String> = self.settings.copy.iter().cloned().chain(paths).collect();
        format!("copy = {} in [lane] of ralph.toml, or lines in .worktreeinclude", list(&all))
    }
}

/// Folders that package managers fill.
const INSTALLED: [&str; 6] = ["node_modules", ".venv", "venv", "vendor", "deps", ".yarn"];

/// Folders that programs fill while they work.
const MADE: [&str; 7] = [
    "target",
    "__pycache__",
    ".pytest_cache",
    ".ruff_cache",
    ".mypy_cache",
    ".ralph",
    "ralph-logs",
];

fn advice(what: String, fix: String) -> LaneAdvice {
    LaneAdvice { what, fix }
}

fn short_list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Whether a text has the path, or the end of a longer one.
fn names_path(text: &str, path: &str) -> bool {
    let name_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + path.len()..].chars();
        // A full stop may end the sentence.
        let ends = match after.next() {
            Some('.') => after.next().is_none_or(|c| !name_part(c)),
            next => next.is_none_or(|c| !name_part(c)),
        };
        ends && before.is_none_or(|c| !name_part(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn sentences(difference: &LaneDifference, output: &str) -> Vec<String> {
        let all = difference.advice(&[output]);
        all.into_iter().map(|one| format!("{}: {}", one.what, one.fix)).collect()
    }

    #[test]
    fn an_ignored_file_that_the_output_names_is_the_reason() {
        let difference = LaneDifference {
            settings: LaneSettings { copy: paths(&[".npmrc"]), ..LaneSettings::default() },
            absent: paths(&[".env", "config/local.json", "target/"]),
            ..LaneDifference::default()
        };
        assert_eq!(
            sentences(&difference, "ENOENT: no such file, open '/lanes/lane-1/config/local.json'"),
            ["it does not have config/local.json, which git ignores and the output names: \
              copy = [\".npmrc\", \"config/local.json\"] in [lane] of ralph.toml, or lines in .worktreeinclude"]
        );
        // Without a name in the output, settings are more likely than the rest.
        assert_eq!(
            sentences(&difference, "assertion failed"),
            ["it does not have .env, which git ignores: name those that the gates read: \
              copy = [\".npmrc\", \".env\"] in [lane] of ralph.toml, or lines in .worktreeinclude"]
        );
    }

    #[test]
    fn a_missing_setup_is_the_reason_and_not_the_packages_it_would_install() {
        let proposal = LaneProposal {
            setup: Some("npm ci".into()),
            setup_when: paths(&["package-lock.json"]),
            ..LaneProposal::default()
        };
        let difference = LaneDifference {
            proposal,
            absent: paths(&["node_modules/"]),
            ..LaneDifference::default()
        };
        assert_eq!(
            sentences(&difference, "Cannot find module 'x'; node_modules missing"),
            ["no setup is configured, so nothing is installed in it: in [lane] of ralph.toml: \
              setup = \"npm ci\" and setup_when = [\"package-lock.json\"]"]
        );
    }

    #[test]
    fn a_folder_beside_the_repository_and_uncommitted_files_are_named() {
        let proposal = LaneProposal { link: paths(&["../lib"]), ..LaneProposal::default() };
        let difference =
            LaneDifference { proposal, uncommitted: paths(&["a.rs"]), ..LaneDifference::default() };
        assert_eq!(
            sentences(&difference, ""),
            [
                "the project depends on ../lib, beside the repository: \
                 in [lane] of ralph.toml: link = [\"../lib\"]",
                "it has only what is committed: not a.rs: commit 1 file that the gates need",
            ]
        );
        assert!(LaneDifference::default().advice(&["x"]).is_empty());
    }

    #[test]
    fn a_path_is_named_only_as_a_whole() {
        for yes in [".env", "open .env.", "'/x/.env'", "no .env: stop"] {
            assert!(names_path(yes, ".env"), "{yes}");
        }
        for no in [".env.local", "my.env", ".envrc", ""] {
            assert!(!names_path(no, ".env"), "{no}");
        }
    }
}
