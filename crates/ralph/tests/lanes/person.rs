//! A person who works in home while ralph works, and a shadow of home in which the same person does the
//! same without ralph. Whatever is the person's has to be equal in both.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::repo::{Repo, until};

/// Files of the person that are there from the start.
pub(crate) const FILES: [&str; 4] =
    ["user/one.txt", "user/two.txt", "user/three.txt", "user/deep/four.txt"];

/// The file that both the person and ralph change, at different ends.
pub(crate) const SHARED: &str = "src/shared.txt";

/// Most times that a command of git is tried again after a lock has refused it.
pub(crate) const MOST_TRIES: u32 = 50;

/// Numbers by chance, the same ones for the same seed.
#[derive(Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }
}

/// The end of one command of git.
#[derive(Clone, Debug)]
pub(crate) struct GitEnd {
    pub(crate) ok: bool,
    pub(crate) said: String,
}

/// A person with home, its shadow, and a colleague who pushes to the remote.
pub(crate) struct Person {
    pub(crate) home: PathBuf,
    pub(crate) shadow: PathBuf,
    colleague: PathBuf,
    pub(crate) chance: Chance,
    /// Numbers contents and messages, so that each is unlike all others.
    pub(crate) count: u32,
    /// Tasks that the person added to the plan.
    pub(crate) added: Vec<String>,
    /// Whether the person changed a status by hand.
    pub(crate) gave_status: bool,
    /// Done tasks that the person marked as pending.
    pub(crate) reopened: Vec<String>,
    /// Whether an edit of the plan may be in home that is not committed.
    pub(crate) plan_is_edited: bool,
    /// Commands that git's own locks refused in home, and that were tried again.
    pub(crate) refused: u32,
    /// Resets that met an arrival and were taken back.
    pub(crate) taken_back: u32,
    /// Entries of the index that a merge of git's wrote over in the same moment.
    pub(crate) unstaged: u32,
    /// Edits of a file that git wrote in the same moment.
    pub(crate) overwritten: u32,
    /// Everything the person did, for the message of a failure.
    pub(crate) diary: Vec<String>,
}

/// A `git commit` whose editor is open.
pub(crate) struct OpenEditor {
    commit: Child,
    written: PathBuf,
    without_ralph: GitEnd,
    options: Vec<&'static str>,
}

/// Make the shadow of a repository, its remote and the colleague's clone, all beside it. Their paths are
/// relative, so that all of it can be copied.
pub(crate) fn furnish(repo: &Repo) {
    let at = |args: &[&str]| assert!(git(repo.root(), args).ok, "{args:?}");
    at(&["init", "-q", "--bare", "-b", "main", "../remote.git"]);
    at(&["remote", "add", "origin", "../remote.git"]);
    at(&["push", "-q", "-u", "origin", "main"]);
    at(&["branch", "-q", "other"]);
    at(&["clone", "-q", "../remote.git", "../colleague"]);
    let colleague = repo.root().with_file_name("colleague");
    assert!(git(&colleague, &["remote", "set-url", "origin", "../remote.git"]).ok);
    repo.shell("cp -a . ../shadow").ok();
}

impl Person {
    /// The person of a repository that [`furnish`] has prepared.
    pub(crate) fn new(repo: &Repo, seed: u64) -> Self {
        Self {
            home: repo.root().to_owned(),
            shadow: repo.root().with_file_name("shadow"),
            colleague: repo.root().with_file_name("colleague"),
            chance: Chance(seed),
            count: 0,
            added: Vec::new(),
            gave_status: false,
            reopened: Vec::new(),
            plan_is_edited: false,
            refused: 0,
            taken_back: 0,
            unstaged: 0,
            overwritten: 0,
            diary: Vec::new(),
        }
    }

    /// Do something, by chance. The shadow's plan is never edited: while home's is, only what leaves it
    /// alone is done.
    pub(crate) fn act(&mut self) {
        self.count += 1;
        let kinds = if self.has_edited_plan() { 10 } else { 23 };
        match self.chance.below(kinds) {
            0..=2 => self.edit(),
            3 => self.create(),
            4 => self.remove(),
            5 => self.make_executable(),
            6 => self.stage(&["add", "-A", "--", "user"]),
            7 => self.stage(&["reset", "-q", "--", "user"]),
            8 => self.commit(&["--", "user"]),
            9 => self.commit_shared(),
            10 => self.stage(&["add", "-A"]),
            11 => self.commit(&["-a"]),
            12 => self.commit(&[]),
            13 => self.amend(),
            14 => self.stash(),
            15 => self.unstash(),
            16 => self.switch(),
            17 => self.pull(),
            18 => self.reset_hard(),
            19 => self.undo_commit(),
            20 => self.add_task(),
            21 => self.give_status(),
            _ => self.switch(),
        }
    }

    /// Do less than `end` things.
    pub(crate) fn act_times(&mut self, end: u64) {
        for _ in 0..self.chance.below(end) {
            self.act();
        }
    }

    /// Do what ralph asks for when the person has switched branches in the very moment in which git
    /// merged.
    pub(crate) fn heed(&mut self, said: &str) {
        for line in said.lines() {
            let Some((before, after)) = line.split_once(" while git merged, and it moved") else {
                continue;
            };
            let branch = before.rsplit_once("you switched to ").unwrap().1.to_owned();
            let commands = after.split('`').nth(1).unwrap();
            let command = commands.split(" && ").find(|one| one.starts_with("git reset")).unwrap();
            self.taken_back += 1;
            self.note(&format!("on {branch}: {command}"));
            let now = self.branch();
            let args: Vec<&str> = command.split(' ').skip(1).collect();
            for args in [&["switch", "-q", &branch][..], &args, &["switch", "-q", &now]] {
                let end = self.in_home(args);
                assert!(end.ok, "{end:?}\n{}", self.diary.join("\n"));
            }
        }
    }

    /// Come to rest on the branch `main`.
    pub(crate) fn come_home(&mut self) {
        if !self.both(&["switch", "-q", "main"]) {
            self.stash();
            assert!(self.both(&["switch", "-q", "main"]), "{}", self.diary.join("\n"));
        }
    }

    fn in_both(&self, work: impl Fn(&Path)) {
        work(&self.shadow);
        work(&self.home);
    }

    pub(crate) fn note(&mut self, what: &str) {
        self.diary.push(what.to_owned());
    }

    fn write(&mut self, path: &str, content: &str) {
        self.note(&format!("write {path}: {content:?}"));
        self.in_both(|root| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        });
    }

    fn edit(&mut self) {
        let (path, count) = (self.chance.of(&FILES), self.count);
        self.write(path, &format!("edit {count}\n"));
    }

    fn create(&mut self) {
        let count = self.count;
        self.write(&format!("user/new/{count}.txt"), &format!("new {count}\n"));
    }

    fn remove(&mut self) {
        let path = self.chance.of(&FILES);
        self.note(&format!("remove {path}"));
        self.in_both(|root| drop(fs::remove_file(root.join(path))));
    }

    fn make_executable(&mut self) {
        let path = self.chance.of(&FILES);
        self.note(&format!("chmod +x {path}"));
        let rights = fs::Permissions::from_mode(0o755);
        self.in_both(|root| drop(fs::set_permissions(root.join(path), rights.clone())));
    }

    fn commit(&mut self, options: &[&str]) {
        let message = format!("user {}", self.count);
        self.both(&[&["commit", "-q", "-m", &message], options].concat());
    }

    /// Begin a commit, and come back when its editor is open or the commit has ended without one.
    pub(crate) fn open_editor(&mut self) -> Option<OpenEditor> {
        if self.has_edited_plan() {
            return None;
        }
        self.count += 1;
        let options = self.chance.of(&[&["commit", "-q"][..], &["commit", "-q", "-a"]]).to_vec();
        let without_ralph = git(&self.shadow, &self.with_editor(&options, "true"));
        self.note(&format!("in an editor {options:?}: {without_ralph:?}"));
        let place = self.home.with_file_name(format!("editor-{}", self.count));
        let written = place.with_extension("written");
        let waits = format!(
            "touch {}; while ! [ -e {} ]; do sleep 0.01; done",
            place.display(),
            written.display()
        );
        let args = self.with_editor(&options, &waits);
        let mut commit = command(&self.home, &args);
        let mut commit = commit.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until(|| place.exists() || commit.try_wait().unwrap().is_some());
        Some(OpenEditor { commit, written, without_ralph, options })
    }

    /// Write the message and end the commit.
    pub(crate) fn close_editor(&mut self, editor: OpenEditor) {
        fs::write(editor.written, "").unwrap();
        let mut home = end_of(&editor.commit.wait_with_output().unwrap());
        if !home.ok && is_refused_by_lock(&home.said) {
            self.refused += 1;
            let args = self.with_editor(&editor.options, "true");
            home = self.in_home(&args.iter().map(String::as_str).collect::<Vec<_>>());
        }
        self.same_end("commit in an editor", &editor.without_ralph, &home);
    }

    /// A command whose editor does this before it writes the message.
    fn with_editor(&self, command: &[&str], before: &str) -> Vec<String> {
        let count = self.count;
        let editor = format!("core.editor=f() {{ {before}; echo user {count} > \"$1\"; }}; f");
        ["-c", editor.as_str()].iter().chain(command).map(|word| (*word).to_owned()).collect()
    }

    /// Only what nobody else has is amended, as people do.
    fn amend(&mut self) {
        if self.subject(&self.shadow).starts_with("user") {
            self.both(&["commit", "-q", "--amend", "-a", "--no-edit"]);
        }
    }

    fn stash(&mut self) {
        self.both(&["stash", "push", "-q", "--include-untracked"]);
    }

    /// Only what fits, so that no conflict is left.
    fn unstash(&mut self) {
        let fits = git(&self.shadow, &["diff", "--quiet", "stash@{0}^1", "HEAD"]).ok
            && git(&self.shadow, &["status", "--porcelain"]).said.is_empty();
        if fits {
            self.both(&["stash", "pop", "-q"]);
        }
    }

    fn switch(&mut self) {
        let to = match self.branch().as_str() {
            "main" => "other",
            _ => "main",
        };
        self.both(&["switch", "-q", to]);
    }

    pub(crate) fn branch(&self) -> String {
        git(&self.shadow, &["branch", "--show-current"]).said
    }

    fn pull(&mut self) {
        if self.branch() != "main" {
            return;
        }
        let count = self.count;
        let at = &self.colleague;
        fs::create_dir_all(at.join("remote")).unwrap();
        fs::write(at.join(format!("remote/{count}.txt")), "by a colleague\n").unwrap();
        assert!(git(at, &["add", "-A"]).ok);
        assert!(git(at, &["commit", "-q", "-m", &format!("colleague {count}")]).ok);
        assert!(git(at, &["push", "-q"]).ok);
        self.both(&["pull", "-q", "--rebase", "origin", "main"]);
    }

    fn reset_hard(&mut self) {
        let before = self.home_head();
        self.both(&["reset", "-q", "--hard"]);
        self.take_back_if_moved(&before);
    }

    /// The person's last commit goes, if nothing is on top of it.
    fn undo_commit(&mut self) {
        let (subject, before) = (self.subject(&self.shadow), self.home_head());
        let last = git(&self.home, &["log", "-1", "--format=%s", &before]).said;
        if subject.starts_with("user") && subject == last {
            let parent = git(&self.home, &["rev-parse", &format!("{before}^")]).said;
            let shadow = git(&self.shadow, &["reset", "-q", "--keep", "HEAD^"]);
            self.note(&format!("reset --keep HEAD^: {shadow:?}"));
            let home = self.in_home(&["reset", "-q", "--keep", &parent]);
            self.same_end("reset --keep HEAD^", &shadow, &home);
            // The commit on which it was made is where the branch has to be now.
            if home.ok {
                self.take_back_if_arrived(&before, &parent);
            }
        }
    }

    fn home_head(&self) -> String {
        git(&self.home, &["rev-parse", "HEAD"]).said
    }

    /// A reset moves the branch to what HEAD was when git looked: what arrived since goes. A person who
    /// sees that takes it back.
    fn take_back_if_moved(&mut self, before: &str) {
        let last = git(&self.home, &["rev-parse", "-q", "--verify", "HEAD@{1}"]).said;
        let lost = git(&self.home, &["merge-base", "--is-ancestor", &last, "HEAD"]);
        if last != before && !lost.ok && self.branch() != "other" {
            self.taken_back += 1;
            let taken = self.in_home(&["reset", "-q", "--keep", &last]);
            assert!(taken.ok, "{taken:?}");
        }
    }

    /// The same, for a reset that removes the commit `undone` and nothing else.
    fn take_back_if_arrived(&mut self, undone: &str, parent: &str) {
        let last = git(&self.home, &["rev-parse", "-q", "--verify", "HEAD@{1}"]).said;
        if last != *undone && last != *parent {
            self.taken_back += 1;
            for args in [&["reset", "-q", "--keep", &last][..], &["revert", "--no-edit", undone]] {
                let end = self.in_home(args);
                assert!(end.ok, "{end:?}");
            }
        }
    }

    fn commit_shared(&mut self) {
        let count = self.count;
        self.note(&format!("edit {SHARED}: {count}"));
        let first = format!("user {count}\n");
        let save = |root: &Path| {
            let path = root.join(SHARED);
            // Git removes a file before it writes it anew; an editor would open it again.
            until(|| path.exists());
            let text = fs::read_to_string(&path).unwrap();
            let (_, rest) = text.split_once('\n').unwrap();
            fs::write(path, format!("{first}{rest}")).unwrap();
        };
        self.in_both(save);
        // Git looks at a file before it writes it, and not again. An editor tells that the file changed.
        self.until_unlocked();
        let is_there = |text: String| text.starts_with(&first);
        while !fs::read_to_string(self.home.join(SHARED)).is_ok_and(is_there) {
            self.overwritten += 1;
            self.note("the edit was overwritten");
            save(&self.home);
            self.until_unlocked();
        }
        let done = self.both(&["commit", "-q", "-m", &format!("user {count}"), "--", SHARED]);
        assert!(done, "{}", self.diary.join("\n"));
    }

    fn subject(&self, at: &Path) -> String {
        git(at, &["log", "-1", "--format=%s"]).said
    }

    /// The same command in the shadow and in home. It has to end the same way, when locks let it.
    pub(crate) fn both(&mut self, args: &[&str]) -> bool {
        let shadow = git(&self.shadow, args);
        self.note(&format!("git {args:?}: {shadow:?}"));
        let mut home = self.in_home(args);
        // In the middle of a fast-forward the files are ahead of the index.
        if shadow.ok && home.said.contains("cannot pull with rebase") {
            self.refused += 1;
            self.until_unlocked();
            home = self.in_home(args);
        }
        self.same_end(&args.join(" "), &shadow, &home);
        home.ok
    }

    #[track_caller]
    fn same_end(&self, command: &str, shadow: &GitEnd, home: &GitEnd) {
        assert!(
            shadow.ok == home.ok,
            "git {command}\nwithout ralph {shadow:?}\nbeside ralph {home:?}\n{}",
            self.diary.join("\n")
        );
    }

    /// A command in home, once more as often as a lock refuses it.
    pub(crate) fn in_home(&mut self, args: &[&str]) -> GitEnd {
        let stashes = if args.contains(&"push") { self.stashes() } else { 0 };
        for _ in 0..MOST_TRIES {
            let end = git(&self.home, args);
            if end.ok || !is_refused_by_lock(&end.said) {
                return end;
            }
            self.refused += 1;
            self.note(&format!("refused in home: git {args:?}: {}", end.said));
            if self.home.join(".git/rebase-merge").exists() {
                git(&self.home, &["rebase", "--abort"]);
            }
            if args.contains(&"push") && self.stashes() > stashes {
                // The entry is made, and the files are still there.
                return self.in_home(&["reset", "-q", "--hard"]);
            }
            self.until_unlocked();
        }
        panic!("git {args:?} is refused for ever\n{}", self.diary.join("\n"));
    }

    /// Wait until nobody holds a lock of git's in home.
    pub(crate) fn until_unlocked(&self) {
        let locks = ["index.lock", "HEAD.lock", "refs/heads/main.lock", "refs/heads/other.lock"];
        until(|| !locks.iter().any(|lock| self.home.join(".git").join(lock).exists()));
    }

    pub(crate) fn stashes(&self) -> usize {
        git(&self.home, &["stash", "list"]).said.lines().count()
    }
}

/// Whether a lock of git's refused, or a ref that moved while a command ran. A switch that finds the plan
/// changed has met an arrival.
fn is_refused_by_lock(said: &str) -> bool {
    let locks = [".lock", "cannot lock ref", "but expected", "could not write index"];
    let arrivals = ["\tplan.json", "fetch updated the current branch head"];
    locks.iter().chain(&arrivals).any(|part| said.contains(part))
}

/// Run git as the person.
pub(crate) fn git<S: AsRef<OsStr>>(at: &Path, args: &[S]) -> GitEnd {
    end_of(&command(at, args).output().unwrap())
}

/// A git command of the person's.
fn command<S: AsRef<OsStr>>(at: &Path, args: &[S]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(at).args(args).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Uma User");
        command.env(format!("GIT_{role}_EMAIL"), "uma@example.com");
    }
    command
}

fn end_of(output: &Output) -> GitEnd {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&text).trim_end().to_owned();
    GitEnd { ok: output.status.success(), said }
}
