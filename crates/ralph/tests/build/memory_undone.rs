//! What an indexer must not do to the index or to anything else: it is undone, told, and learnt from.

use serde_json::json;

use crate::memory::{
    INDEXER, JSON, MARKDOWN, NEW_JSON, NEW_MD, OLD_JSON, OLD_MD, QUIET, has, in_mode, index_of,
    role, write,
};
use crate::plans::{Format, records, task};
use crate::repo::{GOOD, Repo, rule, said, says, touch, until, wait_for};

/// Tasks that each have the index updated first, and an index.
fn tasks(tables: &str) -> Repo {
    let ids = ["T-001", "T-002", "T-003", "T-004", "T-005", "T-006"].map(task);
    let repo = in_mode("handoff-plus-index", Format::Deluxe, &ids, &format!("{QUIET}{tables}"));
    repo.each_task(&json!({ "needs_docs": true }));
    repo.knows(OLD_MD, OLD_JSON);
    repo
}

/// An update with these steps is undone byte for byte, for this reason, which is in the event, in the
/// log and in the next prompt of the indexer; the work goes on, and the next update is kept.
#[track_caller]
fn is_undone(tables: &str, steps: &str, reason: &str) -> Repo {
    let repo = tasks(tables);
    repo.script(
        &(role(INDEXER, "attempt = 1", steps)
            + &role(INDEXER, "attempt = \"2+\"", &index_of(NEW_MD, NEW_JSON))
            + &rule("", GOOD)),
    );
    let run = repo.build(["--once"]).ok();
    repo.index_is(OLD_MD, OLD_JSON);
    says(&run, "the knowledge index is as before");
    let events = repo.events("knowledge_index_undone");
    assert_eq!(events.len(), 1, "{events:?}");
    has(&events[0].to_string(), &[reason]);
    has(&repo.read(".ralph/logs/ralph.log"), &["the knowledge index is as before", reason]);
    assert_eq!(repo.runs(), ["T-001"], "the work went on");
    repo.build(["--once"]).ok();
    repo.index_is(NEW_MD, NEW_JSON);
    let asked = repo.asked("index");
    assert!(!asked[0].contains("## Why The Last Update Was Undone"));
    has(&asked[1], &["## Why The Last Update Was Undone", reason]);
    repo
}

#[test]
fn an_index_that_was_emptied_is_put_back() {
    is_undone("", &index_of("", "[]\n"), "it had 1 entries and has 0");
}

#[test]
fn an_index_whose_header_is_gone_is_put_back() {
    let headless = NEW_MD.replace("# Knowledge Index\n", "");
    is_undone("", &index_of(&headless, NEW_JSON), "`# Knowledge Index`");
}

#[test]
fn invariant_5_a_hard_constraint_that_was_dropped_is_put_back() {
    let soft = NEW_MD.replace("Must never force push", "Do not force push");
    is_undone("", &index_of(&soft, NEW_JSON), "a hard constraint was dropped or changed");
}

#[test]
fn invariant_5_a_hard_constraint_that_is_superseded_may_go() {
    let repo = tasks("");
    let new = NEW_MD.replace(
        "- [K-constraint-push] Must never force push to main [source: iter 1]",
        "- [K-constraint-lease] Must use --force-with-lease [supersedes: K-constraint-push]",
    );
    repo.script(&(role(INDEXER, "", &index_of(&new, NEW_JSON)) + &rule("", GOOD)));
    repo.build(["--once"]).ok();
    repo.index_is(&new, NEW_JSON);
}

#[test]
fn invariant_6_an_earlier_json_entry_that_was_rewritten_is_put_back() {
    let other = NEW_JSON.replace("no push", "pushing is fine");
    is_undone("", &index_of(NEW_MD, &other), "earlier entries stay byte for byte");
}

#[test]
fn invariant_6_an_iteration_that_is_there_twice_is_put_back() {
    let twice = NEW_JSON.replace("900", "1");
    is_undone("", &index_of(NEW_MD, &twice), "an iteration has one entry");
}

#[test]
fn invariant_7_an_id_in_force_twice_is_put_back() {
    let twice = NEW_JSON.replace("K-pattern-cache", "K-constraint-push");
    is_undone("", &index_of(NEW_MD, &twice), "`K-constraint-push` is in force already");
}

#[test]
fn invariant_7_an_id_that_supersedes_nothing_there_is_is_put_back() {
    let lost = NEW_JSON
        .replace("\"tags\": [\"cache\"]", "\"tags\": [], \"supersedes\": [\"K-pattern-x\"]");
    is_undone("", &index_of(NEW_MD, &lost), "`supersedes` names `K-pattern-x`");
}

#[test]
fn an_index_that_is_no_text_is_put_back() {
    let bytes = format!(
        r#"{{ run = "printf '\\377\\376' > {JSON}" }}, {{ answer = {{ summary = "x" }} }}"#
    );
    is_undone("", &bytes, "it is not UTF-8 text");
}

#[test]
fn an_index_that_became_a_folder_is_as_before_whether_git_knows_it_or_not() {
    for known in [true, false] {
        let repo = tasks("");
        if !known {
            repo.git(["rm", "-q", "--cached", MARKDOWN, JSON]).ok();
            repo.write(".gitignore", format!("{}/.ralph/\n", repo.read(".gitignore")));
            repo.commit("ignored");
        }
        let folder = format!(
            r#"{{ run = "rm {MARKDOWN} && mkdir -p {MARKDOWN}/deep && echo theirs > {MARKDOWN}/deep/x" }}, {{ answer = {{ summary = "x" }} }}"#
        );
        repo.script(&(role(INDEXER, "", &folder) + &rule("", GOOD)));
        let run = repo.build(["--once"]).ok();
        repo.index_is(OLD_MD, OLD_JSON);
        says(&run, "the knowledge index is as before");
        says(&run, "knowledge-index.md: it is a directory");
        assert_eq!(repo.landed(), ["T-001"], "known: {known}");
    }
}

#[test]
fn an_indexer_that_crashes_in_the_middle_leaves_the_index_as_it_was() {
    let crash = format!("{}, {{ signal = \"kill\" }}", write(MARKDOWN, "# Knowl"));
    is_undone("", &crash, "the agent did not come to its end");
}

#[test]
fn an_indexer_that_takes_too_long_leaves_the_index_as_it_was() {
    let hang = format!("{}, {{ hang = true }}", write(MARKDOWN, NEW_MD));
    is_undone("[stages.index]\ntimeout = \"1s\"\n", &hang, "the agent did not come to its end");
}

#[test]
fn an_indexer_that_changes_code_or_the_plan_has_that_undone_and_its_index_kept() {
    let repo = tasks("");
    let plan = repo.plan();
    let steps = format!(
        r#"{}, {{ append = "src/new.c", text = "int x;\n" }}, {{ run = "git add -A && git commit -qm mine" }}, {{ run = "sed -i s/T-002/T-999/ plan.json" }}, {}"#,
        write("src/main.c", "broken\n"),
        index_of(NEW_MD, NEW_JSON)
    );
    repo.script(&(role(INDEXER, "attempt = 1", &steps) + &rule("", GOOD)));
    let before = repo.head();
    let run = repo.build(["--once"]).ok();
    assert_eq!(repo.read("src/main.c"), "int main(void) { return 0; }\n");
    assert!(!repo.exists("src/new.c"));
    assert!(repo.plan().contains("T-002") && !repo.plan().contains("T-999"), "{plan}");
    repo.index_is(NEW_MD, NEW_JSON);
    says(&run, "index may change nothing, and changed");
    says(&run, "plan.json: index may not write it; its changes are left out");
    let restored = repo.events("tree_restored");
    assert_eq!(restored[0]["metadata"]["paths"], json!(["src/main.c", "src/new.c"]));
    assert_eq!(repo.events("ledger_restored").len(), 1);
    let files =
        repo.ask_git(["diff", "--name-only", &format!("{before}..HEAD"), "--", "src", "work"]);
    assert_eq!(files, "work/T-001.txt", "only the work is committed");
    let told = said(&run);
    let id = told.split("`ralph salvage diff ").nth(1).unwrap().split('`').next().unwrap();
    repo.run(["salvage", "diff", id]).ok().stdout_has("src/new.c");
}

#[test]
fn after_updates_that_were_undone_the_indexer_is_asked_less_often() {
    let repo = tasks("");
    repo.script(&(role(INDEXER, "", &index_of("", "[]\n")) + &rule("", GOOD)));
    repo.build([]).ok();
    assert_eq!(repo.runs().len(), 6, "the work goes on");
    assert_eq!(repo.asked("index").len(), 4, "not before each of the six");
    repo.index_is(OLD_MD, OLD_JSON);
}

#[test]
fn nothing_stays_of_an_indexer_that_ran_when_ralph_was_killed() {
    let repo = tasks("");
    let steps = format!(
        r#"{}, {}, {}, {{ run = "touch \"$HOME/running\"" }}, {{ hang = true }}"#,
        write(MARKDOWN, "gone"),
        write(JSON, "gone"),
        write("src/main.c", "gone")
    );
    repo.script(&(role(INDEXER, "", &steps) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    until(|| repo.home().join("running").exists());
    run.kill();
    repo.index_is(OLD_MD, OLD_JSON);
    repo.script(&(role(INDEXER, "", &index_of(NEW_MD, NEW_JSON)) + &rule("", GOOD)));
    let run = repo.build(["--once"]).ok();
    says(&run, "index was interrupted; it changed nothing");
    assert_eq!(repo.read("src/main.c"), "int main(void) { return 0; }\n");
    repo.index_is(NEW_MD, NEW_JSON);
    let prompts = repo.asked("index");
    has(prompts.last().unwrap(), &["Must never force push to main", "has 1 entries"]);
    assert_eq!(repo.landed(), ["T-001"]);
}

#[test]
fn killed_while_the_indexer_runs_and_never_asked_again_the_index_is_as_before() {
    let repo = tasks("");
    let steps = format!(
        r#"{}, {{ run = "touch \"$HOME/running\"" }}, {{ hang = true }}"#,
        write(MARKDOWN, "gone")
    );
    repo.script(&(role(INDEXER, "", &steps) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    until(|| repo.home().join("running").exists());
    run.kill();
    repo.build(["--once", "--mode", "handoff-only"]).ok();
    repo.index_is(OLD_MD, OLD_JSON);
}

#[test]
fn what_the_indexer_costs_counts_and_over_the_limit_nothing_else_begins() {
    let repo = tasks("");
    let costly = format!("{{ cost = 0.6 }}, {}", index_of(NEW_MD, NEW_JSON));
    repo.script(&(role(INDEXER, "", &costly) + &rule("", GOOD)));
    let run = repo.build(["--max-cost", "0.5"]).fails(4);
    says(&run, "0.6");
    assert!(repo.runs().is_empty(), "no coding agent began: {:?}", repo.runs());
    let plan = repo.plan();
    assert!(!plan.contains("in_progress"), "{plan}");
}

#[test]
fn a_usage_limit_of_the_indexer_is_waited_for() {
    let repo = tasks("");
    let repo = Repo { project: repo.project.real_time(), ..repo };
    let limit =
        r#"{ fail = "rate_limit", resets_in = "2s", message = "You have hit your limit." }"#;
    repo.script(
        &(role(INDEXER, "attempt = 1", limit)
            + &role(INDEXER, "attempt = \"2+\"", &index_of(NEW_MD, NEW_JSON))
            + &rule("", GOOD)),
    );
    let run = repo.build(["--once"]).ok();
    says(&run, "You have hit your limit.");
    repo.index_is(NEW_MD, NEW_JSON);
    assert!(repo.events("knowledge_index_undone").is_empty());
    assert_eq!(repo.landed(), ["T-001"]);
}

#[test]
fn with_no_wait_a_usage_limit_of_the_indexer_ends_the_run_and_nothing_is_counted() {
    let repo = tasks("");
    let limit =
        r#"{ fail = "rate_limit", resets_in = "1h", message = "You have hit your limit." }"#;
    repo.script(
        &(role(INDEXER, "", &format!("{}, {limit}", write(MARKDOWN, "x"))) + &rule("", GOOD)),
    );
    repo.build(["--no-wait"]).fails(4);
    repo.index_is(OLD_MD, OLD_JSON);
    assert!(repo.runs().is_empty());
    assert!(repo.events("knowledge_index_undone").is_empty(), "it was not its fault");
}

#[test]
fn an_interrupt_while_the_indexer_runs_ends_the_loop_after_it() {
    let repo = in_mode(
        "handoff-plus-index",
        Format::Jsonl,
        &[task("t-aaa1"), task("t-aaa2")],
        &format!("{QUIET}compaction_interval = 1\n"),
    );
    let slow = format!("{}, {}, {}", touch("running"), wait_for("go"), index_of(NEW_MD, NEW_JSON));
    repo.script(&(role(INDEXER, "", &slow) + &rule("", GOOD)));
    let run = repo.spawn(["build"]);
    repo.until_home_has("running");
    repo.signal("INT", run.pid());
    run.until_prints("Stopping");
    repo.allow("go");
    run.wait().fails(130);
    repo.index_is(NEW_MD, NEW_JSON);
    assert_eq!(repo.runs(), ["t-aaa1"], "no other attempt began");
    assert!(records(&repo.plan()).iter().any(|r| r["id"] == "t-aaa2" && r["s"] == "p"));
}
