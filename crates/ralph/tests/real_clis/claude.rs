//! claude, by its full path in ralph.toml.

mod construct;
mod memory;
mod repositories;

use crate::lab::{Lab, RESETS_AT};

fn lab() -> Lab {
    at_home(Lab::new("claude"))
}

/// A lab in which claude talks to the lab's server.
fn at_home(lab: Lab) -> Lab {
    let lab = lab.env("CLAUDE_CODE_MAX_RETRIES", "1");
    let (url, program) = (lab.server.url(), lab.program());
    lab.env("ANTHROPIC_BASE_URL", &url)
        .env("ANTHROPIC_API_KEY", "not-a-key")
        .config(&format!("[backends.claude]\nprogram = {program:?}\n"))
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn it_makes_a_file_and_cost_usage_and_context_are_known() {
    let tried = lab().makes_a_file(["Write", "Bash"]);
    let cost = tried.report["cost"].as_f64();
    assert!(cost.is_some_and(|dollars| dollars > 0.0), "{:#}", tried.report);
    assert_eq!(tried.report["turns"], 3);
    let context = &tried.report["context"];
    assert_eq!(context["used"], 3107, "{:#}", tried.report);
    assert!(context["window"].as_u64().is_some_and(|tokens| tokens >= 200_000), "{context}");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_model_of_the_users_choice_is_asked() {
    let lab = lab();
    lab.try_with("CREATE a.txt", &["--model", "claude-haiku-4-5"]).ends("success");
    let requests = lab.server.requests();
    assert!(requests.iter().any(|r| r.body["model"] == "claude-haiku-4-5"), "{requests:?}");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_refused_key_is_not_logged_in() {
    lab().try_prompt("REFUSED").ends("not_logged_in");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_used_up_subscription_is_a_limit_with_its_reset() {
    // Only a subscription has this limit, so the token of one instead of a key.
    let lab = lab().env("ANTHROPIC_API_KEY", "").env("CLAUDE_CODE_OAUTH_TOKEN", "not-a-token");
    lab.meets_the_limit(Some(RESETS_AT));
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_conversation_that_is_too_long_is_a_context_limit() {
    lab().try_prompt("TOOLONG").ends("context_limit");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_cut_connection_is_tried_again_and_shown() {
    let tried = lab().try_prompt("DROP").ends("success");
    assert_eq!(tried.report["answer"], "Second time lucky.");
    assert!(tried.run.stderr.contains("retry"), "{}", tried.run.stderr);
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_silent_model_is_a_timeout() {
    lab().try_with("HANG", &["--timeout", "5s"]).ends("timeout");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn what_its_tools_leave_running_is_ended() {
    let lab = lab();
    lab.try_prompt("SPAWN").ends("success");
    assert!(lab.project.exists("spawned.txt"), "the command ran");
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn it_does_a_task_of_a_plan_and_ralph_commits_the_work() {
    lab().builds_a_task();
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn it_claims_a_task_with_ralphs_own_tool_and_the_task_lands() {
    let lab = lab().with_tools();
    lab.lands_by_a_tool("t-claim");
    lab.offered_ralphs_tools();
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn it_hands_over_with_ralphs_own_tool_and_that_is_the_handoff() {
    let lab = lab().with_tools();
    lab.lands_by_a_tool("t-hand");
    let handoff = lab.project.read(".ralph/handoffs/handoff-001.json");
    assert!(handoff.contains("told with a tool"), "{handoff}");
}
