use super::*;
use crate::SmallDisk;

fn shell() -> TestProject {
    TestProject::new("/bin/sh")
}

#[test]
fn a_program_sees_nothing_of_the_machines_environment() {
    let names: Vec<String> = shell()
        .run(["-c", "env"])
        .ok()
        .stdout
        .lines()
        .filter_map(|l| l.split_once('=').map(|(name, _)| name.to_owned()))
        .collect();
    for name in &names {
        let ours = ["RALPH_NOW", "RALPH_UNPROVEN"];
        let known = ["PATH", "HOME", "LC_ALL", "NO_COLOR", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(
            known.iter().chain(&ours).any(|k| k == name) || name.starts_with("GIT_"),
            "{name} leaked in"
        );
    }
    assert!(!names.iter().any(|n| n == "GIT_DIR"));
}

#[test]
fn home_and_time_are_the_tests_own() {
    let p = shell();
    let home = p.home().display().to_string();
    p.run(["-c", "echo $HOME $RALPH_NOW"]).ok().stdout(&format!("{home} {NOW}\n"));
    p.real_time().run(["-c", "echo ${RALPH_NOW-none}"]).ok().stdout("none\n");
}

#[test]
fn git_commits_without_anybodys_configuration() {
    let p = shell().git_init().file("a", "1");
    p.git(["add", "."]).ok();
    p.git(["commit", "-qm", "first"]).ok();
    p.git(["log", "--format=%an %s"]).ok().stdout("Tess Ter first\n");
    p.git(["config", "--global", "--list"]).ok().stdout("");
}

#[test]
fn an_unprivileged_user_owns_the_project_and_is_stopped_by_permissions() {
    let p = shell().file("open/x", "1").as_nobody().dir("closed");
    p.run(["-c", "echo 2 > open/x && echo 3 > closed/y"]).ok();
    p.mode("closed", 0o555);
    let stopped = p.run(["-c", "echo 4 > closed/z"]);
    assert_ne!(stopped.code, 0);
    assert!(!p.exists("closed/z"));
}

#[test]
fn input_reaches_the_program_and_runs_can_overlap() {
    let p = shell().dir("sub");
    p.command(["-c", "cat; pwd"])
        .stdin("hello\n")
        .dir("sub")
        .run()
        .ok()
        .stdout(&format!("hello\n{}\n", p.path("sub").display()));
    let slow = p.spawn(["-c", "until [ -e go ]; do sleep 0.01; done; echo went"]);
    p.run(["-c", "touch go"]).ok();
    slow.wait().ok().stdout("went\n");
    let stuck = p.spawn(["-c", "exec sleep 600"]);
    assert_eq!(stuck.kill().code, 137);
}

#[test]
fn a_small_disk_gets_full_and_free_again() {
    let Some(disk) = SmallDisk::mount("a_small_disk_gets_full_and_free_again", 64) else { return };
    let p = TestProject::inside("/bin/sh", disk.path());
    disk.fill();
    let full = p.run(["-c", "echo 1 > file"]);
    assert_ne!(full.code, 0, "{full:?}");
    disk.free();
    p.run(["-c", "echo 1 > file"]).ok();
}
