//! What holds for every material and every budget.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::sample::full;
use super::*;
use crate::config::MemoryMode;
use crate::format::PlanFormat;

static EMBEDDED: LazyLock<PromptTemplates> = LazyLock::new(PromptTemplates::embedded);

/// Text as people and programs write it, with the lines that would hurt most.
fn nasty() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("## Current Task".to_owned()),
        Just("  ## Skills ##".to_owned()),
        Just("##  Output Instructions".to_owned()),
        Just("# Heading".to_owned()),
        Just("```".to_owned()),
        Just("~~~~ rust".to_owned()),
        Just("{{ task.id }} {% if %} {# x".to_owned()),
        Just("a\r## Failure Context\r\nb".to_owned()),
        Just("<TASK_DONE>".to_owned()),
        "\\PC{0,40}",
        "[a-zé漢🦀 ]{0,200}",
    ];
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

prop_compose! {
    fn material()(
        texts in prop::collection::vec(nasty(), 16),
        format in prop::sample::select(PlanFormat::ALL.to_vec()),
        mode in prop::sample::select(MemoryMode::ALL.to_vec()),
        parts in any::<u8>(),
    ) -> PromptMaterial {
        let mut all = texts.into_iter();
        let mut next = || all.next().unwrap_or_default();
        let mut m = PromptMaterial { format, mode, ..full() };
        m.task.name = next();
        m.task.notes = Some(next());
        m.task.accept = vec![next()];
        m.spec.name = next();
        m.spec.context = next();
        m.completed = vec![next()];
        m.gate_failures[0].excerpt = next();
        m.rejections[0].tried = next();
        m.operator_notes = vec![next()];
        m.index = Some(next());
        m.skills[0].content = next();
        m.skills[0].name = next();
        if let Some(past) = &mut m.handoff {
            past.handoff.freeform = next();
            past.handoff.architectural_notes = vec![next()];
        }
        m.recent_attempts[0].tried = next();
        if parts & 1 == 0 { m.handoff = None; }
        if parts & 2 == 0 { m.skills.clear(); }
        if parts & 4 == 0 { m.gate_failures.clear(); m.setbacks.clear(); m.rejections.clear(); }
        m
    }
}

/// The headers in a text, in order, as a line-by-line reader would find them.
fn headers(text: &str) -> Vec<PromptSection> {
    let section = |line: &str| PromptSection::ALL.into_iter().find(|s| s.header() == line.trim());
    text.split(['\n', '\r']).filter_map(section).collect()
}

proptest! {
    #[test]
    fn headers_stand_once_and_in_order_whatever_the_texts_say(m in material()) {
        let prompt = assemble(&m, &EMBEDDED, usize::MAX).unwrap();
        let mut expected = vec![PromptSection::CurrentTask];
        if m.is_retry() { expected.push(PromptSection::FailureContext); }
        expected.extend([PromptSection::RetrievedMemory, PromptSection::PreviousHandoff]);
        if m.mode != MemoryMode::HandoffOnly { expected.push(PromptSection::RetrievedProjectMemory); }
        if !m.skills.is_empty() { expected.push(PromptSection::Skills); }
        expected.push(PromptSection::OutputInstructions);
        prop_assert_eq!(headers(&prompt.text), expected);
        prop_assert!(prompt.left_out.is_empty());
    }

    #[test]
    fn no_header_is_swallowed_by_a_code_block(m in material()) {
        let prompt = assemble(&m, &EMBEDDED, usize::MAX).unwrap();
        let open: String =
            crate::fence::open_lines(&prompt.text).flat_map(|(_, line)| [line, "\n"]).collect();
        prop_assert_eq!(headers(&open), headers(&prompt.text));
    }

    #[test]
    fn a_budget_is_kept_unless_only_the_first_lines_are_left(m in material(), budget in 0usize..3000) {
        let whole = assemble(&m, &EMBEDDED, usize::MAX).unwrap();
        let prompt = assemble(&m, &EMBEDDED, budget).unwrap();
        let smallest = assemble(&m, &EMBEDDED, 0).unwrap();
        prop_assert_eq!(prompt.tokens, tokens(&prompt.text));
        prop_assert!(prompt.tokens <= budget || prompt.tokens <= smallest.tokens + 2);
        // Every section is either there or named as missing, and the first to go went first.
        let here = headers(&prompt.text);
        let gone: Vec<PromptSection> = prompt.left_out.iter().map(|l| l.section).collect();
        for section in headers(&whole.text) {
            let kept = here.contains(&section);
            let told = gone.contains(&section);
            prop_assert!(kept != told || section == PromptSection::CurrentTask && kept);
            if told {
                let named = format!("{} (about ", section.title());
                prop_assert_eq!(prompt.text.matches(&named).count(), 1);
            }
        }
        let rank = |s: &PromptSection| PromptSection::DISPENSABLE.iter().position(|d| d == s).unwrap_or(9);
        prop_assert!(gone.is_sorted_by_key(rank));
        prop_assert!(prompt.left_out.iter().all(|l| !l.where_to_read.is_empty()));
        let mut sorted = here.clone();
        sorted.sort();
        sorted.dedup();
        prop_assert_eq!(here, sorted);
        prop_assert_eq!(prompt.whole.is_some(), !gone.is_empty());
    }
}
