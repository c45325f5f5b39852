//! Changing one key leaves everything else as it was.

use proptest::prelude::*;

use super::file_tests::{every_key, project, samples};
use super::*;

fn change(text: &str, key: &str, value: &str) -> String {
    set("ralph.toml", text, key, value).unwrap()
}

fn refused(text: &str, key: &str, value: &str) -> String {
    set("ralph.toml", text, key, value).unwrap_err().to_string()
}

#[test]
fn a_value_that_is_there_is_replaced_and_its_comment_stays() {
    let text =
        "# mine\nmode = 'handoff-only'   # why\n\n[limits]  # all of them\nmax_cost = 1.0# tight\n";
    assert_eq!(
        change(text, "limits.max_cost", "12.5"),
        "# mine\nmode = 'handoff-only'   # why\n\n[limits]  # all of them\nmax_cost = 12.5# tight\n"
    );
    assert_eq!(
        change(text, "mode", "agent-orchestrated"),
        "# mine\nmode = \"agent-orchestrated\"   # why\n\n[limits]  # all of them\nmax_cost = 1.0# tight\n"
    );
}

#[test]
fn a_new_key_goes_to_the_end_of_its_table() {
    let text = "mode = 'handoff-only' # why\n# next\n[limits] # l\n# about cost\nmax_cost = 1.0 # c\n\n[build]\n";
    assert_eq!(
        change(text, "limits.idle_timeout", "90s"),
        "mode = 'handoff-only' # why\n# next\n[limits] # l\n# about cost\nmax_cost = 1.0 # c\nidle_timeout = \"1m30s\"\n\n[build]\n"
    );
    assert_eq!(
        change(text, "max_retries", "3"),
        "mode = 'handoff-only' # why\nmax_retries = 3\n# next\n[limits] # l\n# about cost\nmax_cost = 1.0 # c\n\n[build]\n"
    );
    assert_eq!(
        change(text, "build.recent_attempts", "3"),
        "mode = 'handoff-only' # why\n# next\n[limits] # l\n# about cost\nmax_cost = 1.0 # c\n\n[build]\nrecent_attempts = 3\n"
    );
}

#[test]
fn a_new_table_goes_to_the_end_of_the_file() {
    assert_eq!(change("", "limits.max_cost", "5"), "[limits]\nmax_cost = 5.0\n");
    assert_eq!(
        change("mode = 'handoff-only'", "stages.verify.model", "opus"),
        "mode = 'handoff-only'\n\n[stages.verify]\nmodel = \"opus\"\n"
    );
    assert_eq!(
        change("[backends.codex.prices]\ninput = 1.0\n", "backends.codex.model", "x"),
        "[backends.codex.prices]\ninput = 1.0\n\n[backends.codex]\nmodel = \"x\"\n"
    );
}

#[test]
fn a_top_level_key_goes_above_the_first_table_and_its_comment() {
    let text =
        "# The configuration of ralph.\n\n# what to run\n[[gates]]\nname = 'a'\ncommand = 'b'\n";
    assert_eq!(
        change(text, "max_retries", "3"),
        "# The configuration of ralph.\n\nmax_retries = 3\n\n# what to run\n[[gates]]\nname = 'a'\ncommand = 'b'\n"
    );
    assert_eq!(change("# nothing yet\n", "max_retries", "3"), "# nothing yet\nmax_retries = 3\n");
    assert_eq!(change("", "max_retries", "3"), "max_retries = 3\n");
}

#[test]
fn dotted_and_inline_tables_grow_in_their_own_style() {
    assert_eq!(
        change("limits.max_cost = 1.0\nmode = 'handoff-only'\n", "limits.idle_timeout", "5m"),
        "limits.max_cost = 1.0\nlimits.idle_timeout = \"5m\"\nmode = 'handoff-only'\n"
    );
    assert_eq!(
        change("[backends]\ncodex.model = 'x'\n", "backends.codex.program", "/bin/x"),
        "[backends]\ncodex.model = 'x'\ncodex.program = \"/bin/x\"\n"
    );
    assert_eq!(
        change("limits = { max_cost = 1.0 }\n", "limits.idle_timeout", "5m"),
        "limits = { max_cost = 1.0, idle_timeout = \"5m\" }\n"
    );
    assert_eq!(
        change("backends = {}\n", "backends.codex.model", "x"),
        "backends = { codex.model = \"x\" }\n"
    );
}

#[test]
fn line_ends_and_the_byte_order_mark_are_kept() {
    assert_eq!(
        change("\u{feff}mode = 'handoff-only'\r\n\r\n[limits]\r\n", "limits.max_cost", "5"),
        "\u{feff}mode = 'handoff-only'\r\n\r\n[limits]\r\nmax_cost = 5.0\r\n"
    );
    assert_eq!(change("\u{feff}", "limits.max_cost", "5"), "\u{feff}[limits]\nmax_cost = 5.0\n");
    assert_eq!(
        change("\u{feff}[limits]\n", "max_retries", "1"),
        "\u{feff}max_retries = 1\n\n[limits]\n"
    );
}

#[test]
fn a_bad_key_or_value_or_file_is_refused() {
    assert_eq!(
        refused("", "max_retrys", "3"),
        "unknown key `max_retrys` (did you mean `max_retries`?)"
    );
    assert!(refused("", "max_retries", "many").starts_with("expected a whole number"));
    assert!(refused("", "gates", "cargo test").starts_with("expected a list of tables"));
    assert_eq!(
        refused("mode = \n", "max_retries", "3"),
        "ralph.toml:1:8: there is no value after `=`"
    );
    assert_eq!(
        refused("limits = 5\n", "limits.max_cost", "3"),
        "`limits.max_cost` cannot be put into this file automatically: write it by hand"
    );
}

#[test]
fn a_wrong_value_can_be_put_right() {
    let text = "mode = 'typo'\nzebra = 1\n";
    assert_eq!(change(text, "mode", "handoff-only"), "mode = \"handoff-only\"\nzebra = 1\n");
}

/// Lines that may stand in any order, each valid by itself.
const TOP: [&str; 7] = [
    "# a comment\n",
    "mode = 'handoff-only' # x\n",
    "limits.max_cost = 3.0\n",
    "memory = { compaction_interval = 3 }\n",
    "\n",
    "lane.setup = \"\"\"\nbig\"\"\"\n",
    "agent = {}\n",
];
const TABLES: [&str; 7] = [
    "[build]\nrecent_attempts = 1\n",
    "# about\n[construct] # c\n",
    "[[gates]]\nname = 'a'\ncommand = 'b'\n",
    "[backends.claude]\nmodel = 'x'\nprices.input = 1.0\n",
    "[backends.codex.prices]\noutput = 1\n",
    "\n[stages]\nverify.model = 'x'\nreview = { model = 'y' }\n",
    "[retention]",
];

fn a_file() -> impl Strategy<Value = String> {
    let top = proptest::sample::subsequence(TOP.to_vec(), 0..=TOP.len()).prop_shuffle();
    let tables = proptest::sample::subsequence(TABLES.to_vec(), 0..=TABLES.len()).prop_shuffle();
    (top, tables, any::<bool>(), any::<bool>()).prop_map(|(top, tables, last_newline, crlf)| {
        let mut text = top.concat();
        for table in tables {
            text.push_str(table);
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        if !last_newline {
            text = text.trim_end_matches('\n').to_owned();
        }
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

fn a_change() -> impl Strategy<Value = (String, String)> {
    let keys: Vec<_> = every_key()
        .into_iter()
        .filter(|key| !matches!(key.key.kind, ValueKind::Records(_)))
        .collect();
    (proptest::sample::select(keys), "[a-z \"'\\\\#\n=]{1,12}").prop_map(|(key, free)| {
        let value = match key.key.kind {
            ValueKind::Text if !free.trim().is_empty() => free,
            ValueKind::List => serde_json::to_string(&[free]).unwrap(),
            kind => samples(&kind).0.trim_matches('"').to_owned(),
        };
        (key.path(), value)
    })
}

proptest! {
    #[test]
    fn setting_a_key_sets_it_and_nothing_else(text in a_file(), (key, value) in a_change()) {
        let before = project(&text).unwrap();
        let out = set("ralph.toml", &text, &key, &value).unwrap();
        let after = project(&out).unwrap();

        let wanted = find_key(&key).unwrap().key.kind.from_plain(&value).unwrap();
        let values = |layer: &ConfigLayer, own: bool| -> Vec<(String, ConfigValue)> {
            let mut all: Vec<_> = layer.entries.iter()
                .map(|entry| (entry.key.path(), entry.value.clone()))
                .filter(|(path, _)| (*path == key) == own)
                .collect();
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all
        };
        prop_assert_eq!(values(&after, true), vec![(key.clone(), wanted)]);
        prop_assert_eq!(values(&before, false), values(&after, false));
        for line in text.lines().filter(|line| line.trim_start().starts_with('#')) {
            prop_assert!(out.contains(line), "the comment {line:?} is lost");
        }
        // Once set, setting it again changes nothing.
        prop_assert_eq!(set("ralph.toml", &out, &key, &value).unwrap(), out);
    }
}
