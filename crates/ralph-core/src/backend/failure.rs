//! Classification of failures by error text and HTTP status.
//!
//! The programs use the same few providers, so all of them print the same phrases. Only *error*
//! texts belong here: an answer about rate limits is not an error. The result decides whether
//! ralph waits, stops or makes the task smaller. Therefore each phrase is one that a real program
//! or provider prints, and a time counts only if its meaning is certain.

use jiff::Timestamp;

use super::BackendOutcome;

/// Phrases for a request that does not fit into the context.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "prompt as too long",
    "prompt_too_long",
    "input is too long",
    "context_length_exceeded",
    "context length exceeded",
    "context_window_exceeded",
    "context window exceeded",
    "maximum context length",
    "exceeds the context window",
    "exceed the context window",
    "exceeded the context window",
    "exceeds the model's context",
    "exceeded the model's context",
    "context window is full",
    "exceed context limit",
    "context exceeds model limit",
    "input token count exceeds",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
    "request_too_large",
];

/// The account may not use more for now.
const LIMITED: &[&str] = &[
    "usage limit",
    "usage_limit",
    "rate limit",
    "rate-limit",
    "rate_limit",
    "ratelimit",
    "limit reached",
    "hit your limit",
    "quota",
    "too many requests",
    "resource_exhausted",
    "resource has been exhausted",
    "credit balance is too low",
    "out of credits",
];

/// Phrases for credentials that are missing or were refused.
const NO_LOGIN: &[&str] = &[
    "authentication",
    "failed to authenticate",
    "unauthenticated",
    "unauthorized",
    "not logged in",
    "not signed in",
    "not authenticated",
    "please run /login",
    "please log in",
    "please login",
    "'/login'",
    "login required",
    "auth login",
    "invalid api key",
    "invalid x-api-key",
    "invalid_api_key",
    "incorrect api key",
    "api key not valid",
    "api key not found",
    "api_key_invalid",
    "missing api key",
    "no api key",
    "_api_key environment variable",
    "missing environment variable",
    "invalid bearer token",
    "token has expired",
    "token expired",
    "no credentials",
    "invalid credentials",
    "missing credentials",
];

/// A tool was refused. `permission denied` alone is what the operating system says about files.
const DENIED: &[&str] = &[
    "permission denied because",
    "permission to use",
    "rejected permission",
    "denied by policy",
    "haven't granted it",
];

/// Words before a number that make it an HTTP status.
const BEFORE_STATUS: &[&str] = &["status", "statuscode", "http", "error", "code", "rejected"];

/// Words shortly before a time that make it the time of a reset.
const BEFORE_RESET: &[&str] = &["reset", "again", "until", "limit reached|"];

/// Maximum distance between a time and its word from `BEFORE_RESET`, in characters.
const NEAR: usize = 32;

/// Judges an error text, with the HTTP status where the program gave one beside it. `None` is
/// "nothing special": the caller knows whether that is an API error or a crash.
pub fn judge_text(message: &str, status: Option<u16>) -> Option<BackendOutcome> {
    let status = status.or_else(|| status_in(message));
    let lower = message.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let text = || message.trim().to_owned();
    if says(TOO_LONG) || status == Some(413) {
        Some(BackendOutcome::ContextLimit)
    } else if says(LIMITED) || matches!(status, Some(402 | 429)) {
        Some(BackendOutcome::RateLimit { resets_at: resets_at(message), message: text() })
    } else if says(NO_LOGIN) || matches!(status, Some(401 | 403)) {
        Some(BackendOutcome::NotLoggedIn { message: text() })
    } else if says(DENIED) {
        Some(BackendOutcome::PermissionDenied { tools: Vec::new() })
    } else {
        None
    }
}

/// The HTTP status of an error that an error text names, as in `HTTP 401` or `API Error: 529`.
pub fn status_in(message: &str) -> Option<u16> {
    let mut before = "";
    for word in message.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
    {
        if word.len() == 3
            && BEFORE_STATUS.iter().any(|known| before.eq_ignore_ascii_case(known))
            && let Ok(status @ 400..=599) = word.parse()
        {
            return Some(status);
        }
        before = word;
    }
    None
}

/// When a limit is lifted, in seconds since 1970. A time of day (`resets 3pm`) or a date without a
/// zone is not enough: which day, and where, is not said.
pub fn resets_at(message: &str) -> Option<i64> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '+' | '.');
    let mut rest = 0;
    while let Some(found) = message.get(rest..)?.find(|c: char| c.is_ascii_digit()) {
        let start = rest + found;
        let tail = &message[start..];
        let end = start + tail.find(|c: char| !is_part(c)).unwrap_or(tail.len());
        let word = message[start..end].trim_end_matches(['.', ':', '-']);
        if is_reset(&message[..start])
            && let Some(time) = epoch(word).or_else(|| iso(word))
        {
            return Some(time);
        }
        rest = end;
    }
    None
}

/// Whether what stands just before a time speaks of a reset.
fn is_reset(before: &str) -> bool {
    let near: String = before.chars().rev().take(NEAR).collect();
    let near: String = near.chars().rev().collect::<String>().to_ascii_lowercase();
    BEFORE_RESET.iter().any(|word| near.contains(word))
}

/// Seconds or milliseconds since 1970, of a year from 2020 to 2099.
fn epoch(word: &str) -> Option<i64> {
    let number: i64 = word.parse().ok()?;
    let seconds = match word.len() {
        10 => number,
        13 => number / 1000,
        _ => return None,
    };
    (1_577_836_800..4_102_444_800).contains(&seconds).then_some(seconds)
}

/// A date and time with its zone.
fn iso(word: &str) -> Option<i64> {
    word.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
