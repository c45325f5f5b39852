//! `ralph validate`: findings with file and line.

use ralph_testkit::project;

#[test]
fn cycles_missing_dependencies_duplicate_ids_and_vague_criteria_have_file_and_line() {
    let plan = r#"{"t":"task","id":"t-aaaa","name":"A","s":"p","accept":"`x` passes","deps":["t-bbbb"]}
{"t":"task","id":"t-bbbb","name":"B","s":"p","accept":"works correctly","deps":["t-aaaa"]}
{"t":"task","id":"t-cccc","name":"C","s":"p","accept":"`y` passes","deps":["t-none"]}
{"t":"task","id":"t-cccc","name":"again","s":"p"}
"#;
    let p = project!().git_init().file("ralph/plan.jsonl", plan);
    let run = p.run(["validate"]).fails(1);
    let expected = [
        "ralph/plan.jsonl:1: error: dependency cycle: t-aaaa → t-bbbb → t-aaaa",
        "ralph/plan.jsonl:2: warning: t-bbbb: vague criterion “works correctly”",
        "ralph/plan.jsonl:3: error: t-cccc depends on t-none, which does not exist",
        "ralph/plan.jsonl:4: error: the id t-cccc is already used on line 3",
        "ralph/plan.jsonl:4: warning: t-cccc has no acceptance criteria",
        "ralph/plan.jsonl: 3 errors, 2 warnings",
    ];
    for (line, expected) in run.stdout.lines().zip(expected) {
        assert!(line.starts_with(expected), "{line:?} does not start with {expected:?}");
    }
    assert_eq!(run.stdout.lines().count(), expected.len(), "{}", run.stdout);
    let json = p.run(["validate", "--json"]).fails(1).json();
    assert_eq!(json["findings"][0]["code"], "cycle");
    assert_eq!(json["findings"][0]["line"], 1);
}

#[test]
fn a_good_plan_ends_with_0_and_warnings_alone_do_too() {
    let p = project!().git_init();
    p.run(["task", "add", r#"{"name":"A","accept":"`make test` passes"}"#]).ok();
    p.run(["validate"]).ok().stdout("ralph/plan.jsonl: 1 task, 0 issues, nothing wrong\n");
    p.run(["task", "add", "B"]).ok();
    p.run(["validate"]).ok().stdout_has("0 errors, 1 warning");
}

#[test]
fn an_ambiguous_id_cannot_be_changed() {
    let line = "{\"t\":\"task\",\"id\":\"t-cccc\",\"name\":\"C\",\"s\":\"p\"}\n";
    let p = project!().git_init().file("ralph/plan.jsonl", line.repeat(2));
    p.run(["task", "done", "t-cccc"]).fails(1).stderr_has("t-cccc").stderr_has("ralph validate");
    assert_eq!(p.read("ralph/plan.jsonl"), line.repeat(2));
}
