//! gemini, found on the PATH.

use serde_json::{Value, json};

use crate::lab::Lab;

fn lab() -> Lab {
    let lab = Lab::new("gemini").env("GEMINI_API_KEY", "not-a-key");
    let url = lab.server.url();
    lab.env("GOOGLE_GEMINI_BASE_URL", &url)
        .config("[backends.gemini]\nmodel = \"gemini-3.1-pro-preview\"\n")
        // Without it a program with another address than Google's wants to be told how to log in.
        .home_file(
            ".gemini/settings.json",
            &json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": false},
                "general": {"enableAutoUpdate": false},
            }),
        )
}

#[test]
#[ignore = "needs the real gemini: scripts/real-clis.sh"]
fn it_makes_a_file_and_what_nobody_said_is_unknown() {
    let tried = lab().makes_a_file(["write_file", "run_shell_command"]);
    assert_eq!(tried.report["cost"], Value::Null, "{:#}", tried.report);
}

#[test]
#[ignore = "needs the real gemini: scripts/real-clis.sh"]
fn a_refused_key_is_not_logged_in() {
    lab().try_prompt("REFUSED").ends("not_logged_in");
}

#[test]
#[ignore = "needs the real gemini: scripts/real-clis.sh"]
fn a_used_up_day_is_a_limit() {
    lab().meets_the_limit(None);
}

#[test]
#[ignore = "needs the real gemini: scripts/real-clis.sh"]
fn a_conversation_that_is_too_long_is_a_context_limit() {
    lab().try_prompt("TOOLONG").ends("context_limit");
}

#[test]
#[ignore = "needs the real gemini: scripts/real-clis.sh"]
fn it_does_a_task_of_a_plan_and_ralph_commits_the_work() {
    lab().builds_a_task();
}
