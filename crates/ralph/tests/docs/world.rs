//! The throw-away projects in which the examples of the pages run.

use std::os::unix::fs::symlink;

use ralph_testkit::{TestProject, project};

/// What every agent of the examples does.
const SCENARIO: &str = include_str!("world/scenario.toml");

/// The spec of the examples.
const GERMAN: &str = include_str!("world/german.md");

/// A project as `<!-- setup: … -->` asks for it: words with commas between them.
///
/// | word | the project |
/// | --- | --- |
/// | (always) | a git repository with one commit, the simulated backend, a clock that stands still, an editor that writes the spec of `spec` |
/// | `empty` | no repository and no file |
/// | `node` | a `package.json` with the scripts `test` and `lint` |
/// | `greet` | a program in shell with a test, and a `Makefile` that runs it |
/// | `init` | `ralph init --yes` has run, and its files are committed |
/// | `spec` | the spec `ralph/specs/german.md` |
/// | `avatars` | the spec `ralph/specs/avatars.md` |
/// | `plan` | a plan with two tasks |
/// | `seed N` | ralph makes the same ids every time |
pub(crate) fn make(words: &str) -> TestProject {
    let words: Vec<&str> = words.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
    let mut p = project!().with_proofs().env("RALPH_BACKEND", "sim");
    // Not for loops: a start ends the processes of an earlier run with the same id, wherever they are.
    if let Some(seed) = words.iter().find_map(|word| word.strip_prefix("seed ")) {
        p = p.env("RALPH_SEED", seed);
    }
    let tools = p.home().join("bin");
    std::fs::create_dir(&tools).unwrap();
    symlink(env!("CARGO_BIN_EXE_ralph"), tools.join("ralph")).unwrap();
    let german = p.home().join("german.md");
    std::fs::write(&german, GERMAN).unwrap();
    p = p.env("EDITOR", format!("cp {}", german.display()));
    let path = std::env::var("PATH").unwrap_or_default();
    p = p.env("PATH", format!("{}:{path}", tools.display()));
    let scenario = p.home().join("scenario.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    p = p.env("RALPH_SIM", scenario);
    if words.contains(&"empty") {
        return p;
    }
    p = p.git_init().file("README.md", "# A project\n");
    for word in words {
        match word {
            "node" => {
                let scripts = r#"{"scripts":{"test":"node --test","lint":"eslint ."}}"#;
                p.write("package.json", scripts);
            }
            "greet" => {
                p.write("greet.sh", include_str!("world/greet.sh"));
                p.write("test.sh", include_str!("world/test.sh"));
                p.write("Makefile", "test:\n\tsh test.sh\n");
            }
            "init" => drop(p.run(["init", "--yes"]).ok()),
            "avatars" => p.write("ralph/specs/avatars.md", "# Avatars\n\nUsers have a picture.\n"),
            "spec" => p.write("ralph/specs/german.md", GERMAN),
            "plan" => p.write("ralph/plan.jsonl", include_str!("world/plan.jsonl")),
            seed if seed.starts_with("seed ") => {}
            other => panic!("`setup: {other}` is not a word of tests/docs/world.rs"),
        }
    }
    p.git(["add", "-A"]).ok();
    p.git(["commit", "--quiet", "-m", "A project"]).ok();
    p
}
