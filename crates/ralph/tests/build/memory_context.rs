//! `agent-orchestrated`: the context agent prepares the prompt of an attempt, or says why not.

use serde_json::json;

use crate::memory::{
    GOOD_PROMPT, NEW_JSON, NEW_MD, PREPARE, PREPARED, directive, hands_over, has, in_mode,
    prepares, puts_nothing_away, role, section, write,
};
use crate::plans::{Format, records, task};
use crate::repo::{BROKEN, GOOD, Repo, rule, says};

const MODE: &str = "agent-orchestrated";

/// Two tasks; the context agent prepares with these rules, and puts nothing away.
fn prepared_by(rules: &str) -> Repo {
    let repo = in_mode(MODE, Format::Jsonl, &[task("t-aaa1"), task("t-aaa2")], "");
    repo.script(&format!("{rules}{}{}", puts_nothing_away(), rule("", GOOD)));
    repo
}

#[test]
fn the_prepared_prompt_arrives_with_the_conditions_of_ralph_in_every_format() {
    for format in Format::ALL {
        let ids = ["t-aaa1", "t-aaa2", "t-aaa3"];
        let repo = in_mode(MODE, format, &ids.map(task), "");
        repo.script(&(prepares() + &puts_nothing_away() + &rule("", GOOD)));
        repo.build([]).ok();
        for iteration in 1..=3 {
            let prompt = repo.prompt(iteration);
            let current = section(&prompt, "## Current Task");
            let conditions = ["PREPARED WITH CARE for", "Do t-aaa", "Do not commit", "<TASK_DONE>"];
            has(current, &conditions);
            has(current, &["### Gates", "! grep -rns BROKEN work"]);
            assert_eq!(prompt.matches("## Current Task").count(), 1, "{prompt}");
            assert!(!prompt.contains("### Structured context"), "not ralph's own: {prompt}");
        }
        assert!(ids.iter().all(|id| repo.is_done(id)), "{format:?}: {}", repo.plan());
        assert_eq!(repo.asked("prepare").len(), 3, "{format:?}");
    }
}

#[test]
fn the_manifest_points_to_files_and_holds_none_of_them() {
    let repo = prepared_by(&prepares());
    repo.knows(NEW_MD, NEW_JSON);
    let story =
        "freeform = \"A long story about the parser, which nobody should have to read twice.\"";
    let work = rule("", &hands_over(story));
    repo.script(&format!("{}{}{work}", prepares(), puts_nothing_away()));
    repo.build([]).ok();
    let prompts = repo.asked("prepare");
    let first = &prompts[0];
    has(first, &["# Manifest", "- id: `t-aaa1`", "- knowledge index: `.ralph/knowledge-index.md`"]);
    assert!(!first.contains("Warm the cache"), "a pointer, not the contents: {first}");
    has(
        &prompts[1],
        &["- latest handoff: `.ralph/handoffs/handoff-001.json`", "- plan: `ralph/plan.jsonl`"],
    );
    assert!(!prompts[1].contains("A long story"), "{}", prompts[1]);
}

#[test]
fn on_a_retry_the_manifest_leads_to_the_failure_and_to_what_the_gates_said() {
    let repo = prepared_by("");
    let failing =
        GOOD_PROMPT.replace("## Retrieved", "## Failure Context\n\nIt broke.\n\n## Retrieved");
    let again = role(
        PREPARE,
        "attempt = \"2+\"",
        &format!("{}, {}", write(PREPARED, &failing), directive("proceed")),
    );
    let first = role(
        PREPARE,
        "attempt = 1",
        &format!("{}, {}", write(PREPARED, GOOD_PROMPT), directive("proceed")),
    );
    let work = rule("attempt = 1", BROKEN) + &rule("", GOOD);
    repo.script(&(first + &again + &puts_nothing_away() + &work));
    repo.build(["--once"]).fails(3);
    repo.build(["--once"]).ok();
    let prompts = repo.asked("prepare");
    has(
        &prompts[1],
        &[
            "- failed attempts before: 1",
            "- why the last attempt failed: `.ralph/context/failure-context.md`",
            "- what the gates said last: `.ralph/logs/validation/iter-1.json`",
        ],
    );
    assert!(!prompts[0].contains("why the last attempt failed"));
    has(section(&repo.prompt(2), "## Failure Context"), &["It broke."]);
}

/// Preparations that cannot be used: ralph's own prompt is, a warning says why, and the work is done.
#[track_caller]
fn is_not_used(steps: &str, why: &str) {
    let repo = prepared_by(&role(PREPARE, "", steps));
    // What another run left must not be taken for this one's.
    repo.write(PREPARED, GOOD_PROMPT.replace("WITH CARE", "LONG AGO"));
    let run = repo.build([]).ok();
    says(&run, "ralph's own prompt is used");
    says(&run, why);
    let prompt = repo.prompt(1);
    assert!(!prompt.contains("LONG AGO") && !prompt.contains("WITH CARE"), "{prompt}");
    has(&prompt, &["## Current Task", "## Previous Handoff", "Do t-aaa1"]);
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"]);
}

#[test]
fn a_stale_prepared_prompt_is_removed_first_and_never_used() {
    is_not_used(
        &directive("proceed"),
        "the context agent wrote no .ralph/context/prepared-prompt.md",
    );
}

#[test]
fn a_prepared_prompt_that_is_too_short_is_not_used() {
    let short = format!("{}, {}", write(PREPARED, "## Current Task\nx\n"), directive("proceed"));
    is_not_used(&short, "less than 50");
}

#[test]
fn a_prepared_prompt_without_a_header_is_not_used() {
    let headless = GOOD_PROMPT.replace("## Output Instructions", "## Outputs");
    let steps = format!("{}, {}", write(PREPARED, &headless), directive("proceed"));
    is_not_used(&steps, "has no ## Output Instructions");
}

#[test]
fn a_header_inside_a_code_block_is_none() {
    let fenced =
        GOOD_PROMPT.replace("## Output Instructions\n", "```\n## Output Instructions\n```\n");
    let steps = format!("{}, {}", write(PREPARED, &fenced), directive("proceed"));
    is_not_used(&steps, "has no ## Output Instructions");
}

#[test]
fn a_prepared_prompt_that_is_a_folder_is_not_used_and_stops_nothing() {
    let folder = format!(r#"{{ run = "mkdir -p {PREPARED}/x" }}, {}"#, directive("proceed"));
    is_not_used(&folder, "ralph's own prompt");
}

#[test]
fn a_context_agent_that_crashes_or_talks_nonsense_is_gone_on_without() {
    is_not_used(r#"{ signal = "kill" }"#, "ralph's own prompt");
    is_not_used(r#"{ answer = "Sure, all is ready!" }"#, "ralph's own prompt");
    is_not_used(r#"{ answer = { action = "dance", reason = "x" } }"#, "ralph's own prompt");
}

#[test]
fn a_good_prompt_counts_even_when_its_answer_cannot_be_read() {
    let steps = format!("{}, {{ answer = \"All is ready!\" }}", write(PREPARED, GOOD_PROMPT));
    let repo = prepared_by(&role(PREPARE, "", &steps));
    repo.build([]).ok();
    has(&repo.prompt(1), &["PREPARED WITH CARE for t-aaa1"]);
}

#[test]
fn ralphs_own_prompt_in_this_mode_holds_the_index_too() {
    let repo = prepared_by(&role(PREPARE, "", &directive("proceed")));
    repo.knows(NEW_MD, NEW_JSON);
    repo.build(["--once"]).ok();
    has(
        section(&repo.prompt(1), "## Retrieved Project Memory"),
        &["Must never force push to main"],
    );
}

#[test]
fn a_task_that_the_context_agent_leaves_out_is_skipped_and_the_others_go_on() {
    for format in Format::ALL {
        let repo = in_mode(MODE, format, &[task("t-aaa1"), task("t-aaa2")], "");
        let steps = directive("skip");
        let words = format!("[{PREPARE:?}, \"- title: Do t-aaa1\"]");
        let skip = format!("[[rule]]\nwhen = {words}\nsteps = [{steps}]\n");
        repo.script(&format!("{skip}{}{}{}", prepares(), puts_nothing_away(), rule("", GOOD)));
        let run = repo.build([]).ok();
        says(&run, "skipped by the context agent: because of skip");
        assert_eq!(repo.runs().len(), 1, "{format:?}");
        assert!(repo.is_done("t-aaa2") && !repo.is_done("t-aaa1"), "{format:?}: {}", repo.plan());
        assert_eq!(repo.events("task_skipped").len(), 1, "{format:?}");
        assert_eq!(repo.state()["status"], "complete", "{format:?}");
    }
}

#[test]
fn a_context_agent_that_wants_a_person_pauses_the_loop_and_the_task_stays_pending() {
    let repo = prepared_by(&role(PREPARE, "", &directive("request_human_review")));
    let run = repo.build([]).fails(3);
    says(&run, "because of request_human_review");
    assert_eq!(repo.state()["status"], "paused");
    assert!(repo.runs().is_empty());
    let plan = records(&repo.plan());
    assert!(plan.iter().any(|r| r["id"] == "t-aaa1" && r["s"] == "p" && r["blocked"].is_null()));
    let events = repo.events("human_review_requested");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["metadata"]["task_id"], "t-aaa1");
    repo.script(&format!("{}{}{}", prepares(), puts_nothing_away(), rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.landed(), ["t-aaa1", "t-aaa2"], "it goes on when somebody starts it again");
}

#[test]
fn more_research_is_granted_twice_and_then_the_task_is_tried() {
    let steps = format!("{}, {}", write(PREPARED, GOOD_PROMPT), directive("research"));
    let repo = prepared_by(&role(PREPARE, "", &steps));
    repo.build(["--once"]).ok();
    let prompts = repo.asked("prepare");
    assert_eq!(prompts.len(), 3);
    assert_eq!(repo.events("research_requested").len(), 2);
    assert!(!prompts[0].contains("only researched this task"));
    has(&prompts[1], &["- iterations that only researched this task: 1 so far, at most 1 more"]);
    has(&prompts[2], &["- iterations that only researched this task: 2 so far, at most 0 more"]);
    has(&repo.prompt(1), &["PREPARED WITH CARE"]);
    assert_eq!(repo.runs(), ["t-aaa1"]);
}

#[test]
fn work_that_goes_round_in_circles_is_an_event() {
    let stuck = r#"{ answer = { action = "proceed", reason = "x", stuck_detection = { is_stuck = true, evidence = "iterations 3 and 5 undo each other", suggested_action = "split it" } } }"#;
    let steps = format!("{}, {stuck}", write(PREPARED, GOOD_PROMPT));
    let repo = prepared_by(&role(PREPARE, "", &steps));
    repo.build(["--once"]).ok();
    let events = repo.events("stuck_detected");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["message"], "iterations 3 and 5 undo each other");
    assert_eq!(events[0]["metadata"]["suggested_action"], "split it");
}

#[test]
fn a_context_agent_writes_its_prompt_and_nothing_else() {
    let steps = format!(
        "{}, {}, {}, {}",
        write(PREPARED, GOOD_PROMPT),
        write("src/main.c", "gone\n"),
        write(crate::memory::MARKDOWN, "gone\n"),
        directive("proceed")
    );
    let repo = prepared_by(&role(PREPARE, "", &steps));
    repo.knows(NEW_MD, NEW_JSON);
    let run = repo.build(["--once"]).ok();
    repo.index_is(NEW_MD, NEW_JSON);
    assert_eq!(repo.read("src/main.c"), "int main(void) { return 0; }\n");
    says(&run, "prepare may change nothing, and changed src/main.c");
    says(&run, ".ralph/knowledge-index.md: prepare may not write it; its changes are left out");
    has(&repo.prompt(1), &["PREPARED WITH CARE"]);
    assert_eq!(repo.events("tree_restored")[0]["metadata"]["paths"], json!(["src/main.c"]));
}
