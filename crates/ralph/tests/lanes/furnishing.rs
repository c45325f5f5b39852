//! Ignored files that a lane needs, and its setup.

use std::fs;
use std::os::unix::fs::symlink;

use ralph_host::lanes::LaneError;

use crate::stage::{Stage, bare, names, read, write};

fn list(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn ignored_files_are_copied_before_each_attempt_and_never_collected() {
    let mut stage = Stage::new();
    stage.settings.copy = list(&["local.env", "conf", "a", "absent"]);
    write(&stage.home.join("local.env"), "one");
    write(&stage.home.join("conf/deep/x"), "x");
    let mut lane = stage.lane();
    let done = lane.furnish(&stage.home, &bare).unwrap();
    assert_eq!(done.given, ["conf".into(), "local.env".into()]);
    assert_eq!((done.tracked, done.missing), (vec!["a".into()], list(&["absent"])));
    assert_eq!(read(&lane.top().join("conf/deep/x")), "x");
    write(&lane.top().join("local.env"), "changed by the agent");
    assert_eq!(lane.repo().collect_candidate(&stage.head()).unwrap().paths, []);
    write(&stage.home.join("local.env"), "two");
    lane.put_on(&stage.head()).unwrap();
    lane.furnish(&stage.home, &bare).unwrap();
    assert_eq!(read(&lane.top().join("local.env")), "two");
}

#[test]
fn a_copy_is_never_written_through_a_link_of_an_agent() {
    let mut stage = Stage::new();
    stage.settings.copy = list(&["cache/env"]);
    write(&stage.home.join("cache/env"), "from home");
    let outside = stage.home.with_file_name("outside");
    write(&outside.join("env"), "precious");
    let mut lane = stage.lane();
    symlink(&outside, lane.top().join("cache")).unwrap();
    lane.furnish(&stage.home, &bare).unwrap();
    assert_eq!(read(&outside.join("env")), "precious");
    assert_eq!(read(&lane.top().join("cache/env")), "from home");
}

#[test]
fn patterns_of_worktreeinclude_name_ignored_files_to_copy() {
    let stage = Stage::new();
    write(&stage.home.join(".worktreeinclude"), "*.log\nuntracked\n!no.log\n");
    stage.commit("patterns");
    write(&stage.home.join("dir/yes.log"), "yes");
    write(&stage.home.join("no.log"), "no");
    write(&stage.home.join("untracked"), "not ignored");
    let mut lane = stage.lane();
    let done = lane.furnish(&stage.home, &bare).unwrap();
    assert_eq!(done.given, ["dir/yes.log".into()]);
    assert_eq!(read(&lane.top().join("dir/yes.log")), "yes");
}

#[test]
fn links_lead_to_home_and_to_its_siblings() {
    let mut stage = Stage::new();
    stage.settings.link = list(&["cache", "../lib"]);
    write(&stage.home.join("cache/x"), "shared");
    write(&stage.home.with_file_name("lib").join("y"), "sibling");
    let mut lane = stage.lane();
    lane.furnish(&stage.home, &bare).unwrap();
    assert_eq!(read(&lane.top().join("cache/x")), "shared");
    assert_eq!(read(&lane.top().join("../lib/y")), "sibling");
    lane.put_on(&stage.head()).unwrap();
    lane.furnish(&stage.home, &bare).unwrap();
    assert_eq!(read(&stage.home.join("cache/x")), "shared");
}

#[test]
fn paths_outside_the_repository_are_refused_by_the_name_of_their_key() {
    let mut stage = Stage::new();
    stage.settings.copy = list(&["../secret"]);
    let error = stage.lane().furnish(&stage.home, &bare).unwrap_err();
    assert!(matches!(error, LaneError::Setting { key: "lane.copy", .. }), "{error}");
    stage.settings.copy = Vec::new();
    stage.settings.link = list(&["../../lib"]);
    let error = stage.lane().furnish(&stage.home, &bare).unwrap_err();
    assert!(matches!(error, LaneError::Setting { key: "lane.link", .. }), "{error}");
}

#[test]
fn setup_runs_once_and_again_when_a_file_that_it_depends_on_changes() {
    let mut stage = Stage::new();
    let (count, made) = (stage.home.with_file_name("count"), "made/x");
    let command = "echo $RALPH_LANE >> ../../count; mkdir -p made; touch made/x; echo z > a";
    stage.settings.setup = Some(command.to_owned());
    stage.settings.setup_when = list(&["dir/b"]);
    let mut lane = stage.lane();
    assert!(lane.furnish(&stage.home, &bare).unwrap().setup_ran);
    assert_eq!(read(&lane.top().join("a")), "a\n");
    lane.put_on(&stage.head()).unwrap();
    assert!(!lane.furnish(&stage.home, &bare).unwrap().setup_ran);
    assert!(lane.top().join(made).exists());
    write(&lane.top().join("made/more"), "more");
    assert_eq!(lane.repo().collect_candidate(&stage.head()).unwrap().paths, []);
    write(&stage.home.join("dir/b"), "other\n");
    let next = stage.commit("second");
    lane.put_on(&next).unwrap();
    assert!(lane.furnish(&stage.home, &bare).unwrap().setup_ran);
    drop(lane);
    assert!(!stage.lane().furnish(&stage.home, &bare).unwrap().setup_ran);
    assert_eq!(read(&count), "1\n1\n");
}

#[test]
fn a_setup_that_failed_on_one_tree_runs_again_on_the_tree_before() {
    let mut stage = Stage::new();
    let command = "cp dir/b ignored.log; ! grep broken dir/b";
    stage.settings.setup = Some(command.to_owned());
    stage.settings.setup_when = list(&["dir/b"]);
    let mut lane = stage.lane();
    lane.furnish(&stage.home, &bare).unwrap();
    write(&lane.root().join("dir/b"), "broken\n");
    lane.set_up(&bare).unwrap_err();
    lane.put_on(&stage.head()).unwrap();
    assert!(lane.furnish(&stage.home, &bare).unwrap().setup_ran, "half of another tree is there");
    assert_eq!(read(&lane.root().join("ignored.log")), "b\n");
}

#[test]
fn a_setup_that_fails_is_told_with_its_output_and_tried_again() {
    let mut stage = Stage::new();
    stage.settings.setup = Some("echo no network; exit 7".to_owned());
    let mut lane = stage.lane();
    for _ in 0..2 {
        let error = lane.furnish(&stage.home, &bare).unwrap_err().to_string();
        assert!(error.contains("exit code 7") && error.contains("no network"), "{error}");
    }
}

#[test]
fn a_project_in_a_folder_is_furnished_there() {
    let mut stage = Stage::new();
    stage.project = "dir";
    stage.settings.copy = list(&["env"]);
    write(&stage.home.join("dir/env"), "below");
    let mut lane = stage.lane();
    lane.furnish(&stage.home.join("dir"), &bare).unwrap();
    assert_eq!(names(&lane.root()), ["b", "env"]);
    let _gone = fs::remove_file(lane.root().join("env"));
}
