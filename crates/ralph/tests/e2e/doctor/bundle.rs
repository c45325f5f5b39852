//! What leaves the machine in a bug report.

use std::os::unix::fs::PermissionsExt;

use super::plain;
use crate::stage::{stage, steps};

const KEY: &str = "sk-ant-abcdefghij0123456789";

#[test]
fn a_bundle_has_what_happened_and_no_secret_no_code_and_no_prompt() {
    let work = format!(
        "{{ write = \"bad.txt\", text = \"let code = 'mine';\\n\" }}, \
         {{ say = \"I use {KEY} for it\" }}, {{ claim = \"done\" }}"
    );
    let p = plain(stage(&steps(&work))).env("MY_SERVICE_TOKEN", "quite-plain-words");
    let toml = p.read("ralph.toml");
    let gate = "[[gates]]\nname = \"leaky\"\ncommand = \"cat bad.txt; false\"\nrequired = false\n";
    let more = format!(
        "redact = [\"corp-*\"]\n{toml}{gate}\n[backends.other]\nkind = \"command\"\n\
         command = [\"x\", \"corp-12345\", \"--api-key={KEY}\", \"password=hunter2\"]\n"
    );
    p.write("ralph.toml", more);
    p.run(["build", "--once"]).fails(3);
    p.write(
        ".ralph/logs/ralph.log",
        format!("it said {KEY} and quite-plain-words at {}\n", p.home().display()),
    );
    let run = p.run(["doctor", "--no-gates", "--bundle", "report.txt"]).ok();
    for part in [
        "Wrote report.txt with:",
        "  versions (",
        "  journal: the last records (",
        "Read it before",
    ] {
        assert!(run.stdout.contains(part), "{part:?}:\n{}", run.stdout);
    }
    let text = p.read("report.txt");
    for gone in [
        KEY,
        "quite-plain-words",
        "hunter2",
        "corp-12345",
        "let code",
        "## Current Task",
        p.home().to_str().unwrap(),
    ] {
        assert!(!text.contains(gone), "{gone:?} left:\n{text}");
    }
    for kept in [
        "===== versions =====\nralph ",
        "===== doctor =====",
        "===== settings: ralph.toml =====",
        "password=[hidden]",
        "===== journal: the last records =====",
        "\"record\":\"attempt_started\"",
        "===== log of ralph =====\nit said [hidden] and [hidden] at ~",
        "===== names of logs",
        "-build-1.log",
    ] {
        assert!(text.contains(kept), "{kept:?} is missing:\n{text}");
    }
    let mode = std::fs::metadata(p.path("report.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only its owner reads it");
}

#[test]
fn a_prompt_is_in_it_only_when_that_was_asked_for_and_no_file_is_overwritten() {
    let p = plain(stage(&steps("{ write = \"a.txt\", text = \"x\" }, { claim = \"done\" }")));
    p.run(["build", "--once"]);
    p.run(["doctor", "--no-gates", "--bundle", "all.txt", "--with-prompts"])
        .ok()
        .stdout_has("the last prompt (");
    assert!(p.read("all.txt").contains("===== the last prompt ====="));
    p.run(["doctor", "--no-gates", "--bundle", "all.txt"]).fails(1).stderr_has("is there already");
    p.run(["doctor", "--with-prompts"]).fails(2);
    let report = p.run(["doctor", "--no-gates", "--json", "--bundle", "b.txt"]).ok().json();
    assert_eq!(report["bundle"]["file"], "b.txt");
}
