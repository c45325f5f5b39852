//! Findings about the environment: git, its configured author, and the repository.

use super::{DoctorFinding, FindingArea, FindingState, Remedy};
use crate::words::count;

/// The oldest git that has everything ralph asks of it.
const OLDEST: (u32, u32) = (2, 40);

/// Judge the output of `git --version`. `None` means that git is not installed.
pub fn git_version(said: Option<&str>) -> DoctorFinding {
    let (major, minor) = OLDEST;
    let update = format!("install git {major}.{minor} or newer");
    let Some(said) = said else {
        return DoctorFinding::new(
            FindingArea::Git,
            FindingState::Problem,
            "git is not installed",
            update,
        );
    };
    let version = said.split_whitespace().find(|w| w.starts_with(|c: char| c.is_ascii_digit()));
    let mut numbers = version.unwrap_or_default().split('.').map(|n| n.parse::<u32>().ok());
    match (version, numbers.next().flatten(), numbers.next().flatten()) {
        (Some(version), Some(a), Some(b)) if (a, b) >= OLDEST => {
            DoctorFinding::ok(FindingArea::Git, format!("version {version}"))
        }
        (Some(version), Some(_), Some(_)) => {
            let what = format!("version {version} is older than {major}.{minor}");
            DoctorFinding::new(FindingArea::Git, FindingState::Problem, what, update)
        }
        _ => {
            let what = "its version cannot be read";
            DoctorFinding::new(
                FindingArea::Git,
                FindingState::Unknown,
                what,
                format!("git --version; {update}"),
            )
        }
    }
}

/// Report whether git knows the author of commits (`user.name` and `user.email`).
pub fn identity(known: bool) -> DoctorFinding {
    if known {
        return DoctorFinding::ok(FindingArea::Git, "knows who commits");
    }
    DoctorFinding::new(
        FindingArea::Git,
        FindingState::Problem,
        "does not know who commits, so nothing can land",
        "git config --global user.name \"Your Name\" && \
         git config --global user.email you@example.com",
    )
}

/// Facts about the repository and its working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The branch; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// Whether the repository has at least one commit.
    pub has_commit: bool,
    /// Files of the user with changes that are not committed.
    pub changed: usize,
    /// Number of files with conflicts.
    pub conflicts: usize,
    /// Something of git's own that is not finished: its name, how to finish it, how to give it up.
    pub unfinished: Option<(String, String, String)>,
    /// A lock that is in the way, and whether a killed ralph left it.
    pub lock: Option<(String, bool)>,
}

/// Return the findings about the repository.
pub fn repository(facts: &RepositoryFacts) -> Vec<DoctorFinding> {
    let found = |state, what: String, fix: String| {
        DoctorFinding::new(FindingArea::Repository, state, what, fix)
    };
    let mut all = Vec::new();
    if let Some((name, finish, give_up)) = &facts.unfinished {
        let what = format!("a {name} is in progress; no loop starts before it is over");
        all.push(found(FindingState::Problem, what, format!("{finish}, or {give_up}")));
    }
    if facts.conflicts > 0 {
        let what = format!("{} with conflicts", count(facts.conflicts, "file"));
        all.push(found(
            FindingState::Problem,
            what,
            "resolve them, then `git add` them".to_owned(),
        ));
    }
    match &facts.lock {
        Some((path, true)) => {
            let what = format!("a killed ralph left the lock {path}");
            let fix = "ralph doctor --fix".to_owned();
            all.push(found(FindingState::Warning, what, fix).mended_by(Remedy::GitLocks));
        }
        Some((path, false)) => {
            let what = format!("another program uses the repository, or left the lock {path}");
            all.push(found(FindingState::Problem, what, format!("if no git runs: rm {path}")));
        }
        None => {}
    }
    if all.is_empty() {
        all.push(standing(facts));
    }
    all
}

fn standing(facts: &RepositoryFacts) -> DoctorFinding {
    let at = match &facts.branch {
        Some(branch) => format!("on {}", branch.trim_start_matches("refs/heads/")),
        None => "at a commit without a branch".to_owned(),
    };
    let files = match facts.changed {
        0 => "nothing uncommitted".to_owned(),
        n => format!("{} not committed (they stay as they are)", count(n, "file")),
    };
    match (facts.has_commit, &facts.branch) {
        (false, _) => DoctorFinding::new(
            FindingArea::Repository,
            FindingState::Warning,
            format!("{at}, without a commit; {files}"),
            match facts.changed {
                0 => "git commit --allow-empty -m \"first commit\"",
                _ => "git add -A && git commit -m \"first commit\"",
            },
        ),
        (true, None) => DoctorFinding::new(
            FindingArea::Repository,
            FindingState::Warning,
            format!("{at}: what lands there is easily lost; {files}"),
            "git switch -c NAME",
        ),
        (true, Some(_)) => DoctorFinding::ok(FindingArea::Repository, format!("{at}, {files}")),
    }
}
