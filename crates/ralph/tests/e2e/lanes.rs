//! `ralph lanes`, and what `ralph doctor` says about lanes.

use std::fs;

use crate::land::BOTH;
use crate::stage::{WAITS, build_beside, stage, steps};

#[test]
fn lanes_are_listed_with_size_state_commit_and_folder_and_pruned_unless_in_use() {
    let p = stage(&steps(&format!("{WAITS} {BOTH}")));
    p.run(["lanes"]).ok().stdout_has("There is no lane yet; the next run makes one in ");
    assert_eq!(p.run(["lanes", "list", "--json"]).ok().json(), serde_json::json!([]));
    let head = p.git(["rev-parse", "HEAD"]).ok().stdout;
    let person = || {
        let lanes = p.run(["lanes", "--json"]).ok().json();
        assert_eq!((&lanes[0]["lane"], &lanes[0]["state"]), (&1.into(), &"in_use".into()));
        assert!(lanes[0]["pid"].as_u64().is_some());
        assert_eq!(lanes[0]["commit"], head.trim());
        p.run(["lanes", "prune"]).ok().stdout_has("Kept: lane 1, in use by pid ");
    };
    build_beside(&p, person).ok();
    let lanes = p.run(["lanes", "--json"]).ok().json();
    assert_eq!((&lanes[0]["state"], lanes[0]["bytes"].as_u64() > Some(0)), (&"free".into(), true));
    let folder = lanes[0]["path"].as_str().unwrap();
    p.run(["lanes"]).ok().stdout_has("free").stdout_has(folder);
    p.run(["lanes", "prune"]).ok().stdout_has("Deleted: 1 lane, ");
    assert!(!fs::exists(folder).unwrap());
    p.run(["lanes"]).ok().stdout_has("There is no lane yet");
    p.run(["build"]).ok();
}

#[test]
fn a_lane_without_its_folder_is_damaged_and_the_next_run_makes_it_again() {
    let p = stage(&steps(BOTH));
    p.run(["build", "--once"]).ok();
    let lanes = p.run(["lanes", "--json"]).ok().json();
    fs::remove_dir_all(lanes[0]["path"].as_str().unwrap()).unwrap();
    p.run(["lanes"]).ok().stdout_has("damaged: its folder is gone");
    p.run(["build"]).ok();
    p.run(["lanes"]).ok().stdout_has("free");
}

#[test]
fn doctor_says_where_lanes_are_and_what_they_use() {
    let p = stage(&steps(BOTH));
    p.run(["doctor", "--no-gates"]).stdout_has("none yet; the next run makes one in ");
    p.run(["build", "--once"]).ok();
    p.run(["doctor", "--no-gates"]).stdout_has("1 lane in ").stdout_has(" on disk");
}

#[test]
fn doctor_tells_of_a_folder_for_lanes_that_cannot_work() {
    let p = stage(&steps(BOTH));
    let settings = p.read("ralph.toml");
    p.write("ralph.toml", format!("{settings}\n[lane]\ndir = \"build/lanes\"\n"));
    p.run(["doctor", "--no-gates"])
        .fails(3)
        .stdout_has("it is inside the repository")
        .stdout_has("[lane]");
    fs::write(p.home().join("file"), "").unwrap();
    p.write("ralph.toml", format!("{settings}\n[lane]\ndir = \"~/file/lanes\"\n"));
    p.run(["doctor", "--no-gates"]).fails(3).stdout_has("cannot keep lanes in ");
    p.run(["lanes"]).fails(1).stderr_has("a part of the path is a file");
}

#[test]
fn lanes_of_repositories_that_are_gone_are_deleted_by_doctor_prune_and_every_start() {
    let p = stage(&steps(BOTH));
    let orphan = p.home().join(".cache/ralph/gone-1");
    let make = || {
        fs::create_dir_all(orphan.join("lane-1")).unwrap();
        fs::write(orphan.join("home"), p.home().join("no/such/.git").to_str().unwrap()).unwrap();
    };
    make();
    p.run(["doctor", "--no-gates"]).stdout_has("lanes of a repository that is gone, in ");
    p.run(["doctor", "--no-gates", "--fix"]).stdout_has("deleted 1 folder of lanes");
    assert!(!orphan.exists());
    make();
    p.run(["lanes", "prune"]).ok().stdout_has("Deleted: lanes of a repository that is gone, ");
    assert!(!orphan.exists());
    make();
    p.run(["build"]);
    assert!(!orphan.exists());
}
