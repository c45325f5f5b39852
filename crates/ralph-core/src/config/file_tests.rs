//! What a configuration file may say, and how it is told that it may not.

use proptest::prelude::*;

use super::*;

/// A good and a wrong TOML value of a kind.
pub(super) fn samples(kind: &ValueKind) -> (String, &'static str) {
    match kind {
        ValueKind::Bool => ("true".into(), "\"yes\""),
        ValueKind::Whole { .. } => ("7".into(), "1.5"),
        ValueKind::Ratio => ("0.9".into(), "1.01"),
        ValueKind::Dollars => ("2.5".into(), "-1.0"),
        ValueKind::Duration { .. } => ("\"1h30m\"".into(), "90"),
        ValueKind::Text => ("\"some text\"".into(), "\"\""),
        ValueKind::Word(words) => (format!("\"{}\"", words[words.len() - 1]), "\"nonsense\""),
        ValueKind::Size => ("\"2MB\"".into(), "\"2\""),
        ValueKind::Trigger => ("\"periodic:3\"".into(), "\"periodic:0\""),
        ValueKind::List => ("[\"a\", \"b\"]".into(), "[1]"),
        ValueKind::Words(words) => (format!("[\"{}\"]", words[0]), "[\"nonsense\"]"),
        ValueKind::Records(fields) => {
            let needed = fields.iter().filter(|field| matches!(field.absent, AbsentField::Refused));
            let fields: Vec<_> = needed
                .map(|field| format!("{} = {}", field.name, samples(&field.kind).0))
                .collect();
            (format!("[{{ {} }}]", fields.join(", ")), "5")
        }
    }
}

/// Every key with a name in the place of `*`.
pub(super) fn every_key() -> Vec<KeyRef> {
    let slot = |path: &str| match path {
        _ if path.starts_with("stages.") => "verify",
        _ if path.starts_with("backends.") => "claude",
        _ => "",
    };
    keys().map(|key| KeyRef { key, slot: slot(key.path).to_owned() }).collect()
}

pub(super) fn project(text: &str) -> Result<ConfigLayer, ConfigErrors> {
    parse_layer(ConfigTier::Project, "ralph.toml", text)
}

fn load(text: &str) -> ResolvedConfig {
    resolve([&project(text).unwrap()]).unwrap()
}

fn errors(text: &str) -> String {
    match project(text) {
        Err(errors) => errors.to_string(),
        Ok(layer) => resolve([&layer]).expect_err("this must be refused").to_string(),
    }
}

#[test]
fn every_key_is_read_from_toml_and_a_wrong_type_is_refused_with_its_place() {
    for key in every_key() {
        let path = key.path();
        let (good, bad) = samples(&key.key.kind);
        let layer = project(&format!("# a comment\n{path} = {good}\n")).unwrap();
        assert_eq!(layer.entries.len(), 1, "{path}");
        assert_eq!(layer.entries[0].key.path(), path);
        assert_eq!(layer.entries[0].origin.to_string(), "ralph.toml:2");

        for wrong in [bad, "1979-05-27", "{ a = 1 }"] {
            let message = errors(&format!("# a comment\n{path} = {wrong}\n"));
            assert!(message.starts_with("ralph.toml:2:"), "{message}");
            assert!(message.contains(key.key.path.rsplit('.').next().unwrap()), "{message}");
        }
    }
}

#[test]
fn every_key_that_is_read_reaches_its_typed_field() {
    for key in every_key() {
        let path = key.path();
        let (good, _) = samples(&key.key.kind);
        let layer = project(&format!("{path} = {good}\n")).unwrap();
        let mut config = Config::default();
        assert!((key.key.set)(&mut config, &key.slot, &layer.entries[0].value).is_some(), "{path}");
        let value = (key.key.get)(&config, &key.slot).unwrap();
        match (&value, &layer.entries[0].value) {
            // Fields that were left out have come back with their defaults.
            (ConfigValue::Records(out), ConfigValue::Records(_in)) => {
                assert_eq!(out.len(), 1, "{path}")
            }
            (out, put) => assert_eq!(out, put, "{path}"),
        }
    }
}

#[test]
fn the_example_of_the_design_loads_with_every_value() {
    let config = load(
        r#"
backend = "claude"               # default: the first one installed
mode = "handoff-only"            # memory: handoff-only | handoff-plus-index | agent-orchestrated
commit = "task"                  # task | spec   (ralph agent and implementation.json: spec)
on_dirty = "leave"               # leave | commit | refuse
max_retries = 2                  # attempts after the first: 2 means at most three backend runs
gate_strategy = "strict"         # strict | lenient | tests_only

[build]
max_iterations = 50
recent_attempts = 5
[construct]
max_iterations = 10

[limits]
stage_timeout = "5m"
idle_timeout = "10m"
max_cost = 10.0
context_warn = 0.70
context_compact = 0.85
context_kill = 0.95

[[gates]]
name = "test"
command = "cargo test"
kind = "test"
required = true
timeout = "10m"

[backends.claude]
program = "claude"
args = []
model = "opus"

[backends.mybot]
kind = "command"
command = ["mybot", "--prompt-file", "{prompt_file}"]
claim = "marker"

[lane]
dir = "/var/tmp/lanes"
setup = "npm ci"
setup_when = ["package-lock.json"]
copy = [".env"]
link = ["../lib"]
remotes = true

[stages.verify]
backend = "codex"
"#,
    )
    .config;
    assert_eq!(config.backend.as_deref(), Some("claude"));
    assert_eq!(config.mode, MemoryMode::HandoffOnly);
    assert_eq!(config.commit, Some(CommitScope::Task));
    assert_eq!(config.on_dirty, DirtyPolicy::Leave);
    assert_eq!(config.max_retries, 2);
    assert_eq!(config.gate_strategy, GateStrategy::Strict);
    assert_eq!(config.max_iterations, None);
    assert_eq!(config.build.max_iterations.get(), 50);
    assert_eq!(config.build.recent_attempts, 5);
    assert_eq!(config.construct.max_iterations.get(), 10);
    assert_eq!(config.limits.stage_timeout.map(|t| t.get().as_secs()), Some(300));
    assert_eq!(config.limits.idle_timeout.get().as_secs(), 600);
    assert_eq!(config.limits.max_cost.map(Dollars::get), Some(10.0));
    let limits = &config.limits;
    let tiers = [limits.context_warn, limits.context_compact, limits.context_kill].map(Ratio::get);
    assert_eq!(tiers, [0.70, 0.85, 0.95]);
    let gate = &config.gates[0];
    assert_eq!((gate.name.as_str(), gate.command.as_str()), ("test", "cargo test"));
    assert_eq!((gate.kind, gate.required), (Some(GateKind::Test), Some(true)));
    assert_eq!(gate.timeout.get().as_secs(), 600);
    let claude = &config.backends["claude"];
    assert_eq!(claude.program.as_deref(), Some("claude"));
    assert_eq!((claude.args.len(), claude.model.as_deref()), (0, Some("opus")));
    let mybot = &config.backends["mybot"];
    assert_eq!((mybot.kind, mybot.claim), (Some(BackendKind::Command), Some(CommandClaim::Marker)));
    assert_eq!(mybot.command, ["mybot", "--prompt-file", "{prompt_file}"]);
    let lane = &config.lane;
    assert_eq!((lane.dir.as_deref(), lane.remotes), (Some("/var/tmp/lanes"), true));
    assert_eq!(lane.setup.as_deref(), Some("npm ci"));
    assert_eq!(
        (&lane.setup_when[..], &lane.copy[..]),
        (&["package-lock.json".to_owned()][..], &[".env".to_owned()][..])
    );
    assert_eq!(lane.link, ["../lib"]);
    assert_eq!(config.stage(StageName::Verify).backend.as_deref(), Some("codex"));
    assert_eq!(config.stage(StageName::Build), StageSettings::default());
}

#[test]
fn an_empty_file_gives_the_defaults() {
    assert_eq!(load("").config, Config::default());
    assert_eq!(load("# only a comment\n").config, Config::default());
    assert_eq!(load("[limits]\n[backends.claude]\n").config, Config::default());
}

#[test]
fn unknown_names_are_refused_with_the_nearest_name_of_their_table() {
    let cases = [
        (
            "max_retrys = 3",
            "ralph.toml:1:1: unknown key `max_retrys` (did you mean `max_retries`?)",
        ),
        ("\n[limit]\n", "ralph.toml:2:2: unknown table `limit` (did you mean `limits`?)"),
        (
            "[limits]\nstage_timeot = 1",
            "ralph.toml:2:1: unknown key `stage_timeot` (did you mean `stage_timeout`?)",
        ),
        (
            "[limits]\nmax_retries = 1",
            "ralph.toml:2:1: unknown key `max_retries` (it belongs above the first [table])",
        ),
        (
            "validation_strategy = \"strict\"",
            "ralph.toml:1:1: unknown key `validation_strategy` (did you mean `gate_strategy`?)",
        ),
        (
            "max_cost = 5.0",
            "ralph.toml:1:1: unknown key `max_cost` (did you mean `limits.max_cost`?)",
        ),
        ("zebra = 1", "ralph.toml:1:1: unknown key `zebra`"),
        (
            "[[gates]]\nname = 'a'\ncomand = 'b'",
            "ralph.toml:1:1: this [[gates]] has no `command`\nralph.toml:3:1: unknown key `comand` (did you mean `command`?)",
        ),
        (
            "[stages.verfy]\nmodel = 'x'",
            "ralph.toml:1:9: unknown stage `verfy` (did you mean `verify`?)",
        ),
        (
            "[backends.claude]\nmodle = 'x'",
            "ralph.toml:2:1: unknown key `modle` (did you mean `model`?)",
        ),
        (
            "[backends.'my bot']\nkind = 'sim'",
            "ralph.toml:1:11: `my bot` cannot be the name of a backend: use letters, digits, `-` and `_`",
        ),
        (
            "'limits.max_cost' = 5.0",
            "ralph.toml:1:1: unknown key \"limits.max_cost\" (a name in quotes is one name)",
        ),
        (
            "[backends.'*']\nkind = 'sim'",
            "ralph.toml:1:11: unknown key \"*\" (a name in quotes is one name)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(errors(text), expected, "{text}");
    }
}

#[test]
fn bad_values_say_what_was_expected() {
    let cases = [
        (
            "mode = \"handof-only\"",
            "ralph.toml:1:8: `mode`: expected handoff-only, handoff-plus-index or agent-orchestrated, found `handof-only` (did you mean `handoff-only`?)",
        ),
        (
            "max_retries = -1",
            "ralph.toml:1:15: `max_retries`: expected a whole number from 0 to 4294967295, found `-1`",
        ),
        (
            "max_retries = \"3\"",
            "ralph.toml:1:15: `max_retries`: expected a whole number from 0 to 4294967295, found `3`",
        ),
        (
            "build.max_iterations = 0",
            "ralph.toml:1:24: `build.max_iterations`: expected a whole number from 1 to 4294967295, found `0`",
        ),
        ("limits = 5", "ralph.toml:1:1: `limits` is a table: write [limits]"),
        ("backends.claude = 'x'", "ralph.toml:1:10: `claude` is a table: write [backends.claude]"),
        ("gates = ['cargo test']", "ralph.toml:1:10: `gates` is a list of tables: write [[gates]]"),
        ("[gates]\nname = 'x'", "ralph.toml:1:1: `gates` is a list of tables: write [[gates]]"),
        (
            "[limits]\nidle_timeout = \"0s\"",
            "ralph.toml:2:16: `limits.idle_timeout`: expected a duration with units, such as \"90s\", \"10m\" or \"1h30m\", longer than 0, found `0s`",
        ),
        (
            "[mode]",
            "ralph.toml:1:1: `mode`: expected handoff-only, handoff-plus-index or agent-orchestrated, found `[mode]`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(errors(text), expected, "{text}");
    }
}

#[test]
fn all_problems_of_a_file_are_told_at_once_in_their_order() {
    let message = errors("zebra = 1\nmode = 5\n[limits]\nmax_cost = \"much\"\nwhat = 1\n");
    let places: Vec<&str> = message.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["ralph.toml:1:1", "ralph.toml:2:8", "ralph.toml:4:12", "ralph.toml:5:1"]);
}

#[test]
fn toml_mistakes_are_told_in_plain_words_with_their_line() {
    let cases = [
        ("mode = ", "ralph.toml:1:8: there is no value after `=`"),
        ("max_retries = 1\nmax_retries = 2", "ralph.toml:2:1: `max_retries` is set twice"),
        ("[limits]\n[limits]", "ralph.toml:2:2: `limits` is set twice"),
        ("a = 1\n[x\n", "ralph.toml:2:3: unclosed table, expected `]`"),
    ];
    for (text, expected) in cases {
        assert_eq!(errors(text), expected, "{text}");
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let layer =
        project("\u{feff}mode = \"handoff-only\"\r\n\r\n[limits]\r\nmax_cost = 3\r\n").unwrap();
    let places: Vec<String> = layer.entries.iter().map(|entry| entry.origin.to_string()).collect();
    assert_eq!(places, ["ralph.toml:1", "ralph.toml:4"]);
}

#[test]
fn tables_may_be_written_inline_dotted_or_with_headers() {
    let header = load("[limits]\nmax_cost = 3\n[[gates]]\nname = 'a'\ncommand = 'b'\n").config;
    assert_eq!(load("limits.max_cost = 3\ngates = [{ name = 'a', command = 'b' }]").config, header);
    assert_eq!(
        load("limits = { max_cost = 3.0 }\n[[gates]]\nname='a'\ncommand='b'").config,
        header
    );
}

#[test]
fn a_file_full_of_mistakes_is_given_up_early() {
    let text: String = (0..10_000).map(|n| format!("zebra{n} = 1\n")).collect();
    assert_eq!(errors(&text).lines().count(), 50);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = project(&text);
    }

    #[test]
    fn no_toml_like_text_makes_the_reader_panic(
        text in "(mode|gates|\\[limits\\]|\\[\\[gates\\]\\]|backends|stages\\.x|=|\\.|\"[a-z]*\"|[0-9]{1,30}|\\{|\\}|\\[|\\]|,|\n| ){0,40}"
    ) {
        let _ = project(&text);
    }
}
