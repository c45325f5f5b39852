//! The texts of files as they were at the checkpoint, or in the last commit.

use super::Repo;
use super::error::GitError;
use super::name::RepoPath;

/// New files that a summary names.
const MOST_NEW: usize = 50;

impl Repo<'_> {
    /// Summarize the changes since the last commit in a few lines for people.
    pub fn summary(&self) -> Result<String, GitError> {
        let out = self.look(["diff", "--stat", "--no-color", "--no-ext-diff", "HEAD"]).ok()?;
        let mut text = String::from_utf8_lossy(&out).into_owned();
        // A diff does not know files that git was not told about, and most work makes some.
        let new = self.look(["ls-files", "--others", "--exclude-standard"]).ok()?;
        for path in String::from_utf8_lossy(&new).lines().take(MOST_NEW) {
            text.push_str(&format!(" {path} | new\n"));
        }
        Ok(text)
    }

    /// The text of each path in the last commit; `None` where there is no file, no text, or no commit.
    pub fn texts_at_head(&self, paths: &[RepoPath]) -> Result<Vec<Option<String>>, GitError> {
        self.texts_at("HEAD", paths)
    }

    /// The text of each path in a commit; `None` where there is no file or no text.
    pub(crate) fn texts_at(
        &self,
        base: &str,
        paths: &[RepoPath],
    ) -> Result<Vec<Option<String>>, GitError> {
        let mut names = Vec::new();
        for path in paths {
            names.extend(base.as_bytes());
            names.push(b':');
            names.extend(path.as_bytes());
            names.push(0);
        }
        let out = self.look(["cat-file", "--batch", "-z"]).stdin(names).ok()?;
        let mut rest = &out[..];
        Ok(paths.iter().map(|_| next_text(&mut rest)).collect())
    }
}

/// The next answer: `<oid> blob <size>`, the bytes and a line end; or a line that says "missing".
fn next_text(rest: &mut &[u8]) -> Option<String> {
    let end = rest.iter().position(|b| *b == b'\n')?;
    let (head, tail) = (&rest[..end], &rest[end + 1..]);
    *rest = tail;
    let head = std::str::from_utf8(head).ok()?;
    let mut words = head.rsplitn(3, ' ');
    let size: usize = words.next()?.parse().ok()?;
    let is_blob = words.next() == Some("blob");
    let bytes = tail.get(..size)?;
    *rest = tail.get(size + 1..).unwrap_or_default();
    is_blob.then(|| String::from_utf8(bytes.to_vec()).ok()).flatten()
}
