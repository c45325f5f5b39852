//! A retry knows why the attempts before it failed, and no prompt tells of work that is not there.

use std::path::Path;

use crate::gate_outputs;
use crate::memory::{has, section};
use crate::plans::{Format, task};
use crate::repo::{BROKEN, GOOD, Repo, repo, repo_with, rule};

/// Long enough to be a story of its own.
const STORY: &str = "I created parser.rs with a table of tokens, because the grammar is regular.";

/// Attempts that end without an answer that could be read.
const WITHOUT_ANSWER: [&str; 2] =
    [r#"{ signal = "kill" }"#, r#"{ garbage = "binary" }, { exit = 0 }"#];

/// Broken work with a handoff that tells this.
fn broken_with(story: &str) -> String {
    format!(
        r#"{{ write = "work/{{task}}.txt", text = "BROKEN\n" }}, {{ claim = "done", handoff = {{ freeform = "{story}", summary = "a parser" }} }}"#
    )
}

/// A repository whose gate prints this file and fails as long as the work is broken.
fn with_gate_output(text: &str) -> Repo {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("gate-output.txt", text);
    repo.config(
        "backend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\ncommand = \"\"\"\n\
         if grep -qs BROKEN work/t-aaa1.txt; then cat gate-output.txt; exit 1; fi\"\"\"\n",
    );
    repo
}

#[test]
fn the_line_that_matters_of_a_long_gate_output_is_in_the_retry_prompt() {
    for output in gate_outputs::all() {
        let lines: Vec<&str> = output.text.lines().collect();
        assert!(lines.len() >= 2_000, "{}: {} lines", output.runner, lines.len());
        let at = lines.iter().position(|line| line.contains(output.decisive[0])).unwrap();
        assert!((400..lines.len() - 400).contains(&at), "{}: line {at}", output.runner);
        let repo = with_gate_output(&output.text);
        repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
        repo.build([]).ok();
        let prompt = repo.prompt(2);
        has(section(&prompt, "Failure Context"), output.decisive);
        has(&prompt, &["iter-1", "lines left out …]"]);
    }
}

#[test]
fn the_panic_of_a_real_cargo_test_is_in_the_retry_prompt() {
    let repo = repo(&[task("t-aaa1")]);
    repo.write("app/Cargo.toml", "[package]\nname = \"app\"\nedition = \"2021\"\n\n[workspace]\n");
    repo.write(
        "app/src/lib.rs",
        "struct Loud(&'static str);\nimpl Drop for Loud {\n    fn drop(&mut self) {\n        for n in \
         0..1000 { println!(\"{} {n}\", self.0); }\n    }\n}\n\n#[test]\nfn work_is_good() {\n    \
         drop(Loud(\"before\"));\n    let _after = Loud(\"after\");\n    let work = \
         std::fs::read_to_string(\"../work/t-aaa1.txt\").unwrap_or_default();\n    \
         assert_ne!(work.trim(), \"BROKEN\");\n}\n",
    );
    let cargo = Path::new(env!("CARGO"));
    let (rustc, target) = (cargo.with_file_name("rustc"), repo.home().join("target"));
    repo.config(&format!(
        "backend = \"sim\"\n[[gates]]\nname = \"test\"\nkind = \"test\"\ntimeout = \"10m\"\ncommand = \
         \"cd app && RUSTC={} CARGO_TARGET_DIR={} {} test --offline\"\n",
        rustc.display(),
        target.display(),
        cargo.display(),
    ));
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    let prompt = repo.prompt(2);
    has(&prompt, &["panicked at src/lib.rs:13:5", "left: \"BROKEN\"", "- work_is_good"]);
}

#[test]
fn what_the_gates_said_stays_in_the_prompt_until_an_answer_was_read() {
    for silent in WITHOUT_ANSWER {
        let repo = repo(&[task("t-aaa1")]);
        let rules = [rule("attempt = 1", BROKEN), rule("attempt = 2", silent), rule("", GOOD)];
        repo.script(&rules.concat());
        repo.build([]).ok();
        assert_eq!(repo.runs().len(), 3, "{silent}");
        let prompt = repo.prompt(3);
        let failure = section(&prompt, "Failure Context");
        has(failure, &["work/t-aaa1.txt:1:BROKEN", "### What Went Wrong"]);
        let answered = repo.prompt(2);
        assert!(!answered.contains("### What Went Wrong"), "{answered}");
    }
}

#[test]
fn prose_before_the_marker_is_the_handoff_and_the_recent_attempt() {
    let ids = [task("t-aaa1"), task("t-aaa2")];
    let prose = format!(
        r#"{{ write = "work/{{task}}.txt", text = "x\n" }}, {{ answer = "{STORY}\n\n<TASK_DONE>" }}"#
    );
    for format in [Format::Progress, Format::Jsonl] {
        let repo = repo_with(format, &ids);
        repo.script(&(rule("attempt = 1", &prose) + &rule("", GOOD)));
        repo.build([]).ok();
        let told = repo.handoff(1);
        assert_eq!((&told["freeform"], told["synthetic"].is_null()), (&STORY.into(), true));
        has(section(&repo.prompt(2), "Previous Handoff"), &[STORY]);
        if format == Format::Progress {
            has(&repo.plan(), &[&format!("- Result: done: {STORY}\n")]);
            has(section(&repo.prompt(2), "Retrieved Memory"), &[STORY]);
        }
    }
}

#[test]
fn an_attempt_without_an_answer_does_not_erase_the_last_story() {
    for silent in WITHOUT_ANSWER {
        let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
        let told = format!(
            r#"{{ write = "work/{{task}}.txt", text = "x\n" }}, {{ claim = "done", handoff = {{ freeform = "{STORY}" }} }}"#
        );
        let rules = [
            rule("task = \"t-aaa1\"", &told),
            rule("task = \"t-aaa2\"\nattempt = 1", silent),
            rule("", GOOD),
        ];
        repo.script(&rules.concat());
        repo.build([]).ok();
        has(section(&repo.prompt(2), "Previous Handoff"), &[STORY]);
        has(section(&repo.prompt(3), "Previous Handoff"), &[STORY]);
    }
}

#[test]
fn work_that_did_not_land_is_told_as_discarded_to_its_task_and_to_no_other() {
    let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
    repo.set("max_retries = 1");
    repo.script(&(rule("task = \"t-aaa1\"", &broken_with(STORY)) + &rule("", GOOD)));
    repo.build([]).fails(3);
    assert_eq!(repo.runs(), ["t-aaa1", "t-aaa1", "t-aaa2"]);
    has(section(&repo.prompt(2), "Previous Handoff"), &[STORY, "did not land"]);
    let other = repo.prompt(3);
    assert!(!other.contains("parser.rs"), "{other}");
    assert!(repo.handoff(1)["discarded"].is_string());
}

#[test]
fn recent_attempts_are_kept_short_also_when_attempts_fail() {
    let repo = repo_with(Format::Progress, &[task("t-aaa1")]);
    let mut plan = repo.plan() + "\n## Recent Attempts\n";
    for n in 1..=6 {
        plan += &format!("\n### Iteration {n}\n- Tried: way {n}\n- Result: it was no good\n");
    }
    repo.write("progress.md", &plan);
    repo.set("build.recent_attempts = 3");
    repo.script(&rule("", BROKEN));
    repo.build(["--once"]);
    let plan = repo.plan();
    assert_eq!(plan.matches("\n### Iteration ").count(), 3, "{plan}");
    has(&plan, &["- Tried: way 5", "- Tried: way 6", "- Result: rejected"]);
}

#[test]
fn iterations_go_on_from_the_log_of_a_progress_file() {
    let repo = repo_with(Format::Progress, &[task("t-aaa1"), task("t-aaa2")]);
    let log = "\n## Iteration Log\n\n| Iteration | Started | Duration | Tasks Completed | Notes |\n\
               |---|---|---|---|---|\n| 1 | 2025-01-01 | 5m | 0 | by hand |\n\
               | 7 | 2025-01-02 | 5m | 1 | by hand |\n";
    repo.write("progress.md", repo.plan() + log);
    repo.commit("a log");
    repo.script(&(rule("attempt = 1", BROKEN) + &rule("", GOOD)));
    repo.build([]).ok();
    let plan = repo.plan();
    let rows = plan.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| It"));
    let numbers: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
    assert_eq!(numbers, ["| 1", "| 7", "| 8", "| 9", "| 10", "| 11"], "{plan}");
    assert!(repo.subjects().iter().any(|subject| subject.contains("[9]")), "{plan}");
}
