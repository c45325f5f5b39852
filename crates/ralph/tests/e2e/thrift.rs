//! What a task may cost in processes and waits for the disk, counted on real runs.

use ralph_testkit::{TestProject, project};
use serde_json::Value;

/// A project with so many tasks and an agent that does each of them at once.
fn with_tasks(tasks: usize) -> TestProject {
    let task =
        |n| format!("{{\"t\":\"task\",\"id\":\"t-{n}\",\"name\":\"Do part {n}\",\"s\":\"p\"}}\n");
    let config = "backend = \"stub\"\n[backends.stub]\nkind = \"command\"\n\
        command = [\"sh\", \"-c\", \"echo $RALPH_ATTEMPT >work.txt; echo '<TASK_DONE>'\"]\n\
        [[gates]]\nname = \"ok\"\ncommand = \"true\"\n";
    let project = project!()
        .git_init()
        .file("ralph.toml", config)
        .file("ralph/plan.jsonl", (0..tasks).map(task).collect::<String>())
        .file("users.txt", "as committed\n");
    project.git(["add", "-A"]).ok();
    project.git(["commit", "--quiet", "-m", "start"]).ok();
    project
}

/// Processes and syncs of a whole run.
fn counted(project: &TestProject) -> (u64, u64) {
    let file = project.home().join("counts.json");
    project.command(["build"]).env("RALPH_COUNT", &file).run().ok();
    let counts = std::fs::read(file).unwrap();
    let counts: Value = serde_json::from_slice(&counts).unwrap();
    (counts["processes"].as_u64().unwrap(), counts["syncs"].as_u64().unwrap())
}

/// What one more task costs: the difference of two runs, since a start and an end cost too.
fn of_a_task(prepare: impl Fn(&TestProject)) -> (f64, f64) {
    let [few, many] = [2_usize, 6].map(|tasks| {
        let project = with_tasks(tasks);
        prepare(&project);
        counted(&project)
    });
    let each = |many: u64, few: u64| (many - few) as f64 / 4.0;
    (each(many.0, few.0), each(many.1, few.1))
}

#[test]
fn a_task_in_a_clean_tree_takes_at_most_eight_processes_and_six_syncs() {
    let (processes, syncs) = of_a_task(|_| {});
    assert!((2.0..=8.0).contains(&processes), "{processes} processes for each task");
    assert!((3.0..=6.0).contains(&syncs), "{syncs} syncs for each task");
}

#[test]
fn a_dirty_tree_costs_no_process_and_no_sync_more() {
    let (processes, syncs) = of_a_task(|project| {
        project.write("users.txt", "changed by the user\n");
        project.write("notes.txt", "new, and nobody else's\n");
    });
    assert!((2.0..=8.0).contains(&processes), "{processes} processes for each task");
    assert!((3.0..=6.0).contains(&syncs), "{syncs} syncs for each task");
}
