//! Every way to fail has its word, its advice and its exit code, and leaves nobody behind.

use serde_json::json;

use super::{left, machine, sim, with_tools};

/// Try sim with these steps and give the report.
#[track_caller]
fn fails(steps: &str, options: &[&str], outcome: &str, advice: &str) -> serde_json::Value {
    let p = sim(&format!("[[rule]]\nsteps = [{steps}]\n"));
    p.write("ralph.toml", "[limits]\nmax_cost = 5.0\n");
    let args = ["backends", "try", "sim", "do it", "--json"];
    let run = p.run(args.iter().chain(options)).fails(3);
    let report = run.json();
    assert_eq!(report["outcome"], outcome, "{steps}: {report:#}");
    let given = report["advice"].as_str().unwrap_or_default();
    assert!(given.contains(advice), "{steps}: {given}");
    assert_eq!(left(&p), 0, "{steps}");
    let log = report["log"].as_str().unwrap();
    assert!(log.starts_with("build/ralph-logs/try-sim-20250120-103000-"), "{log}");
    assert!(p.exists(log));
    report
}

#[test]
fn what_the_program_tells_is_the_outcome() {
    for (fault, outcome, advice) in [
        ("not_logged_in", "not_logged_in", "log in: start `sim` once by hand"),
        ("api_error", "api_error", "try again later"),
        ("permission_denied", "permission_denied", "skip_permissions"),
        ("context_full", "context_limit", "make the task smaller"),
        ("max_turns", "max_turns", "raise `max_turns`"),
    ] {
        fails(&format!("{{ fault = '{fault}' }}"), &[], outcome, advice);
    }
    fails("{ fail = 'budget' }", &[], "budget", "limits.max_cost");
}

#[test]
fn a_usage_limit_says_when_it_is_lifted() {
    let report = fails("{ fault = 'usage_limit' }", &[], "rate_limit", "fallback_backends");
    // The stopped clock of the test, and an hour.
    assert_eq!(report["resets_at"], 1_737_369_000 + 3600);
    let p = sim("[[rule]]\nsteps = [{ fault = 'usage_limit' }]\n").env("TZ", "UTC");
    let run = p.run(["backends", "try", "sim", "do it"]).fails(3);
    run.stdout_has("limit    used up (five hour), until 2025-01-20 11:30\n")
        .stdout_has("Resets:   2025-01-20 11:30\n")
        .stderr_has("hint: wait for the reset");
}

#[test]
fn a_reset_that_is_told_as_a_time_of_day_is_on_the_users_clock() {
    let message = "You have hit your usage limit. Try again at 3:30 PM.";
    let p = machine([(
        "codex",
        &format!(
            "cat >/dev/null; echo '{{\"type\":\"turn.failed\",\"error\":{{\"message\":\"{message}\"}}}}'; exit 1"
        ),
    )]);
    let p = with_tools(p);
    // 2025-01-20 15:30 in UTC, and the same on a clock that is two hours ahead.
    for (zone, resets_at) in [("UTC", 1_737_387_000), ("ABC-2", 1_737_387_000 - 7200)] {
        let run = p.command(["backends", "try", "codex", "do it", "--json"]).env("TZ", zone).run();
        let report = run.fails(3).json();
        assert_eq!(report["outcome"], "rate_limit", "{report:#}");
        assert_eq!(report["resets_at"], resets_at, "{zone}");
    }
}

#[test]
fn what_the_process_does_is_the_outcome() {
    let look = "look at the log of the run";
    let killed = fails("{ fault = 'crash' }", &[], "crash", look);
    assert!(killed["message"].as_str().unwrap().contains("signal 9"), "{killed:#}");
    fails("{ stderr = 'internal error' }, { exit = 70 }", &[], "crash", look);
    fails("{ print = 'what is this' }, { exit = 0 }", &[], "malformed", look);
}

#[test]
fn what_takes_too_long_is_ended_with_all_that_it_started() {
    let stray = "{ spawn = 'setsid' }, { spawn = 'double_fork' }";
    let hang = format!("{{ say = 'Let me think.' }}, {stray}, {{ hang = true }}");
    fails(&hang, &["--timeout", "1s"], "timeout", "limits.stage_timeout");
    fails("{ flood = 'endless' }", &["--timeout", "1s"], "timeout", "make the task smaller");
    let p = sim("[[rule]]\nsteps = [{ hang = true }]\n");
    p.write("ralph.toml", "[limits]\nidle_timeout = '300ms'\n");
    let run = p.run(["backends", "try", "sim", "do it"]).fails(3);
    run.stdout_has("ralph    ending it: it has fallen silent")
        .stdout_has("Outcome:  ended by ralph: it fell silent")
        .stderr_has("hint: raise `limits.idle_timeout`");
    assert_eq!(left(&p), 0);
}

#[test]
fn money_that_is_used_up_ends_the_run() {
    fails("{ cost = 6.0 }, { hang = true }", &[], "budget", "limits.max_cost");
}

#[test]
fn tokens_that_cost_too_much_end_a_run_that_does_not_say_what_it_costs() {
    let tokens = "{ usage = { input = 1000000, output = 100000 } }";
    let p = sim(&format!("[[rule]]\nsteps = [{tokens}, {tokens}, {{ hang = true }}]\n"));
    let prices = "[backends.sim.prices]\ninput = 2.0\noutput = 10.0\n";
    p.write("ralph.toml", format!("[limits]\nmax_cost = 5.0\n{prices}"));
    let report = p.run(["backends", "try", "sim", "do it", "--json"]).fails(3).json();
    assert_eq!((&report["outcome"], &report["cost"]), (&json!("budget"), &json!(6.0)));
}

#[test]
fn a_program_that_stumbles_after_it_has_finished_is_told_about() {
    let p = sim("[[rule]]\nsteps = [{ claim = 'done' }, { exit = 7 }]\n");
    let run = p.run(["backends", "try", "sim", "do it"]).ok();
    run.stdout_has("Note:     it ended with code 7 after it had finished\n");
    let report = p.run(["backends", "try", "sim", "do it", "--json"]).ok().json();
    assert_eq!(report["note"], "it ended with code 7 after it had finished");
}

#[test]
fn only_as_many_logs_of_tries_are_kept_as_are_wanted() {
    let p = sim("[[rule]]\nsteps = [{ answer = 'hello' }]\n");
    p.write("ralph.toml", "[retention]\nlogs = 2\n");
    p.write("build/ralph-logs/ralph-20250101-000000-build-1.log", "of a loop\n");
    let tried = |_| p.run(["backends", "try", "sim", "hi", "--json"]).ok().json()["log"].clone();
    let logs: Vec<_> = (0..3).map(tried).collect();
    let there: Vec<bool> = logs.iter().map(|log| p.exists(log.as_str().unwrap())).collect();
    assert_eq!(there, [false, true, true]);
    assert!(p.exists("build/ralph-logs/ralph-20250101-000000-build-1.log"));
}

#[test]
fn a_program_that_is_not_there_is_an_outcome_too() {
    let p = machine([]);
    p.run(["backends", "try", "codex", "do it"])
        .fails(3)
        .stdout("Outcome:  not installed: there is no codex\n")
        .stderr("hint: install codex, or say where it is: `[backends.codex] program = \"…\"`\n");
    let report = p.run(["backends", "try", "codex", "do it", "--json"]).fails(3).json();
    assert_eq!(report["outcome"], "not_installed");
    assert_eq!((&report["cost"], &report["log"]), (&json!(null), &json!(null)));
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_it_and_says_so() {
    let p = sim(
        "[[rule]]\nsteps = [{ spawn = 'setsid' }, { write = 'there', text = '' }, { hang = true }]\n",
    );
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let running = p.spawn(["backends", "try", "sim", "do it"]);
        while !p.exists("there") {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        p.shell(&format!("rm there; kill -{signal} {}", running.pid())).ok();
        running.wait().fails(code).stdout_has("Outcome:  ended by ralph, as asked");
        assert_eq!(left(&p), 0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_asks_an_agent_that_is_talked_with_to_stop() {
    let agent = r#"
read -r hello; echo '{"id":1,"result":{"protocolVersion":1}}'
read -r new; echo '{"id":2,"result":{"sessionId":"s1"}}'
read -r prompt; echo >there
read -r last; echo "$last" >last.txt; echo '{"id":3,"result":{"stopReason":"cancelled"}}'"#;
    let p = with_tools(machine([("bot", agent)]));
    p.write("ralph.toml", "[backends.bot]\nkind = 'acp'\nprogram = 'bot'\n");
    let running = p.spawn(["backends", "try", "bot", "do it", "--json"]);
    while !p.exists("there") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    p.shell(&format!("kill -INT {}", running.pid())).ok();
    assert_eq!(running.wait().fails(130).json()["outcome"], "cancelled");
    assert!(p.read("last.txt").contains("session/cancel"), "{}", p.read("last.txt"));
}
