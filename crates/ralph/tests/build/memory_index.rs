//! `handoff-plus-index`: when the indexer is asked, what it is told, and where its work arrives.

use serde_json::json;

use crate::memory::{
    INDEXER, JSON, MARKDOWN, NEW_JSON, NEW_MD, OLD_JSON, OLD_MD, QUIET, has, in_mode, index_of,
    role, section,
};
use crate::plans::{Format, task};
use crate::repo::{GOOD, Repo, rule};

const MODE: &str = "handoff-plus-index";

fn tasks(tables: &str) -> Repo {
    let tasks = ["T-001", "T-002", "T-003", "T-004"].map(task);
    let repo = in_mode(MODE, Format::Deluxe, &tasks, tables);
    repo.script(&(role(INDEXER, "", &index_of(NEW_MD, NEW_JSON)) + &rule("", GOOD)));
    repo
}

/// Which trigger fired before which iteration, oldest first.
fn fired(repo: &Repo) -> Vec<(u64, String)> {
    let mut iteration = 1;
    let mut found = Vec::new();
    for event in repo.events("") {
        match event["event"].as_str().unwrap() {
            "iteration_end" => iteration = event["metadata"]["iteration"].as_u64().unwrap() + 1,
            "compaction_start" => {
                let word = event["metadata"]["trigger"].as_str().unwrap().to_owned();
                found.push((iteration, word));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_task_that_needs_documentation_or_names_libraries_has_the_index_updated_first() {
    for fields in [json!({ "needs_docs": true }), json!({ "libraries": ["nom"] })] {
        let repo = tasks(QUIET);
        repo.each_task(&fields);
        repo.build(["--once"]).ok();
        assert_eq!(fired(&repo), [(1, "metadata".to_owned())]);
        let [prompt] = &repo.asked("index")[..] else { panic!("asked once") };
        has(prompt, &["## Why Now", "There are none."]);
        if fields["libraries"].is_array() {
            has(prompt, &["`nom`"]);
        }
    }
}

#[test]
fn a_task_of_new_words_has_the_index_updated_first() {
    let repo = tasks("[memory]\nnovelty_overlap_threshold = 1.0\n");
    repo.build(["--max-iterations", "2"]).fails(4);
    assert_eq!(fired(&repo), [(2, "novelty".to_owned())]);
    let event = &repo.events("compaction_start")[0];
    let number = |key: &str| event["metadata"][key].as_u64().unwrap();
    assert!(number("shared_terms") < number("task_terms"), "{event}");
    assert_eq!(event["metadata"]["threshold"], 1.0);
}

#[test]
fn many_bytes_of_handoffs_have_the_index_updated_first() {
    let repo = tasks(&format!("{QUIET}compaction_threshold_bytes = 10\n"));
    repo.build(["--max-iterations", "2"]).fails(4);
    assert_eq!(fired(&repo), [(2, "bytes".to_owned())]);
}

#[test]
fn every_few_iterations_the_index_is_updated() {
    let repo = tasks(&format!("{QUIET}compaction_interval = 2\n"));
    repo.build([]).ok();
    assert_eq!(fired(&repo), [(3, "periodic".to_owned())]);
    let [prompt] = &repo.asked("index")[..] else { panic!("asked once") };
    has(prompt, &["\"iteration\":1,", "\"iteration\":2,", "\"id\":\"T-001\"", "\"id\":\"T-002\""]);
}

#[test]
fn of_several_reasons_the_first_in_the_order_counts() {
    let bytes = "compaction_threshold_bytes = 0\n";
    let all =
        format!("[memory]\nnovelty_overlap_threshold = 1.0\ncompaction_interval = 1\n{bytes}");
    let without_novelty = format!("{QUIET}compaction_interval = 1\n{bytes}");
    let periodic = format!("{QUIET}compaction_interval = 1\n");
    for (tables, documented, expected) in [
        (&all, true, "metadata"),
        (&all, false, "novelty"),
        (&without_novelty, false, "bytes"),
        (&periodic, false, "periodic"),
    ] {
        let repo = tasks(tables);
        repo.build(["--once"]).ok();
        if documented {
            repo.each_task(&json!({ "needs_docs": true }));
        }
        repo.build(["--once"]).ok();
        assert_eq!(fired(&repo), [(2, expected.to_owned())], "{tables}");
    }
}

#[test]
fn before_anything_was_handed_over_nobody_is_asked() {
    let repo = tasks("[memory]\ncompaction_interval = 0\ncompaction_threshold_bytes = 0\n");
    repo.build(["--once"]).ok();
    assert_eq!(fired(&repo), []);
}

#[test]
fn what_the_indexer_wrote_is_in_the_next_prompt_in_every_format_and_in_the_commit() {
    for format in Format::ALL {
        let tasks = ["t-aaa1", "t-aaa2", "t-aaa3"].map(task);
        let tables = format!("{QUIET}compaction_interval = 2\n");
        let repo = in_mode(MODE, format, &tasks, &tables);
        repo.knows(OLD_MD, OLD_JSON);
        repo.script(&(role(INDEXER, "", &index_of(NEW_MD, NEW_JSON)) + &rule("", GOOD)));
        repo.build([]).ok();
        assert_eq!(repo.asked("index").len(), 1, "{format:?}");
        let memory = |n: u32| section(&repo.prompt(n), "## Retrieved Project Memory").to_owned();
        assert!(!memory(1).contains("Warm the cache"), "{format:?}");
        assert!(!memory(2).contains("Warm the cache"), "{format:?}");
        has(
            &memory(3),
            &["Warm the cache before the parser runs", "Must never force push to main"],
        );
        repo.index_is(NEW_MD, NEW_JSON);
        assert_eq!(repo.status(), "", "{format:?}: the index is committed");
        assert_eq!(repo.events("knowledge_indexed").len(), 1);
        assert!(["t-aaa1", "t-aaa2", "t-aaa3"].iter().all(|id| repo.is_done(id)), "{format:?}");
    }
}

#[test]
fn an_index_that_is_too_large_is_left_out_as_a_whole_and_pointed_to() {
    let repo = tasks(&format!("{QUIET}compaction_interval = 100\n"));
    let entry = |n: u32| format!("- [K-gotcha-number-{n}] Number {n} is odd in its own way\n");
    let many: String = (0..3000).map(entry).collect();
    repo.knows(&format!("{OLD_MD}{many}"), OLD_JSON);
    repo.build(["--once"]).ok();
    let prompt = repo.prompt(1);
    assert!(!prompt.contains("K-gotcha-number-7") && prompt.contains(MARKDOWN), "{prompt}");
}

#[test]
fn the_budget_is_doubled_where_the_index_is_in_the_prompt() {
    let entry = |n: u32| format!("- [K-gotcha-number-{n}] Number {n} is odd in its own way\n");
    let many: String = (0..800).map(entry).collect();
    assert!(many.len() > 40_000 && many.len() < 60_000, "{}", many.len());
    let repo = tasks(&format!("{QUIET}compaction_interval = 100\n"));
    repo.knows(&format!("{OLD_MD}{many}"), OLD_JSON);
    repo.build(["--once"]).ok();
    has(&repo.prompt(1), &["K-gotcha-number-799"]);
}

#[test]
fn the_indexer_has_its_own_stage_its_own_turns_and_no_tools_but_files() {
    let repo = tasks(QUIET);
    repo.each_task(&json!({ "needs_docs": true }));
    let turns = r#"{ run = "true" }, { run = "true" }, { run = "true" }, "#;
    let busy = format!("{turns}{}", index_of(NEW_MD, NEW_JSON));
    repo.script(&(role(INDEXER, "", &busy) + &rule("", GOOD)));
    repo.command(["build", "--once"]).env("RALPH_COMPACTION_MAX_TURNS", "2").run().ok();
    let end = &repo.events("agent_end")[0];
    assert_eq!(end["metadata"]["outcome"], "max_turns", "{end}");
    assert!(!repo.exists(MARKDOWN) && !repo.exists(JSON), "what it wrote is undone");
    repo.build(["--once"]).ok();
    repo.index_is(NEW_MD, NEW_JSON);
}
