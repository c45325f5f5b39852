//! plan.jsonl: one record a line, each with its kind in `t`.
//!
//! # Theory of operation
//!
//! Live tasks and issues are lines that are edited in place; what is over leaves the file as a line
//! and stays behind as a tombstone at the end. Records of unknown kind, and `stage` and `note`, are
//! read past and kept. An edit that only adds gives the old text with lines behind it, so that the
//! host can append instead of rewriting.

mod edit;
mod follow;
mod read;
mod write;

use super::{EditError, ParseError, PlanCodec};
use crate::ids;
use crate::plan::{Id, Plan, PlanEdit};

/// Codec for plan.jsonl, ralph's own format.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonlCodec;

impl PlanCodec for JsonlCodec {
    fn parse(&self, text: &str) -> Result<Plan, ParseError> {
        read::plan(text)
    }

    fn parse_after(&self, plan: &Plan, old: &str, new: &str) -> Result<Plan, ParseError> {
        follow::plan(plan, old, new)
    }

    fn edit(&self, text: &str, edits: &[PlanEdit]) -> Result<String, EditError> {
        edit::edit(&read::plan(text)?, text, edits)
    }

    fn edit_parsed(
        &self,
        plan: &Plan,
        text: &str,
        edits: &[PlanEdit],
    ) -> Result<String, EditError> {
        edit::edit(plan, text, edits)
    }

    /// Nothing: the first record makes the file.
    fn empty(&self, _title: &str, _now: &str) -> String {
        String::new()
    }

    fn fresh_id(
        &self,
        _plan: &Plan,
        _spec: Option<&str>,
        taken: &dyn Fn(&Id) -> bool,
        random: &mut dyn FnMut() -> String,
    ) -> Id {
        fresh("t-", taken, random)
    }
}

/// An id for a new issue: `i-` and four characters, more when those collide.
pub fn fresh_issue_id(taken: &dyn Fn(&Id) -> bool, random: &mut dyn FnMut() -> String) -> Id {
    fresh("i-", taken, random)
}

fn fresh(prefix: &str, taken: &dyn Fn(&Id) -> bool, random: &mut dyn FnMut() -> String) -> Id {
    // All 36¹⁰ ids can only be taken by a `taken` that always says so.
    let found = ids::fresh(prefix, 4..=10, &|id| taken(&Id::new(id)), random);
    Id::new(found.unwrap_or_else(|| format!("{prefix}{}", random())))
}

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod read_tests;
