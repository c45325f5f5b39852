//! `ralph doctor`: each kind of trouble is made, found, and put right where that is safe.

mod bundle;
mod leftovers;

use ralph_testkit::{Run, SmallDisk, TestProject, project, until};
use serde_json::{Value, json};

use crate::stage::{stage, steps};

/// Without coding agents: the programs that everybody has, and the git that is in use here.
fn plain(p: TestProject) -> TestProject {
    let path = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.exists());
    let bin = p.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(git.unwrap(), bin.join("git")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    p.env("PATH", path)
}

/// A repository in which all is well.
fn healthy() -> TestProject {
    let task = "{\"t\":\"task\",\"id\":\"t-aaaa\",\"name\":\"A\",\"s\":\"p\",\"accept\":\"`test -e a` passes\"}\n";
    let p = plain(stage("")).file("ralph/plan.jsonl", task);
    p.git(["commit", "-qam", "plan"]).ok();
    p
}

/// The findings about something.
fn about(run: &Run, area: &str) -> Vec<Value> {
    let report = run.json();
    let all = report["findings"].as_array().unwrap().clone();
    all.into_iter().filter(|finding| finding["about"] == area).collect()
}

/// Their states.
fn states(p: &TestProject, area: &str) -> Vec<String> {
    let run = p.run(["doctor", "--no-gates", "--json"]);
    about(&run, area).iter().map(|f| f["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_healthy_project_has_no_problem_and_every_line_says_so() {
    let p = healthy();
    let run = p.run(["doctor"]).ok().stderr("");
    for part in [
        "ok       git         version ",
        "ok       git         knows who commits\n",
        "ok       repository  on main, nothing uncommitted\n",
        "ok       settings    ralph.toml can be read\n",
        "ok       backend     sim ",
        "ok       plan        ralph/plan.jsonl: 1 task, 0 issues\n",
        "ok       journal     0 attempts, nothing interrupted\n",
        "ok       control     no commands wait\n",
        "ok       leftover    nothing is left of an earlier crash\n",
        "ok       gate        check: passed in 0.",
        "\nNothing is wrong.\n",
    ] {
        assert!(run.stdout.contains(part), "{part:?} is missing:\n{}", run.stdout);
    }
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, "", "it leaves nothing behind");
    p.run(["doctor", "--fix"]).ok().stdout_has("nothing that --fix could mend");
}

#[test]
fn git_is_missing_or_knows_nobody_or_has_no_repository() {
    let p = plain(project!());
    p.run(["doctor"]).fails(3).stdout_has("problem  repository").stdout_has("fix: git init\n");
    let p = healthy().env("PATH", "/nowhere");
    p.run(["doctor", "--no-gates"]).fails(3).stdout_has("git is not installed");
    let p = healthy();
    p.git(["config", "user.useConfigOnly", "true"]).ok();
    let bin = env!("CARGO_BIN_EXE_ralph");
    let who =
        "env -u GIT_AUTHOR_NAME -u GIT_AUTHOR_EMAIL -u GIT_COMMITTER_NAME -u GIT_COMMITTER_EMAIL";
    let run = p.shell(&format!("{who} {bin} doctor --no-gates")).fails(3);
    assert!(run.stdout.contains("git config --global user.name"), "{}", run.stdout);
}

#[test]
fn a_merge_a_detached_head_and_a_foreign_lock_are_told() {
    let p = healthy();
    let head = p.git(["rev-parse", "HEAD"]).ok().stdout;
    p.write(".git/MERGE_HEAD", &head);
    p.run(["doctor", "--no-gates"]).fails(3).stdout_has("a merge is in progress");
    std::fs::remove_file(p.path(".git/MERGE_HEAD")).unwrap();
    p.git(["switch", "--quiet", "--detach"]).ok();
    p.run(["doctor", "--no-gates"]).ok().stdout_has("at a commit without a branch");
    p.git(["switch", "--quiet", "main"]).ok();
    p.write(".git/index.lock", "");
    p.run(["doctor", "--no-gates", "--fix"]).fails(3).stdout_has("another program uses");
    assert!(p.exists(".git/index.lock"), "it is somebody else's");
}

#[test]
fn the_lock_of_a_killed_ralph_is_removed() {
    let p = healthy();
    p.write(".git/ralph/writes-index", "01JRUN\n");
    p.write(".git/index.lock", "");
    p.run(["doctor", "--no-gates"]).ok().stdout_has("a killed ralph left the lock");
    let run = p.run(["doctor", "--no-gates", "--fix"]).ok();
    assert!(
        run.stdout.starts_with("fixed    removed the lock of a killed ralph\n"),
        "{}",
        run.stdout
    );
    assert!(!p.exists(".git/index.lock"));
}

#[test]
fn the_line_that_adds_a_gate_can_be_pasted_into_the_settings() {
    let p = healthy();
    let settings = "backend = \"sim\"\n[build]\nmax_iterations = 3\n";
    p.write("ralph.toml", settings);
    let found = about(&p.run(["doctor", "--json"]), "gate");
    let fix = found[0]["fix"].as_str().unwrap();
    let (_, line) = fix.split_once(": ").unwrap();
    p.write("ralph.toml", format!("{line}\n{settings}"));
    let run = p.run(["doctor", "--json"]);
    assert_eq!(about(&run, "settings")[0]["state"], "ok", "{}", run.stdout);
    assert!(
        about(&run, "gate")[0]["what"].as_str().unwrap().starts_with("test: "),
        "{}",
        run.stdout
    );
}

#[test]
fn settings_that_cannot_be_read_are_told_line_by_line_and_no_gate_runs() {
    let p = healthy().file("ralph.toml", "max_retriez = 1\nbackend = 7\n");
    let run = p.run(["doctor", "--json"]).fails(3);
    let found = about(&run, "settings");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0]["what"].as_str().unwrap().contains("ralph.toml:1"), "{found:?}");
    assert_eq!(about(&run, "gate")[0]["state"], "unknown");
    let p = plain(project!().git_init());
    p.run(["doctor"]).fails(3).stdout_has("there is no ralph.toml").stdout_has("fix: ralph init");
}

#[test]
fn a_backend_is_missing_or_its_log_in_is_unknown() {
    let toml = "backend = \"claude\"\n[backends.claude]\nprogram = \"./claude\"\n";
    let p = healthy().file("ralph.toml", toml);
    p.run(["doctor", "--no-gates"]).fails(3).stdout_has("claude is not installed");
    p.write("claude", "#!/bin/sh\necho '2.1.0 (Claude Code)'\n");
    p.mode("claude", 0o755);
    p.run(["doctor", "--no-gates"])
        .ok()
        .stdout_has("unknown  backend     claude 2.1.0, in use; whether you are logged in shows")
        .stdout_has("fix: ralph backends try claude \"say hello\"");
    let p = healthy().file("ralph.toml", "");
    p.run(["doctor", "--no-gates"]).fails(3).stdout_has("no coding agent is installed");
    let p =
        healthy().file("ralph.toml", "backend = \"sim\"\n[stages.verify]\nbackend = \"codex\"\n");
    p.run(["doctor", "--no-gates"]).fails(3).stdout_has("codex is not installed");
}

#[test]
fn every_gate_runs_once_and_tells_how_long_it_took() {
    let gate = |name: &str, command: &str| {
        format!("[[gates]]\nname = \"{name}\"\ncommand = \"{command}\"\ntimeout = \"2s\"\n")
    };
    let gates = [
        gate("fine", "echo x >> $HOME/ran"),
        gate("red", "echo no >&2; exit 1"),
        gate("absent", "no-such-program --check"),
        gate("slow", "sleep 60"),
    ];
    let p = healthy().file("ralph.toml", format!("backend = \"sim\"\n{}", gates.concat()));
    let run = p.run(["doctor", "--json"]).fails(3);
    let found = about(&run, "gate");
    let states: Vec<&str> = found.iter().map(|f| f["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["ok", "warning", "problem", "problem"], "{found:?}");
    let what = |n: usize| found[n]["what"].as_str().unwrap();
    assert!(what(0).starts_with("fine: passed in 0."), "{found:?}");
    assert!(what(1).contains("fails already"), "{found:?}");
    assert!(what(2).contains("no-such-program"), "{found:?}");
    assert!(what(3).contains("did not end within 2.0s"), "{found:?}");
    assert_eq!(std::fs::read_to_string(p.home().join("ran")).unwrap(), "x\n");
    p.run(["doctor", "--no-gates"]).ok().stdout_lacks("gate  ");
    let p = healthy().file("ralph.toml", "backend = \"sim\"\n");
    p.run(["doctor"]).ok().stdout_has("nothing proves that work is done");
}

#[test]
fn damage_in_the_ledger_is_found_and_nothing_is_rewritten() {
    let damaged = "{\"t\":\"task\",\"id\":\"t-aaaa\",\"name\":\"A\",\"s\":\"p\"}\nnonsense\n";
    for (file, text, area) in [
        ("ralph/plan.jsonl", damaged, "plan"),
        ("ralph/inbox.jsonl", "nonsense\n", "inbox"),
        (".ralph/knowledge-index.json", "{", "knowledge"),
        (".git/ralph/journal.jsonl", "nonsense\n", "journal"),
    ] {
        let p = healthy().file(file, text);
        assert_eq!(states(&p, area), ["problem"], "{file}");
        p.run(["doctor", "--no-gates", "--fix"]).fails(3);
        assert_eq!(p.read(file), text);
    }
    let twice = "{\"t\":\"task\",\"id\":\"t-aaaa\",\"name\":\"A\",\"s\":\"p\"}\n".repeat(2);
    let p = healthy().file("ralph/plan.jsonl", twice);
    p.run(["doctor", "--no-gates"])
        .fails(3)
        .stdout_has("fix: ralph validate --plan ralph/plan.jsonl");
}

#[test]
fn a_loop_at_work_is_named_and_no_gate_runs_beside_it() {
    let p = plain(stage(&steps("{ hang = true }")));
    let build = p.spawn(["build"]);
    let works = || p.run(["doctor", "--json"]).ok();
    let run = loop {
        let run = works();
        let journal = about(&run, "journal");
        if journal[0]["what"].as_str().unwrap().contains("a loop is at work") {
            break run;
        }
    };
    assert_eq!(about(&run, "gate")[0]["state"], "unknown");
    assert_eq!(about(&run, "leftover"), [] as [Value; 0], "they are its own");
    p.run(["doctor", "--fix", "--no-gates"]).ok();
    build.kill();
}

#[test]
fn a_loop_that_begins_while_the_doctor_looks_leaves_it_alone() {
    let p = plain(stage(&steps("{ run = \"touch $HOME/begun\" }, { hang = true }")));
    let there = |name: &str| p.home().join(name).exists();
    // A git that answers when it is told to.
    let slow = "#!/bin/sh\ntouch $HOME/asked\nuntil test -e $HOME/on; do sleep 0.01; done\n\
                exec $HOME/bin/git \"$@\"\n";
    p.write(p.home().join("slow/git"), slow);
    p.mode(p.home().join("slow/git"), 0o755);
    let path = format!("{}:/usr/bin:/bin", p.home().join("slow").display());
    let doctor = p.command(["doctor", "--json"]).env("PATH", path).spawn();
    until(|| there("asked"));
    let build = p.spawn(["build"]);
    until(|| there("begun"));
    p.write(p.home().join("on"), "");
    let run = doctor.wait().ok();
    assert!(about(&run, "git")[0]["what"].as_str().unwrap().starts_with("version "), "{run:?}");
    build.kill();
}

#[test]
fn a_full_disk_is_a_problem() {
    let Some(disk) = SmallDisk::mount("a_full_disk_is_a_problem", 4096) else { return };
    let p = TestProject::inside(env!("CARGO_BIN_EXE_ralph"), disk.path()).git_init();
    p.run(["doctor", "--no-gates"]).fails(3).stdout_has("problem  disk");
}

#[test]
fn json_has_everything() {
    let p = healthy();
    let report = p.run(["doctor", "--no-gates", "--json"]).ok().json();
    assert_eq!((&report["problem"], &report["fixed"]), (&json!(false), &json!([])));
    assert!(report["findings"].as_array().unwrap().len() > 8, "{report}");
}
