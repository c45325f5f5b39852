//! Landing on real repositories: messages, hooks, every state of HEAD, and backends that use git.

use std::fs;

use ralph_testkit::project;

use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, lands_after_git_fault, repo, rule, says};

fn one() -> Repo {
    repo(&[task("t-aaa1")])
}

#[test]
fn a_commit_names_iteration_task_and_summary_and_carries_trailers() {
    let repo = one();
    let handoff = r#"{ write = "work/x.txt", text = "x\n" }, { claim = "done", form = "json", handoff = { summary = "added the x" } }"#;
    repo.script(&rule("", handoff));
    repo.build([]).ok();
    let subject = repo.subjects().into_iter().find(|s| s.contains("t-aaa1")).unwrap();
    assert_eq!(subject, "ralph[1]: t-aaa1 — added the x");
    let commit = repo.ask_git(["log", "--format=%H", "--grep", "Ralph-Task: t-aaa1"]);
    let body = repo.ask_git(["log", "-1", "--format=%B", &commit]);
    let tree = repo.ask_git(["rev-parse", "HEAD:work"]);
    let gated = body.lines().find_map(|line| line.strip_prefix("Ralph-Gated-Tree: ")).unwrap();
    let gated = repo.ask_git(["rev-parse", &format!("{gated}:work")]);
    assert_eq!(gated, tree, "the files that the gates saw");
    for trailer in ["Ralph-Task: t-aaa1", "Ralph-Attempt: ", "Ralph-Run: ", "Ralph-Gates: test"] {
        assert!(body.contains(trailer), "{trailer} is missing:\n{body}");
    }
    let files = repo.ask_git(["show", "--name-only", "--format=", &commit]);
    assert!(files.contains("work/x.txt") && files.contains("ralph/plan.jsonl"), "{files}");
}

#[test]
fn the_prefix_of_commits_is_configurable() {
    for (prefix, start) in [("robot", "robot[1]: t-aaa1 — "), ("chore(ai)", "chore(ai): t-aaa1 — ")]
    {
        let repo = one();
        repo.set(&format!("commit_prefix = \"{prefix}\"")).build([]).ok();
        let subjects = repo.subjects();
        assert!(subjects.iter().any(|subject| subject.starts_with(start)), "{subjects:?}");
    }
}

#[test]
fn without_auto_commit_the_work_waits_for_ralph_land() {
    let repo = one();
    repo.set("auto_commit = false");
    let head = repo.head();
    let run = repo.build([]).fails(3);
    says(&run, "ralph land");
    assert_eq!((repo.head(), repo.status()), (head, String::new()));
    assert!(!repo.exists("work/t-aaa1.txt"));
    let tip = repo.ask_git(["for-each-ref", "--format=%(refname)", "refs/ralph/*/tip"]);
    assert_eq!(repo.ask_git(["show", &format!("{tip}:work/t-aaa1.txt")]), "t-aaa1 is done");
}

#[test]
fn the_plan_rides_in_the_commit_of_its_work() {
    let repo = one();
    repo.build([]).ok();
    let commit = repo.ask_git(["log", "--format=%H", "--grep", "Ralph-Task: t-aaa1"]);
    let plan = repo.ask_git(["show", &format!("{commit}:ralph/plan.jsonl")]);
    assert!(Format::Jsonl.says_done(&plan, "t-aaa1"), "{plan}");
}

#[test]
fn a_detached_head_needs_a_branch_or_the_checkout() {
    let repo = one();
    repo.git(["checkout", "-q", "--detach"]).ok();
    let head = repo.head();
    let run = repo.build([]).fails(1);
    says(&run, "HEAD is detached");
    says(&run, "`--branch NAME`");
    says(&run, "workspace = \"checkout\"");
    assert!(repo.runs().is_empty(), "nothing ran");
    repo.build(["--branch", "work"]).ok();
    assert_eq!(repo.head(), head, "home stays");
    repo.git(["symbolic-ref", "-q", "HEAD"]).fails(1);
    assert_eq!(repo.ask_git(["rev-parse", "work~1"]), head);
    assert_eq!(repo.ask_git(["show", "work:work/t-aaa1.txt"]), "t-aaa1 is done");
}

#[test]
fn a_detached_head_is_worked_on_as_it_is_in_a_checkout_that_ralph_owns() {
    let repo = one();
    repo.set("workspace = \"checkout\"");
    repo.git(["checkout", "-q", "--detach"]).ok();
    let main = repo.ask_git(["rev-parse", "main"]);
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"]);
    assert_eq!(repo.ask_git(["rev-parse", "main"]), main, "no branch was moved");
    repo.git(["symbolic-ref", "-q", "HEAD"]).fails(1);
}

#[test]
fn a_linked_worktree_is_worked_on_alone() {
    let repo = one();
    repo.git(["worktree", "add", "-q", "../linked", "-b", "side"]).ok();
    let main = repo.head();
    let linked = repo.root().parent().unwrap().join("linked");
    let run = repo.command(["build"]).dir(&linked).run().ok();
    drop(run);
    assert_eq!(repo.head(), main);
    let subject = repo.ask_git(["log", "side", "--format=%s", "--grep", "Ralph-Task: t-aaa1"]);
    assert!(subject.contains("t-aaa1"), "{subject}");
    assert!(linked.join("work/t-aaa1.txt").exists() && !repo.exists("work/t-aaa1.txt"));
    // Each worktree has its own history.
    assert!(!repo.path(".git/ralph/journal.jsonl").exists());
    assert!(repo.path(".git/worktrees/linked/ralph/journal.jsonl").exists());
}

/// A repository without a commit, with a plan and nothing but what `ralph init` writes.
fn unborn() -> Repo {
    let p = project!().git_init();
    let scenario = p.home().join("scenario.toml");
    let p = p
        .env("RALPH_SIM", &scenario)
        .file(".gitignore", "/build/\n/.ralph/\n")
        .file("ralph.toml", format!("backend = \"sim\"\n{}", crate::repo::GATE))
        .file("ralph/specs/first.md", "# First\n")
        .file("ralph/plan.jsonl", Format::Jsonl.text(&[task("t-aaa1"), task("t-aaa2")]));
    let repo = Repo { project: p, format: Format::Jsonl, tasks: vec!["t-aaa1", "t-aaa2"] };
    repo.script(&(rule("task = \"t-aaa1\"\nattempt = 1", BROKEN) + &rule("", GOOD)));
    repo
}

#[test]
fn a_repository_without_a_commit_gets_its_first_one_when_only_the_set_up_is_in_it() {
    let repo = unborn();
    let run = repo.build([]).ok();
    let told = "this repository had no commit; made the first: .gitignore, ralph.toml, ralph/specs/first.md";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    let first = repo.ask_git(["rev-list", "--max-parents=0", "HEAD"]);
    let files = repo.ask_git(["ls-tree", "-r", "--name-only", first.trim()]);
    assert_eq!(files.trim_end(), ".gitignore\nralph.toml\nralph/specs/first.md");
}

#[test]
fn a_repository_without_a_commit_of_the_users_files_is_refused_with_the_command_that_makes_it() {
    let repo = unborn();
    repo.write("mine.txt", "mine\n");
    let run = repo.build([]).fails(1);
    let hint = "hint: `git add -A && git commit -m \"first commit\"` makes the first one\n";
    assert!(run.stderr.contains("this repository has no commit yet"), "{}", run.stderr);
    assert!(run.stderr.contains(hint), "{}", run.stderr);
    assert!(!repo.home().join("runs").exists(), "no backend ran");
    assert_eq!(repo.ask_git(["ls-files"]), "", "the user's file is not ralph's to commit");
    repo.shell("git add -A && git commit -m \"first commit\"").ok();
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    assert_eq!(repo.read("mine.txt"), "mine\n");
}

#[test]
fn a_failing_pre_commit_hook_is_a_failed_attempt_with_its_output() {
    let repo = one();
    let hook = repo.git_dir().join("hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nif git diff --cached | grep -q FORBIDDEN; then echo 'no such word here' >&2; exit 1; fi\n").unwrap();
    repo.shell(&format!("chmod +x '{}'", hook.display())).ok();
    let bad = r#"{ write = "work/x.txt", text = "FORBIDDEN\n" }, { claim = "done" }"#;
    repo.script(&(rule("attempt = 1", bad) + &rule("", GOOD)));
    let run = repo.build([]).ok();
    says(
        &run,
        "refused by a hook: the hook pre-commit failed with exit code 1 no such word here; 2 ",
    );
    assert!(repo.prompt(2).contains("no such word here"), "{}", repo.prompt(2));
    assert_eq!(repo.landed(), ["t-aaa1"]);
    assert!(!repo.exists("work/x.txt"));
    assert_eq!(repo.status(), "");
}

#[test]
fn what_a_hook_writes_after_a_commit_does_not_land_with_the_next_task() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2"), task("t-aaa3")]);
    let hook = repo.git_dir().join("hooks/post-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho x >>from-hook.txt\n").unwrap();
    repo.shell(&format!("chmod +x '{}'", hook.display())).ok();
    repo.script(&rule("", GOOD));
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2", "t-aaa3"]);
    assert_eq!(repo.ask_git(["log", "--format=%h", "--", "from-hook.txt"]), "");
    assert_eq!(repo.status(), "", "hooks that run after a commit are the user's, in home");
}

#[test]
fn commits_of_the_backend_do_not_count_as_its_own() {
    for fault in ["git_commit", "git_stash", "git_branch", "git_checkout"] {
        let repo = one();
        lands_after_git_fault(&repo, fault);
        let own: Vec<_> = repo.subjects().into_iter().filter(|s| !s.starts_with("ralph")).collect();
        assert_eq!(own, ["start"], "{fault}");
        assert_eq!(repo.status(), "", "{fault}");
        // What it put into a stash is not in the tree, so it is not its work.
        assert_eq!(repo.exists("work/t-aaa1.txt"), fault != "git_stash", "{fault}");
    }
}

#[test]
fn a_merge_in_progress_stays_as_it_is_and_commits_wait() {
    let repo = one();
    repo.git(["checkout", "-qb", "side"]).ok();
    repo.write("README.md", "# Side\n");
    repo.commit("side");
    repo.git(["checkout", "-q", "main"]).ok();
    repo.write("README.md", "# Main\n");
    repo.commit("main");
    repo.git(["merge", "-q", "side"]).fails(1);
    let (status, files) = (repo.status(), repo.read("README.md"));
    let run = repo.build([]).fails(3);
    says(&run, "merge");
    assert_eq!((repo.status(), repo.read("README.md")), (status, files));
    repo.git(["merge", "--abort"]).ok();
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn work_of_the_backend_in_a_submodule_fails_the_attempt() {
    let repo = one();
    let inner = repo.root().parent().unwrap().join("inner");
    repo.shell(&format!(
        "git init -q '{0}' && cd '{0}' && echo x > x && git add x && git commit -qm x",
        inner.display()
    ))
    .ok();
    repo.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        inner.to_str().unwrap(),
        "sub",
    ])
    .ok();
    repo.set("max_retries = 0");
    repo.script(&rule("", &format!(r#"{{ write = "sub/x", text = "changed\n" }}, {GOOD}"#)));
    let run = repo.build([]).fails(3);
    says(&run, "sub");
    assert_eq!(repo.read("sub/x"), "x\n");
}

#[test]
fn odd_names_links_and_modes_land_as_they_are() {
    let repo = one();
    let steps = r#"{ write = 'work/odd-\xff.txt', text = "odd\n" }, { write = "work/a b\n.txt", text = "x\n" }, { write = "work/run.sh", text = "x\n", mode = "755" }, { run = "ln -s ../README.md work/link" }, { claim = "done" }"#;
    repo.script(&rule("", steps));
    repo.build([]).ok();
    let tree = repo.ask_git(["ls-tree", "-r", "HEAD", "--", "work"]);
    assert_eq!(tree.lines().count(), 4, "{tree}");
    assert!(tree.contains("100755") && tree.contains("120000") && tree.contains("\\377"), "{tree}");
    assert_eq!(repo.status(), "");
}

#[test]
fn no_remote_is_needed_and_none_is_touched() {
    let repo = one();
    repo.git(["remote", "add", "origin", "/nowhere/at/all"]).ok();
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn a_project_in_a_folder_of_its_repository_stays_in_it() {
    let repo = one();
    for path in ["ralph.toml", "ralph/plan.jsonl"] {
        repo.write(format!("part/{path}"), repo.read(path));
    }
    repo.git(["rm", "-rq", "--cached", "ralph.toml", "ralph"]).ok();
    repo.shell("rm -rf ralph ralph.toml").ok();
    let place = r#"test "$(basename "$PWD")" = part && [ -e made ]"#;
    repo.write(
        "part/ralph.toml",
        format!(
            "backend = \"sim\"\n[[gates]]\nname = \"place\"\ncommand = '''{place}'''\n[lane]\n\
             setup = 'cp lock made'\nsetup_when = [\"lock\"]\n"
        ),
    );
    repo.write("part/lock", "one\n");
    repo.commit("a folder");
    repo.write("elsewhere.txt", "an edit of the person's\n");
    repo.command(["build"]).dir("part").run().ok();
    let files = repo.ask_git(["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(files.contains("part/work/t-aaa1.txt"), "{files}");
    assert!(repo.exists("part/work/t-aaa1.txt"), "it has arrived");
    assert!(repo.ask_git(["show", "HEAD:part/ralph/plan.jsonl"]).contains("accept"));
    assert_eq!(repo.ask_git(["status", "--porcelain", "-uno"]), "");
    assert_eq!(repo.read("elsewhere.txt"), "an edit of the person's\n");
    let journal = repo.journal();
    let landed = journal.iter().find(|record| record["record"] == "landed").unwrap();
    let paths: Vec<&str> =
        landed["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert!(paths.contains(&"part/ralph/plan.jsonl"), "{paths:?}");
    assert!(paths.contains(&"part/work/t-aaa1.txt"), "{paths:?}");
    assert!(paths.iter().all(|path| path.starts_with("part/")), "{paths:?}");
    // A commit of the person's, and then one more landing.
    repo.shell("git add elsewhere.txt && git commit -qm theirs").ok();
    repo.command(["task", "add", "One more"]).dir("part").run().ok();
    repo.command(["build"]).dir("part").run().ok();
    assert_eq!(repo.landed().len(), 2);
    assert_eq!(repo.ask_git(["status", "--porcelain", "-uno"]), "");
}

#[test]
fn commits_are_signed_when_the_user_signs() {
    let repo = one();
    let gpg = repo.home().join("gpg.sh");
    let script = "#!/bin/sh\ncat > /dev/null\n\
        printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nmade up\\n-----END PGP SIGNATURE-----\\n'\n\
        echo '[GNUPG:] SIG_CREATED ' >&2\n";
    fs::write(&gpg, script).unwrap();
    repo.shell(&format!("chmod +x '{}'", gpg.display())).ok();
    repo.git(["config", "gpg.program", gpg.to_str().unwrap()]).ok();
    repo.git(["config", "commit.gpgSign", "true"]).ok();
    repo.build([]).ok();
    let commit = repo.ask_git(["log", "--format=%H", "--grep", "Ralph-Task: t-aaa1"]);
    let commit = repo.ask_git(["cat-file", "commit", &commit]);
    assert!(commit.contains("gpgsig -----BEGIN PGP SIGNATURE-----"), "{commit}");
}

/// A repository whose hook does this.
fn with_hook(name: &str, script: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    let hook = repo.git_dir().join("hooks").join(name);
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    repo.shell(&format!("chmod +x '{}'", hook.display())).ok();
    repo
}

#[test]
fn a_prefix_that_the_commit_msg_hook_accepts_is_told_before_anything_is_paid_for() {
    let rule = r#"head -1 "$1" | grep -Eq '^(feat|chore)\([a-z]+\): ' || { echo type may not be empty; exit 1; }"#;
    let repo = with_hook("commit-msg", rule);
    let run = repo.build([]).fails(1);
    says(&run, "subjects like \"ralph[1]: t-aaa1 — ");
    says(&run, "type may not be empty");
    says(&run, "set commit_prefix = \"chore(ralph)\" in ralph.toml: that passes");
    assert_eq!(repo.runs().len(), 0);
    let settings = "backend = \"sim\"\ncommit_prefix = \"chore(ralph)\"\n";
    repo.write("ralph.toml", format!("{settings}{}", crate::repo::GATE));
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1"]);
}

#[test]
fn a_commit_msg_hook_that_refuses_each_subject_costs_nothing_either() {
    let repo = with_hook("commit-msg", "echo a ticket is missing; exit 1");
    let run = repo.build([]).fails(1);
    says(&run, "a ticket is missing");
    says(&run, "or let the hook pass these subjects");
    assert_eq!(repo.runs().len(), 0);
}

#[test]
fn a_hook_that_refuses_a_file_of_ralphs_is_told_with_the_way_out() {
    let layout = "echo '.ralph/progress-log.json format: wrong layout'; exit 1";
    let repo = with_hook("pre-commit", layout);
    let run = repo.build([]).fails(3);
    says(&run, "the hook looked at .ralph/progress-log.json, which ralph writes");
    says(&run, "\"!.ralph\" and \"!ralph\" in files.includes of biome.json");
}
