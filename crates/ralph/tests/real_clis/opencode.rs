//! opencode, found on the PATH. It takes ten seconds to start, so only what it alone does is here.

use serde_json::json;

use crate::lab::Lab;

fn lab() -> Lab {
    let lab = Lab::new("opencode");
    let model = json!({
        "name": "a model",
        "limit": {"context": 200_000, "output": 8000},
        "cost": {"input": 3, "output": 15, "cache_read": 0.3},
    });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "lab",
        "options": {"baseURL": format!("{}/v1", lab.server.url()), "apiKey": "not-a-key"},
        "models": {"m": model},
    });
    lab.env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
        .config("[backends.opencode]\nmodel = \"lab/m\"\n")
        .home_file(
            ".config/opencode/opencode.json",
            &json!({"share": "disabled", "autoupdate": false, "provider": {"lab": provider}}),
        )
}

#[test]
#[ignore = "needs the real opencode: scripts/real-clis.sh"]
fn it_makes_a_file_and_says_what_it_cost() {
    let tried = lab().makes_a_file(["write", "bash"]);
    tried.costs((3012.0 * 3.0 + 6100.0 * 0.3 + 79.0 * 15.0) / 1e6);
}

#[test]
#[ignore = "needs the real opencode: scripts/real-clis.sh"]
fn a_refused_key_is_not_logged_in() {
    lab().try_prompt("REFUSED").ends("not_logged_in");
}

#[test]
#[ignore = "needs the real opencode: scripts/real-clis.sh"]
fn a_conversation_that_is_too_long_is_a_context_limit() {
    lab().try_prompt("TOOLONG").ends("context_limit");
}

#[test]
#[ignore = "needs the real opencode: scripts/real-clis.sh"]
fn it_does_a_task_of_a_plan_and_ralph_commits_the_work() {
    lab().builds_a_task();
}

#[test]
#[ignore = "needs the real opencode: scripts/real-clis.sh"]
fn its_model_is_offered_ralphs_own_tools() {
    let lab = lab().with_tools();
    lab.build("t-made");
    lab.offered_ralphs_tools();
}
