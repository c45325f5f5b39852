//! Kept work under `refs/ralph/`: list it, and delete it when it is old.
//!
//! A salvage is deleted by its age or by its position among all salvages. The other things that its
//! attempt left are deleted with it: the backend's own commits, an index, a stash. Work of a spec
//! that is not on HEAD yet (`spec`) is never deleted here.

use std::collections::BTreeMap;

use super::Repo;
use super::call::nul_fields;
use super::error::GitError;
use super::name::{Oid, RepoPath};
use super::salvage::Salvage;
use crate::ids::ulid_time;

/// Rule that decides which kept work is old enough to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SalvageRetentionRule {
    /// Work that was kept before this moment, in seconds since 1970.
    Before(i64),
    /// All but the newest so many.
    Beyond(usize),
}

/// Whether an attempt may still need what it started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OngoingWork {
    Nothing,
    Attempt,
}

/// Something that an attempt left beside its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptLeftover {
    /// Full name of the ref.
    pub name: String,
    pub object: Oid,
}

/// Kept work that a rule selects for deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetiredWork {
    /// Salvages, the newest first.
    pub salvages: Vec<Salvage>,
    pub others: Vec<AttemptLeftover>,
}

impl RetiredWork {
    /// Check whether the rule selects nothing.
    pub fn is_empty(&self) -> bool {
        self.salvages.is_empty() && self.others.is_empty()
    }
}

impl Repo<'_> {
    /// List the kept work that is old enough to be deleted. Change nothing.
    pub fn retired(
        &self,
        rule: SalvageRetentionRule,
        underway: OngoingWork,
    ) -> Result<RetiredWork, GitError> {
        let mut salvages = self.salvages()?;
        let before = match rule {
            SalvageRetentionRule::Before(moment) => {
                salvages.retain(|salvage| salvage.at < moment);
                moment
            }
            SalvageRetentionRule::Beyond(keep) if keep >= salvages.len() => {
                salvages.clear();
                i64::MIN
            }
            SalvageRetentionRule::Beyond(keep) => {
                let gone = salvages.split_off(keep);
                let oldest = salvages.last().map_or(i64::MAX, |salvage| salvage.at);
                salvages = gone;
                oldest
            }
        };
        let format = "--format=%(refname)%00%(objectname)%00%(creatordate:unix)";
        let out = self.look(["for-each-ref", format, "refs/ralph"]).ok()?;
        let text = String::from_utf8_lossy(&out);
        let goes = |line: &str| leftover(line, before, underway);
        Ok(RetiredWork { salvages, others: text.lines().filter_map(goes).collect() })
    }

    /// Let it go. A ref that was changed meanwhile stays.
    pub fn retire(&self, retired: &RetiredWork) -> Result<(), GitError> {
        let salvages = retired.salvages.iter().map(|s| (&s.name, &s.commit));
        let others = retired.others.iter().map(|o| (&o.name, &o.object));
        let mut batch = Vec::new();
        for (name, object) in salvages.chain(others) {
            batch.extend(format!("delete {name}\0{object}\0").into_bytes());
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.git(["update-ref", "-z", "--stdin"]).stdin(batch).ok().map(drop)
    }

    /// The files that each of these changed.
    pub fn salvage_files(&self, salvages: &[Salvage]) -> Result<Vec<Vec<RepoPath>>, GitError> {
        if salvages.is_empty() {
            return Ok(Vec::new());
        }
        let list: String = salvages.iter().map(|s| format!("{}\n", s.commit)).collect();
        let args = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--root", "--no-renames"];
        let out = self.look(args).stdin(list.into_bytes()).ok()?;
        let mut files: BTreeMap<Oid, Vec<RepoPath>> = BTreeMap::new();
        let mut commit = None;
        let mut fields = nul_fields(&out);
        while let Some(field) = fields.next() {
            if !field.starts_with(b":") {
                commit = Oid::parse(field);
            } else if let (Some(commit), Some(path)) = (&commit, fields.next()) {
                files.entry(commit.clone()).or_default().push(RepoPath::new(path));
            }
        }
        Ok(salvages.iter().map(|s| files.get(&s.commit).cloned().unwrap_or_default()).collect())
    }
}

/// A ref that goes: `<name> NUL <object> NUL <time>`.
fn leftover(line: &str, before: i64, underway: OngoingWork) -> Option<AttemptLeftover> {
    let [name, object, at] = <[&str; 3]>::try_from(line.split('\0').collect::<Vec<_>>()).ok()?;
    let mut parts = name.strip_prefix("refs/ralph/")?.split('/');
    let (_run, kind, attempt) = (parts.next()?, parts.next()?, parts.next());
    let goes = match kind {
        // Only an open attempt goes back to it.
        "candidate" => underway == OngoingWork::Nothing,
        "commits" | "index" | "stash" => {
            // A tree has no time of its own, and a stash may be older than its attempt.
            let made = attempt.and_then(ulid_time).or_else(|| at.parse().ok());
            made.is_some_and(|made| made < before)
        }
        _ => false,
    };
    let object = Oid::parse(object.as_bytes()).filter(|_| goes)?;
    Some(AttemptLeftover { name: name.to_owned(), object })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_attempt_left_behind_goes_and_only_when_it_is_old() {
        let object = "a".repeat(40);
        let goes = |name: &str, at: &str, underway| {
            leftover(&format!("refs/ralph/{name}\0{object}\0{at}"), 100, underway).is_some()
        };
        let idle = OngoingWork::Nothing;
        assert!(goes("r1/commits/a1/1", "99", idle) && !goes("r1/commits/a1/1", "100", idle));
        assert!(!goes("r1/index/a1", "", idle), "nobody knows how old it is");
        let young = "01JJ1XWXB8ZZZZZZZZZZZZZZZZ";
        assert!(!goes(&format!("r1/stash/{young}"), "5", idle), "the stash is older than its end");
        assert!(
            goes("r1/candidate/a1", "", idle) && !goes("r1/candidate/a1", "", OngoingWork::Attempt)
        );
        assert!(!goes("spec-all/spec", "1", idle) && !goes("r1/salvage/a1", "1", idle));
    }
}
