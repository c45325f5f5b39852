//! Names of branches on which the commits of a spec arrive. Home stays on the branch that it is on.

use std::collections::BTreeSet;

use super::Repo;
use super::error::GitError;

/// More branches of one name than anybody has.
const MOST_NAMES: u32 = 1000;

impl Repo<'_> {
    /// Whether git takes this as the name of a branch.
    pub(crate) fn is_branch_name(&self, name: &str) -> Result<bool, GitError> {
        let full = format!("refs/heads/{name}");
        let answer = self.look(["check-ref-format", &full]).run()?;
        Ok(answer.code == 0 && !name.starts_with('-') && name != "HEAD")
    }

    /// A branch `ralph/<word>`, or a free name like it. Nothing is made.
    pub(crate) fn free_branch(&self, word: &str) -> Result<String, GitError> {
        let args = ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"];
        let out = self.look(args).ok()?;
        let out = String::from_utf8_lossy(&out);
        let known: BTreeSet<&str> = out.lines().collect();
        // A branch `ralph` leaves no room for branches below it.
        let name = format!("ralph{}{word}", if known.contains("ralph") { '-' } else { '/' });
        let below = format!("{name}/");
        let is_free = |name: &str| !known.contains(name);
        let numbered = (2..MOST_NAMES).map(|n| format!("{name}-{n}"));
        let first = Some(name.clone()).filter(|_| !known.iter().any(|k| k.starts_with(&below)));
        let mut names = first.into_iter().chain(numbered);
        Ok(names.find(|name| is_free(name)).unwrap_or(name))
    }
}
