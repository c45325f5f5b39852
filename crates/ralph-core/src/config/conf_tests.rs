//! A shell file is read, never run, and loses nothing without a word.

use proptest::prelude::*;

use super::*;

fn names(conf: &ConfFile) -> Vec<(&str, &ConfValue)> {
    conf.assignments.iter().map(|a| (a.name.as_str(), &a.value)).collect()
}

fn one(text: &str) -> ConfValue {
    let conf = parse_conf(text);
    assert!(conf.skipped.is_empty(), "{:?}", conf.skipped);
    assert_eq!(conf.assignments.len(), 1);
    conf.assignments[0].value.clone()
}

fn skipped(text: &str) -> Vec<(usize, String)> {
    let conf = parse_conf(text);
    assert_eq!(conf.assignments, [], "nothing of this may be taken for a setting");
    conf.skipped.into_iter().map(|skipped| (skipped.line, skipped.what)).collect()
}

fn text(text: &str) -> ConfValue {
    ConfValue::Text(text.to_owned())
}

fn list(items: &[&str]) -> ConfValue {
    ConfValue::List(items.iter().map(|item| (*item).to_owned()).collect())
}

/// The shape of the file that Ralph Deluxe ships.
const SHIPPED: &str = r#"# settings

# === Core ===
RALPH_MAX_ITERATIONS=50
RALPH_PLAN_FILE="plan.json"
RALPH_VALIDATION_STRATEGY="lenient"  # strict | lenient | tests_only
RALPH_DEFAULT_MAX_TURNS=20
RALPH_MIN_DELAY_SECONDS=15           # be gentle
RALPH_MODEL=""                       # empty: the default
RALPH_FALLBACK_MODEL='sonnet'
export RALPH_SKIP_PERMISSIONS=true
RALPH_NOVELTY_OVERLAP_THRESHOLD=0.25
RALPH_CONTEXT_AGENT_MODEL="haiku"
RALPH_PAUSE_POLL_SECONDS=5

RALPH_VALIDATION_COMMANDS=(
    "bats tests/"       # the tests
    "shellcheck .ralph/ralph.sh .ralph/lib/*.sh"
)
"#;

#[test]
fn gate_commands_that_could_not_be_read_back_are_not_imported() {
    let text = |conf: &str| conf_to_toml(&parse_conf(conf)).text;
    let blank = text("RALPH_VALIDATION_COMMANDS=(' ' 'make check')");
    assert!(blank.ends_with("[[gates]]\nname = \"make check\"\ncommand = \"make check\"\n"));
    let damaged = conf_to_toml(&parse_conf("RALPH_VALIDATION_COMMANDS=('make\0check')"));
    assert!(!damaged.text.contains("gates"));
    let [SkippedPart { line: 1, what }] = &damaged.left_out[..] else { panic!("{damaged:?}") };
    assert!(what.starts_with("RALPH_VALIDATION_COMMANDS was left out: "), "{what}");
}

#[test]
fn the_shipped_file_becomes_a_ralph_toml() {
    let conf = parse_conf(SHIPPED);
    assert_eq!(conf.skipped, []);
    assert_eq!(conf.assignments.len(), 12);
    let imported = conf_to_toml(&conf);
    assert_eq!(
        imported.text,
        r#"fallback_model = "sonnet"
skip_permissions = true
max_turns = 20
plan = "plan.json"
max_iterations = 50
min_delay = "15s"
gate_strategy = "lenient"

[memory]
novelty_overlap_threshold = 0.25

[stages.context]
model = "haiku"

[[gates]]
name = "bats tests/"
command = "bats tests/"

[[gates]]
name = "shellcheck .ralph/ralph.sh .ralph/lib/*.sh"
command = "shellcheck .ralph/ralph.sh .ralph/lib/*.sh"
"#
    );
    let what =
        "RALPH_PAUSE_POLL_SECONDS was left out: ralph is told when a pause ends and does not poll";
    assert_eq!(imported.left_out, [SkippedPart { line: 14, what: what.to_owned() }]);
    let config =
        resolve([&parse_layer(ConfigTier::Project, "ralph.toml", &imported.text).unwrap()])
            .unwrap()
            .config;
    assert_eq!(config.gates.len(), 2);
    assert_eq!(config.build.max_iterations.get(), 50);
}

#[test]
fn an_import_without_a_delay_keeps_the_delay_of_ralph_deluxe() {
    assert_eq!(conf_to_toml(&parse_conf("")).text, "min_delay = \"30s\"\n");
    assert_eq!(conf_to_toml(&parse_conf("RALPH_MIN_DELAY_SECONDS=0")).text, "min_delay = \"0s\"\n");
}

#[test]
fn what_cannot_be_imported_is_told() {
    let imported = conf_to_toml(&parse_conf(
        "RALPH_MODE=fast\nRALPH_MCP_TRANSPORT=http\nRALPH_MODEL=$(whoami)\nRALPH_MODE=handoff-only\n",
    ));
    assert_eq!(imported.text, "mode = \"handoff-only\"\nmin_delay = \"30s\"\n");
    let starts = [
        (1, "RALPH_MODE was left out: expected handoff-only"),
        (2, "RALPH_MCP_TRANSPORT was left out"),
        (3, "RALPH_MODEL uses a command"),
    ];
    assert_eq!(imported.left_out.len(), starts.len(), "{:?}", imported.left_out);
    for (SkippedPart { line, what }, start) in imported.left_out.iter().zip(starts) {
        assert!((*line, what.starts_with(start.1)) == (start.0, true), "{line}: {what}");
    }
}

#[test]
fn values_are_read_as_a_shell_reads_them() {
    assert_eq!(one("A=plain"), text("plain"));
    assert_eq!(one("A="), text(""));
    assert_eq!(one("A='it''s \"x\" $HOME'"), text("its \"x\" $HOME"));
    assert_eq!(one("A=\"say \\\"hi\\\" \\$5 \\n\""), text("say \"hi\" $5 \\n"));
    assert_eq!(one("A=a\"b c\"'d'\\ e"), text("ab cd e"));
    assert_eq!(one("A=x#y # comment"), text("x#y"));
    assert_eq!(one("A=\"costs 5$\""), text("costs 5$"));
    assert_eq!(one("export A=1;"), text("1"));
    assert_eq!(one("A='two\nlines'"), text("two\nlines"));
    assert_eq!(one("A=()"), list(&[]));
    assert_eq!(one("A=(a 'b c' \"d\" # x\n e)"), list(&["a", "b c", "d", "e"]));
    assert_eq!(one("\u{feff}A=1\r\n"), text("1"));
    let two = parse_conf("A=1 B=2\nC=3");
    assert_eq!(names(&two), [("A", &text("1")), ("B", &text("2")), ("C", &text("3"))]);
    assert_eq!(two.assignments[2].line, 2);
}

#[test]
fn whatever_needs_a_shell_is_skipped_with_its_line() {
    let code = |what: &str| format!("`{what}` is shell code, which ralph does not run");
    assert_eq!(skipped("\nrm -rf /\n"), [(2, code("rm -rf /"))]);
    assert_eq!(skipped("A=1 rm -rf /\n"), [(1, code("A=1 rm -rf /"))]);
    assert_eq!(skipped("A+=(x)"), [(1, code("A+=(x)"))]);
    assert_eq!(skipped("source other.conf"), [(1, code("source other.conf"))]);
    assert_eq!(skipped("[[ -f x ]] && A=1"), [(1, code("[[ -f x ]] && A=1"))]);
    let uses = |what: &str| vec![(1, format!("A uses a {what}, which ralph does not run"))];
    assert_eq!(skipped("A=$(id)"), uses("command"));
    assert_eq!(skipped("A=\"`id` x\""), uses("command"));
    assert_eq!(skipped("A=$HOME/x"), uses("variable"));
    assert_eq!(skipped("A=\"${B:-x}\""), uses("variable"));
    assert_eq!(skipped("A=$'x'"), uses("variable"));
    assert_eq!(skipped("A=(\n a\n $(B=2)\n c\n)"), uses("command"));
    assert_eq!(skipped("A='x"), [(1, "A has a ' that is never closed".to_owned())]);
    assert_eq!(skipped("A=(x"), [(1, "A has a list without its `)`".to_owned())]);
    assert_eq!(skipped("A=x>y"), [(1, "A has a `>` for the shell".to_owned())]);
}

#[test]
fn an_assignment_inside_a_block_is_not_a_setting() {
    let blocks = [
        "if [ -n \"$CI\" ]; then\n  RALPH_MODE=x\nfi\n",
        "if true; then RALPH_MODE=x; fi\n",
        "f() {\n  RALPH_MODE=x\n}\n",
        "for a in b; do\n  if true; then\n    RALPH_MODE=x\n  fi\n  RALPH_MODE=y\ndone\n",
        "case x in\n  y) RALPH_MODE=x ;;\nesac\n",
        "echo \\\n RALPH_MODE=x\n",
    ];
    for block in blocks {
        assert_eq!(skipped(block).len(), 1, "{block}");
        let conf = parse_conf(&format!("{block}A=after\n"));
        assert_eq!(names(&conf), [("A", &text("after"))], "{block}");
    }
}

#[test]
fn a_layer_has_the_values_of_the_ralph_toml_that_would_be_made() {
    let layer = conf_layer("ralph.conf", SHIPPED);
    let made =
        parse_layer(ConfigTier::Project, "x", &conf_to_toml(&parse_conf(SHIPPED)).text).unwrap();
    assert_eq!(resolve([&layer]).unwrap().config, resolve([&made]).unwrap().config);
    assert_eq!(layer.warnings.len(), 2, "{:?}", layer.warnings);
    assert!(layer.warnings[1].starts_with("ralph.conf:14: "), "{:?}", layer.warnings);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic_or_hang(
        input in "(RALPH_MODE|A|=|\\(|\\)|'|\"|`|\\$|\\{|\\}|;|#|\\\\|if|fi|export |x| |\n|é){0,40}"
    ) {
        let _ = conf_to_toml(&parse_conf(&input));
    }

    #[test]
    fn whatever_is_imported_is_a_good_configuration(
        values in proptest::collection::vec(("RALPH_(MODE|MODEL|MAX_ITERATIONS|LOG_LEVEL|VALIDATION_COMMANDS|COMMIT_PREFIX)", "\\PC{0,12}"), 0..6)
    ) {
        let quoted = |value: &str| format!("'{}'", value.replace('\'', ""));
        let conf: String = values.iter().map(|(name, value)| format!("{name}={}\n", quoted(value))).collect();
        let imported = conf_to_toml(&parse_conf(&conf));
        prop_assert!(parse_layer(ConfigTier::Project, "ralph.toml", &imported.text).is_ok(), "{}", imported.text);
    }
}
