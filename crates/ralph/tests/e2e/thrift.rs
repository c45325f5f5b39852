//! What a task may cost in processes and waits for the disk, counted on real runs.

use ralph_testkit::{TestProject, project};
use serde_json::Value;

/// The plan files of all formats.
const PLANS: [&str; 4] = ["ralph/plan.jsonl", "plan.json", "progress.md", "implementation.json"];

/// A plan with so many tasks.
fn plan_of(path: &str, tasks: usize) -> String {
    let each = |task: &dyn Fn(usize) -> String, between: &str| {
        (0..tasks).map(task).collect::<Vec<_>>().join(between)
    };
    match path {
        "plan.json" => {
            let task = |n| {
                format!("{{\"id\": \"t-{n}\", \"title\": \"Do {n}\", \"status\": \"pending\"}}")
            };
            format!("{{\"project\": \"thrift\", \"tasks\": [\n{}\n]}}\n", each(&task, ",\n"))
        }
        "implementation.json" => {
            let task = |n| {
                format!(
                    "{{\"id\": \"t-{n}\", \"description\": \"Do {n}\", \"status\": \"pending\"}}"
                )
            };
            let tasks = each(&task, ",\n");
            format!(
                "{{\"version\": 1, \"specs\": [{{\"id\": \"thrift\", \"name\": \"Thrift\", \
                 \"tasks\": [\n{tasks}\n]}}]}}\n"
            )
        }
        "progress.md" => {
            let tasks = each(&|n| format!("- [ ] Do {n}"), "\n");
            format!(
                "# Progress: Thrift\n\n## Status\n\nIn Progress\n\n## Tasks\n\n### Phase 1\n\n{tasks}\n"
            )
        }
        _ => each(
            &|n| format!("{{\"t\":\"task\",\"id\":\"t-{n}\",\"name\":\"Do {n}\",\"s\":\"p\"}}\n"),
            "",
        ),
    }
}

/// A project with so many tasks and an agent that does each of them at once.
fn with_tasks(plan: &str, tasks: usize) -> TestProject {
    let config = "backend = \"stub\"\n[backends.stub]\nkind = \"command\"\n\
        command = [\"sh\", \"-c\", \"echo $RALPH_ATTEMPT >work.txt; echo '<TASK_DONE>'\"]\n\
        [[gates]]\nname = \"ok\"\ncommand = \"true\"\n";
    let project = project!()
        .git_init()
        .file("ralph.toml", config)
        .file(plan, plan_of(plan, tasks))
        .file("users.txt", "as committed\n");
    project.git(["add", "-A"]).ok();
    project.git(["commit", "--quiet", "-m", "start"]).ok();
    project
}

/// Processes and syncs of a whole run.
fn counted(project: &TestProject, plan: &str) -> (u64, u64) {
    let file = project.home().join("counts.json");
    project.command(["build", plan]).env("RALPH_COUNT", &file).run().ok();
    let counts = std::fs::read(file).unwrap();
    let counts: Value = serde_json::from_slice(&counts).unwrap();
    (counts["processes"].as_u64().unwrap(), counts["syncs"].as_u64().unwrap())
}

/// What one more task costs: the difference of two runs, since a start and an end cost too.
fn of_a_task(plan: &str, prepare: impl Fn(&TestProject)) -> (f64, f64) {
    let [few, many] = [2_usize, 6].map(|tasks| {
        let project = with_tasks(plan, tasks);
        prepare(&project);
        counted(&project, plan)
    });
    let each = |many: u64, few: u64| (many - few) as f64 / 4.0;
    (each(many.0, few.0), each(many.1, few.1))
}

#[test]
fn a_task_in_a_clean_tree_takes_at_most_eight_processes_and_six_syncs_with_each_format() {
    for plan in PLANS {
        let (processes, syncs) = of_a_task(plan, |_| {});
        println!("{plan}: {processes} processes, {syncs} syncs");
        assert!((2.0..=8.0).contains(&processes), "{plan}: {processes} processes for each task");
        assert!((3.0..=6.0).contains(&syncs), "{plan}: {syncs} syncs for each task");
    }
}

#[test]
fn a_dirty_tree_costs_no_process_and_no_sync_more() {
    let (processes, syncs) = of_a_task(PLANS[0], |project| {
        project.write("users.txt", "changed by the user\n");
        project.write("notes.txt", "new, and nobody else's\n");
    });
    assert!((2.0..=8.0).contains(&processes), "{processes} processes for each task");
    assert!((3.0..=6.0).contains(&syncs), "{syncs} syncs for each task");
}
