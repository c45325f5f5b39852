#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use std::fs;
use std::os::unix::fs::symlink;

use ralph_testkit::SmallDisk;

use super::*;

#[test]
fn a_new_file_is_made_with_its_directories_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/file");
    assert_eq!(create(&path, b"new").unwrap(), FileCreation::New);
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::read_dir(dir.path().join("a/b")).unwrap().count(), 1);
    assert_eq!(create(&dir.path().join("empty"), b"").unwrap(), FileCreation::New);
    assert!(dir.path().join("empty").is_file());
}

#[test]
fn whatever_is_there_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "mine").unwrap();
    let link = dir.path().join("link");
    symlink("nowhere", &link).unwrap();
    for there in [&path, &link, dir.path()] {
        assert_eq!(
            create(there, b"new").unwrap(),
            FileCreation::AlreadyThere,
            "{}",
            there.display()
        );
    }
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    assert!(!dir.path().join("nowhere").exists());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "no unfinished file is left");
}

#[test]
fn of_many_who_make_one_file_exactly_one_succeeds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let made: Vec<FileCreation> = std::thread::scope(|scope| {
        let path = &path;
        let threads: Vec<_> =
            (0..8).map(|n| scope.spawn(move || create(path, &[n; 1000]).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|m| **m == FileCreation::New).count(), 1);
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() == 1000 && bytes.iter().all(|b| *b == bytes[0]));
}

#[test]
fn a_full_disk_leaves_no_file_behind() {
    let Some(disk) = SmallDisk::mount("a_full_disk_leaves_no_file_behind", 64) else { return };
    disk.fill();
    let path = disk.path().join("file");
    let error = create(&path, &[b'x'; 8192]).unwrap_err();
    assert!(error.to_string().ends_with("the disk is full"), "{error}");
    assert!(!path.exists());
}

#[test]
fn a_file_in_place_of_a_directory_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("ralph"), "").unwrap();
    for path in ["ralph/a.md", "ralph/specs/a.md"] {
        let error = create(&dir.path().join(path), b"").unwrap_err();
        assert!(error.to_string().contains("a part of the path is a file"), "{error}");
    }
}
