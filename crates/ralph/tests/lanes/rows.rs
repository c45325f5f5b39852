//! Each row of the tables about landing and arrival, through the real binary: what happens to home, byte
//! for byte and with its index, and the way out of every wait.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ralph_testkit::Running;

use crate::plans::{Format, Task, task};
use crate::repo::{Repo, held, repo_with, rule, said, says, until};

/// Every task makes a file, and the first also edits one that is there.
pub(crate) const WORK: &str =
    "{ write = \"work/{task}.txt\", text = \"{task} is done\\n\" }, { claim = \"done\" }";
pub(crate) const EDIT: &str = "{ patch = \"src/main.c\", find = \"return 0\", with = \"return 1\" }, { write = \"work/{task}.txt\", text = \"{task} is done\\n\" }, { claim = \"done\" }";

pub(crate) const ONE: [Task; 1] = [task("t-aaa1")];
pub(crate) const TWO: [Task; 2] = [task("t-aaa1"), task("t-aaa2")];

/// A home in which the agent waits for `~/go` and then edits `src/main.c`.
pub(crate) fn home(tasks: &[Task]) -> Repo {
    let repo = repo_with(Format::Deluxe, tasks);
    repo.git(["branch", "other"]).ok();
    repo.script(&(rule("task = \"t-aaa1\"", &held(EDIT)) + &rule("", WORK)));
    repo
}

/// Start a build, and come back when its agent works and everything before it has arrived.
fn working(repo: &Repo) -> Running {
    let run = repo.spawn(["build"]);
    repo.until_home_has("go.held");
    until_arrived(repo);
    run
}

/// Wait until everything that landed has arrived.
#[track_caller]
pub(crate) fn until_arrived(repo: &Repo) {
    until(|| {
        let journal = repo.journal();
        let count = |kind: &str| journal.iter().filter(|record| record["record"] == kind).count();
        count("landed") == count("arrived")
    });
}

/// A build during which a person does something while the agent works.
fn build_beside(repo: &Repo, person: impl FnOnce()) -> ralph_testkit::Run {
    let run = working(repo);
    person();
    repo.allow("go");
    run.wait()
}

type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Home's files, its index, its HEAD and its branches, without what git ignores.
fn home_now(repo: &Repo) -> Files {
    let mut files = repo.everything();
    let ours = [".ralph/", "ralph/", "build/"];
    let git = [".git/index", ".git/HEAD", ".git/refs/heads/"];
    files.retain(|path, _| {
        let path = path.strip_prefix(repo.root()).unwrap().display().to_string();
        let has = |list: &[&str]| list.iter().any(|start| path.starts_with(start));
        match path.starts_with(".git") && path != ".gitignore" {
            true => has(&git),
            false => !has(&ours) && ![".ralph", "ralph", "build"].contains(&path.as_str()),
        }
    });
    files
}

/// What the last build brought is on `main` and in home, and everything of ralph's is clean.
#[track_caller]
pub(crate) fn is_home(repo: &Repo, tasks: &[Task]) {
    for task in tasks {
        let file = format!("work/{}.txt", task.id);
        assert_eq!(repo.read(&file), format!("{} is done\n", task.id));
        assert!(repo.is_done(task.id), "{}", repo.plan());
    }
    let mut landed = repo.landed();
    landed.sort();
    assert_eq!(landed, tasks.iter().map(|task| task.id).collect::<Vec<_>>());
    assert_eq!(repo.ask_git(["status", "--porcelain", "--", "work", "plan.json", ".ralph"]), "");
}

/// Commit one file as a person.
pub(crate) fn commit(repo: &Repo, path: &str, text: &str) {
    repo.write(path, text);
    repo.git(["add", path]).ok();
    repo.git(["commit", "-q", "-m", &format!("my {path}"), "--", path]).ok();
}

#[test]
fn what_lands_is_what_the_gates_saw_with_the_ledger_beside_it() {
    let repo = home(&ONE);
    let list = "find . -type f ! -path './.*' ! -name plan.json | sort | xargs sha256sum";
    let gate = format!(
        "[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"{list} > $HOME/seen; echo more > work/by-the-gate; echo x > src/main.c\"\n"
    );
    repo.config(&format!("backend = \"sim\"\n{gate}"));
    repo.allow("go");
    let run = repo.build([]);
    repo.shell("git clone -q . \"$HOME/clone\"").ok();
    let landed = repo.shell(&format!("cd \"$HOME/clone\" && {list}")).ok().stdout;
    let seen = std::fs::read_to_string(repo.home().join("seen")).unwrap();
    assert_eq!(landed, seen, "{}", said(&run));
    let files = repo.ask_git(["show", "--name-only", "--format=", "HEAD"]);
    let all = [
        ".ralph/progress-log.json",
        ".ralph/progress-log.md",
        "plan.json",
        "src/main.c",
        "work/t-aaa1.txt",
    ];
    assert_eq!(files.lines().collect::<Vec<_>>(), all);
    is_home(&repo, &ONE);
}

#[test]
fn a_branch_that_home_left_moves_and_home_stays_to_the_byte() {
    let repo = home(&ONE);
    let run = working(&repo);
    repo.git(["switch", "-q", "other"]).ok();
    repo.write("user/edited.txt", "mine\n");
    repo.write("user/new.txt", "mine\n");
    repo.git(["add", "user"]).ok();
    repo.write("user/edited.txt", "mine, and more\n");
    let mut before = home_now(&repo);
    repo.allow("go");
    let run = run.wait();
    let mut after = home_now(&repo);
    let main = repo.path(".git/refs/heads/main");
    assert_ne!(before.remove(&main), after.remove(&main), "{}", said(&run));
    assert_eq!(before, after, "{}", said(&run));
    assert_eq!((run.code, repo.ask_git(["branch", "--show-current"])), (0, "other".to_owned()));
    repo.git(["stash", "-q", "-u"]).ok();
    repo.git(["switch", "-q", "main"]).ok();
    is_home(&repo, &ONE);
}

#[test]
fn commits_arrive_beside_staged_unstaged_untracked_and_ignored_work() {
    let repo = home(&ONE);
    let run = build_beside(&repo, || {
        repo.write("user/edited.txt", "mine\n");
        repo.write("user/staged.txt", "staged\n");
        repo.git(["add", "user/staged.txt"]).ok();
        repo.git(["rm", "-q", "--cached", "user/removed.txt"]).ok();
        repo.write("user/new.txt", "new\n");
        repo.git(["add", "--intent-to-add", "user/new.txt"]).ok();
        repo.write("ignored/cache", "cache\n");
    });
    assert_eq!(run.code, 0, "{}", said(&run));
    is_home(&repo, &ONE);
    let status = repo.ask_git(["status", "--porcelain", "-uall"]);
    let mine = " M user/edited.txt\n A user/new.txt\nD  user/removed.txt\nM  user/staged.txt\n?? user/removed.txt";
    assert_eq!(status, mine, "{}", said(&run));
    assert_eq!(repo.read("user/edited.txt"), "mine\n");
    assert_eq!(repo.ask_git(["show", ":user/staged.txt"]), "staged");
    assert_eq!(repo.read("ignored/cache"), "cache\n");
}

/// The test that docs/comparison.md describes.
#[test]
fn a_file_that_you_edit_while_the_agent_works_on_it_stays_as_you_left_it() {
    let repo = home(&TWO);
    let run = working(&repo);
    repo.write("src/main.c", "int main(void) { return 42; }\n");
    let before = home_now(&repo);
    repo.allow("go");
    let run = run.wait().fails(3);
    assert_eq!(home_now(&repo), before, "{}", said(&run));
    says(&run, "they touch src/main.c, which you are editing");
    says(&run, "`ralph land` brings them");
    assert_eq!(repo.runs(), ["t-aaa1", "t-aaa2"], "work goes on from the tip");
    // The way out: the person is ready.
    repo.git(["checkout", "-q", "--", "src/main.c"]).ok();
    repo.build([]).ok();
    is_home(&repo, &TWO);
    assert_eq!(repo.read("src/main.c"), "int main(void) { return 1; }\n");
    assert_eq!(repo.runs().len(), 2, "nothing is paid for twice");
}

#[test]
fn a_file_that_you_delete_while_the_agent_works_on_it_stays_deleted() {
    let repo = home(&ONE);
    let run = working(&repo);
    std::fs::remove_file(repo.path("src/main.c")).unwrap();
    let before = home_now(&repo);
    repo.allow("go");
    let run = run.wait().fails(3);
    assert_eq!(home_now(&repo), before, "{}", said(&run));
    says(&run, "touches src/main.c, which you are editing");
    repo.git(["checkout", "-q", "--", "src/main.c"]).ok();
    repo.run(["land"]).ok();
    is_home(&repo, &ONE);
}

#[test]
fn a_project_that_ignores_all_files_of_ralph_works() {
    let repo = home(&ONE);
    repo.git(["rm", "-q", "-r", "--cached", "ralph", ".ralph", "plan.json", "--ignore-unmatch"])
        .ok();
    repo.write(".git/info/exclude", "/ralph/\n/.ralph/\n/plan.json\n");
    repo.git(["commit", "-q", "-m", "nothing of ralph's"]).ok();
    repo.allow("go");
    repo.build([]).ok();
    assert_eq!(repo.read("work/t-aaa1.txt"), "t-aaa1 is done\n");
    assert_eq!(repo.ask_git(["ls-files", "ralph", ".ralph", "plan.json"]), "");
}

#[test]
fn the_commits_before_the_blocked_one_arrive() {
    let repo = home(&TWO);
    repo.script(&(rule("task = \"t-aaa1\"", &held(WORK)) + &rule("task = \"t-aaa2\"", EDIT)));
    let run = build_beside(&repo, || repo.write("src/main.c", "mine\n")).fails(3);
    assert_eq!(repo.landed(), ["t-aaa1"], "{}", said(&run));
    assert_eq!(repo.read("src/main.c"), "mine\n");
    repo.git(["checkout", "-q", "--", "src/main.c"]).ok();
    repo.build([]).ok();
    is_home(&repo, &TWO);
}

#[test]
fn an_untracked_or_ignored_file_in_the_way_stays() {
    for path in ["work/t-aaa1.txt", "ignored/t-aaa1"] {
        let repo = home(&ONE);
        let steps = format!(
            "{{ write = \"work/{{task}}.txt\", text = \"{{task}} is done\\n\" }}, {{ run = \"sed -i /ignored/d .gitignore\" }}, {{ write = \"{path}\", text = \"t-aaa1 is done\\n\" }}, {{ claim = \"done\" }}"
        );
        repo.script(&rule("", &held(&steps)));
        let run = working(&repo);
        repo.write(path, "mine\n");
        let before = home_now(&repo);
        repo.allow("go");
        let run = run.wait();
        let arrived = run.code == 0;
        // What the base ignores does not land, so it cannot be in the way.
        assert_eq!(arrived, path.starts_with("ignored"), "{}", said(&run));
        assert_eq!(repo.read(path), "mine\n");
        if !arrived {
            assert_eq!(home_now(&repo), before, "{}", said(&run));
            says(&run, path);
            std::fs::remove_file(repo.path(path)).unwrap();
            repo.build([]).ok();
        }
        is_home(&repo, &ONE);
    }
}

#[test]
fn waiting_commits_are_replayed_onto_what_the_person_committed() {
    let repo = home(&TWO);
    let run = build_beside(&repo, || {
        commit(&repo, "user/mine.txt", "mine\n");
        repo.write("user/edited.txt", "not committed\n");
    });
    assert_eq!(run.code, 0, "{}", said(&run));
    is_home(&repo, &TWO);
    assert_eq!(repo.read("user/edited.txt"), "not committed\n");
    assert_eq!(repo.ask_git(["log", "--merges", "--format=%s"]), "");
    // The report names the commits that the branch has.
    let report = repo.run(["report"]).ok().stdout;
    assert!(!report.contains("not on this branch") && report.contains("git revert"), "{report}");
    let subjects = repo.subjects();
    let mine = subjects.iter().position(|subject| subject == "my user/mine.txt").unwrap();
    assert!(mine < subjects.len() - 2, "{subjects:?}");
}

#[test]
fn a_conflict_with_a_commit_of_the_persons_waits_and_the_printed_merge_ends_it() {
    let repo = home(&ONE);
    let run = working(&repo);
    commit(&repo, "src/main.c", "int main(void) { return 42; }\n");
    let before = home_now(&repo);
    repo.allow("go");
    let run = run.wait().fails(3);
    assert_eq!(home_now(&repo), before, "{}", said(&run));
    let output = said(&run);
    let command = output.split('`').find(|part| part.starts_with("git merge refs/ralph/"));
    let command = command.unwrap_or_else(|| panic!("no command in {output}")).to_owned();
    assert_ne!(repo.shell(&command).code, 0);
    repo.shell(
        "git checkout -q --ours src/main.c && git add src/main.c && git commit -q --no-edit",
    )
    .ok();
    repo.build([]).ok();
    is_home(&repo, &ONE);
    assert_eq!(repo.read("src/main.c"), "int main(void) { return 42; }\n");
}

#[test]
fn gates_that_are_red_together_with_the_persons_commit_make_it_wait() {
    let repo = home(&ONE);
    let gate = "[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"! [ -e work/t-aaa1.txt ] || ! [ -e user/mine.txt ]\"\n";
    repo.config(&format!("backend = \"sim\"\n{gate}"));
    let run = working(&repo);
    commit(&repo, "user/mine.txt", "mine\n");
    let before = home_now(&repo);
    repo.allow("go");
    let run = run.wait().fails(3);
    assert_eq!(home_now(&repo), before, "{}", said(&run));
    says(&run, "gates fail together with your commits on main: test");
    // The way out: the person takes the commit back.
    repo.git(["reset", "-q", "--keep", "HEAD^"]).ok();
    repo.build([]).ok();
    is_home(&repo, &ONE);
}

#[test]
fn arrived_commits_are_found_again_after_an_amend_and_a_rebase() {
    for rewrite in [
        "git commit -q --amend --no-edit -m \"$(git log -1 --format=%B)\" --author 'Me <me@example.com>'",
        "git commit -q --allow-empty -m mine HEAD && git rebase -q --force-rebase HEAD~3",
    ] {
        let repo = home(&[task("t-aaa2"), task("t-aaa1"), task("t-aaa3")]);
        repo.commit("one more");
        let run =
            build_beside(&repo, || drop(repo.shell(&rewrite.replace(" HEAD &&", " &&")).ok()));
        assert_eq!(run.code, 0, "{rewrite}\n{}", said(&run));
        is_home(&repo, &[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
        assert_eq!(repo.runs().len(), 3, "{rewrite}");
    }
}

#[test]
fn a_reset_that_loses_landed_work_waits_and_names_the_way_out() {
    let repo = home(&[task("t-aaa2"), task("t-aaa1")]);
    let run = working(&repo);
    assert_eq!(repo.landed(), ["t-aaa2"]);
    repo.git(["reset", "-q", "--hard", "HEAD^"]).ok();
    let before = home_now(&repo);
    repo.allow("go");
    let run = run.wait().fails(3);
    assert_eq!(home_now(&repo), before, "{}", said(&run));
    says(&run, "main was rewritten and lacks t-aaa2");
    says(&run, "`ralph land --rest`");
    assert!(!said(&run).contains("put back"), "{}", said(&run));
}

#[test]
fn a_detached_head_and_an_unfinished_merge_or_rebase_make_it_wait() {
    let undo_merge = "git merge --abort";
    let merge = "git switch -q -c side && echo side > user/kept.txt && git commit -qam side && git switch -q main && echo main > user/kept.txt && git commit -qam main && ! git merge -q side";
    let rebase = "git switch -q -c side && git switch -q main && echo x > user/new.txt && git add user && git commit -qm mine && ! git rebase -q --exec false HEAD~1";
    for (begin, end, words) in [
        ("git switch -q --detach", "git switch -q main", "HEAD is detached"),
        (merge, undo_merge, "a merge is under way"),
        (rebase, "git rebase --abort", "a rebase is under way"),
    ] {
        let repo = home(&ONE);
        let run = working(&repo);
        repo.shell(begin).ok();
        let before = home_now(&repo);
        repo.allow("go");
        let run = run.wait().fails(3);
        assert_eq!(home_now(&repo), before, "{begin}\n{}", said(&run));
        says(&run, words);
        repo.shell(end).ok();
        repo.build([]).ok();
        is_home(&repo, &ONE);
    }
}

#[test]
fn a_commit_with_an_open_editor_is_waited_for_and_loses_nothing() {
    let repo = home(&ONE);
    let run = working(&repo);
    repo.write("user/edited.txt", "mine\n");
    repo.git(["add", "user/edited.txt"]).ok();
    let editor = "touch ~/editing; while ! [ -e ~/written ]; do sleep 0.05; done; echo mine >";
    let script = format!("GIT_EDITOR='f() {{ {editor} \"$1\"; }}; f' git commit -q");
    let home = repo.home().to_owned();
    let root = repo.root().to_owned();
    let commit = std::thread::spawn(move || {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).current_dir(root).env("HOME", home);
        for role in ["AUTHOR", "COMMITTER"] {
            shell
                .env(format!("GIT_{role}_NAME"), "Me")
                .env(format!("GIT_{role}_EMAIL"), "me@example.com");
        }
        shell.status().unwrap().success()
    });
    repo.until_home_has("editing");
    let before = home_now(&repo);
    repo.allow("go");
    let run = run.wait().fails(3);
    assert_eq!(home_now(&repo), before, "{}", said(&run));
    says(&run, "`git commit` (pid ");
    repo.allow("written");
    assert!(commit.join().unwrap(), "the commit was not refused");
    repo.build([]).ok();
    is_home(&repo, &ONE);
    assert_eq!(repo.subjects().iter().filter(|subject| *subject == "mine").count(), 1);
}

#[test]
fn a_branch_that_another_worktree_has_makes_it_wait() {
    let repo = home(&ONE);
    let run = working(&repo);
    repo.git(["switch", "-q", "other"]).ok();
    repo.git(["worktree", "add", "-q", "../elsewhere", "main"]).ok();
    let before = home_now(&repo);
    repo.allow("go");
    let run = run.wait().fails(3);
    assert_eq!(home_now(&repo), before, "{}", said(&run));
    says(&run, "main is checked out in ");
    repo.git(["worktree", "remove", "../elsewhere"]).ok();
    repo.git(["switch", "-q", "main"]).ok();
    repo.build([]).ok();
    is_home(&repo, &ONE);
}

/// Add a task to home's plan, as an editor does.
fn add_task(repo: &Repo, id: &str) {
    let mut plan = repo.plan_json();
    let mut task = plan["tasks"][0].clone();
    task["id"] = id.into();
    task["title"] = format!("Do {id}").into();
    task["status"] = "pending".into();
    plan["tasks"].as_array_mut().unwrap().push(task);
    repo.write("plan.json", format!("{plan:#}\n"));
}

#[test]
fn a_task_that_you_add_to_the_plan_while_ralph_works_is_done_in_the_same_run() {
    for how in ["true", "git add plan.json", "git commit -q -m plan -- plan.json"] {
        let repo = home(&ONE);
        let run = build_beside(&repo, || {
            add_task(&repo, "t-aaa9");
            repo.write("user/edited.txt", "mine\n");
            repo.shell(how).ok();
        });
        assert_eq!(run.code, 0, "{how}\n{}", said(&run));
        is_home(&repo, &[task("t-aaa1"), task("t-aaa9")]);
        assert_eq!(repo.status(), " M user/edited.txt", "{how}\n{}", said(&run));
        assert_eq!(repo.runs(), ["t-aaa1", "t-aaa9"], "{how}");
    }
}

/// Give a task of home's plan the status `skipped`, as an editor does.
fn skip_task(repo: &Repo, place: usize) {
    let mut plan = repo.plan_json();
    plan["tasks"][place]["status"] = "skipped".into();
    repo.write("plan.json", format!("{plan:#}\n"));
}

#[test]
fn a_task_that_you_skip_while_its_agent_works_does_not_land() {
    let repo = home(&ONE);
    let run = build_beside(&repo, || {
        skip_task(&repo, 0);
        repo.git(["commit", "-q", "-m", "plan", "--", "plan.json"]).ok();
    });
    assert_eq!(repo.landed(), Vec::<String>::new(), "{}", said(&run));
    assert!(!repo.exists("work/t-aaa1.txt"), "{}", said(&run));
    assert_eq!(repo.plan_json()["tasks"][0]["status"], "skipped", "{}", said(&run));
    assert_eq!(repo.status(), "", "{}", said(&run));
}

#[test]
fn an_edit_of_the_plan_that_is_stashed_loses_no_status() {
    let repo = home(&[task("t-aaa2"), task("t-aaa1")]);
    let run = build_beside(&repo, || {
        add_task(&repo, "t-aaa9");
        repo.git(["stash", "-q"]).ok();
    });
    assert_eq!(run.code, 0, "{}", said(&run));
    is_home(&repo, &[task("t-aaa1"), task("t-aaa2")]);
    assert_eq!(repo.ask_git(["stash", "list"]).lines().count(), 1);
    assert_eq!(repo.ask_git(["diff", "--name-only", "stash@{0}^", "stash@{0}"]), "plan.json");
}

#[test]
fn an_old_plan_that_comes_back_runs_no_landed_task_again() {
    let repo = home(&[task("t-aaa2"), task("t-aaa1")]);
    let run =
        build_beside(&repo, || drop(repo.git(["checkout", "-q", "HEAD^", "--", "plan.json"]).ok()));
    assert_eq!(run.code, 0, "{}", said(&run));
    says(&run, "t-aaa2 is pending there, but its work has landed; `ralph task retry t-aaa2`");
    is_home(&repo, &[task("t-aaa1"), task("t-aaa2")]);
    assert_eq!(repo.runs(), ["t-aaa2", "t-aaa1"]);
}

#[test]
fn landed_work_is_missed_also_when_it_was_rewritten_before_it_was_lost() {
    let repo = home(&[task("t-aaa2"), task("t-aaa1"), task("t-aaa3")]);
    let last = format!("{{ hold = \"~/go-on\" }}, {WORK}");
    repo.script(
        &(rule("task = \"t-aaa1\"", &held(WORK))
            + &rule("task = \"t-aaa3\"", &last)
            + &rule("", WORK)),
    );
    let run = working(&repo);
    repo.git(["commit", "-q", "--amend", "--no-edit", "--author", "Me <me@example.com>"]).ok();
    repo.allow("go");
    repo.until_home_has("go-on.held");
    assert_eq!(repo.landed(), ["t-aaa2", "t-aaa1"]);
    repo.git(["reset", "-q", "--hard", "HEAD~2"]).ok();
    repo.allow("go-on");
    let run = run.wait().fails(3);
    says(&run, "main was rewritten and lacks t-aaa2, t-aaa1");
    says(&run, "`ralph land --rest`");
}
