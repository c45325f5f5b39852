#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use std::fs::{self, read_dir};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ralph_testkit::{SmallDisk, TestProject};
use tempfile::TempDir;

use super::*;

fn room() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file(dir: &TempDir, content: &str) -> PathBuf {
    let path = dir.path().join("plan.jsonl");
    fs::write(&path, content).unwrap();
    path
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & MODE_BITS
}

#[test]
fn a_replaced_file_is_a_new_one_and_an_appended_file_the_same_one() {
    let dir = room();
    let path = file(&dir, "one\n");
    // Kept open, so that its number cannot be given to another file.
    let held = File::open(&path).unwrap();
    let first = inode(&path);
    append(&path, b"two\n").unwrap();
    assert_eq!(inode(&path), first);
    replace(&path, b"three\n").unwrap();
    assert_ne!(inode(&path), first);
    assert_eq!(fs::read(&path).unwrap(), b"three\n");
    assert_eq!(held.metadata().unwrap().len(), 8, "whoever had it open still sees the old text");
    assert_eq!(names(dir.path()), ["plan.jsonl"]);
}

#[test]
fn permissions_survive_a_replacement() {
    let dir = room();
    let path = file(&dir, "old");
    for bits in [0o600, 0o640, 0o755, 0o666] {
        fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(mode(&path), bits);
    }
}

#[test]
fn a_new_file_gets_the_permissions_any_new_file_gets() {
    let dir = room();
    let usual = file(&dir, "");
    let path = dir.path().join("new");
    replace(&path, b"x").unwrap();
    assert_eq!(mode(&path), mode(&usual));
    let path = dir.path().join("appended");
    append(&path, b"x").unwrap();
    assert_eq!(mode(&path), mode(&usual));
}

#[test]
fn root_does_not_take_files_away_from_their_owner() {
    let dir = room();
    let path = file(&dir, "old");
    if std::os::unix::fs::chown(&path, Some(65534), Some(65534)).is_err() {
        eprintln!("skipped: root_does_not_take_files_away_from_their_owner: it needs root");
        return;
    }
    replace(&path, b"new").unwrap();
    let meta = fs::metadata(&path).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (65534, 65534));
}

#[test]
fn a_link_stays_a_link_and_its_target_is_replaced() {
    let (dir, elsewhere) = (room(), room());
    let target = file(&elsewhere, "old");
    let (link, second) = (dir.path().join("link"), dir.path().join("second"));
    symlink(&target, &second).unwrap();
    symlink("second", &link).unwrap();
    replace(&link, b"new").unwrap();
    append(&link, b"er").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"newer");
    assert_eq!(names(elsewhere.path()), ["plan.jsonl"]);
}

#[test]
fn links_to_nothing_and_loops_are_refused_and_left_alone() {
    let dir = room();
    let (dangling, ring) = (dir.path().join("dangling"), dir.path().join("ring"));
    symlink("gone", &dangling).unwrap();
    symlink("ring", &ring).unwrap();
    for write in [replace, append] {
        let error = write(&dangling, b"x").unwrap_err();
        assert!(matches!(error, FileError::DanglingLink { .. }), "{error}");
        assert!(error.hint().is_some_and(|h| h.contains("gone")));
        let error = write(&ring, b"x").unwrap_err();
        assert!(matches!(error, FileError::LinkLoop { .. }), "{error}");
    }
    assert_eq!(names(dir.path()), ["dangling", "ring"]);
}

#[test]
fn a_directory_or_a_device_in_its_place_is_refused() {
    let dir = room();
    for write in [replace, append] {
        let error = write(dir.path(), b"x").unwrap_err();
        assert!(matches!(error, FileError::Directory { .. }), "{error}");
        let error = write(Path::new("/dev/null"), b"x").unwrap_err();
        assert!(matches!(error, FileError::NotAFile { .. }), "{error}");
    }
}

#[test]
fn a_missing_directory_is_named() {
    let dir = room();
    let error = replace(&dir.path().join("no/such/plan.json"), b"x").unwrap_err();
    assert!(error.to_string().contains("no such file or directory"), "{error}");
    assert!(error.hint().is_some_and(|h| h.contains("no/such")), "{error}");
}

#[test]
fn a_path_without_a_directory_is_in_the_current_one() {
    let target = LinkTarget { path: PathBuf::from("plan.json"), meta: None };
    assert_eq!(target.directory(), Path::new("."));
}

#[test]
fn what_an_earlier_crash_left_behind_is_ignored() {
    let dir = room();
    let path = file(&dir, "old");
    let left = dir.path().join(format!("{TEMP_PREFIX}abc"));
    fs::write(&left, "half a pl").unwrap();
    replace(&path, b"new").unwrap();
    assert_eq!(fs::read(&left).unwrap(), b"half a pl");
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_full_disk_changes_nothing_and_leaves_nothing_behind() {
    let Some(disk) = SmallDisk::mount("a_full_disk_changes_nothing_and_leaves_nothing_behind", 64)
    else {
        return;
    };
    let path = disk.path().join("plan.jsonl");
    // Not a multiple of a page, so that the first bytes of an append still fit.
    fs::write(&path, "x".repeat(5000)).unwrap();
    let before = fs::read(&path).unwrap();
    disk.fill();
    let big = vec![b'y'; 100_000];
    for write in [replace, append] {
        let error = write(&path, &big).unwrap_err();
        assert!(error.to_string().ends_with("plan.jsonl: the disk is full"), "{error}");
        assert!(error.hint().is_some_and(|h| h.contains("make room")));
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(names(disk.path()), ["filler", "plan.jsonl"]);
    }
    let new = disk.path().join("new.torn");
    append(&new, &big).unwrap_err();
    assert!(!new.exists(), "a file that could not be started is not there");
    disk.free();
    replace(&path, b"fits").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"fits");
}

#[test]
fn permissions_that_were_taken_away_are_respected() {
    let p = TestProject::new(std::env::current_exe().unwrap())
        .file("file/plan.jsonl", "old")
        .file("dir/plan.jsonl", "old")
        .as_nobody();
    p.mode("file/plan.jsonl", 0o444);
    p.mode("dir", 0o555);
    p.run(["--exact", "store::atomic::tests::child_without_permissions", "--ignored"])
        .ok()
        .stdout_has("1 passed");
    for dir in ["file", "dir"] {
        assert_eq!(p.read(format!("{dir}/plan.jsonl")), "old");
        assert_eq!(names(&p.path(dir)), ["plan.jsonl"]);
    }
}

#[test]
#[ignore = "run by another test as an unprivileged user"]
fn child_without_permissions() {
    let (file, dir) = (Path::new("file/plan.jsonl"), Path::new("dir/plan.jsonl"));
    for outcome in [replace(file, b"new"), append(file, b"new"), replace(dir, b"new")] {
        let error = outcome.unwrap_err();
        assert!(error.to_string().ends_with("plan.jsonl: permission denied"), "{error}");
        assert!(error.hint().is_some_and(|h| h.contains("check who owns")));
    }
}
