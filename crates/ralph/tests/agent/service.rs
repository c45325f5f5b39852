//! `ralph agent install-service`: a unit that systemd would take, and nothing else touched.

use crate::lab::lab;
use crate::repo::says;

#[test]
fn the_unit_is_printed_without_writing_anything() {
    let lab = lab(&[]);
    let run = lab.run(["agent", "install-service", "--print", "--", "--max-cost", "20"]).ok();
    says(&run, "KillMode=mixed");
    says(&run, "agent --watch \"--max-cost\" \"20\"");
    assert!(!lab.home().join(".config").exists());
}

#[test]
fn the_unit_is_written_for_this_project_and_told_how_to_start() {
    let lab = lab(&[]);
    let run = lab.run(["agent", "install-service", "--name", "nights"]).ok();
    says(&run, "systemctl --user enable --now nights");
    let file = lab.home().join(".config/systemd/user/nights.service");
    let unit = std::fs::read_to_string(&file).unwrap();
    let here = lab.root().canonicalize().unwrap();
    assert!(unit.contains(&format!("WorkingDirectory={}\n", here.display())), "{unit}");
    lab.run(["agent", "install-service", "--name", "nights"]).ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), unit);
}

#[test]
fn a_unit_of_another_project_is_not_overwritten() {
    let lab = lab(&[]);
    let file = lab.home().join(".config/systemd/user/nights.service");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[Service]\nWorkingDirectory=/srv/theirs\n").unwrap();
    let run = lab.run(["agent", "install-service", "--name", "nights"]).fails(1);
    says(&run, "belongs to another project");
    says(&run, "--name");
    assert!(std::fs::read_to_string(&file).unwrap().contains("/srv/theirs"));
}
