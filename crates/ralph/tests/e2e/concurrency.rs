//! Many ralphs at once.

use std::collections::BTreeSet;

use ralph_testkit::project;

#[test]
fn sixty_four_processes_that_each_add_fifty_tasks_lose_none() {
    const PROCESSES: usize = 64;
    const EACH: usize = 50;
    let p = &project!().git_init();
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            scope.spawn(move || {
                for n in 0..EACH {
                    p.run(["task", "add", &format!("task {process}.{n}")]).ok();
                }
            });
        }
    });
    let records = super::task::records(p);
    let field = |key: &str| -> BTreeSet<String> {
        records.iter().map(|r| r[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(records.len(), PROCESSES * EACH);
    assert_eq!(field("name").len(), PROCESSES * EACH, "every task is there");
    assert_eq!(field("id").len(), PROCESSES * EACH, "no id was given twice");
}

#[test]
fn readers_never_see_a_half_written_plan() {
    let p = &project!().git_init();
    p.run(["task", "add", r#"{"id":"t-aaaa","name":"A"}"#]).ok();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for n in 0..60 {
                // A rewrite, an append, a rewrite.
                p.run(["task", "edit", "t-aaaa", "--notes", &"x".repeat(n * 100)]).ok();
                p.run(["task", "add", "B"]).ok();
                p.run(["task", "prioritize"]).ok();
            }
        });
        while !writer.is_finished() {
            p.run(["query", "stage"]).ok().stdout("BUILD\n").stderr("");
        }
    });
}
