//! Why a lane cannot be used.

use std::io;
use std::path::PathBuf;

use crate::file_error::{FileError, words};
use crate::git::{GitError, LaneDamage, RepoPath};
use crate::proc::ProcError;
use crate::store::LockError;

/// A lane cannot be made or used. Nothing in home was changed.
#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    /// The folder for lanes cannot be made or written to.
    #[error("cannot keep lanes in {}: {}", path.display(), words(source))]
    Folder {
        /// Folder for lanes.
        path: PathBuf,
        source: io::Error,
    },
    /// The folder for lanes is inside the repository.
    #[error("lanes cannot be kept in {}: it is inside the repository", .0.display())]
    InsideHome(PathBuf),
    /// The folder for lanes has the lanes of another repository.
    #[error("{} has the lanes of another repository, {}", path.display(), owner.display())]
    SharedFolder {
        /// Folder for lanes.
        path: PathBuf,
        /// The git directory of the other repository.
        owner: PathBuf,
    },
    /// Neither `XDG_CACHE_HOME` nor `HOME` says where lanes could be.
    #[error("there is no folder for lanes: neither XDG_CACHE_HOME nor HOME is set")]
    NoCache,
    /// Home fetches objects on demand, which a lane's private repository cannot.
    #[error(
        "this repository is a partial clone, and its missing objects cannot be fetched in a lane"
    )]
    PartialClone,
    #[error("all {0} lanes are in use")]
    AllInUse(u32),
    /// The lane's files are not what they should be.
    #[error("the lane {} {damage}{}", path.display(), during(by.as_deref()))]
    Damaged {
        path: PathBuf,
        damage: LaneDamage,
        /// What ran there meanwhile, such as a gate, where that is known.
        by: Option<String>,
    },
    /// A path in `[lane]` cannot be used.
    #[error("`{key}` in ralph.toml: {path} {reason}")]
    Setting {
        /// The full name of the key.
        key: &'static str,
        path: String,
        reason: &'static str,
    },
    /// The command of `[lane] setup` failed.
    #[error("`{command}`, the setup of the lane, {ending}\n{output}")]
    Setup {
        command: String,
        /// End of the command in words, for example `failed with exit code 1`.
        ending: String,
        /// Last part of the output of the command.
        output: String,
    },
    /// A submodule cannot be checked out from home's copy.
    #[error("the submodule {path} cannot be checked out: {source}")]
    Submodule {
        /// Path from the top of the lane.
        path: RepoPath,
        source: GitError,
    },
    /// The lock of a lane cannot be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A process could not be run.
    #[error(transparent)]
    Proc(#[from] ProcError),
}

fn during(by: Option<&str>) -> String {
    by.map_or_else(String::new, |by| format!(" while {by} ran"))
}

impl LaneError {
    /// Name what ran in a lane that is damaged since.
    pub(crate) fn after(self, name: impl Into<String>) -> Self {
        match self {
            Self::Damaged { path, damage, .. }
            | Self::Git(GitError::LaneDamaged { path, damage }) => {
                Self::Damaged { path, damage, by: Some(name.into()) }
            }
            other => other,
        }
    }

    /// Whether code of the project is to blame, which an attempt may have changed.
    pub(crate) fn is_of_project(&self) -> bool {
        matches!(self, Self::Setup { .. }) || self.damage().is_some()
    }

    /// The words for a lane that is damaged; `None` for all else.
    pub(crate) fn damage(&self) -> Option<String> {
        let is_damage =
            matches!(self, Self::Damaged { .. } | Self::Git(GitError::LaneDamaged { .. }));
        is_damage.then(|| self.to_string())
    }

    /// Advice for the user, where there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Folder { .. } | Self::InsideHome(_) | Self::NoCache => Some(
                "set `dir` in [lane] of ralph.toml to a folder outside the repository that you can \
                 write to"
                    .into(),
            ),
            Self::SharedFolder { .. } => {
                Some("set `dir` in [lane] of ralph.toml to a folder of this project alone".into())
            }
            Self::PartialClone => Some(
                "set workspace = \"checkout\" in ralph.toml, or fetch everything: \
                 `git fetch --refetch --no-filter`"
                    .into(),
            ),
            Self::AllInUse(_) => Some("wait until another run ends, or stop it".into()),
            Self::Damaged { .. } => Some("the next attempt makes the lane again".into()),
            Self::Setting { key, .. } => Some(format!("change `{key}`")),
            Self::Setup { .. } => {
                Some("change `setup` in [lane] of ralph.toml, or make the command work".into())
            }
            Self::Submodule { .. } => {
                Some("run `git submodule update --init --recursive` in your checkout".into())
            }
            Self::Lock(e) => e.hint(),
            Self::Git(e) => e.hint(),
            Self::File(e) => e.hint(),
            Self::Proc(e) => e.hint(),
        }
    }
}
