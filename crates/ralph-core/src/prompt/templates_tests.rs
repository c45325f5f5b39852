use super::sample::full;
use super::values::Values;
use super::*;

fn replaced(template: Template, text: &str) -> Result<Templates, String> {
    let mut templates = Templates::embedded();
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
    let values = serde_json::to_value(Values::of(&full())).unwrap();
    let names: Vec<&String> = values.as_object().unwrap().keys().collect();
    let documented: Vec<&str> = VARIABLES.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, documented);
    for (name, what) in VARIABLES {
        let value = &values[name];
        let value = value.get(0).unwrap_or(value);
        for field in value.as_object().into_iter().flat_map(serde_json::Map::keys) {
            assert!(what.contains(&format!("`{field}`")), "{name}.{field} is not documented");
        }
    }
}

#[test]
fn the_page_about_prompts_lists_every_template_and_variable() {
    let page = include_str!("../../../../docs/prompts.md");
    for template in TEMPLATES {
        assert!(page.contains(&format!("`{}`", template.file_name())), "{template:?}");
    }
    for (name, what) in VARIABLES {
        assert!(page.contains(&format!("| `{name}` | {what} |")), "{name}");
    }
}

#[test]
fn an_override_takes_the_place_of_the_embedded_text() {
    let templates = replaced(Template::Output, "Say {{ task.title }}!\n## Skills\n").unwrap();
    let prompt = assemble(&full(), &templates, 10_000).unwrap();
    assert!(prompt.text.ends_with("## Output Instructions\n\nSay Parse the header!\n### Skills\n"));
    assert_eq!(templates.file(Template::Output), Some("ralph/prompts/coding-prompt-footer.md"));
}

#[test]
fn an_unknown_variable_is_told_with_file_line_and_what_there_is() {
    let error = replaced(Template::Task, "one\n{{ tusk.title }}").unwrap_err();
    assert!(error.starts_with("ralph/prompts/task.md:2: there is no variable `tusk"), "{error}");
    assert!(error.contains("did you mean `task`?") && error.contains("gate_failures"), "{error}");
    let error =
        replaced(Template::Task, "\n\n{% if false %}{{ task.titel }}{% endif %}").unwrap_err();
    assert!(error.starts_with("ralph/prompts/task.md:3: there is no `task.titel`"), "{error}");
    assert!(error.contains("`title`"), "{error}");
    let error =
        replaced(Template::Task, "{% for g in gates %}\n{{ g.cmd }}\n{% endfor %}").unwrap_err();
    assert!(error.starts_with("ralph/prompts/task.md:2:") && error.contains("g.cmd"), "{error}");
}

#[test]
fn a_slip_in_the_syntax_is_told_with_file_and_line_and_the_embedded_text_stays() {
    let mut templates = Templates::embedded();
    let error = templates.replace(Template::Task, "x/task.md", "a\n{% if x }").unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("x/task.md", 2), "{error}");
    let before = assemble(&full(), &Templates::embedded(), 10_000);
    assert_eq!(assemble(&full(), &templates, 10_000), before);
    assert!(replaced(Template::Task, &"x".repeat(1 << 20)).is_err());
}

#[test]
fn file_names_of_older_projects_are_known() {
    assert_eq!(Template::of_file("coding-prompt.md"), Some(Template::Output));
    assert_eq!(Template::of_file("first-iteration.md"), Some(Template::FirstIteration));
    assert_eq!(Template::of_file("context-prep-prompt.md"), None);
}
