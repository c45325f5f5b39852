//! Gates: commands that ralph itself runs to decide whether an attempt counts.
//!
//! # Theory of operation
//!
//! ```text
//! configuration, plan --resolve--> [Gate] --the host runs them--> lines --OutputReader--> [GateRunResult]
//!
//! [GateRunResult] + what is known of the base + changed judges --judge--> GateVerdict
//!
//! GateVerdict --as it is--> journal, prompt, report, terminal, page
//!             --with outputs--> iter-N.json
//! ```
//!
//! A red gate does not block by being red: it blocks when something fails that did not fail at the
//! base. So what a gate wrote is read for *what* failed, line by line and in bounded memory: the
//! names of tests where the runner is known ([`GateFailures::tests`]), the places and messages of
//! compilers and linters, and otherwise a fingerprint of the normalised text. [`compare`] then says
//! new, old, or that it cannot tell. It may say that it cannot tell where a person could; it must
//! never call a new failure old.
//!
//! *Judges* are the files that decide what a gate finds: tests, manifests, CI. [`judges`] says which
//! of them an attempt changed, and which tests it deleted or weakened.

mod baseline;
mod check;
mod compare;
mod complaints;
mod counts;
mod excerpt;
mod inner_end;
mod model;
mod normal;
mod output;
mod passes;
mod report;
mod resolve;
mod runners;
mod start;
mod verdict;

pub mod judges;

pub use baseline::{Baseline, Baselines};
pub use check::{FailingNames, GateCheck, GateStanding};
pub use compare::{FailureComparison, compare};
pub use excerpt::{ExcerptReader, shows_error};
pub use model::{Gate, GateEnding, GateFailures, GateNeed, GateRunResult};
pub use output::{KEPT_HEAD, KEPT_TAIL, OutputReader, OutputReading};
pub use report::report;
pub use resolve::{needed, resolve};
pub use start::{StartRequirement, gate_scripts, start_requirements};
pub use verdict::{GateRuling, GateVerdict, ProofGap, judge};

#[cfg(test)]
mod runners_tests;
