//! Agents that do the worst they can with git and files in a lane.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ralph_host::git::{Oid, RepoPath};
use ralph_host::lanes::{Lane, LaneDamage, LaneError};

use crate::stage::{Stage, git, names, read, write};

/// The commit that a lane is on.
fn base(lane: &Lane<'_>) -> Oid {
    Oid::parse(&fs::read(lane.repo().git_dir().join("HEAD")).unwrap()).unwrap()
}

/// The paths that an agent changed, as ralph collects them.
fn collected(lane: &Lane<'_>, agent: impl FnOnce(&Path)) -> Vec<String> {
    agent(lane.top());
    lane.remove_submodule_repositories().unwrap();
    lane.repo().collect_candidate(&base(lane)).unwrap().names()
}

fn damage(lane: &Lane<'_>, stage: &Stage) -> Option<LaneDamage> {
    match lane.check_intact(&stage.head()) {
        Ok(()) => None,
        Err(LaneError::Damaged { damage, .. }) => Some(damage),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_an_agent_does_with_git_reaches_neither_home_nor_the_next_attempt() {
    let stage = Stage::new();
    git(&stage.home, &["branch", "other"]);
    git(&stage.home, &["tag", "v1"]);
    let refs = git(&stage.home, &["show-ref", "--head"]);
    let mut lane = stage.private_lane();
    assert_eq!(git(lane.top(), &["show-ref", "--head"]), refs);
    assert_eq!(git(lane.top(), &["remote"]), "");
    write(&lane.top().join("a"), "stashed\n");
    git(lane.top(), &["stash"]);
    git(lane.top(), &["commit", "-q", "--allow-empty", "-m", "by the agent"]);
    git(lane.top(), &["branch", "-D", "other"]);
    git(lane.top(), &["tag", "-d", "v1"]);
    git(lane.top(), &["config", "core.hooksPath", "/evil"]);
    git(lane.top(), &["gc", "-q", "--prune=now"]);
    assert_eq!(git(lane.top(), &["log", "-1", "--format=%an <%ae>"]), "A User <user@example.com>");
    assert_eq!(git(&stage.home, &["show-ref", "--head"]), refs);
    assert_eq!(git(&stage.home, &["stash", "list"]), "");
    lane.put_on(&stage.head()).unwrap();
    lane.write_private_repository(&stage.head(), Some("main")).unwrap();
    assert_eq!(git(lane.top(), &["show-ref", "--head"]), refs);
    assert_eq!(git(lane.top(), &["stash", "list"]), "");
}

#[test]
fn remotes_are_given_only_when_asked_for() {
    let mut stage = Stage::new();
    git(&stage.home, &["remote", "add", "origin", "../up.git"]);
    assert_eq!(git(stage.private_lane().top(), &["remote"]), "");
    stage.settings.remotes = true;
    let url = git(stage.private_lane().top(), &["remote", "get-url", "origin"]);
    assert!(url.starts_with('/') && url.ends_with("up.git"), "{url}");
}

#[test]
fn with_remotes_an_agent_fetches_and_pushes() {
    let mut stage = Stage::new();
    let up = stage.home.with_file_name("up.git");
    git(&stage.home, &["init", "--quiet", "--bare", up.to_str().unwrap()]);
    git(&stage.home, &["remote", "add", "origin", up.to_str().unwrap()]);
    git(&stage.home, &["push", "--quiet", "origin", "HEAD:refs/heads/theirs"]);
    let (head, refs) = (stage.head().to_string(), git(&stage.home, &["for-each-ref"]));
    stage.settings.remotes = true;
    let lane = stage.private_lane();
    git(lane.top(), &["fetch", "--quiet", "origin"]);
    assert_eq!(git(lane.top(), &["rev-parse", "origin/theirs"]), head);
    git(lane.top(), &["push", "--quiet", "origin", "HEAD:refs/heads/agents"]);
    assert_eq!(git(&up, &["rev-parse", "agents"]), head);
    assert_eq!(git(&stage.home, &["for-each-ref"]), refs, "home's references stay");
}

#[test]
fn a_lane_lands_on_its_own_head_and_home_stays() {
    let stage = Stage::new();
    let lane = stage.private_lane();
    let paths = collected(&lane, |top| {
        write(&top.join("a"), "changed\n");
        write(&top.join("new"), "new\n");
        write(&top.join("x.log"), "ignored\n");
        git(top, &["add", "-A"]);
        git(top, &["commit", "-q", "-m", "by the agent"]);
    });
    assert_eq!(paths, ["a", "new"]);
    assert_eq!(git(&stage.home, &["log", "--oneline"]).lines().count(), 1);
}

#[test]
fn tricks_with_the_private_repository_hide_nothing() {
    let stage = Stage::new();
    let lane = stage.private_lane();
    let paths = collected(&lane, |top| {
        git(top, &["update-index", "--assume-unchanged", "a"]);
        write(&top.join("a"), "hidden\n");
        git(top, &["config", "core.worktree", "/tmp"]);
        git(top, &["config", "filter.evil.clean", "touch evil; cat"]);
        write(&top.join(".git/info/attributes"), "* filter=evil\n");
        write(&top.join(".git/info/exclude"), "new\n");
        write(&top.join("new"), "new\n");
    });
    assert_eq!(paths, ["a", "new"]);
    assert!(!lane.top().join("evil").exists());
}

#[test]
fn a_private_repository_that_is_gone_or_a_link_is_written_anew() {
    let stage = Stage::new();
    let lane = stage.private_lane();
    let outside = stage.home.with_file_name("outside");
    write(&outside.join("precious"), "mine");
    let dot_git = lane.top().join(".git");
    let written = || {
        lane.write_private_repository(&stage.head(), Some("main")).unwrap();
        assert!(fs::symlink_metadata(&dot_git).unwrap().is_dir());
        assert_eq!(git(lane.top(), &["status", "--porcelain", "--branch"]), "## main");
        fs::remove_dir_all(&dot_git).unwrap();
    };
    written();
    written();
    symlink(&outside, &dot_git).unwrap();
    written();
    write(&dot_git, "gitdir: /evil\n");
    written();
    assert_eq!(names(&outside), ["precious"]);
}

#[test]
fn a_nested_repository_is_named_and_goes_with_the_next_attempt() {
    let stage = Stage::new();
    let mut lane = stage.private_lane();
    stage.init(&lane.top().join("nested"), &[]);
    git(&lane.top().join("nested"), &["commit", "-q", "--allow-empty", "-m", "inner"]);
    let candidate = lane.repo().collect_candidate(&base(&lane)).unwrap();
    assert_eq!(candidate.nested, [RepoPath::from("nested")]);
    lane.put_on(&stage.head()).unwrap();
    assert!(!lane.top().join("nested").exists());
}

#[test]
fn a_lane_that_was_emptied_or_replaced_says_nothing() {
    let stage = Stage::new();
    let lane = stage.private_lane();
    let top = lane.top();
    assert_eq!(damage(&lane, &stage), None);
    fs::remove_file(top.join("a")).unwrap();
    fs::remove_file(top.join(".gitignore")).unwrap();
    assert_eq!(damage(&lane, &stage), None);
    fs::remove_file(top.join("dir/b")).unwrap();
    write(&top.join("dir/new"), "new");
    assert_eq!(damage(&lane, &stage), Some(LaneDamage::Emptied));
    fs::remove_dir_all(top).unwrap();
    assert_eq!(damage(&lane, &stage), Some(LaneDamage::Gone));
    symlink(&stage.home, top).unwrap();
    assert_eq!(damage(&lane, &stage), Some(LaneDamage::Replaced));
}

#[test]
fn a_lost_project_folder_says_nothing() {
    let mut stage = Stage::new();
    stage.project = "dir";
    let lane = stage.private_lane();
    fs::remove_dir_all(lane.root()).unwrap();
    assert_eq!(damage(&lane, &stage), Some(LaneDamage::ProjectGone));
}

#[test]
fn folders_without_rights_and_links_out_of_the_lane_do_not_stop_the_next_attempt() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new();
    let mut lane = stage.private_lane();
    let outside = stage.home.with_file_name("outside");
    write(&outside.join("b"), "precious");
    let locked = lane.top().join("locked");
    write(&locked.join("x"), "x");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    fs::remove_dir_all(lane.top().join("dir")).unwrap();
    symlink(&outside, lane.top().join("dir")).unwrap();
    lane.put_on(&stage.head()).unwrap();
    assert_eq!(names(lane.top()), [".git", ".gitignore", "a", "dir"]);
    assert_eq!(
        (read(&lane.top().join("dir/b")), read(&outside.join("b"))),
        ("b\n".into(), "precious".into())
    );
}

#[test]
fn what_the_base_ignores_stays_out_when_the_rules_change() {
    let stage = Stage::new();
    write(&stage.home.join("forced.log"), "tracked\n");
    git(&stage.home, &["add", "-f", "forced.log"]);
    let base = stage.commit("a forced file");
    let lane = stage.private_lane();
    let changed = collected(&lane, |top| {
        write(&top.join("secret.log"), "secret");
        write(&top.join("cache/deep/x"), "x");
        write(&top.join("forced.log"), "changed\n");
        write(&top.join("new"), "new");
        write(&top.join(".gitignore"), "");
    });
    let changed: Vec<RepoPath> = changed.iter().map(|path| RepoPath::from(&path[..])).collect();
    let out = lane.left_out_by_base(&base, &changed).unwrap();
    assert_eq!(out, [RepoPath::from("cache/deep/x"), RepoPath::from("secret.log")]);
    assert_eq!(lane.left_out_by_base(&base, &["new".into()]).unwrap(), []);
}
