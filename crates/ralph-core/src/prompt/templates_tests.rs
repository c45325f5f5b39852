use std::collections::BTreeSet;

use super::role_values::sample_role_values;
use super::sample::full;
use super::stage_values::sample_stage_values;
use super::values::coding_values;
use super::*;

fn replaced(template: PromptTemplate, text: &str) -> Result<PromptTemplates, String> {
    let mut templates = PromptTemplates::embedded();
    let file = format!("ralph/prompts/{}", template.file_name());
    templates.replace(template, &file, text).map(|()| templates).map_err(|e| e.to_string())
}

#[test]
fn every_embedded_template_works() {
    for template in TEMPLATES {
        replaced(*template, template.embedded()).unwrap();
    }
}

#[test]
fn every_variable_is_documented_and_every_documented_one_exists() {
    let coding = serde_json::to_value(coding_values(&full())).unwrap();
    let roles = serde_json::to_value(sample_role_values()).unwrap();
    let stages = serde_json::to_value(sample_stage_values()).unwrap();
    for (values, documented) in
        [(coding, &VARIABLES[..]), (roles, &ROLE_VARIABLES[..]), (stages, &STAGE_VARIABLES[..])]
    {
        let names: BTreeSet<&str> =
            values.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, documented.iter().map(|(name, _)| *name).collect());
        for (name, what) in documented {
            let value = &values[name];
            let value = value.get(0).unwrap_or(value);
            for field in value.as_object().into_iter().flat_map(serde_json::Map::keys) {
                assert!(what.contains(&format!("`{field}`")), "{name}.{field} is not documented");
            }
        }
    }
}

#[test]
fn the_page_about_prompts_lists_every_template_and_variable() {
    let page = include_str!("../../../../docs/prompts.md");
    for template in TEMPLATES {
        assert!(page.contains(&format!("`{}`", template.file_name())), "{template:?}");
    }
    for (name, what) in VARIABLES.iter().chain(&ROLE_VARIABLES).chain(&STAGE_VARIABLES) {
        assert!(page.contains(&format!("| `{name}` | {what} |")), "{name}");
    }
}

#[test]
fn an_override_takes_the_place_of_the_embedded_text() {
    let templates = replaced(PromptTemplate::Output, "Say {{ task.title }}!\n## Skills\n").unwrap();
    let prompt = assemble(&full(), &templates, 10_000).unwrap();
    assert!(prompt.text.ends_with("## Output Instructions\n\nSay Parse the header!\n### Skills\n"));
    assert_eq!(
        templates.file(PromptTemplate::Output),
        Some("ralph/prompts/coding-prompt-footer.md")
    );
}

#[test]
fn an_unknown_variable_is_told_with_file_line_and_what_there_is() {
    let error = replaced(PromptTemplate::Task, "one\n{{ tusk.title }}").unwrap_err();
    assert!(error.starts_with("ralph/prompts/task.md:2: there is no variable `tusk"), "{error}");
    assert!(error.contains("did you mean `task`?") && error.contains("gate_failures"), "{error}");
    let error = replaced(PromptTemplate::Task, "\n\n{% if false %}{{ task.titel }}{% endif %}")
        .unwrap_err();
    assert!(error.starts_with("ralph/prompts/task.md:3: there is no `task.titel`"), "{error}");
    assert!(error.contains("`title`"), "{error}");
    let error = replaced(PromptTemplate::Task, "{% for g in gates %}\n{{ g.cmd }}\n{% endfor %}")
        .unwrap_err();
    assert!(error.starts_with("ralph/prompts/task.md:2:") && error.contains("g.cmd"), "{error}");
}

#[test]
fn a_template_of_another_role_has_variables_of_its_own() {
    replaced(PromptTemplate::Review, "{{ pass }} of {{ task.title }}").unwrap();
    let error = replaced(PromptTemplate::Indexer, "{{ gates }}").unwrap_err();
    assert!(error.contains("there is no variable `gates`"), "{error}");
    assert!(error.contains("index_json"), "{error}");
    assert!(replaced(PromptTemplate::Task, "{{ index_json }}").is_err());
}

#[test]
fn a_prepared_prompt_still_says_how_to_claim_and_what_the_operator_noted() {
    let text =
        "Hello.\n\n```\n## Current Task\n```\n## Current Task\r\n\r\nDo é.\n\n## Skills\n\nx\n";
    let prompt = prepared(&full(), &PromptTemplates::embedded(), text).unwrap();
    let (before, after) = prompt.split_once("```\n## Current Task\n\nTask `t-1a2b`").unwrap();
    assert!(before.starts_with("Hello.") && after.contains("<TASK_DONE>"), "{prompt}");
    assert!(after.contains("The samples are in `samples/`") && after.contains("cargo test"));
    assert!(after.ends_with("Do é.\n\n## Skills\n\nx\n"), "{prompt}");
    let bare = prepared(&full(), &PromptTemplates::embedded(), "Do it.").unwrap();
    assert!(bare.starts_with("## Current Task\n\nTask `t-1a2b`") && bare.ends_with("Do it."));
}

#[test]
fn a_slip_in_the_syntax_is_told_with_file_and_line_and_the_embedded_text_stays() {
    let mut templates = PromptTemplates::embedded();
    let error = templates.replace(PromptTemplate::Task, "x/task.md", "a\n{% if x }").unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("x/task.md", 2), "{error}");
    let before = assemble(&full(), &PromptTemplates::embedded(), 10_000);
    assert_eq!(assemble(&full(), &templates, 10_000), before);
    assert!(replaced(PromptTemplate::Task, &"x".repeat(1 << 20)).is_err());
}

#[test]
fn file_names_of_older_projects_are_known() {
    assert_eq!(PromptTemplate::of_file("coding-prompt.md"), Some(PromptTemplate::Output));
    assert_eq!(PromptTemplate::of_file("first-iteration.md"), Some(PromptTemplate::FirstIteration));
    assert_eq!(
        PromptTemplate::of_file("context-prep-prompt.md"),
        Some(PromptTemplate::ContextPrep)
    );
    assert_eq!(PromptTemplate::of_file("memory-prompt.md"), None);
}

#[test]
fn skills_go_beside_the_prompt_only_as_far_as_the_budget_goes() {
    let mut small = full();
    let text = skills_beside(&mut small, 1000).unwrap();
    assert!(text.starts_with("## Skills\n\n### rust-errors\n"), "{text}");
    assert!(small.skills.is_empty(), "they are told once");
    assert_eq!(skills_beside(&mut small, 1000), None);
    let mut large = full();
    assert_eq!(skills_beside(&mut large, 3), None);
    assert_eq!(large.skills, full().skills, "the prompt says what becomes of them");
}
