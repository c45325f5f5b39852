//! A branch of its own for a spec.
//!
//! Only HEAD moves: the branch begins at the commit that is checked out, and going back happens only
//! while nothing was committed on it. So no file and no entry of the index changes, and whatever the
//! user has not committed stays where it is.

use ralph_core::agent_session::SpecBranch;

use super::Repo;
use super::error::GitError;
use super::name::Oid;

/// More branches of one name than anybody has.
const MOST_NAMES: u32 = 1000;

impl Repo<'_> {
    /// A branch `ralph/<word>`, or a free name like it, that would begin at HEAD. Nothing is made yet.
    pub fn plan_branch(&self, word: &str) -> Result<SpecBranch, GitError> {
        let head = self.head()?;
        let names = std::iter::once(format!("ralph/{word}"))
            .chain((2..MOST_NAMES).map(|n| format!("ralph/{word}-{n}")));
        let mut name = format!("ralph/{word}");
        for free in names {
            name = free;
            if self.find_ref(&full(&name))?.is_none() {
                break;
            }
        }
        let short = |branch: &String| branch.strip_prefix("refs/heads/").map(str::to_owned);
        let branch = head.branch.as_ref().and_then(short);
        let detached = branch.is_none();
        let base = branch.or_else(|| head.commit.map(|commit| commit.to_string()));
        Ok(SpecBranch { name, base: base.unwrap_or_default(), detached })
    }

    /// Check the branch out, and make it if it is not there. Does nothing when HEAD is neither on it
    /// nor where it was before: then the user has gone elsewhere.
    pub fn enter_branch(&self, branch: &SpecBranch) -> Result<(), GitError> {
        let head = self.head()?;
        let before = match branch.detached {
            true => head.branch.is_none(),
            false => head.branch == Some(full(&branch.base)),
        };
        if !before {
            return Ok(());
        }
        if let (None, Some(commit)) = (self.find_ref(&full(&branch.name))?, &head.commit) {
            self.git(["update-ref", &full(&branch.name), commit.as_str(), ""]).ok()?;
        }
        let why = format!("ralph: on {}", branch.name);
        self.git(["symbolic-ref", "-m", &why, "HEAD", &full(&branch.name)]).ok().map(drop)
    }

    /// Back to where HEAD was, and the branch goes, if nothing was committed on it. Whether HEAD is
    /// where it was before.
    pub fn leave_branch(&self, branch: &SpecBranch) -> Result<bool, GitError> {
        let (head, name) = (self.head()?, full(&branch.name));
        if head.branch.as_ref() != Some(&name) {
            return Ok(true);
        }
        let base = match branch.detached {
            true => Oid::parse(branch.base.as_bytes()),
            false => self.find_ref(&full(&branch.base))?,
        };
        if base != head.commit {
            return Ok(false);
        }
        let why = format!("ralph: back on {}", branch.base);
        match branch.detached {
            true => {
                self.git(["update-ref", "--no-deref", "-m", &why, "HEAD", &branch.base]).ok()?
            }
            false => self.git(["symbolic-ref", "-m", &why, "HEAD", &full(&branch.base)]).ok()?,
        };
        if let Some(commit) = base {
            self.git(["update-ref", "-d", &name, commit.as_str()]).ok()?;
        }
        Ok(true)
    }
}

fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
