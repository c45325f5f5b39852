use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use ralph_testkit::TestProject;

use super::*;

/// A project in which only git is ever run.
fn place() -> TestProject {
    TestProject::new("git")
}

fn discover(p: &TestProject, dir: &str) -> Project {
    Project::discover(&p.path(dir)).unwrap()
}

#[test]
fn the_nearest_ralph_toml_is_the_root() {
    let p = place().file("ralph.toml", "").dir("a/b").file("a/ralph.toml", "").git_init();
    assert_eq!(discover(&p, "a/b").root(), p.path("a"));
    assert_eq!(discover(&p, "").root(), p.root());
}

#[test]
fn a_ralph_toml_beats_a_nearer_ledger() {
    let p = place().file("ralph.toml", "").file("a/ralph/plan.jsonl", "").dir("a/b");
    assert_eq!(discover(&p, "a/b").root(), p.root());
}

#[test]
fn a_ralph_toml_above_a_repository_says_nothing_about_it() {
    let p = place().file("ralph.toml", "").dir("a/b");
    p.git(["init", "-q", "a"]).ok();
    assert_eq!(discover(&p, "a/b").root(), p.path("a"));
}

#[test]
fn without_ralph_toml_the_nearest_ledger_or_repository_is_the_root() {
    let p = place().git_init().dir("a/b").dir("led/ralph/specs").dir("led/c");
    assert_eq!(discover(&p, "a/b").root(), p.root());
    assert_eq!(discover(&p, "led/c").root(), p.path("led"));
    assert_eq!(discover(&p, "led/c").git_dir(), Some(p.path(".git").as_path()));
}

#[test]
fn a_directory_that_is_only_called_ralph_is_no_project() {
    let p = place().git_init().file("crates/ralph/src/main.rs", "");
    assert_eq!(discover(&p, "crates").root(), p.root());
}

#[test]
fn without_a_repository_the_state_lives_in_the_project() {
    let p = place().dir("a");
    let project = discover(&p, "a");
    assert_eq!(project.root(), p.path("a"));
    assert_eq!(project.git_dir(), None);
    assert_eq!(project.state_dir(), p.path("a/.ralph"));
    assert!(!project.is_initialised());
}

#[test]
fn each_worktree_has_its_own_state() {
    let p = place().dir("main");
    p.git(["-C", "main", "init", "-q"]).ok();
    p.git(["-C", "main", "commit", "-q", "--allow-empty", "-m", "x"]).ok();
    p.git(["-C", "main", "worktree", "add", "-q", "../side"]).ok();
    assert_eq!(discover(&p, "main").state_dir(), p.path("main/.git/ralph"));
    let side = discover(&p, "side");
    assert_eq!(side.root(), p.path("side"));
    assert_eq!(side.state_dir(), p.path("main/.git/worktrees/side/ralph"));
}

#[test]
fn a_submodule_is_followed_to_its_git_directory() {
    let p = place().dir("lib");
    p.git(["-C", "lib", "init", "-q"]).ok();
    p.git(["-C", "lib", "commit", "-q", "--allow-empty", "-m", "x"]).ok();
    p.git(["init", "-q", "app"]).ok();
    p.git(["-c", "protocol.file.allow=always", "-C", "app", "submodule", "add", "-q", "../lib"])
        .ok();
    assert!(p.read("app/lib/.git").starts_with("gitdir: ../"), "the point of this test");
    assert_eq!(discover(&p, "app/lib").git_dir(), Some(p.path("app/.git/modules/lib").as_path()));
}

#[test]
fn a_repository_with_its_git_directory_elsewhere_is_found() {
    let p = place();
    p.git(["init", "-q", "--separate-git-dir", "elsewhere", "work"]).ok();
    assert_eq!(discover(&p, "work").git_dir(), Some(p.path("elsewhere").as_path()));
    let linked = place().link(".git", p.path("elsewhere"));
    assert_eq!(discover(&linked, "").state_dir(), linked.path(".git/ralph"));
}

#[test]
fn a_bare_repository_is_refused_from_any_depth() {
    let p = place();
    p.git(["init", "-q", "--bare", "code.git"]).ok();
    for dir in ["code.git", "code.git/refs/heads"] {
        let error = Project::discover(&p.path(dir)).unwrap_err();
        assert!(matches!(&error, ProjectError::Bare(at) if *at == p.path("code.git")), "{error:?}");
        assert!(error.to_string().starts_with("this is a bare repository"), "{error}");
        assert!(error.hint().is_some_and(|h| h.contains("git worktree add")));
    }
}

#[test]
fn a_worktree_inside_a_bare_repository_works() {
    let p = place();
    p.git(["init", "-q", "seed"]).ok();
    p.git(["-C", "seed", "commit", "-q", "--allow-empty", "-m", "x"]).ok();
    p.git(["clone", "-q", "--bare", "seed", "code.git"]).ok();
    p.git(["-C", "code.git", "worktree", "add", "-q", "work"]).ok();
    assert_eq!(discover(&p, "code.git/work").root(), p.path("code.git/work"));
}

#[test]
fn the_inside_of_a_git_directory_is_refused() {
    let p = place().git_init();
    let error = Project::discover(&p.path(".git/refs")).unwrap_err();
    assert!(matches!(error, ProjectError::InsideGit(_)), "{error:?}");
}

#[test]
fn a_detached_head_changes_nothing() {
    let p = place().git_init();
    p.git(["commit", "-q", "--allow-empty", "-m", "x"]).ok();
    p.git(["checkout", "-q", "--detach"]).ok();
    assert_eq!(discover(&p, "").state_dir(), p.path(".git/ralph"));
}

#[test]
fn a_git_link_that_points_nowhere_is_named() {
    let p = place().file("a/.git", "gitdir: ../gone\n").link("b/.git", "/nowhere/at/all");
    for (dir, target) in [("a", "../gone"), ("b", "/nowhere/at/all")] {
        let error = Project::discover(&p.path(dir)).unwrap_err();
        assert!(error.to_string().contains(target), "{error}");
        assert!(error.to_string().contains("is not a git directory"), "{error}");
        assert!(error.hint().is_some_and(|h| h.contains("git worktree repair")));
    }
}

#[test]
fn a_git_file_with_anything_else_in_it_is_refused() {
    for content in ["", "gitdir: ", "gitdir: \n", "hello", "\u{0}\u{0}"] {
        let p = place().file(".git", content);
        let error = Project::discover(p.root()).unwrap_err();
        assert!(error.to_string().contains("does not say where"), "{content:?}: {error}");
    }
    let p = place().file(".git", vec![b'x'; 1_000_000]);
    assert!(Project::discover(p.root()).is_err());
}

#[test]
fn an_empty_git_directory_does_not_count_as_git_itself_says() {
    let p = place().git_init().dir("a/.git");
    assert_eq!(discover(&p, "a").root(), p.root());
}

#[test]
fn paths_need_not_be_utf8() {
    let odd = OsStr::from_bytes(b"caf\xe9");
    let p = place().dir(odd);
    p.write(Path::new(odd).join(".git"), b"gitdir: ../git\xff\n");
    let git_dir = p.path(OsStr::from_bytes(b"git\xff"));
    p.git([OsStr::new("init"), OsStr::new("-q"), OsStr::new("--bare"), git_dir.as_os_str()]).ok();
    let project = Project::discover(&p.path(odd)).unwrap();
    assert_eq!(project.root(), p.path(odd));
    assert_eq!(project.state_dir(), git_dir.join("ralph"));
}

#[test]
fn a_starting_directory_behind_a_link_is_the_real_one() {
    let p = place().dir("real/sub").file("real/ralph.toml", "");
    symlink(p.path("real/sub"), p.path("short")).unwrap();
    assert_eq!(discover(&p, "short").root(), p.path("real"));
}

#[test]
fn a_starting_directory_that_is_gone_is_an_error() {
    let p = place();
    let error = Project::discover(&p.path("gone")).unwrap_err();
    assert!(error.to_string().contains("no such file or directory"), "{error}");
}
