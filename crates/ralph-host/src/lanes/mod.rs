//! Lanes: checkouts of ralph's own in which coding agents work, outside the user's checkout.
//!
//! # Theory of operation
//!
//! ```text
//! home      <repo>/.git/ralph/lanes/<k>/       HEAD, index, commondir: ralph's git directory of the lane
//! the pool  <cache>/ralph/<name>-<hash>/
//!             home                             the git directory that the lanes belong to
//!             lane-<k>/                        the files
//!             lane-<k>/.git/                   the agent's private repository
//! ```
//!
//! [`LanePool`] hands out lanes, each under an operating-system lock. A [`Lane`] has two git
//! directories. Ralph's own is the one that every call of ralph's names ([`crate::git::Repo::of_lane`]):
//! it shares objects and references with home, and no agent sees it. The private repository is a few
//! files that ralph writes anew before each backend run, gate and hook
//! ([`Lane::write_private_repository`]). It borrows home's objects; whatever an agent does with git
//! happens there and ends with the attempt. Ralph never reads it.
//!
//! An attempt goes through a lane in this order:
//!
//! ```text
//! take → put_on(tip) → furnish → write_private_repository → the backend runs
//!      → remove_submodule_repositories → check_folders → repo().collect_candidate(…)
//!      → check_not_emptied → changed_submodules → left_out_by_base → write_private_repository
//!      → gates → repo().put_back_to_index() → run_hooks → repo().commit_on_ref(…) → trust_files
//! ```
//!
//! Lanes are kept between attempts: ignored files and what `[lane] setup` made stay, so that caches
//! stay warm. Everything about a lane can be deleted at any time; the next use makes it again.
//! A lane may hold anything that a hostile agent left, so paths are never followed through links that
//! ralph did not make, and no git call of ralph's reads a configuration from inside a lane.

mod checkout;
mod environment;
mod error;
mod files;
mod furnish;
mod git_config;
mod hooks;
mod ignore_rules;
mod inventory;
mod lane;
mod over_home;
mod pool;
mod private_repository;
mod setup;
mod submodules;
mod trial;

pub use crate::git::LaneDamage;
pub use environment::rewrite_environment;
pub use error::LaneError;
pub use furnish::FurnishReport;
pub use hooks::HookReport;
pub use inventory::{LaneState, LaneSummary, PrunedLanes, orphaned_lanes, remove_orphaned_lanes};
pub use lane::Lane;
pub use over_home::GitSettings;
pub use pool::{LanePool, cache_folder};
pub use trial::{LaneTrial, environment_of_home};

use crate::proc::Job;

/// Wraps a process that runs code of the project, such as in a sandbox, before it is started.
pub type JobSandbox<'w> = &'w dyn Fn(Job) -> Job;
