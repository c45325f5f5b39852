use super::*;

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        store::create(&dir.path().join(name), text.as_bytes()).unwrap();
    }
    dir
}

#[test]
fn a_project_without_prompts_has_the_embedded_ones() {
    let dir = project(&[]);
    let loaded = templates(dir.path()).unwrap();
    assert!(loaded.warnings.is_empty());
    assert!(TEMPLATES.iter().all(|t| loaded.value.file(*t).is_none()));
}

#[test]
fn ralph_prompts_comes_before_the_templates_of_older_projects() {
    let dir = project(&[
        (".ralph/templates/first-iteration.md", "old"),
        (".ralph/templates/coding-prompt.md", "old footer"),
        ("ralph/prompts/first-iteration.md", "new"),
    ]);
    let value = templates(dir.path()).unwrap().value;
    assert_eq!(
        value.file(PromptTemplate::FirstIteration),
        Some("ralph/prompts/first-iteration.md")
    );
    assert_eq!(value.file(PromptTemplate::Output), Some(".ralph/templates/coding-prompt.md"));
}

#[test]
fn the_footer_comes_before_its_older_name() {
    let dir = project(&[
        (".ralph/templates/coding-prompt.md", "{{ broken"),
        (".ralph/templates/coding-prompt-footer.md", "fine"),
    ]);
    let value = templates(dir.path()).unwrap().value;
    assert_eq!(
        value.file(PromptTemplate::Output),
        Some(".ralph/templates/coding-prompt-footer.md")
    );
}

#[test]
fn an_override_that_does_not_work_is_told_with_its_place_and_advice_and_not_used() {
    let dir = project(&[("ralph/prompts/task.md", "a\n{{ nope }}")]);
    let loaded = templates(dir.path()).unwrap();
    let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
    assert!(warning.starts_with("ralph/prompts/task.md:2: "), "{warning}");
    assert!(warning.contains("the embedded prompt is used") && warning.contains("docs/prompts.md"));
    assert_eq!(loaded.value.file(PromptTemplate::Task), None);
}

#[test]
fn an_override_that_is_no_text_is_told_and_one_that_is_no_file_is_an_error() {
    let dir = project(&[]);
    store::create(&dir.path().join("ralph/prompts/task.md"), b"\xff\xfe").unwrap();
    let warnings = templates(dir.path()).unwrap().warnings;
    assert!(warnings.iter().any(|w| w.contains("must be UTF-8")), "{warnings:?}");
    let dir = project(&[("ralph/prompts/task.md/x", "")]);
    let error = templates(dir.path()).unwrap_err();
    assert!(matches!(error, PromptFileError::File(FileError::Directory { .. })), "{error}");
}

#[test]
fn a_name_with_a_slip_is_warned_about_and_prompts_of_other_roles_are_not() {
    let dir = project(&[
        ("ralph/prompts/tasks.md", "x"),
        (".ralph/templates/context-prep-prompt.md", "x"),
        (".ralph/templates/notes.txt", "x"),
    ]);
    let warnings = templates(dir.path()).unwrap().warnings;
    assert_eq!(warnings, ["ralph/prompts/tasks.md is not used; did you mean task.md?"]);
}

#[test]
fn missing_skills_and_strange_ones_are_warnings_and_the_others_are_there() {
    let dir = project(&[
        (".ralph/skills/a.md", "Use tabs."),
        (".ralph/skills/folder.md/x", ""),
        (".ralph/secret.md", "x"),
    ]);
    let names = ["a", "a.md", "b", "folder", "../secret", ""].map(str::to_owned);
    let loaded = skills(dir.path(), &names);
    let found: Vec<_> =
        loaded.value.iter().map(|s| (s.name.as_str(), s.content.as_str())).collect();
    assert_eq!(found, [("a", "Use tabs."), ("a", "Use tabs.")]);
    assert_eq!(loaded.value[0].file, ".ralph/skills/a.md");
    let text = loaded.warnings.join("\n");
    for part in ["there is no .ralph/skills/b.md", "it is a directory", "\"../secret\"", "\"\""] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn the_knowledge_index_is_read_where_there_is_one() {
    assert_eq!(knowledge_index(project(&[]).path()).value, None);
    let dir = project(&[(".ralph/knowledge-index.md", "# Knowledge Index\n")]);
    assert_eq!(knowledge_index(dir.path()).value.as_deref(), Some("# Knowledge Index\n"));
    let dir = project(&[(".ralph/knowledge-index.md/x", "")]);
    let loaded = knowledge_index(dir.path());
    assert!(loaded.value.is_none() && loaded.warnings[0].contains("it is a directory"));
}
