//! Files come back byte for byte, with their rights, whatever git makes of them on its way.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crate::stage::{Stage, changed};

#[test]
fn rights_links_and_names_come_back() {
    let stage = Stage::new();
    stage.write("tool.sh", "#!/bin/sh\n");
    stage.project.mode("tool.sh", 0o755);
    stage.commit("a tool");
    stage.write("private.key", "secret\n");
    stage.project.mode("private.key", 0o600);
    stage.write("odd.bin", b"\0\xff\r\n\n");
    stage.project.mode("odd.bin", 0o751);
    symlink("nowhere/at all", stage.project.path("link")).unwrap();
    let foreign = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    stage.write(foreign, "not text\n");
    let picture = stage.picture();
    let cp = stage.checkpoint();
    for name in ["private.key", "odd.bin", "tool.sh"] {
        stage.remove(name);
        stage.write(name, "backend\n");
    }
    stage.project.mode("tool.sh", 0o644);
    stage.remove(foreign);
    stage.remove("link");
    stage.write("link", "a file now\n");
    let changes = stage.collect(&cp);
    assert_eq!(changes.paths.len(), 5, "{:?}", changes.paths);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.picture(), picture);
}

#[test]
fn line_ends_are_the_users_whatever_the_rules_say() {
    for rule in ["true", "input"] {
        let stage = Stage::new();
        stage.git(["config", "core.autocrlf", rule]);
        stage.git(["config", "core.safecrlf", "false"]);
        stage.write("windows.txt", "a\r\nb\r\n");
        stage.write("unix.txt", "a\nb\n");
        stage.write("mixed.txt", "a\r\nb\n");
        stage.write("two.txt", "edited\r\nby the user\n");
        let picture = stage.picture();
        let cp = stage.checkpoint();
        for name in ["windows", "unix", "mixed", "two"] {
            stage.write(format!("{name}.txt"), "backend\n");
        }
        let changes = stage.collect(&cp);
        assert_eq!(changes.paths.len(), 4);
        stage.roll_back(&cp, &changes);
        assert_eq!(stage.picture(), picture, "core.autocrlf = {rule}");
    }
}

#[test]
fn filters_that_replace_content_do_not_get_into_the_users_files() {
    let stage = Stage::new();
    // As a large-file store does: the repository holds a shorter stand-in.
    stage.git(["config", "filter.store.clean", "tr a-z A-Z"]);
    stage.git(["config", "filter.store.smudge", "sed s/^/smudged:/"]);
    stage.write(".gitattributes", "*.big filter=store\n");
    stage.commit("attributes");
    stage.write("mine.big", "user data\n");
    let picture = stage.picture();
    let cp = stage.checkpoint();
    stage.write("mine.big", "backend data\n");
    let changes = stage.collect(&cp);
    assert_eq!(changed(&changes), ["mine.big"]);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.picture(), picture);
}

#[test]
fn an_empty_folder_of_the_users_stays() {
    let stage = Stage::new();
    fs::create_dir_all(stage.project.path("data/out")).unwrap();
    let picture = stage.picture();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let cp = stage.checkpoint();
    std::thread::sleep(std::time::Duration::from_millis(30));
    stage.write("data/out/result.txt", "backend\n");
    stage.write("fresh/folder/x.txt", "backend\n");
    let changes = stage.collect(&cp);
    stage.roll_back(&cp, &changes);
    assert_eq!(stage.picture(), picture);
}

#[test]
fn a_sparse_checkout_stays_sparse() {
    for land in [true, false] {
        let stage = Stage::new();
        stage.write("in/a.txt", "a\n");
        stage.write("out/b.txt", "b\n");
        stage.commit("folders");
        stage.git(["sparse-checkout", "set", "in"]);
        assert!(!stage.project.exists("out/b.txt"));
        stage.write("mine.txt", "user\n");
        let flags = stage.git(["ls-files", "-t", "out"]);
        let cp = stage.checkpoint();
        stage.write("in/a.txt", "backend\n");
        let changes = stage.collect(&cp);
        assert_eq!(changed(&changes), ["in/a.txt"]);
        if land {
            stage.land(&cp, &changes);
            assert_eq!(stage.committed(), ["M in/a.txt"]);
        } else {
            stage.roll_back(&cp, &changes);
            assert_eq!(stage.project.read("in/a.txt"), "a\n");
        }
        assert!(!stage.project.exists("out/b.txt"));
        assert_eq!(stage.git(["ls-files", "-t", "out"]), flags);
        assert_eq!(stage.status(), "?? mine.txt");
    }
}

#[test]
fn files_changed_in_the_same_instant_and_of_the_same_size_are_seen() {
    let stage = Stage::new();
    for round in 0..10 {
        stage.write("same.txt", format!("{round}a\n"));
        stage.git(["add", "same.txt"]);
        stage.write("mine.txt", format!("{round}\n"));
        let cp = stage.checkpoint();
        stage.write("same.txt", format!("{round}b\n"));
        let changes = stage.collect(&cp);
        assert_eq!(changed(&changes), ["same.txt"]);
        stage.roll_back(&cp, &changes);
        assert_eq!(stage.project.read("same.txt"), format!("{round}a\n"));
    }
}

#[test]
fn a_file_that_vanishes_while_it_is_read_stops_nothing() {
    for dirty in [false, true] {
        let stage = Stage::new();
        // Reading the first file makes the last one go away.
        stage.git(["config", "filter.thief.clean", "rm -f zzz.txt; cat"]);
        stage.write(".gitattributes", "aaa.txt filter=thief\n");
        stage.commit("attributes");
        if dirty {
            stage.write("mine.txt", "user\n");
        }
        let cp = stage.checkpoint();
        stage.write("aaa.txt", "backend\n");
        stage.write("zzz.txt", "soon gone\n");
        let changes = stage.collect(&cp);
        assert_eq!(changed(&changes), ["aaa.txt"]);
        stage.land(&cp, &changes);
        assert_eq!(stage.committed(), ["A aaa.txt"]);
    }
}
