//! The comparison of home with its shadow: whatever is the person's is equal in both.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::person::{MOST_TRIES, Person, SHARED, git};
use crate::repo::until;

impl Person {
    /// Change the index. A merge of git's reads it before it locks it, and writes over what was staged
    /// between; the files stay. So the person looks again when an arrival that may have met it is over.
    pub(crate) fn stage(&mut self, args: &[&str]) {
        self.both(args);
        let staged = |at: &Path| git(at, &["ls-files", "-s", "--", "user"]).said;
        until(|| !self.is_arriving());
        while staged(&self.home) != staged(&self.shadow) {
            self.unstaged += 1;
            self.note("it was lost from the index");
            assert!(self.in_home(args).ok && self.unstaged < MOST_TRIES);
            until(|| !self.is_arriving());
        }
    }

    /// Whether the journal has announced an arrival and not its end.
    fn is_arriving(&self) -> bool {
        let journal = fs::read(self.home.join(".git/ralph/journal.jsonl")).unwrap_or_default();
        let journal = String::from_utf8_lossy(&journal);
        let last = |record: &str| journal.rfind(&format!("\"record\":\"{record}\""));
        last("arrival_intent") > last("arrived").max(last("not_arrived"))
    }

    /// Everything of the person's, in home and without ralph.
    pub(crate) fn check(&self, ralphs: impl Fn(&str) -> bool) {
        for [place, home, shadow] in self.compared(&ralphs) {
            assert!(
                home == shadow,
                "{place}\nbeside ralph:\n{home}\nwithout ralph:\n{shadow}\n{}",
                self.diary.join("\n")
            );
        }
    }

    fn compared(&self, ralphs: &impl Fn(&str) -> bool) -> Vec<[String; 3]> {
        let mut all = Vec::new();
        let mut questions: Vec<Vec<String>> = [
            &["ls-files", "-s", "--", "user", "remote"][..],
            &["ls-tree", "-r", "main", "--", "user/", "remote/"],
            &["ls-tree", "-r", "other"],
            &["status", "--porcelain", "-uall", "--", "user", "remote", "src"],
            &["branch", "--show-current"],
            &["stash", "list", "--format=%gd"],
        ]
        .iter()
        .map(|args| args.iter().map(|arg| (*arg).to_owned()).collect())
        .collect();
        for n in 0..self.stashes() {
            for (commit, below) in [("", "user/"), ("^2", "user/"), ("^3", ".")] {
                let of = format!("stash@{{{n}}}{commit}");
                questions.push(["ls-tree", "-r", &of, below].map(str::to_owned).to_vec());
            }
        }
        for question in questions {
            let args: Vec<&str> = question.iter().map(String::as_str).collect();
            let [home, shadow] = [&self.home, &self.shadow].map(|at| git(at, &args).said);
            all.push([question.join(" "), home, shadow]);
        }
        for of in ["main", "other", ""] {
            let name = format!("{of}:{SHARED}");
            let text = |at: &PathBuf| {
                let lines = git(at, &["show", &name]).said;
                let lines: Vec<&str> = lines.lines().filter(|line| !ralphs(line)).collect();
                lines.join("\n")
            };
            all.push([name.clone(), text(&self.home), text(&self.shadow)]);
        }
        let files = |root: &Path| format!("{:#?}", files_below(&root.join("user"), root));
        all.push(["files of the person".to_owned(), files(&self.home), files(&self.shadow)]);
        all
    }
}

/// Files with their rights and contents.
fn files_below(folder: &Path, root: &Path) -> Vec<(PathBuf, u32, String)> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>());
    for path in entries.unwrap_or_default().into_iter().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(files_below(&path, root));
        } else {
            let rights = fs::metadata(&path).unwrap().permissions().mode();
            let name = path.strip_prefix(root).unwrap().to_owned();
            found.push((name, rights, fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}
