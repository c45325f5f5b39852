//! A person, or a kill, in the very moment in which commits arrive.

use ralph_testkit::{SmallDisk, TestProject};

use crate::plans::Format;
use crate::repo::{Repo, held, rule, said};
use crate::rows::{EDIT, ONE, TWO, WORK, commit, home, is_home, until_arrived};

/// A search path with a `git` that runs this line of shell at the first command that has this word. Git
/// itself is `real` there.
fn path_with_git(repo: &Repo, word: &str, line: &str) -> String {
    let folder = repo.home().join("bin");
    let (root, home) = (repo.root().display(), repo.home().display());
    let real = repo.shell("command -v git").ok().stdout.trim().to_owned();
    let lines = [
        format!("real() {{ {real} \"$@\"; }}"),
        format!("first() {{ cd {root}; {line}; }}"),
        format!(
            "case \" $* \" in *' {word} '*) mkdir {home}/met 2>/dev/null && first \"$@\";; esac"
        ),
        format!("exec {real} \"$@\"\n"),
    ];
    crate::stage::script(&folder.join("git"), &lines.join("\n"));
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

#[test]
fn commits_arrive_while_the_next_agent_works() {
    let repo = home(&TWO);
    repo.script(&(rule("task = \"t-aaa1\"", EDIT) + &rule("", &held(WORK))));
    let run = repo.spawn(["build"]);
    repo.until_home_has("go.held");
    until_arrived(&repo);
    assert_eq!(repo.landed(), ["t-aaa1"]);
    assert_eq!(repo.status(), "");
    repo.allow("go");
    let run = run.wait().ok();
    is_home(&repo, &TWO);
    // Nothing that arrived beside the agent is taken for an edit.
    assert_eq!(repo.events("ledger_restored").len() + repo.events("warning").len(), 0);
    let journal = repo.journal();
    let nth = |kind: &str, n: usize| {
        let of_kind = journal.iter().enumerate().filter(|(_, record)| record["record"] == kind);
        of_kind.map(|(place, _)| place).nth(n).unwrap_or_else(|| panic!("{kind}: {}", said(&run)))
    };
    assert!(nth("attempt_started", 1) < nth("arrival_intent", 0), "it cost time between attempts");
    assert!(nth("arrived", 0) < nth("backend_ended", 1));
}

#[test]
fn a_branch_that_git_moved_instead_goes_back() {
    let and_back = "real switch -q other; real \"$@\"; code=$?; real switch -q main; exit $code";
    for line in ["real switch -q other", and_back] {
        let repo = home(&ONE);
        repo.allow("go");
        let path = path_with_git(&repo, "--ff-only", line);
        repo.write("user/edited.txt", "mine\n");
        let other = repo.ask_git(["rev-parse", "other"]);
        let run = repo.command(["build"]).env("PATH", path).run();
        assert!(repo.home().join("met").exists());
        assert_eq!(repo.ask_git(["rev-parse", "other"]), other, "{line}\n{}", said(&run));
        assert_eq!(repo.status(), " M user/edited.txt", "{line}\n{}", said(&run));
        repo.git(["switch", "-q", "main"]).ok();
        repo.build([]).ok();
        is_home(&repo, &ONE);
    }
}

#[test]
fn a_branch_that_git_moved_instead_and_that_you_moved_on_is_named() {
    let repo = home(&ONE);
    repo.allow("go");
    let mine = "real switch -q other; real \"$@\"; code=$?; echo mine >user/edited.txt; real commit -qam mine; exit $code";
    let path = path_with_git(&repo, "--ff-only", mine);
    let (old, main) = (repo.ask_git(["rev-parse", "other"]), repo.head());
    let run = repo.command(["build"]).env("PATH", path).run();
    assert!(repo.home().join("met").exists());
    // Your commit stays, and the command that takes out what git put below it is printed.
    assert_eq!(repo.ask_git(["log", "-1", "--format=%s", "other"]), "mine", "{}", said(&run));
    crate::repo::says(&run, "you switched to other while git merged");
    let short: String = old.chars().take(10).collect();
    crate::repo::says(&run, &format!("git reset --keep {short}"));
    let tried: Vec<_> =
        repo.journal().into_iter().filter(|record| record["record"] == "not_arrived").collect();
    assert_eq!(tried[0]["why"]["reason"], "wrong_branch_moved", "{tried:?}");
    // It arrived on its own branch only after that.
    let arrived: Vec<_> =
        repo.journal().into_iter().filter(|record| record["record"] == "arrived").collect();
    assert_eq!(arrived.len(), 1, "{}", said(&run));
    assert_eq!(arrived[0]["commit"], repo.ask_git(["rev-parse", "main"]).as_str());
    assert_ne!(repo.ask_git(["rev-parse", "main"]), main);
    repo.git(["switch", "-q", "main"]).ok();
    is_home(&repo, &ONE);
}

#[test]
fn a_commit_that_wrote_the_old_index_after_a_fast_forward_reverts_nothing_later() {
    let repo = home(&ONE);
    repo.allow("go");
    repo.write("user/edited.txt", "mine\n");
    repo.git(["add", "user/edited.txt"]).ok();
    // A `git commit` that had read the index before the merge writes it back after it.
    let late = "cp .git/index .git/old-index; real \"$@\"; mv .git/old-index .git/index; exit 0";
    let path = path_with_git(&repo, "--ff-only", late);
    let run = repo.command(["build"]).env("PATH", path).run().ok();
    assert!(repo.home().join("met").exists());
    assert_eq!(repo.status(), "M  user/edited.txt", "{}", said(&run));
    repo.git(["commit", "-q", "-m", "mine"]).ok();
    is_home(&repo, &ONE);
}

#[test]
fn a_switch_in_the_moment_of_a_fetch_leaves_no_old_files_on_the_new_commit() {
    let repo = home(&ONE);
    // A switch that read the branch before the fetch has the old files, and moves HEAD last.
    let late = "real \"$@\"; echo ref: refs/heads/main > .git/HEAD; exit 0";
    let path = path_with_git(&repo, "fetch", late);
    let run = repo.command(["build"]).env("PATH", path).spawn();
    repo.until_home_has("go.held");
    repo.git(["switch", "-q", "other"]).ok();
    repo.allow("go");
    run.wait().ok();
    assert!(repo.home().join("met").exists());
    is_home(&repo, &ONE);
    assert_eq!(repo.status(), "", "home has the files of its commit");
}

#[test]
fn a_fast_forward_that_meets_a_locked_branch_leaves_nothing_in_home() {
    let repo = home(&ONE);
    repo.allow("go");
    repo.write("user/edited.txt", "mine\n");
    // Git writes the files and the index, and then it cannot move the branch.
    let locked =
        "lock=.git/refs/heads/main.lock; : >$lock; real \"$@\"; code=$?; rm $lock; exit $code";
    let path = path_with_git(&repo, "--ff-only", locked);
    let run = repo.command(["build"]).env("PATH", path).run();
    assert!(repo.home().join("met").exists());
    // The arrival at the end of the run brings it.
    assert_eq!(run.code, 0, "{}", said(&run));
    is_home(&repo, &ONE);
    assert_eq!(repo.status(), " M user/edited.txt", "{}", said(&run));
}

#[test]
fn a_task_that_you_skip_after_its_work_has_landed_is_done() {
    let repo = home(&ONE);
    repo.allow("go");
    let path = path_with_git(&repo, "--ff-only", "sed -i s/pending/skipped/ plan.json");
    let run = repo.command(["build"]).env("PATH", path).run();
    assert!(repo.home().join("met").exists());
    assert_eq!(run.code, 0, "{}", said(&run));
    crate::repo::says(&run, "t-aaa1 is skipped there, but its work has landed");
    is_home(&repo, &ONE);
}

#[test]
fn a_reset_on_another_branch_just_after_a_fast_forward_takes_nothing_back() {
    let repo = home(&ONE);
    repo.git(["switch", "-q", "other"]).ok();
    commit(&repo, "user/other.txt", "other\n");
    repo.git(["switch", "-q", "main"]).ok();
    repo.allow("go");
    // A reset writes ORIG_HEAD, as a merge does.
    let late = "real \"$@\"; code=$?; real switch -q other; real reset -q --hard; real switch -q main; exit $code";
    let path = path_with_git(&repo, "--ff-only", late);
    let run = repo.command(["build"]).env("PATH", path).run();
    assert!(repo.home().join("met").exists());
    assert_eq!(run.code, 0, "{}", said(&run));
    is_home(&repo, &ONE);
    assert!(!repo.exists("user/other.txt"), "{}", said(&run));
    assert_eq!(repo.status(), "", "{}", said(&run));
}

#[test]
fn a_commit_that_you_drop_in_the_moment_of_a_fast_forward_does_not_come_back() {
    let repo = home(&ONE);
    let path = path_with_git(&repo, "--ff-only", "real reset -q --keep HEAD^");
    let run = repo.command(["build"]).env("PATH", path).spawn();
    repo.until_home_has("go.held");
    repo.write("user/edited.txt", "not committed\n");
    commit(&repo, "user/dropped.txt", "dropped\n");
    repo.allow("go");
    let run = run.wait();
    assert!(repo.home().join("met").exists());
    assert!(!repo.exists("user/dropped.txt"), "{}", said(&run));
    repo.build([]).ok();
    is_home(&repo, &ONE);
    assert!(!repo.exists("user/dropped.txt"), "{}", said(&run));
    assert_eq!(repo.status(), " M user/edited.txt");
    assert_eq!(repo.read("user/edited.txt"), "not committed\n");
}

/// Git fills what is left of home's disk with a part of a file.
#[test]
fn a_disk_that_gets_full_in_the_middle_of_a_fast_forward_costs_nothing_of_yours() {
    let name = "a_disk_that_gets_full_in_the_middle";
    let Some(disk) = SmallDisk::mount(name, 16 * 1024) else { return };
    let elsewhere = tempfile::tempdir().unwrap();
    let project = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path())
        .env("XDG_CACHE_HOME", elsewhere.path());
    let repo = Repo::new(project, Format::Deluxe, &ONE);
    let big = r#"{ run = "yes all of it | head -c 4000000 > work.txt" }"#;
    repo.script(&rule("", &format!("{big}, {EDIT}")));
    repo.write("user/edited.txt", "mine\n");
    repo.write("user/staged.txt", "staged\n");
    repo.git(["add", "user/staged.txt"]).ok();
    repo.write("user/new.txt", "new\n");
    let is_the_persons = |when: &str| {
        assert_eq!(repo.read("user/edited.txt"), "mine\n", "{when}");
        assert_eq!(repo.read("user/new.txt"), "new\n", "{when}");
        assert_eq!(repo.ask_git(["show", ":user/staged.txt"]), "staged", "{when}");
    };
    let filler = disk.path().join("filler");
    let fill = format!(
        "head -c $(( ($(df --output=avail -k . | tail -n 1) - 2000) * 1024 )) /dev/zero >{}; exec {} \"$@\"",
        filler.display(),
        repo.shell("command -v git").ok().stdout.trim(),
    );
    let path = path_with_git(&repo, "--ff-only", &fill);
    let run = repo.command(["build"]).env("PATH", path).run();
    assert!(repo.home().join("met").exists());
    assert_ne!(run.code, 0, "{}", said(&run));
    is_the_persons(&said(&run));
    let again = repo.build([]);
    assert_ne!(again.code, 0, "{}", said(&again));
    is_the_persons(&said(&again));
    disk.free();
    let last = repo.build([]);
    assert_eq!(last.code, 0, "{}\nthen\n{}\nthen\n{}", said(&run), said(&again), said(&last));
    is_home(&repo, &ONE);
    assert_eq!(repo.read("work.txt").len(), 4_000_000);
    is_the_persons(&said(&last));
    let mine = " M user/edited.txt\nM  user/staged.txt\n?? user/new.txt";
    assert_eq!(repo.status(), mine, "{}", said(&last));
}

/// In a repository with object names of 64 digits, at every sixth point of a run. The first task arrives
/// beside the agent of the second.
#[test]
fn killed_at_any_point_with_sha_256_everything_arrives_once_and_the_index_is_the_persons() {
    for point in (1..).step_by(6) {
        let project = ralph_testkit::project!();
        project.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
        let repo = Repo::new(project, Format::Deluxe, &TWO);
        repo.script(&(rule("task = \"t-aaa1\"", EDIT) + &rule("", WORK)));
        repo.write("user/staged.txt", "staged\n");
        repo.git(["add", "user/staged.txt"]).ok();
        repo.write("user/staged.txt", "staged, and more\n");
        repo.write("user/new.txt", "new\n");
        let run = repo.command(["build"]).env("RALPH_CRASH_POINT", point.to_string()).run();
        let was_killed = run.code == 137;
        let run = repo.build([]);
        assert_eq!(run.code, 0, "point {point}\n{}", said(&run));
        is_home(&repo, &TWO);
        assert_eq!(repo.status(), "MM user/staged.txt\n?? user/new.txt", "point {point}");
        assert_eq!(repo.ask_git(["show", ":user/staged.txt"]), "staged", "point {point}");
        if !was_killed {
            assert!(point > 60, "there are more points than that");
            break;
        }
    }
}
