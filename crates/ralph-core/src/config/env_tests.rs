//! What variables set, and which ones are left alone.

use std::ffi::OsString;
use std::time::Duration;

use super::env::deluxe_variables;
use super::file_tests::{every_key, samples};
use super::*;

fn layer(vars: &[(&str, &str)]) -> Result<ConfigLayer, ConfigErrors> {
    env_layer(vars.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
}

fn config(vars: &[(&str, &str)]) -> Config {
    resolve([&layer(vars).unwrap()]).unwrap().config
}

fn errors(vars: &[(&str, &str)]) -> String {
    layer(vars).unwrap_err().to_string()
}

#[test]
fn every_key_but_lists_of_tables_is_read_from_its_variable_and_a_wrong_value_names_it() {
    for key in every_key() {
        let name = variable_name(&key.path());
        let (good, bad) = samples(&key.key.kind);
        let (good, bad) = (good.trim_matches('"'), bad.trim_matches('"'));
        if matches!(key.key.kind, ValueKind::Records(_)) {
            assert!(layer(&[(&name, good)]).unwrap().entries.is_empty(), "{name}");
            continue;
        }
        let read = layer(&[(&name, good)]).unwrap();
        assert_eq!(read.entries.len(), 1, "{name}");
        assert_eq!(read.entries[0].key.path(), key.path());
        assert_eq!(read.entries[0].origin.to_string(), name);

        assert!(layer(&[(&name, "")]).unwrap().entries.is_empty(), "{name}: empty is not set");
        if !bad.is_empty() {
            let message = errors(&[(&name, bad)]);
            assert!(message.starts_with(&format!("{name}: expected ")), "{message}");
        }
    }
}

#[test]
fn every_variable_of_ralph_deluxe_works() {
    let set = config(&[
        ("RALPH_MAX_ITERATIONS", "7"),
        ("RALPH_PLAN_FILE", "plans/plan.json"),
        ("RALPH_MODE", "handoff-plus-index"),
        ("RALPH_VALIDATION_STRATEGY", "tests_only"),
        ("RALPH_VALIDATION_COMMANDS", "[\"bats tests/\", \"shellcheck x.sh\"]"),
        ("RALPH_CONTEXT_BUDGET_TOKENS", "9000"),
        ("RALPH_CONTEXT_BUDGET_TOKENS_HPI", "17000"),
        ("RALPH_COMPACTION_INTERVAL", "6"),
        ("RALPH_COMPACTION_THRESHOLD_BYTES", "33000"),
        ("RALPH_COMPACTION_MAX_TURNS", "11"),
        ("RALPH_NOVELTY_OVERLAP_THRESHOLD", "0.3"),
        ("RALPH_NOVELTY_RECENT_HANDOFFS", "4"),
        ("RALPH_MIN_DELAY_SECONDS", "31"),
        ("RALPH_SKIP_PERMISSIONS", "false"),
        ("RALPH_MODEL", "opus"),
        ("RALPH_FALLBACK_MODEL", "haiku"),
        ("RALPH_AUTO_COMMIT", "false"),
        ("RALPH_COMMIT_PREFIX", "bot"),
        ("RALPH_CONTEXT_AGENT_MODEL", "sonnet"),
        ("RALPH_AGENT_PASSES_ENABLED", "false"),
        ("RALPH_LOG_LEVEL", "debug"),
        ("RALPH_LOG_FILE", "x.log"),
        ("RALPH_DEFAULT_MAX_TURNS", "20"),
    ]);
    assert_eq!(set.max_iterations.map(|n| n.get()), Some(7));
    assert_eq!((set.build.max_iterations.get(), set.construct.max_iterations.get()), (7, 7));
    assert_eq!(set.plan.as_deref(), Some("plans/plan.json"));
    assert_eq!(set.mode, MemoryMode::HandoffPlusIndex);
    assert_eq!(set.gate_strategy, GateStrategy::TestsOnly);
    let gates: Vec<_> = set.gates.iter().map(|gate| (gate.name.as_str(), gate.checks())).collect();
    assert_eq!(gates, [("bats tests/", GateKind::Test), ("shellcheck x.sh", GateKind::Lint)]);
    assert_eq!(set.memory.context_budget_tokens.get(), 9000);
    assert_eq!(set.memory.context_budget_tokens_hpi.get(), 17000);
    assert_eq!(set.memory.compaction_interval, 6);
    assert_eq!(set.memory.compaction_threshold_bytes, 33000);
    assert_eq!(set.memory.compaction_max_turns.get(), 11);
    assert_eq!(set.memory.novelty_overlap_threshold.get(), 0.3);
    assert_eq!(set.memory.novelty_recent_handoffs, 4);
    assert_eq!(set.min_delay, Duration::from_secs(31));
    assert_eq!((set.skip_permissions, set.auto_commit, set.passes_enabled), (false, false, false));
    assert_eq!(set.model.as_deref(), Some("opus"));
    assert_eq!(set.fallback_model.as_deref(), Some("haiku"));
    assert_eq!(set.commit_prefix, "bot");
    assert_eq!(set.stage(StageName::Context).model.as_deref(), Some("sonnet"));
    assert_eq!((set.log_level, set.log_file.as_str()), (LogLevel::Debug, "x.log"));
    assert_eq!(set.max_turns.map(|n| n.get()), Some(20));
}

#[test]
fn gate_commands_may_stand_one_per_line_and_replace_the_gates_of_the_file() {
    let file = super::file_tests::project("[[gates]]\nname = 'a'\ncommand = 'b'\n").unwrap();
    let vars = layer(&[("RALPH_VALIDATION_COMMANDS", "cargo test\n\n  cargo clippy \ncargo test")])
        .unwrap();
    let gates = resolve([&file, &vars]).unwrap().config.gates;
    let commands: Vec<&str> = gates.iter().map(|gate| gate.command.as_str()).collect();
    assert_eq!(commands, ["cargo test", "cargo clippy"]);
    assert!(
        errors(&[("RALPH_VALIDATION_COMMANDS", "[1]")]).starts_with("RALPH_VALIDATION_COMMANDS: ")
    );
}

#[test]
fn the_pause_poll_variable_is_accepted_with_a_warning() {
    let layer = layer(&[("RALPH_PAUSE_POLL_SECONDS", "5")]).unwrap();
    assert!(layer.entries.is_empty());
    assert!(layer.warnings[0].starts_with("RALPH_PAUSE_POLL_SECONDS has no effect"));
}

#[test]
fn other_variables_are_left_alone_and_a_typing_error_is_a_warning() {
    let ours =
        ["RALPH_RUN", "RALPH_ATTEMPT", "RALPH_TASK", "RALPH_NOW", "RALPH_SEED", "RALPH_MAILBOX"];
    for name in ours.into_iter().chain(["RALPH_SOMEBODY_ELSES", "PATH", "RALPH_", "RALPH"]) {
        let layer = layer(&[(name, "x")]).unwrap();
        assert!(
            layer.entries.is_empty() && layer.warnings.is_empty(),
            "{name}: {:?}",
            layer.warnings
        );
    }
    assert_eq!(
        layer(&[("RALPH_MAX_ITERATION", "5")]).unwrap().warnings,
        ["RALPH_MAX_ITERATION is not a variable of ralph (did you mean RALPH_MAX_ITERATIONS?)"]
    );
}

#[test]
fn two_variables_for_one_key_are_refused() {
    let message = errors(&[("RALPH_PLAN", "a"), ("RALPH_PLAN_FILE", "b")]);
    assert_eq!(message, "RALPH_PLAN_FILE: RALPH_PLAN sets `plan` too: keep one of them");
}

#[test]
fn names_of_backends_and_stages_are_part_of_the_variable() {
    let set = config(&[
        ("RALPH_BACKENDS_CLAUDE_PROGRAM", "/opt/claude"),
        ("RALPH_BACKENDS_CODEX_PRICES_INPUT", "1.25"),
        ("RALPH_STAGES_VERIFY_BACKEND", "codex"),
    ]);
    assert_eq!(set.backends["claude"].program.as_deref(), Some("/opt/claude"));
    assert_eq!(set.backends["codex"].prices.input.map(Dollars::get), Some(1.25));
    assert_eq!(set.stage(StageName::Verify).backend.as_deref(), Some("codex"));
    assert!(layer(&[("RALPH_STAGES_NONSENSE_BACKEND", "x")]).unwrap().entries.is_empty());
}

#[test]
fn every_variable_with_a_name_of_its_own_is_documented() {
    let page = reference_page();
    for (name, _) in deluxe_variables() {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_value_that_is_not_utf8_is_refused_only_for_a_key() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = || OsString::from_vec(vec![0xff, 0xfe]);
    let message = env_layer([(OsString::from("RALPH_MODEL"), bytes())]).unwrap_err().to_string();
    assert_eq!(
        message,
        "RALPH_MODEL: expected text that is not empty, found bytes that are not UTF-8"
    );
    assert!(env_layer([(OsString::from("RALPH_ELSE"), bytes()), (bytes(), bytes())]).is_ok());
}
