//! A whole construct with the real claude: plan, build, verify, and every tier of a context that fills up.
//!
//! The model server says how many tokens each answer took; claude says how many fit. The plan is made
//! first, so that ralph knows both when the work begins.

use ralph_testkit::Run;
use serde_json::{Value, json};

use super::at_home;
use crate::lab::Lab;

/// A model whose context holds 200,000 tokens.
const MODEL: &str = "claude-haiku-4-5";

/// The last words of somebody who did a task. An empty id is the task that was asked about.
fn done(summary: &str) -> Value {
    json!({ "answer": {
        "task_completed": { "task_id": "", "summary": summary, "fully_complete": true },
        "deviations": [], "bugs_encountered": [], "architectural_notes": [], "unfinished_business": [],
        "recommendations": [], "files_touched": [], "plan_amendments": [], "tests_added": [],
        "constraints_discovered": [], "summary": summary,
        "freeform": "The file was asked for and did not exist, so it was written. Nothing is left to do.",
    }})
}

/// A step that runs a command, with so many tokens in the context.
fn at(tokens: u64) -> Value {
    let usage = json!({ "input": 10, "cache_read": tokens, "output": 5 });
    json!({ "text": "I look around.", "shell": "true", "usage": usage })
}

fn writes(path: &str) -> Value {
    json!({ "text": "I write it.", "write": { "path": path, "content": "made\n" } })
}

fn answers(has: &str, answer: Value) -> Value {
    json!({ "has": has, "steps": [{ "answer": answer }] })
}

fn task(name: &str, path: &str) -> Value {
    json!({ "name": name, "accept": [format!("`cat {path}` prints made")], "key": path })
}

/// What the model says: `work` about the only task of the plan, `more` before that.
fn rules(work: Vec<Value>, more: Vec<Value>) -> Vec<Value> {
    let plan = json!({ "tasks": [task("Make a file", "made.txt")] });
    let verdict =
        json!({ "task_id": "", "verdict": "accept", "reason": "it prints made", "gaps": [] });
    let whole = json!({ "satisfied": true, "reason": "the file is there", "gaps": [] });
    let parts = [task("Make the first file", "one.txt"), task("Make the second file", "two.txt")];
    let parts = json!({ "tasks": parts, "issues": [], "reason": "too much was read" });
    let part = |has: &str, path: &str| json!({ "has": has, "steps": [writes(path), done(&format!("{path} is there"))] });
    let mut rules = vec![
        answers("You turn a spec into a plan", plan),
        answers("You verify one task", verdict),
        answers("as a whole is satisfied", whole),
        answers("was killed because", parts),
        part("Make the first file", "one.txt"),
        part("Make the second file", "two.txt"),
    ];
    rules.extend(more);
    rules.push(json!({ "has": "## Current Task", "steps": work }));
    rules
}

/// A construct of a spec that asks for one file.
fn construct(work: Vec<Value>, more: Vec<Value>) -> (Lab, Run) {
    let scenario = json!({ "rules": rules(work, more) }).to_string();
    let lab = at_home(Lab::with("claude", &scenario));
    let project = &lab.project;
    let gate = "[[gates]]\nname = \"any\"\ncommand = \"ls *.txt\"\n";
    let config = format!("model = \"{MODEL}\"\n{}\n{gate}", project.read("ralph.toml"));
    project.write("ralph.toml", config);
    project.write(".gitignore", ".ralph/\nbuild/\n");
    project.write("ralph/specs/made.md", "# A file\n\nThere is a file with the word made in it.\n");
    project.git(["add", "-A"]).ok();
    project.git(["commit", "--quiet", "-m", "start"]).ok();
    let run = project.run(["construct", "made.md", "--backend", "claude", "--timeout", "120000"]);
    ralph_testkit::none_is_left(project.home());
    (lab, run)
}

/// The stages that ended.
fn stages(lab: &Lab) -> Vec<String> {
    let journal = lab.project.read(".git/ralph/journal.jsonl");
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = records.filter(|r| r["record"] == "stage_ended");
    ended.map(|r| r["stage"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn a_spec_is_planned_built_and_verified() {
    let (lab, run) = construct(vec![writes("made.txt"), done("made.txt is there")], Vec::new());
    let run = run.ok();
    assert_eq!(stages(&lab), ["plan", "build", "verify"], "{}", run.stdout);
    assert!(run.stdout.contains("Complete: the spec is satisfied"), "{}", run.stdout);
    assert!(!run.stdout.contains("cost unknown"), "{}", run.stdout);
    let plan = lab.project.read("ralph/plan.jsonl");
    assert!(plan.contains(r#""t":"accept","spec":"made.md""#), "{plan}");
    // Whoever plans may not write: the tools for it are not even offered. Whoever verifies runs tests.
    let asked = lab.server.requests();
    let tools = |has: &str| {
        let mine = asked.iter().filter(|r| r.body.to_string().contains(has));
        mine.map(|r| r.body["tools"].to_string()).collect::<String>()
    };
    assert!(!tools("You turn a spec into a plan").contains("\"Bash\""));
    assert!(tools("You verify one task").contains("\"Bash\""));
}

/// The commands of the README after the installation, as they stand there, in a project of somebody's own.
#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn the_first_walk_needs_nothing_that_the_readme_does_not_say() {
    let readme = include_str!("../../../../../README.md");
    let block = readme.split("```sh\n").find(|block| block.starts_with("ralph init\n")).unwrap();
    let commands = block.split("```").next().unwrap();
    let scenario =
        json!({ "rules": rules(vec![writes("made.txt"), done("made.txt is there")], Vec::new()) });
    let lab = at_home(Lab::with("claude", &scenario.to_string()));
    let project = &lab.project;
    std::fs::remove_file(project.path("ralph.toml")).unwrap();
    project.write("Makefile", "test:\n\t@cat made.txt 2>/dev/null || echo nothing yet\n");
    project.git(["add", "-A"]).ok();
    project.git(["commit", "--quiet", "-m", "start"]).ok();
    let spec = "# A file\n\nThere is a file `made.txt` with the word made in it.\n";
    project.write(project.home().join("spec.md"), spec);
    let editor = project.home().join("bin/editor");
    project.write(&editor, "#!/bin/sh\ncp \"$HOME/spec.md\" \"$1\"\n");
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_ralph")).parent().unwrap();
    let script = format!(
        "chmod +x {editor}; PATH={bin}:$PATH EDITOR={editor}; set -e; {commands}",
        editor = editor.display(),
        bin = bin.display(),
    );
    let run = project.shell(&script).ok();
    assert!(run.stdout.contains("Complete: the spec is satisfied"), "{}", run.stdout);
    assert_eq!(project.read("made.txt"), "made\n");
    assert_eq!(project.git(["status", "--porcelain", "--", "made.txt"]).stdout, "");
    ralph_testkit::none_is_left(project.home());
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn at_70_percent_a_warning_is_logged_and_the_work_goes_on() {
    let work = vec![at(141_000), writes("made.txt"), done("made.txt is there")];
    let (lab, run) = construct(work, Vec::new());
    let run = run.ok();
    let line = "[RALPH] Context pressure: 70% - consider wrapping up";
    assert!(run.stdout.contains(line), "{}", run.stdout);
    assert_eq!(stages(&lab), ["plan", "build", "verify"]);
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn at_85_percent_the_context_is_compacted_and_the_work_goes_on() {
    let goes_on = ["Your context was compacted", "=== COMPACTED CONTEXT ==="]
        .map(|has| json!({ "has": has, "steps": [writes("made.txt"), done("made.txt is there")] }));
    let work = vec![at(20_000), at(60_000), at(172_000), at(172_000), at(172_000)];
    let (lab, run) = construct(work, goes_on.to_vec());
    let run = run.ok();
    assert!(run.stdout.contains("[RALPH] Context compacted: 86% -> "), "{}", run.stdout);
    assert_eq!(stages(&lab), ["plan", "build", "verify"], "{}", run.stdout);
}

#[test]
#[ignore = "needs the real claude: scripts/real-clis.sh"]
fn at_95_percent_the_work_is_killed_and_broken_down() {
    let (lab, run) = construct(vec![at(60_000), at(191_000), at(191_000)], Vec::new());
    let run = run.ok();
    assert_eq!(stages(&lab), ["plan", "build", "decompose", "build", "verify"], "{}", run.stdout);
    assert!(run.stdout.contains("is broken down next"), "{}", run.stdout);
    for file in ["one.txt", "two.txt"] {
        assert_eq!(lab.project.read(file), "made\n");
    }
}
