//! One try: the live view, the report, the choice, and the refusals.

use serde_json::json;

use super::{CODEX, left, machine, sim, with_tools};

const WORK: &str = r#"
[[rule]]
steps = [
    { think = "A file, then." },
    { say = "I will write it.\nHere it comes." },
    { write = "made/hello.txt", text = "hello\n" },
    { run = "false" },
    { retry = "overloaded" },
    { usage = { input = 1200, cached = 200, output = 30 } },
    { context = 12 },
    { cost = 0.25 },
    { answer = "It is there." },
]
"#;

#[test]
fn a_try_shows_what_happens_and_what_it_took() {
    let p = sim(WORK);
    let run = p.run(["backends", "try", "sim", "make a file"]).ok().stderr("");
    let shown = run.stdout.split("\nTime: ").next().unwrap().to_owned();
    let expected = "\
run      sim, at most 10m
model    sim-1
thinks   A file, then.
says     I will write it.
         Here it comes.
tool     write made/hello.txt
ok       done
tool     shell false
failed   (exit status: 1)
retry    1 of 10, in 1.0 s: overloaded
says     It is there.

Outcome:  finished
Cost:     $0.2500
Tokens:   1200 read (200 from a cache), 30 written
Context:  24000 of 200000 tokens (12 %)
Turns:    3";
    assert_eq!(shown, expected);
    run.stdout_has("\nSession:  sim-").stdout_has("\nLog:      build/ralph-logs/try-sim-");
    assert_eq!(p.read("made/hello.txt"), "hello\n");
    assert_eq!(left(&p), 0);
}

#[test]
fn for_programs_only_the_report_is_on_standard_output() {
    let p = sim(WORK);
    let run = p.run(["backends", "try", "sim", "make a file", "--json"]).ok();
    let report = run.json();
    let expected = json!({
        "backend": "sim", "model": null, "outcome": "success", "message": "finished",
        "advice": null, "resets_at": null, "answer": "It is there.", "cost": 0.25,
        "tokens": {"input": 1200, "cached": 200, "output": 30}, "turns": 3,
        "context": {"used": 24000, "window": 200_000},
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&report[key], value, "{key} in {report:#}");
    }
    let log = p.read(report["log"].as_str().unwrap());
    assert!(log.contains("{\"event\":\"retry\",\"attempt\":1"), "every byte is there:\n{log}");
    run.stderr_has("tool     write made/hello.txt\n").stderr_has("retry    1 of 10");
}

#[test]
fn options_reach_the_backend() {
    let p = sim("[[rule]]\nsteps = [{ run = 'true' }, { run = 'true' }, { run = 'true' }]\n");
    let try_with = |options: &[&str]| {
        let args = ["backends", "try", "sim", "do it"];
        p.run(args.iter().chain(options))
    };
    try_with(&["--model", "sim-9"]).ok().stdout_has("model    sim-9\n");
    try_with(&["--max-turns", "2"]).fails(3).stdout_has("Outcome:  stopped: it used all its turns");
    try_with(&["--timeout", "1h30m"]).ok().stdout_has("run      sim, at most 1h30m\n");
    let p = sim("[[rule]]\nsteps = [{ write = 'a.txt', text = '' }]\n");
    p.run(["backends", "try", "sim", "do it", "--read-only"]).ok().stdout_has("denied");
    assert!(!p.exists("a.txt"));
}

#[test]
fn it_works_where_it_is_started() {
    let p = sim("[[rule]]\nsteps = [{ write = 'a.txt', text = '' }]\n").dir("deep/er");
    p.command(["backends", "try", "sim", "do it"]).dir("deep").run().ok();
    p.run(["-C", "deep/er", "backends", "try", "sim", "do it"]).ok();
    assert!(p.exists("deep/a.txt") && p.exists("deep/er/a.txt") && !p.exists("a.txt"));
    assert!(p.exists("build/ralph-logs"), "logs are kept in the project");
}

#[test]
fn the_configured_backend_is_taken_else_the_first_one_installed() {
    let p = with_tools(machine([("codex", CODEX)]));
    let chosen = |p: &ralph_testkit::TestProject| {
        let report = p.run(["backends", "try", "do it", "--json"]).ok().json();
        report["backend"].as_str().unwrap().to_owned()
    };
    assert_eq!(chosen(&p), "codex");
    p.write("ralph.toml", "backend = 'sim'\n");
    assert_eq!(chosen(&p), "sim");
}

#[test]
fn a_model_is_asked_of_the_backend_it_is_meant_for() {
    let script = format!("echo \"$@\" >args.txt\n{CODEX}");
    let p = with_tools(machine([("codex", &script)]));
    let asked = |config: &str| {
        p.write("ralph.toml", config);
        p.run(["backends", "try", "codex", "do it"]).ok();
        p.read("args.txt")
    };
    assert!(asked("model = 'gpt-9'\n").contains("-m gpt-9"));
    assert!(asked("[backends.codex]\nmodel = 'gpt-8'\n").contains("-m gpt-8"));
    let other = asked("backend = 'claude'\nmodel = 'opus'\n");
    assert!(!other.contains("opus"), "{other}");
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_one() {
    let p = machine([]);
    p.run(["backends", "try", "cluade", "do it"])
        .fails(1)
        .stdout("")
        .stderr("error: there is no backend `cluade`\nhint: did you mean `claude`?\n");
    p.run(["backends", "try", "say", "hello"]).fails(1).stderr_has("needs quotes");
}

#[test]
fn a_command_line_that_means_something_else_is_refused() {
    let p = machine([("claude", "touch started.txt")]);
    p.run(["backends", "try"]).fails(2);
    p.run(["backends", "try", "claude"]).fails(2).stderr_has("there is no prompt for claude");
    p.run(["backends", "try", "claude", "  "]).fails(2).stderr_has("the prompt is empty");
    p.run(["backends", "try", "sim", "do it", "--timeout", "5"]).fails(2).stderr_has("90s");
    p.run(["backends", "try", "sim", "do it", "--max-turns", "0"]).fails(2);
    let inside = p.command(["backends", "try", "sim", "do it"]).env("RALPH_ATTEMPT", "01H").run();
    inside.fails(1).stderr_has("from inside its attempt");
    assert!(!p.exists("started.txt") && !p.exists("build"));
}

#[test]
fn with_a_cost_limit_a_backend_that_tells_no_cost_is_refused_before_it_starts() {
    let script = format!("echo >started.txt\n{CODEX}");
    let p = with_tools(machine([("codex", &script)]));
    let limit = "[limits]\nmax_cost = 5.0\n";
    p.write("ralph.toml", limit);
    p.run(["backends", "try", "codex", "do it"])
        .fails(1)
        .stdout("")
        .stderr_has("`backends.codex.prices.input`")
        .stderr_has("$5.00")
        .stderr_has("--allow-unknown-cost");
    assert!(!p.exists("started.txt"));

    let run = p.run(["backends", "try", "codex", "do it", "--allow-unknown-cost"]).ok();
    let run = run.stdout_has("Cost:     unknown\n").stdout_has("says     Here you are.\n");
    run.stdout_has("tool     file_change a.txt\n");
    p.write("ralph.toml", format!("allow_unknown_cost = true\n{limit}"));
    p.run(["backends", "try", "codex", "do it"]).ok();

    let prices = "[backends.codex.prices]\ninput = 2.0\noutput = 10.0\n";
    p.write("ralph.toml", format!("{limit}{prices}"));
    let report = p.run(["backends", "try", "codex", "do it", "--json"]).ok().json();
    assert_eq!(report["cost"], 3.0);
}

#[test]
fn a_number_of_turns_that_nobody_counts_is_not_ignored_in_silence() {
    let p = with_tools(machine([("codex", CODEX)]));
    p.run(["backends", "try", "codex", "do it", "--max-turns", "3"])
        .ok()
        .stderr_has("warning: codex cannot be told a number of turns");
}

#[test]
fn a_program_of_ones_own_is_a_path_in_the_project() {
    let p =
        with_tools(machine([("mybot", "echo \"I read: $(cat)\"; echo '<TASK_DONE>'")])).dir("deep");
    p.write("ralph.toml", "[backends.mybot]\nkind = 'command'\ncommand = ['bin/mybot']\n");
    let run = p.command(["backends", "try", "mybot", "do it"]).dir("deep").run().ok();
    run.stdout_has("says     I read: do it\n").stdout_has("Tokens:   unknown\n");
}

#[test]
fn an_agent_that_is_talked_with_is_told_where_it_works() {
    let agent = r#"
read -r hello; echo '{"id":1,"result":{"protocolVersion":1}}'
read -r new; echo "$new" >new.txt; echo '{"id":2,"result":{"sessionId":"s1"}}'
read -r prompt
echo '{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hel"}}}}'
echo '{"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"lo."}}}}'
echo '{"id":3,"result":{"stopReason":"end_turn"}}'; cat >/dev/null"#;
    let p = with_tools(machine([("bot", &format!("echo \"$@\" >args.txt\n{agent}"))]));
    p.write("ralph.toml", "[backends.bot]\nkind = 'acp'\nprogram = 'bot'\nargs = ['--acp']\n");
    let run = p.run(["backends", "try", "bot", "do it"]).ok();
    run.stdout_has("says     Hello.\n").stdout_has("Session:  s1\n");
    assert_eq!(p.read("args.txt"), "--acp\n");
    let cwd = format!("\"cwd\":\"{}\"", p.root().display());
    assert!(p.read("new.txt").contains(&cwd), "{}", p.read("new.txt"));
}

#[test]
fn what_a_program_prints_cannot_move_the_cursor() {
    let p = sim("[[rule]]\nsteps = [{ say = \"a\\u001b[31mb\\u0007\" }]\n");
    p.run(["backends", "try", "sim", "do it"]).ok().stdout_has("says     ab\n");
}
