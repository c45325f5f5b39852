//! What agents answer and gates print holds no secret when ralph writes it down.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::lab::{builds, investigates, judges, lab, plans, verifies};

const KEY: &str = "sk-ant-api03-0123456789abcdefghij";

/// Files below a directory that hold the key.
fn files_with_key(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files_with_key(&path));
        } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(KEY) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn secrets_in_answers_and_gate_output_are_hidden_in_the_project_and_on_the_terminal() {
    let lab = lab();
    fs::write(lab.home().join("key"), format!("FAILED test_{KEY}\nerror: {KEY}\n")).unwrap();
    lab.config(
        "backend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\n\
         command = \"cat $HOME/key; ! grep -qs broken work/*.txt\"\n",
    );
    let with_key = |text: &str| format!("{text} {KEY}");
    let task = |key: &str| {
        json!({ "key": key, "name": with_key("Use the key"), "notes": with_key("it is"),
                "accept": [with_key("it prints")] })
    };
    let work = |text: &str| {
        let words = format!("I took {KEY} and it went well, as everybody can see in the file.");
        format!(
            r#"{{ write = "work/{{task}}.txt", text = "{text}\n" }}, {{ claim = "done", handoff = {{ summary = "{words}", freeform = "{words}" }} }}"#
        )
    };
    let gaps = json!([{ "kind": "ambiguity", "description": with_key("which key, not") }]);
    lab.agents(
        &[
            plans(json!({ "tasks": [task("one")], "reason": with_key("one needs") })),
            builds("attempt = 1", &work("broken")),
            builds("attempt = \"2+\"", &work("mended")),
            verifies(
                "attempt = 1",
                json!({ "verdict": "reject", "reason": with_key("no"), "gaps": gaps }),
            ),
            verifies("", json!({ "verdict": "accept", "reason": with_key("yes") })),
            investigates(
                "",
                json!({ "outcome": "out_of_scope", "reason": with_key("any key but") }),
            ),
            judges("", json!({ "satisfied": true, "reason": with_key("yes") })),
        ]
        .concat(),
    );
    let run = lab.construct([]).ok();
    assert!(lab.is_satisfied());
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.contains(KEY), "{said}");
    assert!(lab.plan().contains("Use the key [hidden]"), "{}", lab.plan());
    assert_eq!(files_with_key(lab.root()), [""; 0]);
    let log = lab.ask_git(["log", "-p", "--all"]);
    assert!(!log.contains(KEY), "{log}");
}
