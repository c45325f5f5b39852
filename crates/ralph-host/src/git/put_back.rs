//! Backends run git themselves. What they did to HEAD, the branch and the index is kept and undone,
//! so that their work is judged from the files alone.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Seek, SeekFrom};

use super::Repo;
use super::changes::Moved;
use super::checkpoint::Checkpoint;
use super::desk::copy_index;
use super::error::GitError;
use super::name::Oid;
use super::state::{Head, Stamp};

/// Most tips that are looked at; a backend that commits more often is kept by its last commit.
const MOST_TIPS: usize = 200;

impl Repo<'_> {
    /// Put HEAD, its branch and the index back to where they were at the checkpoint.
    pub(super) fn put_back(&self, cp: &Checkpoint) -> Result<Moved, GitError> {
        self.ensure_desk(cp)?;
        let mut moved = self.put_head_back(cp)?;
        moved.index = self.put_index_back(cp)?;
        Ok(moved)
    }

    /// The same without the index.
    pub(super) fn put_head_back(&self, cp: &Checkpoint) -> Result<Moved, GitError> {
        let stashed = self.stash() != cp.stash;
        if let Some(stash) = cp.stash.as_ref().filter(|_| stashed) {
            let name = cp.own_ref(&format!("stash/{}", cp.of.attempt));
            self.git(["update-ref", &name, stash.as_str()]).ok()?;
        }
        let unfinished = self.operation();
        let mut moved = Moved { stashed, unfinished, ..Moved::default() };
        if let Some(operation) = unfinished {
            self.writing_index(|| self.git(operation.forget()).run().map(drop))?;
        }
        let head = self.head()?;
        let there = head.branch == cp.branch && head.commit == cp.head;
        if there && self.log_of_head() == cp.log_of_head {
            return Ok(moved);
        }
        let on_branch = match &cp.branch {
            Some(branch) if head.branch != cp.branch => self.find_ref(branch)?,
            _ => head.commit.clone(),
        };
        self.keep_commits(cp, &head, on_branch.as_ref(), &mut moved)?;
        if !there {
            let found = head.branch.or(head.commit.map(String::from));
            moved.head = Some(found.unwrap_or_else(|| "a branch without a commit".to_owned()));
            self.point_head_back(cp)?;
        }
        Ok(moved)
    }

    /// Keep every commit that was made.
    fn keep_commits(
        &self,
        cp: &Checkpoint,
        head: &Head,
        on_branch: Option<&Oid>,
        moved: &mut Moved,
    ) -> Result<(), GitError> {
        let mut tips: BTreeSet<Oid> = self.logged_since(cp).into_iter().collect();
        tips.extend(head.commit.iter().chain(on_branch).cloned());
        tips.retain(|tip| Some(tip) != cp.head.as_ref());
        if tips.is_empty() {
            return Ok(());
        }
        let mut args = vec!["rev-list".to_owned(), "--ignore-missing".to_owned()];
        args.extend(tips.iter().map(Oid::to_string));
        args.extend(cp.head.iter().map(|head| format!("^{head}")));
        let list = self.look(args).ok()?;
        moved.commits = list.split(|b| *b == b'\n').filter_map(Oid::parse).collect();
        let mut batch = Vec::new();
        for tip in tips.iter().filter(|tip| moved.commits.contains(tip)) {
            let number = moved.kept.len() + 1;
            let name = cp.own_ref(&format!("commits/{}/{number}", cp.of.attempt));
            batch.extend(format!("update {name}\0{tip}\0\0").into_bytes());
            moved.kept.push(name);
        }
        if !batch.is_empty() {
            self.git(["update-ref", "-z", "--stdin"]).stdin(batch).ok()?;
        }
        Ok(())
    }

    /// Every commit that HEAD has been at since the checkpoint.
    fn logged_since(&self, cp: &Checkpoint) -> Vec<Oid> {
        let mut added = Vec::new();
        let read = fs::File::open(self.git_dir.join("logs/HEAD")).and_then(|mut log| {
            log.seek(SeekFrom::Start(cp.log_of_head))?;
            log.read_to_end(&mut added)
        });
        if read.is_err() {
            return Vec::new();
        }
        let new = |line: &[u8]| Oid::parse(line.split(|b| *b == b' ').nth(1)?);
        let tips = added.split(|b| *b == b'\n').filter_map(new).filter(|oid| !oid.is_null());
        let mut tips: Vec<Oid> = tips.collect();
        tips.drain(..tips.len().saturating_sub(MOST_TIPS));
        tips
    }

    fn point_head_back(&self, cp: &Checkpoint) -> Result<(), GitError> {
        let why = "ralph: put back after an attempt";
        let Some(branch) = &cp.branch else {
            let Some(head) = &cp.head else { return Ok(()) };
            let call = ["update-ref", "--no-deref", "-m", why, "HEAD", head.as_str()];
            return self.git(call).ok().map(drop);
        };
        if self.head()?.branch.as_ref() != Some(branch) {
            self.git(["symbolic-ref", "-m", why, "HEAD", branch]).ok()?;
        }
        match &cp.head {
            Some(head) => self.git(["update-ref", "-m", why, branch, head.as_str()]).ok()?,
            None => self.git(["update-ref", "-m", why, "-d", branch]).ok()?,
        };
        Ok(())
    }

    /// Put the user's index back. Says what was staged in it, where that was something else.
    fn put_index_back(&self, cp: &Checkpoint) -> Result<Option<Oid>, GitError> {
        let (user, desk) = (self.user_index(), self.desk(&cp.of.attempt));
        let saved = desk.saved();
        if Stamp::of(&user) == cp.index || fs::read(&user).ok() == fs::read(&saved).ok() {
            return Ok(None);
        }
        let mut kept = None;
        if !cp.is_clean() {
            // An index with conflicts makes no tree; then the files are all there is.
            let found = desk.spare();
            copy_index(&user, &found)?;
            let found = self.write_tree(&found).ok();
            copy_index(&saved, &desk.spare())?;
            if found.is_some() && found != self.write_tree(&desk.spare()).ok() {
                kept = found;
            }
        }
        if let Some(tree) = &kept {
            let name = cp.own_ref(&format!("index/{}", cp.of.attempt));
            self.git(["update-ref", &name, tree.as_str()]).ok()?;
        }
        self.install_saved(cp)?;
        Ok(kept)
    }
}
