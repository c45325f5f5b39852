//! Lanes are made, kept warm and repaired.

use std::fs;
use std::os::unix::fs::symlink;

use ralph_host::lanes::{LaneError, LaneState, remove_orphaned_lanes};

use crate::stage::{Stage, git, holder, names, read, try_git, write};

#[test]
fn a_new_lane_has_the_files_of_the_commit_and_home_is_untouched() {
    let stage = Stage::new();
    let before = git(&stage.home, &["status", "--porcelain", "--ignored"]);
    let lane = stage.private_lane();
    assert_eq!(names(lane.top()), [".git", ".gitignore", "a", "dir"]);
    assert_eq!((lane.number(), lane.root()), (1, lane.top().to_owned()));
    assert_eq!(git(lane.top(), &["status", "--porcelain", "--branch"]), "## main");
    assert_eq!(git(&stage.home, &["status", "--porcelain", "--ignored"]), before);
    assert_eq!(git(&stage.home, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_lane_keeps_ignored_files_and_loses_untracked_ones() {
    let stage = Stage::new();
    let mut lane = stage.lane();
    write(&lane.top().join("cache/x"), "warm");
    write(&lane.top().join("new/file"), "untracked");
    write(&lane.top().join("a"), "changed");
    fs::remove_file(lane.top().join("dir/b")).unwrap();
    write(&stage.home.join("c"), "c\n");
    let next = stage.commit("second");
    lane.put_on(&next).unwrap();
    assert_eq!(names(lane.top()), [".gitignore", "a", "c", "cache", "dir"]);
    assert_eq!(read(&lane.top().join("a")), "a\n");
    assert_eq!(read(&lane.top().join("dir/b")), "b\n");
    let (path, number) = (lane.top().to_owned(), lane.number());
    drop(lane);
    let again = stage.lane();
    assert_eq!((again.top(), again.number()), (path.as_path(), number));
    assert_eq!(read(&again.top().join("cache/x")), "warm");
}

#[test]
fn each_lane_has_one_user_at_a_time() {
    let stage = Stage::new();
    let pool = stage.pool().unwrap();
    let first = pool.take(&holder()).unwrap();
    let second = pool.take(&holder()).unwrap();
    assert_eq!((first.number(), second.number()), (1, 2));
    assert!(pool.take_number(1, &holder()).unwrap().is_none());
    drop(first);
    assert_eq!(pool.take(&holder()).unwrap().number(), 1);
}

#[test]
fn sha_256_repositories_have_lanes() {
    let stage = Stage::with(&["--object-format=sha256"]);
    let lane = stage.private_lane();
    assert_eq!(stage.head().as_str().len(), 64);
    write(&lane.top().join("a"), "changed\n");
    git(lane.top(), &["commit", "-qam", "by the agent"]);
    assert_eq!(git(lane.top(), &["log", "--oneline"]).lines().count(), 2);
    assert_eq!(git(&stage.home, &["log", "--oneline"]).lines().count(), 1);
}

#[test]
fn repositories_with_reftable_have_lanes() {
    let stage = Stage::empty();
    let (ok, _) = try_git(&stage.home, &["init", "-q", "--ref-format=reftable", "probe"]);
    if !ok {
        eprintln!("skipped: this git has no reftable");
        return;
    }
    let stage = Stage::with(&["--ref-format=reftable"]);
    git(&stage.home, &["tag", "v1"]);
    let mut lane = stage.private_lane();
    assert_eq!(git(lane.top(), &["tag"]), "v1");
    assert_eq!(git(lane.top(), &["status", "--porcelain", "--branch"]), "## main");
    let next = stage.commit("second");
    lane.put_on(&next).unwrap();
    lane.put_on(&next).unwrap();
    assert_eq!(names(lane.top()), [".git", ".gitignore", "a", "dir"]);
}

#[test]
fn a_linked_worktree_can_be_home() {
    let mut stage = Stage::new();
    let linked = stage.home.with_file_name("linked");
    git(&stage.home, &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    stage.home = linked;
    let lane = stage.lane();
    lane.write_private_repository(&stage.head(), Some("side")).unwrap();
    assert_eq!(git(lane.top(), &["branch", "--format=%(refname:short)"]), "main\nside");
    assert_eq!(git(lane.top(), &["status", "--porcelain", "--branch"]), "## side");
}

#[test]
fn the_project_may_be_a_folder_of_the_repository() {
    let mut stage = Stage::new();
    stage.project = "dir";
    let lane = stage.lane();
    assert_eq!(lane.root(), lane.top().join("dir"));
    assert_eq!(names(&lane.root()), ["b"]);
}

#[test]
fn a_sparse_home_has_sparse_lanes() {
    let stage = Stage::new();
    git(&stage.home, &["sparse-checkout", "set", "--no-cone", "/a", "/.gitignore"]);
    assert_eq!(names(&stage.home), [".git", ".gitignore", "a"]);
    let lane = stage.private_lane();
    assert_eq!(names(lane.top()), [".git", ".gitignore", "a"]);
    assert_eq!(git(lane.top(), &["status", "--porcelain"]), "");
}

#[test]
fn a_deleted_or_replaced_lane_is_made_again() {
    let stage = Stage::new();
    let mut lane = stage.lane();
    let (top, outside) = (lane.top().to_owned(), stage.home.with_file_name("outside"));
    fs::remove_dir_all(&top).unwrap();
    lane.put_on(&stage.head()).unwrap();
    assert_eq!(read(&top.join("a")), "a\n");
    fs::remove_dir_all(&top).unwrap();
    write(&outside.join("precious"), "mine");
    symlink(&outside, &top).unwrap();
    lane.put_on(&stage.head()).unwrap();
    assert!(fs::symlink_metadata(&top).unwrap().is_dir());
    assert_eq!(names(&outside), ["precious"]);
    assert_eq!(read(&top.join("a")), "a\n");
}

#[test]
fn a_deleted_or_damaged_git_directory_is_made_again() {
    let stage = Stage::new();
    let git_dir = stage.home.join(".git/ralph/lanes/1");
    drop(stage.lane());
    fs::remove_dir_all(&git_dir).unwrap();
    write(&stage.pool().unwrap().folder().join("lane-1/cache/x"), "warm");
    let lane = stage.lane();
    assert_eq!(read(&lane.top().join("cache/x")), "warm");
    drop(lane);
    for damaged in ["HEAD", "index", "commondir", "setup.json"] {
        write(&git_dir.join(damaged), "nonsense");
        let lane = stage.lane();
        assert_eq!(read(&lane.top().join("a")), "a\n", "{damaged}");
    }
    fs::remove_dir_all(&git_dir).unwrap();
    symlink(stage.home.with_file_name("elsewhere"), &git_dir).unwrap();
    let lane = stage.lane();
    assert!(fs::symlink_metadata(&git_dir).unwrap().is_dir());
    assert_eq!(read(&lane.top().join("a")), "a\n");
}

#[test]
fn locks_of_a_dead_git_are_removed() {
    let stage = Stage::new();
    drop(stage.lane());
    for lock in ["index.lock", "HEAD.lock"] {
        write(&stage.home.join(".git/ralph/lanes/1").join(lock), "");
    }
    write(&stage.home.join("c"), "c\n");
    stage.commit("second");
    let lane = stage.lane();
    assert_eq!(read(&lane.top().join("c")), "c\n");
}

#[test]
fn a_folder_in_the_repository_is_refused_by_the_name_of_its_key() {
    let mut stage = Stage::new();
    stage.settings.dir = Some("below/lanes".to_owned());
    let error = stage.pool().unwrap_err();
    assert!(matches!(error, LaneError::InsideHome(_)), "{error}");
    assert!(error.hint().unwrap().contains("`dir` in [lane]"));
    assert!(!stage.home.join("below").exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_by_the_name_of_its_key() {
    let mut stage = Stage::new();
    let file = stage.home.with_file_name("file");
    write(&file, "");
    stage.settings.dir = Some(file.join("lanes").display().to_string());
    let error = stage.pool().unwrap_err();
    assert!(matches!(error, LaneError::Folder { .. }), "{error}");
    assert!(error.hint().unwrap().contains("`dir` in [lane]"));
}

#[test]
fn two_repositories_do_not_share_a_folder() {
    let (stage, mut other) = (Stage::new(), Stage::new());
    drop(stage.lane());
    other.settings.dir = stage.settings.dir.clone();
    let error = other.pool().unwrap_err();
    assert!(matches!(error, LaneError::SharedFolder { .. }), "{error}");
}

#[test]
fn a_partial_clone_is_refused_with_the_remedy() {
    let stage = Stage::new();
    git(&stage.home, &["config", "remote.origin.promisor", "true"]);
    let error = stage.pool().unwrap_err();
    assert!(matches!(error, LaneError::PartialClone), "{error}");
    assert!(error.hint().unwrap().contains("workspace = \"checkout\""));
}

#[test]
fn lanes_are_listed_with_their_size_and_pruned_unless_in_use() {
    let stage = Stage::new();
    let pool = stage.pool().unwrap();
    let first = pool.take(&holder()).unwrap();
    let mut second = pool.take(&holder()).unwrap();
    second.put_on(&stage.head()).unwrap();
    write(&second.top().join("cache/x"), &"x".repeat(100_000));
    drop(second);
    let lanes = pool.list().unwrap();
    assert_eq!(lanes.iter().map(|l| l.number).collect::<Vec<_>>(), [1, 2]);
    assert!(matches!(lanes[0].state, LaneState::InUse(_)), "{lanes:?}");
    assert_eq!((&lanes[1].state, &lanes[1].commit), (&LaneState::Free, &Some(stage.head())));
    assert!(lanes[1].bytes >= 100_000, "{lanes:?}");
    let pruned = pool.prune(&holder()).unwrap();
    assert_eq!((pruned.removed.len(), pruned.kept.len()), (1, 1));
    assert!(!pruned.removed[0].path.exists());
    drop(first);
    let mut again = pool.take_number(2, &holder()).unwrap().unwrap();
    again.put_on(&stage.head()).unwrap();
    assert_eq!(read(&again.top().join("a")), "a\n");
}

#[test]
fn a_lane_that_is_not_whole_is_listed_as_damaged_and_pruned() {
    let stage = Stage::new();
    let pool = stage.pool().unwrap();
    let _first = pool.take(&holder()).unwrap();
    let second = pool.take(&holder()).unwrap().top().to_owned();
    fs::remove_dir_all(&second).unwrap();
    assert_eq!(pool.list().unwrap()[1].state, LaneState::Damaged("its folder is gone"));
    fs::write(&second, "").unwrap();
    assert_eq!(pool.list().unwrap()[1].state, LaneState::Damaged("its folder was replaced"));
    assert_eq!(pool.prune(&holder()).unwrap().removed.len(), 1);
    assert_eq!(pool.list().unwrap().len(), 1);
}

#[test]
fn lanes_whose_home_is_gone_are_deleted() {
    let cache = tempfile::tempdir().unwrap();
    let (kept, gone) = (Stage::new(), Stage::new());
    let ralph = cache.path().join("ralph");
    for (stage, name) in [(&kept, "kept"), (&gone, "gone")] {
        let folder = ralph.join(name);
        write(&folder.join("lane-1/file"), "x");
        write(&folder.join("home"), stage.home.join(".git").to_str().unwrap());
    }
    write(&ralph.join("other/file"), "not ours");
    fs::remove_dir_all(&gone.home).unwrap();
    assert_eq!(remove_orphaned_lanes(&ralph), [ralph.join("gone")]);
    assert_eq!(names(&ralph), ["kept", "other"]);
}
