//! Home in the middle of something.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use ralph_core::cycle::ArrivalWait;

use crate::stage::{Stage, lines};

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !done() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(done(), "it took too long");
}

#[test]
fn a_detached_head_waits() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.git(["checkout", "-q", "--detach"]);
    let before = stage.picture();
    assert_eq!(stage.waits(), ArrivalWait::Detached);
    assert_eq!(stage.picture(), before);
    stage.waits();
    assert_eq!(stage.host.records.len(), 1, "a reason is journalled once");
    stage.git(["switch", "-q", "main"]);
    stage.arrives();
}

#[test]
fn a_merge_and_a_rebase_under_way_wait() {
    for command in [["merge", "topic"], ["rebase", "topic"]] {
        let mut stage = Stage::new();
        stage.git(["switch", "-q", "-c", "topic"]);
        stage.write("b.txt", "theirs\n");
        stage.commit("theirs");
        stage.git(["switch", "-q", "main"]);
        stage.write("b.txt", "ours\n");
        stage.commit("ours");
        stage.start("main", ralph_core::cycle::ArrivalTarget::HomeBranch);
        stage.land(&[("a.txt", Some("one\n"))]);
        assert_ne!(stage.project.git(command).code, 0);
        let before = stage.picture();
        let wait = stage.waits();
        assert!(matches!(&wait, ArrivalWait::Operation { name, .. } if name == command[0]));
        assert_eq!(stage.picture(), before);
        stage.git([command[0], "--abort"]);
        stage.arrives();
    }
}

#[test]
fn a_commit_with_an_open_editor_waits_and_a_pager_does_not() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.write("c.txt", "mine\n");
    // In the background of a shell that ends: it must not be a child of this process.
    let editor = "sh -c 'while test ! -e .git/go; do sleep 0.05; done; exit 1' #";
    let mut shell = Command::new("sh");
    shell.args(["-c", "git commit -a -q >.git/out 2>&1 &"]).current_dir(stage.project.root());
    assert!(shell.env("GIT_EDITOR", editor).status().unwrap().success());
    wait_until(|| stage.project.exists(".git/index.lock"));
    let wait = stage.waits();
    let ArrivalWait::Process { command, .. } = wait else { panic!("{wait:?}") };
    assert_eq!(command, "commit");
    assert_eq!(stage.project.read("a.txt"), lines("a.txt"));
    stage.write(".git/go", "");
    wait_until(|| !stage.project.exists(".git/index.lock"));
    stage.write("c.txt", lines("c.txt"));
    let mut command = Command::new("git");
    command.args(["cat-file", "--batch"]).current_dir(stage.project.root());
    command.stdin(std::process::Stdio::piped());
    let _reader = Killed(command.spawn().unwrap());
    stage.arrives();
}

#[test]
fn a_lock_of_somebody_else_waits_and_stays() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n"))]);
    stage.write(".git/index.lock", "");
    let wait = stage.waits();
    assert!(matches!(wait, ArrivalWait::Locked { .. }), "{wait:?}");
    assert!(stage.project.exists(".git/index.lock"));
    std::fs::remove_file(stage.project.path(".git/index.lock")).unwrap();
    stage.arrives();
}

#[test]
fn a_branch_that_git_cannot_move_leaves_no_file_of_the_new_commit() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n")), ("b.txt", None), ("new/d.txt", Some("d\n"))]);
    stage.write("c.txt", "staged\n");
    stage.git(["add", "c.txt"]);
    stage.write(".git/refs/heads/main.lock", "");
    let (before, staged) = (stage.picture().files, stage.git(["ls-files", "-s"]));
    let wait = stage.waits();
    assert!(matches!(wait, ArrivalWait::Refused { .. }), "{wait:?}");
    assert_eq!(stage.picture().files, before);
    assert_eq!(stage.git(["ls-files", "-s"]), staged);
    std::fs::remove_file(stage.project.path(".git/refs/heads/main.lock")).unwrap();
    stage.arrives();
    assert_eq!(stage.status(), ["M  c.txt"]);
}
