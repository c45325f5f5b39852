use super::*;
use crate::construct::testing::{plan, read, task};

fn of(tasks: &[NewTask]) -> Vec<TaskFlaw> {
    flaws(tasks, &read(&plan(&["{'t':'task','id':'t-1a2b','name':'Set up','s':'p'}"])))
}

#[test]
fn a_good_plan_has_no_flaws() {
    let tasks = [task("a", "Parse", &[]), task("b", "Print", &["a", "t-1a2b", "Set up", "Parse"])];
    assert_eq!(of(&tasks), []);
}

#[test]
fn each_flaw_is_told_with_the_task_it_is_about() {
    assert_eq!(of(&[]), [TaskFlaw::NoTasks]);
    let many: Vec<NewTask> = (0..101).map(|n| task("", &format!("Task {n}"), &[])).collect();
    assert_eq!(of(&many), [TaskFlaw::TooMany(101)]);
    let tasks = [
        NewTask { accept: vec![" ".into()], ..task("a", "Parse", &[]) },
        NewTask { accept: vec!["it works".into()], ..task("a", " parse ", &[]) },
        task("c", " ", &["t-1a2c"]),
    ];
    let told = in_words(&of(&tasks));
    for words in [
        "“Parse” has no acceptance criteria",
        "the criterion “it works” is vague",
        "two tasks are called “parse”",
        "two tasks have the key `a`",
        "task 3 has no name",
        "depends on `t-1a2c`, which does not exist (did you mean `t-1a2b`?)",
    ] {
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn tasks_that_wait_for_each_other_are_named_in_order() {
    let tasks = [task("a", "One", &["b"]), task("b", "Two", &["a"]), task("c", "Three", &["c"])];
    let told = in_words(&of(&tasks));
    assert!(told.contains("One → Two → One"), "{told}");
    assert!(told.contains("Three → Three"), "{told}");
}

#[test]
fn a_long_list_of_flaws_is_cut() {
    let tasks: Vec<NewTask> = (0..50)
        .map(|n| NewTask { accept: Vec::new(), ..task("", &format!("T{n}"), &[]) })
        .collect();
    assert!(in_words(&of(&tasks)).ends_with("and 38 more"));
}
