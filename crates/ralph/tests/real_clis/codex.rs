//! codex, found on the PATH.

use serde_json::Value;

use crate::lab::{Lab, RESETS_AT};

fn lab_with(more: &str) -> Lab {
    let lab = Lab::new("codex").env("LAB_KEY", "not-a-key");
    let settings = [
        "model_provider=\"lab\"".to_owned(),
        "model_providers.lab.name=\"lab\"".to_owned(),
        format!("model_providers.lab.base_url=\"{}/v1\"", lab.server.url()),
        "model_providers.lab.env_key=\"LAB_KEY\"".to_owned(),
        "model_providers.lab.wire_api=\"responses\"".to_owned(),
        "model_providers.lab.stream_max_retries=1".to_owned(),
        "model_providers.lab.request_max_retries=1".to_owned(),
    ];
    let args: Vec<String> = settings.into_iter().flat_map(|one| ["-c".to_owned(), one]).collect();
    lab.config(&format!("[backends.codex]\nargs = {args:?}\n{more}"))
}

fn lab() -> Lab {
    lab_with("")
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn it_makes_a_file_and_what_nobody_said_is_unknown() {
    let tried = lab().makes_a_file(["file_change", "command_execution"]);
    assert_eq!(tried.report["cost"], Value::Null, "{:#}", tried.report);
    assert!(tried.report["session"].is_string(), "{:#}", tried.report);
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn prices_in_the_configuration_give_a_cost() {
    let prices = "prices = { input = 2.0, output = 10.0, cache_read = 0.2 }\n";
    let tried = lab_with(prices).makes_a_file(["file_change", "command_execution"]);
    tried.costs((3012.0 * 2.0 + 6100.0 * 0.2 + 79.0 * 10.0) / 1e6);
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn a_model_without_the_newest_tools_makes_a_file_too() {
    let lab = lab();
    lab.try_with("CREATE a.txt", &["--model", "gpt-5.4"]).ends("success");
    assert_eq!(lab.project.read("a.txt"), "hello from the model\n");
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn a_refused_key_is_not_logged_in() {
    lab().try_prompt("REFUSED").ends("not_logged_in");
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn a_used_up_plan_is_a_limit_with_its_reset() {
    // It tells the reset as a time on the user's clock, without its seconds.
    lab().env("TZ", "UTC").meets_the_limit(Some(RESETS_AT - RESETS_AT % 60));
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn a_conversation_that_is_too_long_is_a_context_limit() {
    lab().try_prompt("TOOLONG").ends("context_limit");
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn a_cut_connection_is_tried_again_and_shown() {
    let tried = lab().try_prompt("DROP").ends("success");
    assert_eq!(tried.report["answer"], "Second time lucky.");
    assert!(tried.run.stderr.contains("retry"), "{}", tried.run.stderr);
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn a_silent_model_is_a_timeout() {
    lab().try_with("HANG", &["--timeout", "5s"]).ends("timeout");
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn what_its_tools_leave_running_is_ended() {
    let lab = lab();
    lab.try_prompt("SPAWN").ends("success");
    assert!(lab.project.exists("spawned.txt"), "the command ran");
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn it_does_a_task_of_a_plan_and_ralph_commits_the_work() {
    lab().builds_a_task();
}

#[test]
#[ignore = "needs the real codex: scripts/real-clis.sh"]
fn it_claims_a_task_with_ralphs_own_tool_and_the_task_lands() {
    // Its newer models reach tools from a script, and look them up there.
    lab().with_tools().lands_by_a_tool("t-script");
}
