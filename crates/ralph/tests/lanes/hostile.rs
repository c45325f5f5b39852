//! Agents, gates and hooks that do the worst they can in a lane: home stays as it is, nothing that they
//! plant runs, and the work lands in the end.

use std::fs;
use std::path::Path;

use crate::plans::{Format, task};
use crate::repo::{GATE, GOOD, Repo, held, repo_with, rule, said, touch};
use crate::watched::HOSTILE;

const ID: &str = "t-aaa1";

fn home() -> Repo {
    home_with(&format!("backend = \"sim\"\n{GATE}"))
}

/// A home with this configuration.
fn home_with(config: &str) -> Repo {
    let repo = repo_with(Format::Deluxe, &[task(ID)]);
    repo.config(config);
    repo.git(["branch", "other"]).ok();
    repo.git(["tag", "v1"]).ok();
    // Work of the person that an agent would like to have.
    repo.write("user/edited.txt", "mine\n");
    repo.write("user/staged.txt", "staged\n");
    repo.git(["add", "user/staged.txt"]).ok();
    repo.write("user/new.txt", "new\n");
    repo.write("ignored/cache.bin", "cache\n");
    repo
}

/// The person's work, and what git keeps for the person.
fn persons(repo: &Repo) -> String {
    let mut all = String::new();
    for args in [
        &["status", "--porcelain", "-uall", "--ignored", "--", "user", "ignored"][..],
        &["diff", "HEAD", "--", "user"],
        &["show-ref", "other", "v1"],
        &["stash", "list"],
        &["remote", "-v"],
        &["branch", "--show-current"],
    ] {
        let said = repo.git(args).stdout;
        all += &format!("{args:?}\n{said}\n");
    }
    let hooks = fs::read_dir(repo.path(".git/hooks")).map(Iterator::count).unwrap_or_default();
    let config = repo.read(".git/config");
    let [new, cache] = ["user/new.txt", "ignored/cache.bin"].map(|path| repo.read(path));
    format!("{all}{hooks} hooks\n{config}\n{new}{cache}")
}

fn step(shell: &str) -> String {
    format!("{{ run = '''{shell}''' }}")
}

/// Run it with a first attempt that does this, and good work after it.
#[track_caller]
fn lands_after(repo: &Repo, steps: &str) {
    let good = rule("when = \"## Current Task\"", GOOD);
    repo.script(&(rule("task = \"t-aaa1\"\nattempt = 1", steps) + &good));
    let before = persons(repo);
    let run = repo.build([]);
    let told = format!("{steps}\n{}", said(&run));
    assert_eq!(run.code, 0, "{told}");
    assert_eq!(persons(repo), before, "{told}");
    assert!(!repo.home().join("evil").exists(), "something planted has run\n{told}");
    assert_eq!(repo.landed(), [ID], "{told}");
    assert_eq!(repo.read("work/t-aaa1.txt"), "t-aaa1 is done\n", "{told}");
    assert_eq!(repo.ask_git(["status", "--porcelain", "--", ":!user"]), "", "{told}");
    let landed = repo.ask_git(["show", "--name-only", "--format=", "HEAD"]);
    let persons = |path: &str| ["user/", "ignored/"].iter().any(|folder| path.starts_with(folder));
    assert!(!landed.lines().any(persons), "{landed}\n{told}");
}

/// The agent does something with git, and then its work.
#[track_caller]
fn work_lands_beside(shell: &str) {
    let repo = home();
    lands_after(&repo, &format!("{}, {GOOD}", step(shell)));
    assert_eq!(repo.runs().len(), 1, "{shell}");
}

#[test]
fn hooks_and_configuration_planted_in_the_lane_do_not_run() {
    let evil = "touch \"$HOME/evil\"";
    for shell in [
        format!("mkdir -p .git/hooks; for h in pre-commit commit-msg post-commit post-checkout post-merge post-index-change reference-transaction pre-auto-gc; do printf '#!/bin/sh\\n{evil}\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done"),
        format!("mkdir -p ../hooks .h; printf '#!/bin/sh\\n{evil}\\n' > .git/pre-commit; chmod +x .git/pre-commit; git config core.hooksPath .git; rmdir .h"),
        format!("git config core.fsmonitor '{evil}; true'"),
        format!("git config filter.evil.clean '{evil}; cat'; git config filter.evil.smudge '{evil}; cat'; mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes"),
        format!("git config diff.external '{evil}; true'; git config core.pager '{evil}'; git config core.editor '{evil}'; git config gpg.program '{evil}'; git config commit.gpgSign true"),
        format!("git config alias.status '!{evil}'; git config credential.helper '!{evil}'"),
        "git config core.worktree \"$HOME\"".to_owned(),
        "git config core.worktree /; git config core.bare true; git config extensions.worktreeConfig true".to_owned(),
        "git config include.path /nowhere; git config core.repositoryFormatVersion 99".to_owned(),
    ] {
        work_lands_beside(&shell);
    }
}

#[test]
fn references_deleted_and_moved_in_the_lane_are_the_lanes() {
    for shell in [
        "git update-ref -d refs/heads/main; git update-ref -d refs/heads/other; git tag -d v1",
        "rm -rf .git/refs .git/packed-refs .git/HEAD",
        "git checkout -q --orphan evil; git branch -D main other",
        "git stash -q -u; git checkout -q -b evil; git reset -q --hard other",
        "git update-index --split-index; git update-index --assume-unchanged src/main.c; git update-index --skip-worktree README.md",
        "rm -f .git/index; touch .git/index.lock .git/HEAD.lock",
        "git rebase -q --root --exec true; git reflog expire --all --expire=now; git gc -q --prune=now",
    ] {
        work_lands_beside(shell);
    }
}

#[test]
fn a_git_directory_of_the_lane_that_is_gone_or_replaced_does_not_matter() {
    for shell in [
        "rm -rf .git",
        "rm -rf .git; echo 'gitdir: /nowhere' > .git",
        "rm -rf .git; mkdir \"$HOME/there\"; ln -s \"$HOME/there\" .git",
        "rm -rf .git; git init -q; git config user.name x; git config user.email x@x; git commit -q --allow-empty -m x",
        "rm -rf .git; mkfifo .git",
        "chmod -R 0 .git",
    ] {
        work_lands_beside(shell);
    }
    let repo = home();
    let shell = format!("rm -rf .git; ln -s {} .git", repo.path(".git").display());
    lands_after(&repo, &format!("{}, {GOOD}", step(&shell)));
    let shell = format!("rm -rf .git; echo 'gitdir: {}' > .git", repo.path(".git").display());
    let repo = home();
    lands_after(&repo, &format!("{}, {GOOD}", step(&shell)));
}

#[test]
fn what_stands_in_the_place_of_the_ledger_in_a_lane_is_left_out() {
    for shell in [
        "rm plan.json; mkdir -p plan.json/x",
        "rm plan.json; mkfifo plan.json; rm -f .ralph/progress-log.md; mkfifo .ralph/progress-log.md",
        "rm plan.json ralph.toml; ln -s /dev/zero plan.json; ln -s \"$HOME\" ralph.toml",
        "chmod 0 plan.json ralph.toml; chmod 0 .ralph",
    ] {
        work_lands_beside(shell);
    }
}

#[test]
fn files_that_make_the_ledger_impossible_fail_the_attempt_and_no_more() {
    for shell in [
        "rm -rf .ralph; echo x > .ralph",
        "rm plan.json; mkdir -p plan.json/x; touch plan.json/x/y",
    ] {
        let repo = home();
        lands_after(&repo, &format!("{}, {GOOD}", step(shell)));
        assert_eq!(repo.runs().len(), 2, "{shell}");
    }
}

#[test]
fn a_lane_that_is_gone_emptied_or_replaced_fails_the_attempt_and_no_more() {
    let claim = "{ claim = \"done\" }";
    for shell in [
        "rm -rf \"$PWD\"",
        "rm -rf ./* .gitignore",
        "mv \"$PWD\" \"$PWD.moved\"",
        "top=\"$PWD\"; rm -rf \"$top\"; mkdir \"$HOME/there\"; echo x > \"$HOME/there/x\"; ln -s \"$HOME/there\" \"$top\"",
        "top=\"$PWD\"; rm -rf \"$top\"; echo x > \"$top\"",
        "rm -rf \"$(dirname \"$PWD\")\"",
    ] {
        let repo = home();
        lands_after(&repo, &format!("{}, {claim}", step(shell)));
        assert_eq!(repo.runs().len(), 2, "{shell}");
        assert!(!repo.home().join("there").exists() || repo.home().join("there/x").exists());
    }
    // In its place a link to home, which has every file.
    let repo = home();
    let root = repo.root().display();
    let shell = format!("top=\"$PWD\"; rm -rf \"$top\"; ln -s {root} \"$top\"");
    lands_after(&repo, &format!("{}, {claim}", step(&shell)));
    assert_eq!(repo.runs().len(), 2);
}

/// Commands that take the lane away in which they run. `$ROOT` is home.
const SWAPS: [&str; 6] = [
    "top=$PWD; mv $top $top-x; ln -s $ROOT $top",
    "mkdir -p $HOME/par; ln -sfn $ROOT $HOME/par/lane-1; up=$(dirname $PWD); mv $up $up-x; ln -s $HOME/par $up",
    "mkdir -p $HOME/par; cp -a $ROOT $HOME/par/lane-1; up=$(dirname $PWD); mv $up $up-x; ln -s $HOME/par $up",
    "top=$PWD; mv $top $top-x; cp -a $ROOT $top",
    "rm -rf $PWD",
    "top=$PWD; rm -rf $top; echo x > $top",
];

/// The first attempt writes this as `swap.sh`, which something runs after it; the second one works.
#[track_caller]
fn lands_after_swap(repo: &Repo, swap: &str, blamed: &str) {
    let swap = swap.replace("$ROOT", &repo.root().display().to_string());
    let steps = format!("{{ write = \"swap.sh\", text = '''{swap}''' }}, {GOOD}");
    lands_after(repo, &steps);
    assert_eq!(repo.runs().len(), 2, "{swap}");
    let copy = repo.home().join("par/lane-1");
    assert_eq!(copy.join("README.md").exists(), copy.join("user/new.txt").exists(), "{swap}");
    let failed = repo.run(["show", "1"]).stdout;
    assert!(failed.contains(blamed), "{swap}: {failed}");
    let kept = repo.run(["salvage", "list"]).stdout;
    assert!(!kept.contains("Nothing"), "{swap}: {kept}");
}

fn gate_of(command: &str) -> String {
    format!("[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"{command}\"\n")
}

const SWAP: &str = "if [ -f swap.sh ]; then sh swap.sh; fi";

#[test]
fn a_gate_that_takes_the_lane_away_fails_the_attempt_and_no_more() {
    for swap in SWAPS {
        let repo = home_with(&format!("backend = \"sim\"\n{}", gate_of(SWAP)));
        lands_after_swap(&repo, swap, "while the gate test ran");
    }
}

#[test]
fn a_gate_that_takes_the_lane_away_before_any_work_does_not_reach_home() {
    for swap in &SWAPS[..2] {
        let repo = home();
        let swap = swap.replace("$ROOT", &repo.root().display().to_string());
        repo.config(&format!("backend = \"sim\"\nmax_retries = 0\n{}", gate_of(&swap)));
        repo.script(&rule("", GOOD));
        let before = persons(&repo);
        let run = repo.build([]);
        assert_eq!(persons(&repo), before, "{swap}\n{}", said(&run));
        assert_eq!(run.code, 3, "{swap}\n{}", said(&run));
        assert!(repo.landed().is_empty(), "{}", said(&run));
        repo.git(["fsck", "--connectivity-only"]).ok();
    }
}

#[test]
fn setup_that_takes_the_lane_away_fails_the_attempt_and_no_more() {
    let setup = format!("[lane]\nsetup = \"{SWAP}\"\nsetup_when = [\"swap.sh\"]\n");
    for swap in &SWAPS[..3] {
        let repo = home_with(&format!("backend = \"sim\"\n{GATE}{setup}"));
        lands_after_swap(&repo, swap, "while the setup of the lane");
    }
}

#[test]
fn a_hook_that_takes_the_lane_away_fails_the_attempt_and_no_more() {
    for swap in [SWAPS[0], SWAPS[1], SWAPS[4]] {
        let repo = home();
        crate::stage::script(&repo.path(".git/hooks/pre-commit"), SWAP);
        lands_after_swap(&repo, swap, "while the hook pre-commit ran");
    }
}

/// For root no right is missing, so this says something for other users alone.
#[test]
fn rights_that_are_taken_away_in_the_lane_are_taken_back() {
    for shell in [
        "chmod -R a-w .",
        "chmod -R a-rwx .",
        "chmod a-rwx src work",
        "cd ..; chmod a-rwx .",
        "cd ..; chmod a-w .; chmod -R a-w lane-1",
    ] {
        work_lands_beside_then(shell);
        let repo = home_with(&format!("backend = \"sim\"\n{}", gate_of(SWAP)));
        let steps = format!("{{ write = \"swap.sh\", text = \"{shell}; exit 0\" }}, {GOOD}");
        lands_after(&repo, &steps);
        assert_eq!(repo.runs().len(), 1, "{shell}");
    }
}

/// The agent does its work, and then this.
#[track_caller]
fn work_lands_beside_then(shell: &str) {
    let repo = home();
    let (work, claim) = GOOD.rsplit_once(", ").unwrap();
    lands_after(&repo, &format!("{work}, {}, {claim}", step(shell)));
    assert_eq!(repo.runs().len(), 1, "{shell}");
    repo.run(["lanes", "prune"]).ok();
}

#[test]
fn an_agent_that_takes_the_folder_of_lanes_away_fails_its_attempt_and_no_more() {
    for swap in SWAPS {
        let repo = home();
        let swap = swap.replace("$ROOT", &repo.root().display().to_string());
        lands_after(&repo, &format!("{}, {{ claim = \"done\" }}", step(&swap)));
        assert_eq!(repo.runs().len(), 2, "{swap}");
    }
}

#[test]
fn what_an_agent_does_against_its_user_with_git_changes_nothing_of_the_users() {
    for steps in HOSTILE {
        lands_after(&home(), steps);
    }
}

#[test]
fn a_nested_repository_with_a_planted_filter_fails_the_attempt_and_runs_nothing() {
    let repo = home();
    let nested = "mkdir nested; cd nested; git init -q; git config user.name x; git config user.email x@x; git config filter.evil.clean 'touch \"$HOME/evil\"; cat'; git config core.fsmonitor 'touch \"$HOME/evil\"; true'; echo '* filter=evil' > .gitattributes; echo x > x; git -c filter.evil.clean=cat -c core.fsmonitor=false add x; git -c filter.evil.clean=cat -c core.fsmonitor=false commit -qm x; echo y > x";
    lands_after(&repo, &format!("{}, {GOOD}", step(nested)));
    assert_eq!(repo.runs().len(), 2);
    assert!(!repo.exists("nested"));
}

#[test]
fn a_filter_planted_in_the_configuration_of_a_submodule_does_not_run() {
    let repo = repo_with(Format::Deluxe, &[task(ID)]);
    repo.shell(
        "git init -q -b main \"$HOME\"/lib && cd \"$HOME\"/lib && echo lib > lib.txt && git add -A && git commit -qm lib",
    )
    .ok();
    repo.shell(
        "git -c protocol.file.allow=always submodule add -q \"$HOME\"/lib lib && git commit -qm lib",
    )
    .ok();
    let evil = "cd lib && git config filter.evil.clean 'touch \"$HOME/evil\"; cat' && git config core.fsmonitor 'touch \"$HOME/evil\"; true' && echo '* filter=evil' > \"$(git rev-parse --git-dir)/info/attributes\"; touch lib.txt";
    let config = repo.read(".git/modules/lib/config");
    repo.script(&rule("", &format!("{}, {GOOD}", step(evil))));
    let run = repo.build([]).ok();
    assert!(!repo.home().join("evil").exists(), "{}", said(&run));
    assert_eq!(repo.read(".git/modules/lib/config"), config);
    assert_eq!(repo.status(), "");
    assert_eq!(repo.landed(), [ID]);
}

#[test]
fn an_agent_that_changes_ignore_rules_lands_no_ignored_file_and_removes_none() {
    let repo = home();
    repo.write(".env", "SECRET=1\n");
    repo.write(".git/info/exclude", "/.env\n");
    let before = persons(&repo);
    let steps = format!(
        "{}, {GOOD}",
        step(
            "mkdir -p ignored; echo x > ignored/x; echo x > .env; : > .gitignore; git add -A -f ."
        )
    );
    repo.script(&rule("", &steps));
    let run = repo.build([]);
    let landed = repo.ask_git(["log", "--name-only", "--format=", "main"]);
    assert!(!landed.lines().any(|path| path == ".env" || path.starts_with("ignored/")), "{landed}");
    assert_eq!(repo.read(".env"), "SECRET=1\n", "{}", said(&run));
    assert_eq!(repo.read("ignored/cache.bin"), "cache\n");
    assert_eq!(before.lines().last(), persons(&repo).lines().last());
}

#[test]
fn files_that_appear_in_home_while_an_agent_works_are_the_persons() {
    let repo = home();
    repo.script(&rule("", &held(GOOD)));
    let run = repo.command(["build"]).spawn();
    repo.until_home_has("go.held");
    for (path, text) in [(".env", "SECRET=1\n"), ("run.log", "log\n"), ("work/own.txt", "own\n")] {
        repo.write(path, text);
    }
    repo.write("ralph/specs/next.md", "# Next\n");
    repo.allow("go");
    let run = run.wait().ok();
    let status = repo.ask_git(["status", "--porcelain", "-uall", "--", ":!user"]);
    let own = "?? .env\n?? ralph/specs/next.md\n?? run.log\n?? work/own.txt";
    assert_eq!(status, own, "{}", said(&run));
}

#[test]
fn a_log_of_the_run_that_is_written_in_home_stays() {
    let repo = home();
    let ralph = env!("CARGO_BIN_EXE_ralph");
    repo.shell(&format!("RALPH_SIM=\"$HOME/scenario.toml\" {ralph} build 2>&1 | tee run.log")).ok();
    assert!(repo.read("run.log").contains("1 landed in 1 attempt"), "{}", repo.read("run.log"));
    assert_eq!(repo.landed(), [ID]);
    assert_eq!(repo.ask_git(["log", "--format=%h", "--", "run.log"]), "");
}

#[test]
fn gates_that_clean_or_stash_and_hooks_that_stash_do_not_land_a_commit_without_the_code() {
    for gate in [
        "git clean -fdxq; true",
        "git stash -q -u; true",
        "git reset -q --hard; git checkout -q -- .; true",
        "rm -rf work src; true",
        "git add -A; git commit -qm gate; true",
    ] {
        let gate = format!("[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"{gate}\"\n");
        let repo = home_with(&format!("backend = \"sim\"\n{gate}"));
        lands_after(&repo, GOOD);
    }
    let repo = home();
    let hook = "git stash -q -u; true";
    crate::stage::script(&repo.path(".git/hooks/pre-commit"), hook);
    repo.script(&rule("", GOOD));
    let run = repo.build([]);
    let code = repo.git(["show", "HEAD:work/t-aaa1.txt"]).stdout;
    // A hook that takes the code away leaves nothing to commit, or the code lands: never the one without
    // the other.
    assert_eq!(repo.is_done(ID), code == "t-aaa1 is done\n", "{}", said(&run));
    assert_eq!(repo.landed().is_empty(), code.is_empty(), "{}", said(&run));
}

#[test]
fn a_hook_that_takes_the_work_away_is_blamed_and_the_work_is_kept() {
    for hook in ["git stash -q -u", "git reset -q --hard HEAD"] {
        let repo = home_with(&format!("backend = \"sim\"\nmax_retries = 1\n{GATE}"));
        let hook = format!("echo tidy up first; {hook}");
        crate::stage::script(&repo.path(".git/hooks/pre-commit"), &hook);
        repo.script(&rule("", GOOD));
        let run = repo.build([]).fails(3);
        for told in [said(&run), repo.run(["show", "1"]).stdout, prompt_of(&repo, 2)] {
            assert!(told.contains("took the work away"), "{hook}: {told}");
            assert!(
                told.contains("pre-commit") && told.contains("tidy up first"),
                "{hook}: {told}"
            );
            assert!(!told.contains("nothing changed"), "{hook}: {told}");
        }
        let diff = repo.run(["show", "1", "--diff"]).stdout;
        assert!(diff.contains("+t-aaa1 is done"), "{hook}: {diff}");
    }
}

/// What a backend was told in an attempt.
fn prompt_of(repo: &Repo, iteration: u32) -> String {
    let logs = fs::read_dir(repo.path("build/ralph-logs")).unwrap().flatten();
    let end = format!("-build-{iteration}.prompt.md");
    let mut paths = logs.map(|entry| entry.path());
    let path = paths.find(|path| path.to_string_lossy().ends_with(&end));
    fs::read_to_string(path.unwrap()).unwrap()
}

#[test]
fn settings_of_home_do_not_change_what_arrives() {
    for setting in [
        &["config", "branch.main.mergeOptions", "-s ours --no-ff --squash"][..],
        &["config", "merge.ff", "false"],
        &["config", "merge.autoStash", "true"],
        &["config", "core.splitIndex", "true"],
        &["update-index", "--split-index"],
        &["config", "core.hooksPath", "/nowhere"],
        &["config", "merge.verifySignatures", "true"],
        &["config", "core.checkStat", "minimal"],
        &["config", "status.showUntrackedFiles", "no"],
        &["config", "core.autocrlf", "input"],
        &["config", "index.version", "4"],
        &["config", "feature.manyFiles", "true"],
    ] {
        let repo = home();
        repo.git(setting).ok();
        lands_after(&repo, GOOD);
        assert_eq!(repo.ask_git(["log", "-1", "--format=%P"]).split(' ').count(), 1, "{setting:?}");
        assert_eq!(repo.ask_git(["show", "HEAD:work/t-aaa1.txt"]), "t-aaa1 is done", "{setting:?}");
    }
}

/// Without a fence an agent can write wherever its user can. Even then ralph's own git calls neither
/// follow a planted `core.worktree` nor run a planted monitor.
#[test]
fn settings_planted_in_homes_git_directory_do_not_turn_ralph_against_other_files() {
    for setting in
        ["core.worktree \"$HOME/precious\"", "core.fsmonitor 'touch \"$HOME/evil\"; true'"]
    {
        let repo = repo_with(Format::Deluxe, &[task(ID)]);
        let precious = repo.home().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("README.md"), "precious\n").unwrap();
        let root = repo.root().display();
        let plant = step(&format!("git --git-dir={root}/.git config {setting}"));
        let good = rule("when = \"## Current Task\"", GOOD);
        let first = format!("{plant}, {}, {{ claim = \"none\" }}", touch("planted"));
        repo.script(&(rule("attempt = 1", &first) + &good));
        let run = repo.build([]);
        assert!(repo.home().join("planted").exists());
        assert!(!repo.home().join("evil").exists(), "{setting}\n{}", said(&run));
        assert_eq!(names(&precious), ["README.md"], "{setting}\n{}", said(&run));
        assert_eq!(fs::read_to_string(precious.join("README.md")).unwrap(), "precious\n");
        assert_eq!(repo.read("README.md"), "# Work\n", "{setting}\n{}", said(&run));
        if !setting.starts_with("core.worktree") {
            assert_eq!(run.code, 0, "{setting}\n{}", said(&run));
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The disk of the lane is full, or that of home.
mod full_disk {
    use ralph_testkit::{SmallDisk, TestProject};

    use super::*;

    const FILL: &str = "{ hold = \"~/go\" }, ";

    #[test]
    fn a_full_disk_of_the_lane_fails_the_attempt_and_leaves_home_alone() {
        let Some(disk) = SmallDisk::mount("a_full_disk_of_the_lane", 4096) else { return };
        // A file of which only the name fits on the disk is no work.
        let gate = "[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"! [ -e work ] || grep -rq done work\"\n";
        let lanes = disk.path().join("lanes");
        let config = format!("backend = \"sim\"\n[lane]\ndir = \"{}\"\n{gate}", lanes.display());
        let repo = home_with(&config);
        let before = persons(&repo);
        repo.script(&rule("", &format!("{FILL}{GOOD}")));
        let run = repo.spawn(["build"]);
        repo.until_home_has("go.held");
        disk.fill();
        repo.allow("go");
        let run = run.wait();
        assert_ne!(run.code, 0, "{}", said(&run));
        assert!(repo.landed().is_empty(), "{}", said(&run));
        assert_eq!(persons(&repo), before);
        disk.free();
        lands_after(&repo, GOOD);
    }

    #[test]
    fn a_full_disk_of_home_stops_the_run_and_the_next_one_finishes_it() {
        let Some(disk) = SmallDisk::mount("a_full_disk_of_home", 8192) else { return };
        let elsewhere = tempfile::tempdir().unwrap();
        let project = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path())
            .env("XDG_CACHE_HOME", elsewhere.path());
        let repo = Repo::new(project, Format::Deluxe, &[task(ID)]);
        repo.write("user/edited.txt", "mine\n");
        repo.write("user/new.txt", "new\n");
        let status = repo.status();
        repo.script(&rule("", &format!("{FILL}{GOOD}")));
        let run = repo.spawn(["build"]);
        repo.until_home_has("go.held");
        repo.allow("go");
        disk.fill();
        let run = run.wait();
        assert_ne!(run.code, 0, "{}", said(&run));
        assert!(
            ["disk is full", "No space left"].iter().any(|w| said(&run).contains(w)),
            "{}",
            said(&run)
        );
        assert_eq!(repo.read("user/edited.txt"), "mine\n");
        assert_eq!(repo.read("user/new.txt"), "new\n");
        disk.free();
        let run = repo.build([]).ok();
        assert_eq!(repo.landed(), [ID], "{}", said(&run));
        assert_eq!(repo.status(), status, "{}", said(&run));
        assert_eq!(repo.read("work/t-aaa1.txt"), "t-aaa1 is done\n");
    }
}
