//! Somebody's own work in the tree: edits, staged and not, new files, ignored files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::repo::Repo;

/// The user's files and what git says about them, at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dirt {
    files: Vec<(&'static str, Option<File>)>,
    status: String,
    staged: String,
    unstaged: String,
}

/// Rights and bytes.
type File = (u32, Vec<u8>);

const FILES: [&str; 10] = [
    "user/kept.txt",
    "user/edited.txt",
    "user/staged.txt",
    "user/removed.txt",
    "user/tool.sh",
    "user/new-staged.txt",
    "user/untracked.txt",
    "user/deep/er/untracked.bin",
    "user/odd name\n.txt",
    "ignored/cache.bin",
];

/// Make every kind of dirt there is, and remember it.
pub(crate) fn make(repo: &Repo) -> Dirt {
    repo.write("user/edited.txt", "one\nTWO, by hand\nthree\n");
    repo.write("user/staged.txt", "one\nstaged\n");
    repo.write("user/new-staged.txt", "new and staged\n");
    repo.git(["add", "user/staged.txt", "user/new-staged.txt"]).ok();
    // Staged, and then edited once more.
    repo.write("user/staged.txt", "one\nstaged\nand more\n");
    repo.git(["rm", "-q", "--cached", "user/removed.txt"]).ok();
    fs::remove_file(repo.path("user/removed.txt")).unwrap();
    repo.mode("user/tool.sh", 0o755);
    repo.write("user/untracked.txt", "mine\r\nwith CRLF\r\n");
    repo.write("user/deep/er/untracked.bin", [0, 159, 146, 150, 10, 0]);
    repo.write("user/odd name\n.txt", "odd\n");
    repo.mode("user/untracked.txt", 0o640);
    repo.write("ignored/cache.bin", "a cache\n");
    look(repo)
}

/// The user's files as they are now.
pub(crate) fn look(repo: &Repo) -> Dirt {
    let file = |path: &'static str| {
        let full = repo.path(path);
        let mode = fs::symlink_metadata(&full).ok().map(|m| m.permissions().mode());
        (path, mode.map(|mode| (mode, fs::read(&full).unwrap())))
    };
    Dirt {
        files: FILES.into_iter().map(file).collect(),
        status: repo.ask_git(["status", "--porcelain=v1", "-uall", "--", "user", "ignored"]),
        staged: repo.ask_git(["diff", "--cached", "--", "user"]),
        unstaged: repo.ask_git(["diff", "--", "user"]),
    }
}

impl Dirt {
    /// Everything is exactly as it was, and nothing of it is in a commit since `start`.
    #[track_caller]
    pub(crate) fn is_untouched(&self, repo: &Repo, start: &str) {
        assert_eq!(look(repo), *self);
        let range = format!("{start}..HEAD");
        let touched = repo.ask_git(["log", "--format=%h %s", &range, "--", "user", "ignored"]);
        assert_eq!(touched, "", "these commits hold work of the user");
    }
}
