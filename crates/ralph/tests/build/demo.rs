//! `ralph demo`: the first thing that somebody sees.

use ralph_testkit::project;

#[test]
fn the_demo_builds_a_project_through_a_red_gate_a_lie_and_a_crash() {
    let p = project!().with_proofs().real_time();
    let run = p.run(["demo"]).ok();
    for part in [
        "t-add1",
        "t-sub1",
        "t-mul1",
        "t-div1",
        "FAIL",
        "nothing changed",
        "Complete",
        "ralph init",
    ] {
        assert!(run.stdout.contains(part), "{part:?} is missing:\n{}", run.stdout);
    }
    assert!(
        std::fs::read_dir(p.root()).unwrap().next().is_none(),
        "it leaves nothing where it is run"
    );
}

#[test]
fn a_kept_demo_is_a_repository_that_works() {
    let p = project!().with_proofs().real_time();
    p.run(["demo", "--keep", "try"]).ok().stdout_has("try");
    p.shell("cd try && sh test.sh && sh calc.sh 7 div 2").ok().stdout_has("3\n");
    let log = p.shell("cd try && git log --format=%s && git status --porcelain").ok().stdout;
    assert_eq!(log.matches("ralph[").count(), 4, "{log}");
    p.command(["status"]).dir("try").run().ok();
    p.command(["attempts"]).dir("try").run().ok().stdout_has("t-div1");
}

#[test]
fn neither_demo_nor_tutorial_writes_into_a_directory_that_has_something_in_it() {
    let p = project!().file("mine/notes.txt", "mine\n");
    for args in [vec!["demo", "--keep", "mine"], vec!["tutorial", "mine"]] {
        let run = p.run(&args).fails(1);
        assert!(run.stderr.contains("mine is not empty"), "{}", run.stderr);
        let left: Vec<_> = std::fs::read_dir(p.root().join("mine")).unwrap().collect();
        assert_eq!(left.len(), 1, "{args:?}");
    }
}

#[test]
fn the_demo_does_not_need_an_identity_of_git() {
    let p = project!().with_proofs().real_time();
    let bin = env!("CARGO_BIN_EXE_ralph");
    let script = format!(
        "env -u GIT_AUTHOR_NAME -u GIT_AUTHOR_EMAIL -u GIT_COMMITTER_NAME -u GIT_COMMITTER_EMAIL '{bin}' demo"
    );
    p.shell(&script).ok().stdout_has("Complete");
}

#[test]
fn the_demo_ends_with_the_three_commands_for_ones_own_repository() {
    let p = project!().with_proofs().real_time();
    let run = p.run(["demo"]).ok();
    let (_, end) = run.stdout.split_once("Now on your own repository:\n").unwrap();
    let commands: Vec<&str> = end.lines().map(|line| line.split("  ").nth(1).unwrap()).collect();
    assert_eq!(commands, ["ralph init", "${EDITOR:-vi} ralph/specs/first.md", "ralph construct"]);
    for line in run.stdout.lines() {
        let named = line.contains("refs/ralph/0") || line.starts_with("    failed");
        assert!(named || line.chars().count() <= 100, "a long line: {line}");
    }
}

#[test]
fn the_demo_is_served_until_it_is_told_to_stop_and_leaves_nothing() {
    use std::io::{BufRead, BufReader, Read, Write};
    let p = project!().with_proofs().real_time();
    let mut demo = std::process::Command::new(env!("CARGO_BIN_EXE_ralph"))
        .args(["demo", "--web"])
        .current_dir(p.root())
        .env("HOME", p.home())
        .env("TMPDIR", p.home())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let link = lines.find_map(|line| Some(line.strip_prefix("Dashboard: ")?.to_owned())).unwrap();
    // Nothing opens a browser here, so it says what the link is for.
    assert_eq!(lines.next().unwrap(), "Open this link in a browser to watch it there.");
    assert!(lines.any(|line| line == "Ctrl-C ends it."), "it came to its end");
    let address = link.trim_start_matches("http://").split('/').next().unwrap();
    let mut page = std::net::TcpStream::connect(address).unwrap();
    write!(page, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    page.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    p.shell(&format!("kill -INT {}", demo.id())).ok();
    assert_eq!(demo.wait().unwrap().code(), Some(0));
    let left: Vec<_> = std::fs::read_dir(p.home()).unwrap().flatten().map(|e| e.path()).collect();
    assert!(left.iter().all(|path| !path.join("calc.sh").exists()), "{left:?}");
}
