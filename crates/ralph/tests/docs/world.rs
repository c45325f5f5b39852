//! The throw-away projects in which the examples of the pages run.

use std::os::unix::fs::symlink;

use ralph_core::backend::sim::demo::TUTORIAL;
use ralph_testkit::{TestProject, project};

/// The spec of the examples.
const GERMAN: &str = include_str!("world/german.md");

/// A project as `<!-- setup: … -->` asks for it: words with commas between them.
///
/// | word | the project |
/// | --- | --- |
/// | (always) | a git repository with one commit, the simulated backend, a clock that stands still, an editor that writes the spec of `spec` |
/// | `empty` | no repository, no file and no backend: a page that begins with this needs nothing else |
/// | `node` | a `package.json` with the scripts `test` and `lint` |
/// | `greet` | the files of `ralph tutorial` |
/// | `init` | `ralph init --yes` has run, and its files are committed |
/// | `spec` | the spec `ralph/specs/german.md` |
/// | `avatars` | the spec `ralph/specs/avatars.md` |
/// | `plan` | a plan with two tasks |
/// | `seed N` | ralph makes the same ids every time |
pub(crate) fn make(words: &str) -> TestProject {
    let words: Vec<&str> = words.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
    let mut p = project!().with_proofs();
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
    if words.contains(&"empty") {
        return p;
    }
    p = p.env("RALPH_BACKEND", "sim").git_init().file("README.md", "# A project\n");
    for word in words {
        match word {
            "node" => {
                let scripts = r#"{"scripts":{"test":"node --test","lint":"eslint ."}}"#;
                p.write("package.json", scripts);
            }
            "greet" => TUTORIAL.iter().for_each(|file| p.write(file.path, file.text)),
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
