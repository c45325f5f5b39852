//! The ledger: the exact list of paths that ralph itself writes.
//!
//! They are nobody's change: not the backend's, not the user's. Change detection does not see them
//! and a roll-back does not touch them. The *shared* ones belong into the repository and ride in the
//! next commit; the *runtime* ones never do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::name::RepoPath;
use crate::store::TEMP_PREFIX;

/// Written by every run and meant for git.
const SHARED: [&str; 5] = [
    "ralph/inbox.jsonl",
    ".ralph/knowledge-index.md",
    ".ralph/knowledge-index.json",
    ".ralph/progress-log.md",
    ".ralph/progress-log.json",
];

/// Written by every run and not meant for git; files and directories.
const RUNTIME: [&str; 10] = [
    "ralph/.agent-session",
    ".ralph/state.json",
    ".ralph/handoffs",
    ".ralph/context",
    ".ralph/control",
    ".ralph/logs",
    ".ralph/run.lock",
    ".ralph/ledger.lock",
    "build/ralph-logs",
    "ralph/inbox.jsonl.torn",
];

/// Files that people write for ralph. A backend's change to one of them fails the attempt, unless the
/// task allows it.
const SOURCES: [&str; 5] =
    ["ralph.toml", "ralph/specs", "ralph/prompts", ".ralph/templates", ".ralph/skills"];

/// The paths that ralph writes, and those it works from, seen from the root of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerPaths {
    shared: Vec<RepoPath>,
    runtime: Vec<RepoPath>,
    sources: Vec<RepoPath>,
}

impl LedgerPaths {
    /// No paths at all: for a repository that is not the project's.
    pub(super) fn none() -> Self {
        Self { shared: Vec::new(), runtime: Vec::new(), sources: Vec::new() }
    }

    /// Return the paths that ralph writes in every project, with this plan file and the files beside it.
    pub fn with_plan(plan: &str) -> Self {
        let mut paths = Self {
            shared: SHARED.map(RepoPath::from).to_vec(),
            runtime: RUNTIME.map(RepoPath::from).to_vec(),
            sources: SOURCES.map(RepoPath::from).to_vec(),
        };
        paths.shared.push(plan.into());
        for beside in ["torn", "bak"] {
            paths.runtime.push(RepoPath::new(format!("{plan}.{beside}")));
        }
        let (folder, name) = plan.rsplit_once('/').map_or(("", plan), |(f, n)| (f, n));
        if name == "implementation.json" {
            let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            paths.shared.push(RepoPath::new(format!("{folder}PROGRESS.md")));
        }
        paths
    }

    /// The same for a lane, where what people write for ralph is a copy of theirs and no work of an agent.
    #[must_use]
    pub(super) fn of_lane(mut self) -> Self {
        let sources = std::mem::take(&mut self.sources);
        self.runtime.extend(sources);
        self
    }

    /// One more file or directory that stays out of them.
    #[must_use]
    pub fn and_runtime(mut self, path: impl Into<RepoPath>) -> Self {
        self.runtime.push(path.into());
        self
    }

    /// The same paths seen from a directory above.
    pub(super) fn below(&self, prefix: &RepoPath) -> Self {
        let put = |paths: &[RepoPath]| paths.iter().map(|p| join(prefix, p)).collect();
        Self { shared: put(&self.shared), runtime: put(&self.runtime), sources: put(&self.sources) }
    }

    /// Iterate over all paths: those that are in git, runtime files and sources.
    pub(crate) fn all(&self) -> impl Iterator<Item = &RepoPath> {
        self.shared.iter().chain(&self.runtime).chain(&self.sources)
    }

    /// Whether people write this path for ralph: specs, prompts, skills, configuration.
    pub fn is_source(&self, path: &RepoPath) -> bool {
        self.sources.iter().any(|source| path.is_at_or_below(source))
    }

    /// The files that ride in commits.
    pub fn shared(&self) -> &[RepoPath] {
        &self.shared
    }

    /// Check whether ralph writes this path.
    pub fn contains(&self, path: &RepoPath) -> bool {
        path.name().starts_with(TEMP_PREFIX.as_bytes())
            || self.shared.contains(path)
            || self.runtime.iter().any(|runtime| path.is_at_or_below(runtime))
    }

    /// Whether a file at this path makes one of the ledger impossible: it is where a folder of the ledger
    /// has to be, or below a file that rides.
    pub(super) fn clashes_with(&self, path: &RepoPath) -> bool {
        let above = |own: &RepoPath| own != path && own.is_at_or_below(path);
        let below = |own: &RepoPath| own != path && path.is_at_or_below(own);
        self.all().any(above) || self.shared.iter().any(below)
    }

    /// Pathspecs that stand for everything but these paths.
    ///
    /// Git refuses a pathspec, even an excluding one, that begins with the name of something ignored.
    /// So each is written as a pattern that matches only itself.
    pub(crate) fn everything_else(&self) -> Vec<OsString> {
        let mut specs = vec![OsString::from(":(top)")];
        specs.extend(self.shared.iter().map(|path| exclude(pattern(path))));
        specs.extend(self.runtime.iter().flat_map(without));
        specs.push(exclude(format!("**/{TEMP_PREFIX}*").into_bytes()));
        specs
    }
}

/// Pathspecs that leave out a path and all below it.
pub(super) fn without(path: &RepoPath) -> [OsString; 2] {
    [exclude(pattern(path)), exclude([pattern(path), b"/**".to_vec()].concat())]
}

fn exclude(pattern: Vec<u8>) -> OsString {
    OsString::from_vec([b":(top,exclude,glob)".to_vec(), pattern].concat())
}

/// A pattern that matches exactly this path. Its first byte is escaped whether it needs that or not:
/// this makes it a pattern, of which git knows no fixed beginning.
fn pattern(path: &RepoPath) -> Vec<u8> {
    let mut pattern = Vec::new();
    for (at, byte) in path.as_bytes().iter().enumerate() {
        if at == 0 || matches!(byte, b'*' | b'?' | b'[' | b'\\') {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
}

pub(super) fn join(prefix: &RepoPath, path: &RepoPath) -> RepoPath {
    if prefix.as_bytes().is_empty() {
        return path.clone();
    }
    RepoPath::new([prefix.as_bytes(), b"/", path.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_brings_its_history_and_a_list_is_no_prefix() {
        let paths = LedgerPaths::with_plan("docs/implementation.json");
        for ours in [
            "docs/implementation.json",
            "docs/PROGRESS.md",
            "docs/implementation.json.bak",
            ".ralph/handoffs/1.json",
            "ralph/.ralph-tmp-abc",
            "build/ralph-logs/a/b.log",
        ] {
            assert!(paths.contains(&ours.into()), "{ours}");
        }
        for not in ["PROGRESS.md", ".ralph/skills/x.md", "ralph/specs/a.md", ".ralph/logsbook"] {
            assert!(!paths.contains(&not.into()), "{not}");
        }
        assert!(!LedgerPaths::with_plan("plan.json").contains(&"PROGRESS.md".into()));
    }

    #[test]
    fn every_pathspec_is_a_pattern_that_matches_only_its_path() {
        let paths = LedgerPaths::with_plan("we[ir]d*.json").below(&"sub".into());
        let specs = paths.everything_else();
        assert!(specs.contains(&":(top,exclude,glob)\\sub/we\\[ir]d\\*.json".into()), "{specs:?}");
        assert!(specs.contains(&":(top,exclude,glob)\\sub/.ralph/logs/**".into()), "{specs:?}");
    }
}
