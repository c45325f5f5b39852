//! Which layer wins, and what must be true between keys.

use super::file_tests::project;
use super::*;
use crate::plan::PlanConfig;

/// One layer of each tier, lowest first, that sets both keys to the tier's place in the order.
fn tiers() -> Vec<ConfigLayer> {
    let text = |n: usize| format!("[limits]\nstage_timeout = '{n}s'\n");
    let plan = PlanConfig { timeout_ms: Some(3000), line: 1, ..PlanConfig::default() };
    vec![
        parse_layer(ConfigTier::User, "~/.config/ralph/config.toml", &text(1)).unwrap(),
        parse_layer(ConfigTier::Project, "ralph.toml", &text(2)).unwrap(),
        plan_layer("ralph/plan.jsonl", &plan).unwrap(),
        env_layer([("RALPH_LIMITS_STAGE_TIMEOUT".into(), "4s".into())]).unwrap(),
        flag_layer(&[ConfigFlag {
            name: "--timeout",
            key: "limits.stage_timeout",
            value: "5s".into(),
        }])
        .unwrap(),
    ]
}

#[test]
fn of_each_pair_of_layers_the_higher_one_wins_and_is_the_origin() {
    let origins = [
        (ConfigTier::User, "~/.config/ralph/config.toml:2"),
        (ConfigTier::Project, "ralph.toml:2"),
        (ConfigTier::Plan, "ralph/plan.jsonl:1"),
        (ConfigTier::Environment, "RALPH_LIMITS_STAGE_TIMEOUT"),
        (ConfigTier::Flag, "--timeout"),
    ];
    let layers = tiers();
    for high in 0..layers.len() {
        for low in 0..=high {
            let pair =
                if low == high { vec![&layers[high]] } else { vec![&layers[low], &layers[high]] };
            let resolved = resolve(pair).unwrap();
            let seconds = resolved.config.limits.stage_timeout.map(|t| t.get().as_secs());
            assert_eq!(seconds, Some(high as u64 + 1));
            let origin = resolved.origin("limits.stage_timeout");
            assert_eq!((origin.tier, origin.to_string().as_str()), origins[high]);
        }
    }
    assert!(
        ConfigTier::Default < ConfigTier::User
            && ConfigTier::User < ConfigTier::Project
            && ConfigTier::Project < ConfigTier::Plan
    );
    assert!(
        ConfigTier::Plan < ConfigTier::Environment && ConfigTier::Environment < ConfigTier::Flag
    );
}

#[test]
fn nothing_set_means_the_default_and_says_so() {
    let shown = resolve([]).unwrap().get("limits.idle_timeout").unwrap();
    assert_eq!(shown.value.map(|value| value.to_string()).as_deref(), Some("10m"));
    assert_eq!(shown.origin.to_string(), "default");
    assert_eq!(resolve([]).unwrap().get("limits.max_cost").unwrap().value, None);
}

#[test]
fn the_plan_record_sets_its_five_keys() {
    let plan = PlanConfig {
        timeout_ms: Some(1500),
        max_iterations: Some(4),
        context_warn: Some(0.5),
        context_compact: Some(0.6),
        context_kill: Some(0.75),
        line: 3,
    };
    let resolved = resolve([&plan_layer("plan.jsonl", &plan).unwrap()]).unwrap();
    let limits = &resolved.config.limits;
    assert_eq!(limits.stage_timeout.map(|t| t.get().as_millis()), Some(1500));
    assert_eq!(resolved.config.construct.max_iterations.get(), 4);
    assert_eq!(resolved.config.build.max_iterations.get(), 50, "construct's alone");
    let shares = [limits.context_warn, limits.context_compact, limits.context_kill];
    assert_eq!(shares.map(Ratio::get), [0.5, 0.6, 0.75]);

    let bad = PlanConfig { context_warn: Some(70.0), line: 3, ..PlanConfig::default() };
    assert_eq!(
        plan_layer("plan.jsonl", &bad).unwrap_err().to_string(),
        "plan.jsonl:3: the config record's `context_warn`: expected a number from 0 to 1, found `70`"
    );
    let never = PlanConfig { max_iterations: Some(0), line: 1, ..PlanConfig::default() };
    assert!(plan_layer("plan.jsonl", &never).is_err());
}

#[test]
fn a_limit_for_both_loops_wins_over_one_loop_in_its_layer_and_below_but_not_above() {
    let both = project("max_iterations = 7\n[build]\nmax_iterations = 3\n").unwrap();
    let resolved = resolve([&both]).unwrap();
    assert_eq!(resolved.config.build.max_iterations.get(), 7);
    assert_eq!(resolved.config.construct.max_iterations.get(), 7);
    assert_eq!(resolved.origin("build.max_iterations").to_string(), "ralph.toml:1");

    let plan = PlanConfig { max_iterations: Some(4), line: 1, ..PlanConfig::default() };
    let above = resolve([&both, &plan_layer("plan.jsonl", &plan).unwrap()]).unwrap();
    assert_eq!(above.config.construct.max_iterations.get(), 4);
    assert_eq!(above.config.build.max_iterations.get(), 7);
}

#[test]
fn tables_merge_by_key_and_lists_of_tables_are_replaced() {
    let user = "[backends.mybot]\nkind = 'command'\ncommand = ['mybot']\n[[gates]]\nname='a'\ncommand='a'\n";
    let user = parse_layer(ConfigTier::User, "config.toml", user).unwrap();
    let own =
        project("[backends.mybot]\nmodel = 'big'\n[[gates]]\nname='b'\ncommand='b'\n").unwrap();
    let resolved = resolve([&user, &own]).unwrap();
    let mybot = &resolved.config.backends["mybot"];
    assert_eq!((mybot.kind, mybot.model.as_deref()), (Some(BackendKind::Command), Some("big")));
    assert_eq!(resolved.origin("backends.mybot.kind").to_string(), "config.toml:2");
    assert_eq!(resolved.origin("backends.mybot.model").to_string(), "ralph.toml:2");
    let gates: Vec<&str> = resolved.config.gates.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(gates, ["b"]);
}

#[test]
fn rules_between_keys_are_checked_and_blame_the_line_that_broke_them() {
    let cases = [
        (
            "[limits]\ncontext_warn = 0.9\n",
            "ralph.toml:2: the context limits must rise: context_warn 0.9 < context_compact 0.85 < context_kill 0.95",
        ),
        (
            "[limits]\ncontext_kill = 0.85\n",
            "ralph.toml:2: the context limits must rise: context_warn 0.7 < context_compact 0.85 < context_kill 0.85",
        ),
        (
            "backend = 'cluade'",
            "ralph.toml:1: `backend`: unknown backend `cluade` (did you mean `claude`?)",
        ),
        (
            "fallback_backends = ['zzz']",
            "ralph.toml:1: `fallback_backends`: unknown backend `zzz`; describe it in [backends.zzz]",
        ),
        (
            "[stages.plan]\nbackend = 'acp'\n",
            "ralph.toml:2: `stages.plan.backend`: unknown backend `acp`; describe it in [backends.acp]",
        ),
        (
            "[backends.mybot]\nmodel = 'x'\n",
            "ralph.toml:2: [backends.mybot] has no `kind`: claude, codex, gemini, opencode, acp, command or sim",
        ),
        (
            "[backends.mybot]\nkind = 'command'\n",
            "ralph.toml:2: [backends.mybot] of kind command has no `command`",
        ),
        (
            "[backends.zed]\nkind = 'acp'\n",
            "ralph.toml:2: [backends.zed] of kind acp has no `program`",
        ),
        (
            "[backends.claude]\nmodel = 'x'\nclaim = 'exit'\n",
            "ralph.toml:3: `claim` means nothing for a backend of kind claude",
        ),
        (
            "[backends.codex]\nmode = 'yolo'\n",
            "ralph.toml:2: `mode` means nothing for a backend of kind codex",
        ),
        (
            "[backends.m]\nkind = 'command'\ncommand = ['m']\nprogram = 'm'\n",
            "ralph.toml:4: `program` means nothing for a backend of kind command",
        ),
        (
            "[backends.m]\nkind = 'command'\ncommand = ['m', '{promptfile}']\n",
            "ralph.toml:3: [backends.m]: unknown placeholder `{promptfile}`: did you mean `{prompt_file}`?",
        ),
        (
            "[[gates]]\nname='a'\ncommand='a'\n[[gates]]\nname='a'\ncommand='b'\n",
            "ralph.toml:1: two of the gates are called `a`",
        ),
        (
            "[[notify]]\nkind = 'slack'\n",
            "ralph.toml:1: the [[notify]] of kind slack has no `url_env`",
        ),
        (
            "[[notify]]\nkind = 'command'\n",
            "ralph.toml:1: the [[notify]] of kind command has no `command`",
        ),
    ];
    for (text, expected) in cases {
        let errors = resolve([&project(text).unwrap()]).unwrap_err();
        assert_eq!(errors.to_string(), expected, "{text}");
    }
}

#[test]
fn a_backend_described_in_another_layer_is_known() {
    let user =
        parse_layer(ConfigTier::User, "u", "[backends.mybot]\nkind = 'command'\ncommand = ['m']\n")
            .unwrap();
    assert!(resolve([&user, &project("backend = 'mybot'").unwrap()]).is_ok());
}

#[test]
fn show_lists_every_key_once_with_what_is_configured_for_the_stars() {
    let text =
        "[backends.mybot]\nkind = 'command'\ncommand = ['m']\n[stages.verify]\nmodel = 'x'\n";
    let shown = resolve([&project(text).unwrap()]).unwrap().show();
    let names: Vec<&str> = shown.iter().map(|shown| shown.key.as_str()).collect();
    assert_eq!(names.len(), keys().count(), "one backend and one stage");
    assert!(names.contains(&"backends.mybot.command") && names.contains(&"stages.verify.model"));
    let command = shown.iter().find(|shown| shown.key == "backends.mybot.command").unwrap();
    assert_eq!(command.value.as_ref().unwrap().to_toml(), "[\"m\"]");
    assert_eq!(command.origin.to_string(), "ralph.toml:3");
}

#[test]
fn an_unknown_key_asked_for_by_name_gets_the_nearest_one() {
    let resolved = resolve([]).unwrap();
    let ask = |path: &str| resolved.get(path).unwrap_err().to_string();
    assert_eq!(
        ask("limit.max_cost"),
        "unknown key `limit.max_cost` (did you mean `limits.max_cost`?)"
    );
    assert_eq!(
        ask("backends.my.modle"),
        "unknown key `backends.my.modle` (did you mean `backends.my.model`?)"
    );
    assert_eq!(ask("stages.verfy.model"), "unknown stage `verfy` (did you mean `verify`?)");
    assert_eq!(ask(""), "unknown key ``");
}

#[test]
fn a_flag_with_a_bad_value_is_named() {
    let flags = [ConfigFlag { name: "--max-cost", key: "limits.max_cost", value: "lots".into() }];
    assert_eq!(
        flag_layer(&flags).unwrap_err().to_string(),
        "--max-cost: expected an amount in dollars such as 10.0, found `lots`"
    );
}

#[test]
fn a_run_has_ten_minutes_in_build_and_five_elsewhere_unless_told_otherwise() {
    let times = |text: &str| {
        let limits = resolve([&project(text).unwrap()]).unwrap().config.limits;
        (limits.build_timeout().as_secs(), limits.construct_timeout().as_secs())
    };
    assert_eq!(times(""), (600, 300));
    assert_eq!(times("limits.stage_timeout = '30m'"), (1800, 1800));
}
