use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::handoff::{TouchedFile, synthetic};
use crate::plan::Id;

fn task() -> Task {
    Task { id: Id::new("t-1a2b"), name: "Write the parser".into(), ..Task::default() }
}

fn heard(format: PlanFormat, text: &str, structured: Option<&Value>) -> AgentReply {
    let answer = BackendAnswer { text: text.to_owned(), structured: structured.cloned() };
    hear(&ClaimSources { answer: &answer, written: None, task: &task(), format, iteration: 4 })
}

fn claim(text: &str) -> Claim {
    heard(PlanFormat::Jsonl, text, None).claim
}

fn blocked(reason: &str) -> Claim {
    Claim::Blocked { reason: reason.into() }
}

fn handoff(id: &str, complete: bool) -> Value {
    let mut value = serde_json::to_value(synthetic(&Id::new(id), Vec::new(), "")).unwrap();
    value["task_completed"]["fully_complete"] = json!(complete);
    value
}

#[test]
fn markers_count_alone_on_a_line() {
    assert_eq!(claim("All is well.\n\n<TASK_DONE>\n"), Claim::DONE);
    assert_eq!(claim("  <TASK_DONE>\r\nBye."), Claim::DONE);
    let all = heard(PlanFormat::Jsonl, "ok\nRALPH_DONE", None);
    assert_eq!((&all.claim, all.says_ralph_done, &all.problem), (&Claim::None, true, &None));
    assert!(heard(PlanFormat::Jsonl, "<TASK_DONE>\nRALPH_DONE", None).says_ralph_done);
}

#[test]
fn what_only_mentions_a_marker_is_no_claim() {
    for text in [
        "Not RALPH_DONE yet",
        "I will print <TASK_DONE> later",
        "```\n<TASK_DONE>\n```",
        "~~~\n```\n<TASK_DONE>\n~~~",
        "    <TASK_DONE>",
        "> <TASK_DONE>",
        "`<TASK_DONE>`",
        "\"<TASK_DONE>\"",
        "<TASK_BLOCKED reason> is what I would print\nif it were > 3",
        "All tests pass. The task is done.",
        "{\"result\": \"<TASK_DONE>\"}",
        "",
    ] {
        assert_eq!(claim(text), Claim::None, "{text}");
    }
}

#[test]
fn a_reason_is_read_however_it_is_quoted() {
    for (text, reason) in [
        ("<TASK_BLOCKED reason=\"no key\">", "no key"),
        ("<TASK_BLOCKED reason='no key'/>", "no key"),
        ("<TASK_BLOCKED reason=\"say \\\"hi\\\" > 3\">", "say \"hi\" > 3"),
        ("<TASK_BLOCKED reason=\"say \"hi\"\">", "say \"hi\""),
        ("<TASK_BLOCKED reason=\"two\n  lines\">\nmore", "two lines"),
        ("<TASK_BLOCKED no key>", "no key"),
        ("<TASK_BLOCKED>", "no reason was given"),
        ("<TASK_BLOCKED reason=\"\">", "no reason was given"),
    ] {
        assert_eq!(claim(text), blocked(reason), "{text}");
    }
}

#[test]
fn the_last_marker_counts_and_a_blocked_one_outweighs_a_handoff() {
    assert_eq!(claim("<TASK_BLOCKED reason=\"x\">\nsolved!\n<TASK_DONE>"), Claim::DONE);
    assert_eq!(claim("<TASK_DONE>\n<TASK_BLOCKED reason=\"x\">"), blocked("x"));
    let text = format!("{}\n<TASK_BLOCKED reason=\"x\">", handoff("t-1a2b", true));
    assert_eq!(claim(&text), blocked("x"));
}

#[test]
fn a_handoff_claims_what_it_says_and_outweighs_a_done_marker() {
    let done = handoff("t-1a2b", true);
    assert_eq!(heard(PlanFormat::Jsonl, "", Some(&done)).claim, Claim::DONE);
    assert_eq!(claim(&format!("```json\n{done:#}\n```")), Claim::DONE);
    let part = handoff("t-1a2b", false);
    let reply = heard(PlanFormat::Jsonl, "<TASK_DONE>", Some(&part));
    assert_eq!(reply.claim, Claim::Partial);
    assert!(reply.handoff.is_some_and(|h| !h.synthetic));
}

#[test]
fn a_handoff_that_asks_for_a_person_is_not_partial_work() {
    let mut value = handoff("t-1a2b", false);
    value["request_human_review"] = json!({"needed": true, "reason": "which key?"});
    let reply = heard(PlanFormat::Deluxe, "", Some(&value));
    assert_eq!(reply.claim, Claim::NeedsHuman { reason: "which key?".into() });
    value["task_completed"]["fully_complete"] = json!(true);
    assert_eq!(heard(PlanFormat::Deluxe, "", Some(&value)).claim, Claim::DONE);
}

#[test]
fn a_quoted_handoff_of_another_task_is_no_claim_and_the_repair_question_says_why() {
    let reply = heard(PlanFormat::Jsonl, &handoff("t-0000", true).to_string(), None);
    assert_eq!((reply.claim, reply.handoff), (Claim::None, None));
    assert!(reply.problem.unwrap().to_string().contains("the task is `t-1a2b`"));
    let both = format!("{}\n{}", handoff("t-1a2b", true), handoff("t-0000", false));
    assert_eq!(claim(&both), Claim::DONE);
}

#[test]
fn a_broken_structured_answer_falls_back_to_the_text_and_is_named() {
    let broken = json!({"summary": 1});
    assert_eq!(heard(PlanFormat::Jsonl, "<TASK_DONE>", Some(&broken)).claim, Claim::DONE);
    let reply = heard(PlanFormat::Jsonl, "nothing", Some(&broken));
    assert_eq!(reply.claim, Claim::None);
    assert!(matches!(reply.problem, Some(AnswerError::Misfit(_))));
}

#[test]
fn a_narrative_that_is_too_short_is_a_problem_but_still_a_claim() {
    let mut value = handoff("t-1a2b", true);
    value["freeform"] = json!("short");
    let reply = heard(PlanFormat::Jsonl, "", Some(&value));
    assert_eq!(reply.claim, Claim::DONE);
    assert!(reply.problem.unwrap().to_string().contains("at least 50"));
}

#[test]
fn no_change_needed_is_carried_and_an_empty_one_is_none() {
    let mut value = handoff("t-1a2b", true);
    value["no_change_needed"] = json!("it was done already");
    let no_change_needed = Some("it was done already".to_owned());
    let reply = heard(PlanFormat::Jsonl, "", Some(&value));
    assert_eq!(reply.claim, Claim::Done { no_change_needed });
    value["no_change_needed"] = json!("  ");
    assert_eq!(heard(PlanFormat::Jsonl, "", Some(&value)).claim, Claim::DONE);
}

const RETURNED: &str = "# Progress: x\n\n## Status\n\nIn Progress\n\n## Tasks\n\n- [x] Write the parser\n\
    - [x] Another task\n\n## Recent Attempts\n\n### Iteration 3\n- Tried: old\n- Result: old\n\n\
    ### Iteration 4\n- Tried: a table\n- Result: works\n";

#[test]
fn of_a_returned_progress_file_only_the_tick_and_the_note_are_taken() {
    for text in [
        format!("Here it is:\n\n{RETURNED}"),
        format!("Here it is:\n```markdown\n{RETURNED}```\nBye."),
        RETURNED.to_owned(),
    ] {
        let reply = heard(PlanFormat::Progress, &text, None);
        assert_eq!(reply.claim, Claim::DONE, "{text}");
        let note = reply.attempt.unwrap();
        assert_eq!((note.iteration, note.tried.as_str()), (4, "a table"));
        assert_eq!(heard(PlanFormat::Jsonl, &text, None).claim, Claim::None);
    }
}

#[test]
fn a_progress_file_with_only_other_tasks_ticked_claims_nothing() {
    let text = RETURNED.replace("[x] Write the parser", "[ ] Write the parser");
    assert_eq!(heard(PlanFormat::Progress, &text, None).claim, Claim::None);
    let without = RETURNED.replace("Write the parser", "Something else");
    assert_eq!(taken_from_progress(&without, &task(), 4), None);
    let foreign = RETURNED.replace(
        "Tried: a table",
        &format!("Tried: {} — Another task", crate::format::progress::task_id("Another task", 0)),
    );
    assert_eq!(taken_from_progress(&foreign, &task(), 4).unwrap().attempt, None);
}

#[test]
fn a_synthetic_handoff_says_so_and_names_what_changed() {
    let file = TouchedFile { path: "src/a.rs".into(), action: "modified".into() };
    let handoff = synthetic(&Id::new("t-1a2b"), vec![file], "the answer was empty");
    assert!(handoff.synthetic && !handoff.task_completed.fully_complete);
    for part in ["synthetic", "the answer was empty", "- modified src/a.rs"] {
        assert!(handoff.freeform.contains(part), "{}", handoff.freeform);
    }
    assert!(handoff.freeform.chars().count() >= MIN_FREEFORM);
    assert!(crate::handoff::schema().as_value()["properties"]["synthetic"].is_null());
}

proptest! {
    #[test]
    fn text_that_is_quoted_never_claims(text in "(\\PC|<TASK_DONE>|RALPH_DONE|\n|```|\\{\\}){0,40}") {
        let quoted: String = text.lines().flat_map(|l| ["> ", l, "\n"]).collect();
        prop_assert_eq!(claim(&quoted), Claim::None);
    }

    #[test]
    fn any_text_is_heard_without_a_crash(text in "(\\PC|<TASK_BLOCKED reason=\"|\">|# Progress: x\n|- \\[x\\] |\n|```){0,40}") {
        for format in PlanFormat::ALL {
            let _heard = heard(format, &text, None);
        }
    }
}

#[test]
fn of_two_claims_the_more_careful_one_counts() {
    let blocked = || Claim::Blocked { reason: "no key".into() };
    assert_eq!(Claim::None.or_more_careful(Claim::DONE), Claim::DONE);
    assert_eq!(Claim::DONE.or_more_careful(Claim::None), Claim::DONE);
    assert_eq!(Claim::Partial.or_more_careful(Claim::DONE), Claim::Partial);
    assert_eq!(Claim::DONE.or_more_careful(blocked()), blocked());
    assert_eq!(blocked().or_more_careful(Claim::Partial), blocked());
}
