//! What a scenario means, and what is said about one that means nothing.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::backend::CompactionTrigger;
use crate::handoff::{Handoff, MIN_FREEFORM};

const TASK: &str = "## Current Task\n\n**ID**: t-a1b2\n";

pub(super) fn ask() -> SimInvocation {
    SimInvocation {
        model: "sim-1".into(),
        resume: None,
        shape: AnswerShape::Free,
        access: SimAccess::Write,
        max_turns: None,
        budget: None,
    }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn first_choice(scenario: &Scenario, prompt: &str) -> ChosenRule {
    choose(scenario, prompt, &mut |_| 0)
}

/// What the first attempt of a scenario does.
fn ops(text: &str, prompt: &str, ask: &SimInvocation) -> Vec<SimOperation> {
    let scenario = scenario(text);
    expand(&scenario, &first_choice(&scenario, prompt), prompt, ask).ops
}

/// The last line that a run prints.
fn finished(ops: &[SimOperation]) -> Option<&SimFinish> {
    ops.iter().rev().find_map(|op| match op {
        SimOperation::Line(SimLine::Finished(finished)) => Some(finished),
        _ => None,
    })
}

fn texts(ops: &[SimOperation]) -> Vec<&str> {
    let text = |op| match op {
        &SimOperation::Line(SimLine::Text { ref text }) => Some(text.as_str()),
        _ => None,
    };
    ops.iter().filter_map(text).collect()
}

/// A counter of attempts that remembers.
#[derive(Default)]
struct Memory(BTreeMap<String, u64>);

impl Memory {
    fn next(&mut self, scenario: &Scenario, prompt: &str) -> ChosenRule {
        let choice =
            choose(scenario, prompt, &mut |name| self.0.get(name).copied().unwrap_or_default());
        self.0.insert(choice.counter.clone(), choice.attempt);
        choice
    }
}

#[test]
fn a_scenario_is_a_few_lines() {
    let text = "[[rule]]\nsteps = [{ write = 'a.txt', text = 'hello' }, { claim = 'done' }]";
    let ops = ops(text, TASK, &ask());
    assert!(matches!(&ops[0], SimOperation::Line(SimLine::Started { .. })), "{ops:?}");
    assert!(matches!(&ops[2], SimOperation::Tool(_, ToolAction::Write { .. })), "{ops:?}");
    assert_eq!(texts(&ops), ["Finished t-a1b2.\n\n<TASK_DONE>"]);
    assert_eq!(finished(&ops).map(|f| f.result), Some(SimVerdict::Success));
    assert_eq!(ops.last(), Some(&SimOperation::Exit(0)));
}

#[test]
fn an_error_names_the_line_and_the_field() {
    let cases = [
        ("\nwindows = 3", "line 2: `windows` is unknown; did you mean `window`?"),
        ("window = -1", "line 1: `window` must be a whole number from 0 on"),
        ("rule = 3", "line 1: `rule` must be a list of tables ([[rule]])"),
        ("[[rule]]\nwhen = 3", "line 2: `when` must be a text or a list of texts"),
        (
            "[[rule]]\nattempt = 0",
            "line 2: `attempt` must be a number from 1 on, or \"2+\" for all from the second on",
        ),
        ("[[rule]]\nsteps = [\n{},\n]", "line 3: this step says nothing to do"),
        ("[[rule]]\nsteps = [\n{ sya = 'x' },\n]", "line 3: `sya` is unknown; did you mean `say`?"),
        (
            "[[rule]]\nsteps = [\n{ say = 'x',\n think = 'y' },\n]",
            "line 4: `think` and `say` are two steps: write two tables",
        ),
        ("[[rule]]\nsteps = [{ write = 'x' }]", "line 2: `write` needs `text` beside it"),
        (
            "[[rule]]\nsteps = [{ say = 'x', text = 'y' }]",
            "line 2: `text` is unknown; known here: say",
        ),
        (
            "[[rule]]\n[[rule.steps]]\nsleep = 3",
            "line 3: `sleep` must be a duration such as \"90s\"",
        ),
        (
            "[[rule]]\nsteps = [{ claim = 'yes' }]",
            "line 2: `claim` must be one of done, blocked, not_complete, none",
        ),
        (
            "[[rule]]\nsteps = [{ fault = 'lye' }]",
            "line 2: `fault` there is no fault \"lye\"; did you mean `lie`?",
        ),
        (
            "[chaos]\nrates = { crash = 0.7, lie = 0.7 }",
            "line 2: `rates` add up to 1.4, which is more than 1",
        ),
        (
            "[chaos.rates]\ncrush = 0.5",
            "line 2: `crush` there is no fault \"crush\"; did you mean `crash`?",
        ),
        ("[[rule]]\nsteps = [{ exit = 256 }]", "line 2: `exit` must be an exit code from 0 to 255"),
        (
            "[[rule]]\nsteps = [{ write = 'x', text = '', mode = '9' }]",
            "line 2: `mode` must be like \"755\"",
        ),
    ];
    for (text, message) in cases {
        let error = Scenario::parse(text).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
    }
    let error = Scenario::parse("[[rule]]\nsteps = [").expect_err("half a file");
    assert_eq!(error.line, 2, "{error}");
}

#[test]
fn attempts_are_counted_for_each_condition_and_task() {
    let scenario = scenario(
        "[[rule]]\nwhen = 'VERIFY'\nsteps = []\n\
         [[rule]]\nwhen = 'BUILD'\nattempt = 1\nsteps = [{ say = 'first' }]\n\
         [[rule]]\nwhen = 'BUILD'\nattempt = '2+'\nsteps = [{ say = 'later' }]\n",
    );
    let mut memory = Memory::default();
    let mut said = |prompt: &str| match memory.next(&scenario, prompt).rule.steps.first() {
        Some(ScenarioStep::Say(text)) => text.clone(),
        _ => "nothing".to_owned(),
    };
    assert_eq!(said("BUILD t-aaaa"), "first");
    assert_eq!(said("VERIFY t-aaaa"), "nothing");
    assert_eq!(said("BUILD t-aaaa"), "later");
    assert_eq!(said("BUILD t-bbbb"), "first");
    assert_eq!(said("BUILD t-aaaa"), "later");
}

#[test]
fn a_rule_can_be_for_a_task_although_others_are_named() {
    let scenario = scenario(
        "[[rule]]\ntask = 't-aaaa'\nsteps = [{ say = 'a' }]\n\
         [[rule]]\ntask = ['t-bbbb', 'T-002']\nsteps = [{ say = 'b' }]\n",
    );
    let prompt = "t-aaaa was done before.\n## Current Task\n- ID: t-bbbb, after t-aaaa\n";
    let choice = first_choice(&scenario, prompt);
    assert_eq!((choice.task.as_str(), &choice.rule), ("t-bbbb", &scenario.rules[1]));
    let none = first_choice(&scenario, "hello");
    assert_eq!(none.task, "none");
    assert!(
        matches!(&none.rule.steps[..], [ScenarioStep::Say(text)] if text.starts_with("No rule"))
    );
}

#[test]
fn the_task_is_the_one_below_its_header() {
    assert_eq!(task_of("## Current Task\nID: user-avatar-1"), Some("user-avatar-1"));
    assert_eq!(task_of("do TASK-001 now"), Some("TASK-001"));
    assert_eq!(task_of("verify i-9z8y (not t-1)"), Some("i-9z8y"));
    assert_eq!(task_of("UTF-8 and SHA-256 are no tasks"), None);
}

#[test]
fn a_compaction_is_answered_unless_a_rule_is_for_it() {
    let any = "[[rule]]\nsteps = [{ write = 'a', text = 'a' }]";
    let found = ops(any, "/compact keep the plan", &ask());
    let compacted =
        SimLine::Compacted { trigger: CompactionTrigger::Manual, before: 180_000, after: 40_000 };
    assert!(found.contains(&SimOperation::Line(compacted)), "{found:?}");
    let fails = "[[rule]]\nwhen = '/compact'\nsteps = [{ compaction_fails = 'too few' }]";
    let found = ops(fails, "/compact", &ask());
    assert!(
        found.contains(&SimOperation::Line(SimLine::CompactionFailed { reason: "too few".into() }))
    );
}

#[test]
fn turns_money_and_access_are_limited() {
    let two = "[[rule]]\nsteps = [{ run = 'true' }, { cost = 0.5 }, { run = 'true' }, { claim = 'done' }]";
    let turns = ops(two, TASK, &SimInvocation { max_turns: Some(1), ..ask() });
    assert_eq!(finished(&turns).map(|f| f.result), Some(SimVerdict::MaxTurns));
    let budget = ops(two, TASK, &SimInvocation { budget: Some(0.4), ..ask() });
    assert_eq!(finished(&budget).map(|f| f.result), Some(SimVerdict::Budget));
    assert_eq!(budget.last(), Some(&SimOperation::Exit(1)));
    let read = ops(two, TASK, &SimInvocation { access: SimAccess::ReadOnly, ..ask() });
    assert!(!read.iter().any(|op| matches!(op, SimOperation::Tool(..))), "{read:?}");
    assert!(
        read.iter().any(|op| matches!(op, SimOperation::Line(SimLine::Denied { .. }))),
        "{read:?}"
    );
}

#[test]
fn a_handoff_has_every_field_and_takes_the_scenarios() {
    let text = "[[rule]]\nsteps = [\n\
        { write = 'a.txt', text = '{task}' },\n\
        { claim = 'not_complete', why = 'half', handoff = { summary = 'mine {task}' } },\n]";
    let ops = ops(text, TASK, &SimInvocation { shape: AnswerShape::Structured, ..ask() });
    let handoff = finished(&ops).and_then(|f| f.structured.clone()).unwrap_or_default();
    let read: Result<Handoff, _> = serde_json::from_value(handoff.clone());
    assert!(read.is_ok_and(|read| read.freeform.chars().count() >= MIN_FREEFORM), "{handoff}");
    assert_eq!(handoff["task_completed"]["fully_complete"], json!(false));
    assert_eq!(handoff["task_completed"]["task_id"], json!("t-a1b2"));
    assert_eq!(handoff["files_touched"], json!([{ "path": "a.txt", "action": "modified" }]));
    assert_eq!(handoff["summary"], json!("mine t-a1b2"));
    let said: Option<Value> = serde_json::from_str(texts(&ops)[0]).ok();
    assert_eq!(said, Some(handoff), "the text is the same JSON");
}

#[test]
fn a_claim_takes_the_form_that_is_asked_for() {
    let claim = |rest: &str| {
        let text = format!("[[rule]]\nsteps = [{{ claim = {rest} }}]");
        texts(&ops(&text, TASK, &ask()))[0].to_owned()
    };
    assert!(claim("'blocked', why = 'no \"key\"'").ends_with("<TASK_BLOCKED reason=\"no 'key'\">"));
    assert!(claim("'done', form = 'json'").contains("\n```json\n{"));
    assert_eq!(claim("'none'"), "That is all for t-a1b2.");
    assert!(!claim("'not_complete'").contains("TASK_"));
}

#[test]
fn every_fault_can_be_named_and_does_something() {
    for fault in Fault::ALL {
        assert_eq!(Fault::from_word(fault.as_str()), Some(fault));
        assert!(fault.about().ends_with('.'), "{fault:?}");
        let text = format!(
            "[[rule]]\nsteps = [{{ fault = '{}' }}, {{ write = 'a', text = 'abcd' }}, {{ claim = 'done' }}]",
            fault.as_str()
        );
        let plain = ops(
            "[[rule]]\nsteps = [{ write = 'a', text = 'abcd' }, { claim = 'done' }]",
            TASK,
            &ask(),
        );
        assert_ne!(ops(&text, TASK, &ask()), plain, "{fault:?}");
    }
}

#[test]
fn a_crash_leaves_half_of_the_edit_that_was_next() {
    let text = "[[rule]]\nsteps = [{ fault = 'crash' }, { write = 'a', text = 'abcd' }]";
    let found = ops(text, TASK, &ask());
    assert!(found.contains(&SimOperation::Half("a".into(), "abcd".into())), "{found:?}");
    assert!(found.contains(&SimOperation::Signal(SimSignal::Kill)), "{found:?}");
}

const CHANCE: &str = "[chaos]\nseed = 7\nattempts = 2\nrates = { crash = 0.25, lie = 0.25 }\n\
    [[rule]]\nsteps = [{ say = 'a' }, { write = 'a', text = 'abcd' }, { claim = 'done' }]\n";

#[test]
fn chance_is_the_same_for_the_same_seed_task_and_attempt() {
    let run = |seed: u64, task: u32, attempt: u64| {
        let mut scenario = scenario(CHANCE);
        scenario.chaos.seed = Some(seed);
        let prompt = format!("t-{task:04}");
        let choice = choose(&scenario, &prompt, &mut |_| attempt - 1);
        let performance = expand(&scenario, &choice, &prompt, &ask());
        performance.ops
    };
    let crashed = |ops: &[SimOperation]| ops.contains(&SimOperation::Signal(SimSignal::Kill));
    let all = |seed: u64| (0..400).map(|task| crashed(&run(seed, task, 1))).collect::<Vec<_>>();
    assert_eq!(all(7), all(7));
    assert_ne!(all(7), all(8));
    let count = all(7).iter().filter(|crashed| **crashed).count();
    assert!((70..130).contains(&count), "a quarter of 400 is not {count}");
    let late = (0..400).filter(|task| crashed(&run(7, *task, 3))).count();
    assert_eq!(late, 0, "no fault after the attempts that the scenario allows");
}

#[test]
fn chance_leaves_a_calm_rule_and_a_compaction_alone() {
    let always = "[chaos]\nseed = 1\nrates = { hang = 1.0 }\n";
    let calm = format!("{always}[[rule]]\nchaos = false\nsteps = [{{ claim = 'done' }}]");
    assert!(!ops(&calm, TASK, &ask()).contains(&SimOperation::Hang));
    let struck = format!("{always}[[rule]]\nsteps = [{{ claim = 'done' }}]");
    assert!(ops(&struck, TASK, &ask()).contains(&SimOperation::Hang));
    assert!(!ops(&struck, "/compact", &ask()).contains(&SimOperation::Hang));
}

#[test]
fn a_path_may_hold_any_byte() {
    assert_eq!(path_bytes(r"odd-\xff\xFE.txt"), b"odd-\xff\xfe.txt");
    assert_eq!(path_bytes(r"a\x+f\xz\x"), br"a\x+f\xz\x");
    assert_eq!(path_bytes(r"\xé"), r"\xé".as_bytes());
}

/// Pieces that a scenario is made of, so that chance gets past the first line.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "[[rule]]\n",
        "[[rule.steps]]\n",
        "[chaos]\n",
        "[chaos.rates]\n",
        "steps = [",
        "]",
        "{ ",
        " }",
        ", ",
        "\n",
        "when = 'a'\n",
        "task = 't-a1b2'\n",
        "attempt = 1\n",
        "attempt = '2+'\n",
        "seed = 4\n",
        "crash = 0.9\n",
        "say = 'x'",
        "write = 'p', text = 't'",
        "claim = 'done'",
        "fault = 'crash'",
        "context = [1, 99]",
        "answer = { a = [1, { b = 2 }] }",
        "usage = { input = 1 }",
        "exit = 3",
        "hang = true",
        "silent_after = 2\n",
        "giant = 9",
        "flood = 'endless'",
        "= ",
        "'",
        "\"\"\"",
        "patch = 'a', find = '', with = 'é'",
        "spawn = 'setsid'",
        "limit = 'warning', resets_in = '1h'",
    ];
    prop_oneof![
        4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => ".{0,12}",
    ]
}

proptest! {
    #[test]
    fn no_scenario_and_no_prompt_panics(
        pieces in proptest::collection::vec(piece(), 0..24),
        prompt in ".{0,40}",
        count in 0..4u64,
        max_turns in proptest::option::of(0..3u64),
    ) {
        if let Ok(scenario) = Scenario::parse(&pieces.concat()) {
            let choice = choose(&scenario, &prompt, &mut |_| count);
            let ask = SimInvocation { max_turns, budget: Some(0.1), shape: AnswerShape::Structured, ..ask() };
            let performance = expand(&scenario, &choice, &prompt, &ask);
            prop_assert!(matches!(performance.ops.last(), Some(SimOperation::Exit(_))));
        }
    }

    #[test]
    fn a_damaged_scenario_never_panics(at in 0..demo::SCENARIO.len(), cut in 0..40usize, new in ".{0,4}") {
        let mut text = demo::SCENARIO.to_owned();
        let end = (at + cut).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            text.replace_range(at..end, &new);
            if let Ok(scenario) = Scenario::parse(&text) {
                let _ = expand(&scenario, &first_choice(&scenario, TASK), TASK, &ask());
            }
        }
    }
}
