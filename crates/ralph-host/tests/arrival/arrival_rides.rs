//! Ledger files and specs that a person changed in home and that ralph took over.

use ralph_core::cycle::ArrivalWait;

use crate::stage::{PLAN, Stage, edited};

const SPEC: &str = "ralph/specs/new.md";
const TAKEN: &str = "plan\nmine\n";
const LANDED: &str = "plan\nmine\nt-1 done\n";

#[test]
fn an_edited_plan_and_a_new_spec_ride() {
    let mut stage = Stage::new();
    stage.write(PLAN, TAKEN);
    stage.write(SPEC, "spec\n");
    stage.land_taking(
        &[("a.txt", Some("one\n")), (PLAN, Some(LANDED)), (SPEC, Some("spec\n"))],
        &[PLAN, SPEC],
    );
    stage.arrives();
    assert_eq!(
        (stage.project.read(PLAN), stage.project.read(SPEC)),
        (LANDED.into(), "spec\n".into())
    );
    assert_eq!(stage.status(), [] as [&str; 0]);
}

#[test]
fn a_staged_edit_rides_too() {
    let mut stage = Stage::new();
    stage.write(PLAN, TAKEN);
    stage.git(["add", PLAN]);
    stage.land_taking(&[(PLAN, Some(LANDED))], &[PLAN]);
    stage.arrives();
    assert_eq!(stage.project.read(PLAN), LANDED);
    assert_eq!(stage.status(), [] as [&str; 0]);
}

#[test]
fn a_newer_edit_waits() {
    let mut stage = Stage::new();
    stage.write(PLAN, TAKEN);
    stage.land_taking(&[(PLAN, Some(LANDED))], &[PLAN]);
    stage.write(PLAN, "plan\nmine\nnewer\n");
    let before = stage.picture();
    assert_eq!(stage.waits(), ArrivalWait::NotTakenOver { path: PLAN.into() });
    assert_eq!(stage.picture(), before);
}

#[test]
fn other_staged_content_waits() {
    let mut stage = Stage::new();
    stage.write(PLAN, "plan\nstaged\n");
    stage.git(["add", PLAN]);
    stage.write(PLAN, TAKEN);
    stage.land_taking(&[(PLAN, Some(LANDED))], &[PLAN]);
    let before = stage.picture();
    assert_eq!(stage.waits(), ArrivalWait::StagedApart { path: PLAN.into() });
    assert_eq!(stage.picture(), before);
}

#[test]
fn entries_come_back_when_git_refuses() {
    let mut stage = Stage::new();
    stage.write(PLAN, TAKEN);
    stage.git(["add", PLAN]);
    stage.write(SPEC, "spec\n");
    stage.land_taking(
        &[("a.txt", Some("one\n")), (PLAN, Some(LANDED)), (SPEC, Some("spec\n"))],
        &[PLAN, SPEC],
    );
    stage.write("a.txt", "mine\n");
    let staged = stage.git(["ls-files", "-s"]);
    let before = stage.picture().files;
    assert_eq!(stage.waits(), edited(&["a.txt"]));
    assert_eq!(stage.git(["ls-files", "-s"]), staged);
    assert_eq!(stage.picture().files, before);
}
