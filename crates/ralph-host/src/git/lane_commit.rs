//! Commits in a lane: made from its index, on its HEAD, without hooks, which have run before.

use std::ffi::{OsStr, OsString};

use super::Repo;
use super::call::{GitOutput, nul_fields, nul_list};
use super::error::GitError;
use super::message::{ATTEMPT, CommitMessage};
use super::name::{Oid, RepoPath};
use crate::crash;
use crate::store::put_view;

/// A commit that was not made. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum LaneCommitError {
    /// A hook, or the signing of the commit, said no.
    #[error("a hook of this repository refused the commit:\n{output}")]
    Hook { output: String },
    #[error("there is nothing to commit")]
    Nothing,
    #[error(transparent)]
    Git(#[from] GitError),
}

impl LaneCommitError {
    /// Return a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Git(e) => e.hint(),
            Self::Hook { .. } | Self::Nothing => None,
        }
    }
}

impl CommitMessage {
    /// The text of the commit of an attempt.
    pub(crate) fn of_attempt(&self, attempt: &str) -> Vec<u8> {
        self.render(&[(ATTEMPT, attempt)])
    }
}

impl Repo<'_> {
    /// Commit what the index of the lane holds on `base`, where the ref `name` is, and move the ref.
    ///
    /// While `HEAD` stands for the ref, git moves it with the commit, and refuses when somebody else moves
    /// it meanwhile. Where refs are in tables, or when the ref is not at `base`, it is moved afterwards.
    pub(crate) fn commit_on_ref(
        &self,
        name: &str,
        base: &Oid,
        message: Vec<u8>,
        riding: &[RepoPath],
    ) -> Result<Oid, LaneCommitError> {
        if self.ref_by_looking(name) != Some(Some(base.clone())) {
            let commit = self.commit_index(message, riding)?;
            crash::point();
            self.advance_ref(name, &commit, Some(base))?;
            return Ok(commit);
        }
        let head = self.git_dir.join("HEAD");
        let put = |text: String| put_view(&head, text.as_bytes()).map_err(GitError::from);
        put(format!("ref: {name}\n"))?;
        crash::point();
        let commit = self.commit_index(message, riding);
        crash::point();
        put(format!("{}\n", commit.as_ref().unwrap_or(base)))?;
        commit
    }

    /// A call of [`Repo::commit_on_ref`] may have been killed: put `HEAD` on the commit of that ref, which
    /// may move on, or go with its run.
    pub(crate) fn detach_head(&self) -> Result<(), GitError> {
        let path = self.git_dir.join("HEAD");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let name = text.strip_prefix("ref: ").map(str::trim_end);
        match name.and_then(|name| self.ref_by_looking(name)).flatten() {
            Some(commit) => Ok(put_view(&path, format!("{commit}\n").as_bytes())?),
            None => Ok(()),
        }
    }

    /// Commit what the index of the lane holds, with these files of the ledger as they are in the lane.
    pub(crate) fn commit_index(
        &self,
        message: Vec<u8>,
        riding: &[RepoPath],
    ) -> Result<Oid, LaneCommitError> {
        let mut answer = self.commit(&message, riding)?;
        if answer.stderr.contains("did not match any file") {
            // A commit takes only files that git knows.
            let args = ["update-index", "--add", "--remove", "-z", "--stdin"];
            self.git(args).stdin(nul_list(riding)).ok()?;
            answer = self.commit(&message, &[])?;
        }
        if answer.code == 0 {
            let commit = self.head()?.commit;
            return Ok(commit.ok_or_else(|| GitError::Unreadable("commit".into()))?);
        }
        let said = answer.said();
        let nothing = ["nothing to commit", "nothing added to commit", "no changes added"];
        if answer.code == 1 && nothing.iter().any(|words| said.contains(words)) {
            return Err(LaneCommitError::Nothing);
        }
        let signing = ["failed to sign", "signing failed", "failed to write commit object"];
        if signing.iter().any(|words| said.contains(words)) {
            return Err(GitError::Signing(said).into());
        }
        Err(LaneCommitError::Git(answer.into_error()))
    }

    /// Commit the index, and these files as they are in the lane.
    fn commit(&self, message: &[u8], files: &[RepoPath]) -> Result<GitOutput, GitError> {
        let args = ["commit", "-q", "--cleanup=whitespace", "--no-verify", "-F", "-"];
        let include = if files.is_empty() { &[][..] } else { &["-i", "--"] };
        let args = args.iter().chain(include).map(OsStr::new);
        let call = self.git(args.chain(files.iter().map(|file| file.as_path().as_os_str())));
        let call = call.env("GIT_LITERAL_PATHSPECS", "1").stdin(message.to_vec());
        call.patience(self.hook_patience).run()
    }

    /// The short name of the branch that is checked out, unless HEAD is detached, and its commit.
    pub(crate) fn branch_and_commit(&self) -> Result<(Option<String>, Option<Oid>), GitError> {
        let head = self.head()?;
        let short = |name: String| name.strip_prefix("refs/heads/").map(str::to_owned);
        Ok((head.branch.and_then(short), head.commit))
    }

    /// Return the message of a commit.
    pub(crate) fn message_of(&self, commit: &Oid) -> Result<String, GitError> {
        let args = ["log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%B"];
        let out = self.look(args.into_iter().chain([commit.as_str()])).ok()?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The commit of a reference, if it is there.
    pub(crate) fn find_commit(&self, name: &str) -> Result<Option<Oid>, GitError> {
        self.find_ref(name)
    }

    /// The files of the ledger that git ignores, relative to the project.
    pub(crate) fn ignored_ledger(&self) -> Result<Vec<String>, GitError> {
        let mut paths = self.ledger.shared().to_vec();
        let args = ["check-ignore", "-z", "--stdin"];
        let answer = self.look(args).stdin(nul_list(&paths)).run()?;
        if answer.code > 1 {
            return Err(answer.into_error());
        }
        let ignored: Vec<RepoPath> = nul_fields(&answer.stdout).map(RepoPath::new).collect();
        paths.retain(|path| ignored.contains(path));
        Ok(paths.iter().filter_map(|path| path.below(&self.prefix)).collect())
    }

    /// A file of the project as a commit has it.
    pub(crate) fn project_file_at(
        &self,
        commit: &Oid,
        file: &str,
    ) -> Result<Option<Vec<u8>>, GitError> {
        self.project_file(commit.as_str(), file)
    }

    /// A file of the project as the index has it.
    pub(crate) fn staged_project_file(&self, file: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.project_file("", file)
    }

    fn project_file(&self, of: &str, file: &str) -> Result<Option<Vec<u8>>, GitError> {
        let path = self.prefix.join(&RepoPath::from(file));
        let answer = self.look(["cat-file", "blob", &format!("{of}:{path}")]).run()?;
        Ok((answer.code == 0).then_some(answer.stdout))
    }

    /// The commit that the lane is on.
    pub(crate) fn head_commit(&self) -> Result<Option<Oid>, GitError> {
        Ok(self.head()?.commit)
    }

    /// Move a reference of ralph's from one commit to another; `None` stands for one that is not there.
    pub(crate) fn advance_ref(
        &self,
        name: &str,
        new: &Oid,
        old: Option<&Oid>,
    ) -> Result<(), GitError> {
        let zero = "0".repeat(new.as_str().len());
        let old = old.map_or(&zero[..], Oid::as_str);
        self.git(["update-ref", "-m", "ralph: land", name, new.as_str(), old]).ok().map(drop)
    }

    /// Delete a ref that belongs to ralph.
    pub(crate) fn delete_ref(&self, name: &str) -> Result<(), GitError> {
        self.git(["update-ref", "-d", name]).ok().map(drop)
    }

    /// The last commit that two commits have in common.
    pub(crate) fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Oid, GitError> {
        self.look(["merge-base", one.as_str(), other.as_str()]).oid()
    }

    /// Whether `ancestor` is `commit` or in its history.
    pub(crate) fn contains(&self, commit: &Oid, ancestor: &Oid) -> Result<bool, GitError> {
        if commit == ancestor {
            return Ok(true);
        }
        let args = ["merge-base", "--is-ancestor", ancestor.as_str(), commit.as_str()];
        match self.look(args).run()? {
            answer if answer.code == 0 => Ok(true),
            answer if answer.code == 1 => Ok(false),
            answer => Err(answer.into_error()),
        }
    }

    /// Whether two commits differ in nothing but the ledger.
    pub(crate) fn has_same_work(&self, one: &Oid, other: &Oid) -> Result<bool, GitError> {
        let args = ["diff-tree", "-r", "--quiet", one.as_str(), other.as_str(), "--"];
        let specs = self.ledger.everything_else();
        let args = args.iter().map(OsStr::new).chain(specs.iter().map(OsString::as_os_str));
        match self.look(args).run()? {
            answer if answer.code == 0 => Ok(true),
            answer if answer.code == 1 => Ok(false),
            answer => Err(answer.into_error()),
        }
    }

    /// Return the directory of the hooks. Git is asked only once.
    pub(crate) fn hooks(&self) -> Result<std::path::PathBuf, GitError> {
        use std::os::unix::ffi::OsStrExt;
        if let Some(known) = self.hooks.get() {
            return Ok(known.clone());
        }
        let out = self.look(["rev-parse", "--git-path", "hooks"]).ok()?;
        let out = out.strip_suffix(b"\n").unwrap_or(&out);
        let path = self.top.join(std::ffi::OsStr::from_bytes(out));
        Ok(self.hooks.get_or_init(|| path).clone())
    }
}
