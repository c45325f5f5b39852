//! The fences of ARCHITECTURE.md that neither the compiler nor clippy can check.
#![expect(clippy::panic, reason = "a test that cannot look must fail")]

mod counts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that would let the core wait, spawn or touch files.
const NOT_IN_CORE: [&str; 13] = [
    "async-std",
    "axum",
    "fastrand",
    "futures-executor",
    "mio",
    "nix",
    "notify",
    "rand",
    "rustix",
    "smol",
    "tempfile",
    "tokio",
    "ureq",
];

/// What the core may not even name. `Path` and `Duration` are fine: they are values.
const NOT_NAMED_IN_CORE: [&str; 10] = [
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
];

/// Methods that clippy must forbid everywhere but in the rooms below.
const FORBIDDEN_METHODS: [&str; 6] = [
    "std::process::Command::new",
    "std::fs::write",
    "std::fs::File::create",
    "std::fs::rename",
    "std::time::SystemTime::now",
    "jiff::Timestamp::now",
];

/// The rooms that may lift clippy's fence, each for its own kind of touching.
const ROOMS: [&str; 6] = [
    "crates/ralph-host/src/clock.rs",
    "crates/ralph-host/src/git/",
    "crates/ralph-host/src/proc/",
    // Another program in the same binary: the simulated backend.
    "crates/ralph-host/src/sim",
    "crates/ralph-host/src/store/",
    "crates/ralph-testkit/",
];

const LONG: usize = 500;
const TOO_LONG: usize = 700;

#[test]
fn the_core_depends_on_nothing_that_waits_or_touches_files() {
    let tree = run(
        env!("CARGO"),
        &["tree", "--offline", "-p", "ralph-core", "-e", "normal", "--prefix", "none"],
    );
    let names: Vec<&str> = tree.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.contains(&"ralph-core"), "cargo tree printed something else:\n{tree}");
    let bad: Vec<_> = names.iter().filter(|n| NOT_IN_CORE.contains(n)).collect();
    assert!(bad.is_empty(), "ralph-core must stay pure, but depends on {bad:?}");
}

#[test]
fn the_core_names_no_module_of_the_outside_world() {
    let mut bad = Vec::new();
    for (path, text) in sources().into_iter().filter(|(p, _)| is_code_of("ralph-core", p)) {
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if let Some(word) = NOT_NAMED_IN_CORE.iter().find(|w| code.contains(**w)) {
                bad.push(format!("{path}:{}: {word}", number + 1));
            }
        }
    }
    assert!(bad.is_empty(), "the core takes values and returns values:\n{}", bad.join("\n"));
}

#[test]
fn clippy_forbids_touching_the_world_and_every_crate_obeys_it() {
    let clippy = read("clippy.toml");
    for method in FORBIDDEN_METHODS {
        let entry = format!("path = \"{method}\"");
        assert!(clippy.contains(&entry), "clippy.toml no longer forbids {method}");
    }
    for manifest in tracked().iter().filter(|p| p.starts_with("crates/") && is_manifest(p)) {
        let lints = read(manifest).contains("[lints]\nworkspace = true");
        assert!(lints, "{manifest} does not take the workspace's lints");
    }
}

#[test]
fn only_the_rooms_made_for_it_lift_the_fence() {
    let bad: Vec<String> = sources()
        .into_iter()
        .filter(|(path, _)| !is_test(path) && !ROOMS.iter().any(|room| path.starts_with(room)))
        .filter(|(_, text)| text.contains("clippy::disallowed_methods"))
        .map(|(path, _)| path)
        .collect();
    assert!(bad.is_empty(), "spawn, write and tell the time through ralph-host's rooms: {bad:?}");
}

/// From this day on, subjects of commits are checked.
const SUBJECTS_SINCE: &str = "--since=2026-11-19T00:00:00Z";

#[test]
fn each_new_commit_says_in_one_short_line_what_it_does_where() {
    let log = ["-c", "safe.directory=*", "log", "--no-merges", "--format=%h %s", SUBJECTS_SINCE];
    let mut bad = Vec::new();
    for commit in run("git", &log).lines() {
        let subject = commit.split_once(' ').map_or("", |(_, subject)| subject);
        let area = subject.split_once(": ").map_or("", |(area, _)| area);
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_./, ".contains(c);
        if subject.chars().count() > 72 || area.is_empty() || !area.chars().all(plain) {
            bad.push(commit.to_owned());
        }
    }
    assert!(bad.is_empty(), "write `area: do this` in at most 72 characters:\n{}", bad.join("\n"));
}

#[test]
fn no_tracked_file_holds_a_path_of_somebodys_machine() {
    let private = private_paths();
    let mut bad = Vec::new();
    for path in tracked() {
        let bytes = fs::read(root().join(&path)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for (number, line) in text.lines().enumerate() {
            if let Some(found) = private.iter().find(|p| line.contains(p.as_str())) {
                bad.push(format!("{path}:{}: {found}", number + 1));
            }
        }
    }
    assert!(bad.is_empty(), "these paths mean nothing on another machine:\n{}", bad.join("\n"));
}

#[test]
fn no_source_file_grows_past_seven_hundred_lines() {
    let mut sizes: Vec<(usize, String)> = sources()
        .into_iter()
        // Tests of one room may stand in one long file: they are looked up by name, not read through.
        .filter(|(path, _)| path.contains("/src/") && !path.ends_with("tests.rs"))
        .map(|(path, text)| (text.lines().count(), path))
        .filter(|(lines, _)| *lines > LONG)
        .collect();
    sizes.sort_unstable();
    for (lines, path) in &sizes {
        eprintln!("{path} has {lines} lines: think about a second file");
    }
    let bad: Vec<_> = sizes.into_iter().filter(|(lines, _)| *lines > TOO_LONG).collect();
    assert!(bad.is_empty(), "split these: {bad:?}");
}

/// Rooms in which any JSON is the trade: drivers of backends, the JSON reader and what merges and converts
/// files with it, MCP, the scripted model, and ralph's own test programs.
const ANY_JSON: [&str; 7] = [
    "crates/ralph-core/src/backend/",
    "crates/ralph-core/src/json/",
    "crates/ralph-core/src/merge/",
    "crates/ralph-host/src/mailbox/",
    "crates/ralph-model/",
    "crates/ralph-testkit/",
    "crates/ralph/src/commands/mcp/",
];

/// The fields elsewhere of which nobody knows what they hold. A comment above each says why: foreign
/// fields have to survive a rewrite, or an answer is checked by whoever asked for it.
const ANY_JSON_FIELDS: [(&str, &str); 5] = [
    ("crates/ralph-core/src/agent_session.rs", "pub other: Map<String, Value>,"),
    ("crates/ralph-core/src/answer.rs", "pub structured: Option<Value>,"),
    ("crates/ralph-core/src/control/queue.rs", "pending: Vec<Value>,"),
    ("crates/ralph-core/src/control/queue.rs", "rest: Map<String, Value>,"),
    ("crates/ralph-core/src/handoff.rs", "fields: Value,"),
];

#[test]
fn only_five_known_fields_hold_any_json_and_each_says_why() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let exempt = ANY_JSON.iter().any(|room| path.starts_with(room));
        if path.contains("/src/") && !is_test(&path) && !exempt {
            any_json_fields(&path, without_tests(&text), &mut found);
        }
    }
    found.sort();
    let known = ANY_JSON_FIELDS.map(|(path, field)| format!("{path}: {field}"));
    assert_eq!(found, known, "give new fields a type, and take old ones from the list");
    assert!(known.len() <= 5, "these are too many");
}

/// Add the fields of structs and enums that hold any JSON.
fn any_json_fields(path: &str, text: &str, found: &mut Vec<String>) {
    let imports = |line: &str| {
        line.starts_with("use serde_json::") && words(line).any(|word| word == "Value")
    };
    let is_imported = text.lines().any(imports);
    let (mut in_type, mut has_reason) = (false, false);
    for line in text.lines() {
        let code = line.trim_start();
        let opens = !code.starts_with("//")
            && words(code).take(4).any(|word| ["struct", "enum", "union"].contains(&word));
        in_type |= opens;
        let holds = code.contains("serde_json::Value")
            || is_imported && words(code).any(|word| word == "Value");
        if in_type && holds && !code.starts_with("//") && !code.starts_with('#') {
            assert!(has_reason, "{path}: say in a comment why this is any JSON: {code}");
            found.push(format!("{path}: {code}"));
        }
        has_reason = code.starts_with("// Any JSON: ")
            || has_reason && (code.starts_with("//") || code.starts_with("#["));
        in_type &= line != "}" && !(opens && (line.ends_with(';') || line.ends_with('}')));
    }
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[test]
fn every_shape_of_a_field_with_any_json_is_found() {
    for text in [
        "use serde_json::Value;\n// Any JSON: x\nstruct A(Value);\n",
        "use serde_json::{Map, Value};\nenum A {\n    // Any JSON: x\n    B(Map<String, Value>),\n}\n",
        "pub(crate) struct A {\n    // Any JSON: x\n    /// Doc.\n    a: Vec<serde_json::Value>,\n}\n",
    ] {
        let mut found = Vec::new();
        any_json_fields("a.rs", text, &mut found);
        assert_eq!(found.len(), 1, "{text}");
    }
    let mut found = Vec::new();
    let other = "use toml_edit::Value;\nstruct A(Value);\nfn b(v: &serde_json::Value) {}\n";
    any_json_fields("a.rs", other, &mut found);
    assert!(found.is_empty(), "{found:?}");
}

/// Every Rust file under `crates/` that git knows or would take, with its text.
fn sources() -> Vec<(String, String)> {
    let rust = |p: &String| p.starts_with("crates/") && p.ends_with(".rs");
    let found: Vec<_> = tracked()
        .into_iter()
        .filter(rust)
        .map(|path| {
            let text = read(&path);
            (path, text)
        })
        .collect();
    assert!(found.len() > 5, "the sources were not found");
    found
}

/// Files that are in the repository or about to be, relative to its root.
fn tracked() -> Vec<String> {
    // A build server may run as another user than the one who made the checkout.
    let ours = ["-c", "safe.directory=*"];
    let what = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let list = run("git", &[&ours[..], &what[..]].concat());
    let files = list.split('\0').filter(|p| !p.is_empty()).map(str::to_owned);
    // A file deleted but not yet staged is still in git's list.
    files.filter(|p| root().join(p).is_file()).collect()
}

fn is_manifest(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name == "Cargo.toml")
}

fn is_code_of(krate: &str, path: &str) -> bool {
    path.starts_with(&format!("crates/{krate}/src/")) && !is_test(path)
}

/// The part of a file before its inline test module.
fn without_tests(text: &str) -> &str {
    text.split("\nmod tests {").next().unwrap_or_default()
}

fn is_test(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    parts.iter().any(|p| ["tests", "benches"].contains(p))
        || parts.last().is_some_and(|name| name.ends_with("_tests.rs"))
}

/// Home directories in general, and this machine's in particular.
fn private_paths() -> Vec<String> {
    // In pieces, so that this file does not find itself.
    let general = [["/ho", "me/"], ["/Us", "ers/"], ["/ro", "ot/"]];
    let here = [Some(root()), std::env::var_os("HOME").map(PathBuf::from)];
    let long_enough = |p: &PathBuf| p.components().count() > 2;
    let here = here.into_iter().flatten().filter(long_enough);
    general.iter().map(|p| p.concat()).chain(here.map(|p| p.display().to_string())).collect()
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.unwrap_or_else(|| panic!("the crate is not two levels below the root")).to_owned()
}

fn read(path: &str) -> String {
    let full = root().join(path);
    fs::read_to_string(&full).unwrap_or_else(|e| panic!("cannot read {path}: {e}"))
}

#[expect(clippy::disallowed_methods, reason = "a test may ask cargo and git")]
fn run(program: &str, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap_or_else(|e| panic!("cannot run {program}: {e}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?} failed:\n{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
