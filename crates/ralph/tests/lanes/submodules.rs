//! Submodules are lanes within the lane.

use std::fs;

use ralph_host::git::RepoPath;

use crate::stage::{Stage, git, names, read, write};

/// A home with the submodule `libs/sub`, which has the submodule `inner`.
fn with_submodule() -> Stage {
    let stage = Stage::new();
    let (inner, sub) = (stage.home.with_file_name("inner"), stage.home.with_file_name("sub"));
    for (repo, file) in [(&inner, "i"), (&sub, "s")] {
        stage.init(repo, &[]);
        write(&repo.join(file), "content\n");
        git(repo, &["add", "-A"]);
        git(repo, &["commit", "-q", "-m", "first"]);
    }
    git(&sub, &["submodule", "--quiet", "add", "../inner", "inner"]);
    git(&sub, &["commit", "-q", "-m", "with inner"]);
    git(&stage.home, &["submodule", "--quiet", "add", "../sub", "libs/sub"]);
    git(&stage.home, &["submodule", "--quiet", "update", "--init", "--recursive"]);
    stage.commit("with sub");
    stage
}

#[test]
fn submodules_are_checked_out_with_private_repositories() {
    let stage = with_submodule();
    let lane = stage.private_lane();
    let sub = lane.top().join("libs/sub");
    assert_eq!(names(&sub), [".git", ".gitmodules", "inner", "s"]);
    assert_eq!(read(&sub.join("inner/i")), "content\n");
    assert_eq!(git(lane.top(), &["status", "--porcelain"]), "");
    assert_eq!(git(&sub, &["status", "--porcelain"]), "");
    assert_eq!(lane.changed_submodules().unwrap(), []);
    assert!(!sub.join(".git").exists() && !sub.join("inner/.git").exists());
}

#[test]
fn a_changed_submodule_is_seen_and_put_back() {
    let stage = with_submodule();
    let mut lane = stage.private_lane();
    let sub = lane.top().join("libs/sub");
    git(&sub, &["config", "filter.evil.clean", "touch evil; cat"]);
    write(&sub.join(".git/info/attributes"), "* filter=evil\n");
    write(&sub.join("s"), "changed by the agent\n");
    fs::remove_dir_all(sub.join("inner")).unwrap();
    let changed = lane.changed_submodules().unwrap();
    assert_eq!(changed, [RepoPath::from("libs/sub"), RepoPath::from("libs/sub/inner")]);
    assert!(!sub.join("evil").exists());
    lane.put_on(&stage.head()).unwrap();
    assert_eq!(read(&sub.join("s")), "content\n");
    assert_eq!(read(&sub.join("inner/i")), "content\n");
    assert_eq!(lane.changed_submodules().unwrap(), []);
}

#[test]
fn a_submodule_that_home_lacks_stays_empty() {
    let stage = with_submodule();
    git(&stage.home, &["submodule", "--quiet", "deinit", "-f", "--all"]);
    fs::remove_dir_all(stage.home.join(".git/modules")).unwrap();
    let lane = stage.private_lane();
    assert_eq!(names(&lane.top().join("libs/sub")), Vec::<String>::new());
    assert_eq!(git(lane.top(), &["status", "--porcelain"]), "");
}
