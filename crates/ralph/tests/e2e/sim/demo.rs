//! The built-in scenario really solves the demo project.

use std::os::unix::process::ExitStatusExt;

use ralph_core::backend::sim::demo::FILES;

use super::{Stage, feed, seen};

/// How an attempt ended, judged as ralph will: by the gate and by the tree.
#[derive(Debug, PartialEq)]
enum Attempt {
    Landed,
    GateFailed,
    NoChange,
    Crashed,
}

fn attempt(stage: &Stage, task: &str) -> Attempt {
    let prompt = format!("Done before: t-add1.\n## Current Task\n\nID: {task}\n");
    let seen = seen(feed(&mut stage.command(&[]), &prompt));
    let project = &stage.project;
    let changed = !project.git(["status", "--porcelain"]).ok().stdout.is_empty();
    let green = project.shell("sh test.sh").code == 0;
    let result = match (seen.status.signal(), changed, green) {
        (Some(_), _, _) => Attempt::Crashed,
        (None, false, _) => Attempt::NoChange,
        (None, true, false) => Attempt::GateFailed,
        (None, true, true) => Attempt::Landed,
    };
    let end = match result {
        Attempt::Landed => "git add -A && git commit -qm landed",
        _ => "git reset -q --hard && git clean -qfd",
    };
    project.shell(end).ok();
    result
}

#[test]
fn the_demo_is_solved_with_a_failed_gate_a_lie_and_a_crash_on_the_way() {
    let stage = Stage::new();
    for file in FILES {
        stage.project.write(file.path, file.text);
    }
    stage.project.run(["validate"]).ok();
    stage.project.shell("sh test.sh && git add -A && git commit -qm demo").ok();
    let mut story = Vec::new();
    for task in ["t-add1", "t-sub1", "t-mul1", "t-div1"] {
        for _ in 0..3 {
            story.push(attempt(&stage, task));
            if story.last() == Some(&Attempt::Landed) {
                break;
            }
        }
    }
    use Attempt::{Crashed, GateFailed, Landed, NoChange};
    assert_eq!(story, [Landed, GateFailed, Landed, NoChange, Landed, Crashed, Landed]);
    let sums = "for op in add sub mul div; do sh calc.sh 7 $op 2; done";
    stage.project.shell(sums).ok().stdout("9\n5\n14\n3\n");
    stage.project.shell("sh calc.sh 7 div 0").fails(1);
}
