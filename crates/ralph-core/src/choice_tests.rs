//! Who runs, with which model, and who waits.

use proptest::prelude::*;

use super::*;
use crate::config::{ConfigTier, parse_layer, resolve};

fn config(text: &str) -> Config {
    let layer = parse_layer(ConfigTier::Project, "ralph.toml", text).unwrap();
    resolve([&layer]).unwrap().config
}

const BOTH: &str = "\
backend = 'claude'
model = 'opus'
[stages.verify]
backend = 'codex'
[stages.plan]
model = 'haiku'
[backends.gemini]
model = 'pro'
";

fn asked<'a>(backend: Option<&'a str>, model: Option<&'a str>) -> RequestedBackend<'a> {
    RequestedBackend { backend, model }
}

#[test]
fn the_command_line_wins_over_the_stage_and_the_stage_over_the_rest() {
    let config = config(BOTH);
    let verify = Some(StageName::Verify);
    assert_eq!(backend(&config, verify, asked(Some("gemini"), None)), Some("gemini"));
    assert_eq!(backend(&config, verify, RequestedBackend::default()), Some("codex"));
    assert_eq!(
        backend(&config, Some(StageName::Build), RequestedBackend::default()),
        Some("claude")
    );
    assert_eq!(backend(&config, None, RequestedBackend::default()), Some("claude"));
    assert_eq!(
        backend(&Config::default(), verify, RequestedBackend::default()),
        None,
        "the host looks"
    );
}

#[test]
fn a_model_goes_with_the_backend_that_is_named_beside_it() {
    let config = config(BOTH);
    let model = |stage, asked, used| super::model(&config, stage, asked, used, BackendRole::Chosen);
    let (verify, plan) = (Some(StageName::Verify), Some(StageName::Plan));
    assert_eq!(model(None, RequestedBackend::default(), "claude"), Some("opus"));
    assert_eq!(model(plan, RequestedBackend::default(), "claude"), Some("haiku"));
    assert_eq!(model(verify, RequestedBackend::default(), "codex"), None, "opus is claude's");
    assert_eq!(model(None, asked(Some("gemini"), None), "gemini"), Some("pro"));
    assert_eq!(model(None, asked(Some("codex"), Some("gpt")), "codex"), Some("gpt"));
    assert_eq!(model(None, asked(None, Some("sonnet")), "claude"), Some("sonnet"));
}

#[test]
fn a_backends_own_model_wins_over_the_general_one() {
    let config = config("model = 'any'\n[backends.codex]\nmodel = 'own'\n");
    let model =
        |used| super::model(&config, None, RequestedBackend::default(), used, BackendRole::Chosen);
    assert_eq!((model("codex"), model("claude")), (Some("own"), Some("any")));
}

#[test]
fn a_fallback_is_never_asked_for_the_model_of_another() {
    let config =
        config("model = 'opus'\n[backends.codex]\nmodel = 'gpt'\n[stages.plan]\nmodel='x'\n");
    let asked = asked(None, Some("sonnet"));
    let plan = Some(StageName::Plan);
    assert_eq!(model(&config, plan, asked, "codex", BackendRole::Fallback), Some("gpt"));
    assert_eq!(model(&config, plan, asked, "gemini", BackendRole::Fallback), None);
}

fn limits<const N: usize>(
    all: [(&str, i64, Option<i64>); N],
) -> BTreeMap<String, BackendUsageLimit> {
    all.into_iter()
        .map(|(name, since, resets_at)| {
            (name.to_owned(), BackendUsageLimit { since, resets_at, reason: String::new() })
        })
        .collect()
}

#[test]
fn the_first_one_that_is_not_limited_runs() {
    let order = ["codex", "gemini"];
    let next = |limited, now| super::next("claude", order, &limited, now);
    assert_eq!(next(limits([]), 1000), BackendSelection::Run("claude"));
    let one = limits([("claude", 900, Some(5000))]);
    assert_eq!(next(one.clone(), 1000), BackendSelection::Run("codex"));
    assert_eq!(next(one, 5000), BackendSelection::Run("claude"), "lifted: the preferred one again");
}

#[test]
fn when_all_are_limited_the_earliest_reset_is_waited_for() {
    let limited = limits([
        ("claude", 900, Some(5000)),
        ("codex", 950, Some(3000)),
        ("gemini", 990, Some(3000)),
    ]);
    let next = super::next("claude", ["codex", "gemini"], &limited, 1000);
    assert_eq!(next, BackendSelection::Wait { backend: "codex", until: 3000 });
}

#[test]
fn an_unknown_reset_is_waited_for_and_a_past_one_is_not_tried_at_once() {
    let wait = |resets_at| {
        let limited = limits([("claude", 1000, resets_at)]);
        super::next("claude", [], &limited, 1000)
    };
    assert_eq!(
        wait(None),
        BackendSelection::Wait { backend: "claude", until: 1000 + UNKNOWN_WAIT }
    );
    assert_eq!(
        wait(Some(10)),
        BackendSelection::Wait { backend: "claude", until: 1000 + LEAST_WAIT }
    );
}

proptest! {
    /// Whatever the times: who runs is free, and nobody waits while somebody is free.
    #[test]
    fn nobody_waits_while_a_backend_is_free(
        limited in proptest::collection::btree_map("[a-d]", (any::<i64>(), any::<Option<i64>>()), 0..5),
        fallbacks in proptest::collection::vec("[a-e]", 0..5),
        now in any::<i64>(),
    ) {
        let limited: BTreeMap<String, BackendUsageLimit> = limited
            .into_iter()
            .map(|(name, (since, resets_at))| (name, BackendUsageLimit { since, resets_at, reason: String::new() }))
            .collect();
        let is_free = |name: &str| limited.get(name).is_none_or(|limit| limit.until() <= now);
        let all = || std::iter::once("a").chain(fallbacks.iter().map(String::as_str));
        match next("a", fallbacks.iter().map(String::as_str), &limited, now) {
            BackendSelection::Run(name) => prop_assert_eq!(all().find(|name| is_free(name)), Some(name)),
            BackendSelection::Wait { backend, until } => {
                prop_assert!(!all().any(is_free) && until > now);
                prop_assert_eq!(limited[backend].until(), until);
            }
        }
    }
}
