//! `ralph build --dry-run`: everything is shown and nothing is touched.

use std::fs;
use std::path::Path;

use crate::stage::{stage, steps};

/// Every file below a directory with its bytes.
fn everything(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                found.push((path.display().to_string(), Vec::new()));
                open.push(path);
            } else {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_dry_run_shows_the_next_attempt_and_changes_nothing() {
    let p = stage("");
    p.write("mine.txt", "not committed\n");
    let before = everything(p.root());
    let shown = p.run(["build", "--dry-run"]).ok().stdout;
    for part in [
        "Plan:       ralph/plan.jsonl, 0 of 2 tasks done\n",
        "Next:       t-aaaa  First  (iteration 1)\n",
        "Waiting:    t-bbbb  waits for t-aaaa\n",
        "Backend:    sim\n",
        " __sim",
        "RALPH_ATTEMPT, RALPH_TASK, RALPH_MAILBOX\n",
        "Input:      the prompt below\n",
        "Gates:      check  test ! -e bad.txt  (required, at most ",
        "Commit:     ralph[1]: t-aaaa — <summary>\n",
        "50 iterations, no limit of cost; one run: 10m, silent for 10m\n",
        "## Current Task",
    ] {
        assert!(shown.contains(part), "{part:?} is missing:\n{shown}");
    }
    assert!(!shown.contains("mine.txt"), "agents see no uncommitted file: {shown}");
    assert_eq!(everything(p.root()), before);
}

#[test]
fn the_prompt_of_a_dry_run_is_the_one_that_the_backend_gets() {
    for (file, text) in [
        ("ralph/plan.jsonl", crate::stage::PLAN),
        (
            "plan.json",
            "{\"tasks\":[{\"id\":\"t-aaaa\",\"title\":\"First\",\"status\":\"pending\"}]}\n",
        ),
        ("progress.md", "# Progress: x\n\n## Status\n\nIn progress\n\n## Tasks\n\n- [ ] First\n"),
        (
            "implementation.json",
            "{\"specs\":[{\"id\":\"s\",\"name\":\"S\",\"tasks\":[{\"id\":\"t-aaaa\",\
             \"description\":\"First\",\"status\":\"pending\"}]}]}\n",
        ),
    ] {
        let p = stage(&steps("{ say = \"no claim\" }"));
        p.write(file, text);
        p.git(["add", "-A"]).ok();
        p.git(["commit", "-q", "--allow-empty", "-m", "plan"]).ok();
        let look = p.run(["build", file, "--dry-run", "--json"]).ok().json();
        p.run(["build", file, "--once"]).fails(3);
        let real = p.run(["show", "1", "--prompt"]).ok().stdout;
        assert_eq!(look["prompt"].as_str().unwrap().trim_end(), real.trim_end(), "{file}");
        assert_eq!(look["backend"]["stdin"], "prompt");
        let again = p.run(["build", file, "--dry-run", "--json"]);
        assert_eq!(again.code, 3, "the task has failed: {}", again.stdout);
        assert_eq!(again.json()["end"], "blocked");
    }
}

#[test]
fn a_dry_run_of_a_task_that_cannot_run_says_why() {
    let p = stage("");
    let run = p.run(["build", "--dry-run", "--task", "t-bbbb"]).fails(3);
    run.stdout_has("nothing: no task can run").stdout_has("t-bbbb  waits for t-aaaa");
    p.run(["build", "--dry-run", "--backend", "nonesuch"]).fails(1).stderr_has("no backend");
}
