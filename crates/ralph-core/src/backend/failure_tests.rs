use super::*;

fn word(message: &str, status: Option<u16>) -> Option<&'static str> {
    judge_text(message, status).map(|outcome| outcome.word())
}

#[test]
fn what_the_programs_say_is_recognised() {
    for (expected, messages) in [
        (
            "context_limit",
            &[
                "Prompt is too long · the request is ~1209513 tokens (limit 1000000)",
                r#"{"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}"#,
                "[API Error: 400 prompt is too long: 1209513 tokens > 1000000 maximum]",
                "This model's maximum context length is 128000 tokens",
                "The provider rejected the prompt as too long",
            ][..],
        ),
        (
            "rate_limit",
            &[
                "API Error: Request rejected (429) · This request would exceed your rate limit",
                "You've hit your limit · resets 9:35pm (UTC)",
                "exceeded retry limit, last status: 429 Too Many Requests",
                "Quota exceeded. Check your plan and billing details.",
                "You exceeded your current quota, please check your plan",
                "429 rate limited, try later",
                "Your credit balance is too low to access the API",
            ],
        ),
        (
            "not_logged_in",
            &[
                "Not logged in · Please run /login",
                "Invalid API key · Fix external API key",
                "Failed to authenticate. API Error: 403 forbidden",
                "unexpected status 401 Unauthorized: invalid x-api-key, url: http://localhost",
                "unexpected status 403 Forbidden: forbidden",
                "Missing environment variable: `SOME_KEY`.",
                "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.",
                "Authentication failed with provider (HTTP 401).",
                "  • Start 'copilot' and run the '/login' command",
                "Missing API key for OpenAI-compatible auth.",
            ],
        ),
        (
            "permission_denied",
            &[
                "Permission to use Bash has been denied because of the mode",
                "The user rejected permission to use this specific tool call.",
                "Permission denied because no interactive user response was available.",
            ],
        ),
    ] {
        for message in messages {
            assert_eq!(word(message, None), Some(expected), "{message}");
        }
    }
}

#[test]
fn what_is_nothing_special_is_left_to_the_caller() {
    for message in [
        "API Error: 529 Overloaded. This is a server-side issue",
        "Internal server error",
        "Request timed out",
        "EACCES: permission denied, open '/etc/shadow'",
        "No conversation found with session ID: 1",
        "",
    ] {
        assert_eq!(word(message, None), None, "{message}");
    }
    assert_eq!(word("Overloaded", Some(529)), None);
}

#[test]
fn the_status_decides_where_the_text_says_nothing() {
    assert_eq!(word("forbidden", Some(403)), Some("not_logged_in"));
    assert_eq!(word("no", Some(401)), Some("not_logged_in"));
    assert_eq!(word("slow down", Some(429)), Some("rate_limit"));
    assert_eq!(word("too big", Some(413)), Some("context_limit"));
    // Google says 403 for a quota, and the text knows better.
    assert_eq!(word("Quota exceeded for this project", Some(403)), Some("rate_limit"));
    // The text of a limit may talk about logging in another way.
    assert_eq!(word("wait, or switch to another authentication", Some(429)), Some("rate_limit"));
}

#[test]
fn a_status_is_read_only_after_a_word_that_announces_one() {
    assert_eq!(status_in("API Error: 529 Overloaded"), Some(529));
    assert_eq!(status_in("last status: 429 Too Many Requests"), Some(429));
    assert_eq!(status_in(r#"{"error":{"code":401,"message":"no"}}"#), Some(401));
    assert_eq!(status_in("Authentication failed (HTTP 403)."), Some(403));
    assert_eq!(status_in("wrote 429 files, 500 errors"), None);
    assert_eq!(status_in("error 200"), None);
    assert_eq!(status_in("error 4290"), None);
}

#[test]
fn only_a_time_that_is_sure_becomes_the_reset() {
    let at = |text| match judge_text(text, None) {
        Some(BackendOutcome::RateLimit { resets_at, .. }) => resets_at,
        other => panic!("{other:?}"),
    };
    assert_eq!(at("Claude AI usage limit reached|1794778515"), Some(1_794_778_515));
    assert_eq!(at(r#"usage_limit_reached {"resets_at":1794778515}"#), Some(1_794_778_515));
    assert_eq!(at("rate limit, resetsAt: 1794778515000"), Some(1_794_778_515));
    assert_eq!(at("usage limit, resets at 2026-11-15T21:35:15Z."), Some(1_794_778_515));
    assert_eq!(at("quota; try again at 2026-11-15T22:35:15+01:00"), Some(1_794_778_515));
    // Which day, and where?
    assert_eq!(at("You've hit your limit · resets 9:35pm (UTC)"), None);
    assert_eq!(at("usage limit; try again at May 18th, 2033 3:33 AM."), None);
    assert_eq!(at("usage limit, resets at 2026-11-15T21:35:15"), None);
    // Numbers and times that are about something else.
    assert_eq!(at("rate limit for organisation 1794778515"), None);
    assert_eq!(at("2026-11-15T21:35:15Z ERROR rate limit"), None);
    assert_eq!(at("rate limit, resets in 3600 seconds"), None);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}", status in proptest::option::of(0_u16..1000)) {
        let _ = judge_text(&text, status);
    }

    #[test]
    fn no_text_around_a_reset_panics(before in "\\PC{0,40}", after in "\\PC{0,10}") {
        let text = format!("{before}reset {after}1794778515{after}é2026-11-15T21:35:15Z{after}");
        let _ = resets_at(&text);
    }
}
