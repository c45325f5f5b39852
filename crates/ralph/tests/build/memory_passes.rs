//! Passes: further agents after an attempt, that advise and never stop anything.

use crate::memory::{REVIEW, has, role, write};
use crate::plans::{Format, task};
use crate::repo::{BROKEN, GATE, GOOD, Repo, repo, repo_with, rule, says};

const APPROVES: &str = r#"{ answer = { verdict = "approve", summary = "fine" } }"#;

/// A pass with these settings, beside its name and its prompt.
fn pass(settings: &str) -> String {
    format!(
        "[[passes]]\nname = \"review\"\nprompt_template = \"review-agent-prompt.md\"\n{settings}\n"
    )
}

fn with(repo: Repo, passes: &str, rules: &str) -> Repo {
    repo.config(&format!("backend = \"sim\"\n{GATE}\n{passes}"));
    repo.script(rules);
    repo
}

/// Iterations after which the pass ran.
fn ran_after(repo: &Repo) -> Vec<u64> {
    let ends = repo.events("agent_pass");
    ends.iter().map(|event| event["metadata"]["iteration"].as_u64().unwrap()).collect()
}

#[test]
fn each_trigger_runs_a_pass_when_it_says() {
    for (trigger, expected) in [
        ("always", vec![1, 2, 3, 4]),
        ("on_success", vec![2, 3, 4]),
        ("on_failure", vec![1]),
        ("periodic:2", vec![2, 4]),
    ] {
        let tasks = ["t-aaa1", "t-aaa2", "t-aaa3"].map(task);
        let rules = role(REVIEW, "", APPROVES)
            + &rule("task = \"t-aaa1\"\nattempt = 1", BROKEN)
            + &rule("", GOOD);
        let repo = with(repo(&tasks), &pass(&format!("trigger = \"{trigger}\"")), &rules);
        repo.build([]).ok();
        assert_eq!(ran_after(&repo), expected, "{trigger}");
    }
}

#[test]
fn a_pass_that_is_switched_off_does_not_run_and_neither_does_any_when_all_are() {
    let rules = role(REVIEW, "", APPROVES) + &rule("", GOOD);
    let off = with(repo(&[task("t-aaa1")]), &pass("enabled = false"), &rules);
    off.build([]).ok();
    assert!(off.events("agent_end").is_empty());
    let none = with(repo(&[task("t-aaa1")]), &pass(""), &rules);
    none.config(&format!("backend = \"sim\"\npasses_enabled = false\n{GATE}\n{}", pass("")));
    none.build([]).ok();
    assert!(none.events("agent_end").is_empty());
    let by_variable = with(repo(&[task("t-aaa1")]), &pass(""), &rules);
    by_variable.command(["build"]).env("RALPH_AGENT_PASSES_ENABLED", "false").run().ok();
    assert!(by_variable.events("agent_end").is_empty());
}

#[test]
fn a_review_is_shown_kept_and_told_what_changed_in_every_format() {
    for format in Format::ALL {
        let finds = r#"{ answer = { verdict = "concerns", summary = "one thing", findings = [{ severity = "high", file = "work/x", description = "off by one" }] } }"#;
        let rules = role(REVIEW, "", finds) + &rule("", GOOD);
        let repo = with(repo_with(format, &[task("t-aaa1")]), &pass(""), &rules);
        let run = repo.build([]).ok();
        says(&run, "review has concerns: one thing (1 in .ralph/logs/passes/iter-1-review.json)");
        has(&repo.read(".ralph/logs/passes/iter-1-review.json"), &["off by one"]);
        let [prompt] = &repo.asked("pass")[..] else { panic!("asked once") };
        has(
            prompt,
            &["# Manifest", "passed", "- changed: `work/", "git show ", "handoff-001.json"],
        );
        assert!(repo.is_done("t-aaa1"), "{format:?}");
    }
}

#[test]
fn a_pass_has_its_own_prompt_and_its_own_schema() {
    let own = "prompt_template = \"security.md\"\nschema = \"security.json\"\n";
    let passes = format!("[[passes]]\nname = \"security\"\n{own}");
    let rules = role("LOOK FOR HOLES", "", "{ answer = { holes = 3 } }") + &rule("", GOOD);
    let repo = repo(&[task("t-aaa1")]);
    repo.write("ralph/prompts/security.md", "LOOK FOR HOLES after iteration {{ iteration }}.\n");
    repo.write(
        "ralph/prompts/security.json",
        r#"{"type": "object", "properties": {"holes": {"type": "integer"}}}"#,
    );
    let repo = with(repo, &passes, &rules);
    let run = repo.build([]).ok();
    says(&run, "security answered: .ralph/logs/passes/iter-1-security.json");
    has(&repo.read(".ralph/logs/passes/iter-1-security.json"), &["\"holes\": 3"]);
    has(&repo.asked("pass")[0], &["LOOK FOR HOLES after iteration 1.", "# Manifest"]);
}

#[test]
fn a_pass_changes_nothing_whether_it_only_reads_or_not() {
    for settings in ["read_only = true", "read_only = false"] {
        let steps = format!(
            r#"{}, {{ run = "rm -f README.md; git commit -qam mine" }}, {}, {}, {APPROVES}"#,
            write("src/main.c", "gone\n"),
            write("work/more.txt", "more\n"),
            write(crate::memory::MARKDOWN, "gone\n")
        );
        let rules = role(REVIEW, "", &steps) + &rule("", GOOD);
        let repo = with(repo(&[task("t-aaa1"), task("t-aaa2")]), &pass(settings), &rules);
        let run = repo.build([]).ok();
        assert_eq!(repo.read("src/main.c"), "int main(void) { return 0; }\n", "{settings}");
        assert!(repo.exists("README.md") && !repo.exists("work/more.txt"), "{settings}");
        assert!(!repo.exists(crate::memory::MARKDOWN), "{settings}");
        assert!(!repo.subjects().iter().any(|s| s == "mine"), "{:?}", repo.subjects());
        assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
        assert_eq!(repo.status(), "", "{settings}");
        if settings == "read_only = false" {
            says(&run, "pass may change nothing, and changed");
            assert_eq!(repo.events("tree_restored").len(), 2);
        } else {
            assert!(repo.events("tree_restored").is_empty(), "it could not even write");
        }
    }
}

#[test]
fn invariant_13_no_pass_stops_the_loop_whatever_comes_of_it() {
    let template = |file: &str| pass("").replace("review-agent-prompt.md", file);
    for (passes, steps, why) in [
        (pass(""), r#"{ signal = "kill" }"#, "pass review: "),
        (pass(""), r#"{ answer = "Looks good to me!" }"#, "pass review: "),
        (pass(""), r#"{ exit = 7 }"#, "pass review: "),
        (pass(""), r#"{ fail = "not_logged_in" }"#, "pass review: "),
        (template("nowhere.md"), APPROVES, "there is no nowhere.md"),
        (template("broken.md"), APPROVES, "there is no variable `nobody`"),
        (pass("schema = \"nowhere.json\""), APPROVES, "there is no schema nowhere.json"),
        (pass("schema = \"broken.md\""), APPROVES, "broken.md: "),
        (pass("mcp_config = \"nowhere.json\""), APPROVES, "nowhere.json"),
    ] {
        let repo = repo(&[task("t-aaa1"), task("t-aaa2")]);
        repo.write("ralph/prompts/broken.md", "{{ nobody }}\n");
        let rules = role(REVIEW, "", steps) + &rule("", GOOD);
        let repo = with(repo, &passes, &rules);
        let run = repo.build([]).ok();
        says(&run, why);
        assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"], "{passes} {steps}");
        assert_eq!(repo.status(), "", "{passes} {steps}");
    }
}

#[test]
fn a_pass_that_takes_too_long_is_ended() {
    let rules = role(REVIEW, "", "{ hang = true }") + &rule("", GOOD);
    let slow = format!("[stages.review]\ntimeout = \"1s\"\n{}", pass(""));
    let repo = with(repo(&[task("t-aaa1")]), &slow, &rules);
    let run = repo.build([]).ok();
    says(&run, "pass review: ");
    assert_eq!(repo.events("agent_pass_failed").len(), 1);
}

#[test]
fn passes_cost_money_and_none_begins_when_there_is_none_left() {
    let rules = role(REVIEW, "", &format!("{{ cost = 0.3 }}, {APPROVES}")) + &rule("", GOOD);
    let repo = with(repo(&["t-aaa1", "t-aaa2", "t-aaa3"].map(task)), &pass(""), &rules);
    repo.build(["--max-cost", "0.5"]).fails(4);
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
    assert_eq!(repo.events("agent_pass").len() + repo.events("agent_pass_failed").len(), 2);
}
