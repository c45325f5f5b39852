//! The user's own work is theirs: through success and failure, and while an attempt runs.

use std::time::Duration;

use crate::dirt;
use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, held, repo, repo_with, rule, said, says};

#[test]
fn uncommitted_work_stays_byte_for_byte_through_success() {
    for format in Format::ALL {
        let ids = if format == Format::Jsonl { ["t-aaa1", "t-aaa2"] } else { ["work-1", "work-2"] };
        let repo = repo_with(format, &ids.map(task));
        let dirt = dirt::make(&repo);
        let start = repo.head();
        repo.build([]).ok();
        dirt.is_untouched(&repo, &start);
        assert!(ids.iter().all(|id| repo.is_done(id)), "{format:?}");
        assert_eq!(repo.ask_git(["ls-files", "work"]).lines().count(), 2, "{format:?}");
    }
}

#[test]
fn uncommitted_work_stays_byte_for_byte_through_failure() {
    for steps in [
        BROKEN,
        r#"{ fault = "crash" }"#,
        r#"{ write = "src/x.c", text = "x\n" }, { delete = "user" }, { delete = "ignored/none" }, { claim = "none" }"#,
        r#"{ run = "git add -A; git commit -qm mine; git clean -fdq; git reset -q --hard" }, { claim = "none" }"#,
        r#"{ run = "git stash -uq" }, { claim = "none" }"#,
        r#"{ append = "user/edited.txt", text = "more\n" }, { append = "user/untracked.txt", text = "more\n" }, { claim = "none" }"#,
    ] {
        let repo = repo(&[task("t-aaa1")]);
        let dirt = dirt::make(&repo);
        let start = repo.head();
        repo.script(&rule("", steps));
        let run = repo.build(["--once"]).fails(3);
        assert_eq!(dirt::look(&repo), dirt, "after {steps}\n{}", said(&run));
        dirt.is_untouched(&repo, &start);
    }
}

#[test]
fn uncommitted_work_stays_while_attempts_fail_and_then_land() {
    let repo = repo(&["t-aaa1", "t-aaa2", "t-aaa3"].map(task));
    let dirt = dirt::make(&repo);
    let start = repo.head();
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    dirt.is_untouched(&repo, &start);
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2", "t-aaa3"]);
}

#[test]
fn the_start_names_the_files_that_agents_do_not_see() {
    let repo = repo(&[task("t-aaa1")]);
    dirt::make(&repo);
    let run = repo.build([]).ok();
    says(&run, "agents do not see them");
    says(&run, "user/edited.txt");
    assert!(!repo.prompt(1).contains("user/edited.txt"), "{}", repo.prompt(1));
}

/// The user has edited a file, and so does the backend, elsewhere in it.
fn shared(user: &str, backend: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    repo.write("shared.txt", &lines);
    repo.commit("a file for two");
    repo.write("shared.txt", lines.replace("line 2\n", user));
    let edit = format!(
        r#"{{ patch = "shared.txt", find = "{backend}", with = "by the backend" }}, {GOOD}"#
    );
    repo.script(&rule("", &edit));
    repo
}

#[test]
fn a_file_that_both_edit_waits_and_arrives_when_the_user_has_committed() {
    let repo = shared("line 2, by hand\n", "line 25");
    let (before, head) = (repo.read("shared.txt"), repo.head());
    let run = repo.build([]).fails(3);
    says(&run, "shared.txt");
    assert_eq!((repo.read("shared.txt"), repo.head()), (before, head));
    repo.git(["commit", "-qam", "by hand"]).ok();
    repo.build([]).ok();
    let here = repo.read("shared.txt");
    assert!(here.contains("by the backend") && here.contains("line 2, by hand"), "{here}");
    assert_eq!((repo.status(), repo.runs().len()), (String::new(), 1));
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn work_that_conflicts_with_the_users_lines_waits_and_is_not_paid_for_again() {
    let repo = shared("line 2, by hand\n", "line 2\\n");
    let before = repo.read("shared.txt");
    repo.build([]).fails(3);
    repo.git(["commit", "-qam", "by hand"]).ok();
    let run = repo.build([]).fails(3);
    says(&run, "git merge refs/ralph/");
    assert_eq!(repo.read("shared.txt"), before);
    assert_eq!(repo.runs().len(), 1, "no retry is spent on it");
}

#[test]
fn on_dirty_commit_commits_the_users_work_first_under_their_own_commit() {
    let repo = repo(&[task("t-aaa1")]);
    repo.set("on_dirty = \"commit\"");
    repo.write("user/edited.txt", "by hand\n");
    repo.write("user/new.txt", "new\n");
    repo.build([]).ok();
    assert_eq!(repo.status(), "");
    let landing = repo.ask_git(["log", "--format=%H", "--grep", "Ralph-Task: t-aaa1"]);
    let files = repo.ask_git(["show", "--name-only", "--format=", &landing]);
    assert!(!files.contains("user/"), "{files}");
    assert_eq!(repo.ask_git(["show", "HEAD:user/new.txt"]), "new");
}

#[test]
fn on_dirty_refuse_does_not_start() {
    let repo = repo(&[task("t-aaa1")]);
    repo.set("on_dirty = \"refuse\"");
    repo.write("user/edited.txt", "by hand\n");
    let run = repo.build([]).fails(1);
    says(&run, "user/edited.txt");
    assert!(repo.runs().is_empty());
    repo.git(["checkout", "-q", "user/edited.txt"]).ok();
    repo.build([]).ok();
}

/// Do something by hand while the backend works.
fn meanwhile(repo: &Repo, steps: &str, hand: impl Fn(&Repo)) -> ralph_testkit::Run {
    repo.script(&(rule("attempt = 1", &held(steps)) + &rule("", GOOD)));
    let run = repo.spawn(["build", "--once"]);
    repo.until_home_has("go.held");
    hand(repo);
    repo.allow("go");
    run.wait()
}

#[test]
fn what_a_person_writes_during_a_failed_attempt_stays() {
    let repo = repo(&[task("t-aaa1")]);
    meanwhile(&repo, BROKEN, |repo| repo.write("note.txt", "an idea\n")).fails(3);
    assert_eq!(repo.read("note.txt"), "an idea\n");
    assert_eq!(repo.status(), "?? note.txt");
}

#[test]
fn a_commit_of_a_person_during_an_attempt_is_not_lost() {
    let repo = repo(&[task("t-aaa1")]);
    let run = meanwhile(&repo, GOOD, |repo| {
        repo.write("mine.txt", "mine\n");
        repo.git(["add", "mine.txt"]).ok();
        repo.git(["commit", "-qm", "by hand"]).ok();
    });
    let everywhere = repo.ask_git(["log", "--all", "--format=%s"]);
    assert!(everywhere.contains("by hand"), "{everywhere}\n{}", said(&run));
}

#[test]
fn a_file_that_the_backends_ignore_rules_uncover_is_not_its_own() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("ignored/secret.txt", "secret\n");
    std::thread::sleep(Duration::from_millis(50));
    for (steps, code) in [(BROKEN, 3), (GOOD, 0)] {
        repo.script(&rule(
            "",
            &format!(
                r#"{{ patch = ".gitignore", find = "/ignored/", with = "/other/" }}, {steps}"#
            ),
        ));
        repo.build(["--once"]).fails(code);
        assert_eq!(repo.read("ignored/secret.txt"), "secret\n");
        let committed = repo.ask_git(["log", "--all", "--format=%h", "--", "ignored"]);
        assert_eq!(committed, "", "the user's ignored file is in a commit");
    }
}

#[test]
fn ignored_files_stay_where_they_are() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("ignored/cache.bin", "cache\n");
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.read("ignored/cache.bin"), "cache\n");
}
