//! `ralph land --no-commit`, `--branch NAME` and `--discard`.

use ralph_core::cycle::{ArrivalIntent, ArrivalWait, ArrivalWay, JournalRecord};
use ralph_host::git::ArrivalOutcome;

use crate::stage::{PLAN, Stage, edited, lines};

fn no_commit(stage: &mut Stage) -> ArrivalOutcome {
    stage.act(|repo, line, host| repo.land_without_commit(line, host)).unwrap()
}

fn waits(stage: &mut Stage) -> ArrivalWait {
    match no_commit(stage) {
        ArrivalOutcome::Waits(not) => not.why,
        ArrivalOutcome::Complete => panic!("it was written"),
    }
}

#[test]
fn commits_become_uncommitted_changes() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n")), ("c.txt", None), ("new/run.sh", Some("run\n"))]);
    stage.land(&[("a.txt", Some("two\n")), (PLAN, Some("plan\ndone\n"))]);
    stage.write("b.txt", "mine\n");
    stage.git(["add", "b.txt"]);
    let (old, index) = (stage.at("main"), stage.picture().index);
    assert_eq!(no_commit(&mut stage), ArrivalOutcome::Complete);
    assert_eq!(stage.picture().index, index);
    assert_eq!((stage.at("main"), stage.tip()), (old.clone(), old));
    let status = ["M  b.txt", " M a.txt", " D c.txt", " M ralph/plan.jsonl", "?? new/run.sh"];
    let mut found = stage.status();
    found.sort_unstable();
    let mut wanted = status.map(str::to_owned).to_vec();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    assert_eq!(stage.project.read("a.txt"), "two\n");
    assert!(stage.line.is_settled() && stage.line.waiting().is_empty());
}

#[test]
fn work_in_the_way_stops_all_of_it() {
    let mut stage = Stage::new();
    stage.land(&[("a.txt", Some("one\n")), ("d", Some("d\n")), ("e/f", Some("f\n"))]);
    stage.write("a.txt", "mine\n");
    stage.write("d/mine.txt", "mine\n");
    stage.write("e", "mine\n");
    let before = stage.picture();
    let ArrivalWait::Edited { paths } = waits(&mut stage) else { panic!("wrong reason") };
    assert!(["a.txt", "d", "e"].iter().all(|path| paths.iter().any(|p| p == path)), "{paths:?}");
    assert_eq!(stage.picture(), before);
    stage.write("a.txt", lines("a.txt"));
    stage.git(["switch", "-q", "-c", "topic"]);
    assert_eq!(waits(&mut stage), ArrivalWait::HomeMoved);
}

#[test]
fn an_ignored_file_in_the_way_stays() {
    let mut stage = Stage::new();
    stage.land(&[("d.ignored", Some("ralph's\n"))]);
    stage.write("d.ignored", "mine\n");
    assert_eq!(waits(&mut stage), edited(&["d.ignored"]));
    assert_eq!(stage.project.read("d.ignored"), "mine\n");
}

#[test]
fn half_of_the_files_are_put_back() {
    let mut stage = Stage::new();
    let old = stage.at("main");
    let new = stage.land(&[("a.txt", Some("one\n")), ("b.txt", Some("two\n"))]);
    let way = ArrivalWay::FilesOnly;
    let intent = ArrivalIntent { way, old, new, ..ArrivalIntent::default() };
    stage.line.add(&JournalRecord::ArrivalIntent(intent), |_| None);
    let before = stage.picture().files;
    stage.write("a.txt", "one\n");
    std::fs::remove_file(stage.project.path("b.txt")).unwrap();
    stage.act(|repo, line, host| repo.recover_arrival(line, host)).unwrap();
    assert_eq!(stage.picture().files, before);
    assert_eq!(no_commit(&mut stage), ArrivalOutcome::Complete);
}

#[test]
fn commits_go_to_a_new_branch() {
    let mut stage = Stage::new();
    let tip = stage.land(&[("a.txt", Some("one\n"))]);
    let before = stage.picture().files;
    stage.act(|repo, line, host| repo.land_on_branch(line, "later", host)).unwrap();
    assert_eq!((stage.at("later"), stage.picture().files), (tip, before));
    assert!(stage.line.is_settled());
    stage.land(&[("a.txt", Some("two\n"))]);
    assert!(stage.act(|repo, line, host| repo.land_on_branch(line, "later", host)).is_err());
    assert!(stage.act(|repo, line, host| repo.land_on_branch(line, "-x y", host)).is_err());
}

#[test]
fn given_up_commits_are_kept_under_a_ref() {
    let mut stage = Stage::new();
    let tip = stage.land(&[("a.txt", Some("one\n"))]);
    let name = stage.act(|repo, line, host| repo.give_up(line, host)).unwrap();
    assert_eq!((name.as_str(), stage.at(&name)), ("refs/ralph/r1/given-up", tip));
    assert_eq!(stage.tip(), stage.at("main"));
    stage.arrives();
}
