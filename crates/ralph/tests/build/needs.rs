//! What needs a person: the same in every view, and each with a command that works as printed.

use std::path::Path;

use ralph_testkit::{Dashboard, Run, project};
use serde_json::Value;

use crate::plans::{Format, after, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule, said, until};

const BLOCKED: &str = r#"{ claim = "blocked", why = "there is no key" }"#;

/// The needs as `ralph status` and the dashboards have them: kind and command.
#[track_caller]
fn needs(repo: &Repo) -> Vec<(String, String)> {
    let view = repo.run(["status", "--json"]).ok().json();
    pairs(&view["view"]["needs"])
}

fn pairs(needs: &Value) -> Vec<(String, String)> {
    let word = |need: &Value, key: &str| need[key].as_str().unwrap().to_owned();
    let needs = needs.as_array().unwrap().iter();
    needs.map(|need| (word(need, "kind"), word(need, "command"))).collect()
}

/// Run a command as it was printed.
#[track_caller]
fn typed(repo: &Repo, command: &str) -> Run {
    let programs = Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap().display();
    repo.shell(&format!("PATH={programs}:$PATH; {command}"))
}

/// Run the command of the one need of this kind, which is gone then.
#[track_caller]
fn met(repo: &Repo, kind: &str, command: &str) {
    let found = needs(repo);
    let expected = (kind.to_owned(), command.to_owned());
    assert!(found.contains(&expected), "{found:?}");
    typed(repo, command).ok();
    let left = needs(repo);
    assert!(!left.contains(&expected), "{left:?}");
}

/// Run the command of a need that only shows something.
#[track_caller]
fn shown(repo: &Repo, kind: &str, command: &str, part: &str) {
    let found = needs(repo);
    assert!(found.contains(&(kind.to_owned(), command.to_owned())), "{found:?}");
    let run = typed(repo, command).ok();
    assert!(said(&run).contains(part), "{}", said(&run));
}

#[test]
fn a_failed_task_is_a_need_in_every_view_and_its_command_brings_it_back() {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb")]);
    repo.set("max_retries = 0").script(&rule("", BROKEN));
    let run = repo.build([]).fails(3);
    for id in ["t-aaaa", "t-bbbb"] {
        let command = format!("ralph task retry {id}");
        assert!(said(&run).contains(&format!("Next: `{command}`")), "{}", said(&run));
        let status = repo.run(["status"]).ok();
        assert!(said(&status).contains(&command), "{}", said(&status));
        let report = repo.run(["report"]).ok();
        assert!(said(&report).contains(&command), "{}", said(&report));
    }
    let found = needs(&repo);
    let kinds: Vec<&str> = found.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["failed", "failed"]);
    let dashboard = Dashboard::of(&repo);
    let page = dashboard.get("/api/state");
    assert_eq!(pairs(&page["needs"]), found);
    assert_eq!(page["health"]["word"], "stopped");
    let report = repo.run(["report", "--json"]).ok().json();
    assert_eq!(pairs(&report["needs"]), found);
    met(&repo, "failed", "ralph task retry t-aaaa");
    met(&repo, "failed", "ralph task retry t-bbbb");
    repo.script(&rule("", GOOD));
    met(&repo, "ended", "ralph build");
    assert_eq!(needs(&repo), []);
    assert!(repo.is_done("t-aaaa") && repo.is_done("t-bbbb"));
}

#[test]
fn failed_and_blocked_tasks_have_a_command_in_every_format_of_a_plan() {
    for format in Format::ALL {
        for steps in [BROKEN, BLOCKED] {
            let repo = repo_with(format, &[task("t-aaaa")]);
            repo.set("max_retries = 0").script(&rule("", steps));
            let run = repo.build([]).fails(3);
            let found = needs(&repo);
            assert!(!found.is_empty(), "{format:?}: {}", said(&run));
            for (kind, command) in &found {
                assert!(said(&run).contains(command), "{format:?} {kind}: {}", said(&run));
                let run = typed(&repo, command).ok();
                drop(run);
            }
            repo.script(&rule("", GOOD));
            repo.build([]).ok();
            assert_eq!(needs(&repo), [], "{format:?}");
        }
    }
}

#[test]
fn what_stands_in_the_plan_has_a_command_that_clears_it_or_shows_it() {
    let records = [
        r#"{"t":"task","id":"t-kill","name":"K","s":"p","kill_reason":"timeout"}"#,
        r#"{"t":"task","id":"t-done","name":"D","s":"d"}"#,
        r#"{"t":"task","id":"t-cccc","name":"C","s":"p","deps":["t-dddd"]}"#,
        r#"{"t":"task","id":"t-dddd","name":"D","s":"p","deps":["t-cccc"]}"#,
        r#"{"t":"task","id":"t-miss","name":"M","s":"p","deps":["t-gone"]}"#,
        r#"{"t":"task","id":"t-need","name":"N","s":"p","deps":["t-skip"]}"#,
        r#"{"t":"task","id":"t-skip","name":"S","s":"p"}"#,
        r#"{"t":"issue","id":"i-aaaa","desc":"why is it slow?"}"#,
    ];
    let repo = repo(&[]);
    repo.write("ralph/plan.jsonl", records.join("\n") + "\n");
    repo.run(["task", "skip", "t-skip"]).ok();
    met(&repo, "killed", "ralph task retry t-kill");
    met(&repo, "unverified", "ralph task accept t-done");
    met(&repo, "blocked", r#"ralph task edit t-cccc '{"deps":[]}'"#);
    met(&repo, "blocked", r#"ralph task edit t-miss '{"deps":[]}'"#);
    met(&repo, "blocked", "ralph task retry t-skip");
    shown(&repo, "issues", "ralph issue list", "why is it slow?");
    assert_eq!(needs(&repo).len(), 1);
}

#[test]
fn a_question_to_a_person_is_one_need() {
    let repo = repo(&[task("t-aaaa")]);
    let asks = r#"{ claim = "not_complete", form = "json", handoff = { request_human_review = { needed = true, reason = "which colour?" } } }"#;
    repo.script(&rule("", asks));
    repo.build([]).fails(3);
    let found = needs(&repo);
    assert_eq!(found.len(), 1, "{found:?}");
    met(&repo, "decide", "ralph task retry t-aaaa");
}

#[test]
fn a_run_that_stopped_says_the_command_that_goes_on() {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb"), task("t-cccc")]);
    let costs = format!("{{ cost = 2.00 }}, {GOOD}");
    repo.script(&(rule("attempt = 1", &costs) + &rule("", GOOD)));
    repo.build(["--max-iterations", "1"]).fails(4);
    assert_eq!(needs(&repo), [("ended".to_owned(), "ralph build".to_owned())]);
    repo.build(["--max-cost", "1", "--allow-unknown-cost"]).fails(4);
    assert_eq!(needs(&repo)[0].1, "ralph build --max-cost 1");
    repo.script(&rule("", BROKEN));
    let run = repo.build(["--once"]).fails(3);
    let last = repo.events("iteration_end").len();
    shown(&repo, "ended", &format!("ralph show {last}"), "gates failed");
    assert!(said(&run).contains(&format!("`ralph show {last}`")), "{}", said(&run));
    repo.script(&rule("", GOOD));
    repo.build([]).ok();
    assert_eq!(needs(&repo), []);
}

#[test]
fn a_loop_that_was_killed_is_no_longer_under_way_and_its_command_recovers() {
    let repo = repo(&[task("t-aaaa"), after("t-bbbb", &["t-aaaa"])]);
    let hangs = r#"{ run = "touch \"$HOME/began\"" }, { hang = true }"#;
    repo.script(&rule("", hangs));
    let build = repo.spawn(["build"]);
    until(|| repo.home().join("began").exists());
    build.kill();
    let dashboard = Dashboard::of(&repo);
    until(|| dashboard.get("/api/state")["loop"]["status"] == "crashed");
    let page = dashboard.get("/api/state");
    assert_eq!(page["attempt"], Value::Null, "nothing is under way");
    assert_eq!(page["loop"]["elapsed_s"], Value::Null, "and no clock runs on");
    assert_eq!(page["recent"][0]["words"], "interrupted");
    repo.script(&rule("", GOOD));
    met(&repo, "crashed", "ralph build");
    assert_eq!(needs(&repo), []);
}

#[test]
fn a_paused_loop_needs_somebody_to_resume_it() {
    let repo = repo(&[task("t-aaaa"), task("t-bbbb")]);
    let waits = r#"{ run = "touch \"$HOME/began\"; i=0; while [ ! -e \"$HOME/go\" ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done" }"#;
    repo.script(&(rule("attempt = 1", &format!("{waits}, {GOOD}")) + &rule("", GOOD)));
    let build = repo.spawn(["build"]);
    until(|| repo.home().join("began").exists());
    repo.run(["pause"]).ok();
    let paused = || needs(&repo).contains(&("paused".to_owned(), "ralph resume".to_owned()));
    until(paused);
    typed(&repo, "ralph resume").ok();
    std::fs::write(repo.home().join("go"), "").unwrap();
    build.wait().ok();
    assert_eq!(needs(&repo), []);
}

#[test]
fn unproven_work_and_failed_specs_have_commands_too() {
    let repo =
        Repo::new(project!().with_proofs(), Format::Jsonl, &[task("t-aaaa"), task("t-bbbb")]);
    repo.config("backend = \"sim\"\n");
    repo.build([]).fails(3);
    shown(&repo, "unproven", "ralph report", "unproven");
    repo.write("ralph/specs/a b.md", "# A\n\nWork.\n");
    repo.write(
        "ralph/inbox.jsonl",
        "{\"t\":\"inbox\",\"id\":\"q-aaaa\",\"spec\":\"a b.md\",\"added_at\":\"2025-01-20T09:00:00Z\",\
         \"status\":\"failed\",\"error\":\"no progress\",\"completed_at\":\"2025-01-20T09:30:00Z\"}\n",
    );
    met(&repo, "spec", "ralph inbox add 'a b.md'");
}

#[test]
fn a_plan_that_cannot_be_read_is_neither_complete_nor_healthy_anywhere() {
    let repo = repo(&[task("t-aaaa")]);
    repo.write("ralph/plan.jsonl", "{\"t\":\"task\"\n{}\n");
    repo.run(["status"]).fails(1).stderr_has("ralph/plan.jsonl:1");
    let dashboard = Dashboard::of(&repo);
    let page = dashboard.get("/api/state");
    assert_eq!(page["loop"]["stage"], "UNREADABLE");
    assert_eq!(page["health"]["word"], "stopped");
    assert_eq!(dashboard.get("/api/plan")["stage"], "UNREADABLE");
    let found = pairs(&page["needs"]);
    let command = "ralph validate --plan ralph/plan.jsonl";
    assert_eq!(found, [("damaged".to_owned(), command.to_owned())]);
    let run = typed(&repo, command).fails(1);
    assert!(said(&run).contains("ralph/plan.jsonl:1"), "{}", said(&run));
}
