//! `workspace = "checkout"`: ralph owns the checkout until the run ends.

use crate::plans::{Format, task};
use crate::repo::{
    BROKEN, GOOD, Repo, held, lands_after_git_fault, repo, repo_with, rule, said, says, until,
};

fn owned(repo: Repo) -> Repo {
    repo.set("workspace = \"checkout\"");
    repo
}

#[test]
fn every_format_is_built_to_its_end_and_leaves_a_clean_tree() {
    for format in Format::ALL {
        let ids = if format == Format::Jsonl { ["t-aaa1", "t-aaa2"] } else { ["work-1", "work-2"] };
        let repo = owned(repo_with(format, &ids.map(task)));
        repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
        let run = repo.build([]).ok();
        says(&run, "ralph owns this checkout");
        assert!(ids.iter().all(|id| repo.is_done(id)), "{format:?}");
        assert_eq!(repo.ask_git(["ls-files", "work"]).lines().count(), 2, "{format:?}");
        assert_eq!(repo.status(), "", "{format:?}");
        assert!(!repo.lane("").exists(), "no lane is made");
    }
}

#[test]
fn a_tree_with_changes_is_refused_and_stays_as_it_is() {
    let repo = owned(repo(&[task("t-aaa1")]));
    repo.write("user/edited.txt", "by hand\n");
    let run = repo.build([]).fails(1);
    says(&run, "user/edited.txt");
    assert_eq!(repo.read("user/edited.txt"), "by hand\n");
    assert!(repo.runs().is_empty());
}

#[test]
fn whatever_an_agent_does_with_git_there_is_undone() {
    for fault in ["git_commit", "git_stash", "git_branch", "git_checkout"] {
        let repo = owned(repo(&[task("t-aaa1")]));
        lands_after_git_fault(&repo, fault);
        assert_eq!(repo.status(), "", "{fault}");
    }
}

#[test]
fn a_commit_that_you_make_meanwhile_is_kept_and_named() {
    let repo = owned(repo(&[task("t-aaa1")]));
    repo.script(&rule("", &held(GOOD)));
    let run = repo.spawn(["build"]);
    repo.until_home_has("go.held");
    repo.write("user/mine.txt", "mine\n");
    repo.commit("mine");
    let commit = repo.ask_git(["rev-parse", "HEAD"]);
    repo.allow("go");
    let run = run.wait().ok();
    says(&run, "a commit that ralph did not make is no longer on");
    says(&run, &format!("refs/ralph/kept/{commit} keeps it"));
    let command =
        said(&run).split("keeps it: `").nth(1).unwrap().split('`').next().unwrap().to_owned();
    assert!(repo.shell(&command).ok().stdout.contains("mine"), "{command}");
}

#[test]
fn settings_of_git_that_an_agent_changes_stop_the_run_and_are_named() {
    for (plant, named) in [
        ("git config core.fsmonitor /bin/true", ".git/config"),
        ("echo 'exit 0' > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
    ] {
        let repo = owned(repo(&[task("t-aaa1")]));
        repo.script(&rule("", &format!(r#"{{ run = "{plant}" }}, {GOOD}"#)));
        let run = repo.build([]).fails(1);
        says(&run, named);
        assert!(repo.landed().is_empty());
    }
}

#[test]
fn a_killed_run_leaves_nothing_that_the_next_one_does_not_take_away() {
    let repo = owned(repo(&[task("t-aaa1")]));
    let hang = r#"{ write = "src/x.c", text = "x\n" }, { write = "user/kept.txt", text = "mine now\n" }, { hang = true }"#;
    repo.script(&(rule("attempt = 1", hang) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    until(|| repo.exists("src/x.c"));
    assert_eq!(run.kill().code, 137);
    repo.build([]).ok();
    assert_eq!((repo.status(), repo.landed()), (String::new(), vec!["t-aaa1".to_owned()]));
    assert_eq!(repo.read("user/kept.txt"), "kept\n");
    assert!(repo.run(["salvage", "diff", "1"]).ok().stdout.contains("src/x.c"));
}

#[test]
fn ignored_files_and_new_specs_stay() {
    let repo = owned(repo(&[task("t-aaa1")]));
    repo.write("ignored/cache.bin", "cache\n");
    repo.write("ralph/specs/next.md", "# Next\n");
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.read("ignored/cache.bin"), "cache\n");
    assert_eq!(repo.read("ralph/specs/next.md"), "# Next\n");
}
