//! `ralph knowledge`: what is known, and whether the files are sound.

use ralph_testkit::{TestProject, project};
use serde_json::json;

const MARKDOWN: &str = "# Knowledge Index
Last updated: iteration 7 (2026-01-17)

## Gotchas
- [K-gotcha-bom] A byte order mark may come first [source: iter 2]

## Constraints
- [K-constraint-push] Must never force push to main [source: iter 7] [supersedes: K-constraint-old]
- [K-constraint-old] Must never push [source: iter 3]
";

const JSON: &str = r#"[
  {"iteration": 3, "task": "t-1", "summary": "no push", "tags": ["git"], "memory_id": "K-constraint-old"},
  {"iteration": 7, "task": "t-2", "summary": "no force push", "tags": ["git"], "memory_id": ["K-constraint-push"], "supersedes": ["K-constraint-old"]}
]
"#;

fn learned() -> TestProject {
    project!()
        .git_init()
        .file(".ralph/knowledge-index.md", MARKDOWN)
        .file(".ralph/knowledge-index.json", JSON)
}

fn committed() -> TestProject {
    let p = learned();
    p.git(["add", "."]).ok();
    p.git(["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]).ok();
    p
}

#[test]
fn what_is_in_force_is_listed_by_category_and_the_rest_with_all() {
    let p = learned();
    p.run(["knowledge", "list"]).ok().stdout(
        "Constraints\n  K-constraint-push  Must never force push to main\n\
         Gotchas\n  K-gotcha-bom  A byte order mark may come first\n",
    );
    p.run(["knowledge", "list", "--all"])
        .ok()
        .stdout_has("K-constraint-old   (superseded by K-constraint-push) Must never push\n");
    let items = p.run(["knowledge", "list", "--json"]).ok().json();
    assert_eq!(items.as_array().map(Vec::len), Some(2));
    assert_eq!(items[0]["status"], "active");
    let empty = project!().git_init();
    empty.run(["knowledge", "list"]).ok().stdout("Nothing is known yet.\n");
    empty.run(["knowledge", "list", "--json"]).ok().stdout("[]\n");
}

#[test]
fn an_entry_is_shown_with_where_it_comes_from() {
    let p = learned();
    p.run(["knowledge", "show", "K-constraint-push"]).ok().stdout(
        "K-constraint-push\n  Must never force push to main\n\
         category:    Constraints\n\
         status:      in force\n\
         iterations:  7\n\
         tasks:       t-2\n\
         tags:        git\n\
         supersedes:  K-constraint-old\n\
         file:        .ralph/knowledge-index.md:8\n",
    );
    let old = p.run(["knowledge", "show", "K-constraint-old", "--json"]).ok().json();
    assert_eq!((&old["status"], &old["by"]), (&json!("superseded"), &json!("K-constraint-push")));
    p.run(["knowledge", "show", "K-gotcha-bmo"])
        .fails(1)
        .stderr_has("nothing is known as K-gotcha-bmo")
        .stderr_has("did you mean K-gotcha-bom?");
}

#[test]
fn words_are_found_in_what_is_in_force_constraints_first() {
    let p = learned();
    let hits = p.run(["knowledge", "search", "PUSH", "mark"]).ok().stdout;
    assert!(hits.starts_with("Constraints\n  K-constraint-push"), "{hits}");
    assert!(hits.contains("K-gotcha-bom") && !hits.contains("K-constraint-old  "), "{hits}");
    p.run(["knowledge", "search", "push", "--all"]).ok().stdout_has("K-constraint-old");
    p.run(["knowledge", "search", "zebra"])
        .ok()
        .stdout_has("Nothing that is known speaks of zebra");
    p.run(["knowledge", "search"]).fails(2);
}

#[test]
fn a_sound_index_ends_with_0() {
    learned().run(["knowledge", "verify"]).ok().stdout("2 in force, nothing wrong\n");
    committed().run(["knowledge", "verify"]).ok().stdout_has("also against the last commit");
    project!().run(["knowledge", "verify"]).ok().stdout("There is no knowledge index yet.\n");
}

#[test]
fn what_was_lost_since_the_last_commit_is_found() {
    let p = committed();
    let line = "- [K-constraint-push] Must never force push to main [source: iter 7] [supersedes: K-constraint-old]\n";
    p.write(".ralph/knowledge-index.md", MARKDOWN.replace(line, ""));
    p.write(".ralph/knowledge-index.json", JSON.replace("no force push", "force push"));
    let run = p.run(["knowledge", "verify"]).fails(1);
    let run = run.stdout_has(".ralph/knowledge-index.md: a hard constraint was dropped");
    run.stdout_has(".ralph/knowledge-index.json:3: the entry of iteration 7 was changed");
    let found = p.run(["knowledge", "verify", "--json"]).fails(1).json();
    assert_eq!(found["compared_with"], "HEAD");
    assert_eq!(found["violations"][0]["check"], "hard_constraints");
}

#[test]
fn a_damaged_history_is_named_and_the_rest_is_still_shown() {
    let p = learned().file(".ralph/knowledge-index.json", "[\n{");
    let list = p.run(["knowledge", "list"]).ok().stdout_has("K-gotcha-bom");
    list.stderr_has(".ralph/knowledge-index.json:2:");
    p.run(["knowledge", "verify"]).fails(1).stdout_has("cannot be read: line 2");
}
