//! `ralph config`: values, where they come from, and mistakes that are found.

use ralph_testkit::project;

#[test]
fn show_names_the_layer_each_value_comes_from() {
    let p = project!()
        .git_init()
        .file("ralph.toml", "# mine\nmax_retries = 4\n")
        .file("ralph/plan.jsonl", "{\"t\":\"config\",\"timeout_ms\":60000}\n");
    let run = p.command(["config", "show"]).env("RALPH_MODE", "handoff-plus-index").run().ok();
    let line = |key: &str| -> String {
        let start = format!("{key} ");
        run.stdout
            .lines()
            .find(|l| l.starts_with(&start))
            .unwrap_or_else(|| panic!("{key}: {}", run.stdout))
            .to_owned()
    };
    assert!(line("max_retries").contains('4') && line("max_retries").contains("ralph.toml:2"));
    assert!(line("mode").contains("handoff-plus-index") && line("mode").contains("RALPH_MODE"));
    assert!(
        line("limits.stage_timeout").contains("1m")
            && line("limits.stage_timeout").contains("plan.jsonl:1")
    );
    assert!(line("gate_strategy").contains("strict") && line("gate_strategy").contains("default"));
}

#[test]
fn get_prints_one_value_and_set_keeps_comments() {
    let text = "# mine\nmax_retries = 2 # two\n\n[limits]\n# long\nstage_timeout = \"30m\"\n";
    let p = project!().git_init().file("ralph.toml", text);
    p.run(["config", "get", "max_retries"]).ok().stdout("2\n");
    p.run(["config", "set", "max_retries", "5"]).ok();
    p.run(["config", "set", "limits.max_cost", "2.5"]).ok();
    let now = p.read("ralph.toml");
    assert!(now.starts_with("# mine\nmax_retries = 5 # two\n"), "{now}");
    assert!(
        now.contains("# long\nstage_timeout = \"30m\"\n") && now.contains("max_cost = 2.5"),
        "{now}"
    );
    p.run(["config", "get", "limits.max_cost"]).ok().stdout("2.5\n");
    p.run(["config", "get", "max_retrys"]).fails(1).stderr_has("max_retries");
    p.run(["config", "set", "max_retries", "many"]).fails(1).stderr_has("max_retries");
    assert_eq!(p.read("ralph.toml"), now);
}

#[test]
fn an_unknown_key_or_a_bad_value_names_file_line_and_the_nearest_name() {
    let p = project!()
        .git_init()
        .file("ralph.toml", "mode = \"handoff-only\"\nmax_retrys = 3\ncommit = \"taks\"\n");
    for args in [&["query", "stage"][..], &["config", "show"], &["task", "add", "x"]] {
        p.run(args)
            .fails(1)
            .stderr_has("ralph.toml:2")
            .stderr_has("`max_retries`")
            .stderr_has("ralph.toml:3")
            .stderr_has("task");
    }
    let p = project!().git_init();
    p.command(["query", "stage"])
        .env("RALPH_MAX_RETRIES", "lots")
        .run()
        .fails(1)
        .stderr_has("RALPH_MAX_RETRIES");
}

#[test]
fn the_user_file_is_below_the_project_file() {
    let p = project!().git_init().file("ralph.toml", "max_retries = 4\n");
    let user = p.home().join(".config/ralph/config.toml");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    std::fs::write(&user, "max_retries = 9\ncommit_prefix = \"bot\"\n").unwrap();
    p.run(["config", "get", "max_retries"]).ok().stdout("4\n");
    p.run(["config", "get", "commit_prefix"]).ok().stdout("bot\n");
}

#[test]
fn the_plan_key_and_its_variable_choose_the_plan_file() {
    let task = |name: &str| {
        format!("{{\"tasks\":[{{\"id\":\"T-1\",\"title\":\"{name}\",\"status\":\"pending\"}}]}}")
    };
    let p = project!()
        .git_init()
        .file("a.json", task("A"))
        .file("b.json", task("B"))
        .file("ralph.toml", "plan = \"a.json\"\n");
    p.run(["task", "list"]).ok().stdout_has("A");
    p.command(["task", "list"]).env("RALPH_PLAN_FILE", "b.json").run().ok().stdout_has("B");
}
