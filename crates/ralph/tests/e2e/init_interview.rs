//! The questions of `ralph init`, in a real terminal: util-linux's `script` makes one.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ralph_testkit::{TestProject, project};

/// Where a program is.
fn found(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut places = std::env::split_paths(&path).map(|dir| dir.join(name));
    places.find(|file| file.exists()).unwrap()
}

/// A project with one gate that passes, one that fails and one that cannot run, and two backends.
fn place() -> TestProject {
    let make = "test:\n\t@true\ncheck:\n\t@echo red; exit 1\nlint:\n\t@no-such-linter\n";
    let p = project!().git_init().file("Makefile", make);
    let bin = p.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["git", "make", "sh", "true", "stty"] {
        symlink(found(name), bin.join(name)).unwrap();
    }
    for name in ["claude", "codex"] {
        let program = bin.join(name);
        std::fs::write(&program, format!("#!/bin/sh\necho 1.2.3 {name}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    p
}

/// What the terminal shows when these lines are typed.
fn typed(p: &TestProject, lines: &str) -> String {
    typed_to(p, "init", lines)
}

/// The same for another command.
fn typed_to(p: &TestProject, command: &str, lines: &str) -> String {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let mut child = Command::new(found("script"))
        .args(["-qec", &format!("{ralph} {command}"), "/dev/null"])
        .current_dir(p.root())
        .env("HOME", p.home())
        .env("PATH", p.home().join("bin"))
        .env("SHELL", "/bin/sh")
        .env("GIT_AUTHOR_NAME", "A User")
        .env("GIT_AUTHOR_EMAIL", "user@example.com")
        .env("GIT_COMMITTER_NAME", "A User")
        .env("GIT_COMMITTER_EMAIL", "user@example.com")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

#[test]
fn enter_all_the_way_gives_a_project_with_gates_that_were_tried() {
    let p = place();
    let shown = typed(&p, "\n\n\n\n\n\n\n\n");
    for part in [
        "Backend: found claude 1.2.3, codex 1.2.3.\n",
        "Which one writes code? [claude] ",
        "test: make test … passed in 0.",
        "check: make check … fails in 0.",
        "lint: make lint … cannot be run: ",
        "Keep it? [y/N] ",
        "Keep it? [Y/n] ",
        "Write it? [Y/n] ",
        "  create ralph/specs/first.md\n",
        "Do this? [Y/n] ",
        "Commit everything that is not ignored: Makefile? [y/N] ",
        "Next:     `git add -A && git commit -m \"first commit\"`: agents see only what is committed\n",
        "          say what you want in ralph/specs/first.md",
    ] {
        assert!(shown.contains(part), "{part:?} is missing:\n{shown}");
    }
    let toml = p.read("ralph.toml");
    assert!(toml.contains("\nbackend = \"claude\"\n") && toml.contains("make test"), "{toml}");
    assert!(toml.contains("# Left out: lint = make lint\n"), "{toml}");
    assert!(p.exists("ralph/specs/first.md"));
    assert!(typed(&p, "").contains("Everything is already there"), "the second time asks nothing");
}

#[test]
fn answers_are_taken() {
    let p = place();
    // Another backend after a slip, the first gate and the spec not.
    let gates = p.run(["init", "--json"]).ok().json()["gates"].as_array().unwrap().len();
    p.shell("rm -r ralph ralph.toml .gitignore").ok();
    let answers = format!("cody\ncodex\nn\n{}n\n\n", "\n".repeat(gates - 1));
    let shown = typed(&p, &answers);
    assert!(shown.contains("There is no cody here."), "{shown}");
    let toml = p.read("ralph.toml");
    assert!(toml.contains("backend = \"codex\"") && toml.contains("# Left out: "), "{toml}");
    assert!(p.exists("ralph/specs/.gitkeep") && !p.exists("ralph/specs/first.md"));
}

#[test]
fn a_no_at_the_end_or_an_end_of_input_changes_nothing() {
    for answers in ["\n\n\n\n\nn\n", "\n", "\x04"] {
        let p = place();
        let shown = typed(&p, answers);
        assert!(shown.contains("stopped at your word; nothing was changed"), "{shown}");
        assert!(!p.exists("ralph.toml") && !p.exists("ralph"), "{shown}");
    }
}

/// A project with one commit, a gate that reads an ignored file, and a file of settings.
fn committed_place() -> TestProject {
    let p = place();
    p.write("Makefile", "test:\n\t@read x < data.txt\n");
    p.write(".gitignore", ".env\ndata.txt\n");
    p.write(".env", "KEY=1\n");
    p.write("data.txt", "x\n");
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-qm", "start"]).ok();
    p
}

#[test]
fn with_consent_the_set_up_is_committed_and_the_gates_are_tried_in_a_lane() {
    let p = committed_place();
    // Backend, gate, copy, spec, write, commit, lane.
    let shown = typed(&p, "\n\n\n\n\n\n\n");
    for part in [
        "test: make test … passed in 0.",
        "  copy: .env (agents can read it)\n  Keep it? [Y/n] ",
        "Commit 3 files? [Y/n] ",
        "Commit:   ralph: set up (3 files)\n",
        "Run the gates once in a lane? [Y/n] ",
        "  test: passes in your checkout and fails in a lane (exit code 2): ",
        "  the lane: it does not have data.txt, which git ignores and the output names\n",
        "    fix: copy = [\".env\", \"data.txt\"] in [lane] of ralph.toml, or lines in .worktreeinclude\n",
    ] {
        assert!(shown.contains(part), "{part:?} is missing:\n{shown}");
    }
    assert_eq!(p.git(["log", "-1", "--format=%s"]).ok().stdout, "ralph: set up\n");
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, "");
    assert!(p.read("ralph.toml").contains("[lane]\ncopy = [\".env\"]\n"));
}

#[test]
fn what_a_lane_needs_can_be_declined_and_so_can_the_commit_and_the_trial() {
    let p = committed_place();
    let shown = typed(&p, "\n\nn\n\n\nn\nn\n");
    assert!(shown.contains("Next:     `git add "), "{shown}");
    assert!(shown.contains("`ralph doctor --compare` does it later."), "{shown}");
    assert!(!p.read("ralph.toml").contains("[lane]"));
    assert_eq!(p.git(["log", "-1", "--format=%s"]).ok().stdout, "start\n");
}

#[test]
fn on_a_terminal_the_first_commit_of_the_users_files_is_offered_by_init_and_by_a_run() {
    let p = place();
    let shown = typed(&p, "\n\n\n\n\n\ny\nn\n");
    assert!(shown.contains("Commit:   first commit\n"), "{shown}");
    assert_eq!(p.git(["status", "--porcelain"]).ok().stdout, "");
    let unborn = || place().file("ralph/plan.jsonl", "");
    let p = unborn();
    let shown = typed_to(&p, "build --backend sim", "y\n");
    assert!(shown.contains("Commit everything that is not ignored: Makefile? [y/N] "), "{shown}");
    assert_eq!(p.git(["log", "--format=%s"]).ok().stdout, "first commit\n");
    let p = unborn();
    let shown = typed_to(&p, "build --backend sim", "\n");
    assert!(shown.contains("error: this repository has no commit yet"), "{shown}");
    p.git(["log"]).fails(128);
}
