//! `ralph import`: each kind, with the real binary, up to the next task that would be built.

use ralph_testkit::{TestProject, project};

use crate::stage::{WAITS, build_beside, stage, steps};

/// A project with these files, ready to be built by the simulated backend.
fn with(files: &[(&str, &str)]) -> TestProject {
    let p = project!().git_init().file(".gitignore", "/.ralph/\n/build/\n").file(
        "ralph.toml",
        "backend = \"sim\"\n\n[[gates]]\nname = \"check\"\ncommand = \"true\"\n",
    );
    for (path, text) in files {
        p.write(path, text);
    }
    p.git(["add", "-A"]).ok();
    p.git(["commit", "-q", "-m", "first"]).ok();
    p
}

/// Import with these arguments; then the plan is sound, `next` is built next, and a second import
/// changes no file.
#[track_caller]
fn comes_to(p: &TestProject, args: &[&str], next: &str) {
    let call = |more: &[&str]| p.run(["import"].iter().chain(args).chain(more));
    call(&["--dry-run"]).ok().stdout_has("Nothing was written");
    call(&[]).fails(2).stderr_has("--yes");
    assert!(!p.exists("ralph"), "nothing is written without a yes");
    call(&["--yes"]).ok().stdout_has("Imported ").stdout_has("into ralph/plan.jsonl");
    p.run(["validate"]).ok();
    let shown = p.run(["build", "--dry-run"]).ok().stdout;
    assert!(shown.contains(&format!("Next:       {next}  (iteration 1)\n")), "{next}: {shown}");
    let before = p.shell("find . -type f -not -path './.git/*' | sort | xargs cksum").ok().stdout;
    call(&["--yes"]).ok().stdout_has("Nothing new");
    let after = p.shell("find . -type f -not -path './.git/*' | sort | xargs cksum").ok().stdout;
    assert_eq!(before, after);
}

const PRD: &str = r#"{"project": "Shop", "branchName": "ralph/cart", "userStories": [
  {"id": "US-002", "title": "Show the cart", "acceptanceCriteria": ["`curl /cart` answers 200"], "priority": 2, "passes": false, "notes": ""},
  {"id": "US-001", "title": "Store the cart", "description": "As a buyer I keep it.", "acceptanceCriteria": ["a test reads it back"], "priority": 1, "passes": true, "notes": "sqlite"}]}
"#;

#[test]
fn a_prd_comes_in() {
    let p = with(&[("prd.json", PRD), ("progress.txt", "learned: small steps\n")]);
    comes_to(&p, &[], "US-002  Show the cart");
    assert_eq!(p.read("ralph/imports/prd/progress.txt"), "learned: small steps\n");
    let record = p.read("ralph/imports/prd.md");
    assert!(record.contains("As a buyer I keep it.") && record.contains("sqlite"), "{record}");
    p.run(["task", "list", "--all"]).ok().stdout_has("Store the cart");
    p.run(["log"]).ok().stdout_has("US-001");
}

#[test]
fn a_fix_plan_comes_in_with_its_specs() {
    let plan = "# Ralph Fix Plan\n\n## High Priority\n- [x] Set up\n- [ ] Parse it\n  - [ ] `make test` passes\n\n## Notes\n- keep it small\n";
    let p = with(&[(".ralph/fix_plan.md", plan), (".ralph/specs/a.md", "# A\n")]);
    p.run(["import", "--yes"]).ok();
    assert_eq!(p.read("ralph/specs/a.md"), "# A\n");
    let list = p.run(["task", "list", "--json"]).ok().json();
    assert_eq!(list[0]["name"], "Parse it");
    assert!(p.read("ralph/imports/fix-plan.md").contains("- keep it small"));
    p.run(["validate"]).ok();
    p.run(["build", "--dry-run"]).ok().stdout_has("  Parse it  (iteration 1)");
    for path in [".ralph/fix_plan.md", "."] {
        p.run(["import", path, "--yes"]).ok().stdout_has("Nothing new");
    }
}

#[test]
fn task_master_comes_in_with_subtasks() {
    let tasks = r#"{"master": {"tasks": [
      {"id": 1, "title": "Repository", "status": "done"},
      {"id": 2, "title": "Login", "status": "pending", "dependencies": [1], "testStrategy": "`npm test` passes",
       "subtasks": [{"id": 1, "title": "Form", "status": "done"}, {"id": 2, "title": "Call", "status": "pending", "dependencies": [1]}]}]}}
"#;
    let p = with(&[(".taskmaster/tasks/tasks.json", tasks)]);
    comes_to(&p, &["task-master"], "tm-2.2  Call");
    p.run(["build", "--dry-run"]).ok().stdout_has("tm-2  waits for tm-2.2");
}

#[test]
fn beads_come_in_with_links() {
    let beads = "{\"id\":\"bd-a1\",\"title\":\"Later\",\"status\":\"open\",\"priority\":0,\"issue_type\":\"bug\",\"dependencies\":[{\"issue_id\":\"bd-a1\",\"depends_on_id\":\"bd-b2\",\"type\":\"blocks\"}]}\n{\"id\":\"bd-b2\",\"title\":\"First\",\"status\":\"in_progress\",\"priority\":3,\"labels\":[\"ui\"]}\n{\"id\":\"bd-c3\",\"title\":\"Old\",\"status\":\"closed\",\"priority\":1,\"close_reason\":\"shipped\"}\n";
    let p = with(&[(".beads/issues.jsonl", beads)]);
    comes_to(&p, &["beads", ".beads/issues.jsonl"], "bd-b2  First");
    assert!(p.read("ralph/imports/beads.md").contains("shipped"));
}

#[test]
fn an_open_spec_change_comes_in_from_its_folder_too() {
    let files = [
        ("openspec/changes/add-dark/proposal.md", "# Dark mode\n"),
        ("openspec/changes/add-dark/specs/theme/spec.md", "## ADDED Requirements\n"),
        (
            "openspec/changes/add-dark/tasks.md",
            "## 1. Style\n- [x] 1.1 Colours\n- [ ] 1.2 Use them\n",
        ),
    ];
    let p = with(&files);
    comes_to(&p, &["openspec/changes/add-dark"], "add-dark-1.2  Use them");
    assert_eq!(p.read("ralph/specs/add-dark/proposal.md"), "# Dark mode\n");
    assert!(p.exists("ralph/specs/add-dark/specs/theme/spec.md"));
    p.run(["import", "--yes"]).ok().stdout_has("Nothing new");
    p.run(["import", "openspec/changes/add-dark/tasks.md", "--yes"]).ok().stdout_has("Nothing new");
}

#[test]
fn a_spec_kit_feature_comes_in_and_a_spec_of_the_same_name_stays() {
    let tasks = "## Phase 1: Setup\n- [x] T001 Make it\n- [ ] T002 [P] [US1] Model in src/a.rs\n- [ ] T003 [US1] Service (depends on T002)\n";
    let files = [("specs/001-albums/spec.md", "# Albums\n"), ("specs/001-albums/tasks.md", tasks)];
    let p = with(&files);
    comes_to(&p, &[], "001-T002  Model in src/a.rs");
    let q = with(&files).file("ralph/specs/001-albums/spec.md", "mine\n");
    q.run(["import", "--yes"]).ok();
    assert_eq!(q.read("ralph/specs/001-albums/spec.md"), "mine\n");
    assert_eq!(q.read("ralph/specs/001-albums/spec-2.md"), "# Albums\n");
}

#[test]
fn a_deluxe_project_comes_in_from_elsewhere() {
    let plan = r#"{"project": "old", "tasks": [
      {"id": "T-001", "title": "Base", "description": "d", "status": "done", "acceptance_criteria": ["c"]},
      {"id": "T-002", "title": "Roof", "description": "e", "status": "pending", "depends_on": ["T-001"], "estimate": "2h"}]}
"#;
    let p = with(&[
        ("old/plan.json", plan),
        ("old/.ralph/handoffs/handoff-001.json", "{\"freeform\": \"done\"}\n"),
        ("old/.ralph/knowledge-index.md", "# Knowledge Index\n"),
    ]);
    p.run(["import", "deluxe", "old", "--yes"]).ok();
    assert!(p.exists(".ralph/handoffs/handoff-001.json"));
    assert_eq!(p.read(".ralph/knowledge-index.md"), "# Knowledge Index\n");
    p.run(["validate"]).ok();
    p.run(["build", "--dry-run"]).ok().stdout_has("Next:       T-002  Roof");
    p.run(["import", "old", "--yes"]).ok().stdout_has("Nothing new");
}

#[test]
fn a_wiggum_project_comes_in() {
    let p = with(&[
        ("PROMPT.md", "Study specs/*.\n"),
        ("IMPLEMENTATION_PLAN.md", "# Plan\n\n- Parse it\n- Print it ✅\n"),
        ("specs/parser.md", "# Parser\n"),
    ]);
    let shown = p.run(["import", "--yes", "--json"]).ok().json();
    assert_eq!((&shown["kind"], &shown["added"]), (&"wiggum".into(), &2.into()));
    assert_eq!(p.read("ralph/imports/wiggum/PROMPT.md"), "Study specs/*.\n");
    assert_eq!(p.read("ralph/specs/parser.md"), "# Parser\n");
    p.run(["validate"]).ok();
    p.run(["build", "--dry-run"]).ok().stdout_has("  Parse it  (iteration 1)");
}

#[test]
fn issues_come_in_on_standard_input() {
    let issues = r#"[{"number": 8, "title": "Crash", "body": "- [ ] no crash", "labels": [{"name": "bug"}], "state": "OPEN"},
      {"number": 7, "title": "Typo", "body": "", "labels": [], "state": "CLOSED", "stateReason": "COMPLETED"}]"#;
    let p = with(&[]);
    let call = |args: &[&str]| p.command(["import"].iter().chain(args)).stdin(issues).run();
    call(&["-"]).fails(2).stderr_has("--yes");
    call(&["github", "-", "--yes"]).ok().stdout_has("Imported 2 tasks");
    p.run(["build", "--dry-run"]).ok().stdout_has("Next:       gh-8  Crash");
    call(&["-", "--yes"]).ok().stdout_has("Nothing new: 2 tasks are here already.");
}

#[test]
fn every_plan_format_takes_an_import() {
    for plan in ["plan.json", "progress.md", "implementation.json", "other.jsonl"] {
        let p = with(&[("prd.json", PRD)]);
        p.run(["import", "prd.json", "--into", plan, "--yes"]).ok();
        p.run(["validate", "--plan", plan]).ok();
        let list = p.run(["task", "list", "--all", "--json", "--plan", plan]).ok().stdout;
        assert!(
            list.contains("Store the cart") && list.contains("Show the cart"),
            "{plan}: {list}"
        );
        p.run(["build", plan, "--dry-run"]).ok().stdout_has("Show the cart");
        p.run(["import", "prd.json", "--into", plan, "--yes"]).ok().stdout_has("Nothing new");
    }
}

#[test]
fn what_is_not_clear_is_asked_and_what_is_not_there_is_said() {
    let p =
        with(&[("prd.json", PRD), (".beads/issues.jsonl", "{\"id\":\"bd-1\",\"title\":\"A\"}\n")]);
    p.run(["import", "--yes"])
        .fails(2)
        .stderr_has("`ralph import prd prd.json`")
        .stderr_has("`ralph import beads .beads/issues.jsonl`");
    p.run(["import", "bead", "x"]).fails(2).stderr_has("did you mean beads?");
    p.run(["import", "nowhere.json"]).fails(1).stderr_has("cannot read nowhere.json");
    with(&[])
        .run(["import"])
        .fails(1)
        .stderr_has("no plan to import")
        .stderr_has("IMPLEMENTATION_PLAN.md");
}

#[test]
fn damage_is_told_with_its_line_and_nothing_is_written() {
    let p = with(&[
        ("prd.json", "{\n  \"userStories\": [\n    {\"id\": \"US-1\", \"title\": 3}\n  ]\n}\n"),
        (
            "tasks.json",
            "{\"tasks\": [\n{\"id\": 1, \"title\": \"Egg\", \"dependencies\": [2]},\n{\"id\": 2, \"title\": \"Hen\", \"dependencies\": [1]}]}\n",
        ),
        ("bad.json", "\u{0}"),
    ]);
    p.run(["import", "prd.json", "--yes"])
        .fails(1)
        .stderr_has("prd.json:3: `title` must be a string");
    p.run(["import", "tasks.json", "--yes"])
        .fails(1)
        .stderr_has("tasks.json:2: dependency cycle: 1 (Egg) → 2 (Hen) → 1 (Egg)");
    p.run(["import", "prd", "bad.json", "--yes"]).fails(1).stderr_has("is not text");
    p.write("ralph/plan.jsonl", "{\"t\":\"task\"\n");
    p.write("prd.json", PRD);
    p.run(["import", "prd.json", "--yes"]).fails(1).stderr_has("ralph/plan.jsonl:1");
    assert!(!p.exists("ralph/imports"));
}

#[test]
fn nobody_imports_while_a_loop_runs() {
    let tries = format!(
        "{{ run = \"$BIN import prd.json --yes 2> said.txt\" }}, {WAITS} {{ claim = \"done\" }},"
    );
    let p = stage(&steps(&tries)).file("prd.json", PRD).real_time();
    build_beside(&p, || {
        p.run(["import", "prd.json", "--yes"]).fails(1).stderr_has("a loop is running here");
    })
    .ok();
    assert!(p.read("said.txt").contains("inside an attempt"), "{}", p.read("said.txt"));
    assert!(!p.exists("ralph/imports"));
    p.run(["import", "prd.json", "--yes"]).ok();
}
