use std::num::NonZeroU32;

use super::directive::{
    IndexerReport, PassReview, PostAction, PostDirective, PrepAction, PrepDirective, StuckDetection,
};
use super::*;
use crate::agent_role::AgentRole;
use crate::answer::{AnswerError, BackendAnswer, schema_of};
use crate::config::{Config, MemoryMode, PassSettings, PassTrigger};
use crate::handoff::{Confidence, HumanReview, synthetic};
use crate::memory::index::{IndexFiles, verify};
use crate::memory::trigger;
use crate::plan::{Id, Task};
use crate::prompt::{PastHandoff, PromptSection, PromptTemplates};

fn task() -> Task {
    Task {
        id: Id::new("t-1a2b"),
        name: "Parse the header".into(),
        notes: Some("# Split\nat the colon".into()),
        accept: vec!["an empty line is an error".into()],
        skills: vec!["rust".into()],
        libraries: vec!["nom".into()],
        ..Task::default()
    }
}

fn past() -> PastHandoff {
    let mut handoff = synthetic(&Id::new("t-0000"), Vec::new(), "");
    handoff.freeform = "THE WHOLE STORY".into();
    handoff.request_research = vec!["how nom streams".into()];
    handoff.confidence_level = Some(Confidence::Low);
    handoff.request_human_review =
        Some(HumanReview { needed: true, reason: "which licence?".into() });
    PastHandoff { number: 7, file: ".ralph/handoffs/handoff-007.json".into(), handoff }
}

fn prep<'a>(task: &'a Task, latest: Option<&'a PastHandoff>) -> PrepInput<'a> {
    PrepInput {
        iteration: 8,
        mode: MemoryMode::AgentOrchestrated,
        plan_file: "plan.json",
        task,
        latest,
        first_handoff: latest.map(|_| ".ralph/handoffs/handoff-001.json"),
        index: [Some(".ralph/knowledge-index.md"), None],
        failure_context: Some(".ralph/context/failure-context.md"),
        validation_log: None,
        skills: Some(".ralph/skills"),
        templates: None,
        notes: &[],
        researched: 1,
        advice: None,
    }
}

fn directive(action: PrepAction) -> PrepDirective {
    let stuck_detection = StuckDetection::default();
    PrepDirective {
        action,
        reason: "why\nnot".into(),
        stuck_detection,
        research_topics: Vec::new(),
    }
}

#[test]
fn no_role_may_write_more_of_the_ledger_than_its_own_files() {
    assert!(AgentRole::Build.may_write().is_empty());
    assert!(AgentRole::Pass.may_write().is_empty());
    assert_eq!(AgentRole::Prepare.may_write(), [PREPARED_PROMPT]);
    assert_eq!(AgentRole::Index.may_write(), AgentRole::PutAway.may_write());
}

#[test]
fn a_manifest_holds_pointers_and_signals_but_no_contents() {
    let (task, past) = (task(), past());
    let manifest = prep_manifest(&prep(&task, Some(&past)));
    for part in [
        "- latest handoff: `.ralph/handoffs/handoff-007.json`",
        "from `.ralph/handoffs/handoff-001.json` to",
        "- knowledge index: `.ralph/knowledge-index.md`",
        "- why the last attempt failed: `.ralph/context/failure-context.md`",
        "- libraries: `nom`",
        "#### Split\nat the colon",
        "- the last attempt asks to look up: how nom streams",
        "- the last attempt asks for a person: which licence?",
        "- confidence of the last attempt: low",
        "- iterations that only researched this task: 1 so far, at most 1 more",
        "- write the prompt to: `.ralph/context/prepared-prompt.md`",
    ] {
        assert!(manifest.contains(part), "no {part:?} in\n{manifest}");
    }
    assert!(!manifest.contains("THE WHOLE STORY"));
    let first = PrepInput {
        index: [None; 2],
        failure_context: None,
        skills: None,
        researched: 0,
        ..prep(&task, None)
    };
    let manifest = prep_manifest(&first);
    assert!(manifest.contains("Nothing was left by earlier iterations"), "{manifest}");
    assert!(manifest.contains("## Signals\n\nNone.\n"), "{manifest}");
}

#[test]
fn a_prepared_prompt_needs_its_size_and_all_its_headers() {
    let task = task();
    let required = required_sections(&prep(&task, None));
    assert!(
        required.contains(&PromptSection::FailureContext)
            && required.contains(&PromptSection::Skills)
    );
    let whole: String = required.iter().map(|s| format!("{}\n\nwords\n\n", s.header())).collect();
    assert_eq!(check_prepared(Some(&whole), &required), Ok(()));
    assert!(check_prepared(None, &required).unwrap_err().contains("wrote no"));
    assert!(check_prepared(Some("## Skills"), &required).unwrap_err().contains("9 bytes"));
    let cut = whole.replace("## Skills", "### Skills");
    assert!(check_prepared(Some(&cut), &required).unwrap_err().ends_with("has no ## Skills"));
    let quoted = whole.replace("## Skills\n", "```\n## Skills\n```\n");
    assert!(check_prepared(Some(&quoted), &required).is_err());
    let plain = Task { skills: Vec::new(), ..task };
    let first = PrepInput { failure_context: None, ..prep(&plain, None) };
    assert_eq!(required_sections(&first).len(), 4);
}

#[test]
fn the_prompt_of_the_context_agent_names_every_header_it_must_write() {
    let task = task();
    let prompt = prep_prompt(&PromptTemplates::embedded(), &prep(&task, None)).unwrap();
    for section in required_sections(&prep(&task, None)) {
        assert!(prompt.contains(&format!("- `{}`", section.header())), "{prompt}");
    }
    assert!(
        prompt.contains("`stuck_detection` {is_stuck, evidence, suggested_action}"),
        "{prompt}"
    );
}

#[test]
fn work_goes_on_whatever_a_preparation_leaves() {
    let ok = || Ok(());
    let bad = || Err("no file".to_owned());
    let after =
        |action, prepared, researched| after_prep(Ok(&directive(action)), prepared, researched);
    let unprepared = PrepOutcome::CodeUnprepared { why: "no file".into() };
    let reason = || "why not".to_owned();
    assert_eq!(after(PrepAction::Proceed, ok(), 0), PrepOutcome::Code);
    assert_eq!(after(PrepAction::Proceed, bad(), 0), unprepared);
    assert_eq!(after(PrepAction::Skip, bad(), 0), PrepOutcome::Skip { reason: reason() });
    assert_eq!(
        after(PrepAction::RequestHumanReview, ok(), 0),
        PrepOutcome::Pause { reason: reason() }
    );
    assert_eq!(after_prep(Err("no JSON".into()), ok(), 0), PrepOutcome::Code);
    let why = "no JSON".to_owned();
    assert_eq!(after_prep(Err(why.clone()), bad(), 0), PrepOutcome::CodeUnprepared { why });
}

#[test]
fn research_is_not_repeated_for_ever() {
    let again = |researched| after_prep(Ok(&directive(PrepAction::Research)), Ok(()), researched);
    assert!(matches!(again(0), PrepOutcome::Research { .. }));
    assert!(matches!(again(MOST_RESEARCH - 1), PrepOutcome::Research { .. }));
    assert_eq!(again(MOST_RESEARCH), PrepOutcome::Code);
}

fn answered<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, AnswerError> {
    BackendAnswer { text: text.to_owned(), structured: None }.read()
}

#[test]
fn answers_of_every_role_are_read_as_their_schema_says() {
    let text = r#"Done. {"action": "request_human_review", "reason": "x"}"#;
    let read: PrepDirective = answered(text).unwrap();
    assert_eq!(
        (read.action, read.stuck_detection.is_stuck),
        (PrepAction::RequestHumanReview, false)
    );
    let text = r#"{"action": "increase_retries", "reason": "x", "failure_pattern": {"pattern": "p", "evidence": "e"}}"#;
    let read: PostDirective = answered(text).unwrap();
    assert_eq!(read.action, PostAction::IncreaseRetries);
    assert_eq!(read.failure_pattern.unwrap().pattern, "p");
    assert!(answered::<PrepDirective>(r#"{"action": "dance", "reason": ""}"#).is_err());
    for schema in [
        schema_of::<PrepDirective>(),
        schema_of::<PostDirective>(),
        schema_of::<IndexerReport>(),
        schema_of::<PassReview>(),
    ] {
        let schema = schema.as_value();
        assert_eq!(schema["type"], "object", "{schema}");
        assert!(schema["required"].as_array().is_some_and(|all| !all.is_empty()), "{schema}");
    }
    let words = schema_of::<PostDirective>().to_value().to_string();
    for word in ["proceed", "skip_task", "modify_plan", "request_human_review", "increase_retries"]
    {
        assert!(words.contains(word), "{word}");
    }
}

#[test]
fn an_indexer_learns_why_its_last_update_was_undone() {
    let old = "# Knowledge Index\nLast updated: iteration 3 (x)\n## Constraints\n- [K-constraint-a] must stay\n";
    let files = IndexFiles { markdown: Some(old), json: Some("[]") };
    let undone = verify(files, IndexFiles { markdown: Some(""), json: Some("[]") }).unwrap_err();
    let undone: Vec<String> = undone.iter().map(ToString::to_string).collect();
    let (task, handoffs) = (task(), [past()]);
    let mut input = IndexerInput {
        iteration: 8,
        task: &task,
        trigger: trigger::IndexTrigger::Metadata { libraries: 1 },
        files,
        handoffs: &handoffs,
        undone: &undone,
    };
    let prompt = indexer_prompt(&PromptTemplates::embedded(), &input).unwrap();
    for part in [
        "Last updated: iteration 8 (date)",
        "## Architectural Decisions\n- [K-decision-short-name]",
        "## Why The Last Update Was Undone",
        "a hard constraint was dropped or changed",
        "- [K-constraint-a] must stay",
        "what the next task has to know about `nom`",
        "\"iteration\":7",
        ".ralph/handoffs/handoff-007.json",
        "has 0 entries. Add to its end.",
    ] {
        assert!(prompt.contains(part), "no {part:?} in\n{prompt}");
    }
    assert!(!prompt.contains("THE WHOLE STORY"));
    let big = format!("{old}{}", "x".repeat(1 << 20));
    input.files.markdown = Some(&big);
    input.undone = &[];
    let prompt = indexer_prompt(&PromptTemplates::embedded(), &input).unwrap();
    assert!(prompt.len() < 20_000 && prompt.contains("read it before you change it"));
    assert!(!prompt.contains("Was Undone"));
}

#[test]
fn what_came_of_an_attempt_is_told_with_the_newest_five_handoffs() {
    let task = task();
    let recent: Vec<PastHandoff> = (1..=7)
        .map(|n| PastHandoff { number: n, file: format!("handoff-{n:03}.json"), ..past() })
        .collect();
    let attempt = EndedAttempt {
        iteration: 8,
        task: &task,
        judged: AttemptVerdict::Failed,
        handoff: Some("handoff-008.json"),
        validation_log: Some("iter-8.json"),
    };
    let prompt = post_prompt(&PromptTemplates::embedded(), &attempt, &recent, &[]).unwrap();
    assert!(prompt.contains("- validation: failed\n- handoff: `handoff-008.json`"), "{prompt}");
    assert!(prompt.contains("- `handoff-003.json`: [t-0000]") && !prompt.contains("handoff-002"));
    assert!(prompt.contains("## Rules That Are Checked"));
    assert!(prompt.contains("{\"iteration\": 8, "), "{prompt}");
}

#[test]
fn a_pass_runs_when_its_trigger_says_so() {
    let every = PassTrigger::Periodic(NonZeroU32::new(3).unwrap());
    for (trigger, passed, failed) in [
        (PassTrigger::Always, [true; 3], [true; 3]),
        (PassTrigger::OnSuccess, [true; 3], [false; 3]),
        (PassTrigger::OnFailure, [false; 3], [true; 3]),
        (every, [false, true, false], [false, true, false]),
    ] {
        for (at, iteration) in [2, 3, 4].into_iter().enumerate() {
            assert_eq!(due(trigger, AttemptVerdict::Passed, iteration), passed[at]);
            assert_eq!(due(trigger, AttemptVerdict::Failed, iteration), failed[at]);
        }
    }
}

#[test]
fn only_enabled_passes_run_and_none_when_passes_are_off() {
    let pass = |name: &str, enabled, trigger| PassSettings {
        name: name.into(),
        enabled,
        model: None,
        trigger,
        max_turns: None,
        prompt_template: "p.md".into(),
        schema: None,
        mcp_config: None,
        read_only: true,
    };
    let passes = vec![
        pass("a", true, PassTrigger::OnSuccess),
        pass("b", false, PassTrigger::Always),
        pass("c", true, PassTrigger::Always),
    ];
    let mut config = Config { passes, ..Config::default() };
    let names = |config: &Config, judged| -> Vec<String> {
        passes_due(config, judged, 1).map(|pass| pass.name.clone()).collect()
    };
    assert_eq!(names(&config, AttemptVerdict::Passed), ["a", "c"]);
    assert_eq!(names(&config, AttemptVerdict::Failed), ["c"]);
    config.passes_enabled = false;
    assert_eq!(names(&config, AttemptVerdict::Passed), Vec::<String>::new());
}

#[test]
fn a_pass_has_its_own_words_or_those_of_the_review() {
    let task = task();
    let files = vec!["src/é.rs".to_owned(); 60];
    let input = PassInput {
        name: "review",
        attempt: EndedAttempt {
            iteration: 8,
            task: &task,
            judged: AttemptVerdict::Passed,
            handoff: None,
            validation_log: None,
        },
        revision: Some("0123abc"),
        files: &files,
    };
    let templates = PromptTemplates::embedded();
    let prompt = pass_prompt(&templates, PassPrompt::Review, &input).unwrap();
    assert!(prompt.contains("`git show 0123abc`") && prompt.contains("10 more files"), "{prompt}");
    let own =
        PassPrompt::Own { file: "p/security.md", text: "Look at {{ task.title }}, {{ pass }}." };
    let prompt = pass_prompt(&templates, own, &input).unwrap();
    assert!(prompt.starts_with("Look at Parse the header, review.\n\n# Manifest"), "{prompt}");
    let slip = PassPrompt::Own { file: "p/security.md", text: "a\n{{ tusk }}" };
    let error = pass_prompt(&templates, slip, &input).unwrap_err().to_string();
    assert!(error.starts_with("p/security.md:2: there is no variable `tusk`"), "{error}");
}
