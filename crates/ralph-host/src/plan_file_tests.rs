use ralph_testkit::TestProject;

use super::*;

fn place() -> TestProject {
    TestProject::new("git")
}

fn found(p: &TestProject) -> Result<PathBuf, PlanFileError> {
    plan_file(&Project::discover(p.root()).unwrap(), None, None)
}

#[test]
fn what_was_typed_beats_what_is_configured_beats_what_is_there() {
    let p = place().file("ralph/plan.jsonl", "").file("plan.json", "{}");
    let project = Project::discover(p.root()).unwrap();
    let (typed, key) = (Path::new("my.json"), Path::new("docs/plan.md"));
    assert_eq!(plan_file(&project, Some(typed), Some(key)), Ok(typed.to_owned()));
    assert_eq!(plan_file(&project, None, Some(key)), Ok(p.path("docs/plan.md")));
    assert_eq!(plan_file(&project, None, None), Ok(p.path("ralph/plan.jsonl")));
}

#[test]
fn each_known_place_is_found_when_it_is_the_only_one() {
    for name in ELSEWHERE {
        let p = place().file(name, "");
        assert_eq!(found(&p), Ok(p.path(name)));
    }
}

#[test]
fn two_plan_files_are_listed_instead_of_guessed() {
    let p = place().file("progress.md", "").file(".ralph-wiggum/implementation.json", "");
    let error = found(&p).unwrap_err();
    let text = error.to_string();
    assert!(text.ends_with("progress.md, .ralph-wiggum/implementation.json"), "{text}");
    assert_eq!(error.hint().as_deref(), Some("say which one you mean: `--plan progress.md`"));
}

#[test]
fn a_project_without_a_plan_gets_the_native_one() {
    for p in [place().git_init(), place().dir("ralph"), place().file("ralph.toml", "")] {
        assert_eq!(found(&p), Ok(p.path("ralph/plan.jsonl")));
        assert!(!p.exists("ralph/plan.jsonl"), "looking must not make it");
    }
}

#[test]
fn a_directory_that_is_no_project_is_sent_to_init() {
    let error = found(&place()).unwrap_err();
    assert!(error.hint().is_some_and(|h| h.contains("ralph init")), "{error}");
}

#[test]
fn a_link_to_nothing_counts_so_that_no_other_plan_is_taken_in_its_place() {
    let p = place().link("ralph/plan.jsonl", "/nowhere").file("plan.json", "{}");
    assert_eq!(found(&p), Ok(p.path("ralph/plan.jsonl")));
}

#[test]
fn a_directory_with_the_name_of_a_plan_does_not_count() {
    let p = place().dir("plan.json").file("progress.md", "");
    assert_eq!(found(&p), Ok(p.path("progress.md")));
}
